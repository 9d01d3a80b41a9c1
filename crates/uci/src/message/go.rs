#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fmt, time::Duration};

use shakmaty::{ByColor, Color, uci::UciMove};

use super::tokens::Tokens;

/// Parameters of `go`. Times are whole milliseconds on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Go {
    /// `searchmoves`; empty means all moves.
    pub search_moves: Vec<UciMove>,
    /// `ponder`: no `bestmove` before `ponderhit` or `stop`.
    pub ponder: bool,
    /// `wtime` and `btime`. Negative clocks are parsed as zero.
    pub clock: ByColor<Option<Duration>>,
    /// `winc` and `binc`.
    pub increment: ByColor<Option<Duration>>,
    /// `movestogo`; `None` is sudden death.
    pub moves_to_go: Option<u32>,
    /// `depth` in plies.
    pub depth: Option<u32>,
    /// `nodes`.
    pub nodes: Option<u64>,
    /// `mate` in moves.
    pub mate: Option<u32>,
    /// `movetime`.
    pub move_time: Option<Duration>,
    /// `infinite`.
    pub infinite: bool,
}

impl Go {
    /// `go movetime`
    pub fn move_time(time: Duration) -> Go {
        Go { move_time: Some(time), ..Go::default() }
    }

    /// `go nodes`
    pub fn nodes(nodes: u64) -> Go {
        Go { nodes: Some(nodes), ..Go::default() }
    }

    /// `go depth`
    pub fn depth(depth: u32) -> Go {
        Go { depth: Some(depth), ..Go::default() }
    }

    /// `go infinite`
    pub fn infinite() -> Go {
        Go { infinite: true, ..Go::default() }
    }

    /// `go wtime btime winc binc`
    pub fn clocks(clock: ByColor<Duration>, increment: ByColor<Duration>) -> Go {
        Go { clock: clock.map(Some), increment: increment.map(Some), ..Go::default() }
    }

    /// Whether `bestmove` must wait for `stop` or `ponderhit`.
    pub fn waits(&self) -> bool {
        self.infinite || self.ponder
    }

    pub(super) fn parse(mut tokens: Tokens<'_>) -> Go {
        let mut go = Go::default();
        // Later valid values replace earlier ones.
        while let Some(token) = tokens.next() {
            match token {
                "searchmoves" => go.search_moves.extend(tokens.moves()),
                "ponder" => go.ponder = true,
                "wtime" => set(&mut go.clock.white, tokens.milliseconds()),
                "btime" => set(&mut go.clock.black, tokens.milliseconds()),
                "winc" => set(&mut go.increment.white, tokens.milliseconds()),
                "binc" => set(&mut go.increment.black, tokens.milliseconds()),
                "movestogo" => set(&mut go.moves_to_go, tokens.number()),
                "depth" => set(&mut go.depth, tokens.number()),
                "nodes" => set(&mut go.nodes, tokens.number()),
                "mate" => set(&mut go.mate, tokens.number()),
                "movetime" => set(&mut go.move_time, tokens.milliseconds()),
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
        Go::parse(Tokens::new(text))
    }

    #[test]
    fn fields_are_parsed_in_any_order() {
        let go = parse(
            "infinite searchmoves e2e4 d2d4 ponder wtime 1000 btime 2000 winc 10 binc 20 movestogo 5 depth 6 \
             nodes 700 mate 3 movetime 99",
        );
        let text = "go ponder infinite wtime 1000 btime 2000 winc 10 binc 20 movestogo 5 depth 6 nodes 700 mate 3 \
             movetime 99 searchmoves e2e4 d2d4";
        assert_eq!(go.to_string(), text);
    }

    #[test]
    fn unknown_tokens_and_invalid_numbers_are_ignored() {
        let go = parse(
            "perft wtime -250 btime lots depth 4.5 winc 99999999999999999999999 nodes 12 depth 3 depth x",
        );
        assert_eq!(go.clock, ByColor { white: Some(Duration::ZERO), black: None });
        assert_eq!((go.depth, go.nodes, go.increment.white), (Some(3), Some(12), None));
    }
}
