#!/usr/bin/env python3
"""Writes fixtures/models/maia/: what the original code of Maia-3 and Maia-2 makes of 200 positions with random weights.

The positions are those of fixtures/positions.fen after the moves `played` of fixtures/models/positions.json, with the ratings
of `ratings`. maia3.pt and maia2.pt are small networks as the originals save them; maia3-96.onnx.gz and maia3-12.onnx.gz are
exports of the first in the two forms that circulate. The weights of the other networks are not stored: both sides draw them
(`played_positions.drawn`) in the order of their names, which NAME.json lists with their shapes. In NAME.json, `policy` has the probability of
every legal move in the order of its UCI spelling, and `outcome` win, draw and loss (Maia-3) or the value head (Maia-2), all in
units of 1e-5.

Deterministic. Needs: pip install chess numpy onnx maia2 and a checkout of github.com/CSSLab/maia3 (1e13597) in PYTHONPATH
"""
import gzip
import io
import math
import types

import chess
import torch

from maia2 import inference as maia2_inference
from maia2 import main as maia2_main
from maia2 import utils as maia2_utils
from maia3 import dataset as maia3_dataset
from maia3 import models as maia3_models
from maia3 import utils as maia3_utils

from played_positions import ROOT, drawn, games, in_units, write

OUT = ROOT / "fixtures" / "models" / "maia"


def ratings(row):
    """Of the mover and the opponent; None is not known."""
    if row % 5 == 0:
        return None, None
    return 600 + row * 37 % 2200, None if row % 5 == 1 else 700 + row * 53 % 2000


def told(row):
    own, theirs = ratings(row)
    own = 1500 if own is None else own
    return own, own if theirs is None else theirs


GAMES = list(games())


def shapes_of(model):
    """The tensors of a state dict, without counters and copies."""
    state = model.state_dict().items()
    return {name: list(t.shape) for name, t in state if t.dim() > 0 and not name.endswith(".gab_weight")}


def fill(model):
    model.load_state_dict({name: torch.tensor(numbers) for name, numbers in drawn(shapes_of(model)).items()}, strict=False)
    return model.eval()


# ---- Maia-3 -----------------------------------------------------------------------------------------------------------

MAIA3_MOVES = {move: i for i, move in enumerate(maia3_utils.get_all_possible_moves())}


def maia3_config(**sizes):
    base = {"history": 8, "use_padding": True, "include_time_info": False, "dim_emb": 8, "num_blocks": 2, "mlp_ratio": 2.0,
            "dropout": 0.0, "use_gab": True, "use_relative_bias": False, "use_absolute_pe": False, "use_rms_norm": True,
            "omit_qkv_biases": True, "activation": "gelu"}
    return types.SimpleNamespace(**{**base, **sizes})


def maia3_tokens(boards, cfg):
    history = [maia3_dataset.tokenize_board(board) for board in boards[-cfg.history:]]
    return maia3_dataset.get_historical_tokens(history, cfg, 0.0, 0.0, 0.0, 0.0)


def maia3_policy(board, logits):
    mask = maia3_dataset.get_legal_moves_mask(board, MAIA3_MOVES)
    chances = torch.softmax(logits.masked_fill(~mask, -math.inf), dim=-1)
    names = sorted(move.uci() for move in board.legal_moves)
    spelled = names if board.turn else [maia3_utils.mirror_move(name) for name in names]
    return in_units(chances[MAIA3_MOVES[name]] for name in spelled)


@torch.no_grad()
def maia3_expected(model, rows, history=True):
    games = [boards if history else boards[-1:] for boards in rows]
    tokens = torch.stack([maia3_tokens(boards, model.cfg) for boards in games])
    elos = torch.tensor([told(row) for row in range(len(rows))])
    moves, value, _ = model(tokens, elos[:, 0], elos[:, 1])
    loss, draw, win = torch.softmax(value, dim=1).unbind(1)
    return {
        "policy": [maia3_policy(boards[-1], logits) for boards, logits in zip(rows, moves)],
        "outcome": [in_units(row) for row in torch.stack([win, draw, loss], dim=1)],
    }


class OneBoard(torch.nn.Module):
    """The form with one board: the network repeats it, as Maia-3's engine does without history."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens, elo_self, elo_oppo):
        moves, value, _ = self.model(tokens.repeat(1, 1, 8), elo_self, elo_oppo)
        return moves, value


class WholeRatings(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens, self_elo, oppo_elo):
        return self.model(tokens, self_elo, oppo_elo)


class SpelledRmsNorm(torch.nn.Module):
    """nn.RMSNorm in operations that the exporter knows."""

    def __init__(self, norm):
        super().__init__()
        self.weight = norm.weight

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + torch.finfo(torch.float32).eps) * self.weight


def export(name, model, inputs, input_names, output_names):
    torch.backends.mha.set_fastpath_enabled(False)
    for block in model.model.transformer.layers:
        for norm in ("norm1", "norm2"):
            if isinstance(getattr(block, norm), torch.nn.RMSNorm):
                setattr(block, norm, SpelledRmsNorm(getattr(block, norm)))
    file = io.BytesIO()
    axes = {name: {0: "batch"} for name in input_names + output_names}
    torch.onnx.export(model, inputs, file, input_names=input_names, output_names=output_names, dynamic_axes=axes,
                      opset_version=17, dynamo=False)
    (OUT / f"{name}.onnx.gz").write_bytes(gzip.compress(file.getvalue(), 9, mtime=0))


def maia3():
    small = {"dim_vit": 16, "head_hid_dim": 12, "num_heads": 2, "gab_gen_size": 1, "gab_per_square_dim": 0,
             "gab_intermediate_dim": 6}
    model = fill(maia3_models.MAIA3Model(maia3_config(**small)))
    stored = {name: tensor.half() for name, tensor in model.state_dict().items()}
    # The blocks share one tensor, also in the file.
    for name in stored:
        if name.endswith(".gab_weight"):
            stored[name] = stored["gab_shared_weight"]
    model.load_state_dict(stored)
    torch.save({"model_state_dict": stored, "epoch": 1}, OUT / "maia3.pt")
    write(OUT / "maia3.json", maia3_expected(model, GAMES))
    write(OUT / "maia3-one-board.json", maia3_expected(model, GAMES[:40], history=False))
    example = torch.zeros(2, 64, 96), torch.tensor([1500, 1600]), torch.tensor([1500, 1700])
    export("maia3-96", WholeRatings(model), example, ["tokens", "self_elo", "oppo_elo"],
           ["logits_move", "logits_value", "logits_ponder"])
    floats = torch.zeros(2, 64, 12), torch.tensor([1500.0, 1600.0]), torch.tensor([1500.0, 1700.0])
    export("maia3-12", OneBoard(model), floats, ["tokens", "elo_self", "elo_oppo"], ["logits_move", "logits_value"])

    large = {"dim_vit": 24, "head_hid_dim": 24, "num_heads": 3, "gab_gen_size": 8, "gab_per_square_dim": 4,
             "gab_intermediate_dim": 10, "num_blocks": 3}
    model = fill(maia3_models.MAIA3Model(maia3_config(**large)))
    write(OUT / "maia3-per-square.json", {"tensors": shapes_of(model), **maia3_expected(model, GAMES)})
    variant = {**small, "use_rms_norm": False, "omit_qkv_biases": False, "history": 1}
    model = fill(maia3_models.MAIA3Model(maia3_config(**variant)))
    write(OUT / "maia3-variant.json", {"tensors": shapes_of(model), **maia3_expected(model, GAMES[:40])})


# ---- Maia-2 -----------------------------------------------------------------------------------------------------------

MAIA2_MOVES = {move: i for i, move in enumerate(maia2_utils.get_all_possible_moves())}
MAIA2_RATINGS = maia2_utils.create_elo_dict()


def maia2_model(**sizes):
    cfg = types.SimpleNamespace(**{"input_channels": 18, "vit_length": 8, **sizes})
    return maia2_main.MAIA2Model(len(MAIA2_MOVES), MAIA2_RATINGS, cfg)


@torch.no_grad()
def maia2_expected(model, rows):
    inputs = [maia2_inference.preprocessing(boards[-1].fen(), *told(row), MAIA2_RATINGS, MAIA2_MOVES)
              for row, boards in enumerate(rows)]
    boards, own, theirs, legal = zip(*inputs)
    moves, _, value = model(torch.stack(boards), torch.tensor(own), torch.tensor(theirs))
    policy = []
    for game, logits, mask in zip(rows, moves, legal):
        chances = torch.softmax(logits.masked_fill(~mask.bool(), -math.inf), dim=-1)
        names = sorted(move.uci() for move in game[-1].legal_moves)
        spelled = names if game[-1].turn else [maia2_utils.mirror_move(name) for name in names]
        policy.append(in_units(chances[MAIA2_MOVES[name]] for name in spelled))
    return {"policy": policy, "outcome": [in_units([v]) for v in value]}


def maia2():
    model = fill(maia2_model(dim_cnn=12, dim_vit=24, num_blocks_cnn=2, num_blocks_vit=2, elo_dim=6))
    write(OUT / "maia2.json", {"tensors": shapes_of(model), **maia2_expected(model, GAMES)})
    # As the trainer saves it, with the optimiser's state; one head of attention, so that it stays small.
    model = maia2_model(dim_cnn=4, dim_vit=4, num_blocks_cnn=1, num_blocks_vit=1, elo_dim=3)
    model.transformer = maia2_main.Transformer(4, 1, heads=1, dim_head=64, mlp_dim=4, elo_dim=6)
    model = fill(model)
    stored = {name: t.half() if t.is_floating_point() else t for name, t in model.state_dict().items()}
    model.load_state_dict(stored)
    optimiser = {"state": {0: {"step": torch.tensor(7.0), "exp_avg": torch.zeros(4, 18, 3, 3).half()}}, "param_groups": []}
    named = {f"module.{name}": tensor for name, tensor in stored.items()}
    torch.save({"model_state_dict": named, "optimizer_state_dict": optimiser, "accumulated_games": 5}, OUT / "maia2.pt")
    write(OUT / "maia2-file.json", maia2_expected(model, GAMES[:40]))


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    maia3()
    maia2()


if __name__ == "__main__":
    main()
