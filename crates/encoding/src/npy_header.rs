#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::io::{self, Read};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Limit on the length of a header in bytes; NumPy has the same by default.
const LONGEST: usize = 10_000;

/// NumPy pads headers so that the first axis can grow to this many digits in place.
const GROWTH: usize = 21;

/// Alignment of the data.
const ALIGNMENT: usize = 64;

/// The header of an `.npy` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NpyHeader {
    /// NumPy's name of the element type, such as `<i4`.
    pub descr: String,
    /// Whether the first axis is the fastest.
    pub fortran_order: bool,
    /// The length of each axis.
    pub shape: Vec<u64>,
}

impl NpyHeader {
    /// Reads a header of any version; `input` is left at the data.
    ///
    /// # Errors
    /// If it is not such a header, or `input` fails.
    pub fn read(input: &mut impl Read) -> io::Result<NpyHeader> {
        let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let mut magic = [0; 8];
        input.read_exact(&mut magic)?;
        let [name @ .., major, _minor] = magic;
        if &name != MAGIC {
            return Err(bad("not an .npy file"));
        }
        let length = match major {
            1 => {
                let mut bytes = [0; 2];
                input.read_exact(&mut bytes)?;
                usize::from(u16::from_le_bytes(bytes))
            }
            2 | 3 => {
                let mut bytes = [0; 4];
                input.read_exact(&mut bytes)?;
                usize::try_from(u32::from_le_bytes(bytes)).unwrap_or(usize::MAX)
            }
            _ => return Err(bad("unknown .npy version")),
        };
        if length > LONGEST {
            return Err(bad("the .npy header is too long"));
        }
        let mut text = vec![0; length];
        input.read_exact(&mut text)?;
        let text = str::from_utf8(&text).map_err(|_| bad("the .npy header is not UTF-8"))?;
        parse(text).ok_or_else(|| bad("invalid .npy header"))
    }

    /// The header as NumPy writes it (version 1.0). Its length does not depend on the first axis, so that it can be
    /// overwritten when that is known.
    pub fn to_bytes(&self) -> Vec<u8> {
        let order = if self.fortran_order { "True" } else { "False" };
        let lengths: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        let comma = if lengths.len() == 1 { "," } else { "" };
        let mut text = format!(
            "{{'descr': '{}', 'fortran_order': {order}, 'shape': ({}{comma}), }}",
            self.descr,
            lengths.join(", ")
        );
        let digits = lengths.first().map_or(GROWTH, String::len);
        text.extend(std::iter::repeat_n(' ', GROWTH.saturating_sub(digits)));
        let unpadded = MAGIC.len() + 4 + text.len() + 1;
        text.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(ALIGNMENT) - unpadded));
        text.push('\n');
        let length = u16::try_from(text.len()).unwrap_or(u16::MAX); // shapes of a few axes are far from it
        [&MAGIC[..], &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat()
    }
}

/// Parses the Python dictionary of a header.
fn parse(text: &str) -> Option<NpyHeader> {
    let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim_start();
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    while !rest.is_empty() {
        let (key, after) = quoted(rest)?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        rest = match key {
            "descr" => {
                let (text, after) = quoted(value)?;
                descr = Some(text.to_owned());
                after
            }
            "fortran_order" => {
                let (flag, after) = match value.strip_prefix("True") {
                    Some(after) => (true, after),
                    None => (false, value.strip_prefix("False")?),
                };
                fortran_order = Some(flag);
                after
            }
            "shape" => {
                let (inside, after) = value.strip_prefix('(')?.split_once(')')?;
                let inside = inside.trim().trim_end_matches(',');
                let lengths = inside.split(',').filter(|_| !inside.is_empty());
                // Python 2 wrote large lengths with an L.
                let lengths = lengths.map(|length| length.trim().trim_end_matches('L').parse().ok());
                shape = Some(lengths.collect::<Option<Vec<u64>>>()?);
                after
            }
            _ => return None,
        }
        .trim_start();
        rest = match rest.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if rest.is_empty() => rest,
            None => return None,
        };
    }
    Some(NpyHeader { descr: descr?, fortran_order: fortran_order?, shape: shape? })
}

/// A quoted text without escapes, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text.get(1..)?.split_once(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_numpy_are_parsed() {
        for (text, shape) in [
            ("{'descr': '<u4', 'fortran_order': False, 'shape': (9,), }   \n", vec![9]),
            ("{\"shape\": (2, 13L,8 ,8), 'fortran_order':False,'descr':'<u4'}", vec![2, 13, 8, 8]),
            ("{'descr': '<u4', 'fortran_order': False, 'shape': ()}", vec![]),
        ] {
            assert_eq!(
                parse(text),
                Some(NpyHeader { descr: "<u4".into(), fortran_order: false, shape }),
                "{text}"
            );
        }
        for text in [
            "",
            "{}",
            "{'descr': '<u4'}",
            "{'descr': '<u4', 'fortran_order': 0, 'shape': (1,)}",
            "{'descr': '<u4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': [('a', 'u1')]}",
            "{'descr'",
            "{ß",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn headers_of_all_versions_round_trip() {
        let header = NpyHeader { descr: "|u1".into(), fortran_order: true, shape: vec![77, 3] };
        let first = header.to_bytes();
        let text = &first[10..];
        let length = u32::try_from(text.len()).unwrap().to_le_bytes();
        let second = [&b"\x93NUMPY\x02\0"[..], &length, text].concat();
        for file in [&first, &second] {
            assert_eq!(NpyHeader::read(&mut &file[..]).unwrap(), header);
        }
        assert!(NpyHeader::read(&mut &first[..50]).is_err());
        assert!(NpyHeader::read(&mut &b"\x93NUMPY\x02\0\xFF\xFF\xFF\xFF"[..]).is_err());
    }

    #[test]
    fn header_length_does_not_depend_on_the_first_axis() {
        let length =
            |n| NpyHeader { descr: "<i4".into(), fortran_order: false, shape: vec![n, 5] }.to_bytes().len();
        assert_eq!([length(0), length(1_000), length(u64::MAX)], [128; 3]);
    }
}
