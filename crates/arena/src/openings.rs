#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read},
    path::Path,
};

use sha2::{Digest as _, Sha256};
use shakmaty::{Chess, Color, Move, Position as _};
use tabia_game::{
    BrokenGame, Chess960, EpdError, EpdRecord, FenError, Odds, PgnReader, RawGames, ReadOptions, Variations,
    fen_of,
};
use tabia_players::ChallengeRules;

use crate::{hex, uci_of};

/// A start position with book moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Opening {
    /// Name; may be empty.
    pub name: String,
    start: Chess,
    moves: Vec<Move>,
    position: Chess,
}

impl Opening {
    /// A position without book moves.
    pub fn from_position(name: impl Into<String>, position: Chess) -> Opening {
        Opening { name: name.into(), start: position.clone(), moves: Vec::new(), position }
    }

    /// Position before the book moves.
    pub fn start(&self) -> &Chess {
        &self.start
    }

    /// Book moves.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Position after the book moves.
    pub fn position(&self) -> &Chess {
        &self.position
    }

    /// The same with one more book move, which is legal.
    pub fn followed_by(mut self, m: Move) -> Opening {
        self.position.play_unchecked(m);
        self.moves.push(m);
        self
    }

    /// Name, or the FEN of the position.
    pub fn label(&self) -> String {
        if self.name.is_empty() { fen_of(&self.position) } else { self.name.clone() }
    }
}

/// A non-empty opening book.
#[derive(Clone, Debug, PartialEq)]
pub struct Openings {
    list: Vec<Opening>,
    /// For the second game of a pair, where it does not start as the first one.
    reversed: Option<Opening>,
}

/// Error reading an opening book.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {kind}")]
pub struct OpeningsError {
    /// File.
    pub file: String,
    /// Kind of error.
    pub kind: OpeningsErrorKind,
}

/// Kind of [`OpeningsError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpeningsErrorKind {
    /// I/O error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Invalid archive.
    #[error("invalid archive: {0}")]
    Zip(#[from] zip::result::ZipError),
    /// The archive does not contain exactly one book.
    #[error("{0} books in the archive (expected one .fen, .epd, .txt or .pgn file)")]
    NotOneBook(usize),
    /// Unknown file extension.
    #[error("unknown file type (expected .fen, .epd, .txt or .pgn, plain or in a .zip)")]
    UnknownFormat,
    /// Invalid FEN or EPD line.
    #[error(transparent)]
    Line(#[from] EpdError),
    /// Invalid PGN game.
    #[error(transparent)]
    Game(#[from] Box<BrokenGame>),
    /// A position without legal moves.
    #[error("{at}: no legal moves in this position")]
    GameOver {
        /// Line or game.
        at: String,
    },
    /// No openings.
    #[error("no openings")]
    Empty,
}

/// Openings of a level of the challenge.
const CHALLENGE_OPENINGS: usize = 25;

/// The openings of 2026 among the 50.
const EDITION_2026: [usize; CHALLENGE_OPENINGS] =
    [0, 1, 2, 3, 8, 9, 12, 14, 16, 17, 19, 20, 21, 23, 24, 27, 29, 30, 31, 33, 34, 35, 38, 40, 43];

/// Maximum size of an uncompressed book.
const MAX_BOOK_BYTES: u64 = 1 << 30;

#[derive(Clone, Copy)]
enum Format {
    Lines,
    Pgn,
}

impl Openings {
    fn of(list: Vec<Opening>) -> Openings {
        Openings { list, reversed: None }
    }

    /// The first player of each pairing gives odds, with either colour.
    pub fn at_odds(odds: Odds) -> Openings {
        let opening = |giver| Opening::from_position(format!("{odds} odds"), odds.start(giver));
        Openings { list: vec![opening(Color::White)], reversed: Some(opening(Color::Black)) }
    }

    /// The opening of the second game of a pair, where it differs from that of the first.
    pub(crate) fn reversed(&self) -> Option<&Opening> {
        self.reversed.as_ref()
    }

    /// All start positions of Chess960, in the order that the seed draws them.
    pub fn chess960(seed: u64) -> Openings {
        let numbers = (0..Chess960::COUNT).filter_map(Chess960::new);
        let opening = |number: Chess960| {
            Opening::from_position(format!("Chess960 position {number}"), number.position())
        };
        Openings::of(numbers.map(opening).collect()).shuffled(seed)
    }

    /// 25 balanced openings, for matches.
    pub fn balanced() -> Openings {
        let list = lines(include_str!("../data/balanced-openings.fen"));
        Openings::of(list.unwrap_or_default())
    }

    /// The 25 openings of a challenge: by the original rules drawn from its list of 50, by those of 2026 always the same.
    pub fn challenge(rules: ChallengeRules, seed: u64) -> Openings {
        let list = lines(include_str!("../data/challenge-openings.fen")).unwrap_or_default();
        match rules {
            ChallengeRules::Original => {
                let mut openings = Openings::of(list).shuffled(seed);
                openings.list.truncate(CHALLENGE_OPENINGS);
                openings
            }
            ChallengeRules::Edition2026 => {
                let played = list.into_iter().enumerate().filter(|(index, _)| EDITION_2026.contains(index));
                Openings::of(played.map(|(_, opening)| opening).collect())
            }
        }
    }

    /// The standard start position.
    pub fn start_position() -> Openings {
        Openings::of(vec![Opening::from_position("start", Chess::default())])
    }

    /// Reads a book: `.fen`, `.epd` and `.txt` have one position per line, `.pgn` has games, `.zip` contains one of them.
    ///
    /// Blank lines and lines starting with `#` are ignored; a comment directly above a position is its name, as is the
    /// EPD operation `id`. A PGN game is an opening up to its last move.
    ///
    /// # Errors
    /// If the file cannot be read or a line or game is invalid.
    pub fn open(path: &Path) -> Result<Openings, OpeningsError> {
        let in_file = |kind| OpeningsError { file: path.display().to_string(), kind };
        let file = File::open(path).map_err(|error| in_file(error.into()))?;
        let list = if extension(path) == "zip" {
            from_zip(file)
        } else {
            match format_of(path) {
                Some(format) => read(format, file),
                None => Err(OpeningsErrorKind::UnknownFormat),
            }
        };
        list.map(Openings::of).map_err(in_file)
    }

    /// Reads FEN or EPD lines. `file` is the name used in errors.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_lines(text: &str, file: &str) -> Result<Openings, OpeningsError> {
        let list = lines(text).map_err(|kind| OpeningsError { file: file.to_owned(), kind })?;
        Ok(Openings::of(list))
    }

    /// Reads PGN games. `file` is the name used in errors.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_pgn(input: impl Read, file: &str) -> Result<Openings, OpeningsError> {
        let list = games(input).map_err(|kind| OpeningsError { file: file.to_owned(), kind })?;
        Ok(Openings::of(list))
    }

    /// Shuffles the openings. The order depends only on the seed (SplitMix64), not on a library version.
    #[must_use]
    pub fn shuffled(mut self, seed: u64) -> Openings {
        let mut state = seed;
        for last in (1..self.list.len()).rev() {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = crate::mix(state);
            let chosen = (u128::from(mixed) * (last as u128 + 1)) >> 64;
            self.list.swap(last, chosen as usize);
        }
        self
    }

    /// The opening of this name alone, in any case; `None` if the book has none.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Openings> {
        let found = self.list.iter().find(|opening| opening.label().eq_ignore_ascii_case(name.trim()))?;
        Some(Openings::of(vec![found.clone()]))
    }

    /// Openings, in order.
    pub fn list(&self) -> &[Opening] {
        &self.list
    }

    /// Hash of the openings and their order, in hexadecimal.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for opening in self.list.iter().chain(&self.reversed) {
            hash.update(fen_of(&opening.start));
            for m in &opening.moves {
                hash.update(" ");
                hash.update(uci_of(*m, &opening.start));
            }
            hash.update("\n");
        }
        hex(&hash.finalize())
    }
}

fn extension(path: &Path) -> String {
    path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase()
}

fn format_of(path: &Path) -> Option<Format> {
    match extension(path).as_str() {
        "fen" | "epd" | "txt" => Some(Format::Lines),
        "pgn" => Some(Format::Pgn),
        _ => None,
    }
}

fn from_zip(file: File) -> Result<Vec<Opening>, OpeningsErrorKind> {
    let mut archive = zip::ZipArchive::new(io::BufReader::new(file))?;
    let mut books: Vec<(usize, Format)> = Vec::new();
    for index in 0..archive.len() {
        let format = format_of(Path::new(archive.by_index(index)?.name()?.as_ref()));
        books.extend(format.map(|format| (index, format)));
    }
    let [(index, format)] = books.as_slice() else {
        return Err(OpeningsErrorKind::NotOneBook(books.len()));
    };
    read(*format, archive.by_index(*index)?)
}

fn read(format: Format, input: impl Read) -> Result<Vec<Opening>, OpeningsErrorKind> {
    let mut input = input.take(MAX_BOOK_BYTES);
    match format {
        Format::Pgn => games(input),
        Format::Lines => {
            let mut text = String::new();
            input.read_to_string(&mut text)?;
            lines(&text)
        }
    }
}

fn lines(text: &str) -> Result<Vec<Opening>, OpeningsErrorKind> {
    let mut openings = Vec::new();
    let mut comment = "";
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start_matches('\u{feff}');
        if let Some(text) = line.trim_start().strip_prefix('#') {
            comment = text.trim();
            continue;
        }
        let name = std::mem::take(&mut comment);
        let Some(record) = EpdRecord::parse(line, index + 1)? else { continue };
        if record.position.legal_moves().is_empty() {
            return Err(OpeningsErrorKind::GameOver { at: format!("line {}", index + 1) });
        }
        let name = record.text("id").unwrap_or(name).to_owned();
        openings.push(Opening::from_position(name, record.position));
    }
    if openings.is_empty() { Err(OpeningsErrorKind::Empty) } else { Ok(openings) }
}

fn games(input: impl Read) -> Result<Vec<Opening>, OpeningsErrorKind> {
    let options = ReadOptions { variations: Variations::Skip, ..ReadOptions::default() };
    let mut openings = Vec::new();
    for (index, game) in PgnReader::with_options(RawGames::new(input), options).enumerate() {
        let game = game.map_err(Box::new)?;
        let name = ["Opening", "ECO", "Eco"].iter().find_map(|tag| game.headers.get(tag));
        let position = game.position(game.last());
        if position.legal_moves().is_empty() {
            return Err(OpeningsErrorKind::GameOver { at: format!("game {}", index + 1) });
        }
        openings.push(Opening {
            name: name.unwrap_or_default().to_owned(),
            start: game.start().clone(),
            moves: game.moves().collect(),
            position,
        });
    }
    if openings.is_empty() { Err(OpeningsErrorKind::Empty) } else { Ok(openings) }
}

/// Parses a FEN.
impl TryFrom<&str> for Opening {
    type Error = FenError;

    fn try_from(fen: &str) -> Result<Opening, FenError> {
        Ok(Opening::from_position("", tabia_game::position_from_fen(fen)?))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn balanced_openings_are_25_with_distinct_names() {
        let openings = Openings::balanced();
        let positions: HashSet<String> = openings.list().iter().map(|o| fen_of(o.position())).collect();
        let names: HashSet<&str> = openings.list().iter().map(|o| o.name.as_str()).collect();
        assert_eq!((openings.list().len(), positions.len(), names.len()), (25, 25, 25));
        assert!(names.contains("Sicilian Defence, Najdorf"), "{names:?}");
        for opening in openings.list() {
            assert!((4..=6).contains(&opening.position().fullmoves().get()), "{}", opening.name);
            assert!(!opening.name.contains('('), "{}", opening.name);
        }
    }

    #[test]
    fn chess960_openings_are_drawn_by_the_seed() {
        let openings = Openings::chess960(7);
        let positions: HashSet<String> = openings.list().iter().map(|o| fen_of(o.position())).collect();
        assert_eq!(positions.len(), 960);
        assert_eq!(openings, Openings::chess960(7));
        assert_ne!(openings.list()[0], Openings::chess960(8).list()[0]);
        assert_eq!(openings.named("chess960 position 518").unwrap().list()[0].position(), &Chess::default());
    }

    #[test]
    fn challenges_draw_25_openings_of_50() {
        let names = |rules, seed| -> Vec<String> {
            Openings::challenge(rules, seed).list().iter().map(|opening| opening.name.clone()).collect()
        };
        let all: HashSet<String> = (0..40).flat_map(|seed| names(ChallengeRules::Original, seed)).collect();
        assert_eq!(all.len(), 50);
        for seed in 0..5 {
            let drawn = names(ChallengeRules::Original, seed);
            assert_eq!((drawn.len(), drawn.iter().collect::<HashSet<_>>().len()), (25, 25));
            assert_eq!(drawn, names(ChallengeRules::Original, seed));
        }
        let fixed = names(ChallengeRules::Edition2026, 1);
        assert_eq!(
            (fixed.len(), fixed[0].as_str(), fixed[24].as_str()),
            (25, "Italian Game", "Evans Gambit")
        );
        assert_eq!(fixed, names(ChallengeRules::Edition2026, 2));
    }

    /// Scores are comparable only with the same openings.
    #[test]
    fn balanced_openings_are_unchanged() {
        assert_eq!(
            Openings::balanced().digest(),
            "3e698f23243aa628f760bd9402a9fa2e656053fe9ea7d7d290ef0bcbefb67218"
        );
    }

    #[test]
    fn lines_with_comments_names_and_errors() {
        let text = "# a header\n\n# Start\nrnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n\n\
            8/8/4k3/8/8/3QK3/8/8 w - - id \"a mate\";\r\n8/8/4k3/8/8/3QK3/8/8 b - -\n";
        let openings = Openings::from_lines(text, "book").unwrap();
        let names: Vec<&str> = openings.list().iter().map(|opening| opening.name.as_str()).collect();
        assert_eq!(names, ["Start", "a mate", ""]);
        let error = |text: &str| Openings::from_lines(text, "book").unwrap_err().kind;
        assert!(matches!(error("# x\n\nhello"), OpeningsErrorKind::Line(_)));
        assert!(matches!(error("# nothing\n"), OpeningsErrorKind::Empty));
        let mate = "7k/6Q1/5K2/8/8/8/8/8 b - - 0 1";
        assert!(matches!(error(mate), OpeningsErrorKind::GameOver { at } if at == "line 1"));
    }

    #[test]
    fn pgn_games_are_openings_up_to_their_last_move() {
        let pgn = "[ECO \"B00\"]\n\n1. e4 (1. d4) c5 2. Nf3 1-0\n\n[Event \"x\"]\n\n1. d4 *\n";
        let openings = Openings::from_pgn(pgn.as_bytes(), "book").unwrap();
        let [sicilian, queens] = openings.list() else { panic!("two openings") };
        assert_eq!((sicilian.name.as_str(), sicilian.moves().len(), queens.moves().len()), ("B00", 3, 1));
        let after = "rnbqkbnr/pp1ppppp/8/2p5/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 2";
        assert_eq!(fen_of(sicilian.position()), after);
        let broken = Openings::from_pgn("1. e4 e5 2. Ke3 *".as_bytes(), "book").unwrap_err();
        assert!(matches!(broken.kind, OpeningsErrorKind::Game(_)), "{broken}");
    }

    #[test]
    fn order_depends_on_the_seed() {
        let names = |openings: Openings| -> Vec<String> {
            openings.list().iter().map(|opening| opening.name.clone()).collect()
        };
        let original = names(Openings::balanced());
        let one = names(Openings::balanced().shuffled(1));
        assert_eq!(one, names(Openings::balanced().shuffled(1)));
        assert_ne!(one, original);
        assert_ne!(one, names(Openings::balanced().shuffled(2)));
        let (one, original): (HashSet<_>, HashSet<_>) =
            (one.into_iter().collect(), original.into_iter().collect());
        assert_eq!(one, original);
        assert_ne!(Openings::balanced().digest(), Openings::balanced().shuffled(1).digest());
    }
}
