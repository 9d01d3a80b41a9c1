//! `tabia validate`: a rating from games against Stockfish at known ratings.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::json;
use tabia_arena::statistics::{Against, RatingEstimate, rate_against};
use tabia_arena::{Adjudication, Format, PlayerId, Standings};
use tabia_encoding::Elo;
use tabia_search::{Budget, Spec, UciSpec};

use crate::arena::{Contest, Thinking, entrants, openings, write_json};
use crate::cli::ValidateArgs;
use crate::players::Makers;

/// The ratings of the first opponents; the lowest is the lowest Stockfish has.
const RATINGS: [u16; 5] = [1320, 1500, 1700, 1900, 2100];

/// From one opponent to the next beyond those.
const STEP: u16 = 200;

pub(crate) fn run(args: &ValidateArgs) -> Result<()> {
    let makers = Makers::default();
    let thinking = Thinking::from(&args.limits);
    let command = match &args.stockfish {
        Some(command) => command.clone(),
        None => find_stockfish()?,
    };
    let ratings = ratings(args.max);
    let opponents: Vec<Spec> = ratings.iter().map(|rating| stockfish(&command, *rating)).collect();
    let version =
        makers.make(&stockfish(&command, RATINGS[0]), 0).context("Stockfish does not start")?.name();
    let specs: Vec<Spec> = std::iter::once(args.player.clone()).chain(opponents).collect();
    let contest = Contest {
        event: "Tabia validation".to_owned(),
        players: entrants(&specs, &thinking, &makers)?,
        openings: openings(&args.table)?,
        format: Format::Gauntlet,
        rounds: args.games.div_ceil(2 * u32::try_from(ratings.len())?),
        thinking,
        adjudication: Adjudication::default(),
        sprt: None,
        opponent: Some(version),
        table: &args.table,
    };
    let played = contest.play()?;
    let against = against(&played.finished.standings, &ratings);
    let estimate = rate_against(&against);
    println!("{:>9}  {:>5}  {:>6}  {:>4} {:>4} {:>4}", "Stockfish", "games", "points", "+", "=", "-");
    for Against { rating, games } in &against {
        println!(
            "{rating:>9}  {:>5}  {:>6}  {:>4} {:>4} {:>4}",
            games.games(),
            games.points(),
            games.wins,
            games.draws,
            games.losses
        );
    }
    let words = estimate.as_ref().map_or("unknown".to_owned(), in_words);
    println!("\n{} plays like Stockfish's UCI_Elo {words}", args.player);
    if let Some(path) = &args.table.json {
        let mut value = played.to_json();
        value["rating"] = json!({ "estimate": estimate, "against": against });
        write_json(path, &value)?;
    }
    played.complain_if_stopped(&args.table)
}

/// The opponents' ratings, up to `max`.
fn ratings(max: u16) -> Vec<u16> {
    let beyond = (1..).map(|step| RATINGS[RATINGS.len() - 1] + step * STEP);
    RATINGS.into_iter().chain(beyond).take_while(|rating| *rating <= max).collect()
}

/// Stockfish held to a rating. What is not said here is left to its defaults: one thread, 16 MiB.
fn stockfish(command: &str, rating: u16) -> Spec {
    Spec::Uci(UciSpec {
        command: command.to_owned(),
        elo: Some(Elo(rating)),
        budget: Budget::default(),
        options: Vec::new(),
    })
}

fn against(standings: &Standings, ratings: &[u16]) -> Vec<Against> {
    ratings
        .iter()
        .zip(1..)
        .map(|(rating, place)| Against {
            rating: f64::from(*rating),
            games: standings.between(PlayerId(0), PlayerId(place)).games,
        })
        .collect()
}

fn in_words(estimate: &RatingEstimate) -> String {
    let bound = |bound: Option<f64>| bound.map_or("?".to_owned(), |bound| format!("{bound:.0}"));
    match (estimate.rating, estimate.low, estimate.high) {
        (Some(rating), low, high) => format!("{rating:.0} [{}, {}], 95% interval", bound(low), bound(high)),
        (None, Some(low), _) => format!("above {low:.0}: it won every game"),
        (None, None, Some(high)) => format!("below {high:.0}: it lost every game"),
        (None, None, None) => "unknown".to_owned(),
    }
}

/// Where Debian puts it, which is not in everybody's PATH.
const DEBIAN: &str = "/usr/games/stockfish";

fn find_stockfish() -> Result<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|folder| folder.join("stockfish"));
    let found: Option<PathBuf> =
        in_path.chain(std::iter::once(PathBuf::from(DEBIAN))).find(|file| file.is_file());
    let Some(found) = found else {
        bail!(
            "Stockfish is neither in PATH nor {DEBIAN}: install it (apt-get install stockfish), \
             or name it with --stockfish COMMAND"
        );
    };
    let text = found.to_str().with_context(|| format!("{} is not text", found.display()))?;
    Ok(shlex::try_quote(text)?.into_owned())
}
