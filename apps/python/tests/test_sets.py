import gc
import json
import pathlib
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tabia

GAMES = "fixtures/shards/games"
EVALUATIONS = "fixtures/shards/evaluations"


def flat(batches: tabia.Batches) -> np.ndarray:
    return np.concatenate([np.concatenate([b.inputs, b.ply[:, None], b.record[:, None]], axis=1) for b in batches])


def test_a_set_tells_what_it_holds() -> None:
    games = tabia.Set(GAMES)
    manifest = json.loads(pathlib.Path(GAMES, "set.json").read_text())
    assert (games.kind, games.records, games.positions) == ("games", manifest["records"], manifest["positions"])
    both = tabia.Set([GAMES, EVALUATIONS])
    assert both.kind == "evaluations and games" and both.positions > games.positions


def test_an_epoch_has_every_position_once() -> None:
    games = tabia.Set(GAMES)
    rows = [(int(r), int(p)) for b in games.batches("challenge-768", batch=64, held_out=None) for r, p in zip(b.record, b.ply)]
    assert len(rows) == len(set(rows)) == games.positions
    training = sum(len(b) for b in games.batches("challenge-768", held_out_share=0.3))
    held_out = sum(len(b) for b in games.batches("challenge-768", held_out=True, held_out_share=0.3))
    assert training > 0 and held_out > 0 and training + held_out == games.positions


def test_the_order_is_of_the_seed_and_not_of_the_threads() -> None:
    games = tabia.Set(GAMES)
    one = flat(games.batches("challenge-768", batch=50, threads=1, shuffle=7, held_out=None))
    four = flat(games.batches("challenge-768", batch=50, threads=4, shuffle=7, held_out=None))
    other = flat(games.batches("challenge-768", batch=50, threads=4, shuffle=8, held_out=None))
    assert np.array_equal(one, four)
    assert not np.array_equal(one, other)


def test_a_position_resumes() -> None:
    games = tabia.Set(GAMES)
    options = {"batch": 32, "shuffle": 3, "held_out": None}
    whole = games.batches("challenge-768", **options)
    first = [next(whole) for _ in range(3)]
    place = whole.position
    rest = flat(whole)
    assert np.array_equal(flat(games.batches("challenge-768", position=place, **options)), rest)
    assert len(first[0]) == 32
    with pytest.raises(tabia.Error, match="other sets or options"):
        games.batches("challenge-768", batch=32, shuffle=4, held_out=None, position=place)
    with pytest.raises(ValueError, match="position: "):
        games.batches("challenge-768", position="nonsense")


def test_columns_agree_with_the_games(tmp_path: pathlib.Path) -> None:
    pgn = tmp_path / "one.pgn"
    pgn.write_text(
        '[White "A"]\n[Black "B"]\n[WhiteElo "1500"]\n[BlackElo "1800"]\n[TimeControl "180+2"]\n[Result "1-0"]\n\n'
        "1. e4 { [%eval 0.3] [%clk 0:03:01] } e5 { [%eval 0.2] [%clk 0:02:50] } "
        "2. Qh5 { [%eval #-5] [%clk 0:02:59] } 1-0\n"
    )
    games = tabia.build_set(pgn, tmp_path / "set", pool="lichess", progress=False)
    (batch,) = games.batches("challenge-768", vocabulary="canonical-1968", legal=True, held_out=None)
    order = np.argsort(batch.ply)
    vocabulary = tabia.moves("canonical-1968")
    assert batch.ply[order].tolist() == [0, 1, 2]
    moves = [vocabulary.index("", "e4"), vocabulary.index("e4", "e5"), vocabulary.index("e4 e5", "Qh5")]
    assert batch.moves[order].tolist() == moves
    assert batch.result[order].tolist() == [1, 0, 1]
    assert batch.evaluation[order].tolist() == [30, -20, -9995]
    assert batch.rating[order].tolist() == [1500, 1800, 1500]
    assert batch.opponent_rating[order].tolist() == [1800, 1500, 1800]
    assert batch.clock[order].tolist() == [180, 180, 181]
    assert batch.thought[order].tolist() == [1, 12, 4]
    assert (batch.base == 180).all() and (batch.increment == 2).all()
    assert [tabia.Batch.POOLS[pool] for pool in batch.pool] == ["lichess"] * 3
    assert batch.legal.shape == (3, 1968) and batch.legal.dtype == np.bool_
    assert batch.legal[order[0]].sum() == 20
    assert np.array_equal(batch.inputs[order[0]], tabia.encode("", "challenge-768")[0])


def test_unknown_numbers_are_nan_and_can_be_required() -> None:
    analysed = tabia.Set(EVALUATIONS)
    batch = next(iter(analysed.batches("challenge-768", vocabulary="lc0-1858", held_out=None)))
    assert np.isnan(batch.result).all() and np.isfinite(batch.evaluation).all()
    assert (batch.moves >= 0).all() and (batch.ply == 0).all()
    rated = tabia.Set(GAMES).batches("challenge-768", held_out=None, require=["result", "clock"])
    for batch in rated:
        assert np.isfinite(batch.result).all() and np.isfinite(batch.clock).all()


def test_several_inputs_are_a_dictionary() -> None:
    batch = next(iter(tabia.Set(GAMES).batches("tabia-human-1", batch=16, held_out=None)))
    assert isinstance(batch.inputs, dict) and all(len(array) == len(batch) for array in batch.inputs.values())
    assert batch.moves is not None and batch.legal is None
    assert "moves" in batch.columns() and "legal" not in batch.columns()


def test_arrays_outlive_their_batch() -> None:
    # Memory is used again only when the last array of it is gone.
    kept = []
    for batch in tabia.Set(GAMES).batches("challenge-768", batch=16, held_out=None, threads=1):
        kept.append((batch.inputs, batch.inputs.copy()))
    del batch
    gc.collect()
    for _ in tabia.Set(GAMES).batches("challenge-768", batch=16, held_out=None, threads=1):
        pass
    assert all(np.array_equal(array, copy) for array, copy in kept)
    array = kept[0][0]
    assert array.flags.writeable and not array.flags.owndata
    assert np.array_equal(np.from_dlpack(array), array)


def test_building_a_set_reports_what_it_skips(tmp_path: pathlib.Path) -> None:
    pgn = tmp_path / "games.pgn"
    pgn.write_text('[White "A"]\n\n1. e4 e5 1-0\n\n[White "B"]\n\n1. e5 *\n')
    with pytest.warns(UserWarning, match="(?i)illegal"):
        games = tabia.build_set([pgn], tmp_path / "set", progress=False)
    assert games.records == 1
    with pytest.raises(tabia.Error, match="already holds a set"):
        tabia.build_set([pgn], tmp_path / "set", progress=False)
    empty = tmp_path / "empty.pgn"
    empty.write_text("\n")
    with pytest.raises(tabia.Error, match="there are no games in .*empty.pgn"):
        tabia.build_set([empty], tmp_path / "none", progress=False)


def test_a_folder_without_a_set_is_an_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        tabia.Set(tmp_path / "nowhere")
    with pytest.raises(tabia.Error, match="set.json"):
        tabia.Set(tmp_path)
    with pytest.raises(ValueError, match="held_out_by"):
        tabia.Set(GAMES).batches("challenge-768", held_out_by="game")


def test_torch_takes_the_batches_without_copying(torch) -> None:
    dataset = tabia.Set(GAMES).torch("challenge-768", batch=64, held_out=None, shuffle=1)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None)
    first = list(loader)
    assert sum(len(batch["inputs"]) for batch in first) == tabia.Set(GAMES).positions
    assert first[0]["inputs"].dtype == torch.float32
    second = list(loader)
    assert not torch.equal(first[0]["inputs"], second[0]["inputs"]), "every epoch has another order"
    again = tabia.Set(GAMES).torch("challenge-768", batch=64, held_out=None, shuffle=1)
    batches = iter(again)
    next(batches)
    state = again.state_dict()
    resumed = tabia.Set(GAMES).torch("challenge-768", batch=64, held_out=None, shuffle=1)
    resumed.load_state_dict(state)
    assert torch.equal(next(iter(resumed))["inputs"], first[1]["inputs"])


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_a_wait_for_batches() -> None:
    script = textwrap.dedent(
        f"""
        import tabia
        # A batch that takes far longer than any test.
        batches = tabia.Set("{GAMES}").batches("humchess-68", batch=10**9, threads=1, held_out=None, repeat=True)
        try:
            print("begun", flush=True)
            next(batches)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=300)
    assert out.splitlines()[-1] == "interrupted"
