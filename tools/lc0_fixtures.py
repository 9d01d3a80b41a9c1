#!/usr/bin/env python3
"""Writes fixtures/models/lc0-*.pb(.gz) and .json: tiny random networks in lc0's file format, and what they answer.

The files follow the public net.proto of lczero-common, field by field. The answers come from a plain forward pass in
double precision that keeps batch norm as a layer of its own. Between them the three networks have what residual
networks come with:

  lc0-se-classical.pb.gz   8 filters, one block with squeeze and excitation, batch norm with gammas and betas, dense
                           policy from 2 planes, win/draw/loss
  lc0-plain-conv.pb.gz     8 filters, one plain block, old batch norm with convolution biases, convolution policy,
                           one value
  lc0-mish-conv.pb         4 filters, two blocks, no batch norm, Mish, convolution policy, win/draw/loss, moves left;
                           not gzipped

Deterministic. Needs: pip install numpy
"""
import gzip
import json
import pathlib
import struct

import numpy as np

OUT = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "models"
INPUTS = 2
LEVELS = 16  # distinct values of a large layer, to keep the files small


# --- the wire format -------------------------------------------------------------------------------------------

def varint(n):
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    """One field: an int is a varint, a float a 32-bit float, text and bytes are length-delimited."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def fixed32(number, value):
    return varint(number << 3 | 5) + struct.pack("<I", value)


# --- layers: the same numbers as bytes and as an array ---------------------------------------------------------

class Layer:
    """LINEAR16: 16-bit steps between the least and the greatest number."""

    def __init__(self, numbers, extra=b""):
        low, high = np.float32(numbers.min()), np.float32(numbers.max())
        scaled = (numbers - low) / max(high - low, np.float32(1e-9))
        steps = LEVELS - 1 if numbers.size > 10_000 else 65535
        raw = (np.round(scaled * steps) * (65535 // steps)).astype("<u2")
        self.bytes = field(1, float(low)) + field(2, float(high)) + field(3, raw.tobytes()) + extra
        self.numbers = raw.astype(np.float64) / 65535 * (float(high) - float(low)) + float(low)


class Maker:
    def __init__(self, seed, norm, layer_encoding=b""):
        self.rng = np.random.default_rng(seed)
        self.norm = norm
        self.layer_encoding = layer_encoding

    def layer(self, shape, scale):
        return Layer(self.rng.normal(0, scale, shape).astype(np.float32), self.layer_encoding)

    def positive(self, n):
        return Layer(self.rng.uniform(0.3, 2.0, n).astype(np.float32), self.layer_encoding)

    def conv(self, inputs, outputs, kernel):
        """A convolution block: its bytes, and the function it computes."""
        weights = self.layer((outputs, inputs, kernel, kernel), (2 / (inputs * kernel**2)) ** 0.5)
        data = field(1, weights.bytes)
        bias = np.zeros(outputs)
        gamma, beta, mean, variance = np.ones(outputs), np.zeros(outputs), np.zeros(outputs), None
        if self.norm != "gammas and betas":
            layer = self.layer(outputs, 0.3)
            bias, data = layer.numbers, data + field(2, layer.bytes)
        if self.norm != "none":
            means, variances = self.layer(outputs, 0.3), self.positive(outputs)
            mean, variance = means.numbers, variances.numbers
            data += field(3, means.bytes) + field(4, variances.bytes)
        if self.norm == "gammas and betas":
            gammas, betas = self.positive(outputs), self.layer(outputs, 0.3)
            gamma, beta = gammas.numbers, betas.numbers
            data += field(5, gammas.bytes) + field(6, betas.bytes)

        def forward(x):
            pad = kernel // 2
            padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
            windows = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), axis=(2, 3))
            y = np.einsum("nchwij,ocij->nohw", windows, weights.numbers) + bias[:, None, None]
            if variance is not None:
                y = (y - mean[:, None, None]) / np.sqrt(variance + 1e-5)[:, None, None]
            return y * gamma[:, None, None] + beta[:, None, None]

        return data, forward

    def dense(self, inputs, outputs):
        weights, biases = self.layer((outputs, inputs), inputs**-0.5), self.layer(outputs, 0.3)
        return weights.bytes, biases.bytes, lambda x: x @ weights.numbers.T + biases.numbers


# --- the network -----------------------------------------------------------------------------------------------

def relu(x):
    return np.maximum(x, 0)


def mish(x):
    return x * np.tanh(np.log1p(np.exp(x)))


def moves():
    """The 1858 moves in lc0's order: from, to, promotion. Squares count from a1 along the ranks."""
    def reaches(a, b):
        files, ranks = abs(a % 8 - b % 8), abs(a // 8 - b // 8)
        return a != b and (files == 0 or ranks == 0 or files == ranks or {files, ranks} == {1, 2})

    plain = [(a, b, "") for a in range(64) for b in range(64) if reaches(a, b)]
    last_rank = [(a, b) for a in range(48, 56) for b in range(56, 64) if abs(a % 8 - b % 8) <= 1]
    return plain + [(a, b, piece) for a, b in last_rank for piece in "qrb"]


def plane_of(a, b, piece):
    files, ranks = b % 8 - a % 8, b // 8 - a // 8
    if piece:
        return 64 + 3 * (files + 1) + "rbq".index(piece)
    if {abs(files), abs(ranks)} == {1, 2}:
        clockwise = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)]
        return 56 + clockwise.index((files, ranks))
    distance = max(abs(files), abs(ranks))
    clockwise = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]
    return 7 * clockwise.index((files // distance, ranks // distance)) + distance - 1


def planes():
    """Zeros and ones by a rule that is easy to repeat elsewhere."""
    i = np.arange(INPUTS * 112 * 64, dtype=np.uint64)
    bits = (i * 2654435761 % 2**32) >> 28 < 4
    return bits.astype(np.float64).reshape(INPUTS, 112, 8, 8)


def network(boards, seed, *, filters, blocks, se, policy, value, moves_left, activation, norm, layer_encoding=b""):
    """The bytes of a Net message and the outputs for `boards`, [rows, 112, 8, 8]."""
    make = Maker(seed, norm, layer_encoding)
    act = {"relu": relu, "mish": mish}[activation]
    answers = {}
    data, forward = make.conv(112, filters, 3)
    weights = field(1, data)
    x = act(forward(boards))
    for _ in range(blocks):
        data1, conv1 = make.conv(filters, filters, 3)
        data2, conv2 = make.conv(filters, filters, 3)
        block = field(1, data1) + field(2, data2)
        y = conv2(act(conv1(x)))
        if se:
            w1, b1, squeeze = make.dense(filters, se)
            w2, b2, excite = make.dense(se, 2 * filters)
            block += field(3, field(1, w1) + field(2, b1) + field(3, w2) + field(4, b2))
            both = excite(act(squeeze(y.mean(axis=(2, 3)))))[:, :, None, None]
            y = y / (1 + np.exp(-both[:, :filters])) + both[:, filters:]
        weights += field(2, block)
        x = act(x + y)

    if policy == "convolution":
        data1, conv1 = make.conv(filters, filters, 3)
        make.norm, last_norm = "none", make.norm
        data2, conv2 = make.conv(filters, 80, 3)
        make.norm = last_norm
        weights += field(11, data1) + field(3, data2)
        y = conv2(act(conv1(x)))
        answers["policy"] = np.stack([y[:, plane_of(*m), m[0] // 8, m[0] % 8] for m in moves()], axis=1)
    else:
        data, conv = make.conv(filters, 2, 1)
        w, b, dense = make.dense(2 * 64, 1858)
        weights += field(3, data) + field(4, w) + field(5, b)
        answers["policy"] = dense(act(conv(x)).reshape(len(boards), -1))

    def head(conv_field, first_field, outputs):
        data, conv = make.conv(filters, 4, 1)
        w1, b1, first = make.dense(4 * 64, 16)
        w2, b2, second = make.dense(16, outputs)
        parts = field(conv_field, data)
        for i, part in enumerate([w1, b1, w2, b2]):
            parts += field(first_field + i, part)
        return parts, second(act(first(act(conv(x)).reshape(len(boards), -1))))

    data, y = head(6, 7, 3 if value == "wdl" else 1)
    weights += data
    if value == "wdl":
        e = np.exp(y - y.max(axis=1, keepdims=True))
        answers["wdl"] = e / e.sum(axis=1, keepdims=True)
    else:
        answers["value"] = np.tanh(y)
    if moves_left:
        data, y = head(12, 13, 1)
        weights += data
        answers["moves_left"] = relu(y)

    network_format = (
        field(1, 1)
        + field(2, 2 if value == "wdl" else 1)
        + field(3, 4 if se else 3)
        + field(4, 2 if policy == "convolution" else 1)
        + field(5, 2 if value == "wdl" else 1)
        + field(6, int(moves_left))
        + (field(7, 1) if activation == "mish" else b"")
    )
    training = field(1, 1000) + field(2, 0.5) + field(5, 25.0) + field(6, "random weights")
    net = (
        fixed32(1, 0x1C0)
        + field(2, "Public domain (CC0)")
        + field(3, field(1, 0) + field(2, 21) + field(3, 3))
        + field(4, field(1, 1) + field(2, network_format))
        + field(5, training)
        + field(10, weights)
    )
    return net, answers


def write(name, net, answers):
    packed = gzip.compress(net, 9, mtime=0) if name.endswith(".gz") else net
    (OUT / name).write_bytes(packed)
    rounded = {key: [[float(f"{v:.7g}") for v in row] for row in rows] for key, rows in answers.items()}
    (OUT / (name.split(".")[0] + ".json")).write_text(json.dumps(rounded, separators=(",", ":")) + "\n")
    print(name, len(packed), {key: rows.round(4)[:, :3].tolist() for key, rows in answers.items()})


NETWORKS = {
    "lc0-se-classical.pb.gz": dict(
        seed=1, filters=8, blocks=1, se=4, policy="classical", value="wdl", moves_left=False, activation="relu",
        norm="gammas and betas"),
    "lc0-plain-conv.pb.gz": dict(
        seed=2, filters=8, blocks=1, se=0, policy="convolution", value="classical", moves_left=False,
        activation="relu", norm="biases"),
    "lc0-mish-conv.pb": dict(
        seed=7, filters=4, blocks=2, se=2, policy="convolution", value="wdl", moves_left=True, activation="mish",
        norm="none", layer_encoding=field(4, 1)),
}


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for name, options in NETWORKS.items():
        write(name, *network(planes(), **options))


if __name__ == "__main__":
    main()
