//! Engines that differ only in the parameters of their search.

use anyhow::Result;
use tabia_arena::Entrant;
use tabia_cli::PlayerFactory;
use tabia_players::{BuiltInNetwork, EngineEvaluation, EnginePlayer, Player};
use tabia_search::{EngineOptions, Parameters};

/// Transposition table of each engine, for a few thousand nodes a move.
const HASH_MIB: usize = 8;

/// Builds engines over one evaluation.
pub(super) struct Engines {
    players: PlayerFactory,
    evaluation: EngineEvaluation,
}

impl Engines {
    pub(super) fn new(evaluation: EngineEvaluation) -> Result<Engines> {
        let engines = Engines { players: PlayerFactory::default(), evaluation };
        // Errors appear before the first game.
        engines.players.evaluation(&engines.evaluation)?;
        Ok(engines)
    }

    pub(super) fn build(&self, name: &str, parameters: Parameters) -> Result<Box<dyn Player>> {
        let (_, evaluator) = self.players.evaluation(&self.evaluation)?;
        let options = EngineOptions { hash_mib: HASH_MIB, parameters, ..EngineOptions::default() };
        Ok(Box::new(EnginePlayer::new(name.to_owned(), options, evaluator)))
    }

    /// The evaluation as text: the contents of its file count.
    pub(super) fn describe(&self) -> Result<String> {
        Ok(match &self.evaluation {
            EngineEvaluation::Baseline => "hand-written".to_owned(),
            EngineEvaluation::BuiltIn => self.players.built_in(BuiltInNetwork::Value)?.sha256().to_owned(),
            EngineEvaluation::File(file) => self.players.open(file)?.sha256().to_owned(),
        })
    }
}

/// A participant of a test.
pub(super) struct Tuned<'a> {
    pub(super) engines: &'a Engines,
    pub(super) name: String,
    pub(super) parameters: Parameters,
}

impl Entrant for Tuned<'_> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn build(&self, _seed: u64) -> Result<Box<dyn Player>, String> {
        self.engines.build(&self.name, self.parameters).map_err(|error| format!("{error:#}"))
    }
}
