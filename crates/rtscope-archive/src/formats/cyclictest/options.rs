//! cyclictest's own options that affect its output, and what it prints without samples.

use super::kept::Kept;
use rtscope_record::Record;

/// cyclictest's two text formats for a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// rt-tests up to 2.6: a row for every bin, `# Total:`, a sum column only with several threads.
    A,
    /// rt-tests 2.7 and later: no rows of zeros, no `# Total:`, a sum column even with one thread.
    B,
}

/// What to print: cyclictest's own options that affect its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Which dialect.
    pub dialect: Dialect,
    /// `-h N`: print the histogram with `N` bins, or more where the record has more.
    pub histogram: Option<u64>,
    /// `-H N`: a column with the sum of all threads.
    pub sum: bool,
    /// `-N`: nanoseconds instead of microseconds.
    pub nanoseconds: bool,
    /// `-q`: no `T:` lines next to a histogram.
    pub quiet: bool,
    /// Add two comment lines that cyclictest does not have: missed and expected periods of each thread.
    pub missed: bool,
    /// Print the lines before the figures: `# /dev/cpu_dma_latency set to 0us` where the record says that it was held.
    pub header: bool,
}

impl TextOptions {
    /// The options that suit a record: those of the file it was imported from, or those that its bins and settings imply.
    pub fn of(record: &Record, dialect: Dialect) -> Self {
        let bins = record.distributions().iter().filter_map(|d| d.parts().linear.as_ref());
        let kept = Kept::of(record);
        let all_ns = record.distributions().iter().all(|d| d.parts().linear.as_ref().is_none_or(|l| l.unit_ns == 1));
        let histogram = bins.clone().map(|l| l.size).max();
        Self {
            dialect,
            histogram,
            sum: kept.as_ref().is_some_and(|k| k.sum),
            nanoseconds: kept.as_ref().map_or(histogram.is_some() && all_ns, |k| k.nanoseconds),
            quiet: kept.as_ref().is_none_or(|k| !k.thread_lines),
            missed: record.distributions().iter().any(|d| d.parts().expected.is_some()),
            header: true,
        }
    }

    /// The unit of the printed figures, ns.
    pub fn unit_ns(&self) -> u64 {
        if self.nanoseconds { 1 } else { 1000 }
    }
}

/// cyclictest's initial minimum, which it prints where there was no sample.
pub(super) const NO_MINIMUM: u64 = 1_000_000;
