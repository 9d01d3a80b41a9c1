//! Samples made into batches by threads, ahead of the one who uses them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::state::{LaneState, StreamState};
use super::{Lane, Stream, StreamError};

/// Batches in the order in which [`Stream::draw`] would give them, made by threads ahead of time.
///
/// The order does not depend on the number of threads. Dropping the feed ends them.
pub struct Feed<T> {
    /// One for each lane; `None` once the lane has ended.
    lanes: Vec<Option<Receiver<Message<T>>>>,
    state: StreamState,
    workers: Vec<JoinHandle<()>>,
}

/// Why a feed cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The stream cannot go on.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A thread ended without saying why: the function that makes batches panicked.
    #[error("a thread that makes batches has died")]
    Died,
    /// No thread could be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

type Message<T> = Result<Option<(T, LaneState)>, StreamError>;

impl<T: Send + 'static> Feed<T> {
    /// Starts threads that call `make` with the lanes of a stream; it draws as many samples as it wants and returns
    /// `None` when there was none. Each lane is at most `ahead` batches ahead.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(
        stream: Stream,
        threads: usize,
        ahead: usize,
        make: impl Fn(&mut Lane) -> Result<Option<T>, StreamError> + Send + Sync + 'static,
    ) -> Result<Self, FeedError> {
        let state = stream.state();
        let threads = threads.clamp(1, stream.lanes.len());
        let mut shares: Vec<Vec<(Lane, SyncSender<Message<T>>)>> = (0..threads).map(|_| Vec::new()).collect();
        let mut lanes = Vec::new();
        for (number, lane) in stream.lanes.into_iter().enumerate() {
            let (sender, receiver) = sync_channel(ahead.max(1));
            shares[number % threads].push((lane, sender));
            lanes.push(Some(receiver));
        }
        let make = Arc::new(make);
        let mut workers = Vec::new();
        for share in shares {
            let make = Arc::clone(&make);
            let worker = std::thread::Builder::new().name("tabia-feed".into());
            let worker = worker.spawn(move || work(share, &*make)).map_err(FeedError::Thread)?;
            workers.push(worker);
        }
        Ok(Feed { lanes, state, workers })
    }

    /// The next batch, or `None` at the end.
    ///
    /// # Errors
    /// If a lane cannot go on.
    #[expect(clippy::should_implement_trait, reason = "a batch may fail, which an iterator's end would hide")]
    pub fn next(&mut self) -> Result<Option<T>, FeedError> {
        for _ in 0..self.lanes.len() {
            let turn = self.state.turn as usize;
            self.state.turn = ((turn + 1) % self.lanes.len()) as u32;
            let Some(lane) = &self.lanes[turn] else { continue };
            match lane.recv().map_err(|_| FeedError::Died)?? {
                Some((batch, state)) => {
                    self.state.lanes[turn] = state;
                    return Ok(Some(batch));
                }
                None => self.lanes[turn] = None,
            }
        }
        Ok(None)
    }

    /// Where the stream is after the batches taken so far: those made ahead do not count.
    pub fn state(&self) -> &StreamState {
        &self.state
    }
}

impl<T> Drop for Feed<T> {
    fn drop(&mut self) {
        // With nobody to send to the threads end.
        self.lanes.clear();
        for worker in self.workers.drain(..) {
            // A panic has been reported by the thread itself.
            let _ = worker.join();
        }
    }
}

/// Makes batches of some lanes in turn until all have ended or nobody wants them.
fn work<T>(
    mut share: Vec<(Lane, SyncSender<Message<T>>)>,
    make: &impl Fn(&mut Lane) -> Result<Option<T>, StreamError>,
) {
    while !share.is_empty() {
        let mut given_up = false;
        share.retain_mut(|(lane, sender)| {
            let message = make(lane).map(|batch| batch.map(|batch| (batch, lane.state())));
            let goes_on = matches!(message, Ok(Some(_)));
            given_up |= sender.send(message).is_err();
            goes_on
        });
        if given_up {
            return;
        }
    }
}
