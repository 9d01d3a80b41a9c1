//! `tabia arena`: players against each other.

mod contest;
mod entrant;
mod interrupt;
mod outcome;
mod progress;
mod thinking;

use anyhow::{Context, Result};
use tabia_arena::{Adjudication, Agreement, DrawAdjudication, Format, Openings, ResignAdjudication};

pub(crate) use self::contest::{Contest, today};
pub(crate) use self::entrant::{SpecEntrant, entrants};
pub(crate) use self::interrupt::heed as heed_interrupts;
pub(crate) use self::outcome::{TestState, write_json};
pub(crate) use self::progress::Watcher;
pub(crate) use self::thinking::Thinking;
use crate::cli::{ArenaArgs, MatchFormat, TableArgs};
use crate::players::PlayerFactory;

/// Games of each two players, when nothing is said.
const USUAL_GAMES: u32 = 100;

/// The most games of a test, when nothing is said.
const LONGEST_TEST: u32 = 100_000;

pub(crate) fn run(args: &ArenaArgs) -> Result<()> {
    let players = PlayerFactory::default();
    let thinking = Thinking::from(&args.limits);
    let usual = if args.sprt.is_some() { LONGEST_TEST } else { USUAL_GAMES };
    let contest = Contest {
        event: "Tabia arena".to_owned(),
        players: entrants(&args.players, &thinking, &players)?,
        openings: openings(&args.table)?,
        format: format(args),
        rounds: args.games.unwrap_or(usual).div_ceil(2),
        thinking,
        adjudication: if args.adjudicate { usual_adjudication() } else { Adjudication::default() },
        sprt: args.sprt,
        opponent: None,
        table: &args.table,
    };
    let played = contest.play()?;
    print!("{}", played.report);
    if let Some(test) = played.test() {
        println!("\n{test}");
    }
    if let Some(path) = &args.table.json {
        write_json(path, &played.to_json())?;
    }
    played.complain_if_stopped(&args.table)
}

/// The openings asked for.
pub(crate) fn openings(table: &TableArgs) -> Result<Openings> {
    let openings = match &table.openings {
        Some(book) => Openings::open(book).context("--openings")?,
        None => Openings::challenge(),
    };
    Ok(if table.shuffle { openings.shuffled(table.seed) } else { openings })
}

fn format(args: &ArenaArgs) -> Format {
    let usual = if args.players.len() == 2 { MatchFormat::Match } else { MatchFormat::RoundRobin };
    match args.format.unwrap_or(usual) {
        MatchFormat::Match => Format::Match,
        MatchFormat::Gauntlet => Format::Gauntlet,
        MatchFormat::RoundRobin => Format::RoundRobin,
    }
}

/// What fishtest uses, with both players asked.
fn usual_adjudication() -> Adjudication {
    Adjudication {
        resign: Some(ResignAdjudication { move_count: 3, score: 600, agreement: Agreement::TwoSided }),
        draw: Some(DrawAdjudication { move_number: 34, move_count: 8, score: 20 }),
    }
}
