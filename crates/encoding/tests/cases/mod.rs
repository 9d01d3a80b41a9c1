//! Situations as tools/encoding_goldens.py states them.

use std::time::Duration;

use serde::Deserialize;
use shakmaty::{CastlingMode, Chess, Position, fen::Fen};
use tabia_encoding::{Elo, OwnedSituation, Pace, PlayerInfo, RatingPool, Situation, parse_uci};

/// A position and the moves played from it, with what is known of the game.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    fen: String,
    moves: Vec<String>,
    rating: Option<u16>,
    time_ms: Option<u64>,
    opponent_rating: Option<u16>,
    opponent_time_ms: Option<u64>,
    pool: Option<String>,
    pace_ms: Option<[u64; 2]>,
    context: Option<String>,
}

impl Case {
    /// The situation after the moves.
    pub(crate) fn situation(&self) -> OwnedSituation {
        let mut position_now = position(&self.fen);
        let (mut earlier, mut last_moves) = (Vec::new(), Vec::new());
        for uci in &self.moves {
            let m = parse_uci(&position_now, uci).expect("a legal move");
            let next = position_now.clone().play(m).expect("a legal move");
            earlier.insert(0, std::mem::replace(&mut position_now, next));
            last_moves.insert(0, m);
        }
        let context = self.context.as_deref().map(position);
        let player = |rating: Option<u16>, time_ms: Option<u64>| PlayerInfo {
            rating: rating.map(Elo),
            time_left: time_ms.map(Duration::from_millis),
        };
        OwnedSituation::of(&Situation {
            earlier: &earlier,
            last_moves: &last_moves,
            mover: player(self.rating, self.time_ms),
            opponent: player(self.opponent_rating, self.opponent_time_ms),
            pool: self.pool.as_deref().map_or(RatingPool::Unknown, |name| name.parse().expect("a pool")),
            pace: self.pace_ms.map(|ms| {
                let [base, increment] = ms.map(Duration::from_millis);
                Pace { base, increment }
            }),
            context: context.as_ref(),
            ..Situation::of(&position_now)
        })
    }
}

fn position(fen: &str) -> Chess {
    let setup = fen.parse::<Fen>().expect("a FEN");
    setup.into_position(CastlingMode::Standard).expect("a legal position")
}
