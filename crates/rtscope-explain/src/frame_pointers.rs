//! Who called whom on arm64, from a copy of a stack: each function that calls another links a record of its caller to that of the one
//! before (x29 points to the record: the caller's x29, and where to return to).
//!
//! A function has no record at its begin and at its end, and one that calls nobody never has: then x30 (the link register) says where
//! it returns to. Source: the procedure call standard for AArch64; arch/arm64/kernel/stacktrace.c and entry.S of Linux.

use crate::arm64;
use crate::btf::{Btf, BtfError};
use crate::symbols::{Function, Symbols, is_kernel};
use crate::unwound::{Callers, DEEPEST, StackCopy, Unwound};

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
    pub(crate) fn unwind(&self, sample: &StackCopy, symbols: &Symbols) -> Callers {
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
    fn interrupted(&self, place: Place, entry: &Function, sample: &StackCopy) -> Option<(u64, Option<Place>)> {
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
    fn caller(&self, place: Place, f: &Function, sample: &StackCopy, symbols: &Symbols) -> Option<(u64, Option<Place>)> {
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
fn has_no_record(place: Place, link: u64, f: &Function, sample: &StackCopy, symbols: &Symbols) -> bool {
    if !is_kernel(link) {
        return false;
    }
    // Once it has called somebody the link register points into it; and if it has not, its record says the same as that.
    let own = symbols.function(link.wrapping_sub(1)).is_some_and(|of| of.start == f.start);
    place.pc == f.start || (!own && sample.word(place.fp.wrapping_add(8)) != Some(link))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: u64 = 0xffff_8000_8000_0000;
    const FRAMES: FramePointers = FramePointers { size: 0x150, record: 0x130 };
    const BASE: u64 = 0x1000;

    fn symbols() -> Symbols {
        let names = ["a", "b", "c", "el1h_64_irq", "el0t_64_sync", "ret_from_fork", "ret_to_user"];
        let lines: Vec<String> = names.iter().zip(0u64..).map(|(name, i)| format!("{:x} T {name}", TEXT + 0x100 * i)).collect();
        Symbols::parse(&(lines.join("\n") + "\nffff800080000800 T vectors\n")).unwrap()
    }

    /// A stack of these words from `BASE` on, by their places.
    fn sample(pc: u64, fp: u64, link: u64, words: &[(u64, u64)]) -> StackCopy {
        let mut memory = vec![0; 0x400];
        for (at, word) in words {
            let at = usize::try_from(at - BASE).unwrap();
            memory[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        StackCopy { pc: TEXT + pc, sp: BASE, fp, link, task: 1, memory, before: 0 }
    }

    fn frames(s: &StackCopy) -> (Vec<(u64, u64)>, bool) {
        let c = FRAMES.unwind(s, &symbols());
        (c.frames.iter().map(|f| (f.pc - TEXT, f.sp - BASE)).collect(), c.whole)
    }

    /// b was called by a, and a by the entry of a system call, whose registers begin at 0x80.
    fn call() -> Vec<(u64, u64)> {
        vec![(BASE, BASE + 0x40), (BASE + 8, TEXT + 0x20), (BASE + 0x40, BASE + 0x1b0), (BASE + 0x48, TEXT + 0x440)]
    }

    #[test]
    fn a_function_with_a_record_or_without_one() {
        let callers = vec![(0x1f, 0x80), (0x43f, 0x1cf)];
        let with = |first: (u64, u64)| (std::iter::once(first).chain(callers.clone()).collect::<Vec<_>>(), true);
        // b has called somebody, or nobody yet: its record says who called it.
        assert_eq!(frames(&sample(0x140, BASE, TEXT + 0x13c, &call())), with((0x140, 0x40)));
        assert_eq!(frames(&sample(0x110, BASE, TEXT + 0x20, &call())), with((0x110, 0x40)));
        // At its begin, and where it has none: the link register does.
        assert_eq!(frames(&sample(0x100, BASE + 0x40, TEXT + 0x20, &call())), with((0x100, 0)));
        assert_eq!(frames(&sample(0x110, BASE + 0x40, TEXT + 0x20, &call())), with((0x110, 0)));
    }

    #[test]
    fn what_was_interrupted_is_found_in_the_registers() {
        // c sees to an interrupt of b, which has no record; its registers are at 0x20, those of a system call that a sees to at 0x200.
        let saved = BASE + 0x20;
        let words = [
            (BASE, saved + 0x130),
            (BASE + 8, TEXT + 0x340),
            (saved + regs::PC, TEXT + 0x120),
            (saved + regs::FP, BASE + 0x180),
            (saved + regs::LINK, TEXT + 0x20),
            (BASE + 0x180, BASE + 0x330),
            (BASE + 0x188, TEXT + 0x440),
        ];
        let all = vec![(0x210, 0x20), (0x33f, 0x16f), (0x120, 0x170), (0x1f, 0x200), (0x43f, 0x34f)];
        assert_eq!(frames(&sample(0x210, BASE, TEXT + 0x340, &words)), (all, true));
        // Before they are saved, on the way there and on the way back nothing is known.
        for pc in [0x300, 0xa80, 0x600] {
            assert_eq!(frames(&sample(pc, BASE, TEXT + 0x340, &words)), (vec![], false));
        }
    }

    #[test]
    fn the_end_of_a_stack_and_a_damaged_one() {
        // Of a kernel thread.
        let thread = [(BASE, BASE + 0x200), (BASE + 8, TEXT + 0x510)];
        assert_eq!(frames(&sample(0x110, BASE, TEXT + 0x510, &thread)), (vec![(0x110, 0x200), (0x50f, 0x200)], true));
        // Of the first task.
        assert_eq!(frames(&sample(0x110, BASE + 0x200, 0, &[])), (vec![(0x110, 0x200)], true));
        assert_eq!(frames(&sample(0x110, 0x10, 0, &[])), (vec![], false));
        let round = [(BASE, BASE), (BASE + 8, TEXT + 0x20)];
        assert_eq!(frames(&sample(0x110, BASE, TEXT + 0x20, &round)), (vec![], false));
    }

    proptest! {
        #[test]
        fn no_stack_makes_it_panic_or_go_on_for_ever(
            pc in 0u64..0x900, fp in any::<u64>(), link in any::<u64>(),
            words in prop::collection::vec(prop_oneof![any::<u64>(), TEXT..TEXT + 0x900, BASE..BASE + 0x100], 0..60)
        ) {
            let places: Vec<(u64, u64)> = words.iter().zip(0u64..).map(|(word, i)| (BASE + 8 * i, *word)).collect();
            let any = sample(pc, fp, link, &places);
            for s in [sample(pc, BASE, TEXT + 0x20, &places), any] {
                prop_assert!(FRAMES.unwind(&s, &symbols()).frames.len() <= DEEPEST);
            }
        }
    }
}
