//! Without helpers the caller does all of the work, as in a module without shared memory.

use tabia_threads::{helpers, in_parallel, with_team};

#[test]
fn the_caller_works_alone() {
    assert_eq!(helpers(), 0);
    let count = with_team(
        8,
        |member| {
            member.wait();
            assert_eq!((member.index(), member.share_of(0, 64, 8)), (0, 0..64));
            member.count()
        },
        &|_| unreachable!("there is no helper"),
    );
    assert_eq!(count, 1);
    assert_eq!(in_parallel(8, 4, |number| number + 1), [1, 2, 3, 4]);
}
