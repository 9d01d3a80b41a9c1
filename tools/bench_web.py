"""Quantises a network for the bench of the page (xtask/src/bench_web.rs), as onnxruntime does it for transformers: weights ahead,
by channel, activations as it runs.

Needs the pip packages onnxruntime, onnx and numpy.

usage: bench_web.py NET.onnx QUANTISED.onnx
"""

import sys

from onnxruntime.quantization import QuantType, quantize_dynamic

net, quantised = sys.argv[1:]
quantize_dynamic(net, quantised, per_channel=True, weight_type=QuantType.QInt8)
