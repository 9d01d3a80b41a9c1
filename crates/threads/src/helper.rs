//! Helpers and where they wait.
#![expect(unsafe_code, reason = "work is borrowed from the thread that leads the team")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::team::{Member, Team};

/// A thread that waits for a job.
#[derive(Default)]
pub(crate) struct Helper {
    job: Mutex<Option<Job>>,
    called: Condvar,
}

/// A part in a team.
struct Job {
    work: *const (dyn Fn(&Member<'_>) + Sync),
    team: *const Team,
    index: usize,
}

// SAFETY: `Helper::call` promises that both outlive the job, and both can be shared between threads.
unsafe impl Send for Job {}

/// Those that wait, the latest last: its caches are the warmest.
static WAITING: Mutex<Vec<Arc<Helper>>> = Mutex::new(Vec::new());
/// All helpers.
static HELPERS: AtomicUsize = AtomicUsize::new(0);

/// The number of helpers, waiting or at work.
pub fn helpers() -> usize {
    HELPERS.load(SeqCst)
}

/// Makes the calling thread a helper for as long as the program runs. A web worker must not call it before it has been started
/// with the module's shared memory.
pub fn help() -> ! {
    let me = Arc::new(Helper::default());
    HELPERS.fetch_add(1, SeqCst);
    wait_for_job(&me);
    loop {
        let job = me.next();
        // SAFETY: `Helper::call` keeps both alive until the team is told that the job is done.
        let (work, team) = unsafe { (&*job.work, &*job.team) };
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&team.member(job.index))));
        if outcome.is_err() {
            team.cancel();
        }
        // The next team shall find this helper, so it waits before the last one learns that it is done.
        wait_for_job(&me);
        Team::leave(job.team);
    }
}

/// Starts threads that are helpers for as long as the program runs.
#[cfg(not(target_family = "wasm"))]
pub fn start_helpers(count: usize) {
    let before = helpers();
    let mut started = 0;
    for _ in 0..count {
        // One that cannot be started is left out.
        let thread = std::thread::Builder::new().name("helper".into()).spawn(|| help());
        started += usize::from(thread.is_ok());
    }
    while helpers() < before + started {
        std::thread::yield_now();
    }
}

/// At most so many waiting helpers, which wait no longer.
pub(crate) fn take(most: usize) -> Vec<Arc<Helper>> {
    // Teams are formed thousands of times a second, mostly without helpers.
    if most == 0 || helpers() == 0 {
        return Vec::new();
    }
    let mut waiting = lock(&WAITING);
    let from = waiting.len().saturating_sub(most);
    waiting.split_off(from)
}

fn wait_for_job(helper: &Arc<Helper>) {
    lock(&WAITING).push(Arc::clone(helper));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Helper {
    /// Gives a helper that was [taken](take) its part in a team.
    ///
    /// # Safety
    /// `work` and `team` live until all helpers [have left](Team::leave) the team.
    pub(crate) unsafe fn call<'a>(
        &self,
        work: &'a (dyn Fn(&Member<'_>) + Sync + 'a),
        team: &'a Team,
        index: usize,
    ) {
        let work: *const (dyn Fn(&Member<'_>) + Sync + 'a) = work;
        // SAFETY: only the lifetime changes; the caller keeps `work` alive for as long as it is used.
        let work: *const (dyn Fn(&Member<'_>) + Sync) = unsafe { std::mem::transmute(work) };
        *lock(&self.job) = Some(Job { work, team, index });
        self.called.notify_one();
    }

    fn next(&self) -> Job {
        let mut job = lock(&self.job);
        loop {
            if let Some(job) = job.take() {
                return job;
            }
            job = self.called.wait(job).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
