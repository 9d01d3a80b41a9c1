#!/usr/bin/env python3
"""Compares TensorFlow Lite with tabia on a .tflite file: the same positions, the same numbers.

tabia encodes the positions and says what it computes (`tabia model tensors`); TensorFlow Lite runs the same inputs, one
position at a time. Ends with 1 if an output is further off than the tolerance.

    python3 tools/check_tflite.py net.tflite --tabia target/release/tabia

Needs: pip install numpy ai-edge-litert
"""

import argparse
import json
import subprocess
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--tabia", default="tabia", help="the program")
    parser.add_argument("--context", help="the context of a two-input network")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    arguments = parser.parse_args()
    command = [arguments.tabia, "model", "tensors", arguments.model]
    if arguments.context:
        command += ["--context", arguments.context]
    ours = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    runner = Interpreter(model_path=arguments.model).get_signature_runner()
    worst = 0.0
    for row in range(len(ours["positions"])):
        def one(tensor: dict) -> np.ndarray:
            return np.array(tensor["values"], np.float32).reshape(tensor["shape"])[row : row + 1]

        theirs = runner(**{name: one(tensor) for name, tensor in ours["inputs"].items()})
        for name, tensor in ours["outputs"].items():
            worst = max(worst, float(np.abs(theirs[name] - one(tensor)).max()))
    print(f"{arguments.model}: {len(ours['positions'])} positions, at most {worst:.3g} apart")
    return 0 if worst <= arguments.tolerance else 1


if __name__ == "__main__":
    sys.exit(main())
