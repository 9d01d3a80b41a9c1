use super::*;

const SMALL: &[u8] = include_bytes!("../../../../models/challenge-s.onnx");
const VALUE: &[u8] = include_bytes!("../../../../models/value.safetensors");

fn engine() -> Engine {
    let mut engine = Engine::new(7.0);
    engine.open("small", SMALL).unwrap();
    engine.open("value", VALUE).unwrap();
    engine
}

fn game(moves: &[&str]) -> GameInput {
    GameInput { moves: moves.iter().map(|m| (*m).to_owned()).collect(), ..GameInput::default() }
}

#[test]
fn facts_say_what_a_model_can_do() {
    let engine = engine();
    let small = engine.facts("small").unwrap();
    assert_eq!((small.format.as_str(), small.plays, small.evaluates), ("ONNX", false, true));
    assert!(small.challenge && small.challenge_problem.is_empty() && !small.rated && !small.thinks);
    let value = engine.facts("value").unwrap();
    assert!(!value.challenge && value.challenge_problem.contains("ONNX"), "{value:?}");
    assert!(engine.facts("lost").is_err());
}

#[test]
fn facts_say_how_strong_a_model_was_found_to_be() {
    let mut engine = engine();
    assert!(engine.facts("small").unwrap().strength.is_empty());
    engine.open("human", include_bytes!("../../../../models/human.safetensors")).unwrap();
    let facts = engine.facts("human").unwrap();
    assert!(!facts.strength_method.is_empty(), "the scale of the ratings is said");
    let strength = facts.strength;
    assert!(strength.len() > 1 && strength.is_sorted_by_key(|row| row.asked), "{strength:?}");
    assert!(strength.iter().all(|row| row.low < row.shown && row.shown < row.high), "{strength:?}");
}

#[test]
fn junk_is_refused_by_name() {
    let mut engine = engine();
    let mut cut = SMALL[..SMALL.len() / 2].to_vec();
    for bytes in [&[][..], &[0; 64], b"not a model", &cut.clone()] {
        assert!(engine.open("junk", bytes).unwrap_err().to_string().starts_with("junk: "));
    }
    for place in (0..cut.len()).step_by(997) {
        cut[place] ^= 0xa5;
    }
    assert!(engine.open("junk", &cut).is_err());
    assert_eq!(engine.store().names().count(), 2);
}

#[test]
fn players_are_kept_and_forgotten_with_their_models() {
    let mut engine = engine();
    let limits = LimitsInput { lines: Some(2), ..LimitsInput::default() };
    let thought = engine.think("net:small", &game(&["e2e4"]), &limits).unwrap();
    assert_eq!((thought.lines.len(), thought.pause, thought.resigns), (2, 0.0, false));
    assert_eq!(thought.lines[0].moves[0], thought.uci);
    assert_eq!(engine.players.len(), 1);
    engine.remove_model("small");
    let error = engine.think("net:small", &game(&[]), &limits).unwrap_err().to_string();
    assert_eq!(error, "small: no model named \"small\"");
    assert!(engine.think("human", &game(&[]), &limits).unwrap_err().to_string().contains("\"human\""));
}

#[test]
fn scores_are_for_white() {
    let mut engine = engine();
    let fen = |turn| format!("6k1/5ppp/8/8/8/8/5PPP/R5K1 {turn} - - 0 1");
    let limits = LimitsInput { depth: Some(3), ..LimitsInput::default() };
    let ask = |engine: &mut Engine, turn| {
        let game = GameInput { start_fen: Some(fen(turn)), ..GameInput::default() };
        engine.think("engine,eval=baseline", &game, &limits).unwrap().lines.remove(0)
    };
    assert_eq!(ask(&mut engine, "w").mate, Some(1));
    assert!(ask(&mut engine, "b").cp.unwrap() > 200);
}

#[test]
fn the_same_question_again_goes_deeper() {
    let mut engine = engine();
    let asked = game(&["e2e4", "e7e5"]);
    let first = engine.deepen(&asked, 2, 0.05).unwrap();
    let second = engine.deepen(&asked, 2, 0.05).unwrap();
    assert!(second.nodes > first.nodes && second.lines[0].depth >= first.lines[0].depth);
    assert_eq!(second.lines.len(), 2);
    let other = engine.deepen(&game(&["d2d4"]), 2, 0.01).unwrap();
    assert!(other.lines[0].moves[0] != second.lines[0].moves[0] || other.nodes < second.nodes);
}

#[test]
fn what_is_wrong_with_a_game_is_said() {
    let says = |game: GameInput, words: &str| {
        let fault = game.history().unwrap_err().to_string();
        assert!(fault.contains(words), "{fault}");
    };
    says(game(&["e2e4", "e2e4"]), "move 2 of the game");
    says(GameInput { start_fen: Some("junk".into()), ..GameInput::default() }, "startFen");
    says(GameInput { clocks: Some(vec![Some(-3.0)]), ..game(&["e2e4"]) }, "invalid time");
    says(GameInput { time_control: Some("soon".into()), ..GameInput::default() }, "time control");
    let seat = |rating, remaining| PlayerInput { rating, remaining };
    says(GameInput { white: seat(Some(9000.0), None), ..GameInput::default() }, "white: invalid rating 9000");
    says(GameInput { black: seat(None, Some(f64::NAN)), ..GameInput::default() }, "black");
}

#[test]
fn a_history_holds_ratings_clocks_and_pace() {
    let input = GameInput {
        clocks: Some(vec![Some(178.0), None]),
        white: PlayerInput { rating: Some(1500.0), remaining: Some(177.0) },
        black: PlayerInput { rating: None, remaining: None },
        time_control: Some("3+2".into()),
        pool: Some(PoolInput::Online),
        ..game(&["e2e4", "e7e5"])
    };
    let history = input.history().unwrap();
    let situation = history.situation();
    assert_eq!(situation.mover.rating.map(|elo| elo.0), Some(1500));
    assert_eq!(situation.mover.time_left.map(|time| time.as_secs()), Some(177));
    assert_eq!(situation.opponent.time_left, None);
    assert_eq!(situation.pace.map(|pace| pace.increment.as_secs()), Some(2));
    let looks = LimitsInput::default().over(&input, &history, true).unwrap();
    assert_eq!(looks.clocks, None, "one clock is not known");
}

#[test]
fn chosen_kernels_run_the_models_opened_after() {
    let mut engine = Engine::new(1.0);
    let chosen = engine.choose_kernels();
    engine.open("human", include_bytes!("../../../../fixtures/models/human.safetensors")).unwrap();
    let runtime = engine.store().model("human").unwrap().runtime();
    assert_eq!(runtime.to_string(), format!("transformer, {chosen}"));
}
