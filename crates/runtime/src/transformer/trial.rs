//! A short product to time and compare kernel levels.
//!
//! It only runs [`Dots`]: browsers optimise a small function within milliseconds, and a whole product too late.

use super::kernels::{Dots, Group, Layout};
use super::level::{Kernel, Level};
use super::product::{PAIRS, QUADS};
use crate::accumulator::block::LANES;
use crate::accumulator::kernels::Lanes;

/// Rows that are multiplied; tiles divide it.
const ROWS: usize = 8;
/// Repetitions: more than half a millisecond, since browsers' clocks have a resolution of tenths.
const TIMES: usize = 8192;

/// The operands in the layout of one level.
#[derive(Debug)]
pub(super) struct KernelTrial {
    pub(super) level: Level,
    words: Vec<u32>,
    groups: Vec<Group>,
}

impl KernelTrial {
    /// The same operands on every level. Inputs reach their limit; weights [fit narrow sums](super::kernels::fits_narrow_sums), as
    /// most do.
    pub(super) fn new(level: Level) -> Self {
        let (words, width) = match level.layout() {
            Layout::Quads => (QUADS, 8),
            Layout::Pairs => (PAIRS, 16),
        };
        let inputs = level.layout().inputs();
        let word = |at: usize| {
            let (word, row) = (at % words, at / words);
            let input = |i: usize| ((inputs * word + i) * 37 + row * 11) as u32 % 128;
            (0..inputs).map(|i| input(i) << (width * i)).sum()
        };
        let group = |word: usize| {
            let weight = |lane: usize, i: usize| ((inputs * word + i) * 29 + lane * 7) as i32 % 127 - 63;
            let bytes = |lane: usize| {
                (0..inputs).map(move |i| weight(lane, i)).flat_map(move |weight| {
                    let [low, high, ..] = weight.to_le_bytes();
                    [low, high].into_iter().take(width / 8)
                })
            };
            let mut group = Group([0; 64]);
            group.0.iter_mut().zip((0..LANES).flat_map(bytes)).for_each(|(to, byte)| *to = byte);
            group
        };
        KernelTrial {
            level,
            words: (0..ROWS * words).map(word).collect(),
            groups: (0..words).map(group).collect(),
        }
    }

    /// The repeated sum of all rows.
    pub(super) fn run(&self) -> [i32; LANES] {
        let mut sums = [0; LANES];
        self.level.run(Repeated { trial: self, sums: &mut sums });
        sums
    }
}

struct Repeated<'a> {
    trial: &'a KernelTrial,
    sums: &'a mut [i32; LANES],
}

impl Kernel for Repeated<'_> {
    #[inline(always)]
    fn run<L: Lanes, D: Dots<Ints = L::Ints>>(self, lanes: L, dots: D) {
        match (D::ROWS, D::LAYOUT) {
            (4, Layout::Quads) => self.tiles::<L, D, 4, QUADS>(lanes, dots),
            (4, Layout::Pairs) => self.tiles::<L, D, 4, PAIRS>(lanes, dots),
            _ => self.tiles::<L, D, 1, QUADS>(lanes, dots),
        }
    }
}

impl Repeated<'_> {
    #[inline(always)]
    fn tiles<L: Lanes, D: Dots<Ints = L::Ints>, const R: usize, const N: usize>(self, lanes: L, dots: D) {
        let Repeated { trial, sums } = self;
        let (words, _) = trial.words.as_chunks::<N>();
        let (Some((groups, _)), (tiles, _)) = (trial.groups.split_first_chunk::<N>(), words.as_chunks::<R>())
        else {
            return;
        };
        let mut total = lanes.load_ints(sums);
        for _ in 0..TIMES {
            for tile in tiles {
                for row in dots.dots::<R, N, true>(tile, groups) {
                    total = lanes.add_ints(total, row);
                }
            }
        }
        lanes.store_ints(total, sums);
    }
}
