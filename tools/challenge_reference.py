#!/usr/bin/env python3
"""Makes the Chess Challenge's reference network: 313,825 parameters that count material and so like nothing but captures.

Writes target/challenge-reference.onnx (or the same in CARGO_TARGET_DIR), for `tabia compete`, and
fixtures/models/challenge-reference.onnx.gz, the same file small enough to keep: most of its weights are zero.

The network is 768-384-48-1 with ReLU. The first layer counts each kind of piece on pairs of squares, the second on
quarters of the board, the last adds them up in pawns, the opponent's with a minus. Nothing is trained. Deterministic.
Needs: pip install onnx numpy
"""
import gzip
import os
import pathlib

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
FIXTURE = ROOT / "fixtures" / "models" / "challenge-reference.onnx.gz"
# P N B R Q K of the side to move, then of the opponent.
VALUES = [1, 3, 3, 5, 9, 0, -1, -3, -3, -5, -9, 0]
WIDTHS = [768, 384, 48]


def sums(inputs: int, outputs: int) -> np.ndarray:
    """Weights [outputs, inputs] that add up neighbouring inputs, as many for each output."""
    return np.repeat(np.eye(outputs, dtype=np.float32), inputs // outputs, axis=1)


def main() -> None:
    layers = [sums(*widths) for widths in zip(WIDTHS, WIDTHS[1:])]
    layers.append(np.repeat(np.array(VALUES, np.float32), WIDTHS[-1] // len(VALUES))[np.newaxis])
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
        [helper.make_tensor_value_info("board", TensorProto.FLOAT, [1, WIDTHS[0]])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, [1, 1])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    data = model.SerializeToString(deterministic=True)
    TARGET.mkdir(parents=True, exist_ok=True)
    (TARGET / "challenge-reference.onnx").write_bytes(data)
    FIXTURE.write_bytes(gzip.compress(data, 9, mtime=0))
    print(f"{sum(array.size + len(array) for array in layers):,} parameters, {len(data):,} bytes")


if __name__ == "__main__":
    main()
