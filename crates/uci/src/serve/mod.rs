//! A server for UCI clients.

mod control;
mod output;
mod worker;

use std::io::{self, BufRead, Write};

use shakmaty::{CastlingMode, Move, Position as _, uci::UciMove};

pub use self::control::Control;
use self::{
    output::Output,
    worker::{Job, Worker},
};
use crate::{
    Lines,
    message::{Command, GameHistory, Go, Info, OptionSpec, OptionValue, ParseError, Reply},
};

/// Maximum line length in bytes, enough for a game of 100,000 moves.
const MAX_LINE_BYTES: usize = 1 << 20;

/// The option that switches to Chess960: castling rights in any form, and castling as king takes rook.
pub(crate) const CHESS960: &str = "UCI_Chess960";

/// What a client hears that forgot the option.
const NEEDS_CHESS960: &str = "castling rights of Chess960 are dropped: set UCI_Chess960 before position";

/// An engine that can be served.
///
/// It runs on its own thread; [`Control`] connects it to the client during a search.
pub trait Engine: Send + 'static {
    /// `id name`.
    fn name(&self) -> String;

    /// `id author`.
    fn author(&self) -> String;

    /// Options, queried once at startup. [`serve()`] adds `UCI_Chess960` and handles it.
    fn options(&self) -> Vec<OptionSpec>;

    /// Prepares the first search: called once, on the engine's thread, while the client is greeted. What it does late, `readyok`
    /// waits for.
    fn prepare(&mut self) {}

    /// Sets one of its options to a valid value. Not called during a search.
    ///
    /// # Errors
    /// The message is sent to the client, and the old value stays.
    fn set_option(&mut self, name: &str, value: OptionValue) -> Result<(), String>;

    /// Clears state of the last game.
    fn new_game(&mut self);

    /// Searches a position with at least one legal move.
    ///
    /// Must poll [`Control::stopped`] and return soon after it is set. It may return earlier even from an infinite
    /// search: `bestmove` is held back until the protocol allows it.
    ///
    /// # Errors
    /// The message is sent to the client, followed by `bestmove (none)`.
    fn search(&mut self, request: &SearchRequest, control: &Control) -> Result<BestMove, String>;
}

/// Position and limits of a search.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// The game up to the position to search.
    pub game: GameHistory,
    /// Parameters of `go`. Use [`search_moves`](Self::search_moves) instead of its unchecked moves.
    pub go: Go,
    /// Moves to search; empty means all.
    pub search_moves: Vec<Move>,
}

/// Result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BestMove {
    /// Best move.
    pub best: Move,
    /// Expected reply.
    pub ponder: Option<Move>,
}

/// Serves one client until `quit` or end of input.
///
/// The calling thread reads while the engine searches on another, so that `stop`, `isready` and `quit` are handled at
/// once. Invalid input is reported with `info string`. An invalid option has no effect; after an invalid position, `go`
/// is answered with `bestmove (none)` until a valid one arrives.
///
/// # Errors
/// On I/O errors.
///
/// # Panics
/// If no thread can be spawned.
pub fn serve(
    engine: impl Engine,
    input: impl BufRead,
    output: impl Write + Send + 'static,
) -> io::Result<()> {
    let output = Output::new(output);
    let mut options = engine.options();
    options.push(OptionSpec::check(CHESS960, false));
    let handshake = handshake(&engine, &options);
    let mut worker = Worker::spawn(engine, output.clone());
    let mut mode = CastlingMode::Standard;
    let mut game = Ok(GameHistory::default());
    let mut read = Ok(());
    for line in Lines::new(input, MAX_LINE_BYTES) {
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                read = Err(error);
                break;
            }
        };
        match line.parse() {
            Ok(Command::Uci) => handshake.iter().for_each(|reply| output.send(reply)),
            Ok(Command::IsReady) => worker.ready(),
            Ok(Command::SetOption { name, value }) => {
                let found = OptionSpec::find(&options, &name);
                match found.and_then(|spec| Ok((spec, spec.parse_value(value.as_deref())?))) {
                    Ok((spec, OptionValue::Check(on))) if spec.name == CHESS960 => {
                        mode = CastlingMode::from_chess960(on);
                        // As a `position` that follows it would be.
                        if let Ok(unmoved) = &mut game
                            && *unmoved == GameHistory::default()
                        {
                            *unmoved = GameHistory::initial(mode);
                        }
                    }
                    Ok((spec, value)) => worker.send(Job::SetOption { name: spec.name.clone(), value }),
                    Err(error) => output.send_error(&error),
                }
            }
            Ok(Command::NewGame) => worker.send(Job::NewGame),
            Ok(Command::Position(position)) => {
                game = position.resolve_in(mode).map_err(|error| error.to_string());
                match &game {
                    Ok(_) if position.needs_chess960(mode) => output.send_error(&NEEDS_CHESS960),
                    Ok(_) => {}
                    Err(error) => output.send_error(error),
                }
            }
            Ok(Command::Go(go)) => worker.search(match &game {
                Ok(game) => {
                    let search_moves = legal_moves(&go.search_moves, game, &output);
                    Ok(SearchRequest { game: game.clone(), go, search_moves })
                }
                Err(error) => Err((go, format!("no valid position: {error}"))),
            }),
            Ok(Command::Stop) => worker.stop(),
            Ok(Command::PonderHit) => worker.ponder_hit(),
            Ok(Command::Quit) => break,
            Ok(Command::Register(_) | Command::Debug(_)) | Err(ParseError::Empty) => {}
            Err(error) => {
                output.send_error(&error);
                if matches!(error, ParseError::Malformed { message: "position", .. }) {
                    game = Err(error.to_string());
                }
            }
        }
        if output.has_failed() {
            break;
        }
    }
    worker.shut_down();
    read.and_then(|()| output.result())
}

fn handshake(engine: &impl Engine, options: &[OptionSpec]) -> Vec<Reply> {
    let mut replies = vec![Reply::Name(engine.name()), Reply::Author(engine.author())];
    replies.extend(options.iter().cloned().map(Reply::Option));
    replies.push(Reply::UciOk);
    replies
}

/// The legal ones of `searchmoves`. The others are reported.
fn legal_moves(moves: &[UciMove], game: &GameHistory, output: &Output) -> Vec<Move> {
    let mut legal = Vec::new();
    for mv in moves {
        match mv.to_move(game.current()) {
            Ok(mv) => legal.push(mv),
            Err(_) => output.send_error(&format!("searchmoves: illegal move {mv}")),
        }
    }
    legal
}

/// `info` for a position without legal moves.
fn terminal_info(game: &GameHistory) -> Info {
    use crate::message::MoverScore;
    let score = if game.current().is_check() { MoverScore::Mate(0) } else { MoverScore::Centipawns(0) };
    Info { depth: Some(0), score: Some(score.into()), ..Info::default() }
}
