//! One contest from the first game to the report: the ledger, the bar, Ctrl-C.

use std::num::NonZeroUsize;
use std::sync::Arc;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tabia_arena::statistics::Sprt;
use tabia_arena::{
    Adjudication, Budget, End, Entrant, Finished, Format, Ledger, Openings, Report, Rules, Run, Schedule,
    Settings, Stop, WallTimer,
};
use time::OffsetDateTime;

use super::outcome::TestState;
use super::progress::Watcher;
use super::{SpecEntrant, Thinking, interrupt};
use crate::cli::TableArgs;

/// Games about to be played.
pub(crate) struct Contest<'a> {
    /// What it is called, for PGN.
    pub(crate) event: String,
    pub(crate) players: Vec<SpecEntrant<'a>>,
    pub(crate) openings: Openings,
    pub(crate) format: Format,
    /// Pairs of games of each two players who meet.
    pub(crate) rounds: u32,
    pub(crate) thinking: Thinking,
    pub(crate) adjudication: Adjudication,
    pub(crate) sprt: Option<Sprt>,
    /// The outside program the games depend on, as it calls itself.
    pub(crate) opponent: Option<String>,
    pub(crate) table: &'a TableArgs,
}

/// What came of a contest.
pub(crate) struct Played {
    pub(crate) finished: Finished,
    pub(crate) report: Report,
    sprt: Option<Sprt>,
    settings: Settings,
    /// How many there should be.
    games: u32,
}

impl Contest<'_> {
    /// Plays what is not played yet; may be called once in a program.
    pub(crate) fn play(&self) -> Result<Played> {
        let schedule =
            Schedule::new(self.format, self.players.len(), self.rounds, self.openings.list().len())?;
        let control = self.thinking.control.clone();
        let rules = Rules {
            budget: Budget { control, margin: self.thinking.margin, ..Budget::default() },
            adjudication: self.adjudication,
            ..Rules::default()
        };
        let run = Run {
            event: self.event.clone(),
            date: today(),
            entrants: self.players.iter().map(|player| player as &dyn Entrant).collect(),
            openings: &self.openings,
            schedule: &schedule,
            rules: &rules,
            seed: self.table.seed,
            jobs: self.jobs(),
            sprt: self.sprt,
        };
        let settings = self.settings(&run);
        let mut ledger = self.table.pgn.as_deref().map(|pgn| Ledger::open(pgn, &settings)).transpose()?;
        let already = ledger.as_ref().map_or(0, |ledger| ledger.records().len());
        self.announce(&schedule, run.jobs, already);

        let stop = Arc::new(Stop::new());
        interrupt::heed(&stop)?;
        let mut watcher = Watcher::new(already as u64, schedule.games());
        let finished = run.play(ledger.as_mut(), &WallTimer::new(), &stop, &mut |progress| {
            watcher.tell(progress, self.format);
        });
        watcher.finish();
        let finished = finished?;
        let report = Report::of_records(&finished.standings, &finished.records);
        Ok(Played { finished, report, sprt: self.sprt, settings, games: schedule.games() })
    }

    /// What the games depend on, what the library does not see included.
    fn settings(&self, run: &Run<'_>) -> Settings {
        let mut settings = run.settings();
        settings.set("limits", self.thinking.describe());
        for known in self.players.iter().filter_map(SpecEntrant::file) {
            settings.set(&format!("contents of {}", known.file), &known.hash);
        }
        if let Some(opponent) = &self.opponent {
            settings.set("opponent", opponent);
        }
        settings
    }

    fn jobs(&self) -> NonZeroUsize {
        let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.table.jobs.unwrap_or_else(cores)
    }

    fn announce(&self, schedule: &Schedule, jobs: NonZeroUsize, already: usize) {
        let names: Vec<String> = self.players.iter().map(Entrant::name).collect();
        let most = if self.sprt.is_some() { "at most " } else { "" };
        eprintln!(
            "{}: {}; {most}{} games, {}, {jobs} at a time",
            schedule.format(),
            names.join(", "),
            schedule.games(),
            self.thinking.describe(),
        );
        if already > 0
            && let Some(pgn) = &self.table.pgn
        {
            eprintln!("{already} games are already in {}", pgn.display());
        }
        let openings = self.openings.list().len();
        let unvarying = self.players.iter().filter(|player| player.never_varies()).count();
        if self.rounds as usize > openings && unvarying > 1 {
            eprintln!(
                "note: players that never vary repeat their games after {} on {openings} openings, and repeated \
                 games prove nothing; --openings takes a larger book",
                2 * openings,
            );
        }
    }
}

impl Played {
    /// Where the test stands, if there is one.
    pub(crate) fn test(&self) -> Option<TestState> {
        Some(TestState::of_result(self.sprt.as_ref()?, self.finished.test.as_ref()?))
    }

    /// Everything, for other programs.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "settings": self.settings,
            "end": self.finished.end,
            "report": self.report,
            "test": self.test().map(|test| test.to_json()),
            "games": self.finished.records,
        })
    }

    /// An error that says how to go on, if not every game was played.
    pub(crate) fn complain_if_stopped(&self, table: &TableArgs) -> Result<()> {
        if self.finished.end != End::Stopped {
            return Ok(());
        }
        let (played, games) = (self.finished.records.len(), self.games);
        match &table.pgn {
            Some(pgn) => bail!(
                "stopped after {played} of {games} games; they are in {}, and the same command goes on from there",
                pgn.display()
            ),
            None => bail!("stopped after {played} of {games} games"),
        }
    }
}

/// As PGN writes it.
pub(crate) fn today() -> String {
    let now = OffsetDateTime::now_utc();
    format!("{:04}.{:02}.{:02}", now.year(), u8::from(now.month()), now.day())
}
