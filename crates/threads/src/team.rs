//! A piece of work that several threads do together.
#![expect(unsafe_code, reason = "helpers borrow the work and the team")]

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};

use crate::helper::take;
use crate::meeting::Meeting;

/// What the members of a team share.
pub(crate) struct Team {
    count: usize,
    meeting: Meeting,
    panicked: AtomicBool,
    /// Helpers that have not left.
    at_work: AtomicUsize,
    lead: Thread,
}

/// A thread's part in a team.
pub struct Member<'a> {
    team: Option<&'a Team>,
    index: usize,
}

impl Member<'_> {
    /// Its number. The thread that asked for the team is 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The number of members.
    pub fn count(&self) -> usize {
        self.team.map_or(1, |team| team.count)
    }

    /// The share of `len` things of the member `index`: whole blocks of `block`, as even as they allow.
    pub fn share_of(&self, index: usize, len: usize, block: usize) -> Range<usize> {
        let blocks = len.div_ceil(block);
        let bound = |index: usize| (blocks * index / self.count() * block).min(len);
        bound(index)..bound(index + 1)
    }

    /// Waits until all members are here; what they wrote before can be read afterwards.
    ///
    /// # Panics
    /// If another member panicked.
    pub fn wait(&self) {
        if let Some(team) = self.team {
            team.meeting.attend();
        }
    }
}

/// Does a piece of work with at most `most` threads: `lead` on this one, `help` at the same time on each helper that waits now.
/// Returns when all are done.
///
/// # Panics
/// If a helper panics.
pub fn with_team<T>(
    most: usize,
    lead: impl FnOnce(&Member<'_>) -> T,
    help: &(dyn Fn(&Member<'_>) + Sync),
) -> T {
    let helpers = take(most.saturating_sub(1));
    if helpers.is_empty() {
        return lead(&Member { team: None, index: 0 });
    }
    let team = Team {
        count: helpers.len() + 1,
        meeting: Meeting::of(helpers.len() + 1),
        panicked: AtomicBool::new(false),
        at_work: AtomicUsize::new(helpers.len()),
        lead: thread::current(),
    };
    // Waits for the helpers even if `lead` panics, which they then do, too.
    let at_end = AtEnd(&team);
    for (helper, index) in helpers.iter().zip(1..) {
        // SAFETY: `at_end` is dropped before `team` and `help`, and waits until all helpers have left.
        unsafe { helper.call(help, &team, index) };
    }
    let found = lead(&team.member(0));
    drop(at_end);
    assert!(!team.panicked.load(SeqCst), "a thread of the team panicked");
    found
}

/// Computes `task(0)..task(count)` with at most `most` threads. Each thread takes the next one when it is done with one.
///
/// # Panics
/// If a task panics.
pub fn in_parallel<T: Send>(most: usize, count: usize, task: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let work = |_: &Member<'_>| {
        loop {
            let number = next.fetch_add(1, SeqCst);
            if number >= count {
                break;
            }
            let result = task(number);
            found.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
        }
    };
    with_team(most.min(count), work, &work);
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, result)| result).collect()
}

impl Team {
    pub(crate) fn member(&self, index: usize) -> Member<'_> {
        Member { team: Some(self), index }
    }

    /// A member panicked.
    pub(crate) fn cancel(&self) {
        self.panicked.store(true, SeqCst);
        self.meeting.cancel();
    }

    /// A helper is done. The team may be gone when this returns.
    pub(crate) fn leave(team: *const Team) {
        // SAFETY: the team waits for all helpers, and this one has not left.
        let lead = unsafe { &*team }.lead.clone();
        // SAFETY: as before. It is not used afterwards.
        unsafe { &*team }.at_work.fetch_sub(1, SeqCst);
        lead.unpark();
    }
}

/// Waits for the helpers of a team when it is dropped.
struct AtEnd<'a>(&'a Team);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.cancel();
        }
        while self.0.at_work.load(SeqCst) > 0 {
            thread::park();
        }
    }
}

#[cfg(all(test, not(target_family = "wasm")))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::RwLock;

    use super::*;
    use crate::{helpers, start_helpers};

    /// Helpers are shared by all tests, so that a team may have any number of them.
    const HELPERS: usize = 3;

    fn with_helpers() {
        static START: std::sync::Once = std::sync::Once::new();
        START.call_once(|| start_helpers(HELPERS));
        assert!(helpers() >= HELPERS);
    }

    #[test]
    fn all_members_work_and_meet() {
        with_helpers();
        for most in [1, 2, 4, 9] {
            const ROUNDS: usize = 50;
            let places: Vec<RwLock<usize>> = (0..10).map(|_| RwLock::new(0)).collect();
            let sums = Mutex::new(Vec::new());
            let work = |member: &Member<'_>| {
                let mut seen = Vec::new();
                for round in 1..=ROUNDS {
                    *places[member.index()].write().unwrap() = round;
                    member.wait();
                    seen.push(places.iter().map(|place| *place.read().unwrap()).sum::<usize>());
                    member.wait();
                }
                sums.lock().unwrap().push((member.index(), seen));
                member.count()
            };
            let count = with_team(most, work, &|member| {
                work(member);
            });
            assert!((1..=most.min(1 + HELPERS)).contains(&count));
            let expected: Vec<usize> = (1..=ROUNDS).map(|round| round * count).collect();
            let mut sums = sums.into_inner().unwrap();
            sums.sort();
            assert_eq!(
                sums.iter().map(|(index, _)| *index).collect::<Vec<_>>(),
                (0..count).collect::<Vec<_>>()
            );
            assert!(sums.iter().all(|(_, seen)| *seen == expected));
        }
    }

    #[test]
    fn shares_cover_everything_once() {
        for count in 1..6 {
            let team = Team {
                count,
                meeting: Meeting::of(count),
                panicked: AtomicBool::new(false),
                at_work: AtomicUsize::new(0),
                lead: thread::current(),
            };
            for (len, block) in [(64, 8), (79, 8), (3, 8), (0, 1), (68, 4)] {
                let shares: Vec<_> =
                    (0..count).map(|index| team.member(0).share_of(index, len, block)).collect();
                assert_eq!((shares[0].start, shares[count - 1].end), (0, len));
                assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start));
                assert!(shares.iter().all(|share| share.start.is_multiple_of(block) || share.is_empty()));
            }
        }
    }

    #[test]
    fn tasks_are_done_once_each_in_order() {
        with_helpers();
        let squares: Vec<usize> = in_parallel(4, 1000, |number| number * number);
        assert_eq!(squares, (0..1000).map(|number| number * number).collect::<Vec<_>>());
        assert_eq!(in_parallel(4, 0, |number| number), []);
    }

    #[test]
    fn teams_within_teams_find_other_helpers_or_none() {
        with_helpers();
        let sums =
            in_parallel(3, 20, |outer| in_parallel(3, 20, |inner| outer * inner).iter().sum::<usize>());
        assert_eq!(sums, (0..20).map(|outer| outer * 190).collect::<Vec<_>>());
    }

    #[test]
    fn panics_end_the_team_and_not_the_helpers() {
        with_helpers();
        for round in 0..20 {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let work = |member: &Member<'_>| {
                    // The last one, be it the lead alone.
                    assert!(member.index() + 1 < member.count(), "round {round}");
                    member.wait();
                };
                with_team(3, work, &work);
            }));
            assert!(outcome.is_err());
        }
        assert_eq!(in_parallel(4, 10, |number| number).len(), 10);
        assert!(helpers() >= HELPERS);
    }
}
