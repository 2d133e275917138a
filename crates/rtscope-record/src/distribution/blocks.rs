//! Block maxima: the highest latency of each stretch of the grid, in the order of time, for statistics of the tail and between runs.

use super::passed::PassedOver;
use crate::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// Most blocks of a distribution.
pub const MOST_BLOCKS: usize = 128;

/// The highest latency of each block of a grid: of its samples and of the points that were passed over.
///
/// Blocks have equally many grid points; the first block begins with the first point. What the grid has beyond the last whole block is in
/// none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockMaxima {
    /// Grid points of a block.
    pub points: u64,
    /// Highest latency of each block, ns, in the order of time.
    pub maxima: Vec<u64>,
}

impl BlockMaxima {
    /// The first contradiction with the latencies that the maxima are of, if any; `expected` is the number of grid points, `highest` the
    /// maximum of the samples.
    pub(super) fn contradiction(
        &self,
        expected: Option<u64>,
        highest: Option<u64>,
        samples: &Histogram,
        passed: Option<&PassedOver>,
    ) -> Option<&'static str> {
        if self.points == 0 || self.maxima.len() > MOST_BLOCKS {
            return Some("blocks without points, or too many blocks");
        }
        let covered = self.points.checked_mul(self.maxima.len() as u64);
        if covered.is_none_or(|n| expected.is_none_or(|expected| n > expected)) {
            return Some("the blocks have more points than the grid");
        }
        let mut maxima = self.maxima.clone();
        maxima.sort_unstable();
        let beyond = maxima.last().copied() > highest.max(passed.map(|p| p.max));
        remove_those_of(samples, &mut maxima);
        if let Some(passed) = passed {
            remove_those_of(&passed.histogram, &mut maxima);
        }
        (beyond || !maxima.is_empty()).then_some("a block's maximum is no latency of the distribution")
    }
}

/// Removes the values, in ascending order, that lie in an occupied slot: in one pass, since every record that is read is checked.
fn remove_those_of(histogram: &Histogram, values: &mut Vec<u64>) {
    let mut slots = histogram.iter().peekable();
    values.retain(|value| {
        while slots.next_if(|(_, high, _)| high < value).is_some() {}
        slots.peek().is_none_or(|(low, ..)| low > value)
    });
}
