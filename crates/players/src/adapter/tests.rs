use shakmaty::{Chess, Position as _};
use tabia_encoding::parse_uci;
use tabia_game::position_from_fen;

use super::*;

const GOLDEN: &[u8] = include_bytes!("../../../../fixtures/adapters/ann.card");

fn golden() -> Adapter {
    Adapter::from_json(GOLDEN).unwrap()
}

/// All legal moves, as likely as each other.
fn even(position: &Chess) -> Vec<Candidate> {
    let legal = position.legal_moves();
    let probability = 1.0 / legal.len() as f32;
    legal.iter().map(|&mv| Candidate { mv, probability }).collect()
}

fn probability(position: &Chess, candidates: &[Candidate], uci: &str) -> f32 {
    let wanted = parse_uci(position, uci).unwrap();
    candidates.iter().find(|candidate| candidate.mv == wanted).unwrap().probability
}

#[test]
fn the_golden_file_is_read_and_written() {
    let ann = golden();
    assert_eq!((ann.name.as_str(), ann.rating, ann.shift), ("Ann", Some(Elo(1540)), 200));
    assert_eq!(ann.pool, RatingPool::Lichess);
    assert_eq!(ann.weights.len(), 3);
    assert_eq!(ann.to_json().as_bytes(), GOLDEN);
    assert_eq!(Adapter::from_json(ann.to_json().as_bytes()).unwrap(), ann);
}

#[test]
fn the_rating_of_the_game_is_told_with_the_shift() {
    let ann = golden();
    assert_eq!(ann.told(None), Some(Elo(1740)));
    assert_eq!(ann.told(Some(Elo(1000))), Some(Elo(1200)));
    let unrated = Adapter { rating: None, shift: -2000, ..ann };
    assert_eq!(unrated.told(None), None);
    assert_eq!(unrated.told(Some(Elo(500))), Some(Elo(1)));
}

#[test]
fn memory_mixes_counts_with_the_policy() {
    let start = Chess::default();
    let mut candidates = even(&start);
    let ann = Adapter { weights: Vec::new(), ..golden() };
    ann.adapt(&Situation::of(&start), &mut candidates);
    // (n_m + α p) / (n + α), with 18 and 2 of 20 games and α of 4.
    assert!((probability(&start, &candidates, "b2b3") - (18.0 + 0.2) / 24.0).abs() < 1e-6);
    assert!((probability(&start, &candidates, "e2e4") - (2.0 + 0.2) / 24.0).abs() < 1e-6);
    assert!((probability(&start, &candidates, "d2d4") - 0.2 / 24.0).abs() < 1e-6);
    assert_eq!(candidates[0].mv, parse_uci(&start, "b2b3").unwrap(), "likeliest first");
    let total: f32 = candidates.iter().map(|candidate| candidate.probability).sum();
    assert!((total - 1.0).abs() < 1e-5);
    assert!(ann.knows(&start));
}

#[test]
fn weights_multiply_the_odds() {
    let fen = "r3k2r/pppqppbp/2np1np1/8/8/2NPBN2/PPPQPPPP/R3K2R w KQkq - 0 1";
    let position = position_from_fen(fen).unwrap();
    let (before, mut after) = (even(&position), even(&position));
    let ann = Adapter { memory: None, ..golden() };
    ann.adapt(&Situation::of(&position), &mut after);
    let odds = |uci: &str, other: &str| {
        let of = |candidates: &[Candidate]| {
            probability(&position, candidates, uci) / probability(&position, candidates, other)
        };
        of(&after) / of(&before)
    };
    assert!((odds("e1c1", "a2a3") - 1.5_f32.exp()).abs() < 1e-3);
    assert!((odds("g2g4", "a2a3") - 0.75_f32.exp()).abs() < 1e-3);
    assert!((odds("e1g1", "a2a3") - 1.0).abs() < 1e-3);
    assert!(after.is_sorted_by(|a, b| a.probability >= b.probability));
}

#[test]
fn unlikely_moves_keep_their_probability() {
    let fen = "r3k2r/pppqppbp/2np1np1/8/8/2NPBN2/PPPQPPPP/R3K2R w KQkq - 0 1";
    let position = position_from_fen(fen).unwrap();
    let castles = parse_uci(&position, "e1c1").unwrap();
    let mut candidates = even(&position);
    for candidate in &mut candidates {
        candidate.probability = if candidate.mv == castles { 5e-4 } else { candidate.probability };
    }
    candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    golden().adapt(&Situation::of(&position), &mut candidates);
    assert_eq!(probability(&position, &candidates, "e1c1"), 5e-4);
}

#[test]
fn pace_shortens_think_times() {
    let mut chances = [1.0 / TIME_BINS as f32; TIME_BINS];
    golden().pace_think_time(&mut chances);
    assert!(chances.is_sorted_by(|a, b| a > b), "{chances:?}");
    assert!((chances.iter().sum::<f32>() - 1.0).abs() < 1e-5);
}

#[test]
fn adapters_are_told_from_other_files() {
    assert!(Adapter::is_adapter(GOLDEN));
    assert!(Adapter::is_adapter(b"\n {\"format\": \"tabia-adapter\", \"version\": 9"));
    let network = include_bytes!("../../../../fixtures/models/human.safetensors");
    for other in [
        &network[..],
        b"",
        b"{}",
        br#"{"format":"tabia-deck","version":1,"cards":[]}"#,
        b"[\"tabia-adapter\"]",
    ] {
        assert!(!Adapter::is_adapter(other));
        assert!(Adapter::from_json(other).is_err());
    }
}

#[test]
fn invalid_files_are_refused_by_what_is_wrong() {
    let text = std::str::from_utf8(GOLDEN).unwrap();
    let broken = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        Adapter::from_json(text.replacen(from, to, 1).as_bytes()).unwrap_err().to_string()
    };
    let expected = [
        ("tabia-adapter", "tabia-deck", "format \"tabia-deck\" (expected \"tabia-adapter\")"),
        ("\"version\":1", "\"version\":2", "version 2 of the adapter format (this program reads up to 1)"),
        ("\"Ann\"", "\" \"", "invalid name \" \" (expected 1 to 200 bytes)"),
        ("1540", "0", "invalid rating 0 (expected 1 to 4000)"),
        ("\"shift\":200", "\"shift\":2001", "invalid shift 2001 (expected -2000 to 2000)"),
        ("-0.25", "6", "invalid pace 6 (expected -5 to 5)"),
        (
            "castling long",
            "castling",
            "invalid feature \"castling\" (expected one that docs/formats/adapter.md lists)",
        ),
        ("0.75", "21", "invalid weight 21 of \"white Pg4\" (expected -20 to 20)"),
        ("4.0", "0.0", "invalid alpha 0 (expected 0.001 to 1000000)"),
        ("463b96181691fc9c", "463b", "invalid position \"463b\" (expected 16 hexadecimal digits)"),
        ("b2b3", "b2", "invalid move \"b2\" (expected one in UCI notation)"),
        (":18", ":0", "invalid count 0 of b2b3 (expected 1 to 1000000)"),
    ];
    for (from, to, error) in expected {
        assert_eq!(broken(from, to), error);
    }
    assert!(broken("\"games\":40,", "").contains("missing field `games`"));
    assert!(broken("\"pool\"", "\"pond\"").contains("unknown field `pond`"));
    let cut = &GOLDEN[..GOLDEN.len() / 2];
    assert!(Adapter::from_json(cut).unwrap_err().to_string().starts_with("invalid adapter: EOF"));
}

#[test]
fn fuzz_seeds_are_read() {
    assert!(Adapter::from_json(include_bytes!("../../../../fuzz/seeds/adapter/ann")).is_ok());
    assert!(Adapter::from_json(include_bytes!("../../../../fuzz/seeds/adapter/cut")).is_err());
}
