//! The charts of a set's statistics, before rendering.

use tabia_data::stats::{Category, EvaluationStats, GameStats, Grid, Histogram, SetStats, Share, Tally};
use tabia_report::{grouped, percent};

/// A chart.
pub(crate) enum Chart {
    /// Names with values.
    Facts(Vec<(&'static str, String)>),
    /// A bar chart.
    Bars { title: &'static str, bars: Vec<(String, u64)> },
    /// A heat map.
    Heat { title: &'static str, columns: Vec<String>, rows: Vec<(String, Vec<u64>)> },
}

pub(crate) fn charts(stats: &SetStats) -> Vec<Chart> {
    match stats {
        SetStats::Games(stats) => of_games(stats),
        SetStats::Evaluations(stats) => of_evaluations(stats),
    }
}

fn of_games(stats: &GameStats) -> Vec<Chart> {
    let noted = |share: Share| {
        format!(
            "{} games ({}), {} plies ({})",
            grouped(share.games),
            percent(share.games, stats.games),
            grouped(share.plies),
            percent(share.plies, stats.plies)
        )
    };
    let of_games = |count| format!("{} ({})", grouped(count), percent(count, stats.games));
    vec![
        Chart::Facts(vec![
            ("games", grouped(stats.games)),
            ("plies", format!("{}, {:.1} a game", grouped(stats.plies), stats.lengths.mean().unwrap_or(0.0))),
            ("both ratings", of_games(stats.both_ratings)),
            ("other starts", of_games(stats.other_starts)),
            ("clocks", noted(stats.clocks)),
            ("evaluations", noted(stats.evaluations)),
        ]),
        heat("games by rating and time control", &stats.ratings),
        histogram("games by plies", &stats.lengths.coarser(2)),
        tally("games by result", &stats.results),
        tally("games by rating pool", &stats.pools),
        tally("positions by phase", &stats.phases),
    ]
}

fn of_evaluations(stats: &EvaluationStats) -> Vec<Chart> {
    let each = |count: u64| count as f64 / stats.positions.max(1) as f64;
    let of_positions = |count| format!("{} ({})", grouped(count), percent(count, stats.positions));
    let hard = stats.positions - stats.soft;
    vec![
        Chart::Facts(vec![
            ("positions", grouped(stats.positions)),
            ("sessions", format!("{}, {:.2} a position", grouped(stats.sessions), each(stats.sessions))),
            ("lines", format!("{}, {:.2} a position", grouped(stats.lines), each(stats.lines))),
            ("mates", format!("{} lines ({})", grouped(stats.mates), percent(stats.mates, stats.lines))),
            ("soft labels", of_positions(stats.soft)),
            ("hard labels", of_positions(hard)),
            ("2+ deepest", of_positions(stats.several_deepest)),
            ("mean entropy", format!("{:.3} bits", stats.entropies.mean().unwrap_or(0.0) / 100.0)),
        ]),
        histogram("positions by depth", &stats.depths.coarser(5)),
        histogram("positions by moves in the label", &stats.labelled_moves),
        histogram("positions by entropy of the label, in hundredths of a bit", &stats.entropies),
        histogram("positions by sessions", &stats.sessions_a_position),
        tally("positions by phase", &stats.phases),
        tally("positions by side to move", &stats.turns),
    ]
}

fn tally<C: Category>(title: &'static str, tally: &Tally<C>) -> Chart {
    Chart::Bars {
        title,
        bars: tally.iter().map(|(value, count)| (value.label().to_owned(), count)).collect(),
    }
}

fn heat<R: Category, C: Category>(title: &'static str, grid: &Grid<R, C>) -> Chart {
    let columns = C::ALL.iter().map(|column| column.label().to_owned()).collect();
    let rows =
        grid.rows().map(|(row, tally)| (row.label().to_owned(), tally.iter().map(|(_, n)| n).collect()));
    Chart::Heat { title, columns, rows: rows.collect() }
}

/// The buckets of a histogram, without empty ones at the ends.
fn histogram(title: &'static str, histogram: &Histogram) -> Chart {
    let width = histogram.width();
    let mut bars: Vec<(String, u64)> = histogram
        .iter()
        .map(|(from, count)| {
            let label = if width == 1 { from.to_string() } else { format!("{from}-{}", from + width - 1) };
            (label, count)
        })
        .collect();
    if let Some((last, (from, _))) = bars.last_mut().zip(histogram.iter().last()) {
        last.0 = format!("{from}+");
    }
    let filled = bars.iter().rposition(|(_, count)| *count > 0).map_or(0, |last| last + 1);
    bars.truncate(filled);
    let empty = bars.iter().take_while(|(_, count)| *count == 0).count();
    bars.drain(..empty);
    Chart::Bars { title, bars }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_buckets_at_the_ends_are_dropped() {
        let mut numbers = Histogram::new(10, 5);
        for number in [12, 15, 33] {
            numbers.add(number);
        }
        let Chart::Bars { bars, .. } = histogram("x", &numbers) else { panic!("it is bars") };
        assert_eq!(bars, [("10-19".to_owned(), 2), ("20-29".to_owned(), 0), ("30-39".to_owned(), 1)]);
    }
}
