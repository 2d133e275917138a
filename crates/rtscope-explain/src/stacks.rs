//! Who called whom, from executed blocks alone: a frame for each call, taken away when the stack pointer rises above it.

use crate::symbols::{Symbols, is_kernel};
use std::collections::HashMap;

/// Kernel stacks of x86-64 are so large, and lie at multiples of it (arch/x86/include/asm/page_64_types.h); an interrupt's stack too.
const STACK: u64 = 16 << 10;

/// A function's number in [`Stacks::names`].
pub(crate) type Function = u32;

/// What a function is by its name, looked up once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Where the hardware enters the kernel for the local timer's interrupt.
    TimerEntry,
    /// Where it does for another interrupt. The entries of exceptions go on with `exc_`.
    InterruptEntry,
    /// The scheduler.
    Scheduler,
    /// Anything else.
    Other,
}

impl Kind {
    fn of(name: &str) -> Self {
        let other_entry = ["asm_common_interrupt", "asm_spurious_interrupt", "asm_exc_nmi"];
        match name {
            "asm_sysvec_apic_timer_interrupt" => Self::TimerEntry,
            "__schedule" => Self::Scheduler,
            name if name.starts_with("asm_sysvec_") || other_entry.contains(&name) => Self::InterruptEntry,
            _ => Self::Other,
        }
    }

    /// Whether it is an interrupt's entry.
    pub(crate) fn is_interrupt(self) -> bool {
        matches!(self, Self::TimerEntry | Self::InterruptEntry)
    }
}

/// A function that was entered with this stack pointer and has not returned.
#[derive(Debug, Clone, Copy)]
struct Frame {
    function: Function,
    start: u64,
    sp: u64,
}

/// The stacks of all tasks and interrupts.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    frames: HashMap<u64, Vec<Frame>>,
    /// Of each task the stack that it was seen on outside of interrupts.
    of_task: HashMap<u64, u64>,
    names: Vec<String>,
    kinds: Vec<Kind>,
    numbers: HashMap<u64, Function>,
}

impl Stacks {
    /// The name of a function.
    pub(crate) fn name(&self, function: Function) -> &str {
        &self.names[function as usize]
    }

    /// What a function is.
    pub(crate) fn kind(&self, function: Function) -> Kind {
        self.kinds[function as usize]
    }

    fn number(&mut self, start: u64, name: impl FnOnce() -> String) -> Function {
        *self.numbers.entry(start).or_insert_with(|| {
            let name = name();
            self.kinds.push(Kind::of(&name));
            self.names.push(name);
            u32::try_from(self.names.len() - 1).unwrap_or(0)
        })
    }

    /// The calls that lead to a block at `pc`, outermost first, when it is run with this stack pointer by `task`; `nested`: in an interrupt.
    pub(crate) fn enter(&mut self, pc: u64, sp: u64, task: u64, nested: bool, symbols: &Symbols, chain: &mut Vec<Function>) {
        chain.clear();
        if !is_kernel(pc) {
            let user = self.number(0, || "(user space)".into());
            chain.push(user);
            return;
        }
        let (start, function) = match symbols.function(pc) {
            Some(f) => (f.start, self.number(f.start, || f.name.clone())),
            None => (pc, self.number(pc, || format!("{pc:#x}"))),
        };
        let base = sp / STACK;
        let frames = self.frames.entry(base).or_default();
        // What was entered below this stack pointer has returned.
        while frames.last().is_some_and(|f| f.sp < sp) {
            frames.pop();
        }
        // In the middle of a function that was called before: it has been returned to, whatever became of the stack pointer meanwhile
        // (an interrupt's entry code moves it to another stack).
        if pc != start && frames.last().is_some_and(|f| f.start != start) {
            if let Some(at) = frames.iter().rposition(|f| f.start == start) {
                frames.truncate(at + 1);
            }
        }
        match frames.last_mut() {
            Some(f) if f.start == start => {}
            // A jump from the end of one function to another, which returns for it.
            Some(f) if f.sp == sp => *f = Frame { function, start, sp },
            _ => frames.push(Frame { function, start, sp }),
        }
        if !nested {
            self.of_task.insert(task, base);
        }
        if let Some(&own) = self.of_task.get(&task).filter(|&&own| own != base) {
            chain.extend(self.frames.get(&own).into_iter().flatten().map(|f| f.function));
        }
        chain.extend(self.frames[&base].iter().map(|f| f.function));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_returns_jumps_and_interrupts() {
        let text = "ffffffff81000000 T a\nffffffff81000100 T b\nffffffff81000200 T c\nffffffff81000300 T irq\n";
        let symbols = Symbols::parse(text).unwrap();
        let at = |n: u64| 0xffff_ffff_8100_0000 + n;
        let mut stacks = Stacks::default();
        let mut see = |pc: u64, sp: u64, nested: bool| {
            let mut chain = Vec::new();
            stacks.enter(pc, 0xffff_c900_0000_4000 + sp, 1, nested, &symbols, &mut chain);
            chain.iter().map(|&f| stacks.name(f).to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(see(at(0), 0x1000, false), "a");
        assert_eq!(see(at(0x10), 0xf00, false), "a");
        assert_eq!(see(at(0x100), 0xef8, false), "a b");
        assert_eq!(see(at(0x200), 0xeb0, false), "a b c");
        // Another stack.
        assert_eq!(see(at(0x300), 0x8ff0, true), "a b c irq");
        assert_eq!(see(at(0x210), 0xeb0, false), "a b c");
        // c has returned, and b jumps to c when it ends.
        assert_eq!(see(at(0x120), 0xef8, false), "a b");
        assert_eq!(see(at(0x200), 0xef8, false), "a c");
        assert_eq!(see(at(0x20), 0xf00, false), "a");
        assert_eq!(see(0x5000, 0x100, false), "(user space)");
    }
}
