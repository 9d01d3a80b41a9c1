//! The access token of the bot's account.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fmt, fs, io, path::Path};

/// The largest token file read. Lichess announces tokens of at least 512 characters.
const LONGEST: u64 = 4096;
/// What stands in texts for a token.
const REDACTED: &str = "[token]";

/// An access token with the scope `bot:play`. It is in no message, log line or debug output.
#[derive(Clone)]
pub struct Token(String);

/// Why a token cannot be used. Never quotes it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is too large to hold a token and nothing else.
    #[error("{0} bytes are too many for a token (expected the token and nothing else)")]
    TooLong(u64),
    /// Nothing but white space.
    #[error("holds no token (make one at lichess.org/account/oauth/token with the scope bot:play)")]
    Empty,
    /// A character that tokens do not have.
    #[error("holds something else than a token (expected letters, digits and `_` only)")]
    NotAToken,
}

impl Token {
    /// A token, with white space around it.
    ///
    /// # Errors
    /// If it is no token.
    pub fn new(text: &str) -> Result<Token, TokenError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(TokenError::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(TokenError::NotAToken);
        }
        Ok(Token(text.to_owned()))
    }

    /// The token in a file.
    ///
    /// # Errors
    /// If the file cannot be read, or holds something else.
    pub fn read(file: &Path) -> Result<Token, TokenError> {
        let size = fs::metadata(file)?.len();
        if size > LONGEST {
            return Err(TokenError::TooLong(size));
        }
        let bytes = fs::read(file)?;
        Token::new(std::str::from_utf8(&bytes).map_err(|_| TokenError::NotAToken)?)
    }

    /// The value of the header `Authorization`.
    pub(crate) fn authorization(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// The text without the token.
    pub(crate) fn redact(&self, text: &str) -> String {
        text.replace(&self.0, REDACTED)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// Whether other users of this machine may read a file. Unknown is no.
pub fn readable_by_others(file: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(file).is_ok_and(|data| data.permissions().mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let read = |content: &str| {
            fs::write(&file, content).unwrap();
            Token::read(&file)
        };
        let token = read("lip_abc123\n").unwrap();
        assert_eq!(token.authorization(), "Bearer lip_abc123");
        assert_eq!(format!("{token:?}"), "[token]");
        assert_eq!(token.redact("invalid: lip_abc123!"), "invalid: [token]!");
        for (content, error) in [
            (" \n", "holds no token"),
            ("two words", "something else"),
            ("kex\u{e9}", "something else"),
            (&"x".repeat(5000), "5000 bytes"),
        ] {
            let shown = read(content).unwrap_err().to_string();
            assert!(shown.contains(error), "{shown}");
            assert!(content.trim().is_empty() || !shown.contains(content), "{shown}");
        }
        assert!(matches!(Token::read(&folder.path().join("absent")), Err(TokenError::Io(_))));
    }

    #[cfg(unix)]
    #[test]
    fn permissions_of_others_are_noticed() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        fs::write(&file, "lip_abc").unwrap();
        for (mode, open) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true)] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(readable_by_others(&file), open, "{mode:o}");
        }
    }
}
