//! `tabia bench`: one number that says whether the engine still searches the same.

use anyhow::Result;
use tabia_search::{EngineEvaluation, Watch, bench};

use crate::cli::BenchArgs;
use crate::players::{Makers, WallClock};

pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    let evaluation = match &args.model {
        Some(file) => EngineEvaluation::File(file.clone()),
        None if args.baseline => EngineEvaluation::Baseline,
        None => EngineEvaluation::Usual,
    };
    let makers = Makers::default();
    let (_, leaf) = makers.evaluation(&evaluation)?;
    let evaluated_by = evaluated_by(&makers, &evaluation)?;
    let clock = WallClock::start();
    let result = bench(leaf, &clock)?;
    let seconds = clock.elapsed().as_secs_f64();
    println!("{} nodes", result.nodes);
    let speed = result.nodes as f64 / seconds;
    eprintln!("{} positions, {speed:.0} nodes/s, evaluated by {evaluated_by}", result.positions);
    Ok(())
}

/// The evaluation in words: the number means nothing without it.
fn evaluated_by(makers: &Makers, evaluation: &EngineEvaluation) -> Result<String> {
    let model = match evaluation {
        EngineEvaluation::File(file) => Some(makers.open(file)?),
        EngineEvaluation::Baseline => None,
        EngineEvaluation::Usual => Some(makers.value()?),
    };
    Ok(match model {
        Some(model) => {
            let name = model.card().name.as_deref().unwrap_or("a network").to_owned();
            format!("{name} (sha256 {}...)", &model.sha256()[..16])
        }
        None => "the hand-written evaluation".to_owned(),
    })
}
