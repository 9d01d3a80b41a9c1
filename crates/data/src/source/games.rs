#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fmt, str::FromStr, time::Duration};

use shakmaty::{ByColor, CastlingMode, Color, KnownOutcome, Outcome, Position};
use tabia_encoding::{RatingPool, UnknownRatingPool};
use tabia_game::{BrokenGame, Game, Headers, Problem, ReadOptions, Variations};
use twox_hash::XxHash3_64;

use super::{Chunk, FaultKind, Faults, ParsedChunk};
use crate::{GameHead, GameRecord, PlayerHash, Ply};

/// How games are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GameRules {
    /// The rating pool.
    pub pool: PoolRule,
    /// Handling of invalid games.
    pub broken: BrokenGames,
    /// Handling of games with a player titled `BOT`.
    pub bots: Bots,
}

/// The rating pool of a collection of games. Puzzles always have their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PoolRule {
    /// Detected from each game's tags and clocks, see [`Game::rating_pool`].
    #[default]
    Auto,
    /// The same for all games.
    Is(RatingPool),
}

impl fmt::Display for PoolRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolRule::Auto => f.write_str("auto"),
            PoolRule::Is(pool) => pool.fmt(f),
        }
    }
}

impl FromStr for PoolRule {
    type Err = UnknownRatingPool;

    fn from_str(text: &str) -> Result<Self, UnknownRatingPool> {
        if text == "auto" { Ok(PoolRule::Auto) } else { text.parse().map(PoolRule::Is) }
    }
}

/// Handling of games that cannot be read to the end. They count as faults either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BrokenGames {
    /// Skip the game.
    #[default]
    Skip,
    /// Keep the moves before the fault, if there are enough.
    KeepPrefix {
        /// Minimum number of plies.
        plies: usize,
    },
}

impl BrokenGames {
    /// Whether a prefix of so many plies is kept.
    pub(super) fn keeps(self, plies: usize) -> bool {
        match self {
            BrokenGames::Skip => false,
            BrokenGames::KeepPrefix { plies: least } => plies >= least.max(1),
        }
    }
}

/// Handling of games with a player titled `BOT`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bots {
    /// Keep them.
    #[default]
    Keep,
    /// Skip them.
    Skip,
}

/// A game's tags and its record.
#[derive(Clone, Debug)]
pub struct TaggedGame {
    /// Number of the game in its file, from 1.
    pub number: u64,
    /// All its tags.
    pub headers: Headers,
    /// The record.
    pub record: GameRecord,
}

/// Turns the games of a chunk of PGN into records.
pub(super) fn read(chunk: &Chunk, rules: &GameRules, parsed: &mut ParsedChunk) {
    parsed.games.reserve(chunk.len());
    let ParsedChunk { games, faults, .. } = parsed;
    read_tagged(chunk, rules, faults, |game| games.push(game.record));
}

/// Turns the games of a chunk of PGN into records that still have their tags.
pub(super) fn read_tagged(
    chunk: &Chunk,
    rules: &GameRules,
    faults: &mut Faults,
    mut each: impl FnMut(TaggedGame),
) {
    let options = ReadOptions { variations: Variations::Skip, ..ReadOptions::default() };
    for raw in chunk.pieces() {
        let (game, fault) = match raw.read(options) {
            Ok(game) => (Some(game), None),
            Err(mut broken) => {
                let readable = broken.readable.take().map(|game| *game);
                (readable, Some((kind_of(&broken.problem), describe(&broken))))
            }
        };
        let is_broken = fault.is_some();
        if let Some((kind, what)) = fault {
            faults.add(kind, &chunk.whereabouts(raw.place), || what);
        }
        let Some(game) = game else { continue };
        if is_broken && !rules.broken.keeps(game.mainline().count()) {
            continue;
        }
        match record_of(&game, rules) {
            Ok(record) => each(TaggedGame { number: raw.place.game, headers: game.headers, record }),
            Err((kind, what)) => faults.add(kind, &chunk.whereabouts(raw.place), || what),
        }
    }
}

/// The fault and its place in the game.
fn describe(broken: &BrokenGame) -> String {
    let BrokenGame { problem, ply, token, .. } = broken;
    let place = if *ply > 0 { format!("at ply {ply}: ") } else { String::new() };
    let token = if token.is_empty() { String::new() } else { format!("`{token}` ") };
    format!("{place}{token}{problem}")
}

fn kind_of(problem: &Problem) -> FaultKind {
    match problem {
        Problem::IllegalMove | Problem::IllegalVariation => FaultKind::IllegalMove,
        Problem::AmbiguousMove => FaultKind::AmbiguousMove,
        Problem::UnreadableMove => FaultKind::UnreadableMove,
        Problem::AfterResult => FaultKind::AfterResult,
        Problem::UnclosedComment
        | Problem::StrayBrace
        | Problem::UnclosedVariation
        | Problem::UnclosedTag => FaultKind::Unbalanced,
        Problem::BadFen(_) => FaultKind::BadPosition,
        Problem::UnsupportedVariant => FaultKind::Variant,
        Problem::NoResult | Problem::NoGame => FaultKind::NoGame,
        Problem::TooLong { .. } => FaultKind::TooLong,
        Problem::Io(_) => FaultKind::StreamFailed,
    }
}

fn record_of(game: &Game, rules: &GameRules) -> Result<GameRecord, (FaultKind, &'static str)> {
    if game.start().castles().mode() == CastlingMode::Chess960 {
        return Err((FaultKind::Variant, "starts as only Chess960 does"));
    }
    let is_bot = |tag| game.headers.get(tag).is_some_and(|title| title.eq_ignore_ascii_case("bot"));
    if rules.bots == Bots::Skip && (is_bot("WhiteTitle") || is_bot("BlackTitle")) {
        return Err((FaultKind::BotGame, "a player is titled BOT"));
    }
    let mut plies = Vec::with_capacity(game.mainline().count());
    for node in game.mainline() {
        let notes = game.notes(node);
        // The root has no move and is not among the main line's nodes.
        if let Some(played) = game.move_to(node) {
            let evaluation = notes.evaluation.map(|evaluation| evaluation.score);
            plies.push(Ply { played, clock: notes.clock.map(to_tenths), evaluation });
        }
    }
    if plies.is_empty() {
        return Err((FaultKind::NoMoves, "has no moves"));
    }
    Ok(GameRecord { head: head_of(game, rules.pool), start: game.start().clone(), plies })
}

fn head_of(game: &Game, pool: PoolRule) -> GameHead {
    let headers = &game.headers;
    GameHead {
        ratings: ByColor::new_with(|color| headers.rating(color)),
        pool: match pool {
            PoolRule::Auto => game.rating_pool(),
            PoolRule::Is(pool) => pool,
        },
        pace: headers.time_control().pace(),
        result: match game.result {
            Outcome::Known(KnownOutcome::Decisive { winner }) => Some(Some(winner)),
            Outcome::Known(KnownOutcome::Draw) => Some(None),
            Outcome::Unknown => None,
        },
        players: ByColor::new_with(|color| player(headers, color)),
    }
}

/// Clocks are kept to a tenth of a second, the finest any site shows.
fn to_tenths(clock: Duration) -> Duration {
    Duration::new(clock.as_secs(), clock.subsec_nanos() / 100_000_000 * 100_000_000)
}

/// A case-insensitive hash of the player's name; `None` for `?`, `-` and `NN`.
fn player(headers: &Headers, color: Color) -> Option<PlayerHash> {
    let name = headers.get(color.fold_wb("White", "Black"))?.trim().to_lowercase();
    let is_name =
        name.contains(char::is_alphanumeric) && !matches!(name.as_str(), "nn" | "n.n." | "n.n" | "n, n");
    #[expect(clippy::cast_possible_truncation, reason = "the low half of a hash is a hash")]
    is_name.then(|| PlayerHash(XxHash3_64::oneshot(name.as_bytes()) as u32))
}

#[cfg(test)]
mod tests {
    use shakmaty::Role;
    use tabia_encoding::{Elo, ForWhite, Pace, Score};

    use super::*;
    use crate::{
        Faults, Part,
        source::{Chunks, SourceKind},
    };

    fn read(text: &str, rules: &GameRules) -> ParsedChunk {
        let mut all = ParsedChunk::default();
        let text = std::io::Cursor::new(text.as_bytes().to_vec());
        for chunk in Chunks::new("test.pgn", SourceKind::Pgn, text) {
            let part = chunk.read(rules);
            all.games.extend(part.games);
            all.faults.merge(part.faults);
        }
        all
    }

    fn counts(faults: &Faults) -> Vec<(FaultKind, u64)> {
        faults.iter().map(|(kind, count)| (kind, count.count)).collect()
    }

    #[test]
    fn a_lichess_game_becomes_a_record() {
        let text = "\u{feff}[Event \"Rated Blitz game\"]\r\n[Site \"https://lichess.org/abcd1234\"]\r\n\
            [White \"Alice\"]\r\n[Black \"?\"]\r\n[Result \"0-1\"]\r\n[WhiteElo \"1675\"]\r\n[BlackElo \"?\"]\r\n\
            [TimeControl \"180+2\"]\r\n\r\n\
            1. f3 { [%eval -0.5] [%clk 0:03:00.97] } 1... e5 { [%clk 0:03:00] } 2. g4 { [%eval #-1] } Qh4# 0-1\r\n\r\n";
        let ParsedChunk { games, faults, .. } = read(text, &GameRules::default());
        assert!(faults.is_empty(), "{faults}");
        let [game] = &games[..] else { panic!("one game") };
        let head = game.head;
        assert_eq!((head.ratings.white, head.ratings.black), (Some(Elo(1675)), None));
        assert_eq!(head.pool, RatingPool::Lichess);
        assert_eq!(
            head.pace,
            Some(Pace { base: Duration::from_secs(180), increment: Duration::from_secs(2) })
        );
        assert_eq!(head.result, Some(Some(Color::Black)));
        assert!(head.players.white.is_some() && head.players.black.is_none());
        assert_eq!(game.plies.len(), 4);
        assert_eq!(game.plies[0].clock, Some(Duration::from_millis(180_900)));
        assert_eq!(game.plies[0].evaluation, Some(ForWhite(Score::Centipawns(-50))));
        assert!(matches!(game.plies[2].evaluation, Some(ForWhite(Score::Mate(mate))) if mate.get() == -1));
        assert_eq!((game.plies[3].played.role(), game.plies[3].clock), (Role::Queen, None));
    }

    #[test]
    fn player_hashes_ignore_case() {
        let hash = |name: &str| {
            let text = format!("[White \"{name}\"]\n\n1. e4 *\n");
            read(&text, &GameRules::default()).games[0].head.players.white
        };
        assert_eq!(hash("DrNykterstein"), hash("drnykterstein"));
        assert_eq!(hash("GROẞMEISTER"), hash("groẞmeister"));
        assert_ne!(hash("a"), hash("b"));
        assert_eq!([hash("?"), hash(""), hash("-"), hash("NN")], [None; 4]);
        assert_eq!(hash("Alice"), Some(PlayerHash(0x1A01_16B0)), "the hash is part of what sets hold");
    }

    #[test]
    fn the_pool_can_be_set() {
        let text = "[Event \"Rated Blitz game\"]\n\n1. e4 *\n";
        let pool = |pool| read(text, &GameRules { pool, ..GameRules::default() }).games[0].head.pool;
        assert_eq!(pool(PoolRule::Auto), RatingPool::Lichess);
        assert_eq!(pool(PoolRule::Is(RatingPool::OverTheBoard)), RatingPool::OverTheBoard);
    }

    #[test]
    fn variants_and_empty_games_are_counted() {
        let text = "[Event \"a\"]\n[Variant \"Antichess\"]\n\n1. e3 *\n\n\
            [Event \"b\"]\n[Variant \"Chess960\"]\n[FEN \"bnrkrnqb/pppppppp/8/8/8/8/PPPPPPPP/BNRKRNQB w KQkq - 0 1\"]\n\n1. e4 *\n\n\
            [Event \"c\"]\n[Result \"1-0\"]\n\n1-0\n\n\
            [Event \"d\"]\n[FEN \"8/8/8/8 w - - 0 1\"]\n\n1. e4 *\n\n\
            [Event \"e\"]\n[WhiteTitle \"BOT\"]\n\n1. e4 *\n\n\
            [Event \"f\"]\n\n1. e4 e5 2. Ke3 *\n";
        let ParsedChunk { games, faults, .. } = read(text, &GameRules::default());
        assert_eq!(games.len(), 1);
        assert_eq!(
            counts(&faults),
            [
                (FaultKind::NoMoves, 1),
                (FaultKind::Variant, 2),
                (FaultKind::BadPosition, 1),
                (FaultKind::IllegalMove, 1)
            ]
        );
        let human = read(text, &GameRules { bots: Bots::Skip, ..GameRules::default() });
        assert_eq!((human.games.len(), human.faults.count(FaultKind::BotGame)), (0, 1));
        assert!(
            faults.iter().any(|(_, fault)| fault.examples.iter().any(|example| example.at.offset == 274
                && example.at.part == Part::Game { number: 6, line: 27 }
                && example.what.contains("`Ke3`"))),
            "{faults}"
        );
    }

    #[test]
    fn the_legal_prefix_of_a_game_can_be_kept() {
        let text = "1. e4 e5 2. Nf3 Nc6 3. Kf8 a6 1-0\n\n1. e4 Kf2 1-0\n";
        let kept = |broken| {
            let parsed = read(text, &GameRules { broken, ..GameRules::default() });
            assert_eq!(parsed.faults.count(FaultKind::IllegalMove), 2);
            parsed.games.iter().map(|game| game.plies.len()).collect::<Vec<_>>()
        };
        assert_eq!(kept(BrokenGames::Skip), [0; 0]);
        assert_eq!(kept(BrokenGames::KeepPrefix { plies: 2 }), [4]);
        assert_eq!(kept(BrokenGames::KeepPrefix { plies: 0 }), [4, 1]);
    }

    #[test]
    fn unbalanced_braces_skip_one_game() {
        let text = "[Event \"a\"]\n\n1. e4 {never ends 1-0\n\n[Event \"b\"]\n\n1. d4 d5 1-0\n\n\
            [Event \"c\"]\n\n1. d4 } d5 1-0\n\n[Event \"d\"]\n\n1. c4 1-0\n";
        let ParsedChunk { games, faults, .. } = read(text, &GameRules::default());
        assert_eq!((games.len(), faults.count(FaultKind::Unbalanced)), (2, 2));
    }
}
