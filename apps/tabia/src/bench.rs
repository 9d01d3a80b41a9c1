//! `tabia bench`: one number that says whether the engine still searches the same.

use anyhow::Result;
use tabia_search::{BaselineLeaf, LeafEvaluator, Watch, bench, leaf_evaluator};

use crate::cli::BenchArgs;
use crate::players::{Makers, WallClock};

pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    let leaf: Box<dyn LeafEvaluator> = match &args.model {
        Some(file) => leaf_evaluator(&Makers::default().open(file)?)?,
        None => Box::new(BaselineLeaf),
    };
    let clock = WallClock::start();
    let result = bench(leaf, &clock)?;
    let seconds = clock.elapsed().as_secs_f64();
    println!("{} nodes", result.nodes);
    eprintln!("{} positions, {:.0} nodes/s", result.positions, result.nodes as f64 / seconds);
    Ok(())
}
