//! Whole runs: any number of jobs, killed and resumed, ended by a test.

use std::{
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Mutex,
};

use shakmaty::Position as _;

use crate::scripted::{FakeTimer, Script, Scripted, folder, scripted};
use tabia_arena::{
    End, Entrant, Finished, Format, GameRecord, Ledger, MatchEvent, Openings, PlayerId, Rules, Run, RunError,
    Schedule, Settings, SteppedMatch, Stop, StopRequest,
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
            openings: Openings::challenge(),
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
fn the_number_of_jobs_changes_nothing() {
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
fn dice_fall_differently_in_every_game() {
    let mut setup = Setup::of_two(Script::Dice, Script::Dice, 6, 20);
    setup.openings = Openings::start_position();
    let games: std::collections::HashSet<Vec<String>> =
        setup.play(2, None).unwrap().records.into_iter().map(|record| record.moves).collect();
    assert_eq!(games.len(), 12);
}

#[test]
fn a_stronger_player_wins_and_everybody_is_counted() {
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
fn a_player_that_cannot_be_made_ends_the_run() {
    let setup = Setup::of_two(Script::Hashed(1), Script::Missing, 3, 20);
    let error = setup.play(2, None).unwrap_err();
    assert_eq!(error.to_string(), "second cannot play: its file is not there");
    let mut setup = Setup::of_two(Script::Hashed(1), Script::Hashed(2), 3, 20);
    setup.format = Format::RoundRobin;
    setup.sprt = Some(Sprt::new(0.0, 10.0, EloScale::Normalised).unwrap());
    assert!(matches!(setup.play(1, None), Err(RunError::TestNeedsMatch)));
}

#[test]
fn a_test_ends_the_run_at_the_same_pair_whatever_the_jobs() {
    let mut setup = Setup::of_two(Script::Hashed(1), Script::Cheats(3), 200, 60);
    setup.sprt = Some(Sprt::new(0.0, 50.0, EloScale::Logistic).unwrap());
    let alone = setup.play(1, None).unwrap();
    let test = alone.test.unwrap();
    assert_eq!((alone.end, test.verdict), (End::Proved, Some(Verdict::AcceptH1)));
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
fn a_run_stops_when_wished_and_goes_on_later() {
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
    assert_eq!(seen.lock().unwrap().len(), 12 - finished.records.len(), "nothing is played twice");
}

fn index_of(pgn: &Path) -> PathBuf {
    PathBuf::from(format!("{}.jsonl", pgn.display()))
}

/// A finished run on disk: the setup, what came of it, and the bytes of both files.
fn on_disk(name: &str) -> (Setup, PathBuf, Finished, Vec<u8>, Vec<u8>) {
    let path = folder(name).join("games.pgn");
    let mut setup = Setup::of_two(Script::Hashed(1), Script::Hashed(2), 2, 2);
    setup.openings = Openings::start_position();
    let finished = setup.play_on(&path);
    assert_eq!((finished.records.len(), finished.end), (4, End::Complete));
    let (pgn, index) = (fs::read(&path).unwrap(), fs::read(index_of(&path)).unwrap());
    (setup, path, finished, pgn, index)
}

fn totals(records: &[GameRecord], path: &Path) {
    let games: Vec<_> = PgnReader::new(fs::File::open(path).unwrap()).map(Result::unwrap).collect();
    assert_eq!(games.len(), records.len(), "every game once");
    let rounds: std::collections::BTreeSet<String> =
        games.iter().map(|game| game.headers.get("Round").unwrap().to_owned()).collect();
    assert_eq!(rounds.len(), records.len());
}

#[test]
fn a_run_killed_at_any_byte_resumes_with_the_same_totals() {
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
        totals(&finished.records, &path);
    };
    // Killed while the game was written: its line was not begun.
    for cut in last_game..=pgn.len() {
        resume(&pgn[..cut], &index[..last_line], &format!("pgn cut at {cut}"));
    }
    // Killed while the line was written: its game was complete.
    for cut in last_line..=index.len() {
        resume(&pgn, &index[..cut], &format!("index cut at {cut}"));
    }
    // A disk that lost what it had promised to keep costs the last game, which is played again.
    for cut in (last_game..pgn.len()).step_by(31) {
        resume(&pgn[..cut], &index, &format!("only the pgn cut at {cut}"));
    }
    let mut zeros = index.clone();
    zeros[last_line..index.len() - 1].fill(0);
    resume(&pgn, &zeros, "the last line is zeros");
    // Killed while the ledger was begun.
    let head = index.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in (0..head).step_by(13).chain([head - 1, head]) {
        resume(b"", &index[..cut], &format!("head cut at {cut}"));
    }
}

/// The format's golden files: what is written today is what they hold, and they can be gone on with.
#[test]
fn ledgers_are_written_and_read_as_the_golden_one() {
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
fn a_finished_run_plays_nothing_more_and_can_be_made_longer() {
    let (mut setup, path, finished, pgn, index) = on_disk("longer");
    assert_eq!(setup.play_on(&path), finished);
    assert_eq!((fs::read(&path).unwrap(), fs::read(index_of(&path)).unwrap()), (pgn, index));
    setup.rounds = 3;
    let longer = setup.play_on(&path);
    assert_eq!(longer.records.len(), 6);
    assert_eq!(longer.records[..4], finished.records);
    totals(&longer.records, &path);
}

#[test]
fn a_ledger_of_other_settings_is_refused_and_left_alone() {
    let (mut setup, path, _, pgn, index) = on_disk("settings");
    setup.rules.max_plies = Some(3);
    let error = Ledger::open(&path, &setup.settings()).unwrap_err().to_string();
    let expected = "games.pgn.jsonl: it holds games with other settings (longest game: 2 plies then, 3 plies now); \
        use these settings again, or name another file";
    assert!(error.ends_with(expected), "{error}");
    assert_eq!((fs::read(&path).unwrap(), fs::read(index_of(&path)).unwrap()), (pgn, index));
}

#[test]
fn damage_is_named_and_nothing_is_cut() {
    let (setup, path, _, pgn, index) = on_disk("damage");
    let refused = |pgn: &[u8], index: &[u8]| {
        fs::write(&path, pgn).unwrap();
        fs::write(index_of(&path), index).unwrap();
        let error = Ledger::open(&path, &setup.settings()).unwrap_err().to_string();
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(index_of(&path)).unwrap()),
            (pgn.to_vec(), index.to_vec())
        );
        error.split_once("jsonl: ").unwrap().1.to_owned()
    };
    let lines: Vec<&[u8]> = index.split_inclusive(|byte| *byte == b'\n').collect();
    let without = |gone: usize| -> Vec<u8> {
        lines.iter().enumerate().filter(|(at, _)| *at != gone).flat_map(|(_, line)| line.to_vec()).collect()
    };
    assert_eq!(refused(&pgn, &without(2)), "line 3: games are missing before this one");
    assert_eq!(refused(&pgn, &without(0)), "it is not the index of a match");
    let mut edited = pgn.clone();
    edited[10] ^= 1;
    assert_eq!(refused(&edited, &index), "line 2: the game in the PGN file is not the one that was written");
    let mut garbled = index.clone();
    garbled[lines[0].len()] = b'x';
    assert!(refused(&pgn, &garbled).starts_with("line 2: expected value"));
    assert_eq!(refused(&pgn, b""), "there are games in it that belong to no run; name another file");
    assert_eq!(refused(b"", b"some notes"), "it is not the index of a match");
    let version = String::from_utf8(index.clone()).unwrap().replace("\"version\":1", "\"version\":2");
    assert_eq!(refused(&pgn, version.as_bytes()), "it is of version 2; this program reads version 1");
}

#[test]
fn two_runs_cannot_write_one_ledger() {
    let path = folder("lock").join("games.pgn");
    let settings = Settings::new();
    let _held = Ledger::open(&path, &settings).unwrap();
    let error = Ledger::open(&path, &settings).unwrap_err().to_string();
    assert!(error.ends_with("another run is writing to it"), "{error}");
}

#[test]
fn a_sitting_plays_the_games_of_a_run() {
    for second in [Script::Hashed(2), Script::Dice, Script::Fails(4), Script::Cheats(6)] {
        let setup = Setup::of_two(Script::Greedy(1), second.clone(), 2, 60);
        let run = setup.play(1, None).unwrap();
        let schedule = Schedule::new(Format::Match, 2, 2, setup.openings.list().len()).unwrap();
        let entrants: Vec<Box<dyn Entrant>> =
            vec![Box::new(scripted("first", Script::Greedy(1))), Box::new(scripted("second", second))];
        let rules = setup.rules.clone();
        let mut sitting =
            SteppedMatch::new("a test", entrants, setup.openings.clone(), &schedule, 4, rules, 5).unwrap();
        let (mut started, mut moved, mut ended) = (0, 0, 0);
        loop {
            match sitting.step(&FakeTimer::default()).unwrap() {
                MatchEvent::Starts(fixture) => {
                    assert_eq!((fixture.game, started), (ended, ended));
                    (started, moved) = (started + 1, 0);
                }
                MatchEvent::Moved { plies, before, played, after, .. } => {
                    moved += 1;
                    let mut position = *before;
                    position.play_unchecked(played.mv);
                    assert_eq!((plies, &position), (moved, after));
                }
                MatchEvent::Ends(record) => {
                    assert_eq!(record.moves.len(), moved);
                    ended += 1;
                }
                MatchEvent::Done => break,
            }
        }
        assert!(sitting.is_done() && started == 4);
        assert_eq!((sitting.records(), sitting.standings()), (run.records.as_slice(), &run.standings));
        assert_eq!(sitting.games().len(), 4);
    }
}

#[test]
fn a_sitting_without_its_player_says_who_is_missing() {
    let schedule = Schedule::new(Format::Match, 2, 1, 1).unwrap();
    let entrants: Vec<Box<dyn Entrant>> =
        vec![Box::new(scripted("first", Script::Dice)), Box::new(scripted("second", Script::Missing))];
    let openings = Openings::start_position();
    let mut sitting = SteppedMatch::new("", entrants, openings, &schedule, 1, Rules::default(), 0).unwrap();
    let error = sitting.step(&FakeTimer::default()).unwrap_err().to_string();
    assert_eq!(error, "second cannot play: its file is not there");
}
