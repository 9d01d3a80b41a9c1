"""Measures how fast games and evaluations become sets, against python-chess, in one run.

bench_data.py LAB INPUTS WORK [FILE]: LAB is the program tabia-lab, INPUTS the program that makes input (the example
bench_input of tabia-data), WORK a folder for what is made, FILE a PGN (.zst or plain); without one, random games are made.

Rates are per second of processor time, of all threads together; memory is the peak of the whole process. The peers read
the same files for SECONDS of processor time: games with chess.pgn.read_game, rows with json, chess.Board(fen) and
Board.parse_uci of the first move. They write nothing, and their start does not count.
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROWS = 1_000_000
GAMES = 20_000
SECONDS = 20


def peer_games(path):
    import io

    import chess.pgn
    import zstandard

    raw = open(path, "rb")
    if path.endswith(".zst"):
        raw = zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(raw)
    text = io.TextIOWrapper(raw, encoding="utf-8", errors="replace")
    plies = 0
    begin = time.process_time()
    while time.process_time() - begin < SECONDS and (game := chess.pgn.read_game(text)) is not None:
        plies += game.end().ply()
    return plies, time.process_time() - begin


def peer_rows(path):
    import chess

    rows = 0
    begin = time.process_time()
    with open(path) as lines:
        while time.process_time() - begin < SECONDS and (some := list(itertools.islice(lines, 100))):
            for line in some:
                row = json.loads(line)
                chess.Board(row["fen"]).parse_uci(row["line"].split(" ", 1)[0])
                rows += 1
    return rows, time.process_time() - begin


def run(command):
    """Runs a command; gives the processor seconds, the seconds and the most memory in MB it took, and what it printed."""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    printed = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {child.returncode}")
    peak = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin, peak, printed


def build(lab, source, out):
    shutil.rmtree(out, ignore_errors=True)
    cpu, wall, peak, said = run([lab, "data", "build", source, "--out", out])
    made = json.loads((out / "set.json").read_text())
    shutil.rmtree(out)
    print(said)
    return cpu, wall, peak, made


def peer(what, path):
    _, wall, peak, said = run([sys.executable, __file__, what, path])
    count, cpu = json.loads(said)
    return count, cpu, wall, peak


def made(command, path):
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as out:
        subprocess.run(command, stdout=out, check=True)
    part.rename(path)
    return path


def table(title, unit, lines):
    print(f"{title}\n  {'':28}{unit:>12}{'cpu s':>8}{'wall s':>8}{'peak MB':>9}{unit + '/cpu s':>14}{'ratio':>8}")
    (_, count, cpu, _, _) = lines[-1]
    base = count / cpu
    for name, count, cpu, wall, peak in lines:
        rate = count / cpu
        print(f"  {name:28}{count:12,}{cpu:8.1f}{wall:8.1f}{peak:9.0f}{rate:14,.0f}{rate / base:7.1f}x")
    print()


def main():
    lab, inputs, work = (Path(argument) for argument in sys.argv[1:4])
    work.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 4:
        games = Path(sys.argv[4])
    else:
        games = made([inputs, "games", str(GAMES)], work / "games.pgn")
    rows = made([inputs, "rows", str(ROWS), games], work / "rows.jsonl")

    cpu, wall, peak, set_of_games = build(lab, games, work / "games-set")
    ours_games = ("tabia-lab data build", set_of_games["positions"], cpu, wall, peak)
    cpu, wall, peak, set_of_rows = build(lab, rows, work / "rows-set")
    lines = sum(source["records"] for source in set_of_rows["sources"])
    ours_rows = ("tabia-lab data build", lines, cpu, wall, peak)
    theirs_games = ("python-chess, parsing only", *peer("games", games))
    theirs_rows = ("python-chess, parsing only", *peer("rows", rows))
    rows.unlink()
    table(f"PGN to shards: {games.name} (plies of the games that are left without duplicates)", "plies",
          [ours_games, theirs_games])
    table(f"evaluations to shards: {lines:,} rows as JSON", "rows", [ours_rows, theirs_rows])


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps({"games": peer_games, "rows": peer_rows}[sys.argv[1]](sys.argv[2])))
    else:
        main()
