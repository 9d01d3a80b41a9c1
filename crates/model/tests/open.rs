//! Opening files: errors that list the alternatives, and cards.

use prost::Message;
use safetensors::{Dtype, tensor::TensorView};
use shakmaty::{CastlingMode, Chess, fen::Fen};
use tabia_encoding::{Elo, ForMover, PlayerInfo, Situation, encodings, vocabularies};
use tabia_model::{
    CARD_KEY, Evaluation, Format, LoadError, LoadErrorKind, Model, Perspective, Place, Source, Unit,
    WdlScale, WeightPrecision,
};
use tabia_onnx::build::GraphBuilder;
use tabia_onnx::proto::StringStringEntryProto;

const POSITIONS: &str = include_str!("../../../fixtures/positions.fen");

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../../../fixtures/models/", $name)).as_slice()
    };
}

const CHALLENGE: &[u8] = file!("challenge-mlp.onnx");

fn positions() -> Vec<Chess> {
    let parse = |line: &str| -> Chess {
        let fen: Fen = line.parse().expect("a FEN");
        fen.into_position(CastlingMode::Standard).expect("a legal position")
    };
    POSITIONS.lines().step_by(9).map(parse).collect()
}

fn evaluate(model: &Model) -> Vec<Evaluation> {
    let positions = positions();
    let mover = PlayerInfo { rating: Some(Elo(1800)), time_left: None };
    let situation = |position| Situation { mover, ..Situation::of(position) };
    model.evaluate(&positions.iter().map(situation).collect::<Vec<_>>()).expect("the network runs")
}

fn scores(model: &Model) -> Vec<f32> {
    evaluate(model).iter().map(|e| e.score.map(|ForMover(score)| score).expect("a score")).collect()
}

fn overlaid(bytes: &[u8], card: &str) -> Result<Model, LoadError> {
    Model::new(Source::read_with(bytes, Some(card))?, Some(card))
}

/// The Chess Challenge fixture with a card in its metadata.
fn with_card_inside(card: &str) -> Vec<u8> {
    let mut graph =
        Source::read(CHALLENGE).expect("the fixture reads").into_graph().expect("its weights are finite");
    graph.metadata_props.push(StringStringEntryProto { key: CARD_KEY.to_owned(), value: card.to_owned() });
    graph.encode_to_vec()
}

/// A network of one linear layer.
fn layer(inputs: usize, outputs: usize) -> Vec<u8> {
    let mut builder = GraphBuilder::new("layer");
    let x = builder.input("features", &[inputs]);
    let w = builder.weight("w", &[inputs, outputs], &vec![0.5; inputs * outputs]);
    let y = builder.op("MatMul", &[&x, &w], &[]);
    builder.output(&y, "answer", &[outputs]);
    builder.finish().encode_to_vec()
}

#[track_caller]
fn assert_says(error: &LoadError, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in: {text}");
    }
}

#[test]
fn unknown_format_lists_the_known_ones() {
    let files: [&[u8]; 9] = [
        b"",
        b"\0",
        b"\x01\x02\x03\x04",
        b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01",
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        b"What a lovely network this would have been.\n",
        b"[Event \"A game, not a network\"]\n\n1. e4 *\n",
        // These begin with bytes that an ONNX file could begin with, too.
        b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n",
        b"Black to move and win.\n",
    ];
    for file in files {
        let error = Model::from_bytes(file).unwrap_err();
        assert_eq!(error.kind(), LoadErrorKind::UnknownFormat, "{error}");
        assert_says(&error, &["ONNX", "safetensors", "TFLite", "lc0", "PyTorch"]);
        assert!(error.to_string().starts_with(char::is_alphabetic), "{error}");
    }
    assert_says(&Model::from_bytes(b"\xff\xd8\xff\xe0").unwrap_err(), &["ff d8 ff e0"]);
}

#[test]
fn malformed_file_names_its_format() {
    let files = [
        (Format::Onnx, CHALLENGE),
        (Format::Safetensors, file!("statedict/rusty-774.safetensors")),
        (Format::Torch, file!("statedict/policy-mlp.pt")),
        (Format::Tflite, file!("tflite_pair.tflite")),
        (Format::Lc0, file!("lc0-plain-conv.pb.gz")),
    ];
    for (format, bytes) in files {
        assert_eq!(Source::read(bytes).unwrap().format, format);
        for cut in [bytes.len() / 2, 12] {
            let error = Model::from_bytes(&bytes[..cut]).unwrap_err();
            assert_eq!(error.kind(), LoadErrorKind::Malformed, "{error}");
            assert_says(&error, &[&format!("{format} file")]);
        }
    }
}

#[test]
fn embedded_card_overrides_detection() {
    let plain = Model::from_bytes(CHALLENGE).unwrap();
    let card = r#"{"name": "Ada", "value": {"unit": {"centipawns": 250}, "perspective": "white"}}"#;
    let carded = Model::from_bytes(&with_card_inside(card)).unwrap();
    assert_eq!(carded.card().name.as_deref(), Some("Ada"));
    assert_eq!(carded.card().encoding, "challenge-768");
    let value = carded.card().value.clone().unwrap();
    assert_eq!((value.unit, value.perspective), (Unit::Centipawns(250.0), Perspective::White));

    let positions = positions();
    assert!(positions.iter().any(|p| shakmaty::Position::turn(p).is_black()));
    for ((position, plain), carded) in positions.iter().zip(scores(&plain)).zip(scores(&carded)) {
        let sign = shakmaty::Position::turn(position).fold_wb(1.0, -1.0);
        assert!((carded - 2.5 * sign * plain).abs() <= 1e-3, "{carded} {plain}");
    }
}

#[test]
fn overlay_overrides_the_embedded_card() {
    let inside = with_card_inside(
        r#"{"name": "Ada", "licence": "MIT", "value": {"unit": {"centipawns": 250}, "perspective": "white"}}"#,
    );
    let model = overlaid(&inside, r#"{"name": "Eve", "value": {"perspective": "mover"}}"#).unwrap();
    let card = model.card();
    assert_eq!((card.name.as_deref(), card.licence.as_deref()), (Some("Eve"), Some("MIT")));
    let value = card.value.clone().unwrap();
    assert_eq!((value.unit, value.perspective), (Unit::Centipawns(250.0), Perspective::Mover));
    // The sum is of the file as it lies there, with its card.
    assert_ne!(model.sha256(), Model::from_bytes(CHALLENGE).unwrap().sha256());
}

#[cfg(not(target_family = "wasm"))]
mod on_disk {
    use std::path::PathBuf;

    use super::*;

    /// A temporary folder.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("tabia-open-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&path).expect("a folder for the test");
            Folder(path)
        }

        fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
            let path = self.0.join(name);
            std::fs::write(&path, bytes).expect("a file for the test");
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn sidecar_overrides_the_embedded_card() {
        let folder = Folder::new("sidecar");
        let inside = r#"{"name": "Ada", "licence": "MIT"}"#;
        let path = folder.write("net.onnx", with_card_inside(inside));
        let name = |model: &Model| model.card().name.clone().unwrap();
        assert_eq!(name(&Model::open(&path).unwrap()), "Ada");

        folder.write("net.onnx.card.json", r#"{"name": "Eve", "value": {"perspective": "white"}}"#);
        let model = Model::open(&path).unwrap();
        assert_eq!(name(&model), "Eve");
        assert_eq!(model.card().licence.as_deref(), Some("MIT"));
        assert_eq!(model.card().value.as_ref().unwrap().perspective, Perspective::White);
    }

    #[test]
    fn invalid_sidecar_is_rejected() {
        let folder = Folder::new("broken");
        let path = folder.write("net.onnx", CHALLENGE);
        folder.write("net.onnx.card.json", "{name: Eve}");
        assert_eq!(Model::open(&path).unwrap_err().kind(), LoadErrorKind::UnknownNetwork);
    }

    #[test]
    fn missing_file_is_named() {
        let error = Model::open("no/such/file.onnx").unwrap_err();
        assert_eq!(error.kind(), LoadErrorKind::Io);
        assert_says(&error, &["no/such/file.onnx"]);
    }
}

#[test]
fn unknown_encoding_lists_the_known_ones() {
    let ids: Vec<_> = encodings().map(|e| e.id().0).collect();
    // Also where the card goes on to refer to heads that only a known encoding would have revealed.
    for card in
        [r#"{"encoding": "rusty-775"}"#, r#"{"encoding": "rusty-775", "value": {"perspective": "white"}}"#]
    {
        let error = overlaid(CHALLENGE, card).unwrap_err();
        assert_eq!(error.kind(), LoadErrorKind::UnknownNetwork);
        assert_says(&error, &["rusty-775"]);
        assert_says(&error, &ids);
    }
}

#[test]
fn unknown_vocabulary_lists_the_known_ones() {
    let card = r#"{"policy": {"vocabulary": "canonical-1969"}}"#;
    let error = overlaid(file!("statedict/policy-mlp.pt"), card).unwrap_err();
    assert_eq!(error.kind(), LoadErrorKind::UnknownNetwork);
    assert_says(&error, &["canonical-1969"]);
    assert_says(&error, &vocabularies().map(|v| v.id().0).collect::<Vec<_>>());
}

#[test]
fn card_must_fit_the_network() {
    let error = overlaid(CHALLENGE, r#"{"value": {"output": "evaluation"}}"#).unwrap_err();
    assert_says(&error, &["\"evaluation\"", "\"board\" [1,768]", "\"score\" [1,1]"]);

    let error = overlaid(CHALLENGE, r#"{"encoding": "rusty-774"}"#).unwrap_err();
    assert_eq!(error.kind(), LoadErrorKind::Shape);
    assert_says(&error, &["rusty-774", "\"board\" [1,768]"]);

    let card = r#"{"policy": {"output": "promo_logits"}}"#;
    let error = overlaid(file!("humchess-transformer.onnx"), card).unwrap_err();
    assert_says(&error, &["\"promo_logits\"", "4096"]);

    let card = r#"{"policy": {"output": "policy", "vocabulary": "from-to-4096"}}"#;
    let error = overlaid(file!("statedict/cnn-reduce.pt"), card).unwrap_err();
    assert_says(&error, &["promotion_output"]);

    let error = overlaid(CHALLENGE, r#"{"encodng": "challenge-768"}"#).unwrap_err();
    assert_says(&error, &["encodng"]);
}

#[test]
fn unknown_network_error_lists_inputs_and_outputs() {
    let strange = layer(100, 7);
    for error in [
        Model::from_bytes(&strange).unwrap_err(),
        overlaid(&strange, r#"{"name": "a card that does not help"}"#).unwrap_err(),
    ] {
        assert_eq!(error.kind(), LoadErrorKind::UnknownNetwork);
        assert_says(&error, &["\"features\" [?,100]", "\"answer\" [?,7]", "card.json"]);
    }
    assert_eq!(overlaid(&strange, "{").unwrap_err().kind(), LoadErrorKind::UnknownNetwork);

    let error = Model::from_bytes(&layer(768, 7)).unwrap_err();
    assert_says(&error, &["\"features\" [?,768]", "\"answer\" [?,7]"]);
}

#[test]
fn value_index_selects_a_number_of_an_output() {
    let card = |index: usize| {
        let value = format!(
            r#"{{"output": "answer", "index": {index}, "unit": {{"centipawns": 1}}, "perspective": "mover"}}"#
        );
        format!(r#"{{"value": {value}}}"#)
    };
    let model = overlaid(&layer(768, 7), &card(6)).unwrap();
    assert_eq!(model.card().value.as_ref().unwrap().index, Some(6));
    assert!(evaluate(&model).iter().all(|evaluation| evaluation.score.is_some()));
    let error = overlaid(&layer(768, 7), &card(7)).unwrap_err();
    assert_eq!(error.kind(), LoadErrorKind::UnknownNetwork);
    assert_says(&error, &["\"answer\"", "7"]);
}

#[test]
fn three_outputs_are_wdl_logits_without_a_softmax() {
    let scale = |bytes: &[u8]| Model::from_bytes(bytes).unwrap().card().wdl.clone().unwrap().scale;
    assert_eq!(scale(&layer(768, 3)), WdlScale::Logits);
    assert_eq!(scale(file!("conv-net.onnx")), WdlScale::Probabilities);
    assert_eq!(scale(file!("lc0-se-classical.pb.gz")), WdlScale::Probabilities);
    // All weights are the same, so nobody is better.
    for evaluation in evaluate(&Model::from_bytes(&layer(768, 3)).unwrap()) {
        let wdl = evaluation.wdl.unwrap();
        assert!([wdl.win, wdl.draw, wdl.loss].iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-6), "{wdl:?}");
    }
}

#[test]
fn every_format_converts_to_onnx() {
    let files = [
        CHALLENGE,
        file!("quantised-transformer.onnx"),
        file!("statedict/humchess-68.safetensors"),
        file!("statedict/cnn-reduce.pt"),
        file!("tflite_pair_f16.tflite"),
        file!("lc0-se-classical.pb.gz"),
        file!("lc0-plain-conv.pb.gz"),
    ];
    let named = r#"{"name": "Ada", "licence": "CC0-1.0"}"#;
    for bytes in files {
        let source = Source::read(bytes).unwrap();
        let model = overlaid(bytes, named).unwrap();
        let onnx = source.to_onnx(model.card()).unwrap();
        let converted = Model::from_bytes(&onnx).unwrap();
        assert_eq!(converted.format(), Format::Onnx);
        assert_eq!(converted.card(), model.card());
        assert_eq!(converted.runtime(), model.runtime());
        assert_eq!(evaluate(&converted), evaluate(&model), "{:?}", model.card().architecture);

        // A second conversion replaces the card instead of adding one.
        assert_eq!(Source::read(&onnx).unwrap().to_onnx(model.card()).unwrap(), onnx);
    }
}

#[test]
fn comparing_network_converts_to_onnx() {
    let bytes = file!("tflite_pair.tflite");
    let model = overlaid(bytes, r#"{"value": {"perspective": "comparison"}}"#).unwrap();
    let converted = Model::from_bytes(&Source::read(bytes).unwrap().to_onnx(model.card()).unwrap()).unwrap();
    assert_eq!(scores(&converted), scores(&model));
    assert_ne!(scores(&model), scores(&Model::from_bytes(bytes).unwrap()));
}

#[test]
fn state_dicts_convert_to_safetensors() {
    let files = [
        file!("statedict/humchess-74.pt"),
        file!("statedict/policy-mlp.pt"),
        file!("statedict/cnn-reduce.pt"),
        file!("statedict/rusty-774.safetensors"),
    ];
    for bytes in files {
        let model = overlaid(bytes, r#"{"name": "Ada", "notes": "Kept."}"#).unwrap();
        let converted = Source::state_dict_to_safetensors(bytes, model.card()).unwrap();
        let converted = Model::from_bytes(&converted).unwrap();
        assert_eq!(converted.format(), Format::Safetensors);
        assert_eq!(converted.card(), model.card());
        assert_eq!(converted.parameters(), model.parameters());
        assert_eq!(evaluate(&converted), evaluate(&model), "{:?}", model.card().architecture);
    }
    let card = Model::from_bytes(CHALLENGE).unwrap().card().clone();
    let error = Source::state_dict_to_safetensors(CHALLENGE, &card).unwrap_err();
    assert_eq!(error.kind(), LoadErrorKind::Unsupported);
    assert_says(&error, &["ONNX", ".onnx"]);
}

/// A safetensors file of half-precision tensors, norms all ones and the rest zeros.
fn plain_weights(shapes: &[(String, Vec<usize>)]) -> Vec<u8> {
    let filled = |(name, shape): &(String, Vec<usize>)| {
        let number = half::f16::from_f32(if name.contains("norm") { 1.0 } else { 0.0 });
        number.to_le_bytes().repeat(shape.iter().product())
    };
    let data: Vec<_> = shapes.iter().map(filled).collect();
    let views = shapes.iter().zip(&data).map(|((name, shape), data)| {
        (name, TensorView::new(Dtype::F16, shape.clone(), data).expect("the bytes fill the shape"))
    });
    safetensors::serialize(views, None).expect("tensors that can be written")
}

#[test]
fn humchess_parameter_count() {
    let (d, head, hidden) = (256, 32, 1024);
    let mut shapes = vec![
        ("token_emb.weight".to_owned(), vec![66, d]),
        ("pos_emb.weight".to_owned(), vec![64, d]),
        ("rmsnorm_final.weight".to_owned(), vec![d]),
        ("move_head.weight".to_owned(), vec![4096, d]),
        ("move_head.bias".to_owned(), vec![4096]),
        ("promo_head.weight".to_owned(), vec![4, d]),
        ("promo_head.bias".to_owned(), vec![4]),
    ];
    for block in 0..6 {
        let parts = [
            ("rmsnorm1", vec![d]),
            ("rmsnorm2", vec![d]),
            ("attn.qkv", vec![3 * d, d]),
            ("attn.out", vec![d, d]),
            ("attn.q_norm", vec![head]),
            ("attn.k_norm", vec![head]),
            ("ffn.w1", vec![hidden, d]),
            ("ffn.w2", vec![d, hidden]),
        ];
        shapes.extend(parts.map(|(name, shape)| (format!("blocks.{block}.{name}.weight"), shape)));
    }
    let model = Model::from_bytes(&plain_weights(&shapes)).unwrap();
    assert_eq!(model.parameters(), 5_809_284);
    assert_eq!(model.card().encoding, "humchess-68");

    // Without a preference every legal move is as likely as any other.
    let start = Chess::default();
    let evaluation = model.evaluate(&[Situation::of(&start)]).unwrap().remove(0);
    let policy = evaluation.policy.unwrap();
    assert_eq!(policy.candidates().len(), 20);
    assert!(policy.candidates().iter().all(|c| (c.probability - 0.05).abs() < 1e-6), "{policy:?}");
}

/// The Rusty Chess fixture with other names for its tensors.
fn renamed(name: impl Fn(&str) -> String) -> Vec<u8> {
    let bytes = file!("statedict/rusty-774.safetensors");
    let tensors = safetensors::SafeTensors::deserialize(bytes).expect("the fixture reads");
    let views: Vec<_> = tensors.iter().map(|(old, view)| (name(old), view)).collect();
    safetensors::serialize(views, None).expect("tensors that can be written")
}

#[test]
fn card_names_the_layers_of_an_mlp() {
    let expected = scores(&Model::from_bytes(file!("statedict/rusty-774.safetensors")).unwrap());
    let modules = renamed(|name| name.replace("seq.linear-0", "body.in").replace("seq.linear-", "body.fc"));
    let error = Model::from_bytes(&modules).unwrap_err();
    assert_eq!(error.kind(), LoadErrorKind::UnknownNetwork);
    assert_says(&error, &["body.fc1.bias", "card.json", "state_dict"]);

    let tensors =
        renamed(|name| format!("model.{}", name.replace("seq.linear-", "w").replace(".weight", "")));
    let cards = [
        (&modules, r#"{"state_dict": {"layers": ["body.in", "body.fc1", "body.fc2"]}}"#),
        // The prefixes of wrappers may be there or not.
        (
            &tensors,
            r#"{"state_dict": {"layers": [{"weight": "w0", "bias": "w0.bias"}, {"weight": "model.w1", "bias":
                "model.w1.bias"}, {"weight": "w2", "bias": "w2.bias"}]}}"#,
        ),
    ];
    for (bytes, card) in cards {
        let model = overlaid(bytes, card).unwrap();
        assert_eq!(scores(&model), expected);
        assert_eq!(model.card().architecture.as_deref(), Some("MLP 774-16-8-1"));
        assert_eq!(model.card().encoding, "rusty-774");
        // The card goes along into a state dict, and is not needed in a graph.
        let kept = Source::state_dict_to_safetensors(bytes, model.card()).unwrap();
        assert_eq!(scores(&Model::from_bytes(&kept).unwrap()), expected);
        let graph = Source::read_with(bytes, Some(card)).unwrap().to_onnx(model.card()).unwrap();
        let graph = Model::from_bytes(&graph).unwrap();
        assert_eq!((scores(&graph), &graph.card().state_dict), (expected.clone(), &None));
    }
}

#[test]
fn card_must_fit_the_tensors() {
    let modules = renamed(|name| name.replace("seq.linear-", "fc"));
    let layers = |layers: &str| {
        overlaid(&modules, &format!(r#"{{"state_dict": {{"layers": {layers}}}}}"#)).unwrap_err()
    };
    let absent = layers(r#"["fc0", "fc3"]"#);
    assert_eq!((absent.kind(), absent.place()), (LoadErrorKind::Shape, &Place::Tensor("fc3.weight".into())));
    let order = layers(r#"["fc1", "fc0", "fc2"]"#);
    assert_eq!((order.kind(), order.place()), (LoadErrorKind::Shape, &Place::Tensor("fc0.weight".into())));
    let too_few = layers(r#"["fc0", "fc1"]"#);
    assert_eq!(too_few.kind(), LoadErrorKind::UnknownNetwork);
    assert_says(&too_few, &["fc2.bias", "card"]);
    assert_says(&layers(r#"[{"weights": "fc0"}]"#), &["card", "state_dict"]);

    let graph = overlaid(CHALLENGE, r#"{"state_dict": {"layers": ["a"]}}"#).unwrap_err();
    assert_says(&graph, &["state_dict"]);
    let late = Model::new(
        Source::read(file!("statedict/humchess-74.pt")).unwrap(),
        Some(r#"{"state_dict": {"norm_epsilon": 1e-6}}"#),
    );
    assert_says(&late.unwrap_err(), &["state_dict"]);
    for (file, epsilon) in [(file!("statedict/cnn-old.pt"), "1e-6"), (file!("statedict/humchess-74.pt"), "0")]
    {
        let error =
            overlaid(file, &format!(r#"{{"state_dict": {{"norm_epsilon": {epsilon}}}}}"#)).unwrap_err();
        assert_eq!(error.kind(), LoadErrorKind::UnknownNetwork);
        assert_says(&error, &["norm_epsilon"]);
    }
}

#[test]
fn rusty_chess_parameter_count() {
    let sizes = [774, 774, 32, 32, 1];
    let layers = sizes.windows(2).enumerate();
    let shapes: Vec<_> = layers
        .flat_map(|(i, pair)| {
            let name = |part: &str| format!("seq.linear-{i}.{part}");
            [(name("weight"), vec![pair[1], pair[0]]), (name("bias"), vec![pair[1]])]
        })
        .collect();
    let model = Model::from_bytes(&plain_weights(&shapes)).unwrap();
    assert_eq!(model.parameters(), 625_739);
    assert_eq!(model.card().architecture.as_deref(), Some("MLP 774-774-32-32-1"));
    assert!(scores(&model).iter().all(|score| *score == 0.0));
}

#[test]
fn onnx_files_in_half_precision_are_half_as_large_and_close() {
    let source = Source::read(CHALLENGE).unwrap();
    let model = Model::new(source.clone(), None).unwrap();
    let [full, half] = [WeightPrecision::Full, WeightPrecision::F16]
        .map(|precision| source.to_onnx_as(model.card(), precision, None).unwrap());
    assert!(half.len() < full.len() * 3 / 5, "{} of {} bytes", half.len(), full.len());
    let (exact, rounded) = (scores(&model), scores(&Model::from_bytes(&half).unwrap()));
    for (exact, rounded) in exact.iter().zip(&rounded) {
        assert!((exact - rounded).abs() < 2.0, "{exact} {rounded}");
    }
    assert_ne!(exact, rounded, "weights are rounded");
}
