#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fmt, time::Duration};

use shakmaty::uci::UciMove;

use super::tokens::{Tokens, one_line};

/// Parameters of `info`, all optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Depth in plies.
    pub depth: Option<u32>,
    /// Selective depth in plies.
    pub seldepth: Option<u32>,
    /// Rank of the line, from 1.
    pub multipv: Option<u32>,
    /// Score.
    pub score: Option<ScoreInfo>,
    /// Win, draw and loss probabilities.
    pub wdl: Option<MoverWdl>,
    /// Nodes searched.
    pub nodes: Option<u64>,
    /// Nodes per second.
    pub nps: Option<u64>,
    /// Hash table usage in permille.
    pub hashfull: Option<u32>,
    /// Tablebase hits.
    pub tbhits: Option<u64>,
    /// Shredder tablebase hits.
    pub sbhits: Option<u64>,
    /// Time since `go`.
    pub time: Option<Duration>,
    /// CPU usage in permille.
    pub cpuload: Option<u32>,
    /// Move currently searched.
    pub currmove: Option<UciMove>,
    /// Number of that move, from 1.
    pub currmovenumber: Option<u32>,
    /// A move followed by its refutation.
    pub refutation: Vec<UciMove>,
    /// Line currently searched.
    pub currline: Option<CurrentLine>,
    /// Principal variation.
    pub pv: Vec<UciMove>,
    /// Text, one line.
    pub string: Option<String>,
}

/// A score, exact or a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoreInfo {
    /// Score.
    pub score: MoverScore,
    /// Kind of bound; `None` if exact.
    pub bound: Option<Bound>,
}

impl From<MoverScore> for ScoreInfo {
    fn from(score: MoverScore) -> ScoreInfo {
        ScoreInfo { score, bound: None }
    }
}

/// A score from the side to move's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoverScore {
    /// Centipawns.
    Centipawns(i32),
    /// Moves (not plies) to mate; zero or negative if the side to move is mated.
    Mate(i32),
}

/// Kind of bound of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// `lowerbound`
    Lower,
    /// `upperbound`
    Upper,
}

/// Win, draw and loss in permille, from the side to move's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoverWdl {
    /// Win.
    pub win: u16,
    /// Draw.
    pub draw: u16,
    /// Loss.
    pub loss: u16,
}

/// Parameters of `currline`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentLine {
    /// CPU number, from 1.
    pub cpu: Option<u32>,
    /// Moves.
    pub moves: Vec<UciMove>,
}

impl Info {
    /// `info string`
    pub fn text(text: impl Into<String>) -> Info {
        Info { string: Some(text.into()), ..Info::default() }
    }

    pub(super) fn parse(mut tokens: Tokens<'_>) -> Info {
        let mut info = Info::default();
        while let Some(token) = tokens.next() {
            match token {
                "depth" => info.depth = tokens.number().or(info.depth),
                "seldepth" => info.seldepth = tokens.number().or(info.seldepth),
                "multipv" => info.multipv = tokens.number().or(info.multipv),
                "score" => info.score = score(&mut tokens).or(info.score),
                // Some engines send it separately from `score`.
                "lowerbound" | "upperbound" => {
                    if let Some(score) = &mut info.score {
                        score.bound = bound(token);
                    }
                }
                "wdl" => info.wdl = wdl(&mut tokens).or(info.wdl),
                "nodes" => info.nodes = tokens.number().or(info.nodes),
                "nps" => info.nps = tokens.number().or(info.nps),
                "hashfull" => info.hashfull = tokens.number().or(info.hashfull),
                "tbhits" => info.tbhits = tokens.number().or(info.tbhits),
                "sbhits" => info.sbhits = tokens.number().or(info.sbhits),
                "time" => info.time = tokens.milliseconds().or(info.time),
                "cpuload" => info.cpuload = tokens.number().or(info.cpuload),
                "currmove" => info.currmove = tokens.next_move().or(info.currmove),
                "currmovenumber" => info.currmovenumber = tokens.number().or(info.currmovenumber),
                "refutation" => info.refutation = tokens.moves(),
                "currline" => {
                    info.currline = Some(CurrentLine { cpu: tokens.number(), moves: tokens.moves() });
                }
                "pv" => info.pv = tokens.moves(),
                "string" => {
                    info.string = Some(tokens.text());
                    break;
                }
                _ => {}
            }
        }
        info
    }
}

fn score(tokens: &mut Tokens<'_>) -> Option<ScoreInfo> {
    // The bound may come before or after the number.
    let before = tokens.accept(bound);
    let score = match tokens.accept(|token| matches!(token, "cp" | "mate").then(|| token == "mate"))? {
        true => MoverScore::Mate(tokens.number()?),
        false => MoverScore::Centipawns(tokens.number()?),
    };
    Some(ScoreInfo { score, bound: tokens.accept(bound).or(before) })
}

fn bound(token: &str) -> Option<Bound> {
    match token {
        "lowerbound" => Some(Bound::Lower),
        "upperbound" => Some(Bound::Upper),
        _ => None,
    }
}

fn wdl(tokens: &mut Tokens<'_>) -> Option<MoverWdl> {
    Some(MoverWdl { win: tokens.number()?, draw: tokens.number()?, loss: tokens.number()? })
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("info")?;
        number(f, "depth", self.depth)?;
        number(f, "seldepth", self.seldepth)?;
        number(f, "multipv", self.multipv)?;
        if let Some(ScoreInfo { score, bound }) = &self.score {
            match score {
                MoverScore::Centipawns(value) => write!(f, " score cp {value}")?,
                MoverScore::Mate(moves) => write!(f, " score mate {moves}")?,
            }
            f.write_str(match bound {
                Some(Bound::Lower) => " lowerbound",
                Some(Bound::Upper) => " upperbound",
                None => "",
            })?;
        }
        if let Some(MoverWdl { win, draw, loss }) = self.wdl {
            write!(f, " wdl {win} {draw} {loss}")?;
        }
        number(f, "nodes", self.nodes)?;
        number(f, "nps", self.nps)?;
        number(f, "hashfull", self.hashfull)?;
        number(f, "tbhits", self.tbhits)?;
        number(f, "sbhits", self.sbhits)?;
        number(f, "time", self.time.map(|time| time.as_millis()))?;
        number(f, "cpuload", self.cpuload)?;
        number(f, "currmove", self.currmove)?;
        number(f, "currmovenumber", self.currmovenumber)?;
        moves(f, "refutation", &self.refutation)?;
        if let Some(CurrentLine { cpu, moves: line }) = &self.currline {
            f.write_str(" currline")?;
            cpu.iter().try_for_each(|cpu| write!(f, " {cpu}"))?;
            line.iter().try_for_each(|mv| write!(f, " {mv}"))?;
        }
        moves(f, "pv", &self.pv)?;
        if let Some(text) = &self.string {
            write!(f, " string {}", one_line(text))?;
        }
        Ok(())
    }
}

fn number(f: &mut fmt::Formatter<'_>, name: &str, value: Option<impl fmt::Display>) -> fmt::Result {
    value.map_or(Ok(()), |value| write!(f, " {name} {value}"))
}

fn moves(f: &mut fmt::Formatter<'_>, name: &str, line: &[UciMove]) -> fmt::Result {
    if line.is_empty() {
        return Ok(());
    }
    write!(f, " {name}")?;
    line.iter().try_for_each(|mv| write!(f, " {mv}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Info {
        Info::parse(Tokens::new(line.strip_prefix("info").unwrap()))
    }

    #[test]
    fn info_round_trips() {
        for line in [
            "info depth 12 seldepth 20 multipv 2 score cp -31 upperbound wdl 22 974 4 nodes 123456 nps 1000 \
             hashfull 12 tbhits 3 sbhits 4 time 1234 cpuload 990 pv e2e4 e7e5 g1f3",
            "info depth 1 score mate -3 lowerbound",
            "info currmove e7e8q currmovenumber 3",
            "info refutation d1h5 g6h5",
            "info currline 2 e2e4 e7e5",
            "info currline e2e4",
            "info depth 1 string two  blanks, and pv e2e4 is text",
            "info",
        ] {
            assert_eq!(parse(line).to_string(), line);
        }
    }

    #[test]
    fn field_order_and_unknown_tokens_do_not_matter() {
        let info = parse(
            "info depth 3 seldepth 3 ebf 2 multipv 1 score cp 75 wdl 275 725 0 nodes 169 nps 84500 tbhits 0 time 2 pv d2d4 c7c6",
        );
        assert_eq!(info.score, Some(MoverScore::Centipawns(75).into()));
        assert_eq!(info.wdl, Some(MoverWdl { win: 275, draw: 725, loss: 0 }));
        assert_eq!(info.pv.len(), 2);
        assert_eq!(parse("info score lowerbound cp 5").score.unwrap().bound, Some(Bound::Lower));
        assert_eq!(parse("info score cp x depth 3"), Info { depth: Some(3), ..Info::default() });
        assert_eq!(parse("info nodes -1 pv hello"), Info::default());
    }
}
