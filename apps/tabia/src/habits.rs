//! `tabia habits`: what people do besides moving, by rating: when they give up, agree to draws and see mates.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use shakmaty::{ByColor, Chess, Color, Position};
use tabia_data::{BytesRead, Chunks, GameRecord, GameRules, PoolRule, SourceFile};
use tabia_encoding::PlayerInfo;
use tabia_game::History;
use tabia_model::{Model, Wdl};

use crate::arena::write_json;
use crate::cli::HabitsArgs;
use crate::players::PlayerFactory;

/// Ratings are counted in bands this wide.
const BAND: u16 = 200;
/// Games shorter than this are not given up but broken off.
const SHORTEST: usize = 20;
/// Who had less than this on the clock may have lost on time.
const SCRAMBLE: f32 = 10.0;

/// A pool of ratings, and the lowest of a band.
type Group = (&'static str, u16);

#[derive(Default, Serialize)]
struct Habits {
    /// Games somebody lost, of those with the loser's rating.
    decisive: u32,
    /// Of those, games that went on to mate.
    mated: u32,
    /// The loser's expected score, as the network sees it, on its turn before giving up; in order.
    given_up: Vec<f32>,
    /// The number of the move on which the game was given up; in order.
    given_up_on: Vec<u32>,
    /// Draws that no rule demanded.
    agreed: u32,
    /// The chance of a draw, as the network sees it, where one was agreed; in order.
    drawish: Vec<f32>,
    /// The number of the move on which; in order.
    agreed_on: Vec<u32>,
    /// How often there was a mate in one.
    mates: u32,
    /// How often it was played.
    mates_played: u32,
}

pub(crate) fn run(args: &HabitsArgs) -> Result<()> {
    let players = PlayerFactory::default();
    let model = match &args.model {
        Some(file) => players.open(file).with_context(|| file.display().to_string())?,
        None => players.human()?,
    };
    if model.card().wdl.is_none() {
        bail!("the network has no win/draw/loss head");
    }
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} games  {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(u64::from(args.games) * args.files.len() as u64).with_style(style);
    let mut groups: BTreeMap<Group, Habits> = BTreeMap::new();
    for path in &args.files {
        read(path, args, &bar, |game| count(&game, &model, args.asked, &mut groups))?;
    }
    bar.finish_and_clear();
    for habits in groups.values_mut() {
        habits.given_up.sort_by(f32::total_cmp);
        habits.drawish.sort_by(f32::total_cmp);
        habits.given_up_on.sort_unstable();
        habits.agreed_on.sort_unstable();
    }
    show(&groups);
    if let Some(path) = &args.json {
        let rows: Vec<_> = groups
            .iter()
            .map(|((pool, band), habits)| serde_json::json!({ "pool": pool, "rating": band, "habits": habits }))
            .collect();
        write_json(path, &rows.into())?;
    }
    Ok(())
}

/// The first games of a file.
fn read(
    path: &Path,
    args: &HabitsArgs,
    bar: &ProgressBar,
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
                bar.inc(1);
                each(game)?;
            }
        }
    }
    Ok(())
}

fn count(game: &GameRecord, model: &Model, asked: usize, groups: &mut BTreeMap<Group, Habits>) -> Result<()> {
    let group = |color: Color| {
        let rating = game.head.ratings[color]?;
        Some((game.head.pool.label(), rating.0 / BAND * BAND))
    };
    let mut position = game.start.clone();
    for ply in &game.plies {
        if let Some(group) = group(position.turn()) {
            let mates = mates(&position);
            if !mates.is_empty() {
                let habits = groups.entry(group).or_default();
                habits.mates += 1;
                habits.mates_played += u32::from(mates.contains(&ply.played));
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
            let habits = groups.entry(group).or_default();
            habits.decisive += 1;
            if position.is_checkmate() {
                habits.mated += 1;
            } else if habits.given_up.len() < asked {
                // On its own turn, or on the one before when it gave up on the opponent's.
                let plies = game.plies.len() - usize::from(position.turn() != loser);
                let said = outlook(game, plies, model)?;
                habits.given_up.push(said.expected());
                habits.given_up_on.push(number(game, plies));
            }
        }
        Some(None) if !position.is_game_over() => {
            let Some(group) = group(position.turn()) else { return Ok(()) };
            let habits = groups.entry(group).or_default();
            habits.agreed += 1;
            if habits.drawish.len() < asked {
                habits.drawish.push(outlook(game, game.plies.len(), model)?.draw);
                habits.agreed_on.push(number(game, game.plies.len()));
            }
        }
        _ => {}
    }
    Ok(())
}

fn number(game: &GameRecord, plies: usize) -> u32 {
    u32::try_from(plies / 2 + 1).unwrap_or(u32::MAX) + game.start.fullmoves().get() - 1
}

/// How the game may end for the side to move after so many plies.
fn outlook(game: &GameRecord, plies: usize, model: &Model) -> Result<Wdl> {
    let seats = ByColor::new_with(|color| PlayerInfo { rating: game.head.ratings[color], time_left: None });
    let mut history = History::new(game.start.clone(), seats).under(game.head.pool, game.head.pace);
    for ply in &game.plies[..plies] {
        history.push(ply.played, ply.clock);
    }
    let said = model.evaluate(&[history.situation()])?.remove(0);
    said.wdl.context("the network says nothing of the result")
}

fn mates(position: &Chess) -> Vec<shakmaty::Move> {
    let mates = |m: &shakmaty::Move| {
        let mut after = position.clone();
        after.play_unchecked(*m);
        after.is_checkmate()
    };
    position.legal_moves().into_iter().filter(mates).collect()
}

fn show(groups: &BTreeMap<Group, Habits>) {
    println!(
        "{:<14} {:>6}  {:>8} {:>6}  {:>23}  {:>4}  {:>6} {:>15}  {:>4}  {:>6} {:>6}",
        "pool",
        "rating",
        "decisive",
        "mated",
        "given up at 10/50/90%",
        "move",
        "agreed",
        "draw at 10/50%",
        "move",
        "mates",
        "played"
    );
    let part = |numbers: &[f32], share: f64| {
        let place = (share * (numbers.len().saturating_sub(1)) as f64).round() as usize;
        numbers.get(place).map_or("-".to_owned(), |number| format!("{number:.3}"))
    };
    let middle = |numbers: &[u32]| numbers.get(numbers.len() / 2).map_or("-".to_owned(), u32::to_string);
    let share = |some: u32, all: u32| {
        if all == 0 { "-".to_owned() } else { format!("{:.0}%", 100.0 * f64::from(some) / f64::from(all)) }
    };
    for ((pool, band), h) in groups {
        let given_up = [0.1, 0.5, 0.9].map(|at| part(&h.given_up, at)).join(" / ");
        let drawish = [0.1, 0.5].map(|at| part(&h.drawish, at)).join(" / ");
        println!(
            "{pool:<14} {band:>6}  {:>8} {:>6}  {given_up:>23}  {:>4}  {:>6} {drawish:>15}  {:>4}  {:>6} {:>6}",
            h.decisive,
            share(h.mated, h.decisive),
            middle(&h.given_up_on),
            h.agreed,
            middle(&h.agreed_on),
            h.mates,
            share(h.mates_played, h.mates),
        );
    }
}

#[cfg(test)]
mod tests {
    use tabia_game::position_from_fen;

    use super::*;

    #[test]
    fn every_mate_in_one_is_found() {
        let mates_in = |fen: &str| mates(&position_from_fen(fen).unwrap()).len();
        assert_eq!(mates_in("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"), 1);
        assert_eq!(mates_in("6k1/5ppp/8/8/8/8/5PPP/RR4K1 w - - 0 1"), 2);
        assert_eq!(mates_in("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"), 0);
    }
}
