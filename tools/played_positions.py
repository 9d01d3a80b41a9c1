"""The games whose last positions the fixtures of other projects' networks are about, and weights that both sides can draw.

Needs: pip install chess numpy
"""
import json
import math
import pathlib

import chess
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNITS = 100_000


def games():
    """The boards of every game, oldest first: positions.fen and the moves `played` in positions.json."""
    fens = (ROOT / "fixtures" / "positions.fen").read_text().split("\n")
    played = json.loads((ROOT / "fixtures" / "models" / "positions.json").read_text())["played"]
    for fen, moves in zip(fens, played):
        board = chess.Board(fen)
        boards = [board.copy()]
        for uci in moves:
            board.push_uci(uci)
            boards.append(board.copy())
        yield boards


def draws():
    """A 32-bit linear congruential generator that starts from 1."""
    state = 1
    while True:
        state = (state * 1664525 + 1013904223) % 2**32
        yield state


def drawn(shapes):
    """Weights by the order of their names: multiples of 1/64 around 0, scaled to the inputs; around 1 for gains and
    variances."""
    states, weights = draws(), {}
    for name, shape in sorted(shapes.items()):
        numbers = np.array([(next(states) >> 26) - 32 for _ in range(math.prod(shape))], dtype=np.float32) / 64
        inputs = math.prod(shape[1:]) if len(shape) > 1 else 1
        numbers *= np.float32(2.0 ** round(math.log2(4 / math.sqrt(inputs))) if inputs > 1 else 0.5)
        if len(shape) == 1 and name.endswith((".weight", ".running_var")):
            numbers += 1
        weights[name] = numbers.reshape(shape)
    return weights


def in_units(values):
    return [round(float(v) * UNITS) for v in values]


def write(path, content):
    text = json.dumps(content, separators=(",", ":")).replace("]],", "]],\n")
    path.write_text(text + "\n")
    print(path.name, len(text))
