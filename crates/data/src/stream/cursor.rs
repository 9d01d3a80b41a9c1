//! One open record of a lane.

use arrayvec::ArrayVec;
use shakmaty::{ByColor, Chess, Color, Move, Position};
use std::time::Duration;
use tabia_encoding::{PlayerInfo as Player, RatingPool, Situation};

use super::StreamOptions;
use super::analysed::OpenRecord;
use super::filter::Filter;
use super::sample::{GameSample, Sample, Target};
use crate::record::{GameStreams, GameWalk};
use crate::shard::Record;
use crate::shuffle::Rng;
use crate::{EvaluationBytes, GameBytes, GameHead, Ply, RecordError, RecordIndex};

/// The most that any encoding uses.
const LAST_MOVES: usize = 8;

/// The place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Index of the block in the stream's plan.
    pub(super) block: u32,
    /// The record in the block.
    pub(super) record: u32,
    pub(super) set: u32,
    pub(super) index: RecordIndex,
    pub(super) epoch: u32,
}

/// An open record at its next position.
#[derive(Debug)]
pub(super) struct Cursor {
    pub(super) place: Place,
    open: Open,
}

#[derive(Debug)]
enum Open {
    Game(Box<OpenGame>),
    Evaluation(Box<OpenRecord>),
}

/// Progress in a game. For an analysed position only `ply` is used: the number of samples taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// Moves played.
    pub(super) ply: u32,
    /// The ply at which the game was entered.
    pub(super) first: u32,
    /// Whether it has wrapped around to the positions before `first`.
    pub(super) anew: bool,
}

impl Cursor {
    /// Opens a record, entering a game at ply `first`. `None` if no position passes the filter.
    pub(super) fn open(
        place: Place,
        record: &Record<'_>,
        first: u32,
        options: &StreamOptions,
    ) -> Result<Option<Cursor>, RecordError> {
        let StreamOptions { filter, earlier, .. } = options;
        let open = match record {
            Record::Evaluation(evaluation) => {
                if evaluation.depth()? < filter.min_depth {
                    return Ok(None);
                }
                let Some(record) = open_record(evaluation, place, options, 0)? else { return Ok(None) };
                Open::Evaluation(Box::new(record))
            }
            Record::Game(game) => {
                if game.plies == 0 || !filter.takes_game(&game.head) {
                    return Ok(None);
                }
                let progress = Progress { ply: 0, first: first.min(game.plies - 1), anew: false };
                let mut game = Box::new(OpenGame::new(game, progress, *earlier)?);
                game.skip_to(progress.first)?;
                if !game.settle(filter)? {
                    return Ok(None);
                }
                Open::Game(game)
            }
        };
        Ok(Some(Cursor { place, open }))
    }

    /// Reopens a record at a saved place.
    pub(super) fn reopen(
        place: Place,
        record: &Record<'_>,
        progress: Progress,
        options: &StreamOptions,
    ) -> Result<Cursor, RecordError> {
        let open = match record {
            Record::Evaluation(evaluation) => {
                let record = open_record(evaluation, place, options, progress.ply)?;
                let nothing_left = RecordError::Short { what: "a saved position" };
                Open::Evaluation(Box::new(record.ok_or(nothing_left)?))
            }
            Record::Game(game) => {
                if progress.ply >= game.plies {
                    return Err(RecordError::Short { what: "a saved game" });
                }
                let mut game = Box::new(OpenGame::new(game, progress, options.earlier)?);
                game.skip_to(progress.ply)?;
                Open::Game(game)
            }
        };
        Ok(Cursor { place, open })
    }

    pub(super) fn progress(&self) -> Progress {
        match &self.open {
            Open::Game(game) => game.progress,
            Open::Evaluation(record) => Progress { ply: record.given(), first: 0, anew: false },
        }
    }

    /// Advances to the next position; `false` at the end.
    #[inline]
    pub(super) fn advance(&mut self, filter: &Filter) -> Result<bool, RecordError> {
        match &mut self.open {
            Open::Evaluation(record) => Ok(record.step()),
            Open::Game(game) => Ok(game.step()? && game.settle(filter)?),
        }
    }

    #[inline]
    pub(super) fn sample(&self) -> Sample<'_> {
        let Place { set, index: record, epoch, .. } = self.place;
        let (situation, target) = match &self.open {
            Open::Evaluation(record) => record.sample(),
            Open::Game(game) => game.sample(),
        };
        Sample { situation, target, set, record, epoch }
    }
}

/// An analysed position after its first `given` samples. Their order follows from the seed and the visit.
fn open_record(
    evaluation: &EvaluationBytes<'_>,
    place: Place,
    options: &StreamOptions,
    given: u32,
) -> Result<Option<OpenRecord>, RecordError> {
    let visit = [options.seed, 2, u64::from(place.set), place.index.0, u64::from(place.epoch)];
    Ok(OpenRecord::new(evaluation.decode_trusted()?, options.analysed, Rng::of(&visit), given))
}

/// A partly decoded game.
#[derive(Debug)]
pub(super) struct OpenGame {
    position: Chess,
    progress: Progress,
    plies: u32,
    /// The ply that follows the position.
    next: Ply,
    /// Each player's clock after their last move; at first the initial time.
    clocks: ByColor<Option<Duration>>,
    /// Most recent first.
    last_moves: ArrayVec<Move, LAST_MOVES>,
    walk: GameWalk,
    head: GameHead,
    /// Moves, clocks and evaluations, one after the other.
    bytes: Vec<u8>,
    moves_end: u32,
    clocks_end: u32,
    /// Most recent first.
    earlier: Vec<Chess>,
    earlier_max: u32,
    /// The start position; `None` is the standard one.
    start: Option<Box<Chess>>,
}

impl OpenGame {
    /// The game at its first position.
    fn new(game: &GameBytes<'_>, progress: Progress, earlier: u32) -> Result<Self, RecordError> {
        let GameStreams { moves, clocks, evaluations } = game.streams;
        let start = game.start()?;
        let walk = GameWalk::new(&game.head);
        let usual = start == Chess::default() && start.halfmoves() == 0 && start.fullmoves().get() == 1;
        let mut open = OpenGame {
            start: (!usual).then(|| Box::new(start.clone())),
            next: walk.clone().next(&game.streams, &start)?,
            position: start,
            progress,
            plies: game.plies,
            clocks: ByColor::default(),
            last_moves: ArrayVec::new(),
            walk,
            head: game.head,
            bytes: [moves, clocks, evaluations].concat(),
            moves_end: moves.len() as u32,
            clocks_end: (moves.len() + clocks.len()) as u32,
            earlier: Vec::new(),
            earlier_max: earlier,
        };
        open.rewind()?;
        Ok(open)
    }

    /// Calls `each` with every position that passes.
    pub(super) fn replay(
        game: &GameBytes<'_>,
        filter: &Filter,
        mut each: impl FnMut(&Situation<'_>, &GameSample<'_>),
    ) -> Result<(), RecordError> {
        if game.plies == 0 || !filter.takes_game(&game.head) {
            return Ok(());
        }
        let mut open = OpenGame::new(game, Progress { ply: 0, first: 0, anew: false }, u32::MAX)?;
        let mut more = open.settle(filter)?;
        while more {
            let (situation, sample) = open.game_sample();
            each(&situation, &sample);
            more = open.step()? && open.settle(filter)?;
        }
        Ok(())
    }

    /// Returns to the first position.
    fn rewind(&mut self) -> Result<(), RecordError> {
        self.position = self.start.as_deref().cloned().unwrap_or_default();
        self.progress.ply = 0;
        self.walk = GameWalk::new(&self.head);
        self.last_moves.clear();
        self.earlier.clear();
        self.clocks = ByColor::new_with(|_| self.head.pace.map(|pace| pace.base));
        self.decode_next()
    }

    #[inline]
    fn decode_next(&mut self) -> Result<(), RecordError> {
        let (moves, rest) = self.bytes.split_at(self.moves_end as usize);
        let (clocks, evaluations) = rest.split_at((self.clocks_end - self.moves_end) as usize);
        self.next = self.walk.next(&GameStreams { moves, clocks, evaluations }, &self.position)?;
        Ok(())
    }

    /// Plays the next move. There must be one after it.
    #[inline]
    fn play(&mut self) -> Result<(), RecordError> {
        let Ply { played, clock, .. } = self.next;
        *self.clocks.get_mut(self.position.turn()) = clock;
        if self.earlier_max > 0 {
            self.earlier.truncate(self.earlier_max as usize - 1);
            self.earlier.insert(0, self.position.clone());
        }
        if self.last_moves.is_full() {
            self.last_moves.pop();
        }
        self.last_moves.insert(0, played);
        self.position.play_unchecked(played);
        self.progress.ply += 1;
        self.decode_next()
    }

    fn skip_to(&mut self, ply: u32) -> Result<(), RecordError> {
        while self.progress.ply < ply {
            self.play()?;
        }
        Ok(())
    }

    /// Advances by one position, wrapping around if the game was not entered at its first; `false` when all have been given.
    #[inline]
    fn step(&mut self) -> Result<bool, RecordError> {
        if self.progress.ply + 1 < self.plies {
            self.play()?;
        } else if self.progress.anew || self.progress.first == 0 {
            return Ok(false);
        } else {
            self.rewind()?;
            self.progress.anew = true;
        }
        Ok(!self.progress.anew || self.progress.ply < self.progress.first)
    }

    /// Advances to a position that passes; `false` if there is none.
    #[inline]
    fn settle(&mut self, filter: &Filter) -> Result<bool, RecordError> {
        while !self.passes(filter) {
            if !self.step()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    #[inline]
    fn passes(&self, filter: &Filter) -> bool {
        let mover = self.position.turn();
        filter.takes_ply(&self.head, self.progress.ply)
            && filter.takes_mover(&self.head, mover)
            && filter.evaluation.is_met(self.next.evaluation.is_some())
            && filter.clock.is_met(self.clocks.get(mover).is_some())
    }

    #[inline]
    fn sample(&self) -> (Situation<'_>, Target<'_>) {
        let (situation, sample) = self.game_sample();
        (situation, Target::Game(sample))
    }

    #[inline]
    fn game_sample(&self) -> (Situation<'_>, GameSample<'_>) {
        let mover = self.position.turn();
        let player = |color: Color| Player {
            rating: *self.head.ratings.get(color),
            time_left: *self.clocks.get(color),
        };
        let situation = Situation {
            position: &self.position,
            earlier: &self.earlier,
            last_moves: &self.last_moves,
            mover: player(mover),
            opponent: player(!mover),
            pool: self.head.pool,
            pace: self.head.pace,
            context: None,
        };
        let thought = || {
            let (before, after) = ((*self.clocks.get(mover))?, self.next.clock?);
            Some((before + self.head.pace?.increment).saturating_sub(after))
        };
        let sample = GameSample {
            head: &self.head,
            ply: self.progress.ply,
            plies: self.plies,
            played: self.next.played,
            thought: if self.head.pool == RatingPool::Puzzle { None } else { thought() },
            evaluation: self.next.evaluation,
        };
        (situation, sample)
    }
}
