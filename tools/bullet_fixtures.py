#!/usr/bin/env python3
"""Writes fixtures/models/bullet.json: what the inference of bullet's example network (examples/simple.rs) makes of 200 positions.

The file is not stored: both sides draw it (`network`). For each position the list has the sum after the first division and with
the bias, in units of 1 / (255 * 64), and the centipawns, both as the integers of the original.

Deterministic. Needs: pip install chess numpy
"""
import chess

from played_positions import ROOT, draws, games, write

HIDDEN, QA, QB, SCALE = 16, 255, 64, 400


def network():
    """Feature columns, their bias, the output weights and their bias."""
    states = draws()
    columns = [[(next(states) >> 26) - 32 for _ in range(HIDDEN)] for _ in range(768)]
    bias = [(next(states) >> 24) for _ in range(HIDDEN)]
    output = [(next(states) >> 24) - 128 for _ in range(2 * HIDDEN)]
    return columns, bias, output, 1234


def accumulator(columns, bias, board, viewer):
    sums = list(bias)
    for square, piece in board.piece_map().items():
        own = piece.color == viewer
        square = square if viewer else square ^ 56
        column = columns[(0 if own else 384) + 64 * (piece.piece_type - 1) + square]
        sums = [a + b for a, b in zip(sums, column)]
    return sums


def towards_zero(a, b):
    return abs(a) // b * (1 if a >= 0 else -1)


def evaluate(net, board):
    columns, bias, output, output_bias = net
    halves = accumulator(columns, bias, board, board.turn) + accumulator(columns, bias, board, not board.turn)
    total = sum(min(max(x, 0), QA) ** 2 * w for x, w in zip(halves, output))
    total = towards_zero(total, QA) + output_bias
    return [total, towards_zero(total * SCALE, QA * QB)]


def main():
    net = network()
    write(ROOT / "fixtures" / "models" / "bullet.json", [evaluate(net, boards[-1]) for boards in games()])


if __name__ == "__main__":
    main()
