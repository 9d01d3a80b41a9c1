//! Parsing of typed commands.

use shakmaty::san::{San, SanError, SanPlus};
use shakmaty::{Chess, Color, Move};
use tabia_encoding::{Elo, parse_uci};
use tabia_players::HumanSpec;

/// A line of input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Move(String),
    Hint,
    Undo,
    Flip,
    Moves,
    Legal,
    Fen,
    Pgn,
    Save(String),
    Elo(Elo),
    New(Option<Color>),
    Draw,
    Resign,
    Help,
    Quit,
}

/// Parses a line; `None` if empty, or an error message.
pub(super) fn parse(line: &str) -> Result<Option<Command>, String> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let command = match word.to_ascii_lowercase().as_str() {
        "" => return Ok(None),
        "hint" => Command::Hint,
        "undo" | "takeback" => Command::Undo,
        "flip" => Command::Flip,
        "moves" => Command::Moves,
        "legal" => Command::Legal,
        "fen" => Command::Fen,
        "pgn" => Command::Pgn,
        "draw" => Command::Draw,
        "resign" => Command::Resign,
        "help" | "?" => Command::Help,
        "quit" | "exit" => Command::Quit,
        "save" if rest.is_empty() => return Err("save needs a file name: save game.pgn".to_owned()),
        "save" => Command::Save(rest.to_owned()),
        "elo" => match rest.parse::<u16>() {
            Ok(elo) if HumanSpec::RATINGS.contains(&elo) => Command::Elo(Elo(elo)),
            _ => {
                let (least, most) = HumanSpec::RATINGS.into_inner();
                return Err(format!("elo needs a rating from {least} to {most}: elo 1200"));
            }
        },
        "new" => Command::New(match rest.to_ascii_lowercase().as_str() {
            "" => None,
            "white" | "w" => Some(Color::White),
            "black" | "b" => Some(Color::Black),
            _ => return Err("new takes white or black, or nothing to change sides".to_owned()),
        }),
        _ => Command::Move(line.to_owned()),
    };
    Ok(Some(command))
}

/// The legal move of `text` in SAN or UCI notation, or an error message.
pub(super) fn find_move(position: &Chess, text: &str) -> Result<Move, String> {
    if let Ok(m) = parse_uci(position, &text.to_ascii_lowercase()) {
        return Ok(m);
    }
    // Accept zeros for castling and promotions without `=`.
    let tidy = text.replace('0', "O");
    let Ok(san) = tidy.parse::<SanPlus>().map(|plus| plus.san).or_else(|_| tidy.parse::<San>()) else {
        return Err(format!(
            "{text:?} is neither a move nor a command. Type help for help, legal for the moves."
        ));
    };
    san.to_move(position).map_err(|e| match e {
        SanError::AmbiguousSan => format!("{text} fits more than one move; say which piece, as in Nbd7."),
        SanError::IllegalSan => format!("{text} is not legal here. Type legal for the moves."),
    })
}

#[cfg(test)]
mod tests {
    use shakmaty::{Position, Square};
    use tabia_game::position_from_fen;

    use super::*;

    #[test]
    fn words_are_commands_and_the_rest_are_moves() {
        assert_eq!(parse("  UNDO \n"), Ok(Some(Command::Undo)));
        assert_eq!(parse("elo 1200"), Ok(Some(Command::Elo(Elo(1200)))));
        assert_eq!(parse("new black"), Ok(Some(Command::New(Some(Color::Black)))));
        assert_eq!(parse("save my game.pgn"), Ok(Some(Command::Save("my game.pgn".to_owned()))));
        assert_eq!(parse("Nf3"), Ok(Some(Command::Move("Nf3".to_owned()))));
        assert_eq!(parse("\n"), Ok(None));
        assert!(parse("elo high").unwrap_err().contains("rating"));
        assert!(parse("save").unwrap_err().contains("file name"));
    }

    #[test]
    fn moves_in_both_notations() {
        let castling = position_from_fen("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1").unwrap();
        let short = Move::Castle { king: Square::E1, rook: Square::H1 };
        for text in ["O-O", "0-0", "e1g1", "e1h1", "E1G1", "O-O+"] {
            assert_eq!(find_move(&castling, text), Ok(short), "{text}");
        }
        let promotion = position_from_fen("8/P7/8/8/8/8/4k3/6K1 w - - 0 1").unwrap();
        assert_eq!(find_move(&promotion, "a8=N"), find_move(&promotion, "a7a8n"));
        assert!(promotion.is_legal(find_move(&promotion, "a8=Q").unwrap()));
    }

    #[test]
    fn mistakes_are_explained() {
        let start = Chess::default();
        assert!(find_move(&start, "Nf6").unwrap_err().contains("not legal"));
        assert!(find_move(&start, "hello").unwrap_err().contains("help"));
        let knights = position_from_fen("4k3/8/8/8/8/2N3N1/8/4K3 w - - 0 1").unwrap();
        assert!(find_move(&knights, "Ne4").unwrap_err().contains("more than one"));
    }
}
