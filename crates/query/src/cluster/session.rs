use ballista_core::utils::default_session_builder;
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::prelude::SessionConfig;

use crate::functions::functions;

/// Ballista's session with the chess functions: the same for client, scheduler and executors, or a plan made by one
/// would not be understood by the others.
pub(super) fn session_state(config: SessionConfig) -> Result<SessionState> {
    let mut state = default_session_builder(config)?;
    functions().register(&mut state)?;
    Ok(state)
}
