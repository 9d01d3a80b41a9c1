//! Who plays whom, so that every rating asked for is held from both sides.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tabia_arena::PlayerId;
use tabia_search::{Level, MaiaSpec, Pick, Spec};

use super::anchor::Stockfish;

/// Players below this meet the weakest levels of the Chess Challenge too: Stockfish does not reach down to them.
const WEAK: u16 = 1300;
/// Players from here on have left the Maia networks behind.
const STRONG: u16 = 2100;

/// Everybody of one round.
pub(super) struct Field {
    /// The rated players first, by rating.
    pub(super) specs: Vec<Spec>,
    pub(super) pairings: Vec<(PlayerId, PlayerId)>,
    /// Whose ratings are known.
    pub(super) anchors: Vec<(usize, f64)>,
}

/// How many opponents every rated player has, the next stronger one of them included.
pub(super) const OPPONENTS: u32 = 4;

/// Who there is to play against.
pub(super) struct Opponents {
    pub(super) stockfish: Stockfish,
    /// By the rating of the people each was made of.
    maia: Vec<(u16, PathBuf)>,
}

impl Opponents {
    /// Stockfish, and the Maia networks of a folder, `maia-NNNN.pb.gz`.
    pub(super) fn new(stockfish: Stockfish, folder: Option<&Path>) -> Result<Opponents> {
        let maia = folder.map(maia_networks).transpose()?.unwrap_or_default();
        Ok(Opponents { stockfish, maia })
    }

    /// The field for rated players: what each is asked for, and what plays.
    pub(super) fn field(&self, rated: &[(u16, Spec)]) -> Result<Field> {
        let mut field = Field {
            specs: rated.iter().map(|(_, spec)| spec.clone()).collect(),
            pairings: Vec::new(),
            anchors: Vec::new(),
        };
        let ratings = self.stockfish.ratings();
        if ratings.is_empty() {
            bail!("{} plays at none of the ratings needed", self.stockfish.name);
        }
        for (place, (asked, _)) in rated.iter().enumerate() {
            let stronger = (place + 1 < rated.len()).then_some(place + 1);
            let mut opponents: Vec<usize> = stronger.into_iter().collect();
            if *asked < WEAK {
                let level = Level::new(if *asked < WEAK - 200 { 1 } else { 2 });
                opponents.push(field.enter(Spec::Level(level.context("there are five levels")?)));
            }
            if *asked < STRONG
                && let Some((_, file)) = self.maia.iter().min_by_key(|(rating, _)| rating.abs_diff(*asked))
            {
                let maia = MaiaSpec { file: file.clone(), pick: Pick::Likeliest, seed: None };
                opponents.push(field.enter(Spec::Maia(maia)));
            }
            let mut nearest = ratings.clone();
            nearest.sort_by_key(|rating| rating.abs_diff(*asked));
            let missing = (OPPONENTS as usize).saturating_sub(opponents.len()).max(1);
            for rating in nearest.into_iter().take(missing) {
                let anchor = field.enter(self.stockfish.rated(rating));
                if !field.anchors.iter().any(|(known, _)| *known == anchor) {
                    field.anchors.push((anchor, rating.into()));
                }
                opponents.push(anchor);
            }
            field.pairings.extend(opponents.iter().map(|opponent| (PlayerId(place), PlayerId(*opponent))));
        }
        Ok(field)
    }
}

impl Field {
    /// The place of a player, who is entered if new.
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

    fn field(asked: &[u16]) -> Field {
        let rated: Vec<(u16, Spec)> =
            asked.iter().map(|asked| (*asked, format!("human,elo={asked}").parse().unwrap())).collect();
        opponents().field(&rated).unwrap()
    }

    fn met(field: &Field, place: usize) -> Vec<String> {
        let pairs = field.pairings.iter().filter(|(first, _)| first.0 == place);
        pairs.map(|(_, second)| field.specs[second.0].to_string()).collect()
    }

    #[test]
    fn everybody_meets_the_nearest() {
        let field = field(&[1000, 1200, 1600, 2400]);
        assert_eq!(
            met(&field, 0),
            ["human,elo=1200", "level:1", "maia:maia-1100.pb.gz", "uci:stockfish,elo=1350,depth=1"]
        );
        assert_eq!(met(&field, 1)[1], "level:2");
        assert_eq!(
            met(&field, 2)[1..],
            ["maia:maia-1900.pb.gz", "uci:stockfish,elo=1500,depth=2", "uci:stockfish,elo=1700,depth=4"]
        );
        let strong = met(&field, 3);
        assert_eq!(strong.len(), 4, "the strongest meets one more: {strong:?}");
        assert!(strong.iter().all(|name| name.starts_with("uci:")));
        assert!(field.pairings.iter().all(|(first, second)| first != second));
    }

    #[test]
    fn anchors_are_known_once() {
        let field = field(&[1400, 1500, 1600]);
        let mut places: Vec<usize> = field.anchors.iter().map(|(place, _)| *place).collect();
        places.dedup();
        assert_eq!(places.len(), field.anchors.len());
        for (place, rating) in &field.anchors {
            assert!(field.specs[*place].to_string().contains(&format!("elo={rating}")));
        }
    }
}
