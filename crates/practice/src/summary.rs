//! Where a player loses most, over many games.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shakmaty::Color;
use tabia_encoding::RatingPool;
use tabia_game::{Phase, TimeClass};

use crate::figures::{GameFigures, MoveFigures};
use crate::game_review::GameReview;
use crate::mark::MISTAKE;
use crate::rating::{RatingEstimate, RatingEvidence, RatingModel};
use crate::{ClusteredMean, Estimate, Side};

/// A kind of moves.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Place {
    /// All moves.
    All,
    /// A phase of the game.
    Phase {
        /// The phase.
        #[cfg_attr(feature = "tsify", tsify(type = "PhaseName"))]
        phase: Phase,
    },
    /// A colour.
    Color {
        /// The colour.
        #[cfg_attr(feature = "tsify", tsify(type = "Side"))]
        color: Side,
    },
    /// A class of time controls.
    Time {
        /// The class.
        #[cfg_attr(feature = "tsify", tsify(type = "TimeClassName"))]
        class: TimeClass,
    },
    /// Time left on the clock before the move.
    Clock {
        /// From this many seconds on.
        from: u32,
    },
    /// Games of an opening with a colour.
    Opening {
        /// Its family.
        family: String,
        /// The player's colour.
        #[cfg_attr(feature = "tsify", tsify(type = "Side"))]
        color: Side,
    },
}

/// The lower bounds of the bands of [`Place::Clock`], and how they are said.
const CLOCKS: [(u32, &str); 6] = [
    (0, "under 10 seconds"),
    (10, "10 to 30 seconds"),
    (30, "30 to 60 seconds"),
    (60, "1 to 3 minutes"),
    (180, "3 to 10 minutes"),
    (600, "over 10 minutes"),
];

impl Place {
    /// Its name within its kind.
    pub fn label(&self) -> String {
        match self {
            Place::All => "all moves".to_owned(),
            Place::Phase { phase } => phase.name().to_owned(),
            Place::Color { color } => color.to_string(),
            Place::Time { class } => class.name().to_owned(),
            Place::Clock { from } => {
                CLOCKS.iter().find(|(bound, _)| bound == from).map_or("", |(_, label)| label).to_owned()
            }
            Place::Opening { family, color } => format!("{family} as {color}"),
        }
    }

    /// How a sentence says where it is.
    fn words(&self) -> String {
        match self {
            Place::All => "Over all moves".to_owned(),
            Place::Phase { phase } => format!("In the {}", phase.name()),
            Place::Color { color } => format!("As {color}"),
            Place::Time { class } => format!("In {} games", class.name()),
            Place::Clock { .. } => format!("With {} on the clock", self.label()),
            Place::Opening { family, color } => format!("In the {family} as {color}"),
        }
    }

    /// The places of a move.
    fn of(game: &GameFigures, played: &MoveFigures) -> Vec<Place> {
        let mut places =
            vec![Place::All, Place::Phase { phase: played.phase }, Place::Color { color: game.color }];
        if game.time_class != TimeClass::Unknown {
            places.push(Place::Time { class: game.time_class });
        }
        if let Some(clock) = played.clock {
            let band = CLOCKS.iter().rev().find(|(from, _)| f64::from(*from) <= clock);
            places.extend(band.map(|(from, _)| Place::Clock { from: *from }));
        }
        if !game.opening.is_empty() {
            places.push(Place::Opening { family: game.opening.clone(), color: game.color });
        }
        places
    }
}

/// How many moments a place remembers.
const MOMENTS: usize = 5;

/// Sums over the moves of a place.
#[derive(Clone, Debug, Default)]
struct Tally {
    games: u64,
    moves: u64,
    loss: ClusteredMean,
    peers: ClusteredMean,
    excess: ClusteredMean,
    accuracy: ClusteredMean,
    errors: ClusteredMean,
    peers_errors: ClusteredMean,
    moments: Vec<Moment>,
}

/// A move that lost more than peers lose there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Moment {
    /// The key of the game.
    pub game: String,
    /// The ply of the move.
    pub ply: u32,
    /// Who played, when, and the move.
    pub title: String,
    /// Where the game can be seen; empty if unknown.
    pub site: String,
    /// The winning chance lost.
    pub loss: f64,
    /// What peers lose there.
    pub peers: f64,
}

impl Tally {
    fn add_game(&mut self, moves: &[&MoveFigures], moments: impl Iterator<Item = Moment>) {
        let count = moves.len() as u64;
        if count == 0 {
            return;
        }
        self.games += 1;
        self.moves += count;
        let sum = |of: fn(&MoveFigures) -> f64| moves.iter().map(|m| of(m)).sum::<f64>();
        self.loss.add_game(count, sum(|m| m.loss));
        self.peers.add_game(count, sum(|m| m.peers.loss));
        self.excess.add_game(count, sum(|m| m.loss - m.peers.loss));
        self.accuracy.add_game(count, sum(|m| m.accuracy));
        self.errors.add_game(count, sum(|m| f64::from(u8::from(m.loss >= MISTAKE))));
        self.peers_errors.add_game(count, sum(|m| m.peers.errs));
        self.moments.extend(moments);
        self.keep_worst();
    }

    fn keep_worst(&mut self) {
        self.moments.sort_by(|a, b| (b.loss - b.peers).total_cmp(&(a.loss - a.peers)));
        self.moments.truncate(MOMENTS);
    }

    fn merge(&mut self, other: Tally) {
        self.games += other.games;
        self.moves += other.moves;
        self.loss.merge(&other.loss);
        self.peers.merge(&other.peers);
        self.excess.merge(&other.excess);
        self.accuracy.merge(&other.accuracy);
        self.errors.merge(&other.errors);
        self.peers_errors.merge(&other.peers_errors);
        self.moments.extend(other.moments);
        self.keep_worst();
    }

    fn figures(&self, place: &Place) -> PlaceFigures {
        PlaceFigures {
            place: place.clone(),
            label: place.label(),
            games: self.games,
            moves: self.moves,
            loss: self.loss.mean(),
            peers: self.peers.mean(),
            excess: self.excess.mean(),
            accuracy: self.accuracy.mean(),
            errors: self.errors.proportion(),
            peers_errors: self.peers_errors.mean(),
        }
    }
}

/// The figures of a place, per move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct PlaceFigures {
    /// The place.
    pub place: Place,
    /// Its name.
    pub label: String,
    /// Number of games.
    pub games: u64,
    /// Number of moves.
    pub moves: u64,
    /// Winning chance lost.
    pub loss: Estimate,
    /// What peers lose in the same positions.
    pub peers: Estimate,
    /// The difference of the two, paired by move.
    pub excess: Estimate,
    /// Accuracy, from 0 to 100.
    pub accuracy: Estimate,
    /// The share of moves that lose 0.1 or more.
    pub errors: Estimate,
    /// The share of peers' moves that do.
    pub peers_errors: Estimate,
}

/// The reviewed games of one player. Games are added one at a time, in any order, and summaries of different games merge.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    games: u64,
    wins: u64,
    draws: u64,
    losses: u64,
    places: BTreeMap<Place, Tally>,
    /// By pool (its index) and phase.
    evidence: BTreeMap<usize, [RatingEvidence; 3]>,
    /// The player's ratings in the games, by pool: sum and count.
    ratings: BTreeMap<usize, (f64, u64)>,
    /// By month, as `2024.05`.
    months: BTreeMap<String, Month>,
}

#[derive(Clone, Debug, Default)]
struct Month {
    tally: Tally,
    evidence: BTreeMap<usize, RatingEvidence>,
}

impl Summary {
    /// Adds a game that the player played as `own`. Moves without [peers](crate::ReviewedMove::peers) are ignored.
    pub fn add(&mut self, game: &GameReview, own: Color) {
        self.add_figures(&GameFigures::of(game, own));
    }

    /// Adds a game.
    pub fn add_figures(&mut self, game: &GameFigures) {
        self.games += 1;
        match (game.result.as_str(), game.color) {
            ("1-0", Side::White) | ("0-1", Side::Black) => self.wins += 1,
            ("1/2-1/2", _) => self.draws += 1,
            ("1-0" | "0-1", _) => self.losses += 1,
            _ => {}
        }
        let mut by_place: BTreeMap<Place, Vec<&MoveFigures>> = BTreeMap::new();
        for played in &game.moves {
            for place in Place::of(game, played) {
                by_place.entry(place).or_default().push(played);
            }
        }
        for (place, moves) in by_place {
            let mistakes = moves.iter().filter(|played| played.loss >= MISTAKE);
            let moments = mistakes.map(|played| moment(game, played));
            self.places.entry(place).or_default().add_game(&moves, moments);
        }
        let pool = game.pool.index();
        if let Some(rating) = game.rating {
            let (sum, count) = self.ratings.entry(pool).or_default();
            (*sum, *count) = (*sum + f64::from(rating), *count + 1);
        }
        let mut whole = RatingEvidence::default();
        let known = self.evidence.entry(pool).or_default();
        for (sum, part) in known.iter_mut().zip(&game.evidence) {
            sum.merge(part);
            whole.merge(part);
        }
        if let Some(month) = month_of(&game.date) {
            let month = self.months.entry(month).or_default();
            month.tally.add_game(&game.moves.iter().collect::<Vec<_>>(), std::iter::empty());
            month.evidence.entry(pool).or_default().merge(&whole);
        }
    }

    /// Adds the games of another summary.
    pub fn merge(&mut self, other: Summary) {
        self.games += other.games;
        self.wins += other.wins;
        self.draws += other.draws;
        self.losses += other.losses;
        for (place, tally) in other.places {
            self.places.entry(place).or_default().merge(tally);
        }
        for (pool, parts) in other.evidence {
            for (sum, part) in self.evidence.entry(pool).or_default().iter_mut().zip(&parts) {
                sum.merge(part);
            }
        }
        for (pool, (sum, count)) in other.ratings {
            let known = self.ratings.entry(pool).or_default();
            *known = (known.0 + sum, known.1 + count);
        }
        for (name, month) in other.months {
            let known = self.months.entry(name).or_default();
            known.tally.merge(month.tally);
            for (pool, evidence) in month.evidence {
                known.evidence.entry(pool).or_default().merge(&evidence);
            }
        }
    }

    /// The figures.
    pub fn report(&self) -> SummaryReport {
        let places: Vec<PlaceFigures> =
            self.places.iter().map(|(place, tally)| tally.figures(place)).collect();
        let months = self.months.iter().map(|(name, month)| MonthFigures {
            month: name.clone(),
            games: month.tally.games,
            accuracy: month.tally.accuracy.mean(),
            excess: month.tally.excess.mean(),
            played_like: month
                .evidence
                .iter()
                .filter_map(|(pool, evidence)| played_like(*pool, evidence))
                .collect(),
        });
        let evidence = self.evidence.iter();
        let played_like = evidence.filter_map(|(pool, phases)| {
            let mut all = RatingEvidence::default();
            phases.iter().for_each(|phase| all.merge(phase));
            let rated = self.ratings.get(pool).map(|(sum, count)| sum / *count as f64);
            Some(PoolEstimate {
                rating_in_games: rated,
                phases: phases.map(|phase| phase.estimate(&RatingModel::of(RatingPool::ALL[*pool]))),
                ..played_like(*pool, &all)?
            })
        });
        SummaryReport {
            games: self.games,
            wins: self.wins,
            draws: self.draws,
            losses: self.losses,
            weaknesses: self.weaknesses(&places),
            played_like: played_like.collect(),
            months: months.collect(),
            places,
        }
    }

    /// The places where the player loses most against peers, in a game. Places where the difference is certain come first;
    /// there is one place of a kind, and two openings.
    fn weaknesses(&self, places: &[PlaceFigures]) -> Vec<Weakness> {
        let per_game = |of: &PlaceFigures| of.excess.value * of.moves as f64 / self.games.max(1) as f64;
        let is_certain = |of: &PlaceFigures| of.excess.low.is_some_and(|low| low > 0.0);
        let mut worst: Vec<&PlaceFigures> = places
            .iter()
            .filter(|of| of.place != Place::All && of.games >= 2 && of.excess.value > 0.0)
            .collect();
        worst.sort_by(|a, b| is_certain(b).cmp(&is_certain(a)).then(per_game(b).total_cmp(&per_game(a))));
        let mut chosen: Vec<Weakness> = Vec::new();
        for of in worst {
            let most = if matches!(of.place, Place::Opening { .. }) { 2 } else { 1 };
            let same =
                |known: &&Weakness| std::mem::discriminant(&known.place) == std::mem::discriminant(&of.place);
            if chosen.iter().filter(same).count() >= most {
                continue;
            }
            let moments = self.places.get(&of.place).map(|tally| tally.moments.clone()).unwrap_or_default();
            chosen.push(Weakness {
                place: of.place.clone(),
                certain: is_certain(of),
                text: in_words(of, is_certain(of)),
                moments,
            });
            if chosen.len() == WEAKNESSES {
                break;
            }
        }
        chosen
    }
}

/// How many weaknesses are named.
const WEAKNESSES: usize = 3;

fn in_words(of: &PlaceFigures, is_certain: bool) -> String {
    let points = |value: f64| format!("{:.1}", 100.0 * value);
    let doubt = if is_certain { "" } else { " This may be chance: there are few games." };
    format!(
        "{} you lose {} points of winning chance a move where people of your rating lose {} ({} moves in {} games).{doubt}",
        of.place.words(),
        points(of.loss.value),
        points(of.peers.value),
        of.moves,
        of.games,
    )
}

fn moment(game: &GameFigures, played: &MoveFigures) -> Moment {
    let dots = Color::from(game.color).fold_wb(".", "...");
    let move_number = played.ply.div_ceil(2);
    let date = if game.date.is_empty() { String::new() } else { format!(", {}", game.date) };
    Moment {
        game: game.key.clone(),
        ply: played.ply,
        title: format!(
            "{move_number}{dots} {}{} against {}{date}",
            played.san,
            played.mark.symbol(),
            game.opponent
        ),
        site: if game.site.contains("://") { game.site.clone() } else { String::new() },
        loss: played.loss,
        peers: played.peers.loss,
    }
}

fn month_of(date: &str) -> Option<String> {
    let month = date.get(..7)?;
    month.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then(|| month.to_owned())
}

fn played_like(pool: usize, evidence: &RatingEvidence) -> Option<PoolEstimate> {
    let pool = *RatingPool::ALL.get(pool)?;
    let estimate = evidence.estimate(&RatingModel::of(pool))?;
    Some(PoolEstimate { pool, estimate, phases: [const { None }; 3], rating_in_games: None })
}

/// "You played like N", on the scale of a pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct PoolEstimate {
    /// The pool.
    #[cfg_attr(feature = "tsify", tsify(type = "RatingPoolName"))]
    pub pool: RatingPool,
    /// Over all phases.
    pub estimate: RatingEstimate,
    /// In the opening, the middlegame and the endgame.
    pub phases: [Option<RatingEstimate>; 3],
    /// The mean of the player's ratings in the games.
    pub rating_in_games: Option<f64>,
}

/// A place where the player loses more than peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Weakness {
    /// The place.
    pub place: Place,
    /// Whether the 95% interval of the difference excludes zero.
    pub certain: bool,
    /// The same in words.
    pub text: String,
    /// The moves that cost most.
    pub moments: Vec<Moment>,
}

/// A month of games.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct MonthFigures {
    /// As `2024.05`.
    pub month: String,
    /// Number of games.
    pub games: u64,
    /// Accuracy per move.
    pub accuracy: Estimate,
    /// Winning chance lost beyond peers, per move.
    pub excess: Estimate,
    /// By pool.
    pub played_like: Vec<PoolEstimate>,
}

/// The figures of a [`Summary`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct SummaryReport {
    /// Number of games.
    pub games: u64,
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
    /// By pool.
    pub played_like: Vec<PoolEstimate>,
    /// All moves, then by phase, colour, time control, clock and opening.
    pub places: Vec<PlaceFigures>,
    /// Where the player loses most against peers.
    pub weaknesses: Vec<Weakness>,
    /// The trend.
    pub months: Vec<MonthFigures>,
}
