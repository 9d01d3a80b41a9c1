use shakmaty::{ByColor, Chess, Color, Position as _};
use tabia_game::Game;
use tabia_players::Player;

use crate::{
    Entrant, GameInProgress, GameRecord, Openings, PgnTags, PlayedMove, PlayerId, ResultRow, Rules, RunError,
    Schedule, ScheduledGame, Standings, Step, Stop, Timer, roster::Roster, run::check,
};

/// A match played move by move on the calling thread, for platforms without threads and for live display.
///
/// Plays the same games as a [`Run`](crate::Run) with the same entrants, openings, schedule, rules and seed.
pub struct SteppedMatch {
    event: String,
    entrants: Vec<Box<dyn Entrant>>,
    openings: Openings,
    rules: Rules,
    /// Games to play, in reverse order.
    waiting: Vec<ScheduledGame>,
    roster: Roster,
    current: Option<CurrentGame>,
    records: Vec<GameRecord>,
    games: Vec<Game>,
    standings: Standings,
}

struct CurrentGame {
    scheduled: ScheduledGame,
    game: GameInProgress,
    players: ByColor<Box<dyn Player>>,
}

/// Event of a step.
#[derive(Debug)]
pub enum MatchEvent<'a> {
    /// A game started.
    GameStarted(&'a ScheduledGame),
    /// A player moved.
    Moved {
        /// The game.
        scheduled: &'a ScheduledGame,
        /// The move.
        played: &'a PlayedMove,
        /// Number of plies after the opening.
        plies: usize,
        /// Position before the move.
        before: Box<Chess>,
        /// Position after the move.
        after: &'a Chess,
    },
    /// A game ended.
    GameEnded(&'a GameRecord),
    /// All games were played.
    Done,
}

impl SteppedMatch {
    /// A match of the first `games` games of the schedule.
    ///
    /// # Errors
    /// If the schedule does not fit the entrants or openings.
    pub fn new(
        event: impl Into<String>,
        entrants: Vec<Box<dyn Entrant>>,
        openings: Openings,
        schedule: &Schedule,
        games: u32,
        rules: Rules,
        seed: u64,
    ) -> Result<SteppedMatch, RunError> {
        check(schedule, entrants.len(), &openings)?;
        let mut waiting: Vec<ScheduledGame> = schedule.scheduled_games().take(games as usize).collect();
        waiting.reverse();
        let names = entrants.iter().map(|entrant| entrant.name()).collect();
        Ok(SteppedMatch {
            event: event.into(),
            roster: Roster::new(entrants.len(), seed),
            entrants,
            openings,
            rules,
            waiting,
            current: None,
            records: Vec::new(),
            games: Vec::new(),
            standings: Standings::new(names),
        })
    }

    /// Advances to the next event.
    ///
    /// # Errors
    /// If a player cannot be built.
    pub fn step(&mut self, timer: &dyn Timer) -> Result<MatchEvent<'_>, RunError> {
        let Some(mut current) = self.current.take() else { return self.start_game() };
        let before = current.game.position().clone();
        let player = match before.turn() {
            Color::White => &mut current.players.white,
            Color::Black => &mut current.players.black,
        };
        match current.game.step(player.as_mut(), timer, &Stop::new()) {
            Step::Moved | Step::Aborted => {
                let CurrentGame { scheduled, game, .. } = self.current.insert(current);
                let (plies, after) = (game.moves().len(), game.position());
                let played = game.moves().last().expect("a step is never stopped");
                Ok(MatchEvent::Moved { scheduled, played, plies, before: Box::new(before), after })
            }
            Step::Ended(played) => {
                let CurrentGame { scheduled, players, .. } = current;
                let entrants = seats(&self.entrants, &scheduled);
                self.roster.put_back(&scheduled, entrants, players, played.forfeit.as_ref());
                let names = entrants.map(Entrant::name);
                let tags = PgnTags::new(&self.event, "", &scheduled, names, &self.rules);
                self.games.push(played.to_pgn(&tags));
                let record = GameRecord::of(&scheduled, &played).expect("a finished game has a result");
                self.standings.add(ResultRow::from(&record));
                self.records.push(record);
                Ok(self.records.last().map_or(MatchEvent::Done, MatchEvent::GameEnded))
            }
        }
    }

    fn start_game(&mut self) -> Result<MatchEvent<'_>, RunError> {
        let Some(scheduled) = self.waiting.pop() else { return Ok(MatchEvent::Done) };
        let taken = self.roster.take(&scheduled, seats(&self.entrants, &scheduled));
        let mut players = taken.map_err(|(PlayerId(player), reason)| RunError::Build {
            name: self.entrants[player].name(),
            reason,
        })?;
        for player in &mut players {
            player.new_game();
        }
        let game =
            GameInProgress::new(scheduled.opening_of(&self.openings), &self.rules.seated(scheduled.players));
        let current = self.current.insert(CurrentGame { scheduled, game, players });
        Ok(MatchEvent::GameStarted(&current.scheduled))
    }

    /// Records of all games so far.
    pub fn records(&self) -> &[GameRecord] {
        &self.records
    }

    /// All games so far.
    pub fn games(&self) -> &[Game] {
        &self.games
    }

    /// Standings.
    pub fn standings(&self) -> &Standings {
        &self.standings
    }

    /// Openings.
    pub fn openings(&self) -> &Openings {
        &self.openings
    }

    /// Whether all games were played.
    pub fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.current.is_none()
    }
}

fn seats<'a>(entrants: &'a [Box<dyn Entrant>], scheduled: &ScheduledGame) -> ByColor<&'a dyn Entrant> {
    scheduled.players.map(|PlayerId(place)| entrants[place].as_ref())
}
