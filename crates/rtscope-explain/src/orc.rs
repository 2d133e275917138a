//! The kernel's own unwinder, from outside: who called whom, from a copy of a stack and the tables for it (ORC).
//!
//! Source of the format: Documentation/arch/x86/orc-unwinder.rst, arch/x86/include/asm/orc_types.h and arch/x86/kernel/unwind_orc.c of
//! Linux. Kernel modules have tables of their own, which are not read: a stack is followed as far as the first of their functions.

use crate::btf::Btf;
use crate::symbols::is_kernel;
use crate::unwound::{Callers, DEEPEST, StackCopy, Unwound};

/// A bit field within the flags of an entry: first bit, number of bits.
type Bits = (u32, u32);

/// The tables of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Orc {
    /// Of each entry the first instruction that it is for, ascending; and the entry.
    ips: Vec<u64>,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    sp_offset: i16,
    bp_offset: i16,
    sp: Register,
    bp: Register,
    kind: Kind,
}

/// What an offset counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Register {
    Undefined,
    /// The stack pointer of the caller.
    Previous,
    Bp,
    Sp,
    /// What the word says that the frame pointer points to.
    AtBp,
    /// What the word says that the stack pointer points to.
    AtSp,
    /// One that only the kernel's entry code uses.
    Other,
}

impl Register {
    fn of(number: u32) -> Self {
        match number {
            0 => Self::Undefined,
            1 => Self::Previous,
            4 => Self::Bp,
            5 => Self::Sp,
            8 => Self::AtBp,
            9 => Self::AtSp,
            _ => Self::Other,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Undefined,
    End,
    Call,
    /// All registers of the interrupted code were saved.
    Registers,
    /// Only those that the CPU saves.
    Interrupted,
}

/// Offsets in `struct pt_regs` of x86-64, and those of the frame that the CPU saves (arch/x86/include/asm/ptrace.h).
mod regs {
    pub(super) const BP: u64 = 32;
    pub(super) const IP: u64 = 128;
}

impl Orc {
    /// From the sections `.orc_unwind_ip`, which lies at `address`, and `.orc_unwind`; `None` if they can't be read.
    pub fn parse(ips: &[u8], address: u64, entries: &[u8], btf: &Btf<'_>) -> Option<Self> {
        const SIZE: usize = 6;
        // Bits of the flags, which come after the two offsets.
        let bits = |member| btf.bits("orc_entry", member).and_then(|(bit, n)| Some((bit.checked_sub(32)?, n)));
        let (sp, bp, kind): (Bits, Bits, Bits) = (bits("sp_reg")?, bits("bp_reg")?, bits("type")?);
        // Until 6.3 the end of a stack was a bit of its own.
        let end = bits("end");
        if ips.len() / 4 != entries.len() / SIZE {
            return None;
        }
        let entry = |bytes: &[u8]| {
            let half = |at: usize| i16::from_le_bytes([bytes[at], bytes[at + 1]]);
            let flags = u32::from(u16::from_le_bytes([bytes[4], bytes[5]]));
            let get = |(bit, n): Bits| flags.checked_shr(bit).unwrap_or(0) & ((1 << n.min(16)) - 1);
            let kind = match (end, get(kind)) {
                (Some(end), _) if get(end) == 1 => Kind::End,
                (Some(_), 0) | (None, 2) => Kind::Call,
                (Some(_), 1) | (None, 3) => Kind::Registers,
                (Some(_), 2) | (None, 4) => Kind::Interrupted,
                (None, 1) => Kind::End,
                _ => Kind::Undefined,
            };
            Entry { sp_offset: half(0), bp_offset: half(2), sp: Register::of(get(sp)), bp: Register::of(get(bp)), kind }
        };
        let ip = |(i, bytes): (usize, &[u8])| {
            let distance = i32::from_le_bytes(bytes.try_into().unwrap_or_default());
            address.wrapping_add(4 * i as u64).wrapping_add_signed(i64::from(distance))
        };
        let ips: Vec<u64> = ips.chunks_exact(4).enumerate().map(ip).collect();
        ips.is_sorted().then(|| Self { ips, entries: entries.chunks_exact(SIZE).map(entry).collect() })
    }

    fn entry(&self, ip: u64) -> Option<Entry> {
        let after = self.ips.partition_point(|at| *at <= ip);
        self.entries.get(after.checked_sub(1)?).copied()
    }

    /// The functions on the stack of a sample.
    pub(crate) fn unwind(&self, sample: &StackCopy) -> Callers {
        let mut callers = Callers::default();
        let (mut ip, mut sp, mut bp) = (sample.pc, sample.sp, sample.fp);
        // Of an instruction that is next; else `ip` is where a call returns to.
        let mut exact = true;
        while callers.frames.len() < DEEPEST {
            let pc = if exact { ip } else { ip.wrapping_sub(1) };
            if !is_kernel(pc) {
                // Interrupted in user space.
                callers.whole = exact;
                return callers;
            }
            let Some(step) = self.entry(pc).and_then(|entry| step(entry, sample, sp, bp)) else { return callers };
            let Some(next) = step.next else {
                // Also code that the tables do not describe is given as the end: such as the thunks of indirect calls.
                callers.whole = !callers.frames.is_empty();
                callers.frames.extend(callers.whole.then_some(Unwound { pc, sp: step.entered }));
                return callers;
            };
            callers.frames.push(Unwound { pc, sp: step.entered });
            // Who calls has less on the stack, or is in user space.
            if next.sp <= sp && is_kernel(next.ip) {
                return callers;
            }
            (ip, sp, bp, exact) = (next.ip, next.sp, next.bp, next.exact);
        }
        callers
    }
}

/// One function's frame.
struct Step {
    /// The stack pointer with which it was entered.
    entered: u64,
    /// Its caller, or what it interrupted; `None` at the end of the stack.
    next: Option<Next>,
}

struct Next {
    ip: u64,
    sp: u64,
    bp: u64,
    exact: bool,
}

fn step(entry: Entry, sample: &StackCopy, sp: u64, bp: u64) -> Option<Step> {
    if entry.kind == Kind::End {
        return Some(Step { entered: sp, next: None });
    }
    let offset = i64::from(entry.sp_offset);
    let above = match entry.sp {
        Register::Sp => sp.wrapping_add_signed(offset),
        Register::Bp => bp.wrapping_add_signed(offset),
        Register::AtSp => sample.word(sp)?.wrapping_add_signed(offset),
        Register::AtBp => sample.word(bp.wrapping_add_signed(offset))?,
        _ => return None,
    };
    let (entered, ip, next_sp, exact) = match entry.kind {
        Kind::Call => (above.wrapping_sub(8), sample.word(above.wrapping_sub(8))?, above, false),
        Kind::Registers => {
            (above, sample.word(above.wrapping_add(regs::IP))?, sample.word(above.wrapping_add(regs::IP + 24))?, true)
        }
        Kind::Interrupted => (above, sample.word(above)?, sample.word(above.wrapping_add(24))?, true),
        Kind::Undefined | Kind::End => return None,
    };
    let saved = i64::from(entry.bp_offset);
    let bp = match (entry.bp, entry.kind) {
        (_, Kind::Registers) => sample.word(above.wrapping_add(regs::BP))?,
        (Register::Previous, _) => sample.word(above.wrapping_add_signed(saved))?,
        (Register::Bp, _) => sample.word(bp.wrapping_add_signed(saved))?,
        _ => bp,
    };
    Some(Step { entered, next: Some(Next { ip, sp: next_sp, bp, exact }) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BASE: u64 = 0xffff_ffff_8100_0000;

    fn entry(sp_offset: i16, sp: Register, bp: Register, kind: Kind) -> Entry {
        Entry { sp_offset, bp_offset: -16, sp, bp, kind }
    }

    /// `a` at 0x100 calls `b` at 0x200, which has pushed its frame pointer; `start` at 0 is the stack's end, `irq` at 0x300 was entered
    /// by an interrupt and saved all registers.
    fn orc() -> Orc {
        let (sp, none) = (Register::Sp, Register::Undefined);
        Orc {
            ips: [0, 0x100, 0x200, 0x210, 0x300].map(|at| BASE + at).into(),
            entries: vec![
                entry(0, Register::Undefined, none, Kind::End),
                entry(24, sp, none, Kind::Call),
                entry(8, sp, none, Kind::Call),
                entry(16, sp, Register::Previous, Kind::Call),
                entry(8, sp, none, Kind::Registers),
            ],
        }
    }

    fn sample(pc: u64, bp: u64, words: &[u64]) -> StackCopy {
        let memory = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        StackCopy { pc: BASE + pc, sp: 0x1000, fp: bp, link: 0, task: 1, memory, before: 0 }
    }

    #[test]
    fn calls_interrupts_and_ends() {
        let frames = |s: &StackCopy| {
            let c = orc().unwind(s);
            (c.frames.iter().map(|f| (f.pc - BASE, f.sp)).collect::<Vec<_>>(), c.whole)
        };
        // In b, after its push: bp, return to a; two words of a; return to start.
        let calls = [7, BASE + 0x120, 1, 2, BASE + 0x20];
        assert_eq!(frames(&sample(0x210, 9, &calls)), (vec![(0x210, 0x1008), (0x11f, 0x1020), (0x1f, 0x1028)], true));
        // Before its push.
        assert_eq!(frames(&sample(0x200, 9, &calls[1..])), (vec![(0x200, 0x1000), (0x11f, 0x1018), (0x1f, 0x1020)], true));
        // Cut off.
        assert_eq!(frames(&sample(0x200, 9, &calls[1..3])), (vec![(0x200, 0x1000)], false));
        // An interrupt of a, whose stack is above the registers.
        let mut words = vec![0; 1 + 21];
        (words[1 + 16], words[1 + 19]) = (BASE + 0x150, 0x1000 + 8 * 22);
        words.extend([1, 2, BASE + 0x20]);
        assert_eq!(frames(&sample(0x300, 9, &words)), (vec![(0x300, 0x1008), (0x150, 0x10c0), (0x1f, 0x10c8)], true));
        // Of user space.
        words[1 + 16] = 0x40_0000;
        assert_eq!(frames(&sample(0x300, 9, &words)), (vec![(0x300, 0x1008)], true));
    }

    proptest! {
        #[test]
        fn no_stack_makes_it_panic_or_go_on_for_ever(
            pc in 0u64..0x400, bp in any::<u64>(), words in prop::collection::vec(prop_oneof![any::<u64>(), BASE..BASE + 0x400, 0x1000u64..0x1100], 0..40)
        ) {
            let c = orc().unwind(&sample(pc, bp, &words));
            prop_assert!(c.frames.len() <= DEEPEST);
        }
    }
}
