//! Every record that is read has legal first moves. An input is the five files of a set behind each other, the first
//! four with their lengths before them as two bytes, low byte first.
#![no_main]

use std::io::{Cursor, Read};

use shakmaty::Position;
use tabia_data::NpySet;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    let parts = std::array::from_fn(|index| {
        let part = match (index, rest.split_first_chunk()) {
            (0..4, Some((length, more))) => {
                let length = usize::from(u16::from_le_bytes(*length)).min(more.len());
                let (part, after) = more.split_at(length);
                rest = after;
                part
            }
            _ => rest,
        };
        Box::new(Cursor::new(part.to_vec())) as Box<dyn Read + Send>
    });
    if let Ok(set) = NpySet::from_parts("fuzz", parts) {
        for record in set {
            let lines = record.sessions.iter().flat_map(|session| &session.lines);
            assert!(lines.into_iter().all(|line| record.position.is_legal(line.first)));
        }
    }
});
