use shakmaty::{ByColor, Chess, Color, Position as _};
use tabia_game::Game;
use tabia_players::Player;

use crate::{
    Entrant, Fixture, GameInProgress, GameRecord, Openings, PgnTags, PlayedMove, PlayerId, ResultRow, Rules,
    RunError, Schedule, Standings, Step, Stop, Timer, roster::Roster,
};

/// A schedule played on the thread that asks, a move at a time: where there are no other threads, or somebody watches.
///
/// The games are those of a [`Run`](crate::Run) with the same entrants, openings, schedule, rules and seed.
pub struct SteppedMatch {
    event: String,
    entrants: Vec<Box<dyn Entrant>>,
    openings: Openings,
    rules: Rules,
    /// The games to come, the next one last.
    waiting: Vec<Fixture>,
    roster: Roster,
    under_way: Option<UnderWay>,
    records: Vec<GameRecord>,
    games: Vec<Game>,
    standings: Standings,
}

struct UnderWay {
    fixture: Fixture,
    game: GameInProgress,
    players: ByColor<Box<dyn Player>>,
}

/// What happened in a step.
#[derive(Debug)]
pub enum MatchEvent<'a> {
    /// A game begins.
    Starts(&'a Fixture),
    /// A player moved.
    Moved {
        /// The game.
        fixture: &'a Fixture,
        /// The move.
        played: &'a PlayedMove,
        /// How many half-moves the game has now, the opening's not counted.
        plies: usize,
        /// The position before the move.
        before: Box<Chess>,
        /// The position after it.
        after: &'a Chess,
    },
    /// A game is over.
    Ends(&'a GameRecord),
    /// All games are played.
    Done,
}

impl SteppedMatch {
    /// A sitting of at most `games` games of the schedule.
    ///
    /// # Errors
    /// When the schedule is for other numbers of players or openings.
    pub fn new(
        event: impl Into<String>,
        entrants: Vec<Box<dyn Entrant>>,
        openings: Openings,
        schedule: &Schedule,
        games: u32,
        rules: Rules,
        seed: u64,
    ) -> Result<SteppedMatch, RunError> {
        if entrants.len() != schedule.players() {
            return Err(RunError::WrongPlayers { players: schedule.players(), entrants: entrants.len() });
        }
        let mut waiting: Vec<Fixture> = schedule.fixtures().take(games as usize).collect();
        if waiting.iter().any(|fixture| fixture.opening >= openings.list().len()) {
            return Err(RunError::WrongOpenings(openings.list().len()));
        }
        waiting.reverse();
        let names = entrants.iter().map(|entrant| entrant.name()).collect();
        Ok(SteppedMatch {
            event: event.into(),
            roster: Roster::new(entrants.len(), seed),
            entrants,
            openings,
            rules,
            waiting,
            under_way: None,
            records: Vec::new(),
            games: Vec::new(),
            standings: Standings::new(names),
        })
    }

    /// Goes on by a move, or by the beginning or end of a game.
    ///
    /// # Errors
    /// When a player cannot be made.
    pub fn step(&mut self, timer: &dyn Timer) -> Result<MatchEvent<'_>, RunError> {
        let Some(mut under_way) = self.under_way.take() else { return self.begin() };
        let before = under_way.game.position().clone();
        let player = match before.turn() {
            Color::White => &mut under_way.players.white,
            Color::Black => &mut under_way.players.black,
        };
        match under_way.game.step(player.as_mut(), timer, &Stop::new()) {
            Step::Moved | Step::GivenUp => {
                let UnderWay { fixture, game, .. } = self.under_way.insert(under_way);
                let (plies, after) = (game.moves().len(), game.position());
                let played = game.moves().last().expect("nobody stops a sitting but between its steps");
                Ok(MatchEvent::Moved { fixture, played, plies, before: Box::new(before), after })
            }
            Step::Over(played) => {
                let UnderWay { fixture, players, .. } = under_way;
                let entrants = seats(&self.entrants, &fixture);
                self.roster.dismiss(&fixture, entrants, players, played.fault.as_ref());
                let tags = PgnTags {
                    event: self.event.clone(),
                    round: format!("{}.{}", fixture.pair + 1, fixture.game % 2 + 1),
                    names: entrants.map(Entrant::name),
                    time_control: self
                        .rules
                        .budget
                        .control
                        .as_ref()
                        .map(ToString::to_string)
                        .unwrap_or_default(),
                    ..PgnTags::default()
                };
                self.games.push(played.to_pgn(&tags));
                let record = GameRecord::of(&fixture, &played).expect("a game that was played has a result");
                self.standings.add(ResultRow::from(&record));
                self.records.push(record);
                Ok(self.records.last().map_or(MatchEvent::Done, MatchEvent::Ends))
            }
        }
    }

    fn begin(&mut self) -> Result<MatchEvent<'_>, RunError> {
        let Some(fixture) = self.waiting.pop() else { return Ok(MatchEvent::Done) };
        let called = self.roster.call(&fixture, seats(&self.entrants, &fixture));
        let mut players = called.map_err(|(PlayerId(player), what)| RunError::NoPlayer {
            name: self.entrants[player].name(),
            what,
        })?;
        for player in &mut players {
            player.new_game();
        }
        let game = GameInProgress::new(&self.openings.list()[fixture.opening], &self.rules);
        let under_way = self.under_way.insert(UnderWay { fixture, game, players });
        Ok(MatchEvent::Starts(&under_way.fixture))
    }

    /// All games so far.
    pub fn records(&self) -> &[GameRecord] {
        &self.records
    }

    /// All games so far, as PGN.
    pub fn games(&self) -> &[Game] {
        &self.games
    }

    /// The results so far.
    pub fn standings(&self) -> &Standings {
        &self.standings
    }

    /// What is played on.
    pub fn openings(&self) -> &Openings {
        &self.openings
    }

    /// Whether every game has been played.
    pub fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_none()
    }
}

fn seats<'a>(entrants: &'a [Box<dyn Entrant>], fixture: &Fixture) -> ByColor<&'a dyn Entrant> {
    fixture.players.map(|PlayerId(place)| entrants[place].as_ref())
}
