//! A build on a cluster of processes, one of which is killed, gives the bytes of a local build.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use shakmaty::fen::Fen;
use shakmaty::san::SanPlus;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Position};

use crate::program::{Folder, fail, files, lab};

/// Timeout of each step, far longer than needed.
const PATIENCE: Duration = Duration::from_secs(50);
const POLL: Duration = Duration::from_millis(20);
/// Files of an input; each is a partition.
const FILES: usize = 12;

/// Waits until something is there.
fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let polls = PATIENCE.as_millis() / POLL.as_millis();
    for _ in 0..polls {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(POLL);
    }
    panic!("timeout waiting for {what}");
}

/// A process of the cluster, killed when dropped.
struct Service {
    child: Child,
    lines: Receiver<String>,
}

impl Service {
    fn start(arguments: &[&str]) -> Self {
        let mut child = lab().arg("cluster").args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Self { child, lines }
    }

    /// The next line the process prints.
    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("the process prints a line")
    }

    fn scheduler(arguments: &[&str]) -> (Self, String) {
        let scheduler = Self::start(&[&["scheduler", "--port", "0"], arguments].concat());
        let ready = scheduler.line();
        let address = ready.strip_prefix("scheduler at ").and_then(|rest| rest.split(';').next());
        let address = address.expect("names its address").to_owned();
        (scheduler, address)
    }

    fn executor(scheduler: &str, work_dir: &Path) -> (Self, PathBuf) {
        let work_dir = work_dir.to_str().unwrap();
        let arguments = ["executor", "--scheduler", scheduler, "--work-dir", work_dir];
        let limits = ["--slots", "1", "--memory", "256M", "--heartbeat", "1", "--pause", "250"];
        let executor = Self::start(&[&arguments[..], &limits].concat());
        let ready = executor.line();
        let folder =
            ready.split("folder: ").nth(1).and_then(|rest| rest.split(')').next()).expect("names its folder");
        let folder = PathBuf::from(folder);
        assert!(folder.is_dir() && ready.contains(scheduler), "{ready}");
        (executor, folder)
    }

    /// Stops the process with SIGTERM.
    fn stop(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let status = wait_for("a process to stop", || self.child.try_wait().unwrap());
        assert!(status.success(), "stopped with {status}");
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client, killed when dropped.
struct Build(Option<Child>);

impl Build {
    fn start(input: &Path, out: &Path, cluster: Option<&str>) -> Self {
        let mut command = lab();
        command.args(["data", "build"]).arg(input).arg("--out").arg(out).args(["--shards", "3"]);
        if let Some(scheduler) = cluster {
            command.args(["--cluster", scheduler]);
        }
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self(Some(child))
    }

    fn runs(&mut self) -> bool {
        self.0.as_mut().is_some_and(|child| child.try_wait().unwrap().is_none())
    }

    fn output(mut self) -> Output {
        wait_for("the build", || (!self.runs()).then_some(()));
        self.0.take().unwrap().wait_with_output().unwrap()
    }

    fn succeed(self) {
        let Output { status, stderr, .. } = self.output();
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    }

    fn complaint(self) -> String {
        let Output { status, stderr, .. } = self.output();
        assert_eq!(status.code(), Some(1));
        String::from_utf8_lossy(&stderr).into_owned()
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // It may be gone already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A game of random moves, with the position before each.
fn random_game(random: &mut fastrand::Rng, plies: usize) -> Vec<(Chess, shakmaty::Move)> {
    let mut position = Chess::default();
    let mut game = Vec::new();
    while game.len() < plies {
        let Some(played) = random.choice(position.legal_moves()) else { break };
        game.push((position.clone(), played));
        position.play_unchecked(played);
    }
    game
}

/// Files of games; some games stand in two files, once with ratings and once without, and one has an illegal move.
fn write_games(folder: &Path) {
    let mut random = fastrand::Rng::with_seed(11);
    let mut files = vec![String::new(); FILES];
    for number in 0..FILES * 24 {
        let plies = random.usize(10..60);
        let game = random_game(&mut random, plies);
        let mut moves = String::new();
        for (position, played) in &game {
            let _ = write!(moves, "{} ", SanPlus::from_move(position.clone(), *played));
        }
        let names = format!("[White \"w{}\"]\n[Black \"b{number}\"]\n[Result \"1-0\"]\n", number % 5);
        let rated = format!("{names}[WhiteElo \"1500\"]\n[BlackElo \"{}\"]\n\n{moves}1-0\n\n", 1000 + number);
        files[number % FILES].push_str(&rated);
        if number % 3 == 0 {
            files[(number + 5) % FILES].push_str(&format!("{names}\n{moves}1-0\n\n"));
        }
    }
    files[3].push_str("[Result \"1-0\"]\n\n1. e4 e5 2. Kd5 1-0\n\n");
    write_files(folder, "pgn", &files);
}

/// Files of evaluation rows; the rows of a position stand in several files.
fn write_evaluations(folder: &Path) {
    let mut random = fastrand::Rng::with_seed(12);
    let mut files = vec![String::new(); FILES];
    for _ in 0..FILES * 4 {
        for (position, played) in random_game(&mut random, 20) {
            let fen = Fen::from_position(&position, EnPassantMode::Legal).to_string();
            let fen = fen.rsplitn(3, ' ').last().unwrap().to_owned();
            for depth in [20, 30] {
                let line = played.to_uci(CastlingMode::Standard);
                let (knodes, cp) = (random.u32(1..9999), random.i32(-400..400));
                let row = format!(
                    "{{\"fen\":\"{fen}\",\"line\":\"{line}\",\"depth\":{depth},\"knodes\":{knodes},\"cp\":{cp}}}\n"
                );
                files[random.usize(..FILES)].push_str(&row);
            }
        }
    }
    write_files(folder, "jsonl", &files);
}

fn write_files(folder: &Path, extension: &str, files: &[String]) {
    fs::create_dir(folder).unwrap();
    for (number, text) in files.iter().enumerate() {
        fs::write(folder.join(format!("part-{number:02}.{extension}")), text).unwrap();
    }
}

/// How many tasks an executor has begun: each has a folder `JOB/STAGE/TASK` for its rows. With one slot, all but the last
/// are finished.
fn tasks_begun(folder: &Path) -> usize {
    let inside =
        |folder: &PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let stages =
        inside(&folder.to_path_buf()).collect::<Vec<_>>().iter().flat_map(inside).collect::<Vec<_>>();
    stages.iter().flat_map(inside).count()
}

/// Builds on the cluster, killing the executor as soon as it has done some of the work.
fn build_while_killing(input: &Path, out: &Path, scheduler: &str, (mut victim, folder): (Service, PathBuf)) {
    let mut build = Build::start(input, out, Some(scheduler));
    wait_for("the executor to finish a task and begin another", || {
        assert!(build.runs(), "the build ended before the executor could be killed");
        (tasks_begun(&folder) >= 2).then_some(())
    });
    victim.child.kill().unwrap();
    victim.child.wait().unwrap();
    // A lost machine loses its finished results, too.
    fs::remove_dir_all(&folder).unwrap();
    assert!(build.runs(), "the executor was not killed in the middle");
    build.succeed();
}

#[test]
fn a_killed_executor_does_not_change_the_set() {
    let folder = Folder::new();
    let root = folder.path();
    let (games, evaluations, work) = (root.join("games"), root.join("evaluations"), root.join("work"));
    write_games(&games);
    write_evaluations(&evaluations);
    for input in [&games, &evaluations] {
        Build::start(input, &input.with_extension("one"), None).succeed();
    }

    let (scheduler, address) = Service::scheduler(&["--executor-timeout", "3"]);
    let address = address.as_str();
    let (first, second) = (Service::executor(address, &work), Service::executor(address, &work));

    build_while_killing(&games, &games.with_extension("many"), address, first);
    let third = Service::executor(address, &work);
    build_while_killing(&evaluations, &evaluations.with_extension("many"), address, second);

    for input in [&games, &evaluations] {
        let (one, many) = (files(&input.with_extension("one")), files(&input.with_extension("many")));
        let expected = ["set.json", "shard-00000.tabia", "shard-00001.tabia", "shard-00002.tabia"];
        assert!(one.keys().eq(expected.map(Path::new)), "{:?}", one.keys());
        assert!(many == one, "{} differs", input.display());
    }

    let (third, last_folder) = third;
    third.stop();
    assert!(!last_folder.exists(), "the executor left {}", last_folder.display());
    scheduler.stop();
}

#[test]
fn cluster_errors_are_reported() {
    let folder = Folder::new();
    let root = folder.path();
    let games = root.join("games");
    write_games(&games);
    let out = root.join("out");

    let nobody = Build::start(&games, &out, Some("127.0.0.1:1")).complaint();
    assert!(nobody.contains("127.0.0.1:1"), "{nobody}");

    let (scheduler, address) = Service::scheduler(&[]);
    let address = address.as_str();
    let idle = Build::start(&games, &out, Some(address)).complaint();
    assert!(idle.contains("executors"), "{idle}");

    let port = address.rsplit(':').next().unwrap();
    let (_, taken) = fail(lab().args(["cluster", "scheduler", "--port", port]));
    assert!(taken.contains(address) && taken.contains("--port"), "{taken}");
    assert!(!out.exists(), "a build that failed left {}", out.display());

    let (executor, work) = Service::executor(address, &root.join("work"));
    let input = Build::start(Path::new("-"), &out, Some(address)).complaint();
    assert!(input.contains("standard input"), "{input}");

    let mut build = Build::start(&games, &out, Some(address));
    wait_for("the executor to begin", || (tasks_begun(&work) > 0).then_some(()));
    assert!(build.runs());
    let last = games.join(format!("part-{:02}.pgn", FILES - 1));
    fs::remove_file(&last).unwrap();
    let unseen = build.complaint();
    assert!(unseen.contains(last.to_str().unwrap()) && unseen.contains("shared folder"), "{unseen}");

    executor.stop();
    scheduler.stop();
}
