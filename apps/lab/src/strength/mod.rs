//! `tabia-lab strength`: measures the ratings a human-like network plays at, and calibrates them.

mod errors;
mod field;
mod fit;
mod legs;
mod people;
mod plot;
mod response;
mod rounds;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};
use tabia_arena::statistics::PoolRating;
use tabia_arena::{Openings, Stop};
use tabia_cli::{PlayerFactory, Stockfish, jobs, stop_on_interrupt, write_atomically, write_json};
use tabia_encoding::{Elo, RatingPool};
use tabia_model::{Model, ModelCard, ShownRating, Source, Strength, StrengthKnot};
use tabia_players::{BuiltInNetwork, HumanPlay, HumanSpec, Pick, SearchBlend, Spec, StrengthSettings};
use tabia_report::{aligned, head};

use self::errors::Errors;
use self::field::{Leg, OPPONENTS, Opponents, Rated};
use self::legs::{Agreement, Anchor, Interval, OnLeg};
use self::people::PeopleTerms;
use self::response::{Response, Trial};
use self::rounds::{Results, RoundContext};

#[derive(Args)]
#[command(after_help = "Examples:
  tabia-lab strength --maia maia/                         the bundled network, 1000 to 2400
  tabia-lab strength --maia maia/ --people lichess.pgn.zst --elos 800,1000,1200,1400,1600 --games 60
  tabia-lab strength human.safetensors --fit --maia maia/ --plot curve.svg --json curve.json

Ratings rest on several scales: Stockfish's UCI_Elo with its hash cleared before every move, the Lichess ratings that Maia-1
networks were trained on (--maia), the challenge's levels, and what people of a rating lose in their own games (--people).
Each scale has a table of its own, and a joint rating's interval grows with how far they lie apart. Every game and every judged
move is saved as soon as it is finished; the same command resumes a stopped or killed run. docs/guides/strength.md describes
the method.")]
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
    /// Games of people whose ratings are known, as a scale: PGN files, plain or compressed. Take games that the network was not
    /// trained on.
    #[arg(long, value_name = "GAMES", num_args = 1..)]
    people: Vec<PathBuf>,
    /// The rating pool of people's games to use.
    #[arg(long, value_name = "POOL", default_value = "lichess", requires = "people")]
    people_pool: RatingPool,
    /// Positions of people at each rating.
    #[arg(long, value_name = "N", default_value_t = 400, requires = "people", value_parser = clap::value_parser!(u32).range(20..=100_000))]
    people_positions: u32,
    /// Nodes with which Stockfish judges a position of people's games.
    #[arg(long, value_name = "N", default_value_t = 10_000, requires = "people", value_parser = clap::value_parser!(u64).range(100..))]
    judge_nodes: u64,
    /// Do not play the challenge's levels.
    #[arg(long)]
    no_levels: bool,
    /// The scale of the result, and of --fit.
    #[arg(long, value_enum, default_value = "joint", value_name = "NAME")]
    scale: Scale,
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

/// The scale of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scale {
    /// All that there are, together.
    Joint,
    /// UCI_Elo, with the hash cleared before every move.
    Stockfish,
    /// Lichess ratings of the people that Maia-1 networks were trained on.
    Maia,
    /// The challenge's levels.
    Levels,
    /// What people of a rating lose.
    People,
}

impl Scale {
    /// Its one scale; `None` for all together.
    fn leg(self) -> Option<Leg> {
        match self {
            Scale::Joint => None,
            Scale::Stockfish => Some(Leg::Stockfish),
            Scale::Maia => Some(Leg::Maia),
            Scale::Levels => Some(Leg::Levels),
            Scale::People => Some(Leg::People),
        }
    }

    /// Which of the scales in the results count.
    fn legs(self, results: &Results) -> Result<Vec<Leg>> {
        let legs = results.legs();
        match self.leg() {
            None => Ok(legs),
            Some(leg) if legs.contains(&leg) => Ok(vec![leg]),
            Some(leg) => bail!("--scale {}: none of its players took part", leg.name()),
        }
    }
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

/// The result: a measured rating for each one asked for, on each scale, and those of other players.
struct Curve {
    shown: Vec<Shown>,
    /// The same players on each scale alone.
    legs: Vec<OnLeg>,
    /// The largest difference between scales, by player.
    apart: Vec<f64>,
    /// How far the scales lie apart, as a standard deviation.
    offset_deviation: f64,
    /// The players of known rating.
    anchors: Vec<Anchor>,
    /// The others.
    others: Vec<(String, Shown)>,
    /// What people and players lose in the same positions.
    errors: Vec<Errors>,
    /// The rated players' names.
    names: Vec<String>,
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
    let people = (!args.people.is_empty()).then(|| PeopleTerms {
        files: args.people.clone(),
        pool: args.people_pool,
        positions: args.people_positions as usize,
        judge: stockfish.judge(args.judge_nodes),
    });
    let opponents = Opponents::new(stockfish, args.maia.as_deref(), !args.no_levels)?;
    let stop = Arc::new(Stop::new());
    stop_on_interrupt(&stop)?;
    rounds::prepare(&args.games_in)?;
    let context = RoundContext {
        players: &players,
        openings: openings(args)?,
        folder: args.games_in.clone(),
        measured: args.model.clone(),
        seed: args.seed,
        jobs: jobs(args.jobs),
        stop,
        facts: vec![
            ("network".to_owned(), identity(args.model.as_deref(), &model)?),
            ("search's evaluation".to_owned(), players.built_in(BuiltInNetwork::Value)?.sha256().to_owned()),
            ("opponent".to_owned(), opponents.stockfish.name.clone()),
        ],
        people,
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
        std::fs::write(path, plot::svg(title, &curve.shown, &curve.legs))
            .with_context(|| path.display().to_string())?;
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
    let mut scales = vec![format!("UCI_Elo of {stockfish}, its hash cleared before every move")];
    if args.maia.is_some() {
        scales
            .push("Maia-1 networks, likeliest move, as the Lichess ratings they were trained on".to_owned());
    }
    if !args.no_levels {
        scales.push("the challenge's fifth level as 1550".to_owned());
    }
    if !args.people.is_empty() {
        let pool = args.people_pool.label();
        scales.push(format!("{pool} players, by what they and the player lose in the same positions"));
    }
    let scale = match args.scale.leg() {
        None => "scales, each with an offset of its own",
        Some(leg) => only_scale(leg),
    };
    format!(
        "{scale}: {}; games against these and the next rating, from {book}, without resignations; all players rated together; \
         games of fitting do not count; 95% intervals include the disagreement of the scales",
        scales.join("; ")
    )
}

/// The words for one scale alone.
fn only_scale(leg: Leg) -> &'static str {
    match leg {
        Leg::Stockfish => "UCI_Elo of Stockfish alone, of these scales",
        Leg::Maia => "Lichess ratings by Maia-1 alone, of these scales",
        Leg::Levels => "the challenge's levels alone, of these scales",
        Leg::People => "people's ratings by what they lose alone, of these scales",
    }
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
    let errors = context.people(&rated, &mut results)?;
    Curve::of(args.scale, &rated, &results, errors)
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
        let errors = context.people(&rated, &mut results)?;
        for (rated, aim) in rated.iter().zip(aims) {
            let name = rated.spec.to_string();
            if !tried.iter().any(|earlier| earlier.name == name) {
                tried.push(Tried { name, aim });
            }
        }
        eprint!("{}", Curve::of(args.scale, &rated, &results, errors)?.table());
        response = Response::of(trials(args.scale, &tried, &results)?);
    }
    let aims: Vec<f32> = asked.iter().map(|&asked| response.aim_for(asked)).collect();
    let (knots, rated) = players_at(args, asked, &aims);
    let mut verified = Results::default();
    context.play(&verifying(args.rounds), &opponents.field(&rated), turns(args.games), &mut verified)?;
    let errors = context.people(&rated, &mut verified)?;
    Ok((Curve::of(args.scale, &rated, &verified, errors)?, knots))
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

/// The ratings of all tried players from all rounds together. Their deviations leave out the offsets of the scales, which all
/// players share.
fn trials(scale: Scale, tried: &[Tried], results: &Results) -> Result<Vec<Trial>> {
    let legs = scale.legs(results)?;
    let names: Vec<String> = tried.iter().map(|tried| tried.name.clone()).collect();
    let apart = Agreement::new(results, &legs, &names)?.offset_deviation;
    let (ratings, sure) = (results.ratings(&legs, apart)?, results.ratings(&legs, 0.0)?);
    let of = |ratings: &[(String, PoolRating)], name: &str| {
        ratings.iter().find(|(known, _)| known == name).and_then(|(_, rating)| Interval::of(rating))
    };
    let trial = |tried: &Tried| {
        let shown = of(&ratings, &tried.name)?.rating;
        Some(Trial { aim: tried.aim, shown, deviation: of(&sure, &tried.name)?.deviation() })
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

/// The hash of a network without the table that a fit writes to its card: the same network can be fitted further.
fn identity(file: Option<&Path>, model: &Model) -> Result<String> {
    let Some(file) = file else { return Ok(model.sha256().to_owned()) };
    let named = || file.display().to_string();
    let bytes = std::fs::read(file).with_context(named)?;
    let card = ModelCard { strength: None, ..model.card().clone() };
    match Source::with_card(&bytes, &card) {
        Ok(without) => Ok(Model::from_bytes(&without).with_context(named)?.sha256().to_owned()),
        // A format without a place for a card.
        Err(_) => Ok(model.sha256().to_owned()),
    }
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
    fn of(scale: Scale, rated: &[Rated], results: &Results, errors: Vec<Errors>) -> Result<Curve> {
        let names: Vec<String> = rated.iter().map(|rated| rated.spec.to_string()).collect();
        let counted = scale.legs(results)?;
        let offset_deviation = Agreement::new(results, &counted, &names)?.offset_deviation;
        let Agreement { legs, .. } = Agreement::new(results, &results.legs(), &names)?;
        let agreement = Agreement { legs, offset_deviation };
        let ratings = results.ratings(&counted, offset_deviation)?;
        let row = |asked: u16, name: &str| {
            let (_, rating) = ratings.iter().find(|(known, _)| known == name)?;
            let games = rating.games.games();
            let Interval { rating, low, high } = Interval::of(rating)?;
            Some(Shown { asked, rating, low, high, games })
        };
        let shown: Option<Vec<Shown>> =
            rated.iter().zip(&names).map(|(rated, name)| row(rated.asked, name)).collect();
        let rest = results.names().iter().filter(|name| !names.contains(name));
        let (mut anchors, mut others) = (Vec::new(), Vec::new());
        for (name, shown) in rest.filter_map(|name| Some((name.clone(), row(0, name)?))) {
            let Shown { rating, low, high, games, .. } = shown;
            match results.anchor(&name) {
                Some((leg, says)) => {
                    let measured = Interval { rating, low, high };
                    anchors.push(Anchor { leg, name, says, measured, games });
                }
                None => others.push((name, shown)),
            }
        }
        anchors.sort_by(|a, b| (a.leg, &a.name).cmp(&(b.leg, &b.name)));
        Ok(Curve {
            shown: shown.context("a player has no rating")?,
            apart: (0..rated.len()).map(|player| agreement.apart(player)).collect(),
            legs: agreement.legs,
            offset_deviation,
            anchors,
            others,
            errors,
            names,
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
        let mut names = vec!["asked", "shown", "gap", "95%", "games"];
        names.extend(self.legs.iter().map(|on| on.leg.name()));
        names.push("apart");
        let mut rows = vec![head(&names)];
        for (player, shown) in self.shown.iter().enumerate() {
            let mut row = vec![
                shown.asked.to_string(),
                format!("{:.0}", shown.rating),
                format!("{:+.0}", shown.gap()),
                format!("[{:.0}, {:.0}]", shown.low, shown.high),
                shown.games.to_string(),
            ];
            row.extend(self.legs.iter().map(|on| {
                let Interval { rating, low, high } = on.ratings[player];
                format!("{rating:.0} ±{:.0}", (high - low) / 2.0)
            }));
            row.push(format!("{:.0}", self.apart[player]));
            rows.push(row);
        }
        format!(
            "{}\nmean gap {:.0} Elo, {} games; the scales differ by {:.0} on average (standard deviation of their offsets {:.0})\n",
            aligned(&rows),
            self.mean_gap(),
            self.games,
            self.apart.iter().sum::<f64>() / self.apart.len().max(1) as f64,
            self.offset_deviation
        )
    }

    fn asked_of(&self, name: &str) -> Option<u16> {
        let place = self.names.iter().position(|known| known == name)?;
        self.shown.get(place).map(|shown| shown.asked)
    }

    fn to_json(&self) -> Value {
        json!({
            "method": self.method,
            "shown": self.shown,
            "legs": self.legs,
            "offset_deviation": self.offset_deviation,
            "apart": self.apart,
            "mean_gap": self.mean_gap(),
            "anchors": self.anchors,
            "others": self.others.iter().map(|(name, shown)| json!({ "name": name, "rating": shown.rating,
                "low": shown.low, "high": shown.high, "games": shown.games })).collect::<Vec<_>>(),
            "errors": self.errors,
            "games": self.games,
            "faults": self.faults,
        })
    }
}

impl std::fmt::Display for Curve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}\n", self.method)?;
        f.write_str(&self.table())?;
        f.write_str(&legs::anchor_tables(&self.anchors))?;
        if !self.errors.is_empty() {
            let table = errors::table(&self.errors, &|name| self.asked_of(name));
            writeln!(f, "\npeople: losses in the same positions, centipawns by phase\n{table}")?;
        }
        if !self.others.is_empty() {
            writeln!(f, "\nother players, on the same scale:")?;
        }
        for (name, shown) in &self.others {
            writeln!(f, "{:>5.0}  [{:.0}, {:.0}]  {name}", shown.rating, shown.low, shown.high)?;
        }
        Ok(())
    }
}
