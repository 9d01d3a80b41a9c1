"""Runs exported networks in onnxruntime and prints their outputs.

Reads a JSON list from stdin: [{"model": path, "inputs": {name: {"shape": [...], "ids": [...] or "values": [...]}}}].
Prints a JSON list, in the same order: [{name: [numbers]}].

Needs onnxruntime and numpy.
"""

import json
import sys

import numpy as np
import onnxruntime


def run(request: dict) -> dict:
    options = onnxruntime.SessionOptions()
    # Without it products of u8 and i8 saturate on x86-64 without VNNI.
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(request["model"], options, providers=["CPUExecutionProvider"])
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
