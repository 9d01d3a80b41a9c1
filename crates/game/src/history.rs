use std::{collections::VecDeque, time::Duration};

use shakmaty::{ByColor, Chess, Color, Move, Position};
use tabia_encoding::{Pace, PlayerInfo, RatingPool, Situation};

use crate::{Game, NodeId};

/// A position with its game history and players, borrowed by encoders as a [`Situation`].
///
/// [`push`](Self::push) may move the existing positions, about a hundred bytes each, which is cheaper than the move itself
/// for games of ordinary length.
#[derive(Clone, Debug)]
pub struct History {
    /// Most recent first, never empty, and always one contiguous slice: only pushed at the front.
    positions: VecDeque<Chess>,
    /// Most recent first, one fewer than the positions, contiguous too.
    moves: VecDeque<Move>,
    seats: ByColor<PlayerInfo>,
    pool: RatingPool,
    pace: Option<Pace>,
}

impl History {
    /// The start of a game. `seats` holds the ratings and the time on each clock before the first move.
    pub fn new(start: Chess, seats: ByColor<PlayerInfo>) -> History {
        History {
            positions: VecDeque::from([start]),
            moves: VecDeque::new(),
            seats,
            pool: RatingPool::Unknown,
            pace: None,
        }
    }

    /// The same, in a rating pool and at a pace.
    #[must_use]
    pub fn under(self, pool: RatingPool, pace: Option<Pace>) -> History {
        History { pool, pace, ..self }
    }

    /// The beginning of a game, with ratings and starting time from its headers.
    pub fn at_start_of(game: &Game) -> History {
        let time_left = game.headers.time_control().start();
        let seat = |color| PlayerInfo { rating: game.headers.rating(color), time_left };
        let seats = ByColor::new_with(seat);
        let (pool, pace) = (game.rating_pool(), game.headers.time_control().pace());
        History::new(game.start().clone(), seats).under(pool, pace)
    }

    /// A legal move was made; its player's clock now shows `clock_after`, when that is known.
    ///
    /// A move without a clock makes the player's time unknown.
    pub fn push(&mut self, m: Move, clock_after: Option<Duration>) {
        let mut position = self.current().clone();
        self.seats[position.turn()].time_left = clock_after;
        position.play_unchecked(m);
        self.positions.push_front(position);
        self.positions.make_contiguous();
        self.moves.push_front(m);
        self.moves.make_contiguous();
    }

    /// Sets the time control from here on.
    pub fn set_pace(&mut self, pace: Option<Pace>) {
        self.pace = pace;
    }

    /// Sets a player's clock.
    pub fn set_time_left(&mut self, color: Color, time_left: Option<Duration>) {
        self.seats[color].time_left = time_left;
    }

    /// The current position.
    pub fn current(&self) -> &Chess {
        &self.positions[0]
    }

    /// The encoder's input. The side to move is the mover; each player's time is the clock after that player's last move, or
    /// at the start of the game.
    pub fn situation(&self) -> Situation<'_> {
        let (position, earlier) =
            self.positions.as_slices().0.split_first().expect("there is always a position");
        Situation {
            position,
            earlier,
            last_moves: self.moves.as_slices().0,
            mover: self.seats[position.turn()],
            opponent: self.seats[!position.turn()],
            pool: self.pool,
            pace: self.pace,
            context: None,
        }
    }
}

impl Game {
    /// The history of a node.
    pub fn history(&self, node: NodeId) -> History {
        let mut history = History::at_start_of(self);
        for at in self.path(node) {
            let m = self.move_to(at).expect("a path has no root");
            history.push(m, self.notes(at).clock);
        }
        history
    }
}

#[cfg(test)]
mod tests {
    use tabia_encoding::Elo;

    use super::*;
    use crate::read_game;

    const GAME: &str = "[WhiteElo \"1675\"]\n[BlackElo \"?\"]\n[TimeControl \"180+2\"]\n\n\
        1. e4 {[%clk 0:02:59]} e5 {[%clk 0:02:50]} 2. Nf3 {[%clk 0:02:40]} Nc6 3. Bb5 *";

    #[test]
    fn a_players_time_is_the_clock_after_their_last_move() {
        let game = read_game(GAME.as_bytes()).unwrap();
        let mut node = NodeId::ROOT;
        let mut seen = Vec::new();
        loop {
            let history = game.history(node);
            let situation = history.situation();
            let secs = |seat: PlayerInfo| seat.time_left.map(|time| time.as_secs());
            seen.push((secs(situation.mover), secs(situation.opponent)));
            match game.children(node).next() {
                Some(child) => node = child,
                None => break,
            }
        }
        let start = Some(180);
        let expected = [
            (start, start),
            (start, Some(179)),
            (Some(179), Some(170)),
            (Some(170), Some(160)),
            (Some(160), None), // Nc6 has no clock
            (None, None),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn positions_and_moves_are_most_recent_first() {
        let game = read_game(GAME.as_bytes()).unwrap();
        let last = game.last();
        let history = game.history(last);
        let situation = history.situation();
        assert_eq!(situation.position, &game.position(last));
        let path = game.path(last);
        let earlier: Vec<Chess> =
            path.iter().rev().skip(1).chain([&NodeId::ROOT]).map(|node| game.position(*node)).collect();
        assert_eq!(situation.earlier, earlier);
        let moves: Vec<Move> = path.iter().rev().filter_map(|node| game.move_to(*node)).collect();
        assert_eq!(situation.last_moves, moves);
    }

    #[test]
    fn slices_stay_contiguous_in_long_games() {
        let mut history = History::new(Chess::default(), ByColor::default());
        for ply in 1..300 {
            let m = history.current().legal_moves()[0];
            history.push(m, None);
            let situation = history.situation();
            assert_eq!((situation.earlier.len(), situation.last_moves.len()), (ply, ply));
            if history.current().legal_moves().is_empty() {
                return;
            }
        }
    }

    #[test]
    fn ratings_go_to_mover_and_opponent() {
        let game = read_game(GAME.as_bytes()).unwrap();
        let start = game.history(NodeId::ROOT);
        assert_eq!(start.situation().mover.rating, Some(Elo(1675)));
        let first = game.mainline().next().unwrap();
        let history = game.history(first);
        assert_eq!(history.current().turn(), Color::Black);
        assert_eq!(
            (history.situation().mover.rating, history.situation().opponent.rating),
            (None, Some(Elo(1675)))
        );
    }
}
