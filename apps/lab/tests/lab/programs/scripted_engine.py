"""A UCI engine that answers from a table and misbehaves where it is told to.

scripted_engine.py TABLE [SECONDS]: TABLE is a JSON object, from the first four fields of a FEN to the lines the engine
gives there: [[move, centipawns for the mover], ...]. A position may have a "behaviour" instead of plain lines:
{"lines": [...], "behaviour": "crash-once" | "crash" | "hang"}. SECONDS is how long it thinks.
"""

import json
import os
import sys
import time

table = json.load(open(sys.argv[1]))
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
lines = 1
here = None


def say(text):
    print(text, flush=True)


for command in sys.stdin:
    words = command.split()
    if words[:1] == ["uci"]:
        say("id name Scripted 1")
        say("option name Hash type spin default 16 min 1 max 1024")
        say("option name MultiPV type spin default 1 min 1 max 200")
        say("uciok")
    elif words[:1] == ["isready"]:
        say("readyok")
    elif words[:3] == ["setoption", "name", "MultiPV"]:
        lines = int(words[-1])
    elif words[:2] == ["position", "fen"]:
        here = " ".join(words[2:6])
    elif words[:2] == ["position", "startpos"]:
        here = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"
    elif words[:1] == ["go"]:
        time.sleep(seconds)
        entry = table[here]
        behaviour = entry.get("behaviour") if isinstance(entry, dict) else None
        known = entry["lines"] if isinstance(entry, dict) else entry
        if behaviour == "crash" or behaviour == "hang":
            if behaviour == "crash":
                sys.exit(9)
            time.sleep(3600)
        if behaviour == "crash-once":
            mark = sys.argv[1] + ".crashed"
            if not os.path.exists(mark):
                open(mark, "w").close()
                sys.exit(9)
        for rank, (move, cp) in enumerate(known[:lines], 1):
            say(f"info depth 7 multipv {rank} score cp {cp} nodes 12345 pv {move}")
        say(f"bestmove {known[0][0]}")
    elif words[:1] == ["quit"]:
        break
