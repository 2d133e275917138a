//! What a law is fitted to: values with their counts, each exact or known to lie in an interval.

use super::error::{MOST_VALUES, TailError};
use super::law::Law;

/// Values that are alike: `low == high` is an exact value, else they lie between the two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// The least that they may be.
    pub low: f64,
    /// The most that they may be.
    pub high: f64,
    /// How many they are.
    pub count: f64,
}

impl Cell {
    /// The middle; the finite end of a cell that has no other.
    pub fn middle(&self) -> f64 {
        match (self.low.is_finite(), self.high.is_finite()) {
            (true, true) => f64::midpoint(self.low, self.high),
            (true, false) => self.low,
            (false, _) => self.high,
        }
    }

    fn is_exact(&self) -> bool {
        self.low >= self.high
    }
}

/// Values in ascending order, with their counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    cells: Vec<Cell>,
    total: f64,
}

impl Observed {
    /// Of values in any order; equal ones are counted together.
    pub fn of_values(values: &[f64]) -> Result<Self, TailError> {
        check(values)?;
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        // A vector that grew would take twice the memory for a moment.
        let distinct = 1 + sorted.windows(2).filter(|w| w[0] < w[1]).count();
        let mut cells: Vec<Cell> = Vec::with_capacity(distinct.min(sorted.len()));
        for v in sorted {
            match cells.last_mut().filter(|c| c.low >= v) {
                Some(same) => same.count += 1.0,
                None => cells.push(Cell { low: v, high: v, count: 1.0 }),
            }
        }
        Ok(Self::of_sorted(cells))
    }

    /// Of cells, such as the buckets of a histogram: in ascending order they must not overlap.
    pub fn of_cells(mut cells: Vec<Cell>) -> Result<Self, TailError> {
        if let Some(at) = cells.iter().position(|c| !(c.low.is_finite() && c.high.is_finite() && c.count.is_finite())) {
            return Err(TailError::NotFinite(at + 1));
        }
        cells.sort_by(|a, b| a.low.total_cmp(&b.low));
        Ok(Self::of_sorted(cells))
    }

    /// Of ascending cells; the outermost may be unbounded.
    pub(super) fn of_sorted(mut cells: Vec<Cell>) -> Self {
        cells.retain(|c| c.count > 0.0);
        let total = cells.iter().map(|c| c.count).sum();
        Self { cells, total }
    }

    /// The same values, each known only to within the resolution.
    #[must_use]
    pub fn within(&self, resolution: Resolution) -> Self {
        let (below, above) = resolution.around();
        let wide = |c: &Cell| Cell { low: c.low - below, high: c.high + above, count: c.count };
        Self { cells: self.cells.iter().map(wide).collect(), total: self.total }
    }

    /// The cells, ascending.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// How many values there are.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// Whether no value is exact.
    pub fn is_censored(&self) -> bool {
        self.cells.iter().any(|c| !c.is_exact())
    }

    /// The least and the greatest value, or the finite ends of their cells.
    pub fn range(&self) -> Option<(f64, f64)> {
        let (first, last) = (self.cells.first()?, self.cells.last()?);
        let low = if first.low.is_finite() { first.low } else { first.high };
        Some((low, if last.high.is_finite() { last.high } else { last.low }))
    }

    /// The value below which a share of the values lies; the lower end of its cell.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = share * self.total;
        let mut passed = 0.0;
        for c in &self.cells {
            passed += c.count;
            if passed >= wanted {
                return Some(c.low);
            }
        }
        self.cells.last().map(|c| c.low)
    }

    /// The cells above `threshold`: all of an exact value or interval lies above it.
    #[must_use]
    pub fn above(&self, threshold: f64) -> Self {
        Self::of_sorted(self.cells[self.first_above(threshold)..].to_vec())
    }

    /// How many values lie in the cells of [`above`](Self::above).
    pub fn count_above(&self, threshold: f64) -> f64 {
        self.cells[self.first_above(threshold)..].iter().map(|c| c.count).sum()
    }

    fn first_above(&self, threshold: f64) -> usize {
        self.cells.partition_point(|c| if c.is_exact() { c.low <= threshold } else { c.low < threshold })
    }

    /// The lowest threshold at or above `threshold` that cuts no cell in two.
    pub fn between_cells(&self, threshold: f64) -> f64 {
        let next = self.cells.partition_point(|c| c.high <= threshold);
        self.cells.get(next).filter(|c| c.low < threshold).map_or(threshold, |c| c.high)
    }

    /// Each cell moved and rescaled: `(x - centre) / spread`.
    pub(super) fn standardized(&self, centre: f64, spread: f64) -> Self {
        let scaled = |c: &Cell| Cell { low: (c.low - centre) / spread, high: (c.high - centre) / spread, count: c.count };
        Self { cells: self.cells.iter().map(scaled).collect(), total: self.total }
    }

    /// Negative log-likelihood of `law`; infinite where a value is outside of its support.
    pub fn nllh(&self, law: &Law) -> f64 {
        let mut sum = 0.0;
        for c in &self.cells {
            let one = if c.is_exact() { law.ln_density(c.low) } else { law.ln_between(c.low, c.high) };
            sum -= c.count * one;
        }
        if sum.is_nan() { f64::INFINITY } else { sum }
    }

    /// With neighbouring exact values put together at their mean where they lie within `width`; the outermost ones stay. The
    /// log-likelihood changes by the order of `(width / scale)^2 / 24`.
    pub(super) fn condensed(&self, width: f64) -> Self {
        let mut cells: Vec<Cell> = Vec::new();
        let last = self.cells.len().saturating_sub(1);
        let mut from = f64::NEG_INFINITY;
        for (i, c) in self.cells.iter().enumerate() {
            let joins = i > 1 && i < last && c.is_exact() && c.low - from < width;
            match cells.last_mut().filter(|_| joins) {
                Some(group) => {
                    let count = group.count + c.count;
                    let mean = group.low + (c.low - group.low) * (c.count / count);
                    *group = Cell { low: mean, high: mean, count };
                }
                None => {
                    from = c.low;
                    cells.push(*c);
                }
            }
        }
        Self { cells, total: self.total }
    }
}

/// Refuses what can't be computed with.
pub(super) fn check(values: &[f64]) -> Result<(), TailError> {
    if values.len() > MOST_VALUES {
        return Err(TailError::TooMany(values.len() as u64));
    }
    match values.iter().position(|v| !v.is_finite()) {
        Some(at) => Err(TailError::NotFinite(at + 1)),
        None => Ok(()),
    }
}

/// How the values were rounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Resolution {
    /// To the nearest multiple of this.
    Nearest(f64),
    /// Down to a multiple of this, as clocks and cyclictest do.
    Down(f64),
}

impl Resolution {
    /// Width of the steps.
    pub fn width(self) -> f64 {
        match self {
            Self::Nearest(width) | Self::Down(width) => width,
        }
    }

    /// How far the true value may lie below and above the one that is written.
    fn around(self) -> (f64, f64) {
        match self {
            Self::Nearest(width) => (width / 2.0, width / 2.0),
            Self::Down(width) => (0.0, width),
        }
    }
}

/// The widest step, a multiple of 1, 2 or 5 times a power of ten, of which all values are multiples; `None` where there is none
/// to a tenth of which the values are known.
pub fn grid_of(values: &[f64]) -> Option<f64> {
    let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    if high <= low || values.is_empty() {
        return None;
    }
    #[allow(clippy::cast_possible_truncation)] // the exponent of an f64
    let top = (high - low).log10().ceil() as i32;
    for e in (top - 7..=top).rev() {
        for factor in [5.0, 2.0, 1.0] {
            let step = if e < 0 { factor / 10f64.powi(-e) } else { factor * 10f64.powi(e) };
            // Written in decimal, a multiple is off by the rounding of its binary form only.
            let slack = (largest / step * f64::EPSILON * 4.0).max(1e-9);
            if slack > 0.01 {
                return None;
            }
            if values.iter().all(|v| (v / step - (v / step).round()).abs() <= slack) {
                return Some(step);
            }
        }
    }
    None
}

#[cfg(test)]
#[path = "observed_tests.rs"]
mod tests;
