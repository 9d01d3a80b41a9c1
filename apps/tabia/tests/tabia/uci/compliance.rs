//! What fastchess checks with `--compliance`, step by step.

use shakmaty::{Chess, Position as _, uci::UciMove};

use super::assert_legal;
use super::session::{Searched, Session, field, players};

const WHITE: &str = "3r2k1/p5n1/1pq1p2p/2p3p1/2P1P1n1/1P1P2pP/PN1Q2K1/5R2 w - - 0 27";
const BLACK: &str = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1";

/// The `info` line that fastchess looks at: the last one with a score, of the first line.
fn last_info<'a>(searched: &'a Searched, what: &str) -> &'a str {
    let counts = |info: &&String| {
        info.contains(" score ") && (!info.contains(" multipv ") || info.contains(" multipv 1"))
    };
    let last = searched.infos.iter().rev().find(counts);
    last.unwrap_or_else(|| panic!("{what}: no info line with a score"))
}

/// Times and scores are whole numbers.
fn assert_valid(info: &str, what: &str) {
    assert!(info.starts_with("info "), "{what}: {info}");
    for name in ["time", "nps", "score"] {
        let value = field(info, name).unwrap_or_else(|| panic!("{what}: no {name}: {info}"));
        assert!(!value.contains('.'), "{what}: {name} {value}: {info}");
    }
    let score = field(info, "score").expect("just found");
    let number = field(info, score).and_then(|number| number.parse::<i32>().ok());
    assert!(number.is_some(), "{what}: {info}");
}

#[test]
fn every_player_passes_the_compliance_steps_of_fastchess() {
    for spec in players() {
        let mut session = Session::start(&spec);
        // 1-4: the handshake.
        session.send("uci");
        let greeting = session.until("uciok");
        for id in ["id name ", "id author "] {
            assert!(
                greeting.iter().any(|line| line.len() > id.len() && line.starts_with(id)),
                "{spec}: {id}"
            );
        }
        assert_eq!(session.ready(), ["readyok"], "{spec}");
        // 5-9: a new game, and both kinds of positions.
        session.send("ucinewgame");
        assert_eq!(session.ready(), ["readyok"], "{spec}");
        session.send("position startpos");
        assert_eq!(session.ready(), ["readyok"], "{spec}");
        session.send(&format!("position fen {WHITE}"));
        assert_eq!(session.ready(), ["readyok"], "{spec}");
        // 10-31: one clock, the other, both, with increments in any order.
        let steps = [
            (WHITE, "wtime 100"),
            (BLACK, "btime 100"),
            (BLACK, "wtime 100 winc 100 btime 100 binc 100"),
            (BLACK, "btime 100 binc 100 wtime 100 winc 100"),
        ];
        for (fen, limits) in steps {
            session.send(&format!("position fen {fen}"));
            let searched = session.go(limits);
            let what = format!("{spec}: {limits}");
            assert_valid(last_info(&searched, &what), &what);
            assert_legal(fen, &searched.best, &what);
        }
        // 32-40: a game from the start.
        session.send("ucinewgame");
        assert_eq!(session.ready(), ["readyok"], "{spec}");
        for moves in [&[] as &[&str], &["e2e4", "e7e5"]] {
            let mut position = Chess::default();
            for mv in moves {
                let mv = mv.parse::<UciMove>().expect("a move").to_move(&position).expect("a legal move");
                position.play_unchecked(mv);
            }
            let list = if moves.is_empty() { String::new() } else { format!(" moves {}", moves.join(" ")) };
            session.send(&format!("position startpos{list}"));
            let searched = session.go("wtime 100 btime 100");
            let legal = searched.best.parse::<UciMove>().is_ok_and(|mv| mv.to_move(&position).is_ok());
            assert!(legal, "{spec}: {}", searched.best);
            assert_valid(last_info(&searched, &spec), &spec);
        }
        // Ready while it thinks, and gone in the middle of it.
        session.send("go infinite");
        let said = session.ready();
        assert!(!said.iter().any(|line| line.starts_with("bestmove")), "{spec}: {said:?}");
        session.quit();
    }
}
