//! `tabia-lab data mates`: annotates games that end in checkmate with the distance to mate.

use std::collections::BTreeMap;
use std::num::NonZeroI32;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use shakmaty::{Color, Position};
use tabia_data::{
    BytesRead, Chunks, Faults, GameRecord, GameRules, RecordKey, RecordKind, Set, SetPlan, SetWriter,
    ShardOptions, SourceFile, SourceSummary, fingerprint,
};
use tabia_encoding::{ForWhite, Score};

use tabia_report::Progress;

/// Annotate the moves of games that end in checkmate with the distance to mate, and write these games as a set.
///
/// The annotation is an evaluation that grows towards the mate, so that a value network trained on it makes progress in won
/// positions, where an engine's evaluation hardly changes. Use games that an engine played out from better positions,
/// without adjudication. Other games are skipped.
#[derive(Args)]
#[command(after_help = "\
Example:
  tabia arena uci:stockfish,depth=5 uci:stockfish,depth=5 --openings better.epd --games 4000 --pgn played-out.pgn
  tabia-lab data mates played-out.pgn --out sets/mates")]
pub(crate) struct MatesArgs {
    /// Files, folders or sets of games.
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Folder of the set.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Number of moves before the mate to annotate.
    #[arg(long, default_value_t = 50, value_name = "N")]
    moves: u32,
    /// Number of shards.
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    shards: u32,
}

/// Mates up to this distance are stored as mates.
const SEEN_MATES: u32 = 3;

/// The evaluation at a distance to mate: from 300 centipawns far away to 3000 at the mate.
fn worth(moves: u32) -> Score {
    if let Some(near) = NonZeroI32::new(moves as i32).filter(|_| moves <= SEEN_MATES) {
        return Score::Mate(near);
    }
    Score::Centipawns((300.0 + 2700.0 * (-f64::from(moves) / 15.0).exp()).round() as i32)
}

pub(crate) fn run(args: &MatesArgs) -> Result<()> {
    let progress = Progress::new("games");
    let (mut games, mut faults, mut seen) = (BTreeMap::<RecordKey, Vec<u8>>::new(), Faults::default(), 0_u64);
    let mut keep = |game: GameRecord| -> Result<()> {
        seen += 1;
        progress.add(1);
        if let Some(noted) = noted(game, args.moves) {
            let bytes = noted.to_bytes()?;
            games.insert(RecordKind::Games.key(&bytes)?, bytes);
        }
        Ok(())
    };
    for input in &args.inputs {
        if input.join("set.json").exists() {
            let set = Set::open(input)?;
            if set.kind() != RecordKind::Games {
                bail!("{} is not a set of games", input.display());
            }
            for entry in set.iter() {
                keep(GameRecord::from_bytes(&entry?.1)?)?;
            }
            continue;
        }
        for file in SourceFile::find(input)? {
            for chunk in Chunks::open(&file, &BytesRead::default())? {
                let parsed = chunk.read(&GameRules::default());
                faults.merge(parsed.faults);
                parsed.games.into_iter().try_for_each(&mut keep)?;
            }
        }
    }
    progress.finish();
    if games.is_empty() {
        bail!("none of {seen} games ends in checkmate; no set is written");
    }
    let kind = RecordKind::Games;
    let named = args.inputs.iter().map(|input| input.display().to_string()).collect::<Vec<_>>().join(", ");
    let content = games.values().map(Vec::as_slice).chain([named.as_bytes()]);
    let plan = SetPlan {
        kind,
        shards: args.shards,
        packing: ShardOptions::of(kind),
        fingerprint: fingerprint(content.collect::<Vec<_>>()),
    };
    let mut writer = SetWriter::create(&args.out, plan)
        .with_context(|| format!("cannot write the set to {}", args.out.display()))?;
    for (key, bytes) in &games {
        writer.push(*key, bytes)?;
    }
    let source = SourceSummary { name: named, records: games.len() as u64, broken: BTreeMap::new() };
    let options = BTreeMap::from([("moves before mate".to_owned(), args.moves.to_string())]);
    writer.finish(vec![source], options)?;
    println!("{}: {} of {seen} games end in checkmate", args.out.display(), games.len());
    if !faults.is_empty() {
        println!("could not be read: {faults}");
    }
    Ok(())
}

/// The game with its last `moves` moves annotated; `None` if it does not end in checkmate.
fn noted(mut game: GameRecord, moves: u32) -> Option<GameRecord> {
    let mut end = game.start.clone();
    for ply in &game.plies {
        end.play_unchecked(ply.played);
    }
    if !end.is_checkmate() {
        return None;
    }
    let winner = !end.turn();
    let plies = game.plies.len();
    for (ply, note) in game.plies.iter_mut().enumerate() {
        // Moves of the winner to the mate, after this move.
        let left = (plies - 1 - ply).div_ceil(2) as u32;
        note.evaluation = (1..=moves).contains(&left).then(|| for_white(worth(left), winner));
    }
    Some(game)
}

fn for_white(score: Score, winner: Color) -> ForWhite<Score> {
    ForWhite(match (winner, score) {
        (Color::White, score) => score,
        (Color::Black, Score::Centipawns(cp)) => Score::Centipawns(-cp),
        (Color::Black, Score::Mate(moves)) => Score::Mate(-moves),
    })
}
