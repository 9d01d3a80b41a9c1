//! Records as bytes: round trips, keys, duplicates, and what garbage does.

use std::num::NonZeroI32;
use std::path::Path;

use crate::random_games::{evaluation, game, position};
use shakmaty::{Chess, EnPassantMode, Position, fen::Fen};
use tabia_data::{
    EvaluationRecord, EvaluationRow, GameBytes, GameRecord, Line, RecordError, RecordKind, Session,
    merge_evaluations,
};
use tabia_encoding::{ForWhite, Score, parse_uci};

fn fen(position: &Chess) -> String {
    Fen::from_position(position, EnPassantMode::Legal).to_string()
}

#[test]
fn games_round_trip() {
    let (mut castled, mut promoted, mut passed) = (0, 0, 0);
    for seed in 0..400 {
        let game = game(seed);
        let bytes = game.to_bytes().unwrap();
        let back = GameRecord::from_bytes(&bytes).unwrap();
        assert_eq!(back, game, "seed {seed}");
        assert_eq!(fen(&back.start), fen(&game.start), "seed {seed}: with move counters");
        assert_eq!(back.to_bytes().unwrap(), bytes);
        for ply in &game.plies {
            castled += usize::from(ply.played.is_castle());
            promoted += usize::from(ply.played.is_promotion());
            passed += usize::from(ply.played.is_en_passant());
        }
    }
    assert!(castled > 20 && promoted > 100 && passed > 20, "{castled} {promoted} {passed}");
}

#[test]
fn a_move_takes_one_byte_and_unknown_fields_none() {
    let mut game = game(3);
    game.head = Default::default();
    game.start = Chess::default();
    let mut now = Chess::default();
    game.plies.clear();
    for text in ["e2e4", "e7e5", "g1f3", "b8c6", "f1c4", "g8f6", "e1g1"] {
        let played = parse_uci(&now, text).unwrap();
        game.plies.push(tabia_data::Ply { played, clock: None, evaluation: None });
        now.play_unchecked(played);
    }
    assert_eq!(game.to_bytes().unwrap().len(), 2 + 1 + 7);
}

#[test]
fn illegal_moves_have_no_bytes() {
    let mut game = game(0);
    game.start = position("4k3/8/8/8/8/8/4r3/4K2R w K - 0 1");
    let castle = shakmaty::Move::Castle { king: shakmaty::Square::E1, rook: shakmaty::Square::H1 };
    game.plies = vec![tabia_data::Ply { played: castle, clock: None, evaluation: None }];
    assert_eq!(game.to_bytes(), Err(RecordError::Illegal { ply: 0 }));
}

#[test]
fn garbage_is_an_error() {
    let mut rng = fastrand::Rng::with_seed(5);
    let (mut refused, mut accepted) = (0, 0);
    for seed in 0..60 {
        let records = [
            (RecordKind::Games, game(seed).to_bytes().unwrap()),
            (RecordKind::Evaluations, evaluation(seed).to_bytes().unwrap()),
        ];
        for (kind, bytes) in records {
            for _ in 0..40 {
                let mut broken = bytes.clone();
                match rng.u8(0..3) {
                    0 => broken.truncate(rng.usize(0..bytes.len())),
                    1 => broken.push(rng.u8(..)),
                    _ => broken[rng.usize(0..bytes.len())] ^= 1 << rng.u8(0..8),
                }
                let readable = match kind {
                    RecordKind::Games => GameRecord::from_bytes(&broken).is_ok(),
                    RecordKind::Evaluations => EvaluationRecord::from_bytes(&broken).is_ok(),
                };
                *(if readable { &mut accepted } else { &mut refused }) += 1;
                // Neither of these decodes moves, so they may accept more, but must not panic.
                let _ = kind.key(&broken);
                let _ = kind.unite([bytes.as_slice(), broken.as_slice()]);
            }
        }
    }
    assert!(refused > accepted, "{refused} refused, {accepted} accepted");
}

#[test]
fn fuzz_seeds_are_read() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/records");
    let mut readable = 0;
    for seed in std::fs::read_dir(seeds).unwrap() {
        let bytes = std::fs::read(seed.unwrap().path()).unwrap();
        readable += usize::from(GameRecord::from_bytes(&bytes).is_ok());
        readable += usize::from(EvaluationRecord::from_bytes(&bytes).is_ok());
    }
    assert!(readable >= 2, "a game and an evaluation");
}

#[test]
fn keys_of_long_games_depend_on_moves_only() {
    let long = (0..).map(game).find(|game| game.plies.len() >= 24).unwrap();
    let short = (0..).map(game).find(|game| (1..24).contains(&game.plies.len())).unwrap();
    for (game, told_apart) in [(long, false), (short, true)] {
        let key = game.key().unwrap();
        let mut other = game.clone();
        other.head.ratings.white = Some(tabia_encoding::Elo(3333));
        assert_eq!(other.key().unwrap() != key, told_apart);
        let mut other = game.clone();
        other.head.pace = None;
        other.plies.iter_mut().for_each(|ply| ply.clock = None);
        assert_eq!(other.key().unwrap(), key, "clocks and pace never count");
        let mut other = game.clone();
        other.plies.pop();
        assert_ne!(other.key().unwrap(), key);
    }
}

#[test]
fn the_most_complete_duplicate_is_kept() {
    let full = (0..).map(game).find(|game| game.plies.len() > 30 && game.plies[3].clock.is_some()).unwrap();
    let mut bare = full.clone();
    bare.plies.iter_mut().for_each(|ply| (ply.clock, ply.evaluation) = (None, None));
    let (full, bare) = (full.to_bytes().unwrap(), bare.to_bytes().unwrap());
    assert!(GameBytes::parse(&full).unwrap().information() > GameBytes::parse(&bare).unwrap().information());
    for parts in [[&full, &bare, &full], [&bare, &full, &bare]] {
        assert_eq!(RecordKind::Games.unite(parts.map(Vec::as_slice)).unwrap(), full);
    }
}

#[test]
fn evaluations_round_trip() {
    let (mut bytes_in_all, mut lines) = (0, 0);
    for seed in 0..300 {
        let record = evaluation(seed);
        let bytes = record.to_bytes().unwrap();
        assert_eq!(EvaluationRecord::from_bytes(&bytes).unwrap(), record, "seed {seed}");
        assert_eq!(record.key().unwrap(), RecordKind::Evaluations.key(&bytes).unwrap());
        bytes_in_all += bytes.len();
        lines += record.sessions.iter().map(|session| session.lines.len()).sum::<usize>();
    }
    assert!(lines > 300 * 2 && bytes_in_all / 300 < 60, "{lines} {bytes_in_all}");
}

#[test]
fn rows_merge_into_their_record_in_any_order() {
    let mut rng = fastrand::Rng::with_seed(1);
    for seed in 0..100 {
        let record = evaluation(seed);
        let mut rows = Vec::new();
        for session in &record.sessions {
            for &line in &session.lines {
                let &Session { depth, knodes, .. } = session;
                let row = EvaluationRow { position: record.position.clone(), depth, knodes, line };
                assert_eq!(row.key().unwrap(), record.key().unwrap());
                rows.push(row.to_bytes().unwrap());
            }
        }
        let twice = rows[0].clone();
        rows.push(twice);
        rng.shuffle(&mut rows);
        let merged = merge_evaluations(rows.iter().map(Vec::as_slice)).unwrap();
        assert_eq!(merged, record.to_bytes().unwrap());
        let (some, others) = rows.split_at(rows.len() / 2);
        let halves: Vec<_> = [some, others]
            .into_iter()
            .filter(|half| !half.is_empty())
            .map(|half| merge_evaluations(half.iter().map(Vec::as_slice)).unwrap())
            .collect();
        assert_eq!(merge_evaluations(halves.iter().map(Vec::as_slice)).unwrap(), merged);
    }
}

#[test]
fn lines_are_sorted_for_the_side_to_move() {
    let mate = |n| ForWhite(Score::Mate(NonZeroI32::new(n).unwrap()));
    let open = position("6k1/5ppp/8/8/8/8/r4PPP/6K1 b - - 0 1");
    let lines: Vec<_> = [
        ("a2a1", mate(-1)),
        ("a2a3", mate(-4)),
        ("a2a4", ForWhite(Score::Centipawns(-500))),
        ("a2a5", ForWhite(Score::Centipawns(20))),
        ("a2a6", mate(3)),
    ]
    .map(|(text, score)| Line { first: parse_uci(&open, text).unwrap(), score })
    .into();
    let mut shuffled = lines.clone();
    shuffled.reverse();
    let record = EvaluationRecord {
        position: open,
        sessions: vec![Session { depth: 20, knodes: 5, lines: shuffled }],
    };
    let back = EvaluationRecord::from_bytes(&record.to_bytes().unwrap()).unwrap();
    assert_eq!(back.sessions[0].lines, lines);
}
