//! How fast the engine is, over the baseline evaluation or a network, and how it does against level 5.
//!
//! `cargo run --release -p tabia-players --example engine -- bench [MODEL]`
//! `cargo run --release -p tabia-players --example engine -- match 20 50` plays 20 games at 50 ms a move.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a program: it measures and prints"
)]

use std::{
    error::Error,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use fastrand::Rng;
use shakmaty::{ByColor, Chess, Color, Position};
use tabia_game::{History, Outcome, Repetitions, status};
use tabia_model::Model;
use tabia_players::{EnginePlayer, Level, LevelPlayer, Player, PlayerError};
use tabia_search::{BaselineEvaluator, EngineOptions, Limits, SearchControl, baseline, bench, evaluator_for};

/// The wall clock.
struct Clock(Instant);

impl SearchControl for Clock {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn stopped(&self) -> bool {
        false
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, otherwise: u64| {
        arguments.get(place).and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    match arguments.first().map(String::as_str) {
        Some("match") => play_match(number(1, 20), Duration::from_millis(number(2, 50))),
        _ => measure(arguments.get(1).map(Path::new)),
    }
}

fn measure(model: Option<&Path>) -> Result<(), Box<dyn Error>> {
    let evaluator = match model {
        Some(file) => evaluator_for(&Arc::new(Model::open(file)?))?,
        None => Box::new(BaselineEvaluator),
    };
    let start = Instant::now();
    let bench = bench(evaluator, &Clock(start))?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{} nodes, {:.0} nodes/s", bench.nodes, bench.nodes as f64 / seconds);
    Ok(())
}

fn play_match(games: u64, movetime: Duration) -> Result<(), Box<dyn Error>> {
    let options = EngineOptions { move_overhead: Duration::ZERO, ..EngineOptions::default() };
    let mut engine = EnginePlayer::new("engine".to_owned(), options, Box::new(BaselineEvaluator));
    let limits = Limits { movetime: Some(movetime), ..Limits::default() };
    let (mut wins, mut draws, mut losses) = (0, 0, 0);
    for game in 0..games {
        // Each opening is played twice, with colours swapped.
        let (opening, color) = (game / 2, if game % 2 == 0 { Color::White } else { Color::Black });
        engine.new_game();
        match play(&mut engine, &limits, random_opening(opening), color)? {
            Outcome::Win { winner, .. } if winner == color => wins += 1,
            Outcome::Win { .. } => losses += 1,
            Outcome::Draw(_) => draws += 1,
            _ => unreachable!("a finished game has a result"),
        }
        println!("+{wins} ={draws} -{losses}");
    }
    Ok(())
}

fn play(
    engine: &mut EnginePlayer,
    limits: &Limits,
    start: Chess,
    color: Color,
) -> Result<Outcome, PlayerError> {
    let mut level = LevelPlayer::new(Level::new(5).expect("there are five levels"));
    let mut repetitions = Repetitions::from_start(&start);
    let mut game = History::new(start, ByColor::default());
    loop {
        if let Some(outcome) = status(game.current(), &repetitions).outcome_with_claims() {
            return Ok(outcome);
        }
        let player: &mut dyn Player = if game.current().turn() == color { &mut *engine } else { &mut level };
        let choice = player.choose(&game, limits, &Clock(Instant::now()))?;
        game.push(choice.mv, None);
        repetitions.push(game.current());
    }
}

/// A position after eight random plies in which neither side is much better.
fn random_opening(seed: u64) -> Chess {
    let mut rng = Rng::with_seed(seed);
    loop {
        let mut position = Chess::default();
        for _ in 0..8 {
            if let Some(&m) = rng.choice(position.legal_moves().iter()) {
                position.play_unchecked(m);
            }
        }
        if !position.is_game_over() && baseline::evaluate(&position).0.abs() < 60 {
            return position;
        }
    }
}
