//! Opening repertoires, what people play against them, and named openings.

use std::sync::Arc;

use js_sys::JsString;
use serde::{Deserialize, Serialize};
use shakmaty::{ByColor, Chess, Position as _, san::San};
use tabia_encoding::{PlayerInfo, RatingPool, parse_uci};
use tabia_game::{History, fen_of, position_from_fen};
use tabia_model::Model;
use tabia_practice::{
    Coverage, CoverageLimits, CoverageWalk, Repertoire, RepertoireFile, RepertoireLine, RepertoireStatus,
    deck::NewCard, openings,
};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{Engine, Fault, OpeningEntry, Side, engine::input::elo, notation};

/// The most lines that are listed.
const MOST_LINES: usize = 500;

/// Positions that are evaluated in one step.
const BATCH: usize = 8;

/// The named openings, each with the shortest line that leads there.
#[wasm_bindgen(js_name = namedOpenings)]
pub fn named_openings() -> Result<Vec<Ts<OpeningEntry>>, Fault> {
    named().iter().map(|entry| Ok(entry.into_ts()?)).collect()
}

fn named() -> Vec<OpeningEntry> {
    let start = fen_of(&Chess::default());
    let entry = |opening: tabia_practice::NamedOpening| {
        let mut position = Chess::default();
        let play = |san: &str| {
            let m = san.parse::<San>().ok()?.to_move(&position).ok()?;
            let uci = notation::uci(&position, m);
            position.play_unchecked(m);
            Some(uci)
        };
        let moves = opening.line.split(' ').map_while(play).collect();
        OpeningEntry { name: opening.name.to_owned(), fen: start.clone(), moves }
    };
    openings().into_iter().map(entry).collect()
}

/// What to know about a repertoire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct RepertoireFacts {
    /// Whose moves they are.
    pub side: Side,
    /// The number of positions with a prepared move.
    pub positions: usize,
    /// Where it starts; missing for the initial position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_fen: Option<String>,
    /// The names of its games.
    pub chapters: Vec<String>,
    /// What is wrong with games that cannot be read to their end.
    pub problems: Vec<String>,
}

/// What I prepared in the opening.
#[wasm_bindgen]
pub struct OpeningRepertoire {
    file: RepertoireFile,
}

#[wasm_bindgen]
impl OpeningRepertoire {
    /// Reads PGN with variations, or a study of several chapters. Without a side it is guessed.
    #[wasm_bindgen(constructor)]
    #[expect(clippy::needless_pass_by_value, reason = "the bindings pass options by value")]
    pub fn new(
        name: &str,
        #[wasm_bindgen(unchecked_param_type = "string")] pgn: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "Side")] side: Option<String>,
    ) -> Result<OpeningRepertoire, Fault> {
        let side = side.as_deref().map(str::parse::<Side>).transpose()?;
        OpeningRepertoire::read(name, &String::from(pgn), side)
    }

    /// What to know about it.
    pub fn facts(&self) -> Result<Ts<RepertoireFacts>, Fault> {
        Ok(self.summary().into_ts()?)
    }

    /// Its lines, at most 500.
    pub fn lines(&self) -> Result<Vec<Ts<RepertoireLine>>, Fault> {
        self.file.repertoire.lines(MOST_LINES).iter().map(|line| Ok(line.into_ts()?)).collect()
    }

    /// Where a game in progress stands.
    #[expect(clippy::needless_pass_by_value, reason = "a list crosses the border only as a whole")]
    pub fn status(
        &self,
        #[wasm_bindgen(js_name = startFen)] start_fen: &str,
        moves: Vec<String>,
    ) -> Result<Ts<RepertoireStatus>, Fault> {
        Ok(self.at(start_fen, &moves)?.into_ts()?)
    }

    /// A card for every position with a prepared move.
    pub fn cards(&self) -> Result<Vec<Ts<NewCard>>, Fault> {
        self.file.repertoire.cards().iter().map(|card| Ok(card.into_ts()?)).collect()
    }
}

impl OpeningRepertoire {
    fn read(name: &str, pgn: &str, side: Option<Side>) -> Result<OpeningRepertoire, Fault> {
        Ok(OpeningRepertoire { file: Repertoire::from_pgn(name, side.map(Into::into), pgn)? })
    }

    fn summary(&self) -> RepertoireFacts {
        let RepertoireFile { repertoire, chapters, problems } = &self.file;
        RepertoireFacts {
            side: repertoire.color().into(),
            positions: repertoire.len(),
            start_fen: (*repertoire.start() != Chess::default()).then(|| fen_of(repertoire.start())),
            chapters: chapters.clone(),
            problems: problems.clone(),
        }
    }

    fn at(&self, start_fen: &str, moves: &[String]) -> Result<RepertoireStatus, Fault> {
        let start = position_from_fen(start_fen)?;
        let mut position = start.clone();
        let mut line = Vec::with_capacity(moves.len());
        for (place, uci) in moves.iter().enumerate() {
            let m = parse_uci(&position, uci)
                .map_err(|error| Fault::new(format!("move {}: {error}", place + 1)))?;
            position.play_unchecked(m);
            line.push(m);
        }
        Ok(self.file.repertoire.status(&start, &line))
    }
}

/// Whom to meet and how far to look.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct CoverageInput {
    /// The rating of the opponents, on a chess site.
    pub rating: f64,
    /// How many of my moves to follow.
    pub moves: u32,
    /// Lines rarer than this are not followed.
    pub min_probability: f64,
}

/// What is known after a step.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct CoverageStep {
    /// The share of games followed to their end.
    pub progress: f64,
    /// Whether this was the last step.
    pub done: bool,
    /// The coverage so far.
    pub coverage: Coverage,
}

/// The walk through what people play against a repertoire, for a worker.
#[wasm_bindgen]
pub struct RepertoireCoverage {
    walk: CoverageWalk,
    model: Arc<Model>,
}

#[wasm_bindgen]
impl RepertoireCoverage {
    /// A walk with the predictions of a model with a policy head.
    #[wasm_bindgen(constructor)]
    pub fn new(
        engine: &Engine,
        model: &str,
        #[wasm_bindgen(unchecked_param_type = "string")] pgn: &JsString,
        #[wasm_bindgen(unchecked_param_type = "Side")] side: &str,
        limits: &Ts<CoverageInput>,
    ) -> Result<RepertoireCoverage, Fault> {
        RepertoireCoverage::of(engine, model, &String::from(pgn), side.parse()?, &limits.to_rust()?)
    }

    /// Follows the likeliest lines one reply further.
    pub fn step(&mut self) -> Result<Ts<CoverageStep>, Fault> {
        Ok(self.advance()?.into_ts()?)
    }
}

impl RepertoireCoverage {
    fn of(
        engine: &Engine,
        model: &str,
        pgn: &str,
        side: Side,
        input: &CoverageInput,
    ) -> Result<RepertoireCoverage, Fault> {
        let model = engine.store().model(model)?;
        if model.card().policy.is_none() {
            return Err(Fault::new("the network has no policy head"));
        }
        if !(0.0..1.0).contains(&input.min_probability) {
            let asked = input.min_probability;
            return Err(Fault::new(format!("minProbability: invalid share {asked} (expected 0 to 1)")));
        }
        let repertoire = Repertoire::from_pgn("", Some(side.into()), pgn)?.repertoire;
        let player = PlayerInfo { rating: Some(elo("rating", input.rating)?), time_left: None };
        let start = History::new(repertoire.start().clone(), ByColor { white: player, black: player })
            .under(RatingPool::Online, None);
        let plies = (input.moves as usize).saturating_mul(2);
        let limits =
            CoverageLimits { plies, min_probability: input.min_probability, ..CoverageLimits::default() };
        Ok(RepertoireCoverage { walk: CoverageWalk::new(repertoire, start, limits), model })
    }

    fn advance(&mut self) -> Result<CoverageStep, Fault> {
        let situations: Vec<_> =
            self.walk.positions(BATCH).into_iter().map(|history| history.situation()).collect();
        let evaluations = self.model.evaluate(&situations)?;
        let replies = evaluations.iter().map(|said| {
            let candidates = said.policy.as_ref().map_or(&[][..], |policy| policy.candidates());
            candidates.iter().map(|candidate| (candidate.mv, candidate.probability)).collect()
        });
        let replies: Vec<_> = replies.collect();
        drop(situations);
        self.walk.follow(replies);
        let done = self.walk.is_done();
        Ok(CoverageStep { progress: self.walk.progress(), done, coverage: self.walk.coverage() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PGN: &str = "1. e4 e5 (1... c5 2. Nf3) (1... e6 2. d4) 2. Nf3 Nc6 3. Bb5 *\n";

    #[test]
    fn every_named_opening_has_its_moves() {
        let openings = named();
        let italian = openings.iter().find(|opening| opening.name == "Italian Game").unwrap();
        assert_eq!(italian.moves, ["e2e4", "e7e5", "g1f3", "b8c6", "f1c4"]);
        assert!(openings.iter().all(|opening| !opening.moves.is_empty()));
    }

    #[test]
    fn a_repertoire_says_what_it_is() {
        let facts = OpeningRepertoire::read("Mine", PGN, None).unwrap().summary();
        assert_eq!((facts.side, facts.positions, facts.start_fen), (Side::White, 5, None));
        let error = OpeningRepertoire::read("Mine", "hello", None).err().unwrap();
        assert!(error.to_string().contains("no game"), "{error}");
    }

    #[test]
    fn the_status_of_a_game_is_found_and_bad_moves_are_refused() {
        let mine = OpeningRepertoire::read("Mine", PGN, None).unwrap();
        let status = |moves: &[&str]| {
            mine.at(&fen_of(&Chess::default()), &moves.iter().map(|m| (*m).to_owned()).collect::<Vec<_>>())
        };
        assert!(matches!(status(&["e2e4", "e7e5", "f1c4"]).unwrap(), RepertoireStatus::Left(_)));
        assert!(matches!(status(&["e2e4", "d7d5"]).unwrap(), RepertoireStatus::Unanswered(_)));
        assert!(status(&["e2e5"]).unwrap_err().to_string().starts_with("move 1: "));
    }

    #[test]
    fn coverage_is_found_by_the_human_network() {
        let mut engine = Engine::new(1.0);
        engine.open("human", include_bytes!("../../../models/human.safetensors")).unwrap();
        let input = CoverageInput { rating: 1500.0, moves: 3, min_probability: 0.01 };
        let mut walk = RepertoireCoverage::of(&engine, "human", PGN, Side::White, &input).unwrap();
        let (mut progress, mut steps) = (0.0, 0);
        let last = loop {
            let step = walk.advance().unwrap();
            assert!(step.progress >= progress - 1e-9);
            (progress, steps) = (step.progress, steps + 1);
            if step.done {
                break step.coverage;
            }
        };
        assert!(steps > 1 && (progress - 1.0).abs() < 1e-6, "{steps} {progress}");
        // Most people answer 1. e4 with e5, c5 or e6; few do so with 1... a5.
        assert!(last.by_move[1].inside > 0.5 && last.by_move[1].inside < 1.0, "{:?}", last.by_move);
        assert!(last.holes.len() > 5 && last.holes[0].probability < 0.3, "{:?}", last.holes[0]);
        assert!(last.holes[0].probability >= last.holes[1].probability);
        let bad = CoverageInput { rating: 0.0, ..input };
        assert!(RepertoireCoverage::of(&engine, "human", PGN, Side::White, &bad).is_err());
    }
}
