use shakmaty::Color;
use tabia_encoding::Elo;

use crate::TimeControl;

/// The seven-tag roster in its order.
pub const SEVEN_TAG_ROSTER: [&str; 7] = ["Event", "Site", "Date", "Round", "White", "Black", "Result"];

/// The tag pairs of a game, in the order they were written, each name once.
///
/// `Result`, `FEN` and `SetUp` are not kept here: they are [`Game::result`](crate::Game::result) and
/// [`Game::start`](crate::Game::start), and the writer makes the tags from those.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    pairs: Vec<(String, String)>,
}

/// An invalid tag name: names are ASCII letters, digits and `_`, except `Result`, `FEN` and `SetUp`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid tag name `{0}`")]
pub struct BadTagName(pub String);

impl Headers {
    /// The value of a tag.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Sets a tag, in its place or at the end.
    ///
    /// # Errors
    /// If the name is invalid, or one of `Result`, `FEN` and `SetUp`.
    pub fn set(&mut self, name: &str, value: impl Into<String>) -> Result<(), BadTagName> {
        let holdable =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !holdable || matches!(name, "Result" | "FEN" | "SetUp") {
            return Err(BadTagName(name.to_owned()));
        }
        match self.pairs.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value.into(),
            None => self.pairs.push((name.to_owned(), value.into())),
        }
        Ok(())
    }

    /// Removes a tag and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<String> {
        let at = self.pairs.iter().position(|(known, _)| known == name)?;
        Some(self.pairs.remove(at).1)
    }

    /// All tag pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The rating in `WhiteElo` or `BlackElo`, if it is a positive number.
    pub fn rating(&self, color: Color) -> Option<Elo> {
        let value = self.get(color.fold_wb("WhiteElo", "BlackElo"))?;
        value.trim().parse().ok().filter(|rating| *rating > 0).map(Elo)
    }

    /// The `TimeControl` tag; [`TimeControl::Unknown`] if it is missing or invalid.
    pub fn time_control(&self) -> TimeControl {
        self.get("TimeControl").and_then(|value| value.parse().ok()).unwrap_or(TimeControl::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_keeps_place_and_order() {
        let mut headers = Headers::default();
        headers.set("White", "A").unwrap();
        headers.set("Black", "B").unwrap();
        headers.set("White", "C").unwrap();
        assert_eq!(headers.iter().collect::<Vec<_>>(), [("White", "C"), ("Black", "B")]);
        assert_eq!(headers.remove("White").as_deref(), Some("C"));
        assert_eq!(headers.get("White"), None);
    }

    #[test]
    fn invalid_tag_names_are_errors() {
        let mut headers = Headers::default();
        for name in ["", "Two Words", "Quote\"", "Größe", "FEN", "Result"] {
            assert_eq!(headers.set(name, "x"), Err(BadTagName(name.to_owned())));
        }
    }

    #[test]
    fn ratings_are_positive_numbers_or_unknown() {
        let mut headers = Headers::default();
        for (value, rating) in
            [("1675", Some(Elo(1675))), (" 2000 ", Some(Elo(2000))), ("?", None), ("0", None)]
        {
            headers.set("WhiteElo", value).unwrap();
            assert_eq!(headers.rating(Color::White), rating, "{value:?}");
        }
        assert_eq!(headers.rating(Color::Black), None);
    }
}
