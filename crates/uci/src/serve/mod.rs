//! The engine's end: makes anything that chooses moves an engine for any client.

mod control;
mod messages;
mod output;
mod worker;

use std::io::{self, BufRead, Write};

use shakmaty::{Move, Position as _, uci::UciMove};

pub use self::control::Control;
use self::{output::Output, worker::Handle};
use crate::{
    Lines,
    message::{Command, GameSoFar, Go, Info, OptionSpec, OptionValue, Reply, Unreadable},
};

/// The longest line read, in bytes: a game of 100,000 moves.
const LONGEST_LINE: usize = 1 << 20;

/// Something that chooses moves.
///
/// It lives on a thread of its own and does one thing at a time; [`Control`] is how the client reaches it while it
/// thinks.
pub trait Engine: Send + 'static {
    /// What people call it.
    fn name(&self) -> String;

    /// Who made it.
    fn author(&self) -> String;

    /// What may be set. Asked once, before anything else.
    fn options(&self) -> Vec<OptionSpec>;

    /// Sets an option it offers, to a value that fits. Never called while it thinks.
    ///
    /// # Errors
    /// Says why it cannot; the client is told, and the game goes on with what was set before.
    fn set_option(&mut self, name: &str, value: OptionValue) -> Result<(), String>;

    /// A new game begins: forget what only the last one taught.
    fn new_game(&mut self);

    /// Chooses a move. There is at least one legal move.
    ///
    /// Must look at [`Control::stopped`] often, and return soon after it says so. It need not wait for that, even
    /// when told to think without end: the answer is kept back until the client may hear it.
    ///
    /// # Errors
    /// Says why it cannot; the client is told, and hears `bestmove (none)`.
    fn think(&mut self, task: &Task, control: &Control) -> Result<Answer, String>;
}

/// What to think about, and how.
#[derive(Clone, Debug)]
pub struct Task {
    /// The game; its current position is the one to choose a move in.
    pub game: GameSoFar,
    /// How long to think, in the client's words. Use [`search_moves`](Self::search_moves) for the moves to choose
    /// from.
    pub go: Go,
    /// Choose among these only; empty is all.
    pub search_moves: Vec<Move>,
}

/// The end of thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The move to play.
    pub best: Move,
    /// The answer it would like to ponder on.
    pub ponder: Option<Move>,
}

/// Serves one client until it quits or its input ends.
///
/// The calling thread reads; the engine thinks on another, so that `stop`, `isready` and `quit` are answered at once.
/// What the client gets wrong (an illegal move, a bad FEN, an unknown option) is answered with `info string`. A wrong
/// option changes nothing; after a wrong position `go` is answered with `bestmove (none)` until a good one comes.
///
/// # Errors
/// When the input or the output fails.
///
/// # Panics
/// If no thread can be started.
pub fn serve(
    engine: impl Engine,
    input: impl BufRead,
    output: impl Write + Send + 'static,
) -> io::Result<()> {
    let output = Output::new(output);
    let greeting = greeting(&engine);
    let options = engine.options();
    let mut worker = Handle::start(engine, output.clone());
    // Or why there is none.
    let mut game = Ok(GameSoFar::default());
    let mut read = Ok(());
    for line in Lines::new(input, LONGEST_LINE) {
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                read = Err(error);
                break;
            }
        };
        match line.parse() {
            Ok(Command::Uci) => greeting.iter().for_each(|reply| output.say(reply)),
            Ok(Command::IsReady) => worker.ready(),
            Ok(Command::SetOption { name, value }) => {
                let found = OptionSpec::find(&options, &name);
                match found.and_then(|spec| Ok((spec, spec.read(value.as_deref())?))) {
                    Ok((spec, value)) => worker.set_option(spec.name.clone(), value),
                    Err(fault) => output.complain(&fault),
                }
            }
            Ok(Command::NewGame) => worker.new_game(),
            Ok(Command::Position(position)) => {
                game = position.resolve().map_err(|fault| fault.to_string());
                if let Err(fault) = &game {
                    output.complain(fault);
                }
            }
            Ok(Command::Go(go)) => match &game {
                Ok(game) => {
                    let search_moves = legal(&go.search_moves, game, &output);
                    worker.think(Task { game: game.clone(), go, search_moves });
                }
                Err(fault) => worker.refuse(&go, format!("no valid position: {fault}")),
            },
            Ok(Command::Stop) => worker.stop(),
            Ok(Command::PonderHit) => worker.ponder_hit(),
            Ok(Command::Quit) => break,
            // Nothing here needs a user's name or has more to say.
            Ok(Command::Register(_) | Command::Debug(_)) | Err(Unreadable::Blank) => {}
            Err(unreadable) => {
                output.complain(&unreadable);
                if matches!(unreadable, Unreadable::Malformed { message: "position", .. }) {
                    game = Err(unreadable.to_string());
                }
            }
        }
        if output.broken() {
            break;
        }
    }
    worker.finish();
    read.and_then(|()| output.result())
}

fn greeting(engine: &impl Engine) -> Vec<Reply> {
    let mut replies = vec![Reply::Name(engine.name()), Reply::Author(engine.author())];
    replies.extend(engine.options().into_iter().map(Reply::Option));
    replies.push(Reply::UciOk);
    replies
}

/// The moves that are legal; the client hears of the others.
fn legal(moves: &[UciMove], game: &GameSoFar, output: &Output) -> Vec<Move> {
    let mut legal = Vec::new();
    for mv in moves {
        match mv.to_move(game.current()) {
            Ok(mv) => legal.push(mv),
            Err(_) => output.complain(&format!("searchmoves: {mv} is not legal")),
        }
    }
    legal
}

/// What is said of a game that is over: nothing can be played.
fn verdict(game: &GameSoFar) -> Info {
    use crate::message::MoverScore;
    let score = if game.current().is_check() { MoverScore::Mate(0) } else { MoverScore::Centipawns(0) };
    Info { depth: Some(0), score: Some(score.into()), ..Info::default() }
}
