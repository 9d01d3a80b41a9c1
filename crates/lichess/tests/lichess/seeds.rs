//! Every committed fuzz input can be read, and followed as far as it goes.

use tabia_lichess::{Event, Followed, GameLine};

#[test]
fn seeds_are_read() {
    let mut games = 0;
    for seed in tabia_requires::fuzz_seeds("lichess") {
        let mut followed: Option<Followed> = None;
        for line in String::from_utf8_lossy(&seed).lines() {
            let _event = Event::parse(line);
            match GameLine::parse(line) {
                Ok(Some(GameLine::GameFull(full))) => {
                    followed = Followed::new(&full, "tabia", "https://lichess.org").ok();
                    games += usize::from(followed.is_some());
                }
                Ok(Some(GameLine::GameState(state))) => {
                    let _news = followed.as_mut().map(|followed| followed.update(&state));
                }
                _ => {}
            }
        }
    }
    assert!(games > 0);
}
