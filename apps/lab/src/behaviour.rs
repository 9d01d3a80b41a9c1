//! `tabia-lab behaviour`: when people resign, agree to draws and see mates, by rating.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use shakmaty::{ByColor, Chess, Color, Position};
use tabia_cli::{PlayerFactory, write_json};
use tabia_data::{BytesRead, Chunks, GameRecord, GameRules, PoolRule, SourceFile};
use tabia_encoding::{PlayerInfo, RatingPool};
use tabia_game::History;
use tabia_model::{Model, Wdl};
use tabia_report::{Progress, aligned, head};

#[derive(Args)]
#[command(after_help = "Example:
  tabia-lab behaviour otb-rated.pgn.zst online-clock.pgn.zst --games 50000

A game counts as resigned if it was won without a mate; where clocks are known, games that may have been lost on time are
excluded. The expected score at that point is the network's evaluation, given both ratings.")]
pub(crate) struct BehaviourArgs {
    /// PGN files, plain or compressed.
    #[arg(required = true, value_name = "GAMES")]
    files: Vec<PathBuf>,
    /// Network that evaluates positions [default: the bundled human-like network].
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Rating pool [default: as the games say].
    #[arg(long, value_name = "online|over-the-board|unknown")]
    pool: Option<RatingPool>,
    /// Maximum games per file.
    #[arg(long, default_value_t = 20_000, value_name = "N")]
    games: u32,
    /// Maximum positions of each kind to evaluate per rating band.
    #[arg(long, default_value_t = 200, value_name = "N")]
    asked: usize,
    /// Also write all figures to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The width of a rating band.
const BAND: u16 = 200;
/// Shorter games count as abandoned, not resigned.
const SHORTEST: usize = 20;
/// Seconds below which a game may have been lost on time.
const SCRAMBLE: f32 = 10.0;

/// A rating pool and the lowest rating of a band.
type Group = (&'static str, u16);

#[derive(Default, Serialize)]
struct Statistics {
    /// Decisive games with a rating of the loser.
    decisive: u32,
    /// Of those, games that went on to mate.
    mated: u32,
    /// The loser's expected score, by the network, on its last turn before resigning; sorted.
    given_up: Vec<f32>,
    /// The move number of the resignation; sorted.
    given_up_on: Vec<u32>,
    /// Draws by agreement.
    agreed: u32,
    /// The draw probability, by the network, at the agreement; sorted.
    drawish: Vec<f32>,
    /// The move number of the agreement; sorted.
    agreed_on: Vec<u32>,
    /// How often there was a mate in one.
    mates: u32,
    /// How often it was played.
    mates_played: u32,
}

pub(crate) fn run(args: &BehaviourArgs) -> Result<()> {
    let players = PlayerFactory::default();
    let model = players.human_or(args.model.as_deref()).context("--model")?;
    if model.card().wdl.is_none() {
        bail!("the network has no win/draw/loss head");
    }
    let progress = Progress::of(u64::from(args.games) * args.files.len() as u64, "games");
    let mut groups: BTreeMap<Group, Statistics> = BTreeMap::new();
    for path in &args.files {
        read(path, args, &progress, |game| count(&game, &model, args.asked, &mut groups))?;
    }
    progress.finish();
    for statistics in groups.values_mut() {
        statistics.given_up.sort_by(f32::total_cmp);
        statistics.drawish.sort_by(f32::total_cmp);
        statistics.given_up_on.sort_unstable();
        statistics.agreed_on.sort_unstable();
    }
    show(&groups);
    if let Some(path) = &args.json {
        let rows: Vec<_> = groups
            .iter()
            .map(|((pool, band), statistics)| serde_json::json!({ "pool": pool, "rating": band, "habits": statistics }))
            .collect();
        write_json(path, &rows.into())?;
    }
    Ok(())
}

/// The first games of a file.
fn read(
    path: &Path,
    args: &BehaviourArgs,
    progress: &Progress,
    mut each: impl FnMut(GameRecord) -> Result<()>,
) -> Result<()> {
    let pool = args.pool.map_or(PoolRule::Auto, PoolRule::Is);
    let rules = GameRules { pool, ..GameRules::default() };
    let mut left = args.games;
    for file in SourceFile::find(path)? {
        for chunk in Chunks::open(&file, &BytesRead::default())? {
            for game in chunk.read(&rules).games {
                if left == 0 {
                    return Ok(());
                }
                left -= 1;
                progress.add(1);
                each(game)?;
            }
        }
    }
    Ok(())
}

fn count(
    game: &GameRecord,
    model: &Model,
    asked: usize,
    groups: &mut BTreeMap<Group, Statistics>,
) -> Result<()> {
    let group = |color: Color| {
        let rating = game.head.ratings[color]?;
        Some((game.head.pool.label(), rating.0 / BAND * BAND))
    };
    let mut position = game.start.clone();
    for ply in &game.plies {
        if let Some(group) = group(position.turn()) {
            let mates = mates(&position);
            if !mates.is_empty() {
                let statistics = groups.entry(group).or_default();
                statistics.mates += 1;
                statistics.mates_played += u32::from(mates.contains(&ply.played));
            }
        }
        position.play_unchecked(ply.played);
    }
    if game.plies.len() < SHORTEST {
        return Ok(());
    }
    match game.head.result {
        Some(Some(winner)) => {
            let loser = !winner;
            let Some(group) = group(loser) else { return Ok(()) };
            let last_clock =
                game.plies.iter().rev().skip(usize::from(position.turn() == loser)).step_by(2).next();
            if last_clock.and_then(|ply| ply.clock).is_some_and(|clock| clock.as_secs_f32() < SCRAMBLE) {
                return Ok(());
            }
            let statistics = groups.entry(group).or_default();
            statistics.decisive += 1;
            if position.is_checkmate() {
                statistics.mated += 1;
            } else if statistics.given_up.len() < asked {
                // On its own turn, or the one before if it resigned on the opponent's.
                let plies = game.plies.len() - usize::from(position.turn() != loser);
                let said = evaluate(game, plies, model)?;
                statistics.given_up.push(said.expected());
                statistics.given_up_on.push(number(game, plies));
            }
        }
        Some(None) if !position.is_game_over() => {
            let Some(group) = group(position.turn()) else { return Ok(()) };
            let statistics = groups.entry(group).or_default();
            statistics.agreed += 1;
            if statistics.drawish.len() < asked {
                statistics.drawish.push(evaluate(game, game.plies.len(), model)?.draw);
                statistics.agreed_on.push(number(game, game.plies.len()));
            }
        }
        _ => {}
    }
    Ok(())
}

fn number(game: &GameRecord, plies: usize) -> u32 {
    u32::try_from(plies / 2 + 1).unwrap_or(u32::MAX) + game.start.fullmoves().get() - 1
}

/// The evaluation for the side to move after this many plies.
fn evaluate(game: &GameRecord, plies: usize, model: &Model) -> Result<Wdl> {
    let seats = ByColor::new_with(|color| PlayerInfo { rating: game.head.ratings[color], time_left: None });
    let mut history = History::new(game.start.clone(), seats).under(game.head.pool, game.head.pace);
    for ply in &game.plies[..plies] {
        history.push(ply.played, ply.clock);
    }
    let said = model.evaluate(&[history.situation()])?.remove(0);
    said.wdl.context("the network has no win/draw/loss head")
}

fn mates(position: &Chess) -> Vec<shakmaty::Move> {
    let mates = |m: &shakmaty::Move| {
        let mut after = position.clone();
        after.play_unchecked(*m);
        after.is_checkmate()
    };
    position.legal_moves().into_iter().filter(mates).collect()
}

fn show(groups: &BTreeMap<Group, Statistics>) {
    let mut rows = vec![head(&[
        "pool",
        "rating",
        "decisive",
        "mated",
        "resigned at 10/50/90%",
        "move",
        "agreed",
        "draw at 10/50%",
        "move",
        "mates",
        "played",
    ])];
    let part = |numbers: &[f32], share: f64| {
        let place = (share * (numbers.len().saturating_sub(1)) as f64).round() as usize;
        numbers.get(place).map_or("-".to_owned(), |number| format!("{number:.3}"))
    };
    let middle = |numbers: &[u32]| numbers.get(numbers.len() / 2).map_or("-".to_owned(), u32::to_string);
    let share = |some: u32, all: u32| {
        if all == 0 { "-".to_owned() } else { format!("{:.0}%", 100.0 * f64::from(some) / f64::from(all)) }
    };
    for ((pool, band), h) in groups {
        rows.push(vec![
            (*pool).to_owned(),
            band.to_string(),
            h.decisive.to_string(),
            share(h.mated, h.decisive),
            [0.1, 0.5, 0.9].map(|at| part(&h.given_up, at)).join(" / "),
            middle(&h.given_up_on),
            h.agreed.to_string(),
            [0.1, 0.5].map(|at| part(&h.drawish, at)).join(" / "),
            middle(&h.agreed_on),
            h.mates.to_string(),
            share(h.mates_played, h.mates),
        ]);
    }
    println!("{}", aligned(&rows));
}

#[cfg(test)]
mod tests {
    use tabia_game::position_from_fen;

    use super::*;

    #[test]
    fn all_mates_in_one_are_found() {
        let mates_in = |fen: &str| mates(&position_from_fen(fen).unwrap()).len();
        assert_eq!(mates_in("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"), 1);
        assert_eq!(mates_in("6k1/5ppp/8/8/8/8/5PPP/RR4K1 w - - 0 1"), 2);
        assert_eq!(mates_in("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"), 0);
    }
}
