//! `tabia-lab train`.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tabia_encoding::{NpyHeader, Situation};
use tabia_model::{Model, Unit};
use tabia_train::TrainConfig;

use crate::program::{Folder, lab};

const CONFIG: &str = "name = 'tiny'\n\
    [net]\nkind = 'challenge'\nbody = 'dense'\nhidden = [8]\n\
    [data]\nbatch = 16\nlanes = 2\nseats = 8\nheld_out_ppm = 200000\n\
    [evaluation]\ntimes = 2\npositions = 20\nfinal_positions = 20\n";

impl Folder {
    fn train(&self, run: &str, config: &str) -> Output {
        self.command(run, config, "evaluations", &["--max-positions", "640"]).output().unwrap()
    }

    /// Trains on one of the fixtures' sets.
    fn command(&self, run: &str, config: &str, set: &str, bounds: &[&str]) -> Command {
        fs::write(self.path().join("config.toml"), config).unwrap();
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/shards").join(set);
        let mut command = lab();
        command.args(["train", "config.toml", "--device", "cpu", "--out", run]).args(bounds);
        command.arg("--data").arg(data).current_dir(self.path());
        command
    }

    /// The tensors of a run's weights, as they were left by the optimiser.
    fn weights(&self, run: &str) -> Vec<f32> {
        let out = format!("{run}.safetensors");
        let mut command = lab();
        command.args(["train", "export", run, "--weights", "live", "--out", &out]).current_dir(self.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let tensors = tabia_model::Source::state_dict(&fs::read(self.path().join(out)).unwrap()).unwrap();
        tensors.values().flat_map(|tensor| tensor.data().to_vec()).collect()
    }

    fn card(&self, run: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path().join(run).join("run.json")).unwrap()).unwrap()
    }
}

#[test]
fn the_run_card_has_the_result_and_the_page_shows_it() {
    let folder = Folder::new();
    let output = folder.train("runs/good", CONFIG);
    assert!(output.status.success(), "{output:?}");
    let card = folder.card("runs/good");
    assert_eq!((&card["state"], &card["max_positions"]), (&"complete".into(), &640.into()));
    assert_eq!(card["config"]["schedule"]["kind"], "cosine", "defaults are written out");
    assert!(card["ended"].as_u64().unwrap() >= card["started"].as_u64().unwrap());

    let output = folder.train("runs/wild", &format!("{CONFIG}[optimiser]\nlr = 1e30\nclip = 0.0\n"));
    assert!(!output.status.success());
    let card = folder.card("runs/wild");
    assert_eq!(card["state"], "failed");
    assert!(card["message"].as_str().unwrap().contains("not finite"), "{card}");

    let plot = |what: &str| {
        lab().args(["train", "plot", what, "--out", "runs.html"]).current_dir(folder.path()).output().unwrap()
    };
    let output = plot("runs");
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("2 runs"), "{output:?}");
    let page = fs::read_to_string(folder.path().join("runs.html")).unwrap();
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let [good, wild] = data["runs"].as_array().unwrap().as_slice() else { panic!("{data}") };
    assert_eq!((&good["name"], &good["glance"]["standing"]), (&"good".into(), &"complete".into()));
    let lines = fs::read_to_string(folder.path().join("runs/good/metrics.jsonl")).unwrap();
    let count = |text: &str| {
        (text.matches("\"kind\":\"step\"").count(), text.matches("\"kind\":\"evaluation\"").count())
    };
    assert_eq!(count(good["metrics"].as_str().unwrap()), count(&lines));
    assert_eq!(count(&lines), (2, 2));
    assert_eq!(wild["glance"]["standing"], "failed");

    fs::create_dir(folder.path().join("empty")).unwrap();
    let output = plot("empty");
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("no metrics.jsonl"));
}

#[test]
fn averaging_two_runs_gives_their_mean() {
    let folder = Folder::new();
    let exported = |from: &str, out: &str, average: &[&str]| {
        let mut command = lab();
        command.args(["train", "export", from, "--out", out]).current_dir(folder.path());
        if !average.is_empty() {
            command.arg("--average").args(average);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let bytes = fs::read(folder.path().join(out)).unwrap();
        let tensors = tabia_model::Source::state_dict(&bytes).unwrap();
        let weights = tensors.values().flat_map(|tensor| tensor.data().to_vec()).collect::<Vec<f32>>();
        (weights, String::from_utf8_lossy(&bytes).contains("The mean of the weights of 2 trainings"))
    };
    let config = CONFIG
        .replace("kind = 'challenge'\nbody = 'dense'\n", "kind = 'value-mlp'\nencoding = 'rusty-774'\n");
    for (run, lr) in [("slow", "0.001"), ("fast", "0.01")] {
        let output = folder.train(run, &format!("{config}[optimiser]\nlr = {lr}\n"));
        assert!(output.status.success(), "{output:?}");
    }
    let (slow, says_mean) = exported("slow", "slow.safetensors", &[]);
    assert!(!says_mean);
    let (fast, _) = exported("fast", "fast.safetensors", &[]);
    assert_ne!(slow, fast);
    for (name, other) in [("run", "fast"), ("file", "fast.safetensors")] {
        let (mean, says_mean) = exported("slow", &format!("{name}.safetensors"), &[other]);
        assert!(says_mean, "the card says so");
        let half = slow.iter().zip(&fast).map(|(slow, fast)| (slow + fast) / 2.0);
        assert!(mean.iter().copied().eq(half), "with a {name}");
    }
}

#[test]
fn a_temperature_makes_a_policy_less_certain_and_keeps_its_order() {
    let folder = Folder::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/models");
    let sizes = "width = 32\nheads = 2\nlayers = 2\ninner = 48\npair = 24\nhidden = 20\n";
    fs::write(folder.path().join("human.toml"), format!("name = 'human'\n[net]\nkind = 'human'\n{sizes}"))
        .unwrap();
    let export = |from: &Path, config: &str, out: &str, temperature: &str| {
        let mut command = lab();
        command.args(["train", "export"]).arg(from).args(["--config", config, "--out", out]);
        command.args(["--temperature", temperature]).current_dir(folder.path()).output().unwrap()
    };
    let human = fixtures.join("human.safetensors");
    let policy = |temperature: &str| {
        let output = export(&human, "human.toml", "out.safetensors", temperature);
        assert!(output.status.success(), "{output:?}");
        let model = Model::open(folder.path().join("out.safetensors")).unwrap();
        let notes = model.card().notes.clone().unwrap_or_default();
        assert!(notes.contains(&format!("Logits of moves are divided by {temperature}.")), "{notes}");
        let position = shakmaty::Chess::default();
        let said = model.evaluate(&[Situation::of(&position)]).unwrap().remove(0);
        let candidates = said.policy.unwrap().candidates().to_vec();
        candidates.iter().map(|it| (it.mv, f64::from(it.probability))).collect::<Vec<_>>()
    };
    let (plain, flat) = (policy("1"), policy("2"));
    let moves = |policy: &[(shakmaty::Move, f64)]| policy.iter().map(|(mv, _)| *mv).collect::<Vec<_>>();
    assert_eq!(moves(&plain), moves(&flat));
    // A temperature of 2 takes the square root of every ratio of probabilities.
    let ratio = |policy: &[(shakmaty::Move, f64)]| (policy[0].1 / policy[19].1).ln();
    assert!(ratio(&plain) > 0.01 && (ratio(&plain) / ratio(&flat) - 2.0).abs() < 0.01);

    let output = export(&human, "human.toml", "refused.safetensors", "0");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("`0` is not from 0.1 to 10"), "{said}");
    assert!(folder.train("run", CONFIG).status.success());
    let output = lab()
        .args(["train", "export", "run", "--out", "refused.onnx", "--temperature", "2"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let problem = "--temperature 2: a temperature is for networks of kind `human`";
    assert!(!output.status.success() && said.contains(problem), "{said}");
}

/// A term that helps training can be left out of the file.
#[test]
fn a_run_is_exported_without_parameters_that_a_configuration_lacks() {
    let folder = Folder::new();
    let attention = |rest: &str| {
        let sizes = "body = 'attention'\nwidth = 8\nheads = 1\nlayers = 1\ninner = 8\n";
        CONFIG.replace("body = 'dense'\nhidden = [8]\n", &format!("{sizes}{rest}\n"))
    };
    assert!(folder.train("run", &attention("hidden = 4\nprogress = true")).status.success());
    let export = |config: &str, out: &str| {
        fs::write(folder.path().join("other.toml"), config).unwrap();
        let mut command = lab();
        command.args(["train", "export", "run", "--config", "other.toml", "--out", out]);
        command.current_dir(folder.path()).output().unwrap()
    };
    let whole =
        lab().args(["train", "export", "run", "--out", "whole.onnx"]).current_dir(folder.path()).output();
    assert!(whole.unwrap().status.success());
    let output = export(&attention("hidden = 4"), "without.onnx");
    assert!(output.status.success(), "{output:?}");
    let open = |file: &str| Model::open(folder.path().join(file)).unwrap();
    let (whole, without) = (open("whole.onnx"), open("without.onnx"));
    // The term's parameters, and the constants of its graph.
    let fewer = whole.parameters() - without.parameters();
    assert!((5633..5700).contains(&fewer), "{fewer}");
    let card = without.card();
    assert_eq!(card.training.as_ref().unwrap().positions, whole.card().training.as_ref().unwrap().positions);
    assert!(card.held_out.is_empty() && !whole.card().held_out.is_empty());
    let notes = card.notes.clone().unwrap_or_default();
    assert!(
        notes.contains("left out: progress.weight, progress.kings.weight, progress.threshold"),
        "{notes}"
    );

    let output = export(&attention("hidden = 6"), "other.onnx");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("the run trained no "), "{said}");
    assert!(!folder.path().join("other.onnx").exists());
}

/// A NumPy archive has no card that says what its values count in.
#[test]
fn an_archive_counts_in_the_units_of_its_configuration() {
    let folder = Folder::new();
    let text = CONFIG.replace(
        "[data]\n",
        "[loss]\nvalue_kind = 'cross-entropy'\n[data]\ncp_scale = 300.0\nvalue_curve = { knee_cp = 300, mate_cp = 5000 }\n",
    );
    fs::write(folder.path().join("config.toml"), &text).unwrap();
    let table = TrainConfig::parse(&text).unwrap().net.table();
    let weights = table.initial(1);
    let mut archive = zip::ZipWriter::new(fs::File::create(folder.path().join("tiny.npz")).unwrap());
    for entry in table.entries() {
        let name = format!("{}.npy", entry.name);
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        let shape = entry.shape.iter().map(|&dim| dim as u64).collect();
        let header = NpyHeader { descr: "<f4".to_owned(), fortran_order: false, shape };
        let data = entry.of(&weights).iter().flat_map(|number| number.to_le_bytes());
        archive.write_all(&header.to_bytes().into_iter().chain(data).collect::<Vec<u8>>()).unwrap();
    }
    archive.finish().unwrap();
    let mut command = lab();
    command.args(["train", "export", "tiny.npz", "--config", "config.toml", "--out", "tiny.onnx"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let model = Model::open(folder.path().join("tiny.onnx")).unwrap();
    assert_eq!(model.card().value.as_ref().unwrap().unit, Unit::Centipawns(300.0));
}

/// A transformer whose steps are many micro-batches.
fn transformer(width: u32, layers: u32, batch: u32) -> String {
    format!(
        "name = 'transformer'\n\
        [net]\nkind = 'humchess'\nwidth = {width}\nheads = 2\nlayers = {layers}\ninner = {width}\n\
        [data]\nbatch = {batch}\nlanes = 2\nseats = 8\nheld_out_ppm = 200000\n\
        [evaluation]\ntimes = 1\nfinal_positions = 20\n"
    )
}

#[test]
fn the_time_limit_ends_a_run_within_a_step() {
    let folder = Folder::new();
    // More than 10^12 multiplications a step.
    let config = transformer(256, 12, 2048);
    let output = folder.command("run", &config, "games", &["--max-seconds", "4"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("warning") && said.contains("--device gpu"), "{said}");
    let card = folder.card("run");
    assert_eq!(card["state"], "complete", "{said}");
    let result = String::from_utf8_lossy(&output.stdout);
    // On a machine busy enough the time is up before the step begins.
    let told = result.contains("time limit reached in step 1, which was dropped");
    assert_eq!(card["dropped_step"], if told { 1.into() } else { Value::Null }, "{result}");
    assert!(result.contains("RESULT 0 steps, 0 positions"), "{result}");
    assert!(folder.path().join("run/checkpoints/step-0000000000").is_dir());
}

#[cfg(unix)]
#[test]
fn sigterm_stops_a_run_within_a_step_and_it_resumes() {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;

    let folder = Folder::new();
    let config = transformer(64, 2, 2048);
    let one_step = ["--max-positions", "2048"];
    let mut command = folder.command("stopped", &config, "games", &one_step);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().starts_with("step 1: ")), "the first micro-batch was told of");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let rest: Vec<String> = said.map(Result::unwrap).collect();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?} {rest:?}");
    let card = folder.card("stopped");
    assert_eq!((&card["state"], &card["dropped_step"]), (&"stopped".into(), &1.into()));
    assert!(String::from_utf8_lossy(&output.stdout).contains("--resume"), "{output:?}");

    let resume = [&one_step[..], &["--resume"]].concat();
    let output = folder.command("stopped", &config, "games", &resume).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let card = folder.card("stopped");
    assert_eq!((&card["state"], &card["dropped_step"]), (&"complete".into(), &Value::Null));
    let output = folder
        .command("whole", &config, "games", &[&one_step[..], &["--threads", "2"]].concat())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(folder.weights("stopped"), folder.weights("whole"));
}

#[test]
fn held_out_results_are_printed_as_a_table() {
    let folder = Folder::new();
    let output = folder.train("run", CONFIG);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.lines().all(|line| line.len() < 160), "{said}");
    let mut lines = said.lines().skip_while(|line| !line.starts_with("held out "));
    let (head, all) = (lines.next().unwrap(), lines.next().unwrap());
    assert!(all.starts_with("all "), "{said}");
    // Figures end where their names do.
    for name in ["positions", "value loss", "correlation", "better side"] {
        let end = head.find(name).unwrap_or_else(|| panic!("{name}: {head}")) + name.len();
        let figure = all[..end].rsplit("  ").next().unwrap();
        assert!(figure.trim_end_matches('%').parse::<f64>().is_ok(), "{name}: {all}");
    }
    let metrics = fs::read_to_string(folder.path().join("run/metrics.jsonl")).unwrap();
    let count = all.split_whitespace().nth(1).unwrap();
    assert!(metrics.contains(&format!("\"all\":{{\"count\":{count},")), "{all}: {metrics}");
}
