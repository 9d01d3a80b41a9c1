#!/usr/bin/env python3
"""Compares the levels of the Chess Challenge with the original's own code, move by move and score by score.

    tools/compare_challenge_levels.py CHECKOUT [--rules original|2026] [--positions 500] [--tabia target/debug/tabia]

CHECKOUT is a clone of benedictbrady/chess-challenge, at 5e4a9a01 for the original rules or at 8e3a59d for those of 2026. A
small program around its search is built in a temporary folder; only the engine's files are compiled, so no ONNX runtime is
needed. Then for each level:

- positions, each on its own: the move we play must be among the original's best, and every legal move must have its score;
- games of a level against itself, with the transposition table kept from move to move: the same.

`--write FILE` writes positions with the original's scores, the fixtures of the tests in crates/players. `--replay` compares
a network's moves in games that the original's whole harness played. Needs: cargo, git, pip install chess.
"""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMITS = {"original": "5e4a9a01", "2026": "8e3a59d"}
# Depth, and whether the search is the enhanced one.
LEVELS = {
    "original": [(1, 0), (2, 0), (3, 0), (3, 1), (4, 1)],
    "2026": [(1, 0), (2, 0), (3, 1), (4, 1)],
}
MATE = 100_000
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

CARGO = """[package]
name = "challenge-driver"
version = "0.0.0"
edition = "2021"
[dependencies]
cozy-chess = "0.3"
rand = "0.8"
[workspace]
"""
DRIVER = """
#[path = "{source}/eval.rs"] mod eval;
#[path = "{source}/search.rs"] mod search;
use cozy_chess::{{Board, Move, Piece, Square, File}};
use std::io::{{BufRead, Write}};

/// Castling as everyone else writes it.
fn uci(board: &Board, mv: Move) -> String {{
    let mut to = mv.to;
    if board.colors(board.side_to_move()).has(mv.to) {{
        let file = if mv.from.file() < mv.to.file() {{ File::G }} else {{ File::C }};
        to = Square::new(file, mv.to.rank());
    }}
    let promotion = mv.promotion.map_or(String::new(), |piece: Piece| piece.to_string());
    format!("{{}}{{}}{{}}", mv.from, to, promotion)
}}

fn main() {{
    let mut context = search::SearchContext::new();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {{
        let line = line.unwrap();
        let (command, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match command {{
            "new" => context = search::SearchContext::new(),
            "key" => writeln!(out, "{{:#018x}}", rest.parse::<Board>().unwrap().hash()).unwrap(),
            _ => {{
                let (enhanced, fen) = rest.split_once(' ').unwrap();
                let board: Board = fen.parse().unwrap();
                let depth = command.parse().unwrap();
                let scores = if enhanced == "1" {{
                    search::best_move_with_scores_enhanced(&mut context, &board, depth)
                }} else {{
                    search::best_move_with_scores_classic(&board, depth)
                }};
                let scores: Vec<String> = scores.iter().map(|(mv, s)| format!("{{}}={{s}}", uci(&board, *mv))).collect();
                writeln!(out, "{{}}", scores.join(" ")).unwrap();
            }}
        }}
        out.flush().unwrap();
    }}
}}
"""


class Original:
    """The original's search."""

    def __init__(self, checkout: pathlib.Path, folder: pathlib.Path):
        (folder / "src").mkdir()
        (folder / "Cargo.toml").write_text(CARGO)
        (folder / "src" / "main.rs").write_text(DRIVER.format(source=(checkout / "engine" / "src").resolve()))
        environment = {**os.environ, "CARGO_TARGET_DIR": str(folder / "target"), "RUSTFLAGS": "-Awarnings"}
        subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=folder, env=environment, check=True)
        self.process = Process([str(folder / "target" / "release" / "challenge-driver")])

    def key(self, fen: str) -> str:
        self.process.say(f"key {fen}")
        return self.process.line()

    def scores(self, level: tuple[int, int], fen: str, fresh: bool) -> list[tuple[str, int]]:
        """The moves in the order they were searched, with their scores."""
        if fresh:
            self.process.say("new")
        self.process.say(f"{level[0]} {level[1]} {fen}")
        pairs = (pair.split("=") for pair in self.process.line().split())
        return [(move, int(score)) for move, score in pairs]


class Ours:
    """A level as a UCI engine."""

    def __init__(self, tabia: str, level: int, rules: str):
        self.process = Process([tabia, "uci", "--player", f"level:{level},rules={rules}"])
        for line in ("uci", "setoption name MultiPV value 256", "isready"):
            self.process.say(line)
        self.process.until("readyok")

    def scores(self, setup: str, fresh: bool) -> tuple[str, dict[str, int]]:
        """The move, and the score of every move."""
        if fresh:
            self.process.say("ucinewgame")
        self.process.say(f"position {setup}")
        self.process.say("go")
        scores = {}
        for line in self.process.until("bestmove"):
            words = line.split()
            if words[0] == "bestmove":
                return words[1], scores
            if " pv " in line and "score" in words:
                kind, value = words[words.index("score") + 1 :][:2]
                move = words[words.index("pv") + 1]
                scores[move] = int(value) if kind == "cp" else MATE if int(value) > 0 else -MATE
        raise AssertionError("no move")


class Process:
    def __init__(self, command: list[str]):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def say(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def line(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a process ended early")
        return line.strip()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()

    def until(self, word: str) -> list[str]:
        lines = [self.line()]
        while not lines[-1].startswith(word):
            lines.append(self.line())
        return lines


def best(scores: list[tuple[str, int]]) -> set[str]:
    most = max(score for _, score in scores)
    return {move for move, score in scores if score == most}


def positions(count: int) -> list[str]:
    lines = (ROOT / "fixtures" / "positions.fen").read_text().splitlines()
    fens = [line for line in lines if line and not line.startswith("#")]
    if count > len(fens):
        fens += walks(count - len(fens))
    return fens[:count]


def walks(count: int) -> list[str]:
    """Positions of random games, of all lengths. Needs: pip install chess"""
    import chess

    rng, found = random.Random(1), set()
    while len(found) < count:
        board = chess.Board()
        for _ in range(rng.randrange(4, 120)):
            moves = list(board.legal_moves)
            if not moves:
                break
            takes = [move for move in moves if board.is_capture(move)]
            board.push(rng.choice(takes if takes and rng.random() < 0.3 else moves))
        if not board.is_game_over(claim_draw=False) and board.halfmove_clock < 100:
            found.add(board.fen(en_passant="fen"))
    return sorted(found)


def check_positions(original: Original, ours: Ours, level: tuple[int, int], fens: list[str]) -> tuple[int, int]:
    """Positions whose move is among the original's best, and those where every score is the same."""
    moves = scores = 0
    for fen in fens:
        theirs = original.scores(level, fen, fresh=True)
        if not theirs:
            raise SystemExit(f"no legal move: {fen}")
        move, given = ours.scores(f"fen {fen}", fresh=True)
        moves += move in best(theirs)
        same = given == dict(theirs)
        scores += same
        if not same or move not in best(theirs):
            print(f"  differs: {fen}: {move}, original {sorted(best(theirs))}", file=sys.stderr)
    return moves, scores


def check_games(original: Original, ours: Ours, level: tuple[int, int], games: int, plies: int) -> tuple[int, int]:
    """Moves of games with the tables kept, and those of them where every score is the same."""
    import chess

    same = played = 0
    for game in range(games):
        rng, board, line = random.Random(game), chess.Board(), []
        for _ in range(4):
            line.append(rng.choice(list(board.legal_moves)))
            board.push(line[-1])
        for ply in range(plies):
            if board.is_game_over(claim_draw=False):
                break
            theirs = original.scores(level, board.fen(en_passant="fen"), fresh=ply == 0)
            setup = "startpos moves " + " ".join(move.uci() for move in line)
            move, given = ours.scores(setup, fresh=ply == 0)
            same += given == dict(theirs) and move in best(theirs)
            played += 1
            line.append(chess.Move.from_uci(move))
            board.push(line[-1])
    return same, played


def write_fixture(path: str, original: Original, rules: str, fens: list[str]) -> None:
    """For each level, positions with the best score, the first of the best moves, their number, and the sum of all scores."""
    import chess

    def line(level: tuple[int, int], fen: str, fresh: bool) -> str:
        scores = original.scores(level, fen, fresh)
        top = max(score for _, score in scores)
        first = next(move for move, score in scores if score == top)
        mark = "" if fresh else "+ "
        return f"{mark}{fen}; {top} {first} {len(best(scores))} {sum(score for _, score in scores)}\n"

    with open(path, "w", encoding="ascii") as file:
        file.write(f"# The levels of the Chess Challenge by the rules {rules}, by tools/compare_challenge_levels.py: FEN; best score,\n")
        file.write("# first of the best moves in the order searched, how many there are, sum of all scores. +: tables kept.\n")
        for number, level in enumerate(LEVELS[rules], 1):
            file.write(f"[{number}]\n")
            # Deeper levels take longer.
            for fen in fens[:: (1, 2, 8, 6, 16)[level[0] - 1 + level[1]]]:
                file.write(line(level, fen, fresh=True))
            if not level[1]:
                continue
            board = chess.Board("r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3")
            for ply in range(12):
                text = line(level, board.fen(en_passant="fen"), fresh=ply == 0)
                file.write(text)
                board.push_uci(text.split("; ")[1].split()[1])


def check_replay(path: str, tabia: str, network: str, rules: str) -> tuple[int, int]:
    """Moves of a network in games of the original's `compete --json-output`, and those of them that ours plays."""
    import json

    ours = Process([tabia, "uci", "--player", f"net:{network},rules={rules}"])
    ours.say("uci")
    same = played = 0
    for level in json.loads(pathlib.Path(path).read_text())["levels"]:
        for game in level["games"]:
            fen = game["starting_fen"]
            for move in game["moves"]:
                if move["side"] == game["color"]:
                    ours.say(f"position fen {fen}")
                    ours.say("go")
                    words = ours.until("bestmove")[-1].split()
                    # The original writes castling as the king taking its rook.
                    castling = {"e1h1": "e1g1", "e1a1": "e1c1", "e8h8": "e8g8", "e8a8": "e8c8"}
                    same += words[1] in (move["uci"], castling.get(move["uci"]))
                    played += 1
                fen = move["fen"]
    return same, played


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--rules", choices=sorted(COMMITS), default="original")
    parser.add_argument("--positions", type=int, default=500)
    parser.add_argument("--games", type=int, default=10, help="games a level, of at most 60 plies")
    parser.add_argument("--level", type=int, help="this level only")
    parser.add_argument("--tabia", default=str(ROOT / "target" / "debug" / "tabia"))
    parser.add_argument("--write", metavar="FILE")
    parser.add_argument("--replay", nargs=2, metavar=("JSON", "NETWORK"), help="games of the original's compete")
    args = parser.parse_args()
    if args.replay:
        same, played = check_replay(args.replay[0], args.tabia, args.replay[1], args.rules)
        print(f"{same} of {played} moves of the network are the same")
        raise SystemExit(0 if same == played else 1)
    head = subprocess.check_output(["git", "-C", str(args.checkout), "rev-parse", "HEAD"], text=True).strip()
    if not head.startswith(COMMITS[args.rules]):
        raise SystemExit(f"{args.checkout} is at {head[:8]} (expected {COMMITS[args.rules]})")
    with tempfile.TemporaryDirectory() as folder:
        original = Original(args.checkout, pathlib.Path(folder))
        levels = LEVELS[args.rules]
        fens = positions(args.positions)
        if args.write:
            write_fixture(args.write, original, args.rules, fens)
            return
        wrong = 0
        for number, level in enumerate(levels, 1):
            if args.level not in (None, number):
                continue
            ours = Ours(args.tabia, number, args.rules)
            moves, scores = check_positions(original, ours, level, fens)
            same, played = check_games(original, ours, level, args.games, 60)
            ours.process.close()
            wrong += (len(fens) - moves) + (len(fens) - scores) + (played - same)
            print(f"level {number}: best move {moves} of {len(fens)}, all scores {scores} of {len(fens)}; "
                  f"in {args.games} games all scores {same} of {played} moves", flush=True)
        raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
