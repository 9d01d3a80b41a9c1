//! Synthetic people: their moves are drawn from a known policy, changed by known habits.

use shakmaty::{ByColor, Chess, Color, Position as _};
use tabia_encoding::PlayerInfo;
use tabia_game::PgnReader;
use tabia_players::Feature;

use super::minimise::Objective as _;
use super::*;

/// A network that likes moves by a hash of the position and the move, whatever it is told.
struct Hashed;

fn hash(parts: [u64; 3]) -> u64 {
    parts.into_iter().fold(7, |hash, part| {
        let mixed = (hash ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    })
}

fn unit(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}

fn policy(history: &History) -> Prediction {
    let position = history.current();
    let key = tabia_players::memory_key(position);
    let weight = |m: &Move| {
        let of = hash([key, u64::from(m.to() as u8), m.from().map_or(0, |from| u64::from(from as u8))]);
        (6.0 * unit(of)).exp() as f32
    };
    let legal = position.legal_moves();
    let total: f32 = legal.iter().map(weight).sum();
    let mut candidates: Vec<Candidate> =
        legal.iter().map(|m| Candidate { mv: *m, probability: weight(m) / total }).collect();
    candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    Prediction { candidates, think_time: None }
}

impl Predict for Hashed {
    fn predict(&self, asked: &Asked<'_>) -> Result<Vec<Prediction>, RunError> {
        Ok(vec![policy(asked.history); asked.ratings.len()])
    }
}

/// An adapter with these weights and nothing else.
fn person(weights: &[(&str, f32)]) -> Adapter {
    Adapter {
        name: "Ann".to_owned(),
        network: AdapterNetwork::default(),
        games: 0,
        moves: 0,
        rating: Some(Elo(1500)),
        pool: RatingPool::Lichess,
        shift: 0,
        weights: weights.iter().map(|(name, weight)| (Feature::named(name).unwrap(), *weight)).collect(),
        memory: None,
        pace: 0.0,
        gain: AdapterGain::default(),
    }
}

/// Games of a person against somebody without habits. `first` is the person's first move as White.
fn games(person: &Adapter, first: Option<&str>, count: u64, seed: u64) -> Vec<PersonGame> {
    const PLIES: u64 = 36;
    let game = |number: u64| {
        let color = Color::from_white(number.is_multiple_of(2));
        let info = PlayerInfo { rating: Some(Elo(1500)), time_left: None };
        let start = History::new(Chess::default(), ByColor { white: info, black: info });
        let mut history = start.clone();
        let mut moves = Vec::new();
        for ply in 0..PLIES {
            if history.current().is_game_over() {
                break;
            }
            let mut said = policy(&history);
            if history.current().turn() == color {
                person.adapt(&history.situation(), &mut said.candidates);
            }
            let mut left = unit(hash([seed, number, ply])) as f32;
            let drawn = said.candidates.iter().find(|candidate| {
                left -= candidate.probability;
                left < 0.0
            });
            let mut played = drawn.unwrap_or(&said.candidates[0]).mv;
            if let Some(first) = first.filter(|_| ply == 0 && color.is_white()) {
                played = tabia_encoding::parse_uci(history.current(), first).unwrap();
            }
            moves.push((played, None));
            history.push(played, None);
        }
        PersonGame::of_moves(hash([seed, number, 999]), color, start, moves, format!("{number:06}"))
    };
    (0..count).map(game).collect()
}

fn learner(games: Vec<PersonGame>) -> Learner {
    let settings = LearnSettings { name: "Ann".to_owned(), games: 1000, moves: 700 };
    Learner::new(settings, AdapterNetwork::default(), games).unwrap()
}

fn learned(games: Vec<PersonGame>) -> Adapter {
    let mut learner = learner(games);
    while learner.step(&Hashed).unwrap() {}
    learner.adapter().unwrap().clone()
}

/// What an adapter gains per move, on other games.
fn gain(adapter: &Adapter, games: &[PersonGame]) -> f64 {
    let mut all = MoveScores::default();
    games.iter().for_each(|game| all.merge(&score_game(adapter, game, &Hashed).unwrap().all));
    (all.log_loss[0] - all.log_loss[1]) / f64::from(all.moves)
}

fn table(games: Vec<PersonGame>) -> Table {
    let mut learner = learner(games);
    while learner.progress().0 != LearnStage::Fitting {
        learner.step(&Hashed).unwrap();
    }
    learner.table
}

#[test]
fn the_gradient_is_that_of_the_likelihood_which_is_convex() {
    let table = table(games(&person(&[]), None, 20, 3));
    let places: Vec<usize> = (0..table.moves.len()).collect();
    let penalty = Penalty { style: 3.0, squares: 20.0 };
    let likelihood = Likelihood { table: &table, places: &places, penalty };
    let random = |salt: u64| -> Vec<f64> {
        (0..FEATURES as u64).map(|feature| unit(hash([salt, feature, 1])) - 0.5).collect()
    };
    let mut gradient = vec![0.0; FEATURES];
    let mut unused = gradient.clone();
    let at = random(1);
    let value = likelihood.value(&at, &mut gradient);
    for index in (0..FEATURES).step_by(17) {
        let mut moved = at.clone();
        moved[index] += 1e-5;
        let slope = (likelihood.value(&moved, &mut unused) - value) / 1e-5;
        let scale = gradient[index].abs().max(1.0);
        assert!((slope - gradient[index]).abs() < 1e-2 * scale, "{index}: {slope} {}", gradient[index]);
    }
    for salt in 2..6 {
        let other = random(salt);
        let middle: Vec<f64> = at.iter().zip(&other).map(|(one, other)| (one + other) / 2.0).collect();
        let ends = (value + likelihood.value(&other, &mut unused)) / 2.0;
        assert!(likelihood.value(&middle, &mut unused) < ends);
    }
}

#[test]
fn a_strong_habit_is_learned() {
    let ann = person(&[("kingside pawn", 2.0), ("capture", -1.5)]);
    let adapter = learned(games(&ann, None, 40, 5));
    let weight = |name: &str| {
        let wanted = Feature::named(name).unwrap();
        adapter.weights.iter().find(|(feature, _)| *feature == wanted).map_or(0.0, |(_, weight)| *weight)
    };
    assert!(weight("kingside pawn") > 0.4, "{:?}", adapter.weights);
    assert!(weight("capture") < -0.1, "{:?}", adapter.weights);
    assert!(adapter.gain.log_loss[1] < adapter.gain.log_loss[0] - 0.05, "{:?}", adapter.gain);
    let found = gain(&adapter, &games(&ann, None, 30, 77));
    assert!(found > 0.05, "{found}");
    assert_eq!((adapter.rating, adapter.games), (Some(Elo(1500)), 40));
}

#[test]
fn an_opening_is_remembered() {
    let ann = person(&[]);
    let adapter = learned(games(&ann, Some("b1a3"), 40, 8));
    let start = History::new(Chess::default(), ByColor::default());
    let mut said = policy(&start);
    adapter.adapt(&start.situation(), &mut said.candidates);
    assert_eq!(said.candidates[0].mv, tabia_encoding::parse_uci(start.current(), "b1a3").unwrap());
    assert!(said.candidates[0].probability > 0.5, "{:?}", said.candidates[0]);
    assert!(adapter.memory.unwrap().positions.len() <= MEMORY_POSITIONS);
}

#[test]
fn a_person_without_habits_loses_nothing() {
    let nobody = person(&[]);
    for seed in [11, 12, 13] {
        let adapter = learned(games(&nobody, None, 24, seed));
        let found = gain(&adapter, &games(&nobody, None, 24, 100 + seed));
        assert!(found > -0.004, "{seed}: {found}, {} weights", adapter.weights.len());
    }
}

#[test]
fn tasks_may_be_performed_in_any_order() {
    let games = games(&person(&[("check", 2.0)]), None, 20, 21);
    let expected = learned(games.clone());
    let mut learner = learner(games);
    while !learner.tasks().is_empty() {
        let tasks: Vec<Task> = learner.tasks().to_vec();
        let mut performed: Vec<Performed> =
            tasks.iter().rev().map(|task| learner.perform(*task, &Hashed).unwrap()).collect();
        performed.reverse();
        performed.into_iter().for_each(|done| learner.accept(done));
    }
    assert_eq!(learner.adapter(), Some(&expected));
    assert_eq!(learner.progress().0, LearnStage::Done);
}

#[test]
fn what_is_learned_survives_the_file() {
    let adapter = learned(games(&person(&[("advance", 1.5)]), None, 20, 31));
    let read = Adapter::from_json(adapter.to_json().as_bytes()).unwrap();
    assert_eq!(read, adapter);
}

#[test]
fn too_few_games_are_refused() {
    let few = games(&person(&[]), None, 19, 1);
    let settings = LearnSettings::new("Ann");
    let refused = Learner::new(settings, AdapterNetwork::default(), few).err().unwrap();
    assert_eq!(refused.to_string(), "19 games of Ann (expected at least 20)");
}

#[test]
fn a_game_belongs_to_the_player_of_the_name() {
    let pgn = "[White \"Ann\"]\n[Black \"Bob\"]\n[WhiteElo \"1500\"]\n[BlackElo \"1700\"]\n[Date \"2024.01.02\"]\n\n\
        1. e4 {[%clk 0:03:00]} e5 2. Nf3 *\n";
    let game = PgnReader::new(pgn.as_bytes()).next().unwrap().unwrap();
    let ann = PersonGame::of(&game, " ann").unwrap();
    assert_eq!((ann.rating(), ann.own_moves(), ann.date()), (Some(Elo(1500)), 2, "2024.01.02 "));
    let bob = PersonGame::of(&game, "Bob").unwrap();
    assert_eq!((bob.rating(), bob.own_moves()), (Some(Elo(1700)), 1));
    assert!(PersonGame::of(&game, "Cem").is_none());
}

#[test]
fn the_pace_of_slow_and_fast_people_is_found() {
    let chances = [1.0 / TIME_BINS as f32; TIME_BINS];
    let times = |bins: &[usize]| -> Vec<([f32; TIME_BINS], usize)> {
        (0..200).map(|number| (chances, bins[number % bins.len()])).collect()
    };
    let (slow, fast) = (times(&[15, 16, 17]), times(&[0, 1, 2]));
    let fitted = |times: &[([f32; TIME_BINS], usize)]| fit_pace(&times.iter().collect::<Vec<_>>(), 1.0);
    let (slow, fast) = (fitted(&slow), fitted(&fast));
    assert!(slow > 0.3 && fast < -0.3, "{slow} {fast}");
    let own = (chances, 16);
    assert!(time_likelihood(&own, slow) > time_likelihood(&own, 0.0));
    let even: Vec<_> = (0..TIME_BINS).map(|bin| (chances, bin)).collect();
    assert!(fitted(&even).abs() < 1e-3);
}
