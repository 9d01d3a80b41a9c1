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

pub(crate) fn run(args: &ValidateArgs) -> Result<()> {
    let players = PlayerFactory::default();
    let budget = args.limits.budget();
    let engine = Stockfish::find(args.stockfish.as_deref())?;
    let ratings = engine.opponents(args.max);
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
