#!/usr/bin/env python3
"""Writes fixtures/models/lc0/: small attention networks with random weights, and what lc0 itself makes of 200 positions.

The positions are those of fixtures/positions.fen after the moves `played` of fixtures/models/positions.json. The networks are
written by the fields of lc0's net.proto; lc0 reads the files and answers with its Eigen backend, planes and all. Between them
they have what attention networks come with:

  bt.pb.gz          several heads, dense embedding, smolgen, Mish, squared ReLU, win/draw/loss, moves left; layers in float16,
                    bfloat16 and float32
  t1.pb.gz          an early file, labelled as a residual tower: map embedding, gates, smolgen, win/draw/loss, moves left
  plain.pb.gz       no smolgen, SELU in the feed-forward layers, a policy encoder, castling planes, one value
  se.pb.gz          a residual block with an attention policy and a policy encoder, win/draw/loss
  tiny.pb           all parts of an attention body as small as can be, not gzipped, to be damaged; without answers

In NAME.json.gz, `policy` has the probability of every legal move in the order of its UCI spelling, `outcome` win, draw and
loss or the value, all in units of 1e-5, and `moves_left` half-moves in units of 1e-3.

Deterministic. Needs: pip install chess numpy and lc0's Python bindings (github.com/LeelaChessZero/lc0, 909a4082, built with
meson setup build -Dpython_bindings=true -Dispc=false), whose folder is in PYTHONPATH
"""
import gzip
import json

import numpy as np
from lczero.backends import Backend, GameState, Weights

from lc0_fixtures import field, fixed32
from played_positions import ROOT, games, in_units

OUT = ROOT / "fixtures" / "models" / "lc0"
LINEAR16, FLOAT16, BFLOAT16, FLOAT32 = 1, 2, 3, 4
MISH, SELU, SWISH, RELU_2 = 1, 6, 7, 8


class Maker:
    """Layers of random numbers. Large ones have few distinct values, to keep the files small."""

    def __init__(self, seed, encodings=(None,)):
        self.rng = np.random.default_rng(seed)
        self.encodings = encodings
        self.made = 0

    def layer(self, shape, scale, around=0.0):
        numbers = self.rng.normal(around, scale, shape).astype(np.float32).ravel()
        encoding = self.encodings[self.made % len(self.encodings)]
        self.made += 1
        if encoding in (None, LINEAR16):
            low, high = np.float32(numbers.min()), np.float32(numbers.max())
            steps = 3 if numbers.size > 4000 else 15 if numbers.size > 64 else 255
            scaled = np.round((numbers - low) / max(high - low, np.float32(1e-9)) * steps)
            raw = (scaled * (65535 // steps)).astype("<u2")
            data = field(1, float(low)) + field(2, float(high)) + field(3, raw.tobytes())
        else:
            steps = np.float32(scale / (2 if numbers.size > 4000 else 8))
            numbers = (np.round(numbers / steps) * steps).astype("<f4")
            if encoding == FLOAT16:
                raw = numbers.astype("<f2").tobytes()
            elif encoding == BFLOAT16:
                raw = (numbers.view("<u4") >> 16).astype("<u2").tobytes()
            else:
                raw = numbers.tobytes()
            data = field(3, raw)
        return data + (b"" if encoding is None else field(4, encoding))

    def matrix(self, outputs, inputs, gain=1.0):
        return self.layer((outputs, inputs), gain * inputs**-0.5)

    def vector(self, width):
        return self.layer(width, 0.2)

    def dense(self, first_field, outputs, inputs, gain=1.0):
        return field(first_field, self.matrix(outputs, inputs, gain)) + field(first_field + 1, self.vector(outputs))

    def norm(self, first_field, width):
        return field(first_field, self.layer(width, 0.2, 1.0)) + field(first_field + 1, self.vector(width))

    def conv(self, outputs, inputs, kernel):
        size = inputs * kernel**2
        return field(1, self.layer((outputs, size), (2 / size) ** 0.5)) + field(2, self.vector(outputs))

    def ffn(self, width, inner):
        return self.dense(1, inner, width) + self.dense(3, width, inner)

    def encoder(self, width, inner, hidden, heads, smolgen=None):
        mha = self.dense(1, inner, width, 3) + self.dense(3, inner, width, 3) + self.dense(5, inner, width)
        mha += self.dense(7, width, inner)
        if smolgen:
            compress, middle, size = smolgen
            mha += field(9, field(1, self.matrix(compress, width)) + self.dense(2, middle, 64 * compress)
                         + self.norm(4, middle) + self.dense(6, size * heads, middle) + self.norm(8, size * heads))
        return field(1, mha) + self.norm(2, width) + field(4, self.ffn(width, hidden)) + self.norm(5, width)


# ---- the networks -----------------------------------------------------------------------------------------------------

def net(network_format, weights, version=(0, 32), encoding=LINEAR16):
    return (fixed32(1, 0x1C0) + field(2, "Public domain (CC0)") + field(3, field(1, version[0]) + field(2, version[1]))
            + field(4, (field(1, encoding) if encoding else b"") + field(2, network_format)) + field(10, weights))


def named(**numbers):
    """A NetworkFormat."""
    tags = {"input": 1, "output": 2, "network": 3, "policy": 4, "value": 5, "moves_left": 6, "default_activation": 7,
            "smolgen_activation": 8, "ffn_activation": 9, "input_embedding": 10}
    return b"".join(field(tags[name], number) for name, number in numbers.items())


def policy(make, width, embedding, size):
    """The fields of an attention policy in a PolicyHead."""
    return (make.dense(1, embedding, width) + make.dense(3, size, embedding, 1.5) + make.dense(5, size, embedding, 1.5)
            + field(7, make.matrix(4, size)))


def board_head(make, tags, width, planes, hidden, outputs):
    """Weights of the three layers, the first of which is per square. The tags are those of the weights."""
    return (make.dense(tags[0], planes, width) + make.dense(tags[1], hidden, 64 * planes)
            + make.dense(tags[2], outputs, hidden))


def bt():
    make = Maker(1, (None, FLOAT16, LINEAR16, BFLOAT16, FLOAT32))
    width, heads = 12, 3
    weights = make.dense(37, 64, 768) + make.dense(25, width, 112 + 1) + make.norm(39, width)
    weights += field(33, make.layer((width, 64), 0.2, 1.0)) + field(34, make.layer((width, 64), 0.2))
    weights += field(41, make.ffn(width, 18)) + make.norm(42, width)
    for _ in range(2):
        weights += field(27, make.encoder(width, 12, 18, heads, (2, 5, 2)))
    weights += field(28, heads) + field(35, make.matrix(4096, 2, 2))
    # The heads share the first layer of the policy.
    shared = make.dense(1, 10, width)

    def head():
        return make.dense(3, 8, 10, 1.5) + make.dense(5, 8, 10, 1.5) + field(7, make.matrix(4, 8))

    weights += field(45, shared + field(3, head()) + field(4, head()))
    weights += field(44, field(1, board_head(make, (1, 3, 5), width, 2, 6, 3))
                     + field(2, board_head(make, (1, 3, 5), width, 2, 6, 3)))
    weights += board_head(make, (31, 13, 15), width, 2, 6, 1)
    return net(named(input=1, output=2, network=7, policy=3, value=2, moves_left=1, default_activation=1,
                     smolgen_activation=SWISH, ffn_activation=RELU_2, input_embedding=2), weights, (0, 33), 0)


def t1():
    make = Maker(2)
    width, heads = 12, 2
    weights = make.dense(25, width, 112 + 64)
    weights += field(33, make.layer((width, 64), 0.2, 1.0)) + field(34, make.layer((width, 64), 0.2))
    for _ in range(2):
        weights += field(27, make.encoder(width, 16, 20, heads, (1, 6, 3)))
    weights += field(28, heads) + field(35, make.matrix(4096, 3, 2))
    head = policy(make, width, 12, 8)
    weights += top_level_policy(head)
    weights += board_head(make, (29, 7, 9), width, 3, 8, 3) + board_head(make, (31, 13, 15), width, 2, 6, 1)
    return net(named(input=1, output=2, network=4, policy=3, value=2, moves_left=1, default_activation=1), weights)


def plain():
    make = Maker(3)
    width, heads = 16, 4
    weights = make.dense(25, width, 112 + 64)
    for _ in range(3):
        weights += field(27, make.encoder(width, 16, 24, heads))
    weights += field(28, heads)
    weights += top_level_policy(policy(make, width, 12, 8))
    weights += field(21, make.encoder(12, 8, 16, 2)) + field(24, 2)
    weights += board_head(make, (29, 7, 9), width, 3, 8, 1)
    return net(named(input=2, output=1, network=6, policy=3, value=1, default_activation=0, ffn_activation=SELU), weights)


def se():
    make = Maker(4)
    filters = 8
    weights = field(1, make.conv(filters, 112, 3))
    unit = make.dense(1, 4, filters) + make.dense(3, 2 * filters, 4)
    weights += field(2, field(1, make.conv(filters, filters, 3)) + field(2, make.conv(filters, filters, 3)) + field(3, unit))
    weights += top_level_policy(policy(make, filters, 12, 8))
    weights += field(21, make.encoder(12, 8, 16, 2)) + field(24, 2)
    weights += field(6, make.conv(3, filters, 1)) + make.dense(7, 8, 3 * 64) + make.dense(9, 3, 8)
    return net(named(input=1, output=2, network=4, policy=3, value=2, moves_left=0, default_activation=1), weights)


def tiny():
    """The smallest network with every part of an attention body."""
    make = Maker(5)
    width, heads = 2, 2
    weights = make.dense(25, width, 112 + 64) + field(33, make.layer((width, 64), 0.2, 1.0))
    weights += field(27, make.encoder(width, 2, 2, heads, (1, 1, 1))) + field(28, heads) + field(35, make.matrix(4096, 1))
    weights += field(45, field(3, policy(make, width, 2, 2) + field(8, make.encoder(2, 2, 2, 1)) + field(9, 1)))
    weights += field(44, field(1, board_head(make, (1, 3, 5), width, 1, 1, 3)))
    weights += board_head(make, (31, 13, 15), width, 1, 1, 1)
    return net(named(input=1, output=2, network=7, policy=3, value=2, moves_left=1, input_embedding=1), weights)


def top_level_policy(head):
    """The layers of a PolicyHead under their numbers in Weights."""
    tags, out, at = {1: 4, 2: 5, 3: 17, 4: 18, 5: 19, 6: 20, 7: 22}, b"", 0
    while at < len(head):
        number, (length, start) = head[at] >> 3, varint_at(head, at + 1)
        out += field(tags[number], head[start:start + length])
        at = start + length
    return out


def varint_at(data, at):
    number, shift = 0, 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return number, at


# ---- what lc0 makes of them -------------------------------------------------------------------------------------------

GAMES = list(games())


def expected(path, wdl, moves_left):
    backend = Backend(Weights(str(path)), "eigen")
    rows = {"policy": [], "outcome": [], **({"moves_left": []} if moves_left else {})}
    for boards in GAMES:
        state = GameState(boards[0].fen(en_passant="fen"), [move.uci() for move in boards[-1].move_stack])
        answer, = backend.evaluate(state.as_input(backend))
        logits = dict(zip(state.moves(), answer.p_raw(*state.policy_indices())))
        names = sorted(move.uci() for move in boards[-1].legal_moves)
        assert names == sorted(logits), boards[-1].fen()
        weights = np.exp(np.array([logits[name] for name in names], np.float64))
        rows["policy"].append(in_units(weights / weights.sum()))
        q, d = answer.q(), answer.d()
        rows["outcome"].append(in_units([(1 - d + q) / 2, d, (1 - d - q) / 2] if wdl else [q]))
        if moves_left:
            rows["moves_left"].append(round(answer.m() * 1000))
    return rows


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "tiny.pb").write_bytes(tiny())
    for name, make, wdl, moves_left in (("bt", bt, True, True), ("t1", t1, True, True), ("plain", plain, False, False),
                                        ("se", se, True, False)):
        path = OUT / f"{name}.pb.gz"
        path.write_bytes(gzip.compress(make(), 9, mtime=0))
        rows = expected(path, wdl, moves_left)
        text = json.dumps(rows, separators=(",", ":")).encode()
        (OUT / f"{name}.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))
        likeliest = np.mean([max(row) for row in rows["policy"]]) / 1e5
        sizes = path.stat().st_size, (OUT / f"{name}.json.gz").stat().st_size
        print(name, *sizes, f"likeliest move {likeliest:.2f}", rows["outcome"][:3], rows.get("moves_left", [])[:5])


if __name__ == "__main__":
    main()
