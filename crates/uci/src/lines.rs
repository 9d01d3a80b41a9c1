#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::io::{self, BufRead, Read as _};

/// Iterator over lines with bounded memory: lines are truncated at a limit and invalid UTF-8 becomes `U+FFFD`.
pub struct Lines<R> {
    stream: R,
    limit: usize,
}

impl<R: BufRead> Lines<R> {
    /// Truncates lines at `limit` bytes.
    pub fn new(stream: R, limit: usize) -> Lines<R> {
        Lines { stream, limit }
    }

    fn read(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        let limit = u64::try_from(self.limit).unwrap_or(u64::MAX);
        if self.stream.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.last() != Some(&b'\n') && line.len() >= self.limit {
            self.skip_to_end_of_line()?;
        }
        while line.last().is_some_and(|&byte| byte == b'\n' || byte == b'\r') {
            line.pop();
        }
        Ok(Some(String::from_utf8_lossy(&line).into_owned()))
    }

    fn skip_to_end_of_line(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.stream.fill_buf()?;
            if buffer.is_empty() {
                return Ok(());
            }
            let end = buffer.iter().position(|&byte| byte == b'\n');
            let used = end.map_or(buffer.len(), |end| end + 1);
            self.stream.consume(used);
            if end.is_some() {
                return Ok(());
            }
        }
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<io::Result<String>> {
        self.read().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_endings_invalid_utf8_and_truncation() {
        let bytes = b"uci\r\n\n\xff\xfe go\nlonger than the limit\nab\nlast";
        let lines: Vec<String> = Lines::new(&bytes[..], 8).map(Result::unwrap).collect();
        assert_eq!(lines, ["uci", "", "\u{fffd}\u{fffd} go", "longer t", "ab", "last"]);
    }

    #[test]
    fn line_at_the_limit_is_complete() {
        let lines: Vec<String> = Lines::new(&b"1234567\nabcdefgh\nx\n"[..], 8).map(Result::unwrap).collect();
        assert_eq!(lines, ["1234567", "abcdefgh", "x"]);
    }
}
