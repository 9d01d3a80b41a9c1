//! Training batches: what their columns say, their order, and their memory.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use tabia_batches::{BatchOptions, Batches, Lent, NO_MOVE};
use tabia_data::{GameRules, Repeat, Set, SourceFile, StreamOptions, build_in_memory};
use tabia_encoding::{encoding, vocabulary};
use tempfile::{TempDir, tempdir};

fn set(folder: &TempDir, pgn: &str) -> Arc<Set> {
    let path = folder.path().join("games.pgn");
    std::fs::write(&path, pgn).unwrap();
    let files = SourceFile::find(&path).unwrap();
    let dir = folder.path().join("set");
    let on = &mut |_| ControlFlow::Continue(());
    Arc::new(build_in_memory(&dir, &files, &GameRules::default(), 2, on).unwrap().0)
}

/// Games that differ in their first moves and players.
fn many() -> String {
    let moves = ["e4", "d4", "c4", "Nf3", "Nc3", "g3", "b3", "f4"];
    let replies = ["e5", "d5", "c5", "Nf6", "Nc6", "g6", "b6", "f5"];
    let mut text = String::new();
    for (n, (first, second)) in
        moves.iter().flat_map(|first| replies.iter().map(move |second| (first, second))).enumerate()
    {
        let _infallible = write!(
            text,
            "[White \"{n}\"]\n[WhiteElo \"{}\"]\n\n1. {first} {second} 2. a3 a6 1/2-1/2\n\n",
            1000 + n
        );
    }
    text
}

fn options(threads: usize) -> BatchOptions {
    BatchOptions {
        encoding: encoding("challenge-768").unwrap(),
        vocabulary: vocabulary("canonical-1968"),
        legal: true,
        rows: 10,
        stream: StreamOptions { repeat: Repeat::Once, cursors: 16, ..StreamOptions::default() },
        threads,
    }
}

fn next(batches: &mut Batches) -> Option<Lent> {
    batches.next_polling(&mut || ControlFlow::Continue(())).unwrap()
}

fn rows(batches: &mut Batches) -> Vec<(i64, i32, i64, Vec<f32>)> {
    let mut all = Vec::new();
    while let Some(batch) = next(batches) {
        for row in 0..batch.rows() {
            let inputs = batch.inputs.values(0)[row * 768..(row + 1) * 768].to_vec();
            all.push((batch.record[row], batch.ply[row], batch.moves[row], inputs));
        }
    }
    all
}

#[test]
fn every_position_comes_once_in_an_order_that_threads_do_not_change() {
    let folder = tempdir().unwrap();
    let set = set(&folder, &many());
    assert_eq!((set.records(), set.positions()), (64, 256));
    let one = rows(&mut Batches::start(vec![Arc::clone(&set)], &options(1), None).unwrap());
    let four = rows(&mut Batches::start(vec![set], &options(4), None).unwrap());
    assert_eq!(one, four);
    let mut places: Vec<(i64, i32)> = one.iter().map(|row| (row.0, row.1)).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), 256);
    assert!(one.iter().all(|row| row.2 != NO_MOVE));
}

#[test]
fn a_place_resumes_with_the_same_batches() {
    let folder = tempdir().unwrap();
    let set = set(&folder, &many());
    let mut batches = Batches::start(vec![Arc::clone(&set)], &options(2), None).unwrap();
    for _ in 0..3 {
        next(&mut batches).unwrap();
    }
    let place = batches.place().clone();
    let rest = rows(&mut batches);
    let resumed = rows(&mut Batches::start(vec![Arc::clone(&set)], &options(3), Some(&place)).unwrap());
    assert_eq!(rest, resumed);
    let mut other = options(2);
    other.stream.seed = 1;
    assert!(Batches::start(vec![set], &other, Some(&place)).is_err());
}

#[test]
fn columns_say_what_is_known() {
    let folder = tempdir().unwrap();
    let pgn = "[WhiteElo \"1500\"]\n[TimeControl \"60+1\"]\n\n\
        1. f3 { [%clk 0:00:55] [%eval -0.5] } e5 { [%eval -1] } 2. g4 { [%eval #-1] } Qh4# 0-1\n";
    let set = set(&folder, pgn);
    let mut batches = Batches::start(vec![set], &options(1), None).unwrap();
    let batch = next(&mut batches).unwrap();
    let mut order: Vec<usize> = (0..batch.rows()).collect();
    order.sort_by_key(|row| batch.ply[*row]);
    let by_ply = |column: &[f32]| order.iter().map(|row| column[*row]).collect::<Vec<f32>>();
    assert_eq!(by_ply(&batch.result), [0.0, 1.0, 0.0, 1.0]);
    assert_eq!(by_ply(&batch.evaluation)[..3], [-50.0, 100.0, -9999.0]);
    assert!(by_ply(&batch.evaluation)[3].is_nan());
    assert_eq!(by_ply(&batch.rating)[0], 1500.0);
    assert!(by_ply(&batch.rating)[1].is_nan());
    assert_eq!(by_ply(&batch.opponent_rating)[1], 1500.0);
    assert_eq!(by_ply(&batch.clock)[..3], [60.0, 60.0, 55.0]);
    assert_eq!(by_ply(&batch.thought)[0], 6.0);
    assert_eq!((batch.base[0], batch.increment[0]), (60.0, 1.0));
    assert_eq!(batch.legal.len(), 4 * 1968);
    assert_eq!(batch.legal[order[0] * 1968..][..1968].iter().filter(|bit| **bit == 1).count(), 20);
    assert!(batch.promotions.is_empty());
    assert!(next(&mut batches).is_none());
}

#[test]
fn memory_is_used_again_once_a_batch_is_dropped() {
    let folder = tempdir().unwrap();
    let set = set(&folder, &many());
    let mut forever = options(1);
    forever.stream.repeat = Repeat::Forever;
    let mut batches = Batches::start(vec![set], &forever, None).unwrap();
    let address = |batch: &Lent| batch.inputs.values(0).as_ptr() as usize;
    let kept = next(&mut batches).unwrap();
    let copy = kept.inputs.values(0).to_vec();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..500 {
        seen.insert(address(&next(&mut batches).unwrap()));
    }
    assert!(seen.len() < 100, "{} buffers", seen.len());
    assert!(!seen.contains(&address(&kept)));
    assert_eq!(kept.inputs.values(0), copy);
}

#[test]
fn sets_built_in_memory_do_not_depend_on_threads_or_order() {
    let folder = tempdir().unwrap();
    let pgn = many();
    let (head, tail) = pgn.split_at(pgn.find("[White \"30\"]").unwrap());
    std::fs::write(folder.path().join("a.pgn"), head).unwrap();
    std::fs::write(folder.path().join("b.pgn"), tail).unwrap();
    let build = |dir: &str, files: &[&str], threads: usize| {
        let find = |name: &&str| SourceFile::find(&folder.path().join(name)).unwrap().remove(0);
        let files: Vec<SourceFile> = files.iter().map(find).collect();
        let on = &mut |_| ControlFlow::Continue(());
        build_in_memory(&folder.path().join(dir), &files, &GameRules::default(), threads, on).unwrap().0
    };
    let shards = |set: &Set| {
        let bytes = |shard: &tabia_data::Shard| std::fs::read(shard.path()).unwrap();
        set.shards().iter().map(bytes).collect::<Vec<_>>()
    };
    let one = build("one", &["a.pgn", "b.pgn"], 1);
    // Twice the same games are the same games.
    let other = build("other", &["b.pgn", "a.pgn", "a.pgn"], 3);
    assert_eq!(shards(&one), shards(&other));
    assert_eq!(one.records(), 64);

    let occupied = SourceFile::find(&folder.path().join("a.pgn")).unwrap();
    let on = &mut |_| ControlFlow::Continue(());
    let error = build_in_memory(&folder.path().join("one"), &occupied, &GameRules::default(), 1, on).err();
    assert!(error.unwrap().to_string().contains("already holds a set"));
    let cancelled = build_in_memory(
        Path::new(&folder.path().join("three")),
        &occupied,
        &GameRules::default(),
        1,
        &mut |_| ControlFlow::Break(()),
    );
    assert!(cancelled.is_err());
}
