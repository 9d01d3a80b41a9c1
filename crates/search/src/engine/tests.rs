//! Tests of the whole engine.

use std::{
    num::NonZeroI32,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use shakmaty::{ByColor, Chess, Move, Position, Role, san::San, uci::UciMove};
use tabia_encoding::{ForMover, Score};
use tabia_game::{History, position_from_fen};

use super::{
    Engine, EngineOptions,
    corrections::Corrections,
    histories::Histories,
    key_history::KeyHistory,
    pruning::Selectivity,
    search::{Learnt, NodeType, Search},
    shared::Shared,
    tablebase::TreeProbe,
    transposition_table::TranspositionTable,
    value::{DRAW, INFINITE, MAX_PLY, mated_at},
    window::Window,
};
use crate::{
    BaselineEvaluator, Choice, Evaluator, Limits, Line, NoControl, SearchControl, SearchError, TimeLeft,
    evaluator_for, piece_value, test_networks, winning_chance,
};

/// A material-only evaluator.
#[derive(Clone, Copy)]
struct Material;

impl Evaluator for Material {
    fn fork(&self) -> Box<dyn Evaluator> {
        Box::new(Material)
    }

    fn set_root(&mut self, _: &History) {}

    fn push(&mut self, _: Move, _: &Chess) {}

    fn push_null(&mut self, _: &Chess) {}

    fn pop(&mut self) {}

    fn evaluate_f32(&mut self, position: &Chess) -> ForMover<f32> {
        let count = |role: Role| position.our(role).count() as i32 - position.their(role).count() as i32;
        let roles = [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen];
        ForMover(roles.map(|role| piece_value(role) * count(role)).iter().sum::<i32>() as f32)
    }
}

fn game(fen: &str) -> History {
    History::new(position_from_fen(fen).unwrap(), ByColor::default())
}

fn played(fen: &str, moves: &str) -> History {
    let mut game = game(fen);
    for uci in moves.split_whitespace() {
        let m = uci.parse::<UciMove>().unwrap().to_move(game.current()).unwrap();
        game.push(m, None);
    }
    game
}

fn engine() -> Engine {
    let options = EngineOptions { hash_mib: 4, ..EngineOptions::default() };
    Engine::new(options, Box::new(BaselineEvaluator))
}

fn to_depth(depth: u32) -> Limits {
    Limits { depth: Some(depth), ..Limits::default() }
}

fn san(game: &History, m: Move) -> String {
    San::from_move(game.current(), m).to_string()
}

fn mate_in(moves: i32) -> Option<ForMover<Score>> {
    Some(ForMover(Score::Mate(NonZeroI32::new(moves).unwrap())))
}

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
const BUSY: &str = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";

#[test]
fn mate_distances_are_exact() {
    let mates = [
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", 1, Some("Rd8")),
        ("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4", 1, Some("Qxf7")),
        ("7k/8/5K2/6Q1/8/8/8/8 w - - 0 1", 1, None),
        ("8/8/8/8/8/2k5/7q/K7 b - - 0 1", 1, None),
        ("r1b1kb1r/pppp1ppp/5q2/4n3/3KP3/2N3PN/PPP4P/R1BQ1B1R b kq - 0 1", 3, Some("Bc5")),
        ("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1", 3, Some("Ra6")),
        ("1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - 0 1", 3, Some("Qd1")),
    ];
    for (fen, moves, key) in mates {
        let game = game(fen);
        let choice = engine().search(&game, &to_depth(9), &NoControl).unwrap();
        assert_eq!(choice.lines[0].score, mate_in(moves), "{fen}: {:?}", choice.lines[0]);
        if let Some(key) = key {
            assert_eq!(san(&game, choice.mv).trim_end_matches(['+', '#']), key, "{fen}");
        }
    }
}

#[test]
fn losing_mates_are_reported_in_moves() {
    let doomed = game("7k/8/5K2/8/8/8/8/6Q1 b - - 0 1");
    let choice = engine().search(&doomed, &to_depth(8), &NoControl).unwrap();
    assert_eq!(choice.lines[0].score, mate_in(-1));
}

#[test]
fn finished_game_is_an_error() {
    for fen in ["8/8/8/8/8/2k5/1q6/K7 w - - 0 1", "7k/5Q2/5K2/8/8/8/8/8 b - - 0 1"] {
        assert!(matches!(engine().search(&game(fen), &to_depth(3), &NoControl), Err(SearchError::GameOver)));
    }
}

#[test]
fn mate_limit_stops_at_the_mate() {
    let limits = Limits { mate: Some(2), ..Limits::default() };
    let choice = engine().search(&game("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1"), &limits, &NoControl).unwrap();
    assert_eq!(choice.lines[0].score, mate_in(2), "although it takes zugzwang, which passing hides");
    let nothing = Limits { mate: Some(1), ..Limits::default() };
    let choice = engine().search(&game("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"), &nothing, &NoControl).unwrap();
    assert!(matches!(choice.lines[0].score, Some(ForMover(Score::Centipawns(_)))));
}

#[test]
fn stalemate_is_avoided_when_winning() {
    // Qg6, Qf7 and the like would be stalemate.
    let mut game = game("7k/8/8/5KQ1/8/8/8/8 w - - 0 1");
    let mut engine = engine();
    for _ in 0..12 {
        let choice = engine.search(&game, &to_depth(7), &NoControl).unwrap();
        game.push(choice.mv, None);
        assert!(!game.current().is_stalemate());
        if game.current().is_checkmate() {
            return;
        }
    }
    panic!("no mate in six moves with a queen");
}

#[test]
fn repetition_is_found_when_losing() {
    // Two rooks behind, Black checks on g4 and f3 without end.
    let game = game("2q5/Q5pk/7p/8/8/8/5P1P/R4RK1 b - - 0 1");
    let choice = engine().search(&game, &to_depth(8), &NoControl).unwrap();
    assert_eq!(san(&game, choice.mv), "Qg4");
    assert_eq!(choice.lines[0].score, Some(ForMover(Score::Centipawns(0))));
}

#[test]
fn threefold_repetition_of_the_game_is_a_draw() {
    // White is winning; going back to f3 would be the third time.
    let fen = "6k1/5ppp/8/8/8/5Q2/5PPP/6K1 w - - 0 1";
    let shuffle = "f3e3 g8f8 e3f3 f8g8 f3e3 g8f8";
    let game = played(fen, shuffle);
    let back = "e3f3".parse::<UciMove>().unwrap().to_move(game.current()).unwrap();
    let choice = engine().search(&game, &to_depth(6), &NoControl).unwrap();
    assert_ne!(choice.mv, back);
    let forced = Limits { search_moves: vec![back], ..to_depth(6) };
    // After f3, f8g8 makes the start position for the third time.
    let score = engine().search(&game, &forced, &NoControl).unwrap().lines[0].score;
    assert_eq!(score, Some(ForMover(Score::Centipawns(0))));
}

#[test]
fn fifty_move_rule_yields_to_mate() {
    let draw = game("7k/8/8/8/8/8/R7/K7 w - - 99 80");
    let score = engine().search(&draw, &to_depth(4), &NoControl).unwrap().lines[0].score;
    assert_eq!(score, Some(ForMover(Score::Centipawns(0))));
    let mate = game("7k/R7/8/8/8/8/1R6/K7 w - - 99 80");
    let score = engine().search(&mate, &to_depth(4), &NoControl).unwrap().lines[0].score;
    assert_eq!(score, mate_in(1));
}

#[test]
fn insufficient_material_is_a_draw() {
    for fen in ["8/8/4k3/8/8/3nK3/8/8 b - - 0 1", "8/8/4k3/8/3B4/4K3/8/8 w - - 0 1"] {
        let choice = engine().search(&game(fen), &to_depth(4), &NoControl).unwrap();
        assert_eq!(choice.lines[0].score, Some(ForMover(Score::Centipawns(0))), "{fen}");
    }
}

/// A search without pruning on its own table.
fn exhaustive<T>(game: &History, run: impl FnOnce(&mut Search<'_>, &Chess) -> T) -> T {
    let table = TranspositionTable::new(0);
    let probe = TreeProbe::none();
    let mut shared = Shared::new(&table, &NoControl, &probe);
    shared.selectivity = Selectivity::Exhaustive;
    let mut evaluator = Material;
    let (mut histories, mut corrections) = (Histories::new(), Corrections::new());
    let learnt = Learnt { histories: &mut histories, corrections: &mut corrections };
    let mut search = Search::new(&shared, &mut evaluator, learnt, KeyHistory::of(game));
    search.init_root(game.current());
    run(&mut search, game.current())
}

/// Plain alpha-beta in generation order.
fn plain(search: &mut Search<'_>, position: &Chess, ply: usize, depth: i32, window: Window) -> i32 {
    if ply > 0
        && let Some(value) = search.terminal_value(position, ply)
    {
        return value;
    }
    let legal = position.legal_moves();
    if legal.is_empty() {
        return if position.is_check() { mated_at(ply) } else { DRAW };
    }
    let mut best = -INFINITE;
    if depth <= 0 && !position.is_check() {
        best = search.evaluate(position);
    }
    let mut window = window;
    for m in legal {
        let tactical = m.is_capture() || m.promotion() == Some(Role::Queen);
        if depth <= 0 && !position.is_check() && !tactical {
            continue;
        }
        window.alpha = window.alpha.max(best);
        if window.is_empty() {
            break;
        }
        let mut after = position.clone();
        after.play_unchecked(m);
        search.enter(position, m, &after, ply);
        best = best.max(-plain(search, &after, ply + 1, depth - 1, window.flipped()));
        search.leave();
    }
    best
}

#[test]
fn exhaustive_search_equals_alpha_beta() {
    let positions = [
        (START, 3),
        ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 4),
        ("6k1/5ppp/8/2q5/8/1P3Q2/5PPP/6K1 w - - 0 30", 3),
        ("4k3/P6p/8/8/8/8/p6P/4K3 w - - 0 1", 4),
        ("8/8/8/8/8/2k5/7r/K7 b - - 0 1", 4),
        ("r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3", 2),
    ];
    for (fen, depth) in positions {
        let game = game(fen);
        let expected = exhaustive(&game, |search, root| plain(search, root, 0, depth, Window::FULL));
        let found =
            exhaustive(&game, |search, root| search.search(root, 0, depth, Window::FULL, NodeType::Pv));
        assert_eq!(found, expected, "{fen}");
    }
}

#[test]
fn search_is_deterministic() {
    for limits in [to_depth(7), Limits { nodes: Some(20_000), ..Limits::default() }] {
        let run = || engine().search(&game(BUSY), &limits, &NoControl).unwrap();
        let (first, second) = (run(), run());
        assert_eq!(first, second);
        assert!(first.nodes > 1000);
    }
    let limited = Limits { nodes: Some(1234), ..Limits::default() };
    assert_eq!(engine().search(&game(BUSY), &limited, &NoControl).unwrap().nodes, 1234);
}

#[test]
fn all_evaluating_networks_can_be_searched() {
    for (name, model) in test_networks::evaluating() {
        let options = EngineOptions { hash_mib: 1, ..EngineOptions::default() };
        let fresh = || Engine::new(options.clone(), evaluator_for(&model).unwrap());
        let limits = Limits { nodes: Some(200), ..Limits::default() };
        let game = game(BUSY);
        let choice = fresh().search(&game, &limits, &NoControl).unwrap();
        assert!(game.current().is_legal(choice.mv), "{name}");
        assert_eq!(fresh().search(&game, &limits, &NoControl).unwrap(), choice, "{name}");
    }
}

#[test]
fn root_dependent_evaluations_clear_the_table() {
    for model in [test_networks::pair(), test_networks::comparing_pair()] {
        let leaf = || evaluator_for(&model).unwrap();
        assert!(leaf().depends_on_root());
        let options = EngineOptions { hash_mib: 1, ..EngineOptions::default() };
        let mut engine = Engine::new(options.clone(), leaf());
        let (before, after) = (game(START), played(START, "e2e4"));
        let only = vec![after.current().legal_moves()[0]];
        // At this depth there is nothing to remember but the table.
        let limits = Limits { search_moves: only, ..to_depth(1) };
        engine.search(&before, &to_depth(1), &NoControl).unwrap();
        let later = engine.search(&after, &limits, &NoControl).unwrap();
        let fresh = Engine::new(options, leaf()).search(&after, &limits, &NoControl).unwrap();
        assert_eq!(later, fresh);
    }
    assert!(!evaluator_for(&test_networks::challenge()).unwrap().depends_on_root());
}

#[test]
fn network_failure_is_an_error() {
    for (name, model) in test_networks::overflowing() {
        let mut engine = Engine::new(EngineOptions::default(), evaluator_for(&model).unwrap());
        let result = engine.search(&game(BUSY), &to_depth(2), &NoControl);
        assert!(matches!(result, Err(SearchError::Network(_))), "{name}");
    }
}

#[test]
fn new_game_clears_state() {
    let mut engine = engine();
    let fresh = engine.search(&game(BUSY), &to_depth(6), &NoControl).unwrap();
    engine.search(&game(START), &to_depth(6), &NoControl).unwrap();
    engine.new_game();
    assert_eq!(engine.search(&game(BUSY), &to_depth(6), &NoControl).unwrap(), fresh);
}

/// Collects reports.
#[derive(Default)]
struct Listener(Mutex<Vec<Line>>);

impl SearchControl for Listener {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn stopped(&self) -> bool {
        false
    }

    fn report(&self, line: &Line) {
        self.0.lock().unwrap().push(line.clone());
    }
}

#[test]
fn lines_are_distinct_and_sorted() {
    let limits = Limits { lines: 4, ..to_depth(6) };
    let listener = Listener::default();
    let choice = engine().search(&game(BUSY), &limits, &listener).unwrap();
    assert_eq!(choice.lines.iter().map(|line| line.rank).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let mut moves: Vec<Move> = choice.lines.iter().map(|line| line.moves[0]).collect();
    assert_eq!(moves[0], choice.mv);
    moves.sort_by_key(|m| format!("{m:?}"));
    moves.dedup();
    assert_eq!(moves.len(), 4);
    let values: Vec<i32> = choice
        .lines
        .iter()
        .map(|line| match line.score {
            Some(ForMover(Score::Centipawns(cp))) => cp,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(values.is_sorted_by(|a, b| a >= b), "{values:?}");
    let reported = listener.0.into_inner().unwrap();
    let ranks: Vec<(u32, usize)> = reported.iter().map(|line| (line.depth, line.rank)).collect();
    let expected: Vec<(u32, usize)> =
        (1..=6).flat_map(|depth| (1..=4).map(move |rank| (depth, rank))).collect();
    assert_eq!(ranks, expected);
    assert!(reported.is_sorted_by_key(|line| line.nodes));
}

#[test]
fn lines_outside_within_are_bounds() {
    let all = Limits { lines: 40, ..to_depth(6) };
    let thorough = engine().search(&game(BUSY), &all, &NoControl).unwrap();
    let loss = |choice: &Choice, place: usize| {
        let chance = |line: &Line| line.score.map(winning_chance);
        Some(chance(&choice.lines[0])? - chance(&choice.lines[place])?)
    };
    // So that five are close, and not all.
    let within = loss(&thorough, 4).unwrap() + 0.01;
    let last = thorough.lines.len() - 1;
    assert!(loss(&thorough, last) > Some(within + 0.05));
    let few = Limits { within: Some(within), ..all };
    let choice = engine().search(&game(BUSY), &few, &NoControl).unwrap();
    assert_eq!(choice.mv, thorough.mv);
    assert!(choice.nodes < thorough.nodes, "{} of {}", choice.nodes, thorough.nodes);
    let limited = Limits { nodes: Some(60_000), depth: None, ..few };
    for choice in [choice, engine().search(&game(BUSY), &limited, &NoControl).unwrap()] {
        let best = choice.lines[0].score.map(winning_chance);
        let bounds = choice.lines.iter().filter(|line| line.upper_bound);
        assert!(bounds.filter_map(|line| line.score.map(winning_chance)).all(|chance| Some(chance) <= best));
        assert_eq!(choice.lines.len(), thorough.lines.len());
        let close = choice.lines.iter().filter(|line| line.score.is_some() && !line.upper_bound).count();
        assert!((2..last).contains(&close), "{close} of {last}");
        assert!(choice.lines.iter().all(|line| line.score.is_some()), "all were looked at once");
    }
    let cut_short = Limits { nodes: Some(20), ..limited };
    let choice = engine().search(&game(BUSY), &cut_short, &NoControl).unwrap();
    assert!(choice.lines.iter().any(|line| line.score.is_none()), "nothing is said of what was not seen");
}

#[test]
fn best_move_is_that_of_the_last_report() {
    for nodes in (1..60).map(|step: u64| step * step * 5) {
        let listener = Listener::default();
        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        let choice = engine().search(&game(BUSY), &limits, &listener).unwrap();
        let reported = listener.0.into_inner().unwrap();
        let last = reported.last().unwrap_or_else(|| panic!("{nodes}: nothing reported"));
        assert_eq!(last.moves.first(), Some(&choice.mv), "{nodes}: {last:?}");
        assert!(last.score.is_some(), "{nodes}: {last:?}");
    }
}

#[test]
fn lines_are_sorted_after_any_stop() {
    for fen in [
        "r3r1k1/1pp2pp1/p1npbn1p/b3p3/4P3/1BPP1N1P/PP3PP1/R1BQRNK1 w - - 2 12",
        "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4",
        "8/2k5/3p4/p2P1p2/P2P1P2/8/8/4K3 w - - 0 1",
    ] {
        let mut engine = engine();
        for nodes in (500..20_000).step_by(487) {
            let limits = Limits { lines: 4, nodes: Some(nodes), ..Limits::default() };
            let choice = engine.search(&game(fen), &limits, &NoControl).unwrap();
            let chances: Vec<f64> =
                choice.lines.iter().filter_map(|line| line.score.map(winning_chance)).collect();
            assert!(
                chances.is_sorted_by(|better, worse| better >= worse),
                "{fen}, {nodes} nodes: {chances:?}"
            );
        }
    }
}

#[test]
fn lines_are_limited_by_legal_moves() {
    let limits = Limits { lines: 10, ..to_depth(4) };
    let choice = engine().search(&game("7k/8/5K2/8/8/8/8/6Q1 b - - 0 1"), &limits, &NoControl).unwrap();
    assert_eq!(choice.lines.len(), 1);
}

#[test]
fn search_moves_restrict_the_search() {
    let game = game(BUSY);
    let only: Vec<Move> = game.current().legal_moves().into_iter().skip(3).take(2).collect();
    let limits = Limits { search_moves: only.clone(), lines: 5, ..to_depth(5) };
    let choice = engine().search(&game, &limits, &NoControl).unwrap();
    assert!(only.contains(&choice.mv));
    assert_eq!(choice.lines.len(), 2);
    let elsewhere = *played(START, "e2e4").situation().last_moves.first().unwrap();
    let impossible = Limits { search_moves: vec![elsewhere], ..to_depth(5) };
    assert!(matches!(engine().search(&game, &impossible, &NoControl), Err(SearchError::NoSuchMove)));
}

#[test]
fn lines_are_legal() {
    for fen in [START, BUSY, "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"] {
        let listener = Listener::default();
        let choice = engine().search(&game(fen), &Limits { lines: 2, ..to_depth(8) }, &listener).unwrap();
        assert_eq!(choice.ponder, choice.lines[0].moves.get(1).copied());
        for line in listener.0.into_inner().unwrap() {
            let mut position = game(fen).current().clone();
            for m in line.moves {
                assert!(position.is_legal(m), "{fen}: {m:?}");
                position.play_unchecked(m);
            }
        }
    }
}

/// Stops after a number of polls.
struct Impatient {
    asked: AtomicU64,
    patience: u64,
}

impl SearchControl for Impatient {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn stopped(&self) -> bool {
        self.asked.fetch_add(1, Relaxed) >= self.patience
    }
}

fn interrupted(patience: u64) -> Choice {
    let control = Impatient { asked: AtomicU64::new(0), patience };
    let limits = Limits { infinite: true, ..Limits::default() };
    engine().search(&game(BUSY), &limits, &control).unwrap()
}

#[test]
fn stop_is_immediate_and_returns_a_move() {
    let choice = interrupted(0);
    assert!(choice.nodes <= 1);
    assert!(game(BUSY).current().is_legal(choice.mv));
    let choice = interrupted(30);
    assert!(choice.nodes > 1000 && choice.nodes < 40_000, "{}", choice.nodes);
    assert!(game(BUSY).current().is_legal(choice.mv));
}

/// Time advances with every poll.
struct SlowClock(AtomicU64);

impl SearchControl for SlowClock {
    fn elapsed(&self) -> Duration {
        Duration::from_micros(self.0.fetch_add(100, Relaxed))
    }

    fn stopped(&self) -> bool {
        false
    }
}

#[test]
fn clock_ends_the_search() {
    let left = TimeLeft { remaining: Duration::from_millis(300), increment: Duration::ZERO };
    let clocks = Limits { clocks: Some(ByColor { white: left, black: left }), ..Limits::default() };
    let movetime = Limits { movetime: Some(Duration::from_millis(20)), ..Limits::default() };
    for (limits, most) in [(clocks, 290), (movetime, 20)] {
        let control = SlowClock(AtomicU64::new(0));
        let choice = engine().search(&game(BUSY), &limits, &control).unwrap();
        assert!(game(BUSY).current().is_legal(choice.mv));
        assert!(control.0.into_inner() <= most * 1000);
    }
}

#[test]
fn forced_move_is_immediate() {
    let left = TimeLeft { remaining: Duration::from_secs(60), increment: Duration::ZERO };
    let limits = Limits { clocks: Some(ByColor { white: left, black: left }), ..Limits::default() };
    let choice = engine().search(&game("7k/8/5K2/8/8/8/8/6Q1 b - - 0 1"), &limits, &NoControl).unwrap();
    assert_eq!(choice.lines[0].depth, 1);
}

#[test]
fn without_limits_the_default_limits_apply() {
    let options = EngineOptions { hash_mib: 1, default_limits: to_depth(3), ..EngineOptions::default() };
    let mut engine = Engine::new(options, Box::new(Material));
    let choice = engine.search(&game(BUSY), &Limits::default(), &NoControl).unwrap();
    assert_eq!(choice.lines[0].depth, 3);
}

#[test]
fn longest_lines_fit_the_stack() {
    let table = TranspositionTable::new(0);
    let probe = TreeProbe::none();
    let mut shared = Shared::new(&table, &NoControl, &probe);
    shared.selectivity = Selectivity::Exhaustive;
    shared.node_limit = 50_000;
    let mut evaluator = Material;
    let (mut histories, mut corrections) = (Histories::new(), Corrections::new());
    let learnt = Learnt { histories: &mut histories, corrections: &mut corrections };
    let game = game(BUSY);
    let mut search = Search::new(&shared, &mut evaluator, learnt, KeyHistory::of(&game));
    search.search(game.current(), 0, MAX_PLY as i32, Window::FULL, NodeType::Pv);
    assert_eq!(search.seldepth, MAX_PLY);
}

#[cfg(not(target_family = "wasm"))]
#[test]
fn threads_find_the_same_mate() {
    let options = EngineOptions { hash_mib: 4, threads: 3, ..EngineOptions::default() };
    let mut engine = Engine::new(options, Box::new(BaselineEvaluator));
    let game = game("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1");
    for _ in 0..3 {
        let choice = engine.search(&game, &to_depth(9), &NoControl).unwrap();
        assert_eq!(choice.lines[0].score, mate_in(3));
        engine.new_game();
    }
    engine.set_options(EngineOptions { hash_mib: 1, ..EngineOptions::default() });
    let alone = engine.search(&self::game(BUSY), &to_depth(5), &NoControl).unwrap();
    assert!(alone.nodes > 0);
}

/// Endgame tables of three men.
#[cfg(feature = "syzygy")]
mod tables {
    use std::sync::Arc;

    use super::*;
    use crate::{TableUse, Tables};

    fn three_men() -> Arc<Tables> {
        Tables::shared(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/syzygy")).unwrap()
    }

    /// An engine that sees no difference between positions but by the tables.
    fn blind(tables: Option<TableUse>) -> Engine {
        let mut engine = Engine::new(EngineOptions::default(), Box::new(Nothing));
        engine.set_tables(tables);
        engine
    }

    #[derive(Clone, Copy)]
    struct Nothing;

    impl Evaluator for Nothing {
        fn fork(&self) -> Box<dyn Evaluator> {
            Box::new(Nothing)
        }

        fn set_root(&mut self, _: &History) {}

        fn push(&mut self, _: Move, _: &Chess) {}

        fn push_null(&mut self, _: &Chess) {}

        fn pop(&mut self) {}

        fn evaluate_f32(&mut self, _: &Chess) -> ForMover<f32> {
            ForMover(0.0)
        }
    }

    fn best(engine: &mut Engine, fen: &str, depth: u32) -> (String, Line) {
        let choice = engine.search(&game(fen), &to_depth(depth), &NoControl).unwrap();
        let mv = choice.mv.to_uci(shakmaty::CastlingMode::Standard).to_string();
        (mv, choice.lines[0].clone())
    }

    #[test]
    fn the_only_winning_pawn_ending_is_entered() {
        // Of the king's moves Kd6 alone keeps the opposition and wins; a blind engine cannot know.
        let fen = "3k4/8/2K5/3P4/8/8/8/8 w - - 0 1";
        let mut engine = blind(Some(TableUse::all(three_men())));
        let (mv, line) = best(&mut engine, fen, 1);
        let tables = three_men();
        let wins = |uci: &str| {
            let mut after = position_from_fen(fen).unwrap();
            let m = uci.parse::<UciMove>().unwrap().to_move(&after).unwrap();
            after.play_unchecked(m);
            tables.verdict(&after, true) == Some(tabia_syzygy::Verdict::Loss)
        };
        assert!(wins(&mv), "{mv}");
        let legal = position_from_fen(fen).unwrap().legal_moves();
        let names = legal.iter().map(|m| m.to_uci(shakmaty::CastlingMode::Standard).to_string());
        assert!(names.filter(|uci| !wins(uci)).count() >= 2, "other moves only draw");
        assert!(matches!(line.score, Some(ForMover(Score::Centipawns(19_900..=20_000)))), "{:?}", line.score);
        assert!(line.tablebase_hits.is_some_and(|hits| hits > 0));
        assert_eq!(best(&mut blind(None), fen, 1).1.tablebase_hits, None);
    }

    #[test]
    fn captures_into_the_tables_decide_the_search() {
        // Rxb2 leaves a won rook ending at once.
        let fen = "8/8/8/8/k7/8/1p5R/3K4 w - - 0 1";
        let (mv, line) = best(&mut blind(Some(TableUse::all(three_men()))), fen, 3);
        assert_eq!(mv, "h2b2", "{line:?}");
        assert!(line.tablebase_hits.is_some_and(|hits| hits > 0));
    }

    #[test]
    fn a_won_ending_is_won_from_anywhere() {
        let mut engine = blind(Some(TableUse::all(three_men())));
        let mut game = game("8/8/8/3k4/8/8/1Q6/K7 w - - 0 1");
        while !game.current().is_game_over() {
            let choice = engine.search(&game, &to_depth(4), &NoControl).unwrap();
            game.push(choice.mv, None);
            assert!(game.current().halfmoves() < 100, "no progress");
        }
        assert!(game.current().is_checkmate());
    }

    #[test]
    fn the_fifty_move_rule_counts_unless_told_not_to() {
        // Mate is some moves away, and the rule is nearer.
        let fen = "8/8/8/3k4/8/8/1Q6/K7 w - - 97 80";
        let (_, line) = best(&mut blind(Some(TableUse::all(three_men()))), fen, 1);
        assert_eq!(line.score, Some(ForMover(Score::Centipawns(0))));
        let without = TableUse { fifty_moves: false, ..TableUse::all(three_men()) };
        let (_, line) = best(&mut blind(Some(without)), fen, 1);
        assert!(matches!(line.score, Some(ForMover(Score::Centipawns(19_900..)))), "{:?}", line.score);
    }

    #[test]
    fn a_mate_is_worth_more_than_a_table() {
        let (mv, line) =
            best(&mut blind(Some(TableUse::all(three_men()))), "7k/8/6K1/8/8/8/8/1Q6 w - - 0 1", 3);
        assert!(matches!(line.score, Some(ForMover(Score::Mate(_)))), "{mv} {line:?}");
    }

    #[test]
    fn the_limit_keeps_larger_positions_to_the_search() {
        let none = TableUse { most_pieces: 2, ..TableUse::all(three_men()) };
        let (_, line) = best(&mut blind(Some(none)), "3k4/8/2K5/3P4/8/8/8/8 w - - 0 1", 1);
        assert_eq!(line.tablebase_hits, Some(0));
        assert_eq!(line.score, Some(ForMover(Score::Centipawns(0))));
    }
}
