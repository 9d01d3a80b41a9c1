#!/usr/bin/env python3
"""Writes fixtures/encoding/*.json: what every encoding and vocabulary says of some positions.

Written from the descriptions of the formats with python-chess and numpy, independently of the Rust code, so that a
misreading on either side shows. Deterministic. Needs: pip install chess numpy

cases.json lists the situations: a FEN, the moves played from it, both players' ratings and clocks, the pool, base time
and increment, a context. For each
encoding, <id>.json has one entry a case: per input either the list of ids or, for numbers, the indices that hold each
non-zero value, runs as [first, last]. For each vocabulary, <id>.json has one entry a case: every legal move with its index and, where there
is a promotion head, the index there. labels.json has engine lines and their soft labels.
"""
import json
import math
import pathlib

import chess
import numpy as np

import tabia_human_1 as tabia_human_1_encoder

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "fixtures" / "encoding"

QUIET = "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5"
HAND_PICKED = [
    ("start", chess.STARTING_FEN, "", {}),
    ("one move", chess.STARTING_FEN, "e2e4", {"rating": 2100, "time_ms": 125_500}),
    ("white castled", chess.STARTING_FEN, QUIET + " e1g1", {"rating": 999, "time_ms": 9_999}),
    ("black castled", chess.STARTING_FEN, QUIET + " e1g1 g8f6 d2d3 e8g8", {"rating": 1000, "time_ms": 10_000}),
    ("long game", chess.STARTING_FEN,
     "d2d4 d7d5 c2c4 e7e6 b1c3 g8f6 c1g5 f8e7 e2e3 e8g8 g1f3 b8d7 c4d5 e6d5 f1d3 c7c6 d1c2 f8e8 e1c1 d7f8",
     {"rating": 2500, "time_ms": 899_999}),
    ("repetition", chess.STARTING_FEN, "g1f3 g8f6 f3g1 f6g8 g1f3", {"rating": 2499, "time_ms": 900_000}),
    ("repetition twice", chess.STARTING_FEN, "e2e4 e7e5 g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8", {}),
    ("two halves of a repetition", "4k3/8/8/8/8/8/4R3/4K3 b - - 7 40", "e8d8 e2d2 d8e8 d2e2 e8d8 e2d2 d8e8", {}),
    ("black may castle", "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 3 10", "", {"rating": 1500}),
    ("some rights", "r3k2r/8/8/8/8/8/8/R3K2R w Qk - 99 80", "", {}),
    ("rights lost to captures", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "a1a8", {}),
    ("castling through attack", "4k3/8/8/8/8/5r2/8/R3K2R w KQ - 0 1", "", {}),
    ("en passant for white", "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3", "", {}),
    ("en passant for black", "rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3", "", {}),
    ("en passant pinned", "8/8/8/K2pP2r/8/8/8/4k3 w - d6 0 30", "", {}),
    ("en passant played", "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3", "e5f6 g8f6", {}),
    ("en passant not played", "rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3", "g8f6", {}),
    ("white promotes", "1n4n1/P6P/8/8/4k3/8/p2K3p/1N4N1 w - - 0 40", "", {}),
    ("black promotes", "1n4n1/P6P/8/8/4k3/8/p2K3p/1N4N1 b - - 0 40", "", {}),
    ("underpromotion in history", "1n4n1/P6P/8/8/4k3/8/p2K3p/1N4N1 b - - 0 40", "a2b1n d2c1", {}),
    ("in check", "4k3/8/8/8/7b/8/5n2/R3K2R w KQ - 4 30", "e1f1", {}),
    ("check by a queen", "r3k3/8/8/8/8/8/4q3/4K2R w Kq - 0 30", "", {}),
    ("pinned pieces of the waiting side", "4r1k1/8/8/8/4N3/b7/8/4K3 b - - 0 30", "", {}),
    ("stalemate", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "", {}),
    ("lone position", "r1bqk1nr/ppp1bppp/2np4/1B2p3/4P3/2N2N1P/PPPP1PP1/R1BQK2R b KQkq - 3 5", "", {}),
    ("from a position", "r1bqk1nr/ppp1bppp/2np4/1B2p3/4P3/2N2N1P/PPPP1PP1/R1BQK2R b KQkq - 3 5", "c8d7 e1g1 g8f6",
     {"rating": 1100, "time_ms": 30_000, "context": chess.STARTING_FEN}),
    ("context of the other side", chess.STARTING_FEN, "d2d4",
     {"context": "8/8/8/K2pP2r/8/8/8/4k3 w - d6 0 30"}),
]
WITH_PLAYERS = [
    ("online blitz", chess.STARTING_FEN, QUIET + " e1g1 g8f6 d2d3",
     {"rating": 1433, "time_ms": 161_200, "opponent_rating": 1551, "opponent_time_ms": 2_040, "pool": "online",
      "pace_ms": [180_000, 2_000]}),
    ("slow game over the board", "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 120 110", "",
     {"rating": 2799, "time_ms": 7_000_000, "opponent_rating": 2851, "opponent_time_ms": 3_000_123,
      "pool": "over-the-board", "pace_ms": [5_400_000, 45_000]}),
    ("puzzle after a capture", "r1bqk1nr/pppp1ppp/2n5/2b1p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4",
     "c4f7 e8f7 f3e5", {"rating": 600, "opponent_rating": 599, "pool": "puzzle"}),
    ("double check by a capture", "4k3/4r3/8/4n3/8/3P4/8/4K3 b - - 0 1", "e5d3",
     {"rating": 2000, "opponent_time_ms": 0, "pool": "online", "pace_ms": [0, 3_500]}),
    ("bullet", chess.STARTING_FEN, "e2e4 d7d5 e4d5 d8d5 b1c3 d5e5",
     {"time_ms": 1_000, "opponent_rating": 801, "opponent_time_ms": 17_770, "pace_ms": [70_000, 0]}),
    ("en passant just played", "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3", "e5f6",
     {"rating": 1999, "time_ms": 59_999, "opponent_rating": 1200, "opponent_time_ms": 60_000, "pool": "online",
      "pace_ms": [600_000, 29_000]}),
    ("castled long for black", "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 3 10", "e8c8 e1g1",
     {"opponent_rating": 4000, "pool": "over-the-board", "pace_ms": [900_000, 10_000]}),
]


def cases():
    for name, fen, moves, extra in HAND_PICKED:
        yield {"name": name, "fen": fen, "moves": moves.split(), **extra}
    fens = (ROOT / "fixtures" / "positions.fen").read_text().split("\n")
    for line in range(0, 200, 17):
        yield {"name": f"positions.fen line {line + 1}", "fen": fens[line], "moves": []}
    for name, fen, moves, extra in WITH_PLAYERS:
        yield {"name": name, "fen": fen, "moves": moves.split(), **extra}


class Seen:
    """A case with its boards replayed, oldest first."""

    def __init__(self, case):
        board = chess.Board(case["fen"])
        self.boards, self.moves = [board.copy()], []
        for uci in case["moves"]:
            self.moves.append(board.parse_uci(uci))
            board.push(self.moves[-1])
            self.boards.append(board.copy())
        assert all(b.is_valid() for b in self.boards), case["name"]
        self.board, self.case = board, case
        self.rating = case.get("rating", 1500)
        self.time = case.get("time_ms")
        self.context = chess.Board(case["context"]) if "context" in case else board


# ---- inputs ---------------------------------------------------------------------------------------------------------

RATINGS = list(range(1000, 2501, 100))
SECONDS = [10, 30] + list(range(60, 901, 60))


def bucket(value, boundaries):
    return next((i for i, b in enumerate(boundaries) if value < b), len(boundaries))


def humchess_68(seen):
    board = seen.board
    symbols = "PNBRQKpnbrqk"
    tokens = [0] * 64
    for square, piece in board.piece_map().items():
        symbol = piece.symbol()
        if board.turn == chess.BLACK:
            square, symbol = 63 - square, symbol.swapcase()
        tokens[square] = 1 + symbols.index(symbol)
    white = [board.has_kingside_castling_rights(chess.WHITE), board.has_queenside_castling_rights(chess.WHITE)]
    black = [board.has_kingside_castling_rights(chess.BLACK), board.has_queenside_castling_rights(chess.BLACK)]
    bits = white + black if board.turn == chess.WHITE else black + white
    castling = 14 + int("".join(str(int(b)) for b in bits), 2)
    time = 18 if seen.time is None else bucket(seen.time / 1000, SECONDS)
    return [[13] + tokens + [castling, 30 + bucket(seen.rating, RATINGS), 47 + time]]


def humchess_74(seen):
    history = []
    for move in reversed(seen.moves[-6:]):
        a, b = move.from_square, move.to_square
        history.append(a * 64 + b if seen.board.turn == chess.WHITE else (63 - a) * 64 + 63 - b)
    return [humchess_68(seen)[0] + history + [4096] * (6 - len(history))]


def rusty(board, channels):
    head = [board.turn, not board.turn, board.has_kingside_castling_rights(True), board.has_queenside_castling_rights(True),
            board.has_kingside_castling_rights(False), board.has_queenside_castling_rights(False)]
    squares = np.zeros((64, channels))
    for square, piece in board.piece_map().items():
        squares[square, (6 if piece.color else 0) + piece.piece_type - 1] = 1
    return head, squares


def landing_squares(board, color):
    board = board.copy()
    if board.turn != color:
        board.turn, board.ep_square = color, None
    return {move.to_square for move in board.legal_moves}


def rusty_774(seen):
    head, squares = rusty(seen.board, 12)
    return [np.concatenate([head, squares.ravel()])]


def rusty_902(seen):
    head, squares = rusty(seen.board, 14)
    for color, channel in ((chess.WHITE, 12), (chess.BLACK, 13)):
        for square in landing_squares(seen.board, color):
            squares[square, channel] = 1
    return [np.concatenate([head, squares.ravel()])]


def rusty_planes_15(seen):
    planes = np.zeros((15, 8, 8))
    for row, text in enumerate(seen.board.board_fen().split("/")):
        column = 0
        for symbol in text:
            if symbol.isdigit():
                column += int(symbol)
            else:
                planes["PNBRQKpnbrqk".index(symbol), row, column] = 1
                column += 1
    for color, plane in ((chess.WHITE, 12), (chess.BLACK, 13)):
        for square in landing_squares(seen.board, color):
            planes[plane, 7 - chess.square_rank(square), chess.square_file(square)] = 1
    planes[14] = seen.board.turn
    return [planes]


def pair_769(seen):
    def side(board):
        planes = np.zeros((12, 64))
        expanded = "".join("." * int(c) if c.isdigit() else c for c in board.board_fen().replace("/", ""))
        for i, symbol in enumerate(expanded):
            if symbol != ".":
                planes["pnbrqkPNBRQK".index(symbol), i] = 1
        return np.append(planes.ravel(), not board.turn)
    return [side(seen.context), side(seen.board)]


def half_768(board, viewer):
    if viewer == chess.BLACK:
        board = board.mirror()  # flips ranks and exchanges colours
    planes = np.zeros((12, 64))
    for square, piece in board.piece_map().items():
        planes[(0 if piece.color else 6) + piece.piece_type - 1, square] = 1
    return planes.ravel()


def challenge_768(seen):
    return [half_768(seen.board, seen.board.turn)]


def challenge_1540(seen):
    board = seen.board
    halves = []
    for viewer in (board.turn, not board.turn):
        rights = [board.has_kingside_castling_rights(viewer), board.has_queenside_castling_rights(viewer)]
        halves += [half_768(board, viewer), rights]
    return [np.concatenate(halves)]


def fen_planes(board):
    """13 planes and 5 meta numbers from the text of a FEN whose en passant field is set only where it is legal."""
    placement, turn, castling, en_passant = board.fen(en_passant="legal").split()[:4]
    planes = np.zeros((13, 8, 8))
    for row, text in enumerate(placement.split("/")):
        column = 0
        for symbol in text:
            if symbol.isdigit():
                column += int(symbol)
            else:
                planes["PNBRQKpnbrqk".index(symbol), 7 - row, column] = 1
                column += 1
    if en_passant != "-":
        planes[12, int(en_passant[1]) - 1, "abcdefgh".index(en_passant[0])] = 1
    return planes, np.array([1 if turn == "w" else -1] + [int(c in castling) for c in "KQkq"])


def policy_837(seen):
    planes, meta = fen_planes(seen.board)
    return [np.concatenate([planes.ravel(), meta])]


def policy_planes_13(seen):
    return list(fen_planes(seen.board))


def policy_planes_18(seen):
    planes, meta = fen_planes(seen.board)
    return [np.concatenate([planes, np.ones((5, 8, 8)) * meta[:, None, None]])]


def policy_planes_17(seen):
    planes, (turn, *rights) = fen_planes(seen.board)
    if turn < 0:
        planes = np.concatenate([planes[6:12], planes[:6], planes[12:]])[:, ::-1]
        rights = rights[2:] + rights[:2]
    return [np.concatenate([planes, np.ones((4, 8, 8)) * np.array(rights)[:, None, None]])]


def lc0_112(seen):
    planes = np.zeros((112, 8, 8))
    now = seen.board
    us, flip = now.turn, (lambda s: s) if now.turn else chess.square_mirror

    def place(block, symbols):
        for square, piece in symbols.items():
            plane = block * 13 + (0 if piece.color == us else 6) + piece.piece_type - 1
            planes[plane, chess.square_rank(flip(square)), chess.square_file(flip(square))] = 1

    def same(a, b):
        return a.epd(en_passant="legal") == b.epd(en_passant="legal")

    for block in range(8):
        at = len(seen.boards) - 1 - block
        if at >= 0:
            board = seen.boards[at]
            place(block, board.piece_map())
            if any(same(board, earlier) for earlier in seen.boards[:at]):
                planes[block * 13 + 12] = 1
        elif not same(seen.boards[0], chess.Board()):
            first = seen.boards[0].copy()
            if first.ep_square is not None:
                back = -8 if first.turn == chess.BLACK else 8  # from the target square towards the side that pushed
                first.set_piece_at(first.ep_square + back, first.remove_piece_at(first.ep_square - back))
            place(block, first.piece_map())
    aux = [now.has_queenside_castling_rights(us), now.has_kingside_castling_rights(us),
           now.has_queenside_castling_rights(not us), now.has_kingside_castling_rights(not us),
           us == chess.BLACK, now.halfmove_clock, 0, 1]
    for i, value in enumerate(aux):
        planes[104 + i] = value
    return [planes]


def lc0_112_castling(seen):
    planes, = lc0_112(seen)
    planes[104:108] = 0
    for color in chess.COLORS:
        for rook in chess.scan_forward(seen.board.castling_rights & chess.BB_RANKS[0 if color else 7]):
            square = rook if seen.board.turn else chess.square_mirror(rook)
            side = 104 if chess.square_file(rook) < chess.square_file(seen.board.king(color)) else 105
            planes[side, chess.square_rank(square), chess.square_file(square)] = 1
    return [planes]


def tabia_human_1(seen):
    squares, game = tabia_human_1_encoder.encode_situation(seen.case)
    return [squares, game[:80]]


def tabia_human_2(seen):
    return list(tabia_human_1_encoder.encode_situation(seen.case))


def both_ratings(seen):
    own = seen.case.get("rating", 1500)
    return own, seen.case.get("opponent_rating", own)


def maia3(boards):
    def encode(seen):
        history = seen.boards[-boards:]
        history = [history[0]] * (boards - len(history)) + history
        tokens = np.zeros((64, boards, 12))
        for at, board in enumerate(history):
            board = board if board.turn else board.mirror()
            for square, piece in board.piece_map().items():
                tokens[square, at, piece.piece_type - 1 + (0 if piece.color else 6)] = 1
        return [tokens] + [[min(rating, 5000)] for rating in both_ratings(seen)]
    encode.__name__ = f"maia3_{12 * boards}"
    return encode


def maia2_18(seen):
    board = chess.Board(seen.board.fen())  # with an en passant square only where it can be captured on
    board = board if board.turn else board.mirror()
    planes = np.zeros((18, 8, 8))
    for square, piece in board.piece_map().items():
        planes[piece.piece_type - 1 + (0 if piece.color else 6), square // 8, square % 8] = 1
    planes[12] = 1
    for i, (color, flank) in enumerate([(True, chess.BB_H1), (True, chess.BB_A1), (False, chess.BB_H8), (False, chess.BB_A8)]):
        planes[13 + i] = bool(board.castling_rights & flank)
    if board.ep_square is not None:
        planes[17, board.ep_square // 8, board.ep_square % 8] = 1
    groups = [0 if rating < 1100 else min((rating - 1000) // 100, 10) for rating in both_ratings(seen)]
    return [planes] + [[group] for group in groups]


SEARCHLESS = "0123456789abcdefghpnrkqPBNRQKw."


def searchless_79(seen):
    board, side, castling, en_passant, quiet, number = seen.board.fen().split()
    for n in range(1, 9):
        board = board.replace(str(n), "." * n)
    text = side + board.replace("/", "")
    for part, width in ((castling, 4), (en_passant, 2), (quiet, 3), (number, 3)):
        text += part.replace("-", "").ljust(width, ".")
    return [[SEARCHLESS.index(c) for c in text] + [0, 0]]


ENCODINGS = [humchess_68, humchess_74, rusty_774, rusty_902, rusty_planes_15, pair_769, challenge_768, challenge_1540,
             policy_837, policy_planes_13, policy_planes_17, policy_planes_18, lc0_112, lc0_112_castling, tabia_human_1,
             tabia_human_2, maia3(8), maia3(1), maia2_18, searchless_79]


def compact(tensor):
    if isinstance(tensor, list):
        return tensor
    flat = np.asarray(tensor, dtype=float).ravel()
    values = sorted(set(flat[flat != 0].tolist()))
    return {np.format_float_positional(np.float32(value), trim="-"): runs(np.flatnonzero(flat == value)) for value in values}


def runs(indices):
    """Indices, with three or more in a row as [first, last]."""
    parts = np.split(indices, np.flatnonzero(np.diff(indices) > 1) + 1)
    lists = ([[int(part[0]), int(part[-1])]] if len(part) > 2 else part.tolist() for part in parts)
    return [entry for part in lists for entry in part]


# ---- moves ----------------------------------------------------------------------------------------------------------

def rider_and_knight_pairs():
    pairs = []
    for a in chess.SQUARES:
        queen = chess.Board(None)
        queen.set_piece_at(a, chess.Piece(chess.QUEEN, True))
        pairs += [(a, b) for b in sorted(set(queen.attacks(a)) | set(chess.SquareSet(chess.BB_KNIGHT_ATTACKS[a])))]
    return pairs


def steps(rank, to_rank):
    return [(chess.square(f, rank), chess.square(t, to_rank)) for f in range(8) for t in (f - 1, f, f + 1) if 0 <= t < 8]


PAIRS = rider_and_knight_pairs()
CANONICAL = sorted([(a, b, 0) for a, b in PAIRS]
                   + [(a, b, p) for a, b in steps(6, 7) + steps(1, 0) for p in (1, 2, 3, 4)])
assert len(PAIRS) == 1792 and len(CANONICAL) == 1968
LC0 = ([chess.square_name(a) + chess.square_name(b) for a, b in PAIRS]
       + [chess.square_name(a) + chess.square_name(b) + p for a, b in steps(6, 7) for p in "qrb"])
assert len(LC0) == 1858 and LC0[-1] == "h7h8b"


def from_to(rotate):
    def slot(board, move):
        ends = [s if board.turn else rotate(s) for s in (move.from_square, move.to_square)]
        promotion = {None: None, chess.QUEEN: 0, chess.ROOK: 1, chess.BISHOP: 2, chess.KNIGHT: 3}[move.promotion]
        return [ends[0] * 64 + ends[1], promotion]
    return slot


def canonical(mover):
    def slot(board, move):
        ends = [s if board.turn or not mover else chess.square_mirror(s) for s in (move.from_square, move.to_square)]
        promotion = 0 if move.promotion is None else move.promotion - 1
        return [CANONICAL.index((*ends, promotion)), None]
    return slot


def lc0_1858(board, move):
    a, b = move.from_square, move.to_square
    if board.is_castling(move):
        b = chess.square(7 if chess.square_file(b) == 6 else 0, chess.square_rank(b))
    if board.turn == chess.BLACK:
        a, b = chess.square_mirror(a), chess.square_mirror(b)
    suffix = {chess.QUEEN: "q", chess.ROOK: "r", chess.BISHOP: "b"}.get(move.promotion, "")
    return [LC0.index(chess.square_name(a) + chess.square_name(b) + suffix), None]


def maia_moves(targets):
    """The moves of a queen and of a knight from each square, each with its targets in the given order."""
    moves = []
    for a in chess.SQUARES:
        for piece in (chess.QUEEN, chess.KNIGHT):
            board = chess.BaseBoard.empty()
            board.set_piece_at(a, chess.Piece(piece, True))
            moves += [chess.square_name(a) + chess.square_name(b) for b in targets(board.attacks(a))]
    return moves


def promotions(rank, to_rank):
    files = "abcdefgh"
    ends = [(f, t) for f in range(8) for t in (f, f - 1, f + 1) if 0 <= t < 8]
    return [f"{files[f]}{rank}{files[t]}{to_rank}{piece}" for f, t in ends for piece in "qrbn"]


MAIA2 = maia_moves(lambda squares: sorted(squares, reverse=True)) + promotions(7, 8)
MAIA3 = [chess.square_name(a) + chess.square_name(b) for a in chess.SQUARES for b in chess.SQUARES] + [
    f"{a}7{b}8{piece}" for a in "abcdefgh" for b in "abcdefgh" for piece in "qrbn"]
SEARCHLESS_MOVES = maia_moves(sorted) + promotions(2, 1) + promotions(7, 8)
assert (len(MAIA2), len(MAIA3), len(SEARCHLESS_MOVES)) == (1880, 4352, 1968)


def listed(moves, mirrored):
    def slot(board, move):
        if mirrored and not board.turn:
            move = chess.Move(chess.square_mirror(move.from_square), chess.square_mirror(move.to_square), move.promotion)
        return [moves.index(move.uci()), None]
    return slot


VOCABULARIES = {
    "from-to-4096": from_to(lambda s: 63 - s),
    "from-to-4096-mirrored": from_to(chess.square_mirror),
    "canonical-1968": canonical(False),
    "canonical-1968-mover": canonical(True),
    "lc0-1858": lc0_1858,
    "maia3-4352": listed(MAIA3, True),
    "maia2-1880": listed(MAIA2, True),
    "searchless-1968": listed(SEARCHLESS_MOVES, False),
}


# ---- labels ---------------------------------------------------------------------------------------------------------

LINES = [
    ("w", [["e2e4", 30, 35, False], ["d2d4", 30, 20, False], ["e2e4", 42, 28, False], ["c2c4", 42, 11, False],
           ["g1f3", 42, 28, False], ["c2c4", 42, 25, False]]),
    ("b", [["e7e5", 36, 40, False], ["c7c5", 36, 15, False], ["a7a6", 36, 160, False], ["h7h6", 20, -900, False]]),
    ("w", [["d1h5", 50, 1, True], ["f1c4", 50, 2, True], ["e2e4", 50, 900, False], ["a2a3", 50, 25, True]]),
    ("b", [["g8f6", 12, 3, True], ["e8e7", 12, 18, True], ["d8f6", 12, 700, False], ["b8c6", 12, -19, True]]),
]


def soft_labels(turn, lines):
    depth = max(line[1] for line in lines)
    weights = {}
    for move, _, value, is_mate in (line for line in lines if line[1] == depth):
        score = value
        if is_mate:
            n = abs(value)
            score = math.copysign(10000 - 9000 * (n - 1) / 19 if n < 20 else 1000, value)
        score = score if turn == "w" else -score
        weights[move] = max(weights.get(move, -math.inf), score)
    best = max(weights.values())
    weights = {move: math.exp(-(best - score) / 50) for move, score in weights.items()}
    total = sum(weights.values())
    return {move: weight / total for move, weight in weights.items()}


def write(name, entries):
    text = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    (OUT / f"{name}.json").write_text(f"[\n{text}\n]\n")


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    listed = list(cases())
    write("cases", listed)
    seen = [Seen(case) for case in listed]
    for encode in ENCODINGS:
        write(encode.__name__.replace("_", "-"), [[compact(tensor) for tensor in encode(s)] for s in seen])
    for name, slot in VOCABULARIES.items():
        write(name, [{m.uci(): slot(s.board, m) for m in s.board.legal_moves} for s in seen])
    write("labels", [{"turn": t, "lines": lines, "labels": soft_labels(t, lines)} for t, lines in LINES])


if __name__ == "__main__":
    main()
