#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::io::{self, Read};

use memchr::{memchr, memchr3_iter};

use super::{BrokenGame, Place, Problem};

/// Default limit on the size of a game: 4 MiB.
pub const DEFAULT_GAME_LIMIT: usize = 4 << 20;

/// Read size.
const PORTION: u64 = 256 << 10;

/// Cuts a PGN stream into the bytes of one game each, without parsing them.
///
/// A game starts at a tag pair after moves, or after a blank line that follows a result. Inside a comment, a whole-line
/// `Event` tag pair, or any whole-line tag pair after a blank line, starts a game too, so that an unclosed comment affects
/// one game only. Memory is bounded by the limit on a game's size.
#[derive(Debug)]
pub struct RawGames<R> {
    input: R,
    state: Stream,
    limit: usize,
    /// Bytes read but not yet returned, after `start`.
    buffer: Vec<u8>,
    /// Where the next game begins in the buffer.
    start: usize,
    next: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Open,
    /// Nothing more to read; the buffer holds the rest.
    Ended,
    /// An error was reported.
    Failed,
}

/// The bytes of one game.
#[derive(Clone, Copy, Debug)]
pub struct RawGame<'a> {
    /// The text, from the first tag pair to the byte before the next game.
    pub bytes: &'a [u8],
    /// Where the moves begin in `bytes`.
    pub movetext: usize,
    /// Where the game begins in the stream.
    pub place: Place,
}

/// The part of a game that a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Nothing,
    Tags,
    Moves,
}

/// State of scanning the lines of a game.
#[derive(Debug)]
struct Outline {
    section: Section,
    has_event: bool,
    in_comment: bool,
    /// The last line with moves ended with a result.
    finished: bool,
    after_blank: bool,
    movetext: Option<usize>,
}

/// The effect of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Belongs,
    /// The line begins the next game.
    BeginsNext,
    /// The line ends this game.
    EndsThis,
}

impl<R: Read> RawGames<R> {
    /// Splits a stream; no other buffering is needed.
    pub fn new(input: R) -> RawGames<R> {
        RawGames::with_limit(input, DEFAULT_GAME_LIMIT)
    }

    /// Splits a stream whose games have at most `limit` bytes.
    pub fn with_limit(input: R, limit: usize) -> RawGames<R> {
        RawGames {
            input,
            state: Stream::Open,
            limit,
            buffer: Vec::new(),
            start: 0,
            next: Place { game: 1, offset: 0, line: 1 },
        }
    }

    /// Where the next game begins, or blank lines before it.
    pub fn next_place(&self) -> Place {
        self.next
    }

    /// The next game; `None` at the end.
    ///
    /// # Errors
    /// If a game is longer than the limit (the next call returns the one after it) or the stream fails (the next returns `None`).
    #[expect(
        clippy::should_implement_trait,
        reason = "a game borrows the buffer, which an Iterator cannot lend"
    )]
    pub fn next(&mut self) -> Option<Result<RawGame<'_>, BrokenGame>> {
        if self.state == Stream::Failed {
            return None;
        }
        let mut outline = Outline::new();
        let mut length = 0; // bytes of the game so far
        let mut lines = 0; // line ends among them
        let mut too_long = false;
        let mut mid_line = false; // the game so far ends inside a line that was too long to hold
        let mut place = self.next;
        loop {
            let unread = self.buffer.get(self.start + length..).unwrap_or_default();
            let line_end = memchr(b'\n', unread);
            if line_end.is_none() && self.state == Stream::Open && length + unread.len() <= self.limit {
                if let Err(error) = self.refill() {
                    self.state = Stream::Failed;
                    return Some(Err(BrokenGame::of_game(place, Problem::Io(error))));
                }
                continue;
            }
            let line = line_end.map_or(unread, |end| unread.get(..=end).unwrap_or_default());
            let partial = line_end.is_none() && self.state == Stream::Open;
            if line.is_empty() && !partial {
                break; // the end of the stream
            }
            let verdict = if mid_line { outline.follow(line) } else { outline.take_line(line, length) };
            if verdict == Verdict::BeginsNext {
                break;
            }
            mid_line = partial;
            length += line.len();
            lines += u64::from(line_end.is_some());
            if outline.section == Section::Nothing {
                // Skip blank lines before a game.
                self.drop_front(length, lines);
                (length, lines) = (0, 0);
                place = self.next;
            } else if length > self.limit {
                too_long = true;
            }
            if too_long {
                self.drop_front(length, lines);
                (length, lines) = (0, 0);
            }
            if verdict == Verdict::EndsThis {
                break;
            }
        }
        if outline.section == Section::Nothing {
            return None;
        }
        let from = self.start;
        self.drop_front(length, lines);
        self.next.game += 1;
        if too_long {
            return Some(Err(BrokenGame::of_game(place, Problem::TooLong { limit: self.limit })));
        }
        let bytes = self.buffer.get(from..from + length).unwrap_or_default();
        Some(Ok(RawGame { bytes, movetext: outline.movetext.unwrap_or(length), place }))
    }

    /// Skips bytes at the front without dropping them yet.
    fn drop_front(&mut self, bytes: usize, lines: u64) {
        self.start += bytes;
        self.next.offset += bytes as u64;
        self.next.line += lines;
    }

    fn refill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.start);
        self.start = 0;
        if (&mut self.input).take(PORTION).read_to_end(&mut self.buffer)? == 0 {
            self.state = Stream::Ended;
        }
        Ok(())
    }
}

impl Outline {
    fn new() -> Outline {
        Outline {
            section: Section::Nothing,
            has_event: false,
            in_comment: false,
            finished: false,
            after_blank: false,
            movetext: None,
        }
    }

    /// Looks at a line that begins `at` bytes into the game.
    fn take_line(&mut self, line: &[u8], at: usize) -> Verdict {
        let unmarked = if self.section == Section::Nothing { strip_byte_order_mark(line) } else { line };
        let trimmed = unmarked.trim_ascii();
        if trimmed.is_empty() {
            self.after_blank = true;
            let ends = self.section == Section::Moves && self.finished && !self.in_comment;
            return if ends { Verdict::EndsThis } else { Verdict::Belongs };
        }
        let after_blank = std::mem::take(&mut self.after_blank);
        match self.section {
            Section::Nothing | Section::Tags => {
                if trimmed.starts_with(b"[") {
                    let is_event = trimmed.starts_with(b"[Event \"");
                    if is_event && self.has_event {
                        return Verdict::BeginsNext; // a game without moves
                    }
                    self.has_event |= is_event;
                    self.section = Section::Tags;
                    return Verdict::Belongs;
                }
                let aside = trimmed.starts_with(b"%") || trimmed.starts_with(b";");
                if aside && self.section == Section::Tags {
                    return Verdict::Belongs;
                }
                self.section = Section::Moves;
                self.movetext = Some(at);
            }
            Section::Moves => {
                if let Some(name) = tag_pair(unmarked) {
                    let whole = trimmed.ends_with(b"\"]");
                    if !self.in_comment || (whole && (after_blank || name == b"Event")) {
                        return Verdict::BeginsNext;
                    }
                }
            }
        }
        self.follow(line)
    }

    /// Keeps track of comments through a line of moves, or a piece of one.
    fn follow(&mut self, line: &[u8]) -> Verdict {
        if !self.in_comment && line.starts_with(b"%") {
            return Verdict::Belongs;
        }
        for at in memchr3_iter(b'{', b'}', b';', line) {
            match line.get(at) {
                Some(b'{') => self.in_comment = true,
                Some(b'}') => self.in_comment = false,
                _ if self.in_comment => {}
                _ => break, // the rest of the line is a comment
            }
        }
        self.finished = ends_with_result(line.trim_ascii_end());
        Verdict::Belongs
    }
}

fn strip_byte_order_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

/// The name in a line that begins like `[Name "`.
fn tag_pair(line: &[u8]) -> Option<&[u8]> {
    let inner = line.strip_prefix(b"[")?;
    let end = inner.iter().position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'))?;
    let (name, rest) = inner.split_at_checked(end)?;
    (!name.is_empty() && rest.trim_ascii_start().starts_with(b"\"")).then_some(name)
}

fn ends_with_result(line: &[u8]) -> bool {
    [b"1-0".as_slice(), b"0-1", b"1/2-1/2", b"*"].into_iter().any(|result| {
        line.strip_suffix(result).is_some_and(|before| {
            before
                .last()
                .is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'}' | b')' | b'+' | b'#' | b'!' | b'?'))
        })
    })
}

impl<'a> RawGame<'a> {
    /// The text of one game that is not part of a stream.
    pub fn alone(bytes: &'a [u8]) -> RawGame<'a> {
        let mut outline = Outline::new();
        let mut at = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            outline.take_line(line, at);
            if outline.movetext.is_some() {
                break;
            }
            at += line.len();
        }
        let movetext = outline.movetext.unwrap_or(bytes.len());
        RawGame { bytes, movetext, place: Place { game: 1, offset: 0, line: 1 } }
    }
}

impl BrokenGame {
    /// A fault of the game as a whole.
    pub(super) fn of_game(place: Place, problem: Problem) -> BrokenGame {
        BrokenGame { place, problem, offset: None, ply: 0, token: String::new(), readable: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces, with the places where they begin, or the problem.
    fn pieces(text: &[u8], limit: usize) -> Vec<(Place, Result<String, String>)> {
        let mut games = RawGames::with_limit(Trickle(text), limit);
        let mut pieces = Vec::new();
        while let Some(game) = games.next() {
            pieces.push(match game {
                Ok(game) => (game.place, Ok(String::from_utf8_lossy(game.bytes).trim().to_owned())),
                Err(broken) => (broken.place, Err(broken.problem.to_string())),
            });
        }
        pieces
    }

    fn place_of(text: &str, piece: &str, game: u64) -> Place {
        let offset = text.find(piece).unwrap();
        let line = 1 + text[..offset].matches('\n').count() as u64;
        Place { game, offset: offset as u64, line }
    }

    fn texts(text: &str) -> Vec<String> {
        pieces(text.as_bytes(), 1000).into_iter().map(|(_, text)| text.unwrap()).collect()
    }

    /// Returns few bytes at a time, so that every boundary falls inside a read once.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = 3.min(self.0.len()).min(into.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn games_begin_at_tags_after_moves() {
        let one = "[Event \"a\"]\n[White \"x\"]\n\n1. e4\n{ [Event is not a tag }\n\ne5";
        let two = "[White \"y\"]\n1. d4 1-0";
        let three = "1. c4 *";
        let text = format!("\u{feff}\r\n \n{one}\n{two}\n\n{three}\n\n\n");
        assert_eq!(texts(&text), [one, two, three]);
        let places: Vec<Place> = pieces(text.as_bytes(), 1000).into_iter().map(|(place, _)| place).collect();
        assert_eq!(places, [place_of(&text, one, 1), place_of(&text, two, 2), place_of(&text, three, 3)]);
    }

    #[test]
    fn an_unclosed_comment_ends_at_the_next_game() {
        let one = "[Event \"a\"]\n\n1. e4 { never closed\n[%clk 0:01:00]\n[White \"quoted in a comment\"]";
        let two = "[Event \"b\"]\n\n1. d4 { again\n";
        let three = "[White \"after a blank line\"]\n\n1. c4 *";
        assert_eq!(texts(&format!("{one}\n{two}\n{three}")), [one, two.trim(), three]);
    }

    #[test]
    fn games_without_moves_are_games() {
        assert_eq!(texts("[Event \"a\"]\n\n[Event \"b\"]\n\n*\n"), ["[Event \"a\"]", "[Event \"b\"]\n\n*"]);
    }

    #[test]
    fn an_overlong_game_is_skipped() {
        let long =
            format!("[Event \"long\"]\n\n1. e4 {{{}\n{}}}\n*\n\n", "x".repeat(5000), "y\n".repeat(500));
        let text = format!("[Event \"a\"]\n\n*\n\n{long}[Event \"b\"]\n\n*");
        let pieces = pieces(text.as_bytes(), 100);
        assert_eq!(pieces[1].1, Err("the game is longer than 100 bytes".to_owned()));
        assert_eq!(pieces[1].0, place_of(&text, "[Event \"long", 2));
        let last = "[Event \"b\"]\n\n*";
        assert_eq!(pieces[2], (place_of(&text, last, 3), Ok(last.to_owned())));
        assert_eq!(pieces.len(), 3);
    }

    #[test]
    fn an_endless_line_takes_bounded_memory() {
        let mut games = RawGames::with_limit(io::repeat(b'x').take(3 << 20), 1 << 10);
        assert!(matches!(games.next(), Some(Err(BrokenGame { problem: Problem::TooLong { .. }, .. }))));
        assert!(games.next().is_none());
        assert!(games.buffer.capacity() < 2 << 20, "{}", games.buffer.capacity());
    }

    #[test]
    fn a_failing_stream_is_reported_once() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("unplugged"))
            }
        }
        let mut games = RawGames::new(b"[Event \"a\"]\n".as_slice().chain(Failing));
        let Some(Err(broken)) = games.next() else { panic!("an error") };
        assert_eq!(broken.to_string(), "game 1 (line 1, byte 0): the stream failed: unplugged");
        assert!(games.next().is_none());
    }
}
