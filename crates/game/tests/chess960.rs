//! Games of Chess960 as other programs write them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use shakmaty::{CastlingMode, Position as _};
use tabia_game::{Chess960, Game, fen_of, read_game, write_game};

fn written(game: &Game) -> String {
    let mut pgn = Vec::new();
    write_game(game, &mut pgn).unwrap();
    String::from_utf8(pgn).unwrap()
}

fn uci(game: &Game) -> Vec<String> {
    let mode = game.start().castles().mode();
    game.moves().map(|m| m.to_uci(mode).to_string()).collect()
}

const MOVES: &str = "1. e4 e5 2. Ng3 Ng6 3. O-O-O O-O-O 4. a3 *";

#[test]
fn the_spellings_of_servers_are_read() {
    for (variant, rights) in [
        ("Chess960", "KQkq"),
        ("Chess960", "ECec"),
        ("chess 960", "KQkq"),
        ("Fischerandom", "ECec"),
        ("Fischer Random", "KQkq"),
        ("From Position", "KQkq"),
    ] {
        let fen = format!("bqrkrnnb/pppppppp/8/8/8/8/PPPPPPPP/BQRKRNNB w {rights} - 0 1");
        let pgn =
            format!("[Event \"x\"]\n[Variant \"{variant}\"]\n[SetUp \"1\"]\n[FEN \"{fen}\"]\n\n{MOVES}\n");
        let game = read_game(pgn.as_bytes()).unwrap_or_else(|broken| panic!("{variant} {rights}: {broken}"));
        assert_eq!(game.start().castles().mode(), CastlingMode::Chess960);
        assert_eq!(uci(&game)[4..], ["d1c1", "d8c8", "a2a3"], "castling is king takes rook");
        // The tag stays as it was, and comes once.
        let again = written(&game);
        assert_eq!(again.matches("[Variant ").count(), 1, "{again}");
        assert!(again.contains(&format!("[Variant \"{variant}\"]")), "{again}");
        let reread = read_game(again.as_bytes()).unwrap();
        assert_eq!((reread.start(), uci(&reread)), (game.start(), uci(&game)));
    }
}

#[test]
fn a_new_game_says_what_it_is() {
    let mut game = Game::from_position(Chess960::new(0).unwrap().position());
    let m = game.start().legal_moves()[0];
    game.add_move(tabia_game::NodeId::ROOT, m).unwrap();
    let pgn = written(&game);
    let tags = "[SetUp \"1\"]\n[FEN \"bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w KQkq - 0 1\"]\n[Variant \"Chess960\"]\n";
    assert!(pgn.contains(tags), "{pgn}");
    let again = read_game(pgn.as_bytes()).unwrap();
    assert_eq!((again.start(), uci(&again)), (game.start(), uci(&game)));
    let standard = written(&Game::from_position(Chess960::STANDARD.position()));
    assert!(!standard.contains("Variant"), "{standard}");
}

#[test]
fn an_inner_rook_keeps_its_right() {
    // Of two rooks on one side of the king only the inner one may castle, which needs its file in the FEN.
    let fen = "1rk1r2r/8/8/8/8/8/8/RR2K1RR w GBeb - 0 1";
    let position = tabia_game::position_from_fen(fen).unwrap();
    assert_eq!(fen_of(&position), fen.replace("GBeb", "GBeq"));
    assert_eq!(tabia_game::position_from_fen(&fen_of(&position)).unwrap(), position);
}
