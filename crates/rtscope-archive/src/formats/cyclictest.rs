//! cyclictest (rt-tests): its text in both dialects, its `-v` stream of samples and its JSON, read and written.
//!
//! What the formats mean was found by running 2.4, 2.6 and 2.10 and by reading their source:
//! - the cycle count `C:` includes samples that overflowed the histogram; `# Total:` does not; minimum, average and maximum are of all
//!   samples; cycle numbers start at 0 and are of all samples;
//! - the average is a whole number, cut off, in text, and has two decimals in JSON;
//! - a thread without any sample has the minimum 1000000 and the maximum 0;
//! - at most as many overflows are logged by number as the histogram has bins; the rest are `# NNN others`, which 2.7 and later write
//!   also for none;
//! - `-v` prints a latency of 0 under the number of the cycle before it.

mod command;
mod json_read;
mod json_write;
mod kept;
mod lines;
mod table;
mod text_read;
mod text_write;
mod verbose;

pub use json_read::read_json;
pub use json_write::write_json;
pub use text_read::read_text;
pub use text_write::{LiveLine, write_live, write_text, write_thread_line};
pub use verbose::{read_verbose, write_verbose_header, write_verbose_line};

use super::Format;
use rtscope_record::Record;

/// cyclictest's two ways of writing a histogram as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// rt-tests up to 2.6: every bin a row, `# Total:`, a sum column only with several threads.
    A,
    /// rt-tests 2.7 and later: rows of zeros left out, no `# Total:`, a sum column also with one thread.
    B,
}

/// What to print: cyclictest's own options, as far as they shape its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Which dialect.
    pub dialect: Dialect,
    /// `-h N`: print the histogram with `N` bins; more are printed where the record has more.
    pub histogram: Option<u64>,
    /// `-H N`: a column with the sum of all threads.
    pub sum: bool,
    /// `-N`: nanoseconds instead of microseconds.
    pub nanoseconds: bool,
    /// `-q`: no `T:` lines beside a histogram.
    pub quiet: bool,
    /// Two comment lines more than cyclictest has, with the missed and the expected periods of each thread.
    pub missed: bool,
    /// The lines before the figures: `# /dev/cpu_dma_latency set to 0us` when the record says that it was held.
    pub header: bool,
}

impl TextOptions {
    /// What suits a record: the options that its source was written with, or that its settings name.
    pub fn of(record: &Record, dialect: Dialect) -> Self {
        let bins = record.distributions().iter().filter_map(|d| d.parts().linear.as_ref());
        let kept = kept::Kept::of(record);
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

    /// Width of the unit that figures are printed in, ns.
    pub fn unit_ns(&self) -> u64 {
        if self.nanoseconds { 1 } else { 1000 }
    }
}

/// The minimum that cyclictest starts from, and prints where there was no sample.
const NO_MINIMUM: u64 = 1_000_000;

/// Which of cyclictest's text formats this is, if any.
pub(super) fn detect(text: &str) -> Option<Format> {
    let has = |what: &dyn Fn(&str) -> bool| text.lines().any(|l| what(l.trim_end()));
    if has(&|l| l == "# Histogram") {
        return Some(if has(&|l| l.starts_with("# Total:")) { Format::CyclictestA } else { Format::CyclictestB });
    }
    if has(&|l| verbose::is_sample(l)) {
        return Some(Format::CyclictestV);
    }
    has(&|l| lines::without_escapes(l).starts_with("T:")).then_some(Format::CyclictestA)
}
