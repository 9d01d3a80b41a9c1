use super::*;

fn tree(moves: &[&str]) -> GameTree {
    GameTree::from_moves(None, moves.iter().map(|m| (*m).to_owned()).collect()).unwrap()
}

fn sans(tree: &GameTree) -> Vec<String> {
    tree.picture().nodes.into_iter().map(|node| node.san).collect()
}

#[test]
fn a_new_game_shows_its_moves_and_no_headers() {
    let view = GameTree::new(None).unwrap().picture();
    assert_eq!((view.turn, view.current, view.ply), (Side::White, 0, 0));
    assert_eq!(view.destinations.0.values().map(Vec::len).sum::<usize>(), 20);
    assert!(view.nodes.is_empty() && view.headers.is_empty() && view.last_move.is_none());
    assert!(!view.status.over && view.status.result == "*" && view.status.reason.is_empty());
}

#[test]
fn playing_makes_variations_and_finds_what_is_there() {
    let mut tree = tree(&["e2e4", "e7e5", "g1f3"]);
    assert!(tree.back() && tree.back());
    assert_eq!(tree.play("c7c5").unwrap(), 4);
    assert!(tree.back());
    assert_eq!(tree.play("e7e5").unwrap(), 2, "the move is there already");
    assert_eq!(sans(&tree), ["e4", "e5", "c5", "Nf3"]);
    assert!(tree.sibling(1) && !tree.sibling(1) && tree.sibling(-1));
    assert_eq!(tree.moves(), ["e2e4", "e7e5"]);
    tree.make_mainline(4).unwrap();
    assert_eq!(sans(&tree), ["e4", "c5", "e5", "Nf3"]);
    assert_eq!(tree.moves_to(3).unwrap(), ["e2e4", "e7e5", "g1f3"]);
    tree.go(3).unwrap();
    tree.remove(2).unwrap();
    assert_eq!((tree.picture().current, sans(&tree)), (1, vec!["e4".to_owned(), "c5".to_owned()]));
    assert!(tree.go(3).is_err() && tree.remove(0).is_err() && tree.promote(77).is_err());
}

#[test]
fn castling_is_the_kings_move_and_promotion_asks() {
    let mut castles = GameTree::new(Some("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1".into())).unwrap();
    let king = &castles.picture().destinations.0["e1"];
    assert!(king.contains(&"g1".to_owned()) && king.contains(&"c1".to_owned()));
    castles.play("e1g1").unwrap();
    assert_eq!(castles.picture().last_move, Some(("e1".to_owned(), "g1".to_owned())));
    let pawn = GameTree::new(Some("8/P6k/8/8/8/8/8/K7 w - - 0 1".into())).unwrap();
    assert_eq!(pawn.picture().destinations.0["a7"], ["a8"]);
    assert!(pawn.needs_promotion("a7", "a8").unwrap() && !pawn.needs_promotion("a1", "a2").unwrap());
    assert!(pawn.needs_promotion("a9", "a8").is_err());
}

#[test]
fn a_mate_ends_the_game_wherever_one_looks_until_it_is_taken_back() {
    let mut tree = tree(&["f2f3", "e7e5", "g2g4", "d8h4"]);
    let mated = tree.picture();
    assert_eq!((mated.check.as_deref(), mated.status.reason.as_str()), (Some("e1"), "checkmate"));
    assert!(tree.pgn().unwrap().contains("0-1"));
    tree.to_start();
    assert_eq!(tree.picture().status.result, "0-1");
    tree.take_back(1);
    let view = tree.picture();
    assert_eq!((view.ply, view.status.over, view.headers.len()), (3, false, 0));
    tree.take_back(99);
    assert_eq!(tree.picture().ply, 0);
}

#[test]
fn games_end_in_every_way() {
    let ended = |end: &dyn Fn(&mut GameTree)| {
        let mut tree = tree(&["e2e4"]);
        end(&mut tree);
        let status = tree.picture().status;
        assert!(status.over);
        (status.result, status.reason)
    };
    let told = |result: &str, reason: &str| (result.to_owned(), reason.to_owned());
    assert_eq!(ended(&|tree| tree.resign("white").unwrap()), told("0-1", "resignation"));
    assert_eq!(ended(&|tree| tree.flag_falls("black").unwrap()), told("1-0", "time forfeit"));
    assert_eq!(ended(&GameTree::agree_draw), told("1/2-1/2", "agreement"));
    assert_eq!(ended(&GameTree::abort), told("*", "abandonment"));
    let mut knights: Vec<&str> = Vec::new();
    for _ in 0..2 {
        knights.extend(["g1f3", "g8f6", "f3g1", "f6g8"]);
    }
    let mut repeated = tree(&knights);
    assert!(repeated.picture().status.claimable);
    repeated.claim_draw().unwrap();
    assert_eq!(repeated.picture().status.reason, "threefold repetition");
    assert!(tree(&["e2e4"]).claim_draw().is_err());
}

#[test]
fn notes_go_into_the_pgn_and_come_back() {
    let mut tree = tree(&["e2e4", "e7e5", "g1f3"]);
    tree.set_header("TimeControl", "180+2").unwrap();
    tree.set_header("White", "Ada").unwrap();
    tree.set_clock(1, 181.0).unwrap();
    tree.set_clock(2, 170.5).unwrap();
    tree.set_clock(3, 179.0).unwrap();
    tree.set_evaluation(2, Some(25.4), None, Some(18)).unwrap();
    tree.set_evaluation(3, None, Some(-4), None).unwrap();
    tree.set_comment(1, " best by test ").unwrap();
    tree.judge(3, vec![1]).unwrap();
    let read = PgnGames::read(tree.pgn().unwrap()).take(0).unwrap();
    let mut again = read.picture();
    let nodes = tree.picture().nodes;
    assert_eq!(again.nodes, nodes);
    assert_eq!(nodes.iter().map(|node| node.spent).collect::<Vec<_>>(), [Some(1.0), Some(11.5), Some(4.0)]);
    assert_eq!(nodes[1].evaluation.unwrap().cp, Some(25));
    again.headers.retain(|(name, _)| name == "White" || name == "TimeControl");
    assert_eq!(again.headers.len(), 2);
    assert_eq!(tree.clock_line(), [Some(181.0), Some(170.5), Some(179.0)]);
    for seconds in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
        assert!(tree.set_clock(1, seconds).is_err());
    }
    assert!(tree.set_evaluation(1, Some(f64::NAN), None, None).is_err());
    assert!(tree.set_evaluation(1, None, Some(0), None).is_err());
    assert!(tree.set_header("no name", "x").is_err() && tree.set_header("FEN", "x").is_err());
}

#[test]
fn a_broken_game_is_reported_and_read_as_far_as_it_goes() {
    let games = PgnGames::read(
        "[White \"A\"]\n\n1. e4 e5 2. Ke3 *\n\n[White \"B\"]\n[FEN \"junk\"]\n\n1. e4 *\n".into(),
    );
    assert_eq!(games.problems().len(), 2);
    assert_eq!(sans(&games.take(0).unwrap()), ["e4", "e5"]);
    assert!(games.take(1).is_err());
    assert!(PgnGames::read(String::new()).take(0).is_err());
}
