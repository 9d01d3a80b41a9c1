use std::io::{IsTerminal, Write, stderr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use tabia_train::{Evaluation, StepLine, Watch};

/// Without a terminal, at least this many seconds lie between two lines.
const SECONDS_PER_LINE: f64 = 5.0;

/// A run's clock, its way to be stopped, and what it shows.
pub(super) struct TerminalWatch {
    started: Instant,
    stop: Arc<AtomicBool>,
    bar: Option<ProgressBar>,
    last_line: f64,
    last: Option<StepLine>,
}

impl TerminalWatch {
    /// Shows a bar on a terminal, lines elsewhere. Ctrl-C stops the run after the step it is in.
    pub(super) fn new() -> anyhow::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))?;
        let bar = stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{wide_bar} {percent}% {msg}")
                .expect("the template is a constant that was tried");
            ProgressBar::new(10_000).with_style(style)
        });
        Ok(TerminalWatch { started: Instant::now(), stop, bar, last_line: 0.0, last: None })
    }

    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            // Nobody reads a closed stderr; training goes on.
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

    fn stepped(&mut self, line: &StepLine, progress: f64) {
        let speed = self.last.map_or(0.0, |last| {
            (line.positions - last.positions) as f64 / (line.seconds - last.seconds).max(1e-9)
        });
        self.last = Some(*line);
        let text = format!(
            "step {} | {:.2}M positions | {:.0}/s | loss {:.4} | lr {:.2e} | gradient {:.2}",
            line.step,
            line.positions as f64 / 1e6,
            speed,
            line.loss,
            line.lr,
            line.gradient_norm
        );
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
        self.say(&describe(evaluation));
    }

    fn saved(&mut self, folder: &Path) {
        self.say(&format!("saved {}", folder.display()));
    }
}

impl Drop for TerminalWatch {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// An evaluation in one sentence a group.
fn describe(evaluation: &Evaluation) -> String {
    let group = |(name, score): (&String, &tabia_train::GroupScore)| {
        let mut parts = vec![format!("{} positions", score.count)];
        let mut add = |label: &str, value: Option<f64>| {
            parts.extend(value.map(|value| format!("{label} {value:.3}")));
        };
        add("log-loss", score.policy);
        add("top-1", score.top1);
        add("top-5", score.top5);
        add("result loss", score.outcome);
        add("value loss", score.value);
        add("value error", score.value_error);
        add("value correlation", score.value_correlation);
        add("better side named", score.value_sign);
        add("best move chosen one ply ahead", score.best_move);
        add("centipawns given away by that choice", score.move_loss_cp);
        format!("{name}: {}", parts.join(", "))
    };
    let groups: Vec<String> = evaluation.groups.iter().map(group).collect();
    format!("Held out, at {} positions: {}.", evaluation.positions, groups.join("; "))
}
