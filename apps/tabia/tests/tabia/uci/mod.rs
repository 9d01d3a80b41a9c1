//! `tabia uci` as a client meets it, for every kind of player.

mod compliance;
mod options;
pub(crate) mod session;

use session::{Searched, Session, field, players};
use shakmaty::uci::UciMove;

use crate::process::{fail, tabia};

const MIDDLEGAME: &str = "r2q1rk1/pp2bppp/2n1pn2/3p4/3P1B2/2N1PN2/PP3PPP/R2Q1RK1 w - - 0 11";

fn assert_legal(fen: &str, mv: &str, spec: &str) {
    let position = tabia_game::position_from_fen(fen).expect("a legal position");
    let legal = mv.parse::<UciMove>().is_ok_and(|mv| mv.to_move(&position).is_ok());
    assert!(legal, "{spec}: {mv} in {fen}");
}

/// The probabilities that a player tells with its lines, in percent.
fn probabilities(searched: &Searched) -> Vec<(String, f32)> {
    let of = |info: &String| {
        let percent = info.split_once(" string ")?.1.strip_suffix('%')?.parse().ok()?;
        Some((field(info, "pv")?.to_owned(), percent))
    };
    searched.infos.iter().filter_map(of).collect()
}

#[test]
fn a_search_without_time_leaves_the_networks_probabilities() {
    let asked = |spec: &str, go: &[&str]| {
        let mut session = Session::start(spec);
        session.send_all(&["setoption name HumanTime value false", "setoption name MultiPV value 3"]);
        session.send(&format!("position fen {MIDDLEGAME}"));
        session.ready();
        session.send_all(go);
        let said = probabilities(&session.searched());
        session.quit();
        assert_eq!(said.len(), 3, "{spec}");
        said
    };
    let clocks = "go wtime 1600 btime 1600";
    for elo in [1900, 2100, 2300, 2600] {
        // The network alone, with the temperature of these ratings. The strength table ends at 2500.
        let network = asked(&format!("human,elo={},temp=0.85", elo.min(2500)), &[clocks]);
        let spec = format!("human,elo={elo}");
        for go in [&[clocks] as &[&str], &["go wtime 1501 btime 9000 winc 0 binc 0"]] {
            let said = asked(&spec, go);
            let far = said[0].1 - said[2].1;
            assert!(far > 5.0, "{elo}: all alike: {said:?}");
            // A search of a few nodes may have seen some of the moves.
            assert!(
                network.iter().any(|(mv, _)| *mv == said[0].0),
                "{elo}: {said:?}, the network {network:?}"
            );
        }
        // Stopped at once, or a little later.
        let said = asked(&spec, &["go", "stop"]);
        assert!(said[0].1 - said[2].1 > 5.0, "{elo}: all alike: {said:?}");
    }
}

#[test]
fn every_kind_of_pondering_ends_with_a_move() {
    let forms = [
        "",
        "wtime 900 btime 900",
        "wtime 900 btime 900 winc 20 binc 20 movestogo 5",
        "movetime 60",
        "movetime 60 depth 40",
        "depth 2",
        "nodes 300",
        "mate 1",
        "searchmoves e1g1 a2a3 movetime 30",
    ];
    let fen = "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4";
    for spec in players() {
        let mut session = Session::start(&spec);
        session.send(&format!("position fen {fen}"));
        for form in forms {
            session.send(&format!("go ponder {form}"));
            let said = session.ready();
            assert!(!said.iter().any(|line| line.starts_with("bestmove")), "{spec}: {form}: {said:?}");
            session.send("ponderhit");
            assert_legal(fen, &session.searched().best, &spec);
        }
        // A miss, and a search that only a stop ends.
        session.send("go ponder movetime 60000");
        session.ready();
        session.send("stop");
        assert_legal(fen, &session.searched().best, &spec);
        session.send_all(&["go ponder infinite", "ponderhit"]);
        let said = session.ready();
        assert!(!said.iter().any(|line| line.starts_with("bestmove")), "{spec}: {said:?}");
        session.send("stop");
        assert_legal(fen, &session.searched().best, &spec);
        session.quit();
    }
}

#[test]
fn every_player_says_what_it_thinks_and_plays_its_line() {
    let positions = [
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        MIDDLEGAME,
        "8/8/8/8/8/5k2/6q1/7K w - - 0 1",
    ];
    let kings = "8/8/8/3k4/8/8/8/K6R w - - 0 1";
    for spec in players() {
        let mut session = Session::start(&spec);
        for fen in [positions[0], positions[1], kings] {
            session.send(&format!("position fen {fen}"));
            for limits in ["movetime 40", "wtime 300 btime 300", "depth 3", "nodes 1", "nodes 400"] {
                let searched = session.go(limits);
                assert_told(&searched, &format!("{spec}: {fen}: {limits}"));
                assert_legal(fen, &searched.best, &spec);
            }
            session.send_all(&["go infinite", "stop"]);
            assert_told(&session.searched(), &format!("{spec}: {fen}: stopped"));
        }
        // Mated: nothing to choose from.
        session.send(&format!("position fen {}", positions[2]));
        let over = session.go("movetime 10");
        assert_eq!((over.best.as_str(), field(&over.infos[0], "mate")), ("(none)", Some("0")), "{spec}");
        session.quit();
    }
}

/// The last line before the move has all that a client needs, and begins with the move.
fn assert_told(searched: &Searched, what: &str) {
    let last = searched.infos.last().unwrap_or_else(|| panic!("{what}: nothing said"));
    for name in ["depth", "nodes", "time", "nps"] {
        let number = field(last, name).and_then(|word| word.parse::<u64>().ok());
        assert!(number.is_some(), "{what}: no {name} in {last}");
    }
    assert!(matches!(field(last, "score"), Some("cp" | "mate")), "{what}: no score in {last}");
    assert_eq!(field(last, "pv"), Some(searched.best.as_str()), "{what}: {last}");
}

#[test]
fn a_stopped_engine_plays_the_first_move_of_its_last_line() {
    let mut session = Session::start("engine,eval=baseline");
    for fen in [MIDDLEGAME, "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"] {
        session.send_all(&["ucinewgame", &format!("position fen {fen}")]);
        // Ends in the middle of iterations of all depths.
        for nodes in (1..60).map(|step: u32| step * step * 7) {
            session.send("ucinewgame");
            assert_told(&session.go(&format!("nodes {nodes}")), &format!("nodes {nodes}"));
        }
    }
    session.send("setoption name MultiPV value 3");
    for nodes in [50, 500, 5_000, 20_000] {
        let searched = session.go(&format!("nodes {nodes}"));
        let first = searched.infos.iter().rfind(|info| field(info, "multipv") == Some("1"));
        assert_eq!(first.and_then(|info| field(info, "pv")), Some(searched.best.as_str()), "{nodes}");
    }
    session.quit();
}

#[test]
fn nothing_is_played_from_the_position_before_a_wrong_one() {
    for spec in ["engine,depth=3", "human,elo=1500", "level:1"] {
        let mut session = Session::start(spec);
        session.send("position startpos");
        assert!(session.go("depth 1").texts.is_empty());
        for wrong in [
            "position startpos moves e2e5",
            "position startpos moves e2e4 e7e5 e1g1",
            "position startpos moves e2e4 ????",
            "position fen 8/8/8/8/8/8/8/8 w - - 0 1",
            "position fen nonsense",
            "position",
        ] {
            session.send(wrong);
            let said = session.ready();
            assert!(said[0].starts_with("info string "), "{spec}: {wrong}: {said:?}");
            let searched = session.go("wtime 1000 btime 1000");
            assert_eq!(searched.best, "(none)", "{spec}: {wrong}");
            assert!(!searched.texts.is_empty(), "{spec}: {wrong}");
        }
        session.send("position startpos moves e2e4");
        let searched = session.go("depth 1");
        assert_legal("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1", &searched.best, spec);
        session.quit();
    }
}

#[test]
fn out_of_range_settings_are_refused() {
    for (spec, allowed) in [
        ("human,elo=2700", "600 to 2600"),
        ("human,elo=500", "600 to 2600"),
        ("engine,threads=2000", "1 to 1024"),
        ("human,temp=101", "0 to 100"),
    ] {
        let said = fail(tabia(["uci", "--player", spec]));
        assert!(said.contains(allowed), "{spec}: {said}");
    }
}
