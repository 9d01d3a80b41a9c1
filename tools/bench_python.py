"""Measures how fast games become training batches in Python, against python-chess, in one run.

bench_python.py WORK [FILE]: WORK is a folder for what is made, FILE a PGN (.zst or plain); without one, random games are made.

Rates are positions per second of processor time, of all threads together, so that other programs on the machine do not
count. The peer reads the same file for SECONDS with chess.pgn.read_game, encodes every position of the main line into 768
numbers with NumPy, and collates batches as torch's DataLoader does; with PyTorch (TABIA_TORCH names its site-packages) it is
torch's DataLoader, in this process. Its batches hold the same inputs and results, without shuffling, clocks or moves.
"""

import io
import os
import shutil
import sys
import time
from pathlib import Path

import chess
import chess.pgn
import numpy as np

import tabia

BATCH = 4096
SECONDS = 20
GAMES = 4000

if os.environ.get("TABIA_TORCH"):
    sys.path.append(os.environ["TABIA_TORCH"])
try:
    import torch
except ImportError:
    torch = None


def text_of(path):
    raw = open(path, "rb")
    if path.endswith(".zst"):
        import zstandard

        raw = zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(raw)
    return io.TextIOWrapper(raw, encoding="utf-8", errors="replace")


def encode(board):
    """challenge-768 as a user would write it: own pieces, then the opponent's, from the mover's side."""
    row = np.zeros(768, dtype=np.float32)
    turn = board.turn
    flip = 0 if turn else 56
    for square, piece in board.piece_map().items():
        row[(0 if piece.color == turn else 384) + 64 * (piece.piece_type - 1) + (square ^ flip)] = 1
    return row


POINTS = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}


def examples(path):
    with text_of(path) as text:
        while (game := chess.pgn.read_game(text)) is not None:
            points = POINTS.get(game.headers.get("Result"), np.nan)
            board = game.board()
            for move in game.mainline_moves():
                yield encode(board), np.float32(points if board.turn else 1 - points)
                board.push(move)


def collated(items):
    """Batches as the DataLoader's default collation makes them."""
    some = []
    for item in items:
        some.append(item)
        if len(some) == BATCH:
            yield [np.stack([row for row, _ in some]), np.array([points for _, points in some])]
            some = []


def peer_batches(path):
    if torch is None:
        return collated(examples(path))

    class Positions(torch.utils.data.IterableDataset):
        def __iter__(self):
            return examples(path)

    return iter(torch.utils.data.DataLoader(Positions(), batch_size=BATCH))


def rate(batches, rows, seconds=SECONDS):
    """Positions per second of processor time, without what it takes to start."""
    count = 0
    next(batches)
    begin = time.process_time()
    for batch in batches:
        count += rows(batch)
        if time.process_time() - begin > seconds:
            break
    return count / (time.process_time() - begin)


def ours(games, encoding, **options):
    """Batches made by one thread; with PyTorch, as its tensors."""
    options = {"batch": BATCH, "shuffle": 1, "held_out": None, "repeat": True, "threads": 1, **options}
    if torch is not None:
        loader = torch.utils.data.DataLoader(games.torch(encoding, **options), batch_size=None)
        return rate(iter(loader), lambda batch: len(batch["result"]))
    return rate(games.batches(encoding, **options), len)


def main():
    work = Path(sys.argv[1])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    path = sys.argv[2] if len(sys.argv) > 2 else str(work / "random.pgn")
    if len(sys.argv) <= 2:
        Path(path).write_text(tabia.play("random", "random", games=GAMES, progress=False).pgn)
    begin = time.process_time()
    games = tabia.build_set(path, work / "set", progress=False)
    built = games.positions / (time.process_time() - begin)
    begin = time.process_time()
    read = tabia.read_pgn(path, progress=False)
    columns = len(read) / (time.process_time() - begin)
    with text_of(path) as text:
        begin, count = time.process_time(), 0
        while time.process_time() - begin < SECONDS and chess.pgn.read_game(text) is not None:
            count += 1
        parsed = count / (time.process_time() - begin)

    loader = "torch's DataLoader" if torch is not None else "collation as torch's DataLoader"
    peer = rate(peer_batches(path), lambda batch: len(batch[1]))
    print(f"{path}: {games.records:,} games, {games.positions:,} positions; batches of {BATCH:,}\n")
    print("| batches | positions/s of a core | against python-chess |\n|---|---|---|")
    def row(name, per_second):
        print(f"| {name} | {per_second:,.0f} | {per_second / peer:,.1f}x |", flush=True)

    row("Tabia, `challenge-768` from a set", ours(games, "challenge-768"))
    row("Tabia, `tabia-human-1` from a set, with moves", ours(games, "tabia-human-1"))
    row("Tabia, the same with legal moves", ours(games, "tabia-human-1", legal=True))
    row(f"python-chess, NumPy, {loader}: 768 inputs from PGN", peer)
    print("\n| PGN | games/s of a core | against python-chess |\n|---|---|---|")
    print(f"| `tabia.read_pgn`, all columns | {columns:,.0f} | {columns / parsed:,.0f}x |")
    built *= games.records / games.positions
    print(f"| `tabia.build_set` | {built:,.0f} | {built / parsed:,.0f}x |")
    print(f"| `chess.pgn.read_game` | {parsed:,.0f} | 1x |")


main()
