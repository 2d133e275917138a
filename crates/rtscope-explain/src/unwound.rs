//! A copy of a stack, and what an unwinder finds on it.

/// Most callers of one block: a stack is 16 KiB.
pub(crate) const DEEPEST: usize = 200;

/// A copy of a stack, from the stack pointer up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackCopy {
    /// The first instruction of the block that was about to run.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer.
    pub fp: u64,
    /// Where the last call returns to, if that is a register (Arm).
    pub link: u64,
    /// The task.
    pub task: u64,
    /// The memory from `sp` on.
    pub memory: Vec<u8>,
    /// How many blocks of the window were logged before.
    pub before: usize,
}

impl StackCopy {
    /// The word at an address of the stack.
    pub(crate) fn word(&self, at: u64) -> Option<u64> {
        let at = usize::try_from(at.checked_sub(self.sp)?).ok()?;
        Some(u64::from_le_bytes(self.memory.get(at..at.checked_add(8)?)?.try_into().ok()?))
    }
}

/// A function on a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unwound {
    /// An instruction of it.
    pub(crate) pc: u64,
    /// The stack pointer with which it was entered.
    pub(crate) sp: u64,
}

/// An unwound stack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Callers {
    /// The functions, the innermost first.
    pub(crate) frames: Vec<Unwound>,
    /// Whether the stack was followed to its end.
    pub(crate) whole: bool,
}
