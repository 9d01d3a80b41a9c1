//! Streams: everything once, the same order on any number of threads, exact resumption, splits that do not leak.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use crate::random_games::{evaluation, game};
use shakmaty::{Chess, Color, Position};
use tabia_data::{
    Analysed, AnyRecord, Feed, FeedError, Filter, GameBytes, GameHead, GameRecord, Need, PlayerHash,
    RecordIndex, RecordKind, Repeat, Sample, Set, SetPlan, SetWriter, ShardOptions, Side, Split, SplitBy,
    Stream, StreamError, StreamOptions, StreamState, Target, fingerprint,
};
use tabia_encoding::{Elo, Pace, RatingPool};
use tempfile::{TempDir, tempdir};

/// A set in a folder that goes away with the test.
struct TempSet {
    _folder: TempDir,
    set: Arc<Set>,
}

fn set(kind: RecordKind, records: impl IntoIterator<Item = Vec<u8>>) -> TempSet {
    let folder = tempdir().unwrap();
    let packing = ShardOptions { block_records: 8, ..ShardOptions::of(kind) };
    let plan = SetPlan { kind, shards: 3, packing, fingerprint: String::new() };
    let mut writer = SetWriter::create(folder.path(), plan).unwrap();
    let sorted: BTreeMap<_, _> =
        records.into_iter().map(|bytes| (kind.key(&bytes).unwrap(), bytes)).collect();
    for (key, bytes) in sorted {
        writer.push(key, &bytes).unwrap();
    }
    let set = Arc::new(writer.finish(vec![], BTreeMap::new()).unwrap());
    TempSet { _folder: folder, set }
}

fn games(count: u64) -> TempSet {
    set(RecordKind::Games, (0..count).map(|seed| game(seed).to_bytes().unwrap()))
}

fn options() -> StreamOptions {
    StreamOptions { seed: 5, lanes: 4, cursors: 10, repeat: Repeat::Once, ..StreamOptions::default() }
}

type Drawn = (u32, u32, u64, u32);

fn name(sample: &Sample<'_>) -> Drawn {
    let ply = match sample.target {
        Target::Game(game) => game.ply,
        Target::Evaluation(_) => 0,
        Target::Line(line) => 1 + u32::from(line.number),
    };
    (sample.epoch, sample.set, sample.record.0, ply)
}

fn draw_all(stream: &mut Stream, batch: usize, limit: usize) -> Vec<Drawn> {
    let mut drawn = Vec::new();
    while drawn.len() < limit {
        let count = batch.min(limit - drawn.len());
        if stream.draw(count, |sample| drawn.push(name(sample))).unwrap() == 0 {
            break;
        }
    }
    drawn
}

#[test]
fn every_position_is_drawn_once_per_epoch() {
    let (games, others) =
        (games(100), set(RecordKind::Evaluations, (0..50).map(|s| evaluation(s).to_bytes().unwrap())));
    let sets = vec![Arc::clone(&games.set), Arc::clone(&others.set)];
    let total = (games.set.positions() + others.set.positions()) as usize;
    let drawn = draw_all(&mut Stream::new(sets.clone(), options()), 32, usize::MAX);
    assert_eq!(drawn.len(), total);
    assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), total);

    let mut forever = Stream::new(sets, StreamOptions { repeat: Repeat::Forever, ..options() });
    let drawn = draw_all(&mut forever, 32, 4 * total);
    let distinct: HashSet<_> = drawn.iter().collect();
    assert_eq!(distinct.len(), drawn.len());
    let first_epoch = drawn.iter().filter(|sample| sample.0 == 0).count();
    assert_eq!(first_epoch, total, "long before the fourth epoch ends the first is over");
}

#[test]
fn sets_are_mixed_by_weight() {
    let (few, many) = (games(20), games(160));
    let sets = vec![Arc::clone(&few.set), Arc::clone(&many.set)];
    let mixed = |mix: &[u32]| StreamOptions { mix: mix.to_vec(), repeat: Repeat::Forever, ..options() };
    let drawn = draw_all(&mut Stream::new(sets.clone(), mixed(&[3, 1])), 32, 40_000);
    let share = drawn.iter().filter(|sample| sample.1 == 0).count() as f64 / drawn.len() as f64;
    assert!((share - 0.75).abs() < 0.05, "{share}");
    // Each time a record is read is another.
    assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), drawn.len());
    let only = draw_all(&mut Stream::new(sets.clone(), mixed(&[0, 1])), 32, 5_000);
    assert!(only.iter().all(|sample| sample.1 == 1));

    // A mixed stream is resumed, and not by another mix.
    let mut stream = Stream::new(sets.clone(), mixed(&[3, 1]));
    let (first, state) = (draw_all(&mut stream, 32, 9_000), stream.state());
    let rest = draw_all(&mut stream, 32, 9_000);
    let mut again = Stream::resume(sets.clone(), mixed(&[3, 1]), &state).unwrap();
    assert_eq!(draw_all(&mut again, 32, 9_000), rest);
    assert_eq!(first, drawn[..9_000]);
    assert!(matches!(Stream::resume(sets, mixed(&[1, 1]), &state), Err(StreamError::OtherStream)));
}

#[test]
fn batches_mix_games_and_phases() {
    let games = games(200);
    let mut stream = Stream::new(vec![Arc::clone(&games.set)], StreamOptions { cursors: 40, ..options() });
    let mut first = Vec::new();
    stream.draw(60, |sample| first.push(name(sample))).unwrap();
    assert!(first.iter().map(|sample| sample.2).collect::<HashSet<_>>().len() > 25);
    let mean = first.iter().map(|sample| f64::from(sample.3)).sum::<f64>() / 60.0;
    assert!(mean > 10.0, "{mean}");
    let other_seed = StreamOptions { seed: 6, cursors: 40, ..options() };
    let mut other = Vec::new();
    Stream::new(vec![Arc::clone(&games.set)], other_seed)
        .draw(60, |sample| other.push(name(sample)))
        .unwrap();
    assert_ne!(first, other);
}

#[test]
fn the_order_does_not_depend_on_threads() {
    let games = games(120);
    let straight = draw_all(&mut Stream::new(vec![Arc::clone(&games.set)], options()), 50, usize::MAX);
    for threads in [1, 2, 4, 9] {
        let stream = Stream::new(vec![Arc::clone(&games.set)], options());
        let mut feed = Feed::start(stream, threads, 2, |lane| {
            let mut batch = Vec::new();
            lane.draw_many(50, |sample| batch.push(name(sample)))?;
            Ok((!batch.is_empty()).then_some(batch))
        })
        .unwrap();
        let mut drawn = Vec::new();
        while let Some(batch) = feed.next().unwrap() {
            drawn.extend(batch);
        }
        assert_eq!(drawn, straight, "{threads} threads");
    }
}

#[test]
fn a_resumed_stream_yields_the_same_samples() {
    let games = games(80);
    let options = StreamOptions { repeat: Repeat::Forever, earlier: 3, ..options() };
    let sets = || vec![Arc::clone(&games.set)];
    let total = games.set.positions() as usize;
    let straight = draw_all(&mut Stream::new(sets(), options.clone()), 37, 3 * total);
    for after in [0, 37, 37 * 7, 37 * (total / 37), 37 * (2 * total / 37)] {
        let mut stream = Stream::new(sets(), options.clone());
        assert_eq!(draw_all(&mut stream, 37, after), straight[..after]);
        let saved = serde_json::to_string(&stream.state()).unwrap();
        let state: StreamState = serde_json::from_str(&saved).unwrap();
        let mut resumed = Stream::resume(sets(), options.clone(), &state).unwrap();
        assert_eq!(draw_all(&mut resumed, 37, 3 * total - after), straight[after..], "after {after}");
    }
    let other = StreamOptions { seed: 1, ..options };
    let state = Stream::new(sets(), other.clone()).state();
    assert!(Stream::resume(sets(), other, &state).is_ok());
    let changed = StreamOptions { seed: 2, ..self::options() };
    assert!(matches!(Stream::resume(sets(), changed, &state), Err(StreamError::OtherStream)));
}

/// A checkpoint of the first version holds a hash over the `Debug` output of its options.
#[test]
fn a_version_1_state_resumes() {
    let games = games(80);
    let sets = || vec![Arc::clone(&games.set)];
    let debug = "StreamOptions { seed: 0, split: Split { seed: 0, held_out_ppm: 0, by: Record }, side: All, lanes: 8, \
                 seats: 4096, repeat: Forever, filter: Filter { min_ply: 0, max_ply: None, ratings: None, pools: None, \
                 result: Optional, evaluation: Optional, clock: Optional, min_depth: 0 }, earlier: 0, analysed: Roots }";
    let checksums: Vec<u8> =
        games.set.shards().iter().flat_map(|shard| shard.totals().checksum.to_le_bytes()).collect();
    let mut stream = Stream::new(sets(), StreamOptions::default());
    draw_all(&mut stream, 37, 370);
    let mut state = serde_json::to_value(stream.state()).unwrap();
    state["stream"] = fingerprint([debug.as_bytes(), &checksums]).into();
    assert!(state["lanes"][0]["dice"].is_u64() && state["lanes"][0]["seats"].is_array());
    let state: StreamState = serde_json::from_value(state).unwrap();
    let mut resumed = Stream::resume(sets(), StreamOptions::default(), &state).unwrap();
    assert_eq!(draw_all(&mut resumed, 37, 370), draw_all(&mut stream, 37, 370));
    let other = StreamOptions { cursors: 4095, ..StreamOptions::default() };
    assert!(matches!(Stream::resume(sets(), other, &state), Err(StreamError::OtherStream)));
}

#[test]
fn the_state_of_a_feed_excludes_prepared_batches() {
    let games = games(80);
    let sets = || vec![Arc::clone(&games.set)];
    let start = |stream| {
        Feed::start(stream, 3, 4, |lane| {
            let mut batch = Vec::new();
            lane.draw_many(20, |sample| batch.push(name(sample)))?;
            Ok((!batch.is_empty()).then_some(batch))
        })
        .unwrap()
    };
    let straight = draw_all(&mut Stream::new(sets(), options()), 20, usize::MAX);
    let mut feed = start(Stream::new(sets(), options()));
    let mut drawn = Vec::new();
    for _ in 0..11 {
        drawn.extend(feed.next().unwrap().unwrap());
    }
    let mut feed = start(Stream::resume(sets(), options(), feed.state()).unwrap());
    while let Some(batch) = feed.next().unwrap() {
        drawn.extend(batch);
    }
    assert_eq!(drawn, straight);
}

#[test]
fn a_batch_can_be_put_back() {
    let games = games(80);
    let start = || {
        Feed::start(Stream::new(vec![Arc::clone(&games.set)], options()), 2, 2, |lane| {
            let mut batch = Vec::new();
            lane.draw_many(20, |sample| batch.push(name(sample)))?;
            Ok((!batch.is_empty()).then_some(batch))
        })
        .unwrap()
    };
    let mut feed = start();
    for _ in 0..7 {
        feed.next().unwrap();
    }
    let before = feed.state().clone();
    let batch = feed.next().unwrap().unwrap();
    let after = feed.state().clone();
    assert_ne!(before, after);
    feed.put_back(batch.clone());
    assert_eq!(*feed.state(), before);
    assert_eq!(feed.next().unwrap().unwrap(), batch);
    assert_eq!(*feed.state(), after);
    let mut straight = start();
    for _ in 0..8 {
        straight.next().unwrap();
    }
    assert_eq!(feed.next().unwrap(), straight.next().unwrap());
}

#[test]
fn waiting_for_a_batch_can_be_cancelled() {
    let games = games(20);
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    let stream = Stream::new(vec![Arc::clone(&games.set)], StreamOptions { lanes: 1, ..options() });
    let mut feed = Feed::start(stream, 1, 1, move |lane| {
        // The first batch is not ready before the test says so.
        released.lock().unwrap().recv().ok();
        Ok(lane.draw()?.map(|sample| name(&sample)))
    })
    .unwrap();
    let mut polls = 0;
    let outcome = feed.next_polling(&mut || {
        polls += 1;
        if polls < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert!(matches!(outcome, Err(FeedError::Cancelled)) && polls == 3);
    drop(release);
    assert!(feed.next().unwrap().is_some(), "nothing was lost");
}

#[test]
fn dropping_a_feed_cancels_its_batches() {
    let games = games(20);
    let stream =
        Stream::new(vec![Arc::clone(&games.set)], StreamOptions { repeat: Repeat::Forever, ..options() });
    let (started, starts) = std::sync::mpsc::channel();
    let feed = Feed::start(stream, 1, 1, move |lane| {
        started.send(()).ok();
        // A batch that would never be full.
        while lane.draw()?.is_some() {}
        Ok(Some(()))
    })
    .unwrap();
    starts.recv().unwrap();
    drop(feed);
}

#[test]
fn samples_match_their_games() {
    let games = games(60);
    let mut records = HashMap::new();
    for number in 0..games.set.records() {
        let AnyRecord::Game(game) = games.set.record(RecordIndex(number)).unwrap() else { unreachable!() };
        records.insert(number, game);
    }
    let options = StreamOptions { earlier: 2, ..options() };
    let mut seen = 0;
    let mut check = |sample: &Sample<'_>| {
        let Target::Game(target) = sample.target else { unreachable!() };
        let game: &GameRecord = &records[&sample.record.0];
        let ply = target.ply as usize;
        let mut positions: Vec<Chess> = vec![game.start.clone()];
        for earlier in &game.plies[..ply] {
            let mut next = positions[positions.len() - 1].clone();
            next.play_unchecked(earlier.played);
            positions.push(next);
        }
        let situation = sample.situation;
        let here = positions.pop().unwrap();
        assert_eq!((situation.position, situation.position.halfmoves()), (&here, here.halfmoves()));
        positions.reverse();
        positions.truncate(2);
        assert_eq!(situation.earlier, positions);
        let moves: Vec<_> = game.plies[..ply].iter().rev().take(8).map(|ply| ply.played).collect();
        assert_eq!(situation.last_moves, moves);
        // The time a player had is the clock after that player's last move, or the start time.
        let clock = |back: usize| match ply.checked_sub(back) {
            Some(before) => game.plies[before].clock,
            None => game.head.pace.map(|pace| pace.base),
        };
        assert_eq!((situation.mover.time_left, situation.opponent.time_left), (clock(2), clock(1)));
        assert_eq!(situation.mover.rating, *game.head.ratings.get(here.turn()));
        assert_eq!((situation.pool, situation.pace), (game.head.pool, game.head.pace));
        assert_eq!(*target.head, game.head);
        assert_eq!((target.played, target.evaluation), (game.plies[ply].played, game.plies[ply].evaluation));
        let thought = clock(2).zip(game.plies[ply].clock).zip(game.head.pace);
        let thought = thought.map(|((before, after), pace)| (before + pace.increment).saturating_sub(after));
        assert_eq!(target.thought, thought);
        seen += 1;
    };
    let mut stream = Stream::new(vec![Arc::clone(&games.set)], options);
    while stream.draw(64, &mut check).unwrap() > 0 {}
    assert_eq!(seen, games.set.positions());
}

#[test]
fn replay_yields_the_samples_of_a_stream() {
    let games = games(40);
    let filter = Filter { min_ply: 3, ..Filter::default() };
    let mut streamed = BTreeMap::new();
    let options = StreamOptions { filter: filter.clone(), earlier: 1_000, ..options() };
    let mut stream = Stream::new(vec![Arc::clone(&games.set)], options);
    let mut keep = |sample: &Sample<'_>| {
        let Target::Game(game) = sample.target else { panic!("only games were put in") };
        streamed.insert((sample.record.0, game.ply), format!("{:?} {game:?}", sample.situation));
    };
    while stream.draw(100, &mut keep).unwrap() > 0 {}
    let mut replayed = BTreeMap::new();
    for record in 0..games.set.records() {
        let bytes = games.set.bytes(RecordIndex(record)).unwrap();
        let mut last = None;
        GameBytes::parse(&bytes)
            .unwrap()
            .replay(&filter, |situation, game| {
                assert!(last.replace(game.ply) < Some(game.ply));
                replayed.insert((record, game.ply), format!("{situation:?} {game:?}"));
            })
            .unwrap();
    }
    assert!(replayed == streamed && replayed.len() > 200);
}

#[test]
fn the_sides_of_a_split_are_disjoint_and_complete() {
    let games = games(300);
    for by in [SplitBy::Record, SplitBy::Player] {
        let split = Split { seed: 3, held_out_ppm: 200_000, by };
        let mut sides = Vec::new();
        let mut players = Vec::new();
        for side in [Side::Training, Side::HeldOut] {
            let options = StreamOptions { split, side, ..options() };
            let mut records = HashSet::new();
            let mut who: HashSet<PlayerHash> = HashSet::new();
            let mut stream = Stream::new(vec![Arc::clone(&games.set)], options);
            let mut note = |sample: &Sample<'_>| {
                let Target::Game(game) = sample.target else { unreachable!() };
                records.insert(sample.record);
                who.extend([game.head.players.white, game.head.players.black].into_iter().flatten());
            };
            while stream.draw(64, &mut note).unwrap() > 0 {}
            sides.push(records);
            players.push(who);
        }
        let [training, held_out] = [&sides[0], &sides[1]];
        assert!(training.is_disjoint(held_out));
        let with_moves = (0..games.set.records()).filter(|&number| {
            matches!(games.set.record(RecordIndex(number)).unwrap(), AnyRecord::Game(game) if !game.plies.is_empty())
        });
        assert_eq!(training.len() + held_out.len(), with_moves.count());
        let share = held_out.len() as f64 / (training.len() + held_out.len()) as f64;
        match by {
            SplitBy::Record => assert!((0.12..0.28).contains(&share), "{share}"),
            SplitBy::Player => {
                let hidden = players[1].difference(&players[0]).count();
                assert!(hidden > 2, "held-out players are never trained on");
                assert!((0.15..0.6).contains(&share), "{share}");
            }
        }
    }
}

#[test]
fn the_side_of_a_key_is_stable() {
    let split = Split { seed: 1, held_out_ppm: 10_000, by: SplitBy::Record };
    let side = |key: u64| split.side(tabia_data::RecordKey(key), Default::default());
    let held: Vec<_> = (0..100_000u64)
        .map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .filter(|&k| side(k) == Side::HeldOut)
        .collect();
    assert!((800..1200).contains(&held.len()), "{}", held.len());
    assert!(held.iter().all(|&key| side(key) == Side::HeldOut));
    let other = Split { seed: 2, ..split };
    let both =
        held.iter().filter(|&&k| other.side(tabia_data::RecordKey(k), Default::default()) == Side::HeldOut);
    assert!(both.count() < 40);
    assert!(
        (0..1000)
            .all(|k| Split::NONE.side(tabia_data::RecordKey(k << 54), Default::default()) == Side::Training)
    );
}

fn draw_with(games: &TempSet, filter: Filter, mut look: impl FnMut(&Sample<'_>)) -> usize {
    let mut stream = Stream::new(vec![Arc::clone(&games.set)], StreamOptions { filter, ..options() });
    let mut drawn = 0;
    while stream
        .draw(64, |sample| {
            look(sample);
            drawn += 1;
        })
        .unwrap()
        > 0
    {}
    drawn
}

#[test]
fn filters_skip_positions() {
    let games = games(150);
    let all: Vec<GameRecord> = (0..games.set.records())
        .map(|number| match games.set.record(RecordIndex(number)).unwrap() {
            AnyRecord::Game(game) => game,
            AnyRecord::Evaluation(_) => unreachable!(),
        })
        .collect();
    let count = |keep: &dyn Fn(&GameHead, u32, Color, &GameRecord) -> bool| -> usize {
        let plies = |game: &GameRecord| {
            (0..game.plies.len() as u32)
                .filter(|&ply| {
                    let mover = if ply % 2 == 0 { game.start.turn() } else { !game.start.turn() };
                    keep(&game.head, ply, mover, game)
                })
                .count()
        };
        all.iter().map(plies).sum()
    };
    let filter = Filter { min_ply: 12, max_ply: Some(30), ..Filter::default() };
    assert_eq!(draw_with(&games, filter, |_| ()), count(&|_, ply, _, _| (12..30).contains(&ply)));
    let filter = Filter { ratings: Some(1500..=2000), ..Filter::default() };
    let banded = |head: &GameHead, _: u32, mover: Color, _: &GameRecord| {
        head.ratings.get(mover).is_some_and(|Elo(rating)| (1500..=2000).contains(&rating))
    };
    assert_eq!(draw_with(&games, filter, |s| assert!(s.situation.mover.rating.is_some())), count(&banded));
    let filter =
        Filter { pools: Some(vec![RatingPool::Online]), result: Need::Required, ..Filter::default() };
    let online = |head: &GameHead, _: u32, _: Color, _: &GameRecord| {
        head.pool == RatingPool::Online && head.result.is_some()
    };
    assert_eq!(draw_with(&games, filter, |_| ()), count(&online));
    let filter = Filter { evaluation: Need::Required, ..Filter::default() };
    let judged =
        |_: &GameHead, ply: u32, _: Color, game: &GameRecord| game.plies[ply as usize].evaluation.is_some();
    assert_eq!(draw_with(&games, filter, |_| ()), count(&judged));

    // Nothing passes: an endless stream ends rather than turn for ever.
    let filter = Filter { min_ply: 10_000, ..Filter::default() };
    let forever = StreamOptions { repeat: Repeat::Forever, filter, ..options() };
    assert_eq!(Stream::new(vec![Arc::clone(&games.set)], forever).draw(5, |_| ()).unwrap(), 0);
}

#[test]
fn only_the_solvers_moves_of_puzzles_are_drawn() {
    let puzzles = (0..30).map(|seed| {
        let mut puzzle = game(seed);
        puzzle.head = GameHead {
            pool: RatingPool::Puzzle,
            pace: Some(Pace { base: Duration::from_secs(60), increment: Duration::ZERO }),
            ..GameHead::default()
        };
        puzzle.to_bytes().unwrap()
    });
    let puzzles = set(RecordKind::Games, puzzles);
    let drawn = draw_with(&puzzles, Filter::default(), |sample| {
        let Target::Game(game) = sample.target else { unreachable!() };
        assert_eq!(game.ply % 2, 0);
    });
    assert!(drawn > 0 && (drawn as u64) < puzzles.set.positions());
}

#[test]
fn shallow_evaluations_are_skipped() {
    let set = set(RecordKind::Evaluations, (0..80).map(|s| evaluation(s).to_bytes().unwrap()));
    let filter = Filter { min_depth: 40, ..Filter::default() };
    let drawn = draw_with(&set, filter, |sample| {
        let Target::Evaluation(record) = sample.target else { unreachable!() };
        assert!(record.sessions[0].depth >= 40);
        assert_eq!(sample.situation.position, &record.position);
    });
    assert!((5..75).contains(&drawn), "{drawn}");
}

fn analysed() -> TempSet {
    set(RecordKind::Evaluations, (0..80).map(|seed| evaluation(seed).to_bytes().unwrap()))
}

#[test]
fn lines_of_analysed_positions_are_drawn_once_and_mixed() {
    let set = analysed();
    let mut wanted = HashSet::new();
    for number in 0..set.set.records() {
        let AnyRecord::Evaluation(record) = set.set.record(RecordIndex(number)).unwrap() else {
            unreachable!()
        };
        wanted.insert((0, 0, number, 0));
        wanted.extend((1..).zip(&record.sessions[0].lines).map(|(line, _)| (0, 0, number, line)));
    }
    let with = |analysed| StreamOptions { analysed, cursors: 16, ..options() };
    let sets = || vec![Arc::clone(&set.set)];
    let both = draw_all(&mut Stream::new(sets(), with(Analysed::Both { most: 0 })), 32, usize::MAX);
    assert_eq!((both.len(), both.iter().copied().collect::<HashSet<_>>()), (wanted.len(), wanted.clone()));
    let neighbours = both.windows(2).filter(|pair| pair[0].2 == pair[1].2).count();
    assert!(neighbours < both.len() / 4, "{neighbours} of {}", both.len());

    let children = draw_all(&mut Stream::new(sets(), with(Analysed::Children { most: 0 })), 32, usize::MAX);
    wanted.retain(|sample| sample.3 > 0);
    assert_eq!(children.into_iter().collect::<HashSet<_>>(), wanted);

    let mut few = HashMap::new();
    for sample in draw_all(&mut Stream::new(sets(), with(Analysed::Children { most: 2 })), 32, usize::MAX) {
        *few.entry(sample.2).or_insert(0) += 1;
    }
    assert_eq!(few.len() as u64, set.set.records());
    assert!(few.values().all(|count| (1..=2).contains(count)) && few.values().any(|count| *count == 2));
}

#[test]
fn lines_are_those_of_the_deepest_session() {
    let set = analysed();
    let options = StreamOptions { analysed: Analysed::Children { most: 0 }, ..options() };
    let check = |sample: &Sample<'_>| {
        let AnyRecord::Evaluation(record) = set.set.record(sample.record).unwrap() else { unreachable!() };
        let Target::Line(target) = sample.target else { unreachable!() };
        let deepest = &record.sessions[0];
        assert_eq!((target.depth, target.line), (deepest.depth, deepest.lines[usize::from(target.number)]));
        assert_eq!(sample.situation.position, &record.position);
    };
    let mut stream = Stream::new(vec![Arc::clone(&set.set)], options);
    let mut drawn = 0;
    loop {
        match stream.draw(64, check).unwrap() {
            0 => break,
            count => drawn += count,
        }
    }
    assert!(drawn > 100);
}

#[test]
fn resumed_analysed_positions_yield_the_same_samples() {
    let set = analysed();
    let analysed = Analysed::Both { most: 2 };
    let options = StreamOptions { repeat: Repeat::Forever, analysed, ..options() };
    let sets = || vec![Arc::clone(&set.set)];
    let straight = draw_all(&mut Stream::new(sets(), options.clone()), 23, 1000);
    let orders: HashSet<u32> =
        straight.iter().filter(|sample| sample.2 == 5).map(|sample| sample.0).collect();
    assert!(orders.len() > 2, "several epochs");
    for after in [0, 23, 230, 690] {
        let mut stream = Stream::new(sets(), options.clone());
        assert_eq!(draw_all(&mut stream, 23, after), straight[..after]);
        let saved = serde_json::to_string(&stream.state()).unwrap();
        let state: StreamState = serde_json::from_str(&saved).unwrap();
        let mut resumed = Stream::resume(sets(), options.clone(), &state).unwrap();
        assert_eq!(draw_all(&mut resumed, 23, 1000 - after), straight[after..], "after {after}");
    }
    let state = Stream::new(sets(), options.clone()).state();
    let other = StreamOptions { analysed: Analysed::Roots, ..options };
    assert!(matches!(Stream::resume(sets(), other, &state), Err(StreamError::OtherStream)));
}
