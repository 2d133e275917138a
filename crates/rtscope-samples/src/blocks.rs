//! The highest latency of each block of a grid, however long the run is, in memory that is present from the start.

use crate::memory::room;
use rtscope_record::BlockMaxima;
use rtscope_record::distribution::MOST_BLOCKS;

/// Grid points of a block at first. When there are [`MOST_BLOCKS`], neighbours are made one, and blocks are twice as long from then on.
pub const FIRST_BLOCK: u64 = 64;

/// The block maxima of one thread.
#[derive(Debug)]
pub(crate) struct Blocks {
    /// Grid points of a block; 0 where no blocks are wanted.
    points: u64,
    maxima: Vec<u64>,
    highest: u64,
    /// Only samples at or above this are a new maximum of their block.
    pub(crate) from: u64,
}

impl Blocks {
    /// Room for the maxima of a run.
    pub(crate) fn new() -> Self {
        Self { points: FIRST_BLOCK, maxima: room(MOST_BLOCKS, 0), highest: 0, from: 0 }
    }

    /// For a thread without blocks: allocates nothing.
    pub(crate) fn none() -> Self {
        Self { points: 0, maxima: Vec::new(), highest: 0, from: u64::MAX }
    }

    /// Takes a latency of the block.
    pub(crate) fn take(&mut self, value: u64) {
        if value >= self.from {
            self.highest = value;
            self.from = value.saturating_add(1);
        }
    }

    /// Ends the block. Returns how many grid points the next one has.
    pub(crate) fn end(&mut self) -> u64 {
        if self.points == 0 {
            return u64::MAX;
        }
        self.maxima.push(self.highest);
        (self.highest, self.from) = (0, 0);
        if self.maxima.len() == MOST_BLOCKS {
            for i in 0..MOST_BLOCKS / 2 {
                self.maxima[i] = self.maxima[2 * i].max(self.maxima[2 * i + 1]);
            }
            self.maxima.truncate(MOST_BLOCKS / 2);
            self.points *= 2;
        }
        self.points
    }

    /// The maxima of all blocks that were ended.
    pub(crate) fn finish(self) -> Option<BlockMaxima> {
        (!self.maxima.is_empty()).then_some(BlockMaxima { points: self.points, maxima: self.maxima })
    }
}
