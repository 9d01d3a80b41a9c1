#!/usr/bin/env python3
"""Writes fixtures/models/human.safetensors and human.json: a small random network of human players, and what torch
makes of it in some situations.

The situations are cases of tools/encoding_goldens.py, encoded there with python-chess and numpy. human.json has one
entry a situation: the case itself, the chance of every legal move, win/draw/loss of the side to move, the chances of the
20 bins of thinking time, the 32 promotion logits, and move logits at a few places. The weights are such that 16-bit
floats of both kinds hold them exactly. Deterministic. Needs: pip install chess numpy safetensors torch
"""
import json
import math
import pathlib

import numpy as np
import safetensors.torch
import torch
from torch.nn import functional

import encoding_goldens as goldens

OUT = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "models"
NAMES = ["start", "one move", "black castled", "long game", "some rights", "en passant for white", "en passant for black",
         "en passant played", "white promotes", "black promotes", "underpromotion in history", "in check",
         "check by a queen", "lone position", "from a position"] + [name for name, *_ in goldens.WITH_PLAYERS]
WIDTH, HEAD, LAYERS, INNER, PAIR, HIDDEN, BINS = 32, 16, 2, 48, 24, 20, 20
PLACES = [round(i * 4095 / 31) for i in range(32)]


def shapes():
    yield from {"squares.weight": (WIDTH, 32), "position.weight": (64, WIDTH), "game.weight": (WIDTH, 80)}.items()
    for i in range(LAYERS):
        block = {
            "norm1.weight": (WIDTH,), "norm2.weight": (WIDTH,),
            "attn.qkv.weight": (3 * WIDTH, WIDTH), "attn.out.weight": (WIDTH, WIDTH),
            "attn.q_norm.weight": (HEAD,), "attn.k_norm.weight": (HEAD,), "attn.bias": (WIDTH // HEAD, 64, 64),
            "ffn.w1.weight": (INNER, WIDTH), "ffn.w3.weight": (INNER, WIDTH), "ffn.w2.weight": (WIDTH, INNER),
        }
        yield from ((f"blocks.{i}.{name}", shape) for name, shape in block.items())
    yield from {
        "norm_final.weight": (WIDTH,), "from_head.weight": (PAIR, WIDTH), "to_head.weight": (PAIR, WIDTH),
        "promotion_head.weight": (4, WIDTH), "value_hidden.weight": (HIDDEN, WIDTH), "value_hidden.bias": (HIDDEN,),
        "wdl_head.weight": (3, HIDDEN), "wdl_head.bias": (3,),
        "time_head.weight": (BINS, HIDDEN), "time_head.bias": (BINS,),
    }.items()


def random_weights():
    """Norms around 1; matrices that keep the size of what they multiply, so that no part is lost in another."""
    generator = torch.Generator().manual_seed(7)
    for name, shape in shapes():
        weight = torch.randn(shape, generator=generator)
        if "norm" in name:
            weight = 1 + 0.3 * weight
        elif name.endswith("weight") and not name.startswith("position"):
            weight *= 1.5 / math.sqrt(shape[-1])
        weight = weight.bfloat16().float()
        yield name, torch.where(weight.abs() < 2**-14, 0, weight)


def forward(w, squares, game):
    def norm(x, name):
        return functional.rms_norm(x, w[name].shape, w[name], 1e-6)

    x = squares @ w["squares.weight"].T + w["position.weight"] + (game @ w["game.weight"].T)[:, None]
    for i in range(LAYERS):
        p = f"blocks.{i}."
        qkv = functional.linear(norm(x, p + "norm1.weight"), w[p + "attn.qkv.weight"])
        q, k, v = (part.unflatten(2, (-1, HEAD)).transpose(1, 2) for part in qkv.chunk(3, dim=2))
        q, k = norm(q, p + "attn.q_norm.weight"), norm(k, p + "attn.k_norm.weight")
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=w[p + "attn.bias"])
        x = x + functional.linear(mixed.transpose(1, 2).flatten(2), w[p + "attn.out.weight"])
        h = norm(x, p + "norm2.weight")
        gate = functional.silu(functional.linear(h, w[p + "ffn.w1.weight"]))
        x = x + functional.linear(gate * functional.linear(h, w[p + "ffn.w3.weight"]), w[p + "ffn.w2.weight"])
    y = norm(x, "norm_final.weight")
    start, end = functional.linear(y, w["from_head.weight"]), functional.linear(y, w["to_head.weight"])
    moves = torch.einsum("nfp,ntp->nft", start, end) / math.sqrt(PAIR)
    hidden = functional.silu(functional.linear(y.mean(1), w["value_hidden.weight"], w["value_hidden.bias"]))
    return {
        "move_logits": moves.flatten(1),
        "promotion_logits": functional.linear(y[:, 56:], w["promotion_head.weight"]).flatten(1),
        "wdl": functional.linear(hidden, w["wdl_head.weight"], w["wdl_head.bias"]).softmax(1),
        "think_time": functional.linear(hidden, w["time_head.weight"], w["time_head.bias"]).softmax(1),
    }


def legal_moves(seen, logits, promotions):
    """The chance of each legal move; the promotions of one pawn step share its logit and split its chance."""
    slot = goldens.VOCABULARIES["from-to-4096-mirrored"]
    slots = {move.uci(): slot(seen.board, move) for move in seen.board.legal_moves}
    steps = {index: math.exp(logits[index]) for index, _ in slots.values()}
    chances = {}
    for uci, (index, piece) in slots.items():
        chances[uci] = steps[index] / sum(steps.values())
        if piece is not None:
            weights = [math.exp(promotions[4 * "abcdefgh".index(uci[2]) + p]) for p in range(4)]
            chances[uci] *= weights[piece] / sum(weights)
    return chances


def rounded(values):
    return [round(float(value), 6) for value in values]


def main():
    weights = dict(random_weights())
    stored = {name: weight.half() for name, weight in weights.items()}
    assert all(torch.equal(stored[name].float(), weight) for name, weight in weights.items())
    safetensors.torch.save_file(stored, OUT / "human.safetensors")
    (OUT / "human.safetensors").chmod(0o644)

    by_name = {case["name"]: case for case in goldens.cases()}
    cases = [by_name[name] for name in NAMES]
    seen = [goldens.Seen(case) for case in cases]
    inputs = zip(*(goldens.tabia_human_1(s) for s in seen))
    squares, game = (torch.tensor(np.array(column), dtype=torch.float64) for column in inputs)
    outputs = forward({name: weight.double() for name, weight in weights.items()}, squares, game)
    entries = []
    for row, (case, s) in enumerate(zip(cases, seen)):
        answer = {name: values[row].tolist() for name, values in outputs.items()}
        moves = legal_moves(s, answer["move_logits"], answer["promotion_logits"])
        assert abs(sum(moves.values()) - 1) < 1e-9
        entries.append({
            "case": case,
            "moves": {uci: round(chance, 6) for uci, chance in moves.items()},
            "wdl": rounded(answer["wdl"]),
            "think_time": rounded(answer["think_time"]),
            "promotion_logits": rounded(answer["promotion_logits"]),
            "move_logits": rounded(answer["move_logits"][place] for place in PLACES),
        })
    text = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    (OUT / "human.json").write_text(f'{{"places":{json.dumps(PLACES)},"situations":[\n{text}\n]}}\n')
    for name, values in outputs.items():
        print(name, float(values.min()), float(values.max()), float(values.std(0).mean()))


if __name__ == "__main__":
    main()
