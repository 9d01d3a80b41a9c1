//! Batches prepared by background threads.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::state::{LaneState, StreamState};
use super::{Lane, Stream, StreamError};

/// Batches in the order of [`Stream::draw`], prepared by background threads.
///
/// The order does not depend on the number of threads. Dropping the feed ends the threads.
pub struct Feed<T> {
    /// One for each lane; `None` once the lane has ended.
    lanes: Vec<Option<Receiver<Message<T>>>>,
    state: StreamState,
    /// The lane of the last batch, and the lane's state before it.
    taken: Option<(usize, LaneState)>,
    /// A batch that was put back, its lane, and the lane's state after it.
    put_back: Option<(T, usize, LaneState)>,
    /// Tells the threads to end in the middle of a batch.
    cancelled: Arc<AtomicBool>,
    workers: Vec<JoinHandle<()>>,
}

/// Poll interval while waiting for a batch.
const POLL: Duration = Duration::from_millis(100);

/// Why a feed failed.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The stream failed.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A worker thread panicked.
    #[error("a data loader thread panicked")]
    Died,
    /// No thread could be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    /// The caller stopped waiting.
    #[error("cancelled while waiting for a batch")]
    Cancelled,
}

type Message<T> = Result<Option<(T, LaneState)>, StreamError>;

impl<T: Send + 'static> Feed<T> {
    /// Starts threads that call `make` with the lanes of a stream. It draws the samples of a batch and returns `None` at the
    /// end. Each lane is at most `ahead` batches ahead.
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
        let cancelled = Arc::new(AtomicBool::new(false));
        for (number, mut lane) in stream.lanes.into_iter().enumerate() {
            lane.end_when(&cancelled);
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
        Ok(Feed { lanes, state, taken: None, put_back: None, cancelled, workers })
    }

    /// The next batch, or `None` at the end.
    ///
    /// # Errors
    /// If a lane fails.
    #[expect(clippy::should_implement_trait, reason = "a batch may fail, which an iterator's end would hide")]
    pub fn next(&mut self) -> Result<Option<T>, FeedError> {
        self.next_polling(&mut || ControlFlow::Continue(()))
    }

    /// The next batch, or `None` at the end. While waiting, `poll` is called several times a second and can cancel.
    ///
    /// # Errors
    /// If a lane fails, or `poll` cancels; the same batch comes next then.
    pub fn next_polling(
        &mut self,
        poll: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<T>, FeedError> {
        if let Some((batch, lane, after)) = self.put_back.take() {
            self.take(lane, after);
            return Ok(Some(batch));
        }
        for _ in 0..self.lanes.len() {
            let turn = self.state.turn as usize;
            if let Some(lane) = &self.lanes[turn] {
                match receive(lane, poll)? {
                    Some((batch, after)) => {
                        self.take(turn, after);
                        return Ok(Some(batch));
                    }
                    None => self.lanes[turn] = None,
                }
            }
            self.state.turn = ((turn + 1) % self.lanes.len()) as u32;
        }
        Ok(None)
    }

    fn take(&mut self, lane: usize, after: LaneState) {
        self.state.turn = ((lane + 1) % self.lanes.len()) as u32;
        let before = std::mem::replace(&mut self.state.lanes[lane], after);
        self.taken = Some((lane, before));
    }

    /// Puts the last batch back: it comes next, and the state is the one before it. Does nothing if no batch was taken since
    /// the last call.
    pub fn put_back(&mut self, batch: T) {
        let Some((lane, before)) = self.taken.take() else { return };
        self.state.turn = lane as u32;
        let after = std::mem::replace(&mut self.state.lanes[lane], before);
        self.put_back = Some((batch, lane, after));
    }

    /// The stream's state after the batches taken so far, without those prepared ahead.
    pub fn state(&self) -> &StreamState {
        &self.state
    }
}

impl<T> Drop for Feed<T> {
    fn drop(&mut self) {
        // Threads see the flag, or fail to send their batch.
        self.cancelled.store(true, Ordering::Relaxed);
        self.lanes.clear();
        for worker in self.workers.drain(..) {
            // A panic has been reported by the thread itself.
            let _ = worker.join();
        }
    }
}

/// Waits for a lane's next message until `poll` cancels.
fn receive<T>(
    lane: &Receiver<Message<T>>,
    poll: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Option<(T, LaneState)>, FeedError> {
    loop {
        match lane.recv_timeout(POLL) {
            Ok(message) => return Ok(message?),
            Err(RecvTimeoutError::Disconnected) => return Err(FeedError::Died),
            Err(RecvTimeoutError::Timeout) if poll().is_break() => return Err(FeedError::Cancelled),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Makes batches of some lanes in turn until all have ended or the feed is dropped.
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
