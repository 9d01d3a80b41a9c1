#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{borrow::Cow, io::Read, ops::ControlFlow};

use pgn_reader::{Nag, RawComment, RawTag, Reader, Skip, Visitor};
use shakmaty::{
    Chess, Position,
    san::{SanError, SanPlus},
};

use super::{
    BrokenGame, Problem, RawGame, RawGames,
    survey::{find_move, survey},
};
use crate::{Game, Headers, NodeId, notes::append_text, position_from_fen};

/// How a game is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Handling of variations.
    pub variations: Variations,
    /// Handling of games without a result.
    pub missing_result: MissingResult,
}

/// Handling of variations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variations {
    /// Keep them in the tree.
    #[default]
    Keep,
    /// Skip them, and faults inside them.
    Skip,
}

/// Handling of games without a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingResult {
    /// Take the `Result` tag, or else no result.
    #[default]
    Accept,
    /// Reject the game, as its end may be missing.
    Reject,
}

/// Reads games from a PGN stream, one at a time; broken ones come as errors and the next game follows.
///
/// A failing stream is the last item.
#[derive(Debug)]
pub struct PgnReader<R> {
    games: RawGames<R>,
    options: ReadOptions,
}

impl<R: Read> PgnReader<R> {
    /// Reads a stream with variations; no other buffering is needed.
    pub fn new(input: R) -> PgnReader<R> {
        PgnReader::with_options(RawGames::new(input), ReadOptions::default())
    }

    /// Reads games already split from a stream.
    pub fn with_options(games: RawGames<R>, options: ReadOptions) -> PgnReader<R> {
        PgnReader { games, options }
    }
}

impl<R: Read> Iterator for PgnReader<R> {
    type Item = Result<Game, BrokenGame>;

    fn next(&mut self) -> Option<Self::Item> {
        let options = self.options;
        self.games.next().map(|raw| raw.and_then(|raw| raw.read(options)))
    }
}

/// Reads the text of one game, with variations.
///
/// # Errors
/// If the game is broken; the readable part comes with the error.
pub fn read_game(text: &[u8]) -> Result<Game, BrokenGame> {
    RawGame::alone(text).read(ReadOptions::default())
}

impl RawGame<'_> {
    /// Parses the game.
    ///
    /// # Errors
    /// If the game is broken; the readable part comes with the error.
    pub fn read(&self, options: ReadOptions) -> Result<Game, BrokenGame> {
        let movetext = self.bytes.get(self.movetext..).unwrap_or_default();
        let survey = survey(movetext);
        let sound = survey.fault.as_ref().map(|fault| fault.sound);
        let mut builder = Builder::new(options, sound);
        // A tag or comment longer than pgn-reader's buffer is cut into pieces or refused; long games get a larger one.
        let longest = self.bytes.len().min(1 << 16);
        let mut reader = Reader::build(self.bytes).set_supported_tag_line_length(longest).finish();
        let mut tags_end = true;
        // A blank line ends a game for pgn-reader. The bytes are those of one game, so reading goes on.
        while builder.stop.is_none() {
            match reader.read_game(&mut builder) {
                Ok(Some(())) => {}
                Ok(None) => break,
                Err(_) => {
                    // Reading from memory fails only at a tag or comment without an end; the survey saw the latter.
                    tags_end = survey.fault.is_some();
                    break;
                }
            }
        }
        let is_nothing = !builder.has_tags && builder.moves == 0 && !survey.has_result;
        let moves = builder.moves;
        let (stop, illegal_variation) = (builder.stop.take(), builder.illegal_variation.take());
        let game = builder.finish();
        let at_move = |problem, index: usize, at: Option<std::ops::Range<usize>>, token: String| BrokenGame {
            place: self.place,
            problem,
            offset: at.map(|at| self.place.offset + (self.movetext + at.start) as u64),
            ply: u32::try_from(index + 1).unwrap_or(u32::MAX),
            token,
            readable: None,
        };
        let text_at = |at: &std::ops::Range<usize>| shortened(movetext.get(at.clone()).unwrap_or_default());
        let mut broken = match (stop, survey.fault) {
            (Some(Stop::Setup(problem, token)), _) => {
                let mut broken = BrokenGame::of_game(self.place, problem);
                broken.token = token;
                return Err(broken);
            }
            (Some(Stop::BadMove(problem, san)), _) => {
                let at = find_move(movetext, moves);
                let token = at.as_ref().map_or_else(|| san.to_string(), text_at);
                at_move(problem, moves, at, token)
            }
            (_, Some(fault)) => {
                let token = text_at(&fault.at);
                at_move(fault.problem, fault.sound, Some(fault.at), token)
            }
            (_, None) if !tags_end => BrokenGame::of_game(self.place, Problem::UnclosedTag),
            (_, None) if is_nothing => {
                let mut broken = BrokenGame::of_game(self.place, Problem::NoGame);
                broken.token = shortened(self.bytes.trim_ascii());
                return Err(broken);
            }
            (_, None) => match illegal_variation {
                Some((ply, san)) => at_move(Problem::IllegalVariation, ply, None, san.to_string()),
                None if options.missing_result == MissingResult::Reject && !survey.has_result => {
                    at_move(Problem::NoResult, moves, None, String::new())
                }
                None => return Ok(game),
            },
        };
        broken.readable = Some(Box::new(game));
        Err(broken)
    }
}

/// A printable prefix of an invalid text.
fn shortened(text: &[u8]) -> String {
    const LONGEST: usize = 40;
    let decoded = decode(text);
    let mut short: String =
        decoded.chars().take(LONGEST).map(|c| if c.is_control() { '·' } else { c }).collect();
    if decoded.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}

/// Text as UTF-8, or else as Latin-1, the encoding of the PGN standard.
fn decode(text: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(text) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(text.iter().copied().map(char::from).collect()),
    }
}

/// Why reading stopped before the end.
enum Stop {
    /// A move of the main line that is not legal.
    BadMove(Problem, SanPlus),
    /// An invalid tag, with its value.
    Setup(Problem, String),
    /// All valid moves have been read.
    Sound,
}

/// A line of moves being read: the main line or a variation.
struct Line {
    at: NodeId,
    position: Chess,
    /// The position before the move to `at`, which a variation starts from. `None` before the line's first move.
    before: Option<Chess>,
    /// A comment before the line's first move.
    opening: String,
    /// A move was illegal: the rest of the line is skipped.
    broken: bool,
}

/// Builds a game from the events of pgn-reader, which may see several games in it, see [`RawGame::read`].
struct Builder {
    options: ReadOptions,
    /// How many moves of the main line to read.
    sound: Option<usize>,
    has_tags: bool,
    headers: Headers,
    result_tag: Option<shakmaty::Outcome>,
    fen: Option<String>,
    variant: Option<String>,
    result: Option<shakmaty::Outcome>,
    game: Option<Game>,
    line: Line,
    /// The lines around the current one, the main line first.
    around: Vec<Line>,
    /// Moves of the main line.
    moves: usize,
    /// A comment so far, when it is too long for pgn-reader's buffer.
    comment: Vec<u8>,
    illegal_variation: Option<(usize, SanPlus)>,
    stop: Option<Stop>,
}

impl Builder {
    fn new(options: ReadOptions, sound: Option<usize>) -> Builder {
        Builder {
            options,
            sound,
            has_tags: false,
            headers: Headers::default(),
            result_tag: None,
            fen: None,
            variant: None,
            result: None,
            game: None,
            line: Line {
                at: NodeId::ROOT,
                position: Chess::default(),
                before: None,
                opening: String::new(),
                broken: false,
            },
            around: Vec::new(),
            moves: 0,
            comment: Vec::new(),
            illegal_variation: None,
            stop: None,
        }
    }

    fn finish(self) -> Game {
        let mut game = self.game.unwrap_or_default();
        game.headers = self.headers;
        game.result = self.result.or(self.result_tag).unwrap_or(shakmaty::Outcome::Unknown);
        game
    }

    fn stop(&mut self, stop: Stop) -> ControlFlow<()> {
        self.stop = Some(stop);
        ControlFlow::Break(())
    }

    fn game(&mut self) -> &mut Game {
        self.game.get_or_insert_default()
    }

    fn in_variation(&self) -> bool {
        !self.around.is_empty()
    }

    fn set_up(&mut self) -> ControlFlow<()> {
        if let Some(variant) = self.variant.take() {
            // Programs spell it with and without blanks and hyphens.
            let bare: String = variant.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
            let known = [
                "standard",
                "chess",
                "normal",
                "fromposition",
                "chess960",
                "fischerandom",
                "fischerrandom",
                "freestyle",
                "",
            ];
            if !known.contains(&bare.to_ascii_lowercase().as_str()) {
                let token = shortened(variant.as_bytes());
                return self.stop(Stop::Setup(Problem::UnsupportedVariant, token));
            }
        }
        if let Some(fen) = self.fen.take() {
            match position_from_fen(&fen) {
                Ok(position) => self.line.position = position,
                Err(error) => {
                    let token = shortened(fen.as_bytes());
                    return self.stop(Stop::Setup(Problem::BadFen(error), token));
                }
            }
        }
        self.game = Some(Game::from_position(self.line.position.clone()));
        ControlFlow::Continue(())
    }

    fn add_comment(&mut self, comment: &[u8]) {
        if self.line.broken {
            return;
        }
        let text = decode(comment);
        let text = if text.contains(['\n', '\r']) {
            Cow::Owned(text.replace("\r\n", " ").replace(['\n', '\r'], " "))
        } else {
            text
        };
        if self.in_variation() && self.line.before.is_none() {
            let text = text.trim();
            if !text.is_empty() {
                append_text(&mut self.line.opening, text);
            }
        } else {
            let at = self.line.at;
            self.game().notes_mut(at).add_comment(&text);
        }
    }
}

impl Visitor for Builder {
    type Tags = ();
    type Movetext = ();
    type Output = ();

    fn begin_tags(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn tag(&mut self, (): &mut (), name: &[u8], value: RawTag<'_>) -> ControlFlow<()> {
        self.has_tags = true;
        let Ok(name) = str::from_utf8(name) else { return ControlFlow::Continue(()) };
        let value = value.decode();
        let value = decode(&value);
        match name {
            // A `Variant` tag after moves is ignored.
            "FEN" | "Variant" if self.moves > 0 => {}
            "FEN" => self.fen = Some(value.into_owned()),
            "SetUp" => {}
            "Result" => self.result_tag = value.parse().ok(),
            _ => {
                if name == "Variant" {
                    self.variant = Some(value.clone().into_owned());
                }
                // An invalid tag name is ignored.
                let _not_a_tag = self.headers.set(name, value);
            }
        }
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, (): ()) -> ControlFlow<()> {
        // Stray text may separate tags into two parts; the second may hold the FEN.
        let more = self.fen.is_some() || self.variant.is_some();
        if self.game.is_none() || (self.moves == 0 && more) {
            self.set_up()
        } else {
            ControlFlow::Continue(())
        }
    }

    fn san(&mut self, (): &mut (), san: SanPlus) -> ControlFlow<()> {
        let in_variation = self.in_variation();
        if self.line.broken {
            return ControlFlow::Continue(());
        }
        if !in_variation && self.sound == Some(self.moves) {
            return self.stop(Stop::Sound);
        }
        let m = match san.san.to_move(&self.line.position) {
            Ok(m) => m,
            Err(_) if in_variation => {
                self.line.broken = true;
                if self.illegal_variation.is_none() {
                    self.illegal_variation = Some((self.moves, san));
                }
                return ControlFlow::Continue(());
            }
            Err(SanError::IllegalSan) => return self.stop(Stop::BadMove(Problem::IllegalMove, san)),
            Err(SanError::AmbiguousSan) => return self.stop(Stop::BadMove(Problem::AmbiguousMove, san)),
        };
        let parent = self.line.at;
        let node = self.game().add_legal(parent, m);
        self.line.at = node;
        if self.options.variations == Variations::Keep {
            self.line.before = Some(self.line.position.clone());
            let opening = std::mem::take(&mut self.line.opening);
            if !opening.is_empty() {
                append_text(&mut self.game().notes_mut(node).before, &opening);
            }
        }
        self.line.position.play_unchecked(m);
        self.moves += usize::from(!in_variation);
        ControlFlow::Continue(())
    }

    fn nag(&mut self, (): &mut (), nag: Nag) -> ControlFlow<()> {
        let at = self.line.at;
        // There is no move at the start of a line.
        let has_move = if self.in_variation() { self.line.before.is_some() } else { self.moves > 0 };
        if has_move && !self.line.broken {
            self.game().notes_mut(at).nags.push(nag);
        }
        ControlFlow::Continue(())
    }

    fn partial_comment(&mut self, (): &mut (), comment: RawComment<'_>) -> ControlFlow<()> {
        self.comment.extend_from_slice(comment.as_bytes());
        ControlFlow::Continue(())
    }

    fn comment(&mut self, (): &mut (), comment: RawComment<'_>) -> ControlFlow<()> {
        if self.comment.is_empty() {
            self.add_comment(comment.as_bytes());
        } else {
            let mut whole = std::mem::take(&mut self.comment);
            whole.extend_from_slice(comment.as_bytes());
            self.add_comment(&whole);
        }
        ControlFlow::Continue(())
    }

    fn begin_variation(&mut self, (): &mut ()) -> ControlFlow<(), Skip> {
        // A variation replaces the last move; without one, or where lines are broken, there is nothing to replace.
        let parent = self.game.as_ref().and_then(|game| game.parent(self.line.at));
        let variation = match (parent, self.line.before.clone()) {
            (Some(at), Some(position))
                if self.options.variations == Variations::Keep && !self.line.broken =>
            {
                Line { at, position, before: None, opening: String::new(), broken: false }
            }
            _ => Line {
                at: self.line.at,
                position: self.line.position.clone(),
                before: None,
                opening: String::new(),
                broken: true,
            },
        };
        let skip = Skip(variation.broken);
        self.around.push(std::mem::replace(&mut self.line, variation));
        ControlFlow::Continue(skip)
    }

    fn end_variation(&mut self, (): &mut ()) -> ControlFlow<()> {
        if let Some(line) = self.around.pop() {
            self.line = line;
        }
        ControlFlow::Continue(())
    }

    fn outcome(&mut self, (): &mut (), outcome: shakmaty::Outcome) -> ControlFlow<()> {
        if !self.in_variation() && self.result.is_none() {
            self.result = Some(outcome);
        }
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, (): ()) {}
}
