//! `tabia bench`: one number that says whether the engine still searches the same.

use anyhow::Result;
use tabia_search::{EngineEvaluation, SearchControl, bench};

use crate::cli::BenchArgs;
use crate::players::{PlayerFactory, WallClock};

pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    let evaluation = match &args.model {
        Some(file) => EngineEvaluation::File(file.clone()),
        None if args.baseline => EngineEvaluation::Baseline,
        None => EngineEvaluation::Usual,
    };
    let players = PlayerFactory::default();
    let (_, leaf) = players.evaluation(&evaluation)?;
    let evaluated_by = evaluated_by(&players, &evaluation)?;
    let clock = WallClock::start();
    let result = bench(leaf, &clock)?;
    let seconds = clock.elapsed().as_secs_f64();
    println!("{} nodes", result.nodes);
    let speed = result.nodes as f64 / seconds;
    eprintln!("{} positions, {speed:.0} nodes/s, evaluated by {evaluated_by}", result.positions);
    Ok(())
}

/// The evaluation in words: the number means nothing without it.
fn evaluated_by(players: &PlayerFactory, evaluation: &EngineEvaluation) -> Result<String> {
    let model = match evaluation {
        EngineEvaluation::File(file) => Some(players.open(file)?),
        EngineEvaluation::Baseline => None,
        EngineEvaluation::Usual => Some(players.value()?),
    };
    Ok(match model {
        Some(model) => {
            let name = model.card().name.as_deref().unwrap_or("a network").to_owned();
            format!("{name} (sha256 {}...)", &model.sha256()[..16])
        }
        None => "the hand-written evaluation".to_owned(),
    })
}
