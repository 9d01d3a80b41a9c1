#!/usr/bin/env python3
"""Reads PGN on stdin with python-chess and prints what it understood, as JSON: one object a game.

Each object has "headers", "uci" (the main line), "clocks" (seconds after each main line move, or null), "comments"
(of the main line), "variations" (how many there are in the whole tree) and "errors". Needs: pip install chess
"""
import io
import json
import sys

import chess.pgn


def variations(node: chess.pgn.GameNode) -> int:
    count, pending = 0, [node]
    while pending:
        node = pending.pop()
        count += max(0, len(node.variations) - 1)
        pending.extend(node.variations)
    return count


def main() -> None:
    stream = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8")
    games = []
    while (game := chess.pgn.read_game(stream)) is not None:
        mainline = list(game.mainline())
        games.append(
            {
                "headers": dict(game.headers),
                "uci": [node.move.uci() for node in mainline],
                "clocks": [node.clock() for node in mainline],
                "comments": [node.comment for node in mainline],
                "variations": variations(game),
                "errors": [str(error) for error in game.errors],
            }
        )
    json.dump(games, sys.stdout)


if __name__ == "__main__":
    main()
