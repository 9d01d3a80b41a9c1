import gzip
import pathlib

import chess
import numpy as np
import pytest

import tabia

RUY_LOPEZ = "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3"


@pytest.fixture(scope="module")
def human() -> tabia.Model:
    return tabia.open("human")


def test_a_network_tells_what_it_is(human: tabia.Model) -> None:
    assert human.name == "human" or human.name
    assert human.vocabulary in tabia.vocabularies()
    assert human.encoding in tabia.encodings()
    assert human.parameters > 1_000_000
    assert human.card["encoding"] == human.encoding
    assert human.encoding in repr(human)


def test_every_format_is_opened(root: pathlib.Path) -> None:
    models = root / "fixtures/models"
    for file, form in [
        ("challenge-mlp.onnx", "ONNX"),
        ("human.safetensors", "safetensors"),
        ("tflite_single.tflite", "TFLite"),
        ("lc0/tiny.pb", "lc0"),
        ("statedict/humchess-74.pt", "PyTorch"),
    ]:
        model = tabia.open(models / file)
        assert model.format == form, file
        evaluation = model.evaluate("1. e4")
        assert evaluation.policy is not None or evaluation.value is not None or evaluation.wdl is not None


def test_a_position_can_be_written_in_several_ways(human: tabia.Model) -> None:
    board = chess.Board()
    for san in ["e4", "e5", "Nf3", "Nc6", "Bb5"]:
        board.push_san(san)
    ways = ["1. e4 e5 2. Nf3 Nc6 3. Bb5", "e2e4 e7e5 g1f3 b8c6 f1b5", f"{chess.STARTING_FEN} moves e2e4 e7e5 g1f3 b8c6 f1b5", board]
    policies = [human.evaluate(way, elo=1800).policy for way in ways]
    assert all(policy == policies[0] for policy in policies)
    assert set(policies[0]) == {move.uci() for move in board.legal_moves}
    # A FEN is the same position without its history.
    assert human.evaluate(RUY_LOPEZ).fen == RUY_LOPEZ


def test_ratings_and_clocks_matter_and_can_differ_by_row(human: tabia.Model) -> None:
    positions = ["1. e4 e5 2. Nf3"] * 3
    same = human.evaluate(positions, elo=1500, pool="lichess")
    each = human.evaluate(positions, elo=[1500, 2200, None], pool="lichess")
    alone = human.evaluate(positions[0], elo=2200, pool="lichess")
    assert np.allclose(same.policy[0], each.policy[0])
    assert not np.allclose(same.policy[1], each.policy[1])
    assert each[1].policy == pytest.approx(alone.policy, abs=1e-6)
    hurried = human.evaluate(positions[0], clock=3, opponent_clock=60, time_control="60+0")
    assert hurried.policy != human.evaluate(positions[0]).policy
    with pytest.raises(ValueError, match="elo: 2 numbers for 3 positions"):
        human.evaluate(positions, elo=[1500, 1600])


def test_many_positions_are_arrays(human: tabia.Model) -> None:
    many = human.evaluate(["", "e2e4"], elo=1500)
    assert len(many) == 2
    assert many.wdl.shape == (2, 3) and np.allclose(many.wdl.sum(axis=1), 1, atol=1e-4)
    assert many.policy.shape == (2, len(tabia.moves(human.vocabulary)))
    assert np.allclose(many.policy.sum(axis=1), 1, atol=1e-4)
    assert many.best == [many[0].best, many[-1].best]
    first = many[0].policy
    assert many.probability(["e4", "e5"])[0] == pytest.approx(first["e2e4"])
    with pytest.raises(IndexError, match="evaluation 2 of 2"):
        many[2]
    assert len(human.evaluate([])) == 0


def test_values_are_centipawns_for_the_side_to_move(root: pathlib.Path) -> None:
    value = tabia.open(root / "models/value.safetensors")
    queen_up = "rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    assert value.evaluate(queen_up).value > 300
    assert value.evaluate(queen_up.replace(" w ", " b ")).value < -300
    assert value.evaluate([queen_up]).value.dtype == np.float32


def test_outputs_are_the_networks_own(root: pathlib.Path) -> None:
    model = tabia.open(root / "fixtures/models/challenge-mlp.onnx")
    (output,) = model.outputs(["", "e2e4"]).values()
    assert output.shape[0] == 2 and output.dtype == np.float32


def test_pictures_show_the_likeliest_moves(human: tabia.Model) -> None:
    svg = human.evaluate("1. e4")._repr_svg_()
    assert svg.startswith("<svg") and svg.count("<polygon") == 3
    assert svg.count('class="piece') == 32
    assert tabia.board("1. e4", flipped=True).svg.count('class="last"') == 2


def test_errors_say_which_file_and_why(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        tabia.open("no/such.onnx")
    assert missing.value.filename == "no/such.onnx"
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"\x08\x07garbage that is no network")
    with pytest.raises(tabia.Error, match="broken.onnx: "):
        tabia.open(broken)
    with pytest.raises(ValueError, match="not a legal move"):
        tabia.open("human").evaluate("1. e5")
    with pytest.raises(ValueError, match="position 1: "):
        tabia.open("human").evaluate(["", "8/8/8 w"])
    with pytest.raises(TypeError, match="chess.Board"):
        tabia.open("human").evaluate(17)
    with pytest.raises(ValueError, match="unknown rating pool"):
        tabia.open("human").evaluate("", elo=1500, pool="fide")


def test_gzipped_fixtures_open_too(root: pathlib.Path, tmp_path: pathlib.Path) -> None:
    unpacked = tmp_path / "searchless.onnx"
    unpacked.write_bytes(gzip.decompress((root / "fixtures/models/searchless.onnx.gz").read_bytes()))
    assert tabia.open(unpacked).evaluate("1. d4").policy
