#!/usr/bin/env python3
"""Writes fixtures/models/perspective.safetensors, perspective-int8.safetensors and perspective.json: a small random
perspective network, the same with its large matrix in 8 bits, and what numpy makes of both in some positions.

The network is (768 -> 16) x 2 -> 1 with squared clipped sums and 8 outputs chosen by the number of men. The positions are
every tenth of fixtures/positions.fen, read by python-chess; perspective.json has the networks' numbers for each, in
64-bit arithmetic. 8-bit weights have a scale for each row, in 32 bits. The other weights are such that 16-bit floats hold them exactly. Deterministic.
Needs: pip install chess numpy safetensors
"""
import json
import pathlib

import chess
import numpy as np
import safetensors.numpy

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
WIDTH, BUCKETS = 16, 8


def random_weights():
    random = np.random.default_rng(11)

    def normal(*shape, scale):
        return (scale * random.standard_normal(shape)).astype(np.float16)

    return {
        "features.weight": normal(WIDTH, 768, scale=0.2),
        "features.bias": normal(WIDTH, scale=0.3),
        "output.weight": normal(BUCKETS, 2 * WIDTH, scale=1.5),
        "output.bias": normal(BUCKETS, scale=0.3),
        "activation.power": np.array([2], dtype=np.int64),
    }


def in_8_bits(weights):
    """Bytes and scales, and the floats they stand for."""
    scales = (np.abs(weights.astype(np.float32)).max(axis=1) / 127).astype(np.float32)
    numbers = np.rint(weights / scales[:, None]).astype(np.int8)
    return numbers, scales, numbers * scales[:, None].astype(np.float64)


def view(board, viewer):
    """12 planes of 64 squares: the viewer's P N B R Q K, then the other side's; ranks flipped for Black."""
    row = np.zeros(768)
    for square, piece in board.piece_map().items():
        plane = piece.piece_type - 1 + (0 if piece.color == viewer else 6)
        row[64 * plane + (square if viewer == chess.WHITE else chess.square_mirror(square))] = 1
    return row


def evaluate(w, board):
    def half(viewer):
        return np.clip(w["features.weight"] @ view(board, viewer) + w["features.bias"], 0, 1) ** 2

    both = np.concatenate([half(board.turn), half(not board.turn)])
    bucket = (len(board.piece_map()) - 1) * BUCKETS // 32
    return float(w["output.weight"][bucket] @ both + w["output.bias"][bucket])


def main():
    weights = random_weights()
    wide = {name: weight.astype(np.float64) for name, weight in weights.items()}
    numbers, scales, floats = in_8_bits(weights["features.weight"])
    rounded = weights | {"features.weight": numbers, "features.weight.scale": scales}
    wide_rounded = wide | {"features.weight": floats}
    fens = (FIXTURES / "positions.fen").read_text().splitlines()[::10]
    answers = []
    for fen in fens:
        board = chess.Board(fen)
        values = {"value": evaluate(wide, board), "int8": evaluate(wide_rounded, board)}
        answers.append({"fen": fen} | {name: round(value, 6) for name, value in values.items()})
    out = FIXTURES / "models"
    for name, tensors in {"perspective": weights, "perspective-int8": rounded}.items():
        safetensors.numpy.save_file(tensors, out / f"{name}.safetensors")
        (out / f"{name}.safetensors").chmod(0o644)
    lines = ",\n".join(json.dumps(answer) for answer in answers)
    (out / "perspective.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
