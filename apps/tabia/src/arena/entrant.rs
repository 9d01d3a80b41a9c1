//! Player specs as entrants.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use sha2::{Digest as _, Sha256};
use tabia_arena::{Entrant, PlayerLifetime};
use tabia_game::History;
use tabia_search::{
    Choice, EngineSettings, Limits, NetSearch, Pick, Player, PlayerError, SearchControl, Spec,
};

use super::thinking::{Thinking, budget_of};
use crate::players::PlayerFactory;

/// A player spec that takes part.
pub(crate) struct SpecEntrant<'a> {
    name: String,
    /// With its budget filled in.
    spec: Spec,
    /// After how long a move comes too late.
    allowed: Option<Duration>,
    players: &'a PlayerFactory,
    file: Option<FileHash>,
}

/// A network's file as it was when the games began.
pub(crate) struct FileHash {
    pub(crate) file: String,
    pub(crate) hash: String,
}

/// What can be said of a player's games before they are played.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Variety {
    /// The same game again whenever the opponent's moves are the same.
    None,
    /// Time, threads or another program make a difference.
    Circumstance,
    /// The seed decides.
    Dice,
}

/// The entrants of these specs. Each is made once, so that what is missing is known before the first game.
pub(crate) fn entrants<'a>(
    specs: &[Spec],
    thinking: &Thinking,
    players: &'a PlayerFactory,
) -> Result<Vec<SpecEntrant<'a>>> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut entrant = |given: &Spec| {
        let text = given.to_string();
        let times = seen.entry(text.clone()).and_modify(|times| *times += 1).or_insert(1);
        // Two of a kind need two names, in PGN above all.
        let name = if *times == 1 { text } else { format!("{text} ({times})") };
        let mut spec = thinking.fill_in(given);
        let movetime = budget_of(&mut spec).and_then(|budget| budget.movetime);
        players.make(&spec, 0).with_context(|| format!("{name} cannot play"))?;
        let allowed = movetime.map(|time| time.saturating_add(thinking.margin));
        let file = file_of(&spec).map(hash).transpose()?;
        Ok(SpecEntrant { name, spec, allowed, players, file })
    };
    specs.iter().map(&mut entrant).collect()
}

impl SpecEntrant<'_> {
    /// Its network's file, if it has one.
    pub(crate) fn file(&self) -> Option<&FileHash> {
        self.file.as_ref()
    }

    /// Whether it plays the same game again when its opponent does.
    pub(crate) fn never_varies(&self) -> bool {
        self.variety() == Variety::None
    }

    fn variety(&self) -> Variety {
        let search = |settings: &EngineSettings| {
            let by_time = settings.budget.movetime.is_some() || settings.budget.is_empty();
            if by_time || settings.threads.is_some_and(|threads| threads > 1) {
                Variety::Circumstance
            } else {
                Variety::None
            }
        };
        let pick = |pick: Pick| match pick {
            Pick::Likeliest => Variety::None,
            Pick::Sampled { .. } => Variety::Dice,
        };
        match &self.spec {
            Spec::Level(_) => Variety::None,
            Spec::Net(net) => match &net.search {
                NetSearch::OnePly => Variety::None,
                NetSearch::AlphaBeta(settings) => search(settings),
            },
            Spec::Engine(engine) => search(&engine.settings),
            Spec::Human(human) if human.is_certain() => Variety::None,
            Spec::Maia(maia) => pick(maia.pick),
            Spec::Human(_) | Spec::Random { .. } => Variety::Dice,
            Spec::Uci(_) => Variety::Circumstance,
        }
    }
}

impl Entrant for SpecEntrant<'_> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn build(&self, seed: u64) -> Result<Box<dyn Player>, String> {
        let player = self.players.make(&self.spec, seed).map_err(|error| format!("{error:#}"))?;
        Ok(match self.allowed {
            Some(allowed) => Box::new(Punctual { player, allowed }),
            None => player,
        })
    }

    fn lifetime(&self) -> PlayerLifetime {
        match self.variety() {
            Variety::Dice => PlayerLifetime::PerGame,
            Variety::None | Variety::Circumstance => PlayerLifetime::PerWorker,
        }
    }
}

/// A player that fails when it takes longer than it may: unlike a game's clocks, for this player only.
struct Punctual {
    player: Box<dyn Player>,
    allowed: Duration,
}

impl Player for Punctual {
    fn name(&self) -> String {
        self.player.name()
    }

    fn new_game(&mut self) {
        self.player.new_game();
    }

    fn choose(
        &mut self,
        game: &History,
        limits: &Limits,
        watch: &dyn SearchControl,
    ) -> Result<Choice, PlayerError> {
        let choice = self.player.choose(game, limits, watch)?;
        let taken = watch.elapsed();
        if taken > self.allowed {
            let (taken, allowed) = (taken.as_millis(), self.allowed.as_millis());
            return Err(PlayerError::Outside(format!("{taken} ms for a move, {allowed} ms allowed")));
        }
        Ok(choice)
    }
}

fn file_of(spec: &Spec) -> Option<&Path> {
    match spec {
        Spec::Net(net) => Some(&net.file),
        Spec::Engine(engine) => engine.file(),
        Spec::Human(human) => human.file.as_deref(),
        Spec::Maia(maia) => Some(&maia.file),
        Spec::Level(_) | Spec::Random { .. } | Spec::Uci(_) => None,
    }
}

fn hash(file: &Path) -> Result<FileHash> {
    let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    let hash = Sha256::digest(&bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Ok(FileHash { file: file.display().to_string(), hash })
}
