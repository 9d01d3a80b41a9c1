#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fmt, time::Duration};

use shakmaty::uci::UciMove;

use super::words::{Words, one_line};

/// What an engine says while it thinks; every part is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Plies looked ahead.
    pub depth: Option<u32>,
    /// The longest line looked at, in plies.
    pub seldepth: Option<u32>,
    /// Which of several best lines this is, from 1.
    pub multipv: Option<u32>,
    /// Who is better.
    pub score: Option<ScoreInfo>,
    /// How the game may end.
    pub wdl: Option<MoverWdl>,
    /// Positions visited.
    pub nodes: Option<u64>,
    /// Positions visited in a second.
    pub nps: Option<u64>,
    /// How full the transposition table is, in thousandths.
    pub hashfull: Option<u32>,
    /// Positions found in endgame tables.
    pub tbhits: Option<u64>,
    /// Positions found in Shredder's endgame tables.
    pub sbhits: Option<u64>,
    /// Time since `go`.
    pub time: Option<Duration>,
    /// Processor use, in thousandths.
    pub cpuload: Option<u32>,
    /// The move looked at now.
    pub currmove: Option<UciMove>,
    /// Which of the moves that is, from 1.
    pub currmovenumber: Option<u32>,
    /// The first move is refuted by the line of the others. Empty is nothing said.
    pub refutation: Vec<UciMove>,
    /// The line looked at now.
    pub currline: Option<CurrentLine>,
    /// The best line. Empty is nothing said.
    pub pv: Vec<UciMove>,
    /// Free text, one line.
    pub string: Option<String>,
}

/// An evaluation and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoreInfo {
    /// The evaluation.
    pub score: MoverScore,
    /// Whether it is only a bound.
    pub bound: Option<Bound>,
}

impl From<MoverScore> for ScoreInfo {
    fn from(score: MoverScore) -> ScoreInfo {
        ScoreInfo { score, bound: None }
    }
}

/// An evaluation from the point of view of the side to move: positive is good for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoverScore {
    /// Hundredths of a pawn.
    Centipawns(i32),
    /// Moves (not plies) until mate; zero or less: the side to move is mated.
    Mate(i32),
}

/// On which side of the score the truth lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The score or better.
    Lower,
    /// The score or worse.
    Upper,
}

/// How the game may end, in thousandths, from the point of view of the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoverWdl {
    /// The side to move wins.
    pub win: u16,
    /// Draw.
    pub draw: u16,
    /// The side to move loses.
    pub loss: u16,
}

/// A line an engine looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentLine {
    /// Which processor does, from 1, where there are several.
    pub cpu: Option<u32>,
    /// Its moves.
    pub moves: Vec<UciMove>,
}

impl Info {
    /// Nothing but text.
    pub fn text(text: impl Into<String>) -> Info {
        Info { string: Some(text.into()), ..Info::default() }
    }

    pub(super) fn parse(mut words: Words<'_>) -> Info {
        let mut info = Info::default();
        while let Some(word) = words.next() {
            match word {
                "depth" => info.depth = words.number().or(info.depth),
                "seldepth" => info.seldepth = words.number().or(info.seldepth),
                "multipv" => info.multipv = words.number().or(info.multipv),
                "score" => info.score = score(&mut words).or(info.score),
                // Some engines say it without `score` before.
                "lowerbound" | "upperbound" => {
                    if let Some(score) = &mut info.score {
                        score.bound = bound(word);
                    }
                }
                "wdl" => info.wdl = wdl(&mut words).or(info.wdl),
                "nodes" => info.nodes = words.number().or(info.nodes),
                "nps" => info.nps = words.number().or(info.nps),
                "hashfull" => info.hashfull = words.number().or(info.hashfull),
                "tbhits" => info.tbhits = words.number().or(info.tbhits),
                "sbhits" => info.sbhits = words.number().or(info.sbhits),
                "time" => info.time = words.milliseconds().or(info.time),
                "cpuload" => info.cpuload = words.number().or(info.cpuload),
                "currmove" => info.currmove = words.a_move().or(info.currmove),
                "currmovenumber" => info.currmovenumber = words.number().or(info.currmovenumber),
                "refutation" => info.refutation = words.moves(),
                "currline" => {
                    info.currline = Some(CurrentLine { cpu: words.number(), moves: words.moves() });
                }
                "pv" => info.pv = words.moves(),
                "string" => {
                    info.string = Some(words.text());
                    break;
                }
                _ => {}
            }
        }
        info
    }
}

fn score(words: &mut Words<'_>) -> Option<ScoreInfo> {
    // A bound may stand before or after the number.
    let before = words.accept(bound);
    let score = match words.accept(|word| matches!(word, "cp" | "mate").then(|| word == "mate"))? {
        true => MoverScore::Mate(words.number()?),
        false => MoverScore::Centipawns(words.number()?),
    };
    Some(ScoreInfo { score, bound: words.accept(bound).or(before) })
}

fn bound(word: &str) -> Option<Bound> {
    match word {
        "lowerbound" => Some(Bound::Lower),
        "upperbound" => Some(Bound::Upper),
        _ => None,
    }
}

fn wdl(words: &mut Words<'_>) -> Option<MoverWdl> {
    Some(MoverWdl { win: words.number()?, draw: words.number()?, loss: words.number()? })
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
        Info::parse(Words::new(line.strip_prefix("info").unwrap()))
    }

    #[test]
    fn every_field_is_read_and_written() {
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
    fn stockfish_order_and_unknown_words() {
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
