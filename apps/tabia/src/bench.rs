//! `tabia bench`: the node signature of the engine.

use anyhow::Result;
use tabia_cli::{PlayerFactory, WallClock};
use tabia_players::{BuiltInNetwork, EngineEvaluation};
use tabia_search::{SearchControl, bench};

use crate::cli::BenchArgs;

pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    let evaluation = match &args.model {
        Some(file) => EngineEvaluation::File(file.clone()),
        None if args.baseline => EngineEvaluation::Baseline,
        None => EngineEvaluation::BuiltIn,
    };
    let players = PlayerFactory::default();
    let (_, evaluator) = players.evaluation(&evaluation)?;
    let evaluated_by = evaluated_by(&players, &evaluation)?;
    let clock = WallClock::start();
    let result = bench(evaluator, &clock)?;
    let seconds = clock.elapsed().as_secs_f64();
    println!("{} nodes", result.nodes);
    let speed = result.nodes as f64 / seconds;
    eprintln!("{} positions, {speed:.0} nodes/s, evaluated by {evaluated_by}", result.positions);
    Ok(())
}

/// The evaluation as text: the signature depends on it.
fn evaluated_by(players: &PlayerFactory, evaluation: &EngineEvaluation) -> Result<String> {
    let model = match evaluation {
        EngineEvaluation::File(file) => Some(players.open(file)?),
        EngineEvaluation::Baseline => None,
        EngineEvaluation::BuiltIn => Some(players.built_in(BuiltInNetwork::Value)?),
    };
    Ok(match model {
        Some(model) => {
            let name = model.card().name.as_deref().unwrap_or("a network").to_owned();
            format!("{name} (sha256 {}...)", &model.sha256()[..16])
        }
        None => "the hand-written evaluation".to_owned(),
    })
}
