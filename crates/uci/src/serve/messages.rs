use super::{Control, Task};
use crate::message::OptionValue;

/// What the reading thread asks of the engine's thread, done in order.
pub(super) enum Order {
    /// Set an option the engine offers to a value that fits.
    SetOption { name: String, value: OptionValue },
    /// Forget the last game.
    NewGame,
    /// Say `readyok`: all before this is done.
    Ready,
    /// Choose a move.
    Think { task: Box<Task>, control: Control },
    /// Say why no move can be chosen, and choose none.
    Refuse { reason: String, control: Control },
}
