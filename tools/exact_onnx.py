"""Quantised ONNX networks in exact integer arithmetic, by the reference evaluator of the onnx package.

Runtimes do not all compute integer products exactly on every processor: onnxruntime's own kernels for u8 times i8
saturate on x86-64 without VNNI. So the expected numbers of quantised networks come from here.

Needs: pip install onnx numpy
"""

import numpy as np
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun


class DequantizeLinear(OpRun):
    """With one scale, as files before operator set 19 have it, for which the evaluator has none."""

    def _run(self, x, scale, zero=None, **_):
        assert scale.size == 1, "one scale for the tensor"
        zero = 0 if zero is None else zero.astype(np.int32)
        return ((x.astype(np.int32) - zero).astype(np.float32) * scale,)


def run(model, feeds, rows_at_once):
    """The outputs by name for all rows of `feeds`. Scales are found from a whole batch, so rows that are asked about alone
    are run alone."""
    opset = next(s.version for s in model.opset_import if s.domain in ("", "ai.onnx"))
    evaluator = ReferenceEvaluator(model, new_ops=[DequantizeLinear] if opset < 19 else None)
    return batched(evaluator.run, [output.name for output in model.graph.output], feeds, rows_at_once)


def batched(run, names, feeds, rows_at_once):
    """The outputs by name of `run(names, feeds)`, a few rows at a time."""
    count = len(next(iter(feeds.values())))
    parts = [
        run(names, {name: rows[at : at + rows_at_once] for name, rows in feeds.items()})
        for at in range(0, count, rows_at_once)
    ]
    return {name: np.concatenate([part[i] for part in parts]) for i, name in enumerate(names)}
