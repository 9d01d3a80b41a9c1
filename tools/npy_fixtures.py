#!/usr/bin/env python3
"""Analysed positions as a set of Learning a Chess Policy, made by NumPy and python-chess.

Writes fixtures/data/npy: golden_planes.npy, golden_meta.npy, golden_analysis_data.npy, golden_analysis_offsets.npy,
vocab.npy, and golden.jsonl, the same analysis as rows of text. Deterministic.
Needs: pip install chess numpy
"""
import json
import pathlib

import chess
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "fixtures" / "data" / "npy"
EVERY = 40  # one position of the fixture in so many
# Castling both ways for both sides, en passant, promotions with and without capture.
CHOSEN = [
    "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
    "r3k2r/8/8/8/8/8/8/R3K2R b Kq - 0 1",
    "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
    "3r4/2P1k3/8/8/8/8/2p1K3/3R4 w - - 0 1",
    "3r4/2P1k3/8/8/8/8/2p1K3/3R4 b - - 0 1",
]
PROMOTIONS = {None: 0, chess.KNIGHT: 1, chess.BISHOP: 2, chess.ROOK: 3, chess.QUEEN: 4}


def vocabulary() -> list[tuple[int, int, int]]:
    """Every (from, to, promotion) of a queen, a knight or a promoting pawn, sorted."""
    rows = set()
    for square in chess.SQUARES:
        board = chess.BaseBoard.empty()
        for piece in (chess.QUEEN, chess.KNIGHT):
            board.set_piece_at(square, chess.Piece(piece, chess.WHITE))
            rows |= {(square, to, 0) for to in board.attacks(square)}
        for rank, last, step in ((6, 7, 8), (1, 0, -8)):
            if chess.square_rank(square) == rank:
                for to in (square + step - 1, square + step, square + step + 1):
                    if chess.square_rank(to) == last and abs(chess.square_file(to) - chess.square_file(square)) <= 1:
                        rows |= {(square, to, promotion) for promotion in (1, 2, 3, 4)}
    return sorted(rows)


def planes(board: chess.Board) -> np.ndarray:
    out = np.zeros((13, 8, 8), dtype=np.uint8)
    for square, piece in board.piece_map().items():
        plane = piece.piece_type - 1 + (0 if piece.color else 6)
        out[plane, chess.square_rank(square), chess.square_file(square)] = 1
    if board.has_legal_en_passant():
        out[12, chess.square_rank(board.ep_square), chess.square_file(board.ep_square)] = 1
    return out


def meta(board: chess.Board) -> list[int]:
    rights = [
        (board.has_kingside_castling_rights, chess.WHITE),
        (board.has_queenside_castling_rights, chess.WHITE),
        (board.has_kingside_castling_rights, chess.BLACK),
        (board.has_queenside_castling_rights, chess.BLACK),
    ]
    return [1 if board.turn else -1] + [int(has(color)) for has, color in rights]


def analysis(board: chess.Board, number: int) -> list[tuple[chess.Move, int, int, int, bool]]:
    """Two made-up sessions: move, depth, knodes, score for White, whether it is a mate. Deepest first, best first."""
    moves = sorted(board.legal_moves, key=lambda move: move.uci())
    sign = 1 if board.turn else -1
    rows = []
    for depth, knodes, count in ((30 + number % 20, 100_000 + number, 6), (12, 7, 2)):
        chosen = moves[:: max(1, len(moves) // count)][:count]
        special = [move for move in moves if board.is_castling(move) or board.is_en_passant(move) or move.promotion]
        for rank, move in enumerate(dict.fromkeys(special + chosen)):
            if rank == 0 and number % 3 == 0:
                rows.append((move, depth, knodes, sign * (2 + number % 5), True))
            elif rank == 7:
                rows.append((move, depth, knodes, -sign * 3, True))
                break
            else:
                rows.append((move, depth, knodes, sign * (150 - 37 * rank - number), False))
    return rows


def main() -> None:
    fens = CHOSEN + (ROOT / "fixtures" / "positions.fen").read_text().split("\n")[::EVERY]
    boards = [chess.Board(fen) for fen in fens if fen]
    boards = [board for board in boards if any(board.legal_moves)]
    rows = vocabulary()
    assert len(rows) == 1968
    index = {row: i for i, row in enumerate(rows)}
    data, offsets, lines = [], [0], []
    for number, board in enumerate(boards):
        for move, depth, knodes, score, is_mate in analysis(board, number):
            row = index[move.from_square, move.to_square, PROMOTIONS[move.promotion]]
            data.append([row, depth, knodes, score, int(is_mate)])
            # Lichess spells castling as the king taking its rook.
            text = board.uci(move, chess960=True)
            lines.append({
                "fen": board.epd(en_passant="legal"),
                "line": text,
                "depth": depth,
                "knodes": knodes,
                "cp": None if is_mate else score,
                "mate": score if is_mate else None,
            })
        offsets.append(len(data))
    FOLDER.mkdir(parents=True, exist_ok=True)
    arrays = {
        "golden_planes": np.stack([planes(board) for board in boards]),
        "golden_meta": np.array([meta(board) for board in boards], dtype=np.int8),
        "golden_analysis_data": np.array(data, dtype=np.int32),
        "golden_analysis_offsets": np.array(offsets, dtype=np.uint32),
        "vocab": np.array(rows, dtype=np.uint8),
    }
    for name, array in arrays.items():
        np.save(FOLDER / f"{name}.npy", array)
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (FOLDER / "golden.jsonl").write_text(text)


if __name__ == "__main__":
    main()
