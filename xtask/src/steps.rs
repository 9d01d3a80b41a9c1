//! Numbered and timed steps, with a summary.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// One step of a run.
pub(crate) struct Step<'a> {
    /// Name for `--only`.
    pub(crate) name: String,
    /// Description in one line.
    pub(crate) what: String,
    /// The command that runs this step alone.
    pub(crate) alone: String,
    pub(crate) action: Box<dyn FnOnce() -> Result<()> + 'a>,
}

/// Runs every step, also after a failure, and prints a summary; an error if any failed.
pub(crate) fn run(steps: Vec<Step<'_>>) -> Result<()> {
    let start = Instant::now();
    let count = steps.len();
    let mut rows = Vec::new();
    let mut failed = Vec::new();
    for (index, step) in steps.into_iter().enumerate() {
        println!("\n== {}/{count} {}: {} [{}]", index + 1, step.name, step.what, clock(start.elapsed()));
        let begun = Instant::now();
        let outcome = (step.action)();
        let took = clock(begun.elapsed());
        match outcome {
            Ok(()) => rows.push(format!("{:<14} passed {took:>8}", step.name)),
            Err(error) => {
                println!("\n{} FAILED: {error:#}\nTo run only this step: {}", step.name, step.alone);
                rows.push(format!("{:<14} FAILED {took:>8}   {}", step.name, step.alone));
                failed.push(step.name);
            }
        }
    }
    println!("\n== summary\n{}\n{:<14} {:>15}", rows.join("\n"), "total", clock(start.elapsed()));
    if !failed.is_empty() {
        bail!("{} of {count} steps failed: {}", failed.len(), failed.join(", "));
    }
    Ok(())
}

/// A time as minutes and seconds, with tenths below a minute.
fn clock(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{}m {:02}s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, outcome: Result<()>) -> Step<'static> {
        Step { name: name.into(), what: String::new(), alone: String::new(), action: Box::new(|| outcome) }
    }

    #[test]
    fn all_steps_run_and_failures_are_listed() {
        let mut last_ran = false;
        let steps = vec![
            step("first", Ok(())),
            step("second", Err(anyhow::anyhow!("broken"))),
            Step {
                action: Box::new(|| {
                    last_ran = true;
                    Ok(())
                }),
                ..step("third", Ok(()))
            },
        ];
        let error = run(steps).unwrap_err().to_string();
        assert_eq!(error, "1 of 3 steps failed: second");
        assert!(last_ran);
    }

    #[test]
    fn times_read_as_a_clock() {
        assert_eq!(clock(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(clock(Duration::from_secs(185)), "3m 05s");
    }
}
