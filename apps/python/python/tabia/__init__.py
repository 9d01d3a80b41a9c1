"""Chess networks, encodings, training batches and matches.

>>> import tabia
>>> human = tabia.open("human")
>>> human.evaluate("1. e4 e5 2. Nf3", elo=1500).best
'b8c6'
>>> tabia.encode(["e2e4", "d2d4"], "challenge-768").shape
(2, 768)

The guide is docs/guides/python.md.
"""

from ._native import (
    Batch,
    Batches,
    Board,
    Error,
    Evaluation,
    Evaluations,
    Game,
    Games,
    GameStream,
    LevelScore,
    Match,
    Model,
    Rating,
    Scorecard,
    Set,
    Vocabulary,
    __version__,
    board,
    build_set,
    compete,
    elo,
    encode,
    encodings,
    moves,
    open,
    play,
    rate,
    read_pgn,
    scan_pgn,
    vocabularies,
)

__all__ = [
    "Batch",
    "Batches",
    "Board",
    "Error",
    "Evaluation",
    "Evaluations",
    "Game",
    "GameStream",
    "Games",
    "LevelScore",
    "Match",
    "Model",
    "Rating",
    "Scorecard",
    "Set",
    "Vocabulary",
    "__version__",
    "board",
    "build_set",
    "compete",
    "elo",
    "encode",
    "encodings",
    "moves",
    "open",
    "play",
    "rate",
    "read_pgn",
    "scan_pgn",
    "vocabularies",
]
