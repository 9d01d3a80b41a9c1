//! Stockfish at a rating: the anchor of rating scales.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use tabia_encoding::Elo;
use tabia_players::{Limits, Spec, UciSpec};
use tabia_uci::client::{Client, EngineInfo};
use tabia_uci::message::{OptionKind, OptionSpec};

use crate::engine_process::launch;

/// The ratings of anchors, where Stockfish supports them.
const RATINGS: [u16; 8] = [1350, 1500, 1700, 1900, 2100, 2200, 2300, 2500];

/// The ratings of a player's first opponents; the first is the lowest of a recent Stockfish.
const OPPONENTS: [u16; 5] = [1320, 1500, 1700, 1900, 2100];

/// The step between further opponents.
const STEP: u16 = 200;

/// The Stockfish program and the range of its UCI_Elo.
pub struct Stockfish {
    command: String,
    /// Its name and version.
    pub name: String,
    /// The lowest UCI_Elo.
    pub weakest: u16,
    /// The highest UCI_Elo.
    pub strongest: u16,
}

impl Stockfish {
    /// Starts the program and reads its options; without a command, the one installed.
    ///
    /// # Errors
    /// If it is not found, does not start, or has no UCI_Elo.
    pub fn find(command: Option<&str>) -> Result<Stockfish> {
        let command = match command {
            Some(command) => command.to_owned(),
            None => installed()?,
        };
        let client = Client::start(launch(&command)?).with_context(|| format!("{command} does not start"))?;
        let EngineInfo { name, options, .. } = client.info().clone();
        let (weakest, strongest) = match OptionSpec::find(&options, "UCI_Elo")?.kind {
            OptionKind::Spin { min, max, .. } => (u16::try_from(min)?, u16::try_from(max)?),
            _ => bail!("{name}: UCI_Elo is not a number"),
        };
        Ok(Stockfish { command, name, weakest, strongest })
    }

    /// A stand-in with this range, for tests; it cannot be started.
    pub fn of_range(weakest: u16, strongest: u16) -> Stockfish {
        Stockfish { command: "stockfish".to_owned(), name: "Stockfish".to_owned(), weakest, strongest }
    }

    /// The anchor ratings it supports.
    pub fn ratings(&self) -> Vec<u16> {
        RATINGS.into_iter().filter(|rating| (self.weakest..=self.strongest).contains(rating)).collect()
    }

    /// The ratings of opponents up to `max` that it supports; lower ones become its lowest.
    pub fn opponents(&self, max: u16) -> Vec<u16> {
        let beyond = (1..).map(|step| OPPONENTS[OPPONENTS.len() - 1] + step * STEP);
        let most = max.min(self.strongest);
        let mut ratings: Vec<u16> = OPPONENTS
            .into_iter()
            .chain(beyond)
            .map(|rating| rating.max(self.weakest))
            .take_while(|rating| *rating <= most)
            .collect();
        ratings.dedup();
        ratings
    }

    /// The program at a rating with these limits, otherwise with its defaults: one thread, 16 MiB.
    pub fn at(&self, rating: u16, limits: Limits) -> Spec {
        let (command, elo) = (self.command.clone(), Some(Elo(rating)));
        Spec::Uci(UciSpec { command, elo, limits, ..UciSpec::default() })
    }

    /// The program without a limit of strength.
    pub fn at_full_strength(&self) -> Spec {
        Spec::Uci(UciSpec { command: self.command.clone(), ..UciSpec::default() })
    }

    /// The program without a limit of strength, searching each position afresh.
    pub fn judge(&self, nodes: u64) -> Spec {
        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        Spec::Uci(UciSpec { command: self.command.clone(), limits, clears_hash: true, ..UciSpec::default() })
    }

    /// The program at a rating, its hash cleared before every move, searching this much deeper than its choice of move at
    /// that rating needs.
    ///
    /// Without what earlier moves left in the hash, searching deeper must not change its strength.
    pub fn rated(&self, rating: u16, deeper: u32) -> Spec {
        let limits = match self.choosing_depth(rating) {
            Some(depth) => Limits { depth: Some(depth + deeper), ..Limits::default() },
            None => Limits { nodes: Some(NODES << deeper), ..Limits::default() },
        };
        let (command, elo) = (self.command.clone(), Some(Elo(rating)));
        Spec::Uci(UciSpec { command, elo, limits, clears_hash: true, ..UciSpec::default() })
    }

    /// Stockfish turns a rating into a skill level and picks its move, a weakened choice among the four best, when the
    /// search reaches the depth of that level plus one. Searching on does not change that move, but fills the hash for the
    /// moves after it: a program that keeps its hash is much stronger when it searches on. `None` for a range that belongs
    /// to no known version.
    fn choosing_depth(&self, rating: u16) -> Option<u32> {
        let rating = f64::from(rating);
        let level = match (self.weakest, self.strongest) {
            // Stockfish 11 to 15.
            (1350, 2850) => ((rating - 1346.6) / 143.4).powf(1.0 / 0.806).clamp(0.0, 20.0),
            // Stockfish 16 and later.
            (1320, 3190) => {
                let e = (rating - 1320.0) / (3190.0 - 1320.0);
                (((37.2473 * e - 40.8525) * e + 22.2943) * e - 0.311_438).clamp(0.0, 19.0)
            }
            _ => return None,
        };
        Some(1 + level as u32)
    }
}

/// Nodes for an unknown version: enough for the depths of ratings up to about 2300.
const NODES: u64 = 50_000;

/// Where Debian installs it, which is not always in PATH.
const DEBIAN: &str = "/usr/games/stockfish";

fn installed() -> Result<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|folder| folder.join("stockfish"));
    let found: Option<PathBuf> =
        in_path.chain(std::iter::once(PathBuf::from(DEBIAN))).find(|file| file.is_file());
    let Some(found) = found else {
        bail!(
            "Stockfish found neither in PATH nor at {DEBIAN}: install it (apt-get install stockfish) \
             or pass --stockfish COMMAND"
        );
    };
    let text = found.to_str().with_context(|| format!("{} is not UTF-8", found.display()))?;
    Ok(shlex::try_quote(text)?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opponents_lie_within_the_range_of_the_engine() {
        let engine = Stockfish::of_range;
        assert_eq!(engine(1320, 3190).opponents(2100), OPPONENTS);
        assert_eq!(engine(1350, 2850).opponents(3190), [1350, 1500, 1700, 1900, 2100, 2300, 2500, 2700]);
        assert_eq!(engine(1600, 2850).opponents(1900), [1600, 1700, 1900]);
        assert!(engine(1350, 2850).opponents(1320).is_empty());
    }

    #[test]
    fn the_depth_is_that_of_the_skill_level() {
        let depths =
            |engine: &Stockfish, ratings: [u16; 4]| ratings.map(|rating| engine.choosing_depth(rating));
        let old = Stockfish::of_range(1350, 2850);
        assert_eq!(depths(&old, [1350, 1700, 2100, 2850]), [Some(1), Some(4), Some(8), Some(19)]);
        let new = Stockfish::of_range(1320, 3190);
        assert_eq!(depths(&new, [1320, 1500, 2100, 3190]), [Some(1), Some(2), Some(5), Some(19)]);
        assert_eq!(Stockfish::of_range(1000, 2000).choosing_depth(1500), None);
    }

    #[test]
    fn ratings_are_those_the_program_has() {
        assert_eq!(Stockfish::of_range(1350, 2850).ratings(), RATINGS);
        assert_eq!(Stockfish::of_range(1400, 2000).ratings(), [1500, 1700, 1900]);
        let spec = |deeper| Stockfish::of_range(1350, 2850).rated(1700, deeper).to_string();
        assert_eq!(spec(0), "uci:stockfish,elo=1700,depth=4,hash=clear");
        assert_eq!(spec(3), "uci:stockfish,elo=1700,depth=7,hash=clear");
    }
}
