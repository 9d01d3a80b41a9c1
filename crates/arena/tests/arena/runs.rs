//! Runs: concurrency, resuming, SPRT, ledgers.

use std::{
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Mutex,
};

use shakmaty::Position as _;

use crate::scripted::{FakeTimer, Script, Scripted, folder, scripted};
use tabia_arena::{
    End, Entrant, Finished, Format, GameRecord, Ledger, LedgerErrorKind, MatchEvent, Openings, PlayerId,
    Rules, Run, RunError, Schedule, Settings, SteppedMatch, Stop, StopRequest,
    statistics::{EloScale, Sprt, Tally, Verdict},
};
use tabia_game::PgnReader;

struct Setup {
    entrants: Vec<Scripted>,
    openings: Openings,
    format: Format,
    rounds: u32,
    rules: Rules,
    sprt: Option<Sprt>,
}

impl Setup {
    fn of_two(first: Script, second: Script, rounds: u32, plies: u32) -> Setup {
        Setup {
            entrants: vec![scripted("first", first), scripted("second", second)],
            openings: Openings::balanced(),
            format: Format::Match,
            rounds,
            rules: Rules { max_plies: Some(plies), ..Rules::default() },
            sprt: None,
        }
    }

    fn run<T>(&self, jobs: usize, act: impl FnOnce(&Run<'_>) -> T) -> T {
        let schedule =
            Schedule::new(self.format, self.entrants.len(), self.rounds, self.openings.list().len()).unwrap();
        let run = Run {
            event: "a test".into(),
            date: "2026.01.31".into(),
            entrants: self.entrants.iter().map(|entrant| entrant as &dyn Entrant).collect(),
            openings: &self.openings,
            schedule: &schedule,
            rules: &self.rules,
            seed: 5,
            jobs: NonZeroUsize::new(jobs).unwrap(),
            sprt: self.sprt,
        };
        act(&run)
    }

    fn settings(&self) -> Settings {
        self.run(1, |run: &Run<'_>| run.settings())
    }

    fn play(&self, jobs: usize, ledger: Option<&mut Ledger>) -> Result<Finished, RunError> {
        self.run(jobs, |run| run.play(ledger, &FakeTimer::default(), &Stop::new(), &mut |_| {}))
    }

    fn play_on(&self, path: &Path) -> Finished {
        let mut ledger = Ledger::open(path, &self.settings()).unwrap();
        self.play(1, Some(&mut ledger)).unwrap()
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_jobs() {
    for second in [Script::Hashed(2), Script::Dice, Script::Panics(9), Script::Fails(4)] {
        let setup = Setup::of_two(Script::Greedy(1), second, 8, 120);
        let alone = setup.play(1, None).unwrap();
        assert_eq!((alone.records.len(), alone.end), (16, End::Complete));
        for jobs in [2, 5, 40] {
            assert_eq!(setup.play(jobs, None).unwrap(), alone, "{jobs} jobs");
        }
    }
}

#[test]
fn random_players_get_a_new_seed_for_every_game() {
    let mut setup = Setup::of_two(Script::Dice, Script::Dice, 6, 20);
    setup.openings = Openings::start_position();
    let games: std::collections::HashSet<Vec<String>> =
        setup.play(2, None).unwrap().records.into_iter().map(|record| record.moves).collect();
    assert_eq!(games.len(), 12);
}

#[test]
fn standings_count_all_games() {
    let setup = Setup {
        entrants: vec![
            scripted("hashed", Script::Hashed(3)),
            scripted("greedy", Script::Greedy(4)),
            scripted("cheat", Script::Cheats(2)),
        ],
        format: Format::RoundRobin,
        ..Setup::of_two(Script::Dice, Script::Dice, 4, 300)
    };
    let mut seen = Vec::new();
    let finished = setup.run(2, |run| {
        run.play(None, &FakeTimer::default(), &Stop::new(), &mut |progress| {
            seen.push((progress.done, progress.total, progress.record.game));
        })
    });
    let finished = finished.unwrap();
    let mut games: Vec<u32> = seen.iter().map(|(_, _, game)| *game).collect();
    games.sort_unstable();
    assert_eq!(games, (0..24).collect::<Vec<_>>());
    assert_eq!(seen.last().map(|(done, total, _)| (*done, *total)), Some((24, 24)));
    let standings = &finished.standings;
    assert_eq!(standings.overall(PlayerId(2)), Tally { losses: 16, ..Tally::default() });
    let direct = standings.between(PlayerId(1), PlayerId(0));
    assert_eq!((direct.games.games(), direct.pairs.pairs()), (8, 4));
    assert!(direct.games.points() > 4.0, "{direct:?}");
    assert!(
        finished.records.iter().all(|r| r.by_fault == (r.white == PlayerId(2) || r.black == PlayerId(2)))
    );
}

#[test]
fn a_player_that_does_not_play_an_opening_ends_the_run() {
    let mut setup = Setup::of_two(Script::Hashed(1), Script::Standard, 3, 20);
    assert_eq!(setup.play(2, None).unwrap().records.len(), 6);
    setup.openings = Openings::chess960(1);
    let error = setup.play(2, None).unwrap_err();
    assert!(matches!(&error, RunError::Start { name, .. } if name == "second"), "{error}");
    assert!(error.to_string().contains("it knows no Chess960"), "{error}");
}

#[test]
fn pairs_of_chess960_games_start_alike() {
    let mut setup = Setup::of_two(Script::Greedy(1), Script::Hashed(2), 4, 40);
    setup.openings = Openings::chess960(3);
    let records = setup.play(2, None).unwrap().records;
    let fens: Vec<&str> = records.iter().map(|record| record.fen.as_str()).collect();
    let pairs = fens.as_chunks::<2>().0;
    assert!(pairs.iter().all(|[first, second]| first == second), "{fens:?}");
    let different: std::collections::HashSet<_> = pairs.iter().collect();
    assert_eq!(different.len(), 4);
    let again = setup.play(1, None).unwrap().records;
    assert_eq!(records, again, "drawn by the seed");
}

#[test]
fn build_errors_end_the_run() {
    let setup = Setup::of_two(Script::Hashed(1), Script::Missing, 3, 20);
    let error = setup.play(2, None).unwrap_err();
    assert!(matches!(&error, RunError::Build { name, .. } if name == "second"), "{error}");
    let mut setup = Setup::of_two(Script::Hashed(1), Script::Hashed(2), 3, 20);
    setup.format = Format::RoundRobin;
    setup.sprt = Some(Sprt::new(0.0, 10.0, EloScale::Normalised).unwrap());
    assert!(matches!(setup.play(1, None), Err(RunError::SprtNeedsMatch)));
}

#[test]
fn sprt_ends_the_run_at_the_same_pair_for_any_number_of_jobs() {
    let mut setup = Setup::of_two(Script::Hashed(1), Script::Cheats(3), 200, 60);
    setup.sprt = Some(Sprt::new(0.0, 50.0, EloScale::Logistic).unwrap());
    let alone = setup.play(1, None).unwrap();
    let test = alone.test.unwrap();
    assert_eq!((alone.end, test.verdict), (End::SprtDecided, Some(Verdict::AcceptH1)));
    assert!(test.pairs.pairs() < 100, "{test:?}");
    assert_eq!(alone.records.len() as u64, 2 * test.pairs.pairs());
    for jobs in [2, 3] {
        assert_eq!(setup.play(jobs, None).unwrap().test, alone.test);
    }
    let lost = Setup {
        entrants: setup.entrants.into_iter().rev().collect(),
        ..Setup::of_two(Script::Dice, Script::Dice, 200, 60)
    };
    let lost = Setup { sprt: Some(Sprt::new(0.0, 50.0, EloScale::Logistic).unwrap()), ..lost };
    assert_eq!(lost.play(1, None).unwrap().test.unwrap().verdict, Some(Verdict::AcceptH0));
}

#[test]
fn stopped_run_is_resumed() {
    let path = folder("stop").join("games.pgn");
    let setup = Setup::of_two(Script::Hashed(1), Script::Dice, 6, 30);
    let whole = setup.play(1, None).unwrap();
    let stop = Stop::new();
    let finished = setup.run(2, |run| {
        let mut ledger = Ledger::open(&path, &run.settings()).unwrap();
        run.play(Some(&mut ledger), &FakeTimer::default(), &stop, &mut |progress| {
            if progress.done == 5 {
                stop.request(StopRequest::AfterGames);
            }
        })
    });
    let finished = finished.unwrap();
    assert_eq!(finished.end, End::Stopped);
    assert!((5..=6).contains(&finished.records.len()), "{}", finished.records.len());
    let seen = Mutex::new(Vec::new());
    let resumed = setup.run(2, |run| {
        let mut ledger = Ledger::open(&path, &run.settings()).unwrap();
        run.play(Some(&mut ledger), &FakeTimer::default(), &Stop::new(), &mut |progress| {
            seen.lock().unwrap().push(progress.record.game);
        })
    });
    assert_eq!(resumed.unwrap(), whole);
    assert_eq!(seen.lock().unwrap().len(), 12 - finished.records.len(), "no game is played twice");
}

fn index_of(pgn: &Path) -> PathBuf {
    PathBuf::from(format!("{}.jsonl", pgn.display()))
}

/// A finished run on disk: setup, result, and the bytes of both files.
fn on_disk(name: &str) -> (Setup, PathBuf, Finished, Vec<u8>, Vec<u8>) {
    let path = folder(name).join("games.pgn");
    let mut setup = Setup::of_two(Script::Hashed(1), Script::Hashed(2), 2, 2);
    setup.openings = Openings::start_position();
    let finished = setup.play_on(&path);
    assert_eq!((finished.records.len(), finished.end), (4, End::Complete));
    let (pgn, index) = (fs::read(&path).unwrap(), fs::read(index_of(&path)).unwrap());
    (setup, path, finished, pgn, index)
}

fn assert_each_game_once(records: &[GameRecord], path: &Path) {
    let games: Vec<_> = PgnReader::new(fs::File::open(path).unwrap()).map(Result::unwrap).collect();
    assert_eq!(games.len(), records.len());
    let rounds: std::collections::BTreeSet<String> =
        games.iter().map(|game| game.headers.get("Round").unwrap().to_owned()).collect();
    assert_eq!(rounds.len(), records.len());
}

#[test]
fn run_killed_at_any_byte_is_resumed() {
    let (setup, path, finished, pgn, index) = on_disk("kill");
    let last_line = index[..index.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let last_game = pgn.len() - {
        let text = String::from_utf8(pgn.clone()).unwrap();
        text.len() - text.rfind("[Event ").unwrap()
    };
    let resume = |pgn: &[u8], index: &[u8], what: &str| {
        fs::write(&path, pgn).unwrap();
        fs::write(index_of(&path), index).unwrap();
        assert_eq!(setup.play_on(&path), finished, "{what}");
        assert_each_game_once(&finished.records, &path);
    };
    // Killed while writing the PGN of the last game, before its index line.
    for cut in last_game..=pgn.len() {
        resume(&pgn[..cut], &index[..last_line], &format!("pgn cut at {cut}"));
    }
    // Killed while writing the index line.
    for cut in last_line..=index.len() {
        resume(&pgn, &index[..cut], &format!("index cut at {cut}"));
    }
    // If the disk loses synced data, the last game is played again.
    for cut in (last_game..pgn.len()).step_by(31) {
        resume(&pgn[..cut], &index, &format!("only the pgn cut at {cut}"));
    }
    let mut zeros = index.clone();
    zeros[last_line..index.len() - 1].fill(0);
    resume(&pgn, &zeros, "the last line is zeros");
    // Killed while creating the ledger.
    let head = index.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in (0..head).step_by(13).chain([head - 1, head]) {
        resume(b"", &index[..cut], &format!("head cut at {cut}"));
    }
}

/// The format is unchanged: golden files are reproduced and can be resumed.
#[test]
fn ledger_matches_the_golden_files() {
    let golden_pgn = include_bytes!("../../../../fixtures/arena/ledger.pgn");
    let golden_index = include_bytes!("../../../../fixtures/arena/ledger.pgn.jsonl");
    let (mut setup, _, finished, pgn, index) = on_disk("golden");
    assert_eq!(String::from_utf8(pgn).unwrap(), String::from_utf8_lossy(golden_pgn));
    assert_eq!(String::from_utf8(index).unwrap(), String::from_utf8_lossy(golden_index));
    let path = folder("golden-read").join("ledger.pgn");
    fs::write(&path, golden_pgn).unwrap();
    fs::write(index_of(&path), golden_index).unwrap();
    assert_eq!(Ledger::open(&path, &setup.settings()).unwrap().records(), finished.records);
    setup.rounds = 3;
    assert_eq!(setup.play_on(&path).records.len(), 6);
}

#[test]
fn finished_run_can_be_extended() {
    let (mut setup, path, finished, pgn, index) = on_disk("longer");
    assert_eq!(setup.play_on(&path), finished);
    assert_eq!((fs::read(&path).unwrap(), fs::read(index_of(&path)).unwrap()), (pgn, index));
    setup.rounds = 3;
    let longer = setup.play_on(&path);
    assert_eq!(longer.records.len(), 6);
    assert_eq!(longer.records[..4], finished.records);
    assert_each_game_once(&longer.records, &path);
}

#[test]
fn ledger_with_other_settings_is_rejected_and_unchanged() {
    let (mut setup, path, _, pgn, index) = on_disk("settings");
    setup.rules.max_plies = Some(3);
    let error = Ledger::open(&path, &setup.settings()).unwrap_err();
    let LedgerErrorKind::SettingsMismatch(differences) = error.kind else { panic!("{error}") };
    assert_eq!(differences, ["longest game: 2 plies then, 3 plies now"]);
    assert_eq!((fs::read(&path).unwrap(), fs::read(index_of(&path)).unwrap()), (pgn, index));
}

#[test]
fn corrupt_ledger_is_rejected_and_unchanged() {
    let (setup, path, _, pgn, index) = on_disk("damage");
    let error = |pgn: &[u8], index: &[u8]| {
        fs::write(&path, pgn).unwrap();
        fs::write(index_of(&path), index).unwrap();
        let error = Ledger::open(&path, &setup.settings()).unwrap_err();
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(index_of(&path)).unwrap()),
            (pgn.to_vec(), index.to_vec())
        );
        assert!(error.file.ends_with("games.pgn.jsonl"), "{error}");
        error.kind
    };
    let lines: Vec<&[u8]> = index.split_inclusive(|byte| *byte == b'\n').collect();
    let without = |gone: usize| -> Vec<u8> {
        lines.iter().enumerate().filter(|(at, _)| *at != gone).flat_map(|(_, line)| line.to_vec()).collect()
    };
    assert!(matches!(error(&pgn, &without(2)), LedgerErrorKind::Corrupt { line: 3, .. }));
    assert!(matches!(error(&pgn, &without(0)), LedgerErrorKind::NotAnIndex));
    let mut edited = pgn.clone();
    edited[10] ^= 1;
    assert!(matches!(error(&edited, &index), LedgerErrorKind::Corrupt { line: 2, .. }));
    let mut garbled = index.clone();
    garbled[lines[0].len()] = b'x';
    assert!(matches!(error(&pgn, &garbled), LedgerErrorKind::Corrupt { line: 2, .. }));
    assert!(matches!(error(&pgn, b""), LedgerErrorKind::UnindexedGames));
    assert!(matches!(error(b"", b"some notes"), LedgerErrorKind::NotAnIndex));
    let version = String::from_utf8(index.clone()).unwrap().replace("\"version\":1", "\"version\":2");
    assert!(matches!(error(&pgn, version.as_bytes()), LedgerErrorKind::Version(2)));
}

#[test]
fn ledger_is_locked() {
    let path = folder("lock").join("games.pgn");
    let settings = Settings::new();
    let _held = Ledger::open(&path, &settings).unwrap();
    let error = Ledger::open(&path, &settings).unwrap_err();
    assert!(matches!(error.kind, LedgerErrorKind::Locked), "{error}");
}

#[test]
fn stepped_match_plays_the_games_of_a_run() {
    for second in [Script::Hashed(2), Script::Dice, Script::Fails(4), Script::Cheats(6)] {
        let setup = Setup::of_two(Script::Greedy(1), second.clone(), 2, 60);
        let run = setup.play(1, None).unwrap();
        let schedule = Schedule::new(Format::Match, 2, 2, setup.openings.list().len()).unwrap();
        let entrants: Vec<Box<dyn Entrant>> =
            vec![Box::new(scripted("first", Script::Greedy(1))), Box::new(scripted("second", second))];
        let rules = setup.rules.clone();
        let mut stepped =
            SteppedMatch::new("a test", entrants, setup.openings.clone(), &schedule, 4, rules, 5).unwrap();
        let (mut started, mut moved, mut ended) = (0, 0, 0);
        loop {
            match stepped.step(&FakeTimer::default()).unwrap() {
                MatchEvent::GameStarted(scheduled) => {
                    assert_eq!((scheduled.game, started), (ended, ended));
                    (started, moved) = (started + 1, 0);
                }
                MatchEvent::Moved { plies, before, played, after, .. } => {
                    moved += 1;
                    let mut position = *before;
                    position.play_unchecked(played.mv);
                    assert_eq!((plies, &position), (moved, after));
                }
                MatchEvent::GameEnded(record) => {
                    assert_eq!(record.moves.len(), moved);
                    ended += 1;
                }
                MatchEvent::Done => break,
            }
        }
        assert!(stepped.is_done() && started == 4);
        assert_eq!((stepped.records(), stepped.standings()), (run.records.as_slice(), &run.standings));
        assert_eq!(stepped.games().len(), 4);
    }
}

#[test]
fn stepped_match_plays_the_same_games_at_the_same_time() {
    tabia_threads::start_helpers(2);
    for second in [Script::Hashed(2), Script::Dice, Script::Fails(4), Script::Cheats(6)] {
        let setup = Setup::of_two(Script::Greedy(1), second.clone(), 2, 60);
        let run = setup.play(1, None).unwrap();
        let schedule = Schedule::new(Format::Match, 2, 2, setup.openings.list().len()).unwrap();
        let entrants: Vec<Box<dyn Entrant>> =
            vec![Box::new(scripted("first", Script::Greedy(1))), Box::new(scripted("second", second))];
        let rules = setup.rules.clone();
        let mut stepped =
            SteppedMatch::new("a test", entrants, setup.openings.clone(), &schedule, 4, rules, 5).unwrap();
        let mut plies_of = [None; 4];
        let (mut ended, mut done) = (0, false);
        let mut most_at_once = 0;
        while !done {
            stepped
                .step_together(&FakeTimer::default(), 3, &mut |event| match event {
                    MatchEvent::GameStarted(scheduled) => {
                        assert_eq!(plies_of[scheduled.game as usize].replace(0), None);
                        let started = plies_of.iter().flatten().count();
                        most_at_once = most_at_once.max(started - ended);
                    }
                    MatchEvent::Moved { scheduled, plies, before, played, after } => {
                        let known = plies_of[scheduled.game as usize].as_mut().unwrap();
                        *known += 1;
                        let mut position = *before;
                        position.play_unchecked(played.mv);
                        assert_eq!((plies, &position), (*known, after));
                    }
                    MatchEvent::GameEnded(record) => {
                        assert_eq!(plies_of[record.game as usize], Some(record.moves.len()));
                        ended += 1;
                    }
                    MatchEvent::Done => done = true,
                })
                .unwrap();
        }
        assert_eq!((ended, most_at_once), (4, 3));
        assert!(stepped.is_done());
        let mut expected = run.records;
        expected.sort_by_key(|record| record.game);
        assert_eq!((stepped.records(), stepped.standings()), (expected.as_slice(), &run.standings));
        let titles: Vec<_> = stepped.games().iter().map(|game| game.headers.get("Round")).collect();
        assert!(titles.is_sorted(), "{titles:?}");
    }
}

#[test]
fn stepped_match_reports_build_errors() {
    let schedule = Schedule::new(Format::Match, 2, 1, 1).unwrap();
    let entrants: Vec<Box<dyn Entrant>> =
        vec![Box::new(scripted("first", Script::Dice)), Box::new(scripted("second", Script::Missing))];
    let openings = Openings::start_position();
    let mut stepped = SteppedMatch::new("", entrants, openings, &schedule, 1, Rules::default(), 0).unwrap();
    let error = stepped.step(&FakeTimer::default()).unwrap_err();
    assert!(matches!(&error, RunError::Build { name, .. } if name == "second"), "{error}");
}
