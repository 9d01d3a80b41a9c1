//! `tabia play`: a game against a network, in the terminal.

mod board;
mod command;
mod opponent;

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, Result};
use shakmaty::san::SanPlus;
use shakmaty::{Chess, Color, Move, Position};
use tabia_game::{
    DrawReason, Game, NodeId, Outcome, Status, WinReason, fen_of, position_from_fen, write_game,
};

use self::board::Style;
use self::command::Command;
use self::opponent::Opponent;
use crate::cli::{PlayArgs, Seat};

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
    let opponent = Opponent::new(args)?;
    let style = if args.ascii || !std::io::stdout().is_terminal() { Style::Ascii } else { Style::Unicode };
    let start = match &args.fen {
        Some(fen) => position_from_fen(fen).with_context(|| format!("--fen {fen:?}"))?,
        None => Chess::default(),
    };
    let mut table = Table::new(opponent, style, start, args.color);
    let outcome = table.sit(&mut std::io::stdin().lock(), &mut std::io::stdout().lock());
    // Nothing is lost: the game is written even when the input ends or breaks.
    if let Some(path) = &args.pgn {
        table.save(path)?;
    }
    outcome
}

/// One sitting: games against one opponent until the player leaves.
struct Table {
    opponent: Opponent,
    style: Style,
    start: Chess,
    game: Game,
    here: NodeId,
    you: Color,
    bottom: Color,
    over: Option<Outcome>,
}

/// Whether the player stays after a command.
enum Next {
    Stay,
    Leave,
}

impl Table {
    fn new(mut opponent: Opponent, style: Style, start: Chess, seat: Seat) -> Table {
        let you = match seat {
            Seat::White => Color::White,
            Seat::Black => Color::Black,
            Seat::Random => opponent.toss(),
        };
        let game = Game::from_position(start.clone());
        let mut table =
            Table { opponent, style, start, game, here: NodeId::ROOT, you, bottom: you, over: None };
        table.begin(you);
        table
    }

    fn begin(&mut self, you: Color) {
        self.game = Game::from_position(self.start.clone());
        (self.here, self.you, self.bottom, self.over) = (NodeId::ROOT, you, you, None);
        self.opponent.new_game();
        self.name_players();
        self.check_end();
    }

    fn name_players(&mut self) {
        let (mine, theirs) = self.you.fold_wb(("White", "Black"), ("Black", "White"));
        let name = self.opponent.name();
        let plain = "these are plain tag names";
        self.game.headers.set(mine, "You").expect(plain);
        self.game.headers.set(theirs, name).expect(plain);
        self.game.headers.set("Event", "Tabia").expect(plain);
    }

    fn sit(&mut self, input: &mut impl BufRead, out: &mut impl Write) -> Result<()> {
        writeln!(out, "You play {} against {}. Type help for help.", named(self.you), self.opponent.name())?;
        self.answer(out)?;
        loop {
            write!(out, "{}> ", if self.over.is_some() { "(game over) " } else { "" })?;
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
                self.bottom = !self.bottom;
                self.show(out)?;
            }
            Command::Moves => writeln!(out, "{}", self.moves_text())?,
            Command::Legal => writeln!(out, "{}", self.legal_text())?,
            Command::Fen => writeln!(out, "{}", fen_of(&self.position()))?,
            Command::Pgn => write_game(&self.game, out)?,
            Command::Save(path) => match self.save(Path::new(&path)) {
                Ok(()) => writeln!(out, "saved to {path}")?,
                Err(error) => writeln!(out, "not saved: {error:#}")?,
            },
            Command::Elo(elo) => {
                if self.opponent.set_elo(elo)? {
                    self.name_players();
                    writeln!(out, "{} from now on", self.opponent.name())?;
                } else {
                    writeln!(out, "{} does not play at a chosen rating.", self.opponent.name())?;
                }
            }
            Command::New(color) => {
                self.begin(color.unwrap_or(!self.you));
                writeln!(out, "A new game: you play {}.", named(self.you))?;
                self.answer(out)?;
            }
            Command::Draw => match self.game.status(self.here) {
                Status::Ongoing { claim: Some(reason) } if self.over.is_none() => {
                    self.end(Outcome::Draw(reason), out)?;
                }
                _ => writeln!(out, "There is no draw to claim here.")?,
            },
            Command::Resign if self.over.is_none() => {
                self.end(Outcome::Win { winner: !self.you, by: WinReason::Resignation }, out)?;
            }
            Command::Resign => writeln!(out, "The game is over already.")?,
            Command::Help => writeln!(out, "{HELP}")?,
            Command::Quit => return Ok(Next::Leave),
        }
        Ok(Next::Stay)
    }

    fn position(&self) -> Chess {
        self.game.position(self.here)
    }

    fn play_move(&mut self, text: &str, out: &mut impl Write) -> Result<()> {
        if self.over.is_some() {
            writeln!(out, "The game is over. Type new for another, undo to take a move back, or quit.")?;
            return Ok(());
        }
        match command::find_move(&self.position(), text) {
            Ok(m) => {
                self.push(m);
                self.answer(out)
            }
            Err(mistake) => Ok(writeln!(out, "{mistake}")?),
        }
    }

    fn push(&mut self, m: Move) {
        self.here = self.game.add_move(self.here, m).expect("the move was found among the legal ones");
        self.check_end();
    }

    fn check_end(&mut self) {
        if let Status::Over(outcome) = self.game.status(self.here) {
            self.game.finish(outcome);
            self.over = Some(outcome);
        }
    }

    /// The opponent moves, if it is its turn, and the board is shown.
    fn answer(&mut self, out: &mut impl Write) -> Result<()> {
        if self.over.is_none() && self.position().turn() != self.you {
            let m = self.opponent.choose(&self.game.history(self.here))?;
            let san = SanPlus::from_move(self.position(), m);
            writeln!(out, "{} plays {san}", self.opponent.name())?;
            self.push(m);
        }
        self.show(out)?;
        if let Some(outcome) = self.over {
            writeln!(out, "{}", outcome_text(outcome))?;
        }
        Ok(())
    }

    fn end(&mut self, outcome: Outcome, out: &mut impl Write) -> Result<()> {
        self.game.finish(outcome);
        self.over = Some(outcome);
        writeln!(out, "{}", outcome_text(outcome))?;
        Ok(())
    }

    fn undo(&mut self, out: &mut impl Write) -> Result<()> {
        let mut target = self.game.parent(self.here);
        while let Some(node) = target
            && self.game.position(node).turn() != self.you
        {
            target = self.game.parent(node);
        }
        let Some(node) = target else {
            writeln!(out, "There is nothing to take back.")?;
            return Ok(());
        };
        let undone = self.game.line_after(node).next();
        (self.here, self.over) = (node, None);
        if let Some(undone) = undone {
            self.game.delete(undone);
        }
        self.game.result = shakmaty::Outcome::Unknown;
        self.game.headers.remove("Termination");
        self.show(out)
    }

    fn hint(&self, out: &mut impl Write) -> Result<()> {
        let position = self.position();
        for (m, note) in self.opponent.hint(&self.game.history(self.here))? {
            writeln!(out, "  {:<8}{note}", SanPlus::from_move(position.clone(), m).to_string())?;
        }
        Ok(())
    }

    fn show(&self, out: &mut impl Write) -> Result<()> {
        let position = self.position();
        let last = self.game.move_to(self.here);
        write!(out, "{}", board::drawn(position.board(), last, self.bottom, self.style))?;
        let check = if position.is_check() { ", check" } else { "" };
        writeln!(out, "{} to move{check}", named(position.turn()))?;
        Ok(())
    }

    fn moves_text(&self) -> String {
        let mut position = self.game.start().clone();
        let mut text = String::new();
        for (i, m) in self.game.moves().enumerate() {
            let number = position.fullmoves();
            match position.turn() {
                Color::White => text.push_str(&format!("{number}. ")),
                Color::Black if i == 0 => text.push_str(&format!("{number}... ")),
                Color::Black => {}
            }
            text.push_str(&format!("{} ", SanPlus::from_move_and_play_unchecked(&mut position, m)));
        }
        if text.is_empty() { "No moves yet.".to_owned() } else { text }
    }

    fn legal_text(&self) -> String {
        let position = self.position();
        let moves: Vec<_> = position
            .legal_moves()
            .into_iter()
            .map(|m| SanPlus::from_move(position.clone(), m).to_string())
            .collect();
        moves.join(" ")
    }

    fn save(&self, path: &Path) -> Result<()> {
        let mut text = Vec::new();
        write_game(&self.game, &mut text)?;
        std::fs::write(path, text).with_context(|| path.display().to_string())
    }
}

fn named(color: Color) -> &'static str {
    color.fold_wb("White", "Black")
}

fn outcome_text(outcome: Outcome) -> String {
    match outcome {
        Outcome::Win { winner, by } => {
            let how = match by {
                WinReason::Checkmate => "checkmate",
                WinReason::Timeout => "time",
                WinReason::Resignation => "resignation",
                WinReason::Adjudication => "adjudication",
                WinReason::Abandonment => "abandonment",
                WinReason::RulesInfraction => "a breach of the rules",
            };
            format!("{} {} wins by {how}.", winner.fold_wb("1-0", "0-1"), named(winner))
        }
        Outcome::Draw(reason) => {
            let how = match reason {
                DrawReason::Stalemate => "stalemate",
                DrawReason::ThreefoldRepetition => "threefold repetition",
                DrawReason::FivefoldRepetition => "fivefold repetition",
                DrawReason::FiftyMoves => "the fifty-move rule",
                DrawReason::SeventyFiveMoves => "the seventy-five-move rule",
                DrawReason::InsufficientMaterial => "insufficient material",
                DrawReason::TimeoutVsInsufficientMaterial => "time against insufficient material",
                DrawReason::Agreement => "agreement",
                DrawReason::Adjudication => "adjudication",
                DrawReason::PlyLimit => "length",
            };
            format!("1/2-1/2 Draw by {how}.")
        }
        Outcome::Abandoned => "* The game was abandoned.".to_owned(),
    }
}
