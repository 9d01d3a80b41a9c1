//! Pairings that bracket every rating from both sides.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tabia_arena::PlayerId;
use tabia_cli::Stockfish;
use tabia_players::{MaiaSpec, Pick, Spec};

/// Below this rating players mostly meet Stockfish at its weakest: no weaker anchor exists.
const WEAK: u16 = 1300;
/// From this rating on players are stronger than the Maia networks.
const STRONG: u16 = 2100;

/// The players and pairings of one round.
pub(super) struct Field {
    /// The rated players first, by rating.
    pub(super) specs: Vec<Spec>,
    /// Each pairing plays two games per turn; pairings may repeat.
    pub(super) pairings: Vec<(PlayerId, PlayerId)>,
    /// Players with known ratings.
    pub(super) anchors: Vec<(usize, f64)>,
}

/// The default number of opponents of a rated player per turn, not counting weaker rated ones.
pub(super) const OPPONENTS: u32 = 4;

/// A player to be rated.
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
}

impl Opponents {
    /// Stockfish, and the Maia networks of a folder, `maia-NNNN.pb.gz`.
    pub(super) fn new(stockfish: Stockfish, folder: Option<&Path>) -> Result<Opponents> {
        let maia = folder.map(maia_networks).transpose()?.unwrap_or_default();
        if stockfish.ratings().is_empty() {
            bail!("{} plays at none of the ratings needed", stockfish.name);
        }
        Ok(Opponents { stockfish, maia })
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

    /// Opponents other than the rated players, the most informative first.
    fn known_near(&self, asked: u16, field: &mut Field) -> Vec<usize> {
        let mut ratings = self.stockfish.ratings();
        ratings.sort_by_key(|rating| rating.abs_diff(asked));
        let maia = self.maia.iter().min_by_key(|(rating, _)| rating.abs_diff(asked));
        if asked < WEAK {
            let weakest = self.anchor(ratings[0], field);
            return vec![weakest, weakest];
        }
        let mut opponents = Vec::new();
        if asked < STRONG {
            opponents.extend(ratings.iter().take(2).map(|rating| self.anchor(*rating, field)));
            if let Some((_, file)) = maia {
                let spec = MaiaSpec { file: file.clone(), elo: None, pick: Pick::Likeliest, seed: None };
                opponents.push(field.enter(Spec::Maia(spec)));
            }
        } else {
            // Stronger opponents are slow and add no information.
            let nearest = |rating: &u16| (rating.saturating_sub(asked), asked.abs_diff(*rating));
            ratings.sort_by_key(nearest);
            opponents.extend(ratings.iter().take(2).map(|rating| self.anchor(*rating, field)));
        }
        opponents
    }

    /// The index of Stockfish at a rating.
    fn anchor(&self, rating: u16, field: &mut Field) -> usize {
        let anchor = field.enter(self.stockfish.rated(rating));
        if !field.anchors.iter().any(|(known, _)| *known == anchor) {
            field.anchors.push((anchor, rating.into()));
        }
        anchor
    }
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

    fn opponents() -> Opponents {
        let stockfish = Stockfish::of_range(1350, 2850);
        Opponents {
            stockfish,
            maia: vec![(1100, "maia-1100.pb.gz".into()), (1900, "maia-1900.pb.gz".into())],
        }
    }

    fn field(asked: &[u16], share: u32) -> Field {
        let rated = |asked: &u16| {
            let spec = format!("human,elo={asked}").parse().unwrap();
            Rated { asked: *asked, spec, share }
        };
        opponents().field(&asked.iter().map(rated).collect::<Vec<_>>())
    }

    fn met(field: &Field, place: usize) -> Vec<String> {
        let pairs = field.pairings.iter().filter(|(first, _)| first.0 == place);
        pairs.map(|(_, second)| field.specs[second.0].to_string()).collect()
    }

    #[test]
    fn players_meet_the_nearest_opponents() {
        let weak = "uci:stockfish,elo=1350,depth=1";
        let few = field(&[1000, 1200, 1600, 2400], 4);
        assert_eq!(met(&few, 0), [weak, weak, "human,elo=1200", weak]);
        assert_eq!(
            met(&few, 2),
            [
                "uci:stockfish,elo=1500,depth=2",
                "uci:stockfish,elo=1700,depth=4",
                "maia:maia-1900.pb.gz",
                "human,elo=2400"
            ]
        );
        let (below, far_below) = ("uci:stockfish,elo=2300,depth=11", "uci:stockfish,elo=2200,depth=10");
        assert_eq!(met(&few, 3), [below, far_below, below, far_below]);
        assert!(few.pairings.iter().all(|(first, second)| first != second));
        assert_eq!(met(&field(&[1000, 1600], 7), 1).len(), 7);
    }

    #[test]
    fn anchors_are_unique() {
        let field = field(&[1400, 1500, 1600], 4);
        let mut places: Vec<usize> = field.anchors.iter().map(|(place, _)| *place).collect();
        places.dedup();
        assert_eq!(places.len(), field.anchors.len());
        for (place, rating) in &field.anchors {
            assert!(field.specs[*place].to_string().contains(&format!("elo={rating}")));
        }
    }
}
