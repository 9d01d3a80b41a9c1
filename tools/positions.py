#!/usr/bin/env python3
"""Writes fixtures/positions.fen: 200 legal positions from random games, one FEN a line.

Half are random walks from the start, half from set-ups rich in castling, en passant and promotions, so that every
special rule occurs many times. Deterministic. Needs: pip install chess
"""
import pathlib
import random

import chess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEEDS = [
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
]


def main() -> None:
    rng = random.Random(20)
    seen: dict[str, str] = {}
    while len(seen) < 200:
        start = SEEDS[0] if len(seen) % 2 == 0 else rng.choice(SEEDS[1:])
        board = chess.Board(start)
        for _ in range(rng.randrange(0, 90)):
            moves = list(board.legal_moves)
            if not moves:
                break
            special = [m for m in moves if board.is_castling(m) or board.is_en_passant(m) or m.promotion]
            board.push(rng.choice(special if special and rng.random() < 0.3 else moves))
            if board.has_legal_en_passant() and rng.random() < 0.5:
                break
        if any(board.legal_moves):
            seen.setdefault(board.epd(), board.fen(en_passant="legal"))
    (ROOT / "fixtures" / "positions.fen").write_text("".join(f + "\n" for f in seen.values()))


if __name__ == "__main__":
    main()
