//! People's own games as a scale: in positions of people of a rating, what do they lose, and what does the player lose?

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use shakmaty::{ByColor, Color, Move, Position as _};
use tabia_arena::StopRequest;
use tabia_data::{BytesRead, Chunks, GameBytes, GameRecord, GameRules, RecordKey, SourceFile};
use tabia_encoding::{ForMover, PlayerInfo, RatingPool, Score};
use tabia_game::{History, Phase, Repetitions};
use tabia_human_eval::judged_score;
use tabia_players::{Limits, NoControl, Player, PlayerError, Spec, winning_chance};
use tabia_report::Progress;

use super::field::Rated;
use super::rounds::RoundContext;

/// First ply used: earlier moves are from memory.
const FIRST_PLY: usize = 10;
/// Positions of one player in a game, besides mates in one.
const PER_GAME: usize = 4;
/// Games of one account at a rating.
const PER_ACCOUNT: u32 = 5;
/// Positions this decided have nothing to lose, or nothing to win.
const DECIDED: f64 = 0.03;
/// A position belongs to a rating if the mover's is this near.
const BAND: u16 = 50;
/// A player moves in the positions of people whose rating is this near to the one asked for.
const REACH: u16 = 200;
/// Centipawns are counted within these bounds.
const MOST_CENTIPAWNS: i32 = 1000;

/// Whose moves, how many, and who judges them.
pub(super) struct PeopleTerms {
    pub(super) files: Vec<PathBuf>,
    pub(super) pool: RatingPool,
    /// Positions at each rating.
    pub(super) positions: usize,
    pub(super) judge: Spec,
}

/// What a move lost, by the judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct JudgedMove {
    /// Who moved: a player's spec, or [`PEOPLE`].
    pub(super) who: String,
    /// The rating of the people whose positions these are.
    pub(super) rating: u16,
    /// The game's key.
    pub(super) game: String,
    pub(super) ply: usize,
    pub(super) phase: usize,
    /// The winning chance lost; `None` if the position was only looked at for its mate.
    pub(super) loss: Option<f64>,
    /// Centipawns lost.
    pub(super) centipawns: Option<i32>,
    /// Whether the move mated, where a mate in one was possible.
    pub(super) mated: Option<bool>,
}

/// The name of people among the movers.
pub(super) const PEOPLE: &str = "people";

/// A position of a person's game.
struct Place {
    rating: u16,
    game: RecordKey,
    ply: usize,
    history: History,
    repetitions: Repetitions,
    played: Move,
    has_mate: bool,
    /// Whether it is judged besides its mate.
    counts: bool,
}

/// The file's first line: what its rows depend on.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Head {
    format: String,
    pool: String,
    judge: String,
    facts: Vec<(String, String)>,
}

/// Judges the moves of people and players that the file does not hold yet, and returns those of these players.
pub(super) fn judge(
    context: &RoundContext<'_>,
    terms: &PeopleTerms,
    rated: &[Rated],
) -> Result<Vec<JudgedMove>> {
    let path = context.folder.join("people.jsonl");
    let head = Head {
        format: "tabia-people-1".to_owned(),
        pool: terms.pool.to_string(),
        judge: terms.judge.to_string(),
        facts: context.facts.clone(),
    };
    let (mut rows, file) = open(&path, &head)?;
    let ratings: BTreeSet<u16> = rated.iter().map(|rated| rated.asked).collect();
    let places = places(terms, &ratings)?;
    let known: BTreeSet<(&str, u16, &str, usize)> =
        rows.iter().map(|row| (row.who.as_str(), row.rating, row.game.as_str(), row.ply)).collect();
    let work: Vec<(&Place, Vec<Option<&Rated>>)> = places
        .iter()
        .map(|place| {
            let near = rated.iter().filter(|rated| rated.asked.abs_diff(place.rating) <= REACH);
            let movers = std::iter::once(None).chain(near.map(Some));
            let key = key_text(place.game);
            let is_new = |who: &Option<&Rated>| {
                let name = who.map_or(PEOPLE.to_owned(), |rated| rated.spec.to_string());
                !known.contains(&(name.as_str(), place.rating, key.as_str(), place.ply))
            };
            (place, movers.filter(is_new).collect::<Vec<_>>())
        })
        .filter(|(_, movers)| !movers.is_empty())
        .collect();
    drop(known);
    let again = places.len() - work.len();
    let again = if again > 0 { format!(", {again} of them judged before") } else { String::new() };
    eprintln!("people's games: {} positions{again}, in {}", places.len(), path.display());
    let new = judge_all(context, terms, &work, file)?;
    rows.extend(new);
    let names: BTreeSet<String> = rated.iter().map(|rated| rated.spec.to_string()).collect();
    let chosen: BTreeSet<(u16, String, usize)> =
        places.iter().map(|place| (place.rating, key_text(place.game), place.ply)).collect();
    rows.retain(|row| {
        (row.who == PEOPLE || names.contains(&row.who))
            && chosen.contains(&(row.rating, row.game.clone(), row.ply))
    });
    // The figures must not depend on the order in which threads finished.
    rows.sort_by(|a, b| (a.rating, &a.game, a.ply, &a.who).cmp(&(b.rating, &b.game, b.ply, &b.who)));
    Ok(rows)
}

fn judge_all(
    context: &RoundContext<'_>,
    terms: &PeopleTerms,
    work: &[(&Place, Vec<Option<&Rated>>)],
    file: File,
) -> Result<Vec<JudgedMove>> {
    let meter = Progress::of(work.len() as u64, "positions");
    let (next, kept) = (AtomicUsize::new(0), Mutex::new((file, Vec::new())));
    let judge_next = || -> Result<()> {
        let mut judge = context.players.make(&terms.judge, 0)?;
        while context.stop.requested() == StopRequest::Continue {
            let Some((place, movers)) = work.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            let rows = judge_place(context, place, movers, judge.as_mut())?;
            let mut lines = String::new();
            for row in &rows {
                lines.push_str(&serde_json::to_string(row)?);
                lines.push('\n');
            }
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.0.write_all(lines.as_bytes())?;
            kept.1.extend(rows);
            meter.add(1);
        }
        Ok(())
    };
    let failure: Mutex<Option<anyhow::Error>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..context.jobs.get().min(work.len()) {
            scope.spawn(|| {
                if let Err(error) = judge_next() {
                    next.store(work.len(), Ordering::Relaxed);
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            });
        }
    });
    meter.finish();
    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    if context.stop.requested() != StopRequest::Continue {
        bail!("stopped; what was judged is kept, and the same command resumes the run");
    }
    Ok(kept.into_inner().unwrap_or_else(PoisonError::into_inner).1)
}

fn judge_place(
    context: &RoundContext<'_>,
    place: &Place,
    movers: &[Option<&Rated>],
    judge: &mut dyn Player,
) -> Result<Vec<JudgedMove>> {
    let failed = |error: PlayerError| anyhow::Error::new(error).context("people's games");
    let unlimited = Limits::default();
    let mut look = |history: &History, repetitions: &Repetitions| {
        judged_score(judge, history, repetitions, &unlimited).map_err(failed)
    };
    let before = if place.counts { Some(look(&place.history, &place.repetitions)?) } else { None };
    let decided = before.is_none_or(|score| !(DECIDED..=1.0 - DECIDED).contains(&winning_chance(score)));
    let mut after: BTreeMap<String, ForMover<Score>> = BTreeMap::new();
    let mut rows = Vec::new();
    for who in movers {
        let mv = match who {
            None => place.played,
            Some(rated) => {
                // The same moves whatever was judged before.
                let seed = context.seed ^ place.game.0.wrapping_add(place.ply as u64);
                let mut player = context.players.make(&rated.spec, seed)?;
                player.choose(&place.history, &unlimited, &NoControl).map_err(failed)?.mv
            }
        };
        let mut history = place.history.clone();
        history.push(mv, None);
        let mated = place.has_mate.then(|| history.current().is_checkmate());
        let lost = match before.filter(|_| !decided) {
            None => None,
            Some(before) => {
                let name = mv.to_uci(shakmaty::CastlingMode::Standard).to_string();
                let left = match after.get(&name) {
                    Some(score) => *score,
                    None => {
                        let mut repetitions = place.repetitions.clone();
                        repetitions.push(history.current());
                        let score = look(&history, &repetitions)?;
                        after.insert(name, score);
                        score
                    }
                };
                let loss = (winning_chance(before) + winning_chance(left) - 1.0).max(0.0);
                Some((loss, (centipawns(before) + centipawns(left)).max(0)))
            }
        };
        rows.push(JudgedMove {
            who: who.map_or(PEOPLE.to_owned(), |rated| rated.spec.to_string()),
            rating: place.rating,
            game: key_text(place.game),
            ply: place.ply,
            phase: Phase::of(place.history.current().board()) as usize,
            loss: lost.map(|(loss, _)| loss),
            centipawns: lost.map(|(_, centipawns)| centipawns),
            mated,
        });
    }
    Ok(rows)
}

fn centipawns(ForMover(score): ForMover<Score>) -> i32 {
    match score {
        Score::Centipawns(cp) => cp.clamp(-MOST_CENTIPAWNS, MOST_CENTIPAWNS),
        Score::Mate(moves) => MOST_CENTIPAWNS * moves.get().signum(),
    }
}

/// The rows of an earlier run, and the file to add to.
fn open(path: &Path, head: &Head) -> Result<(Vec<JudgedMove>, File)> {
    let named = || path.display().to_string();
    let mut rows = Vec::new();
    if path.is_file() {
        let mut lines = BufReader::new(File::open(path).with_context(named)?).lines();
        let first = lines.next().transpose().with_context(named)?.unwrap_or_default();
        let earlier: Head =
            serde_json::from_str(&first).with_context(|| format!("{}: line 1 is not the head", named()))?;
        if earlier != *head {
            bail!(
                "{}: judged under other conditions ({earlier:?}); give another folder with --games-in",
                named()
            );
        }
        for line in lines {
            // A line cut short by a crash is judged again.
            rows.extend(serde_json::from_str::<JudgedMove>(&line.with_context(named)?).ok());
        }
    }
    let is_new = !path.is_file();
    let mut file = OpenOptions::new().create(true).append(true).open(path).with_context(named)?;
    let start = if is_new { serde_json::to_string(head)? } else { String::new() };
    writeln!(file, "{start}").with_context(named)?;
    Ok((rows, file))
}

fn key_text(key: RecordKey) -> String {
    format!("{:016x}", key.0)
}

/// Positions of people of these ratings, from the first games of the files that have them.
fn places(terms: &PeopleTerms, ratings: &BTreeSet<u16>) -> Result<Vec<Place>> {
    let mut found: BTreeMap<u16, Vec<Place>> = ratings.iter().map(|rating| (*rating, Vec::new())).collect();
    let mut accounts: BTreeMap<(u16, u32), u32> = BTreeMap::new();
    let mut games = BTreeSet::new();
    let meter = Progress::of((ratings.len() * terms.positions) as u64, "positions found");
    'files: for path in &terms.files {
        for file in SourceFile::find(path).with_context(|| path.display().to_string())? {
            for chunk in Chunks::open(&file, &BytesRead::default())? {
                for game in chunk.read(&GameRules::default()).games {
                    if found.values().all(|places| places.len() >= terms.positions) {
                        break 'files;
                    }
                    if game.head.pool != terms.pool {
                        continue;
                    }
                    let Ok(bytes) = game.to_bytes() else { continue };
                    let Ok(key) = GameBytes::parse(&bytes).map(|parsed| parsed.key()) else { continue };
                    if !games.insert(key.0) {
                        continue;
                    }
                    for color in Color::ALL {
                        let rating = *game.head.ratings.get(color);
                        let near =
                            ratings.iter().find(|of| rating.is_some_and(|own| own.0.abs_diff(**of) <= BAND));
                        let Some(&near) = near else { continue };
                        let Some(places) = found.get_mut(&near) else { continue };
                        if places.len() >= terms.positions {
                            continue;
                        }
                        if let Some(account) = game.head.players.get(color) {
                            let games = accounts.entry((near, account.0)).or_default();
                            *games += 1;
                            if *games > PER_ACCOUNT {
                                continue;
                            }
                        }
                        add_places(places, &game, key, color, near);
                        meter.set(found.values().map(|places| places.len() as u64).sum(), "");
                    }
                }
            }
        }
    }
    meter.finish();
    if let Some((rating, _)) = found.iter().find(|(_, places)| places.is_empty()) {
        bail!(
            "--people: no games of players within {BAND} of {rating} in the pool {} (--people-pool)",
            terms.pool
        );
    }
    Ok(found.into_values().flatten().collect())
}

/// Adds a few positions of one player of a game, and those with a mate in one.
fn add_places(places: &mut Vec<Place>, game: &GameRecord, key: RecordKey, color: Color, rating: u16) {
    let time_left = game.head.pace.map(|pace| pace.base);
    let seats = ByColor::new_with(|color| PlayerInfo { rating: *game.head.ratings.get(color), time_left });
    let mut history = History::new(game.start.clone(), seats).under(game.head.pool, game.head.pace);
    let mut repetitions = Repetitions::from_start(&game.start);
    let own = game.plies.len().saturating_sub(FIRST_PLY) / 2;
    let step = (own / PER_GAME).max(1);
    let offset = usize::try_from(key.0 % step as u64).unwrap_or(0);
    let (mut number, mut chosen) = (0, 0);
    for (ply, of) in game.plies.iter().enumerate() {
        let position = history.current();
        if position.turn() == color {
            let legal = position.legal_moves();
            let has_mate = legal.iter().any(|mv| {
                let mut after = position.clone();
                after.play_unchecked(*mv);
                after.is_checkmate()
            });
            let mut counts = false;
            if ply >= FIRST_PLY && legal.len() > 1 {
                counts = number % step == offset && chosen < PER_GAME;
                number += 1;
            }
            if counts || has_mate {
                chosen += usize::from(counts);
                let (history, repetitions, played) = (history.clone(), repetitions.clone(), of.played);
                places.push(Place { rating, game: key, ply, history, repetitions, played, has_mate, counts });
            }
        }
        history.push(of.played, of.clock);
        repetitions.push(history.current());
    }
}
