//! Building sets: deterministic in any order, with any number of threads, and in little memory.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use shakmaty::{Chess, Position, san::SanPlus};
use tabia_data::stats::Tally;
use tabia_data::{RecordKind, Set, SetPlan, SetWriter, ShardOptions};
use tabia_query::{BuildOptions, Resources, Session, TableSpec, Written, build_plan, share_of, write_batch};
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// A random game of `plies` moves as PGN; equal seeds give equal moves.
fn game(seed: u64, plies: usize, tags: &str) -> String {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut position = Chess::default();
    let mut text = format!("[Event \"?\"]\n{tags}\n");
    for ply in 0..plies {
        let Some(played) = rng.choice(position.legal_moves()) else { break };
        let san = SanPlus::from_move_and_play_unchecked(&mut position, played);
        if ply % 2 == 0 {
            text += &format!("{}. ", ply / 2 + 1);
        }
        text += &format!("{san} ");
    }
    text + "*\n\n"
}

fn games(seeds: impl Iterator<Item = u64>) -> Vec<String> {
    let tags = |seed: u64| format!("[WhiteElo \"{}\"]\n[BlackElo \"1500\"]\n", 1000 + seed % 1000);
    seeds.map(|seed| game(seed, 30 + (seed % 20) as usize, &tags(seed))).collect()
}

async fn build(
    inputs: &[PathBuf],
    out: &Path,
    resources: &Resources,
    change: impl Fn(&mut BuildOptions),
) -> Written {
    build_and_count_spills(inputs, out, resources, change).await.0
}

async fn build_and_count_spills(
    inputs: &[PathBuf],
    out: &Path,
    resources: &Resources,
    change: impl Fn(&mut BuildOptions),
) -> (Written, usize) {
    let tables: Vec<TableSpec> =
        inputs.iter().flat_map(|input| TableSpec::find(input, None).unwrap()).collect();
    let kind = tables[0].kind.records();
    let session = Session::new(resources).unwrap();
    let mut options = BuildOptions { kind, tables, filter: None, sample: None, done: Vec::new() };
    change(&mut options);
    let plan = build_plan(session.context(), &options).await.unwrap();
    let set = SetPlan { kind, shards: 4, packing: ShardOptions::of(kind), fingerprint: String::new() };
    let mut writer = SetWriter::create(out, set).unwrap();
    let mut written = Written::default();
    let plan = plan.create_physical_plan().await.unwrap();
    let mut rows = execute_stream(plan.clone(), session.context().task_ctx()).unwrap();
    while let Some(batch) = rows.next().await {
        write_batch(&batch.unwrap(), &mut writer, &mut written).unwrap();
    }
    writer.finish(Vec::new(), BTreeMap::new()).unwrap();
    (written, spills(plan.as_ref()))
}

fn spills(plan: &dyn ExecutionPlan) -> usize {
    let here = plan.metrics().and_then(|metrics| metrics.spill_count()).unwrap_or(0);
    here + plan.children().into_iter().map(|child| spills(child.as_ref())).sum::<usize>()
}

fn resources(folder: &Folder, threads: usize) -> Resources {
    Resources { memory: 1 << 30, threads, temp: folder.path("temp") }
}

fn shards(set: &Path) -> Vec<Vec<u8>> {
    (0..4).map(|shard| fs::read(set.join(format!("shard-{shard:05}.tabia"))).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_records_give_the_same_shards() {
    let folder = Folder::new();
    let all = games(0..400);
    let bare: Vec<String> =
        (0..400).step_by(7).map(|seed| game(seed, 30 + (seed % 20) as usize, "")).collect();
    fs::write(folder.path("a.pgn"), all.concat() + &bare.concat()).unwrap();
    // The same games backwards, in two files, one of them with some games twice.
    let backwards: Vec<String> = all.iter().rev().cloned().collect();
    fs::write(folder.path("b.pgn"), bare.concat() + &backwards[..150].concat()).unwrap();
    fs::write(folder.path("c.pgn"), backwards[100..].concat()).unwrap();

    let first = build(&[folder.path("a.pgn")], &folder.path("first"), &resources(&folder, 1), |_| {}).await;
    let inputs = [folder.path("c.pgn"), folder.path("b.pgn")];
    let second = build(&inputs, &folder.path("second"), &resources(&folder, 2), |_| {}).await;
    assert_eq!((first.records, first.copies), (400, 458));
    assert_eq!((second.records, second.copies), (400, 508));
    assert!(shards(&folder.path("first")) == shards(&folder.path("second")));
    let set = Set::open(&folder.path("first")).unwrap();
    set.verify(|_| {}).unwrap();
    // Of a game with and one without ratings, the one with is kept.
    for index in 0..set.records() {
        let tabia_data::AnyRecord::Game(game) = set.record(tabia_data::RecordIndex(index)).unwrap() else {
            panic!("a set of games");
        };
        assert!(game.head.ratings.white.is_some());
    }
    // A set is a source, too.
    let third = build(&[folder.path("first")], &folder.path("third"), &resources(&folder, 2), |_| {}).await;
    assert_eq!(third.copies, 400);
    assert!(shards(&folder.path("first")) == shards(&folder.path("third")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_builds_spill() {
    let folder = Folder::new();
    // A knight on one of 32 squares, four of which give check out of turn: few positions, and more lines of each than fit
    // in the small memory.
    let fen = |n: usize| {
        let blanks = |count: usize| if count == 0 { String::new() } else { count.to_string() };
        let knight = format!("{}N{}", blanks(n % 8), blanks(7 - n % 8));
        let (above, below) = ("8/".repeat(n / 8), "8/".repeat(5 - n / 8));
        format!("4k3/{above}{knight}/{below}4K3 w - -")
    };
    let mut text = String::new();
    for n in 0..120_000_usize {
        let fen = fen(n % 32);
        text += &format!(
            "{{\"fen\":\"{fen}\",\"evals\":[{{\"knodes\":{},\"depth\":{},\"pvs\":[{{\"cp\":{},\"line\":\"e1e2 e8e7\"}},{{\"mate\":{},\"line\":\"e1d1\"}}]}}]}}\n",
            n,
            10 + n % 60,
            n as i64 % 700 - 350,
            1 + n % 9
        );
    }
    fs::write(folder.path("e.jsonl"), text).unwrap();
    let inputs = [folder.path("e.jsonl")];
    let roomy = build_and_count_spills(&inputs, &folder.path("roomy"), &resources(&folder, 2), |_| {}).await;
    let tight = Resources { memory: 32 << 20, threads: 2, temp: folder.path("temp") };
    let tight = build_and_count_spills(&inputs, &folder.path("tight"), &tight, |_| {}).await;
    assert_eq!(roomy, (Written { records: 28, copies: 210_000, pools: Tally::default() }, 0));
    assert_eq!(tight.0, roomy.0);
    assert!(tight.1 > 0, "spilled {} times", tight.1);
    assert!(shards(&folder.path("roomy")) == shards(&folder.path("tight")));
    assert_eq!(fs::read_dir(folder.path("temp")).unwrap().count(), 0, "temporary files are removed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_samples_and_finished_keys() {
    let folder = Folder::new();
    fs::write(folder.path("a.pgn"), games(0..300).concat()).unwrap();
    let inputs = [folder.path("a.pgn")];
    let resources = resources(&folder, 2);
    let strong = |options: &mut BuildOptions| options.filter = Some("white_elo >= 1200".into());
    assert_eq!(build(&inputs, &folder.path("strong"), &resources, strong).await.records, 100);
    let sampled = |name: &'static str, share: f64| {
        let (folder, inputs, resources) = (&folder, &inputs, &resources);
        async move {
            build(inputs, &folder.path(name), resources, |options| options.sample = Some(share)).await.records
        }
    };
    let (tenth, half) = (sampled("tenth", 0.1).await, sampled("half", 0.5).await);
    assert!((10..60).contains(&tenth) && (110..190).contains(&half), "{tenth} {half}");
    let upper = |options: &mut BuildOptions| options.done = vec![(0, u64::MAX / 2)];
    let rest = build(&inputs, &folder.path("rest"), &resources, upper).await.records;
    assert!((110..190).contains(&rest), "{rest}");
    let set = Set::open(&folder.path("rest")).unwrap();
    assert!(set.iter().all(|record| record.unwrap().0.0 > u64::MAX / 2));
    assert_eq!(set.kind(), RecordKind::Games);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_number_of_records_is_a_share() {
    let folder = Folder::new();
    for name in ["a.pgn", "copies.pgn"] {
        fs::write(folder.path(name), games(0..300).concat()).unwrap();
    }
    let inputs = [folder.path("a.pgn"), folder.path("copies.pgn")];
    let resources = resources(&folder, 2);
    for (count, filter, expected) in
        [(1, None, 1), (77, None, 77), (7, Some("white_elo >= 1200"), 7), (999, None, 300)]
    {
        let choose = |options: &mut BuildOptions| options.filter = filter.map(str::to_owned);
        let tables: Vec<_> = inputs.iter().flat_map(|input| TableSpec::find(input, None).unwrap()).collect();
        let mut options =
            BuildOptions { kind: RecordKind::Games, tables, filter: None, sample: None, done: Vec::new() };
        choose(&mut options);
        let session = Session::new(&resources).unwrap();
        let share = share_of(session.context(), &options, count).await.unwrap();
        let sampled = |options: &mut BuildOptions| {
            choose(options);
            options.sample = Some(share);
        };
        let out = folder.path(&format!("set-{count}"));
        assert_eq!(build(&inputs, &out, &resources, sampled).await.records, expected, "{count}");
    }
}
