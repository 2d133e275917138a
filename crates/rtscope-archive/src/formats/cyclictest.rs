//! cyclictest (rt-tests): its text in both dialects, its `-v` stream of samples and its JSON, read and written.
//!
//! The meaning of the formats, found by running 2.4, 2.6 and 2.10 and by reading their source:
//! - the cycle count `C:` includes samples that overflowed the histogram, `# Total:` does not; minimum, average and
//!   maximum are over all samples; cycle numbers start at 0 and count all samples;
//! - the average is truncated to a whole number in text, and has two decimals in JSON;
//! - a thread without any sample has the minimum 1000000 and the maximum 0;
//! - as many overflows are logged by cycle number as the histogram has bins; the rest are counted by `# NNN others`,
//!   which 2.7 and later also write when the count is 0;
//! - `-v` prints a latency of 0 under the number of the previous cycle.

mod command;
mod json_read;
mod json_write;
mod kept;
mod lines;
mod options;
mod table;
mod text_read;
mod text_write;
mod verbose;

pub use json_read::read_json;
pub use json_write::write_json;
pub use options::{Dialect, TextOptions};
pub use text_read::read_text;
pub use text_write::{LiveLine, write_live, write_text, write_thread_line};
pub use verbose::{read_verbose, write_verbose_header, write_verbose_line};

use super::format::Format;

/// Detects which of cyclictest's text formats this is, if any.
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
