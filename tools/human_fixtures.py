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

import encoding_goldens as goldens
import torch_networks

OUT = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "models"
NAMES = ["start", "one move", "black castled", "long game", "some rights", "en passant for white", "en passant for black",
         "en passant played", "white promotes", "black promotes", "underpromotion in history", "in check",
         "check by a queen", "lone position", "from a position"] + [name for name, *_ in goldens.WITH_PLAYERS]
PLACES = [round(i * 4095 / 31) for i in range(32)]


# The order in which the parameters are drawn.
ORDER = ["squares", "position", "game", "norm1", "norm2", "attn.qkv", "attn.out", "attn.q_norm", "attn.k_norm", "attn.bias",
         "ffn.w1", "ffn.w3", "ffn.w2", "norm_final", "from_head", "to_head", "promotion_head", "value_hidden", "wdl_head",
         "time_head"]


def place(name):
    """Blocks one after another, between what is before and after them; a weight before its bias."""
    block, _, rest = name.removeprefix("blocks.").partition(".") if name.startswith("blocks.") else ("", "", name)
    part = next(i for i, prefix in enumerate(ORDER) if rest.startswith(prefix))
    return (1 if block else 0 if part < 3 else 2), block, part, name.endswith(".bias")


def network():
    """Norms around 1; matrices that keep the size of what they multiply, so that no part is lost in another."""
    model = torch_networks.Human({"width": 32, "heads": 2, "layers": 2, "inner": 48, "pair": 24, "hidden": 20})
    generator = torch.Generator().manual_seed(7)
    weights = {}
    for name, parameter in sorted(model.named_parameters(), key=lambda entry: place(entry[0])):
        weight = torch.randn(parameter.shape, generator=generator)
        if "norm" in name:
            weight = 1 + 0.3 * weight
        elif name.endswith("weight") and not name.startswith("position"):
            weight *= 1.5 / math.sqrt(parameter.shape[-1])
        weight = weight.bfloat16().float()
        weights[name] = torch.where(weight.abs() < 2**-14, 0, weight)
    model.load_state_dict(weights)
    return model.double(), weights


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
    model, weights = network()
    stored = {name: weight.half() for name, weight in weights.items()}
    assert all(torch.equal(stored[name].float(), weight) for name, weight in weights.items())
    safetensors.torch.save_file(stored, OUT / "human.safetensors")
    (OUT / "human.safetensors").chmod(0o644)

    by_name = {case["name"]: case for case in goldens.cases()}
    cases = [by_name[name] for name in NAMES]
    seen = [goldens.Seen(case) for case in cases]
    inputs = zip(*(goldens.tabia_human_1(s) for s in seen))
    squares, game = (torch.tensor(np.array(column), dtype=torch.float64) for column in inputs)
    with torch.no_grad():
        moves, promotion, wdl, think_time = model(squares, game)
    outputs = {
        "move_logits": moves, "promotion_logits": promotion.flatten(1),
        "wdl": wdl.softmax(1), "think_time": think_time.softmax(1),
    }
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
