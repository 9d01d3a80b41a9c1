use std::{fmt, marker::PhantomData};

use serde::{Serialize, Serializer, ser::SerializeMap};

/// A property with a few named values.
pub trait Category: Copy + PartialEq + 'static {
    /// The values in display order.
    const ALL: &'static [Self];

    /// The name of a value.
    fn label(self) -> &'static str;
}

/// A count per value of a category.
#[derive(Clone, PartialEq, Eq)]
pub struct Tally<C> {
    counts: Vec<u64>,
    category: PhantomData<C>,
}

impl<C: Category> Tally<C> {
    /// Counts a value once.
    pub fn add(&mut self, value: C) {
        self.add_many(value, 1);
    }

    /// Counts a value `times` times.
    pub fn add_many(&mut self, value: C, times: u64) {
        let index = C::ALL.iter().position(|known| *known == value);
        if let Some(count) = index.and_then(|index| self.counts.get_mut(index)) {
            *count += times;
        }
    }

    /// How often a value occurred.
    pub fn count(&self, value: C) -> u64 {
        self.iter().find(|(known, _)| *known == value).map_or(0, |(_, count)| count)
    }

    /// All values with their counts, in order.
    pub fn iter(&self) -> impl Iterator<Item = (C, u64)> {
        C::ALL.iter().copied().zip(self.counts.iter().copied())
    }

    /// How many were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Adds the counts of another part of the set.
    pub fn merge(&mut self, other: &Tally<C>) {
        add_all(&mut self.counts, &other.counts);
    }
}

impl<C: Category> Default for Tally<C> {
    fn default() -> Tally<C> {
        Tally { counts: vec![0; C::ALL.len()], category: PhantomData }
    }
}

impl<C: Category> fmt::Debug for Tally<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(value, count)| (value.label(), count))).finish()
    }
}

/// An object: each value's name and count.
impl<C: Category> Serialize for Tally<C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(C::ALL.len()))?;
        for (value, count) in self.iter() {
            map.serialize_entry(value.label(), &count)?;
        }
        map.end()
    }
}

/// A count per pair of values of two categories.
#[derive(Clone, PartialEq, Eq)]
pub struct Grid<R, C> {
    rows: Vec<Tally<C>>,
    category: PhantomData<R>,
}

impl<R: Category, C: Category> Grid<R, C> {
    /// Counts a pair once.
    pub fn add(&mut self, row: R, column: C) {
        let index = R::ALL.iter().position(|known| *known == row);
        if let Some(tally) = index.and_then(|index| self.rows.get_mut(index)) {
            tally.add(column);
        }
    }

    /// The rows in order.
    pub fn rows(&self) -> impl Iterator<Item = (R, &Tally<C>)> {
        R::ALL.iter().copied().zip(&self.rows)
    }

    /// Adds the counts of another part of the set.
    pub fn merge(&mut self, other: &Grid<R, C>) {
        for (row, more) in self.rows.iter_mut().zip(&other.rows) {
            row.merge(more);
        }
    }
}

impl<R: Category, C: Category> Default for Grid<R, C> {
    fn default() -> Grid<R, C> {
        Grid { rows: vec![Tally::default(); R::ALL.len()], category: PhantomData }
    }
}

impl<R: Category, C: Category> fmt::Debug for Grid<R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.rows().map(|(row, tally)| (row.label(), tally))).finish()
    }
}

/// An object of objects, rows first.
impl<R: Category, C: Category> Serialize for Grid<R, C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(R::ALL.len()))?;
        for (row, tally) in self.rows() {
            map.serialize_entry(row.label(), tally)?;
        }
        map.end()
    }
}

/// A histogram from 0 with buckets of equal width; the last one is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Histogram {
    width: u64,
    counts: Vec<u64>,
    /// The sum of all numbers.
    sum: u64,
}

impl Histogram {
    /// A histogram with `buckets` buckets of this width, both at least 1.
    pub fn new(width: u64, buckets: usize) -> Histogram {
        Histogram { width: width.max(1), counts: vec![0; buckets.max(1)], sum: 0 }
    }

    /// Counts a number.
    pub fn add(&mut self, number: u64) {
        let last = self.counts.len() - 1;
        let bucket = usize::try_from(number / self.width).unwrap_or(last).min(last);
        self.counts[bucket] += 1;
        self.sum = self.sum.saturating_add(number);
    }

    /// The lower bound of each bucket and its count.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..).step_by(self.width as usize).zip(self.counts.iter().copied())
    }

    /// How wide a bucket is.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// How many numbers were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The mean of the numbers, if there are any.
    pub fn mean(&self) -> Option<f64> {
        let total = self.total();
        (total > 0).then(|| self.sum as f64 / total as f64)
    }

    /// The same numbers in buckets `by` times as wide.
    pub fn coarser(&self, by: usize) -> Histogram {
        let counts = self.counts.chunks(by.max(1)).map(|chunk| chunk.iter().sum()).collect();
        Histogram { width: self.width * by.max(1) as u64, counts, sum: self.sum }
    }

    /// Adds another histogram with the same buckets.
    pub fn merge(&mut self, other: &Histogram) {
        add_all(&mut self.counts, &other.counts);
        self.sum = self.sum.saturating_add(other.sum);
    }
}

fn add_all(counts: &mut [u64], more: &[u64]) {
    for (count, more) in counts.iter_mut().zip(more) {
        *count += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bucket_is_open() {
        let mut histogram = Histogram::new(10, 3);
        for number in [0, 9, 10, 29, 30, 1_000_000] {
            histogram.add(number);
        }
        assert_eq!(histogram.iter().collect::<Vec<_>>(), [(0, 2), (10, 1), (20, 3)]);
        assert_eq!(histogram.coarser(2).iter().collect::<Vec<_>>(), [(0, 3), (20, 3)]);
        assert_eq!(histogram.mean(), Some(1_000_078.0 / 6.0));
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert_eq!((twice.total(), twice.mean()), (12, histogram.mean()));
        assert_eq!(Histogram::new(1, 4).mean(), None);
    }

    #[test]
    fn tallies_and_grids_are_objects_in_json() {
        #[derive(Clone, Copy, PartialEq)]
        enum Coin {
            Heads,
            Tails,
        }
        impl Category for Coin {
            const ALL: &'static [Coin] = &[Coin::Heads, Coin::Tails];

            fn label(self) -> &'static str {
                if self == Coin::Heads { "heads" } else { "tails" }
            }
        }
        let mut grid = Grid::default();
        grid.add(Coin::Heads, Coin::Tails);
        let mut all = grid.clone();
        all.merge(&grid);
        let json = serde_json::to_string(&all).unwrap();
        assert_eq!(json, r#"{"heads":{"heads":0,"tails":2},"tails":{"heads":0,"tails":0}}"#);
        let (_, heads) = all.rows().next().unwrap();
        assert_eq!((heads.count(Coin::Tails), heads.total()), (2, 2));
    }
}
