//! Small sets with something to learn: players who take what they can, and engines that count material.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use shakmaty::{ByColor, Chess, Color, Move, Position, Role};
use tabia_data::{
    EvaluationRecord, GameHead, GameRecord, Line, Ply, RecordKind, Session, SetPlan, SetWriter, ShardOptions,
};
use tabia_encoding::{Elo, ForWhite, Pace, RatingPool, Score};

const GAMES: u64 = 60;
const PLIES: usize = 50;

fn material(position: &Chess) -> i32 {
    let worth = |color: Color| {
        let side = position.board().material_side(color);
        let values = [
            (Role::Pawn, 100),
            (Role::Knight, 300),
            (Role::Bishop, 300),
            (Role::Rook, 500),
            (Role::Queen, 900),
        ];
        values.into_iter().map(|(role, value)| i32::from(*side.get(role)) * value).sum::<i32>()
    };
    worth(Color::White) - worth(Color::Black)
}

/// A capture if there is one, else a move of the first half of the list.
fn choose(position: &Chess, random: &mut fastrand::Rng) -> Move {
    let legal = position.legal_moves();
    let captures: Vec<Move> = legal.iter().copied().filter(|m| m.is_capture()).collect();
    match captures.as_slice() {
        [] => legal[random.usize(..legal.len().div_ceil(4))],
        captures => captures[0],
    }
}

fn game(number: u64) -> GameRecord {
    let mut random = fastrand::Rng::with_seed(number + 1);
    let mut position = Chess::default();
    let mut plies = Vec::new();
    let mut clocks = ByColor { white: 300.0, black: 300.0 };
    while plies.len() < PLIES && !position.is_game_over() {
        let played = choose(&position, &mut random);
        let clock: &mut f64 = clocks.get_mut(position.turn());
        *clock -= random.f64() * 4.0;
        let clock = Some(Duration::from_millis((*clock * 10.0) as u64 * 100));
        position.play_unchecked(played);
        plies.push(Ply { played, clock, evaluation: Some(ForWhite(Score::Centipawns(material(&position)))) });
    }
    let ahead = material(&position);
    let winner =
        if ahead.abs() < 100 { None } else { Some(if ahead > 0 { Color::White } else { Color::Black }) };
    let rating = |random: &mut fastrand::Rng| Some(Elo(random.u16(1000..2400)));
    let head = GameHead {
        ratings: ByColor { white: rating(&mut random), black: rating(&mut random) },
        pool: if number.is_multiple_of(2) { RatingPool::Online } else { RatingPool::OverTheBoard },
        pace: Some(Pace { base: Duration::from_secs(300), increment: Duration::ZERO }),
        result: Some(winner),
        ..GameHead::default()
    };
    GameRecord { head, start: Chess::default(), plies }
}

fn write(dir: &Path, kind: RecordKind, records: Vec<Vec<u8>>) {
    let mut keyed: Vec<_> = records.into_iter().map(|bytes| (kind.key(&bytes).unwrap(), bytes)).collect();
    keyed.sort();
    keyed.dedup_by_key(|(key, _)| *key);
    let packing = ShardOptions { block_records: 8, ..ShardOptions::of(kind) };
    let plan = SetPlan { kind, shards: 2, packing, fingerprint: "test".to_owned() };
    let mut writer = SetWriter::create(dir, plan).unwrap();
    for (key, bytes) in keyed {
        writer.push(key, &bytes).unwrap();
    }
    writer.finish(Vec::new(), BTreeMap::new()).unwrap();
}

/// Writes a set of games.
pub(crate) fn games(dir: &Path) {
    write(dir, RecordKind::Games, (0..GAMES).map(|number| game(number).to_bytes().unwrap()).collect());
}

/// Writes a set of analysed positions: the four best moves of each, judged by the material after them.
pub(crate) fn evaluations(dir: &Path) {
    write_analysed(dir, 4);
}

/// Writes a set of analysed positions with every legal move.
pub(crate) fn every_move(dir: &Path) {
    write_analysed(dir, usize::MAX);
}

fn write_analysed(dir: &Path, lines: usize) {
    let mut records = Vec::new();
    for number in 0..GAMES {
        let mut position = Chess::default();
        for (at, ply) in game(number).plies.into_iter().enumerate() {
            if at % 5 == 4 {
                records.push(analysed(&position, 20 + (at % 40) as u8, lines));
            }
            position.play_unchecked(ply.played);
        }
    }
    write(dir, RecordKind::Evaluations, records);
}

fn analysed(position: &Chess, depth: u8, most: usize) -> Vec<u8> {
    // The move counters of an analysed position are those of a fresh FEN.
    let setup = position.clone().to_setup(shakmaty::EnPassantMode::Legal);
    let setup = shakmaty::Setup { halfmoves: 0, fullmoves: std::num::NonZeroU32::MIN, ..setup };
    let position: Chess = setup.position(shakmaty::CastlingMode::Standard).unwrap();
    let mut lines: Vec<Line> = position
        .legal_moves()
        .into_iter()
        .map(|first| {
            let mut after = position.clone();
            after.play_unchecked(first);
            Line { first, score: ForWhite(Score::Centipawns(material(&after))) }
        })
        .collect();
    let sign = position.turn().fold_wb(-1, 1);
    lines.sort_by_key(|line| match line.score.0 {
        Score::Centipawns(cp) => sign * cp,
        Score::Mate(_) => 0,
    });
    lines.truncate(most);
    EvaluationRecord { position, sessions: vec![Session { depth, knodes: 100, lines }] }.to_bytes().unwrap()
}
