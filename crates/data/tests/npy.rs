//! Sets of Learning a Chess Policy, against files that NumPy and python-chess made.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    io::{Cursor, ErrorKind, Read},
    path::{Path, PathBuf},
};

use shakmaty::{Chess, Position};
use tabia_data::{
    BytesRead, Chunks, EvaluationRecord, FaultKind, GameRules, Line, NpyError, NpyFolder, NpySet, NpyWriter,
    Part, Session, SourceFile,
};
use tabia_encoding::{ForWhite, Score};
use tabia_game::position_from_fen;
use tempfile::tempdir;

const FILES: [&str; 5] = [
    "golden_planes.npy",
    "golden_meta.npy",
    "golden_analysis_data.npy",
    "golden_analysis_offsets.npy",
    "vocab.npy",
];

/// Where NumPy's data begins in each file.
const HEAD: usize = 128;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data/npy")
}

fn golden() -> [Vec<u8>; 5] {
    FILES.map(|file| std::fs::read(fixtures().join(file)).unwrap())
}

fn read(parts: [Vec<u8>; 5]) -> Result<NpySet, NpyError> {
    NpySet::from_parts("golden", parts.map(|part| Box::new(Cursor::new(part)) as Box<dyn Read + Send>))
}

/// The analysis of the golden set as its text says it.
fn expected() -> Vec<EvaluationRecord> {
    let file = SourceFile::find(&fixtures().join("golden.jsonl")).unwrap().remove(0);
    let mut records: Vec<EvaluationRecord> = Vec::new();
    for chunk in Chunks::open(&file, &BytesRead::default()).unwrap() {
        let parsed = chunk.read(&GameRules::default());
        assert!(parsed.faults.is_empty(), "{}", parsed.faults);
        for row in parsed.evaluations {
            if records.last().is_none_or(|last| last.position != row.position) {
                records.push(EvaluationRecord { position: row.position, sessions: Vec::new() });
            }
            let sessions = &mut records.last_mut().unwrap().sessions;
            if sessions.last().is_none_or(|last| last.depth != row.depth) {
                sessions.push(Session { depth: row.depth, knodes: row.knodes, lines: Vec::new() });
            }
            sessions.last_mut().unwrap().lines.push(row.line);
        }
    }
    records
}

#[test]
fn the_golden_set_matches_its_jsonl() {
    let progress = BytesRead::default();
    let mut set = NpySet::open(&fixtures().join(FILES[0]), &progress).unwrap();
    let records: Vec<EvaluationRecord> = set.by_ref().collect();
    assert!(set.faults().is_empty(), "{}", set.faults());
    assert_eq!(set.positions(), records.len() as u64);
    assert_eq!(records, expected());
    let bytes: usize = golden().iter().map(Vec::len).sum();
    assert_eq!(progress.get(), bytes as u64);
}

#[test]
fn written_files_match_numpy() {
    let folder = tempdir().unwrap();
    let mut writer = NpyWriter::create(folder.path(), "golden").unwrap();
    for record in expected() {
        writer.push(&record).unwrap();
    }
    assert!(FILES.iter().all(|file| !folder.path().join(file).exists()), "no name before the end");
    assert_eq!(writer.finish().unwrap(), 10);
    for (file, golden) in FILES.iter().zip(golden()) {
        assert!(std::fs::read(folder.path().join(file)).unwrap() == golden, "{file}");
    }
    let left = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(left, FILES.len(), "nothing but the set is left");
}

#[test]
fn a_dropped_writer_leaves_no_files() {
    let folder = tempdir().unwrap();
    let mut writer = NpyWriter::create(folder.path(), "golden").unwrap();
    writer.push(&expected()[0]).unwrap();
    drop(writer);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn positions_of_every_rule_round_trip() {
    let folder = tempdir().unwrap();
    let text = include_str!("../../../fixtures/positions.fen");
    let positions: Vec<Chess> = text.lines().map(|fen| position_from_fen(fen).unwrap()).collect();
    let mut writer = NpyWriter::create(folder.path(), "a").unwrap();
    for position in &positions {
        let line = |first| Line { first, score: ForWhite(Score::Centipawns(0)) };
        let lines = position.legal_moves().into_iter().map(line).collect();
        let sessions = vec![Session { depth: 1, knodes: u64::MAX, lines }];
        writer.push(&EvaluationRecord { position: position.clone(), sessions }).unwrap();
    }
    writer.finish().unwrap();
    let mut set = NpySet::open(&folder.path().join("a_planes.npy"), &BytesRead::default()).unwrap();
    let mut count = 0;
    for (record, position) in set.by_ref().zip(&positions) {
        assert_eq!(&record.position, position);
        let moves: Vec<_> = record.sessions[0].lines.iter().map(|line| line.first).collect();
        assert_eq!(moves, position.legal_moves().to_vec());
        assert_eq!(record.sessions[0].knodes, i32::MAX as u64);
        count += 1;
    }
    assert_eq!(count, positions.len());
    assert!(set.faults().is_empty(), "{}", set.faults());
}

#[test]
fn any_order_of_the_vocabulary_is_read() {
    let mut parts = golden();
    parts[4][HEAD..].as_chunks_mut::<3>().0.reverse();
    // Castling may also be spelled as the king taking its rook: e1h1 is in no slot of its own here.
    for row in parts[2][HEAD..].as_chunks_mut::<20>().0 {
        let index = i32::from_le_bytes(*row.first_chunk().unwrap());
        row[..4].copy_from_slice(&(1967 - index).to_le_bytes());
    }
    assert_eq!(read(parts).unwrap().collect::<Vec<_>>(), expected());
}

#[test]
fn invalid_rows_and_positions_are_skipped() {
    let mut parts = golden();
    // The second position gets two kings of a colour on the same square, the third a third side to move.
    parts[0][HEAD + 832..HEAD + 832 + 64].fill(1);
    parts[1][HEAD + 2 * 5] = 7;
    // The first row gets an unknown move, the second an impossible depth, the third a move of another piece.
    parts[2][HEAD..HEAD + 4].copy_from_slice(&1968_i32.to_le_bytes());
    parts[2][HEAD + 24..HEAD + 28].copy_from_slice(&(-1_i32).to_le_bytes());
    parts[2][HEAD + 40..HEAD + 44].copy_from_slice(&1967_i32.to_le_bytes());
    let mut set = read(parts).unwrap();
    let records: Vec<_> = set.by_ref().collect();
    let expected = expected();
    assert_eq!(records.len(), expected.len() - 2);
    assert_eq!(records[0].sessions[0].lines, expected[0].sessions[0].lines[3..]);
    assert_eq!(records[1..], expected[3..]);
    let counts: Vec<_> = set.faults().iter().map(|(kind, count)| (kind, count.count)).collect();
    let once = [FaultKind::IllegalMove, FaultKind::BadNumber, FaultKind::UnknownMove].map(|kind| (kind, 1));
    assert_eq!(counts, [&[(FaultKind::BadPosition, 2)], &once[..]].concat());
}

#[test]
fn a_truncated_file_yields_its_beginning() {
    for (file, keep) in [(0, HEAD + 832 * 4 + 17), (1, HEAD + 5 * 4), (3, HEAD + 4 * 5 + 3)] {
        let mut parts = golden();
        parts[file].truncate(keep);
        let mut set = read(parts).unwrap();
        assert_eq!(set.by_ref().collect::<Vec<_>>(), expected()[..4], "{}", FILES[file]);
        assert_eq!(set.faults().count(FaultKind::StreamFailed), 1);
        let (_, fault) = set.faults().iter().next().unwrap();
        assert_eq!(fault.examples[0].at.part, Part::Record(5));
    }
    let mut parts = golden();
    parts[3][HEAD + 4 * 5..HEAD + 4 * 6].copy_from_slice(&2_u32.to_le_bytes());
    let mut set = read(parts).unwrap();
    assert_eq!(set.by_ref().count(), 4);
    assert_eq!(set.faults().count(FaultKind::StreamFailed), 1);
}

#[test]
fn invalid_files_are_errors() {
    let refused = |change: &dyn Fn(&mut [Vec<u8>; 5])| {
        let mut parts = golden();
        change(&mut parts);
        read(parts).err().expect("refused")
    };
    let of = |file: &str, array: &str| file.contains(array);
    let empty = refused(&|parts| parts[0].clear());
    assert!(
        matches!(empty, NpyError::Io { file, error } if of(&file, "Planes") && error.kind() == ErrorKind::UnexpectedEof)
    );
    let magic = refused(&|parts| parts[1][0] = 0);
    assert!(
        matches!(magic, NpyError::Io { file, error } if of(&file, "Meta") && error.kind() == ErrorKind::InvalidData)
    );
    let swapped = refused(&|parts| parts.swap(0, 1));
    assert!(matches!(swapped, NpyError::Header { file, .. } if of(&file, "Planes")));
    let shape = refused(&|parts| parts[0] = parts[4].clone());
    assert!(matches!(shape, NpyError::Header { file, .. } if of(&file, "Planes")));
    let short = refused(&|parts| {
        let at = parts[1].windows(4).position(|text| text == b"(10,").unwrap();
        parts[1][at + 2] = b'1';
    });
    assert!(matches!(short, NpyError::Mismatch(_)));
    let absent = NpySet::open(Path::new("/absent/x_planes.npy"), &BytesRead::default()).err().unwrap();
    assert!(matches!(absent, NpyError::Io { file, .. } if file == "/absent/x_planes.npy"));
    assert!(matches!(NpySet::open(Path::new("x.npy"), &BytesRead::default()), Err(NpyError::NotPlanes(_))));
}

#[test]
fn positions_read_by_number_are_those_read_in_order() {
    let folder = NpyFolder::open(&fixtures().join("golden_planes.npy")).unwrap();
    let in_order: Vec<EvaluationRecord> = read(golden()).unwrap().collect();
    let by_number: Vec<EvaluationRecord> =
        (0..folder.positions()).filter_map(|index| folder.record(index).ok()).collect();
    let analysed: Vec<_> = by_number.into_iter().filter(|record| !record.sessions.is_empty()).collect();
    assert_eq!(analysed, in_order);
    assert!(matches!(folder.record(folder.positions()), Err(NpyError::Mismatch(_))));
    assert!(matches!(NpyFolder::open(&fixtures().join("vocab.npy")), Err(NpyError::NotPlanes(_))));
}
