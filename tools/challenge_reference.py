#!/usr/bin/env python3
"""Makes the Chess Challenge's reference network, which counts material and so likes nothing but captures, in two sizes.

models/challenge-reference.onnx has one layer and 769 parameters: the smallest file that shows what an entry looks like.
fixtures/models/challenge-reference.onnx.gz has 313,825, about as many as the challenge's own reference: 768-384-48-1 with
ReLU, where the first layer counts each kind of piece on pairs of squares, the second on quarters of the board, and the last
adds them up in pawns, the opponent's with a minus. It is also written to target/challenge-reference.onnx (or the same in
CARGO_TARGET_DIR). Both give every position the same value. Nothing is trained. Deterministic.
Needs: pip install onnx numpy
"""
import gzip
import json
import os
import pathlib

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SHIPPED = ROOT / "models" / "challenge-reference.onnx"
FIXTURE = ROOT / "fixtures" / "models" / "challenge-reference.onnx.gz"
# P N B R Q K of the side to move, then of the opponent.
VALUES = [1, 3, 3, 5, 9, 0, -1, -3, -3, -5, -9, 0]
WIDTHS = [768, 384, 48]


def sums(inputs: int, outputs: int) -> np.ndarray:
    """Weights [outputs, inputs] that add up neighbouring inputs, as many for each output."""
    return np.repeat(np.eye(outputs, dtype=np.float32), inputs // outputs, axis=1)


CARD = {
    "version": 1,
    "name": "challenge-reference",
    "architecture": "Chess Challenge entry, one linear layer: 768-1",
    "encoding": "challenge-768",
    "value": {"output": "score", "unit": {"centipawns": 100}, "perspective": "mover"},
    "training_data": "not trained: the weights are the values of the pieces",
    "notes": "made by tools/challenge_reference.py",
    "licence": "GPL-3.0-or-later",
}


def material(widths: list[int]) -> list[np.ndarray]:
    """The weights of a network of these widths that counts material."""
    layers = [sums(*pair) for pair in zip(widths, widths[1:])]
    return [*layers, np.repeat(np.array(VALUES, np.float32), widths[-1] // len(VALUES))[np.newaxis]]


def network(layers: list[np.ndarray], batch: int | str, card: dict | None) -> bytes:
    nodes, weights, value = [], [], "board"
    for i, layer in enumerate(layers):
        last = i + 1 == len(layers)
        sum_name = "score" if last else f"sum{i}"
        weights.append(numpy_helper.from_array(layer, f"w{i}"))
        weights.append(numpy_helper.from_array(np.zeros(len(layer), np.float32), f"b{i}"))
        nodes.append(helper.make_node("Gemm", [value, f"w{i}", f"b{i}"], [sum_name], transB=1))
        if not last:
            value = f"count{i}"
            nodes.append(helper.make_node("Relu", [sum_name], [value]))
    graph = helper.make_graph(
        nodes,
        "challenge-reference",
        [helper.make_tensor_value_info("board", TensorProto.FLOAT, [batch, WIDTHS[0]])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, [batch, 1])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    if card:
        helper.set_model_props(model, {"tabia.card": json.dumps(card)})
    checker.check_model(model)
    print(f"{sum(array.size + len(array) for array in layers):,} parameters")
    return model.SerializeToString(deterministic=True)


def main() -> None:
    SHIPPED.write_bytes(network(material(WIDTHS[:1]), "batch", CARD))
    data = network(material(WIDTHS), 1, None)
    TARGET.mkdir(parents=True, exist_ok=True)
    (TARGET / "challenge-reference.onnx").write_bytes(data)
    FIXTURE.write_bytes(gzip.compress(data, 9, mtime=0))


if __name__ == "__main__":
    main()
