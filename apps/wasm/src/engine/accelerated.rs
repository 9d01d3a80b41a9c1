//! Networks that another device evaluates, which answers later.
//!
//! Players ask for an evaluation and need it at once. So a call that needs one which is not there fails, the page takes what it
//! [needs](Engine::take_pending), [supplies](Engine::supply) the outputs and calls again. Without outputs, and in everything
//! the page does not call this way, the network runs here: an evaluation is never missing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use js_sys::Float32Array;
use shakmaty::Chess;
use tabia_encoding::Situation;
use tabia_model::{Accelerator, Model, Runtime};
use tabia_runtime::{InputData, InputTensor, RunError};
use wasm_bindgen::prelude::wasm_bindgen;

use super::Engine;
use crate::Fault;

/// Evaluations that are kept: a call that needs several asks for one after another.
const KEPT: usize = 4;
/// How far the outputs of another device may be from ours, as a part of the largest.
const TOLERANCE: f32 = 0.05;

/// Inputs of a network that wait for its outputs.
#[wasm_bindgen]
#[derive(Clone, Debug, PartialEq)]
pub struct PendingEvaluation {
    model: String,
    rows: usize,
    inputs: Vec<Vec<f32>>,
}

#[wasm_bindgen]
impl PendingEvaluation {
    /// The name of the model.
    #[wasm_bindgen(getter)]
    pub fn model(&self) -> String {
        self.model.clone()
    }

    /// Positions.
    #[wasm_bindgen(getter)]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The inputs in order, a row for each position.
    pub fn inputs(&self) -> Vec<Float32Array> {
        self.inputs.iter().map(|values| Float32Array::from(values.as_slice())).collect()
    }
}

/// The evaluations of one network on another device.
pub(super) struct Remote {
    model: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Fewer positions are evaluated here.
    least_rows: usize,
    /// Whether evaluations that are not known are asked for.
    deferring: bool,
    pending: Option<PendingEvaluation>,
    /// Evaluations with their outputs, latest last.
    known: VecDeque<(PendingEvaluation, Vec<Vec<f32>>)>,
}

impl Remote {
    fn new(model: &str) -> Remote {
        Remote { model: model.to_owned(), state: Mutex::default() }
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Accelerator for Remote {
    fn outputs(&self, inputs: &[InputTensor<'_>]) -> Option<Result<Vec<Vec<f32>>, RunError>> {
        let rows = inputs.first().and_then(|input| input.shape.first()).copied().unwrap_or(0);
        self.with(|state| {
            if rows < state.least_rows {
                return None;
            }
            let known =
                state.known.iter().find(|(asked, _)| asked.rows == rows && same(&asked.inputs, inputs));
            if let Some((_, outputs)) = known {
                return Some(Ok(outputs.clone()));
            }
            if !state.deferring {
                return None;
            }
            let inputs = inputs.iter().map(|input| values(input).collect()).collect();
            state.pending = Some(PendingEvaluation { model: self.model.clone(), rows, inputs });
            Some(Err(RunError::Deferred))
        })
    }
}

/// The numbers of an input as floats.
fn values<'a>(input: &InputTensor<'a>) -> Box<dyn Iterator<Item = f32> + 'a> {
    match input.data {
        InputData::Values(values) => Box::new(values.iter().copied()),
        InputData::Ids(ids) => Box::new(ids.iter().map(|&id| id as f32)),
    }
}

fn same(asked: &[Vec<f32>], inputs: &[InputTensor<'_>]) -> bool {
    asked.len() == inputs.len()
        && asked.iter().zip(inputs).all(|(asked, input)| asked.iter().copied().eq(values(input)))
}

#[wasm_bindgen]
impl Engine {
    /// Whether another device may evaluate a model.
    #[wasm_bindgen(js_name = canAccelerate)]
    pub fn can_accelerate(&self, model: &str) -> bool {
        self.store.model(model).is_ok_and(|model| matches!(model.runtime(), Runtime::Transformer(_)))
    }

    /// What a device is tried with: the start position, `rows` times.
    pub fn probe(&self, model: &str, rows: usize) -> Result<PendingEvaluation, Fault> {
        let network = self.store.model(model)?;
        let remote = Arc::new(Remote::new(model));
        remote.with(|state| state.deferring = true);
        network.set_accelerator(Some(remote.clone()));
        let deferred = evaluate_start(&network, rows);
        // The one that was there before, if any.
        network.set_accelerator(self.remotes.get(model).map(|remote| remote.clone() as Arc<dyn Accelerator>));
        let pending = remote.with(|state| state.pending.take());
        match (pending, deferred) {
            (Some(pending), _) => Ok(pending),
            (None, Err(error)) => Err(error.into()),
            (None, Ok(_)) => Err(Fault::new(format!("{model} only runs on the processor"))),
        }
    }

    /// Evaluates the same here; the difference to `outputs`, if there are any, decides whether they are `true`.
    #[wasm_bindgen(js_name = evaluateProbe)]
    #[expect(clippy::needless_pass_by_value, reason = "the bindings pass options by value")]
    pub fn evaluate_probe(
        &self,
        model: &str,
        rows: usize,
        outputs: Option<Vec<Float32Array>>,
    ) -> Result<bool, Fault> {
        let network = self.store.model(model)?;
        network.set_accelerator(None);
        let ours = evaluate_start(&network, rows);
        network.set_accelerator(self.remotes.get(model).map(|remote| remote.clone() as Arc<dyn Accelerator>));
        let (ours, theirs) = (ours?, outputs.as_deref().map(vectors));
        Ok(theirs.is_some_and(|theirs| agree(&ours, &theirs)))
    }

    /// Lets another device evaluate a model, for as many positions as `least_rows` and more; `undefined` ends that.
    pub fn accelerate(&mut self, model: &str, least_rows: Option<usize>) -> Result<(), Fault> {
        let network = self.store.model(model)?;
        self.remotes.remove(model);
        network.set_accelerator(None);
        if let Some(least_rows) = least_rows {
            let remote = Arc::new(Remote::new(model));
            remote.with(|state| state.least_rows = least_rows);
            network.set_accelerator(Some(remote.clone()));
            self.remotes.insert(model.to_owned(), remote);
        }
        Ok(())
    }

    /// Whether calls from now on fail where they need an evaluation of another device.
    pub fn defer(&self, on: bool) {
        for remote in self.remotes.values() {
            remote.with(|state| state.deferring = on);
        }
    }

    /// What the last call needed, if it failed for that.
    #[wasm_bindgen(js_name = takePending)]
    pub fn take_pending(&self) -> Option<PendingEvaluation> {
        self.remotes.values().find_map(|remote| remote.with(|state| state.pending.take()))
    }

    /// The outputs of a pending evaluation.
    #[expect(clippy::needless_pass_by_value, reason = "the bindings pass objects by value")]
    pub fn supply(&self, pending: PendingEvaluation, outputs: Vec<Float32Array>) {
        self.supply_values(pending, vectors(&outputs));
    }
}

impl Engine {
    fn supply_values(&self, pending: PendingEvaluation, outputs: Vec<Vec<f32>>) {
        let Some(remote) = self.remotes.get(&pending.model) else { return };
        remote.with(|state| {
            state.known.push_back((pending, outputs));
            if state.known.len() > KEPT {
                state.known.pop_front();
            }
        });
    }
}

fn vectors(arrays: &[Float32Array]) -> Vec<Vec<f32>> {
    arrays.iter().map(Float32Array::to_vec).collect()
}

fn evaluate_start(network: &Model, rows: usize) -> Result<Vec<Vec<f32>>, RunError> {
    let start = Chess::default();
    let outputs = network.outputs(&vec![Situation::of(&start); rows])?;
    Ok(outputs.into_iter().map(|output| output.values).collect())
}

/// Whether outputs are the same within rounding.
fn agree(ours: &[Vec<f32>], theirs: &[Vec<f32>]) -> bool {
    let near = |(ours, theirs): (&Vec<f32>, &Vec<f32>)| {
        let largest = ours.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        // Not a number is not near.
        ours.len() == theirs.len()
            && ours.iter().zip(theirs).all(|(one, other)| (one - other).abs() <= TOLERANCE * largest)
    };
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GameInput, LimitsInput};

    const SPEC: &str = "human,elo=1500,mode=argmax";

    fn engine() -> Engine {
        let mut engine = Engine::new(1.0);
        engine.open("human", include_bytes!("../../../../fixtures/models/human.safetensors")).unwrap();
        engine
    }

    fn choose(engine: &mut Engine) -> Result<String, Fault> {
        Ok(engine.think(SPEC, &GameInput::default(), &LimitsInput::default())?.uci)
    }

    /// The outputs of the processor for what another device was asked.
    fn outputs_of(engine: &Engine, pending: &PendingEvaluation) -> Vec<Vec<f32>> {
        let expected = engine.probe("human", pending.rows).unwrap();
        assert_eq!(expected.inputs.len(), pending.inputs.len());
        let network = engine.store.model("human").unwrap();
        network.set_accelerator(None);
        let outputs = evaluate_start(&network, pending.rows).unwrap();
        network.set_accelerator(Some(engine.remotes["human"].clone()));
        outputs
    }

    #[test]
    fn a_move_waits_for_the_outputs_and_is_the_one_of_the_processor() {
        let mut engine = engine();
        assert!(engine.can_accelerate("human") && !engine.can_accelerate("nothing"));
        let expected = choose(&mut engine).unwrap();
        engine.accelerate("human", Some(1)).unwrap();
        engine.defer(true);
        assert!(choose(&mut engine).is_err());
        let pending = engine.take_pending().unwrap();
        assert_eq!((pending.rows, pending.inputs.len()), (1, 2));
        assert!(engine.take_pending().is_none());
        let mut outputs = outputs_of(&engine, &pending);
        // Another answer shows that the outputs are read: the worst move first.
        outputs[0].iter_mut().for_each(|logit| *logit = -*logit);
        engine.supply_values(pending, outputs);
        assert_ne!(choose(&mut engine).unwrap(), expected);
        engine.accelerate("human", None).unwrap();
        assert_eq!(choose(&mut engine).unwrap(), expected);
    }

    #[test]
    fn without_outputs_the_processor_moves() {
        let mut engine = engine();
        let expected = choose(&mut engine).unwrap();
        engine.accelerate("human", Some(1)).unwrap();
        engine.defer(true);
        assert!(choose(&mut engine).is_err());
        assert!(engine.take_pending().is_some());
        // The device is lost: nothing is supplied.
        engine.defer(false);
        assert_eq!(choose(&mut engine).unwrap(), expected);
        // One that answers nonsense is not believed.
        for nonsense in [vec![], vec![vec![f32::NAN; 4096]; 4], vec![vec![0.0; 7]; 4]] {
            engine.defer(true);
            assert!(choose(&mut engine).is_err());
            let pending = engine.take_pending().unwrap();
            engine.supply_values(pending, nonsense);
            assert_eq!(choose(&mut engine).unwrap(), expected);
            engine.accelerate("human", Some(1)).unwrap();
        }
    }

    #[test]
    fn small_batches_stay_here() {
        let mut engine = engine();
        engine.accelerate("human", Some(2)).unwrap();
        engine.defer(true);
        assert!(choose(&mut engine).is_ok());
        assert!(engine.take_pending().is_none());
    }

    #[test]
    fn the_same_outputs_agree_and_others_do_not() {
        let ours = vec![vec![1.0, -8.0], vec![0.25]];
        assert!(agree(&ours, &ours));
        assert!(agree(&ours, &[vec![1.3, -8.1], vec![0.251]]));
        for other in
            [vec![vec![1.5, -8.0], vec![0.25]], vec![vec![1.0, -8.0], vec![f32::NAN]], vec![vec![1.0, -8.0]]]
        {
            assert!(!agree(&ours, &other));
        }
    }
}
