//! The Chess Challenge, one game at a time.

use std::collections::VecDeque;

use serde::Serialize;
use shakmaty::{Chess, Position as _};
use tabia_arena::{
    End, GameRecord, MatchEvent as ArenaEvent, Openings, PlayerId, SteppedMatch,
    challenge::{Edition, LevelScore, Scorecard, level_games},
    statistics::Tally,
};
use tabia_encoding::parse_uci;
use tabia_game::{fen_of, position_from_fen};
use tabia_players::{ChallengeRules, Level, NetSearch, NetSpec, Spec, admit};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{
    Engine, Fault, contest::result, engine::ModelStore, notation, openings::read_openings,
    stopwatch::PageTimer,
};

/// The event of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ChallengeEvent {
    /// A game was played.
    Game {
        /// The level.
        level: u32,
        /// Its number on the level, from 1.
        game: u32,
        /// The number of games of the level.
        of: u32,
        /// The challenger's points on the level so far.
        points: f64,
        /// The result in PGN notation.
        result: String,
        /// The last position.
        fen: String,
        /// The squares of the last move.
        last_move: (String, String),
    },
    /// A level was finished.
    Level {
        /// Which.
        level: u32,
        /// The challenger's points.
        points: f64,
        /// Games won.
        wins: u32,
        /// Games drawn.
        draws: u32,
        /// Games lost.
        losses: u32,
        /// Whether it is passed.
        passed: bool,
    },
    /// The challenge is over.
    Done {
        /// The highest level passed; 0 if none.
        passed: u32,
    },
}

/// A run of the challenge.
#[wasm_bindgen]
pub struct Challenge {
    store: ModelStore,
    challenger: Spec,
    parameters: u64,
    edition: Edition,
    openings: Openings,
    /// The remaining levels.
    waiting: VecDeque<Level>,
    in_progress: Option<(Level, SteppedMatch)>,
    levels: Vec<LevelScore>,
}

#[wasm_bindgen]
impl Challenge {
    /// A run of a model from a level on, by the rules `original` or `2026`. The openings are `challenge`, for those of the rules,
    /// or the text of a book: one FEN or EPD per line, or PGN. Each is played twice per level, with colours swapped.
    #[wasm_bindgen(constructor)]
    pub fn new(
        engine: &Engine,
        model: &str,
        rules: &str,
        seed: u32,
        #[wasm_bindgen(js_name = firstLevel)] first_level: u32,
        openings: &str,
    ) -> Result<Challenge, Fault> {
        let network = engine.store().model(model)?;
        let rules: ChallengeRules = rules.parse().map_err(|error| Fault::new(format!("{error}")))?;
        let edition = Edition { rules, seed: seed.into() };
        admit(&network, rules).map_err(|problem| Fault::new(format!("{model}: {problem}")))?;
        let waiting: VecDeque<Level> =
            rules.levels().filter(|level| u32::from(level.number()) >= first_level).collect();
        if waiting.is_empty() {
            let count = rules.levels().len();
            return Err(Fault::new(format!("invalid level {first_level} (expected 1 to {count})")));
        }
        let openings = match openings.trim() {
            "challenge" => Openings::challenge(rules, edition.seed),
            own => read_openings(own)?,
        };
        Ok(Challenge {
            store: engine.store().clone(),
            challenger: Spec::Net(NetSpec { file: model.into(), search: NetSearch::Challenge(rules) }),
            parameters: network.parameters(),
            edition,
            openings,
            waiting,
            in_progress: None,
            levels: Vec::new(),
        })
    }

    /// Plays a game, or reports the end of a level or of the challenge.
    pub fn step(&mut self) -> Result<Ts<ChallengeEvent>, Fault> {
        Ok(self.next_event()?.into_ts()?)
    }

    /// The scorecard so far as JSON, as `tabia compete --json-output` writes it.
    pub fn scorecard(&self) -> Result<String, Fault> {
        Ok(serde_json::to_string_pretty(&self.card())?)
    }

    /// The scorecard so far as text.
    pub fn text(&self) -> String {
        self.card().to_string()
    }
}

impl Challenge {
    fn next_event(&mut self) -> Result<ChallengeEvent, Fault> {
        let (level, mut stepped) = match self.in_progress.take() {
            Some(in_progress) => in_progress,
            None => match self.waiting.pop_front() {
                Some(level) => (level, self.begin(level)?),
                None => return Ok(ChallengeEvent::Done { passed: self.card().passed.unwrap_or(0) }),
            },
        };
        let number = u32::from(level.number());
        loop {
            match stepped.step(&PageTimer)? {
                ArenaEvent::GameStarted(_) | ArenaEvent::Moved { .. } => {}
                ArenaEvent::GameEnded(record) => {
                    let (fen, last_move) = last_position(record)?;
                    let (game, result) = (record.game + 1, result(record));
                    let points = stepped.standings().overall(PlayerId(0)).points();
                    let of = 2 * u32::try_from(stepped.openings().list().len()).unwrap_or(u32::MAX / 2);
                    self.in_progress = Some((level, stepped));
                    return Ok(ChallengeEvent::Game {
                        level: number,
                        game,
                        of,
                        points,
                        result,
                        fen,
                        last_move,
                    });
                }
                ArenaEvent::Done => break,
            }
        }
        let score = score(level, &stepped, End::Complete);
        let Tally { wins, draws, losses } = score.games;
        let count = |games: u64| u32::try_from(games).unwrap_or(u32::MAX);
        let event = ChallengeEvent::Level {
            level: number,
            points: score.points,
            wins: count(wins),
            draws: count(draws),
            losses: count(losses),
            passed: score.passed,
        };
        if !score.passed {
            self.waiting.clear();
        }
        self.levels.push(score);
        Ok(event)
    }

    fn begin(&self, level: Level) -> Result<SteppedMatch, Fault> {
        let openings = self.openings.clone();
        let (schedule, rules) = level_games(&openings)?;
        let opponent = Spec::Level(level.into());
        let entrants = vec![
            self.store.entrant(&self.challenger, self.challenger.to_string(), 0)?,
            self.store.entrant(&opponent, opponent.to_string(), 0)?,
        ];
        let event = format!("Challenge, level {level}");
        Ok(SteppedMatch::new(
            event,
            entrants,
            openings,
            &schedule,
            schedule.games(),
            rules,
            self.edition.seed,
        )?)
    }

    /// The scorecard of all games so far.
    fn card(&self) -> Scorecard {
        let mut levels = self.levels.clone();
        let unfinished =
            self.in_progress.as_ref().map(|(level, stepped)| score(*level, stepped, End::Stopped));
        levels.extend(unfinished);
        let finished = self.in_progress.is_none() && self.waiting.is_empty();
        let end = if finished { End::Complete } else { End::Stopped };
        Scorecard::new(self.challenger.to_string(), self.parameters, self.edition, levels, end)
    }
}

fn score(level: Level, stepped: &SteppedMatch, end: End) -> LevelScore {
    let number = u32::from(level.number());
    let opponent = Spec::Level(level.into()).to_string();
    LevelScore::new(number, opponent, stepped.standings(), stepped.records().to_vec(), end)
}

/// The last position of a game and the squares of its last move.
fn last_position(record: &GameRecord) -> Result<(String, (String, String)), Fault> {
    let mut position: Chess = position_from_fen(&record.fen)?;
    let mut last = (String::new(), String::new());
    for uci in &record.moves {
        let m = parse_uci(&position, uci)?;
        let (from, to) = notation::squares(&position, m);
        last = (from.to_string(), to.to_string());
        position.play_unchecked(m);
    }
    Ok((fen_of(&position), last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine() -> Engine {
        let mut engine = Engine::new(1.0);
        engine.open("small", include_bytes!("../../../models/challenge-s.onnx")).unwrap();
        engine
    }

    #[test]
    fn a_game_counts_and_the_card_says_it_is_unfinished() {
        let mut challenge = Challenge::new(&engine(), "small", "original", 0, 1, "challenge").unwrap();
        let event = challenge.next_event().unwrap();
        let ChallengeEvent::Game { level: 1, game: 1, of: 50, points, ref result, .. } = event else {
            panic!("{event:?}");
        };
        assert_eq!(
            points,
            if result == "1-0" {
                1.0
            } else if result == "0-1" {
                0.0
            } else {
                0.5
            }
        );
        let card: serde_json::Value = serde_json::from_str(&challenge.scorecard().unwrap()).unwrap();
        assert_eq!(
            (card["interrupted"].as_bool(), card["challenger"].as_str()),
            (Some(true), Some("net:small,rules=original"))
        );
        assert_eq!(card["levels"][0]["records"].as_array().map(Vec::len), Some(1));
        assert!(challenge.text().contains("no level passed"));
    }

    #[test]
    fn own_openings_are_played_with_both_colours() {
        let book = "# Ruy Lopez\nr1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3\n";
        let mut challenge = Challenge::new(&engine(), "small", "original", 0, 1, book).unwrap();
        for number in [1, 2] {
            let event = challenge.next_event().unwrap();
            let ChallengeEvent::Game { game, of: 2, .. } = event else { panic!("{event:?}") };
            assert_eq!(game, number);
        }
        let level = challenge.next_event().unwrap();
        assert!(matches!(level, ChallengeEvent::Level { level: 1, .. }), "{level:?}");
        let card: serde_json::Value = serde_json::from_str(&challenge.scorecard().unwrap()).unwrap();
        let records = card["levels"][0]["records"].as_array().unwrap();
        assert!(records.iter().all(|record| record["opening_label"] == "Ruy Lopez"), "{records:?}");
        let fault =
            Challenge::new(&engine(), "small", "original", 0, 1, "no position").err().unwrap().to_string();
        assert!(fault.contains("openings"), "{fault}");
    }

    #[test]
    fn only_who_is_admitted_climbs() {
        let mut engine = engine();
        engine.open("value", include_bytes!("../../../models/value.safetensors")).unwrap();
        let says = |model: &str, level| {
            Challenge::new(&engine, model, "original", 0, level, "challenge").err().unwrap().to_string()
        };
        assert!(says("value", 1).starts_with("value: the challenge takes ONNX files"));
        assert!(says("lost", 1).contains("no model"));
        assert!(says("small", 6).contains("invalid level 6"));
    }
}
