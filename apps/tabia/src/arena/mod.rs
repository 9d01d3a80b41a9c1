//! `tabia arena`: matches and tournaments.

mod contest;
mod outcome;

use anyhow::{Context, Result};
use tabia_arena::{Adjudication, Agreement, Budget, DrawAdjudication, Format, Openings, ResignAdjudication};
use tabia_cli::{PlayerFactory, entrants, write_json};
use tabia_game::Chess960;

pub(crate) use self::contest::Contest;
pub(crate) use self::outcome::TestState;
use crate::cli::{ArenaArgs, MatchFormat, TableArgs};

/// Default games per pairing.
const DEFAULT_GAMES: u32 = 100;

/// Default maximum games of a test.
const LONGEST_TEST: u32 = 100_000;

pub(crate) fn run(args: &ArenaArgs) -> Result<()> {
    let players = PlayerFactory::default();
    let budget = Budget { other_control: args.opponent_tc.clone(), ..args.limits.budget() };
    let default = if args.sprt.is_some() { LONGEST_TEST } else { DEFAULT_GAMES };
    let contest = Contest {
        event: "Tabia arena".to_owned(),
        players: entrants(&args.players, &budget, &players)?,
        openings: openings(&args.table)?,
        format: format(args),
        rounds: args.games.unwrap_or(default).div_ceil(2),
        budget,
        adjudication: if args.adjudicate { default_adjudication() } else { Adjudication::default() },
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
    played.error_if_stopped(&args.table)
}

/// The openings of a contest.
pub(crate) fn openings(table: &TableArgs) -> Result<Openings> {
    if let Some(odds) = table.odds {
        return Ok(Openings::at_odds(odds));
    }
    let openings = match &table.openings {
        Some(book) => Openings::open(book).context("--openings")?,
        None if table.chess960 => Openings::chess960(table.seed),
        None => Openings::balanced(),
    };
    if let Some(name) = &table.opening {
        if table.chess960 {
            let number: Chess960 = name.parse().with_context(|| format!("--opening {name:?}"))?;
            let label = format!("Chess960 position {number}");
            return openings.named(&label).with_context(|| format!("--opening {name:?}: not found"));
        }
        let known = || openings.list().iter().map(tabia_arena::Opening::label).collect::<Vec<_>>().join(", ");
        return openings
            .named(name)
            .with_context(|| format!("--opening {name:?}: expected one of {}", known()));
    }
    Ok(if table.shuffle { openings.shuffled(table.seed) } else { openings })
}

fn format(args: &ArenaArgs) -> Format {
    let default = if args.players.len() == 2 { MatchFormat::Match } else { MatchFormat::RoundRobin };
    match args.format.unwrap_or(default) {
        MatchFormat::Match => Format::Match,
        MatchFormat::Gauntlet => Format::Gauntlet,
        MatchFormat::RoundRobin => Format::RoundRobin,
    }
}

/// As fishtest, with the scores of both players.
fn default_adjudication() -> Adjudication {
    Adjudication {
        resign: Some(ResignAdjudication { move_count: 3, score: 600, agreement: Agreement::TwoSided }),
        draw: Some(DrawAdjudication { move_number: 34, move_count: 8, score: 20 }),
    }
}
