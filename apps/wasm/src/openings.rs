//! Openings of matches and challenges.

use tabia_arena::Openings;

use crate::Fault;

/// `balanced`, `balanced:NAME` for one of its openings, `start`, or the text of a book: one FEN or EPD per line with comments after `#`,
/// or PGN.
pub(crate) fn read_openings(text: &str) -> Result<Openings, Fault> {
    match text.trim() {
        "balanced" => Ok(Openings::balanced()),
        "start" | "" => Ok(Openings::start_position()),
        one if one.starts_with("balanced:") => {
            let name = one.trim_start_matches("balanced:");
            let named = Openings::balanced().named(name);
            named.ok_or_else(|| Fault::new(format!("no opening called {name:?}")))
        }
        _ => match Openings::from_lines(text, "openings") {
            Ok(openings) => Ok(openings),
            Err(lines) => {
                // Which of the two it was meant to be decides whose fault is told.
                let looks_like_pgn = text.contains("1.") || text.trim_start().starts_with('[');
                Openings::from_pgn(text.as_bytes(), "openings")
                    .map_err(|games| if looks_like_pgn { games.into() } else { lines.into() })
            }
        },
    }
}
