//! `tabia validate`: a rating from games against Stockfish at fixed ratings.

use anyhow::{Result, bail};
use serde_json::json;
use tabia_arena::statistics::{Against, rate_against};
use tabia_arena::{Adjudication, Format, PlayerId, Standings};
use tabia_cli::{PlayerFactory, Stockfish, entrants, write_json};
use tabia_players::{Limits, Spec};
use tabia_report::{aligned, head};

use crate::arena::{Contest, openings};
use crate::cli::ValidateArgs;

/// The ratings of the first opponents; the first is the lowest of a recent Stockfish.
const RATINGS: [u16; 5] = [1320, 1500, 1700, 1900, 2100];

/// The step between further opponents.
const STEP: u16 = 200;

pub(crate) fn run(args: &ValidateArgs) -> Result<()> {
    let players = PlayerFactory::default();
    let budget = args.limits.budget();
    let engine = Stockfish::find(args.stockfish.as_deref())?;
    let ratings = ratings(&engine, args.max);
    if ratings.is_empty() {
        bail!("--max {}: {} plays at {} or higher", args.max, engine.name, engine.weakest);
    }
    let opponents = ratings.iter().map(|rating| engine.at(*rating, Limits::default()));
    let specs: Vec<Spec> = std::iter::once(args.player.clone()).chain(opponents).collect();
    let contest = Contest {
        event: "Tabia validation".to_owned(),
        players: entrants(&specs, &budget, &players)?,
        openings: openings(&args.table)?,
        format: Format::Gauntlet,
        rounds: args.games.div_ceil(2 * u32::try_from(ratings.len())?),
        budget,
        adjudication: Adjudication::default(),
        sprt: None,
        opponent: Some(engine.name.clone()),
        table: &args.table,
    };
    let played = contest.play()?;
    let against = against(&played.finished.standings, &ratings);
    let estimate = rate_against(&against);
    let mut rows = vec![head(&["Stockfish", "games", "points", "+", "=", "-"])];
    rows.extend(against.iter().map(|Against { rating, games }| {
        let points = [games.points().to_string()];
        let counts = [games.wins, games.draws, games.losses].map(|count| count.to_string());
        [vec![rating.to_string(), games.games().to_string()], points.into(), counts.into()].concat()
    }));
    println!("{}", aligned(&rows));
    let words = estimate.map_or("unknown".to_owned(), |estimate| format!("{estimate}, 95% interval"));
    println!("\n{} plays like Stockfish's UCI_Elo {words}", args.player);
    if let Some(path) = &args.table.json {
        let mut value = played.to_json();
        value["rating"] = json!({ "estimate": estimate, "against": against });
        write_json(path, &value)?;
    }
    played.error_if_stopped(&args.table)
}

/// The ratings of opponents up to `max` that the engine supports; lower ones become its lowest.
fn ratings(engine: &Stockfish, max: u16) -> Vec<u16> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opponents_lie_within_the_range_of_the_engine() {
        let engine = Stockfish::of_range;
        assert_eq!(ratings(&engine(1320, 3190), 2100), RATINGS);
        assert_eq!(ratings(&engine(1350, 2850), 3190), [1350, 1500, 1700, 1900, 2100, 2300, 2500, 2700]);
        assert_eq!(ratings(&engine(1600, 2850), 1900), [1600, 1700, 1900]);
        assert!(ratings(&engine(1350, 2850), 1320).is_empty());
    }
}
