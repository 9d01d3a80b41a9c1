//! What players and people lose in the same positions, and the rating that follows from it.

use std::collections::BTreeMap;

use serde::Serialize;
use tabia_game::Phase;
use tabia_human_eval::ClusteredMean;
use tabia_report::{aligned, head};

use super::people::{JudgedMove, PEOPLE};

/// A loss of this much winning chance is an error.
const ERROR: f64 = 0.1;

/// By how much the logarithm of what people lose falls for each point of rating, before these games: the points lost fall from
/// 8.2% at 500 to 3.6% at 2100 (`tabia eval blunders`).
const USUAL_SLOPE: f64 = 0.000_5;
/// Its standard deviation.
const SLOPE_DEVIATION: f64 = 0.000_15;

/// Samples of the games for the intervals.
const SAMPLES: usize = 400;

/// The errors of one mover in the positions of people of one rating.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Errors {
    /// A player's spec, or people.
    pub(super) who: String,
    /// The rating of the people whose positions these are.
    pub(super) rating: u16,
    pub(super) positions: u64,
    pub(super) games: u64,
    /// Mean winning chance lost.
    pub(super) loss: f64,
    /// Half the width of its 95% interval.
    pub(super) loss_error: Option<f64>,
    /// Share of moves that lose 10% of winning chance or more.
    pub(super) errors: f64,
    /// Centipawns lost, by phase; `None` without positions.
    pub(super) centipawns: [Option<f64>; 3],
    /// Mates in one, and how many were played.
    pub(super) mates: (u64, u64),
}

/// The rating of the people who lose as much as a player does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Matched {
    pub(super) rating: f64,
    pub(super) deviation: f64,
}

/// The errors of all movers by rating, people first.
pub(super) fn errors(rows: &[JudgedMove]) -> Vec<Errors> {
    let mut groups: BTreeMap<(u16, bool, &str), Vec<&JudgedMove>> = BTreeMap::new();
    for row in rows {
        groups.entry((row.rating, row.who != PEOPLE, row.who.as_str())).or_default().push(row);
    }
    groups.into_iter().map(|((rating, _, who), rows)| Errors::of(who, rating, &rows)).collect()
}

impl Errors {
    fn of(who: &str, rating: u16, rows: &[&JudgedMove]) -> Errors {
        let (mut loss, mut errors) = (ClusteredMean::default(), ClusteredMean::default());
        let (mut positions, mut games) = (0, 0);
        for game in rows.chunk_by(|one, other| one.game == other.game) {
            let lost: Vec<f64> = game.iter().filter_map(|row| row.loss).collect();
            if !lost.is_empty() {
                let count = lost.len() as u64;
                loss.add_game(count, lost.iter().sum());
                errors.add_game(count, lost.iter().filter(|loss| **loss >= ERROR).count() as f64);
                positions += count;
                games += 1;
            }
        }
        let centipawns = [Phase::Opening, Phase::Middlegame, Phase::Endgame].map(|phase| {
            let of_phase = rows.iter().filter(|row| row.phase == phase as usize);
            let lost: Vec<f64> = of_phase.filter_map(|row| row.centipawns).map(f64::from).collect();
            (!lost.is_empty()).then(|| lost.iter().sum::<f64>() / lost.len() as f64)
        });
        let mated = rows.iter().filter_map(|row| row.mated);
        let mates = mated.fold((0, 0), |(all, played), mated| (all + 1, played + u64::from(mated)));
        let loss = loss.mean();
        Errors {
            who: who.to_owned(),
            rating,
            positions,
            games,
            loss: loss.value,
            loss_error: loss.low.zip(loss.high).map(|(low, high)| (high - low) / 2.0),
            errors: errors.mean().value,
            centipawns,
            mates,
        }
    }
}

/// The loss of each game of a band: what people lost, and what each player lost.
type Band = Vec<(f64, Vec<f64>)>;

/// A game of a band while it is read: besides, which players moved.
type Reading = (f64, Vec<f64>, Vec<bool>);

/// The rating of each player on the scale of people. A player moves in positions of people of several ratings; what it
/// loses there, as a multiple of what they lose, rises with their rating, and where it is 1 is the player's own. All players
/// share one slope. `None` for a player that was in no positions.
pub(super) fn matched(rows: &[JudgedMove], players: &[String], seed: u64) -> Vec<Option<Matched>> {
    let mut bands: BTreeMap<u16, BTreeMap<&str, Reading>> = BTreeMap::new();
    for row in rows {
        let Some(loss) = row.loss else { continue };
        let games = bands.entry(row.rating).or_default();
        let game = games
            .entry(row.game.as_str())
            .or_insert_with(|| (0.0, vec![0.0; players.len()], vec![false; players.len()]));
        if row.who == PEOPLE {
            game.0 += loss;
        } else if let Some(player) = players.iter().position(|name| *name == row.who) {
            game.1[player] += loss;
            game.2[player] = true;
        }
    }
    let moved: BTreeMap<u16, Vec<bool>> = bands
        .iter()
        .map(|(rating, games)| {
            let of = |player: usize| games.values().any(|game| game.2[player]);
            (*rating, (0..players.len()).map(of).collect())
        })
        .collect();
    let bands: BTreeMap<u16, Band> = bands
        .into_iter()
        .map(|(rating, games)| (rating, games.into_values().map(|(people, own, _)| (people, own)).collect()))
        .collect();
    let whole: Vec<Vec<usize>> = bands.values().map(|games| (0..games.len()).collect()).collect();
    let best = ratings(&bands, &moved, &whole, players.len());
    let mut rng = fastrand::Rng::with_seed(seed);
    let samples: Vec<Vec<Option<f64>>> = (0..SAMPLES)
        .map(|_| {
            let chosen: Vec<Vec<usize>> = whole
                .iter()
                .map(|games| games.iter().map(|_| rng.usize(0..games.len().max(1))).collect())
                .collect();
            ratings(&bands, &moved, &chosen, players.len())
        })
        .collect();
    (0..players.len())
        .map(|player| {
            let rating = best[player]?;
            let drawn: Vec<f64> = samples.iter().filter_map(|sample| sample[player]).collect();
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            let variance =
                drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (drawn.len() as f64 - 1.0);
            Some(Matched { rating, deviation: variance.sqrt() })
        })
        .collect()
}

/// The ratings that these games give.
fn ratings(
    bands: &BTreeMap<u16, Band>,
    moved: &BTreeMap<u16, Vec<bool>>,
    chosen: &[Vec<usize>],
    players: usize,
) -> Vec<Option<f64>> {
    // Half an error of 10% on top keeps the logarithm of a small sample finite.
    const MORE: f64 = 0.05;
    let mut points: Vec<Vec<(f64, f64)>> = vec![Vec::new(); players];
    for ((rating, games), chosen) in bands.iter().zip(chosen) {
        let people: f64 = chosen.iter().map(|&game| games[game].0).sum();
        for (player, points) in points.iter_mut().enumerate() {
            if moved[rating][player] {
                let own: f64 = chosen.iter().map(|&game| games[game].1[player]).sum();
                points.push((f64::from(*rating), ((own + MORE) / (people + MORE)).ln()));
            }
        }
    }
    let mean = |points: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
        points.iter().map(of).sum::<f64>() / points.len() as f64
    };
    // The common slope, within players.
    let (mut spread, mut product, mut residuals, mut freedom) = (0.0, 0.0, 0.0, 0.0);
    for points in points.iter().filter(|points| points.len() > 1) {
        let (at, value) = (mean(points, |of| of.0), mean(points, |of| of.1));
        spread += points.iter().map(|of| (of.0 - at).powi(2)).sum::<f64>();
        product += points.iter().map(|of| (of.0 - at) * (of.1 - value)).sum::<f64>();
        residuals += points.iter().map(|of| (of.1 - value).powi(2)).sum::<f64>();
        freedom += points.len() as f64 - 1.0;
    }
    let mut slope = USUAL_SLOPE;
    if spread > 0.0 && freedom > 1.0 {
        let found = product / spread;
        let noise = ((residuals - found * product) / (freedom - 1.0)).max(1e-6);
        let (known, prior) = (spread / noise, SLOPE_DEVIATION.powi(-2));
        slope = (known * found + prior * USUAL_SLOPE) / (known + prior);
    }
    let slope = slope.max(USUAL_SLOPE / 3.0);
    points
        .iter()
        .map(|points| (!points.is_empty()).then(|| mean(points, |of| of.0) - mean(points, |of| of.1) / slope))
        .collect()
}

/// The errors of people and of the player asked for their rating, side by side.
pub(super) fn table(errors: &[Errors], asked: &dyn Fn(&str) -> Option<u16>) -> String {
    let names = [
        "rating",
        "who",
        "positions",
        "points lost",
        "errors",
        "opening",
        "middlegame",
        "endgame",
        "mates in 1",
    ];
    let mut rows = vec![head(&names)];
    for of in errors {
        let who = match asked(&of.who) {
            None if of.who == PEOPLE => "people".to_owned(),
            Some(asked) if asked == of.rating => "player".to_owned(),
            _ => continue,
        };
        let error = of.loss_error.map_or(String::new(), |error| format!(" ±{:.1}", 100.0 * error));
        let (all, played) = of.mates;
        let mut row = vec![
            of.rating.to_string(),
            who,
            of.positions.to_string(),
            format!("{:.1}%{error}", 100.0 * of.loss),
            format!("{:.1}%", 100.0 * of.errors),
        ];
        row.extend(of.centipawns.iter().map(|lost| lost.map_or("-".to_owned(), |lost| format!("{lost:.0}"))));
        row.push(if all > 0 { format!("{played} of {all}") } else { "-".to_owned() });
        rows.push(row);
    }
    aligned(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Games in which a mover of a rating loses what is usual for it, with noise that all movers share.
    fn rows(true_ratings: &[(u16, f64)]) -> Vec<JudgedMove> {
        let mut rng = fastrand::Rng::with_seed(9);
        let mut rows = Vec::new();
        for rating in (800..=2000).step_by(200) {
            for game in 0..150 {
                for ply in 0..4 {
                    let hard = rng.f64() * 0.2;
                    let mut add = |who: String, of: f64| {
                        rows.push(JudgedMove {
                            who,
                            rating,
                            game: format!("{rating}-{game}"),
                            ply,
                            phase: ply % 3,
                            loss: Some(hard * (-0.0006 * (of - 1500.0)).exp()),
                            centipawns: Some(40),
                            mated: (ply == 0).then_some(game % 2 == 0),
                        });
                    };
                    add(PEOPLE.to_owned(), f64::from(rating));
                    for &(asked, of) in true_ratings.iter().filter(|(asked, _)| asked.abs_diff(rating) <= 200)
                    {
                        add(format!("asked {asked}"), of);
                    }
                }
            }
        }
        rows
    }

    #[test]
    fn the_rating_is_that_of_the_people_who_lose_as_much() {
        let truth = [(1000, 1100.0), (1400, 1300.0), (1800, 1800.0)];
        let players: Vec<String> = truth.iter().map(|(asked, _)| format!("asked {asked}")).collect();
        let found = matched(&rows(&truth), &players, 1);
        for ((asked, rating), found) in truth.iter().zip(found) {
            let found = found.unwrap();
            assert!((found.rating - rating).abs() < 40.0, "{asked}: {found:?}");
            assert!(found.deviation < 60.0, "{asked}: {found:?}");
        }
        assert_eq!(matched(&rows(&truth), &["nobody".to_owned()], 1), [None]);
    }

    #[test]
    fn errors_are_counted_by_phase_and_mate() {
        let errors = errors(&rows(&[(1400, 1400.0)]));
        let people = errors.iter().find(|of| of.who == PEOPLE && of.rating == 1400).unwrap();
        assert_eq!((people.positions, people.games, people.mates), (600, 150, (150, 75)));
        assert_eq!(people.centipawns, [Some(40.0); 3]);
        let player = errors.iter().find(|of| of.who != PEOPLE && of.rating == 1400).unwrap();
        assert_eq!(people.loss, player.loss);
        let printed = table(&errors, &|who| who.strip_prefix("asked ")?.parse().ok());
        assert_eq!(printed.lines().count(), 1 + 7 + 1, "people at each rating, and one player: {printed}");
    }
}
