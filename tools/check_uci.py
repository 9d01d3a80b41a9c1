#!/usr/bin/env python3
"""Drives a UCI engine with python-chess, as a strict client would, and prints what happened as JSON.

    check_uci.py [--games N] [--plies N] [--movetime MS] [--seed N] [--option NAME=VALUE]... COMMAND [ARGUMENT]...

Checks the handshake and options (each is set to its own default), games under every kind of limit from usual and odd
positions, castling (also of Chess960) and promotion, chosen root moves, several best lines, analysis that is stopped, pondering, a
position without moves, and an end with status 0. Any illegal move, error or time-out (--patience seconds) fails with
status 1. Needs: pip install chess
"""
import argparse
import asyncio
import json
import random
import sys

import chess
import chess.engine

# Castling on both sides, promotions, en passant, and a position where only one move is legal.
STARTS = [
    chess.STARTING_FEN,
    "r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 6 8",
    "8/P1P3k1/8/8/8/8/1p1p2K1/8 b - - 0 1",
    "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
    "7k/8/8/8/8/8/6q1/7K w - - 0 1",
    "4k3/8/8/8/8/8/8/4K2R w K - 99 80",
]
# Chess960: two start positions, and castling that is possible at once with the king beside its destination.
STARTS_960 = [
    "bqrkrnnb/pppppppp/8/8/8/8/PPPPPPPP/BQRKRNNB w ECec - 0 1",
    "rkbqnbrn/pppppppp/8/8/8/8/PPPPPPPP/RKBQNBRN w GAga - 0 1",
    "1r3k1r/pppppppp/8/8/8/8/PPPPPPPP/1R3K1R w HBhb - 0 1",
]


def require(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


class Check:
    def __init__(self, engine: chess.engine.UciProtocol, arguments: argparse.Namespace):
        self.engine = engine
        self.arguments = arguments
        self.random = random.Random(arguments.seed)
        self.moves = 0

    async def within(self, awaitable):
        return await asyncio.wait_for(awaitable, self.arguments.patience)

    def limits(self) -> list[chess.engine.Limit]:
        seconds = self.arguments.movetime / 1000
        clock = seconds * 40
        return [
            chess.engine.Limit(time=seconds),
            chess.engine.Limit(nodes=50),
            chess.engine.Limit(depth=1),
            chess.engine.Limit(white_clock=clock, black_clock=clock, white_inc=seconds, black_inc=seconds),
            chess.engine.Limit(white_clock=clock, black_clock=clock, remaining_moves=20),
        ]

    async def options(self) -> None:
        offered = self.engine.options
        for name, option in offered.items():
            # These python-chess sets itself.
            if option.is_managed() or option.type == "button":
                continue
            if option.type == "spin":
                require(option.min <= option.default <= option.max, f"{name}: default out of range")
            if option.type == "combo":
                require(option.default in option.var, f"{name}: default is no choice")
            await self.within(self.engine.configure({name: option.default}))
        if self.arguments.option:
            await self.within(self.engine.configure(dict(setting.split("=", 1) for setting in self.arguments.option)))
        await self.within(self.engine.ping())

    async def play(self, board: chess.Board, limit: chess.engine.Limit, **more) -> chess.engine.PlayResult:
        result = await self.within(self.engine.play(board, limit, **more))
        require(result.move in board.legal_moves, f"{result.move} is not legal in {board.fen()}")
        self.moves += 1
        return result

    async def game(self, number: int) -> None:
        start = (STARTS + STARTS_960)[number % (len(STARTS) + len(STARTS_960))]
        board = chess.Board(start, chess960=start in STARTS_960)
        limits = self.limits()
        for ply in range(self.arguments.plies):
            if board.is_game_over(claim_draw=False):
                break
            # The engine meets moves it would not play itself.
            if ply % 2:
                board.push(self.random.choice(list(board.legal_moves)))
            else:
                limit = limits[(number + ply // 2) % len(limits)]
                info = chess.engine.INFO_ALL
                result = await self.play(board, limit, game=number, info=info)
                board.push(result.move)

    async def castling(self) -> None:
        board = chess.Board("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
        for uci in ["e1g1", "e8c8"]:
            move = chess.Move.from_uci(uci)
            result = await self.play(board, chess.engine.Limit(depth=1), root_moves=[move])
            require(result.move == move, f"asked for {uci}, got {result.move}")
            board.push(move)
        if "UCI_Chess960" not in self.engine.options:
            return
        board = chess.Board(STARTS_960[-1], chess960=True)
        for uci in ["f1h1", "f8b8"]:
            move = chess.Move.from_uci(uci)
            result = await self.play(board, chess.engine.Limit(depth=1), root_moves=[move])
            require(result.move == move, f"asked for {uci}, got {result.move}")
            board.push(move)

    async def promotion(self) -> None:
        board = chess.Board("8/P6k/8/8/8/8/8/K7 w - - 0 1")
        move = chess.Move.from_uci("a7a8n")
        result = await self.play(board, chess.engine.Limit(depth=1), root_moves=[move])
        require(result.move == move, f"asked for a7a8n, got {result.move}")

    async def lines(self) -> int:
        if "MultiPV" not in self.engine.options:
            return 0
        board = chess.Board()
        infos = await self.within(self.engine.analyse(board, chess.engine.Limit(depth=1), multipv=3))
        require(len(infos) == 3, f"{len(infos)} lines of 3")
        firsts = {info["pv"][0] for info in infos}
        require(len(firsts) == 3, "three lines, but not three moves")
        for info in infos:
            line = board.copy()
            for move in info["pv"]:
                require(move in line.legal_moves, f"{move} is not legal in {line.fen()}")
                line.push(move)
        return len(infos)

    async def analysis(self) -> None:
        for fen in STARTS[:3]:
            analysis = await self.within(self.engine.analysis(chess.Board(fen)))
            await asyncio.sleep(0.02)
            # python-chess pings between commands, so this also shows that the engine listens while it thinks.
            analysis.stop()
            best = await self.within(analysis.wait())
            require(best.move in chess.Board(fen).legal_moves, f"{best.move} is not legal in {fen}")

    async def ponder(self) -> int:
        board = chess.Board()
        hits = 0
        for ply in range(8):
            limit = self.limits()[3]
            result = await self.play(board, limit, ponder=True, game="ponder")
            board.push(result.move)
            if board.is_game_over():
                break
            # A hit every other time, where the engine said what it expects.
            if result.ponder is not None and ply % 2 == 0:
                require(result.ponder in board.legal_moves, f"{result.ponder} cannot be expected")
                board.push(result.ponder)
                hits += 1
            else:
                board.push(self.random.choice(list(board.legal_moves)))
        return hits

    async def no_moves(self) -> None:
        for fen in ["7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1"]:
            result = await self.within(self.engine.play(chess.Board(fen), chess.engine.Limit(depth=1)))
            require(result.move is None, f"{result.move} in a finished game")


async def check(arguments: argparse.Namespace) -> dict:
    opening = chess.engine.popen_uci([arguments.command, *arguments.arguments])
    transport, engine = await asyncio.wait_for(opening, arguments.patience)
    report = {"id": dict(engine.id), "options": sorted(engine.options)}
    try:
        run = Check(engine, arguments)
        await run.options()
        await run.castling()
        await run.promotion()
        report["lines"] = await run.lines()
        await run.analysis()
        report["ponder_hits"] = await run.ponder()
        await run.no_moves()
        for number in range(arguments.games):
            await run.game(number)
        await run.within(engine.ping())
        await run.within(engine.quit())
        report["status"] = await run.within(engine.returncode)
        require(report["status"] == 0, f"ended with status {report['status']}")
        report["moves"] = run.moves
        return report
    finally:
        transport.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=18)
    parser.add_argument("--plies", type=int, default=60, help="of each game, at most")
    parser.add_argument("--movetime", type=float, default=10, help="milliseconds a move")
    parser.add_argument("--patience", type=float, default=60, help="seconds for any one answer")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--option", action="append", default=[], help="NAME=VALUE")
    parser.add_argument("command")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    try:
        print(json.dumps(asyncio.run(check(arguments))))
    except (AssertionError, asyncio.TimeoutError, chess.engine.EngineError) as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
