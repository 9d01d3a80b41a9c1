//! A tiny network of every kind.

use tabia_train::export::{ExportFormat, Precision, Provenance, export};
use tabia_train::{Backend, CpuBackend, OptimiserKind, TrainConfig};

/// What a network learns from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    Games,
    Evaluations,
}

const COMMON: &str = r#"
[optimiser]
lr = 0.003
ema_decay = 0.9
[schedule]
warmup_steps = 5
[evaluation]
times = 2
positions = 60
final_positions = 120
[data]
batch = 16
lanes = 2
seats = 24
held_out_ppm = 200000
"#;

/// A network over 1956 of the 1968 moves: those without the first eight, and four among them.
const COUNTED: &str = concat!(
    "kind = 'policy-mlp'\nhidden = [16]\nvocabulary = '00f0",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "ffffffff'"
);

/// Name, the `[net]` and `[loss]` tables, further `[data]` keys, and what it learns from.
pub(crate) const KINDS: &[(&str, &str, &str, From)] = &[
    (
        "human",
        "kind = 'human'\nwidth = 16\nheads = 2\nlayers = 1\ninner = 16\npair = 16\nhidden = 8",
        "[data.dropout]\nrating = 0.2\nopponent_rating = 0.2\npool = 0.1\npace = 0.1\nclocks = 0.1\nhistory = 0.1",
        From::Games,
    ),
    ("humchess-68", "kind = 'humchess'\nwidth = 16\nheads = 2\nlayers = 1\ninner = 16", "", From::Games),
    (
        "humchess-74",
        "kind = 'humchess'\nwidth = 16\nheads = 2\nlayers = 1\ninner = 16\ntokens = 'history'\nmoves = 'square-pairs'",
        "",
        From::Games,
    ),
    (
        "policy-cnn",
        "kind = 'policy-cnn'\nview = 'mover'\nchannels = 6\nblocks = 1\nkernel = 3\nhead = { bilinear = 8 }",
        "",
        From::Evaluations,
    ),
    (
        "policy-cnn-flat",
        "kind = 'policy-cnn'\nview = 'white'\nchannels = 4\nblocks = 1\nkernel = 3\nhead = 'flatten'",
        "",
        From::Evaluations,
    ),
    (
        "policy-cnn-joined",
        "kind = 'policy-cnn'\nview = 'white-13'\nchannels = 4\nblocks = 1\nkernel = 3\nhead = 'joined'",
        "",
        From::Evaluations,
    ),
    ("policy-mlp", "kind = 'policy-mlp'\nhidden = [16]", "", From::Evaluations),
    ("policy-mlp-counted", COUNTED, "", From::Evaluations),
    (
        "value-mlp",
        "kind = 'value-mlp'\nencoding = 'rusty-774'\nhidden = [16, 8]\n[loss]\nvalue_kind = 'l1'",
        "value_source = 'evaluation-without-mates'",
        From::Games,
    ),
    ("nnue", "kind = 'nnue'\nwidth = 16\nbuckets = 4", "result_share = 0.2", From::Games),
    (
        "nnue-squared",
        "kind = 'nnue'\nwidth = 16\nbuckets = 4\nactivation = 'squared-clipped'",
        "result_share = 0.2",
        From::Games,
    ),
    (
        "value-cnn",
        "kind = 'value-cnn'\nencoding = 'rusty-planes-15'\nchannels = 6\nblocks = 1\nsqueeze = 2\nhidden = 8",
        "quiet_only = 'yes'",
        From::Games,
    ),
    (
        "pair",
        "kind = 'pair'\nfirst = 16\nhidden = [16]\n[loss]\nvalue_kind = 'cross-entropy'",
        "value_source = 'result'",
        From::Games,
    ),
    ("challenge-dense", "kind = 'challenge'\nbody = 'dense'\nhidden = [16, 8]", "", From::Evaluations),
    (
        "challenge-conv",
        "kind = 'challenge'\nbody = 'conv'\nchannels = 6\nblocks = 1\nsqueeze = 2\nhidden = 8",
        "",
        From::Games,
    ),
    (
        "challenge-attention",
        "kind = 'challenge'\nbody = 'attention'\nwidth = 16\nheads = 2\nlayers = 1\ninner = 16\nhidden = 8",
        "",
        From::Games,
    ),
    (
        "challenge-relative",
        "kind = 'challenge'\nbody = 'attention'\nwidth = 16\nheads = 2\nlayers = 2\ninner = 16\nhidden = 8\nbias = 'relative'\n[loss]\nvalue_kind = 'cross-entropy'",
        "positions = 'children'\nvalue_curve = {}\nchildren_per_record = 3",
        From::Evaluations,
    ),
    (
        "challenge-shared",
        "kind = 'challenge'\nbody = 'attention'\nwidth = 16\nheads = 2\nlayers = 3\ndistinct = 2\ninner = 16\nhidden = 8\nbias = 'shared'",
        "positions = 'both'\nquiet_only = 'exchanges'",
        From::Evaluations,
    ),
    (
        "challenge-no-bias",
        "kind = 'challenge'\nbody = 'attention'\nwidth = 16\nheads = 2\nlayers = 1\ninner = 16\nhidden = 8\nbias = 'none'",
        "quiet_only = 'exchanges'",
        From::Games,
    ),
    (
        "challenge-progress",
        "kind = 'challenge'\nbody = 'attention'\nwidth = 16\nheads = 2\nlayers = 1\ninner = 16\nhidden = 8\nbias = 'none'\nprogress = true",
        "",
        From::Evaluations,
    ),
    (
        "challenge-perspective",
        "kind = 'challenge'\nbody = 'perspective'\nwidth = 16\nbuckets = 1",
        "",
        From::Games,
    ),
];

/// The configuration of one of [`KINDS`].
pub(crate) fn config(name: &str) -> (TrainConfig, From) {
    let (name, net, data, from) = KINDS.iter().find(|kind| kind.0 == name).unwrap();
    let text = format!("name = '{name}'\n[net]\n{net}\n{COMMON}{data}\n");
    (TrainConfig::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}")), *from)
}

#[test]
fn shipped_configurations_are_valid() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let config = TrainConfig::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(config.name, path.file_stem().unwrap().to_str().unwrap());
        seen += 1;
    }
    assert!(seen >= 9, "{seen}");
}

/// The configuration in a file of `configs/`.
pub(crate) fn shipped(name: &str) -> TrainConfig {
    let path = format!("{}/../../configs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    TrainConfig::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn entries_have_no_more_parameters_than_their_size_allows() {
    for (name, most) in [
        ("challenge-s", 20_000),
        ("challenge-m", 100_000),
        ("challenge-l", 1_000_000),
        ("challenge-l-progress", 1_000_000),
    ] {
        let config = shipped(name);
        let arena = CpuBackend::new(&config, 1).state().unwrap().weights;
        let format = ExportFormat::Onnx;
        let exported = export(&config.net, &arena, format, Precision::F32, &Provenance::default()).unwrap();
        assert!(exported.parameters <= most, "{name}: {}", exported.parameters);
        assert!(exported.parameters > most * 9 / 10, "{name}: {}", exported.parameters);
    }
}

#[test]
fn the_optimiser_is_adamw_unless_it_is_named() {
    let parse = |rest: &str| {
        TrainConfig::parse(&format!("name = 'x'\n[net]\nkind = 'human'\n[optimiser]\n{rest}")).unwrap()
    };
    assert_eq!(parse("").optimiser.kind, OptimiserKind::Adamw);
    assert_eq!(parse("kind = 'adamw'"), parse(""));
    let muon = parse("kind = 'muon'").optimiser;
    assert_eq!((muon.kind, muon.momentum), (OptimiserKind::Muon, 0.95));
}

#[test]
fn invalid_configs_are_rejected() {
    let error = |text: &str| TrainConfig::parse(text).unwrap_err().to_string();
    let net = "name = 'x'\n[net]\nkind = 'human'\n";
    assert!(error(&format!("{net}widht = 3")).contains("widht"));
    assert!(error(&format!("{net}heads = 7")).contains("7 heads"));
    assert!(error(&format!("{net}[data]\nbatch = 0")).contains("data.batch"));
    assert!(error(&format!("{net}[optimiser]\nlr = -1.0")).contains("optimiser.lr"));
    assert!(error(&format!("{net}[data]\npositions = 'children'")).contains("data.positions"));
    assert!(error(&format!("{net}[data.value_curve]\nknee_cp = 0")).contains("knee_cp"));
    assert!(error(&format!("{net}[optimiser]\nkind = 'sgd'")).contains("sgd"));
    assert!(error(&format!("{net}[optimiser]\nmomentum = 1.0")).contains("momentum"));
    let none = "name = 'x'\n[net]\nkind = 'nnue'\nwidth = 8\nbuckets = 1\n[optimiser]\nkind = 'muon'";
    assert!(error(none).contains("optimiser.kind"));
    let million = "name = 'x'\n[net]\nkind = 'challenge'\nbody = 'dense'\nhidden = [2000]";
    assert!(error(million).contains("1000000"));
}
