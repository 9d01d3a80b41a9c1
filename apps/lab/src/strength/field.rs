//! Pairings that bracket every rating from both sides, with opponents of several scales.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tabia_arena::PlayerId;
use tabia_cli::Stockfish;
use tabia_players::{ChallengeRules, LevelSpec, MaiaSpec, Pick, Spec};

/// Below this rating players mostly meet the weakest opponents of each scale: no weaker ones exist.
const WEAK: u16 = 1300;
/// From this rating on players are stronger than the Maia networks and the levels.
const STRONG: u16 = 2100;

/// How much deeper than needed half of the Stockfish opponents search: with a cleared hash it must make no difference.
const DEEPER: u32 = 3;

/// The lowest rating at which players meet each level of the challenge.
const LEVELS_FROM: [u16; 5] = [0, 1300, 1500, 1700, 1900];

/// The rating that the challenge's authors give its fifth level, "about 1500 to 1600".
const FIFTH_LEVEL: f64 = 1550.0;

/// A scale of ratings that players are measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Leg {
    /// UCI_Elo of Stockfish, its hash cleared before every move.
    Stockfish,
    /// The ratings on Lichess of the people that each Maia-1 network was trained on.
    Maia,
    /// The levels of the Chess Challenge.
    Levels,
    /// People's own games: who loses as much in the same positions.
    People,
}

impl Leg {
    pub(super) const ALL: [Leg; 4] = [Leg::Stockfish, Leg::Maia, Leg::Levels, Leg::People];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Leg::Stockfish => "stockfish",
            Leg::Maia => "maia",
            Leg::Levels => "levels",
            Leg::People => "people",
        }
    }

    /// The standard deviation of the error of one of its ratings, besides an offset that they share.
    pub(super) const fn deviation(self) -> f64 {
        match self {
            Leg::Stockfish | Leg::Maia => 50.0,
            // "About 1500 to 1600".
            Leg::Levels => 25.0,
            // What a player loses in people's positions is measured; its errors are random.
            Leg::People => 0.0,
        }
    }
}

/// The players and pairings of one round.
pub(super) struct Field {
    /// The rated players first, by rating.
    pub(super) specs: Vec<Spec>,
    /// Each pairing plays two games per turn; pairings may repeat.
    pub(super) pairings: Vec<(PlayerId, PlayerId)>,
    /// Players with known ratings.
    pub(super) anchors: Vec<(usize, Leg, f64)>,
}

/// The default number of opponents of a rated player per turn, not counting weaker rated ones.
pub(super) const OPPONENTS: u32 = 6;

/// A player to be rated.
#[derive(Clone)]
pub(super) struct Rated {
    pub(super) asked: u16,
    pub(super) spec: Spec,
    /// The number of its opponents per turn.
    pub(super) share: u32,
}

/// The opponents available.
pub(super) struct Opponents {
    pub(super) stockfish: Stockfish,
    /// By the rating each was trained on.
    maia: Vec<(u16, PathBuf)>,
    /// Whether the challenge's levels play.
    levels: bool,
}

impl Opponents {
    /// Stockfish, the Maia networks of a folder, `maia-NNNN.pb.gz`, and the challenge's levels.
    pub(super) fn new(stockfish: Stockfish, folder: Option<&Path>, levels: bool) -> Result<Opponents> {
        let maia = folder.map(maia_networks).transpose()?.unwrap_or_default();
        if stockfish.ratings().is_empty() {
            bail!("{} plays at none of the ratings needed", stockfish.name);
        }
        Ok(Opponents { stockfish, maia, levels })
    }

    /// The field for rated players, by rating. Each meets the next stronger one and nearby opponents.
    pub(super) fn field(&self, rated: &[Rated]) -> Field {
        let mut field = Field::new(rated.iter().map(|rated| rated.spec.clone()).collect());
        for (place, Rated { asked, share, .. }) in rated.iter().enumerate() {
            let stronger = (place + 1 < rated.len()).then_some(place + 1);
            let mut opponents: Vec<usize> = self.known_near(*asked, &mut field);
            opponents.extend(stronger);
            let places = opponents.iter().cycle().take(*share as usize);
            field.pairings.extend(places.map(|opponent| (PlayerId(place), PlayerId(*opponent))));
        }
        field
    }

    /// Opponents other than the rated players, of each scale in turn, the most informative first.
    fn known_near(&self, asked: u16, field: &mut Field) -> Vec<usize> {
        let mut ratings = self.stockfish.ratings();
        if asked >= STRONG {
            // Stronger opponents are slow and add no information.
            ratings.sort_by_key(|rating| (rating.saturating_sub(asked), asked.abs_diff(*rating)));
            return ratings
                .iter()
                .take(2)
                .zip([0, DEEPER])
                .map(|(of, more)| self.anchor(*of, more, field))
                .collect();
        }
        ratings.sort_by_key(|rating| rating.abs_diff(asked));
        if asked < WEAK {
            ratings.truncate(1);
        }
        let second = ratings.get(1).copied().unwrap_or(ratings[0]);
        let mut maia: Vec<&(u16, PathBuf)> = self.maia.iter().collect();
        maia.sort_by_key(|(rating, _)| rating.abs_diff(asked));
        let mut opponents = vec![self.anchor(ratings[0], 0, field)];
        opponents.extend(maia.first().map(|near| maia_anchor(near, field)));
        if self.levels {
            opponents.extend(level_anchor(asked, field));
        }
        opponents.push(self.anchor(second, DEEPER, field));
        opponents.extend(maia.get(1).map(|near| maia_anchor(near, field)));
        opponents
    }

    /// The index of Stockfish at a rating, searching this much deeper than it must.
    fn anchor(&self, rating: u16, deeper: u32, field: &mut Field) -> usize {
        field.enter_anchor(self.stockfish.rated(rating, deeper), Leg::Stockfish, rating.into())
    }
}

fn maia_anchor((rating, file): &(u16, PathBuf), field: &mut Field) -> usize {
    let spec = MaiaSpec { file: file.clone(), elo: None, pick: Pick::Likeliest, seed: None };
    field.enter_anchor(Spec::Maia(spec), Leg::Maia, f64::from(*rating))
}

/// The level for a rating. Only the fifth has a rating; the others are measured.
fn level_anchor(asked: u16, field: &mut Field) -> Option<usize> {
    let number = LEVELS_FROM.iter().filter(|from| **from <= asked).count();
    let level = ChallengeRules::Original.level(u8::try_from(number).ok()?)?;
    let spec = Spec::Level(LevelSpec { level, seed: None });
    Some(match number {
        5 => field.enter_anchor(spec, Leg::Levels, FIFTH_LEVEL),
        _ => field.enter(spec),
    })
}

impl Field {
    fn new(specs: Vec<Spec>) -> Field {
        Field { specs, pairings: Vec::new(), anchors: Vec::new() }
    }

    /// The index of a player, added if new.
    fn enter(&mut self, spec: Spec) -> usize {
        if let Some(place) = self.specs.iter().position(|known| *known == spec) {
            return place;
        }
        self.specs.push(spec);
        self.specs.len() - 1
    }

    /// The index of a player of known rating, added if new.
    fn enter_anchor(&mut self, spec: Spec, leg: Leg, rating: f64) -> usize {
        let anchor = self.enter(spec);
        if !self.anchors.iter().any(|(known, ..)| *known == anchor) {
            self.anchors.push((anchor, leg, rating));
        }
        anchor
    }
}

fn maia_networks(folder: &Path) -> Result<Vec<(u16, PathBuf)>> {
    let named = || format!("--maia {}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(named)? {
        let path = entry.with_context(named)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let rating = name.strip_prefix("maia-").and_then(|rest| rest.split('.').next());
        if let Some(rating) = rating.and_then(|rating| rating.parse().ok()).filter(|_| name.contains(".pb")) {
            found.push((rating, path));
        }
    }
    if found.is_empty() {
        bail!("{}: no files maia-NNNN.pb.gz", named());
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opponents(levels: bool) -> Opponents {
        let stockfish = Stockfish::of_range(1350, 2850);
        let maia = [1100, 1600, 1900].map(|rating| (rating, format!("maia-{rating}.pb.gz").into()));
        Opponents { stockfish, maia: maia.to_vec(), levels }
    }

    fn field(asked: &[u16], share: u32, levels: bool) -> Field {
        let rated = |asked: &u16| {
            let spec = format!("human,elo={asked}").parse().unwrap();
            Rated { asked: *asked, spec, share }
        };
        opponents(levels).field(&asked.iter().map(rated).collect::<Vec<_>>())
    }

    fn met(field: &Field, place: usize) -> Vec<String> {
        let pairs = field.pairings.iter().filter(|(first, _)| first.0 == place);
        pairs.map(|(_, second)| field.specs[second.0].to_string()).collect()
    }

    #[test]
    fn players_meet_the_nearest_opponents_of_each_scale() {
        let few = field(&[1000, 1600, 2400], 6, true);
        assert_eq!(
            met(&few, 0),
            [
                "uci:stockfish,elo=1350,depth=1,hash=clear",
                "maia:maia-1100.pb.gz",
                "level:1",
                "uci:stockfish,elo=1350,depth=4,hash=clear",
                "maia:maia-1600.pb.gz",
                "human,elo=1600",
            ]
        );
        assert_eq!(
            met(&few, 1),
            [
                "uci:stockfish,elo=1500,depth=2,hash=clear",
                "maia:maia-1600.pb.gz",
                "level:3",
                "uci:stockfish,elo=1700,depth=7,hash=clear",
                "maia:maia-1900.pb.gz",
                "human,elo=2400",
            ]
        );
        let (below, far_below) =
            ("uci:stockfish,elo=2300,depth=11,hash=clear", "uci:stockfish,elo=2200,depth=13,hash=clear");
        assert_eq!(met(&few, 2), [below, far_below, below, far_below, below, far_below]);
        assert!(few.pairings.iter().all(|(first, second)| first != second));
        assert_eq!(met(&field(&[1000, 1600], 7, false), 1).len(), 7);
        assert!(met(&field(&[1000, 1600], 7, false), 0).iter().all(|name| !name.starts_with("level")));
    }

    #[test]
    fn anchors_are_unique_and_have_the_ratings_of_their_scale() {
        let field = field(&[1400, 1500, 1600, 2000], 6, true);
        let mut places: Vec<usize> = field.anchors.iter().map(|(place, ..)| *place).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), field.anchors.len());
        for (place, leg, rating) in &field.anchors {
            let name = field.specs[*place].to_string();
            let expected = match leg {
                Leg::Stockfish => format!("elo={rating}"),
                Leg::Maia => format!("maia-{rating}"),
                _ => "level:5".to_owned(),
            };
            assert!(name.contains(&expected), "{name} is {rating}");
        }
        assert!(field.specs.iter().any(|spec| spec.to_string() == "level:2"), "not an anchor, but played");
    }
}
