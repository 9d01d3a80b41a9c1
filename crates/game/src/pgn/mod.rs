//! Games as text. Reading is three steps, each of which a fault cannot get past: [`split`] cuts a stream into the
//! bytes of one game each, [`survey`] looks over a game's moves for what pgn-reader passes over in silence, and
//! [`read`] lets pgn-reader parse it into a tree.

mod broken;
mod read;
mod split;
mod survey;
mod write;

pub use broken::{BrokenGame, Place, Problem};
pub use read::{MissingResult, PgnReader, ReadOptions, Variations, read_game};
pub use split::{DEFAULT_GAME_LIMIT, RawGame, RawGames};
pub use write::write_game;
