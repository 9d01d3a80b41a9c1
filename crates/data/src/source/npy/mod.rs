//! The sets of Learning a Chess Policy: five `.npy` files that hold analysed positions. See `docs/formats/npy.md`.

mod explore;
mod read;
mod write;

pub use explore::NpyFolder;
pub use read::NpySet;
pub use write::NpyWriter;

use std::{
    io,
    path::{Path, PathBuf},
};

use tabia_encoding::NpyHeader;

/// Why a set of `.npy` files cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum NpyError {
    /// I/O failed.
    #[error("{file}: {error}")]
    Io {
        /// Which file.
        file: String,
        /// Why.
        error: io::Error,
    },
    /// The header of a file has an unexpected type or shape.
    #[error("{file}: {what}")]
    Header {
        /// Which file.
        file: String,
        /// What is wrong.
        what: String,
    },
    /// The file name does not end with `_planes.npy`.
    #[error("{0}: expected a file name that ends with _planes.npy")]
    NotPlanes(String),
    /// The arrays have different lengths.
    #[error("{0}")]
    Mismatch(String),
    /// A position that the format cannot represent.
    #[error("record {0}: Chess960 castling rights cannot be represented")]
    Chess960(u64),
    /// Too many rows of analysis for 32-bit offsets.
    #[error("record {0}: more than 4294967295 rows of analysis")]
    TooManyRows(u64),
}

/// An array of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Array {
    Planes,
    Meta,
    Data,
    Offsets,
    Vocabulary,
}

impl Array {
    const ALL: [Array; 5] = [Array::Planes, Array::Meta, Array::Data, Array::Offsets, Array::Vocabulary];

    /// The file of a set whose planes are `{prefix}_planes.npy`.
    fn path(self, folder: &Path, prefix: &str) -> PathBuf {
        folder.join(match self {
            Array::Planes => format!("{prefix}_planes.npy"),
            Array::Meta => format!("{prefix}_meta.npy"),
            Array::Data => format!("{prefix}_analysis_data.npy"),
            Array::Offsets => format!("{prefix}_analysis_offsets.npy"),
            Array::Vocabulary => "vocab.npy".to_owned(),
        })
    }

    /// NumPy's name for the type of the elements.
    fn descr(self) -> &'static str {
        match self {
            Array::Planes | Array::Vocabulary => "|u1",
            Array::Meta => "|i1",
            Array::Data => "<i4",
            Array::Offsets => "<u4",
        }
    }

    /// The shape after the first axis.
    fn inner(self) -> &'static [u64] {
        match self {
            Array::Planes => &[13, 8, 8],
            Array::Meta | Array::Data => &[5],
            Array::Offsets => &[],
            Array::Vocabulary => &[3],
        }
    }

    fn header(self, length: u64) -> NpyHeader {
        let shape = std::iter::once(length).chain(self.inner().iter().copied()).collect();
        NpyHeader { descr: self.descr().to_owned(), fortran_order: false, shape }
    }

    /// The length of the first axis, when the head is that of such an array.
    fn length(self, header: &NpyHeader) -> Result<u64, String> {
        let Some((length, inner)) = header.shape.split_first() else {
            return Err("expected an array, found a scalar".to_owned());
        };
        let expected = self.header(*length);
        if header.descr != expected.descr {
            return Err(format!("has elements of type `{}` (expected `{}`)", header.descr, expected.descr));
        }
        if header.fortran_order {
            return Err("is stored column by column".to_owned());
        }
        if inner != self.inner() {
            return Err(format!("has the shape {:?} (expected {:?})", header.shape, expected.shape));
        }
        Ok(*length)
    }
}
