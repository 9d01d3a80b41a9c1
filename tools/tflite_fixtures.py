#!/usr/bin/env python3
"""Writes fixtures/models/tflite_*.tflite and tflite_outputs.json: small networks with the outputs of the TFLite runtime.

The networks have fixed pseudo-random weights and are converted and run by TensorFlow itself; the JSON holds 200 pairs
of 0/1 rows as lists of the set indices, and for each file what the interpreter answered. Deterministic up to the
converter's version. Needs: pip install tensorflow-cpu
"""
import json
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf

keras = tf.keras
layers = keras.layers
OUT = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "models"
ROWS = 200
WIDTH = 769


def set_indices(rng: np.random.Generator) -> list[int]:
    """One row: about as many set inputs as there are pieces, and the turn flag half of the time."""
    pieces = rng.choice(WIDTH - 1, size=int(rng.integers(3, 25)), replace=False)
    flag = [WIDTH - 1] if rng.random() < 0.5 else []
    return sorted(int(i) for i in pieces) + flag


def dense_rows(indices: list[list[int]], width: int) -> np.ndarray:
    rows = np.zeros((len(indices), width), np.float32)
    for row, ones in zip(rows, indices):
        row[[i for i in ones if i < width]] = 1.0
    return rows


def randomise(net: keras.Model, seed: int) -> keras.Model:
    """Weights wide enough that the outputs spread over the whole range of the last activation."""
    rng = np.random.default_rng(seed)
    for weight in net.weights:
        fan_in = weight.shape[0] if len(weight.shape) > 1 else 4
        scale = 0.5 if fan_in > 500 else 1.2 / np.sqrt(fan_in)
        weight.assign(rng.normal(0.0, scale, weight.shape).astype(np.float32))
    return net


def pair_net() -> keras.Model:
    context = keras.Input((WIDTH,), name="context")
    position = keras.Input((WIDTH,), name="position")
    x = layers.Concatenate()([layers.Dense(6, activation="relu")(i) for i in (context, position)])
    x = layers.Dense(8, activation="relu")(x)
    x = layers.Dense(4, activation="relu")(x)
    y = layers.Dense(1, activation="sigmoid")(x)
    return randomise(keras.Model([context, position], y), 1)


def single_net() -> keras.Model:
    board = keras.Input((768,), name="board")
    x = layers.Dense(8, activation="relu", use_bias=False)(board)
    return randomise(keras.Model(board, layers.Dense(1, activation="tanh")(x)), 2)


def planes_net() -> keras.Model:
    """Every other operator the reader knows: reshapes, a layer over the last axis, clipped activations, arithmetic.

    The batch is fixed at 1: with a free one the converter computes the shapes of the reshapes at run time.
    """
    board = keras.Input(batch_shape=(1, 768), name="board")
    x = layers.Reshape((12, 64))(board)
    x = layers.Dense(4)(x)
    x = keras.ops.clip(x, 0.0, 6.0)
    x = layers.Flatten()(x)
    a = layers.Dense(5, activation="tanh")(x)
    b = layers.Dense(5)(x)
    b = keras.ops.clip(b, -1.0, 1.0)
    shift = np.linspace(-0.5, 0.5, 5, dtype=np.float32)
    x = layers.Concatenate()([a * b, a + b, a - shift, b * 0.75, 1.0 - a])
    return randomise(keras.Model(board, layers.Dense(2)(x)), 3)


def convert(net: keras.Model, name: str, **options) -> bytes:
    """The file TensorFlow writes for a network; its signature carries the names of the inputs."""
    converter = tf.lite.TFLiteConverter.from_keras_model(net)
    for key, value in options.items():
        setattr(converter, key, value)
    data = converter.convert()
    (OUT / f"tflite_{name}.tflite").write_bytes(data)
    return data


def run(data: bytes, by_input: dict[str, np.ndarray]) -> list[list[float]]:
    """The interpreter's outputs, one row at a time; inputs are matched by the name in the signature."""
    interpreter = tf.lite.Interpreter(model_content=data)
    interpreter.allocate_tensors()
    signature = interpreter.get_signature_runner()
    names = list(signature.get_input_details())
    out = []
    for i in range(ROWS):
        result = signature(**{name: by_input[name][i : i + 1] for name in names})
        (value,) = result.values()
        out.append([float(v) for v in value[0]])
    return out


def run_int8(data: bytes, rows: np.ndarray) -> list[list[float]]:
    """The outputs of a network with integer inputs and outputs, as numbers."""
    interpreter = tf.lite.Interpreter(model_content=data)
    interpreter.allocate_tensors()
    (given,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    out = []
    for i in range(ROWS):
        scale, zero = given["quantization"]
        stored = np.clip(np.round(rows[i : i + 1] / scale) + zero, -128, 127).astype(np.int8)
        interpreter.set_tensor(given["index"], stored)
        interpreter.invoke()
        scale, zero = result["quantization"]
        value = (interpreter.get_tensor(result["index"]).astype(np.float32) - zero) * np.float32(scale)
        out.append([float(v) for v in value[0]])
    return out


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(7)
    context = [set_indices(rng) for _ in range(ROWS)]
    position = [set_indices(rng) for _ in range(ROWS)]
    pair_rows = {"context": dense_rows(context, WIDTH), "position": dense_rows(position, WIDTH)}
    single_rows = {"board": dense_rows(context, 768)}

    small = [tf.lite.Optimize.DEFAULT]
    pair, single = pair_net(), single_net()
    outputs = {
        "pair": run(convert(pair, "pair"), pair_rows),
        "pair_f16": run(
            convert(pair, "pair_f16", optimizations=small, target_spec=float16_target()), pair_rows
        ),
        "pair_int8": run(convert(pair, "pair_int8", optimizations=small), pair_rows),
        "single": run(convert(single, "single"), single_rows),
        "planes": run(convert(planes_net(), "planes"), single_rows),
    }

    def samples():
        for row in single_rows["board"][:50]:
            yield [row[None]]

    full_int8 = convert(
        single,
        "full_int8",
        optimizations=small,
        representative_dataset=samples,
        target_spec=int8_target(),
        inference_input_type=tf.int8,
        inference_output_type=tf.int8,
    )
    outputs["full_int8"] = run_int8(full_int8, single_rows["board"])

    def rounded(rows):
        return [[float(np.format_float_positional(np.float32(v), unique=True)) for v in row] for row in rows]

    text = json.dumps(
        {
            "rows": {"context": context, "position": position},
            "outputs": {name: rounded(rows) for name, rows in outputs.items()},
        },
        separators=(",", ":"),
    )
    (OUT / "tflite_outputs.json").write_text(text + "\n")
    for path in sorted(OUT.glob("tflite_*")):
        print(path.name, path.stat().st_size)
    for name, rows in outputs.items():
        first = [r[0] for r in rows]
        print(f"{name}: {min(first):.4f} .. {max(first):.4f}")


def float16_target() -> tf.lite.TargetSpec:
    return tf.lite.TargetSpec(supported_types=[tf.float16])


def int8_target() -> tf.lite.TargetSpec:
    return tf.lite.TargetSpec(supported_ops=[tf.lite.OpsSet.TFLITE_BUILTINS_INT8])


if __name__ == "__main__":
    main()
