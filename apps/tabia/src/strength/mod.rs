//! `tabia strength`: whether the human player shows the rating it is asked for, and the numbers that make it so.

mod anchor;
mod field;
mod fit;
mod plot;
mod response;
mod rounds;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::{Value, json};
use tabia_arena::{Openings, Stop};
use tabia_encoding::Elo;
use tabia_model::{Model, ShownRating, Source, Strength, StrengthKnot};
use tabia_search::{HumanPlay, HumanSpec, Pick, SearchBlend, Spec, StrengthSettings};

pub(crate) use self::anchor::Stockfish;
use self::field::{OPPONENTS, Opponents, Rated};
use self::response::{Response, Trial};
use self::rounds::{Results, WorkerContext};
use crate::arena::{heed_interrupts, write_json};
use crate::cli::StrengthArgs;
use crate::model::write_atomically;
use crate::players::PlayerFactory;

/// What was measured of a rating asked for.
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

/// The last word on a network: a rating for each asked for, and everybody else's.
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
        bail!("--fit needs --write FILE: the network that comes with tabia cannot be changed from within");
    }
    let players = PlayerFactory::default();
    let model = match &args.model {
        Some(file) => players.open(file).with_context(|| file.display().to_string())?,
        None => players.human()?,
    };
    let stockfish = Stockfish::find(args.stockfish.as_deref())?;
    let method = method(&stockfish.name, args);
    let opponents = Opponents::new(stockfish, args.maia.as_deref())?;
    let stop = Arc::new(Stop::new());
    heed_interrupts(&stop)?;
    rounds::prepare(&args.games_in)?;
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let hall = WorkerContext {
        players: &players,
        openings: openings(args)?,
        folder: args.games_in.clone(),
        seed: args.seed,
        jobs: args.jobs.unwrap_or_else(cores),
        stop,
        facts: vec![
            ("network".to_owned(), model.sha256().to_owned()),
            ("search's evaluation".to_owned(), players.value()?.sha256().to_owned()),
            ("opponent".to_owned(), opponents.stockfish.name.clone()),
        ],
    };
    let mut curve = if args.fit {
        let (curve, knots) = fit(args, &asked, &hall, &opponents)?;
        write_table(args, &curve, knots, &method)?;
        curve
    } else {
        measure(args, &asked, &hall, &opponents)?
    };
    curve.method = method;
    print!("{curve}");
    if let Some(path) = &args.json {
        write_json(path, &curve.to_json())?;
    }
    if let Some(path) = &args.plot {
        let title = "Ratings asked for and shown by the human player";
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
        None => Openings::challenge(),
    };
    Ok(openings.shuffled(args.seed))
}

/// In words, for the card.
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

/// Plays the ratings as they are.
fn measure(
    args: &StrengthArgs,
    asked: &[u16],
    hall: &WorkerContext<'_>,
    opponents: &Opponents,
) -> Result<Curve> {
    let play = if args.raw { HumanPlay::Dialled(StrengthSettings::RAW) } else { HumanPlay::AsRated };
    let human = |elo| HumanSpec {
        file: args.model.clone(),
        elo: Some(Elo(elo)),
        play,
        pool: None,
        pause: None,
        seed: None,
    };
    let rated: Vec<Rated> = asked
        .iter()
        .map(|&asked| Rated { asked, spec: Spec::Human(human(asked)), share: measuring_share(asked) })
        .collect();
    let mut results = Results::default();
    let name = if args.raw { "measured raw" } else { "measured" };
    hall.play(name, &opponents.field(&rated), turns(args.games), &mut results)?;
    Curve::of(&rated, &results)
}

/// In how many turns a rated player has at least so many games with the usual opponents.
fn turns(games: u32) -> u32 {
    games.div_ceil(2 * OPPONENTS)
}

/// From here on games take long: the search of the player, and that of Stockfish.
const SLOW: u16 = 2100;
/// Below this most opponents are much stronger, and one of few wins tells less than one of many.
const FAR_BELOW: u16 = 1300;

/// How many opponents a player has in a turn that measures.
fn measuring_share(asked: u16) -> u32 {
    if asked < FAR_BELOW { 2 * OPPONENTS } else { OPPONENTS }
}

/// How many opponents a player has in a turn of a fit: quick games are worth having more of, and most where least is
/// known. `unsure` is how much less is known of it than of others, as a share of standard deviations.
fn fitting_share(asked: u16, unsure: f64) -> u32 {
    if asked >= SLOW {
        return OPPONENTS;
    }
    // Games make sure by their root.
    let share = f64::from(3 * measuring_share(asked)) * unsure.powi(2);
    share.clamp(OPPONENTS.into(), (6 * OPPONENTS).into()).round() as u32
}

/// A player that was tried, and the rating it aimed at.
struct Tried {
    name: String,
    aim: f32,
}

/// The games that measure what so many rounds have found.
fn verifying(rounds: u32) -> String {
    format!("verifying after {rounds}")
}

/// Tries, turns and tries again; the last round measures what was found, by its own games alone. When a fit goes on for
/// more rounds than before, the games that measured then are the next round: they were played by the same players.
fn fit(
    args: &StrengthArgs,
    asked: &[u16],
    hall: &WorkerContext<'_>,
    opponents: &Opponents,
) -> Result<(Curve, Vec<StrengthKnot>)> {
    let mut results = Results::default();
    let mut tried: Vec<Tried> = Vec::new();
    let mut response = Response::of(Vec::new());
    for round in 1..=args.rounds {
        let aims: Vec<f32> = asked.iter().map(|&asked| response.aim_for(asked)).collect();
        let (_, mut rated) = players_at(args, asked, &aims);
        let mut name = verifying(round - 1);
        if !hall.began(&name) {
            name = format!("round {round}");
            share_by_doubt(&mut rated, &aims, &response);
        }
        hall.play(&name, &opponents.field(&rated), turns(args.fit_games), &mut results)?;
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
    hall.play(&verifying(args.rounds), &opponents.field(&rated), turns(args.games), &mut verified)?;
    Ok((Curve::of(&rated, &verified)?, knots))
}

/// The players of these aims, with as many opponents as a measurement takes.
fn players_at(args: &StrengthArgs, asked: &[u16], aims: &[f32]) -> (Vec<StrengthKnot>, Vec<Rated>) {
    let knots: Vec<StrengthKnot> =
        asked.iter().zip(aims).map(|(&asked, &aim)| fit::knot(asked, aim)).collect();
    let rated = knots
        .iter()
        .map(|knot| Rated {
            asked: knot.asked,
            spec: dialled(args.model.as_deref(), knot),
            share: measuring_share(knot.asked),
        })
        .collect();
    (knots, rated)
}

/// Gives players more opponents the less is known of what their aim comes to.
fn share_by_doubt(rated: &mut [Rated], aims: &[f32], response: &Response) {
    let unsure: Vec<f64> = aims.iter().map(|&aim| response.deviation(aim)).collect();
    let usual = unsure.iter().sum::<f64>() / unsure.len().max(1) as f64;
    for (rated, unsure) in rated.iter_mut().zip(unsure) {
        rated.share = fitting_share(rated.asked, unsure / usual);
    }
}

/// What everybody who was tried has shown in all rounds together.
fn trials(tried: &[Tried], results: &Results) -> Result<Vec<Trial>> {
    let ratings = results.ratings()?;
    let trial = |tried: &Tried| {
        let (_, rating) = ratings.iter().find(|(name, _)| *name == tried.name)?;
        let deviation = (rating.high? - rating.low?) / (2.0 * 1.96);
        Some(Trial { aim: tried.aim, shown: rating.rating?, deviation })
    };
    tried.iter().map(|tried| trial(tried).context("a player has no rating")).collect()
}

/// The player of a knot, every number said.
fn dialled(file: Option<&Path>, knot: &StrengthKnot) -> Spec {
    let pick = Pick::Sampled { temperature: knot.temperature, top_p: 1.0 };
    let blend = SearchBlend { trust: knot.trust, nodes: knot.nodes, mates: knot.mates };
    Spec::Human(HumanSpec {
        file: file.map(Path::to_owned),
        elo: Some(Elo(knot.told.round() as u16)),
        play: HumanPlay::Dialled(StrengthSettings { pick, blend }),
        pool: None,
        pause: None,
        seed: None,
    })
}

/// Puts the table into the network's card.
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
    // A file that is not there yet begins as a copy of the network that was measured.
    let from = args.model.as_ref().filter(|_| !file.exists()).unwrap_or(file);
    let bytes = std::fs::read(from).with_context(|| from.display().to_string())?;
    let mut card = Model::from_bytes(&bytes).with_context(named)?.card().clone();
    card.strength = Some(Strength { method: method.to_owned(), knots });
    let written = Source::with_card(&bytes, &card).with_context(named)?;
    let again = Model::from_bytes(&written).context("the network does not open with its new card")?;
    if *again.card() != card {
        bail!("{}: the network says something else about itself than was written", named());
    }
    write_atomically(file, &written)?;
    eprintln!("{}: the card now says how each rating is played", named());
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

    /// How far the ratings shown are from those asked for, on average.
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
            writeln!(f, "\nthe others, on the same scale:")?;
        }
        for (name, shown) in &self.others {
            writeln!(f, "{:>5.0}  [{:.0}, {:.0}]  {name}", shown.rating, shown.low, shown.high)?;
        }
        Ok(())
    }
}
