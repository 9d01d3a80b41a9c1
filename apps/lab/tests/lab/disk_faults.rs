//! `data build` on full disks and with truncated input.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::program::{Folder, data, succeed};
use crate::sets::games;

/// Builds `input` in a shell after `limit`; gives how it ended, what it complained about and the files that are left.
fn build_within(limit: &str, input: &Path, out: &Path) -> Option<(i32, String, Vec<String>)> {
    const UNABLE: i32 = 77;
    let script = format!("{limit} || exit {UNABLE}; \"$@\"; status=$?; ls \"$OUT\"; exit $status");
    let program = env!("CARGO_BIN_EXE_tabia-lab");
    let mut shell = Command::new("unshare");
    shell.args(["--map-root-user", "--mount", "sh", "-c", &script, "sh", program, "data", "build"]);
    shell.arg(input).args(["--shards", "2", "--threads", "1", "--out"]).arg(out).env("OUT", out);
    let Output { status, stdout, stderr } = shell.stdin(Stdio::null()).output().ok()?;
    let complaint = String::from_utf8_lossy(&stderr).into_owned();
    match status.code() {
        // What `unshare` itself ends with is 1 too.
        Some(1) if complaint.starts_with("unshare:") => None,
        Some(UNABLE) | None => None,
        Some(code) => {
            let left = String::from_utf8_lossy(&stdout).lines().map(str::to_owned).collect();
            Some((code, complaint, left))
        }
    }
}

#[test]
fn a_full_disk_leaves_no_shard_and_no_set() {
    let folder = Folder::new();
    let (input, out) = (folder.file("games.pgn"), folder.file("out"));
    std::fs::write(&input, games(1500, 60)).unwrap();
    std::fs::create_dir_all(&out).unwrap();
    let limits = [
        ("mount -t tmpfs -o size=16k tmpfs \"$OUT\"", "No space left on device"),
        ("trap '' XFSZ && ulimit -f 16", "File too large"),
    ];
    for (limit, reason) in limits {
        let built =
            tabia_requires::of_machine(&format!("leave to `{limit}`"), build_within(limit, &input, &out));
        let Some((code, complaint, left)) = built else { continue };
        assert_eq!(code, 1, "{complaint}");
        assert!(complaint.contains("shard-00000.tabia") && complaint.contains(reason), "{complaint}");
        assert_eq!(left, ["building.json"], "{complaint}");
    }
    // With room, the same command makes the set.
    succeed(data("build").arg(&input).args(["--shards", "2", "--threads", "1", "--out"]).arg(&out));
    succeed(data("verify").arg(&out));
}

#[test]
fn a_truncated_file_is_read_up_to_its_end() {
    let folder = Folder::new();
    let (input, out) = (folder.file("games.pgn.zst"), folder.file("out"));
    let whole = zstd::encode_all(games(1500, 60).as_bytes(), 3).unwrap();
    std::fs::write(&input, &whole[..whole.len() / 2]).unwrap();
    let said = succeed(data("build").arg(&input).arg("--out").arg(&out));
    assert!(
        said.contains("games.pgn.zst, game ") && said.contains("zstd data is truncated at byte"),
        "{said}"
    );
    let verified = succeed(data("verify").arg(&out).arg("--json"));
    let verified: serde_json::Value = serde_json::from_str(&verified).unwrap();
    let records = verified["sets"][0]["records"].as_u64().unwrap();
    assert!((300..1200).contains(&records), "{records} of 1500 games are in about half the bytes");
    let manifest = std::fs::read_to_string(out.join("set.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["sources"][0]["records"], records);
    let broken = serde_json::json!({ "stream broken off or damaged": 1 });
    assert_eq!(manifest["sources"][0]["broken"], broken);
}
