//! `tabia review`: what a player's games say about the player.

mod annotate;
pub(crate) mod games;
mod html;
mod ledger;

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::Serialize;
use shakmaty::{ByColor, Color};
use tabia_arena::{Stop, StopRequest};
use tabia_cli::{PlayerFactory, WallClock, stop_on_interrupt, write_atomically};
use tabia_data::PoolRule;
use tabia_encoding::{Elo, RatingPool};
use tabia_game::Game;
use tabia_model::Model;
use tabia_players::{Limits, Spec};
use tabia_practice::{GameReview, NameCounter, ReviewSettings, Reviewer, Summary, SummaryReport, game_key};
use tabia_report::{Progress, grouped};

use self::games::{Games, Read};
use self::ledger::{Ledger, Terms};

#[derive(Args)]
#[command(after_help = "Examples:
  tabia review games.pgn
  tabia review lichess_me.pgn.zst --me me --newest 200
  tabia review games.pgn --me 'Doe, Jane' --rating 1650 --pool over-the-board --out jane

Writes PREFIX.pgn (the games with marks, evaluations and better moves), PREFIX.json (all figures) and PREFIX.html (the
report). PREFIX.ledger.jsonl holds every reviewed game: an interrupted review goes on from there, and games added to the
file later are reviewed alone. docs/guides/review.md explains the figures.")]
pub(crate) struct ReviewArgs {
    /// PGN files (also .zst, .gz, .bz2), or folders of them.
    #[arg(required = true, value_name = "GAMES")]
    games: Vec<PathBuf>,
    /// The player whose games they are [default: the most frequent name].
    #[arg(long, value_name = "NAME")]
    me: Option<String>,
    /// Compare with people of this rating [default: the rating in each game].
    #[arg(long, value_name = "ELO", value_parser = clap::value_parser!(u16).range(1..=4000))]
    rating: Option<u16>,
    /// Pool of the ratings; auto detects it from each game's tags and clocks.
    #[arg(long, value_name = "auto|lichess|chess.com|online|over-the-board|unknown", default_value = "auto")]
    pool: PoolRule,
    /// Only the newest N games, by their dates [default: all].
    #[arg(long, value_name = "N")]
    newest: Option<NonZeroUsize>,
    /// Prefix of the files to write [default: the name of the first file, and `.review`].
    #[arg(long, value_name = "PREFIX")]
    out: Option<PathBuf>,
    /// The engine.
    #[arg(long, value_name = "SPEC", default_value = "engine")]
    engine: Spec,
    /// Syzygy endgame tables for the engine: folders, separated as in PATH.
    #[arg(long, value_name = "PATH")]
    tb: Option<String>,
    /// Nodes that the engine searches in each position.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    nodes: u64,
    /// A human network [default: the bundled one].
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Number of games at a time [default: one per core].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Forget the games reviewed before.
    #[arg(long)]
    fresh: bool,
}

/// The file of figures.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Figures<'a> {
    me: &'a str,
    terms: &'a Terms,
    broken_games: u64,
    report: &'a SummaryReport,
    games: Vec<&'a GameReview>,
}

/// The engine, with the tables of `--tb`.
fn engine(args: &ReviewArgs) -> Result<Spec> {
    let mut spec = args.engine.clone();
    if let Some(path) = &args.tb {
        let settings = spec.engine_mut();
        settings.with_context(|| format!("--tb: {} uses no tables", args.engine))?.syzygy =
            Some(path.clone());
    }
    Ok(spec)
}

pub(crate) fn run(args: &ReviewArgs) -> Result<()> {
    let engine = engine(args)?;
    let inputs = Games::find(&args.games)?;
    let players = PlayerFactory::default();
    let human = players.human_or(args.model.as_deref()).context("the human network")?;
    let scan = scan(&inputs)?;
    let me = match &args.me {
        Some(name) if scan.names.count(name) == 0 => bail!("no game of {name:?} {}", hint(&scan.names)),
        Some(name) => name.clone(),
        None => match scan.names.most_frequent() {
            Some((name, count)) => {
                eprintln!(
                    "reviewing the {} games of {name}; --me NAME chooses another player",
                    grouped(count)
                );
                name.to_owned()
            }
            None => bail!("there are no games with players' names"),
        },
    };
    let chosen = scan.chosen(&me, args.newest);
    let terms = Terms {
        version: ledger::VERSION,
        me: me.clone(),
        engine: engine.to_string(),
        nodes: args.nodes,
        network: human.sha256().to_owned(),
        rating: args.rating,
        pool: match args.pool {
            PoolRule::Auto => None,
            PoolRule::Is(pool) => Some(pool),
        },
    };
    let prefix = args.out.clone().unwrap_or_else(|| default_prefix(&args.games[0]));
    let path = |end: &str| {
        let mut name = prefix.clone().into_os_string();
        name.push(end);
        PathBuf::from(name)
    };
    let ledger = Mutex::new(Ledger::open(&path(".ledger.jsonl"), &terms, args.fresh)?);
    let stop = Arc::new(Stop::new());
    stop_on_interrupt(&stop)?;
    let work =
        Work { args, engine: &engine, me: &me, terms: &terms, players: &players, human: &human, stop: &stop };
    work.review(&inputs, &chosen, &ledger)?;

    let ledger = ledger.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut summary = Summary::default();
    let reviewed: Vec<(&GameReview, Color)> = ledger
        .games()
        .filter(|game| chosen.contains(game.key.as_str()))
        .filter_map(|game| Some((game, game.color_of(&me)?)))
        .collect();
    if reviewed.is_empty() {
        bail!("no game was reviewed");
    }
    reviewed.iter().for_each(|(game, own)| summary.add(game, *own));
    let report = summary.report();
    annotate::write(&inputs, &path(".pgn"), &ledger, &chosen, &me)?;
    let games = reviewed.iter().map(|(game, _)| *game).collect();
    let figures = Figures { me: &me, terms: &terms, broken_games: scan.broken, report: &report, games };
    write_atomically(&path(".json"), &serde_json::to_vec(&figures)?)?;
    let pages = html::Page { me: &me, report: &report, games: &reviewed, broken: scan.broken };
    write_atomically(&path(".html"), pages.html().as_bytes())?;
    print(&report, reviewed.len(), chosen.len());
    println!("\n{}", [".html", ".pgn", ".json"].map(|end| path(end).display().to_string()).join("\n"));
    Ok(())
}

/// What the files hold.
#[derive(Default)]
struct Scan {
    names: NameCounter,
    broken: u64,
    /// Key, both names in lower case, and the date of each game.
    games: Vec<(String, [String; 2], String)>,
}

/// How many broken games are named.
const MOST_COMPLAINTS: usize = 5;

fn scan(inputs: &Games) -> Result<Scan> {
    let mut scan = Scan::default();
    let meter = Progress::of_bytes(inputs.bytes());
    inputs.each(&|read| meter.set(read, "reading"), &mut |game| {
        match game {
            Read::Game(game) => {
                scan.names.add(&game);
                let tag = |name| game.headers.get(name).unwrap_or("").trim().to_lowercase();
                let date = [tag("UTCDate"), tag("Date")].into_iter().find(|date| !date.is_empty());
                let date = format!("{} {}", date.unwrap_or_default(), tag("UTCTime"));
                scan.games.push((key(&game), [tag("White"), tag("Black")], date));
            }
            Read::Broken(complaint) => {
                scan.broken += 1;
                if scan.broken <= MOST_COMPLAINTS as u64 {
                    meter.say(&format!("skipped: {complaint}"));
                }
            }
        }
        true
    })?;
    meter.finish();
    if scan.broken > MOST_COMPLAINTS as u64 {
        eprintln!("skipped {} broken games in all", grouped(scan.broken));
    }
    Ok(scan)
}

impl Scan {
    /// The keys of the player's games, or of the newest of them.
    fn chosen(&self, me: &str, newest: Option<NonZeroUsize>) -> HashSet<String> {
        let me = me.trim().to_lowercase();
        let mut own: Vec<_> = self.games.iter().filter(|(_, names, _)| names.contains(&me)).collect();
        if let Some(newest) = newest {
            own.sort_by(|(_, _, one), (_, _, other)| other.cmp(one));
            own.truncate(newest.get());
        }
        own.into_iter().map(|(key, ..)| key.clone()).collect()
    }
}

fn key(game: &Game) -> String {
    format!("{:016x}", game_key(game))
}

fn hint(names: &NameCounter) -> String {
    names.most_frequent().map_or(String::new(), |(name, count)| {
        format!("(the most frequent name is {name:?}, in {} games)", grouped(count))
    })
}

fn default_prefix(first: &std::path::Path) -> PathBuf {
    let name = first.file_name().and_then(|name| name.to_str()).unwrap_or("games");
    let name = [".zst", ".gz", ".bz2"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let name = name.strip_suffix(".pgn").unwrap_or(name);
    first.with_file_name(format!("{name}.review"))
}

/// What all workers share.
struct Work<'a> {
    args: &'a ReviewArgs,
    engine: &'a Spec,
    me: &'a str,
    terms: &'a Terms,
    players: &'a PlayerFactory,
    human: &'a Arc<Model>,
    stop: &'a Stop,
}

impl Work<'_> {
    /// Reviews the chosen games that are not in the ledger.
    fn review(&self, inputs: &Games, chosen: &HashSet<String>, ledger: &Mutex<Ledger>) -> Result<()> {
        let known = ledger.lock().unwrap_or_else(PoisonError::into_inner).keys();
        let done = chosen.iter().filter(|key| known.contains(*key)).count();
        let meter = Progress::of(chosen.len() as u64, "games");
        if done > 0 {
            eprintln!(
                "{} of {} games were reviewed before",
                grouped(done as u64),
                grouped(chosen.len() as u64)
            );
            meter.skip(done as u64);
        }
        if done == chosen.len() {
            return Ok(());
        }
        let jobs = tabia_cli::jobs(self.args.jobs).get().min(chosen.len() - done);
        let (send, receive) = sync_channel::<Game>(2 * jobs);
        let receive = Mutex::new(receive);
        let failure = Mutex::new(None);
        let outcome = std::thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| {
                    if let Err(error) = self.worker(&receive, ledger, &meter) {
                        self.stop.request(StopRequest::AfterGames);
                        failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    }
                    // The reader must not wait for a worker that is gone.
                    if self.stop.requested() != StopRequest::Continue {
                        while receive.lock().unwrap_or_else(PoisonError::into_inner).recv().is_ok() {}
                    }
                });
            }
            let mut seen = known;
            let read = inputs.each(&|_| (), &mut |game| {
                if let Read::Game(game) = game
                    && let key = key(&game)
                    && chosen.contains(&key)
                    && seen.insert(key)
                {
                    return send.send(*game).is_ok() && self.stop.requested() == StopRequest::Continue;
                }
                self.stop.requested() == StopRequest::Continue
            });
            drop(send);
            read
        });
        meter.finish();
        if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        outcome
    }

    fn worker(&self, games: &Mutex<Receiver<Game>>, ledger: &Mutex<Ledger>, meter: &Progress) -> Result<()> {
        let engine = self.players.make(self.engine, 0)?;
        let mut reviewer = Reviewer::new(engine, Arc::clone(self.human))?;
        loop {
            if self.stop.requested() != StopRequest::Continue {
                return Ok(());
            }
            let game = games.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(game) = game else { return Ok(()) };
            let review = reviewer.review(&game, &self.settings(&game), &|| Box::new(WallClock::start()))?;
            ledger.lock().unwrap_or_else(PoisonError::into_inner).add(&review)?;
            meter.add(1);
        }
    }

    fn settings(&self, game: &Game) -> ReviewSettings {
        let is_me = |color: Color| {
            let name = game.headers.get(color.fold_wb("White", "Black")).unwrap_or("");
            name.trim().to_lowercase() == self.me.trim().to_lowercase()
        };
        let own = ByColor::new_with(is_me);
        let rating = self.terms.rating.map(Elo);
        ReviewSettings {
            limits: Limits { nodes: Some(self.terms.nodes), ..Limits::default() },
            ratings: own.map(|own| if own { rating } else { None }),
            pool: self.terms.pool,
            peers: own,
            evidence: ByColor { white: true, black: true },
            ..ReviewSettings::default()
        }
    }
}

fn print(report: &SummaryReport, reviewed: usize, chosen: usize) {
    let missing = if reviewed < chosen {
        format!(" of {}; the same command goes on", grouped(chosen as u64))
    } else {
        String::new()
    };
    println!("{} games reviewed{missing}", grouped(reviewed as u64));
    for of in &report.played_like {
        let estimate = &of.estimate;
        let scale = match of.pool {
            RatingPool::Unknown => String::new(),
            pool => format!(" on the scale of {}", html::scale(pool)),
        };
        println!(
            "you played like {:.0} (95%: {:.0} to {:.0}){scale}",
            estimate.rating, estimate.low, estimate.high
        );
    }
    for weakness in &report.weaknesses {
        println!("- {}", weakness.text);
    }
}
