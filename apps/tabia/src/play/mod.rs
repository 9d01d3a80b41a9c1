//! `tabia play`: a game against a network, in the terminal.

mod board;
mod candidate;
mod command;
mod live_game;
mod opponent;
mod played_like;
mod screen;

use std::io::{BufRead, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fastrand::Rng;
use shakmaty::san::SanPlus;
use shakmaty::{Chess, Color, Position};
use tabia_cli::WallClock;
use tabia_game::{Chess960, Outcome, fen_of, position_from_fen, write_game};
use tabia_model::Model;
use tabia_players::{ChallengeRules, LevelSpec, NetSearch, NetSpec, Spec};

use self::board::Style;
use self::command::Command;
use self::live_game::{LiveGame, Sides, named, outcome_text};
use self::opponent::Opponent;
use self::played_like::played_like;
use crate::cli::{ColorChoice, Mode, PlayArgs, WatchArgs};

/// Threads that evaluate a position if nothing is said; more do not gain.
const MOST_THREADS: NonZeroUsize = NonZeroUsize::new(4).expect("not zero");

const HELP: &str = "\
Type a move (e4, Nf3, O-O, e8=Q, or e2e4), or one of
  hint          the opponent's candidates in your position
  undo          take back your last move and the reply
  flip          turn the board
  moves         the game so far         legal   your legal moves
  fen           the position as FEN     pgn     the game as PGN
  save FILE     write the game as PGN
  elo N         set the rating of the opponent to N
  new [white|black]                     start another game
  draw          claim a draw, if the rules allow it
  resign, help, quit";

pub(crate) fn run(args: &PlayArgs) -> Result<()> {
    let cores = || tabia_cli::jobs(None).min(MOST_THREADS);
    tabia_cli::evaluate_on(args.threads.unwrap_or_else(cores));
    let start = match (&args.fen, args.odds) {
        (None, None) if args.chess960.is_some() => chess960(args),
        (Some(fen), _) => position_from_fen(fen).with_context(|| format!("--fen {fen:?}"))?,
        (None, Some(odds)) => match args.color {
            ColorChoice::White => odds.start(Color::Black),
            ColorChoice::Black => odds.start(Color::White),
            ColorChoice::Random => bail!("--odds with --color random (expected white or black)"),
        },
        (None, None) => Chess::default(),
    };
    let terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if terminal && !args.ascii {
        return screen::run(args, start);
    }
    if args.watch.is_some() || args.tc.is_some() {
        bail!("watched games and --tc need the full-screen interface (a terminal, without --ascii)");
    }
    let opponent = Opponent::new(args)?;
    let style = if args.ascii || !std::io::stdout().is_terminal() { Style::Ascii } else { Style::Unicode };
    opponent.check_start(&start)?;
    let number = args.chess960.and_then(|_| Chess960::of(&start));
    let mut session = PlaySession::new(opponent, style, start, args.color);
    session.chess960 = number;
    let outcome = session.run(&mut std::io::stdin().lock(), &mut tabia_stdio::stdout());
    // Saved even if the input ends or fails.
    if let Some(path) = &args.pgn {
        session.live.save(path)?;
    }
    outcome
}

/// The start position of Chess960 that the arguments name or draw.
fn chess960(args: &PlayArgs) -> Chess {
    let drawn = || Chess960::drawn(args.seed.map_or_else(Rng::new, Rng::with_seed).u64(..));
    args.chess960.flatten().unwrap_or_else(drawn).position()
}

/// Shows a game between two players.
pub(crate) fn watch(args: WatchArgs) -> Result<()> {
    let WatchArgs { player, against, delay, color, elo, seed, fen, pgn } = args;
    let against = against.unwrap_or_else(|| player.clone());
    let level = match against.parse() {
        Ok(Spec::Level(LevelSpec { level, .. })) => Some(level),
        _ => None,
    };
    let player = match level {
        Some(level) => challenger(&player, level.rules())?,
        None => player,
    };
    run(&PlayArgs {
        opponent: Some(player),
        elo,
        color,
        mode: Mode::Sample,
        temperature: None,
        seed,
        fen,
        chess960: None,
        odds: None,
        pgn,
        tc: None,
        opponent_tc: None,
        watch: Some(against),
        delay,
        ascii: false,
        threads: None,
    })
}

/// The player that meets a level: a model file without a policy head plays by the rules of the challenge.
fn challenger(player: &str, rules: ChallengeRules) -> Result<String> {
    let file = Path::new(player);
    if !file.is_file() {
        return Ok(player.to_owned());
    }
    let model = Model::open(file).with_context(|| player.to_owned())?;
    if model.card().policy.is_some() {
        return Ok(player.to_owned());
    }
    Ok(Spec::Net(NetSpec { file: file.to_owned(), search: NetSearch::Challenge(rules) }).to_string())
}

/// A line-based session: games against one opponent until the user quits.
struct PlaySession {
    opponent: Opponent,
    style: Style,
    you: Color,
    live: LiveGame,
    chess960: Option<Chess960>,
}

/// Whether the session goes on after a command.
enum Next {
    Continue,
    Quit,
}

impl PlaySession {
    fn new(mut opponent: Opponent, style: Style, start: Chess, color: ColorChoice) -> PlaySession {
        let you = opponent.resolve(color);
        let live = LiveGame::new(start, Sides::against(&opponent.name(), you), None);
        opponent.new_game();
        PlaySession { opponent, style, you, live, chess960: None }
    }

    fn run(&mut self, input: &mut impl BufRead, out: &mut impl Write) -> Result<()> {
        if let Some(number) = self.chess960 {
            writeln!(
                out,
                "Chess960 position {number}. Castle with O-O and O-O-O, or with the king onto its rook."
            )?;
        }
        writeln!(out, "You play {} against {}. Type help for help.", named(self.you), self.opponent.name())?;
        self.answer(out)?;
        loop {
            write!(out, "{}> ", if self.live.over().is_some() { "(game over) " } else { "" })?;
            out.flush()?;
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                writeln!(out)?;
                return Ok(());
            }
            match command::parse(&line) {
                Ok(None) => {}
                Ok(Some(command)) => match self.execute(command, out)? {
                    Next::Continue => {}
                    Next::Quit => return Ok(()),
                },
                Err(mistake) => writeln!(out, "{mistake}")?,
            }
        }
    }

    fn execute(&mut self, command: Command, out: &mut impl Write) -> Result<Next> {
        match command {
            Command::Move(text) => self.play_move(&text, out)?,
            Command::Hint => self.hint(out)?,
            Command::Undo => self.undo(out)?,
            Command::Flip => {
                self.live.flip();
                self.show(out)?;
            }
            Command::Moves => writeln!(out, "{}", self.live.moves_text())?,
            Command::Legal => writeln!(out, "{}", self.live.legal_text())?,
            Command::Fen => writeln!(out, "{}", fen_of(self.live.position()))?,
            Command::Pgn => write_game(self.live.game(), out)?,
            Command::Save(path) => match self.live.save(Path::new(&path)) {
                Ok(()) => writeln!(out, "saved to {path}")?,
                Err(error) => writeln!(out, "not saved: {error:#}")?,
            },
            Command::Elo(elo) => {
                if self.opponent.set_elo(elo)? {
                    self.live.rename(Sides::against(&self.opponent.name(), self.you));
                    writeln!(out, "{} from now on", self.opponent.name())?;
                } else {
                    writeln!(out, "{} has no rating setting.", self.opponent.name())?;
                }
            }
            Command::New(color) => {
                self.you = color.unwrap_or(!self.you);
                self.live.restart(Sides::against(&self.opponent.name(), self.you));
                self.opponent.new_game();
                writeln!(out, "A new game: you play {}.", named(self.you))?;
                self.answer(out)?;
            }
            Command::Draw => match self.live.claim_draw() {
                Some(outcome) => self.tell_end(outcome, out)?,
                None => writeln!(out, "There is no draw to claim.")?,
            },
            Command::Resign => match self.live.resign(self.you) {
                Some(outcome) => self.tell_end(outcome, out)?,
                None => writeln!(out, "The game is already over.")?,
            },
            Command::Help => writeln!(out, "{HELP}")?,
            Command::Quit => return Ok(Next::Quit),
        }
        Ok(Next::Continue)
    }

    fn play_move(&mut self, text: &str, out: &mut impl Write) -> Result<()> {
        if self.live.over().is_some() {
            writeln!(out, "The game is over. Type new for another, undo to take a move back, or quit.")?;
            return Ok(());
        }
        match command::find_move(self.live.position(), text) {
            Ok(m) => {
                self.live.play(m, Duration::ZERO);
                self.answer(out)
            }
            Err(mistake) => Ok(writeln!(out, "{mistake}")?),
        }
    }

    /// Plays the opponent's move, if it is its turn, and shows the board.
    fn answer(&mut self, out: &mut impl Write) -> Result<()> {
        if self.live.over().is_none() && self.live.position().turn() != self.you {
            match self.opponent.choose(&self.live.history())? {
                Some(m) => {
                    let san = SanPlus::from_move(self.live.position().clone(), m);
                    writeln!(out, "{} plays {san}", self.opponent.name())?;
                    self.live.play(m, Duration::ZERO);
                }
                None => {
                    writeln!(out, "{} resigns", self.opponent.name())?;
                    self.live.resign(!self.you);
                }
            }
        }
        self.show(out)?;
        match self.live.over() {
            Some(outcome) => self.tell_end(outcome, out),
            None => Ok(()),
        }
    }

    /// The result, and how both sides played.
    fn tell_end(&self, outcome: Outcome, out: &mut impl Write) -> Result<()> {
        writeln!(out, "{}", outcome_text(outcome))?;
        out.flush()?;
        let human = self.opponent.human_network()?;
        if let Some(text) = played_like(self.live.game(), self.live.sides(), &human, &mut || true)? {
            writeln!(out, "{text}")?;
        }
        Ok(())
    }

    fn undo(&mut self, out: &mut impl Write) -> Result<()> {
        if self.live.undo() {
            return self.show(out);
        }
        Ok(writeln!(out, "There is nothing to take back.")?)
    }

    fn hint(&self, out: &mut impl Write) -> Result<()> {
        for candidate in self.opponent.hint(&self.live.history(), &WallClock::start())? {
            writeln!(out, "  {:<8}{}", candidate.san, candidate.note)?;
        }
        Ok(())
    }

    fn show(&self, out: &mut impl Write) -> Result<()> {
        let position = self.live.position();
        let last = self.live.last_move();
        write!(out, "{}", board::drawn(position.board(), last, self.live.bottom(), self.style))?;
        let check = if position.is_check() { ", check" } else { "" };
        writeln!(out, "{} to move{check}", named(position.turn()))?;
        Ok(())
    }
}
