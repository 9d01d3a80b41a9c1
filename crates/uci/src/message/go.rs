#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fmt, time::Duration};

use shakmaty::{ByColor, Color, uci::UciMove};

use super::words::Words;

/// How to think: what `go` says. Times are whole milliseconds on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Go {
    /// Choose among these moves only; empty is all.
    pub search_moves: Vec<UciMove>,
    /// Think on the opponent's time: the position is the expected one, no answer before `ponderhit` or `stop`.
    pub ponder: bool,
    /// What each player's clock shows. Below zero is read as zero.
    pub clock: ByColor<Option<Duration>>,
    /// What each move adds to a player's clock.
    pub increment: ByColor<Option<Duration>>,
    /// Moves until the next time control; `None` is for the rest of the game.
    pub moves_to_go: Option<u32>,
    /// Plies to look ahead.
    pub depth: Option<u32>,
    /// Positions to visit.
    pub nodes: Option<u64>,
    /// A mate in this many moves is wanted.
    pub mate: Option<u32>,
    /// Time for this move.
    pub move_time: Option<Duration>,
    /// Think until `stop`.
    pub infinite: bool,
}

impl Go {
    /// Think for exactly this long.
    pub fn move_time(time: Duration) -> Go {
        Go { move_time: Some(time), ..Go::default() }
    }

    /// Visit this many positions.
    pub fn nodes(nodes: u64) -> Go {
        Go { nodes: Some(nodes), ..Go::default() }
    }

    /// Look this many plies ahead.
    pub fn depth(depth: u32) -> Go {
        Go { depth: Some(depth), ..Go::default() }
    }

    /// Think until told to stop.
    pub fn infinite() -> Go {
        Go { infinite: true, ..Go::default() }
    }

    /// Both clocks, and what each move adds.
    pub fn clocks(clock: ByColor<Duration>, increment: ByColor<Duration>) -> Go {
        Go { clock: clock.map(Some), increment: increment.map(Some), ..Go::default() }
    }

    /// Whether the answer waits for `stop` (or `ponderhit`), however soon it is known.
    pub fn waits(&self) -> bool {
        self.infinite || self.ponder
    }

    pub(super) fn parse(mut words: Words<'_>) -> Go {
        let mut go = Go::default();
        // A later mention replaces an earlier one, unless it makes no sense.
        while let Some(word) = words.next() {
            match word {
                "searchmoves" => go.search_moves.extend(words.moves()),
                "ponder" => go.ponder = true,
                "wtime" => set(&mut go.clock.white, words.milliseconds()),
                "btime" => set(&mut go.clock.black, words.milliseconds()),
                "winc" => set(&mut go.increment.white, words.milliseconds()),
                "binc" => set(&mut go.increment.black, words.milliseconds()),
                "movestogo" => set(&mut go.moves_to_go, words.number()),
                "depth" => set(&mut go.depth, words.number()),
                "nodes" => set(&mut go.nodes, words.number()),
                "mate" => set(&mut go.mate, words.number()),
                "movetime" => set(&mut go.move_time, words.milliseconds()),
                "infinite" => go.infinite = true,
                _ => {}
            }
        }
        go
    }
}

fn set<T>(field: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *field = value;
    }
}

impl fmt::Display for Go {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("go")?;
        if self.ponder {
            f.write_str(" ponder")?;
        }
        if self.infinite {
            f.write_str(" infinite")?;
        }
        let mut number = |name: &str, value: Option<u128>| match value {
            Some(value) => write!(f, " {name} {value}"),
            None => Ok(()),
        };
        let milliseconds = |time: Option<Duration>| time.map(|time| time.as_millis());
        for (name, color) in [("wtime", Color::White), ("btime", Color::Black)] {
            number(name, milliseconds(self.clock[color]))?;
        }
        for (name, color) in [("winc", Color::White), ("binc", Color::Black)] {
            number(name, milliseconds(self.increment[color]))?;
        }
        number("movestogo", self.moves_to_go.map(u128::from))?;
        number("depth", self.depth.map(u128::from))?;
        number("nodes", self.nodes.map(u128::from))?;
        number("mate", self.mate.map(u128::from))?;
        number("movetime", milliseconds(self.move_time))?;
        if !self.search_moves.is_empty() {
            f.write_str(" searchmoves")?;
            for mv in &self.search_moves {
                write!(f, " {mv}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Go {
        Go::parse(Words::new(text))
    }

    #[test]
    fn every_field_is_read_in_any_order() {
        let go = parse(
            "infinite searchmoves e2e4 d2d4 ponder wtime 1000 btime 2000 winc 10 binc 20 movestogo 5 depth 6 \
             nodes 700 mate 3 movetime 99",
        );
        let text = "go ponder infinite wtime 1000 btime 2000 winc 10 binc 20 movestogo 5 depth 6 nodes 700 mate 3 \
             movetime 99 searchmoves e2e4 d2d4";
        assert_eq!(go.to_string(), text);
    }

    #[test]
    fn unknown_words_and_odd_numbers_are_passed_over() {
        let go = parse(
            "perft wtime -250 btime lots depth 4.5 winc 99999999999999999999999 nodes 12 depth 3 depth x",
        );
        assert_eq!(go.clock, ByColor { white: Some(Duration::ZERO), black: None });
        assert_eq!((go.depth, go.nodes, go.increment.white), (Some(3), Some(12), None));
    }
}
