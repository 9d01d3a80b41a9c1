"""The native half of the package."""

from os import PathLike
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Literal,
    Mapping,
    Optional,
    Protocol,
    Sequence,
    Tuple,
    Union,
    final,
    overload,
)

import numpy as np
from numpy.typing import NDArray

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
__version__: str

_Floats = NDArray[np.float32]
_Inputs = Union[NDArray[np.float32], NDArray[np.int32]]
_Path = Union[str, "PathLike[str]"]
_Numbers = Union[float, Sequence[Optional[float]], NDArray[Any]]
_Progress = Union[bool, Callable[[int, int, str], None], None]
_Interval = Tuple[Optional[float], Optional[float]]

class _Board(Protocol):
    """A board of python-chess."""

    def root(self) -> Any: ...
    @property
    def move_stack(self) -> Any: ...

_Position = Union[str, _Board]

# Encodings with a single input.
_Single = Literal[
    "challenge-1540",
    "challenge-768",
    "humchess-68",
    "humchess-74",
    "lc0-112",
    "lc0-112-castling",
    "policy-837",
    "policy-planes-17",
    "policy-planes-18",
    "rusty-774",
    "rusty-902",
    "rusty-planes-15",
    "searchless-79",
]
# Encodings with several inputs.
_Several = Literal[
    "maia2-18",
    "maia3-12",
    "maia3-96",
    "pair-769",
    "policy-planes-13",
    "tabia-human-1",
    "tabia-human-2",
]

class Error(Exception): ...

@final
class Model:
    @property
    def name(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def encoding(self) -> str: ...
    @property
    def vocabulary(self) -> Optional[str]: ...
    @property
    def parameters(self) -> int: ...
    @property
    def sha256(self) -> str: ...
    @property
    def runtime(self) -> str: ...
    @property
    def card(self) -> Dict[str, Any]: ...
    # A string is a sequence of strings, but it is matched first.
    @overload
    def evaluate(  # type: ignore[overload-overlap]
        self,
        positions: _Position,
        *,
        elo: Optional[_Numbers] = ...,
        opponent_elo: Optional[_Numbers] = ...,
        clock: Optional[_Numbers] = ...,
        opponent_clock: Optional[_Numbers] = ...,
        time_control: Optional[str] = ...,
        pool: Optional[str] = ...,
        context: Optional[_Position] = ...,
    ) -> Evaluation: ...
    @overload
    def evaluate(
        self,
        positions: Sequence[_Position],
        *,
        elo: Optional[_Numbers] = ...,
        opponent_elo: Optional[_Numbers] = ...,
        clock: Optional[_Numbers] = ...,
        opponent_clock: Optional[_Numbers] = ...,
        time_control: Optional[str] = ...,
        pool: Optional[str] = ...,
        context: Optional[_Position] = ...,
    ) -> Evaluations: ...
    def outputs(
        self,
        positions: Union[_Position, Sequence[_Position]],
        *,
        elo: Optional[_Numbers] = ...,
        opponent_elo: Optional[_Numbers] = ...,
        clock: Optional[_Numbers] = ...,
        opponent_clock: Optional[_Numbers] = ...,
        time_control: Optional[str] = ...,
        pool: Optional[str] = ...,
    ) -> Dict[str, _Floats]: ...

@final
class Evaluation:
    @property
    def policy(self) -> Optional[Dict[str, float]]: ...
    @property
    def wdl(self) -> Optional[Tuple[float, float, float]]: ...
    @property
    def value(self) -> Optional[float]: ...
    @property
    def expected(self) -> Optional[float]: ...
    @property
    def think_time(self) -> Optional[List[float]]: ...
    @property
    def best(self) -> Optional[str]: ...
    @property
    def fen(self) -> str: ...
    def _repr_svg_(self) -> str: ...

@final
class Evaluations:
    @property
    def policy(self) -> Optional[_Floats]: ...
    @property
    def wdl(self) -> Optional[_Floats]: ...
    @property
    def value(self) -> Optional[_Floats]: ...
    @property
    def best(self) -> List[Optional[str]]: ...
    def probability(self, moves: Sequence[str]) -> _Floats: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Evaluation: ...

@final
class Vocabulary:
    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def promotion_size(self) -> int: ...
    @property
    def table(self) -> NDArray[np.int8]: ...
    @property
    def uci(self) -> List[Optional[str]]: ...
    def index(self, position: _Position, played: str) -> int: ...
    def find(self, position: _Position, index: int, promotion: Optional[int] = ...) -> Optional[str]: ...
    def legal(self, positions: Union[_Position, Sequence[_Position]]) -> NDArray[np.bool_]: ...
    def __len__(self) -> int: ...

@final
class Set:
    def __new__(cls, path: Union[_Path, Sequence[_Path]]) -> Set: ...
    @property
    def paths(self) -> List[Any]: ...
    @property
    def records(self) -> int: ...
    @property
    def positions(self) -> int: ...
    @property
    def kind(self) -> str: ...
    def batches(
        self,
        encoding: str,
        *,
        batch: int = ...,
        vocabulary: Optional[str] = ...,
        legal: bool = ...,
        shuffle: int = ...,
        held_out: Optional[bool] = ...,
        held_out_share: float = ...,
        held_out_by: Literal["record", "player"] = ...,
        repeat: bool = ...,
        threads: Optional[int] = ...,
        open_games: int = ...,
        min_ply: int = ...,
        max_ply: Optional[int] = ...,
        ratings: Optional[Tuple[int, int]] = ...,
        pools: Optional[Sequence[str]] = ...,
        require: Sequence[Literal["result", "evaluation", "clock"]] = ...,
        position: Optional[str] = ...,
    ) -> Batches: ...
    def torch(self, encoding: str, **options: Any) -> Any: ...

@final
class Batches:
    @property
    def position(self) -> str: ...
    def __iter__(self) -> Iterator[Batch]: ...
    def __next__(self) -> Batch: ...

@final
class Batch:
    POOLS: List[str]
    @property
    def encoding(self) -> str: ...
    @property
    def inputs(self) -> Any: ...
    @property
    def moves(self) -> Optional[NDArray[np.int64]]: ...
    @property
    def promotions(self) -> Optional[NDArray[np.int64]]: ...
    @property
    def legal(self) -> Optional[NDArray[np.bool_]]: ...
    @property
    def result(self) -> _Floats: ...
    @property
    def evaluation(self) -> _Floats: ...
    @property
    def rating(self) -> _Floats: ...
    @property
    def opponent_rating(self) -> _Floats: ...
    @property
    def clock(self) -> _Floats: ...
    @property
    def opponent_clock(self) -> _Floats: ...
    @property
    def base(self) -> _Floats: ...
    @property
    def increment(self) -> _Floats: ...
    @property
    def thought(self) -> _Floats: ...
    @property
    def ply(self) -> NDArray[np.int32]: ...
    @property
    def pool(self) -> NDArray[np.uint8]: ...
    @property
    def record(self) -> NDArray[np.int64]: ...
    def columns(self) -> Dict[str, NDArray[Any]]: ...
    def __len__(self) -> int: ...

@final
class Games:
    @property
    def columns(self) -> List[str]: ...
    @property
    def faults(self) -> str: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = ...) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class GameStream:
    def __iter__(self) -> Iterator[Games]: ...
    def __next__(self) -> Games: ...

@final
class Board:
    @property
    def svg(self) -> str: ...
    @property
    def fen(self) -> str: ...
    def _repr_svg_(self) -> str: ...

@final
class Game:
    @property
    def white(self) -> str: ...
    @property
    def black(self) -> str: ...
    @property
    def result(self) -> Literal["1-0", "0-1", "1/2-1/2"]: ...
    @property
    def reason(self) -> str: ...
    @property
    def opening(self) -> str: ...
    @property
    def start(self) -> str: ...
    @property
    def moves(self) -> List[str]: ...
    @property
    def fen(self) -> str: ...
    @property
    def pgn(self) -> str: ...
    def __len__(self) -> int: ...
    def _repr_svg_(self) -> Optional[str]: ...

@final
class Match:
    @property
    def players(self) -> List[str]: ...
    @property
    def wins(self) -> int: ...
    @property
    def draws(self) -> int: ...
    @property
    def losses(self) -> int: ...
    @property
    def points(self) -> float: ...
    @property
    def score(self) -> Optional[float]: ...
    @property
    def elo(self) -> Optional[float]: ...
    @property
    def interval(self) -> _Interval: ...
    @property
    def superiority(self) -> Optional[float]: ...
    @property
    def games(self) -> List[Game]: ...
    @property
    def pgn(self) -> str: ...
    def __len__(self) -> int: ...
    def _repr_svg_(self) -> str: ...

@final
class LevelScore:
    @property
    def level(self) -> int: ...
    @property
    def opponent(self) -> str: ...
    @property
    def wins(self) -> int: ...
    @property
    def draws(self) -> int: ...
    @property
    def losses(self) -> int: ...
    @property
    def points(self) -> float: ...
    @property
    def passed(self) -> bool: ...
    @property
    def games(self) -> List[Game]: ...

@final
class Scorecard:
    @property
    def challenger(self) -> str: ...
    @property
    def parameters(self) -> int: ...
    @property
    def climbed(self) -> int: ...
    @property
    def levels(self) -> List[LevelScore]: ...
    def _repr_svg_(self) -> str: ...

@final
class Rating:
    @property
    def player(self) -> str: ...
    @property
    def rating(self) -> Optional[float]: ...
    @property
    def low(self) -> Optional[float]: ...
    @property
    def high(self) -> Optional[float]: ...
    @property
    def interval(self) -> _Interval: ...
    @property
    def games(self) -> int: ...
    @property
    def points(self) -> float: ...
    @property
    def against(self) -> List[Tuple[str, float, int, float]]: ...
    def _repr_svg_(self) -> Optional[str]: ...

def open(path: _Path) -> Model: ...
@overload
def encode(
    positions: Union[_Position, Sequence[_Position]],
    encoding: _Single,
    *,
    elo: Optional[_Numbers] = ...,
    opponent_elo: Optional[_Numbers] = ...,
    clock: Optional[_Numbers] = ...,
    opponent_clock: Optional[_Numbers] = ...,
    time_control: Optional[str] = ...,
    pool: Optional[str] = ...,
) -> _Inputs: ...
@overload
def encode(
    positions: Union[_Position, Sequence[_Position]],
    encoding: _Several,
    *,
    elo: Optional[_Numbers] = ...,
    opponent_elo: Optional[_Numbers] = ...,
    clock: Optional[_Numbers] = ...,
    opponent_clock: Optional[_Numbers] = ...,
    time_control: Optional[str] = ...,
    pool: Optional[str] = ...,
) -> Dict[str, _Inputs]: ...
@overload
def encode(
    positions: Union[_Position, Sequence[_Position]],
    encoding: str,
    *,
    elo: Optional[_Numbers] = ...,
    opponent_elo: Optional[_Numbers] = ...,
    clock: Optional[_Numbers] = ...,
    opponent_clock: Optional[_Numbers] = ...,
    time_control: Optional[str] = ...,
    pool: Optional[str] = ...,
) -> Any: ...
def encodings() -> List[str]: ...
def moves(name: str) -> Vocabulary: ...
def vocabularies() -> List[str]: ...
def board(position: _Position, *, flipped: bool = ..., arrows: Optional[Mapping[str, float]] = ...) -> Board: ...
def build_set(
    sources: Union[_Path, Sequence[_Path]],
    out: _Path,
    *,
    pool: str = ...,
    broken: Literal["skip", "keep"] = ...,
    threads: Optional[int] = ...,
    progress: _Progress = ...,
) -> Set: ...
def read_pgn(
    path: _Path,
    *,
    columns: Optional[Sequence[str]] = ...,
    pool: str = ...,
    broken: Literal["skip", "keep"] = ...,
    limit: Optional[int] = ...,
    threads: Optional[int] = ...,
    progress: _Progress = ...,
) -> Games: ...
def scan_pgn(
    path: _Path,
    *,
    columns: Optional[Sequence[str]] = ...,
    pool: str = ...,
    broken: Literal["skip", "keep"] = ...,
    threads: Optional[int] = ...,
) -> GameStream: ...
def play(
    first: _Path,
    second: _Path,
    *,
    games: int = ...,
    movetime: Optional[int] = ...,
    nodes: Optional[int] = ...,
    depth: Optional[int] = ...,
    time_control: Optional[str] = ...,
    openings: Optional[_Path] = ...,
    seed: int = ...,
    jobs: Optional[int] = ...,
    pgn: Optional[_Path] = ...,
    progress: _Progress = ...,
) -> Match: ...
def compete(
    path: _Path,
    *,
    rules: Literal["original", "2026"] = ...,
    level: Optional[int] = ...,
    openings: Optional[_Path] = ...,
    seed: int = ...,
    jobs: Optional[int] = ...,
    progress: _Progress = ...,
) -> Scorecard: ...
def rate(
    player: _Path,
    *,
    games: int = ...,
    highest: int = ...,
    stockfish: Optional[str] = ...,
    opponents: Optional[Mapping[str, float]] = ...,
    movetime: Optional[int] = ...,
    nodes: Optional[int] = ...,
    depth: Optional[int] = ...,
    time_control: Optional[str] = ...,
    openings: Optional[_Path] = ...,
    seed: int = ...,
    jobs: Optional[int] = ...,
    pgn: Optional[_Path] = ...,
    progress: _Progress = ...,
) -> Rating: ...
def elo(path: _Path) -> List[Rating]: ...
