/// Counts of independent observations: category `i` of `N` has the score `i / (N - 1)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample<const N: usize>(pub(super) [u64; N]);

impl<const N: usize> Sample<N> {
    /// Score of a category.
    pub(super) fn value(category: usize) -> f64 {
        category as f64 / (N - 1) as f64
    }

    pub(super) fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Games per observation: one for trinomial, two for pentanomial counts.
    pub(super) fn games_per_observation() -> f64 {
        (N - 1) as f64 / 2.0
    }

    /// Mean score; `None` without observations.
    pub(super) fn mean(&self) -> Option<f64> {
        let count = self.count();
        let sum: f64 = self.0.iter().enumerate().map(|(i, n)| *n as f64 * Self::value(i)).sum();
        (count > 0).then(|| sum / count as f64)
    }

    /// Variance of one observation.
    pub(super) fn variance(&self) -> Option<f64> {
        let mean = self.mean()?;
        let sum: f64 =
            self.0.iter().enumerate().map(|(i, n)| *n as f64 * (Self::value(i) - mean).powi(2)).sum();
        Some(sum / self.count() as f64)
    }

    /// The category of all observations, if they are equal.
    pub(super) fn only_category(&self) -> Option<usize> {
        let mut seen = self.0.iter().enumerate().filter(|(_, n)| **n > 0);
        let (category, _) = seen.next()?;
        seen.next().is_none().then_some(category)
    }
}
