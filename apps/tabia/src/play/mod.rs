//! `tabia play`: a game against a network, in the terminal.

mod board;
mod candidate;
mod command;
mod opponent;
mod screen;
mod table;

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use shakmaty::san::SanPlus;
use shakmaty::{Chess, Color, Position};
use tabia_cli::WallClock;
use tabia_game::{fen_of, position_from_fen, write_game};

use self::board::Style;
use self::command::Command;
use self::opponent::Opponent;
use self::table::{Sides, Table, named, outcome_text};
use crate::cli::{ColorChoice, PlayArgs};

const HELP: &str = "\
Type a move (e4, Nf3, O-O, e8=Q, or e2e4), or one of
  hint          the opponent network's view of your position
  undo          take back your last move and the answer
  flip          turn the board
  moves         the game so far         legal   your legal moves
  fen           the position as FEN     pgn     the game as PGN
  save FILE     write the game as PGN
  elo N         ask the opponent to play like a player rated N
  new [white|black]                     start another game
  draw          claim a draw, if the rules allow it
  resign, help, quit";

pub(crate) fn run(args: &PlayArgs) -> Result<()> {
    let start = match &args.fen {
        Some(fen) => position_from_fen(fen).with_context(|| format!("--fen {fen:?}"))?,
        None => Chess::default(),
    };
    let terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if terminal && !args.ascii {
        return screen::run(args, start);
    }
    if args.watch.is_some() || args.tc.is_some() {
        bail!("--watch and --tc need the full screen: a terminal, and no --ascii");
    }
    let opponent = Opponent::new(args)?;
    let style = if args.ascii || !std::io::stdout().is_terminal() { Style::Ascii } else { Style::Unicode };
    let mut sitting = PlaySession::new(opponent, style, start, args.color);
    let outcome = sitting.sit(&mut std::io::stdin().lock(), &mut tabia_stdio::stdout());
    // Nothing is lost: the game is written even when the input ends or breaks.
    if let Some(path) = &args.pgn {
        sitting.table.save(path)?;
    }
    outcome
}

/// One sitting, line by line: games against one opponent until the player leaves.
struct PlaySession {
    opponent: Opponent,
    style: Style,
    you: Color,
    table: Table,
}

/// Whether the player stays after a command.
enum Next {
    Stay,
    Leave,
}

impl PlaySession {
    fn new(mut opponent: Opponent, style: Style, start: Chess, seat: ColorChoice) -> PlaySession {
        let you = opponent.resolve(seat);
        let table = Table::new(start, Sides::against(&opponent.name(), you), None);
        opponent.new_game();
        PlaySession { opponent, style, you, table }
    }

    fn sit(&mut self, input: &mut impl BufRead, out: &mut impl Write) -> Result<()> {
        writeln!(out, "You play {} against {}. Type help for help.", named(self.you), self.opponent.name())?;
        self.answer(out)?;
        loop {
            write!(out, "{}> ", if self.table.over().is_some() { "(game over) " } else { "" })?;
            out.flush()?;
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                writeln!(out)?;
                return Ok(());
            }
            match command::parse(&line) {
                Ok(None) => {}
                Ok(Some(command)) => match self.obey(command, out)? {
                    Next::Stay => {}
                    Next::Leave => return Ok(()),
                },
                Err(mistake) => writeln!(out, "{mistake}")?,
            }
        }
    }

    fn obey(&mut self, command: Command, out: &mut impl Write) -> Result<Next> {
        match command {
            Command::Move(text) => self.play_move(&text, out)?,
            Command::Hint => self.hint(out)?,
            Command::Undo => self.undo(out)?,
            Command::Flip => {
                self.table.flip();
                self.show(out)?;
            }
            Command::Moves => writeln!(out, "{}", self.table.moves_text())?,
            Command::Legal => writeln!(out, "{}", self.table.legal_text())?,
            Command::Fen => writeln!(out, "{}", fen_of(self.table.position()))?,
            Command::Pgn => write_game(self.table.game(), out)?,
            Command::Save(path) => match self.table.save(Path::new(&path)) {
                Ok(()) => writeln!(out, "saved to {path}")?,
                Err(error) => writeln!(out, "not saved: {error:#}")?,
            },
            Command::Elo(elo) => {
                if self.opponent.set_elo(elo)? {
                    self.table.rename(Sides::against(&self.opponent.name(), self.you));
                    writeln!(out, "{} from now on", self.opponent.name())?;
                } else {
                    writeln!(out, "{} does not play at a chosen rating.", self.opponent.name())?;
                }
            }
            Command::New(color) => {
                self.you = color.unwrap_or(!self.you);
                self.table.restart(Sides::against(&self.opponent.name(), self.you));
                self.opponent.new_game();
                writeln!(out, "A new game: you play {}.", named(self.you))?;
                self.answer(out)?;
            }
            Command::Draw => match self.table.claim_draw() {
                Some(outcome) => writeln!(out, "{}", outcome_text(outcome))?,
                None => writeln!(out, "There is no draw to claim here.")?,
            },
            Command::Resign => match self.table.resign(self.you) {
                Some(outcome) => writeln!(out, "{}", outcome_text(outcome))?,
                None => writeln!(out, "The game is over already.")?,
            },
            Command::Help => writeln!(out, "{HELP}")?,
            Command::Quit => return Ok(Next::Leave),
        }
        Ok(Next::Stay)
    }

    fn play_move(&mut self, text: &str, out: &mut impl Write) -> Result<()> {
        if self.table.over().is_some() {
            writeln!(out, "The game is over. Type new for another, undo to take a move back, or quit.")?;
            return Ok(());
        }
        match command::find_move(self.table.position(), text) {
            Ok(m) => {
                self.table.play(m, Duration::ZERO);
                self.answer(out)
            }
            Err(mistake) => Ok(writeln!(out, "{mistake}")?),
        }
    }

    /// The opponent moves, if it is its turn, and the board is shown.
    fn answer(&mut self, out: &mut impl Write) -> Result<()> {
        if self.table.over().is_none() && self.table.position().turn() != self.you {
            match self.opponent.choose(&self.table.history())? {
                Some(m) => {
                    let san = SanPlus::from_move(self.table.position().clone(), m);
                    writeln!(out, "{} plays {san}", self.opponent.name())?;
                    self.table.play(m, Duration::ZERO);
                }
                None => {
                    writeln!(out, "{} resigns", self.opponent.name())?;
                    self.table.resign(!self.you);
                }
            }
        }
        self.show(out)?;
        if let Some(outcome) = self.table.over() {
            writeln!(out, "{}", outcome_text(outcome))?;
        }
        Ok(())
    }

    fn undo(&mut self, out: &mut impl Write) -> Result<()> {
        if self.table.undo() {
            return self.show(out);
        }
        Ok(writeln!(out, "There is nothing to take back.")?)
    }

    fn hint(&self, out: &mut impl Write) -> Result<()> {
        for candidate in self.opponent.hint(&self.table.history(), &WallClock::start())? {
            writeln!(out, "  {:<8}{}", candidate.san, candidate.note)?;
        }
        Ok(())
    }

    fn show(&self, out: &mut impl Write) -> Result<()> {
        let position = self.table.position();
        let last = self.table.last_move();
        write!(out, "{}", board::drawn(position.board(), last, self.table.bottom(), self.style))?;
        let check = if position.is_check() { ", check" } else { "" };
        writeln!(out, "{} to move{check}", named(position.turn()))?;
        Ok(())
    }
}
