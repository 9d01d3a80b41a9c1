#!/usr/bin/env python3
"""Writes fixtures/models/positions.json: what the original runtimes say of the 200 positions of positions.fen.

Each position is encoded by tools/encoding_goldens.py (python-chess and numpy, no code of ours in Rust), given to the
fixture networks on onnxruntime (quantised ones in exact arithmetic, tools/exact_onnx.py), torch, the TFLite interpreter
or the plain lc0 forward pass of tools/lc0_fixtures.py, and the outputs are read as docs/formats says the systems read them. So the whole way from a position to an evaluation
is checked, not the network alone.

`networks` has one entry a file and way to ask it, each with a row a position:
  score   centipawns, positive is good for White
  wdl     win, draw and loss of the side to move
  policy  the three likeliest legal moves in UCI notation, each with its probability
What is asked besides the position:
  HumChess   the mover is rated 1500 with the clock unknown in even rows, 2200 with 45 seconds left in odd ones
  contexts   for each row the row whose position is the context of a two-input network; null where none is given, which
             means the position itself, or the start of the game for a network that compares
  played     for each row the moves played from it before the network is asked, in entries with `"ask": "played"`

Deterministic. Needs: pip install chess numpy onnx onnxruntime safetensors tensorflow-cpu torch
"""
import gzip
import json
import os
import pathlib
import random

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import chess
import numpy as np
import onnx
import onnxruntime
import safetensors.torch
import tensorflow as tf
import torch

import encoding_goldens as goldens
import exact_onnx
import lc0_fixtures
import statedict_fixtures as nets

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
MODELS = FIXTURES / "models"
FENS = (FIXTURES / "positions.fen").read_text().split("\n")[:200]
START = FENS.index(chess.STARTING_FEN)


# ---- what is asked --------------------------------------------------------------------------------------------------

def played():
    """A few moves from each position, castling, en passant and promotions first; the game goes on after the last."""
    rng = random.Random(11)
    for row, fen in enumerate(FENS):
        board, moves = chess.Board(fen), []
        for _ in range(row % 9):
            goes_on = [m for m in board.legal_moves if not ends_game(board, m)]
            special = [m for m in goes_on if board.is_castling(m) or board.is_en_passant(m) or m.promotion]
            if not goes_on:
                break
            moves.append(rng.choice(special or goes_on))
            board.push(moves[-1])
        yield [m.uci() for m in moves]


def ends_game(board, move):
    board = board.copy()
    board.push(move)
    return not any(board.legal_moves)


def conditioned(row):
    return {"rating": 2200, "time_ms": 45_000} if row % 2 else {"rating": 1500}


CONTEXTS = [None if row % 2 == 0 else START if row % 4 == 1 else row - 1 for row in range(len(FENS))]
PLAYED = list(played())


def situations(ask=None):
    def case(row, fen):
        default = START if ask == "compare" else row
        context = FENS[default if CONTEXTS[row] is None else CONTEXTS[row]]
        moves = PLAYED[row] if ask == "played" else []
        return {"name": f"row {row}", "fen": fen, "moves": moves, "context": context, **conditioned(row)}
    return [goldens.Seen(case(row, fen)) for row, fen in enumerate(FENS)]


LONE, COMPARED, AFTER_MOVES = situations(), situations("compare"), situations("played")


def encoded(encode, seen=LONE, dtype=np.float32):
    """The input tensors for all positions."""
    rows = [encode(s) for s in seen]
    return [np.array([row[i] for row in rows], dtype) for i in range(len(rows[0]))]


# ---- how answers are read -------------------------------------------------------------------------------------------

def softmax(logits):
    weights = np.exp(np.asarray(logits, np.float64) - np.max(logits))
    return weights / weights.sum()


def policy(vocabulary, logits, promotions=None, seen=LONE):
    slot = goldens.VOCABULARIES[vocabulary]
    for row, s in enumerate(seen):
        slots = {m.uci(): slot(s.board, m) for m in s.board.legal_moves}
        legal = sorted({index for index, _ in slots.values()})
        moves = dict(zip(legal, softmax(logits[row][legal])))
        pieces = None if promotions is None else softmax(promotions[row])
        chances = {uci: moves[i] * (1 if p is None else pieces[p]) for uci, (i, p) in slots.items()}
        best = sorted(chances, key=lambda uci: (-chances[uci], uci))[:3]
        yield [[uci, round(float(chances[uci]), 6)] for uci in best]


def for_white(centipawns, turns):
    return [round(float(c if turn else -c), 3) for c, turn in zip(centipawns, turns)]


def score_by_mover(centipawns, seen=LONE):
    return for_white(centipawns, [s.board.turn for s in seen])


def chances(rows):
    return [[round(float(v), 6) for v in row] for row in rows]


def entry(file, ask=None, **answers):
    heads = {head: list(rows) for head, rows in answers.items()}
    assert all(len(rows) == len(FENS) for rows in heads.values()), file
    return {"file": file, **({"ask": ask} if ask else {}), **heads}


# ---- onnxruntime ----------------------------------------------------------------------------------------------------

def run_onnx(file, rows):
    """The outputs; rows are run one at a time, as a file declared for one position needs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(MODELS / file, options, providers=["CPUExecutionProvider"])
    (name,) = (i.name for i in session.get_inputs())
    answers = [session.run(None, {name: row[None]}) for row in rows]
    return [np.concatenate(parts) for parts in zip(*answers)]


def onnx_entries():
    (board,) = encoded(goldens.challenge_768)
    (score,) = run_onnx("challenge-mlp.onnx", board)
    yield entry("challenge-mlp.onnx", score=score_by_mover(100 * score[:, 0]))
    (board,) = encoded(goldens.rusty_774)
    (value,) = run_onnx("matmul-mlp.onnx", board)
    yield entry("matmul-mlp.onnx", score=for_white(100 * value[:, 0], [True] * len(FENS)))
    (planes,) = encoded(goldens.policy_planes_17)
    _, wdl = run_onnx("conv-net.onnx", planes)
    yield entry("conv-net.onnx", wdl=chances(wdl))
    (tokens,) = encoded(goldens.humchess_68, dtype=np.int64)
    file = "humchess-transformer.onnx"
    yield entry(file, policy=policy("from-to-4096", *run_onnx(file, tokens)))
    file = "quantised-transformer.onnx"
    answers = exact_onnx.run(onnx.load(MODELS / file), {"tokens": tokens}, rows_at_once=1)
    yield entry(file, policy=policy("from-to-4096", answers["move_logits"], answers["promo_logits"]))


# ---- torch ----------------------------------------------------------------------------------------------------------

def run_torch(model, weights, rows):
    model.load_state_dict(weights)
    with torch.no_grad():
        return {name: values.numpy() for name, values in model.eval()(torch.from_numpy(rows)).items()}


def torch_entries():
    def checkpoint(file):
        return torch.load(MODELS / file, weights_only=False)  # our own file; the training one holds plain objects

    file = "statedict/rusty-774.safetensors"
    weights = safetensors.torch.load_file(MODELS / file)
    answers = run_torch(nets.NumberedMlp(774, 16, 8, 1), weights, encoded(goldens.rusty_774)[0])
    yield entry(file, score=for_white(100 * answers["value"][:, 0], [True] * len(FENS)))

    def human(file, ask, history, weights, encode, seen):
        (tokens,) = encoded(encode, seen, np.int64)
        answers = run_torch(nets.HumChess(history), weights, tokens)
        heads = answers["move_logits"], answers["promo_logits"]
        return entry(file, ask, policy=policy("from-to-4096", *heads, seen))

    file = "statedict/humchess-68.safetensors"
    yield human(file, None, False, safetensors.torch.load_file(MODELS / file), goldens.humchess_68, LONE)
    file = "statedict/humchess-74.pt"
    weights = {k.removeprefix("_orig_mod."): v for k, v in checkpoint(file)["model"].items()}
    yield human(file, None, True, weights, goldens.humchess_74, LONE)
    yield human(file, "played", True, weights, goldens.humchess_74, AFTER_MOVES)

    file = "statedict/policy-mlp.pt"
    answers = run_torch(nets.PolicyMlp(8), checkpoint(file)["model_state_dict"], encoded(goldens.policy_837)[0])
    yield entry(file, policy=policy("canonical-1968", answers["policy"]))
    file = "statedict/cnn-reduce.pt"
    model = nets.PolicyCnn(17, 4, 3, head=nets.FlattenHead(4, 1968, 1))
    answers = run_torch(model, checkpoint(file), encoded(goldens.policy_planes_17)[0])
    yield entry(file, policy=policy("canonical-1968-mover", answers["policy"]))


# ---- TFLite ---------------------------------------------------------------------------------------------------------

def run_tflite(file, inputs):
    interpreter = tf.lite.Interpreter(model_path=str(MODELS / file))
    interpreter.allocate_tensors()
    places = [detail["index"] for detail in interpreter.get_input_details()]
    (output,) = (detail["index"] for detail in interpreter.get_output_details())
    answers = []
    for row in zip(*inputs, strict=True):
        for place, values in zip(places, row, strict=True):
            interpreter.set_tensor(place, values[None])
        interpreter.invoke()
        answers.append(float(interpreter.get_tensor(output)[0, 0]))
    return np.array(answers)


def tflite_entries():
    for file in ("tflite_pair.tflite", "tflite_pair_f16.tflite"):
        wins = run_tflite(file, encoded(goldens.pair_769))
        yield entry(file, score=for_white(1000 * (wins - 0.5), [s.context.turn for s in LONE]))
        better = run_tflite(file, encoded(goldens.pair_769, COMPARED)[::-1])
        yield entry(file, "compare", score=for_white(2000 * (better - 0.5), [True] * len(FENS)))
    value = run_tflite("tflite_single.tflite", encoded(goldens.challenge_768))
    yield entry("tflite_single.tflite", score=score_by_mover(100 * value))


# ---- lc0 ------------------------------------------------------------------------------------------------------------

def lc0_entries():
    for file in ("lc0-se-classical.pb.gz", "lc0-plain-conv.pb.gz"):
        for ask, seen in ((None, LONE), ("played", AFTER_MOVES)):
            (planes,) = encoded(goldens.lc0_112, seen, np.float64)
            net, answers = lc0_fixtures.network(planes, **lc0_fixtures.NETWORKS[file])
            assert net == gzip.decompress((MODELS / file).read_bytes()), f"{file} is another network"
            heads = {"policy": policy("lc0-1858", answers["policy"], seen=seen)}
            if "wdl" in answers:
                heads["wdl"] = chances(answers["wdl"])
            else:  # the bridge from an expected result to centipawns that lc0 prints scores by
                centipawns = 90 * np.tan(1.5637541897 * answers["value"][:, 0])
                heads["score"] = score_by_mover(centipawns, seen)
            yield entry(file, ask, **heads)


def main():
    torch.set_num_threads(1)
    entries = [*onnx_entries(), *torch_entries(), *tflite_entries(), *lc0_entries()]
    lines = ",\n".join(json.dumps(e, separators=(",", ":")) for e in entries)
    asked = json.dumps({"contexts": CONTEXTS, "played": PLAYED}, separators=(",", ":"))
    text = f'{asked[:-1]},\n"networks":[\n{lines}\n]}}\n'
    (MODELS / "positions.json").write_text(text)
    for e in entries:
        print(e["file"], e.get("ask", "position"), {head: e[head][0] for head in ("score", "wdl", "policy") if head in e})
    print(f"{len(text)} bytes")


if __name__ == "__main__":
    main()
