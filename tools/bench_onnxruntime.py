"""onnxruntime in the benches of crates/model and crates/runtime, which start this script.

Needs the pip packages onnxruntime and numpy, and onnx for int8.

usage: bench_onnxruntime.py FOLDER OUTPUT

FOLDER has net.onnx, input0.f32, input1.f32, ... with the rows of each input, and batches.txt with the number of rows of each
batch. Prints "ready: ..."; then, for each line of numbers ("f32" or "int8"), calls ("single" or "batched") and perhaps threads
(1 without) on standard input, evaluates all rows, one row or one batch a call, writes OUTPUT to outputs.f32 and prints the
nanoseconds of the calls. For int8 the network is quantised dynamically, with weights per channel.
"""

import os
import sys
import time

try:
    import numpy
    import onnxruntime
except ImportError as error:
    print(f"{error} in {sys.executable}")
    sys.exit(1)

folder, output = sys.argv[1:]


def session(numbers, threads):
    path = os.path.join(folder, "net.onnx")
    if numbers == "int8":
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantised = os.path.join(folder, "net-int8.onnx")
        quantize_dynamic(path, quantised, per_channel=True, weight_type=QuantType.QInt8)
        path = quantised
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def main():
    sessions = {("f32", 1): session("f32", 1)}
    inputs = {}
    for index, model_input in enumerate(sessions["f32", 1].get_inputs()):
        rows = numpy.fromfile(os.path.join(folder, f"input{index}.f32"), dtype="<f4")
        inputs[model_input.name] = rows.reshape(-1, *model_input.shape[1:])
    with open(os.path.join(folder, "batches.txt")) as file:
        batches = [int(line) for line in file]
    print(f"ready: onnxruntime {onnxruntime.__version__}", flush=True)
    for line in sys.stdin:
        numbers, calls, *threads = line.split()
        key = numbers, int(threads[0]) if threads else 1
        if key not in sessions:
            sessions[key] = session(*key)
        feeds, start = [], 0
        for size in batches if calls == "batched" else [1] * sum(batches):
            if size > 0:
                feeds.append({name: rows[start : start + size] for name, rows in inputs.items()})
            start += size
        started = time.perf_counter_ns()
        results = [sessions[key].run([output], feed)[0] for feed in feeds]
        elapsed = time.perf_counter_ns() - started
        numpy.concatenate(results).astype("<f4").tofile(os.path.join(folder, "outputs.f32"))
        print(elapsed, flush=True)


main()
