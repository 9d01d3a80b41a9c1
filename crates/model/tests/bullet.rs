//! bullet's `quantised.bin` agrees with the integers of its own inference (tools/bullet_fixtures.py); other files without a header
//! are refused with what they are.

mod played;

use played::{draws, rows};
use tabia_model::{Format, LoadError, LoadErrorKind, Model, Runtime, Source};

const HIDDEN: usize = 16;
const CARD: &str = r#"{"state_dict": {"raw": "bullet-768:hidden=16"}}"#;

/// The script's network as bullet saves it.
fn quantised() -> Vec<u8> {
    let mut states = draws();
    let mut number =
        |shift: u32, middle: i16| (states.next().expect("as the fixtures have it") >> shift) as i16 - middle;
    let mut numbers: Vec<i16> = (0..768 * HIDDEN).map(|_| number(26, 32)).collect();
    numbers.extend((0..HIDDEN).map(|_| number(24, 0)));
    numbers.extend((0..2 * HIDDEN).map(|_| number(24, 128)));
    numbers.push(1234);
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let padding = bytes.len().next_multiple_of(64) - bytes.len();
    bytes.extend(b"bullet".iter().cycle().take(padding));
    bytes
}

fn open(bytes: &[u8], card: &str) -> Result<Model, LoadError> {
    Model::new(Source::read_with(bytes, Some(card))?, Some(card))
}

fn assert_agrees(model: &Model) {
    let expected: Vec<(i32, i32)> =
        serde_json::from_str(include_str!("../../../fixtures/models/bullet.json"))
            .expect("as the fixtures have it");
    let rows = rows();
    assert_eq!(rows.len(), expected.len());
    let situations: Vec<_> = rows.iter().map(played::Row::situation).collect();
    for (evaluation, (sum, centipawns)) in
        model.evaluate(&situations).expect("as the fixtures have it").into_iter().zip(expected)
    {
        let score = evaluation.score.expect("as the fixtures have it").0;
        // The original divides integers.
        assert!((score / 400.0 - sum as f32 / (255.0 * 64.0)).abs() <= 1e-4, "{score}, {sum}");
        assert!((score - centipawns as f32).abs() <= 1.05, "{score}, {centipawns}");
    }
}

#[test]
fn quantised_network_agrees_with_the_original() {
    let model = open(&quantised(), CARD).unwrap();
    assert_eq!((model.format(), model.runtime()), (Format::Bullet, Runtime::Nnue));
    assert!(model.nnue().is_some(), "the engine updates its accumulators by moves");
    assert_agrees(&model);
}

#[test]
fn quantised_network_converts_to_safetensors_and_onnx() {
    let bytes = quantised();
    let card = open(&bytes, CARD).unwrap().card().clone();
    let (safetensors, described) = Source::raw_to_safetensors(&bytes, &card).unwrap();
    let model = Model::from_bytes(&safetensors).unwrap();
    assert_eq!(model.card(), &described);
    assert_agrees(&model);
    let onnx = Source::read_with(&bytes, Some(CARD)).unwrap().to_onnx(&card).unwrap();
    assert_agrees(&Model::from_bytes(&onnx).unwrap());
}

#[test]
fn error_suggests_the_layout_by_the_length() {
    let error = Model::from_bytes(&quantised()).unwrap_err();
    assert_eq!(error.kind(), LoadErrorKind::UnknownFormat);
    assert!(error.to_string().contains("--as bullet-768:hidden=16"), "{error}");
    // Whatever the first bytes are.
    for start in [[0x08, 0x07], [0x1f, 0x8b]] {
        let mut bytes = quantised();
        bytes[..2].copy_from_slice(&start);
        let error = Model::from_bytes(&bytes).unwrap_err();
        assert!(error.to_string().contains("hidden=16"), "{error}");
    }
}

#[test]
fn padded_file_is_assumed_to_be_the_example_network() {
    assert_eq!(Source::assumed_card(&quantised()).as_deref(), Some(CARD));
    let mut unpadded = quantised();
    unpadded.pop();
    unpadded.push(0);
    assert_eq!(Source::assumed_card(&unpadded), None);
}

#[test]
fn file_of_another_length_is_refused() {
    for kept in [0, 1, 64, quantised().len() - 64, quantised().len() - 1] {
        let error = open(&quantised()[..kept], CARD).unwrap_err();
        assert_eq!(error.kind(), LoadErrorKind::Shape, "{error}");
    }
    let wider = r#"{"state_dict": {"raw": "bullet-768:hidden=32"}}"#;
    let error = open(&quantised(), wider).unwrap_err();
    assert!(error.to_string().contains("its length is that of bullet-768:hidden=16"), "{error}");
}

#[test]
fn unknown_layouts_are_refused() {
    for layout in [
        "",
        "bullet",
        "bullet-768",
        "bullet-768:hidden=0",
        "bullet-768:hidden=x",
        "bullet-768:hidden=99999",
        "bullet-768:hidden=16,buckets=8",
        "bullet-768:hidden=16,activation=relu",
        "simple",
    ] {
        let card = format!(r#"{{"state_dict": {{"raw": {layout:?}}}}}"#);
        let error = open(&quantised(), &card).unwrap_err();
        assert_eq!(error.kind(), LoadErrorKind::UnknownNetwork, "{layout}: {error}");
    }
}

#[test]
fn stockfish_network_is_refused_by_name() {
    let described = b"Network trained with the nnue-pytorch trainer.";
    let file = |version: u32| {
        let header = [version, 0x1c10_3c92, described.len() as u32].map(u32::to_le_bytes).concat();
        [&header[..], described, &[1; 500]].concat()
    };
    for version in [0x7af3_2f16, 0x7af3_2f20] {
        let error = Model::from_bytes(&file(version)).unwrap_err();
        assert_eq!(error.kind(), LoadErrorKind::Unsupported);
        let text = error.to_string();
        assert!(text.contains("Stockfish") && text.contains("nnue-pytorch"), "{text}");
        for kept in 4..20 {
            assert_eq!(
                Model::from_bytes(&file(version)[..kept]).unwrap_err().kind(),
                LoadErrorKind::Unsupported
            );
        }
    }
}
