//! PGN files as tables: order, threads, columns, faults.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use arrow_array::{Array as _, RecordBatch, StringArray, UInt16Array, UInt32Array};
use tabia_tables::{GameReader, ReadError, ReadOptions};
use tempfile::tempdir;

fn games(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, n| {
        let _infallible = write!(
            text,
            "[Event \"{n}\"]\n[White \"someone\"]\n[WhiteElo \"{}\"]\n\n1. e4 e5 {{ {} }} 2. Nf3 1-0\n\n",
            1000 + n % 1000,
            "words ".repeat(20)
        );
        text
    })
}

fn read(path: &Path, options: &ReadOptions) -> (Vec<RecordBatch>, u64) {
    let mut reader = GameReader::open(path, options).unwrap();
    let (mut tables, mut faults) = (Vec::new(), 0);
    while let Some(table) = reader.next_polling(&mut || ControlFlow::Continue(())).unwrap() {
        faults += table.faults.iter().map(|(_, count)| count.count).sum::<u64>();
        tables.push(table.games);
    }
    assert_eq!(reader.bytes_read(), reader.bytes());
    (tables, faults)
}

fn events(tables: &[RecordBatch]) -> Vec<String> {
    let text = |table: &RecordBatch| {
        let column = table.column_by_name("event").unwrap();
        let column = column.as_any().downcast_ref::<StringArray>().unwrap();
        (0..column.len()).map(|row| column.value(row).to_owned()).collect::<Vec<_>>()
    };
    tables.iter().flat_map(text).collect()
}

#[test]
fn games_keep_their_order_whatever_the_threads() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("games.pgn");
    std::fs::write(&path, games(20_000)).unwrap();
    let expected: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
    for threads in [1, 4] {
        let (tables, faults) = read(&path, &ReadOptions { threads, ..ReadOptions::default() });
        assert!(tables.len() > 2, "{} tables", tables.len());
        assert_eq!((events(&tables), faults), (expected.clone(), 0));
    }
}

#[test]
fn chosen_columns_come_in_their_order() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("games.pgn");
    std::fs::write(&path, games(3)).unwrap();
    let columns = Some(vec!["plies".to_owned(), "white_elo".to_owned()]);
    let (tables, _) = read(&path, &ReadOptions { columns, ..ReadOptions::default() });
    let [table] = tables.as_slice() else { panic!("{} tables", tables.len()) };
    assert_eq!(table.schema().fields().len(), 2);
    let plies = table.column(0).as_any().downcast_ref::<UInt32Array>().unwrap();
    let ratings = table.column(1).as_any().downcast_ref::<UInt16Array>().unwrap();
    assert_eq!(plies.values().to_vec(), [3, 3, 3]);
    assert_eq!(ratings.values().to_vec(), [1000, 1001, 1002]);

    let unknown = ReadOptions { columns: Some(vec!["winner".to_owned()]), ..ReadOptions::default() };
    let error = GameReader::open(&path, &unknown).err().unwrap();
    assert!(matches!(&error, ReadError::Column { name, .. } if name == "winner"), "{error}");
}

#[test]
fn a_folder_is_read_file_by_file_and_faults_are_counted() {
    let folder = tempdir().unwrap();
    std::fs::write(folder.path().join("a.pgn"), games(2)).unwrap();
    std::fs::write(folder.path().join("b.pgn"), "[Event \"broken\"]\n\n1. e5 *\n\n").unwrap();
    std::fs::write(folder.path().join("c.pgn"), "[Event \"last\"]\n\n1. d4 *\n\n").unwrap();
    std::fs::write(folder.path().join("puzzles.epd"), "").unwrap();
    let (tables, faults) = read(folder.path(), &ReadOptions::default());
    assert_eq!(events(&tables), ["0", "1", "last"]);
    assert_eq!(faults, 1);
}

#[test]
fn what_is_not_pgn_is_refused() {
    let folder = tempdir().unwrap();
    assert!(GameReader::open(&folder.path().join("none.pgn"), &ReadOptions::default()).is_err());
    let path = folder.path().join("puzzles.epd");
    std::fs::write(&path, "8/8/8/8/8/8/8/8 w - -\n").unwrap();
    assert!(GameReader::open(&path, &ReadOptions::default()).is_err());
}

#[test]
fn a_dropped_reader_ends_its_threads_and_a_cancelled_one_waits_for_nothing() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("games.pgn");
    std::fs::write(&path, games(20_000)).unwrap();
    let mut reader = GameReader::open(&path, &ReadOptions { threads: 2, ..ReadOptions::default() }).unwrap();
    // There may be a table before anything is cancelled.
    let first = reader.next_polling(&mut || ControlFlow::Break(()));
    assert!(matches!(first, Ok(Some(_)) | Err(ReadError::Cancelled)));
    drop(reader);
}
