//! PGN. Reading takes three steps: [`split`] cuts a stream into the bytes of one game each, [`survey`] checks the moves for
//! what pgn-reader silently ignores, and [`read`] parses the game into a tree with pgn-reader.

mod broken;
mod read;
mod split;
mod survey;
mod write;

pub use broken::{BrokenGame, Place, Problem};
pub use read::{MissingResult, PgnReader, ReadOptions, Variations, read_game};
pub use split::{DEFAULT_GAME_LIMIT, RawGame, RawGames};
pub use write::write_game;
