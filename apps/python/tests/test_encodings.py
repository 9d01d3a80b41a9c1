import pathlib
import re

import chess
import numpy as np
import pytest

import tabia
from tabia import _native


def stub_names(name: str) -> set[str]:
    """The names in a Literal of the stub."""
    stub = pathlib.Path(_native.__file__).with_name("_native.pyi").read_text()
    literal = re.search(rf"^{name} = Literal\[(.*?)\]", stub, re.M | re.S)
    assert literal is not None
    return set(re.findall(r'"([^"]+)"', literal[1]))


def test_the_stub_knows_which_encodings_have_one_input() -> None:
    encoded = {name: tabia.encode("", name) for name in tabia.encodings()}
    assert {name for name, inputs in encoded.items() if isinstance(inputs, dict)} == stub_names("_Several")
    assert {name for name, inputs in encoded.items() if isinstance(inputs, np.ndarray)} == stub_names("_Single")


def test_challenge_768_is_what_python_chess_says() -> None:
    # Own pieces first, seen from the side to move.
    board = chess.Board()
    for san in ["e4", "c5", "Nf3"]:
        board.push_san(san)
    (row,) = tabia.encode(board, "challenge-768")
    assert row.sum() == 32 and row.dtype == np.float32
    assert len(np.unique(row)) == 2
    white_to_move = tabia.encode("", "challenge-768")[0]
    assert not np.array_equal(row, white_to_move)


def test_rows_are_the_positions_in_order() -> None:
    both = tabia.encode(["e2e4", "d2d4"], "humchess-74")
    assert both.shape == (2, 74) and both.dtype == np.int32
    assert np.array_equal(both[1], tabia.encode("d2d4", "humchess-74")[0])


def test_history_is_encoded() -> None:
    with_history = tabia.encode("1. e4 e5 2. Nf3", "lc0-112")
    without = tabia.encode("rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 2", "lc0-112")
    assert with_history.shape == (1, 112, 8, 8)
    assert not np.array_equal(with_history, without)


def test_moves_have_indices() -> None:
    board = chess.Board("r3k2r/1P6/8/8/8/8/8/R3K2R w KQkq - 0 1")
    for name in tabia.vocabularies():
        vocabulary = tabia.moves(name)
        legal = vocabulary.legal([board])
        assert legal.shape == (1, len(vocabulary)) and legal.dtype == np.bool_
        assert vocabulary.promotion_size in (0, 4)
        for move in board.legal_moves:
            index = vocabulary.index(board, move.uci())
            assert legal[0, index]
            if move.promotion is None:
                assert vocabulary.find(board, index) == move.uci()
        if vocabulary.promotion_size == 0:
            assert legal.sum() == board.legal_moves.count()
    assert tabia.moves("canonical-1968").find("", 0) is None
    with pytest.raises(IndexError, match="index 5000 of 1968"):
        tabia.moves("canonical-1968").find("", 5000)


def test_the_table_names_the_moves_of_white() -> None:
    vocabulary = tabia.moves("canonical-1968")
    index = vocabulary.index("", "e2e4")
    assert vocabulary.table[index].tolist() == [chess.E2, chess.E4, 0]
    assert vocabulary.uci[index] == "e2e4"
    promotion = vocabulary.index("8/4P3/8/8/8/k7/8/K7 w - - 0 1", "e7e8n")
    assert vocabulary.table[promotion].tolist() == [chess.E7, chess.E8, chess.KNIGHT]
    assert None not in vocabulary.uci and len(set(vocabulary.uci)) == 1968


def test_unknown_names_are_errors_that_list_the_known() -> None:
    with pytest.raises(ValueError, match='unknown encoding "nnue".*challenge-768'):
        tabia.encode("", "nnue")
    with pytest.raises(ValueError, match="unknown vocabulary.*lc0-1858"):
        tabia.moves("leela")

