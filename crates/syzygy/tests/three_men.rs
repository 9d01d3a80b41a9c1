//! The tables of three men in fixtures/syzygy, without the distances of KRvK.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use shakmaty::{CastlingMode, Chess, Color, Move, Position as _, Role, Setup, Square, fen::Fen};
use tabia_syzygy::{Tables, TablesError, Verdict};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/syzygy")
}

fn tables() -> Tables {
    Tables::open(folder().to_str().unwrap()).unwrap()
}

fn position(fen: &str) -> Chess {
    fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap()
}

#[test]
fn verdicts_of_known_endings() {
    let tables = tables();
    assert_eq!(
        (tables.most_pieces(), tables.len(), tables.to_string().as_str()),
        (3, 9, "9 tables up to 3 pieces")
    );
    for (fen, fifty, expected) in [
        ("8/8/8/3k4/8/8/1Q6/K7 w - - 0 1", true, Some(Verdict::Win)),
        ("8/8/8/3k4/8/8/1Q6/K7 b - - 0 1", true, Some(Verdict::Loss)),
        ("8/8/8/3k4/8/8/1B6/K7 w - - 0 1", true, Some(Verdict::Draw)),
        // The opposition.
        ("3k4/8/3K4/3P4/8/8/8/8 w - - 0 1", true, Some(Verdict::Win)),
        ("3k4/3P4/3K4/8/8/8/8/8 b - - 0 1", true, Some(Verdict::Draw)),
        // A rook's pawn does not win.
        ("k7/8/K7/P7/8/8/8/8 w - - 0 1", true, Some(Verdict::Draw)),
        // The rule is nearer than the mate.
        ("8/8/8/3k4/8/8/1Q6/K7 w - - 97 80", true, Some(Verdict::Draw)),
        ("8/8/8/3k4/8/8/1Q6/K7 w - - 97 80", false, Some(Verdict::Win)),
        ("8/8/8/3k4/8/8/1Q6/K7 w - - 20 80", true, Some(Verdict::Win)),
        // Distances of rook endings are missing: after a quiet move nothing is known of the rule.
        ("8/8/8/3k4/8/8/1R6/K7 w - - 0 1", true, Some(Verdict::Win)),
        ("8/8/8/3k4/8/8/1R6/K7 w - - 3 9", true, None),
        ("8/8/8/3k4/8/8/1R6/K7 w - - 3 9", false, Some(Verdict::Win)),
        // Not in the tables.
        ("8/8/8/3k4/8/8/1Q5p/K7 w - - 0 1", true, None),
        ("4k3/8/8/8/8/8/8/R3K3 w Q - 0 1", true, None),
        ("8/8/8/3k4/8/8/8/K7 w - - 0 1", true, Some(Verdict::Draw)),
    ] {
        assert_eq!(tables.verdict(&position(fen), fifty), expected, "{fen} {fifty}");
    }
    assert_eq!(tables.take_failure(), None);
}

/// Every position of king and pawn against king is worth the best of what its moves lead to.
#[test]
fn verdicts_agree_with_those_after_every_move() {
    let tables = tables();
    let mut seen = [0; 3];
    for pawn in [Square::A2, Square::B4, Square::C6, Square::D7, Square::E5, Square::H3] {
        for white in Square::ALL.into_iter().step_by(3) {
            for black in Square::ALL.into_iter().step_by(2) {
                for turn in Color::ALL {
                    let mut setup = Setup::empty();
                    setup.turn = turn;
                    setup.board.set_piece_at(pawn, Color::White.pawn());
                    setup.board.set_piece_at(white, Color::White.king());
                    setup.board.set_piece_at(black, Color::Black.king());
                    let Ok(position) = setup.position::<Chess>(CastlingMode::Standard) else { continue };
                    let stored = tables.verdict(&position, false).unwrap();
                    let after = |m: Move| {
                        let mut after = position.clone();
                        after.play_unchecked(m);
                        match tables.verdict(&after, false).unwrap() {
                            Verdict::Loss => Verdict::Win,
                            Verdict::Draw => Verdict::Draw,
                            Verdict::Win => Verdict::Loss,
                        }
                    };
                    let moves = position.legal_moves();
                    let stuck = if position.is_check() { Verdict::Loss } else { Verdict::Draw };
                    let best = moves.into_iter().map(after).max().unwrap_or(stuck);
                    assert_eq!(stored, best, "{:?}", position.board());
                    seen[stored as usize] += 1;
                }
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 100), "{seen:?}");
}

#[test]
fn moves_are_ranked_by_what_they_keep() {
    let tables = tables();
    let start = position("3k4/8/2K5/3P4/8/8/8/8 w - - 0 1");
    let moves: Vec<Move> = start.legal_moves().into_iter().collect();
    let ranks = tables.rank(&start, &moves, true, false).unwrap();
    assert!(ranks.by_distance);
    let best = ranks.moves.iter().map(|ranked| ranked.rank).max().unwrap();
    for (m, ranked) in moves.iter().zip(&ranks.moves) {
        let mut after = start.clone();
        after.play_unchecked(*m);
        let wins = tables.verdict(&after, true) == Some(Verdict::Loss);
        assert_eq!(ranked.rank == best, wins, "{m}");
        assert_eq!(ranked.verdict == Verdict::Win, wins, "{m}");
    }
    // After a repetition the fastest wins come first: fewer moves share the best rank.
    let queen = position("8/8/8/3k4/8/8/1Q6/K7 w - - 4 9");
    let moves: Vec<Move> = queen.legal_moves().into_iter().collect();
    let count = |repeated| {
        let ranks = tables.rank(&queen, &moves, true, repeated).unwrap().moves;
        let best = ranks.iter().map(|ranked| ranked.rank).max().unwrap();
        ranks.iter().filter(|ranked| ranked.rank == best).count()
    };
    assert!(count(true) < count(false), "{} of {}", count(true), count(false));
    // The queen must not be lost.
    let ranked = tables.rank(&queen, &moves, true, false).unwrap().moves;
    let lost = moves.iter().zip(&ranked);
    let lost = lost.filter(|(m, ranked)| m.role() == Role::Queen && ranked.verdict == Verdict::Draw);
    assert_eq!(lost.count(), 2, "on d4 and e5");
    // Without distances the results remain.
    let rook = position("8/8/8/3k4/8/8/1R6/K7 w - - 4 9");
    let moves: Vec<Move> = rook.legal_moves().into_iter().collect();
    assert!(!tables.rank(&rook, &moves, true, false).unwrap().by_distance);
}

fn copy(to: &Path, change: impl Fn(&str, &mut Vec<u8>)) {
    for entry in folder().read_dir().unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_name().unwrap().to_str().unwrap();
        let mut bytes = std::fs::read(&file).unwrap();
        change(name, &mut bytes);
        std::fs::write(to.join(name), bytes).unwrap();
    }
}

#[test]
fn missing_and_damaged_files_are_named() {
    let error = |path: &str| Tables::open(path).unwrap_err();
    let missing = error("/no/such/folder");
    assert!(
        matches!(missing, TablesError::Unreadable { .. }) && missing.to_string().contains("/no/such/folder")
    );
    let empty = tempfile::tempdir().unwrap();
    std::fs::write(empty.path().join("readme.txt"), "nothing").unwrap();
    std::fs::write(empty.path().join("notes.rtbw"), "nothing").unwrap();
    let none = error(empty.path().to_str().unwrap());
    assert!(matches!(none, TablesError::NoTables { .. }) && none.to_string().contains("KQvK.rtbw"), "{none}");

    for (what, change) in [
        ("its size", (|bytes: &mut Vec<u8>| bytes.truncate(100)) as fn(&mut Vec<u8>)),
        ("its first bytes", |bytes| bytes[0] ^= 1),
    ] {
        let folder = tempfile::tempdir().unwrap();
        copy(folder.path(), |name, bytes| {
            if name == "KQvK.rtbw" {
                change(bytes);
            }
        });
        let damaged = error(folder.path().to_str().unwrap()).to_string();
        assert!(damaged.contains("KQvK.rtbw") && damaged.contains(what), "{damaged}");
    }
}

#[test]
fn a_table_with_damaged_contents_is_named_when_it_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    copy(folder.path(), |name, bytes| {
        if name == "KQvK.rtbw" {
            bytes[4..].fill(0xff);
        }
    });
    let tables = Tables::open(folder.path().to_str().unwrap()).unwrap();
    assert_eq!(tables.verdict(&position("8/8/8/3k4/8/8/1Q6/K7 w - - 0 1"), true), None);
    let failure = tables.take_failure().unwrap().to_string();
    assert!(failure.contains("KQvK.rtbw") && failure.contains("damaged"), "{failure}");
    assert_eq!(tables.take_failure(), None, "reported once");
    assert_eq!(tables.verdict(&position("3k4/8/3K4/3P4/8/8/8/8 w - - 0 1"), true), Some(Verdict::Win));
}

#[test]
fn several_folders_are_one_set() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for entry in folder().read_dir().unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_name().unwrap().to_str().unwrap();
        let to = if name.ends_with("rtbw") { first.path() } else { second.path() };
        std::fs::copy(&file, to.join(name)).unwrap();
    }
    let path = std::env::join_paths([first.path(), second.path()]).unwrap();
    assert_eq!(Tables::open(path.to_str().unwrap()).unwrap().len(), 9);
    let shared = Tables::shared(path.to_str().unwrap()).unwrap();
    assert!(std::sync::Arc::ptr_eq(&shared, &Tables::shared(path.to_str().unwrap()).unwrap()));
}
