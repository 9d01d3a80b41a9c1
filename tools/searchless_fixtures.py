#!/usr/bin/env python3
"""Writes fixtures/models/searchless.onnx.gz and searchless.json: a small network of the form of DeepMind's searchless chess, and
what its own action-value engine makes of 200 positions with it, and of a game with repetitions.

In searchless.json, `values` has the winning probability of every legal move in the order of its UCI spelling, in units of 1e-5,
and `best` the move that the engine plays. The last three games are the starts of `REPETITION`.

Deterministic. Needs: pip install chess numpy onnx onnxruntime scipy torch, and a checkout of
github.com/google-deepmind/searchless_chess whose parent folder is in PYTHONPATH
"""
import gzip
import io
import math
import sys
from unittest import mock

import chess
import numpy as np
import onnxruntime
import torch
from torch import nn

from played_positions import ROOT, drawn, games, in_units, write

# The engine needs nothing of these where the network is given to it.
for name in ("haiku", "jax", "jax.nn", "jaxtyping", "apache_beam", "grain", "grain.python"):
    sys.modules[name] = mock.MagicMock()
try:
    from searchless_chess.src import utils
except ModuleNotFoundError:
    print("searchless_chess is not in PYTHONPATH: its fixtures stay as they are")
    sys.exit(0)
from searchless_chess.src.engines import engine as engines  # noqa: E402
from searchless_chess.src.engines import neural_engines  # noqa: E402

OUT = ROOT / "fixtures" / "models"
BINS = 128
REPETITION = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8 b1c3".split()


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, 4 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        h = self.norm1(x)
        q, k, v = (part(h).unflatten(2, (self.heads, -1)).transpose(1, 2) for part in (self.q, self.k, self.v))
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        x = x + self.out((torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(2))
        h = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))


class Predictor(nn.Module):
    """The decoder of the paper's action-value networks: learned places, no mask, the sequence shifted by one."""

    def __init__(self, width=8, heads=2, layers=2):
        super().__init__()
        self.tokens = nn.Embedding(utils.NUM_ACTIONS, width)
        self.places = nn.Embedding(79, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.bins = nn.Linear(width, BINS)

    def forward(self, sequences):
        shifted = torch.cat([torch.zeros_like(sequences[:, :1]), sequences[:, :-1]], dim=1)
        x = self.tokens(shifted) * math.sqrt(self.tokens.embedding_dim) + self.places.weight
        for block in self.blocks:
            x = block(x)
        return torch.log_softmax(self.bins(self.norm(x))[:, -1], dim=-1)


def exported():
    model = Predictor().eval()
    shapes = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    model.load_state_dict({name: torch.tensor(numbers) for name, numbers in drawn(shapes).items()})
    file = io.BytesIO()
    torch.onnx.export(model, (torch.zeros(2, 79, dtype=torch.long),), file, input_names=["sequences"],
                      output_names=["log_probs"], dynamic_axes={"sequences": {0: "batch"}, "log_probs": {0: "batch"}},
                      opset_version=17, dynamo=False)
    return file.getvalue()


def main():
    network = exported()
    (OUT / "searchless.onnx.gz").write_bytes(gzip.compress(network, 9, mtime=0))
    session = onnxruntime.InferenceSession(network)

    def predict(sequences):
        return session.run(None, {"sequences": sequences.astype(np.int64)})[0][:, None]

    _, values = utils.get_uniform_buckets_edges_values(BINS)
    engine = neural_engines.ActionValueEngine(values, predict)
    rows = [boards[-1] for boards in games()]
    for count in (7, 8, 9):
        board = chess.Board()
        for uci in REPETITION[:count]:
            board.push_uci(uci)
        rows.append(board)
    result = {"values": [], "best": []}
    for board in rows:
        chances = np.inner(np.exp(engine.analyse(board)["log_probs"]), values)
        neural_engines._update_scores_with_repetitions(board, chances)
        moves = [move.uci() for move in engines.get_ordered_legal_moves(board)]
        by_move = dict(zip(moves, chances))
        result["values"].append(in_units(by_move[uci] for uci in sorted(moves)))
        result["best"].append(engine.play(board).uci())
    write(OUT / "searchless.json", result)


if __name__ == "__main__":
    main()
