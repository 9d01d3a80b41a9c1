//! Whatever a server sends is read or refused, and a game that can be followed does not change by what is old.
#![no_main]

use std::time::Duration;

use tabia_lichess::{Event, Followed, GameLine, News};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut followed: Option<Followed> = None;
    for line in String::from_utf8_lossy(bytes).lines() {
        drop(Event::parse(line));
        match GameLine::parse(line) {
            Ok(Some(GameLine::GameFull(full))) => match &mut followed {
                None => followed = Followed::new(&full, "tabia", "https://lichess.org").ok(),
                Some(game) => drop(game.restart(&full)),
            },
            Ok(Some(GameLine::GameState(state))) => {
                let Some(game) = &mut followed else { continue };
                let before = game.plies();
                if game.update(&state) == Ok(News::Old) {
                    assert_eq!(game.plies(), before);
                }
                drop((game.history(), game.outcome(), game.can_claim_draw()));
                drop(game.limits(Duration::ZERO, Duration::ZERO));
            }
            _ => {}
        }
    }
});
