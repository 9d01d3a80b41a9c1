//! Shards and sets: round trips, damage, determinism, resumed builds, golden files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;

use crate::random_games::{evaluation, game};
use tabia_data::{
    AnyRecord, EvaluationRecord, GameRecord, PositionIndex, RecordIndex, RecordKey, RecordKind, Set,
    SetError, SetPlan, SetWriter, Shard, ShardError, ShardFault, ShardHead, ShardOptions, ShardWriter,
    SourceSummary,
};
use tempfile::tempdir;

fn games(seeds: std::ops::Range<u64>) -> Vec<Vec<u8>> {
    seeds.map(|seed| game(seed).to_bytes().unwrap()).collect()
}

fn evaluations(seeds: std::ops::Range<u64>) -> Vec<Vec<u8>> {
    seeds.map(|seed| evaluation(seed).to_bytes().unwrap()).collect()
}

fn plan(kind: RecordKind, shards: u32) -> SetPlan {
    let packing = ShardOptions { block_records: 16, ..ShardOptions::of(kind) };
    SetPlan { kind, shards, packing, fingerprint: "a test".into() }
}

/// What every builder does with its records: unite those of a key, sort.
fn sorted(kind: RecordKind, records: &[Vec<u8>]) -> BTreeMap<RecordKey, Vec<u8>> {
    let mut by_key: BTreeMap<RecordKey, Vec<&[u8]>> = BTreeMap::new();
    for record in records {
        by_key.entry(kind.key(record).unwrap()).or_default().push(record);
    }
    by_key.into_iter().map(|(key, parts)| (key, kind.unite(parts).unwrap())).collect()
}

fn build(dir: &Path, plan: SetPlan, records: &[Vec<u8>]) -> Set {
    let sorted = sorted(plan.kind, records);
    let mut writer = SetWriter::create(dir, plan).unwrap();
    for (key, bytes) in sorted {
        writer.push(key, &bytes).unwrap();
    }
    writer.finish(vec![], BTreeMap::new()).unwrap()
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
    entries.map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap())).collect()
}

#[test]
fn records_are_read_by_number_and_in_order() {
    for (kind, records) in
        [(RecordKind::Games, games(0..150)), (RecordKind::Evaluations, evaluations(0..150))]
    {
        let scratch = tempdir().unwrap();
        let expected = sorted(kind, &records);
        let set = build(scratch.path(), plan(kind, 3), &records);
        assert_eq!(set.records(), expected.len() as u64);
        let read: BTreeMap<_, _> = set.iter().map(Result::unwrap).collect();
        assert_eq!(read, expected);
        let mut position = 0;
        for (number, bytes) in (0..).zip(expected.values()) {
            assert_eq!(&set.bytes(RecordIndex(number)).unwrap(), bytes);
            let record = set.record(RecordIndex(number)).unwrap();
            let plies = match record {
                AnyRecord::Game(game) => {
                    assert_eq!(game, GameRecord::from_bytes(bytes).unwrap());
                    game.plies.len() as u64
                }
                AnyRecord::Evaluation(record) => {
                    assert_eq!(record, EvaluationRecord::from_bytes(bytes).unwrap());
                    1
                }
            };
            for ply in [0, plies.saturating_sub(1)].into_iter().filter(|&ply| ply < plies) {
                let found = set.position(PositionIndex(position + ply)).unwrap();
                assert_eq!(found, (RecordIndex(number), ply as u32));
            }
            position += plies;
        }
        assert_eq!(set.positions(), position);
        assert!(matches!(set.position(PositionIndex(position)), Err(SetError::Absent { .. })));
        assert!(matches!(set.record(RecordIndex(set.records())), Err(SetError::Absent { .. })));
        set.verify(|_| ()).unwrap();
    }
}

#[test]
fn a_set_is_a_function_of_its_records() {
    for (kind, mut records) in
        [(RecordKind::Games, games(0..120)), (RecordKind::Evaluations, evaluations(0..120))]
    {
        let (once, again) = (tempdir().unwrap(), tempdir().unwrap());
        build(once.path(), plan(kind, 4), &records);
        let twice = records[..50].to_vec();
        records.extend(twice);
        fastrand::Rng::with_seed(9).shuffle(&mut records);
        build(again.path(), plan(kind, 4), &records);
        assert_eq!(files(once.path()), files(again.path()));
        assert_eq!(files(once.path()).len(), 5);
    }
}

/// Opens a shard and reads all of it.
fn read_all(path: &Path) -> Result<(), ShardError> {
    Shard::open(path).and_then(|shard| shard.verify())
}

#[test]
fn every_damaged_byte_is_detected() {
    for (kind, mut records) in
        [(RecordKind::Games, games(0..6)), (RecordKind::Evaluations, evaluations(0..12))]
    {
        let scratch = tempdir().unwrap();
        let path = scratch.path().join("small.tabia");
        records.sort_by_key(|bytes| kind.key(bytes).unwrap());
        let head = ShardHead { fingerprint: "x".into(), shard: 0, shards: 1 };
        let options = ShardOptions { block_records: 4, level: 3 };
        let mut writer = ShardWriter::create(&path, kind, &head, options).unwrap();
        records.iter().for_each(|record| writer.push(record).unwrap());
        let totals = writer.finish().unwrap();
        let whole = fs::read(&path).unwrap();
        assert_eq!(totals.bytes, whole.len() as u64);
        read_all(&path).unwrap();

        // Changed in place: making the file anew each time would wait for the disk.
        let mut rng = fastrand::Rng::with_seed(3);
        let file = fs::File::options().write(true).open(&path).unwrap();
        let put = |at: usize, byte: u8| {
            (&file).seek(SeekFrom::Start(at as u64)).unwrap();
            (&file).write_all(&[byte]).unwrap();
        };
        for (at, &byte) in whole.iter().enumerate() {
            put(at, byte ^ 1 << rng.u8(0..8));
            let error = read_all(&path).expect_err(&format!("byte {at} of {}", whole.len()));
            assert_eq!(error.path, path);
            put(at, byte);
        }
        put(whole.len(), b'\n');
        assert!(read_all(&path).is_err(), "one byte more");
        for len in (0..whole.len()).rev() {
            file.set_len(len as u64).unwrap();
            assert!(read_all(&path).is_err(), "cut to {len} of {}", whole.len());
        }
    }
}

#[test]
fn damage_is_reported_by_kind() {
    let scratch = tempdir().unwrap();
    let set = build(scratch.path(), plan(RecordKind::Games, 1), &games(0..40));
    let path = set.shards()[0].path().to_owned();
    let (second, len) = (set.shards()[0].blocks()[1].offset as usize, set.shards()[0].blocks()[1].len());
    assert!(len > 10);
    drop(set);
    let whole = fs::read(&path).unwrap();
    let fault = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
        read_all(&path).unwrap_err().fault
    };
    assert!(matches!(fault(&|bytes| bytes[second + 5] ^= 4), ShardFault::Block { block: 1, .. }));
    assert!(matches!(fault(&|bytes| bytes[8] = 9), ShardFault::Version { have: 9, .. }));
    assert!(matches!(fault(&|bytes| bytes[1] = b'P'), ShardFault::Magic));
    assert!(matches!(fault(&|bytes| bytes.truncate(40)), ShardFault::Damaged { .. }));
    fs::remove_file(&path).unwrap();
    let SetError::Shard(absent) = Set::open(scratch.path()).unwrap_err() else { panic!("a shard's error") };
    assert!(absent.path == path && matches!(absent.fault, ShardFault::Io { .. }), "{absent}");
}

#[test]
fn a_shard_of_another_set_is_rejected() {
    let (ours, theirs) = (tempdir().unwrap(), tempdir().unwrap());
    build(ours.path(), plan(RecordKind::Games, 1), &games(0..40));
    build(theirs.path(), plan(RecordKind::Games, 1), &games(40..80));
    fs::copy(theirs.path().join("shard-00000.tabia"), ours.path().join("shard-00000.tabia")).unwrap();
    let error = Set::open(ours.path()).unwrap_err();
    assert!(matches!(&error, SetError::OtherShard { file, .. } if file == "shard-00000.tabia"), "{error}");
}

#[test]
fn an_interrupted_build_keeps_finished_shards() {
    let (scratch, straight) = (tempdir().unwrap(), tempdir().unwrap());
    let records = games(0..200);
    let plan = plan(RecordKind::Games, 4);
    let sorted: Vec<_> = sorted(RecordKind::Games, &records).into_iter().collect();
    let mut writer = SetWriter::create(scratch.path(), plan.clone()).unwrap();
    for (key, bytes) in &sorted[..sorted.len() * 5 / 8] {
        writer.push(*key, bytes).unwrap();
    }
    drop(writer);
    assert_eq!(files(scratch.path()).len(), 2, "two shards, no half-written one, no manifest");
    assert!(Set::open(scratch.path()).is_err());

    let other = SetPlan { fingerprint: "other sources".into(), ..plan.clone() };
    assert!(SetWriter::create(scratch.path(), other).unwrap().finished().is_empty());
    let mut writer = SetWriter::create(scratch.path(), plan.clone()).unwrap();
    assert_eq!(writer.finished().keys().copied().collect::<Vec<_>>(), [0, 1]);
    for (key, bytes) in &sorted {
        writer.push(*key, bytes).unwrap();
    }
    writer.finish(vec![], BTreeMap::new()).unwrap();
    build(straight.path(), plan.clone(), &records);
    assert_eq!(files(scratch.path()), files(straight.path()));
    assert!(matches!(SetWriter::create(scratch.path(), plan), Err(SetError::Occupied { .. })));
}

#[test]
fn shards_can_be_written_in_any_order() {
    let (scratch, straight) = (tempdir().unwrap(), tempdir().unwrap());
    let records = games(0..100);
    let plan = plan(RecordKind::Games, 3);
    let sorted = sorted(RecordKind::Games, &records);
    let writer = SetWriter::create(scratch.path(), plan.clone()).unwrap();
    for number in [2, 0] {
        let mut shard = writer.shard(number).unwrap();
        for (key, bytes) in sorted.iter().filter(|(key, _)| plan.shard_of(**key) == number) {
            shard.push(*key, bytes).unwrap();
        }
        shard.finish().unwrap();
    }
    assert!(matches!(writer.seal(vec![], BTreeMap::new()), Err(SetError::Unfinished { shard: 1, .. })));
    let writer = SetWriter::create(scratch.path(), plan.clone()).unwrap();
    let mut shard = writer.shard(1).unwrap();
    let elsewhere = sorted.iter().find(|(key, _)| plan.shard_of(**key) == 2).unwrap();
    let misplaced = shard.push(*elsewhere.0, elsewhere.1).unwrap_err();
    assert!(matches!(
        misplaced,
        SetError::Shard(error) if matches!(error.fault, ShardFault::WrongShard { shard: 1, shards: 3, .. })
    ));
    for (key, bytes) in sorted.iter().filter(|(key, _)| plan.shard_of(**key) == 1) {
        shard.push(*key, bytes).unwrap();
        let again = shard.push(*key, bytes).unwrap_err();
        assert!(matches!(again, SetError::Shard(error) if matches!(error.fault, ShardFault::Order { .. })));
    }
    shard.finish().unwrap();
    writer.seal(vec![], BTreeMap::new()).unwrap();
    build(straight.path(), plan, &records);
    assert_eq!(files(scratch.path()), files(straight.path()));
}

#[test]
fn the_manifest_lists_sources_and_options() {
    let scratch = tempdir().unwrap();
    let writer = SetWriter::create(scratch.path(), plan(RecordKind::Games, 2)).unwrap();
    let broken = BTreeMap::from([("illegal move".to_owned(), 3)]);
    let source = SourceSummary { name: "some.pgn".into(), records: 7, broken };
    let options = BTreeMap::from([("pool".to_owned(), "online".to_owned())]);
    let set = writer.finish(vec![source.clone()], options.clone()).unwrap();
    assert_eq!((set.records(), set.positions()), (0, 0));
    assert_eq!((&set.manifest().sources, &set.manifest().options), (&vec![source], &options));
    let path = scratch.path().join("set.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"version\": 1", "\"version\": 2")).unwrap();
    let newer = Set::open(scratch.path()).unwrap_err();
    assert!(matches!(newer, SetError::Version { have: 2, .. }), "{newer}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_no_shard() {
    let head = ShardHead { fingerprint: "x".into(), shard: 0, shards: 1 };
    let options = ShardOptions::of(RecordKind::Games);
    let scratch = tempdir().unwrap();
    let path = scratch.path().join("shard.tabia");
    std::os::unix::fs::symlink("/dev/full", scratch.path().join("shard.tabia.part")).unwrap();
    let mut writer = ShardWriter::create(&path, RecordKind::Games, &head, options).unwrap();
    let written = games(0..400).iter().try_for_each(|record| writer.push(record));
    let error = written.and_then(|()| writer.finish().map(|_| ())).unwrap_err();
    assert_eq!(error.path, path);
    assert!(
        matches!(&error.fault, ShardFault::Io { error, .. } if error.kind() == ErrorKind::StorageFull),
        "{error}"
    );
    assert!(files(scratch.path()).is_empty());
}

/// The sets in `fixtures/shards` were written by the first version of the format.
#[test]
fn golden_sets_are_read() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/shards");
    let scratch = tempdir().unwrap();
    for (kind, records) in [(RecordKind::Games, games(0..40)), (RecordKind::Evaluations, evaluations(0..60))]
    {
        let dir = golden.join(kind.to_string());
        if std::env::var_os("TABIA_REMAKE_GOLDEN_SHARDS").is_some() {
            let _ = fs::remove_dir_all(&dir);
            build(&dir, plan(kind, 2), &records);
        }
        let set = Set::open(&dir).unwrap();
        set.verify(|_| ()).unwrap();
        let read: BTreeSet<_> = set.iter().map(|record| record.unwrap().1).collect();
        let expected: BTreeSet<_> = sorted(kind, &records).into_values().collect();
        assert_eq!(read, expected, "the records of {kind} as they were");
        let now = scratch.path().join(kind.to_string());
        build(&now, plan(kind, 2), &records);
        for (name, bytes) in files(&now) {
            let same = files(&dir)[&name] == bytes;
            assert!(same, "{name} of {kind} is written as it was");
        }
    }
}
