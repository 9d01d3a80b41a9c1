use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use shakmaty::{ByColor, Chess, Color, Position as _};
use tabia_game::Game;
use tabia_players::Player;
use tabia_threads::in_parallel;

use crate::{
    Entrant, GameInProgress, GameRecord, Openings, PgnTags, PlayedGame, PlayedMove, PlayerId, ResultRow,
    Rules, RunError, Schedule, ScheduledGame, Standings, Step, Stop, Timer, roster::Roster, run::check,
};

/// A match played move by move on the calling thread, for platforms without threads of their own and for live display; several
/// games at a time where [helpers](tabia_threads::helpers) are free.
///
/// Plays the same games as a [`Run`](crate::Run) with the same entrants, openings, schedule, rules and seed.
pub struct SteppedMatch {
    event: String,
    entrants: Vec<Box<dyn Entrant>>,
    openings: Openings,
    rules: Rules,
    seed: u64,
    /// Games to play, in reverse order.
    waiting: Vec<ScheduledGame>,
    /// The players of each table.
    rosters: Vec<Roster>,
    /// Games that are played, the first one first.
    playing: Vec<CurrentGame>,
    /// By number, and the same games.
    records: Vec<GameRecord>,
    games: Vec<Game>,
    standings: Standings,
}

struct CurrentGame {
    scheduled: ScheduledGame,
    /// Where it is played.
    table: usize,
    game: GameInProgress,
    players: ByColor<Box<dyn Player>>,
}

/// Several games go on for at least so long before their moves are reported.
const SLICE: Duration = Duration::from_millis(50);

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
            rosters: Vec::new(),
            seed,
            entrants,
            openings,
            rules,
            waiting,
            playing: Vec::new(),
            records: Vec::new(),
            games: Vec::new(),
            standings: Standings::new(names),
        })
    }

    /// Advances to the next event, in the first of the games that are played.
    ///
    /// # Errors
    /// If a player cannot be built.
    pub fn step(&mut self, timer: &dyn Timer) -> Result<MatchEvent<'_>, RunError> {
        let Some(current) = self.playing.first_mut() else {
            return if self.start_game()? { Ok(self.last_started()) } else { Ok(MatchEvent::Done) };
        };
        let before = current.game.position().clone();
        match current.play(timer) {
            None => Ok(self.playing[0].moved(before)),
            Some(played) => {
                let current = self.playing.remove(0);
                Ok(self.finish(current, &played))
            }
        }
    }

    /// Goes on with up to `most` games at the same time, each by a move or more, and reports what happened game by game.
    ///
    /// # Errors
    /// If a player cannot be built.
    pub fn step_together(
        &mut self,
        timer: &dyn Timer,
        most: usize,
        on_event: &mut dyn FnMut(MatchEvent<'_>),
    ) -> Result<(), RunError> {
        while self.playing.len() < most.max(1) && self.start_game()? {
            on_event(self.last_started());
        }
        if self.playing.is_empty() {
            on_event(MatchEvent::Done);
            return Ok(());
        }
        let games: Vec<Mutex<CurrentGame>> = self.playing.drain(..).map(Mutex::new).collect();
        let (begun, moved) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let start = timer.now();
        let all = games.len();
        // A game whose players are fast goes on while another one's think, if that one has a thread as well.
        let go_on = || {
            timer.now().saturating_sub(start) < SLICE
                || (begun.load(SeqCst) == all && moved.load(SeqCst) < all)
        };
        let steps = in_parallel(most, all, |at| {
            begun.fetch_add(1, SeqCst);
            let mut current = games[at].lock().unwrap_or_else(PoisonError::into_inner);
            let first = current.game.moves().len();
            let mut positions = vec![current.game.position().clone()];
            loop {
                let ended = current.play(timer);
                if positions.len() == 1 {
                    moved.fetch_add(1, SeqCst);
                }
                if ended.is_some() {
                    return (first, positions, ended);
                }
                positions.push(current.game.position().clone());
                if !go_on() {
                    return (first, positions, None);
                }
            }
        });
        for (current, (first, positions, ended)) in games.into_iter().zip(steps) {
            let current = current.into_inner().unwrap_or_else(PoisonError::into_inner);
            let moves = current.game.moves()[first..].iter().zip(first + 1..);
            for ((played, plies), places) in moves.zip(positions.windows(2)) {
                let [before, after] = [0, 1].map(|at: usize| &places[at]);
                let (scheduled, before) = (&current.scheduled, Box::new(before.clone()));
                on_event(MatchEvent::Moved { scheduled, played, plies, before, after });
            }
            match ended {
                Some(played) => on_event(self.finish(current, &played)),
                None => self.playing.push(current),
            }
        }
        Ok(())
    }

    /// Whether there was a game to start.
    fn start_game(&mut self) -> Result<bool, RunError> {
        let Some(scheduled) = self.waiting.pop() else { return Ok(false) };
        let is_free = |table: &usize| self.playing.iter().all(|game| game.table != *table);
        let table = (0..).find(is_free).unwrap_or_default();
        if table >= self.rosters.len() {
            self.rosters.push(Roster::new(self.entrants.len(), self.seed));
        }
        let opening = scheduled.opening_of(&self.openings);
        let taken = self.rosters[table].take(&scheduled, seats(&self.entrants, &scheduled), opening.start());
        let mut players = taken.map_err(|unfit| {
            let PlayerId(player) = unfit.player;
            unfit.of(self.entrants[player].name())
        })?;
        for player in &mut players {
            player.new_game();
        }
        let game = GameInProgress::new(opening, &self.rules.seated(scheduled.players));
        self.playing.push(CurrentGame { scheduled, table, game, players });
        Ok(true)
    }

    fn last_started(&self) -> MatchEvent<'_> {
        self.playing.last().map_or(MatchEvent::Done, |current| MatchEvent::GameStarted(&current.scheduled))
    }

    /// Records a game.
    fn finish(&mut self, current: CurrentGame, played: &PlayedGame) -> MatchEvent<'_> {
        let CurrentGame { scheduled, table, players, .. } = current;
        let entrants = seats(&self.entrants, &scheduled);
        self.rosters[table].put_back(&scheduled, entrants, players, played.forfeit.as_ref());
        let names = entrants.map(Entrant::name);
        let tags = PgnTags::new(&self.event, "", &scheduled, names, &self.rules);
        let record = GameRecord::of(&scheduled, played).expect("a finished game has a result");
        self.standings.add(ResultRow::from(&record));
        let place = self.records.partition_point(|known| known.game < record.game);
        self.games.insert(place, played.to_pgn(&tags));
        self.records.insert(place, record);
        MatchEvent::GameEnded(&self.records[place])
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
        self.waiting.is_empty() && self.playing.is_empty()
    }
}

impl CurrentGame {
    /// Lets the player to move play; the game if it has ended.
    fn play(&mut self, timer: &dyn Timer) -> Option<Box<PlayedGame>> {
        let player = match self.game.position().turn() {
            Color::White => &mut self.players.white,
            Color::Black => &mut self.players.black,
        };
        match self.game.step(player.as_mut(), timer, &Stop::new()) {
            Step::Moved | Step::Aborted => None,
            Step::Ended(played) => Some(played),
        }
    }

    /// The event of its latest move.
    fn moved(&self, before: Chess) -> MatchEvent<'_> {
        MatchEvent::Moved {
            scheduled: &self.scheduled,
            played: self.game.moves().last().expect("a step is never stopped"),
            plies: self.game.moves().len(),
            before: Box::new(before),
            after: self.game.position(),
        }
    }
}

fn seats<'a>(entrants: &'a [Box<dyn Entrant>], scheduled: &ScheduledGame) -> ByColor<&'a dyn Entrant> {
    scheduled.players.map(|PlayerId(place)| entrants[place].as_ref())
}
