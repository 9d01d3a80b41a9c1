//! How fast a set becomes batches: `cargo run --profile lab -p tabia-data --example decode_set -- DIR [ENCODING]`
//!
//! DIR is a folder with a set. Everything runs on one thread, so the figures are those of one core.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use shakmaty::Position;
use tabia_data::{Record, Repeat, Sample, Set, Stream, StreamOptions};
use tabia_encoding::{Batch, FeatureList, encoding};

type Fault = Box<dyn std::error::Error>;

fn main() -> Result<(), Fault> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [dir] => measure(Path::new(dir), "challenge-768"),
        [dir, id] => measure(Path::new(dir), id),
        _ => Err("usage: decode_set DIR [ENCODING]".into()),
    }
}

/// Seconds of processor time this thread has had; the clock on the wall where the system does not say.
fn seconds(program_start: Instant) -> f64 {
    let on_processor = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = on_processor.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| program_start.elapsed().as_secs_f64(), |nanoseconds| nanoseconds * 1e-9)
}

/// Does something that counts positions, and prints how many it did a second.
#[expect(clippy::disallowed_macros, reason = "a program prints its answer")]
fn report(
    what: &str,
    program_start: Instant,
    work: impl FnOnce() -> Result<u64, Fault>,
) -> Result<(), Fault> {
    let begun = seconds(program_start);
    let count = work()?;
    let rate = count as f64 / (seconds(program_start) - begun);
    println!("{what:<44} {rate:>12.0} positions/s");
    Ok(())
}

/// Streams the whole set once, in batches.
fn drain(
    set: &Arc<Set>,
    mut begin_batch: impl FnMut(),
    mut take: impl FnMut(&Sample<'_>),
) -> Result<u64, Fault> {
    let options = StreamOptions { lanes: 1, repeat: Repeat::Once, ..StreamOptions::default() };
    let mut stream = Stream::new(vec![Arc::clone(set)], options);
    let mut count = 0;
    loop {
        begin_batch();
        match stream.draw(8192, &mut take)? {
            0 => return Ok(count),
            drawn => count += drawn as u64,
        }
    }
}

fn measure(dir: &Path, id: &str) -> Result<(), Fault> {
    #[expect(clippy::disallowed_methods, reason = "a benchmark's business is the clock")]
    let start = Instant::now();
    let encoding = encoding(id).ok_or_else(|| format!("no encoding {id:?}"))?;
    let set = Arc::new(Set::open(dir)?);

    report("read and unpack blocks", start, || {
        let mut count = 0;
        for shard in set.shards() {
            for number in 0..shard.blocks().len() {
                count += u64::from(shard.block(number)?.positions());
            }
        }
        Ok(count)
    })?;
    report("decode records, every move checked", start, || {
        let mut count = 0;
        for shard in set.shards() {
            for number in 0..shard.blocks().len() {
                let block = shard.block(number)?;
                for record in (0..).map_while(|record| block.record(record)) {
                    count += match record? {
                        Record::Game(game) => game.decode()?.plies.len() as u64,
                        Record::Evaluation(evaluation) => evaluation.decode().map(|_| 1)?,
                    };
                }
            }
        }
        Ok(count)
    })?;

    let mut pieces = 0;
    let look = |sample: &Sample<'_>| pieces += sample.situation.position.board().occupied().count();
    report("stream", start, || drain(&set, || (), look))?;

    let batch = RefCell::new(Batch::new(encoding));
    report(&format!("stream into batches of {id}"), start, || {
        drain(&set, || batch.borrow_mut().clear(), |sample| batch.borrow_mut().push(&sample.situation))
    })?;

    if let Some(sparse) = encoding.sparse() {
        let mut features = FeatureList::new();
        let list = |sample: &Sample<'_>| {
            features.clear();
            let position = sample.situation.position;
            sparse.features(position, position.turn(), &mut features);
            pieces += features.len();
        };
        report(&format!("stream into feature lists of {id}"), start, || drain(&set, || (), list))?;
    }
    // What was counted must have been looked at.
    if pieces == 0 && set.positions() > 0 { Err("positions without pieces".into()) } else { Ok(()) }
}
