//! Random numbers that are stable across versions, as streams are resumed with them.

/// The output function of SplitMix64.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// SplitMix64, whose state is one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    /// Seeds the generator with a list of numbers.
    pub(crate) fn of(seeds: &[u64]) -> Self {
        Rng(seeds.iter().fold(0, |state, &seed| mix(state ^ mix(seed))))
    }

    /// A number below `bound`, or 0 if that is 0.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let draw = mix(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((u128::from(draw) * u128::from(bound)) >> 64) as u32
    }

    /// Fisher-Yates shuffle.
    pub(crate) fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last as u32 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_stable() {
        let mut rng = Rng::of(&[1, 2]);
        let drawn: Vec<_> = (0..8).map(|_| rng.below(100)).collect();
        let again: Vec<_> = {
            let mut rng = Rng::of(&[1, 2]);
            (0..8).map(|_| rng.below(100)).collect()
        };
        assert_eq!(drawn, again);
        assert_ne!(Rng::of(&[1, 2]), Rng::of(&[2, 1]));
        // SplitMix64 from state 0, as published.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn a_shuffle_is_a_permutation() {
        let mut things: Vec<u32> = (0..1000).collect();
        Rng::of(&[7]).shuffle(&mut things);
        assert!(things.iter().enumerate().filter(|&(at, &thing)| at as u32 == thing).count() < 20);
        things.sort_unstable();
        assert_eq!(things, (0..1000).collect::<Vec<_>>());
    }
}
