import io
import pathlib
import signal
import subprocess
import sys
import textwrap

import chess.pgn
import pytest

import tabia


def test_a_match_has_games_and_elo() -> None:
    told = []
    match = tabia.play("level:1", "random", games=8, seed=1, jobs=1, progress=lambda *progress: told.append(progress))
    assert len(match) == len(match.games) == 8
    assert match.wins + match.draws + match.losses == 8
    assert match.points == match.wins + match.draws / 2 and match.score == match.points / 8
    low, high = match.interval
    assert match.elo is None or low is None or high is None or low < match.elo < high
    assert told[0][:2] == (0, 8) and told[-1][:2] == (8, 8)
    assert match._repr_svg_().startswith("<svg") and "level:1" in str(match) and "level:1" in repr(match)
    again = tabia.play("level:1", "random", games=8, seed=1, jobs=2, progress=False)
    assert [game.moves for game in again.games] == [game.moves for game in match.games]


def test_games_are_pgn_and_pictures() -> None:
    match = tabia.play("random", "random", games=2, progress=False)
    text = io.StringIO(match.pgn)
    for game in match.games:
        read = chess.pgn.read_game(text)
        assert read is not None and not read.errors
        assert [move.uci() for move in read.mainline_moves()] == game.moves
        assert (read.headers["White"], read.headers["Result"]) == (game.white, game.result)
        assert read.end().board().fen(en_passant="fen").split()[0] == game.fen.split()[0]
        assert game._repr_svg_().startswith("<svg")


def test_saved_matches_resume(tmp_path: pathlib.Path) -> None:
    pgn = tmp_path / "match.pgn"
    first = tabia.play("level:1", "random", games=2, seed=2, pgn=pgn, progress=False)
    longer = tabia.play("level:1", "random", games=6, seed=2, pgn=pgn, progress=False)
    assert [game.moves for game in longer.games[:2]] == [game.moves for game in first.games]
    ratings = tabia.elo(pgn)
    assert {rating.player for rating in ratings} == {"level:1", "random"}
    assert all(rating.games == 6 for rating in ratings)


def test_a_network_climbs_the_ladder(tmp_path: pathlib.Path) -> None:
    openings = tmp_path / "one.fen"
    openings.write_text("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n")
    network = "fixtures/models/challenge-mlp.onnx"
    scorecard = tabia.compete(network, level=1, openings=openings, progress=False)
    assert scorecard.climbed in (0, 1) and scorecard.parameters > 0
    (level,) = scorecard.levels
    assert level.level == 1 and len(level.games) == 2
    assert level.points == level.wins + level.draws / 2
    assert scorecard._repr_svg_().startswith("<svg") and "level" in str(scorecard)
    with pytest.raises(ValueError, match="no level 9"):
        tabia.compete(network, level=9)


def test_a_rating_has_an_interval() -> None:
    rating = tabia.rate("random", games=8, opponents={"random": 100.0, "level:1": 500.0}, progress=False)
    assert rating.games == 8 and len(rating.against) == 2
    assert rating.low is not None or rating.high is not None
    assert "tabia.Rating" in repr(rating) and str(rating)


def test_invalid_players_are_errors() -> None:
    with pytest.raises(ValueError, match='player "nobody"'):
        tabia.play("nobody", "random", games=2)
    with pytest.raises(ValueError, match="rules"):
        tabia.compete("fixtures/models/challenge-mlp.onnx", rules="1999")
    with pytest.raises(FileNotFoundError):
        tabia.compete("no/such.onnx")
    with pytest.raises(tabia.Error, match="human.safetensors"):
        tabia.compete("fixtures/models/human.safetensors")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_a_match() -> None:
    script = textwrap.dedent(
        """
        import tabia
        try:
            # Far longer than any test.
            tabia.play("engine,movetime=1000", "engine,movetime=1000", games=1000, jobs=1,
                       progress=lambda *progress: print("begun", flush=True))
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
