use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
};

use serde::Serialize;
use shakmaty::Color;

use crate::{
    GameRecord, PlayerId, ResultRow, Standings,
    statistics::{EloEstimate, Pairs, PoolRating, Tally},
};

/// Result tables of a run, as text through [`fmt::Display`] and as JSON through serde.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// One row per player.
    pub players: Vec<PlayerRow>,
    /// One row per pairing, from the first player's point of view.
    #[serde(rename = "encounters")]
    pub pairings: Vec<HeadToHeadRow>,
    /// One row per opening from the first player's point of view; empty for more than two players.
    pub openings: Vec<OpeningRow>,
    /// Reasons for the end of games with their counts, most frequent first.
    pub reasons: Vec<(String, u64)>,
}

/// Results of a player.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlayerRow {
    /// Name.
    pub name: String,
    /// All games.
    pub games: Tally,
    /// Games with White.
    pub as_white: Tally,
    /// Games with Black.
    pub as_black: Tally,
    /// Fitted rating; the average is zero.
    pub rating: Option<PoolRating>,
}

/// Results of two players.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadToHeadRow {
    /// Player.
    pub player: String,
    /// Opponent.
    pub opponent: String,
    /// All games.
    pub games: Tally,
    /// Complete pairs.
    pub pairs: Pairs,
    /// Draw ratio.
    pub draw_ratio: Option<f64>,
    /// Elo difference.
    pub elo: Option<EloEstimate>,
}

/// Results on one opening.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpeningRow {
    /// Name of the opening.
    pub opening: String,
    /// The first player's games with White.
    pub as_white: Tally,
    /// The first player's games with Black.
    pub as_black: Tally,
}

impl Report {
    /// Tables of a run's games.
    pub fn of_records(standings: &Standings, records: &[GameRecord]) -> Report {
        let mut report = Report::of(
            standings,
            records.iter().map(|record| (ResultRow::from(record), record.opening_label.as_str())),
        );
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for record in records {
            *reasons.entry(record.reason.as_str()).or_default() += 1;
        }
        report.reasons = reasons.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect();
        report.reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        report
    }

    /// Tables of results with the names of their openings.
    pub fn of<'a>(standings: &Standings, rows: impl IntoIterator<Item = (ResultRow, &'a str)>) -> Report {
        let ids = || (0..standings.names().len()).map(PlayerId);
        let pool = standings.ratings().ok();
        let players = ids()
            .map(|id| {
                let colors = standings.by_color(id);
                PlayerRow {
                    name: standings.names()[id.0].clone(),
                    games: standings.overall(id),
                    as_white: colors.white,
                    as_black: colors.black,
                    rating: pool.as_ref().and_then(|pool| pool.get(id.0)).copied(),
                }
            })
            .collect();
        let pairings = ids()
            .flat_map(|player| {
                ids().filter(move |opponent| player < *opponent).map(move |other| (player, other))
            })
            .filter_map(|(player, opponent)| {
                let between = standings.between(player, opponent);
                (between.games.games() > 0).then(|| HeadToHeadRow {
                    player: standings.names()[player.0].clone(),
                    opponent: standings.names()[opponent.0].clone(),
                    games: between.games,
                    pairs: between.pairs,
                    draw_ratio: between.games.draw_ratio(),
                    elo: between.elo(),
                })
            })
            .collect();
        let openings = if standings.names().len() == 2 { by_opening(rows) } else { Vec::new() };
        Report { players, pairings, openings, reasons: Vec::new() }
    }
}

/// Rows in the order in which openings were first played.
fn by_opening<'a>(rows: impl IntoIterator<Item = (ResultRow, &'a str)>) -> Vec<OpeningRow> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut openings: Vec<OpeningRow> = Vec::new();
    for (row, name) in rows {
        let place = *places.entry(name).or_insert_with(|| {
            let (as_white, as_black) = (Tally::default(), Tally::default());
            openings.push(OpeningRow { opening: name.to_owned(), as_white, as_black });
            openings.len() - 1
        });
        if row.players.white == PlayerId(0) {
            openings[place].as_white.record(row.result.points(Color::White));
        } else {
            openings[place].as_black.record(row.result.points(Color::Black));
        }
    }
    openings
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table =
            Table::new(&["player", "games", "points", "score", "+", "=", "-", "White", "Black", "rating"]);
        for row in &self.players {
            let rating = row.rating.map_or(String::new(), |rating| rating_text(&rating));
            table.row(vec![
                row.name.clone(),
                row.games.games().to_string(),
                row.games.points().to_string(),
                percent(row.games.score()),
                row.games.wins.to_string(),
                row.games.draws.to_string(),
                row.games.losses.to_string(),
                row.as_white.points().to_string(),
                row.as_black.points().to_string(),
                rating,
            ]);
        }
        write!(f, "{table}")?;
        for row in &self.pairings {
            writeln!(f, "\n{} against {}", row.player, row.opponent)?;
            let Tally { wins, draws, losses } = row.games;
            writeln!(f, "  games   +{wins} ={draws} -{losses}, {} drawn", percent(row.draw_ratio))?;
            writeln!(f, "  pairs   {:?} (0, 0.5, 1, 1.5, 2 points)", row.pairs.0)?;
            if let Some(elo) = &row.elo {
                writeln!(f, "  Elo     {elo}, 95% interval")?;
                if let Some(normalised) = elo.normalised {
                    writeln!(f, "  nElo    {:+.1} +- {:.1}", normalised.value, normalised.error)?;
                }
                writeln!(f, "  LOS     {:.1}%", 100.0 * elo.superiority)?;
            }
        }
        if !self.openings.is_empty() {
            let mut table = Table::new(&["opening", "White", "Black", "points", "of"]);
            for row in &self.openings {
                let all = row.as_white + row.as_black;
                table.row(vec![
                    row.opening.clone(),
                    row.as_white.points().to_string(),
                    row.as_black.points().to_string(),
                    all.points().to_string(),
                    all.games().to_string(),
                ]);
            }
            write!(f, "\n{table}")?;
        }
        if !self.reasons.is_empty() {
            writeln!(f)?;
            for (reason, count) in &self.reasons {
                writeln!(f, "{count:>6}  {reason}")?;
            }
        }
        Ok(())
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1}%", 100.0 * share))
}

fn rating_text(rating: &PoolRating) -> String {
    // Adding zero turns -0 into +0.
    let whole = |rating: f64| rating.round() + 0.0;
    match (rating.rating.map(whole), rating.low.map(whole), rating.high.map(whole)) {
        (Some(value), Some(low), Some(high)) => format!("{value:+.0} [{low:+.0}, {high:+.0}]"),
        (_, Some(low), _) => format!("above {low:+.0}"),
        (_, _, Some(high)) => format!("below {high:+.0}"),
        _ => "-".to_owned(),
    }
}

/// Text table: the first column left-aligned, the others right-aligned.
struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    fn new(head: &[&str]) -> Table {
        Table { rows: vec![head.iter().map(|text| (*text).to_owned()).collect()] }
    }

    fn row(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if column == 0 {
                    write!(line, "{cell:<width$}")?;
                } else {
                    write!(line, "  {cell:>width$}")?;
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::ByColor;

    use super::*;
    use crate::GameResult;

    #[test]
    fn match_report_as_text_and_json() {
        let row = |white: usize, result, pair| ResultRow {
            players: ByColor { white: PlayerId(white), black: PlayerId(1 - white) },
            result,
            pair: Some(pair),
        };
        let rows = [
            (row(0, GameResult::WhiteWins, 0), "Italian"),
            (row(1, GameResult::Draw, 0), "Italian"),
            (row(0, GameResult::Draw, 1), "French"),
            (row(1, GameResult::WhiteWins, 1), "French"),
        ];
        let standings = Standings::of(vec!["one".into(), "two".into()], rows.iter().map(|(row, _)| *row));
        let report = Report::of(&standings, rows);
        let text = report.to_string();
        for line in [
            "player  games  points  score  +  =  -  White  Black           rating",
            "one         4       2  50.0%  1  2  1    1.5    0.5",
            "  pairs   [0, 1, 0, 1, 0] (0, 0.5, 1, 1.5, 2 points)",
            "  LOS     50.0%",
            "opening  White  Black  points  of",
            "Italian      1    0.5     1.5   2",
            "French     0.5      0     0.5   2",
        ] {
            assert!(text.lines().any(|found| found.starts_with(line)), "{line}\n{text}");
        }
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["encounters"][0]["pairs"], serde_json::json!([0, 1, 0, 1, 0]));
        assert_eq!(json["players"][1]["as_white"]["wins"], 1);
    }
}
