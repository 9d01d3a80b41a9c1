//! `tabia-lab strength`: measures the ratings a human-like network plays at, and calibrates them.

mod field;
mod fit;
mod plot;
mod response;
mod rounds;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use tabia_arena::{Openings, Stop};
use tabia_cli::{PlayerFactory, Stockfish, jobs, stop_on_interrupt, write_atomically, write_json};
use tabia_encoding::Elo;
use tabia_model::{Model, ShownRating, Source, Strength, StrengthKnot};
use tabia_players::{BuiltInNetwork, HumanPlay, HumanSpec, Pick, SearchBlend, Spec, StrengthSettings};

use self::field::{OPPONENTS, Opponents, Rated};
use self::response::{Response, Trial};
use self::rounds::{Results, RoundContext};

#[derive(Args)]
#[command(after_help = "Examples:
  tabia-lab strength --maia maia/                         the bundled network, 1000 to 2400
  tabia-lab strength human.safetensors --elos 1200,1600 --games 60
  tabia-lab strength human.safetensors --fit --maia maia/ --plot curve.svg --json curve.json

Ratings are on the scale of Stockfish's UCI_Elo, extended below its lowest by chains of games. Stockfish searches only as
deep as it takes to pick its move, which makes it weaker than with time to think. Every game is saved as soon as it is
finished; the same command resumes a stopped or killed run. docs/guides/strength.md describes the method.")]
pub(crate) struct StrengthArgs {
    /// Network [default: the bundled one].
    model: Option<PathBuf>,
    /// Ratings to measure.
    #[arg(long, value_name = "ELO,...", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(600..=2600),
        default_values_t = [1000, 1200, 1400, 1600, 1800, 2000, 2200, 2400])]
    elos: Vec<u16>,
    /// Minimum games per rating; twice as many below 1300.
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(8..=100_000))]
    games: u32,
    /// Measure the raw policy: no calibration, no search.
    #[arg(long, conflicts_with = "fit")]
    raw: bool,
    /// Calibrate: fit the strength settings and write them to the network's card.
    #[arg(long)]
    fit: bool,
    /// With --fit: rounds of fitting, before one more round that verifies the result with its own games.
    #[arg(long, default_value_t = 3, value_name = "N", requires = "fit", value_parser = clap::value_parser!(u32).range(1..=20))]
    rounds: u32,
    /// With --fit: games per rating in each round of fitting; several times as many below 2100, where games are fast.
    #[arg(long, default_value_t = 100, value_name = "N", requires = "fit", value_parser = clap::value_parser!(u32).range(8..=100_000))]
    fit_games: u32,
    /// With --fit: the safetensors file whose card is written, created as a copy of the network [default: the network].
    #[arg(long, value_name = "FILE", requires = "fit")]
    write: Option<PathBuf>,
    /// Folder of Maia networks, maia-1100.pb.gz and so on, as opponents.
    #[arg(long, value_name = "DIR")]
    maia: Option<PathBuf>,
    /// Command that runs Stockfish [default: stockfish in PATH or /usr/games].
    #[arg(long, value_name = "COMMAND")]
    stockfish: Option<String>,
    /// Folder for the games.
    #[arg(long, value_name = "DIR", default_value = "strength-games")]
    games_in: PathBuf,
    /// Openings: .fen, .epd or .pgn, plain or in a .zip [default: 25 bundled openings].
    #[arg(long, value_name = "BOOK")]
    openings: Option<PathBuf>,
    /// Concurrent games [default: one per core].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Random seed.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Also write all results to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Plot the curve to this SVG file.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// The measured rating of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Shown {
    asked: u16,
    rating: f64,
    low: f64,
    high: f64,
    games: u64,
}

impl Shown {
    fn gap(&self) -> f64 {
        self.rating - f64::from(self.asked)
    }
}

/// The result: a measured rating for each one asked for, and those of other players.
struct Curve {
    shown: Vec<Shown>,
    others: Vec<(String, Shown)>,
    games: u64,
    faults: Vec<String>,
    method: String,
}

pub(crate) fn run(args: &StrengthArgs) -> Result<()> {
    let mut asked = args.elos.clone();
    asked.sort_unstable();
    asked.dedup();
    if args.fit && args.model.is_none() && !args.write.as_ref().is_some_and(|file| file.is_file()) {
        bail!("--fit needs --write FILE: the bundled network cannot be changed");
    }
    let players = PlayerFactory::default();
    let model = players.human_or(args.model.as_deref()).context("the network")?;
    let stockfish = Stockfish::find(args.stockfish.as_deref())?;
    let method = method(&stockfish.name, args);
    let opponents = Opponents::new(stockfish, args.maia.as_deref())?;
    let stop = Arc::new(Stop::new());
    stop_on_interrupt(&stop)?;
    rounds::prepare(&args.games_in)?;
    let context = RoundContext {
        players: &players,
        openings: openings(args)?,
        folder: args.games_in.clone(),
        seed: args.seed,
        jobs: jobs(args.jobs),
        stop,
        facts: vec![
            ("network".to_owned(), model.sha256().to_owned()),
            ("search's evaluation".to_owned(), players.built_in(BuiltInNetwork::Value)?.sha256().to_owned()),
            ("opponent".to_owned(), opponents.stockfish.name.clone()),
        ],
    };
    let mut curve = if args.fit {
        let (curve, knots) = fit(args, &asked, &context, &opponents)?;
        write_table(args, &curve, knots, &method)?;
        curve
    } else {
        measure(args, &asked, &context, &opponents)?
    };
    curve.method = method;
    print!("{curve}");
    if let Some(path) = &args.json {
        write_json(path, &curve.to_json())?;
    }
    if let Some(path) = &args.plot {
        let title = "Requested and measured ratings of the human-like player";
        std::fs::write(path, plot::svg(title, &curve.shown)).with_context(|| path.display().to_string())?;
    }
    if !curve.faults.is_empty() {
        bail!("{} games ended by a fault, the first: {}", curve.faults.len(), curve.faults[0]);
    }
    Ok(())
}

fn openings(args: &StrengthArgs) -> Result<Openings> {
    let openings = match &args.openings {
        Some(book) => Openings::open(book).context("--openings")?,
        None => Openings::balanced(),
    };
    Ok(openings.shuffled(args.seed))
}

/// The method as text, for the card.
fn method(stockfish: &str, args: &StrengthArgs) -> String {
    let book = match &args.openings {
        Some(book) => book.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        None => "the challenge's openings".to_owned(),
    };
    let maia = if args.maia.is_some() { ", Maia-1 networks (likeliest move)" } else { "" };
    format!(
        "UCI_Elo of {stockfish} at the depth where it chooses, weaker than with time to think; \
         games against it{maia} and the next rating, from {book}, without resignations; all players rated together, \
         Stockfish fixed; games of fitting do not count; 95% intervals"
    )
}

/// Measures the ratings as they are.
fn measure(
    args: &StrengthArgs,
    asked: &[u16],
    context: &RoundContext<'_>,
    opponents: &Opponents,
) -> Result<Curve> {
    let play = if args.raw { HumanPlay::Fixed(StrengthSettings::RAW) } else { HumanPlay::Calibrated };
    let human =
        |elo| HumanSpec { file: args.model.clone(), elo: Some(Elo(elo)), play, ..HumanSpec::default() };
    let rated: Vec<Rated> = asked
        .iter()
        .map(|&asked| Rated { asked, spec: Spec::Human(human(asked)), share: measuring_share(asked) })
        .collect();
    let mut results = Results::default();
    let name = if args.raw { "measured raw" } else { "measured" };
    context.play(name, &opponents.field(&rated), turns(args.games), &mut results)?;
    Curve::of(&rated, &results)
}

/// The turns in which a rated player plays at least this many games.
fn turns(games: u32) -> u32 {
    games.div_ceil(2 * OPPONENTS)
}

/// From this rating on games are slow, because of the searches of the player and of Stockfish.
const SLOW: u16 = 2100;
/// Below this rating most opponents are much stronger, and games carry less information.
const FAR_BELOW: u16 = 1300;

/// The opponents of a player in a measuring turn.
fn measuring_share(asked: u16) -> u32 {
    if asked < FAR_BELOW { 2 * OPPONENTS } else { OPPONENTS }
}

/// The opponents of a player in a fitting turn: more where games are fast and where the uncertainty is large. `unsure` is
/// its standard deviation relative to the average.
fn fitting_share(asked: u16, unsure: f64) -> u32 {
    if asked >= SLOW {
        return OPPONENTS;
    }
    // The standard deviation falls with the square root of the games.
    let share = f64::from(3 * measuring_share(asked)) * unsure.powi(2);
    share.clamp(OPPONENTS.into(), (6 * OPPONENTS).into()).round() as u32
}

/// A player that was tried, and its target rating.
struct Tried {
    name: String,
    aim: f32,
}

/// The round that verifies the result of this many rounds.
fn verifying(rounds: u32) -> String {
    format!("verifying after {rounds}")
}

/// Plays and refits in rounds; a last round verifies the result with its own games. When a fit is continued with more
/// rounds, its verifying games become the next round: they were played with the same settings.
fn fit(
    args: &StrengthArgs,
    asked: &[u16],
    context: &RoundContext<'_>,
    opponents: &Opponents,
) -> Result<(Curve, Vec<StrengthKnot>)> {
    let mut results = Results::default();
    let mut tried: Vec<Tried> = Vec::new();
    let mut response = Response::of(Vec::new());
    for round in 1..=args.rounds {
        let aims: Vec<f32> = asked.iter().map(|&asked| response.aim_for(asked)).collect();
        let (_, mut rated) = players_at(args, asked, &aims);
        let mut name = verifying(round - 1);
        if !context.began(&name) {
            name = format!("round {round}");
            share_by_doubt(&mut rated, &aims, &response);
        }
        context.play(&name, &opponents.field(&rated), turns(args.fit_games), &mut results)?;
        for (rated, aim) in rated.iter().zip(aims) {
            let name = rated.spec.to_string();
            if !tried.iter().any(|earlier| earlier.name == name) {
                tried.push(Tried { name, aim });
            }
        }
        eprint!("{}", Curve::of(&rated, &results)?.table());
        response = Response::of(trials(&tried, &results)?);
    }
    let aims: Vec<f32> = asked.iter().map(|&asked| response.aim_for(asked)).collect();
    let (knots, rated) = players_at(args, asked, &aims);
    let mut verified = Results::default();
    context.play(&verifying(args.rounds), &opponents.field(&rated), turns(args.games), &mut verified)?;
    Ok((Curve::of(&rated, &verified)?, knots))
}

/// The players of these targets, with the opponents of a measurement.
fn players_at(args: &StrengthArgs, asked: &[u16], aims: &[f32]) -> (Vec<StrengthKnot>, Vec<Rated>) {
    let knots: Vec<StrengthKnot> =
        asked.iter().zip(aims).map(|(&asked, &aim)| fit::knot(asked, aim)).collect();
    let rated = knots
        .iter()
        .map(|knot| Rated {
            asked: knot.asked,
            spec: with_settings(args.model.as_deref(), knot),
            share: measuring_share(knot.asked),
        })
        .collect();
    (knots, rated)
}

/// Gives players more opponents the larger the uncertainty of their target.
fn share_by_doubt(rated: &mut [Rated], aims: &[f32], response: &Response) {
    let unsure: Vec<f64> = aims.iter().map(|&aim| response.deviation(aim)).collect();
    let usual = unsure.iter().sum::<f64>() / unsure.len().max(1) as f64;
    for (rated, unsure) in rated.iter_mut().zip(unsure) {
        rated.share = fitting_share(rated.asked, unsure / usual);
    }
}

/// The ratings of all tried players from all rounds together.
fn trials(tried: &[Tried], results: &Results) -> Result<Vec<Trial>> {
    let ratings = results.ratings()?;
    let trial = |tried: &Tried| {
        let (_, rating) = ratings.iter().find(|(name, _)| *name == tried.name)?;
        let deviation = (rating.high? - rating.low?) / (2.0 * 1.96);
        Some(Trial { aim: tried.aim, shown: rating.rating?, deviation })
    };
    tried.iter().map(|tried| trial(tried).context("a player has no rating")).collect()
}

/// The player of a knot, with all settings explicit.
fn with_settings(file: Option<&Path>, knot: &StrengthKnot) -> Spec {
    let pick = Pick::Sampled { temperature: knot.temperature, top_p: 1.0 };
    let blend = SearchBlend { trust: knot.trust, nodes: knot.nodes, mates: knot.mates };
    Spec::Human(HumanSpec {
        file: file.map(Path::to_owned),
        elo: Some(Elo(knot.told.round() as u16)),
        play: HumanPlay::Fixed(StrengthSettings { pick, blend }),
        ..HumanSpec::default()
    })
}

/// Writes the table to the network's card.
fn write_table(args: &StrengthArgs, curve: &Curve, mut knots: Vec<StrengthKnot>, method: &str) -> Result<()> {
    for (knot, shown) in knots.iter_mut().zip(&curve.shown) {
        knot.shown = Some(ShownRating {
            rating: shown.rating.round() as f32,
            low: shown.low.round() as f32,
            high: shown.high.round() as f32,
            games: u32::try_from(shown.games).unwrap_or(u32::MAX),
        });
    }
    let file: &PathBuf = args.write.as_ref().or(args.model.as_ref()).context("--write FILE is missing")?;
    let named = || file.display().to_string();
    // A new file is a copy of the measured network.
    let from = args.model.as_ref().filter(|_| !file.exists()).unwrap_or(file);
    let bytes = std::fs::read(from).with_context(|| from.display().to_string())?;
    let mut card = Model::from_bytes(&bytes).with_context(named)?.card().clone();
    card.strength = Some(Strength { method: method.to_owned(), knots });
    let written = Source::with_card(&bytes, &card).with_context(named)?;
    let again = Model::from_bytes(&written).context("the network does not open with its new card")?;
    if *again.card() != card {
        bail!("{}: the card reads back differently than it was written", named());
    }
    write_atomically(file, &written)?;
    eprintln!("{}: wrote the calibration to the card", named());
    Ok(())
}

impl Curve {
    fn of(rated: &[Rated], results: &Results) -> Result<Curve> {
        let ratings = results.ratings()?;
        let row = |asked: u16, name: &str| {
            let (_, rating) = ratings.iter().find(|(known, _)| known == name)?;
            let games = rating.games.games();
            Some(Shown { asked, rating: rating.rating?, low: rating.low?, high: rating.high?, games })
        };
        let shown: Option<Vec<Shown>> =
            rated.iter().map(|rated| row(rated.asked, &rated.spec.to_string())).collect();
        let names: Vec<String> = rated.iter().map(|rated| rated.spec.to_string()).collect();
        let others = ratings
            .iter()
            .filter(|(name, _)| !names.contains(name) && !results.is_anchor(name))
            .filter_map(|(name, _)| Some((name.clone(), row(0, name)?)))
            .collect();
        Ok(Curve {
            shown: shown.context("a player has no rating")?,
            others,
            games: results.games,
            faults: results.faults.clone(),
            method: String::new(),
        })
    }

    /// The mean absolute gap between measured and requested ratings.
    fn mean_gap(&self) -> f64 {
        self.shown.iter().map(|shown| shown.gap().abs()).sum::<f64>() / self.shown.len().max(1) as f64
    }

    fn table(&self) -> String {
        let mut text =
            format!("{:>5}  {:>5}  {:>5}  {:>14}  {:>5}\n", "asked", "shown", "gap", "95%", "games");
        for shown in &self.shown {
            let interval = format!("[{:.0}, {:.0}]", shown.low, shown.high);
            text.push_str(&format!(
                "{:>5}  {:>5.0}  {:>+5.0}  {interval:>14}  {:>5}\n",
                shown.asked,
                shown.rating,
                shown.gap(),
                shown.games
            ));
        }
        text.push_str(&format!("mean gap {:.0} Elo, {} games\n", self.mean_gap(), self.games));
        text
    }

    fn to_json(&self) -> Value {
        json!({
            "method": self.method,
            "shown": self.shown,
            "mean_gap": self.mean_gap(),
            "others": self.others.iter().map(|(name, shown)| json!({ "name": name, "rating": shown.rating,
                "low": shown.low, "high": shown.high, "games": shown.games })).collect::<Vec<_>>(),
            "games": self.games,
            "faults": self.faults,
        })
    }
}

impl std::fmt::Display for Curve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}\n", self.method)?;
        f.write_str(&self.table())?;
        if !self.others.is_empty() {
            writeln!(f, "\nother players, on the same scale:")?;
        }
        for (name, shown) in &self.others {
            writeln!(f, "{:>5.0}  [{:.0}, {:.0}]  {name}", shown.rating, shown.low, shown.high)?;
        }
        Ok(())
    }
}
