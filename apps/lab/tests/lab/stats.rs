//! `data stats`: tables, JSON and charts.

use serde_json::Value;
use tabia_data::SourceKind;

use crate::program::{Folder, data, fail, succeed};
use crate::sets::{games, write_set};

#[test]
fn statistics_as_tables_and_json() {
    let folder = Folder::new();
    let set = folder.file("set");
    write_set(&set, SourceKind::Pgn, &games(30, 40), 3);
    let said = succeed(data("stats").arg(&set));
    for part in [
        "games         30",
        "clocks        15 games (50.0%), 600 plies (50.0%)",
        "games by rating and time control",
        "1400-1599",
        "40-59",
        "1/2-1/2  10  33.3%",
        "online",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let json: Value = serde_json::from_str(&succeed(data("stats").arg(&set).arg("--json"))).unwrap();
    let games = &json["stats"]["games"];
    assert_eq!((&games["games"], &games["plies"]), (&Value::from(30), &Value::from(1200)));
    assert_eq!(games["ratings"]["1400-1599"]["blitz"], 20);
    assert_eq!(games["results"]["1-0"], 10);
}

#[test]
fn charts_are_complete_and_follow_the_theme() {
    let folder = Folder::new();
    let set = folder.file("a <set>");
    write_set(&set, SourceKind::Pgn, &games(30, 40), 2);
    let (svg, html) = (folder.file("stats.svg"), folder.file("stats.html"));
    succeed(data("stats").arg(&set).arg("--svg").arg(&svg));
    succeed(data("stats").arg(&set).arg("--html").arg(&html));
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(svg.starts_with("<svg xmlns") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains("prefers-color-scheme:dark") && svg.contains("a &lt;set&gt;"));
    assert!(svg.contains("1400-1599, blitz: 20") && !svg.contains("NaN"));
    let open = svg.matches("<text").count() + svg.matches("<rect").count() + svg.matches("<title").count();
    let closed =
        svg.matches("</text>").count() + svg.matches("</title>").count() + svg.matches("</rect>").count();
    // Rectangles with nothing in them close themselves.
    assert_eq!(open, closed + svg.matches("/>").count());
    let html = std::fs::read_to_string(html).unwrap();
    assert!(
        html.starts_with("<!doctype html>")
            && html.contains("<svg")
            && !html.contains("http://www.w3.org/1999")
    );
    assert!(!folder.file("stats.svg.part").exists());
    let (_, complaint) = fail(data("stats").arg(&set).arg("--svg").arg(folder.file("no/such/folder.svg")));
    assert!(complaint.contains("no/such/folder.svg"), "{complaint}");
}
