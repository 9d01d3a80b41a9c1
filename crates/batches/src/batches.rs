use std::ops::ControlFlow;
use std::sync::Arc;

use tabia_data::{Feed, FeedError, Lane, Set, Stream, StreamError, StreamOptions, StreamState};
use tabia_encoding::{Encoding, MoveVocabulary};

use crate::columns::{Columns, Policy};
use crate::lent::{Lent, Shelf};

/// Batches each lane may be ahead.
const AHEAD: usize = 2;

/// What is streamed, and as what.
#[derive(Clone, Debug)]
pub struct BatchOptions {
    /// The encoding of the inputs.
    pub encoding: &'static dyn Encoding,
    /// The vocabulary of the moves; without one batches have none.
    pub vocabulary: Option<&'static dyn MoveVocabulary>,
    /// Whether batches have the legal moves.
    pub legal: bool,
    /// Rows of a batch; the last one of each lane may have fewer.
    pub rows: usize,
    /// The positions and their order.
    pub stream: StreamOptions,
    /// Threads that make batches. Their number changes nothing but the speed.
    pub threads: usize,
}

/// Batches in order, made by threads ahead of their use.
pub struct Batches {
    feed: Feed<Lent>,
}

impl Batches {
    /// Starts at the beginning, or at a saved place.
    ///
    /// # Errors
    /// If the place is one in other sets or of other options, the sets cannot be read, or no thread can be started.
    pub fn start(
        sets: Vec<Arc<Set>>,
        options: &BatchOptions,
        place: Option<&StreamState>,
    ) -> Result<Batches, FeedError> {
        let BatchOptions { encoding, vocabulary, legal, rows, ref stream, threads } = *options;
        let earlier = stream.earlier.max(encoding.history());
        let stream = StreamOptions { earlier, ..stream.clone() };
        let stream = match place {
            Some(place) => Stream::resume(sets, stream, place)?,
            None => Stream::new(sets, stream),
        };
        let policy = vocabulary.map(|vocabulary| Policy { vocabulary, legal });
        let rows = rows.max(1);
        let shelf = Shelf::default();
        let make = move |lane: &mut Lane| -> Result<Option<Lent>, StreamError> {
            let mut columns = shelf.take(|| Columns::new(encoding, rows));
            let drawn = lane.draw_many(rows, |sample| columns.push(sample, policy))?;
            Ok((drawn > 0).then(|| shelf.lend(columns)))
        };
        Ok(Batches { feed: Feed::start(stream, threads, AHEAD, make)? })
    }

    /// The next batch, or `None` at the end. While waiting, `poll` is called several times a second and can cancel.
    ///
    /// # Errors
    /// If a set cannot be read, or `poll` cancels; the same batch comes next then.
    pub fn next_polling(
        &mut self,
        poll: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Lent>, FeedError> {
        self.feed.next_polling(poll)
    }

    /// The place after the batches taken so far.
    pub fn place(&self) -> &StreamState {
        self.feed.state()
    }
}
