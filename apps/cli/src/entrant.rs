//! Player specs as entrants of a contest.

use std::{collections::BTreeMap, path::Path, time::Duration};

use anyhow::{Context, Result};
use sha2::{Digest as _, Sha256};
use tabia_arena::{Budget, Entrant, PlayerLifetime};
use tabia_players::{Determinism, Player, PlayerError, Spec, Wrapped};

use crate::PlayerFactory;

/// A player spec that takes part in a contest.
pub struct SpecEntrant<'a> {
    name: String,
    /// With its limits filled in.
    spec: Spec,
    /// The longest time for a move before it counts as a failure.
    allowed: Option<Duration>,
    players: &'a PlayerFactory,
    file: Option<FileHash>,
}

/// A model file and the hash of its contents when the games began.
pub struct FileHash {
    /// The path.
    pub file: String,
    /// The start of its SHA-256.
    pub hash: String,
}

/// The entrants of these specs. A spec that searches and sets no limits gets those of the budget. Each player is built once,
/// so that errors appear before the first game.
///
/// # Errors
/// If a player cannot be built.
pub fn entrants<'a>(
    specs: &[Spec],
    budget: &Budget,
    players: &'a PlayerFactory,
) -> Result<Vec<SpecEntrant<'a>>> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut entrant = |given: &Spec| {
        let text = given.to_string();
        let times = seen.entry(text.clone()).and_modify(|times| *times += 1).or_insert(1);
        // PGN needs distinct names.
        let name = if *times == 1 { text } else { format!("{text} ({times})") };
        let mut spec = given.clone();
        let mut movetime = None;
        if let Some(own) = spec.limits_mut() {
            if own.is_unlimited() {
                *own = budget.limits.clone();
            }
            movetime = own.movetime;
        }
        players.make(&spec, 0).with_context(|| format!("{name} cannot play"))?;
        let allowed = movetime.map(|time| time.saturating_add(budget.margin));
        let file = spec.file().map(hash).transpose()?;
        Ok(SpecEntrant { name, spec, allowed, players, file })
    };
    specs.iter().map(&mut entrant).collect()
}

impl SpecEntrant<'_> {
    /// Its model file, if it has one.
    pub fn file(&self) -> Option<&FileHash> {
        self.file.as_ref()
    }

    /// Whether it repeats a game when its opponent does.
    pub fn is_deterministic(&self) -> bool {
        self.spec.is_deterministic()
    }
}

impl Entrant for SpecEntrant<'_> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn build(&self, seed: u64) -> Result<Box<dyn Player>, String> {
        let player = self.players.make(&self.spec, seed).map_err(|error| format!("{error:#}"))?;
        let Some(allowed) = self.allowed else { return Ok(player) };
        // Unlike the clocks of a game, this limit is the player's own.
        Ok(Box::new(Wrapped::new(player, move |player, game, limits, control| {
            let decision = player.decide(game, limits, control)?;
            let taken = control.elapsed();
            if taken > allowed {
                let (taken, allowed) = (taken.as_millis(), allowed.as_millis());
                return Err(PlayerError::External(format!("{taken} ms for a move, {allowed} ms allowed")));
            }
            Ok(decision)
        })))
    }

    fn lifetime(&self) -> PlayerLifetime {
        match self.spec.determinism() {
            Determinism::Seeded => PlayerLifetime::PerGame,
            Determinism::Deterministic | Determinism::Uncontrolled => PlayerLifetime::PerWorker,
        }
    }
}

fn hash(file: &Path) -> Result<FileHash> {
    let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    let hash = Sha256::digest(&bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Ok(FileHash { file: file.display().to_string(), hash })
}
