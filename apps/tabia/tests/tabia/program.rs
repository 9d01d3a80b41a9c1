//! The program as a user meets it: commands typed, text read.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::process::{Folder, fail, read_json, succeed, tabia, text};

/// A network of the fixtures.
fn fixture(name: &str) -> PathBuf {
    crate::process::fixture("models").join(name)
}

/// Types `lines` at the board and gives what was printed.
fn sit_down(args: &[&str], lines: &str) -> Output {
    let mut child =
        tabia(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn info(name: &str) -> String {
    succeed(tabia(["model", "info"]).arg(fixture(name)))
}

fn human() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/human.safetensors")
}

/// The positions that `model info` evaluates.
fn positions(info: &str) -> Option<String> {
    info.split_once("position  ").map(|(_, table)| table.to_owned())
}

#[test]
fn info_says_what_a_file_of_each_format_is() {
    let expected = [
        ("challenge-mlp.onnx", "ONNX", "challenge-768", "for the side to move"),
        ("humchess-transformer.onnx", "ONNX", "humchess-68", "over from-to-4096"),
        ("statedict/rusty-774.safetensors", "safetensors", "rusty-774", "for White"),
        ("statedict/humchess-74.pt", "PyTorch", "humchess-74", "over from-to-4096"),
        ("statedict/cnn-reduce.pt", "PyTorch", "policy-planes-17", "over canonical-1968-mover"),
        ("tflite_pair.tflite", "TFLite", "pair-769", "context-win"),
        ("lc0-se-classical.pb.gz", "lc0", "lc0-112", "over lc0-1858"),
        ("lc0/plain.pb.gz", "lc0", "lc0-112-castling", "over lc0-1858"),
    ];
    for (name, format, encoding, head) in expected {
        let text = info(name);
        assert!(text.contains(&format!("format        {format}\n")), "{name}: {text}");
        assert!(text.contains(&format!("encoding      {encoding} ")), "{name}: {text}");
        assert!(text.contains(head), "{name}: {text}");
        for position in ["start", "a queen up", "a queen down"] {
            assert!(text.contains(position), "{name}: {text}");
        }
    }
}

#[test]
fn info_says_what_computes_the_network() {
    assert!(info("humchess-transformer.onnx").contains("  runtime       general (rten)\n"));
    let runtime = |name: &str| {
        let text = info(name);
        let line = text.lines().find(|line| line.starts_with("  runtime")).expect("a line of its own");
        line.to_owned()
    };
    for name in ["quantised-transformer.onnx", "quantised-conv.onnx"] {
        let runtime = runtime(name);
        assert!(
            runtime.contains("general (rten), 8-bit products by ") && runtime.contains("u8i8i32"),
            "{runtime}"
        );
        assert!(!runtime.contains("-avx2") || runtime.ends_with("with split weights"), "{runtime}");
    }
}

#[test]
fn info_asks_for_two_players_of_the_same_rating() {
    let asked = |args: &[&str]| succeed(tabia(["model", "info"]).arg(human()).args(args));
    assert!(asked(&[]).contains("asked for     two players rated 1500 on Lichess\n"), "{}", asked(&[]));
    assert!(
        asked(&["--elo", "1900", "--clock", "60"]).contains("rated 1900 on Lichess, 60 s on both clocks\n")
    );
    assert!(!info("challenge-mlp.onnx").contains("asked for"), "it does not look at ratings");
    // The start position is nearly even at every rating: White scores a little more.
    for elo in ["800", "1500", "2400"] {
        let json: Value = serde_json::from_str(&asked(&["--json", "--elo", elo])).unwrap();
        let chance = |n: usize| json["positions"][0]["wdl_mover"][n].as_f64().unwrap();
        let expected = chance(0) + 0.5 * chance(1);
        assert!((0.48..0.6).contains(&expected), "{elo}: {expected}");
    }
}

#[test]
fn tensors_are_those_of_the_player_or_of_the_graph() {
    let tensors = |args: &[&str]| -> Value {
        serde_json::from_str(&succeed(tabia(["model", "tensors"]).arg(human()).args(args))).unwrap()
    };
    let (player, graph) = (tensors(&[]), tensors(&["--runtime", "graph"]));
    assert_ne!(player["runtime"], graph["runtime"]);
    assert_eq!(player["inputs"], graph["inputs"]);
    let wdl = |of: &Value| of["outputs"]["wdl"]["values"].clone();
    // 8 bits are not the floats they stand for.
    assert_ne!(wdl(&player), wdl(&graph));
    // The player's are what it says of the position.
    let model = tabia_model::Model::open(human()).unwrap();
    let start = shakmaty::Chess::default();
    let said = model.evaluate(&[tabia_encoding::Situation::of(&start)]).unwrap()[0].wdl.unwrap();
    assert_eq!(wdl(&player)[0].as_f64().map(|win| win as f32), Some(said.win));
}

#[test]
fn a_sidecar_names_the_layers_of_a_network_of_any_names() {
    let folder = Folder::new();
    let bytes = std::fs::read(fixture("statedict/rusty-774.safetensors")).unwrap();
    // Names of the same length, so that the header stays as long as it says.
    let renamed: Vec<u8> = {
        let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let text = String::from_utf8_lossy(&bytes[8..8 + header]).replace("seq.linear-", "layer.dense");
        [&bytes[..8], text.as_bytes(), &bytes[8 + header..]].concat()
    };
    let file = folder.written("net.safetensors", renamed);
    let refused = fail(tabia(["model", "info"]).arg(&file));
    assert!(refused.contains("layer.dense0.bias") && refused.contains("state_dict"), "{refused}");
    let card = r#"{"state_dict": {"layers": ["layer.dense0", "layer.dense1", "layer.dense2"]}}"#;
    folder.written("net.safetensors.card.json", card);
    let expected = positions(&info("statedict/rusty-774.safetensors"));
    assert_eq!(positions(&succeed(tabia(["model", "info"]).arg(&file))), expected);
    for name in ["net.onnx", "kept.safetensors"] {
        let converted = folder.file(name);
        succeed(tabia(["model", "convert"]).arg(&file).arg(&converted));
        assert_eq!(positions(&succeed(tabia(["model", "info"]).arg(converted))), expected, "{name}");
    }
}

#[test]
fn info_as_json_can_be_read_back() {
    let args = ["model", "info", "--json", "--top", "2", "--fen", "8/P6k/8/8/8/8/8/K7 w - - 0 1"];
    let said = succeed(tabia(args).arg(fixture("humchess-transformer.onnx")));
    let json: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(json["card"]["encoding"], "humchess-68");
    assert_eq!(json["positions"][0]["moves"].as_array().map(Vec::len), Some(2));
}

#[test]
fn mistakes_are_one_clear_line() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for (file, named) in
        [("absent.onnx", "absent.onnx"), (manifest, "ONNX"), (env!("CARGO_MANIFEST_DIR"), "apps")]
    {
        let said = fail(tabia(["model", "info", file]));
        assert!(said.contains(named) && said.lines().count() == 1, "{said}");
    }
    let said = fail(tabia(["model", "info", "--fen", "nonsense"]).arg(fixture("challenge-mlp.onnx")));
    assert!(said.contains("--fen"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_without_end_is_refused() {
    let endless = fail(tabia(["model", "info", "/dev/zero"]));
    assert!(endless.contains("512 MiB"), "{endless}");
}

#[test]
fn convert_keeps_the_answers_and_refuses_to_overwrite() {
    let folder = Folder::new();
    let convert = |name: &str, output: &str| {
        let mut command = tabia(["model", "convert"]);
        command.arg(fixture(name)).arg(folder.file(output));
        command
    };
    succeed(convert("lc0-plain-conv.pb.gz", "net.onnx"));
    let converted = succeed(tabia(["model", "info"]).arg(folder.file("net.onnx")));
    assert_eq!(positions(&converted), positions(&info("lc0-plain-conv.pb.gz")));
    assert!(fail(convert("lc0-plain-conv.pb.gz", "net.onnx")).contains("--force"));

    succeed(convert("statedict/humchess-74.pt", "net.safetensors"));
    assert!(fail(convert("lc0-plain-conv.pb.gz", "x.safetensors")).contains("state dict"));
    assert!(fail(convert("lc0-plain-conv.pb.gz", "x.bin")).contains(".onnx"));
}

#[test]
fn a_game_in_the_terminal() {
    let output = sit_down(&["play", "--seed", "1"], "e4\nbogus\nhint\nundo\nd4\nmoves\nresign\nquit\n");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let text = text(&output.stdout);
    assert!(text.contains("You play White against human 1500"), "{text}");
    assert!(text.contains("8  r n b q k b n r"), "{text}");
    assert!(text.contains("\"bogus\" is neither a move nor a command"), "{text}");
    assert!(text.contains('%'), "the hint shows probabilities: {text}");
    assert!(text.contains("1. d4 "), "the first move was taken back: {text}");
    assert!(text.contains("0-1 Black wins by resignation."), "{text}");
}

#[test]
fn the_same_seed_gives_the_same_game() {
    let play = || sit_down(&["play", "--seed", "7", "--elo", "1200"], "e4\nNf3\nBc4\nmoves\n").stdout;
    assert_eq!(text(&play()), text(&play()));
}

#[test]
fn a_mated_opponent_ends_the_game_and_the_file_is_written() {
    let folder = Folder::new();
    let path = folder.file("game.pgn");
    let file = path.display().to_string();
    let fen = "6k1/5ppp/8/8/8/8/8/R3K3 w Q - 0 1";
    let output = sit_down(&["play", "--fen", fen, "--pgn", &file], "Ra8#\nRa1\nquit\n");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.contains("1-0") && shown.contains("over"), "{shown}");
    let pgn = std::fs::read_to_string(&path).unwrap();
    assert!(pgn.contains("[Result \"1-0\"]") && pgn.contains("Ra8#"), "{pgn}");
}

#[test]
fn any_spec_can_be_the_opponent() {
    for spec in ["level:1", "engine,depth=4", "random,seed=3"] {
        let output = sit_down(&["play", spec, "--color", "black"], "quit\n");
        let shown = text(&output.stdout);
        assert!(output.status.success(), "{spec}: {}", text(&output.stderr));
        assert!(shown.contains(" plays "), "{spec}: {shown}");
    }
    assert!(fail(tabia(["play", "level:9"])).contains("level:9"));
}

#[test]
fn play_move_answers_with_one_object() {
    let fen = "6k1/5ppp/8/8/8/8/8/R3K3 w Q - 0 1";
    for player in ["level:1", "level:5", "engine,depth=3"] {
        let answer: Value = serde_json::from_str(&succeed(tabia(["play-move", player, fen]))).unwrap();
        assert_eq!((&answer["move"], &answer["san"]), (&"a1a8".into(), &"Ra8#".into()), "{player}");
    }
    fail(tabia(["play-move", fen]));
}

#[test]
fn bench_prints_one_number() {
    let printed = succeed(tabia(["bench", "--baseline"]));
    let nodes = printed.trim().strip_suffix(" nodes").and_then(|n| n.parse::<u64>().ok());
    assert!(nodes.is_some_and(|n| n > 100_000), "{printed}");
}

/// The files of `models/`, each with the page about it.
fn shipped() -> Vec<(PathBuf, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = std::fs::read_dir(root.join("models")).expect("the bundled networks");
    let files = entries.map(|entry| entry.expect("a readable entry").path());
    let files =
        files.filter(|path| path.extension().is_some_and(|end| end == "onnx" || end == "safetensors"));
    let page = |file: &Path| {
        root.join("docs/models").join(file.file_name().expect("a file has a name")).with_extension("md")
    };
    files.map(|file| (file.clone(), page(&file))).collect()
}

#[test]
fn pages_about_networks_say_what_their_cards_say() {
    let shipped = shipped();
    assert!(!shipped.is_empty());
    for (file, page) in shipped {
        let card = succeed(tabia(["model", "card"]).arg(&file));
        let constructed = card.contains("not trained");
        // What was held out in training says nothing of a file with parameters that were added afterwards: it was measured itself.
        let extended = card.contains("Added with their initial values");
        let held_out = if extended { " held-out positions values are " } else { "Held-out positions" };
        let trained = ["training", "Made by", held_out].into_iter().filter(|_| !constructed);
        for field in ["parameters", "trained on", "licence"].into_iter().chain(trained) {
            assert!(card.contains(field), "{}: the card says nothing of {field}\n{card}", file.display());
        }
        let text =
            std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        let command = format!("tabia model card models/{}", file.file_name().unwrap().to_string_lossy());
        assert!(text.contains(&card), "{} does not hold what `{command}` prints:\n{card}", page.display());
    }
}

#[test]
fn a_card_is_a_table_for_people() {
    let card = succeed(tabia(["model", "card"]).arg(fixture("challenge-mlp.onnx")));
    assert!(card.starts_with("| | |\n|---|---|\n| file | `challenge-mlp.onnx`, ONNX, "), "{card}");
    assert!(
        card.contains("| inputs | `challenge-768` |") && card.contains("| licence | not stated |"),
        "{card}"
    );
    assert!(info("challenge-mlp.onnx").contains("as the Chess Challenge counts"));
}

/// What goes in and out of a network, in onnxruntime too.
#[test]
fn onnxruntime_computes_the_same() {
    let Some(python) = tabia_requires::python(&["numpy", "onnx", "onnxruntime"]) else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/check_onnx.py");
    for name in [
        "challenge-mlp.onnx",
        "humchess-transformer.onnx",
        "conv-net.onnx",
        "quantised-transformer.onnx",
        "quantised-conv.onnx",
    ] {
        let mut command = Command::new(&python);
        command.arg(script).arg(fixture(name)).args(["--tabia", env!("CARGO_BIN_EXE_tabia")]);
        let output = command.output().expect("python starts");
        let said = text(&output.stdout);
        assert!(output.status.success(), "{name}: {said}{}", text(&output.stderr));
        assert!(said.contains("5 positions") && said.contains("the same"), "{name}: {said}");
    }
}

/// The engine under a real client: python-chess plays games with it and reports any fault.
#[test]
fn uci_conforms_under_python_chess() {
    let Some(python) = tabia_requires::python(&["chess"]) else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/check_uci.py");
    for player in ["level:1", "engine", "human,elo=1200,seed=5"] {
        let mut command = Command::new(&python);
        command.args([script, "--games", "2", "--plies", "20", "--movetime", "20"]);
        command.args([env!("CARGO_BIN_EXE_tabia"), "uci", "--player", player]);
        let output = command.output().expect("python starts");
        assert!(output.status.success(), "{player}: {}{}", text(&output.stdout), text(&output.stderr));
    }
}

#[test]
fn any_network_can_be_the_opponent() {
    for name in [
        "challenge-mlp.onnx",
        "statedict/rusty-774.safetensors",
        "tflite_pair.tflite",
        "lc0-plain-conv.pb.gz",
    ] {
        let path = fixture(name).display().to_string();
        let output = sit_down(&["play", &path, "--color", "black", "--seed", "2"], "e5\nhint\nquit\n");
        let shown = text(&output.stdout);
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
        assert!(shown.contains(" plays "), "{name}: {shown}");
    }
}

#[test]
fn compete_plays_a_level_and_says_how_it_went() {
    let folder = Folder::new();
    let (json, board) = (folder.file("out.json"), folder.file("board.json"));
    let opening = "# one opening\nrnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n";
    let openings = folder.written("one.fen", opening);
    let mut command = tabia(["compete", "--level", "1", "--jobs", "1"]);
    command.arg(fixture("challenge-mlp.onnx")).arg("--openings").arg(&openings);
    command.arg("--json-output").arg(&json).arg("--record").arg(&board);
    let output = command.output().expect("the program starts");
    let shown = text(&output.stdout);
    assert!(!output.status.success(), "a random network passes nothing: {shown}");
    assert!(shown.contains("no level passed") && shown.contains("diversity"), "{shown}");
    assert_eq!(read_json(&json)["levels"][0]["records"].as_array().map(Vec::len), Some(2));
    assert!(std::fs::read_to_string(&board).unwrap().contains("challenge-mlp"));
}

#[test]
fn compete_refuses_what_breaks_the_rules() {
    let refused = |name: &str| fail(tabia(["compete"]).arg(fixture(name)));
    assert!(refused("humchess-transformer.onnx").contains("\"board\""));
    assert!(refused("tflite_pair.tflite").contains("ONNX"));
}

/// A window that is closed in the middle of a game leaves no process behind, and the game is on disk.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_that_goes_away_ends_the_screen_and_saves_the_game() {
    let Some(python) = tabia_requires::python(&[]) else { return };
    let folder = Folder::new();
    let pgn = folder.file("game.pgn");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/check_hangup.py");
    let mut command = Command::new(&python);
    command.args([script, "e4", env!("CARGO_BIN_EXE_tabia"), "play", "level:1", "--pgn"]).arg(&pgn);
    let output = command.output().expect("python starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let saved = std::fs::read_to_string(&pgn).unwrap();
    assert!(saved.contains("1. e4 "), "{saved}");
}

#[test]
#[cfg(unix)]
fn the_window_is_another_program() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new();
    let told = fail(tabia(["desktop"]).env("PATH", folder.path()));
    assert!(told.contains("cargo xtask desktop") && told.contains("tabia serve --open"), "{told}");

    let window = folder.written("tabia-desktop", "#!/bin/sh\necho \"$@\"\n");
    std::fs::set_permissions(&window, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut there = tabia(["desktop", "net.onnx", "--delay", "300"]);
    assert_eq!(succeed(there.env("PATH", folder.path())), "net.onnx --delay 300\n");
}

#[test]
fn moved_commands_name_their_new_place() {
    for (old, new) in
        [("strength", "strength"), ("habits", "behaviour"), ("variety", "diversity"), ("soak", "soak")]
    {
        let output = tabia([old, "--games", "2", "some.pgn"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{old}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(&format!("tabia-lab {new}")), "{said}");
    }
}
