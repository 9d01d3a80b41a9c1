use std::fmt;
use std::time::Duration;

/// A measured round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Units of work: evaluations, nodes, positions.
    pub work: u64,
    /// Duration.
    pub time: Duration,
}

impl Round {
    /// Units per second.
    pub fn per_second(self) -> f64 {
        self.work as f64 / self.time.as_secs_f64()
    }
}

/// A participant of a benchmark.
pub trait Contender {
    /// Name in the table.
    fn name(&self) -> String;

    /// Runs a round.
    fn round(&mut self) -> Round;
}

/// The best round of each contender. They take turns, so that other load affects all of them.
///
/// # Panics
/// If `rounds` is 0.
pub fn best_of<C: Contender + ?Sized>(rounds: usize, contenders: &mut [Box<C>]) -> Vec<Round> {
    assert!(rounds > 0, "at least one round is needed");
    let mut best: Vec<Round> = contenders.iter_mut().map(|contender| contender.round()).collect();
    for _ in 1..rounds {
        for (contender, best) in contenders.iter_mut().zip(&mut best) {
            let round = contender.round();
            if round.per_second() > best.per_second() {
                *best = round;
            }
        }
    }
    best
}

/// Unit of speeds in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Units per second.
    PerSecond,
    /// Nanoseconds per unit.
    NanosecondsEach,
    /// Milliseconds per unit.
    MillisecondsEach,
}

/// A table of the best rounds: a line per contender with its speed and ratios to others.
pub struct Table<'a> {
    /// Name of the unit of work, in the singular.
    pub unit: &'a str,
    /// Unit of speeds.
    pub shown: Shown,
    /// Names and best rounds.
    pub lines: Vec<(String, Round)>,
    /// Columns of ratios: a title, and a prefix of the name of the reference line. Without a reference the column is empty.
    pub ratios: &'a [(&'a str, &'a str)],
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let speed = match self.shown {
            Shown::PerSecond => format!("{}s/s", self.unit),
            Shown::NanosecondsEach => format!("ns / {}", self.unit),
            Shown::MillisecondsEach => format!("ms / {}", self.unit),
        };
        write!(f, "{:32}{speed:>18}", "")?;
        for (title, _) in self.ratios {
            write!(f, "{title:>18}")?;
        }
        for (name, round) in &self.lines {
            let per_second = round.per_second();
            let (speed, decimals) = match self.shown {
                Shown::PerSecond => (per_second, 0),
                Shown::NanosecondsEach => (1e9 / per_second, 0),
                Shown::MillisecondsEach => (1e3 / per_second, 1),
            };
            write!(f, "\n{name:32}{speed:>18.decimals$}")?;
            for (_, one) in self.ratios {
                let one = self.lines.iter().find(|(name, _)| name.starts_with(one));
                let ratio =
                    one.map_or_else(String::new, |(_, one)| format!("{:.2}x", per_second / one.per_second()));
                write!(f, "{ratio:>18}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(work: u64, milliseconds: u64) -> Round {
        Round { work, time: Duration::from_millis(milliseconds) }
    }

    struct Scripted(&'static str, Vec<Round>);

    impl Contender for Scripted {
        fn name(&self) -> String {
            self.0.to_owned()
        }

        fn round(&mut self) -> Round {
            self.1.remove(0)
        }
    }

    #[test]
    fn ratios_compare_the_best_rounds() {
        let mut contenders = [
            Box::new(Scripted("ours", vec![round(10, 500), round(10, 100)])),
            Box::new(Scripted("theirs 2.0", vec![round(10, 200), round(10, 400)])),
        ];
        let best = best_of(2, &mut contenders);
        assert_eq!(best, [round(10, 100), round(10, 200)]);
        let lines = contenders.iter().map(|c| c.name()).zip(best).collect();
        let ratios = [("of theirs", "theirs"), ("of nobody's", "nobody")];
        let table = Table { unit: "node", shown: Shown::PerSecond, lines, ratios: &ratios }.to_string();
        let words: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[0], ["nodes/s", "of", "theirs", "of", "nobody's"]);
        assert_eq!(words[1], ["ours", "100", "2.00x"]);
        assert_eq!(words[2], ["theirs", "2.0", "50", "1.00x"]);
    }

    #[test]
    fn milliseconds_have_a_decimal() {
        let lines = vec![("start".to_owned(), Round { work: 4, time: Duration::from_micros(50_600) })];
        let table = Table { unit: "answer", shown: Shown::MillisecondsEach, lines, ratios: &[] }.to_string();
        let words: Vec<&str> = table.split_whitespace().collect();
        assert_eq!(words, ["ms", "/", "answer", "start", "12.7"]);
    }
}
