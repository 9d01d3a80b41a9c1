//! Opening books: plain, in archives, and large ones.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use tabia_arena::{Openings, OpeningsErrorKind};

use crate::scripted::folder;

#[test]
fn file_types_are_recognised_by_extension() {
    let folder = folder("books");
    let write = |name: &str, text: &[u8]| -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let zip = |name: &str, files: &[(&str, &str)]| -> PathBuf {
        let path = folder.join(name);
        let mut archive = zip::ZipWriter::new(fs::File::create(&path).unwrap());
        for (name, text) in files {
            archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(text.as_bytes()).unwrap();
        }
        archive.finish().unwrap();
        path
    };
    let fen = "8/8/4k3/8/8/3QK3/8/8 w - - 0 1\n";
    let count = |path: &Path| Openings::open(path).unwrap().list().len();
    assert_eq!(count(&write("a.fen", fen.as_bytes())), 1);
    assert_eq!(count(&write("b.EPD", fen.repeat(2).as_bytes())), 2);
    assert_eq!(count(&write("c.pgn", b"1. e4 *\n\n1. d4 *\n\n1. c4 *\n")), 3);
    assert_eq!(count(&zip("d.epd.zip", &[("d.epd", fen), ("readme.md", "hello")])), 1);
    assert_eq!(count(&zip("e.zip", &[("games/e.pgn", "1. e4 e5 *")])), 1);
    let error = |path: &Path| {
        let error = Openings::open(path).unwrap_err();
        assert_eq!(error.file, path.display().to_string());
        error.kind
    };
    let two_books = zip("f.zip", &[("a.fen", fen), ("b.fen", fen)]);
    assert!(matches!(error(&two_books), OpeningsErrorKind::NotOneBook(2)));
    assert!(matches!(error(&write("g.bin", b"")), OpeningsErrorKind::UnknownFormat));
    assert!(matches!(error(&write("h.zip", b"not a zip")), OpeningsErrorKind::Zip(_)));
    let illegal = write("i.fen", b"# one\n8/8/8/8/8/8/8/8 w - -\n");
    assert!(
        matches!(error(&illegal), OpeningsErrorKind::Line(error) if error.to_string().starts_with("line 2,"))
    );
    assert!(matches!(error(&folder.join("none.fen")), OpeningsErrorKind::Io(_)));
}

#[test]
fn large_books_are_read() {
    for (name, least) in [("8moves_v3.pgn.zip", 30_000), ("noob_3moves.epd.zip", 100_000)] {
        let Some(path) = tabia_requires::shared_data(&format!("books/{name}")) else { return };
        let openings = Openings::open(&path).unwrap();
        assert!(openings.list().len() > least, "{name}: {}", openings.list().len());
    }
}
