//! `tabia-human-2`, of which `tabia-human-1` is a part, against `tools/tabia_human_1.py`, an encoder written from its description alone, on positions with
//! their history.
#![cfg(not(target_arch = "wasm32"))]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use shakmaty::{ByColor, CastlingMode, Position};
use tabia_encoding::{Batch, Elo, Pace, PlayerInfo, RatingPool, encoding};
use tabia_game::{Game, History, PgnReader, fen_of, position_from_fen};

fn encode_in_python(python: &Path, situations: &[Value]) -> Vec<Value> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/tabia_human_1.py");
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was there");
    let text = serde_json::to_vec(situations).expect("plain values");
    child.stdin.take().expect("it is piped").write_all(&text).expect("the script reads");
    let output = child.wait_with_output().expect("the script ends");
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).expect("the script prints JSON")
}

/// A situation for the script, and what the crate makes of it.
struct Case {
    told: Value,
    squares: Vec<f32>,
    game: Vec<f32>,
}

impl Case {
    fn of(start: &str, history: &History) -> Case {
        let situation = history.situation();
        let moves = situation.last_moves.iter().rev();
        let moves: Vec<String> = moves.map(|m| m.to_uci(CastlingMode::Standard).to_string()).collect();
        let mut told = json!({ "fen": start, "moves": moves });
        let mut tell = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                told[name] = value;
            }
        };
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).expect("no endless clocks");
        for (seat, of) in [(situation.mover, ""), (situation.opponent, "opponent_")] {
            tell(&format!("{of}rating"), seat.rating.map(|elo| elo.0.into()));
            tell(&format!("{of}time_ms"), seat.time_left.map(|time| milliseconds(time).into()));
        }
        tell("pace_ms", situation.pace.map(|pace| json!([pace.base, pace.increment].map(milliseconds))));
        tell("pool", (situation.pool != RatingPool::Unknown).then(|| situation.pool.name().into()));
        let mut batch = Batch::new(encoding("tabia-human-2").expect("a known encoding"));
        batch.push(&situation);
        Case { told, squares: batch.values(0).to_vec(), game: batch.values(1).to_vec() }
    }
}

/// Every position of the games of a fixture, with their ratings and clocks.
fn real_games(cases: &mut Vec<Case>) {
    let text = include_str!("../../../fixtures/eval/games.pgn");
    let games: Vec<Game> = PgnReader::new(text.as_bytes()).map(Result::unwrap).collect();
    for game in &games {
        let start = fen_of(game.start());
        let mut history = History::at_start_of(game);
        cases.push(Case::of(&start, &history));
        for node in game.mainline() {
            history.push(game.move_to(node).expect("only the root has none"), game.notes(node).clock);
            cases.push(Case::of(&start, &history));
        }
    }
}

/// Random moves from the positions of a fixture, captures and promotions among them, with numbers on, between and beyond
/// the knots.
fn random_games(cases: &mut Vec<Case>) {
    let mut state = 7_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    let pools = RatingPool::ALL;
    const CLOCKS_MS: [u64; 12] =
        [0, 999, 1_000, 4_700, 10_000, 17_350, 30_000, 61_300, 290_000, 1_000_000, 5_400_000, 9_000_000];
    const BASES_S: [u64; 12] = [0, 15, 20, 75, 120, 180, 290, 601, 1_800, 3_000, 5_400, 10_000];
    const INCREMENTS_MS: [u64; 6] = [0, 500, 2_000, 7_300, 30_000, 45_000];
    for fen in include_str!("../../../fixtures/positions.fen").lines().filter(|line| !line.is_empty()) {
        let position = position_from_fen(fen).expect("a good FEN");
        let clock = |at: usize| CLOCKS_MS.get(at).map(|ms| Duration::from_millis(*ms));
        let mut seat = || {
            let rating = 300 + draw(3_000);
            PlayerInfo {
                rating: (rating < 3_100).then(|| Elo(u16::try_from(rating).expect("small"))),
                time_left: clock(draw(14)),
            }
        };
        let seats = ByColor { white: seat(), black: seat() };
        let pace = BASES_S.get(draw(14)).map(|base| Pace {
            base: Duration::from_secs(*base),
            increment: Duration::from_millis(INCREMENTS_MS[draw(6)]),
        });
        let start = fen_of(&position);
        let mut history = History::new(position, seats).under(pools[draw(6)], pace);
        for _ in 0..draw(14) {
            let moves = history.current().legal_moves();
            if moves.is_empty() {
                break;
            }
            let rare: Vec<_> = moves.iter().filter(|m| m.is_promotion() || m.is_en_passant()).collect();
            let m = if rare.is_empty() { moves[draw(moves.len())] } else { *rare[draw(rare.len())] };
            history.push(m, clock(draw(14)));
        }
        cases.push(Case::of(&start, &history));
    }
}

#[test]
fn the_encoding_matches_the_reference_script() {
    let Some(python) = tabia_requires::python(&["chess", "numpy"]) else { return };
    let mut cases = Vec::new();
    real_games(&mut cases);
    random_games(&mut cases);
    assert!(cases.len() > 400, "{}", cases.len());
    // The cases cover every channel and element.
    let set = |values: fn(&Case) -> &[f32], width: usize| -> Vec<usize> {
        let is_set = |at: &usize| {
            cases.iter().any(|case| values(case).iter().skip(*at).step_by(width).any(|v| *v != 0.0))
        };
        (0..width).filter(|at| !is_set(at)).collect()
    };
    assert_eq!((set(|case| &case.squares, 32), set(|case| &case.game, 80)), (Vec::new(), Vec::new()));

    let told: Vec<Value> = cases.iter().map(|case| case.told.clone()).collect();
    let theirs = encode_in_python(&python, &told);
    assert_eq!(theirs.len(), cases.len());
    for (case, theirs) in cases.iter().zip(&theirs) {
        let numbers = |name: &str| -> Vec<f64> {
            let values = theirs[name].as_array().expect("a list").iter();
            values.map(|value| value.as_f64().expect("a number")).collect()
        };
        for (ours, name) in [(&case.squares, "squares"), (&case.game, "game")] {
            let theirs = numbers(name);
            assert_eq!(ours.len(), theirs.len());
            // The two may take a logarithm's last bit differently.
            let wrong = ours.iter().zip(&theirs).position(|(a, b)| (f64::from(*a) - b).abs() > 2e-7);
            assert_eq!(wrong, None, "first wrong element of {name}: {}", case.told);
        }
    }
}
