use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use serde::Serialize;
use shakmaty::ByColor;

use crate::{
    DrawRules, Entrant, Format, GameRecord, Ledger, LedgerError, Openings, PgnTags, PlayedGame, PlayerId,
    ResultRow, Rules, Schedule, ScheduledGame, Settings, Standings, Stop, StopRequest, Timer,
    statistics::{Pairs, Points, Sprt, Verdict},
    worker::{Worker, WorkerContext, WorkerEvent},
};

/// A scheduled match or tournament.
pub struct Run<'a> {
    /// PGN event.
    pub event: String,
    /// PGN date such as `2026.01.31`; may be empty.
    pub date: String,
    /// Entrants, as many as the schedule has players.
    pub entrants: Vec<&'a dyn Entrant>,
    /// Openings.
    pub openings: &'a Openings,
    /// Schedule.
    pub schedule: &'a Schedule,
    /// Rules of the games.
    pub rules: &'a Rules,
    /// Random seed.
    pub seed: u64,
    /// Number of concurrent games.
    pub jobs: NonZeroUsize,
    /// SPRT of the first player that ends the run once decided. Only for matches.
    pub sprt: Option<Sprt>,
}

/// Progress after a game.
#[derive(Debug)]
pub struct Progress<'a> {
    /// Finished games, including those already in the ledger.
    pub done: u32,
    /// Scheduled games.
    pub total: u32,
    /// Standings.
    pub standings: &'a Standings,
    /// Log-likelihood ratio of the SPRT.
    pub llr: Option<f64>,
    /// The game just finished.
    pub record: &'a GameRecord,
    /// The same game with scores and times.
    pub played: &'a PlayedGame,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// All games by number, including those already in the ledger.
    pub records: Vec<GameRecord>,
    /// Standings.
    pub standings: Standings,
    /// Why the run ended.
    pub end: End,
    /// Result of the SPRT.
    pub test: Option<SprtResult>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// All games were played.
    Complete,
    /// The SPRT was decided.
    #[serde(rename = "proved")]
    SprtDecided,
    /// Stopped on request.
    Stopped,
}

/// State of an SPRT. Pairs are counted in schedule order, each after all earlier pairs are finished, so that the result
/// does not depend on the number of jobs and short games are not counted first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SprtResult {
    /// Log-likelihood ratio.
    pub llr: f64,
    /// Accepted hypothesis, once decided.
    pub verdict: Option<Verdict>,
    /// Pentanomial counts so far.
    pub pairs: Pairs,
}

/// Error of a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A player cannot be built.
    #[error("cannot build player {name}: {reason}")]
    Build {
        /// Name of the entrant.
        name: String,
        /// Reason.
        reason: String,
    },
    /// A player does not play an opening.
    #[error("{name} cannot play this opening: {reason}")]
    Start {
        /// Name of the entrant.
        name: String,
        /// Reason.
        reason: String,
    },
    /// A game cannot be written to the ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The schedule has another number of players.
    #[error("{entrants} players (expected {players} by the schedule)")]
    WrongPlayers {
        /// Players in the schedule.
        players: usize,
        /// Entrants.
        entrants: usize,
    },
    /// The schedule has more openings.
    #[error("too few openings for the schedule: {0}")]
    WrongOpenings(usize),
    /// An SPRT needs two players.
    #[error("an SPRT needs a match of two players")]
    SprtNeedsMatch,
    /// A worker thread panicked.
    #[error("worker thread panicked")]
    WorkerLost,
}

/// Checks that a schedule fits the entrants and openings.
pub(crate) fn check(schedule: &Schedule, entrants: usize, openings: &Openings) -> Result<(), RunError> {
    let players = schedule.players();
    if entrants != players {
        return Err(RunError::WrongPlayers { players, entrants });
    }
    if schedule.scheduled_games().any(|scheduled| scheduled.opening >= openings.list().len()) {
        return Err(RunError::WrongOpenings(openings.list().len()));
    }
    Ok(())
}

impl Run<'_> {
    /// Settings for [`Ledger::open`]. They do not include the number of rounds, so that a run can be extended.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings::new();
        let names: Vec<String> = self.entrants.iter().map(|entrant| entrant.name()).collect();
        settings.set("format", self.schedule.format().to_string());
        settings.set_players(&names);
        if self.schedule.format() == Format::Pairings {
            let pairs =
                self.schedule.pairings().iter().map(|(first, second)| format!("{}-{}", first.0, second.0));
            settings.set("pairings", pairs.collect::<Vec<_>>().join(" "));
        }
        settings.set("openings", self.openings.digest());
        settings.set("limits", self.rules.budget.to_string());
        settings
            .set("longest game", self.rules.max_plies.map_or("any".into(), |plies| format!("{plies} plies")));
        settings.set("adjudication", self.rules.adjudication.to_string());
        settings.set("seed", self.seed.to_string());
        if self.rules.draws == DrawRules::Challenge {
            settings.set("draws", "as in the Chess Challenge");
        }
        if self.rules.lines > 0 {
            // MultiPV changes the search.
            settings.set("candidates", self.rules.lines.to_string());
        }
        settings
    }

    /// Plays all games that are not in the ledger yet. Each game is written to the ledger before `on_progress` is
    /// called, in the order in which games end.
    ///
    /// # Errors
    /// If a player cannot be built or a game cannot be written. Earlier games stay in the ledger.
    pub fn play(
        &self,
        mut ledger: Option<&mut Ledger>,
        timer: &dyn Timer,
        stop: &Stop,
        on_progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<Finished, RunError> {
        self.check()?;
        let mut state = RunState::new(self);
        for record in ledger.as_deref().map(Ledger::records).unwrap_or_default() {
            state.add(record.clone());
        }
        let mut waiting = self
            .schedule
            .scheduled_games()
            .filter(|scheduled| !state.played.contains(&scheduled.game))
            .collect::<Vec<_>>();
        waiting.reverse();
        // The workers' stop: requests of the caller are forwarded to it, and a decided SPRT aborts running games.
        let halt = Stop::new();
        thread::scope(|scope| {
            let (sender, events) = channel();
            let context = WorkerContext {
                entrants: &self.entrants,
                openings: self.openings,
                rules: self.rules,
                seed: self.seed,
                timer,
                stop: &halt,
            };
            let mut workers: Vec<Sender<ScheduledGame>> = Vec::new();
            let mut running = 0_usize;
            let send = |worker: &Sender<ScheduledGame>, scheduled| {
                // A worker that ended has sent an event.
                let _ = worker.send(scheduled);
            };
            for number in 0..self.jobs.get().min(waiting.len()) {
                if state.decided() || stop.requested() != StopRequest::Continue {
                    break;
                }
                let Some(scheduled) = waiting.pop() else { break };
                let (games, worker) = Worker::new(number, context, sender.clone());
                scope.spawn(move || worker.run());
                send(&games, scheduled);
                workers.push(games);
                running += 1;
            }
            drop(sender);
            let mut failure = None;
            while running > 0 {
                halt.request(stop.requested());
                let event = match events.recv_timeout(Duration::from_millis(50)) {
                    Ok(event) => event,
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => {
                        failure.get_or_insert(RunError::WorkerLost);
                        break;
                    }
                };
                running -= 1;
                let idle = match event {
                    WorkerEvent::Aborted => continue,
                    WorkerEvent::Unfit(unfit) => {
                        let name = self.entrants[unfit.player.0].name();
                        failure.get_or_insert(unfit.of(name));
                        halt.request(StopRequest::Now);
                        continue;
                    }
                    WorkerEvent::Finished { worker, scheduled, played } => {
                        match self.record(scheduled, &played, &mut ledger, &mut state) {
                            Ok(Some(record)) => {
                                on_progress(&state.progress(&record, &played));
                            }
                            Ok(None) => {}
                            Err(error) => {
                                failure.get_or_insert(error.into());
                                halt.request(StopRequest::Now);
                            }
                        }
                        worker
                    }
                };
                if state.decided() {
                    halt.request(StopRequest::Now);
                }
                halt.request(stop.requested());
                let continues = failure.is_none() && halt.requested() == StopRequest::Continue;
                if continues && let Some(scheduled) = waiting.pop() {
                    send(&workers[idle], scheduled);
                    running += 1;
                }
            }
            drop(workers);
            failure.map_or(Ok(()), Err)
        })?;
        Ok(state.finish(self.schedule.games()))
    }

    fn check(&self) -> Result<(), RunError> {
        check(self.schedule, self.entrants.len(), self.openings)?;
        if self.sprt.is_some() && self.schedule.format() != Format::Match {
            return Err(RunError::SprtNeedsMatch);
        }
        Ok(())
    }

    /// Writes a game to the ledger and counts it.
    fn record(
        &self,
        scheduled: ScheduledGame,
        played: &PlayedGame,
        ledger: &mut Option<&mut Ledger>,
        state: &mut RunState,
    ) -> Result<Option<GameRecord>, LedgerError> {
        let Some(record) = GameRecord::of(&scheduled, played) else { return Ok(None) };
        if let Some(ledger) = ledger {
            let names = ByColor::new_with(|color| self.entrants[scheduled.players[color].0].name());
            let tags = PgnTags::new(&self.event, &self.date, &scheduled, names, self.rules);
            ledger.append(record.clone(), &played.to_pgn(&tags))?;
        }
        state.add(record.clone());
        Ok(Some(record))
    }
}

/// Results of a run so far.
struct RunState {
    records: Vec<GameRecord>,
    played: BTreeSet<u32>,
    standings: Standings,
    total: u32,
    test: Option<SprtState>,
}

struct SprtState {
    sprt: Sprt,
    result: SprtResult,
    /// Next pair to count.
    next: u32,
    /// Points of the first player in pairs not counted yet.
    waiting: BTreeMap<u32, Vec<Points>>,
}

impl RunState {
    fn new(run: &Run<'_>) -> RunState {
        let names = run.entrants.iter().map(|entrant| entrant.name()).collect();
        let test = run.sprt.map(|sprt| SprtState {
            sprt,
            result: SprtResult { llr: 0.0, verdict: None, pairs: Pairs::default() },
            next: 0,
            waiting: BTreeMap::new(),
        });
        let total = run.schedule.games();
        RunState {
            records: Vec::new(),
            played: BTreeSet::new(),
            standings: Standings::new(names),
            total,
            test,
        }
    }

    fn add(&mut self, record: GameRecord) {
        self.played.insert(record.game);
        self.standings.add(ResultRow::from(&record));
        if let (Some(test), Some(points)) = (&mut self.test, record.points_of(PlayerId(0))) {
            test.add(record.pair, points);
        }
        self.records.push(record);
    }

    fn decided(&self) -> bool {
        self.test.as_ref().is_some_and(|test| test.result.verdict.is_some())
    }

    fn progress<'a>(&'a self, record: &'a GameRecord, played: &'a PlayedGame) -> Progress<'a> {
        Progress {
            done: u32::try_from(self.records.len()).unwrap_or(u32::MAX),
            total: self.total,
            standings: &self.standings,
            llr: self.test.as_ref().map(|test| test.result.llr),
            record,
            played,
        }
    }

    fn finish(mut self, games: u32) -> Finished {
        self.records.sort_by_key(|record| record.game);
        let complete = (0..games).all(|game| self.played.contains(&game));
        let end = if self.decided() {
            End::SprtDecided
        } else if complete {
            End::Complete
        } else {
            End::Stopped
        };
        Finished {
            records: self.records,
            standings: self.standings,
            end,
            test: self.test.map(|test| test.result),
        }
    }
}

impl SprtState {
    fn add(&mut self, pair: u32, points: Points) {
        self.waiting.entry(pair).or_default().push(points);
        while self.result.verdict.is_none()
            && let Some([first, second]) = self.waiting.get(&self.next).map(Vec::as_slice)
        {
            self.result.pairs.record(*first, *second);
            self.result.llr = self.sprt.llr(self.result.pairs);
            self.result.verdict = self.sprt.verdict(self.result.llr);
            self.waiting.remove(&self.next);
            self.next += 1;
        }
    }
}
