#!/usr/bin/env python3
"""Writes fuzz/seeds: small inputs for each reader, sound and broken, for fuzzing to start from.

ONNX: one network of each shape the reader tells apart, and files with one thing wrong each. The other formats: the
smallest fixture there is, whole, cut short, and with a run of bytes changed. Deterministic.
Needs: pip install onnx numpy
"""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEEDS = ROOT / "fuzz" / "seeds"
# Target -> how its fixtures' names end.
ENDINGS = {
    "checkpoint": ".ckpt",
    "epd": ".epd",
    "evaluations": "golden.jsonl",
    "lc0": ".pb",
    "pgn": ".pgn",
    "safetensors": ".safetensors",
    "tflite": ".tflite",
    "torch": ".pt",
}
LONGEST = 65_536


def floats(name: str, *shape: int) -> TensorProto:
    """A weight with few distinct values."""
    values = (np.arange(np.prod(shape)) % 5 - 2).astype(np.float32) / 8
    return numpy_helper.from_array(values.reshape(shape), name)


def value(name: str, *shape: object) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))


def model(nodes: list, inputs: list, outputs: list, weights: list) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "seed", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def dense() -> onnx.ModelProto:
    """768 board features, two hidden units, one score."""
    nodes = [
        helper.make_node("Gemm", ["board", "w1", "b1"], ["h"], transB=1),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "w2", "b2"], ["value"], transB=1),
    ]
    weights = [floats("w1", 2, 768), floats("b1", 2), floats("w2", 1, 2), floats("b2", 1)]
    return model(nodes, [value("board", "batch", 768)], [value("value", "batch", 1)], weights)


def convolution() -> onnx.ModelProto:
    """13 planes, one filter, a policy over 64 squares."""
    nodes = [
        helper.make_node("Conv", ["planes", "k"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Flatten", ["r"], ["policy"]),
    ]
    weights = [floats("k", 1, 13, 3, 3)]
    return model(nodes, [value("planes", "batch", 13, 8, 8)], [value("policy", "batch", 64)], weights)


def constants() -> onnx.ModelProto:
    """Shapes that are themselves computed."""
    shape = numpy_helper.from_array(np.array([-1, 4], dtype=np.int64), "shape")
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
        helper.make_node("Concat", ["y", "y"], ["z"], axis=1),
        helper.make_node("Transpose", ["z"], ["out"], perm=[1, 0]),
    ]
    return model(nodes, [value("x", 2, 8)], [value("out", 8, 4)], [shape])


def broken() -> dict[str, bytes]:
    cyclic = dense()
    cyclic.graph.node[0].input[0] = "r"
    huge = dense()
    huge.graph.initializer[0].dims[:] = [1 << 40, 1 << 40]
    short = dense()
    short.graph.initializer[0].raw_data = short.graph.initializer[0].raw_data[:10]
    nan = dense()
    nan.graph.initializer[1].raw_data = np.array([np.nan, np.inf], dtype=np.float32).tobytes()
    negative = dense()
    negative.graph.initializer[0].dims[:] = [-2, 768]
    files = {"cyclic": cyclic, "huge-dims": huge, "short-data": short, "nan": nan, "negative-dims": negative}
    whole = convolution().SerializeToString()
    return {name: file.SerializeToString() for name, file in files.items()} | {"truncated": whole[: len(whole) // 2]}


def damaged(fixture: bytes) -> dict[str, bytes]:
    """A fixture whole, cut short, and with its first hundred bytes' high bits flipped where most formats keep sizes."""
    head = bytes(byte ^ 0x80 if 8 <= i < 108 and i % 7 == 0 else byte for i, byte in enumerate(fixture))
    return {"whole": fixture, "cut": fixture[: len(fixture) * 2 // 3], "changed": head}


def npy_set() -> bytes:
    """The five files of the golden set behind each other, the first four with their lengths before them."""
    names = ["golden_planes", "golden_meta", "golden_analysis_data", "golden_analysis_offsets", "vocab"]
    files = [(ROOT / "fixtures" / "data" / "npy" / f"{name}.npy").read_bytes() for name in names]
    return b"".join(len(file).to_bytes(2, "little") + file for file in files[:4]) + files[4]


def checkpoint_body() -> dict[str, bytes]:
    """What the parts of the golden checkpoint hold: bytes that no checksum guards."""
    part = next((ROOT / "fixtures" / "train" / "checkpoint").rglob("part-000.ckpt")).read_bytes()
    body = part[32:]
    length = int.from_bytes(body[:8], "little")
    json, numbers = body[8 : 8 + length], body[8 + length :]

    def with_width(width: bytes) -> bytes:
        other = json.replace(b'"width":1,', b'"width":' + width + b",", 1)
        return len(other).to_bytes(8, "little") + other + numbers

    return {
        "body": body,
        "body-cut": body[: len(body) * 2 // 3],
        "body-wider": with_width(b"9"),
        "body-huge": with_width(b"1099511627776"),
    }


def write(target: str, ending: str, files: dict[str, bytes]) -> None:
    folder = SEEDS / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}{ending}").write_bytes(content[:LONGEST])


def main() -> None:
    sound = {f.__name__: f().SerializeToString() for f in (dense, convolution, constants)}
    write("onnx", ".onnx", sound | broken())
    write("open", ".onnx", sound)
    for target, ending in ENDINGS.items():
        fixtures = sorted((ROOT / "fixtures").rglob(f"*{ending}"), key=lambda file: (file.stat().st_size, file.name))
        if fixtures:
            write(target, pathlib.Path(ending).suffix or ending, damaged(fixtures[0].read_bytes()))
    write("checkpoint", ".bin", checkpoint_body())
    write("npy", ".bin", damaged(npy_set()))


if __name__ == "__main__":
    main()
