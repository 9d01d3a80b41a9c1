"""onnxruntime's part in the bench of human networks (crates/model/benches/human.rs), which starts this script.

Needs the pip packages onnxruntime, onnx and numpy.

usage: bench_human.py NET.onnx SQUARES.f32 GAME.f32 OUTPUTS.f32

SQUARES and GAME are the inputs of all positions. Says "ready: ..." once it is; then, for each line "f32" or "int8" on standard
input, evaluates all positions on one thread, one a call, writes the move logits to OUTPUTS and prints the nanoseconds of the
calls. For "int8" the network is quantised as onnxruntime does it for transformers: weights ahead, by channel, activations as it
runs.
"""

import os
import sys
import time

try:
    import numpy
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic
except ImportError as error:
    print(f"{error} in {sys.executable}")
    sys.exit(1)


def start(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def main():
    net, squares_path, game_path, outputs_path = sys.argv[1:]
    rounded = os.path.splitext(net)[0] + "-int8.onnx"
    quantize_dynamic(net, rounded, per_channel=True, weight_type=QuantType.QInt8)
    sessions = {"f32": start(net), "int8": start(rounded)}
    squares = numpy.fromfile(squares_path, dtype="<f4").reshape(-1, 1, 64, 32)
    game = numpy.fromfile(game_path, dtype="<f4").reshape(-1, 1, 80)
    inputs = [{"squares": s, "game": g} for s, g in zip(squares, game)]
    names = [output.name for output in sessions["f32"].get_outputs()]
    moves = names.index("move_logits")
    print(f"ready: onnxruntime {onnxruntime.__version__}", flush=True)
    for line in sys.stdin:
        session = sessions[line.strip()]
        started = time.perf_counter_ns()
        results = [session.run(names, feed)[moves] for feed in inputs]
        elapsed = time.perf_counter_ns() - started
        numpy.concatenate(results).astype("<f4").tofile(outputs_path)
        print(elapsed, flush=True)


main()
