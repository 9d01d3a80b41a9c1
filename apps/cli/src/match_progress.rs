use std::{io::IsTerminal, time::Duration};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tabia_arena::{Finished, Format, Ledger, PlayerId, Progress, Run, Standings, Stop, WallTimer};

/// The progress of a contest on standard error.
enum MatchProgress {
    /// On a terminal.
    Bar(ProgressBar),
    /// In a file or pipe: a line now and then.
    Lines {
        /// When the last line was written.
        last: Option<Duration>,
    },
}

/// The time between lines.
const INTERVAL: Duration = Duration::from_secs(10);

impl MatchProgress {
    /// A contest of `total` games, of which `done` are played.
    fn new(done: u64, total: u32) -> MatchProgress {
        if !std::io::stderr().is_terminal() {
            return MatchProgress::Lines { last: None };
        }
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(total.into()), ProgressDrawTarget::stderr());
        bar.set_style(style);
        bar.set_position(done);
        MatchProgress::Bar(bar)
    }

    /// Updates after a game.
    fn update(&mut self, progress: &Progress<'_>, format: Format) {
        if progress.record.by_fault {
            self.print(&format!("game {}: {}", progress.record.game + 1, progress.record.reason));
        }
        let message = message(progress, format);
        match self {
            MatchProgress::Bar(bar) => {
                bar.set_message(message);
                bar.set_position(progress.done.into());
            }
            MatchProgress::Lines { last } => {
                let due = last.is_none_or(|last| progress.elapsed.saturating_sub(last) >= INTERVAL);
                if due || progress.done == progress.total {
                    eprintln!("{}/{}  {message}", progress.done, progress.total);
                    *last = Some(progress.elapsed);
                }
            }
        }
    }

    /// A line above the bar.
    fn print(&self, line: &str) {
        match self {
            MatchProgress::Bar(bar) => bar.suspend(|| eprintln!("{line}")),
            MatchProgress::Lines { .. } => eprintln!("{line}"),
        }
    }

    /// Clears the bar.
    fn finish(self) {
        if let MatchProgress::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn message(progress: &Progress<'_>, format: Format) -> String {
    let mut parts = vec![score(progress.standings, format)];
    match progress.llr {
        // The length of a test is not known.
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
        // Opponents differ in strength: scores are not comparable.
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

/// Plays the games of a run that are not in the ledger yet, and shows their progress.
///
/// # Errors
/// If the run cannot go on.
pub fn play_run(
    run: &Run<'_>,
    ledger: Option<&mut Ledger>,
    stop: &Stop,
) -> Result<Finished, tabia_arena::RunError> {
    let already = ledger.as_ref().map_or(0, |ledger| ledger.records().len());
    let format = run.schedule.format();
    let mut progress = MatchProgress::new(already as u64, run.schedule.games());
    let finished = run.play(ledger, &WallTimer::new(), stop, &mut |game| progress.update(game, format));
    progress.finish();
    finished
}
