#!/usr/bin/env python3
"""The encodings `tabia-human-1` and `tabia-human-2`, written from docs/formats/encodings.md alone.

As a program it reads a JSON list of situations from stdin and prints a JSON list of {"squares": [2048 numbers], "game":
[82 numbers]} as in `tabia-human-2`; `tabia-human-1` is without the last two. A situation: "fen", "moves" in UCI from it,
and where known "rating", "time_ms", "opponent_rating", "opponent_time_ms", "pool" (over-the-board, online, puzzle, lichess,
chess.com) and "pace_ms" ([base time, increment]).

Needs: pip install chess numpy
"""
import json
import math
import sys

import chess
import numpy as np

RATINGS = [600, 800, 1000, 1200, 1400, 1600, 1800, 2000, 2200, 2400, 2600, 2800]
BASES = [15, 30, 60, 120, 180, 300, 600, 900, 1800, 3600, 5400]
INCREMENTS = [0, 1, 2, 5, 10, 30]
CLOCKS = [1, 3, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 5400]
POOLS = ["unknown", "over-the-board", "online", "puzzle"]
SERVERS = ["lichess", "chess.com"]


def linear(v, a, b):
    return (v - a) / (b - a)


def logarithmic(v, a, b):
    return math.log(v / a) / math.log(b / a)


def weights(value, knots, scale):
    """The elements of a known number."""
    value = min(max(value, knots[0]), knots[-1])
    below = max(i for i in range(len(knots) - 1) if knots[i] <= value)
    share = np.float32(scale(value, knots[below], knots[below + 1]))
    elements = np.zeros(len(knots), dtype=np.float32)
    elements[below], elements[below + 1] = np.float32(1) - share, share
    return elements


def known_or_not(value, knots, scale):
    """The elements of a number and the one that says that it is unknown."""
    if value is None:
        return np.append(np.zeros(len(knots), dtype=np.float32), np.float32(1))
    return np.append(weights(value, knots, scale), np.float32(0))


def seconds(milliseconds):
    return None if milliseconds is None else milliseconds / 1000


def encode(board, players):
    """`board` has the moves before it on its stack; `players` is a situation's rest."""
    own, their = board.turn, not board.turn

    def index(square):
        return square if own == chess.WHITE else square ^ 56

    squares = np.zeros((64, 32), dtype=np.float32)
    for square in chess.SQUARES:
        piece = board.piece_at(square)
        if piece is not None:
            kind = "PNBRQK".index(piece.symbol().upper())
            squares[index(square), kind if piece.color == own else 6 + kind] = 1
    for move in board.legal_moves:
        if board.is_en_passant(move):
            squares[index(move.to_square), 12] = 1
    before = board.copy()
    for k in range(min(8, len(board.move_stack))):
        move = before.pop()
        squares[index(move.from_square), 13 + 2 * k] = 1
        squares[index(move.to_square), 14 + 2 * k] = 1
        if k < 2 and before.is_capture(move):
            squares[index(move.to_square), 29 + k] = 1
    for square in board.checkers():
        squares[index(square), 31] = 1

    game = np.zeros(82, dtype=np.float32)
    game[0:4] = [board.has_kingside_castling_rights(own), board.has_queenside_castling_rights(own),
                 board.has_kingside_castling_rights(their), board.has_queenside_castling_rights(their)]
    game[4:17] = known_or_not(players.get("rating"), RATINGS, linear)
    game[17:30] = known_or_not(players.get("opponent_rating"), RATINGS, linear)
    pool = players.get("pool", "unknown")
    game[30 + POOLS.index("online" if pool in SERVERS else pool)] = 1
    if pool in SERVERS:
        game[80 + SERVERS.index(pool)] = 1
    base, increment = players.get("pace_ms", (None, None))
    game[34:46] = known_or_not(seconds(base), BASES, logarithmic)
    if increment is not None:
        game[46:52] = weights(seconds(increment), INCREMENTS, linear)
    game[52:65] = known_or_not(seconds(players.get("time_ms")), CLOCKS, logarithmic)
    game[65:78] = known_or_not(seconds(players.get("opponent_time_ms")), CLOCKS, logarithmic)
    game[78] = min(board.halfmove_clock / 100, 1)
    game[79] = board.is_check()
    return squares, game


def encode_situation(situation):
    board = chess.Board(situation["fen"])
    for move in situation["moves"]:
        board.push_uci(move)
    return encode(board, situation)


def main():
    encoded = [encode_situation(situation) for situation in json.load(sys.stdin)]
    json.dump([{"squares": squares.ravel().tolist(), "game": game.tolist()} for squares, game in encoded], sys.stdout)


if __name__ == "__main__":
    main()
