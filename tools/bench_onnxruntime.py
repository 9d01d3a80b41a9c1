"""onnxruntime's part in the model bench (crates/model/benches/dense.rs), which starts this script.

Needs the pip packages onnxruntime and numpy.

usage: bench_onnxruntime.py NET.onnx ROWS.f32 COUNTS.txt OUTPUTS.f32

ROWS are the input rows of all children, COUNTS how many of them each parent has. Says "ready: ..." once it
is; then, for each line "single" or "batched" on standard input, evaluates all rows on one thread, one row or
one parent's rows a call, writes the results to OUTPUTS and prints the nanoseconds of the calls.
"""

import sys
import time

try:
    import numpy
    import onnxruntime
except ImportError as error:
    print(f"{error} in {sys.executable}")
    sys.exit(1)


def main():
    net, rows_path, counts_path, outputs_path = sys.argv[1:]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(net, options, providers=["CPUExecutionProvider"])
    (model_input,) = session.get_inputs()
    width = model_input.shape[1]
    rows = numpy.fromfile(rows_path, dtype="<f4").reshape(-1, width)
    with open(counts_path) as file:
        ends = numpy.cumsum([int(line) for line in file])
    batches = {
        "single": [rows[i : i + 1] for i in range(len(rows))],
        "batched": [batch for batch in numpy.split(rows, ends[:-1]) if len(batch) > 0],
    }
    names = [session.get_outputs()[0].name]
    print(f"ready: onnxruntime {onnxruntime.__version__}", flush=True)
    for line in sys.stdin:
        inputs = [{model_input.name: batch} for batch in batches[line.strip()]]
        started = time.perf_counter_ns()
        results = [session.run(names, feed)[0] for feed in inputs]
        elapsed = time.perf_counter_ns() - started
        numpy.concatenate(results).astype("<f4").tofile(outputs_path)
        print(elapsed, flush=True)


main()
