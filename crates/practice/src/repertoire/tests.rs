use shakmaty::san::San;
use tabia_game::{History, PgnReader};

use super::*;

const PGN: &str = "1. e4 e5 (1... c5 2. Nf3 d6 (2... Nc6 3. d4) 3. d4) 2. Nf3 Nc6 3. Bb5 (3. Bc4) *\n";

fn repertoire(pgn: &str) -> Repertoire {
    let games: Vec<_> = PgnReader::new(pgn.as_bytes()).map(|game| game.unwrap()).collect();
    Repertoire::new(Color::White, "Mine", &games)
}

fn start() -> History {
    History::at_start_of(&Game::default())
}

fn moves(line: &str) -> Vec<Move> {
    let mut position = Chess::default();
    let play = |san: &str| {
        let m = san.parse::<San>().unwrap().to_move(&position).unwrap();
        position.play_unchecked(m);
        m
    };
    line.split_whitespace().map(play).collect()
}

/// Every second game goes on with e5, the others with c5, d5 and so on.
fn half(history: &History) -> Result<Vec<(Move, f32)>, ()> {
    let position = history.current();
    let replies: &[(&str, f32)] = match position.fullmoves().get() {
        1 => &[("e5", 0.5), ("c5", 0.3), ("d5", 0.2)],
        _ => &[("Nc6", 0.75), ("d6", 0.25)],
    };
    Ok(replies
        .iter()
        .map(|(san, share)| (san.parse::<San>().unwrap().to_move(position).unwrap(), *share))
        .collect())
}

#[test]
fn variations_are_prepared_and_the_first_move_is_the_main_one() {
    let mine = repertoire(PGN);
    assert_eq!(mine.len(), 6);
    let mut position = Chess::default();
    for m in moves("e4 e5 Nf3 Nc6") {
        position.play_unchecked(m);
    }
    let prepared: Vec<_> =
        mine.prepared(&position).map(|m| San::from_move(&position, m).to_string()).collect();
    assert_eq!(prepared, ["Bb5", "Bc4"]);
    assert_eq!(mine.cards().len(), 6);
    assert!(mine.cards().iter().all(|card| !card.answers.is_empty()));
}

#[test]
fn transpositions_share_what_is_prepared() {
    let mine = repertoire("1. d4 Nf6 2. c4 e6 3. Nc3 *\n\n1. c4 Nf6 2. d4 *\n");
    let mut position = Chess::default();
    for m in moves("c4 Nf6 d4 e6") {
        position.play_unchecked(m);
    }
    assert_eq!(mine.prepared(&position).len(), 1);
}

#[test]
fn leaving_the_repertoire_is_shown_with_the_prepared_line() {
    let mine = repertoire(PGN);
    assert_eq!(
        mine.deviation(&Chess::default(), &moves("e4 e5 Nf3 Nc6 Bc4")),
        None,
        "a variation is prepared"
    );
    assert_eq!(mine.deviation(&Chess::default(), &moves("e4 d5 exd5")), None, "there the opponent left it");
    let deviation = mine.deviation(&Chess::default(), &moves("e4 c5 d4 cxd4")).unwrap();
    assert_eq!((deviation.ply, deviation.played.as_str()), (3, "d4"));
    assert_eq!(deviation.prepared, ["Nf3"]);
    assert_eq!(deviation.line[0], "Nf3");
}

#[test]
fn coverage_is_the_share_of_games_with_an_answer_to_every_reply() {
    let mine = repertoire(PGN);
    let coverage = mine.coverage(&start(), CoverageLimits::default(), half).unwrap();
    // e5 Nc6 and both replies to c5 are answered; d5, and d6 after e5, are not.
    assert!((coverage.covered - (0.5 * 0.75 + 0.3)).abs() < 1e-6, "{coverage:?}");
    let holes: Vec<_> = coverage.holes.iter().map(|hole| hole.line.join(" ")).collect();
    assert_eq!(holes, ["e4 d5", "e4 e5 Nf3 d6"]);
    assert!((coverage.holes[0].probability - 0.2).abs() < 1e-6);
    assert!((coverage.holes[1].probability - 0.125).abs() < 1e-6);
    let all: f64 =
        coverage.holes.iter().map(|hole| hole.probability).sum::<f64>() + coverage.covered + coverage.unknown;
    assert!((all - 1.0).abs() < 1e-6);
}

#[test]
fn rare_lines_are_not_followed() {
    let limits = CoverageLimits { min_probability: 0.4, ..CoverageLimits::default() };
    let coverage = repertoire(PGN).coverage(&start(), limits, half).unwrap();
    assert!((coverage.unknown - 0.3).abs() < 1e-6, "{coverage:?}");
}

#[test]
fn an_empty_repertoire_covers_nothing() {
    let coverage = repertoire("").coverage(&start(), CoverageLimits::default(), half).unwrap();
    assert_eq!((coverage.covered, coverage.holes.len(), coverage.unknown), (0.0, 0, 1.0));
}

fn status(repertoire: &Repertoire, line: &str) -> RepertoireStatus {
    repertoire.status(&Chess::default(), &moves(line))
}

#[test]
fn the_status_says_who_left_and_when_a_line_ends() {
    let mine = repertoire(PGN);
    assert_eq!(status(&mine, ""), RepertoireStatus::Inside);
    assert_eq!(status(&mine, "e4 e5 Nf3"), RepertoireStatus::Inside);
    assert_eq!(status(&mine, "e4 e5 Nf3 Nc6 Bc4"), RepertoireStatus::Ended);
    assert_eq!(status(&mine, "e4 e5 Nf3 Nc6 Bc4 Bc5 c3"), RepertoireStatus::Ended);
    let RepertoireStatus::Left(left) = status(&mine, "e4 e5 Bc4 Nc6") else { panic!("I left") };
    assert_eq!((left.ply, left.prepared), (3, vec!["Nf3".to_owned()]));
    let RepertoireStatus::Unanswered(reply) = status(&mine, "e4 e5 Nf3 d6 d4") else { panic!("they left") };
    assert_eq!((reply.ply, reply.played.as_str(), reply.uci.as_str()), (4, "d6", "d7d6"));
    assert_eq!(reply.answered, ["Nc6"]);
}

#[test]
fn a_game_may_come_back_to_the_repertoire() {
    let mine = repertoire(PGN);
    // By transposition: 1. Nf3 is not prepared, 3. Bb5 or Bc4 is.
    assert!(matches!(status(&mine, "Nf3 Nc6 e4"), RepertoireStatus::Left(_)));
    assert_eq!(status(&mine, "Nf3 Nc6 e4 e5"), RepertoireStatus::Inside);
}

#[test]
fn a_black_repertoire_waits_for_white() {
    let games: Vec<_> = PgnReader::new("1. e4 c5 2. Nf3 d6 *".as_bytes()).map(|game| game.unwrap()).collect();
    let mine = Repertoire::new(Color::Black, "Mine", &games);
    assert_eq!(status(&mine, ""), RepertoireStatus::Inside);
    assert!(matches!(status(&mine, "d4"), RepertoireStatus::Unanswered(_)));
    let RepertoireStatus::Left(left) = status(&mine, "e4 e5") else { panic!("I left") };
    assert_eq!(left.line, ["c5", "Nf3", "d6"]);
}

#[test]
fn lines_go_from_the_start_to_the_end() {
    let mine = repertoire(PGN);
    let lines: Vec<_> = mine.lines(100).into_iter().map(|line| line.moves.join(" ")).collect();
    let expected = ["e4 e5 Nf3 Nc6 Bb5", "e4 e5 Nf3 Nc6 Bc4", "e4 c5 Nf3 d6 d4", "e4 c5 Nf3 Nc6 d4"];
    assert_eq!(lines, expected);
    assert_eq!(mine.lines(2).len(), 2);
}

#[test]
fn cards_name_their_line_and_carry_the_name_as_a_tag() {
    let cards = repertoire(PGN).cards();
    let sources: Vec<_> = cards.iter().map(|card| card.origin.as_ref().unwrap().source.as_str()).collect();
    assert_eq!(sources[..3], ["Mine", "Mine: 1. e4 e5", "Mine: 1. e4 e5 2. Nf3 Nc6"]);
    assert!(cards.iter().all(|card| card.tags.contains("Mine")));
}

#[test]
fn the_walk_can_end_at_any_time() {
    let mine = repertoire(PGN);
    let mut walk = CoverageWalk::new(mine, start(), CoverageLimits::default());
    let sum = |coverage: &Coverage| {
        coverage.covered + coverage.unknown + coverage.holes.iter().map(|hole| hole.probability).sum::<f64>()
    };
    let mut progress = walk.progress();
    assert_eq!(progress, 0.0);
    while !walk.is_done() {
        let replies: Vec<_> = walk.positions(2).into_iter().map(|history| half(history).unwrap()).collect();
        walk.follow(replies);
        assert!(walk.progress() >= progress);
        progress = walk.progress();
        let coverage = walk.coverage();
        assert!((sum(&coverage) - 1.0).abs() < 1e-6, "{coverage:?}");
        for step in &coverage.by_move {
            assert!(
                (step.inside + step.ended + step.holes + step.unknown - 1.0).abs() < 1e-6,
                "{coverage:?}"
            );
        }
    }
    let coverage = walk.coverage();
    let inside: Vec<_> = coverage.by_move.iter().map(|step| (step.inside * 1000.0).round()).collect();
    // e4 always; then against e5 and c5; then against e5 Nc6 and both replies to c5.
    assert_eq!(inside, [1000.0, 800.0, 675.0]);
    assert!((coverage.by_move[2].holes - 0.325).abs() < 1e-6, "{coverage:?}");
    let holes: Vec<_> = coverage.nodes.iter().filter(|node| node.state == NodeState::Hole).collect();
    assert_eq!(holes.iter().map(|node| node.san.as_str()).collect::<Vec<_>>(), ["d5", "d6"]);
    assert!(
        coverage
            .nodes
            .iter()
            .enumerate()
            .all(|(place, node)| node.parent.is_none_or(|parent| parent < place))
    );
}

#[test]
fn studies_are_read_with_their_chapters_comments_and_problems() {
    let study = "[Event \"Openings: Ruy Lopez\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 { [%cal Gb5c6] Pins nothing yet. } *\n\n\
        [Event \"Openings: Sicilian\"]\n\n1. e4 c5 2. Nf3 *\n\n\
        [Event \"Openings: Broken\"]\n\n1. e4 e6 2. d4 Qxh2 *\n";
    let file = Repertoire::from_pgn("Mine", None, study).unwrap();
    assert_eq!(file.repertoire.color(), Color::White);
    assert_eq!(file.chapters.len(), 3);
    assert_eq!(file.chapters[1], "Openings: Sicilian");
    assert!(file.problems.len() == 1 && file.problems[0].contains("Qxh2"), "{:?}", file.problems);
    let left = file.repertoire.deviation(&Chess::default(), &moves("e4 e5 Nf3 Nc6 Bc4")).unwrap();
    assert_eq!(left.comment, "Pins nothing yet.");
}

#[test]
fn the_side_with_fewer_alternatives_is_mine() {
    let color = |pgn: &str| Repertoire::from_pgn("Mine", None, pgn).unwrap().repertoire.color();
    assert_eq!(color(PGN.replace(" (3. Bc4)", "").as_str()), Color::White);
    assert_eq!(color("1. e4 (1. d4 d5) (1. c4 e5) 1... c5 *"), Color::Black);
    assert_eq!(color("1. e4 c5 2. Nf3 *"), Color::White, "who moves last");
    assert_eq!(color("1. e4 c5 *"), Color::Black);
    assert_eq!(color("[Orientation \"black\"]\n\n1. e4 c5 2. Nf3 *"), Color::Black);
}

#[test]
fn a_repertoire_from_a_position_starts_there() {
    let pgn =
        "[SetUp \"1\"]\n[FEN \"rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2\"]\n\n2. c3 *\n";
    let file = Repertoire::from_pgn("Alapin", Some(Color::White), pgn).unwrap();
    assert_eq!(file.repertoire.start().fullmoves().get(), 2);
    assert_eq!(status(&file.repertoire, "e4 c5"), RepertoireStatus::Inside);
}

#[test]
fn what_is_no_repertoire_is_refused() {
    let error = |color, pgn: &str| Repertoire::from_pgn("Mine", color, pgn).unwrap_err().to_string();
    assert_eq!(error(None, ""), "no game with moves");
    assert!(error(None, "Hello, world. 1. Ke7 *").contains("no game with moves"));
    assert!(error(Some(Color::Black), "1. e4 *").contains("makes no move"));
    assert!(error(None, &" ".repeat(17 << 20)).contains("17 MiB"));
}
