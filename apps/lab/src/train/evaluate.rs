//! `tabia-lab train eval`: policies of model files on the held-out positions of sets of evaluations.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use tabia_data::{
    Analysed, EvaluationRecord, Filter, LabelStrategy, Repeat, Set, Side, Split, SplitBy, Stream,
    StreamOptions, Target,
};
use tabia_encoding::Situation;
use tabia_model::Model;

use super::overrides::DataOverrides;

#[derive(Args, Debug)]
pub(super) struct EvalArgs {
    /// Model files with a policy head.
    #[arg(required = true, value_name = "MODEL")]
    models: Vec<PathBuf>,
    /// Sets of evaluations, from `data build`.
    #[arg(long, required = true, value_name = "DIR", num_args = 1..)]
    data: Vec<PathBuf>,
    #[command(flatten)]
    overrides: DataOverrides,
    /// Records of a million that are held out, as in the configuration of the run [default: 10000].
    #[arg(long, value_name = "PPM", default_value_t = Split::USUAL_HELD_OUT_PPM)]
    held_out_ppm: u32,
    /// Use all positions of the sets instead of those held out.
    #[arg(long)]
    all: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Positions evaluated at a time.
const BATCH: usize = 64;
/// Positions without --num-samples.
const POSITIONS: u64 = 50_000;
/// The depth of the second group without --eval-min-depth.
const DEEP: u8 = 50;

#[derive(Clone, Copy, Default)]
struct Score {
    positions: u64,
    top1: u64,
    top5: u64,
    log_loss: f64,
}

pub(super) fn run(args: &EvalArgs) -> Result<()> {
    let sets = args.data.iter().map(|dir| Set::open(dir).map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
    let labels = args.overrides.labels(LabelStrategy::default())?;
    let deep = args.overrides.eval_min_depth.unwrap_or(DEEP);
    for path in &args.models {
        let named = || path.display().to_string();
        let model = Model::open(path).with_context(named)?;
        if model.card().policy.is_none() {
            bail!("{}: no policy head", named());
        }
        let groups = score(args, &sets, &model, labels, deep)?;
        if args.json {
            let group = |(name, score): (&String, &Score)| (name.clone(), score.json());
            let groups: serde_json::Map<_, _> = groups.iter().map(group).collect();
            println!("{}", json!({ "model": named(), "labels": labels.to_string(), "groups": groups }));
        } else {
            println!("{} ({labels})", named());
            for (name, score) in &groups {
                println!("  {name}: {score}");
            }
        }
    }
    Ok(())
}

fn score(
    args: &EvalArgs,
    sets: &[Arc<Set>],
    model: &Model,
    labels: LabelStrategy,
    deep: u8,
) -> Result<BTreeMap<String, Score>> {
    let options = StreamOptions {
        mix: Vec::new(),
        seed: 2,
        split: Split::of_training(args.held_out_ppm, SplitBy::Record),
        side: if args.all { Side::All } else { Side::HeldOut },
        lanes: 8,
        cursors: 512,
        repeat: Repeat::Once,
        filter: Filter { min_depth: args.overrides.min_depth.unwrap_or(0), ..Filter::default() },
        earlier: 0,
        analysed: Analysed::Roots,
    };
    let mut stream = Stream::new(sets.to_vec(), options);
    let most = args.overrides.num_samples.unwrap_or(POSITIONS);
    let mut groups: BTreeMap<String, Score> = BTreeMap::new();
    let mut seen = 0;
    while seen < most {
        let mut records: Vec<EvaluationRecord> = Vec::new();
        let wanted = usize::try_from(most - seen).map_or(BATCH, |left| left.min(BATCH));
        let drawn = stream.draw(wanted, |sample| {
            if let Target::Evaluation(record) = &sample.target {
                records.push((*record).clone());
            }
        })?;
        if drawn == 0 {
            break;
        }
        seen += drawn as u64;
        let situations: Vec<_> = records.iter().map(|record| Situation::of(&record.position)).collect();
        for (record, evaluation) in records.iter().zip(model.evaluate(&situations)?) {
            let target = labels.labels(record);
            let best = target.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
            let (Some((best, _)), Some(policy)) = (best, &evaluation.policy) else { continue };
            let candidates = policy.candidates();
            let rank = candidates.iter().position(|candidate| candidate.mv == best);
            let chance = |m| {
                let found = candidates.iter().find(|candidate| candidate.mv == m);
                f64::from(found.map_or(0.0, |candidate| candidate.probability)).max(1e-9)
            };
            let log_loss: f64 = target.iter().map(|&(m, p)| -f64::from(p) * chance(m).ln()).sum();
            let depth = record.sessions.first().map_or(0, |session| session.depth);
            let names = [Some("all".to_owned()), (depth >= deep).then(|| format!("depth>={deep}"))];
            for name in names.into_iter().flatten() {
                let score = groups.entry(name).or_default();
                score.positions += 1;
                score.top1 += u64::from(rank == Some(0));
                score.top5 += u64::from(rank.is_some_and(|rank| rank < 5));
                score.log_loss += log_loss;
            }
        }
    }
    if groups.is_empty() {
        bail!("no analysed position is held out (--all uses every position)");
    }
    Ok(groups)
}

impl Score {
    fn share(&self, count: u64) -> f64 {
        count as f64 / self.positions as f64
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "positions": self.positions,
            "top1": self.share(self.top1),
            "top5": self.share(self.top5),
            "log_loss": self.log_loss / self.positions as f64,
        })
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} positions, top-1 {:.1}%, top-5 {:.1}%, log-loss {:.3}",
            self.positions,
            100.0 * self.share(self.top1),
            100.0 * self.share(self.top5),
            self.log_loss / self.positions as f64
        )
    }
}
