//! `tabia-lab data selfplay`: games of players against themselves or each other, as a set.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};
use shakmaty::{ByColor, CastlingMode, Color, KnownOutcome, Position};
use tabia_arena::{
    Adjudication, Agreement, Budget, DrawAdjudication, Entrant, Opening, Openings, PlayedGame,
    PlayerLifetime, ResignAdjudication, Rules, Stop, StopRequest, WallTimer, play_game,
};
use tabia_cli::{PlayerFactory, SpecEntrant, entrants, jobs, stop_on_interrupt};
use tabia_data::{GameHead, GameRecord, Ply, RecordKind, SourceSummary};
use tabia_players::{Limits, Player, Spec};
use tabia_report::{Progress, grouped};

use super::records;
use super::unfinished::{Output, Written};

/// Play games and write them, with scores and results, as a set to train on.
///
/// One player plays against itself, several play each other with both colours. Openings come from a book, each followed by
/// random moves. Games are played on all cores; the same command resumes a stopped or killed run.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tabia-lab data selfplay --player engine --games 100000 --nodes 5000 --random-plies 6 --openings book.epd --out sets/selfplay
  tabia-lab data selfplay --player engine --player engine:old.safetensors --games 2000 --nodes 5000 --out sets/against-old
  tabia-lab data selfplay --player engine --games 100000 --nodes 5000 --random-plies 8 --part 2/4 --out sets/selfplay-2

With --part I/N each of N machines plays every N-th batch of the same games; `tabia-lab data build sets/selfplay-* --out
sets/selfplay` merges their sets.")]
pub(crate) struct SelfplayArgs {
    /// Player spec or model file; repeatable.
    #[arg(long = "player", required = true, value_name = "SPEC", value_parser = tabia_cli::player_spec)]
    players: Vec<Spec>,
    /// Number of games, of all machines together.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    games: u64,
    /// Nodes per move, for players that search and whose spec sets no limit [default: 5000, unless --depth is given].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Search depth, likewise.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=255))]
    depth: Option<u32>,
    /// Openings: .fen, .epd or .pgn, plain or in a .zip [default: 25 bundled openings].
    #[arg(long, value_name = "BOOK")]
    openings: Option<PathBuf>,
    /// Random moves after each opening.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u8).range(..=40))]
    random_plies: u8,
    /// Play to the end: otherwise a game is lost when both score 600 cp for 3 moves, and drawn when both score within 20 cp
    /// for 8 moves from move 34.
    #[arg(long)]
    play_out: bool,
    /// Draw a game after this many plies.
    #[arg(long, default_value_t = 400, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2000))]
    max_plies: u32,
    /// Play one of several parts of the games, such as 2/4.
    #[arg(long, default_value = "1/1", value_name = "I/N", value_parser = part)]
    part: Part,
    /// Folder of the set.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Number of shards.
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    shards: u32,
    /// Concurrent games [default: one per core].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Random seed of openings, random moves and players.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
}

/// One of several equal parts.
#[derive(Clone, Copy, Debug)]
struct Part {
    number: u64,
    of: u64,
}

fn part(text: &str) -> Result<Part, String> {
    let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match numbers {
        Some((number, of)) if (1..=of).contains(&number) => Ok(Part { number, of }),
        _ => Err("expected I/N with I from 1 to N, as in 2/4".to_owned()),
    }
}

/// Games of a chunk: some minutes of work at most.
const CHUNK: u64 = 16;
/// File of unfinished games in the folder of a set.
const UNFINISHED: &str = "games";
/// zstd level; cheap compared to playing.
const ZSTD_LEVEL: i32 = 9;
/// Consecutive games without a result after which the command fails.
const MOST_FAULTS_IN_A_ROW: u64 = 8;
/// Tries for random moves that do not end the game.
const RANDOM_TRIES: u64 = 100;

/// What decides the games.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Settings {
    players: Vec<String>,
    /// Hashes of their model files.
    files: Vec<String>,
    games: u64,
    limits: String,
    openings: String,
    random_plies: u8,
    adjudication: String,
    max_plies: u32,
    part: String,
    seed: u64,
}

pub(crate) fn run(args: &SelfplayArgs) -> Result<()> {
    ensure!(
        !args.out.join("set.json").exists(),
        "{} already holds a set; remove it or choose another folder",
        args.out.display()
    );
    let factory = PlayerFactory::default();
    let limits = Limits {
        nodes: args.nodes.or_else(|| args.depth.is_none().then_some(5000)),
        depth: args.depth,
        ..Limits::default()
    };
    let budget = Budget { limits, ..Budget::default() };
    let players = entrants(&args.players, &budget, &factory)?;
    let openings = match &args.openings {
        Some(book) => Openings::open(book).context("--openings")?,
        None => Openings::balanced(),
    }
    .shuffled(args.seed);
    let adjudication = if args.play_out { Adjudication::default() } else { adjudication() };
    let settings = Settings {
        players: players.iter().map(Entrant::name).collect(),
        files: players.iter().filter_map(SpecEntrant::file).map(|file| file.hash.clone()).collect(),
        games: args.games,
        limits: budget.to_string(),
        openings: openings.digest(),
        random_plies: args.random_plies,
        adjudication: adjudication.to_string(),
        max_plies: args.max_plies,
        part: format!("{}/{}", args.part.number, args.part.of),
        seed: args.seed,
    };
    std::fs::create_dir_all(&args.out).with_context(|| format!("cannot create {}", args.out.display()))?;
    let mut output = Output::open(&args.out.join(UNFINISHED), &settings)?;
    let selfplay = Selfplay {
        players: &players,
        openings: &openings,
        rules: Rules { max_plies: Some(args.max_plies), adjudication, ..Rules::default() },
        random_plies: args.random_plies,
        games: args.games,
        part: args.part,
        seed: args.seed,
        jobs: jobs(args.jobs).get(),
        stop: Arc::new(Stop::new()),
    };
    selfplay.announce(output.written());
    stop_on_interrupt(&selfplay.stop)?;
    selfplay.run(&mut output)?;
    let written = output.written();
    if written.chunks < selfplay.chunks() {
        bail!("stopped after {} games; run the same command to resume", grouped(written.rows));
    }
    if written.rows == 0 {
        bail!("no game has a result; no set is written");
    }
    finish(args, &settings, output)
}

/// Replaces the written games by a set.
fn finish(args: &SelfplayArgs, settings: &Settings, output: Output) -> Result<()> {
    let written = output.written();
    let plan = records::plan(RecordKind::Games, args.shards, &[&serde_json::to_vec(settings)?]);
    let source = SourceSummary {
        name: settings.players.join(" against "),
        records: written.rows,
        broken: BTreeMap::from([("games without a result".to_owned(), written.faults)])
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect(),
    };
    let options = [
        ("limits", settings.limits.clone()),
        ("openings", settings.openings.clone()),
        ("random plies", settings.random_plies.to_string()),
        ("adjudication", settings.adjudication.clone()),
        ("longest game", format!("{} plies", settings.max_plies)),
        ("part", settings.part.clone()),
        ("seed", settings.seed.to_string()),
    ];
    let options = options.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let set =
        records::make_set(&output.part(), &args.out, plan, jobs(args.jobs).get(), vec![source], options)?;
    output.remove()?;
    println!(
        "{}: {} games with {} positions",
        args.out.display(),
        grouped(set.records()),
        grouped(set.positions())
    );
    for (count, what) in [
        (written.rows - set.records(), "games that were played before, left out"),
        (written.faults, "games without a result, left out"),
    ] {
        if count > 0 {
            println!("  {} {what}", grouped(count));
        }
    }
    Ok(())
}

/// As fishtest, with the scores of both players.
fn adjudication() -> Adjudication {
    Adjudication {
        resign: Some(ResignAdjudication { move_count: 3, score: 600, agreement: Agreement::TwoSided }),
        draw: Some(DrawAdjudication { move_number: 34, move_count: 8, score: 20 }),
    }
}

/// A run.
struct Selfplay<'a> {
    players: &'a [SpecEntrant<'a>],
    openings: &'a Openings,
    rules: Rules,
    random_plies: u8,
    /// Of all parts together.
    games: u64,
    part: Part,
    seed: u64,
    jobs: usize,
    stop: Arc<Stop>,
}

/// The games of a chunk.
#[derive(Default)]
struct Chunk {
    number: u64,
    frame: Vec<u8>,
    games: u64,
    positions: u64,
    faults: u64,
}

/// Players of a worker by number and colour.
type Seats = HashMap<(usize, Color), Box<dyn Player>>;

impl Selfplay<'_> {
    /// Chunks of this part.
    fn chunks(&self) -> u64 {
        let all = self.games.div_ceil(CHUNK);
        (all + self.part.of - self.part.number) / self.part.of
    }

    /// Numbers of the games of a chunk of this part.
    fn games_of(&self, chunk: u64) -> std::ops::Range<u64> {
        let first = (chunk * self.part.of + self.part.number - 1) * CHUNK;
        first.min(self.games)..(first + CHUNK).min(self.games)
    }

    fn announce(&self, written: Written) {
        let names: Vec<String> = self.players.iter().map(Entrant::name).collect();
        eprintln!(
            "{}: {} games, {} at a time",
            names.join(" against "),
            grouped((0..self.chunks()).map(|chunk| self.games_of(chunk).count() as u64).sum()),
            self.jobs
        );
        if written.chunks > 0 {
            eprintln!("resuming after {} games", grouped(written.rows));
        }
        let openings = self.openings.list().len() as u64;
        let pairs = if self.players.len() == 1 { self.games } else { self.games.div_ceil(2) };
        let deterministic = self.players.iter().all(SpecEntrant::is_deterministic);
        if deterministic && self.random_plies == 0 && pairs > openings {
            eprintln!(
                "note: deterministic players repeat their games on {openings} openings, and repeated games are left out; \
                 use --random-plies or a larger book"
            );
        }
    }

    fn run(&self, output: &mut Output) -> Result<()> {
        let progress = Progress::of(self.games_left(0), "games");
        progress.skip(self.games_left(0) - self.games_left(output.written().chunks));
        let next = AtomicU64::new(output.written().chunks);
        let (results, done) = mpsc::channel();
        let (played, written) = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs)
                .map(|_| {
                    let (results, next, progress) = (results.clone(), &next, &progress);
                    scope.spawn(move || {
                        let worked = self.work(next, &results, progress);
                        if worked.is_err() {
                            self.stop.request(StopRequest::Now);
                        }
                        worked
                    })
                })
                .collect();
            drop(results);
            let written = write(&done, output);
            if written.is_err() {
                self.stop.request(StopRequest::Now);
            }
            let played: Result<()> =
                workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"));
            (played, written)
        });
        progress.finish();
        written?;
        output.note()?;
        played
    }

    /// Games from a chunk on.
    fn games_left(&self, chunk: u64) -> u64 {
        (chunk..self.chunks()).map(|chunk| self.games_of(chunk).count() as u64).sum()
    }

    fn work(&self, next: &AtomicU64, results: &Sender<Chunk>, progress: &Progress) -> Result<()> {
        let (mut seats, mut faults_in_a_row) = (Seats::new(), 0);
        while self.stop.requested() == StopRequest::Continue {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= self.chunks() {
                break;
            }
            let Some(chunk) = self.play_chunk(number, &mut seats, &mut faults_in_a_row, progress)? else {
                break;
            };
            // The writer ends early only after an error.
            if results.send(chunk).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// `None` if stopped.
    fn play_chunk(
        &self,
        number: u64,
        seats: &mut Seats,
        faults_in_a_row: &mut u64,
        progress: &Progress,
    ) -> Result<Option<Chunk>> {
        let mut text = Vec::new();
        let mut chunk = Chunk { number, ..Chunk::default() };
        for game in self.games_of(number) {
            if self.stop.requested() != StopRequest::Continue {
                return Ok(None);
            }
            let Some(played) = self.play(game, seats)? else { return Ok(None) };
            match record(&played) {
                Some(record) => {
                    let bytes = record.to_bytes().with_context(|| format!("game {}", game + 1))?;
                    let length = u32::try_from(bytes.len()).context("a record is too long")?;
                    text.extend_from_slice(&length.to_le_bytes());
                    text.extend_from_slice(&bytes);
                    chunk.games += 1;
                    chunk.positions += record.plies.len() as u64;
                    *faults_in_a_row = 0;
                }
                None => {
                    chunk.faults += 1;
                    *faults_in_a_row += 1;
                    let reason = played.reason();
                    if *faults_in_a_row == MOST_FAULTS_IN_A_ROW {
                        bail!("{MOST_FAULTS_IN_A_ROW} games in a row without a result, the last: {reason}");
                    }
                    progress.say(&format!("game {}: {reason}", game + 1));
                }
            }
            progress.add(1);
        }
        chunk.frame = zstd::encode_all(text.as_slice(), ZSTD_LEVEL).context("cannot compress")?;
        Ok(Some(chunk))
    }

    /// Plays a game; `None` if aborted.
    fn play(&self, game: u64, seats: &mut Seats) -> Result<Option<PlayedGame>> {
        let (pair, players) = self.seating(game);
        let mut seated: ByColor<Option<Box<dyn Player>>> = ByColor::default();
        for color in Color::ALL {
            let entrant = &self.players[players[color]];
            let there = seats
                .remove(&(players[color], color))
                .filter(|_| entrant.lifetime() == PlayerLifetime::PerWorker);
            let seed = self.draw(game, 1 + color as u64);
            let build =
                || entrant.build(seed).map_err(|reason| anyhow::anyhow!("{}: {reason}", entrant.name()));
            seated[color] = Some(there.map_or_else(build, Ok)?);
        }
        let (Some(mut white), Some(mut black)) = (seated.white, seated.black) else { bail!("no player") };
        let opening = self.opening(pair);
        let both = ByColor { white: white.as_mut(), black: black.as_mut() };
        let played = play_game(both, &opening, &self.rules, &WallTimer::new(), &self.stop);
        // A player that failed is built again.
        if played.as_ref().is_some_and(|played| played.forfeit.is_none()) {
            seats.insert((players.white, Color::White), white);
            seats.insert((players.black, Color::Black), black);
        }
        Ok(played)
    }

    /// The pair a game belongs to, which share an opening, and its players.
    fn seating(&self, game: u64) -> (u64, ByColor<usize>) {
        let count = self.players.len() as u64;
        if count == 1 {
            return (game, ByColor { white: 0, black: 0 });
        }
        let pair = game / 2;
        // All pairings in turn.
        let mut pairing = pair % (count * (count - 1) / 2);
        let mut first = 0;
        while pairing >= count - 1 - first {
            pairing -= count - 1 - first;
            first += 1;
        }
        let (first, second) = (first as usize, (first + 1 + pairing) as usize);
        let players = match game % 2 {
            0 => ByColor { white: first, black: second },
            _ => ByColor { white: second, black: first },
        };
        (pair, players)
    }

    /// The opening of a pair of games.
    fn opening(&self, pair: u64) -> Opening {
        let list = self.openings.list();
        let book = &list[(pair % list.len() as u64) as usize];
        for attempt in 0..RANDOM_TRIES {
            let mut random = fastrand::Rng::with_seed(self.draw(pair, 3 + attempt));
            let mut opening = book.clone();
            for _ in 0..self.random_plies {
                let moves = opening.position().legal_moves();
                let Some(&m) = random.choice(&moves) else { break };
                opening = opening.followed_by(m);
            }
            if !opening.position().is_game_over() {
                return opening;
            }
        }
        book.clone()
    }

    fn draw(&self, number: u64, purpose: u64) -> u64 {
        let bytes = [number.to_le_bytes(), purpose.to_le_bytes()].concat();
        twox_hash::XxHash3_64::oneshot_with_seed(self.seed, &bytes)
    }
}

/// Writes finished chunks in order.
fn write(done: &Receiver<Chunk>, output: &mut Output) -> Result<()> {
    let mut early = BTreeMap::new();
    for chunk in done {
        early.insert(chunk.number, chunk);
        while let Some(next) = early.remove(&output.written().chunks) {
            let before = output.written();
            let now = Written {
                chunks: before.chunks + 1,
                positions: before.positions + next.positions,
                rows: before.rows + next.games,
                faults: before.faults + next.faults,
                ..before
            };
            output.append(&next.frame, now)?;
        }
    }
    Ok(())
}

/// The game as a record; `None` if a player failed or it is not standard chess.
fn record(played: &PlayedGame) -> Option<GameRecord> {
    let start = played.opening.start();
    if played.forfeit.is_some() || start.castles().mode() == CastlingMode::Chess960 {
        return None;
    }
    let result = match played.outcome.result().known()? {
        KnownOutcome::Decisive { winner } => Some(winner),
        KnownOutcome::Draw => None,
    };
    let mut turn = played.opening.position().turn();
    let book = played.opening.moves().iter().map(|&m| Ply { played: m, clock: None, evaluation: None });
    let mut plies: Vec<Ply> = book.collect();
    for mv in &played.moves {
        let evaluation = mv.score().map(|score| score.for_white(turn));
        plies.push(Ply { played: mv.mv, clock: None, evaluation });
        turn = !turn;
    }
    let head = GameHead { result: Some(result), ..GameHead::default() };
    (!plies.is_empty()).then(|| GameRecord { head, start: start.clone(), plies })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_numbered_from_one() {
        assert!(part("2/4").is_ok_and(|part| (part.number, part.of) == (2, 4)));
        for wrong in ["0/4", "5/4", "2", "a/b", "1/0"] {
            assert!(part(wrong).is_err(), "{wrong}");
        }
    }
}
