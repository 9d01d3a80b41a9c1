use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use shakmaty::{ByColor, CastlingMode, Chess, Position};
use tabia_encoding::Elo;
use tabia_game::History;
use tabia_model::Model;
use tabia_search::{Limits, NoControl, SearchControl, TimeLeft};

use super::{
    super::{BuildError, BuiltInNetwork, Determinism, Opened, OpenedAdapter, PlayerContext, settings::Parts},
    greedy::GreedySpec,
    *,
};
use crate::{Adapter, Pick, Player, StrengthSettings, test_networks, test_time::VirtualClock};

fn spec(text: &str) -> Spec {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn specs_round_trip() {
    let same = [
        "level:3",
        "level:4,rules=2026",
        "level:3,seed=7",
        "net:small.onnx,rules=original",
        "net:small.onnx,rules=2026",
        "net:nets/small.onnx",
        "net:small.onnx,search=ab",
        "net:small.onnx,search=ab,depth=6",
        "net:small.onnx,search=ab,nodes=5000,movetime=200,hash=64,threads=2",
        "human",
        "human,elo=1500",
        "human:h.onnx,elo=1500,mode=argmax",
        "human,elo=1500,strength=raw",
        "human,elo=1500,temp=0.8,trust=6,nodes=500,mates=0.9",
        "human,elo=1500,pause=on,seed=1",
        "human,pause=off",
        "human,elo=1200,pool=online",
        "human:h.onnx,elo=2100,pool=over-the-board,temp=0.5",
        "human,pool=unknown,seed=3",
        "human:me.card,net=\"a,b.onnx\",strength=raw",
        "human:h.onnx,temp=0.8,top_p=0.95,seed=7",
        "maia:maia-1500.pb.gz",
        "maia:maia-1500.pb.gz,mode=sample",
        "maia:maia3-23m.pt,elo=1500",
        "maia:maia3-23m.pt,elo=1500,mode=sample,temp=0.5",
        "maia:maia-1500.pb.gz,mode=sample,temp=0.5,seed=18446744073709551615",
        "engine",
        "engine,depth=8",
        "engine,eval=baseline",
        "engine,eval=baseline,movetime=50",
        "engine:C:\\nets\\big.onnx,movetime=50",
        "random",
        "random,seed=4",
        "uci:stockfish",
        "uci:nice -n 5 stockfish,elo=1700,nodes=10000",
        "uci:stockfish,elo=1500,depth=2,hash=clear",
        "uci:stockfish,depth=5,option.Threads=2,option.Skill Level=3",
        "uci:\"run, \\\"fast\\\" C:\\\\engine\",option.Path=\"a,b\"",
        "net:\"one, two.onnx\"",
    ];
    for text in same {
        assert_eq!(spec(text).to_string(), text);
        assert_eq!(spec(&spec(text).to_string()), spec(text));
    }
    let shorter = [
        ("human:h.onnx,elo=1500,mode=sample,temp=1.0,top_p=0.95", "human:h.onnx,elo=1500,top_p=0.95"),
        ("human:elo=1500", "human,elo=1500"),
        ("human:elo=1500,seed=2", "human,elo=1500,seed=2"),
        ("human,elo=1500,strength=rated,mode=sample", "human,elo=1500"),
        ("human,temp=0.5,strength=raw", "human,temp=0.5"),
        ("maia:m.pb,temp=0.5", "maia:m.pb,mode=sample,temp=0.5"),
        ("maia:m.pb,mode=argmax", "maia:m.pb"),
        ("level:\"2\"", "level:2"),
        ("level:2,rules=original", "level:2"),
        ("engine:\"plain.onnx\"", "engine:plain.onnx"),
    ];
    for (text, written) in shorter {
        assert_eq!(spec(text).to_string(), written);
        assert_eq!(spec(written), spec(text));
    }
}

#[test]
fn settings_are_parsed() {
    let Spec::Human(human) = spec("human:h.onnx,elo=1500,mode=sample,temp=0.7,top_p=0.9,seed=3") else {
        panic!("another kind");
    };
    assert_eq!(human.file, Some(PathBuf::from("h.onnx")));
    assert_eq!((human.elo, human.seed), (Some(Elo(1500)), Some(3)));
    let pick = Pick::Sampled { temperature: 0.7, top_p: 0.9 };
    assert_eq!(human.play, HumanPlay::Fixed(StrengthSettings { pick, ..StrengthSettings::RAW }));
    let Spec::Uci(uci) = spec("uci:sf --bench,elo=1700,movetime=25,option.Hash=16") else {
        panic!("another kind");
    };
    assert_eq!((uci.command.as_str(), uci.elo), ("sf --bench", Some(Elo(1700))));
    assert_eq!(uci.limits.movetime, Some(Duration::from_millis(25)));
    assert_eq!(uci.options, [("Hash".to_owned(), "16".to_owned())]);
    let maia = MaiaSpec { file: "m.pb".into(), elo: None, pick: Pick::Likeliest, seed: None };
    assert_eq!(spec("maia:m.pb"), Spec::Maia(maia));
}

#[test]
fn parse_errors_name_the_part() {
    let problem = |text: &str| text.parse::<Spec>().expect_err(text).problem;
    for (text, kind) in [("", ""), ("stockfish", "stockfish")] {
        assert_eq!(problem(text), SpecProblem::UnknownKind(kind.to_owned()));
    }
    for (text, usage) in [
        ("level", "level:N"),
        ("net", "net:FILE"),
        ("net:", "net:FILE"),
        ("human:", "human[:FILE]"),
        ("maia", "maia:FILE"),
        ("engine:", "engine[:FILE]"),
        ("random:5", "random"),
        ("uci:", "uci:COMMAND"),
    ] {
        assert_eq!(problem(text), SpecProblem::Usage(usage), "{text}");
    }
    for (text, setting, expected) in [
        ("level:6", "level", "1 to 5"),
        ("level:5,rules=2026", "level", "1 to 4"),
        ("level:1,rules=2025", "rules", "original or 2026"),
        ("net:x,search=mcts", "search", "ab"),
        ("human,elo=strong", "elo", "600 to 2600"),
        ("human,elo=2700", "elo", "600 to 2600"),
        ("human,elo=500", "elo", "600 to 2600"),
        ("uci:sf,elo=9000", "elo", "100 to 4000"),
        ("uci:sf,hash=3", "hash", "clear or keep"),
        ("human,pool=fide", "pool", "unknown or over-the-board or online or puzzle or lichess or chess.com"),
        ("human,mode=best", "mode", "sample or argmax"),
        ("human,temp=-1", "temp", "0 to 100"),
        ("human,temp=NaN", "temp", "0 to 100"),
        ("human,top_p=1.5", "top_p", "0 to 1"),
        ("human,strength=full", "strength", "rated or raw"),
        ("human,pause=1", "pause", "on or off"),
        ("human,trust=-1", "trust", "0 to 1000"),
        ("engine,eval=nnue", "eval", "baseline"),
        ("engine,depth=0", "depth", "1 to 200"),
        ("engine,threads=many", "threads", "1 to 1024"),
        ("random,seed=-1", "seed", "0 to 18446744073709551615"),
    ] {
        let SpecProblem::InvalidValue { name, expected: found, .. } = problem(text) else { panic!("{text}") };
        assert_eq!((name.as_str(), found.as_str()), (setting, expected), "{text}");
    }
    let search = "search, depth, nodes, movetime, hash, threads";
    let tables = if cfg!(feature = "syzygy") { ", syzygy, syzygy_limit, syzygy_fifty" } else { "" };
    for (text, setting, expected) in [
        ("level:2,depth=3", "depth", "rules, seed"),
        ("net:x,serach=ab", "serach", "search, rules"),
        ("net:x,search=ab,dpeth=6", "dpeth", &*format!("{search}{tables}")),
        ("maia:m,pool=online", "pool", "elo, mode, temp, top_p, seed"),
        ("uci:sf,hsah=keep", "hsah", "elo, depth, nodes, movetime, hash, option.NAME"),
    ] {
        let SpecProblem::UnknownSetting { name, expected: found, .. } = problem(text) else {
            panic!("{text}")
        };
        assert_eq!((name.as_str(), found.as_str()), (setting, expected), "{text}");
    }
    for text in ["human:elo=1500,elo=1600", "human,elo=1500,elo=1600"] {
        assert_eq!(problem(text), SpecProblem::SetTwice("elo".to_owned()));
    }
    for text in
        ["net:x,depth=6", "human,mode=argmax,temp=2", "human,strength=rated,temp=2", "engine:x,eval=baseline"]
    {
        assert!(matches!(problem(text), SpecProblem::Conflict(..)), "{text}");
    }
    for text in ["human,elo", "human,", "uci:sf,option.=3", "net:\"open", "net:\"a\"b", "net:\"a\\n\""] {
        assert!(matches!(problem(text), SpecProblem::Syntax(..)), "{text}");
    }
}

#[test]
fn capabilities_follow_the_settings() {
    for (text, determinism) in [
        ("level:3", Determinism::Seeded),
        ("level:3,rules=2026", Determinism::Deterministic),
        ("net:x.onnx", Determinism::Deterministic),
        ("net:x.onnx,search=ab", Determinism::Uncontrolled),
        ("engine,depth=5", Determinism::Deterministic),
        ("engine,depth=5,threads=2", Determinism::Uncontrolled),
        ("engine,movetime=5", Determinism::Uncontrolled),
        ("human,elo=1500", Determinism::Seeded),
        ("human,mode=argmax", Determinism::Deterministic),
        ("maia:m.pb", Determinism::Deterministic),
        ("maia:m.pb,temp=0.5", Determinism::Seeded),
        ("random", Determinism::Seeded),
        ("uci:sf,depth=5", Determinism::Uncontrolled),
    ] {
        assert_eq!(spec(text).determinism(), determinism, "{text}");
    }
    assert_eq!(spec("engine:n.onnx").file(), Some(Path::new("n.onnx")));
    assert_eq!(spec("engine").built_in_network(), Some(BuiltInNetwork::Value));
    assert_eq!(spec("human").built_in_network(), Some(BuiltInNetwork::Human));
    for (text, needs) in
        [("engine,eval=baseline", false), ("random", false), ("human", true), ("net:x", true)]
    {
        assert_eq!(spec(text).needs_network(), needs, "{text}");
    }
    let mut human = spec("human,elo=1500,trust=9");
    human.set_pick(Pick::Likeliest);
    *human.rating_mut().unwrap() = None;
    assert_eq!(human.to_string(), "human,mode=argmax,trust=9");
    assert!(spec("uci:sf,elo=1700").rating_mut().is_none());
}

/// `me.card` is an adapter, `broken.card` an invalid one; other files are not.
fn adapter(file: &Path) -> OpenedAdapter {
    match file.to_str() {
        Some("me.card") => Ok(Some(Arc::new(Adapter::from_json(ADAPTER)?))),
        Some("broken.card") => Err("version 9".into()),
        _ => Ok(None),
    }
}

const ADAPTER: &[u8] = include_bytes!("../../../../../fixtures/adapters/ann.card");

fn build_with(
    text: &str,
    open: &dyn Fn(&Path) -> Opened,
    human: &Arc<Model>,
) -> Result<Box<dyn Player>, BuildError> {
    let built_in = |network| match network {
        BuiltInNetwork::Human => Ok(Arc::clone(human)),
        BuiltInNetwork::Value => Ok(test_networks::challenge()),
    };
    spec(text).build(&PlayerContext { open, adapter: &adapter, built_in: &built_in, process: None, seed: 9 })
}

fn build(spec: &str) -> Result<Box<dyn Player>, BuildError> {
    let open = |file: &Path| match file.to_str() {
        Some("challenge.onnx") => Ok(test_networks::challenge()),
        Some("leela.pb") => Ok(test_networks::leela()),
        Some("human.onnx") => Ok(test_networks::human()),
        Some("human.safetensors") => Ok(test_networks::human_of_a_game()),
        _ => Err("no such file".into()),
    };
    build_with(spec, &open, &test_networks::human())
}

#[test]
fn players_are_built_and_move() {
    let named = [
        ("level:2", "Level 2 (Novice)"),
        ("net:challenge.onnx", "challenge"),
        ("human", "human"),
        ("human:human.onnx,elo=1500", "human 1500"),
        ("human:me.card", "Ann"),
        ("human:me.card,elo=1200,net=human.safetensors", "Ann 1200"),
        ("maia:leela.pb,temp=0.5", "leela"),
        ("random,seed=1", "Random"),
        ("engine,depth=2", "Tabia engine"),
        ("engine:challenge.onnx,nodes=200", "challenge"),
        ("engine,eval=baseline,depth=2,hash=1", "Tabia engine, hand-written evaluation"),
        ("net:challenge.onnx,search=ab,depth=1", "challenge"),
    ];
    let game = History::new(Chess::default(), ByColor::default());
    for (spec, name) in named {
        let mut player = build(spec).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(player.name(), name);
        let built_in = spec.parse::<Spec>().unwrap().built_in_name();
        assert!(built_in.is_none_or(|known| known == name), "{spec}");
        player.new_game();
        let choice = player.choose(&game, &Limits::default(), &NoControl).unwrap();
        assert!(game.current().is_legal(choice.mv), "{spec}");
        assert_eq!(choice.lines[0].rank, 1, "{spec}");
    }
}

#[test]
fn only_players_that_need_nothing_else_are_named_before_they_are_built() {
    for (spec, name) in [
        ("human", Some("human")),
        ("human,elo=1500,seed=1", Some("human 1500")),
        ("human:me.card", None),
        ("human,net=human.onnx", None),
        ("engine,hash=64", Some("Tabia engine")),
        ("engine,opponent=1500", Some("Tabia engine against 1500")),
        #[cfg(feature = "syzygy")]
        ("engine,syzygy=tables", None),
        ("engine:net.onnx", None),
        ("net:net.onnx", None),
        ("uci:stockfish", None),
    ] {
        let spec: Spec = spec.parse().unwrap();
        assert_eq!(spec.built_in_name().as_deref(), name, "{spec}");
    }
}

#[test]
fn an_adapter_plays_the_persons_openings_at_their_rating() {
    let game = History::new(Chess::default(), ByColor::default());
    let first = |text: &str, human: &Arc<Model>| {
        let mut player = build_with(text, &|_| Err("no file".into()), human).unwrap();
        let limits = Limits { lines: 3, ..Limits::default() };
        let choice = player.choose(&game, &limits, &NoControl).unwrap();
        choice.lines.into_iter().map(|line| (line.moves[0], line.probability)).collect::<Vec<_>>()
    };
    let (raw, rated) = (test_networks::human(), calibrated());
    let own = first("human:me.card", &raw);
    assert_eq!(own[0].0.to_uci(CastlingMode::Standard).to_string(), "b2b3");
    assert!(own[0].1.unwrap() > 0.7, "{own:?}");
    assert_ne!(own, first("human,elo=1540", &raw));
    // The strength table has no say where the person moves from memory.
    assert_eq!(first("human:me.card", &rated)[0].0, own[0].0);
    let error = |text: &str| build(text).err().unwrap().to_string();
    assert_eq!(error("human:broken.card"), "broken.card: version 9");
    assert_eq!(error("human:human.onnx,net=x.onnx"), "human.onnx is a network (net=FILE expects an adapter)");
}

#[test]
fn guide_shows_a_player_that_compiles_and_plays() {
    let indented = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("   {line}\n") };
    let example: String = include_str!("greedy.rs").lines().map(indented).collect();
    assert!(include_str!("../../../../../docs/guides/add-a-player.md").contains(&example), "{example}");

    let parsed = |text: &str| {
        let mut parts = Parts::split(text)?;
        GreedySpec::parse(parts.subject, &mut parts.settings)
    };
    assert_eq!(parsed("greedy:x"), Err(SpecProblem::Usage(GreedySpec::USAGE)));
    let none = PlayerContext {
        open: &|_| Err("no file".into()),
        adapter: &|_| Ok(None),
        built_in: &|_| Err("no network".into()),
        process: None,
        seed: 0,
    };
    let mut player = parsed(GreedySpec::NAME).unwrap().build(&none).unwrap_or_else(|error| panic!("{error}"));
    let fen = "rnbqkbnr/ppp1pppp/8/3p4/4P3/8/PPPP1PPP/RNBQKBNR w KQkq d6 0 2";
    let game = History::new(tabia_game::position_from_fen(fen).unwrap(), ByColor::default());
    let choice = player.choose(&game, &Limits::default(), &NoControl).unwrap();
    assert_eq!(choice.mv.to_uci(CastlingMode::Standard).to_string(), "e4d5");
}

/// The same network with a calibrated card.
fn calibrated() -> Arc<Model> {
    let card = r#"{"strength": {"method": "none", "knots": [
        {"asked": 1000, "told": 700, "temperature": 1.5, "trust": 0.5, "nodes": 200, "mates": 0.5},
        {"asked": 2000, "told": 2300, "temperature": 0.5, "trust": 9.0, "nodes": 200, "mates": 1.0}]}}"#;
    let bytes = include_bytes!("../../../../../fixtures/models/human.safetensors");
    Arc::new(Model::new(tabia_model::Source::read(bytes).unwrap(), Some(card)).unwrap())
}

#[test]
fn rating_uses_the_calibration_unless_strength_is_set() {
    let fen = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2";
    let game = History::new(tabia_game::position_from_fen(fen).unwrap(), ByColor::default());
    let said = |spec: &str| {
        let mut player = build_with(spec, &|_| Err("no file".into()), &calibrated()).unwrap();
        let limits = Limits { lines: 300, ..Limits::default() };
        let choice = player.choose(&game, &limits, &NoControl).unwrap();
        let lines: Vec<_> = choice.lines.iter().map(|line| (line.moves[0], line.probability)).collect();
        (lines, choice.mv)
    };
    assert_eq!(said("human,elo=1000"), said("human,elo=700,temp=1.5,trust=0.5,nodes=200,mates=0.5"));
    assert_eq!(said("human:elo=1500"), said("human,elo=1500,temp=1,trust=4.75,nodes=200,mates=0.75"));
    assert_ne!(said("human,elo=1000"), said("human,elo=1000,strength=raw"));
    assert_eq!(said("human,elo=1500,temp=1"), said("human,elo=1500"), "1 is the default");
    assert_ne!(said("human,elo=1500,temp=0.9"), said("human,elo=1500"));
    assert_eq!(said("human"), said("human,strength=raw"), "no rating");
}

/// A game of a player against itself with 30 seconds each: its moves and their times.
fn timed_game(spec: &str) -> Vec<(shakmaty::Move, Duration)> {
    let mut player = build_with(spec, &|_| Err("no file".into()), &calibrated()).unwrap();
    let mut game = History::new(Chess::default(), ByColor::default());
    let mut left = Duration::from_secs(30);
    let mut played = Vec::new();
    for _ in 0..10 {
        let clock = TimeLeft { remaining: left, increment: Duration::ZERO };
        let clocks = Some(ByColor { white: clock, black: clock });
        let control = VirtualClock::default();
        let choice = player.choose(&game, &Limits { clocks, ..Limits::default() }, &control).unwrap();
        left -= control.elapsed();
        played.push((choice.mv, control.elapsed()));
        game.push(choice.mv, Some(left));
    }
    played
}

#[test]
fn the_seed_determines_moves_and_think_times() {
    let first = timed_game("human,elo=1500,pause=on,seed=3");
    assert_eq!(first, timed_game("human,elo=1500,pause=on,seed=3"));
    assert_ne!(first, timed_game("human,elo=1500,pause=on,seed=4"));
    assert!(first.iter().any(|(_, taken)| *taken > Duration::ZERO), "{first:?}");
    let at_once = timed_game("human,elo=1500,pause=off,seed=3");
    assert!(at_once.iter().all(|(_, taken)| taken.is_zero()), "pause=off");
}

#[test]
fn underpromotions_are_as_frequent_as_predicted() {
    let position = tabia_game::position_from_fen("8/P6k/8/8/8/8/8/K7 w - - 0 1").unwrap();
    let game = History::new(position, ByColor::default());
    let said = test_networks::human_of_a_game().evaluate(&[game.situation()]).unwrap().remove(0);
    let under = |mv: shakmaty::Move| mv.promotion().is_some_and(|role| role != shakmaty::Role::Queen);
    let policy = said.policy.unwrap();
    let candidates = policy.candidates().iter().filter(|of| under(of.mv));
    assert_eq!(candidates.clone().count(), 3);
    let expected: f32 = candidates.map(|of| of.probability).sum();

    const GAMES: u32 = 400;
    let mut player = build("human:human.safetensors,seed=5").unwrap_or_else(|error| panic!("{error}"));
    let picked = (0..GAMES).map(|_| player.choose(&game, &Limits::default(), &NoControl).unwrap().mv);
    let share = picked.filter(|mv| under(*mv)).count() as f32 / GAMES as f32;
    // Four standard errors of an even chance.
    assert!((share - expected).abs() < 0.1, "{share} of {expected}");
    assert!(share > 0.0, "{expected}");
}

#[test]
fn a_bare_rating_is_an_online_rating() {
    let game = History::new(Chess::default(), ByColor::default());
    let said = |spec: &str| {
        let mut player = build(spec).unwrap_or_else(|error| panic!("{error}"));
        player.choose(&game, &Limits { lines: 300, ..Limits::default() }, &NoControl).unwrap().lines
    };
    let rated = said("human:human.safetensors,elo=1200");
    assert_eq!(rated, said("human:human.safetensors,elo=1200,pool=online"));
    assert_ne!(rated, said("human:human.safetensors,elo=1200,pool=over-the-board"));
    let unrated = said("human:human.safetensors");
    assert_eq!(unrated, said("human:human.safetensors,pool=unknown"));
    assert_ne!(unrated, said("human:human.safetensors,pool=online"));
}

#[test]
fn build_errors() {
    let error = |spec| build(spec).err().unwrap();
    assert!(
        matches!(error("net:lost.onnx"), BuildError::Open { file, .. } if file == Path::new("lost.onnx"))
    );
    for spec in ["net:human.onnx", "engine:human.onnx"] {
        assert!(matches!(error(spec), BuildError::NoEvaluation { .. }), "{spec}");
    }
    assert!(matches!(error("maia:challenge.onnx"), BuildError::NoPolicy { name, .. } if name == "challenge"));
    assert!(matches!(error("uci:stockfish"), BuildError::NoProcesses));
}
