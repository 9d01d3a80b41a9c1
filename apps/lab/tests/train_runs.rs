//! `tabia-lab train` as a program: what a run says of itself, and the page that shows it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const CONFIG: &str = "name = 'tiny'\n\
    [net]\nkind = 'challenge'\nbody = 'dense'\nhidden = [8]\n\
    [data]\nbatch = 16\nlanes = 2\nseats = 8\nheld_out_ppm = 200000\n\
    [evaluation]\ntimes = 2\npositions = 20\nfinal_positions = 20\n";

/// A folder that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tabia-lab-runs-{name}-{}", std::process::id()));
        // Left by a test that was killed, perhaps.
        let _gone = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn train(&self, run: &str, config: &str) -> Output {
        fs::write(self.0.join("config.toml"), config).unwrap();
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/shards/evaluations");
        Command::new(env!("CARGO_BIN_EXE_tabia-lab"))
            .args([
                "train",
                "config.toml",
                "--max-positions",
                "640",
                "--device",
                "cpu",
                "--out",
                run,
                "--data",
            ])
            .arg(data)
            .current_dir(&self.0)
            .output()
            .unwrap()
    }

    fn card(&self, run: &str) -> Value {
        serde_json::from_slice(&fs::read(self.0.join(run).join("run.json")).unwrap()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn a_run_says_how_it_ended_and_the_page_shows_it() {
    let folder = Folder::new("ended");
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
        Command::new(env!("CARGO_BIN_EXE_tabia-lab"))
            .args(["train", "plot", what, "--out", "runs.html"])
            .current_dir(&folder.0)
            .output()
            .unwrap()
    };
    let output = plot("runs");
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("2 runs"), "{output:?}");
    let page = fs::read_to_string(folder.0.join("runs.html")).unwrap();
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let [good, wild] = data["runs"].as_array().unwrap().as_slice() else { panic!("{data}") };
    assert_eq!((&good["name"], &good["glance"]["standing"]), (&"good".into(), &"complete".into()));
    let lines = fs::read_to_string(folder.0.join("runs/good/metrics.jsonl")).unwrap();
    let count = |text: &str| {
        (text.matches("\"kind\":\"step\"").count(), text.matches("\"kind\":\"evaluation\"").count())
    };
    assert_eq!(count(good["metrics"].as_str().unwrap()), count(&lines));
    assert_eq!(count(&lines), (2, 2));
    assert_eq!(wild["glance"]["standing"], "failed");

    fs::create_dir(folder.0.join("empty")).unwrap();
    let output = plot("empty");
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("no metrics.jsonl"));
}

#[test]
fn the_mean_of_two_runs_is_half_of_each() {
    let folder = Folder::new("mean");
    let exported = |from: &str, out: &str, average: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tabia-lab"));
        command.args(["train", "export", from, "--out", out]).current_dir(&folder.0);
        if !average.is_empty() {
            command.arg("--average").args(average);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let bytes = fs::read(folder.0.join(out)).unwrap();
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
