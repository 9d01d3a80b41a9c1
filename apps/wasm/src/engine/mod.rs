//! What thinks: models, players and analysis, for a worker.

mod analysis;
mod facts;
mod human;
pub(crate) mod input;
mod store;
#[cfg(test)]
mod tests;
mod thought;

use std::collections::HashMap;

use js_sys::Uint8Array;
use shakmaty::Position as _;
use tabia_arena::Timer as _;
use tabia_encoding::Elo;
use tabia_model::transformer::Level;
use tabia_search::{HumanBehaviour, Player, SearchControl as _, Spec};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

pub(crate) use self::store::ModelStore;
use self::{analysis::Analyst, input::duration};
pub use self::{
    facts::{MeasuredRating, ModelFacts},
    human::{HumanMove, HumanView, PauseChance},
    input::{GameInput, LimitsInput, PlayerInput, PoolInput},
    thought::{Thought, ThoughtLine},
};
use crate::{
    Fault,
    stopwatch::{PageTimer, Stopwatch},
};

/// The largest model file that is read: what a browser's memory holds several times over.
const LARGEST_MODEL: u32 = 256 << 20;

/// Models by name, and the players made of them.
///
/// Specs name models as they name files elsewhere: `net:NAME`. The networks named `human` and `value` are those that
/// `human` and `engine` mean without a name.
#[wasm_bindgen]
pub struct Engine {
    seed: u64,
    store: ModelStore,
    /// By spec.
    players: HashMap<String, Seated>,
    analyst: Option<Analyst>,
}

/// A player that is kept for its next move.
struct Seated {
    spec: Spec,
    player: Box<dyn Player>,
    behaviour: HumanBehaviour,
}

#[wasm_bindgen]
impl Engine {
    /// An empty engine; the seed decides for players that play by chance.
    #[wasm_bindgen(constructor)]
    pub fn new(seed: f64) -> Engine {
        // Every number is a seed, also one that is not whole.
        let store = ModelStore::new(Level::best());
        Engine { seed: seed.to_bits(), store, players: HashMap::new(), analyst: None }
    }

    /// Measures which kernels of this build are fastest here, in some tens of milliseconds, and returns their name. Models
    /// opened from then on use them; the answers are the same on all.
    #[wasm_bindgen(js_name = chooseKernels)]
    pub fn choose_kernels(&mut self) -> String {
        let level = Level::fastest(|| PageTimer.now());
        self.store.set_level(level);
        level.to_string()
    }

    /// Opens a model file of any known format. A model of the same name is replaced.
    #[wasm_bindgen(js_name = addModel)]
    pub fn add_model(&mut self, name: &str, bytes: &Uint8Array) -> Result<Ts<ModelFacts>, Fault> {
        let length = bytes.length();
        if length > LARGEST_MODEL {
            let (mib, most) = (length >> 20, LARGEST_MODEL >> 20);
            return Err(Fault::new(format!("{name}: {mib} MiB; models of up to {most} MiB are read")));
        }
        let mut file = Vec::new();
        if file.try_reserve_exact(length as usize).is_err() {
            return Err(Fault::new(format!("{name}: not enough memory for {} MiB", length >> 20)));
        }
        file.resize(length as usize, 0);
        bytes.copy_to(&mut file);
        self.open(name, &file)?;
        Ok(self.facts(name)?.into_ts()?)
    }

    /// Forgets a model and the players made of any.
    #[wasm_bindgen(js_name = removeModel)]
    pub fn remove_model(&mut self, name: &str) {
        self.store.remove(name);
        self.forget_players();
    }

    /// All models.
    pub fn models(&self) -> Result<Vec<Ts<ModelFacts>>, Fault> {
        self.store.names().map(|name| Ok(self.facts(name)?.into_ts()?)).collect()
    }

    /// What the player of a spec is called.
    pub fn describe(&mut self, spec: &str) -> Result<String, Fault> {
        Ok(self.seated(spec)?.player.name())
    }

    /// Lets the player of a spec choose a move. The player is kept, with what it learnt, for the next call.
    pub fn choose(
        &mut self,
        spec: &str,
        game: &Ts<GameInput>,
        limits: &Ts<LimitsInput>,
    ) -> Result<Ts<Thought>, Fault> {
        let (game, limits) = (game.to_rust()?, limits.to_rust()?);
        Ok(self.think(spec, &game, &limits)?.into_ts()?)
    }

    /// The engine's opinion of a position after a slice of time. Asked again for the same, it goes on where it was.
    pub fn analyse(&mut self, game: &Ts<GameInput>, lines: u32, seconds: f64) -> Result<Ts<Thought>, Fault> {
        Ok(self.deepen(&game.to_rust()?, lines, seconds)?.into_ts()?)
    }

    /// A new game begins: players forget what only the last one taught.
    #[wasm_bindgen(js_name = newGame)]
    pub fn new_game(&mut self) {
        for (seated, count) in self.players.values_mut().zip(0..) {
            seated.player.new_game();
            seated.behaviour = HumanBehaviour::new(self.seed.wrapping_add(count)).of(rating(&seated.spec));
        }
    }

    /// How likely people of each rating are to play each move, and how the game may end between them.
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
    pub(crate) fn open(&mut self, name: &str, bytes: &[u8]) -> Result<(), Fault> {
        self.store.open(name, bytes)?;
        self.forget_players();
        Ok(())
    }

    pub(crate) fn store(&self) -> &ModelStore {
        &self.store
    }

    /// Players may be made of a model that is gone.
    fn forget_players(&mut self) {
        self.players.clear();
        self.analyst = None;
    }

    fn facts(&self, name: &str) -> Result<ModelFacts, Fault> {
        Ok(facts::of(name, &*self.store.model(name)?))
    }

    fn deepen(&mut self, game: &GameInput, lines: u32, seconds: f64) -> Result<Thought, Fault> {
        let analyst = match &mut self.analyst {
            Some(analyst) => analyst,
            none => none.insert(Analyst::new(self.store.player(&"engine".parse()?, self.seed)?)),
        };
        analyst.slice(game, lines as usize, duration("seconds", seconds)?)
    }

    fn seated(&mut self, spec: &str) -> Result<&mut Seated, Fault> {
        if !self.players.contains_key(spec) {
            let parsed: Spec = spec.parse()?;
            let player = self.store.player(&parsed, self.seed)?;
            let behaviour = HumanBehaviour::new(self.seed).of(rating(&parsed));
            self.players.insert(spec.to_owned(), Seated { spec: parsed, player, behaviour });
        }
        self.players.get_mut(spec).ok_or_else(|| Fault::new("the player is gone"))
    }

    pub(crate) fn think(
        &mut self,
        spec: &str,
        game: &GameInput,
        limits: &LimitsInput,
    ) -> Result<Thought, Fault> {
        let seated = self.seated(spec)?;
        let history = game.history()?;
        let is_human = matches!(seated.spec, Spec::Human(_) | Spec::Maia(_));
        let limits = limits.over(game, &history, is_human)?;
        let watch = Stopwatch::start();
        let choice = seated.player.choose(&history, &limits, &watch)?;
        let mut thought = Thought::new(history.current(), &choice, watch.elapsed());
        if is_human {
            let turn = history.current().turn();
            let clock = limits.clocks.as_ref().map(|clocks| clocks[turn]);
            thought.behave(seated.behaviour.action(&history, &choice, clock));
        }
        Ok(thought)
    }
}

/// The rating a spec asks for, of a player who behaves like people of a rating.
fn rating(spec: &Spec) -> Option<Elo> {
    match spec {
        Spec::Human(human) => human.elo,
        _ => None,
    }
}
