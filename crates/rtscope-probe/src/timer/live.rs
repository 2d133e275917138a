//! Live figures of one measuring thread.

use crate::protocol::Live;
use rtscope_samples::sampler::LiveCell;
use std::sync::atomic::Ordering::Relaxed;

/// The figures of one thread for a progress event.
pub(crate) fn live(cell: &LiveCell, label: &str, tid: u32, priority: u8, interval: u64) -> Live {
    let count = cell.count.load(Relaxed);
    Live {
        label: label.into(),
        tid,
        priority,
        interval,
        count,
        missed: cell.missed.load(Relaxed),
        min: if count == 0 { 0 } else { cell.min.load(Relaxed) },
        last: cell.last.load(Relaxed),
        sum: cell.sum.load(Relaxed),
        max: cell.max.load(Relaxed),
    }
}
