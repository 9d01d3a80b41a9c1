use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    sync::mpsc::channel,
    thread,
    time::Duration,
};

use serde::Serialize;
use shakmaty::ByColor;

use crate::{
    Entrant, Fixture, Format, GameRecord, Ledger, LedgerError, Openings, PgnTags, PlayedGame, PlayerId,
    ResultRow, Rules, Schedule, Settings, Standings, Stop, StopRequest, Timer,
    statistics::{Pairs, Points, Sprt, Verdict},
    worker::{News, WorkerContext, WorkerHandle, worker},
};

/// A schedule about to be played.
pub struct Run<'a> {
    /// What it is called, for PGN.
    pub event: String,
    /// When, as `2026.01.31`, for PGN; may be empty.
    pub date: String,
    /// Who plays, as many as the schedule has players.
    pub entrants: Vec<&'a dyn Entrant>,
    /// What is played on.
    pub openings: &'a Openings,
    /// Who meets whom.
    pub schedule: &'a Schedule,
    /// By what rules.
    pub rules: &'a Rules,
    /// For players that throw dice.
    pub seed: u64,
    /// How many games at a time.
    pub jobs: NonZeroUsize,
    /// A test that ends the run when it has shown something. Only a match can have one; it is about the first player.
    pub sprt: Option<Sprt>,
}

/// What somebody who watches a run is told after each game.
#[derive(Debug)]
pub struct Progress<'a> {
    /// Games finished, those of earlier runs on the same ledger included.
    pub done: u32,
    /// Games in the schedule.
    pub total: u32,
    /// The results so far.
    pub standings: &'a Standings,
    /// The test so far: the log-likelihood ratio.
    pub llr: Option<f64>,
    /// Time since the run began.
    pub elapsed: Duration,
    /// About how much longer it takes to play the whole schedule.
    pub remaining: Duration,
    /// The game just finished.
    pub record: &'a GameRecord,
    /// The same with all that the players said.
    pub played: &'a PlayedGame,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// All games, by number; those of earlier runs on the same ledger included.
    pub records: Vec<GameRecord>,
    /// The results.
    pub standings: Standings,
    /// Why it ended.
    pub end: End,
    /// What the test shows, if there was one.
    pub test: Option<TestResult>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Every game was played.
    Complete,
    /// The test has shown something.
    Proved,
    /// Somebody wished so.
    Stopped,
}

/// Where a test stands. It looks at the pairs in the order of the schedule, and at a pair only when all before it are
/// finished: quick games do not count sooner, and the answer does not depend on how many games were played at a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TestResult {
    /// The log-likelihood ratio.
    pub llr: f64,
    /// What it shows, if that is enough.
    pub verdict: Option<Verdict>,
    /// The pairs it rests on.
    pub pairs: Pairs,
}

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A player cannot be made.
    #[error("{name} cannot play: {what}")]
    NoPlayer {
        /// The entrant.
        name: String,
        /// What is missing.
        what: String,
    },
    /// A game cannot be put on disk.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The schedule is not for these players and openings.
    #[error("the schedule is for {players} players, and there are {entrants}")]
    WrongPlayers {
        /// How many the schedule has.
        players: usize,
        /// How many there are.
        entrants: usize,
    },
    /// The schedule names openings that are not there.
    #[error("the schedule is for more openings than the {0} there are")]
    WrongOpenings(usize),
    /// A test needs two players.
    #[error("only a match of two players can be ended by a test")]
    TestNeedsMatch,
    /// A thread that plays games came to an end.
    #[error("a worker ended without a word")]
    WorkerLost,
}

impl Run<'_> {
    /// What the games depend on; for [`Ledger::open`]. How many rounds there are is not part of it: a run can be made
    /// longer.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings::new();
        let names: Vec<String> = self.entrants.iter().map(|entrant| entrant.name()).collect();
        settings.set("format", self.schedule.format().to_string());
        settings.set_players(&names);
        if self.schedule.format() == Format::Pairings {
            let pairs =
                self.schedule.encounters().iter().map(|(first, second)| format!("{}-{}", first.0, second.0));
            settings.set("pairings", pairs.collect::<Vec<_>>().join(" "));
        }
        settings.set("openings", self.openings.digest());
        settings.set("limits", self.rules.budget.to_string());
        settings
            .set("longest game", self.rules.max_plies.map_or("any".into(), |plies| format!("{plies} plies")));
        settings.set("adjudication", self.rules.adjudication.to_string());
        settings.set("seed", self.seed.to_string());
        if self.rules.lines > 0 {
            // A search that reports several candidates is another search.
            settings.set("candidates", self.rules.lines.to_string());
        }
        settings
    }

    /// Plays all games that are not in the ledger yet. Each is in the ledger before `on_progress` hears of it; games are
    /// told of in the order they end.
    ///
    /// # Errors
    /// When a player cannot be made or a game cannot be put on disk; games finished before that are in the ledger.
    pub fn play(
        &self,
        mut ledger: Option<&mut Ledger>,
        timer: &dyn Timer,
        stop: &Stop,
        on_progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<Finished, RunError> {
        self.check()?;
        let mut score = Score::new(self);
        for record in ledger.as_deref().map(Ledger::records).unwrap_or_default() {
            score.add(record.clone());
        }
        let already = score.played.len();
        let began = timer.now();
        let mut waiting = self
            .schedule
            .fixtures()
            .filter(|fixture| !score.played.contains(&fixture.game))
            .collect::<Vec<_>>();
        waiting.reverse();
        // A test that ends the run gives up the games under way; the caller's wish stays the caller's.
        let halt = Stop::new();
        thread::scope(|scope| {
            let (sender, news) = channel();
            let both = Both { stop, halt: &halt };
            let hall = WorkerContext {
                entrants: &self.entrants,
                openings: self.openings,
                rules: self.rules,
                seed: self.seed,
                timer,
                stop: &halt,
            };
            let mut workers: Vec<WorkerHandle> = Vec::new();
            let mut under_way = 0_usize;
            for number in 0..self.jobs.get().min(waiting.len()) {
                if score.decided() || both.requested() != StopRequest::GoOn {
                    break;
                }
                let Some(fixture) = waiting.pop() else { break };
                let (handle, actor) = worker(number, hall, sender.clone());
                scope.spawn(move || actor.run());
                handle.play(fixture);
                workers.push(handle);
                under_way += 1;
            }
            drop(sender);
            let mut trouble = None;
            while under_way > 0 {
                both.pass_on();
                let message = match news.recv_timeout(Duration::from_millis(50)) {
                    Ok(message) => message,
                    Err(std::sync::mpsc::RecvTimeoutError::Timeout) => continue,
                    Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
                        trouble.get_or_insert(RunError::WorkerLost);
                        break;
                    }
                };
                under_way -= 1;
                let free = match message {
                    News::GivenUp => continue,
                    News::NoPlayer { player, what } => {
                        trouble
                            .get_or_insert(RunError::NoPlayer { name: self.entrants[player.0].name(), what });
                        halt.request(StopRequest::Now);
                        continue;
                    }
                    News::Finished { worker, fixture, played } => {
                        let told = self.finish(fixture, &played, &mut ledger, &mut score);
                        match told {
                            Ok(Some(record)) => on_progress(&score.progress(
                                already,
                                timer.now().saturating_sub(began),
                                &record,
                                &played,
                            )),
                            Ok(None) => {}
                            Err(error) => {
                                trouble.get_or_insert(error.into());
                                halt.request(StopRequest::Now);
                            }
                        }
                        worker
                    }
                };
                if score.decided() {
                    halt.request(StopRequest::Now);
                }
                let goes_on = trouble.is_none()
                    && both.requested() == StopRequest::GoOn
                    && halt.requested() == StopRequest::GoOn;
                if goes_on && let Some(fixture) = waiting.pop() {
                    workers[free].play(fixture);
                    under_way += 1;
                }
            }
            drop(workers);
            trouble.map_or(Ok(()), Err)
        })?;
        Ok(score.finish(self.schedule.games()))
    }

    fn check(&self) -> Result<(), RunError> {
        if self.entrants.len() != self.schedule.players() {
            return Err(RunError::WrongPlayers {
                players: self.schedule.players(),
                entrants: self.entrants.len(),
            });
        }
        if self.schedule.fixtures().any(|fixture| fixture.opening >= self.openings.list().len()) {
            return Err(RunError::WrongOpenings(self.openings.list().len()));
        }
        if self.sprt.is_some() && self.schedule.format() != Format::Match {
            return Err(RunError::TestNeedsMatch);
        }
        Ok(())
    }

    /// Puts a game on disk and counts it.
    fn finish(
        &self,
        fixture: Fixture,
        played: &PlayedGame,
        ledger: &mut Option<&mut Ledger>,
        score: &mut Score,
    ) -> Result<Option<GameRecord>, LedgerError> {
        let Some(record) = GameRecord::of(&fixture, played) else { return Ok(None) };
        if let Some(ledger) = ledger {
            let names = ByColor::new_with(|color| self.entrants[fixture.players[color].0].name());
            let tags = PgnTags {
                event: self.event.clone(),
                date: self.date.clone(),
                round: format!("{}.{}", fixture.pair + 1, fixture.game % 2 + 1),
                names,
                time_control: self.rules.budget.control.as_ref().map(ToString::to_string).unwrap_or_default(),
            };
            ledger.append(record.clone(), &played.to_pgn(&tags))?;
        }
        score.add(record.clone());
        Ok(Some(record))
    }
}

/// The caller's wish and the run's own.
struct Both<'a> {
    stop: &'a Stop,
    halt: &'a Stop,
}

impl Both<'_> {
    fn requested(&self) -> StopRequest {
        self.stop.requested().max(self.halt.requested())
    }

    /// Tells the workers what the caller wishes.
    fn pass_on(&self) {
        self.halt.request(self.stop.requested());
    }
}

/// The games of a run, counted as they come.
struct Score {
    records: Vec<GameRecord>,
    played: BTreeSet<u32>,
    standings: Standings,
    total: u32,
    test: Option<Test>,
}

struct Test {
    sprt: Sprt,
    result: TestResult,
    /// The next pair to look at.
    next: u32,
    /// What the first player took from the games of pairs not looked at yet.
    waiting: BTreeMap<u32, Vec<Points>>,
}

impl Score {
    fn new(run: &Run<'_>) -> Score {
        let names = run.entrants.iter().map(|entrant| entrant.name()).collect();
        let test = run.sprt.map(|sprt| Test {
            sprt,
            result: TestResult { llr: 0.0, verdict: None, pairs: Pairs::default() },
            next: 0,
            waiting: BTreeMap::new(),
        });
        let total = run.schedule.games();
        Score { records: Vec::new(), played: BTreeSet::new(), standings: Standings::new(names), total, test }
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

    fn progress<'a>(
        &'a self,
        already: usize,
        elapsed: Duration,
        record: &'a GameRecord,
        played: &'a PlayedGame,
    ) -> Progress<'a> {
        let done = self.records.len();
        let now = done.saturating_sub(already).max(1);
        let left = (self.total as usize).saturating_sub(done);
        Progress {
            done: u32::try_from(done).unwrap_or(u32::MAX),
            total: self.total,
            standings: &self.standings,
            llr: self.test.as_ref().map(|test| test.result.llr),
            elapsed,
            remaining: elapsed.mul_f64(left as f64 / now as f64),
            record,
            played,
        }
    }

    fn finish(mut self, games: u32) -> Finished {
        self.records.sort_by_key(|record| record.game);
        let complete = (0..games).all(|game| self.played.contains(&game));
        let end = if self.decided() {
            End::Proved
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

impl Test {
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
