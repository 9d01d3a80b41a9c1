#!/usr/bin/env python3
"""Writes fixtures/models/statedict/: small random networks saved by torch and safetensors, and what torch makes of
them on 200 inputs each; in epsilon.json what humchess-74.pt gives with embeddings so small that the epsilon of its norms
shows, for both epsilons that HumChess has had.

The inputs are not stored: both sides draw them from the same linear congruential generator (`draws`). Of wide outputs
only a few places are kept. Deterministic. Needs: pip install torch numpy safetensors
"""
import argparse
import collections
import json
import math
import pathlib

import numpy as np
import safetensors.torch
import torch
from torch import nn
from torch.nn import functional

OUT = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "models" / "statedict"
ROWS = 200
PLACES = 8


def draws(count: int) -> np.ndarray:
    """The first `count` states of a 32-bit linear congruential generator that starts from 1."""
    state, states = 1, np.empty(count, dtype=np.uint32)
    for i in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        states[i] = state
    return states


def bits(*shape: int) -> torch.Tensor:
    """Rows in which one number in eight is 1, the others 0."""
    count = ROWS * math.prod(shape)
    return torch.tensor((draws(count) >> 29 == 0).astype(np.float32).reshape(ROWS, *shape))


def token_rows(history: bool) -> torch.Tensor:
    """Rows of token ids, each place drawn from the ids it may have."""
    ranges = [(13, 1)] + [(0, 13)] * 64 + [(14, 16), (30, 17), (47, 19)] + [(0, 4097)] * (6 if history else 0)
    drawn = (draws(ROWS * len(ranges)) >> 8).reshape(ROWS, -1).astype(np.int64)
    return torch.tensor(np.array([low for low, _ in ranges]) + drawn % np.array([n for _, n in ranges]))


def with_epsilon(model: nn.Module, eps: float | None) -> nn.Module:
    """None is torch's default, the epsilon of the numbers' type."""
    for module in model.modules():
        if isinstance(module, nn.RMSNorm):
            module.eps = eps
    return model


class HumChessAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.q_norm = nn.RMSNorm(width // heads)
        self.k_norm = nn.RMSNorm(width // heads)

    def forward(self, x):
        def by_head(part):
            return part.unflatten(2, (self.heads, -1)).transpose(1, 2)

        q, k, v = (by_head(part) for part in self.qkv(x).chunk(3, dim=2))
        mixed = functional.scaled_dot_product_attention(self.q_norm(q), self.k_norm(k), v)
        return self.out(mixed.transpose(1, 2).flatten(2))


class HumChessFeedForward(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.w1 = nn.Linear(width, hidden, bias=False)
        self.w2 = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.w2(functional.silu(self.w1(x)))


class HumChessBlock(nn.Module):
    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.rmsnorm1 = nn.RMSNorm(width)
        self.attn = HumChessAttention(width, heads)
        self.rmsnorm2 = nn.RMSNorm(width)
        self.ffn = HumChessFeedForward(width, hidden)

    def forward(self, x):
        x = x + self.attn(self.rmsnorm1(x))
        return x + self.ffn(self.rmsnorm2(x))


class HumChess(nn.Module):
    """Tokens 0..68 are the board, 68..74 the last moves where `history` is set."""

    def __init__(self, history: bool, width: int = 16, heads: int = 2, layers: int = 2, hidden: int = 32) -> None:
        super().__init__()
        self.token_emb = nn.Embedding(66, width)
        self.pos_emb = nn.Embedding(64, width)
        if history:
            self.move_history_emb = nn.Embedding(4097, width)
            self.history_pos_emb = nn.Embedding(6, width)
        self.history = history
        self.blocks = nn.ModuleList(HumChessBlock(width, heads, hidden) for _ in range(layers))
        self.rmsnorm_final = nn.RMSNorm(width)
        self.move_head = nn.Linear(width, 4096)
        self.promo_head = nn.Linear(width, 4)

    def forward(self, tokens):
        x = self.token_emb(tokens[:, :68])
        x[:, 1:65] += self.pos_emb.weight
        if self.history:
            past = self.move_history_emb(tokens[:, 68:]) + self.history_pos_emb.weight
            x = torch.cat([x, past], dim=1)
        for block in self.blocks:
            x = block(x)
        first = self.rmsnorm_final(x[:, 0])
        return {"move_logits": self.move_head(first), "promo_logits": self.promo_head(first)}


class NumberedMlp(nn.Module):
    def __init__(self, *sizes: int) -> None:
        super().__init__()
        layers = [(f"linear-{i}", nn.Linear(a, b)) for i, (a, b) in enumerate(zip(sizes, sizes[1:]))]
        self.seq = nn.ModuleDict(layers)

    def forward(self, x):
        *inner, last = self.seq.values()
        for layer in inner:
            x = functional.relu(layer(x))
        return {"value": last(x)}


class PolicyMlp(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        sizes = [nn.Linear(837, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1968)]
        self.net = nn.Sequential(*sizes)

    def forward(self, x):
        return {"policy": self.net(x)}


class ConvBlock(nn.Module):
    def __init__(self, norm: type[nn.Module], channels: int, kernel: int) -> None:
        super().__init__()
        self.ln1, self.ln2 = norm([channels, 8, 8]), norm([channels, 8, 8])
        self.conv1 = nn.Conv2d(channels, channels, kernel, padding="same")
        self.conv2 = nn.Conv2d(channels, channels, kernel, padding="same")

    def forward(self, x):
        y = functional.gelu(self.conv1(self.ln1(x)))
        return x + functional.gelu(self.conv2(self.ln2(y)))


def random_vocabulary(moves: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.stack([torch.randint(0, n, (moves,), generator=generator) for n in (64, 64, 5)], dim=1)


class FlattenHead(nn.Module):
    def __init__(self, channels: int, moves: int, reduced: int | None = None) -> None:
        super().__init__()
        if reduced:
            self.reduce = nn.Sequential(nn.Conv2d(channels, reduced, 1), nn.GELU())
        self.norm = nn.RMSNorm((reduced or channels) * 64)
        self.out = nn.Linear((reduced or channels) * 64, moves)

    def forward(self, x):
        x = self.reduce(x) if hasattr(self, "reduce") else x
        return self.out(self.norm(x.flatten(1)))


class SpatialHead(nn.Module):
    """68 numbers a from-square: its to-squares, then what promotion to n, b, r, q adds."""

    def __init__(self, channels: int, moves: int, shared: bool) -> None:
        super().__init__()
        self.norm = nn.RMSNorm([channels, 8, 8])
        if shared:
            self.conv = nn.Conv2d(channels, 68, 1)
        else:
            self.weight = nn.Parameter(torch.rand(64, channels, 68) - 0.5)
            self.bias = nn.Parameter(torch.rand(64, 68) - 0.5)
        start, end, promotion = random_vocabulary(moves).unbind(1)
        plain = start * 68 + end
        self.register_buffer("base_idx", plain)
        self.register_buffer("promo_idx", torch.where(promotion > 0, start * 68 + 63 + promotion, plain))
        self.register_buffer("promo_mask", (promotion > 0).float())

    def forward(self, x):
        x = self.norm(x)
        if hasattr(self, "conv"):
            planes = self.conv(x).flatten(2).transpose(1, 2)
        else:
            planes = torch.einsum("ncs,scp->nsp", x.flatten(2), self.weight) + self.bias
        flat = planes.flatten(1)
        return flat[:, self.base_idx] + flat[:, self.promo_idx] * self.promo_mask


class PairHead(nn.Module):
    """Scores a move by its from- and to-square: the product of two vectors, or the sum of two numbers."""

    def __init__(self, channels: int, moves: int, depth: int | None) -> None:
        super().__init__()
        if depth:
            self.norm = nn.RMSNorm([channels, 8, 8])
            self.from_proj, self.to_proj = nn.Conv2d(channels, depth, 1), nn.Conv2d(channels, depth, 1)
        else:
            self.norm = nn.RMSNorm(channels * 64)
            self.from_head, self.to_head = nn.Linear(channels * 64, 64), nn.Linear(channels * 64, 64)
        self.promo_bias = nn.Parameter(torch.rand(5))
        for name, part in zip(("from_idx", "to_idx", "promo_idx"), random_vocabulary(moves).unbind(1)):
            self.register_buffer(name, part)

    def forward(self, x):
        if hasattr(self, "from_proj"):
            x = self.norm(x)
            start, end = self.from_proj(x).flatten(2), self.to_proj(x).flatten(2)
            score = (start[:, :, self.from_idx] * end[:, :, self.to_idx]).sum(1)
        else:
            x = self.norm(x.flatten(1))
            score = self.from_head(x)[:, self.from_idx] + self.to_head(x)[:, self.to_idx]
        return score + self.promo_bias[self.promo_idx]


class PolicyCnn(nn.Module):
    """With a head, the newer form; without, the older one that ends in `out_ln` and `output`."""

    def __init__(self, planes, channels, kernel, norm=nn.RMSNorm, head=None, moves=None) -> None:
        super().__init__()
        first = [nn.Conv2d(planes, channels, kernel, padding="same"), nn.GELU()]
        self.layers = nn.Sequential(*first, ConvBlock(norm, channels, kernel))
        if head:
            self.head = head
        else:
            self.out_ln = norm(channels * 64)
            self.output = nn.Linear(channels * 64, moves)

    def forward(self, x):
        x = self.layers(x)
        return {"policy": self.head(x) if hasattr(self, "head") else self.output(self.out_ln(x.flatten(1)))}


def randomise(model: nn.Module) -> None:
    """Norms start as ones, biases as zeros and matrices small, which would hide a weight left out or turned round."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1 or "norm" in name or ".ln" in name:
                parameter.copy_(0.5 + torch.rand_like(parameter))
            else:
                parameter.mul_(2)


def round_to(model: nn.Module, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """The state dict in `dtype`; the model keeps the rounded weights, in 32 bits."""
    stored = {k: v.to(dtype) if v.is_floating_point() else v for k, v in model.state_dict().items()}
    model.load_state_dict(stored)
    return stored


def cases():
    """Name of the file, model, type of its weights, inputs, and how it is saved."""

    def tensors_only(path, weights):
        if path.suffix == ".safetensors":
            safetensors.torch.save_file(weights, path, metadata={"format": "pt"})
        else:
            torch.save(weights, path)

    def compiled(path, weights):
        torch.save({"epoch": 3, "model": {f"_orig_mod.{k}": v for k, v in weights.items()}}, path)

    def training(path, weights):
        weights = collections.OrderedDict((k, nn.Parameter(v) if v.is_floating_point() else v) for k, v in weights.items())
        optimiser = {"state": {0: {"step": torch.tensor(7.0), "exp_avg": torch.zeros(2, 3).t()}}, "param_groups": []}
        torch.save(
            {
                "model_state_dict": weights,
                "optimizer_state_dict": optimiser,
                "args": argparse.Namespace(lr=1e-3, out=pathlib.PurePosixPath("runs/1")),
                "best": np.float64(0.5),
                "seen": {1, 2},
                "rng": torch.arange(4, dtype=torch.uint8),
                "losses": [2**70, 0.5, None, True],
            },
            path,
        )

    half, brain, full = torch.float16, torch.bfloat16, torch.float32
    planes17, planes18 = bits(17, 8, 8), bits(18, 8, 8)
    yield "humchess-68.safetensors", with_epsilon(HumChess(False), 1e-6), half, token_rows(False), tensors_only
    yield "humchess-74.pt", HumChess(True), brain, token_rows(True), compiled
    yield "rusty-774.safetensors", NumberedMlp(774, 16, 8, 1), full, bits(774), tensors_only
    yield "policy-mlp.pt", PolicyMlp(8), half, bits(837), training
    yield "cnn-old.pt", PolicyCnn(17, 4, 3, moves=60), half, planes17, training
    layer_norm = PolicyCnn(18, 4, 3, norm=nn.LayerNorm, moves=60)
    yield "cnn-layer-norm.pt", layer_norm, half, planes18, tensors_only
    yield "cnn-flatten.pt", PolicyCnn(18, 3, 5, head=FlattenHead(3, 60)), half, planes18, tensors_only
    yield "cnn-reduce.pt", PolicyCnn(17, 4, 3, head=FlattenHead(4, 1968, 1)), brain, planes17, tensors_only
    yield "cnn-spatial-shared.pt", PolicyCnn(17, 3, 4, head=SpatialHead(3, 90, True)), half, planes17, tensors_only
    yield "cnn-spatial-unshared.pt", PolicyCnn(17, 2, 2, head=SpatialHead(2, 90, False)), half, planes17, tensors_only
    yield "cnn-bilinear.pt", PolicyCnn(18, 4, 3, head=PairHead(4, 90, 3)), half, planes18, tensors_only
    yield "cnn-factored.pt", PolicyCnn(18, 2, 3, head=PairHead(2, 90, None)), half, planes18, tensors_only


def places_of(width: int) -> list[int]:
    """A few places spread over an output, the first and last among them."""
    return sorted({round(i * (width - 1) / (PLACES - 1)) for i in range(PLACES)})


def rows_of(outputs: dict[str, torch.Tensor], digits: int) -> dict:
    """A few places of every row."""
    return {
        name: {
            "places": places_of(values.shape[1]),
            "rows": [[round(float(row[p]), digits) for p in places_of(values.shape[1])] for row in values],
        }
        for name, values in outputs.items()
    }


def epsilons(model: nn.Module, inputs: torch.Tensor) -> dict:
    """What a HumChess network gives on the first 10 inputs with 1/64 of its embeddings, by what its norms add."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "_emb." in name:
                parameter.div_(64)
        by_epsilon = {"torch": None, "1e-6": 1e-6}
        return {name: rows_of(with_epsilon(model, eps)(inputs[:10]), 6) for name, eps in by_epsilon.items()}


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(20)
    expected = {}
    for name, model, dtype, inputs, save in cases():
        randomise(model)
        save(OUT / name, round_to(model, dtype))
        with torch.no_grad():
            outputs = model(inputs)
        expected[name] = rows_of(outputs, 5)
        print(name, (OUT / name).stat().st_size, {k: (float(v.min()), float(v.max())) for k, v in outputs.items()})
        (OUT / name).chmod(0o644)
        if name == "humchess-74.pt":
            (OUT / "epsilon.json").write_text(json.dumps(epsilons(model, inputs), separators=(",", ":")) + "\n")
    (OUT / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
