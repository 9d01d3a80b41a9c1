//! `tabia validate`: a rating from games against Stockfish at known ratings.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::json;
use tabia_arena::statistics::{Against, RatingEstimate, rate_against};
use tabia_arena::{Adjudication, Format, PlayerId, Standings};
use tabia_encoding::Elo;
use tabia_search::{Budget, Spec, UciSpec};
use tabia_uci::client::{About, Client, Launch};
use tabia_uci::message::{OptionKind, OptionSpec};

use crate::arena::{Contest, Thinking, entrants, openings, write_json};
use crate::cli::ValidateArgs;
use crate::players::Makers;

/// The ratings of the first opponents; the lowest is the lowest of a recent Stockfish.
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
    let engine = Engine::ask(&command)?;
    let ratings = ratings(&engine, args.max);
    if ratings.is_empty() {
        bail!("--max {}: {} plays at {} at least", args.max, engine.name, engine.weakest);
    }
    let opponents = ratings.iter().map(|rating| stockfish(&command, *rating));
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
        opponent: Some(engine.name),
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

/// An engine that can be held to a rating.
struct Engine {
    name: String,
    weakest: u16,
    strongest: u16,
}

impl Engine {
    /// Asks the engine itself.
    fn ask(command: &str) -> Result<Engine> {
        let words = shlex::split(command).unwrap_or_default();
        let (program, arguments) =
            words.split_first().with_context(|| format!("--stockfish {command:?} is not a command"))?;
        let launch = arguments.iter().fold(Launch::new(program), Launch::argument);
        let client = Client::start(launch).with_context(|| format!("{command} does not start"))?;
        let About { name, options, .. } = client.about().clone();
        let (weakest, strongest) = match OptionSpec::find(&options, "UCI_Elo")?.kind {
            OptionKind::Spin { min, max, .. } => (u16::try_from(min)?, u16::try_from(max)?),
            _ => bail!("{name}: UCI_Elo is not a number"),
        };
        Ok(Engine { name, weakest, strongest })
    }
}

/// The opponents' ratings up to `max`, as far as the engine has them; its weakest stands for those below.
fn ratings(engine: &Engine, max: u16) -> Vec<u16> {
    let beyond = (1..).map(|step| RATINGS[RATINGS.len() - 1] + step * STEP);
    let most = max.min(engine.strongest);
    let mut ratings: Vec<u16> = RATINGS
        .into_iter()
        .chain(beyond)
        .map(|rating| rating.max(engine.weakest))
        .take_while(|rating| *rating <= most)
        .collect();
    ratings.dedup();
    ratings
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opponents_are_those_the_engine_can_be() {
        let engine = |weakest, strongest| Engine { name: String::new(), weakest, strongest };
        assert_eq!(ratings(&engine(1320, 3190), 2100), RATINGS);
        assert_eq!(ratings(&engine(1350, 2850), 3190), [1350, 1500, 1700, 1900, 2100, 2300, 2500, 2700]);
        assert_eq!(ratings(&engine(1600, 2850), 1900), [1600, 1700, 1900]);
        assert!(ratings(&engine(1350, 2850), 1320).is_empty());
    }
}
