//! Who called whom on arm64, from a copy of a stack: each function that calls another links a record of its caller to that of the one
//! before (x29 points to the record: the caller's x29, and where to return to).
//!
//! A function has no record at its begin and at its end, and one that calls nobody never has: then x30 (the link register) says where
//! it returns to. Source: the procedure call standard for AArch64; arch/arm64/kernel/stacktrace.c and entry.S of Linux.

use crate::arm64;
use crate::btf::{Btf, BtfError};
use crate::symbols::{Function, Symbols, is_kernel};
use crate::unwound::{Callers, DEEPEST, Sample, Unwound};

/// Offsets in `struct pt_regs`: x29, x30, the program counter (arch/arm64/include/uapi/asm/ptrace.h).
mod regs {
    pub(super) const FP: u64 = 29 * 8;
    pub(super) const LINK: u64 = 30 * 8;
    pub(super) const PC: u64 = 32 * 8;
}

/// Where a new task begins: what was before it is no caller.
const FIRST: &str = "ret_from_fork";

/// What must be known of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FramePointers {
    /// Size of the registers that an entry saves.
    size: u64,
    /// Where the record of what was interrupted is within them.
    record: u64,
}

/// A place in a function, with what is needed to find its caller.
#[derive(Debug, Clone, Copy)]
struct Place {
    pc: u64,
    fp: u64,
    /// Stack pointer and link register where they are known: in the function that runs, and in one that was interrupted.
    running: Option<(u64, u64)>,
}

impl FramePointers {
    /// From the types of a kernel.
    pub fn new(btf: &Btf<'_>) -> Result<Self, BtfError> {
        Ok(Self { size: btf.size("pt_regs")?, record: btf.offset("pt_regs", "stackframe")? })
    }

    /// The functions on the stack of a sample; none in the code between an entry and the function that it goes on to, or on the way back.
    pub(crate) fn unwind(&self, sample: &Sample, symbols: &Symbols) -> Callers {
        let mut callers = Callers::default();
        let mut place = Place { pc: sample.pc, fp: sample.fp, running: Some((sample.sp, sample.link)) };
        while callers.frames.len() < DEEPEST {
            let Some(f) = symbols.function(place.instruction()) else { return callers };
            if arm64::is_exit(&f.name) || arm64::entered(&f.name, place.pc).is_some() {
                return callers;
            }
            let step =
                if arm64::is_entry(&f.name) { self.interrupted(place, f, sample) } else { self.caller(place, f, sample, symbols) };
            let Some((sp, next)) = step else { return callers };
            callers.frames.push(Unwound { pc: place.instruction(), sp });
            let Some(next) = next else {
                callers.whole = true;
                return callers;
            };
            place = next;
        }
        callers
    }

    /// The stack pointer with which the entry was entered, and what was interrupted; no place if that is user space.
    fn interrupted(&self, place: Place, entry: &Function, sample: &Sample) -> Option<(u64, Option<Place>)> {
        let saved = place.running.map_or(place.fp.wrapping_sub(self.record), |(sp, _)| sp);
        let before = saved.wrapping_add(self.size);
        // Somewhat less, so that it is over when the stack pointer is there again.
        let sp = before.wrapping_sub(1);
        if entry.name.starts_with("el0") {
            return Some((sp, None));
        }
        let word = |at: u64| sample.word(saved.wrapping_add(at));
        // Its first block saves them.
        if place.running.is_some() && place.pc == entry.start {
            return None;
        }
        let (pc, fp, link) = (word(regs::PC)?, word(regs::FP)?, word(regs::LINK)?);
        Some((sp, Some(Place { pc, fp, running: Some((before, link)) })))
    }

    /// The stack pointer with which `f` was entered, and its caller; no place at the end of the stack.
    fn caller(&self, place: Place, f: &Function, sample: &Sample, symbols: &Symbols) -> Option<(u64, Option<Place>)> {
        if f.name == FIRST {
            return Some((place.fp, None));
        }
        if let Some((sp, link)) = place.running.filter(|(_, link)| has_no_record(place, *link, f, sample, symbols)) {
            return Some((sp, Some(Place { pc: link, fp: place.fp, running: None })));
        }
        let (fp, pc) = (sample.word(place.fp)?, sample.word(place.fp.wrapping_add(8))?);
        if pc == 0 {
            return Some((place.fp, None));
        }
        // Its caller's record lies where the caller's stack pointer was; or within the registers that an entry saved.
        let caller = Place { pc, fp, running: None };
        let by_entry = symbols.function(caller.instruction()).is_some_and(|f| arm64::is_entry(&f.name));
        let sp = if by_entry { fp.wrapping_sub(self.record) } else { fp };
        (is_kernel(pc) && fp > place.fp).then_some((sp, Some(caller)))
    }
}

impl Place {
    /// An instruction of the function that it is in: a call may be its last one, and returns behind it.
    fn instruction(&self) -> u64 {
        if self.running.is_some() { self.pc } else { self.pc.wrapping_sub(1) }
    }
}

/// Whether the function `f` that runs has no record (yet, or no more): then the link register says who called it.
fn has_no_record(place: Place, link: u64, f: &Function, sample: &Sample, symbols: &Symbols) -> bool {
    if !is_kernel(link) {
        return false;
    }
    // Once it has called somebody the link register points into it; and if it has not, its record says the same as that.
    let own = symbols.function(link.wrapping_sub(1)).is_some_and(|of| of.start == f.start);
    place.pc == f.start || (!own && sample.word(place.fp.wrapping_add(8)) != Some(link))
}
