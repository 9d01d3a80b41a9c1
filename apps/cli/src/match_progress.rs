use tabia_arena::{Finished, Format, Ledger, PlayerId, Progress, Run, Standings, Stop, WallTimer};
use tabia_report::Progress as Meter;

/// Plays the games of a run that are not in the ledger yet, and shows their progress.
///
/// # Errors
/// If the run cannot go on.
pub fn play_run(
    run: &Run<'_>,
    ledger: Option<&mut Ledger>,
    stop: &Stop,
) -> Result<Finished, tabia_arena::RunError> {
    // The length of a test is not known.
    let games = run.schedule.games().into();
    let meter = if run.sprt.is_some() { Meter::new("games") } else { Meter::of(games, "games") };
    meter.skip(ledger.as_ref().map_or(0, |ledger| ledger.records().len() as u64));
    let format = run.schedule.format();
    let finished = run.play(ledger, &WallTimer::new(), stop, &mut |progress| {
        if progress.record.by_fault {
            meter.say(&format!("game {}: {}", progress.record.game + 1, progress.record.reason));
        }
        meter.set(progress.done.into(), &note(progress, format));
    });
    meter.finish();
    finished
}

fn note(progress: &Progress<'_>, format: Format) -> String {
    let score = score(progress.standings, format);
    progress.llr.map_or(score.clone(), |llr| format!("{score}  LLR {llr:+.2}"))
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
