//! What must hold for every encoding and vocabulary, on thousands of random legal positions.

use std::collections::HashSet;

use shakmaty::{CastlingMode, Chess, Color, EnPassantMode, Move, Position, Setup, Square, fen::Fen};
use tabia_encoding::{
    Batch, Column, Encoding, FeatureList, Orientation, Perspectives, Situation, SparseEncoding, encoding,
    encodings, parse_uci, vocabularies,
};

/// Set-ups rich in castling, en passant and promotions.
const SETUPS: [&str; 11] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1",
    "4k3/p1p1p1p1/8/1P1P1P1P/p1p1p1p1/8/1P1P1P1P/4K3 w - - 0 1",
    // Chess960: a king beside its destination, on it, next to its rook, and with a rook outside the one that may castle.
    "1r3k1r/pppppppp/8/8/8/8/PPPPPPPP/1R3K1R w HBhb - 0 1",
    "r5kr/8/8/8/8/8/8/R5KR w HAha - 0 1",
    "bnrkrnqb/8/8/8/8/8/8/BNRKRNQB w ECec - 0 1",
    "1rk1r2r/4p3/8/8/8/8/4P3/RR2K1RR b GBeb - 0 1",
];

fn position(fen: &str) -> Chess {
    legal(fen.parse::<Fen>().expect("a FEN").into_setup())
}

fn legal(setup: Setup) -> Chess {
    let mode = CastlingMode::detect(&setup);
    setup.position(mode).expect("a legal position")
}

/// Plays random games, always the same ones, and shows each move with the positions before and after it.
fn random_moves(mut see: impl FnMut(&Chess, Move, &Chess)) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move |below: usize| {
        // Marsaglia's xorshift: enough to wander about, and the same on every target.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % below
    };
    for game in 0..280 {
        let mut before = position(SETUPS[game % SETUPS.len()]);
        for _ in 0..60 {
            let moves = before.legal_moves();
            if moves.is_empty() {
                break;
            }
            let special = |m: &&Move| m.is_castle() || m.is_en_passant() || m.is_promotion();
            let specials: Vec<_> = moves.iter().filter(special).collect();
            let m = if !specials.is_empty() && random(2) == 0 {
                *specials[random(specials.len())]
            } else {
                moves[random(moves.len())]
            };
            let mut after = before.clone();
            after.play_unchecked(m);
            see(&before, m, &after);
            before = after;
        }
    }
}

/// The properties below are not vacuous.
#[test]
fn random_games_cover_special_moves() {
    let (mut seen, mut castles, mut en_passants, mut promotions, mut checks) = (0, 0, 0, 0, 0);
    let mut other_castles = 0;
    random_moves(|before, m, _| {
        seen += 1;
        castles += usize::from(m.is_castle());
        other_castles += usize::from(m.is_castle() && before.castles().mode().is_chess960());
        en_passants += usize::from(m.is_en_passant());
        promotions += usize::from(m.is_promotion());
        checks += usize::from(before.is_check());
    });
    assert!(seen > 10_000, "{seen} moves");
    for (name, count) in [
        ("castling", castles),
        ("Chess960 castling", other_castles),
        ("en passant", en_passants),
        ("promotion", promotions),
        ("check", checks),
    ] {
        assert!(count > 40, "{count} of {name}");
    }
}

#[test]
fn legal_moves_have_distinct_slots() {
    random_moves(|position, _, _| {
        let moves = position.legal_moves();
        for vocabulary in vocabularies() {
            let mut slots = HashSet::new();
            for &m in &moves {
                let slot = vocabulary.slot(position.turn(), m);
                assert!(usize::from(slot.index.0) < vocabulary.width(), "{m:?} in {}", vocabulary.id());
                assert_eq!(
                    slot.promotion.is_some(),
                    vocabulary.promotion_width() > 0 && m.is_promotion(),
                    "{m:?} in {}",
                    vocabulary.id()
                );
                assert!(slots.insert(slot), "{m:?} shares its slot in {}", vocabulary.id());
            }
        }
    });
}

#[test]
fn the_move_played_is_found_by_its_slot() {
    random_moves(|position, m, _| {
        for vocabulary in vocabularies() {
            let slot = vocabulary.slot(position.turn(), m);
            assert_eq!(vocabulary.find(position, slot), Some(m), "{}", vocabulary.id());
        }
    });
}

#[test]
fn both_uci_notations_are_parsed() {
    random_moves(|position, m, _| {
        let modes = [position.castles().mode(), CastlingMode::Chess960];
        for mode in modes {
            assert_eq!(parse_uci(position, &m.to_uci(mode).to_string()), Ok(m));
        }
    });
}

/// The same game with colours exchanged and ranks flipped.
fn mirrored(position: &Chess) -> Chess {
    let setup = position.to_setup(EnPassantMode::Always).into_mirrored();
    legal(setup)
}

fn columns(encoding: &'static dyn Encoding, situation: &Situation<'_>) -> Vec<Column> {
    let mut batch = Batch::new(encoding);
    batch.push(situation);
    batch.columns().to_vec()
}

#[test]
fn mover_relative_encodings_are_colour_blind() {
    let blind = ["challenge-768", "challenge-1540", "policy-planes-17", "tabia-human-1"]
        .map(|id| encoding(id).unwrap());
    let lc0 = encoding("lc0-112").unwrap();
    random_moves(|before, _, after| {
        let (flipped_before, flipped_after) = (mirrored(before), mirrored(after));
        for encoding in blind {
            let (plain, flipped) = (Situation::of(after), Situation::of(&flipped_after));
            assert_eq!(columns(encoding, &plain), columns(encoding, &flipped), "{}", encoding.id());
        }
        // lc0 sees the colour in one plane, and knows that nothing came before the start position.
        if *before == Chess::default() || *after == Chess::default() {
            return;
        }
        let view = |position, earlier| {
            let situation = Situation { earlier, ..Situation::of(position) };
            let Column::Values(mut values) = columns(lc0, &situation).swap_remove(0) else { unreachable!() };
            let black_to_move = values[108 * 64];
            values[108 * 64..109 * 64].fill(0.0);
            (values, black_to_move)
        };
        let (plain, black) = view(after, std::slice::from_ref(before));
        let (flipped, flipped_black) = view(&flipped_after, std::slice::from_ref(&flipped_before));
        assert!(plain == flipped && black + flipped_black == 1.0);
    });
}

#[test]
fn mover_relative_vocabularies_are_colour_blind() {
    random_moves(|position, m, _| {
        for vocabulary in vocabularies().filter(|v| v.orientation() == Orientation::Mirrored) {
            let flipped = vocabulary.slot(!position.turn(), m.to_mirrored());
            assert_eq!(vocabulary.slot(position.turn(), m), flipped, "{}", vocabulary.id());
        }
    });
}

/// HumChess turns the board by 180 degrees, which keeps the rules only without castling.
#[test]
fn humchess_is_invariant_under_rotation() {
    let rotated = |position: &Chess| {
        let mut setup: Setup = position.to_setup(EnPassantMode::Always);
        setup.mirror();
        setup.board.flip_horizontal();
        setup.ep_square = setup.ep_square.map(Square::flip_horizontal);
        legal(setup)
    };
    let tokens = encoding("humchess-68").unwrap();
    let vocabulary = tabia_encoding::vocabulary("from-to-4096").unwrap();
    let mut compared = 0;
    random_moves(|position, m, _| {
        if position.castles().any() {
            return;
        }
        compared += 1;
        let turned = rotated(position);
        assert_eq!(columns(tokens, &Situation::of(position)), columns(tokens, &Situation::of(&turned)));
        let slot = vocabulary.slot(position.turn(), m);
        assert!(vocabulary.find(&turned, slot).is_some());
    });
    assert!(compared > 1000, "{compared} positions");
}

/// Adds features to a dense vector.
fn add(features: &FeatureList, dense: &mut [i32]) {
    for feature in features {
        dense[usize::from(feature.index)] += i32::from(feature.amount);
    }
}

fn dense(sparse: &dyn SparseEncoding, position: &Chess, perspective: Color) -> Vec<i32> {
    let mut features = FeatureList::new();
    sparse.features(position, perspective, &mut features);
    let distinct: HashSet<_> = features.iter().map(|feature| feature.index).collect();
    assert_eq!(distinct.len(), features.len(), "an index occurs twice");
    let mut vector = vec![0; sparse.width()];
    add(&features, &mut vector);
    vector
}

fn sparse_encodings() -> impl Iterator<Item = (&'static dyn Encoding, &'static dyn SparseEncoding)> {
    encodings().filter_map(|encoding| Some((encoding, encoding.sparse()?)))
}

#[test]
fn features_match_the_dense_row() {
    assert_eq!(sparse_encodings().count(), 6);
    random_moves(|_, _, position| {
        for (encoding, sparse) in sparse_encodings() {
            let columns = columns(encoding, &Situation::of(position));
            let Column::Values(row) = &columns[sparse.input()] else { panic!("sparse inputs are values") };
            let vector = dense(sparse, position, position.turn());
            assert!(row.iter().copied().eq(vector.iter().map(|&x| x as f32)), "{}", encoding.id());
            if sparse.perspectives() == Perspectives::Shared {
                assert_eq!(vector, dense(sparse, position, !position.turn()), "{}", encoding.id());
            }
        }
    });
}

#[test]
fn updates_match_a_refresh() {
    random_moves(|before, m, after| {
        for (encoding, sparse) in sparse_encodings() {
            for perspective in Color::ALL {
                let mut vector = dense(sparse, before, perspective);
                let mut changes = FeatureList::new();
                sparse.changes(before, m, after, perspective, &mut changes);
                add(&changes, &mut vector);
                assert_eq!(vector, dense(sparse, after, perspective), "{} {m:?}", encoding.id());
            }
        }
    });
}

#[test]
fn moves_change_few_features() {
    random_moves(|before, m, after| {
        for (encoding, sparse) in sparse_encodings().filter(|(e, _)| e.id().0 != "rusty-902") {
            let mut changes = FeatureList::new();
            sparse.changes(before, m, after, before.turn(), &mut changes);
            let halves = if encoding.id().0 == "challenge-1540" { 2 } else { 1 };
            assert!(changes.len() <= 10 * halves, "{} {m:?}: {}", encoding.id(), changes.len());
        }
    });
}

/// Where the side not to move is not giving check, swapping the turn is legal and shakmaty knows its moves.
#[test]
fn destinations_of_the_side_not_to_move_match_the_swapped_turn() {
    let planes = encoding("rusty-planes-15").unwrap();
    random_moves(|_, _, position| {
        let Ok(swapped) = position.clone().swap_turn() else { return };
        let view = |position: &Chess| {
            let Column::Values(values) = columns(planes, &Situation::of(position)).swap_remove(0) else {
                unreachable!()
            };
            let plane = position.turn().fold_wb(13, 12);
            let other = position.turn().fold_wb(12, 13);
            (values[plane * 64..][..64].to_vec(), values[other * 64..][..64].to_vec())
        };
        let (waiting, _) = view(position);
        let (_, moving) = view(&swapped);
        assert_eq!(waiting, moving, "{:?}", Fen::from_position(position, EnPassantMode::Legal));
    });
}
