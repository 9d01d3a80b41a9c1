//! A match of two players, a move at a time.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use shakmaty::Position as _;
use tabia_arena::{
    Budget, End, Format, MatchEvent as ArenaEvent, Opening, Openings, PlayedMove, PlayerId, Report, Rules,
    Schedule, Settings, SteppedMatch, statistics::Tally,
};
use tabia_game::{fen_of, write_game};
use tabia_players::{Choice, Spec};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{
    Engine, Fault, LimitsInput, Side, Thought, notation, openings::read_openings, rules::read_time_control,
    stopwatch::PageTimer,
};

/// A match to be played.
#[derive(Clone, Debug, PartialEq, Deserialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct MatchSetup {
    /// One player's spec.
    pub first: String,
    /// The other's.
    pub second: String,
    /// How many games.
    pub games: u32,
    /// `balanced`, `start`, or the text of a book: a FEN or EPD a line, or PGN.
    #[tsify(type = "\"balanced\" | \"start\" | (string & {})")]
    pub openings: String,
    /// After so many half-moves a game is a draw.
    pub max_plies: u32,
    /// How long the players may think; its `lines` do not count.
    pub limits: LimitsInput,
    /// How many candidates of every move the first player reports, and how many the second; 0 leaves it to the player.
    #[serde(default)]
    #[tsify(optional)]
    pub lines: (u32, u32),
    /// For players that play by chance.
    pub seed: f64,
    /// The clocks' control, as `timeControl` reads it.
    #[serde(default)]
    #[tsify(optional)]
    pub time_control: Option<String>,
}

/// What happened in a step of a match. Games are numbered from 0.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum MatchEvent {
    /// A game begins.
    GameStart {
        /// Its number.
        game: u32,
        /// Who has White.
        white: String,
        /// Who has Black.
        black: String,
        /// Where the players begin to think.
        fen: String,
        /// The opening's name.
        opening: String,
    },
    /// A player moved.
    Move {
        /// The number of the game.
        game: u32,
        /// Half-moves since the players began to think.
        ply: u32,
        /// The move in UCI notation.
        uci: String,
        /// The move in algebraic notation.
        san: String,
        /// The position after it.
        fen: String,
        /// Who moved.
        side: Side,
        /// What the player thought.
        thought: Thought,
    },
    /// A game is over.
    GameEnd {
        /// Its number.
        game: u32,
        /// The result as PGN writes it.
        result: String,
        /// Why, in words.
        reason: String,
    },
    /// All games are played.
    Done,
}

/// Won, drawn and lost games.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
pub struct OpeningResult {
    /// The opening.
    pub opening: String,
    /// Won by the first player.
    pub wins: u32,
    /// Drawn.
    pub draws: u32,
    /// Lost.
    pub losses: u32,
}

/// Won, drawn and lost games of the first player with a colour.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
pub struct ColourResult {
    /// The colour.
    pub side: Side,
    /// Won by the first player.
    pub wins: u32,
    /// Drawn.
    pub draws: u32,
    /// Lost.
    pub losses: u32,
}

/// The results of a match so far, as the first player sees them.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct MatchResults {
    /// The first player's name.
    pub first: String,
    /// The second's.
    pub second: String,
    /// Games won.
    pub wins: u32,
    /// Games drawn.
    pub draws: u32,
    /// Games lost.
    pub losses: u32,
    /// Games played.
    pub games: u32,
    /// Points a game; 0.5 before the first.
    pub score: f64,
    /// How much stronger the first player is, in Elo, where that can be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elo: Option<f64>,
    /// The lower bound of the 95% interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elo_low: Option<f64>,
    /// The upper bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elo_high: Option<f64>,
    /// The tables as text.
    pub text: String,
    /// By opening, in the order they were first played.
    pub by_opening: Vec<OpeningResult>,
    /// By colour of the first player.
    pub by_colour: Vec<ColourResult>,
}

/// A move that comes this much too late still counts: the page's clock is coarse, and a network may not be interrupted.
const MARGIN: Duration = Duration::from_secs(1);

/// The most games of a match.
const MOST_GAMES: u32 = 100_000;

/// A match under way.
#[wasm_bindgen]
pub struct Match {
    stepped: SteppedMatch,
    told: Told,
    settings: Settings,
}

#[wasm_bindgen]
impl Match {
    /// A match to be played with a engine's models.
    #[wasm_bindgen(constructor)]
    pub fn new(engine: &Engine, setup: &Ts<MatchSetup>) -> Result<Match, Fault> {
        Match::of(engine, &setup.to_rust()?)
    }

    /// Goes on by a move, or by the beginning or end of a game.
    pub fn step(&mut self) -> Result<Ts<MatchEvent>, Fault> {
        Ok(self.next_event()?.into_ts()?)
    }

    /// Goes on with as many games at the same time as there are threads, each by a move or more.
    #[wasm_bindgen(js_name = stepTogether)]
    pub fn step_together(&mut self) -> Result<Vec<Ts<MatchEvent>>, Fault> {
        self.next_events()?.into_iter().map(|event| Ok(event.into_ts()?)).collect()
    }

    /// The results so far.
    pub fn results(&self) -> Result<Ts<MatchResults>, Fault> {
        Ok(self.tables().into_ts()?)
    }

    /// The games so far as PGN.
    pub fn pgn(&self) -> Result<String, Fault> {
        let mut out = Vec::new();
        for game in self.stepped.games() {
            write_game(game, &mut out)?;
        }
        Ok(String::from_utf8(out)?)
    }

    /// Everything as JSON, as `tabia arena --json` writes it.
    pub fn json(&self) -> Result<String, Fault> {
        let records = self.stepped.records();
        let everything = json!({
            "settings": self.settings,
            "end": if self.stepped.is_done() { End::Complete } else { End::Stopped },
            "report": Report::of_records(self.stepped.standings(), records),
            "test": null,
            "games": records,
        });
        Ok(serde_json::to_string_pretty(&everything)?)
    }
}

impl Match {
    fn of(engine: &Engine, setup: &MatchSetup) -> Result<Match, Fault> {
        if setup.games == 0 || setup.games > MOST_GAMES {
            return Err(Fault::new(format!("{} games; a match has 1 to {MOST_GAMES}", setup.games)));
        }
        let openings = read_openings(&setup.openings)?;
        let control = setup.time_control.as_deref().map(read_time_control).transpose()?.flatten();
        let budget =
            Budget { limits: setup.limits.per_move()?, control, margin: MARGIN, ..Budget::default() };
        let rules = Rules { budget, max_plies: Some(setup.max_plies), ..Rules::default() };
        let schedule = Schedule::new(Format::Match, 2, setup.games.div_ceil(2), openings.list().len())?;
        let (first, second) = names(&setup.first, &setup.second);
        let mut settings = Settings::new();
        settings.set("format", schedule.format().to_string());
        settings.set("players", format!("{first} | {second}"));
        settings.set("openings", openings.digest());
        settings.set("limits", rules.budget.to_string());
        settings.set("longest game", format!("{} plies", setup.max_plies));
        settings.set("seed", setup.seed.to_string());
        let store = engine.store();
        let entrants = vec![
            store.entrant(&setup.first.parse::<Spec>()?, first, setup.lines.0 as usize)?,
            store.entrant(&setup.second.parse::<Spec>()?, second, setup.lines.1 as usize)?,
        ];
        let seed = setup.seed.to_bits();
        let stepped =
            SteppedMatch::new("Tabia match", entrants, openings, &schedule, setup.games, rules, seed)?;
        let told = Told { names: stepped.standings().names().to_vec(), openings: stepped.openings().clone() };
        Ok(Match { stepped, told, settings })
    }

    fn next_event(&mut self) -> Result<MatchEvent, Fault> {
        Ok(self.told.event(self.stepped.step(&PageTimer)?))
    }

    fn next_events(&mut self) -> Result<Vec<MatchEvent>, Fault> {
        let mut events = Vec::new();
        let threads = 1 + tabia_threads::helpers();
        let told = &self.told;
        self.stepped.step_together(&PageTimer, threads, &mut |event| events.push(told.event(event)))?;
        Ok(events)
    }

    fn tables(&self) -> MatchResults {
        let (standings, records) = (self.stepped.standings(), self.stepped.records());
        let report = Report::of_records(standings, records);
        let (first, second) = (PlayerId(0), PlayerId(1));
        let between = standings.between(first, second);
        let elo = between.elo();
        let name = |PlayerId(place): PlayerId| standings.names().get(place).cloned().unwrap_or_default();
        let colours = standings.by_color(first);
        let (wins, draws, losses) = counts(between.games);
        let by_opening = report.openings.iter().map(|row| {
            let (wins, draws, losses) = counts(row.as_white + row.as_black);
            OpeningResult { opening: row.opening.clone(), wins, draws, losses }
        });
        let by_colour = [(Side::White, colours.white), (Side::Black, colours.black)].map(|(side, games)| {
            let (wins, draws, losses) = counts(games);
            ColourResult { side, wins, draws, losses }
        });
        MatchResults {
            first: name(first),
            second: name(second),
            wins,
            draws,
            losses,
            games: wins + draws + losses,
            score: between.games.score().unwrap_or(0.5),
            elo: elo.as_ref().and_then(|elo| elo.elo),
            elo_low: elo.as_ref().and_then(|elo| elo.low),
            elo_high: elo.as_ref().and_then(|elo| elo.high),
            text: report.to_string(),
            by_opening: by_opening.collect(),
            by_colour: by_colour.to_vec(),
        }
    }
}

/// The names that events refer to.
struct Told {
    names: Vec<String>,
    openings: Openings,
}

impl Told {
    fn event(&self, event: ArenaEvent<'_>) -> MatchEvent {
        match event {
            ArenaEvent::GameStarted(started) => {
                let opening = self.openings.list().get(started.opening);
                MatchEvent::GameStart {
                    game: started.game,
                    white: self.name(started.players.white),
                    black: self.name(started.players.black),
                    fen: opening.map_or(String::new(), |opening| fen_of(opening.position())),
                    opening: opening.map_or(String::new(), Opening::label),
                }
            }
            ArenaEvent::Moved { scheduled, played, plies, before, after } => MatchEvent::Move {
                game: scheduled.game,
                ply: u32::try_from(plies).unwrap_or(u32::MAX),
                uci: notation::uci(&before, played.mv),
                san: notation::san(&before, played.mv),
                fen: fen_of(after),
                side: before.turn().into(),
                thought: thought(&before, played),
            },
            ArenaEvent::GameEnded(record) => MatchEvent::GameEnd {
                game: record.game,
                result: result(record),
                reason: record.reason.clone(),
            },
            ArenaEvent::Done => MatchEvent::Done,
        }
    }

    fn name(&self, PlayerId(place): PlayerId) -> String {
        self.names.get(place).cloned().unwrap_or_default()
    }
}

/// The result of a game as PGN writes it.
pub(crate) fn result(record: &tabia_arena::GameRecord) -> String {
    match record.result {
        tabia_arena::GameResult::WhiteWins => "1-0",
        tabia_arena::GameResult::BlackWins => "0-1",
        tabia_arena::GameResult::Draw => "1/2-1/2",
    }
    .to_owned()
}

/// Two of a kind need two names, in PGN above all.
fn names(first: &str, second: &str) -> (String, String) {
    let other = if first == second { format!("{second} (2)") } else { second.to_owned() };
    (first.to_owned(), other)
}

fn counts(Tally { wins, draws, losses }: Tally) -> (u32, u32, u32) {
    let count = |games: u64| u32::try_from(games).unwrap_or(u32::MAX);
    (count(wins), count(draws), count(losses))
}

fn thought(before: &shakmaty::Chess, played: &PlayedMove) -> Thought {
    let choice = Choice { mv: played.mv, ponder: None, lines: played.lines.clone(), nodes: played.nodes };
    Thought::new(before, &choice, played.elapsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(openings: &str, games: u32) -> MatchSetup {
        MatchSetup {
            first: "level:1".into(),
            second: "random".into(),
            games,
            openings: openings.into(),
            max_plies: 30,
            limits: LimitsInput::default(),
            lines: (0, 0),
            seed: 3.0,
            time_control: None,
        }
    }

    #[test]
    fn a_match_is_played_to_its_end() {
        let engine = Engine::new(1.0);
        let mut contest = Match::of(&engine, &setup("balanced", 3)).unwrap();
        let mut events: Vec<MatchEvent> = Vec::new();
        while events.last() != Some(&MatchEvent::Done) {
            events.push(contest.next_event().unwrap());
        }
        let starts = events.iter().filter(|event| matches!(event, MatchEvent::GameStart { .. })).count();
        let ends = events.iter().filter(|event| matches!(event, MatchEvent::GameEnd { .. })).count();
        assert_eq!((starts, ends), (3, 3));
        let results = contest.tables();
        assert_eq!((results.games, results.first.as_str()), (3, "level:1"));
        assert_eq!(results.by_opening.len(), 2);
        let by_colour: u32 = results.by_colour.iter().map(|row| row.wins + row.draws + row.losses).sum();
        assert_eq!(by_colour, 3);
        assert_eq!(contest.pgn().unwrap().matches("[Event ").count(), 3);
        let json: serde_json::Value = serde_json::from_str(&contest.json().unwrap()).unwrap();
        assert_eq!(
            (json["games"].as_array().map(Vec::len), json["end"].as_str()),
            (Some(3), Some("complete"))
        );
    }

    #[test]
    fn a_match_is_played_together_to_its_end() {
        let engine = Engine::new(1.0);
        let mut contest = Match::of(&engine, &setup("balanced", 3)).unwrap();
        let mut events: Vec<MatchEvent> = Vec::new();
        while events.last() != Some(&MatchEvent::Done) {
            events.extend(contest.next_events().unwrap());
        }
        let mut moves = [0; 3];
        for event in &events {
            if let MatchEvent::Move { game, ply, .. } = event {
                moves[*game as usize] += 1;
                assert_eq!(*ply, moves[*game as usize]);
            }
        }
        assert!(moves.iter().all(|moves| *moves > 0));
        assert_eq!(contest.tables().games, 3);
    }

    #[test]
    fn each_player_reports_its_own_number_of_candidates() {
        let engine = Engine::new(1.0);
        let players = MatchSetup {
            first: "engine,eval=baseline,depth=1".into(),
            second: "engine,eval=baseline,depth=2".into(),
            lines: (4, 1),
            max_plies: 6,
            ..setup("start", 2)
        };
        let mut contest = Match::of(&engine, &players).unwrap();
        let (mut first_has, mut moves) = (Side::White, 0);
        loop {
            match contest.next_event().unwrap() {
                MatchEvent::GameStart { white, .. } => {
                    first_has = if white == players.first { Side::White } else { Side::Black };
                }
                MatchEvent::Move { side, thought, .. } => {
                    assert_eq!(thought.lines.len(), if side == first_has { 4 } else { 1 });
                    moves += 1;
                }
                MatchEvent::GameEnd { .. } => {}
                MatchEvent::Done => break,
            }
        }
        assert_eq!(moves, 12);
    }

    #[test]
    fn what_cannot_be_played_is_said_at_once() {
        let engine = Engine::new(1.0);
        let says = |setup: MatchSetup, words: &str| {
            let fault = Match::of(&engine, &setup).err().unwrap().to_string();
            assert!(fault.contains(words), "{fault}");
        };
        says(setup("start", 0), "0 games");
        says(setup("8/8/8/8/8/8/8/8 w - - 0 1", 2), "openings");
        says(setup("1. e5 *", 2), "not a legal move");
        says(MatchSetup { second: "engine".into(), ..setup("start", 2) }, "no model named \"value\"");
        says(MatchSetup { second: "nobody".into(), ..setup("start", 2) }, "unknown player kind");
    }

    #[test]
    fn books_are_lines_or_games() {
        assert_eq!(read_openings("8/8/4k3/8/8/3QK3/8/8 b - -").unwrap().list().len(), 1);
        assert_eq!(read_openings("1. e4 e5 *\n\n1. d4 *\n").unwrap().list().len(), 2);
    }
}
