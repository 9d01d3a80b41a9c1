//! Files as tables.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use tabia_query::{Resources, RowFormat, Session, write_rows};
use tempfile::{TempDir, tempdir};

const GAMES: &str = "[Event \"Rated Blitz game\"]\n[Site \"https://lichess.org/abcd1234\"]\n[Date \"2024.01.02\"]\n[White \"Ann\"]\n\
[Black \"Bob\"]\n[WhiteElo \"1675\"]\n[BlackElo \"1700\"]\n[ECO \"A00\"]\n[TimeControl \"180+2\"]\n[Result \"0-1\"]\n\n\
1. f3 { [%eval -0.5] [%clk 0:03:00] } e5 2. g4 { [%eval #-1] } Qh4# 0-1\n\n\
[Event \"b\"]\n\n1. e4 Ke7 *\n\n[Event \"c\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. O-O 1/2-1/2\n";

fn session(folder: &TempDir) -> Session {
    let temp = folder.path().join("temp");
    Session::new(&Resources { memory: 256 << 20, threads: 2, temp }).unwrap()
}

/// The rows of a query as CSV; `{}` is the folder.
async fn csv(session: &Session, folder: &TempDir, sql: &str) -> String {
    let sql = sql.replace("{}", &folder.path().display().to_string());
    let mut out = Vec::new();
    let rows = session.rows(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    write_rows(rows, RowFormat::Csv, &mut out).await.unwrap();
    String::from_utf8(out).unwrap()
}

#[tokio::test]
async fn games_have_their_columns() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("g.pgn"), GAMES).unwrap();
    let session = session(&folder);
    let rows = csv(
        &session,
        &folder,
        "select game, white, black, white_elo, black_elo, pool, result, time_control, base_s, increment_s, plies, eco, \
         event, site, date from pgn('{}') order by game",
    );
    assert_eq!(
        rows.await.lines().skip(1).collect::<Vec<_>>(),
        [
            "1,Ann,Bob,1675,1700,lichess,0-1,180+2,180.0,2.0,4,A00,Rated Blitz game,https://lichess.org/abcd1234,2024.01.02",
            "3,,,,,unknown,1/2-1/2,,,,7,,c,,"
        ]
    );
    assert_eq!((session.reading().rows(), session.reading().faults()), (2, 1));
    let lists =
        csv(&session, &folder, "select moves, clocks, evals from pgn('{}/g.pgn', 'online') where game = 1")
            .await;
    assert_eq!(
        lists.lines().nth(1).unwrap(),
        "\"[f2f3, e7e5, g2g4, d8h4]\",\"[180.0, , , ]\",\"[{cp: -50, mate: }, , {cp: , mate: -1}, ]\""
    );
    let castled =
        csv(&session, &folder, "select moves[7], pool from pgn('{}/g.pgn', 'over-the-board') where game = 3");
    assert_eq!(castled.await.lines().nth(1), Some("e1g1,over-the-board"));
    let keyed = csv(&session, &folder, "select count(distinct key), count(record) from pgn('{}')").await;
    assert_eq!(keyed.lines().nth(1), Some("2,2"));
}

#[tokio::test]
async fn evaluations_are_equal_from_json_and_parquet() {
    let folder = tempdir().unwrap();
    let row = |fen: &str, depth: u8, pvs: &str| {
        format!("{{\"fen\":\"{fen}\",\"evals\":[{{\"knodes\":100,\"depth\":{depth},\"pvs\":[{pvs}]}}]}}\n")
    };
    let text = row(
        "r3k2r/8/8/8/8/8/8/R3K2R w KQkq -",
        30,
        "{\"cp\":12,\"line\":\"e1h1 e8h8\"},{\"mate\":5,\"line\":\"a1a8\"}",
    ) + &row("4k3/8/8/8/8/8/4P3/4K3 w - -", 22, "{\"cp\":300,\"line\":\"e2e4\"}")
        + "not json\n";
    fs::write(folder.path().join("e.jsonl"), text).unwrap();
    let session = session(&folder);
    let sql = "select fen, \"move\", depth, knodes, cp, mate, key from evaluations('{}/e.jsonl') order by fen, \"move\"";
    let rows = csv(&session, &folder, sql).await;
    let cells: Vec<Vec<&str>> = rows.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!(cells.len(), 3);
    assert_eq!(cells[1][..6], ["r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "a1a8", "30", "100", "", "5"]);
    assert_eq!(cells[2][..6], ["r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1g1", "30", "100", "12", ""]);
    assert_eq!(cells[1][6], cells[2][6], "one position, one key");
    let parquet = folder.path().join("e.parquet");
    let copy = format!(
        "copy (select fen, \"move\" as line, depth, knodes, cp, mate from evaluations('{}')) to '{}' stored as parquet",
        folder.path().join("e.jsonl").display(),
        parquet.display()
    );
    session.context().sql(&copy).await.unwrap().collect().await.unwrap();
    let from_parquet = csv(&session, &folder, &sql.replace("e.jsonl", "e.parquet")).await;
    assert_eq!(from_parquet, rows);
    // Any Parquet file is a table by its path, but not one of evaluations.
    assert!(csv(&session, &folder, "select count(*) from '{}/e.parquet'").await.ends_with("\n3\n"));
    let same =
        csv(&session, &folder, "select count(*) from '{}/e.parquet' where fen_key(fen) is not null").await;
    assert!(same.ends_with("\n3\n"));
}

#[tokio::test]
async fn puzzles_have_a_rating_and_moves() {
    let folder = tempdir().unwrap();
    let epd = "6k1/5ppp/8/8/8/8/8/R3K3 w Q - bm Ra8# pv Ra8# c0 \"Rating: 800, Popularity: 90\";\n";
    fs::write(folder.path().join("p.epd"), epd).unwrap();
    let session = session(&folder);
    let rows =
        csv(&session, &folder, "select rating, plies, moves, side(fen) from puzzles('{}/p.epd')").await;
    assert_eq!(rows.lines().nth(1), Some("800,1,[a1a8],w"), "{rows}");
}

#[tokio::test]
async fn invalid_queries_fail() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("g.pgn"), GAMES).unwrap();
    fs::write(folder.path().join("x.pgn.zst"), b"\x28\xB5\x2F\xFDgarbage and nothing else").unwrap();
    let session = session(&folder);
    for (sql, part) in [
        ("select * from pgn('{}/absent.pgn')", "absent.pgn"),
        ("select * from pgn()", "takes a path"),
        ("select * from pgn('{}/g.pgn', 'martian')", "martian"),
        ("select * from evaluations('{}/g.pgn')", "g.pgn"),
        ("select * from shards('{}')", "set.json"),
        ("select nothing from pgn('{}/g.pgn')", "nothing"),
        ("selekt", "selekt"),
    ] {
        let sql = sql.replace("{}", &folder.path().display().to_string());
        let Err(error) = session.rows(&sql).await else { panic!("{sql} has to fail") };
        assert!(error.to_string().to_lowercase().contains(part), "{sql}: {error}");
    }
    let unreadable = csv(&session, &folder, "select count(*) from pgn('{}/x.pgn.zst')").await;
    assert!(unreadable.ends_with("\n0\n"));
    assert_eq!(session.reading().faults(), 1, "a damaged file is a fault that is counted");
}
