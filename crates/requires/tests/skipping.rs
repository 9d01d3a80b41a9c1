//! Runs tests of this binary with other environment variables.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

/// Runs one of the ignored tests below.
fn run(test: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", test]);
    for name in ["TABIA_REQUIRE_ALL", "TABIA_SKIP_LOG", "NEXTEST_BINARY_ID", "NEXTEST_TEST_NAME"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied()).output().unwrap()
}

#[test]
#[ignore = "run by the tests of this file"]
fn needs_what_is_not_there() {
    assert!(tabia_requires::shared_data("no/such/file").is_none());
    assert!(tabia_requires::python(&["no_such_module"]).is_none());
    assert!(tabia_requires::program("no-such-program").is_none());
}

#[test]
#[ignore = "run by the tests of this file"]
fn needs_another_machine() {
    assert!(tabia_requires::of_machine("a GPU", None::<()>).is_none());
}

#[test]
fn a_skipped_test_passes_and_is_logged() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("skipped");
    let variables = [("TABIA_SKIP_LOG", log.to_str().unwrap())];
    let output = run("needs_what_is_not_there", &variables);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("needs shared data (no/such/file)"), "{said}");
    assert!(run("needs_another_machine", &variables).status.success());
    let noted = std::fs::read_to_string(&log).unwrap();
    let rows: Vec<Vec<&str>> = noted.lines().map(|line| line.split('\t').collect()).collect();
    let needs: Vec<(&str, &str)> = rows.iter().map(|row| (row[0], row[1])).collect();
    assert_eq!(
        needs,
        [
            ("missing", "shared data (no/such/file)"),
            ("missing", "Python with no_such_module"),
            ("missing", "no-such-program"),
            ("machine", "a GPU"),
        ]
    );
    assert!(rows.iter().all(|row| row[2].starts_with("skipping ")), "{noted}");
}

#[test]
fn required_tests_fail_instead_of_being_skipped() {
    let output = run("needs_what_is_not_there", &[("TABIA_REQUIRE_ALL", "1")]);
    assert!(!output.status.success());
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("this test needs shared data (no/such/file)"), "{said}");
    assert!(run("needs_another_machine", &[("TABIA_REQUIRE_ALL", "1")]).status.success());
    assert!(run("needs_what_is_not_there", &[("TABIA_REQUIRE_ALL", "0")]).status.success());
}

#[test]
fn available_requirements_are_returned() {
    let cargo = tabia_requires::program("cargo");
    assert!(cargo.is_some());
    assert!(tabia_requires::installed("it", Some(3)).is_some());
}
