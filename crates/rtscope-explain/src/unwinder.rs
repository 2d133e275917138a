//! The unwinder that a kernel has: by tables on x86, by frame pointers on Arm.

use crate::frame_pointers::FramePointers;
use crate::orc::Orc;
use crate::symbols::Symbols;
use crate::unwound::{Callers, StackCopy};

/// How callers are found on a copy of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unwinder {
    /// By the kernel's tables.
    Orc(Orc),
    /// By the frames that functions link with each other.
    FramePointers(FramePointers),
}

impl Unwinder {
    /// The functions on the stack of a sample.
    pub(crate) fn unwind(&self, sample: &StackCopy, symbols: &Symbols) -> Callers {
        match self {
            Self::Orc(orc) => orc.unwind(sample),
            Self::FramePointers(frames) => frames.unwind(sample, symbols),
        }
    }
}
