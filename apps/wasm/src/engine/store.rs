//! Models by name, and players made of them.

use std::{collections::BTreeMap, sync::Arc};

use tabia_arena::{Entrant, Lifetime};
use tabia_game::History;
use tabia_model::{Model, Source, transformer::Level};
use tabia_search::{
    Choice, Limits, MaiaSpec, Opened, Pick, Player, PlayerContext, PlayerError, SearchControl, Spec,
};

use crate::Fault;

/// Models by name.
#[derive(Clone)]
pub(crate) struct ModelStore {
    models: BTreeMap<String, Arc<Model>>,
    /// The kernels of transformers opened from now on.
    level: Level,
}

impl ModelStore {
    pub(crate) fn new(level: Level) -> ModelStore {
        ModelStore { models: BTreeMap::new(), level }
    }

    pub(crate) fn set_level(&mut self, level: Level) {
        self.level = level;
    }

    /// Opens a model; one of the same name is replaced.
    pub(crate) fn open(&mut self, name: &str, bytes: &[u8]) -> Result<(), Fault> {
        let model = Source::read(bytes).and_then(|source| Model::at_level(source, None, self.level));
        let model = model.map_err(|error| Fault::new(format!("{name}: {error}")))?;
        self.models.insert(name.to_owned(), Arc::new(model));
        Ok(())
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.models.remove(name);
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }

    pub(crate) fn model(&self, name: &str) -> Result<Arc<Model>, Fault> {
        let model = self.models.get(name).cloned();
        model.ok_or_else(|| Fault::new(format!("there is no model called {name:?}")))
    }

    /// Makes a player.
    pub(crate) fn player(&self, spec: &Spec, seed: u64) -> Result<Box<dyn Player>, Fault> {
        let open = |name: &str| -> Opened { self.model(name).map_err(|fault| fault.to_string().into()) };
        let context = PlayerContext {
            open: &|file| open(&file.to_string_lossy()),
            human: &|| open("human"),
            value: &|| open("value"),
            seed,
        };
        Ok(spec.build(&context)?)
    }

    /// Somebody who takes part in a match under this name and reports so many candidates of every move; 0 leaves that to
    /// the player. It is made once, so that what is missing is known at once.
    pub(crate) fn entrant(&self, spec: &Spec, name: String, lines: usize) -> Result<Box<dyn Entrant>, Fault> {
        self.player(spec, 0).map_err(|fault| Fault::new(format!("{name} cannot play: {fault}")))?;
        Ok(Box::new(Contestant { name, spec: spec.clone(), lines, store: self.clone() }))
    }
}

struct Contestant {
    name: String,
    spec: Spec,
    lines: usize,
    store: ModelStore,
}

/// A player who reports its own number of candidates, whatever the rules of the match ask of both.
struct Reporting {
    player: Box<dyn Player>,
    lines: usize,
}

impl Player for Reporting {
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
        self.player.choose(game, &Limits { lines: self.lines, ..limits.clone() }, watch)
    }
}

impl Entrant for Contestant {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn build(&self, seed: u64) -> Result<Box<dyn Player>, String> {
        let player = self.store.player(&self.spec, seed).map_err(|fault| fault.to_string())?;
        Ok(Box::new(Reporting { player, lines: self.lines }))
    }

    fn lifetime(&self) -> Lifetime {
        let certain = match &self.spec {
            Spec::Human(human) => human.is_certain(),
            Spec::Maia(MaiaSpec { pick, .. }) => *pick == Pick::Likeliest,
            Spec::Random { .. } => false,
            Spec::Level(_) | Spec::Net(_) | Spec::Engine(_) | Spec::Uci(_) => true,
        };
        if certain { Lifetime::Worker } else { Lifetime::Game }
    }
}
