#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::io::Read;

use memchr::memchr;
use tabia_game::Place;

/// The longest line that is read, in bytes: 4 MiB.
pub(super) const LONGEST_LINE: usize = 4 << 20;

/// Read size.
const PORTION: u64 = 256 << 10;

/// Splits a stream into lines without their endings. Blank lines are counted but skipped; memory is bounded by the longest
/// line. The stream must not fail, see `Stopping`.
pub(super) struct Lines<R> {
    input: R,
    at_end: bool,
    /// Bytes read but not yet returned, after `start`.
    buffer: Vec<u8>,
    start: usize,
    next: Place,
}

/// A line that fits into memory.
pub(super) struct Line<'a> {
    pub(super) bytes: &'a [u8],
    /// Whether the line's end was seen; only the stream's last line may lack it.
    pub(super) whole: bool,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Lines<R> {
        let next = Place { game: 1, offset: 0, line: 1 };
        Lines { input, at_end: false, buffer: Vec::new(), start: 0, next }
    }

    /// The next non-blank line; the inner `None` stands for a line that is too long.
    pub(super) fn next(&mut self) -> Option<(Place, Option<Line<'_>>)> {
        let mut seen = 0; // bytes of this line already searched for its end
        let mut too_long = false;
        let mut place = self.next;
        loop {
            let unread = self.buffer.get(self.start..).unwrap_or_default();
            let end = memchr(b'\n', unread.get(seen..).unwrap_or_default()).map(|end| seen + end);
            if end.is_none() && !self.at_end {
                seen = unread.len();
                if seen > LONGEST_LINE {
                    too_long = true;
                    self.next.offset += seen as u64;
                    self.start += seen;
                    seen = 0;
                }
                self.refill();
                continue;
            }
            let (length, step) = end.map_or((unread.len(), unread.len()), |end| (end, end + 1));
            if step == 0 && !too_long {
                return None;
            }
            let from = self.start;
            self.start += step;
            self.next.offset += step as u64;
            self.next.line += 1;
            self.next.game += 1;
            if too_long || length > LONGEST_LINE {
                return Some((place, None));
            }
            let line = self.buffer.get(from..from + length).unwrap_or_default();
            let unmarked =
                if place.offset == 0 { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) } else { line };
            if unmarked.trim_ascii().is_empty() {
                (place, seen) = (self.next, 0);
                continue;
            }
            // The borrow checker cannot see that a returned line ends the loop.
            let cut = from + length - unmarked.len()..from + length;
            let bytes = self.buffer.get(cut).unwrap_or_default().trim_ascii_end();
            return Some((place, Some(Line { bytes, whole: end.is_some() })));
        }
    }

    fn refill(&mut self) {
        self.buffer.drain(..self.start);
        self.start = 0;
        // An error ends the stream; the wrapper of the stream keeps it.
        self.at_end = !matches!((&mut self.input).take(PORTION).read_to_end(&mut self.buffer), Ok(1..));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Vec<(u64, u64, Option<String>)> {
        let mut lines = Lines::new(text);
        let mut found = Vec::new();
        while let Some((place, line)) = lines.next() {
            let text = line.map(|line| String::from_utf8_lossy(line.bytes).into_owned());
            found.push((place.line, place.offset, text));
        }
        found
    }

    #[test]
    fn lines_have_numbers_and_offsets() {
        let expected = [(1, 0, "a"), (3, 6, "b c"), (5, 14, "d")]
            .map(|(line, at, text)| (line, at, Some(text.to_owned())));
        assert_eq!(lines(b"a\r\n \r\nb c\r\n\r\nd")[0], expected[0]);
        assert_eq!(lines(b"a  \n\n b c\n\n  d").iter().map(|line| line.0).collect::<Vec<_>>(), [1, 3, 5]);
        assert_eq!(lines(b"\xEF\xBB\xBFa\nb"), [(1, 0, Some("a".into())), (2, 5, Some("b".into()))]);
        assert_eq!(lines(b"\xEF\xBB\xBF\n"), []);
        assert_eq!(lines(b""), []);
    }

    #[test]
    fn an_endless_line_is_skipped() {
        let mut text = b"first\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', LONGEST_LINE + 700_000));
        let at = text.len() as u64 + 1;
        text.extend_from_slice(b"\nlast\n");
        assert_eq!(lines(&text), [(1, 0, Some("first".into())), (2, 6, None), (3, at, Some("last".into()))]);
        text.truncate(text.len() - 6);
        assert_eq!(lines(&text), [(1, 0, Some("first".into())), (2, 6, None)]);
    }
}
