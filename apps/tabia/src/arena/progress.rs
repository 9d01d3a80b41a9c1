//! What a run says of itself while it plays.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tabia_arena::{Format, PlayerId, Progress, Standings};

/// Somebody who watches a run, on the standard error.
pub(crate) enum Watcher {
    /// A terminal.
    Bar(ProgressBar),
    /// A file or a pipe: a line now and then.
    Lines {
        /// When the last was written.
        last: Option<Duration>,
    },
}

/// Between lines.
const PAUSE: Duration = Duration::from_secs(10);

impl Watcher {
    pub(crate) fn new(done: u64, total: u32) -> Watcher {
        if !std::io::stderr().is_terminal() {
            return Watcher::Lines { last: None };
        }
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(total.into()), ProgressDrawTarget::stderr());
        bar.set_style(style);
        bar.set_position(done);
        Watcher::Bar(bar)
    }

    /// A game is finished.
    pub(crate) fn tell(&mut self, progress: &Progress<'_>, format: Format) {
        if progress.record.by_fault {
            self.say(&format!("game {}: {}", progress.record.game + 1, progress.record.reason));
        }
        let message = message(progress, format);
        match self {
            Watcher::Bar(bar) => {
                bar.set_message(message);
                bar.set_position(progress.done.into());
            }
            Watcher::Lines { last } => {
                let due = last.is_none_or(|last| progress.elapsed.saturating_sub(last) >= PAUSE);
                if due || progress.done == progress.total {
                    eprintln!("{}/{}  {message}", progress.done, progress.total);
                    *last = Some(progress.elapsed);
                }
            }
        }
    }

    /// A line above the bar.
    fn say(&self, line: &str) {
        match self {
            Watcher::Bar(bar) => bar.suspend(|| eprintln!("{line}")),
            Watcher::Lines { .. } => eprintln!("{line}"),
        }
    }

    pub(crate) fn finish(self) {
        if let Watcher::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn message(progress: &Progress<'_>, format: Format) -> String {
    let mut parts = vec![score(progress.standings, format)];
    match progress.llr {
        // How long a test takes nobody knows.
        Some(llr) => parts.push(format!("LLR {llr:+.2}")),
        None if progress.done < progress.total => {
            parts.push(format!("{:#} left", HumanDuration(progress.remaining)));
        }
        None => {}
    }
    parts.retain(|part| !part.is_empty());
    parts.join("  ")
}

fn score(standings: &Standings, format: Format) -> String {
    let first = PlayerId(0);
    match format {
        Format::Match | Format::Gauntlet => {
            let games = standings.overall(first);
            let tally = format!("+{} ={} -{}", games.wins, games.draws, games.losses);
            let elo = standings.between(first, PlayerId(1)).elo().filter(|_| format == Format::Match);
            elo.map_or(tally.clone(), |elo| format!("{tally}  Elo {elo}"))
        }
        // Everybody has opponents of another strength: nobody leads.
        Format::Pairings => String::new(),
        Format::RoundRobin => {
            let share = |id: &PlayerId| standings.overall(*id).score().unwrap_or(0.0);
            let leader = (0..standings.names().len())
                .map(PlayerId)
                .max_by(|a, b| share(a).total_cmp(&share(b)))
                .unwrap_or(first);
            let games = standings.overall(leader);
            format!("{} leads with {} of {}", standings.names()[leader.0], games.points(), games.games())
        }
    }
}
