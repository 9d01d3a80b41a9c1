//! The nine Maia networks against an independent implementation. Needs the shared data beside the checkout.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess, Move, Position};
use tabia_encoding::{Batch, Situation, encoding, parse_uci, vocabulary};
use tabia_requires::shared_data;
use tabia_runtime::{InputData, InputTensor, Session};

use super::*;

struct Maia {
    session: Session,
}

struct Answer {
    /// The legal moves with their probabilities, likeliest first.
    moves: Vec<(Move, f32)>,
    wdl: [f32; 3],
}

impl Maia {
    fn load(rating: u32) -> Option<Maia> {
        let network =
            read(&std::fs::read(shared_data(&format!("maia/maia-{rating}.pb.gz"))?).unwrap()).unwrap();
        assert_eq!((network.policy, network.value), (Lc0Policy::Convolution, Lc0Value::Wdl));
        assert_eq!(network.min_version.as_deref(), Some("0.21.0"));
        assert!(network.training_info.unwrap().starts_with("400000 steps"));
        Some(Maia { session: Session::new(network.graph).unwrap() })
    }

    fn answers(&self, situations: &[Situation<'_>]) -> Vec<Answer> {
        let mut batch = Batch::new(encoding("lc0-112").unwrap());
        for situation in situations {
            batch.push(situation);
        }
        let shape = [situations.len(), 112, 8, 8];
        let input = InputTensor { shape: &shape, data: InputData::Values(batch.values(0)) };
        let outputs = self.session.run(&[input]).unwrap();
        let [policy, wdl] = ["policy", "wdl"].map(|name| outputs.iter().find(|o| o.name == name).unwrap());
        let rows = policy.values.chunks_exact(1858).zip(wdl.values.as_chunks::<3>().0);
        let answer = |(situation, (logits, wdl)): (&Situation<'_>, (&[f32], &[f32; 3]))| Answer {
            moves: ranked(situation.position, logits),
            wdl: *wdl,
        };
        situations.iter().zip(rows).map(answer).collect()
    }
}

fn ranked(position: &Chess, logits: &[f32]) -> Vec<(Move, f32)> {
    let vocabulary = vocabulary("lc0-1858").unwrap();
    let exp = |m: Move| logits[usize::from(vocabulary.slot(position.turn(), m).index.0)].exp();
    let mut moves: Vec<_> = position.legal_moves().into_iter().map(|m| (m, exp(m))).collect();
    let sum: f32 = moves.iter().map(|(_, weight)| weight).sum();
    moves.iter_mut().for_each(|(_, weight)| *weight /= sum);
    moves.sort_by(|a, b| b.1.total_cmp(&a.1));
    moves
}

fn probability(moves: &[(Move, f32)], m: Move) -> f32 {
    moves.iter().find(|(other, _)| *other == m).unwrap().1
}

#[derive(serde::Deserialize)]
struct Golden {
    moves: Vec<String>,
    fen: String,
    nets: HashMap<String, HashMap<String, f32>>,
}

#[test]
fn probabilities_match_an_independent_implementation() {
    let Some(golden) = shared_data("maia/golden.json") else { return };
    let golden: Vec<Golden> = serde_json::from_slice(&std::fs::read(golden).unwrap()).unwrap();
    assert_eq!(golden.len(), 60);
    let games: Vec<Vec<Chess>> = golden.iter().map(|golden| positions(&golden.moves)).collect();
    for (game, golden) in games.iter().zip(&golden) {
        let expected: Chess =
            golden.fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap();
        assert_eq!(game[0], expected);
    }
    let situations: Vec<_> =
        games.iter().map(|game| Situation { earlier: &game[1..], ..Situation::of(&game[0]) }).collect();
    for rating in [1100, 1500, 1900] {
        let answers = Maia::load(rating).unwrap().answers(&situations);
        for ((golden, game), answer) in golden.iter().zip(&games).zip(&answers) {
            assert!((answer.wdl.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            let expected = &golden.nets[&rating.to_string()];
            assert!(!expected.is_empty());
            for (uci, expected) in expected {
                let found = probability(&answer.moves, parse_uci(&game[0], uci).unwrap());
                assert!((found - expected).abs() <= 1e-4, "{rating}: {uci} {found}, expected {expected}");
            }
        }
    }
}

/// The positions of a game, the last one first.
fn positions(moves: &[String]) -> Vec<Chess> {
    let mut positions = vec![Chess::default()];
    for uci in moves {
        let mut next = positions.last().unwrap().clone();
        let m = parse_uci(&next, uci).unwrap();
        next.play_unchecked(m);
        positions.push(next);
    }
    positions.reverse();
    positions
}

#[test]
fn stronger_players_open_less_often_with_the_kings_pawn() {
    let start = Chess::default();
    let [e4, d4] = ["e2e4", "d2d4"].map(|uci| parse_uci(&start, uci).unwrap());
    let mut choices = Vec::new();
    for rating in (1100..=1900).step_by(100) {
        let Some(maia) = Maia::load(rating) else { return };
        let answer = &maia.answers(&[Situation::of(&start)])[0];
        choices.push([e4, d4].map(|m| (100.0 * probability(&answer.moves, m)).round()));
    }
    assert_eq!(choices.first(), Some(&[66.0, 21.0]));
    assert_eq!(choices.last(), Some(&[56.0, 29.0]));
}

/// Mate-in-one puzzles, evenly spread over their ratings.
fn mates_in_one(count: usize) -> Option<Vec<Chess>> {
    let mut decoder =
        zstd::Decoder::new(File::open(shared_data("puzzles/puzzles.epd.zst")?).unwrap()).unwrap();
    decoder.window_log_max(27).unwrap();
    let lines = BufReader::new(decoder).lines().map(Result::unwrap);
    let mates: Vec<_> = lines.filter(|line| line.contains(" mateIn1 ")).collect();
    let position = |line: &String| {
        let fen: Vec<_> = line.split(' ').take(4).collect();
        let fen: Fen = format!("{} 0 1", fen.join(" ")).parse().unwrap();
        fen.into_position(CastlingMode::Standard).unwrap()
    };
    Some(mates.iter().step_by(mates.len() / count).take(count).map(position).collect())
}

/// In how many positions the most likely move mates, without history.
fn mates_found(maia: &Maia, positions: &[Chess]) -> usize {
    let mates = |position: &Chess, m: Move| {
        let mut after = position.clone();
        after.play_unchecked(m);
        after.is_checkmate()
    };
    let situations: Vec<_> = positions.iter().map(Situation::of).collect();
    let answers: Vec<_> = situations.chunks(50).flat_map(|chunk| maia.answers(chunk)).collect();
    positions.iter().zip(&answers).filter(|(position, answer)| mates(position, answer.moves[0].0)).count()
}

#[test]
fn most_mates_in_one_are_found() {
    let Some(positions) = mates_in_one(100) else { return };
    let found = mates_found(&Maia::load(1900).unwrap(), &positions);
    assert!((70..=95).contains(&found), "{found} of 100");
}

#[test]
#[ignore = "a measurement"]
#[expect(clippy::disallowed_macros, reason = "a measurement prints its result")]
fn share_of_mates_in_one() {
    let Some(positions) = mates_in_one(500) else { return };
    for rating in (1100..=1900).step_by(400) {
        let found = mates_found(&Maia::load(rating).unwrap(), &positions);
        println!("maia-{rating}: {found} of {} mates in one", positions.len());
    }
}
