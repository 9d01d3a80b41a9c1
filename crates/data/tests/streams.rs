//! Input files: compressed, truncated, damaged, concatenated, misnamed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::io::{ErrorKind, Write};

use tabia_data::{
    BytesRead, Chunks, FaultKind, Faults, GameRules, OpenError, ParsedChunk, Part, SourceFile, SourceKind,
};
use tempfile::{TempDir, tempdir};

fn file(folder: &TempDir, name: &str, content: &[u8]) -> SourceFile {
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    SourceFile::find(&path).unwrap().remove(0)
}

fn read(file: &SourceFile) -> ParsedChunk {
    let progress = BytesRead::default();
    let mut all = ParsedChunk::default();
    for chunk in Chunks::open(file, &progress).unwrap() {
        let part = chunk.read(&GameRules::default());
        all.games.extend(part.games);
        all.evaluations.extend(part.evaluations);
        all.faults.merge(part.faults);
    }
    assert_eq!(Some(progress.get()), file.bytes);
    all
}

fn games(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, n| {
        let opening = ["e4 e5", "d4 d5", "c4 c5", "Nf3 Nf6"][n % 4];
        let _infallible =
            write!(text, "[Event \"{n}\"]\n[White \"player {}\"]\n\n1. {opening} 1-0\n\n", n * 7919 % 1000);
        text
    })
}

fn zstd(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 1).unwrap()
}

fn bzip2(text: &str) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn counts(faults: &Faults) -> Vec<(FaultKind, u64)> {
    faults.iter().map(|(kind, count)| (kind, count.count)).collect()
}

#[test]
fn compression_is_detected_by_content() {
    let folder = tempdir().unwrap();
    let text = games(100);
    for (name, content) in [
        ("a.pgn", zstd(&text)),
        ("b.pgn.zst", text.clone().into_bytes()),
        ("c.pgn.zst", gzip(&text)),
        ("d.pgn.gz", bzip2(&text)),
        ("e.zst", zstd(&text)),
        ("f", gzip(&text)),
    ] {
        let parsed = read(&file(&folder, name, &content));
        assert!(parsed.faults.is_empty(), "{name}: {}", parsed.faults);
        assert_eq!(parsed.games.len(), 100, "{name}");
    }
}

#[test]
fn concatenated_files_are_read_as_one() {
    let folder = tempdir().unwrap();
    let text = games(2_000);
    // Not at the end of a game.
    let (first, second) = text.split_at(text.len() / 2 + 11);
    for compress in [zstd, gzip, bzip2] {
        let parsed = read(&file(&folder, "joined.pgn", &[compress(first), compress(second)].concat()));
        assert!(parsed.faults.is_empty(), "{}", parsed.faults);
        assert_eq!(parsed.games.len(), 2_000);
    }
}

#[test]
fn chunks_can_be_read_by_many_threads() {
    let folder = tempdir().unwrap();
    let text = games(30_000);
    let file = file(&folder, "many.pgn", text.as_bytes());
    let chunks: Vec<_> = Chunks::open(&file, &BytesRead::default()).unwrap().collect();
    assert!(chunks.len() > 1);
    let whole: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            chunks.iter().map(|chunk| scope.spawn(|| chunk.read(&GameRules::default()).games)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(whole == read(&file).games);
    assert_eq!(whole.len(), 30_000);
}

#[test]
fn a_truncated_stream_yields_its_complete_games() {
    let folder = tempdir().unwrap();
    let text = games(30_000);
    for (name, compress) in [("zstd", zstd as fn(&str) -> Vec<u8>), ("gzip", gzip), ("bzip2", bzip2)] {
        let content = compress(&text);
        let cut = content.len() * 2 / 3;
        let parsed = read(&file(&folder, "cut.pgn.zst", &content[..cut]));
        assert!(parsed.games.len() > 5_000, "{name}: {}", parsed.games.len());
        assert!(parsed.games.iter().all(|game| game.plies.len() == 2), "{name}: the last game is whole");
        assert_eq!(counts(&parsed.faults), [(FaultKind::StreamFailed, 1)]);
        let example = &parsed.faults.iter().next().unwrap().1.examples[0];
        assert!(example.at.source.ends_with("cut.pgn.zst") && matches!(example.at.part, Part::Game { .. }));
        assert!(example.what.contains(name) && example.what.contains(&cut.to_string()), "{example:?}");
    }
}

#[test]
fn a_damaged_stream_yields_its_complete_lines() {
    let folder = tempdir().unwrap();
    let text: String = (0..40_000).fold(String::new(), |mut text, n| {
        let knodes = n * 7919 % 10_000;
        let _infallible = writeln!(
            text,
            "{{\"fen\":\"8/8/4k3/8/8/3QK3/8/8 w - -\",\"line\":\"d3d{}\",\"depth\":9,\"knodes\":{knodes},\"cp\":{n}}}",
            n % 5 + 4
        );
        text
    });
    let mut content = zstd(&text);
    let middle = content.len() / 2;
    content[middle..middle + 64].fill(0x5A);
    let parsed = read_damaged(&file(&folder, "rows.jsonl.zst", &content));
    assert!(parsed.evaluations.len() > 5_000, "{}", parsed.evaluations.len());
    assert_eq!(counts(&parsed.faults), [(FaultKind::StreamFailed, 1)]);
}

/// As [`read`], for files that are not read to their end.
fn read_damaged(file: &SourceFile) -> ParsedChunk {
    let mut chunks = Chunks::open(file, &BytesRead::default()).unwrap();
    let mut all = ParsedChunk::default();
    for part in chunks.by_ref().map(|chunk| chunk.read(&GameRules::default())) {
        all.evaluations.extend(part.evaluations);
        all.faults.merge(part.faults);
    }
    assert!(chunks.next().is_none());
    all
}

#[test]
fn overlong_games_and_lines_are_counted() {
    let folder = tempdir().unwrap();
    let text = format!("[Event \"a\"]\n\n1. e4 {{{}}} 1-0\n\n{}", "x".repeat(5 << 20), games(3));
    let parsed = read(&file(&folder, "long.pgn", text.as_bytes()));
    assert_eq!((parsed.games.len(), parsed.faults.count(FaultKind::TooLong)), (3, 1));
    let text = format!("{}\n8/8/4k3/8/8/3QK3/8/8 w - -\n", "x".repeat(5 << 20));
    let parsed = read(&file(&folder, "long.epd", text.as_bytes()));
    assert_eq!((parsed.games.len(), parsed.faults.count(FaultKind::TooLong)), (1, 1));
    let (_, fault) = parsed.faults.iter().next().unwrap();
    assert_eq!((fault.examples[0].at.offset, fault.examples[0].at.part), (0, Part::Line(1)));
}

#[test]
fn unknown_formats_are_errors_and_empty_files_are_empty() {
    let folder = tempdir().unwrap();
    let unknown =
        Chunks::open(&file(&folder, "data.bin", &[0xFF; 300]), &BytesRead::default()).err().unwrap();
    assert!(matches!(unknown, OpenError::UnknownKind(_)), "{unknown}");
    let table = Chunks::open(&file(&folder, "x.parquet", b"PAR1"), &BytesRead::default()).err().unwrap();
    assert!(matches!(table, OpenError::NotAText(_)), "{table}");
    let cut =
        Chunks::open(&file(&folder, "cut", &zstd(&games(9))[..20]), &BytesRead::default()).err().unwrap();
    assert!(matches!(&cut, OpenError::Io { error, .. } if error.kind() == ErrorKind::UnexpectedEof), "{cut}");
    for name in ["empty.pgn", "empty.jsonl", "empty.csv", "empty.epd"] {
        let empty = file(&folder, name, b"");
        assert_eq!(Chunks::open(&empty, &BytesRead::default()).unwrap().count(), 0);
        let whole = file(&folder, name, &zstd(" \n\n"));
        assert_eq!(Chunks::open(&whole, &BytesRead::default()).unwrap().count(), 0);
    }
    let named = file(&folder, "x.pgn", b"1. e4 *");
    assert_eq!(Chunks::open(&named, &BytesRead::default()).unwrap().kind(), SourceKind::Pgn);
}

#[test]
fn garbage_is_counted_as_faults() {
    let folder = tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(5);
    let garbage: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(300_000).collect();
    for name in ["a.pgn", "a.epd", "a.csv", "a.jsonl"] {
        let parsed = read(&file(&folder, name, &garbage));
        assert!(parsed.games.is_empty() && parsed.evaluations.is_empty());
        assert!(parsed.faults.total() > 0, "{name}");
        assert!(parsed.faults.to_string().lines().count() < 60);
    }
}
