#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use shakmaty::{ByColor, CastlingMode, Chess, Move, Position, san::SanPlus};
use tabia_encoding::{Elo, RatingPool, parse_uci};
use tabia_game::{EpdRecord, Operand, position_from_fen};

use super::{Chunk, FaultKind, GameRules, ParsedChunk, evaluations::shortened};
use crate::{GameHead, GameRecord, Ply};

/// A fault in a line, and the part that could be read.
struct Broken {
    kind: FaultKind,
    what: String,
    /// The record up to the fault.
    prefix: Option<Box<GameRecord>>,
}

impl Broken {
    fn new(kind: FaultKind, what: impl Into<String>) -> Broken {
        Broken { kind, what: what.into(), prefix: None }
    }
}

/// Turns the lines of a chunk of EPD into records: the position, then the moves of `pv`, or else the first of `bm`.
///
/// A position without moves is a record without plies. Lines that start with `#` are comments.
pub(super) fn read_epd(chunk: &Chunk, rules: &GameRules, parsed: &mut ParsedChunk) {
    read(chunk, rules, parsed, |text| {
        if text.starts_with('#') {
            return Ok(None);
        }
        let parsed = EpdRecord::parse(text, 1);
        let bad = |error: tabia_game::EpdError| match error.problem {
            tabia_game::EpdProblem::Position(problem) => {
                Broken::new(FaultKind::BadPosition, problem.to_string())
            }
            problem => Broken::new(FaultKind::BadEpd, problem.to_string()),
        };
        let Some(epd) = parsed.map_err(bad)? else { return Ok(None) };
        let rating = epd.text("c0").and_then(rating_in);
        let pv = epd.operands("pv").unwrap_or_default();
        if pv.is_empty() {
            let best = epd.moves("bm").map_err(|bad| Broken::new(FaultKind::IllegalMove, bad.to_string()))?;
            return puzzle(epd.position, best.into_iter().take(1).map(Ok), rating).map(Some);
        }
        let mut at = epd.position.clone();
        let words = pv.iter().map(Operand::as_str).filter(|word| !is_move_number(word));
        let moves = words.map(|word| {
            let played = san_or_uci(&at, word).ok_or_else(|| word.to_owned())?;
            at.play_unchecked(played);
            Ok(played)
        });
        puzzle(epd.position.clone(), moves, rating).map(Some)
    });
}

/// Turns the lines of a chunk of the Lichess puzzle table into records. The first move is the opponent's: the record
/// starts after it.
pub(super) fn read_csv(chunk: &Chunk, rules: &GameRules, parsed: &mut ParsedChunk) {
    read(chunk, rules, parsed, |text| {
        let mut columns = text.split(',').map(|column| column.trim_matches(['"', ' ']));
        let (id, fen, moves, rating) = (columns.next(), columns.next(), columns.next(), columns.next());
        let (Some(id), Some(fen), Some(moves)) = (id, fen, moves) else {
            return Err(Broken::new(
                FaultKind::BadPuzzle,
                format!("has too few columns: `{}`", shortened(text)),
            ));
        };
        if id == "PuzzleId" {
            return Ok(None);
        }
        let mut start = position_from_fen(fen)
            .map_err(|error| Broken::new(FaultKind::BadPosition, format!("puzzle {id}: {error}")))?;
        let mut moves = moves.split_ascii_whitespace();
        let Some(lead) = moves.next() else {
            return Err(Broken::new(FaultKind::NoMoves, format!("puzzle {id} has no moves")));
        };
        let lead = parse_uci(&start, lead)
            .map_err(|error| Broken::new(FaultKind::IllegalMove, format!("puzzle {id}: {error}")))?;
        start.play_unchecked(lead);
        let mut at = start.clone();
        let moves = moves.map(move |word| {
            let played = parse_uci(&at, word).map_err(|_| word.to_owned())?;
            at.play_unchecked(played);
            Ok(played)
        });
        let record = puzzle(start, moves, rating.and_then(positive))?;
        if record.plies.is_empty() {
            return Err(Broken::new(FaultKind::NoMoves, format!("puzzle {id} has no solution")));
        }
        Ok(Some(record))
    });
}

fn read(
    chunk: &Chunk,
    rules: &GameRules,
    parsed: &mut ParsedChunk,
    record: impl Fn(&str) -> Result<Option<GameRecord>, Broken>,
) {
    for line in chunk.pieces() {
        let found = match str::from_utf8(line.bytes) {
            Ok(text) => record(text),
            Err(_) => Err(Broken::new(FaultKind::NotText, "not UTF-8")),
        };
        match found {
            Ok(found) => parsed.games.extend(found),
            Err(Broken { kind, what, prefix }) => {
                parsed.faults.add(kind, &chunk.whereabouts(line.place), || what);
                let prefix = prefix.map(|record| *record);
                parsed.games.extend(prefix.filter(|record| rules.broken.keeps(record.plies.len())));
            }
        }
    }
}

/// A record of a position and the moves to find there; `moves` end at the first that is not legal, given as its text.
fn puzzle(
    start: Chess,
    moves: impl Iterator<Item = Result<Move, String>>,
    rating: Option<Elo>,
) -> Result<GameRecord, Broken> {
    if start.castles().mode() == CastlingMode::Chess960 {
        return Err(Broken::new(FaultKind::Variant, "starts as only Chess960 does"));
    }
    let mut plies = Vec::new();
    let mut illegal = None;
    for played in moves {
        match played {
            Ok(played) => plies.push(Ply { played, clock: None, evaluation: None }),
            Err(word) => {
                illegal = Some(word);
                break;
            }
        }
    }
    // A bare position is nobody's puzzle.
    let is_puzzle = !plies.is_empty() || rating.is_some();
    let pool = if is_puzzle { RatingPool::Puzzle } else { RatingPool::Unknown };
    let head = GameHead { ratings: ByColor { white: rating, black: rating }, pool, ..GameHead::default() };
    let ply = plies.len() + 1;
    let record = GameRecord { head, start, plies };
    match illegal {
        None => Ok(record),
        Some(word) => Err(Broken {
            kind: FaultKind::IllegalMove,
            what: format!("at ply {ply}: `{}` is not a legal move", shortened(&word)),
            prefix: Some(Box::new(record)),
        }),
    }
}

fn san_or_uci(position: &Chess, word: &str) -> Option<Move> {
    match word.parse::<SanPlus>().ok().and_then(|san| san.san.to_move(position).ok()) {
        Some(played) => Some(played),
        None => parse_uci(position, word).ok(),
    }
}

/// `12.` or `12...`, as some programs put into variations.
fn is_move_number(word: &str) -> bool {
    let digits = word.trim_end_matches('.');
    word.len() > digits.len() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The number after `Rating:` in a comment.
fn rating_in(comment: &str) -> Option<Elo> {
    let (_, rest) = comment.split_once("Rating:")?;
    let rest = rest.trim_start();
    positive(rest.split(|c: char| !c.is_ascii_digit()).next()?)
}

fn positive(text: &str) -> Option<Elo> {
    text.parse().ok().filter(|rating| *rating > 0).map(Elo)
}

#[cfg(test)]
mod tests {
    use shakmaty::Color;
    use tabia_game::fen_of;

    use super::*;
    use crate::source::{BrokenGames, Chunks, SourceKind};

    const MATE: &str = "4rk1r/pp4p1/3q1p1p/2n5/8/P1P5/2P1Q1PP/1R2R1K1 w - -";
    const CSV: &str = "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags\r\n\
        00008,r6k/pp2r2p/4Rp1Q/3p4/8/1N1P2R1/PqP2bPP/7K b - - 0 24,f2g3 e6e7 b2b1 b3c1 b1c1 h6c1,1760,76,95,6915,crushing,https://lichess.org/787zsVup/black#48,\r\n";

    fn read(kind: SourceKind, text: &str, rules: &GameRules) -> ParsedChunk {
        let text = std::io::Cursor::new(text.as_bytes().to_vec());
        Chunks::new("p", kind, text).next().map(|chunk| chunk.read(rules)).unwrap_or_default()
    }

    fn epd(text: &str) -> ParsedChunk {
        read(SourceKind::Epd, text, &GameRules::default())
    }

    #[test]
    fn a_lichess_puzzle_has_moves_and_a_rating() {
        let text = format!(
            "{MATE} id \"0bUMB\" bm Qxe8# pv Qxe8# c0 \"Rating: 399, Popularity: 76, Plays: 131\" c1 \"Themes: mate\";\r\n"
        );
        let ParsedChunk { games, faults, .. } = epd(&text);
        assert!(faults.is_empty(), "{faults}");
        assert_eq!(games.len(), 1);
        assert_eq!(games[0].head.ratings, ByColor { white: Some(Elo(399)), black: Some(Elo(399)) });
        assert_eq!((games[0].head.pool, games[0].plies.len()), (RatingPool::Puzzle, 1));
    }

    #[test]
    fn moves_may_be_san_or_uci_and_the_best_move_is_enough() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        for (operations, plies) in [
            ("pv e4 e5 Nf3;", 3),
            ("pv 1. e2e4 1... e7e5;", 2),
            ("bm Nf3 e4; id \"a\";", 1),
            ("am e4;", 0),
            ("", 0),
        ] {
            let ParsedChunk { games, faults, .. } = epd(&format!("{start} {operations}"));
            assert!(faults.is_empty(), "{faults}");
            assert_eq!(games[0].plies.len(), plies, "{operations}");
            let pool = if plies > 0 { RatingPool::Puzzle } else { RatingPool::Unknown };
            assert_eq!(games[0].head.pool, pool);
        }
    }

    #[test]
    fn bare_positions_are_starts() {
        let ParsedChunk { games, faults, .. } =
            epd("# a comment\n8/8/4k3/8/8/3QK3/8/8 b - -\n8/8/4k3/8/8/3QK3/8/8 b - - 3 77\n");
        assert!(faults.is_empty(), "{faults}");
        let fens: Vec<String> = games.iter().map(|game| fen_of(&game.start)).collect();
        assert_eq!(fens, ["8/8/4k3/8/8/3QK3/8/8 b - - 0 1", "8/8/4k3/8/8/3QK3/8/8 b - - 3 77"]);
        assert!(games.iter().all(|game| game.plies.is_empty() && game.head == GameHead::default()));
    }

    #[test]
    fn a_lichess_table_starts_after_the_opponents_move() {
        let ParsedChunk { games, faults, .. } = read(SourceKind::PuzzleCsv, CSV, &GameRules::default());
        assert!(faults.is_empty(), "{faults}");
        assert_eq!(games.len(), 1);
        assert_eq!(fen_of(&games[0].start), "r6k/pp2r2p/4Rp1Q/3p4/8/1N1P2b1/PqP3PP/7K w - - 0 25");
        assert_eq!((games[0].start.turn(), games[0].plies.len()), (Color::White, 5));
        assert_eq!(games[0].head.ratings.black, Some(Elo(1760)));
    }

    #[test]
    fn faults_are_counted_and_prefixes_can_be_kept() {
        let text = format!("{MATE} pv Qxe8 Ke3;\nhello\n9/8 w - -\n{MATE} bm Ra9;\n{MATE} bm \"x\n");
        let skipped = epd(&text);
        let kept = read(
            SourceKind::Epd,
            &text,
            &GameRules { broken: BrokenGames::KeepPrefix { plies: 1 }, ..GameRules::default() },
        );
        assert_eq!((skipped.games.len(), kept.games.len()), (0, 1));
        assert_eq!(skipped.faults, kept.faults);
        let counts: Vec<_> = skipped.faults.iter().map(|(kind, count)| (kind, count.count)).collect();
        assert_eq!(
            counts,
            [(FaultKind::BadPosition, 1), (FaultKind::IllegalMove, 2), (FaultKind::BadEpd, 2)]
        );

        let rows = "1,2\n2,r6k/8/8/8/8/8/8/7K b - -,a8a1,x\n3,r6k/8/8/8/8/8/8/7K b - - 0 1,,900\n4,r6k/8/8/8/8/8/8/7K b - - 0 1,a8b7,900\n5,nonsense,a8b7,900\n";
        let ParsedChunk { games, faults, .. } = read(SourceKind::PuzzleCsv, rows, &GameRules::default());
        assert_eq!((games.len(), faults.total()), (0, 5));
        assert_eq!((faults.count(FaultKind::BadPuzzle), faults.count(FaultKind::NoMoves)), (1, 2));
    }
}
