use std::cell::Cell;
use std::io::{IsTerminal, Write, stderr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

#[cfg(feature = "players")]
use super::play::Games;
use super::table;
#[cfg(feature = "players")]
use tabia_train::GroupScore;
use tabia_train::{Evaluation, StepLine, TrainConfig, Watch, Work};

/// Minimum seconds between lines without a terminal.
const SECONDS_PER_LINE: f64 = 5.0;
/// Minimum seconds between updates of the bar.
const SECONDS_PER_LOOK: f64 = 0.1;
/// Exit status after a second Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Clock, cancellation and progress output of a run.
pub(super) struct TerminalWatch {
    started: Instant,
    stop: Arc<AtomicBool>,
    bar: Option<ProgressBar>,
    /// Time of the last update.
    shown: Cell<f64>,
    /// Time of the last line of metrics.
    last_line: f64,
    last: Option<StepLine>,
    /// Summary of the last metrics.
    summary: String,
    /// The games of evaluations.
    #[cfg(feature = "players")]
    games: Option<Games>,
}

impl TerminalWatch {
    /// Shows a bar on a terminal, lines elsewhere. Ctrl-C or SIGTERM stops the run with a checkpoint of its last complete step;
    /// a second one ends the program at once. The run's time is counted from `started`.
    pub(super) fn new(started: Instant) -> anyhow::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        ctrlc::set_handler(move || {
            if flag.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED);
            }
        })?;
        let bar = stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{wide_bar} {percent}% {msg}")
                .expect("the template is a constant that was tried");
            ProgressBar::new(10_000).with_style(style)
        });
        let shown = Cell::new(f64::NEG_INFINITY);
        Ok(TerminalWatch {
            started,
            stop,
            bar,
            shown,
            last_line: 0.0,
            last: None,
            summary: String::new(),
            #[cfg(feature = "players")]
            games: None,
        })
    }

    /// Prepares the games that the configuration asks for; `weights` are those at the beginning. `run` is the folder of the run,
    /// which may be resumed.
    #[cfg(feature = "players")]
    pub(super) fn prepare_games(
        &mut self,
        config: &TrainConfig,
        run: &Path,
        resumed: bool,
        weights: impl FnOnce() -> anyhow::Result<Vec<f32>>,
    ) -> anyhow::Result<()> {
        self.games = Games::of(&config.evaluation, run, Arc::clone(&self.stop))?;
        match &self.games {
            Some(games) if !resumed => games.begin(config, &weights()?),
            _ => Ok(()),
        }
    }

    /// Refuses a configuration that asks for games.
    #[cfg(not(feature = "players"))]
    pub(super) fn prepare_games(
        &mut self,
        config: &TrainConfig,
        _run: &Path,
        _resumed: bool,
        _weights: impl FnOnce() -> anyhow::Result<Vec<f32>>,
    ) -> anyhow::Result<()> {
        if config.evaluation.plays() {
            anyhow::bail!(
                "evaluation.ladder and evaluation.match need a tabia-lab that was built with its feature `players`"
            );
        }
        Ok(())
    }

    pub(super) fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            // Training continues if stderr is closed.
            None => drop(writeln!(stderr(), "{text}")),
        }
    }
}

impl Watch for TerminalWatch {
    fn seconds(&self) -> f64 {
        Instant::now().duration_since(self.started).as_secs_f64()
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn working(&self, work: Work, progress: f64) {
        let pause = if self.bar.is_some() { SECONDS_PER_LOOK } else { SECONDS_PER_LINE };
        if self.seconds() - self.shown.get() < pause {
            return;
        }
        let text = match work {
            Work::Step { step, done, of } if done < of => format!("step {step}: {done} of {of} positions"),
            // Without a bar, the lines of metrics are enough.
            Work::Step { .. } if self.bar.is_none() => return,
            Work::Step { step, .. } => format!("step {step}"),
            Work::Evaluation { done, of } => format!("evaluating: {done} of at most {of} positions"),
        };
        self.shown.set(self.seconds());
        let Some(bar) = &self.bar else { return self.say(&text) };
        bar.set_position((progress * 10_000.0) as u64);
        bar.set_message(if self.summary.is_empty() { text } else { format!("{text} | {}", self.summary) });
    }

    fn stepped(&mut self, line: &StepLine, progress: f64) {
        let speed = self.last.map_or(0.0, |last| {
            (line.positions - last.positions) as f64 / (line.seconds - last.seconds).max(1e-9)
        });
        self.last = Some(*line);
        self.summary = format!(
            "{:.2}M positions | {:.0}/s | loss {:.4} | lr {:.2e} | gradient {:.2}",
            line.positions as f64 / 1e6,
            speed,
            line.loss,
            line.lr,
            line.gradient_norm
        );
        let text = format!("step {} | {}", line.step, self.summary);
        match &self.bar {
            Some(bar) => {
                bar.set_position((progress * 10_000.0) as u64);
                bar.set_message(text);
            }
            None if self.seconds() - self.last_line >= SECONDS_PER_LINE => {
                self.last_line = self.seconds();
                self.say(&format!("{:5.1}% {text}", 100.0 * progress));
            }
            None => {}
        }
    }

    fn evaluated(&mut self, evaluation: &Evaluation) {
        let Evaluation { step, positions, .. } = evaluation;
        self.say(&format!(
            "after {step} steps, {positions} positions:\n{}",
            table::of_evaluation(evaluation)
        ));
    }

    fn saved(&mut self, folder: &Path) {
        self.say(&format!("saved {}", folder.display()));
    }

    #[cfg(feature = "players")]
    fn play(&mut self, config: &TrainConfig, weights: &[f32]) -> Result<Vec<(String, GroupScore)>, String> {
        let games = self.games.as_ref().ok_or("the games were not prepared")?;
        games.play(config, weights).map_err(|error| format!("{error:#}"))
    }
}

impl Drop for TerminalWatch {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
