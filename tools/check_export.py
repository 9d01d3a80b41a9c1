"""Runs exported networks in onnxruntime and prints their outputs.

Reads a JSON list from stdin: [{"model": path, "inputs": {name: {"shape": [...], "ids": [...] or "values": [...]}}}].
Prints a JSON list, in the same order: [{name: [numbers]}].

Needs onnxruntime and numpy, and onnx for networks with integer products.
"""

import json
import sys

import numpy as np
import onnxruntime


def exact(path: str):
    """What to open for a network: one with integer products as bytes, the i8 weights of its matrix products as u8.

    onnxruntime's products of u8 and i8 saturate on x86-64 without VNNI; those of u8 and u8 are exact on every processor.
    """
    with open(path, "rb") as file:
        if b"MatMulInteger" not in file.read():
            return path
    import onnx

    model = onnx.load(path)
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}

    def moved(name: str) -> str:
        """The name of a copy as u8; an absent zero point is 0."""
        copy = f"{name}_as_u8"
        if copy not in tensors:
            numbers = onnx.numpy_helper.to_array(tensors[name]) if name else np.array(0, np.int8)
            as_u8 = (numbers.astype(np.int16) + 128).astype(np.uint8)
            tensors[copy] = onnx.numpy_helper.from_array(as_u8, copy)
            model.graph.initializer.append(tensors[copy])
        return copy

    for node in model.graph.node:
        if node.op_type == "MatMulInteger" and node.input[1] in tensors:
            if tensors[node.input[1]].data_type == onnx.TensorProto.INT8:
                inputs = [*node.input, "", ""][:4]
                node.ClearField("input")
                node.input.extend([inputs[0], moved(inputs[1]), inputs[2], moved(inputs[3])])
    return model.SerializeToString()


def run(request: dict) -> dict:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(exact(request["model"]), options, providers=["CPUExecutionProvider"])
    feeds = {}
    for name, tensor in request["inputs"].items():
        kind, numbers = (np.int64, tensor["ids"]) if "ids" in tensor else (np.float32, tensor["values"])
        feeds[name] = np.array(numbers, dtype=kind).reshape(tensor["shape"])
    names = [output.name for output in session.get_outputs()]
    return {name: array.ravel().tolist() for name, array in zip(names, session.run(names, feeds))}


def main() -> None:
    json.dump([run(request) for request in json.load(sys.stdin)], sys.stdout)


if __name__ == "__main__":
    main()
