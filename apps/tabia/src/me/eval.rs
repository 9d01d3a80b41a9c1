use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use serde_json::json;
use tabia_cli::write_json;
use tabia_encoding::RatingPool;
use tabia_players::AdapterNetwork;
use tabia_practice::{
    ClusteredMean, Estimate, LEAST_GAMES, LearnSettings, Learner, MoveScores, NameCounter, PersonGame,
    PersonScore, Predict, score_game,
};
use tabia_report::{Progress, aligned, grouped, head};

use super::NetworkArgs;
use super::cache::Cached;
use crate::review::games::{Games, Read};

#[derive(Args)]
#[command(after_help = "Examples:
  tabia me eval games.pgn.zst
  tabia me eval games.pgn.zst --learn 20,100 --cache said.bin --json me.json

For every player with enough games an adapter is learned from N games and compared with the network told the rating in the
file, on the player's last games, none of which it was learned from. docs/guides/me.md explains the figures.")]
pub(crate) struct EvalArgs {
    /// PGN files (also .zst, .gz, .bz2), or folders of them.
    #[arg(required = true, value_name = "GAMES")]
    games: Vec<PathBuf>,
    /// Numbers of games to learn from.
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "20,100,1000")]
    learn: Vec<usize>,
    /// The most games of a player to test on: the last ones.
    #[arg(long, value_name = "N", default_value = "30")]
    test: NonZeroUsize,
    /// The most players for each number of games, in the order of their names [default: all].
    #[arg(long, value_name = "N")]
    players: Option<usize>,
    /// The most moves that the network is asked about when an adapter is learned.
    #[arg(long, value_name = "N", default_value = "8000")]
    moves: NonZeroUsize,
    #[command(flatten)]
    network: NetworkArgs,
    /// Keep what the network says in a file, to learn again without it.
    #[arg(long, value_name = "FILE")]
    cache: Option<PathBuf>,
    /// Number of threads [default: one per core].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Write the figures of each player.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The fewest games to test on.
const LEAST_TESTED: usize = 10;

/// A player and the games, in the order they were played.
struct Person {
    name: String,
    games: Vec<PersonGame>,
}

/// An adapter of a player.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Measured {
    player: String,
    pool: RatingPool,
    rating: Option<u16>,
    learned: usize,
    tested: usize,
    shift: i16,
    weights: usize,
    positions: usize,
    bytes: usize,
    /// By cross-validation, before the test.
    expected_gain: f64,
    #[serde(flatten)]
    score: PersonScore,
}

pub(super) fn run(args: &EvalArgs) -> Result<()> {
    let mut learn = args.learn.clone();
    learn.sort_unstable();
    learn.dedup();
    let Some(&least) = learn.first() else { bail!("--learn: expected numbers of games") };
    if least < LEAST_GAMES {
        bail!("--learn: {least} games (expected at least {LEAST_GAMES})");
    }
    let inputs = Games::find(&args.games)?;
    let (model, network) = args.network.open()?;
    let people = people(&inputs, least + LEAST_TESTED)?;
    if people.is_empty() {
        bail!("no player has {} games", least + LEAST_TESTED);
    }
    let cached = Cached::open(&model, args.cache.as_deref())?;
    let mut work: Vec<(&Person, usize)> = Vec::new();
    for &games in &learn {
        let enough = people.iter().filter(|person| person.games.len() >= games + LEAST_TESTED);
        work.extend(enough.take(args.players.unwrap_or(usize::MAX)).map(|person| (person, games)));
    }
    let measured = measure(args, &work, &network, &cached)?;
    if let Some(path) = &args.json {
        let terms = json!({
            "games": args.games, "learn": learn, "test": args.test, "moves": args.moves,
            "network": network.sha256,
        });
        write_json(path, &json!({ "terms": terms, "adapters": measured }))?;
    }
    print(&learn, &measured);
    Ok(())
}

fn people(inputs: &Games, least: usize) -> Result<Vec<Person>> {
    let mut names = NameCounter::default();
    let meter = Progress::of_bytes(2 * inputs.bytes());
    let each = |from: u64, visit: &mut dyn FnMut(&tabia_game::Game)| {
        inputs.each(&|read| meter.set(from + read, "reading"), &mut |game| {
            if let Read::Game(game) = game {
                visit(&game);
            }
            true
        })
    };
    each(0, &mut |game| names.add(game))?;
    let mut found: HashMap<String, Vec<PersonGame>> = HashMap::new();
    each(inputs.bytes(), &mut |game| {
        for tag in ["White", "Black"] {
            let name = game.headers.get(tag).unwrap_or("").trim();
            if names.count(name) >= least as u64
                && let Some(of) = PersonGame::of(game, name)
                && of.own_moves() > 0
            {
                found.entry(name.to_lowercase()).or_default().push(of);
            }
        }
    })?;
    meter.finish();
    let mut people: Vec<Person> = found.into_iter().map(|(name, games)| Person { name, games }).collect();
    people.retain(|person| person.games.len() >= least);
    people.sort_by(|one, other| one.name.cmp(&other.name));
    for person in &mut people {
        person.games.sort_by(|one, other| one.date().cmp(other.date()));
    }
    Ok(people)
}

/// Learns and tests the adapters on several threads.
fn measure(
    args: &EvalArgs,
    work: &[(&Person, usize)],
    network: &AdapterNetwork,
    cached: &Cached<'_>,
) -> Result<Vec<Measured>> {
    let meter = Progress::of(work.len() as u64, "adapters");
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results = Mutex::new(Vec::with_capacity(work.len()));
    std::thread::scope(|scope| {
        for _ in 0..tabia_cli::jobs(args.jobs).get().min(work.len()) {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some((person, games)) = work.get(index) else { return };
                    let result = one(args, person, *games, network, cached);
                    failed.fetch_or(result.is_err(), Ordering::Relaxed);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                    meter.add(1);
                }
            });
        }
    });
    meter.finish();
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

fn one(
    args: &EvalArgs,
    person: &Person,
    games: usize,
    network: &AdapterNetwork,
    predict: &dyn Predict,
) -> Result<Measured> {
    // Players with many games are tested on the same ones, however many they are learned from.
    let tested = args.test.get().min(person.games.len() - games);
    let (before, test) = person.games.split_at(person.games.len() - tested);
    let learned = before[before.len() - games..].to_vec();
    let settings = LearnSettings { name: person.name.clone(), games, moves: args.moves.get() };
    let mut learner = Learner::new(settings, network.clone(), learned)?;
    while learner.step(predict)? {}
    let Some(adapter) = learner.adapter() else { bail!("{}: nothing was learned", person.name) };
    let mut score = PersonScore::default();
    for game in test {
        let of = score_game(adapter, game, predict)?;
        score.all.merge(&of.all);
        score.later.merge(&of.later);
    }
    Ok(Measured {
        player: person.name.clone(),
        pool: adapter.pool,
        rating: adapter.rating.map(|rating| rating.0),
        learned: games,
        tested,
        shift: adapter.shift,
        weights: adapter.weights.len(),
        positions: adapter.memory.as_ref().map_or(0, |memory| memory.positions.len()),
        bytes: adapter.to_json().len(),
        expected_gain: adapter.gain.log_loss[0] - adapter.gain.log_loss[1],
        score,
    })
}

fn print(learn: &[usize], measured: &[Measured]) {
    let names = [
        "learned from",
        "moves",
        "players",
        "moves tested",
        "top-1 told the rating",
        "adapter",
        "gain",
        "log-loss told the rating",
        "adapter",
        "gain",
        "worse",
    ];
    let mut rows = vec![head(&names)];
    for &games in learn {
        let of: Vec<&Measured> = measured.iter().filter(|of| of.learned == games).collect();
        if of.is_empty() {
            continue;
        }
        let all: Vec<&MoveScores> = of.iter().map(|of| &of.score.all).collect();
        let later: Vec<&MoveScores> = of.iter().map(|of| &of.score.later).collect();
        rows.push(row(games, "all", &all));
        rows.push(row(games, "ply 10 on", &later));
    }
    println!(
        "means over players, with 95% intervals; worse: players with a higher log-loss than told the rating\n"
    );
    println!("{}", aligned(&rows));
    let bytes: Vec<usize> = measured.iter().map(|of| of.bytes).collect();
    if let (Some(least), Some(most)) = (bytes.iter().min(), bytes.iter().max()) {
        println!("\nadapters of {} to {} bytes", grouped(*least as u64), grouped(*most as u64));
    }
}

fn row(games: usize, kind: &str, of: &[&MoveScores]) -> Vec<String> {
    // Each player counts once.
    let mean = |value: &dyn Fn(&MoveScores) -> f64| {
        let mut all = ClusteredMean::default();
        of.iter().filter(|of| of.moves > 0).for_each(|of| all.add_game(1, value(of)));
        all.mean()
    };
    let share = |side: usize| move |of: &MoveScores| 100.0 * f64::from(of.top_1[side]) / f64::from(of.moves);
    let loss = |side: usize| move |of: &MoveScores| of.log_loss[side] / f64::from(of.moves);
    let worse = of.iter().filter(|of| of.log_loss[1] > of.log_loss[0] + 1e-9).count();
    let gained = |estimate: Estimate, digits: usize| {
        let margin =
            estimate.high.map_or(String::new(), |high| format!(" ±{:.digits$}", high - estimate.value));
        format!("{:+.digits$}{margin}", estimate.value)
    };
    vec![
        format!("{games} games"),
        kind.to_owned(),
        of.len().to_string(),
        grouped(of.iter().map(|of| u64::from(of.moves)).sum()),
        format!("{:.1}%", mean(&share(0)).value),
        format!("{:.1}%", mean(&share(1)).value),
        gained(mean(&|of| share(1)(of) - share(0)(of)), 1),
        format!("{:.3}", mean(&loss(0)).value),
        format!("{:.3}", mean(&loss(1)).value),
        gained(mean(&|of| loss(0)(of) - loss(1)(of)), 3),
        format!("{worse} of {}", of.len()),
    ]
}
