#!/usr/bin/env python3
"""Compares onnxruntime with tabia on a network: the same positions, the same numbers.

tabia encodes the positions and says what it computes (`tabia model tensors --runtime graph`); onnxruntime runs the same inputs. Ends
with 1 if an output is further off than the tolerance, as a share of its largest number.

    python3 tools/check_onnx.py net.onnx
    python3 tools/check_onnx.py net.onnx --tabia target/release/tabia --fen "8/P6k/8/8/8/8/8/K7 w - - 0 1"

Needs: pip install numpy onnx onnxruntime
"""

import argparse
import json
import shutil
import subprocess
import sys

import numpy as np

from check_export import run

# An 8-bit activation may fall to either side of a boundary.
EXACT, ROUNDED = 1e-4, 3e-2


def asked(tabia: list[str], model: str, fens: list[str]) -> dict:
    command = [*tabia, "model", "tensors", "--runtime", "graph", model]
    for fen in fens:
        command += ["--fen", fen]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def by_position(inputs: dict, row: int) -> dict:
    """The inputs of one position: rounding activations looks at all rows of a batch together."""
    def one(tensor: dict) -> dict:
        kind = "ids" if "ids" in tensor else "values"
        whole = np.array(tensor[kind]).reshape(tensor["shape"])[row : row + 1]
        return {"shape": list(whole.shape), kind: whole.ravel().tolist()}

    return {name: one(tensor) for name, tensor in inputs.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--fen", action="append", default=[], help="a position instead of the usual ones; may be repeated")
    parser.add_argument("--tabia", help="the program [default: tabia in the path, else cargo run]")
    parser.add_argument("--tolerance", type=float, help=f"[default: {EXACT}, for 8-bit networks {ROUNDED}]")
    arguments = parser.parse_args()
    found = arguments.tabia or shutil.which("tabia")
    tabia = [found] if found else ["cargo", "run", "--quiet", "--package", "tabia", "--"]
    ours = asked(tabia, arguments.model, arguments.fen)
    rows = len(ours["positions"])
    theirs = [run({"model": arguments.model, "inputs": by_position(ours["inputs"], row)}) for row in range(rows)]
    with open(arguments.model, "rb") as file:
        rounded = b"DynamicQuantizeLinear" in file.read()
    tolerance = arguments.tolerance if arguments.tolerance is not None else (ROUNDED if rounded else EXACT)
    good = True
    for name, tensor in ours["outputs"].items():
        mine = np.array(tensor["values"], dtype=np.float64)
        other = np.concatenate([np.array(answer[name], dtype=np.float64) for answer in theirs])
        if mine.shape != other.shape:
            print(f"{name}: {mine.size} numbers here, {other.size} in onnxruntime")
            good = False
            continue
        scale = max(1.0, float(np.abs(other).max()))
        apart = float(np.abs(mine - other).max())
        fine = apart <= tolerance * scale
        good &= fine
        print(f"{name}: {mine.size} numbers of {rows} positions, largest {scale:.4g}, at most {apart:.3g} apart: "
              f"{'the same' if fine else 'NOT the same'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
