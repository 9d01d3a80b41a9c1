//! How often an epoch repeats the records of each set.

/// How often an epoch has each record of sets with so many `positions`, so that their shares are as `mix` says: once those of
/// the set that counts least for its size. Without a mix, once each.
pub fn repeats(positions: &[u64], mix: &[u32]) -> Vec<f64> {
    if mix.is_empty() {
        return vec![1.0; positions.len()];
    }
    let share = |(at, &count): (usize, &u64)| {
        let weight = mix.get(at).copied().unwrap_or(0);
        f64::from(weight) / count.max(1) as f64
    };
    let shares: Vec<f64> = positions.iter().enumerate().map(share).collect();
    let least = shares.iter().copied().filter(|share| *share > 0.0).fold(f64::INFINITY, f64::min);
    shares.into_iter().map(|share| if least.is_finite() { share / least } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sets_that_count_much_are_repeated() {
        assert_eq!(repeats(&[100, 1000], &[]), [1.0, 1.0]);
        assert_eq!(repeats(&[100, 1000], &[1, 1]), [10.0, 1.0]);
        assert_eq!(repeats(&[100, 1000], &[1, 40]), [1.0, 4.0]);
        assert_eq!(repeats(&[100, 1000], &[0, 3]), [0.0, 1.0]);
    }
}
