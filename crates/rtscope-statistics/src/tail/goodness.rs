//! How well a law fits: distances between the data and the law, and how probable they are.

use super::fit::refit;
use super::law::{Family, Law};
use super::observed::{Cell, Observed, Resolution};
use crate::seeded::Seeded;
use serde::Serialize;

/// Distances between data and law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Distances {
    /// Anderson and Darling's A squared.
    pub anderson_darling: f64,
    /// Cramer and von Mises's W squared.
    pub cramer_von_mises: f64,
    /// Kolmogorov and Smirnov's D.
    pub kolmogorov_smirnov: f64,
}

/// Distances with their probabilities if the law were true.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Goodness {
    /// The distances.
    pub distances: Distances,
    /// Their p-values by parametric bootstrap, in which each replicate is fitted anew; `None` without replicates.
    pub p: Option<Distances>,
    /// Replicates that were fitted.
    pub replicates: u32,
    /// Replicates that could not be fitted.
    pub failed: u32,
}

/// Distances of exact values: Stephens 1974. Of intervals: the same integrals, over the intervals' ends (Choulakian, Lockhart and
/// Stephens 1994).
pub fn distances(observed: &Observed, law: &Law) -> Distances {
    if observed.is_censored() { grouped(&with_gaps(observed.cells(), law), observed.total(), law) } else { exact(observed, law) }
}

fn exact(observed: &Observed, law: &Law) -> Distances {
    let n = observed.total();
    let (mut before, mut a2, mut w2, mut d) = (0.0, 0.0, 0.0, 0.0f64);
    for c in observed.cells() {
        // A probability of 0 or 1, by rounding, must not make all of it infinite.
        let below = law.cdf(c.low).clamp(1e-300, 1.0);
        let above = law.survival(c.low).clamp(1e-300, 1.0);
        let (first, last) = (before, before + c.count);
        // Sums over the ranks i = first+1 ..= last of (2i - 1), and of ((2i - 1) / 2n - F)^2.
        let odd = last * last - first * first;
        a2 += odd * below.ln() + (2.0 * n * c.count - odd) * above.ln();
        let (k, centre) = (c.count, f64::midpoint(first, last) / n);
        w2 += k * (centre - below).powi(2) + k * (k * k - 1.0) / (12.0 * n * n);
        d = d.max(last / n - below).max(below - first / n);
        before = last;
    }
    Distances { anderson_darling: -n - a2 / n, cramer_von_mises: w2 + 1.0 / (12.0 * n), kolmogorov_smirnov: d }
}

/// The cells, and empty ones wherever there are none, from one end of the law to the other.
fn with_gaps(cells: &[Cell], law: &Law) -> Vec<Cell> {
    let mut all: Vec<Cell> = Vec::with_capacity(cells.len() * 2 + 2);
    let mut end = if law.family == Family::Gpd { law.location } else { f64::NEG_INFINITY };
    for c in cells {
        if c.low > end {
            all.push(Cell { low: end, high: c.low, count: 0.0 });
        }
        all.push(*c);
        end = c.high;
    }
    if end < f64::INFINITY {
        all.push(Cell { low: end, high: f64::INFINITY, count: 0.0 });
    }
    all
}

/// Between the ends of cells, the share of values seen is taken to rise as the law does there; in an empty cell it stays.
fn grouped(cells: &[Cell], n: f64, law: &Law) -> Distances {
    let (mut seen, mut a2, mut w2, mut d) = (0.0, 0.0, 0.0, 0.0f64);
    let (mut below, mut above) = (0.0, 1.0);
    let mut off = 0.0;
    for c in cells {
        seen += c.count;
        let p = probability(law, c);
        let (next_below, next_above) = ends(law, c.high);
        let next = if next_above < 0.5 { next_above - (n - seen) / n } else { seen / n - next_below };
        w2 += p * (off * off + off * next + next * next) / 3.0;
        a2 += weighted([below, next_below], [above, next_above], [off, next], p);
        d = d.max(next.abs());
        (off, below, above) = (next, next_below, next_above);
    }
    Distances { anderson_darling: n * a2, cramer_von_mises: n * w2, kolmogorov_smirnov: d }
}

/// The integral of `off^2 / (F (1 - F)) dF` over a cell of probability `p`, where `off` goes straight from its first to its second
/// value.
fn weighted(below: [f64; 2], above: [f64; 2], off: [f64; 2], p: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    let middle = f64::midpoint(below[0], below[1]) * f64::midpoint(above[0], above[1]);
    if p < 1e-3 * middle {
        return p * (off[0] * off[0] + off[0] * off[1] + off[1] * off[1]) / (3.0 * middle);
    }
    // With off = a + b F, the integrand is a^2 / F + (a + b)^2 / (1 - F) - b^2.
    let b = (off[1] - off[0]) / p;
    let a = off[0] - b * below[0];
    let part = |weight: f64, ratio: f64| {
        if weight.abs() < 1e-12 || !(ratio > 0.0 && ratio.is_finite()) { 0.0 } else { weight * weight * ratio.ln() }
    };
    (part(a, below[1] / below[0]) + part(a + b, above[0] / above[1]) - b * b * p).max(0.0)
}

fn ends(law: &Law, high: f64) -> (f64, f64) {
    if high == f64::INFINITY { (1.0, 0.0) } else { (law.cdf(high), law.survival(high)) }
}

fn probability(law: &Law, c: &Cell) -> f64 {
    match (c.low == f64::NEG_INFINITY, c.high == f64::INFINITY) {
        (true, true) => 1.0,
        (true, false) => law.cdf(c.high),
        (false, true) => law.survival(c.low),
        (false, false) => law.ln_between(c.low, c.high).exp(),
    }
}

/// Most exact values that are drawn one by one; more are drawn as counts of narrow cells.
const ONE_BY_ONE: f64 = 3000.0;

/// The distances at a fit, with p-values from `replicates` data sets that are drawn from the law and fitted anew. Values that were
/// rounded in equal steps are drawn and rounded in the same way.
pub fn goodness(observed: &Observed, law: &Law, rounding: Option<Resolution>, replicates: u32, random: &mut Seeded) -> Goodness {
    let shown = distances(observed, law);
    let scheme = Scheme::of(observed, law, rounding);
    // The distance to compare replicates with is that of the data in the same form.
    let own = scheme.form(observed).map_or(shown, |formed| distances(&formed, law));
    let (mut fitted, mut failed, mut beyond) = (0u32, 0u32, [0u32; 3]);
    for _ in 0..replicates {
        let drawn = scheme.draw(law, observed.total(), random);
        let Some(again) = refit(&drawn, law) else {
            failed += 1;
            continue;
        };
        let d = distances(&drawn, &again);
        fitted += 1;
        beyond[0] += u32::from(d.anderson_darling >= own.anderson_darling);
        beyond[1] += u32::from(d.cramer_von_mises >= own.cramer_von_mises);
        beyond[2] += u32::from(d.kolmogorov_smirnov >= own.kolmogorov_smirnov);
    }
    let p = |n: u32| f64::from(n + 1) / f64::from(fitted + 1);
    let p = (fitted > 0).then(|| Distances {
        anderson_darling: p(beyond[0]),
        cramer_von_mises: p(beyond[1]),
        kolmogorov_smirnov: p(beyond[2]),
    });
    Goodness { distances: shown, p, replicates: fitted, failed }
}

/// How replicates are drawn.
enum Scheme {
    /// Values one by one.
    Exact,
    /// Values one by one, rounded in equal steps from an origin.
    Rounded { origin: f64, width: f64 },
    /// Counts of these cells.
    Cells(Vec<Cell>),
}

impl Scheme {
    fn of(observed: &Observed, law: &Law, rounding: Option<Resolution>) -> Self {
        match rounding {
            Some(r) if observed.total() <= ONE_BY_ONE * 4.0 => {
                Self::Rounded { origin: observed.cells().first().map_or(0.0, |c| c.low), width: r.width() }
            }
            _ if observed.is_censored() => Self::Cells(lattice(observed, law)),
            _ if observed.total() <= ONE_BY_ONE => Self::Exact,
            // A hundredth of the scale in the body, wider where there are few.
            _ => Self::Cells(narrow(law, observed.total())),
        }
    }

    /// The data in the form of replicates, where that is another.
    fn form(&self, observed: &Observed) -> Option<Observed> {
        let Self::Cells(cells) = self else { return None };
        if observed.is_censored() {
            return None;
        }
        let mut counts = vec![0.0; cells.len()];
        for c in observed.cells() {
            counts[cells.partition_point(|to| to.high < c.low).min(cells.len() - 1)] += c.count;
        }
        Some(counted(cells, &counts))
    }

    fn draw(&self, law: &Law, n: f64, random: &mut Seeded) -> Observed {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count
        let whole = n as u64;
        match self {
            Self::Cells(cells) => counted(cells, &counts(cells, law, n, random)),
            Self::Exact | Self::Rounded { .. } => {
                let one = |_| {
                    let x = law.exceeded_with(random.uniform());
                    if let Self::Rounded { origin, width } = self { origin + ((x - origin) / width).floor() * width } else { x }
                };
                let values: Vec<f64> = (0..whole).map(one).collect();
                // Quantiles of a law with finite parameters are finite, unless a shape is absurd: then there is no fit.
                let drawn = Observed::of_values(&values).unwrap_or_else(|_| Observed::of_sorted(Vec::new()));
                if let Self::Rounded { width, .. } = self { drawn.within(Resolution::Down(*width)) } else { drawn }
            }
        }
    }
}

/// Cells that divide the law's body finely.
fn narrow(law: &Law, n: f64) -> Vec<Cell> {
    let parts = 1500u32;
    let mut cells = Vec::new();
    let mut end = if law.family == Family::Gpd { law.location } else { f64::NEG_INFINITY };
    // Equal steps of the logit: as fine in the tails as there are values.
    let far = n.ln() + 3.0;
    for i in 0..=parts {
        let logit = far - 2.0 * far * f64::from(i) / f64::from(parts);
        let high = law.exceeded_with(1.0 / (1.0 + (-logit).exp()));
        if high > end {
            cells.push(Cell { low: end, high, count: 0.0 });
            end = high;
        }
    }
    cells.push(Cell { low: end, high: f64::INFINITY, count: 0.0 });
    cells
}

/// The cells with counts.
fn counted(cells: &[Cell], counts: &[f64]) -> Observed {
    Observed::of_sorted(cells.iter().zip(counts).map(|(c, count)| Cell { count: *count, ..*c }).collect())
}

/// The cells of `observed`, and narrow ones between and beyond them.
fn lattice(observed: &Observed, law: &Law) -> Vec<Cell> {
    let narrow = narrow(law, observed.total());
    let mut all = Vec::with_capacity(narrow.len() + observed.cells().len());
    for gap in with_gaps(observed.cells(), law) {
        if gap.count > 0.0 {
            all.push(gap);
            continue;
        }
        let inside = narrow.iter().map(|c| Cell { low: c.low.max(gap.low), high: c.high.min(gap.high), count: 0.0 });
        all.extend(inside.filter(|c| c.high > c.low));
    }
    all
}

/// How many of `n` values fall into each cell: binomial numbers one after the other.
fn counts(cells: &[Cell], law: &Law, n: f64, random: &mut Seeded) -> Vec<f64> {
    let (mut left, mut rest) = (n, 1.0);
    let mut counts = Vec::with_capacity(cells.len());
    for (i, c) in cells.iter().enumerate() {
        let p = probability(law, c);
        let share = if rest > 0.0 { (p / rest).clamp(0.0, 1.0) } else { 1.0 };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count
        let count = if i + 1 == cells.len() { left } else { random.binomial(left as u64, share) as f64 };
        counts.push(count);
        left -= count;
        rest -= p;
    }
    counts
}

#[cfg(test)]
#[path = "goodness_tests.rs"]
mod tests;
