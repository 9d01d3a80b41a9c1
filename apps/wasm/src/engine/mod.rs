//! Models, players and analysis, for a worker.

mod accelerated;
mod analysis;
mod context;
#[cfg(any(feature = "embed", test))]
mod embedded;
mod facts;
mod human;
pub(crate) mod input;
mod store;
#[cfg(test)]
mod tests;
mod thought;

use std::collections::HashMap;
use std::sync::Arc;

use js_sys::Uint8Array;
use tabia_arena::Timer as _;
use tabia_players::{Player, SearchControl as _, Spec};
use tabia_runtime::transformer::Level;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

#[cfg(any(feature = "embed", test))]
pub use self::embedded::embedded_model;
pub(crate) use self::store::ModelStore;
pub use self::{
    accelerated::PendingEvaluation,
    context::ContextScores,
    facts::{MeasuredRating, ModelFacts},
    human::{HumanMove, HumanView, PauseChance},
    input::{GameInput, LimitsInput, PlayerInput, PoolInput},
    thought::{Thought, ThoughtLine},
};
use self::{accelerated::Remote, analysis::Analyst, input::duration};
use crate::{
    Fault,
    stopwatch::{PageTimer, Stopwatch},
};

/// The largest model file that is opened.
const LARGEST_MODEL: u32 = 256 << 20;

/// Models by name, and players built from them.
///
/// Specs name models where they name files elsewhere: `net:NAME`. The models `human` and `value` are the built-in networks
/// of the specs `human` and `engine`.
#[wasm_bindgen]
pub struct Engine {
    seed: u64,
    store: ModelStore,
    /// By spec.
    players: HashMap<String, KeptPlayer>,
    analyst: Option<Analyst>,
    /// Models that another device evaluates, by name.
    remotes: HashMap<String, Arc<Remote>>,
}

/// A player that is kept for its next move.
struct KeptPlayer {
    spec: Spec,
    player: Box<dyn Player>,
}

#[wasm_bindgen]
impl Engine {
    /// An engine without models. `seed` is the random seed of players.
    #[wasm_bindgen(constructor)]
    pub fn new(seed: f64) -> Engine {
        // Any number is a seed.
        let store = ModelStore::new(Level::best());
        Engine {
            seed: seed.to_bits(),
            store,
            players: HashMap::new(),
            analyst: None,
            remotes: HashMap::new(),
        }
    }

    /// The threads that its work can use: this one, and the workers that [help](crate::help).
    pub fn threads(&self) -> usize {
        1 + tabia_threads::helpers()
    }

    /// Measures which kernels of this build are fastest here, in some tens of milliseconds, and returns their name. Models
    /// opened from then on use them; the answers are the same on all.
    #[wasm_bindgen(js_name = chooseKernels)]
    pub fn choose_kernels(&mut self) -> String {
        let level = Level::fastest(|| PageTimer.now());
        self.store.set_level(level);
        level.to_string()
    }

    /// Opens a model file of any known format, replacing a model of the same name. A policy that has some of the moves needs its
    /// `vocab.npy`.
    #[wasm_bindgen(js_name = addModel)]
    #[expect(clippy::needless_pass_by_value, reason = "the bindings pass options by value")]
    pub fn add_model(
        &mut self,
        name: &str,
        bytes: &Uint8Array,
        vocabulary: Option<Vec<u8>>,
    ) -> Result<Ts<ModelFacts>, Fault> {
        let length = bytes.length();
        if length > LARGEST_MODEL {
            let (mib, most) = (length >> 20, LARGEST_MODEL >> 20);
            return Err(Fault::new(format!("{name}: {mib} MiB; expected at most {most} MiB")));
        }
        let mut file = Vec::new();
        if file.try_reserve_exact(length as usize).is_err() {
            return Err(Fault::new(format!("{name}: not enough memory for {} MiB", length >> 20)));
        }
        file.resize(length as usize, 0);
        bytes.copy_to(&mut file);
        self.open_with(name, &file, vocabulary.as_deref())?;
        Ok(self.facts(name)?.into_ts()?)
    }

    /// Removes a model, and all players.
    #[wasm_bindgen(js_name = removeModel)]
    pub fn remove_model(&mut self, name: &str) {
        self.store.remove(name);
        self.remotes.remove(name);
        self.forget_players();
    }

    /// All models.
    pub fn models(&self) -> Result<Vec<Ts<ModelFacts>>, Fault> {
        self.store.names().map(|name| Ok(self.facts(name)?.into_ts()?)).collect()
    }

    /// The name of the player of a spec.
    pub fn describe(&mut self, spec: &str) -> Result<String, Fault> {
        Ok(self.kept(spec)?.player.name())
    }

    /// Lets the player of a spec choose a move. The player is kept for the next call.
    pub fn choose(
        &mut self,
        spec: &str,
        game: &Ts<GameInput>,
        limits: &Ts<LimitsInput>,
    ) -> Result<Ts<Thought>, Fault> {
        let (game, limits) = (game.to_rust()?, limits.to_rust()?);
        Ok(self.think(spec, &game, &limits)?.into_ts()?)
    }

    /// Analyses a position for a slice of time. Further calls for the same position continue the analysis.
    pub fn analyse(&mut self, game: &Ts<GameInput>, lines: u32, seconds: f64) -> Result<Ts<Thought>, Fault> {
        Ok(self.deepen(&game.to_rust()?, lines, seconds)?.into_ts()?)
    }

    /// The evaluation of a position in a context, both as FEN, by a two-input network.
    #[wasm_bindgen(js_name = contextScores)]
    pub fn context_scores(
        &self,
        model: &str,
        position: &str,
        context: &str,
    ) -> Result<Ts<ContextScores>, Fault> {
        Ok(context::scores(&*self.store.model(model)?, position, context)?.into_ts()?)
    }

    /// Starts a new game for all players.
    #[wasm_bindgen(js_name = newGame)]
    pub fn new_game(&mut self) {
        for kept in self.players.values_mut() {
            kept.player.new_game();
        }
    }

    /// The move and result predictions for people of each rating.
    pub fn human(
        &self,
        model: &str,
        game: &Ts<GameInput>,
        #[wasm_bindgen(unchecked_param_type = "(number | null)[]")] ratings: &js_sys::Array,
    ) -> Result<Vec<Ts<HumanView>>, Fault> {
        let ratings: Vec<Option<f64>> = ratings.iter().map(|rating| rating.as_f64()).collect();
        let views = human::views(&*self.store.model(model)?, &game.to_rust()?, &ratings)?;
        views.iter().map(|view| Ok(view.into_ts()?)).collect()
    }
}

impl Engine {
    #[cfg(test)]
    pub(crate) fn open(&mut self, name: &str, bytes: &[u8]) -> Result<(), Fault> {
        self.open_with(name, bytes, None)
    }

    fn open_with(&mut self, name: &str, bytes: &[u8], vocabulary: Option<&[u8]>) -> Result<(), Fault> {
        self.store.open(name, bytes, vocabulary)?;
        self.remotes.remove(name);
        self.forget_players();
        Ok(())
    }

    pub(crate) fn insert_adapter(&mut self, name: &str, adapter: tabia_players::Adapter) {
        if self.store.add_adapter(name, adapter) {
            self.forget_players();
        }
    }

    pub(crate) fn store(&self) -> &ModelStore {
        &self.store
    }

    /// Players may use a model that was removed.
    fn forget_players(&mut self) {
        self.players.clear();
        self.analyst = None;
    }

    fn facts(&self, name: &str) -> Result<ModelFacts, Fault> {
        Ok(facts::of(name, &*self.store.model(name)?))
    }

    fn deepen(&mut self, game: &GameInput, lines: u32, seconds: f64) -> Result<Thought, Fault> {
        let threads = self.threads();
        let analyst = match &mut self.analyst {
            Some(analyst) if analyst.threads() == threads => analyst,
            other => {
                let engine = self.store.player(&format!("engine,threads={threads}").parse()?, self.seed)?;
                other.insert(Analyst::new(engine, threads))
            }
        };
        analyst.slice(game, lines as usize, duration("seconds", seconds)?)
    }

    fn kept(&mut self, spec: &str) -> Result<&mut KeptPlayer, Fault> {
        if !self.players.contains_key(spec) {
            let parsed: Spec = spec.parse()?;
            let player = self.store.player(&parsed, self.seed)?;
            self.players.insert(spec.to_owned(), KeptPlayer { spec: parsed, player });
        }
        self.players.get_mut(spec).ok_or_else(|| Fault::new("the player was removed"))
    }

    pub(crate) fn think(
        &mut self,
        spec: &str,
        game: &GameInput,
        limits: &LimitsInput,
    ) -> Result<Thought, Fault> {
        let kept = self.kept(spec)?;
        let history = game.history()?;
        let limits = limits.over(game, &history, kept.spec.pick().is_some())?;
        let stopwatch = Stopwatch::start();
        let situation = history.situation();
        kept.player.check_start(situation.earlier.last().unwrap_or(situation.position))?;
        let decision = kept.player.decide(&history, &limits, &stopwatch)?;
        Ok(Thought::of_decision(history.current(), &decision, stopwatch.elapsed()))
    }
}
