#!/usr/bin/env python3
"""Makes crates/arena/data/balanced-openings.fen: the 25 openings that matches start from.

The lines are well-known theory of 6 to 10 plies, chosen by hand to cover open, semi-open, closed and flank play. Each is
replayed with python-chess and judged by Stockfish (one thread, fixed depth); the script stops if one is not within the
limit. The file is fixed: scores are only comparable while it stays as it is, so this script is run to check it.
Needs: pip install chess; a Stockfish on the path or named by the argument.
"""
import pathlib
import shutil
import sys

import chess
import chess.engine

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEPTH = 18
LIMIT = 60  # centipawns, for either side
LINES = [
    # open games
    ("Italian Game, Giuoco Pianissimo", "e4 e5 Nf3 Nc6 Bc4 Bc5 d3 Nf6"),
    ("Ruy Lopez, Closed", "e4 e5 Nf3 Nc6 Bb5 a6 Ba4 Nf6 O-O Be7"),
    ("Ruy Lopez, Berlin Defence", "e4 e5 Nf3 Nc6 Bb5 Nf6 d3 Bc5"),
    ("Scotch Game", "e4 e5 Nf3 Nc6 d4 exd4 Nxd4 Nf6"),
    ("Four Knights Game", "e4 e5 Nf3 Nc6 Nc3 Nf6"),
    ("Petrov's Defence", "e4 e5 Nf3 Nf6 Nxe5 d6 Nf3 Nxe4"),
    ("Vienna Game", "e4 e5 Nc3 Nf6 g3 d5 exd5 Nxd5"),
    # semi-open games
    ("Sicilian Defence, Najdorf", "e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 a6"),
    ("Sicilian Defence, Sveshnikov", "e4 c5 Nf3 Nc6 d4 cxd4 Nxd4 Nf6 Nc3 e5"),
    ("Sicilian Defence, Closed", "e4 c5 Nc3 Nc6 g3 g6 Bg2 Bg7"),
    ("Sicilian Defence, Alapin", "e4 c5 c3 Nf6 e5 Nd5 d4 cxd4"),
    ("French Defence, Tarrasch", "e4 e6 d4 d5 Nd2 c5 exd5 exd5"),
    ("French Defence, Exchange", "e4 e6 d4 d5 exd5 exd5 Nf3 Nf6"),
    ("Caro-Kann Defence, Classical", "e4 c6 d4 d5 Nc3 dxe4 Nxe4 Bf5"),
    ("Caro-Kann Defence, Advance", "e4 c6 d4 d5 e5 Bf5 Nf3 e6"),
    # closed games
    ("Queen's Gambit Declined", "d4 d5 c4 e6 Nc3 Nf6 Nf3 Be7"),
    ("Queen's Gambit Accepted", "d4 d5 c4 dxc4 Nf3 Nf6 e3 e6"),
    ("Slav Defence", "d4 d5 c4 c6 Nf3 Nf6 Nc3 dxc4"),
    ("Nimzo-Indian Defence", "d4 Nf6 c4 e6 Nc3 Bb4 e3 O-O"),
    ("Queen's Indian Defence", "d4 Nf6 c4 e6 Nf3 b6 g3 Bb7"),
    ("Gruenfeld Defence", "d4 Nf6 c4 g6 Nc3 d5 Nf3 Bg7"),
    ("London System", "d4 d5 Nf3 Nf6 Bf4 c5 e3 Nc6"),
    # flank openings
    ("English Opening, Four Knights", "c4 e5 Nc3 Nf6 Nf3 Nc6"),
    ("English Opening, Symmetrical", "c4 c5 Nc3 Nc6 g3 g6 Bg2 Bg7"),
    ("Reti Opening", "Nf3 d5 g3 Nf6 Bg2 c6 O-O Bg4"),
]
HEAD = f"""\
# 25 balanced openings, each played with both colours. This list is fixed: results on it can be compared.
# The line above a position is its name; above that stand the moves that lead to it and what Stockfish thinks of it at
# depth {DEPTH}, in centipawns for White. All are within {LIMIT} of level.
"""


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else shutil.which("stockfish") or "/usr/games/stockfish"
    engine = chess.engine.SimpleEngine.popen_uci(path)
    engine.configure({"Threads": 1, "Hash": 16})
    blocks, fens, faults = [HEAD], set(), []
    for name, line in LINES:
        board = chess.Board()
        for san in line.split():
            board.push_san(san)
        info = engine.analyse(board, chess.engine.Limit(depth=DEPTH), game=name)
        cp = info["score"].white().score(mate_score=100_000)
        print(f"{cp:+4} {name}", flush=True)
        if abs(cp) > LIMIT or board.fen() in fens or not 6 <= len(board.move_stack) <= 10:
            faults.append(name)
        fens.add(board.fen())
        blocks.append(f"# {line} ({cp:+})\n# {name}\n{board.fen(en_passant='legal')}\n")
    print(engine.id["name"])
    engine.quit()
    if len(LINES) != 25 or faults:
        sys.exit(f"not used: {faults}")
    (ROOT / "crates/arena/data/balanced-openings.fen").write_text("\n".join(blocks))


main()
