//! `tabia-lab data vocab`: counts the moves of sets into a `vocab.npy`.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use rayon::prelude::*;
use shakmaty::{Chess, Move, Position};
use tabia_data::{Record, Set, Shard};
use tabia_encoding::{CANONICAL_1968_ROWS, MoveSubset, MoveVocabulary, PolicyIndex, vocabulary};
use tabia_report::Progress;

use crate::finished_file::write_whole;

/// Write the moves that occur in sets as a vocab.npy, the vocabulary of a policy network.
///
/// Of games the moves played count, of evaluations the first move of every line. `[net] vocabulary = "vocab.npy"` in a
/// configuration trains a network with a logit for each of them.
#[derive(Args)]
#[command(after_help = "\
Example:
  tabia-lab data vocab sets/evals --out vocab.npy")]
pub(crate) struct VocabArgs {
    /// Folders of sets.
    #[arg(required = true, value_name = "SET")]
    sets: Vec<PathBuf>,
    /// The file to write.
    #[arg(long, value_name = "FILE", default_value = "vocab.npy")]
    out: PathBuf,
    /// Leave out moves that occur less often.
    #[arg(long, default_value_t = 1, value_name = "N")]
    min_count: u64,
    /// Count Black's moves with ranks flipped, for networks with `view = "mover"`.
    #[arg(long)]
    mover: bool,
}

pub(crate) fn run(args: &VocabArgs) -> Result<()> {
    let id = if args.mover { "canonical-1968-mover" } else { "canonical-1968" };
    let moves = vocabulary(id).context("an unknown vocabulary")?;
    let sets = args.sets.iter().map(|dir| Set::open(dir)).collect::<Result<Vec<_>, _>>()?;
    let progress = Progress::of(sets.iter().map(Set::records).sum(), "records");
    let mut counts = vec![0_u64; CANONICAL_1968_ROWS.len()];
    for set in &sets {
        let parts: Vec<_> = set.shards().par_iter().map(|shard| count(shard, moves, &progress)).collect();
        for part in parts {
            counts.iter_mut().zip(part?).for_each(|(sum, part)| *sum += part);
        }
    }
    progress.finish();
    let mut known = MoveSubset::default();
    for (index, count) in counts.iter().enumerate() {
        if *count >= args.min_count.max(1) {
            known.insert(PolicyIndex(index as u16));
        }
    }
    ensure!(!known.is_empty(), "no move occurs {} times", args.min_count);
    write_whole(&args.out, &known.to_npy())?;
    let total: u64 = counts.iter().sum();
    println!("{}: {} of {} moves; {total} counted", args.out.display(), known.len(), counts.len());
    Ok(())
}

/// How often each move occurs in a shard.
fn count(shard: &Shard, moves: &dyn MoveVocabulary, progress: &Progress) -> Result<Vec<u64>> {
    let mut counts = vec![0_u64; CANONICAL_1968_ROWS.len()];
    let mut add = |position: &Chess, m: Move| {
        let index = usize::from(moves.slot(position.turn(), m).index.0);
        if let Some(count) = counts.get_mut(index) {
            *count += 1;
        }
    };
    for number in 0..shard.blocks().len() {
        let block = shard.block(number)?;
        for index in 0..block.len() {
            match block.record(index) {
                Some(Ok(Record::Game(game))) => {
                    let game = game.decode()?;
                    let mut position = game.start;
                    for ply in &game.plies {
                        add(&position, ply.played);
                        position.play_unchecked(ply.played);
                    }
                }
                Some(Ok(Record::Evaluation(record))) => {
                    let record = record.decode()?;
                    for line in record.sessions.iter().flat_map(|session| &session.lines) {
                        add(&record.position, line.first);
                    }
                }
                Some(Err(error)) => return Err(error.into()),
                None => break,
            }
        }
        progress.add(block.len() as u64);
    }
    Ok(counts)
}
