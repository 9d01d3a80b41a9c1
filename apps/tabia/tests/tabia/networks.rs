//! Networks of other projects in every venue, from their own files.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::process::{Folder, fail, fixture, succeed, tabia};

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/// A network of bullet's example with 16 neurons and small weights.
fn bullet() -> Vec<u8> {
    let weights = (0..768 * 16 + 16 + 32 + 1_i32).map(|i| (i * 37 % 61 - 30) as i16);
    let mut bytes: Vec<u8> = weights.flat_map(i16::to_le_bytes).collect();
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    bytes
}

#[test]
fn maia_networks_play_at_a_rating() {
    let info = succeed(tabia(["model", "info", fixture("models/maia/maia3.pt").to_str().unwrap()]));
    for part in ["Maia-3", "7 plies", "of both players", "maia3-96"] {
        assert!(info.contains(part), "{part}: {info}");
    }
    let spec = |file: &str, elo: u16| format!("maia:{},elo={elo},mode=sample", fixture(file).display());
    let (older, newer) = (spec("models/maia/maia2.pt", 1100), spec("models/maia/maia3.pt", 1900));
    succeed(tabia(["play-move", &newer, START]));
    let result = succeed(tabia(["arena", &newer, &older, "--games", "2", "--jobs", "1"]));
    assert!(result.contains("elo=1900") && result.contains("elo=1100"), "{result}");
}

#[test]
fn bullet_network_is_read_by_its_layout() {
    let folder = Folder::new();
    let file = folder.written("quantised.bin", bullet());
    let name = file.to_str().unwrap();
    let errors = fail(tabia(["model", "info", name]));
    assert!(errors.contains("--as bullet-768:hidden=16"), "{errors}");
    let info = succeed(tabia(["model", "info", name, "--as", "bullet-768:hidden=16"]));
    assert!(info.contains("(768 -> 16) x 2 -> 1"), "{info}");
    let converted = folder.file("net.safetensors");
    let output = converted.to_str().unwrap();
    succeed(tabia(["model", "convert", name, output, "--as", "bullet-768:hidden=16"]));
    succeed(tabia(["play-move", &format!("engine:{output},nodes=500"), START]));
    folder.written("quantised.bin.card.json", r#"{"state_dict": {"raw": "bullet-768:hidden=16"}}"#);
    succeed(tabia(["play-move", &format!("engine:{name},nodes=500"), START]));
}

#[test]
fn stockfish_network_is_refused_by_name() {
    let folder = Folder::new();
    let header = [0x7af3_2f20_u32, 1, 4].map(u32::to_le_bytes).concat();
    let file = folder.written("nn-0.nnue", [&header[..], b"test"].concat());
    let errors = fail(tabia(["model", "info", file.to_str().unwrap()]));
    assert!(errors.contains("Stockfish NNUE"), "{errors}");
}

#[test]
fn weights_are_rounded_and_the_opset_lowered_on_request() {
    let folder = Folder::new();
    let net = fixture("models/human.safetensors");
    let net = net.to_str().unwrap();
    let size = |path: &Path| std::fs::metadata(path).unwrap().len();
    let convert = |from: &str, to: &Path, options: &[&str]| {
        succeed(tabia(["model", "convert", from, to.to_str().unwrap(), "--force"]).args(options))
    };
    let [full, half, rounded] =
        ["full", "half", "rounded"].map(|name| folder.file(&format!("{name}.safetensors")));
    convert(net, &full, &[]);
    assert!(convert(net, &half, &["--f16"]).contains("probabilities differ"));
    convert(net, &rounded, &["--int8"]);
    // The fixture is in half precision already.
    assert!(size(&half) <= size(&full) + 64 && size(&rounded) < size(&half));
    for file in [&half, &rounded] {
        succeed(tabia(["play-move", &format!("human:{},mode=argmax", file.display()), START]));
    }

    let onnx = folder.file("net.onnx");
    convert(net, &onnx, &["--opset", "14", "--int8"]);
    succeed(tabia(["play-move", &format!("human:{},mode=argmax", onnx.display()), START]));
    let [full, half] = ["full", "half"].map(|name| folder.file(&format!("{name}.onnx")));
    convert(net, &full, &[]);
    assert!(convert(full.to_str().unwrap(), &half, &["--f16"]).contains("probabilities differ"));
    assert!(size(&half) < size(&full) * 2 / 3, "{} of {}", size(&half), size(&full));
    succeed(tabia(["play-move", &format!("human:{},mode=argmax", half.display()), START]));
    let output = onnx.to_str().unwrap();
    let refused = |options: &[&str]| fail(tabia(["model", "convert", net, output, "--force"]).args(options));
    assert!(refused(&["--opset", "13"]).contains("13"));
    let layer_norms = fixture("models/maia/maia3.pt");
    let errors =
        fail(tabia(["model", "convert"]).arg(&layer_norms).args([output, "--force", "--opset", "16"]));
    assert!(errors.contains("LayerNormalization"), "{errors}");
}

/// A policy MLP of ten million zeros, 40 MB, most of it a hole in the file.
fn ten_million_weights(path: &Path) {
    let sizes = [("net.0.bias", vec![3580]), ("net.0.weight", vec![3580, 837]), ("net.2.bias", vec![1968])];
    let (mut entries, mut end) = (Vec::new(), 0);
    for (name, shape) in sizes.into_iter().chain([("net.2.weight", vec![1968, 3580])]) {
        let begin = end;
        end += 4 * shape.iter().product::<u64>();
        entries
            .push(format!(r#""{name}":{{"dtype":"F32","shape":{shape:?},"data_offsets":[{begin},{end}]}}"#));
    }
    let header = format!("{{{}}}", entries.join(","));
    let mut file = File::create(path).unwrap();
    file.write_all(&(header.len() as u64).to_le_bytes()).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    file.set_len(8 + header.len() as u64 + end).unwrap();
}

#[test]
fn networks_that_do_not_fit_the_memory_are_refused() {
    let folder = Folder::new();
    let net = folder.file("large.safetensors");
    ten_million_weights(&net);
    let refused = fail(tabia(["model", "info", "--memory", "32M"]).arg(&net));
    assert!(refused.contains("--memory"), "{refused}");
    let info = succeed(tabia(["model", "info", "--memory", "64MiB"]).arg(&net));
    assert!(info.contains("10,047,448"), "{info}");
}
