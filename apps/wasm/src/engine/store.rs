//! Models by name, and players made of them.

use std::{collections::BTreeMap, sync::Arc};

use tabia_arena::{Entrant, PlayerLifetime};
use tabia_model::{Model, Source};
use tabia_players::{
    Adapter, BuiltInNetwork, Determinism, Limits, Opened, Player, PlayerContext, Spec, Wrapped,
};
use tabia_runtime::transformer::Level;

use crate::Fault;

/// Models by name.
#[derive(Clone)]
pub(crate) struct ModelStore {
    models: BTreeMap<String, Arc<Model>>,
    adapters: BTreeMap<String, Arc<Adapter>>,
    /// The kernels of transformers opened from now on.
    level: Level,
}

impl ModelStore {
    pub(crate) fn new(level: Level) -> ModelStore {
        ModelStore { models: BTreeMap::new(), adapters: BTreeMap::new(), level }
    }

    pub(crate) fn set_level(&mut self, level: Level) {
        self.level = level;
    }

    /// Opens a model with its `vocab.npy`, if it has one; one of the same name is replaced.
    pub(crate) fn open(&mut self, name: &str, bytes: &[u8], vocabulary: Option<&[u8]>) -> Result<(), Fault> {
        let card = Source::assumed_card(bytes);
        let model = Source::read_with_vocabulary(bytes, card.as_deref(), vocabulary)
            .and_then(|source| Model::at_level(source, card.as_deref(), self.level));
        let model = model.map_err(|error| Fault::of_model(name, &error))?;
        self.models.insert(name.to_owned(), Arc::new(model));
        Ok(())
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.models.remove(name);
    }

    /// Adds an adapter; returns whether it is another than the one of that name before.
    pub(crate) fn add_adapter(&mut self, name: &str, adapter: Adapter) -> bool {
        if self.adapters.get(name).is_some_and(|known| **known == adapter) {
            return false;
        }
        self.adapters.insert(name.to_owned(), Arc::new(adapter));
        true
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }

    pub(crate) fn model(&self, name: &str) -> Result<Arc<Model>, Fault> {
        let model = self.models.get(name).cloned();
        model.ok_or_else(|| Fault::new(format!("no model named {name:?}")))
    }

    /// Builds a player.
    pub(crate) fn player(&self, spec: &Spec, seed: u64) -> Result<Box<dyn Player>, Fault> {
        let open = |name: &str| -> Opened { self.model(name).map_err(|fault| fault.to_string().into()) };
        let context = PlayerContext {
            open: &|file| open(&file.to_string_lossy()),
            adapter: &|file| Ok(self.adapters.get(&*file.to_string_lossy()).cloned()),
            built_in: &|network| match network {
                BuiltInNetwork::Human => open("human"),
                BuiltInNetwork::Value => open("value"),
            },
            process: None,
            seed,
        };
        Ok(spec.build(&context)?)
    }

    /// A participant of a match that reports this many lines per move; 0 leaves it to the player. It is built once, so
    /// that errors appear at once.
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

impl Entrant for Contestant {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn build(&self, seed: u64) -> Result<Box<dyn Player>, String> {
        let player = self.store.player(&self.spec, seed).map_err(|fault| fault.to_string())?;
        let lines = self.lines;
        Ok(Box::new(Wrapped::new(player, move |player, game, limits, control| {
            player.decide(game, &Limits { lines, ..limits.clone() }, control)
        })))
    }

    fn lifetime(&self) -> PlayerLifetime {
        match self.spec.determinism() {
            Determinism::Seeded => PlayerLifetime::PerGame,
            Determinism::Deterministic | Determinism::Uncontrolled => PlayerLifetime::PerWorker,
        }
    }
}
