//! Random legal games and analysed positions for tests: the same for the same seed.

use std::num::NonZeroI32;
use std::time::Duration;

use shakmaty::fen::Fen;
use shakmaty::{ByColor, CastlingMode, Chess, Color, Position};
use tabia_data::{EvaluationRecord, GameHead, GameRecord, Line, PlayerHash, Ply, Session};
use tabia_encoding::{Elo, ForWhite, Pace, RatingPool, Score};

/// Starts with castling, promotions and en passant close at hand, and one with odd counters.
const STARTS: [&str; 6] = [
    "r3k2r/pppq1ppp/2npbn2/4p3/4P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 4 9",
    "r3k2r/1P4P1/8/3pP3/3Pp3/8/1p4p1/R3K2R b KQkq d3 0 30",
    "8/PPP2kPP/8/8/8/8/ppp1K1pp/8 w - - 17 60",
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 3 12",
    "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1",
    "8/8/8/K2pP2r/8/8/8/4k3 w - d6 0 2",
];

pub(crate) fn position(fen: &str) -> Chess {
    fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap()
}

pub(crate) fn score(rng: &mut fastrand::Rng) -> ForWhite<Score> {
    let mate = NonZeroI32::new(rng.i32(1..30) * if rng.bool() { 1 } else { -1 }).unwrap();
    ForWhite(if rng.u8(0..12) == 0 { Score::Mate(mate) } else { Score::Centipawns(rng.i32(-900..900)) })
}

pub(crate) fn game(seed: u64) -> GameRecord {
    let mut rng = fastrand::Rng::with_seed(seed);
    let rng = &mut rng;
    let maybe = |rng: &mut fastrand::Rng| rng.u8(0..3) > 0;
    let rating = |rng: &mut fastrand::Rng| maybe(rng).then(|| Elo(rng.u16(600..2900)));
    let player = |rng: &mut fastrand::Rng| maybe(rng).then(|| PlayerHash(rng.u32(0..40)));
    let pools = RatingPool::ALL;
    let results = [None, Some(None), Some(Some(Color::White)), Some(Some(Color::Black))];
    let pace = Pace {
        base: Duration::from_secs(rng.u64(0..7200)),
        increment: Duration::from_millis(rng.u64(0..300) * 100),
    };
    let head = GameHead {
        ratings: ByColor { white: rating(rng), black: rating(rng) },
        pool: pools[rng.usize(0..3)],
        pace: maybe(rng).then_some(pace),
        result: results[rng.usize(0..4)],
        players: ByColor { white: player(rng), black: player(rng) },
    };
    let start = match rng.usize(0..3 * STARTS.len()) {
        at if at < STARTS.len() => position(STARTS[at]),
        _ => Chess::default(),
    };
    let (clocks, evaluations) = (maybe(rng), rng.bool());
    let mut clock = 1800u64;
    let mut plies = Vec::new();
    let mut now = start.clone();
    for _ in 0..rng.usize(0..90) {
        let legal = now.legal_moves();
        // Rare kinds of moves are taken when there are any.
        let rare: Vec<_> = legal
            .iter()
            .copied()
            .filter(|m| m.is_castle() || m.is_en_passant() || m.is_promotion())
            .collect();
        let choice = if rare.is_empty() || rng.bool() { rng.choice(&legal) } else { rng.choice(&rare) };
        let Some(&played) = choice else { break };
        clock = (clock + rng.u64(0..40)).saturating_sub(rng.u64(0..90));
        plies.push(Ply {
            played,
            clock: (clocks && rng.u8(0..9) > 0).then(|| Duration::from_millis(clock * 100)),
            evaluation: (evaluations && rng.u8(0..9) > 0).then(|| score(rng)),
        });
        now.play_unchecked(played);
    }
    GameRecord { head, start, plies }
}

/// A position reached by random moves, with sessions in their one order.
pub(crate) fn evaluation(seed: u64) -> EvaluationRecord {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut now = Chess::default();
    for _ in 0..rng.usize(1..60) {
        match rng.choice(now.legal_moves().as_slice()) {
            Some(&m) if now.clone().play(m).is_ok_and(|after| !after.is_game_over()) => now.play_unchecked(m),
            _ => break,
        }
    }
    let mut sessions = Vec::new();
    for depth in (10..70).rev().filter(|_| rng.u8(0..40) == 0).chain([9]).collect::<Vec<_>>() {
        let mut legal: Vec<_> = now.legal_moves().into_iter().collect();
        rng.shuffle(&mut legal);
        let mut best = rng.i32(-300..300);
        let lines = legal.into_iter().take(rng.usize(1..5)).map(|first| {
            best -= rng.i32(1..40);
            let for_white = if now.turn().is_white() { best } else { -best };
            Line { first, score: ForWhite(Score::Centipawns(for_white)) }
        });
        sessions.push(Session { depth, knodes: 0, lines: lines.collect() });
    }
    for session in &mut sessions {
        session.knodes = rng.u64(1..3_000_000);
    }
    let fen = Fen::from_position(&now, shakmaty::EnPassantMode::Legal).to_string();
    let fields: Vec<_> = fen.split(' ').take(4).collect();
    EvaluationRecord { position: position(&format!("{} 0 1", fields.join(" "))), sessions }
}
