//! What a network looks at besides the position, found by changing it.

use shakmaty::{Chess, Move, Position};
use tabia_encoding::{Batch, Column, Elo, Encoding, PlayerInfo, Situation};

use crate::Model;

/// Plies of history that are tried. No encoding looks back further.
const PLIES: usize = 16;

impl Model {
    /// Whether the mover's rating is part of its inputs.
    pub fn takes_ratings(&self) -> bool {
        let rated = |mover| [Some(Elo(mover)), Some(Elo(1500))];
        self.inputs_of(rated(1000)) != self.inputs_of(rated(2400))
    }

    /// Whether the opponent's rating is part of its inputs.
    pub fn takes_opponent_ratings(&self) -> bool {
        let rated = |opponent| [Some(Elo(1500)), Some(Elo(opponent))];
        self.inputs_of(rated(1000)) != self.inputs_of(rated(2400))
    }

    /// How many plies back the earliest position or move is that its inputs show.
    pub fn history(&self) -> usize {
        let mut game = vec![Chess::default()];
        let mut moves: Vec<Move> = Vec::new();
        while moves.len() < PLIES {
            let now = &game[0];
            // Pawns first: no position occurs twice.
            let m = now.legal_moves()[0];
            let next = now.clone().play(m).unwrap_or_else(|_| unreachable!("a legal move"));
            game.insert(0, next);
            moves.insert(0, m);
        }
        let first_moves = Chess::default().legal_moves();
        let inputs = |earlier: &[Chess], last_moves: &[Move]| {
            columns(self.encoding(), &Situation { earlier, last_moves, ..Situation::of(&game[0]) })
        };
        let (earlier, whole) = (&game[1..], inputs(&game[1..], &moves));
        let shown = |ply: &usize| {
            let (mut others, mut other_moves) = (earlier.to_vec(), moves.clone());
            others[*ply] = Chess::default();
            let another = first_moves.iter().find(|&&m| m != moves[*ply]);
            other_moves[*ply] = *another.unwrap_or_else(|| unreachable!("there are twenty"));
            inputs(&others, &moves) != whole || inputs(earlier, &other_moves) != whole
        };
        // The earliest position of all is repeated where a history is too short, which does not show here.
        (0..PLIES - 1).rev().find(shown).map_or(0, |ply| ply + 1)
    }

    fn inputs_of(&self, [mover, opponent]: [Option<Elo>; 2]) -> Vec<Column> {
        let player = |rating| PlayerInfo { rating, time_left: None };
        let position = Chess::default();
        let situation =
            Situation { mover: player(mover), opponent: player(opponent), ..Situation::of(&position) };
        columns(self.encoding(), &situation)
    }
}

fn columns(encoding: &'static dyn Encoding, situation: &Situation<'_>) -> Vec<Column> {
    let mut batch = Batch::new(encoding);
    batch.push(situation);
    batch.columns().to_vec()
}
