import gzip
import pathlib

import pandas
import polars
import pyarrow
import pytest

import tabia

PGN = "fixtures/eval/games.pgn"


def test_data_frames_take_the_columns() -> None:
    games = tabia.read_pgn(PGN, progress=False)
    table = pyarrow.table(games)
    assert table.num_rows == len(games) == 6
    assert table.column_names == games.columns
    frame = polars.DataFrame(games)
    ratings = frame["white_elo"].to_list()
    assert ratings == table["white_elo"].to_pylist() and ratings[:2] == [1850, 2014] and ratings[-1] is None
    assert pandas.DataFrame.from_arrow(games)["result"].to_list() == frame["result"].to_list()
    first = frame.row(0, named=True)
    assert first["moves"][:3] == ["b2b3", "d7d5", "c1b2"]
    assert first["clocks"][3] == 59.0
    assert (first["result"], first["plies"], first["time_control"]) == ("1-0", 20, "60+0")


def test_nothing_is_copied() -> None:
    games = tabia.read_pgn(PGN, columns=["plies"], progress=False)
    addresses = {pyarrow.table(games)["plies"].chunk(0).buffers()[1].address for _ in range(2)}
    assert len(addresses) == 1


def test_columns_are_chosen_by_name() -> None:
    games = tabia.read_pgn(PGN, columns=["result", "white"], limit=3, progress=False)
    assert (games.columns, len(games)) == (["result", "white"], 3)
    with pytest.raises(ValueError, match='unknown column "winner".*white_elo'):
        tabia.read_pgn(PGN, columns=["winner"])


def test_large_files_come_in_tables_in_order(tmp_path: pathlib.Path) -> None:
    pgn = tmp_path / "many.pgn.gz"
    game = '[Event "{}"]\n[White "someone with a name"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 {{ a comment to make it longer }} 1-0\n\n'
    text = "".join(game.format(number) for number in range(30_000))
    pgn.write_bytes(gzip.compress(text.encode(), 1))
    tables = list(tabia.scan_pgn(pgn, columns=["event"], threads=3))
    assert len(tables) > 1
    events = [event for games in tables for event in pyarrow.table(games)["event"].to_pylist()]
    assert events == [str(number) for number in range(30_000)]
    assert len(tabia.read_pgn(pgn, progress=False)) == 30_000


def test_progress_is_told_and_may_stop_the_reading() -> None:
    told = []
    tabia.read_pgn(PGN, progress=lambda done, total, note: told.append((done, total)))
    assert all(done <= total == pathlib.Path(PGN).stat().st_size for done, total in told)


def test_what_cannot_be_read_is_listed(tmp_path: pathlib.Path) -> None:
    pgn = tmp_path / "broken.pgn"
    pgn.write_text('[White "A"]\n\n1. e4 e5 1-0\n\n[White "B"]\n\n1. d4 d4 *\n')
    games = tabia.read_pgn(pgn, progress=False)
    assert len(games) == 1 and "broken.pgn" in games.faults
    kept = tabia.read_pgn(pgn, broken="keep", progress=False)
    assert pyarrow.table(kept)["plies"].to_pylist() == [2, 1]
    with pytest.raises(FileNotFoundError):
        tabia.read_pgn(tmp_path / "none.pgn")
    with pytest.raises(ValueError, match="broken"):
        tabia.read_pgn(pgn, broken="mend")
