//! One contest from the first game to the report.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tabia_arena::statistics::Sprt;
use tabia_arena::{
    Adjudication, Budget, End, Entrant, Finished, Format, Ledger, Openings, Report, Rules, Run, Schedule,
    Settings, Stop,
};
use tabia_cli::{SpecEntrant, jobs, play_run, stop_on_interrupt, today};
use tabia_players::Limits;
use tabia_syzygy::Tables;

use super::outcome::TestState;
use crate::cli::TableArgs;

/// A contest to be played.
pub(crate) struct Contest<'a> {
    /// Its name in PGN.
    pub(crate) event: String,
    pub(crate) players: Vec<SpecEntrant<'a>>,
    pub(crate) openings: Openings,
    pub(crate) format: Format,
    /// Pairs of games per pairing.
    pub(crate) rounds: u32,
    pub(crate) budget: Budget,
    pub(crate) adjudication: Adjudication,
    pub(crate) sprt: Option<Sprt>,
    /// The name of an external opponent the games depend on.
    pub(crate) opponent: Option<String>,
    pub(crate) table: &'a TableArgs,
}

/// The result of a contest.
pub(crate) struct Played {
    pub(crate) finished: Finished,
    pub(crate) report: Report,
    sprt: Option<Sprt>,
    settings: Settings,
    /// The games scheduled.
    games: u32,
}

impl Contest<'_> {
    /// Plays the missing games. Sets the handler of Ctrl-C, so may be called once in a program.
    pub(crate) fn play(&self) -> Result<Played> {
        let schedule =
            Schedule::new(self.format, self.players.len(), self.rounds, self.openings.list().len())?;
        let tables = self.table.tb.as_deref().map(Tables::shared).transpose().context("--tb")?;
        // Limits are the players' own; clocks are for all.
        let rules = Rules {
            budget: Budget { limits: Limits::default(), ..self.budget.clone() },
            adjudication: self.adjudication,
            tables: tables.clone(),
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
            jobs: jobs(self.table.jobs),
            sprt: self.sprt,
        };
        let settings = self.settings(&run);
        let mut ledger = self.table.pgn.as_deref().map(|pgn| Ledger::open(pgn, &settings)).transpose()?;
        let already = ledger.as_ref().map_or(0, |ledger| ledger.records().len());
        self.announce(&schedule, run.jobs, already);

        let stop = Arc::new(Stop::new());
        stop_on_interrupt(&stop)?;
        let finished = play_run(&run, ledger.as_mut(), &stop)?;
        if let Some(failure) = tables.as_ref().and_then(|tables| tables.take_failure()) {
            return Err(failure).context("--tb");
        }
        let report = Report::of_records(&finished.standings, &finished.records);
        Ok(Played { finished, report, sprt: self.sprt, settings, games: schedule.games() })
    }

    /// What the games depend on, model files included.
    fn settings(&self, run: &Run<'_>) -> Settings {
        let mut settings = run.settings();
        settings.set("limits", self.budget.to_string());
        for known in self.players.iter().filter_map(SpecEntrant::file) {
            settings.set(&format!("contents of {}", known.file), &known.hash);
        }
        if let Some(opponent) = &self.opponent {
            settings.set("opponent", opponent);
        }
        if let Some(tables) = &run.rules.tables {
            settings.set("tables", tables.to_string());
        }
        settings
    }

    fn announce(&self, schedule: &Schedule, jobs: std::num::NonZeroUsize, already: usize) {
        let names: Vec<String> = self.players.iter().map(Entrant::name).collect();
        let most = if self.sprt.is_some() { "at most " } else { "" };
        eprintln!(
            "{}: {}; {most}{} games, {}, {jobs} at a time",
            schedule.format(),
            names.join(", "),
            schedule.games(),
            self.budget.to_string(),
        );
        if already > 0
            && let Some(pgn) = &self.table.pgn
        {
            eprintln!("{already} games are already in {}", pgn.display());
        }
        let openings = self.openings.list().len();
        let deterministic = self.players.iter().filter(|player| player.is_deterministic()).count();
        if self.rounds as usize > openings && deterministic > 1 {
            eprintln!(
                "note: deterministic players repeat their games after {} on {openings} openings, and repeated games \
                 carry no information; pass a larger book with --openings",
                2 * openings,
            );
        }
    }
}

impl Played {
    /// The state of the test, if there is one.
    pub(crate) fn test(&self) -> Option<TestState> {
        Some(TestState::of_result(self.sprt.as_ref()?, self.finished.test.as_ref()?))
    }

    /// All results as JSON.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "settings": self.settings,
            "end": self.finished.end,
            "report": self.report,
            "test": self.test().map(|test| test.to_json()),
            "games": self.finished.records,
        })
    }

    /// An error with how to resume, if not all games were played.
    pub(crate) fn error_if_stopped(&self, table: &TableArgs) -> Result<()> {
        if self.finished.end != End::Stopped {
            return Ok(());
        }
        let (played, games) = (self.finished.records.len(), self.games);
        match &table.pgn {
            Some(pgn) => bail!(
                "stopped after {played} of {games} games; they are in {}, and the same command resumes the run",
                pgn.display()
            ),
            None => bail!("stopped after {played} of {games} games"),
        }
    }
}
