//! The positions that the fixtures of other projects' networks are about, and their weights (tools/played_positions.py).
#![allow(dead_code, reason = "each test program uses some of it")]

use std::collections::BTreeMap;
use std::io::Read;

use serde::Deserialize;
use shakmaty::{CastlingMode, Chess, Move, Position, fen::Fen, uci::UciMove};
use tabia_encoding::{Elo, PlayerInfo, Situation, parse_uci};

/// What a number of a fixture is worth.
pub(crate) const UNITS: f32 = 1e-5;

/// The end of a game.
pub(crate) struct Row {
    pub(crate) position: Chess,
    earlier: Vec<Chess>,
    last_moves: Vec<Move>,
    ratings: [Option<u16>; 2],
}

impl Row {
    /// After moves, with nothing known of the players.
    pub(crate) fn after(start: Chess, moves: &[impl AsRef<str>]) -> Row {
        let (mut position, mut earlier, mut last_moves) = (start, Vec::new(), Vec::new());
        for uci in moves {
            let m = parse_uci(&position, uci.as_ref()).expect("as the fixtures have it");
            earlier.insert(0, position.clone());
            last_moves.insert(0, m);
            position.play_unchecked(m);
        }
        Row { position, earlier, last_moves, ratings: [None, None] }
    }

    pub(crate) fn situation(&self) -> Situation<'_> {
        let player = |rating: Option<u16>| PlayerInfo { rating: rating.map(Elo), time_left: None };
        Situation {
            earlier: &self.earlier,
            last_moves: &self.last_moves,
            mover: player(self.ratings[0]),
            opponent: player(self.ratings[1]),
            ..Situation::of(&self.position)
        }
    }

    /// Legal moves in the order of their spelling, as the fixtures have them.
    pub(crate) fn spelled(&self) -> Vec<Move> {
        let mut moves: Vec<_> = self
            .position
            .legal_moves()
            .into_iter()
            .map(|m| (UciMove::from_move(m, CastlingMode::Standard).to_string(), m))
            .collect();
        moves.sort_by(|a, b| a.0.cmp(&b.0));
        moves.into_iter().map(|(_, m)| m).collect()
    }
}

/// The positions of the fixtures: games from `positions.fen`, with the ratings that the script gives.
pub(crate) fn rows() -> Vec<Row> {
    #[derive(Deserialize)]
    struct Games {
        played: Vec<Vec<String>>,
    }
    let games: Games = serde_json::from_str(include_str!("../../../../fixtures/models/positions.json"))
        .expect("as the fixtures have it");
    let starts = include_str!("../../../../fixtures/positions.fen").lines();
    let row = |(row, (fen, played)): (usize, (&str, &Vec<String>))| {
        let fen: Fen = fen.parse().expect("as the fixtures have it");
        let start: Chess = fen.into_position(CastlingMode::Standard).expect("as the fixtures have it");
        let number = row as u16;
        let (own, theirs) = (600 + number * 37 % 2200, 700 + number * 53 % 2000);
        let ratings = match row % 5 {
            0 => [None, None],
            1 => [Some(own), None],
            _ => [Some(own), Some(theirs)],
        };
        Row { ratings, ..Row::after(start, played) }
    };
    starts.zip(&games.played).enumerate().map(row).collect()
}

/// A linear congruential generator.
pub(crate) fn draws() -> impl Iterator<Item = u32> {
    std::iter::successors(Some(1_u32), |s| Some(s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)))
        .skip(1)
}

/// The script's generator: the weights of a network by the names and shapes of its tensors, as a safetensors file.
pub(crate) fn drawn(shapes: &BTreeMap<String, Vec<usize>>) -> Vec<u8> {
    let mut states = draws();
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, shape) in shapes {
        let inputs: usize = if shape.len() > 1 { shape[1..].iter().product() } else { 1 };
        let scale = if inputs > 1 { (4.0 / (inputs as f32).sqrt()).log2().round().exp2() } else { 0.5 };
        let around_one = shape.len() == 1 && (name.ends_with(".weight") || name.ends_with(".running_var"));
        let start = data.len();
        for _ in 0..shape.iter().product() {
            let number = ((states.next().expect("as the fixtures have it") >> 26) as f32 - 32.0) / 64.0
                * scale
                + f32::from(u8::from(around_one));
            data.extend(number.to_le_bytes());
        }
        let entry = serde_json::json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]});
        header.insert(name.clone(), entry);
    }
    let header = serde_json::to_vec(&header).expect("as the fixtures have it");
    [&(header.len() as u64).to_le_bytes(), &header[..], &data].concat()
}

/// The content of a gzip file.
pub(crate) fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut unpacked).expect("as the fixtures have it");
    unpacked
}
