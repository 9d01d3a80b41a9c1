//! Reads PGN from standard input and says how many games it holds, which are broken, and how fast it was read.
//!
//! ```text
//! zstd -dc --long=27 otb-rated.pgn.zst | cargo run --release -p tabia-game --example count_pgn [tree]
//! ```
//!
//! Without an argument only main lines are read; with `tree`, variations too.

use std::{
    io::{self, Write},
    time::Instant,
};

use tabia_game::{BrokenGame, PgnReader, RawGames, ReadOptions, Variations};

fn main() -> io::Result<()> {
    let variations = match std::env::args().nth(1).as_deref() {
        Some("tree") => Variations::Keep,
        _ => Variations::Skip,
    };
    let options = ReadOptions { variations, ..ReadOptions::default() };
    #[expect(
        clippy::disallowed_methods,
        reason = "a program may look at the clock; this one never runs on wasm32"
    )]
    let begin = Instant::now();
    let mut out = io::stdout().lock();
    let (mut games, mut broken, mut plies) = (0_u64, 0_u64, 0_u64);
    for game in PgnReader::with_options(RawGames::new(io::stdin().lock()), options) {
        games += 1;
        let readable = game.unwrap_or_else(|fault: BrokenGame| {
            broken += 1;
            // A closed pipe loses messages, not the count.
            let _unprinted = writeln!(out, "{fault}");
            fault.readable.map(|game| *game).unwrap_or_default()
        });
        plies += readable.mainline().count() as u64;
    }
    let seconds = begin.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate to print")]
    let rate = plies as f64 / seconds;
    writeln!(out, "{games} games, {broken} broken, {plies} plies in {seconds:.1} s: {rate:.0} plies/s")
}
