//! Playing like one person: learning an adapter from a PGN file, and adapters as players.

use std::sync::Arc;

use js_sys::Function;
use serde::Serialize;
use tabia_game::{PgnReader, Problem};
use tabia_model::Model;
use tabia_players::{Adapter, AdapterNetwork, Feature};
use tabia_practice::{LearnSettings, LearnStage, Learner, NameCount, NameCounter, PersonGame};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{Engine, Fault, tree::Bytes};

/// The number of habits in [`AdapterFacts`].
const HABITS: usize = 6;

/// A feature of moves that the person likes or avoids.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
pub struct Habit {
    /// Its name.
    pub name: String,
    /// What the odds of such moves are multiplied by.
    pub odds: f32,
}

/// What an adapter says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct AdapterFacts {
    /// The person's name.
    pub name: String,
    /// Games it was learned from.
    pub games: u32,
    /// The person's moves in them.
    pub moves: u32,
    /// The person's rating.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating: Option<u16>,
    /// The pool of the rating.
    pub pool: String,
    /// SHA-256 of the network it was learned for.
    pub network: String,
    /// Positions of openings in it.
    pub positions: u32,
    /// Whether anything distinguishes the person from others of the rating.
    pub distinct: bool,
    /// Log-loss of the network told the rating and of the adapter, by cross-validation.
    pub log_loss: (f64, f64),
    /// Share of the moves that are the likeliest one, of both.
    #[serde(rename = "top1")]
    pub top_1: (f64, f64),
    /// The strongest habits.
    pub habits: Vec<Habit>,
}

/// Reads an adapter.
#[wasm_bindgen(js_name = adapterFacts)]
pub fn adapter_facts(text: &str) -> Result<Ts<AdapterFacts>, Fault> {
    Ok(facts(&Adapter::from_json(text.as_bytes())?).into_ts()?)
}

fn facts(adapter: &Adapter) -> AdapterFacts {
    let mut weights: Vec<(Feature, f32)> = adapter.weights.clone();
    weights.retain(|(feature, _)| !feature.is_square());
    weights.sort_by(|(_, one), (_, other)| other.abs().total_cmp(&one.abs()));
    let habit = |(feature, weight): &(Feature, f32)| Habit { name: feature.name(), odds: weight.exp() };
    let ([plain_loss, own_loss], [plain_top, own_top]) = (adapter.gain.log_loss, adapter.gain.top_1);
    AdapterFacts {
        name: adapter.name.clone(),
        games: adapter.games,
        moves: adapter.moves,
        rating: adapter.rating.map(|rating| rating.0),
        pool: adapter.pool.label().to_owned(),
        network: adapter.network.sha256.clone(),
        positions: adapter.memory.as_ref().map_or(0, |memory| memory.positions.len() as u32),
        distinct: !adapter.weights.is_empty() || adapter.memory.is_some() || adapter.shift != 0,
        log_loss: (plain_loss, own_loss),
        top_1: (plain_top, own_top),
        habits: weights.iter().take(HABITS).map(habit).collect(),
    }
}

#[wasm_bindgen]
impl Engine {
    /// Adds an adapter, replacing one of the same name: the player `human:NAME`.
    #[wasm_bindgen(js_name = addAdapter)]
    pub fn add_adapter(&mut self, name: &str, text: &str) -> Result<(), Fault> {
        let adapter = Adapter::from_json(text.as_bytes())?;
        self.insert_adapter(name, adapter);
        Ok(())
    }
}

/// Finds the players of a PGN file.
#[wasm_bindgen]
pub struct PlayerNames {
    games: PgnReader<Bytes>,
    names: NameCounter,
}

#[wasm_bindgen]
impl PlayerNames {
    /// Reads what a function gives out piece by piece: called with the most bytes it may give, it gives none at the end.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "(most: number) => Uint8Array")] bytes: Function,
    ) -> PlayerNames {
        PlayerNames { games: PgnReader::new(Bytes(bytes)), names: NameCounter::default() }
    }

    /// Reads so many more games; false at the end.
    pub fn step(&mut self, games: u32) -> Result<bool, Fault> {
        for _ in 0..games {
            match self.games.next() {
                Some(Ok(game)) => self.names.add(&game),
                Some(Err(broken)) => only_broken(broken.problem)?,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// The players with at least so many games, the most frequent first.
    pub fn names(&self, least: u32) -> Result<Vec<Ts<NameCount>>, Fault> {
        let names = self.names.frequent(usize::MAX).into_iter();
        names.take_while(|name| name.games >= u64::from(least)).map(|name| Ok(name.into_ts()?)).collect()
    }
}

/// Broken games are skipped, unlike a file that cannot be read.
fn only_broken(problem: Problem) -> Result<(), Fault> {
    match problem {
        Problem::Io(error) => Err(Fault::new(error.to_string())),
        _ => Ok(()),
    }
}

/// How far learning is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
pub struct LearnEvent {
    /// What is being done: `reading`, `rating`, `moves`, `fitting` or `done`.
    pub stage: String,
    /// How much of it is done: games, or fits.
    pub done: u32,
    /// Of how much; 0 if it is not known.
    pub total: u32,
}

/// Learns an adapter from a PGN file.
#[wasm_bindgen]
pub struct AdapterLearning {
    model: Arc<Model>,
    settings: LearnSettings,
    /// The name in the file.
    player: String,
    stage: Stage,
}

enum Stage {
    Reading { games: PgnReader<Bytes>, found: Vec<PersonGame> },
    Learning(Box<Learner>),
}

/// Games read in a step.
const READ: usize = 100;

#[wasm_bindgen]
impl AdapterLearning {
    /// Learns from the newest games of a player, with a model that has a policy head. The adapter gets `name`.
    #[wasm_bindgen(constructor)]
    pub fn new(
        engine: &Engine,
        model: &str,
        #[wasm_bindgen(unchecked_param_type = "(most: number) => Uint8Array")] bytes: Function,
        player: &str,
        name: &str,
        newest: u32,
        moves: u32,
    ) -> Result<AdapterLearning, Fault> {
        let model = engine.store().model(model)?;
        if model.card().policy.is_none() {
            return Err(Fault::new("the network has no policy head"));
        }
        let settings = LearnSettings { name: name.to_owned(), games: newest as usize, moves: moves as usize };
        let stage = Stage::Reading { games: PgnReader::new(Bytes(bytes)), found: Vec::new() };
        Ok(AdapterLearning { model, settings, player: player.to_owned(), stage })
    }

    /// Learns for a moment.
    pub fn step(&mut self) -> Result<Ts<LearnEvent>, Fault> {
        Ok(self.advance()?.into_ts()?)
    }

    /// The adapter, at the end.
    pub fn json(&self) -> Option<String> {
        match &self.stage {
            Stage::Reading { .. } => None,
            Stage::Learning(learner) => learner.adapter().map(Adapter::to_json),
        }
    }
}

impl AdapterLearning {
    fn advance(&mut self) -> Result<LearnEvent, Fault> {
        let event = |stage: &str, done: usize, total: usize| LearnEvent {
            stage: stage.to_owned(),
            done: done as u32,
            total: total as u32,
        };
        match &mut self.stage {
            Stage::Reading { games, found } => {
                for _ in 0..READ {
                    match games.next() {
                        Some(Ok(game)) => found.extend(PersonGame::of(&game, &self.player)),
                        Some(Err(broken)) => only_broken(broken.problem)?,
                        None => {
                            let name = self.model.card().name.clone().unwrap_or_else(|| "human".to_owned());
                            let network = AdapterNetwork { name, sha256: self.model.sha256().to_owned() };
                            let found = std::mem::take(found);
                            let learner = Learner::new(self.settings.clone(), network, found)?;
                            self.stage = Stage::Learning(Box::new(learner));
                            return Ok(event("rating", 0, 0));
                        }
                    }
                }
                Ok(event("reading", found.len(), 0))
            }
            Stage::Learning(learner) => {
                learner.step(&*self.model)?;
                let (stage, done, total) = learner.progress();
                let stage = match stage {
                    LearnStage::Rating => "rating",
                    LearnStage::Moves => "moves",
                    LearnStage::Fitting => "fitting",
                    LearnStage::Done => "done",
                };
                Ok(event(stage, done, total))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GameInput, LimitsInput};

    const ANN: &str = include_str!("../../../fixtures/adapters/ann.card");

    #[test]
    fn facts_say_what_was_learned() {
        let ann = facts(&Adapter::from_json(ANN.as_bytes()).unwrap());
        assert_eq!((ann.name.as_str(), ann.games, ann.rating, ann.positions), ("Ann", 40, Some(1540), 1));
        assert!(ann.distinct && ann.top_1.1 > ann.top_1.0);
        let habits: Vec<_> = ann.habits.iter().map(|habit| habit.name.as_str()).collect();
        assert_eq!(habits, ["castling long", "check"], "the strongest first, without squares");
    }

    #[test]
    fn an_adapter_is_a_player_until_it_is_replaced() {
        let mut engine = Engine::new(7.0);
        engine.open("human", include_bytes!("../../../models/human.safetensors")).unwrap();
        engine.add_adapter("adapter/1", ANN).unwrap();
        let mut first = || {
            let limits = LimitsInput::default();
            engine.think("human:adapter/1,mode=argmax", &GameInput::default(), &limits).unwrap().uci
        };
        assert_eq!(first(), "b2b3");
        engine.add_adapter("adapter/1", &ANN.replace("b2b3", "a2a4")).unwrap();
        let limits = LimitsInput::default();
        let now = engine.think("human:adapter/1,mode=argmax", &GameInput::default(), &limits).unwrap();
        assert_eq!(now.uci, "a2a4");
        let refused = engine.add_adapter("adapter/2", "{}").unwrap_err().to_string();
        assert!(refused.starts_with("invalid adapter: missing field `format`"), "{refused}");
    }
}
