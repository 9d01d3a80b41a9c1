#!/usr/bin/env python3
"""Writes fixtures/perft.epd: about 60 positions with node counts to depth 4, and fixtures/perft-chess960.epd.

Well-known tricky positions come first, counted here with python-chess; the rest is chosen from perft-marcel.epd
(given as the argument): every position with an en passant square, then an even spread of those with castling rights
and of those without, none above 400,000 nodes. Deterministic. Needs: pip install chess
"""
import pathlib
import re
import sys

import chess

ROOT = pathlib.Path(__file__).resolve().parent.parent
LARGEST = 400_000
TRICKY = [
    ("start", chess.STARTING_FEN),
    ("rook endgame with en passant pins", "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"),
    ("promotions on both sides", "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1"),
    ("checks and a promoting capture", "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1"),
    ("en passant would uncover a check along the rank", "3k4/3p4/8/K1P4r/8/8/8/8 b - - 0 1"),
    ("en passant would uncover a check along the diagonal", "8/8/4k3/8/2p5/8/B2P1K2/8 w - - 0 1"),
    ("en passant gives check", "8/8/1k6/2b5/2pP4/8/5K2/8 b - d3 0 1"),
    ("short castling gives check", "5k2/8/8/8/8/8/8/4K2R w K - 0 1"),
    ("long castling gives check", "3k4/8/8/8/8/8/8/R3K3 w Q - 0 1"),
    ("rooks take each other's castling rights", "r3k2r/1b4bq/8/8/8/8/7B/R3K2R w KQkq - 0 1"),
    ("castling prevented", "r3k2r/8/3Q4/8/8/5q2/8/R3K2R b KQkq - 0 1"),
    ("promote out of check", "2K2r2/4P3/8/8/8/8/8/3k4 w - - 0 1"),
    ("discovered check", "8/8/1P2K3/8/2n5/1q6/8/5k2 b - - 0 1"),
    ("promote to give check", "4k3/1P6/8/8/8/8/K7/8 w - - 0 1"),
    ("underpromote to give check", "8/P1k5/K7/8/8/8/8/8 w - - 0 1"),
    ("self stalemate", "K1k5/8/P7/8/8/8/8/8 w - - 0 1"),
    ("stalemate and mate", "8/k1P5/8/1K6/8/8/8/8 w - - 0 1"),
    ("double check", "8/8/2k5/5q2/5n2/8/5K2/8 b - - 0 1"),
]
# Of Chess960, in both notations of castling rights.
CHESS960 = [
    ("start position 0", "bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w HFhf - 0 1"),
    ("start position 959", "rkrnnqbb/pppppppp/8/8/8/8/PPPPPPPP/RKRNNQBB w KQkq - 0 1"),
    ("bishop exchanged", "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9"),
    ("open centre", "2nnrbkr/p1qppppp/8/1ppb4/6PP/3PP3/PPP2P2/BQNNRBKR w HEhe - 1 9"),
    ("only White may castle, rooks beside the king", "b1q1rrkb/pppppppp/3nn3/8/P7/1PPP4/4PPPP/BQNNRKRB w GE - 1 9"),
    ("only Black may castle", "qbbnnrkr/2pp2pp/p7/1p2pp2/8/P3PP2/1PPP1KPP/QBBNNR1R w hf - 0 9"),
    ("king already on its square", "r5kr/8/8/8/8/8/8/R5KR w HAha - 0 1"),
    ("king moves onto the rook's square", "4k3/8/8/8/8/8/8/1R3K1R w HB - 0 1"),
    ("the rook uncovers a check", "4k3/8/8/8/8/8/8/qR1K4 w B - 0 1"),
    ("the rook uncovers a check after castling", "4k3/8/8/8/8/8/8/rRK5 w B - 0 1"),
    ("the path of the king is attacked", "3rk3/8/8/8/8/8/8/1RK3R1 w GB - 0 1"),
    ("a rook stands outside the one that may castle", "1rk1r2r/4p3/8/8/8/8/4P3/RR2K1RR w GBeb - 0 1"),
    ("castling gives check", "5k2/8/8/8/8/8/8/3RK1R1 w GD - 0 1"),
    ("a rook takes the right", "1r3k1r/8/8/8/8/8/8/1R3K1R b HBhb - 0 1"),
]


def perft(board: chess.Board, depth: int) -> int:
    if depth == 1:
        return board.legal_moves.count()
    nodes = 0
    for move in board.legal_moves:
        board.push(move)
        nodes += perft(board, depth - 1)
        board.pop()
    return nodes


def spread(lines: list[str], count: int) -> list[str]:
    return [lines[index * len(lines) // count] for index in range(count)]


def main() -> None:
    out = []
    for name, fen in TRICKY:
        counts = [perft(chess.Board(fen), depth) for depth in range(1, 5)]
        operations = " ".join(f"D{depth} {nodes};" for depth, nodes in enumerate(counts, 1))
        out.append(f'{" ".join(fen.split()[:4])} id "{name}"; {operations}')
    small: dict[str, list[str]] = {"ep": [], "castling": [], "plain": []}
    for line in pathlib.Path(sys.argv[1]).read_text(errors="replace").splitlines():
        match = re.match(r"(\S+ \S+ (\S+) (\S+)) .*?(D1 \d+; D2 \d+; D3 \d+; D4 (\d+));", line)
        if match and int(match[5]) <= LARGEST:
            kind = "ep" if match[3] != "-" else "castling" if match[2] != "-" else "plain"
            small[kind].append(f"{match[1]} {match[4]};")
    out += small["ep"] + spread(small["castling"], 22) + spread(small["plain"], 14)
    (ROOT / "fixtures" / "perft.epd").write_text("\n".join(out) + "\n")
    chess960()


def chess960() -> None:
    out = []
    for name, fen in CHESS960:
        counts = [perft(chess.Board(fen, chess960=True), depth) for depth in range(1, 4)]
        operations = " ".join(f"D{depth} {nodes};" for depth, nodes in enumerate(counts, 1))
        out.append(f'{" ".join(fen.split()[:4])} id "{name}"; {operations}')
    (ROOT / "fixtures" / "perft-chess960.epd").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
