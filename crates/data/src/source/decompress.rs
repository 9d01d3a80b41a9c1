#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    io::{self, BufRead, Chain, Cursor, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;

/// The largest zstd window that is accepted, as a power of two: 2 GiB, as written by `zstd --long=31`.
const ZSTD_WINDOW_LOG: u32 = 31;

/// Counter of bytes read from disk, for progress meters. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct BytesRead(Arc<AtomicU64>);

impl BytesRead {
    /// The bytes so far, before decompression.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts bytes that were read by other means.
    pub fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// The compression of a stream, detected from its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Zstd,
    Gzip,
    Bzip2,
}

impl Compression {
    fn of(head: &[u8]) -> Compression {
        match head {
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Compression::Zstd,
            [0x1F, 0x8B, ..] => Compression::Gzip,
            // The first block, or the end of an empty stream.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, ..] => Compression::Bzip2,
            _ => Compression::None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Compression::None => "plain",
            Compression::Zstd => "zstd",
            Compression::Gzip => "gzip",
            Compression::Bzip2 => "bzip2",
        }
    }
}

/// A stream that is decompressed according to its first bytes. Concatenated zstd frames, gzip members and bzip2 streams
/// are read as one.
///
/// A truncated or damaged stream yields everything before the fault and then an error with the offset in the file.
pub(super) struct Decompressed {
    inner: Box<dyn Read + Send>,
    compression: Compression,
    /// Bytes of the compressed stream used by this stream alone.
    used: BytesRead,
}

impl Decompressed {
    pub(super) fn new(
        input: impl BufRead + Send + 'static,
        progress: &BytesRead,
    ) -> io::Result<Decompressed> {
        let used = BytesRead::default();
        let mut input = Counted { input, used: used.clone(), progress: progress.clone() };
        let mut head = Vec::new();
        (&mut input).take(5).read_to_end(&mut head)?;
        let compression = Compression::of(&head);
        let input: Chain<Cursor<Vec<u8>>, _> = Cursor::new(head).chain(input);
        let inner: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(input),
            Compression::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(input)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Box::new(decoder)
            }
            Compression::Gzip => Box::new(MultiGzDecoder::new(input)),
            Compression::Bzip2 => Box::new(MultiBzDecoder::new(input)),
        };
        Ok(Decompressed { inner, compression, used })
    }
}

impl Read for Decompressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| {
            if error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            let (byte, kind) = (self.used.get(), error.kind());
            let what = match (self.compression, kind) {
                (Compression::None, _) => format!("read error at byte {byte}: {error}"),
                (compression, io::ErrorKind::UnexpectedEof) => {
                    format!("{} data is truncated at byte {byte} of the file", compression.name())
                }
                (compression, _) => {
                    format!("{} data is damaged before byte {byte} of the file: {error}", compression.name())
                }
            };
            io::Error::new(kind, what)
        })
    }
}

/// Counts the bytes a decoder takes.
struct Counted<R> {
    input: R,
    used: BytesRead,
    progress: BytesRead,
}

impl<R> Counted<R> {
    fn count(&self, bytes: usize) {
        self.used.add(bytes);
        self.progress.add(bytes);
    }
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.count(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.input.consume(amount);
        self.count(amount);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn text() -> Vec<u8> {
        (0..60_000_u32)
            .flat_map(|n| format!("{} {n}\n", n.wrapping_mul(2_654_435_761)).into_bytes())
            .collect()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        zstd::encode_all(text, 3).unwrap()
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn bzip2(text: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(file: &[u8]) -> (Vec<u8>, io::Result<()>) {
        let mut out = Vec::new();
        let result = Decompressed::new(Cursor::new(file.to_vec()), &BytesRead::default())
            .and_then(|mut stream| stream.read_to_end(&mut out).map(drop));
        (out, result)
    }

    #[test]
    fn short_files_and_skippable_frames_are_read() {
        for short in [&b""[..], b"a", b"BZh", b"\x28\xB5"] {
            assert_eq!(read(short).0, short, "too short to be compressed");
        }
        let skippable = [&b"\x50\x2A\x4D\x18\x03\0\0\0abc"[..], &zstd(b"the end")].concat();
        assert_eq!(read(&skippable).0, b"the end");
    }

    #[test]
    fn a_large_window_is_read() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(28).unwrap();
        encoder.long_distance_matching(true).unwrap();
        encoder.write_all(b"1. e4").unwrap();
        assert_eq!(read(&encoder.finish().unwrap()).0, b"1. e4");
    }

    #[test]
    fn a_damaged_stream_is_an_error() {
        let text = text();
        for (name, compress) in [("zstd", zstd as fn(&[u8]) -> Vec<u8>), ("gzip", gzip), ("bzip2", bzip2)] {
            let mut file = compress(&text);
            let middle = file.len() / 2;
            file[middle..middle + 50].fill(0xA5);
            let error = read(&file).1.expect_err("the file is damaged");
            assert!(error.to_string().contains(name), "{error}");
            let trailing = [compress(b"1. e4\n"), b"garbage".to_vec()].concat();
            let (out, result) = read(&trailing);
            assert_eq!(out, b"1. e4\n");
            assert!(result.is_err(), "{name} with something else after it");
        }
    }
}
