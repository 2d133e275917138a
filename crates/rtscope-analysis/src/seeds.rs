//! Maxima over the lab's seeds: a run in virtual time is one of many possible ones, and its maximum holds for its seed
//! only.

use crate::summary::time_model;
use rtscope_record::Record;
use serde::Serialize;
use std::collections::BTreeMap;

/// The maxima of several seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Seeds {
    /// How many seeds have samples.
    pub seeds: usize,
    /// The lowest of their maxima, ns.
    pub lowest: u64,
    /// Their median, ns: for an even number, the mean of the two in the middle.
    pub median: u64,
    /// The highest, ns.
    pub highest: u64,
}

/// The maximum of each seed, collected record by record.
#[derive(Debug, Clone, Default)]
pub struct Maxima {
    /// The highest maximum of each seed, over all its runs.
    of_seed: BTreeMap<u64, u64>,
    /// A record that is not a lab run in virtual time is among them.
    other: bool,
}

impl Maxima {
    /// The maximum of one record.
    pub fn of(r: &Record) -> Self {
        let Some(lab) = r.parts().lab.as_ref().filter(|_| time_model(r).is_some()) else {
            return Self { of_seed: BTreeMap::new(), other: true };
        };
        let max = r.distributions().iter().filter_map(rtscope_record::Distribution::max).max();
        Self { of_seed: max.map(|max| (lab.seed, max)).into_iter().collect(), other: false }
    }

    /// Adds the maxima of other records.
    pub fn add(&mut self, more: &Self) {
        self.other |= more.other;
        for (&seed, &max) in &more.of_seed {
            let highest = self.of_seed.entry(seed).or_insert(0);
            *highest = max.max(*highest);
        }
    }

    /// `None` where a record is not a lab run in virtual time, or none has a sample.
    pub fn seeds(&self) -> Option<Seeds> {
        if self.other {
            return None;
        }
        let mut maxima: Vec<u64> = self.of_seed.values().copied().collect();
        maxima.sort_unstable();
        let (lowest, highest) = (*maxima.first()?, *maxima.last()?);
        let (above, below) = (maxima[maxima.len() / 2], maxima[(maxima.len() - 1) / 2]);
        Some(Seeds { seeds: maxima.len(), lowest, median: below.midpoint(above), highest })
    }
}

impl Seeds {
    /// For lab runs in virtual time; `None` where another record is among them, or none has a sample. Several runs of one
    /// seed count once, by the highest maximum.
    pub fn of(records: &[&Record]) -> Option<Self> {
        let mut all = Maxima::default();
        for r in records {
            all.add(&Maxima::of(r));
        }
        all.seeds()
    }

    /// "one seed", "5 seeds".
    pub fn words(self) -> String {
        if self.seeds == 1 { "one seed".into() } else { format!("{} seeds", self.seeds) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Build;
    use rtscope_record::{Clock, Lab};

    fn run(seed: u64, samples: &[u64]) -> Record {
        let mut b = Build::new("none").cpu(0, 1_000_000, samples);
        b.0.clock = Clock::Virtual;
        b.0.lab = Some(Lab { model: 2, seed, ..Lab::default() });
        b.record()
    }

    #[test]
    fn maxima_are_over_seeds() {
        let runs = [run(1, &[5, 7]), run(2, &[30]), run(3, &[9]), run(2, &[20]), run(4, &[])];
        let of = |n: usize| Seeds::of(&runs[..n].iter().collect::<Vec<_>>());
        assert_eq!(of(5), Some(Seeds { seeds: 3, lowest: 7, median: 9, highest: 30 }));
        assert_eq!(of(2), Some(Seeds { seeds: 2, lowest: 7, median: 18, highest: 30 }));
        assert_eq!((of(1).unwrap().words(), of(5).unwrap().words()), ("one seed".into(), "3 seeds".into()));
        assert_eq!(Seeds::of(&[&runs[4]]), None);
        // A board has no seeds, nor does the lab in host time.
        let board = Build::new("none").cpu(0, 1_000_000, &[5]).record();
        assert_eq!(Seeds::of(&[&runs[0], &board]), None);
        let mut host = Build::new("none").cpu(0, 1_000_000, &[5]);
        host.0.lab = Some(Lab::default());
        assert_eq!(Seeds::of(&[&host.record()]), None);
        assert_eq!(Seeds::of(&[]), None);
    }
}
