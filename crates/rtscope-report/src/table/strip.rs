//! A histogram on one line of a terminal: block characters whose height is the logarithm of the count, on a logarithmic
//! latency axis.

use crate::format::us;
use crate::svg::log_ticks;
use rtscope_record::Distribution;
use std::fmt::Write as _;

/// Heights of a block, lowest first.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A logarithmic latency axis of a certain number of characters, and the count that fills a character.
pub(super) struct Axis {
    low: f64,
    high: f64,
    width: usize,
    most: u64,
}

impl Axis {
    /// The axis that covers all of `distributions`; `None` without samples.
    pub(super) fn over<'a>(distributions: impl Iterator<Item = &'a Distribution> + Clone, width: usize) -> Option<Self> {
        let low = distributions.clone().filter_map(Distribution::min).min()?.max(1) as f64;
        let high = (distributions.clone().filter_map(Distribution::max).max()?.max(1) as f64).max(low * 2.0);
        let mut axis = Self { low, high, width: width.max(8), most: 1 };
        axis.most = distributions.flat_map(|d| axis.columns(d)).max().unwrap_or(1).max(1);
        Some(axis)
    }

    /// The character that a latency in ns falls into.
    fn at(&self, ns: f64) -> usize {
        let share = (ns.max(self.low) / self.low).log10() / (self.high / self.low).log10();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and the width
        let column = (share * self.width as f64) as usize;
        column.min(self.width - 1)
    }

    /// The number of samples in each character.
    fn columns(&self, d: &Distribution) -> Vec<u64> {
        let mut columns = vec![0u64; self.width];
        let max = d.max().unwrap_or(u64::MAX);
        for (_, high, n) in d.histogram().iter() {
            let column = &mut columns[self.at(high.min(max) as f64)];
            *column = column.saturating_add(n);
        }
        columns
    }

    /// The histogram up to its maximum, which is marked and printed after it (us).
    pub(super) fn strip(&self, d: &Distribution) -> String {
        let Some(max) = d.max() else { return "no samples".into() };
        let end = self.at(max as f64);
        let mut line: String = self.columns(d)[..=end].iter().map(|&n| self.block(n)).collect();
        let _ = write!(line, "◂ {}", us(max as f64));
        line
    }

    fn block(&self, n: u64) -> char {
        if n == 0 {
            return ' ';
        }
        // A single sample gives the lowest block, the highest count the highest.
        let share = (n as f64).ln_1p() / (self.most as f64).ln_1p();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and 7
        let level = ((share * 8.0).ceil() as usize).clamp(1, 8) - 1;
        BLOCKS[if n == 1 { 0 } else { level }]
    }

    /// The line below the strips, and its labels in us, both indented by `indent` blanks.
    pub(super) fn scale(&self, indent: usize) -> [String; 2] {
        let mut rule = vec!['─'; self.width];
        let mut labels = vec![' '; self.width + 8];
        let mut free = 0;
        for (ns, text) in log_ticks(self.low, self.high, 1e3) {
            let column = self.at(ns);
            let start = column.saturating_sub(text.chars().count() / 2);
            if start < free || start + text.chars().count() > labels.len() {
                continue;
            }
            rule[column] = '┴';
            for (i, c) in text.chars().enumerate() {
                labels[start + i] = c;
                free = start + i + 2;
            }
        }
        let line = |chars: Vec<char>| (" ".repeat(indent) + &chars.into_iter().collect::<String>()).trim_end().to_owned();
        [line(rule), line(labels)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(samples: &[u64]) -> Distribution {
        Distribution::from_samples("x", samples, 0).unwrap()
    }

    #[test]
    fn a_strip_shows_mass_tail_and_maximum() {
        let (stock, rt) = (of(&[[1_000; 500].as_slice(), &[100_000]].concat()), of(&[1_000, 2_000, 2_000]));
        let axis = Axis::over([&stock, &rt].into_iter(), 20).unwrap();
        assert_eq!(axis.strip(&stock), "█                  ▁◂ 100.00");
        assert_eq!(axis.strip(&rt), "▁  ▂◂ 2.00");
        assert_eq!(axis.scale(2), ["  ┴──┴──┴───┴──┴──┴──┴", "  1  2  5  10 20 50 100"]);
        assert!(Axis::over([&of(&[])].into_iter(), 20).is_none());
        assert_eq!(axis.strip(&of(&[])), "no samples");
    }

    proptest! {
        #[test]
        fn every_strip_fits(samples in prop::collection::vec(prop_oneof![0u64..10, 0u64..(1 << 40), Just(1u64 << 56)], 1..50), width in 0usize..120) {
            let d = of(&samples);
            let axis = Axis::over([&d].into_iter(), width).unwrap();
            prop_assert_eq!(axis.columns(&d).iter().sum::<u64>(), samples.len() as u64);
            let strip = axis.strip(&d);
            prop_assert!(strip.split('◂').next().unwrap().chars().count() <= width.max(8), "{}", strip);
            prop_assert!(axis.scale(0)[0].chars().count() <= width.max(8));
        }
    }
}
