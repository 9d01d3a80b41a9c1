"""Small random ONNX networks and what onnxruntime makes of them.

Writes fixtures/models/<name>.onnx and <name>.json for each network below. The JSON holds the inputs (features as
lists of the indices that are 1, ids as they are) and the outputs of onnxruntime on the CPU, rounded to 1e-6; the Rust
tests feed the same inputs to the same file and compare. Outputs of quantised networks are those of exact arithmetic
(tools/exact_onnx.py).

Needs: pip install onnx onnxruntime numpy torch. Only the transformer needs torch: it goes through torch's TorchScript
exporter at opset 14, as published HumChess files do. Run from anywhere; the result depends on nothing but the seeds.

    python tools/onnx_fixtures.py
"""

import io
import json
import pathlib
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import exact_onnx

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "models"
ROWS = 200


def weights(rng, *shape, scale=None):
    """Normal numbers, small enough that a deep net neither explodes nor dies."""
    fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else shape[0]
    scale = scale if scale is not None else (1.5 / fan_in) ** 0.5
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def model(nodes, inputs, outputs, tensors, opset=17):
    """A checked model; `tensors` maps names to arrays."""
    initializers = [numpy_helper.from_array(array, name) for name, array in tensors.items()]
    graph = helper.make_graph(nodes, "net", inputs, outputs, initializers)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="fixture")
    made.ir_version = 8
    onnx.checker.check_model(made, full_check=True)
    return made


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def sparse_rows(rng, rows, width, on):
    """Rows of zeros and ones, about `on` ones each, as sorted index lists."""
    return [sorted(int(i) for i in rng.choice(width, size=on, replace=False)) for _ in range(rows)]


def dense(index_rows, width):
    out = np.zeros((len(index_rows), width), np.float32)
    for row, indices in enumerate(index_rows):
        out[row, indices] = 1.0
    return out


def run_onnxruntime(made, feeds, rows_at_once):
    """The outputs by name for all rows."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return exact_onnx.batched(session.run, names, feeds, rows_at_once)


def save(name, made, inputs, feeds, rows_at_once=None, keep=None):
    """Writes the model and its answers. `inputs` describes the feeds for the Rust side.

    `keep` columns of a wide output are enough: each depends on everything below the last layer.
    """
    data = made.SerializeToString()
    rows = len(next(iter(feeds.values())))
    is_quantised = any(node.op_type in ("ConvInteger", "MatMulInteger") for node in made.graph.node)
    run = exact_onnx.run if is_quantised else run_onnxruntime
    outputs = []
    for output, values in run(made, feeds, rows_at_once or rows).items():
        columns = list(range(values.shape[-1]))
        if keep and keep < len(columns):
            columns = columns[:: len(columns) // keep][:keep]
        kept = values[..., columns]
        flat = [float(f"{v:.6g}") if abs(v) > 1 else round(float(v), 6) for v in kept.reshape(-1).tolist()]
        outputs.append({"name": output, "shape": list(values.shape), "columns": columns, "values": flat})
    (FOLDER / f"{name}.onnx").write_bytes(data)
    text = json.dumps({"inputs": inputs, "outputs": outputs}, separators=(",", ":"))
    (FOLDER / f"{name}.json").write_text(text + "\n")
    print(f"{name}: {len(data)} bytes, {len(text)} bytes of answers, {rows} rows")


def quantised(made):
    """The model with weights as unsigned bytes, by onnxruntime's dynamic quantisation."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "source.onnx"), pathlib.Path(folder, "target.onnx")
        source.write_bytes(made.SerializeToString())
        quantize_dynamic(source, target, weight_type=QuantType.QUInt8)
        return onnx.load(target)


def challenge_mlp():
    """768-16-8-1 of the Chess Challenge, batch declared as 1, Gemm layers."""
    rng = np.random.default_rng(1)
    sizes = [768, 16, 8, 1]
    tensors, nodes, value = {}, [], "board"
    for i, (fan_in, out) in enumerate(zip(sizes, sizes[1:])):
        tensors[f"w{i}"] = weights(rng, out, fan_in, scale=(16 / fan_in) ** 0.5 if i == 0 else None)
        tensors[f"b{i}"] = weights(rng, out, scale=0.1)
        last = i == len(sizes) - 2
        result = "score" if last else f"h{i}"
        nodes.append(helper.make_node("Gemm", [value, f"w{i}", f"b{i}"], [result], f"layer{i}", transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [result], [f"r{i}"], f"relu{i}"))
            value = f"r{i}"
    made = model(nodes, [info("board", [1, 768])], [info("score", [1, 1])], tensors)
    rows = sparse_rows(rng, ROWS, 768, 24)
    save("challenge-mlp", made, [{"name": "board", "shape": [ROWS, 768], "ones": rows}],
         {"board": dense(rows, 768)}, rows_at_once=1)


def matmul_mlp():
    """The same idea the way Keras writes it: MatMul and Add, a free batch, Tanh at the end, a scalar constant."""
    rng = np.random.default_rng(2)
    tensors = {
        "w0": weights(rng, 774, 24, scale=0.2), "b0": weights(rng, 24, scale=0.1),
        "w1": weights(rng, 24, 1), "b1": weights(rng, 1, scale=0.1),
    }
    half = numpy_helper.from_array(np.array(0.5, np.float32), "half_value")
    nodes = [
        helper.make_node("MatMul", ["features", "w0"], ["m0"]),
        helper.make_node("Add", ["m0", "b0"], ["a0"]),
        helper.make_node("Relu", ["a0"], ["r0"]),
        helper.make_node("MatMul", ["r0", "w1"], ["m1"]),
        helper.make_node("Add", ["m1", "b1"], ["a1"]),
        helper.make_node("Constant", [], ["half"], value=half),
        helper.make_node("Mul", ["a1", "half"], ["scaled"]),
        helper.make_node("Tanh", ["scaled"], ["value"]),
    ]
    made = model(nodes, [info("features", ["batch", 774])], [info("value", ["batch", 1])], tensors)
    rows = sparse_rows(rng, ROWS, 774, 26)
    save("matmul-mlp", made, [{"name": "features", "shape": [ROWS, 774], "ones": rows}],
         {"features": dense(rows, 774)})


def conv_net():
    """17 planes, a residual block with squeeze and excitation, policy and value heads."""
    rng = np.random.default_rng(3)
    c = 8
    tensors = {
        "stem.w": weights(rng, c, 17, 3, 3), "stem.b": weights(rng, c, scale=0.1),
        "block.w1": weights(rng, c, c, 3, 3), "block.w2": weights(rng, c, c, 3, 3),
        "bn.scale": 1 + weights(rng, c, scale=0.1), "bn.bias": weights(rng, c, scale=0.1),
        "bn.mean": weights(rng, c, scale=0.1), "bn.var": 1 + np.abs(weights(rng, c, scale=0.1)),
        "se.w1": weights(rng, c, 4), "se.w2": weights(rng, 4, c),
        "policy.w": weights(rng, 2, c, 1, 1), "flat": np.array([0, -1], np.int64),
        "policy.fc": weights(rng, 128, 64), "policy.b": weights(rng, 64, scale=0.1),
        "value.w": weights(rng, c, 3),
        "se.shape": np.array([0, c, 1, 1], np.int64),
    }
    pads = {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
    nodes = [
        helper.make_node("Conv", ["planes", "stem.w", "stem.b"], ["s"], "stem", **pads),
        helper.make_node("Relu", ["s"], ["x"]),
        helper.make_node("Conv", ["x", "block.w1"], ["y1"], "block1", auto_pad="SAME_UPPER"),
        helper.make_node("BatchNormalization", ["y1", "bn.scale", "bn.bias", "bn.mean", "bn.var"], ["y2"]),
        helper.make_node("Relu", ["y2"], ["y3"]),
        helper.make_node("Conv", ["y3", "block.w2"], ["y4"], "block2", **pads),
        helper.make_node("GlobalAveragePool", ["y4"], ["p"]),
        helper.make_node("Flatten", ["p"], ["pf"], axis=1),
        helper.make_node("MatMul", ["pf", "se.w1"], ["e1"]),
        helper.make_node("Relu", ["e1"], ["e2"]),
        helper.make_node("MatMul", ["e2", "se.w2"], ["e3"]),
        helper.make_node("Sigmoid", ["e3"], ["e4"]),
        helper.make_node("Reshape", ["e4", "se.shape"], ["e5"]),
        helper.make_node("Mul", ["y4", "e5"], ["y5"]),
        helper.make_node("Add", ["x", "y5"], ["y6"]),
        helper.make_node("Relu", ["y6"], ["z"]),
        helper.make_node("Conv", ["z", "policy.w"], ["q1"], "policy"),
        helper.make_node("Reshape", ["q1", "flat"], ["q2"]),
        helper.make_node("Gemm", ["q2", "policy.fc", "policy.b"], ["policy"]),
        helper.make_node("MaxPool", ["z"], ["v0"], kernel_shape=[8, 8]),
        helper.make_node("Flatten", ["v0"], ["v1"]),
        helper.make_node("MatMul", ["v1", "value.w"], ["v2"]),
        helper.make_node("Softmax", ["v2"], ["wdl"], axis=-1),
    ]
    made = model(nodes, [info("planes", ["N", 17, 8, 8])],
                 [info("policy", ["N", 64]), info("wdl", ["N", 3])], tensors)
    rows = sparse_rows(rng, ROWS, 17 * 64, 40)
    save("conv-net", made, [{"name": "planes", "shape": [ROWS, 17, 8, 8], "ones": rows}],
         {"planes": dense(rows, 17 * 64).reshape(-1, 17, 8, 8)}, keep=16)
    return made, rows


def quantised_conv(made, rows):
    """The same network in unsigned bytes, its convolutions padded with their zero points."""
    rows = rows[:20]
    save("quantised-conv", quantised(made), [{"name": "planes", "shape": [len(rows), 17, 8, 8], "ones": rows}],
         {"planes": dense(rows, 17 * 64).reshape(-1, 17, 8, 8)}, rows_at_once=1, keep=16)


def quantised_mlp():
    """challenge_mlp's shape with a free batch, weights as unsigned bytes, activations quantised while running."""
    rng = np.random.default_rng(4)
    tensors = {
        "w0": weights(rng, 768, 32, scale=0.2), "b0": weights(rng, 32, scale=0.1),
        "w1": weights(rng, 32, 4), "b1": weights(rng, 4, scale=0.1),
    }
    nodes = [
        helper.make_node("MatMul", ["board", "w0"], ["m0"], "m0"),
        helper.make_node("Add", ["m0", "b0"], ["a0"], "a0"),
        helper.make_node("Relu", ["a0"], ["r0"], "r0"),
        helper.make_node("MatMul", ["r0", "w1"], ["m1"], "m1"),
        helper.make_node("Add", ["m1", "b1"], ["out"], "a1"),
    ]
    made = model(nodes, [info("board", ["batch", 768])], [info("out", ["batch", 4])], tensors)
    made = quantised(made)
    rows = sparse_rows(rng, ROWS, 768, 24)
    # The scales are found from the whole batch, so each row is run alone.
    save("quantised-mlp", made, [{"name": "board", "shape": [ROWS, 768], "ones": rows}],
         {"board": dense(rows, 768)}, rows_at_once=1)


def transformer():
    """A HumChess network of width 16 through torch's own exporter: int64 tokens [batch, 68], opset 14."""
    import torch
    from torch import nn

    torch.manual_seed(5)
    width, heads, layers = 16, 2, 2

    class Norm(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.weight = nn.Parameter(1 + 0.1 * torch.randn(size))

        def forward(self, x):
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(width, 3 * width, bias=False)
            self.out = nn.Linear(width, width, bias=False)
            self.q_norm, self.k_norm = Norm(width // heads), Norm(width // heads)

        def forward(self, x):
            batch, length, _ = x.shape
            q, k, v = self.qkv(x).reshape(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            mixed = nn.functional.scaled_dot_product_attention(self.q_norm(q), self.k_norm(k), v)
            return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.rmsnorm1, self.rmsnorm2, self.attn = Norm(width), Norm(width), Attention()
            self.w1 = nn.Linear(width, 2 * width, bias=False)
            self.w2 = nn.Linear(2 * width, width, bias=False)

        def forward(self, x):
            x = x + self.attn(self.rmsnorm1(x))
            return x + self.w2(nn.functional.silu(self.w1(self.rmsnorm2(x))))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.token_emb, self.pos_emb = nn.Embedding(66, width), nn.Embedding(64, width)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.rmsnorm_final = Norm(width)
            self.move_head, self.promo_head = nn.Linear(width, 4096), nn.Linear(width, 4)

        def forward(self, tokens):
            x = self.token_emb(tokens)
            squares = x[:, 1:65] + self.pos_emb(torch.arange(64, device=tokens.device))
            x = torch.cat([x[:, :1], squares, x[:, 65:]], dim=1)
            for block in self.blocks:
                x = block(x)
            cls = self.rmsnorm_final(x[:, 0])
            return self.move_head(cls), self.promo_head(cls)

    net = Net().eval()
    rng = np.random.default_rng(5)
    tokens = np.concatenate([
        np.full((ROWS, 1), 13), rng.integers(0, 13, (ROWS, 64)), rng.integers(14, 30, (ROWS, 1)),
        rng.integers(30, 47, (ROWS, 1)), rng.integers(47, 66, (ROWS, 1)),
    ], axis=1).astype(np.int64)
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            net, (torch.from_numpy(tokens[:2]),), buffer, opset_version=14, dynamo=False,
            input_names=["tokens"], output_names=["move_logits", "promo_logits"],
            dynamic_axes={name: {0: "batch"} for name in ("tokens", "move_logits", "promo_logits")},
        )
    made = onnx.load_from_string(buffer.getvalue())
    ids = [{"name": "tokens", "shape": [ROWS, 68], "ids": tokens.reshape(-1).tolist()}]
    save("humchess-transformer", made, ids, {"tokens": tokens}, keep=32)
    return made, tokens


def quantised_transformer(made, tokens):
    """The same network with its matrices as unsigned bytes. Each row is run alone, as in quantised_mlp."""
    rows = 20
    ids = [{"name": "tokens", "shape": [rows, 68], "ids": tokens[:rows].reshape(-1).tolist()}]
    made = quantised(made)
    save("quantised-transformer", made, ids, {"tokens": tokens[:rows]}, rows_at_once=1, keep=32)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    challenge_mlp()
    matmul_mlp()
    quantised_conv(*conv_net())
    quantised_mlp()
    quantised_transformer(*transformer())
