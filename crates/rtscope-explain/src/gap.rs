//! Whether a log holds all that was executed: each block begins where the one before ended.
//!
//! QEMU tells a plugin of every block. If it did not, what it left out would be booked as the block before, and sums and fingerprint
//! would still be right: so it is looked for.

use crate::log::{Block, HALTS};

/// Time in which instructions ran that are not in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    /// When it begins: virtual time, ns.
    pub(crate) from: u64,
    /// How long it is, ns.
    pub(crate) ns: u64,
    /// The first instruction of the block before.
    pub(crate) after: u64,
}

/// The first gap between `blocks` that begins before `end`, where an instruction lasts `instruction_ns`. A block may end early, and the
/// next then begin before the end that it would have had. A CPU that waits for an interrupt executes nothing.
pub(crate) fn first_gap(blocks: &[Block], end: u64, instruction_ns: u64) -> Option<Gap> {
    let gap = |pair: &[Block]| {
        let [before, block] = pair else { return None };
        let start = block.end.saturating_sub(u64::from(block.insns).saturating_mul(instruction_ns));
        let ns = start.checked_sub(before.end).filter(|ns| *ns > 0 && before.flags & HALTS == 0)?;
        Some(Gap { from: before.end, ns, after: before.pc })
    };
    blocks.windows(2).take_while(|pair| pair[0].end < end).find_map(gap)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(end: u64, insns: u32, flags: u32) -> Block {
        Block { end, pc: 0x1000 + end, sp: 0, task: 0, insns, preempt: 0, flags, cpu: 0 }
    }

    #[test]
    fn what_ran_between_two_blocks_is_missed_and_what_was_waited_is_not() {
        // The third ended after one instruction of ten; the fourth waits for 1000 ns.
        let blocks = [block(100, 10, 0), block(108, 8, 0), block(118, 10, 0), block(113, 4, HALTS), block(1_120, 7, 0)];
        assert_eq!(first_gap(&blocks, u64::MAX, 1), None);
        let missing = [&blocks[..1], &blocks[2..]].concat();
        let gap = Gap { from: 100, ns: 8, after: 0x1000 + 100 };
        assert_eq!(first_gap(&missing, u64::MAX, 1), Some(gap));
        assert_eq!([first_gap(&missing, 100, 1), first_gap(&missing, 101, 1)], [None, Some(gap)], "what came later does not count");
        let mut busy = blocks;
        busy[3].flags = 0;
        assert_eq!(first_gap(&busy, u64::MAX, 1), Some(Gap { from: 113, ns: 1_000, after: 0x1000 + 113 }));
        // Instructions of 2 ns.
        assert_eq!(first_gap(&[block(100, 10, 0), block(120, 10, 0)], u64::MAX, 2), None);
        assert_eq!(first_gap(&[block(100, 10, 0), block(121, 10, 0)], u64::MAX, 2).map(|g| g.ns), Some(1));
    }
}
