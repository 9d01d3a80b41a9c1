//! The identity of a stream in a checkpoint: everything that decides the order of samples.
//!
//! The names and the order of fields here are a format on disk. They do not follow renames in the code.

use std::fmt::Write as _;

use tabia_encoding::RatingPool;

use super::{Analysed, Need, Repeat, StreamOptions};
use crate::{Side, SplitBy, fingerprint};

/// Version 2: `2-` and a hash over named fields and the checksums of all shards.
pub(super) fn identity(options: &StreamOptions, shards: &[u8]) -> String {
    format!("2-{}", fingerprint([fields(options).as_bytes(), shards]))
}

/// Version 1: a hash over what `{:?}` printed for the options at the time, when `cursors` was called `seats`.
pub(super) fn identity_v1(options: &StreamOptions, shards: &[u8]) -> String {
    fingerprint([fields_v1(options).as_bytes(), shards])
}

/// One `name=value` a line.
fn fields(options: &StreamOptions) -> String {
    let StreamOptions { seed, split, side, lanes, cursors, repeat, filter, earlier, analysed, mix } = options;
    let or_any = |value: Option<String>| value.unwrap_or_else(|| "any".to_owned());
    let ratings = filter.ratings.as_ref().map(|band| format!("{}-{}", band.start(), band.end()));
    let pools =
        filter.pools.as_ref().map(|pools| pools.iter().copied().map(pool).collect::<Vec<_>>().join(","));
    let (analysed, most) = match *analysed {
        Analysed::Roots => ("Roots", 0),
        Analysed::Children { most } => ("Children", most),
        Analysed::Both { most } => ("Both", most),
    };
    let mut text = String::new();
    for (name, value) in [
        ("seed", seed.to_string()),
        ("split.seed", split.seed.to_string()),
        ("split.held_out_ppm", split.held_out_ppm.to_string()),
        ("split.by", split_by(split.by).to_owned()),
        ("side", side_name(*side).to_owned()),
        ("lanes", lanes.to_string()),
        ("cursors", cursors.to_string()),
        ("repeat", repeat_name(*repeat).to_owned()),
        ("filter.min_ply", filter.min_ply.to_string()),
        ("filter.max_ply", or_any(filter.max_ply.map(|ply| ply.to_string()))),
        ("filter.ratings", or_any(ratings)),
        ("filter.pools", or_any(pools)),
        ("filter.result", need(filter.result).to_owned()),
        ("filter.evaluation", need(filter.evaluation).to_owned()),
        ("filter.clock", need(filter.clock).to_owned()),
        ("filter.min_depth", filter.min_depth.to_string()),
        ("earlier", earlier.to_string()),
        ("analysed", analysed.to_owned()),
        ("analysed.most", most.to_string()),
    ] {
        let _infallible = writeln!(text, "{name}={value}");
    }
    // A stream without it is what it was before there was one.
    if !mix.is_empty() {
        let weights: Vec<String> = mix.iter().map(u32::to_string).collect();
        let _infallible = writeln!(text, "mix={}", weights.join(","));
    }
    text
}

fn fields_v1(options: &StreamOptions) -> String {
    // Streams of the time had no mix.
    let StreamOptions { seed, split, side, lanes, cursors, repeat, filter, earlier, analysed, mix: _ } =
        options;
    let some = |value: Option<String>| value.map_or("None".to_owned(), |value| format!("Some({value})"));
    let pools =
        filter.pools.as_ref().map(|pools| pools.iter().copied().map(pool).collect::<Vec<_>>().join(", "));
    let analysed = match analysed {
        Analysed::Roots => "Roots".to_owned(),
        Analysed::Children { most } => format!("Children {{ most: {most} }}"),
        Analysed::Both { most } => format!("Both {{ most: {most} }}"),
    };
    format!(
        "StreamOptions {{ seed: {seed}, split: Split {{ seed: {}, held_out_ppm: {}, by: {} }}, side: {}, lanes: {lanes}, \
         seats: {cursors}, repeat: {}, filter: Filter {{ min_ply: {}, max_ply: {}, ratings: {}, pools: {}, result: {}, \
         evaluation: {}, clock: {}, min_depth: {} }}, earlier: {earlier}, analysed: {analysed} }}",
        split.seed,
        split.held_out_ppm,
        split_by(split.by),
        side_name(*side),
        repeat_name(*repeat),
        filter.min_ply,
        some(filter.max_ply.map(|ply| ply.to_string())),
        some(filter.ratings.as_ref().map(|band| format!("{}..={}", band.start(), band.end()))),
        some(pools.map(|pools| format!("[{pools}]"))),
        need(filter.result),
        need(filter.evaluation),
        need(filter.clock),
        filter.min_depth,
    )
}

fn split_by(by: SplitBy) -> &'static str {
    match by {
        SplitBy::Record => "Record",
        SplitBy::Player => "Player",
    }
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Training => "Training",
        Side::HeldOut => "HeldOut",
        Side::All => "All",
    }
}

fn repeat_name(repeat: Repeat) -> &'static str {
    match repeat {
        Repeat::Once => "Once",
        Repeat::Forever => "Forever",
    }
}

fn need(need: Need) -> &'static str {
    match need {
        Need::Optional => "Optional",
        Need::Required => "Required",
    }
}

fn pool(pool: RatingPool) -> &'static str {
    match pool {
        RatingPool::Unknown => "Unknown",
        RatingPool::OverTheBoard => "OverTheBoard",
        RatingPool::Online => "Online",
        RatingPool::Puzzle => "Puzzle",
        RatingPool::Lichess => "Lichess",
        RatingPool::ChessCom => "ChessCom",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Filter, Split};

    fn filtered() -> StreamOptions {
        StreamOptions {
            seed: 7,
            split: Split { seed: 1, held_out_ppm: 10_000, by: SplitBy::Player },
            side: Side::Training,
            lanes: 16,
            cursors: 512,
            repeat: Repeat::Once,
            filter: Filter {
                min_ply: 8,
                max_ply: Some(200),
                ratings: Some(1000..=2000),
                pools: Some(vec![RatingPool::Online, RatingPool::OverTheBoard]),
                result: Need::Required,
                evaluation: Need::Optional,
                clock: Need::Required,
                min_depth: 20,
            },
            earlier: 7,
            analysed: Analysed::Both { most: 4 },
            mix: Vec::new(),
        }
    }

    /// As printed by the version that wrote such checkpoints.
    #[test]
    fn version_1_is_the_old_debug_output() {
        assert_eq!(
            fields_v1(&StreamOptions::default()),
            "StreamOptions { seed: 0, split: Split { seed: 0, held_out_ppm: 0, by: Record }, side: All, lanes: 8, \
             seats: 4096, repeat: Forever, filter: Filter { min_ply: 0, max_ply: None, ratings: None, pools: None, \
             result: Optional, evaluation: Optional, clock: Optional, min_depth: 0 }, earlier: 0, analysed: Roots }"
        );
        assert_eq!(
            fields_v1(&filtered()),
            "StreamOptions { seed: 7, split: Split { seed: 1, held_out_ppm: 10000, by: Player }, side: Training, \
             lanes: 16, seats: 512, repeat: Once, filter: Filter { min_ply: 8, max_ply: Some(200), \
             ratings: Some(1000..=2000), pools: Some([Online, OverTheBoard]), result: Required, evaluation: Optional, \
             clock: Required, min_depth: 20 }, earlier: 7, analysed: Both { most: 4 } }"
        );
        assert_eq!(identity_v1(&StreamOptions::default(), &[1, 2, 3]), "7f44a931839b3f4e");
    }

    #[test]
    fn version_2_never_changes() {
        assert_eq!(
            fields(&filtered()),
            "seed=7\nsplit.seed=1\nsplit.held_out_ppm=10000\nsplit.by=Player\nside=Training\nlanes=16\ncursors=512\n\
             repeat=Once\nfilter.min_ply=8\nfilter.max_ply=200\nfilter.ratings=1000-2000\n\
             filter.pools=Online,OverTheBoard\nfilter.result=Required\nfilter.evaluation=Optional\n\
             filter.clock=Required\nfilter.min_depth=20\nearlier=7\nanalysed=Both\nanalysed.most=4\n"
        );
        assert_eq!(identity(&StreamOptions::default(), &[1, 2, 3]), "2-31b94340597715aa");
        assert_ne!(identity(&StreamOptions::default(), &[]), identity(&StreamOptions::default(), &[1]));
        let mixed = StreamOptions { mix: vec![3, 1], ..filtered() };
        assert_eq!(fields(&mixed), fields(&filtered()) + "mix=3,1\n");
    }
}
