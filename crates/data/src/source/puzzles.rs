#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use shakmaty::ByColor;
use tabia_encoding::RatingPool;
use tabia_game::{EpdProblem, Puzzle, PuzzleError, PuzzleProblem};

use super::{Chunk, FaultKind, GameRules, ParsedChunk};
use crate::{GameHead, GameRecord, Ply};

/// Turns the lines of a chunk of EPD into records: the position, then the moves of `pv`, or else the first of `bm`.
///
/// A position without moves is a record without plies. Lines that start with `#` are comments.
pub(super) fn read_epd(chunk: &Chunk, rules: &GameRules, parsed: &mut ParsedChunk) {
    read(chunk, rules, parsed, Puzzle::from_epd);
}

/// Turns the lines of a chunk of the Lichess puzzle table into records. The first move is the opponent's: the record
/// starts after it.
pub(super) fn read_csv(chunk: &Chunk, rules: &GameRules, parsed: &mut ParsedChunk) {
    read(chunk, rules, parsed, Puzzle::from_row);
}

fn read(
    chunk: &Chunk,
    rules: &GameRules,
    parsed: &mut ParsedChunk,
    puzzle: impl Fn(&str) -> Result<Option<Puzzle>, PuzzleError>,
) {
    for line in chunk.pieces() {
        let Ok(text) = str::from_utf8(line.bytes) else {
            parsed.faults.add(FaultKind::NotText, &chunk.whereabouts(line.place), || "not UTF-8".to_owned());
            continue;
        };
        match puzzle(text) {
            Ok(found) => parsed.games.extend(found.map(record)),
            Err(PuzzleError { problem, readable }) => {
                parsed.faults.add(kind(&problem), &chunk.whereabouts(line.place), || problem.to_string());
                let prefix = readable.map(|puzzle| record(*puzzle));
                parsed.games.extend(prefix.filter(|record| rules.broken.keeps(record.plies.len())));
            }
        }
    }
}

fn kind(problem: &PuzzleProblem) -> FaultKind {
    match problem {
        PuzzleProblem::Position { .. } | PuzzleProblem::Epd(EpdProblem::Position(_)) => {
            FaultKind::BadPosition
        }
        PuzzleProblem::Epd(_) => FaultKind::BadEpd,
        PuzzleProblem::NoMoves { .. } => FaultKind::NoMoves,
        PuzzleProblem::BestMove(_) | PuzzleProblem::Lead { .. } | PuzzleProblem::IllegalMove { .. } => {
            FaultKind::IllegalMove
        }
        PuzzleProblem::Chess960 => FaultKind::Variant,
        _ => FaultKind::BadPuzzle,
    }
}

/// The position of a puzzle and the moves to find there.
fn record(puzzle: Puzzle) -> GameRecord {
    let Puzzle { start, moves, rating, .. } = puzzle;
    // A bare position is nobody's puzzle.
    let is_puzzle = !moves.is_empty() || rating.is_some();
    let pool = if is_puzzle { RatingPool::Puzzle } else { RatingPool::Unknown };
    let head = GameHead { ratings: ByColor { white: rating, black: rating }, pool, ..GameHead::default() };
    let plies = moves.into_iter().map(|played| Ply { played, clock: None, evaluation: None });
    GameRecord { head, start, plies: plies.collect() }
}

#[cfg(test)]
mod tests {
    use shakmaty::{Color, Position as _};
    use tabia_encoding::Elo;
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
