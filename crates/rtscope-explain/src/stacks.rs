//! Who called whom, from executed blocks alone: a frame for each call, taken away when the stack pointer rises above it.

use crate::arm64;
use crate::symbols::{Symbols, is_kernel};
use crate::unwound::{Callers, Unwound};
use std::collections::HashMap;

/// Kernel stacks of x86-64 and arm64 are so large, and lie at multiples of it (arch/x86/include/asm/page_64_types.h,
/// arch/arm64/include/asm/memory.h); an interrupt's stack too.
const STACK: u64 = 16 << 10;

/// The CPUs' stacks for entries lie in the 512 GiB from here (`cpu_entry_area`; Documentation/arch/x86/x86_64/mm.rst).
const ENTRY_STACKS: u64 = 0xffff_fe00_0000_0000;

/// In place of a name where nothing was logged.
pub(crate) const NOT_LOGGED: &str = "(not logged)";

/// A function's number in [`Stacks::names`].
pub(crate) type Function = u32;

/// What a function is by its name, looked up once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Where the hardware enters the kernel for the local timer's interrupt.
    TimerEntry,
    /// Where it does for another interrupt. The entries of exceptions go on with `exc_`.
    InterruptEntry,
    /// What an interrupt's entry comes to if it is the local timer's, where all interrupts have one entry.
    TimerHandler,
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
            "arch_timer_handler_virt" | "arch_timer_handler_phys" => Self::TimerHandler,
            "__schedule" => Self::Scheduler,
            name if name.starts_with("asm_sysvec_") || other_entry.contains(&name) || arm64::is_interrupt(name) => {
                Self::InterruptEntry
            }
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
    /// The stack that the last block of the kernel ran on.
    last: u64,
    /// The function that the last block was in, if it ran on a stack for entries.
    entry: Option<Frame>,
    /// The function that the CPU's entry goes on to, while it is on its way there (arm64).
    vector: Option<Frame>,
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

    /// In place of a function where nothing was logged.
    pub(crate) fn unlogged(&mut self) -> Function {
        self.number(1, || NOT_LOGGED.into())
    }

    /// The number of the function that begins there, if it ran.
    pub(crate) fn at(&self, start: u64) -> Option<Function> {
        self.numbers.get(&start).copied()
    }

    fn function(&mut self, pc: u64, symbols: &Symbols) -> (u64, Function) {
        match symbols.function(pc) {
            Some(f) => (f.start, self.number(f.start, || f.name.clone())),
            None => (pc, self.number(pc, || format!("{pc:#x}"))),
        }
    }

    /// Takes over the frames of a stack that was unwound.
    pub(crate) fn seed(&mut self, callers: &Callers, sp: u64, symbols: &Symbols) {
        let frames = callers.frames.iter().rev().map(|f| {
            let (start, function) = self.function(f.pc, symbols);
            Frame { function, start, sp: f.sp }
        });
        let frames = frames.collect();
        self.frames.insert(stack_of(sp), frames);
    }

    /// Whether the frames of the stack with this pointer are those that were unwound, as far as they were.
    pub(crate) fn agrees(&self, callers: &Callers, sp: u64, symbols: &Symbols) -> bool {
        let known = self.frames.get(&stack_of(sp)).map_or(&[][..], Vec::as_slice);
        let start = |f: &Unwound| symbols.function(f.pc).map_or(f.pc, |f| f.start);
        (!callers.whole || known.len() == callers.frames.len())
            && known.len() >= callers.frames.len()
            && known.iter().rev().zip(&callers.frames).all(|(f, unwound)| f.start == start(unwound))
    }

    /// The calls that lead to a block at `pc`, outermost first, when it is run with this stack pointer in a task whose own stack
    /// begins at `own`.
    pub(crate) fn enter(&mut self, pc: u64, sp: u64, own: u64, symbols: &Symbols, chain: &mut Vec<Function>) {
        chain.clear();
        if !is_kernel(pc) {
            // Nothing is on its kernel stack.
            self.frames.remove(&(own / STACK));
            self.vector = None;
            let user = self.number(0, || "(user space)".into());
            chain.push(user);
            return;
        }
        let (start, function) = self.function(pc, symbols);
        if let Some(entered) = arm64::entered(self.name(function), pc) {
            self.goes_to(entered, sp, own, symbols, chain);
            return;
        }
        // What saves the registers counts as entered before there was room for them: it is over when the stack pointer is there again.
        let entered = self.vector.take().filter(|v| v.start == pc).map_or(sp, |v| v.sp);
        let base = stack_of(sp);
        let frames = self.frames.entry(base).or_default();
        // Gone over from the task's stack to another one: whatever was there before is over.
        if std::mem::replace(&mut self.last, base) == own / STACK && base != own / STACK {
            frames.clear();
        }
        // What was entered below this stack pointer has returned.
        while frames.last().is_some_and(|f| f.sp < sp) {
            frames.pop();
        }
        // An entry from user space begins on a small stack of its own and goes over to the task's, which is empty then, within a block.
        if let Some(entry) = self.entry.take().filter(|_| pc == start && own / STACK == base) {
            frames.clear();
            frames.push(Frame { sp: own + STACK - 1, ..entry });
        }
        // In the middle of a function that was called before: it has been returned to, whatever became of the stack pointer meanwhile
        // (an interrupt's entry code moves it to another stack).
        if pc != start && frames.last().is_some_and(|f| f.start != start) {
            if let Some(at) = frames.iter().rposition(|f| f.start == start) {
                frames.truncate(at + 1);
            }
        }
        match frames.last_mut() {
            // Not where it calls itself.
            Some(f) if f.start == start && (pc != start || f.sp == entered) => {}
            // A jump from the end of one function to another, which returns for it.
            Some(f) if f.sp == entered => *f = Frame { function, start, sp: entered },
            _ => frames.push(Frame { function, start, sp: entered }),
        }
        self.entry = frames.last().copied().filter(|_| sp >> 39 == ENTRY_STACKS >> 39);
        self.calls(base, own, chain);
    }

    /// The CPU has entered the kernel, and is on its way to the function of that name: in a few blocks, of which those after the first
    /// may have anything in their stack pointer.
    fn goes_to(&mut self, name: &'static str, sp: u64, own: u64, symbols: &Symbols, chain: &mut Vec<Function>) {
        let start = symbols.address(name).unwrap_or_default();
        let function = self.number(start, || name.to_owned());
        if name.starts_with("el0") {
            // From user space, of which no block may have been seen.
            self.frames.remove(&(own / STACK));
        }
        let entered = *self.vector.get_or_insert(Frame { function, start, sp: sp.wrapping_sub(1) });
        self.calls(stack_of(entered.sp), own, chain);
        chain.push(function);
    }

    /// The calls on the stack `base`, and before them those on the task's own stack, which begins at `own`.
    fn calls(&self, base: u64, own: u64, chain: &mut Vec<Function>) {
        let frames = self.frames.get(&base).map_or(&[][..], Vec::as_slice);
        // On the stack of interrupts and softirqs, or on one for entries.
        if own / STACK != base {
            chain.extend(self.frames.get(&(own / STACK)).into_iter().flatten().map(|f| f.function));
        }
        // The function that goes over is on both.
        let twice = chain.last().is_some() && chain.last() == frames.first().map(|f| &f.function);
        chain.extend(frames.iter().skip(usize::from(twice)).map(|f| f.function));
    }
}

/// Names the stack that a stack pointer is of: an empty stack's points behind it.
fn stack_of(sp: u64) -> u64 {
    sp.wrapping_sub(1) / STACK
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: u64 = 0xffff_c900_0000_4000;

    #[test]
    fn calls_returns_jumps_and_interrupts() {
        let text = "ffffffff81000000 T a\nffffffff81000100 T b\nffffffff81000200 T c\nffffffff81000300 T irq\n";
        let symbols = Symbols::parse(text).unwrap();
        let at = |n: u64| 0xffff_ffff_8100_0000 + n;
        let mut stacks = Stacks::default();
        let see = |stacks: &mut Stacks, pc: u64, sp: u64| {
            let mut chain = Vec::new();
            stacks.enter(pc, OWN + sp, OWN, &symbols, &mut chain);
            chain.iter().map(|&f| stacks.name(f).to_owned()).collect::<Vec<_>>().join(" ")
        };
        let mut see = |pc: u64, sp: u64| see(&mut stacks, pc, sp);
        assert_eq!(see(at(0), 0x1000), "a");
        assert_eq!(see(at(0x10), 0xf00), "a");
        assert_eq!(see(at(0x100), 0xef8), "a b");
        assert_eq!(see(at(0x200), 0xeb0), "a b c");
        // Another stack.
        assert_eq!(see(at(0x300), 0x8ff0), "a b c irq");
        assert_eq!(see(at(0x210), 0xeb0), "a b c");
        assert_eq!(see(at(0x100), 0x8fe0), "a b c b", "what was on the other stack before is over");
        assert_eq!(see(at(0x220), 0xeb0), "a b c");
        assert_eq!(see(at(0x220), 0x8ff8), "a b c", "goes over in its middle");
        assert_eq!(see(at(0x300), 0x8fe8), "a b c irq");
        assert_eq!(see(at(0x230), 0xeb0), "a b c");
        // c has returned, and b jumps to c when it ends.
        assert_eq!(see(at(0x120), 0xef8), "a b");
        assert_eq!(see(at(0x200), 0xef8), "a c");
        assert_eq!(see(at(0x20), 0xf00), "a");
        assert_eq!(see(0x5000, 0x100), "(user space)");
        assert_eq!(see(at(0x110), 0xe00), "b", "what was on the stack before is gone");
        assert_eq!(see(at(0x100), 0xd00), "b b", "calls itself");
        assert_eq!(see(at(0x120), 0xe00), "b");
    }
    #[test]
    fn an_entry_from_user_space_goes_over_to_the_tasks_stack() {
        let text = "ffffffff81000000 T asm_exc\nffffffff81000100 T exc\nffffffff81000200 T f\nffffffff81000300 T iret\n";
        let symbols = Symbols::parse(text).unwrap();
        let mut stacks = Stacks::default();
        let mut see = |pc: u64, sp: u64| {
            let mut chain = Vec::new();
            stacks.enter(0xffff_ffff_8100_0000 + pc, sp, OWN, &symbols, &mut chain);
            chain.iter().map(|&f| stacks.name(f).to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(see(0x300, OWN + 0x3ff0), "iret", "to user space, of which no block was seen");
        let entry = ENTRY_STACKS + 0x5f00;
        assert_eq!(see(0, entry), "iret asm_exc");
        assert_eq!(see(0x20, entry), "iret asm_exc");
        assert_eq!(see(0x100, OWN + 0x3e00), "asm_exc exc");
        assert_eq!(see(0x200, OWN + 0x3d00), "asm_exc exc f");
    }

    #[test]
    fn on_arm64_calls_leave_the_stack_pointer_where_it_is() {
        const TEXT: u64 = 0xffff_8000_8000_0000;
        let text = "ffff800080000000 T a\nffff800080000100 T b\nffff800080000200 T c\nffff800080000800 T vectors\n\
                    ffff800080001000 t el1h_64_irq\nffff800080001100 t el1h_64_irq_handler\nffff800080001200 T call_on_irq_stack\n\
                    ffff800080001300 t gic_handle_irq\nffff800080001400 t ret_to_kernel\nffff800080001500 t el0t_64_sync\n\
                    ffff800080002000 t tramp_vectors\nffff800080003000 T last\n";
        let symbols = Symbols::parse(text).unwrap();
        let mut stacks = Stacks::default();
        let mut see = |pc: u64, sp: u64| {
            let mut chain = Vec::new();
            stacks.enter(pc, OWN + sp, OWN, &symbols, &mut chain);
            chain.iter().map(|&f| stacks.name(f).to_owned()).collect::<Vec<_>>().join(" ")
        };
        let (top, irq) = (0x4000, 0x14000);
        // From user space, by way of code that is mapped far away.
        assert_eq!(see(0x5000, 0x100), "(user space)");
        assert_eq!(see(0xffff_ffff_ff5f_4c00, top), "el0t_64_sync");
        assert_eq!(see(TEXT + 0xc04, top), "el0t_64_sync");
        assert_eq!(see(TEXT + 0xc1c, 0x77), "el0t_64_sync", "with anything in its stack pointer");
        assert_eq!(see(TEXT + 0x1500, top - 0x150), "el0t_64_sync");
        assert_eq!(see(TEXT, top - 0x150), "el0t_64_sync a");
        // b has no frame; c is jumped to; a is returned to.
        assert_eq!(see(TEXT + 0x100, 0x3e00), "el0t_64_sync a b");
        assert_eq!(see(TEXT + 0x120, 0x3e00), "el0t_64_sync a b");
        assert_eq!(see(TEXT + 0x200, 0x3e00), "el0t_64_sync a c");
        assert_eq!(see(TEXT + 0x20, 0x3e00), "el0t_64_sync a");
        // An interrupt of a function without a frame, which goes on after it.
        assert_eq!(see(TEXT + 0x100, 0x3e00), "el0t_64_sync a b");
        assert_eq!(see(TEXT + 0xa80, 0x3e00), "el0t_64_sync a b el1h_64_irq");
        assert_eq!(see(TEXT + 0x1000, 0x3e00 - 0x150), "el0t_64_sync a b el1h_64_irq");
        assert_eq!(see(TEXT + 0x1100, 0x3e00 - 0x150), "el0t_64_sync a b el1h_64_irq el1h_64_irq_handler");
        let handler = "el0t_64_sync a b el1h_64_irq el1h_64_irq_handler call_on_irq_stack";
        assert_eq!(see(TEXT + 0x1200, 0x3ca0), handler);
        // The other stack is empty at first: its pointer points behind it.
        assert_eq!(see(TEXT + 0x1300, irq), format!("{handler} gic_handle_irq"));
        assert_eq!(see(TEXT + 0x1230, irq), handler);
        assert_eq!(see(TEXT + 0x1110, 0x3ca0), "el0t_64_sync a b el1h_64_irq el1h_64_irq_handler");
        assert_eq!(see(TEXT + 0x1010, 0x3e00 - 0x150), "el0t_64_sync a b el1h_64_irq");
        assert_eq!(see(TEXT + 0x1400, 0x3e00 - 0x150), "el0t_64_sync a b el1h_64_irq ret_to_kernel");
        assert_eq!(see(TEXT + 0x130, 0x3e00), "el0t_64_sync a b");
        assert_eq!(see(TEXT + 0x30, 0x3e00), "el0t_64_sync a");
        // On the way back to user space it comes in again, before a block of that.
        assert_eq!(see(0xffff_ffff_ff5f_6010, top), "tramp_vectors");
        assert_eq!(see(0xffff_ffff_ff5f_4c00, top), "el0t_64_sync");
        assert_eq!(see(TEXT + 0x1500, top - 0x150), "el0t_64_sync");
    }

    #[test]
    fn an_unwound_stack_is_gone_on_with() {
        let text = "ffffffff81000000 T a\nffffffff81000100 T b\nffffffff81000200 T c\n";
        let symbols = Symbols::parse(text).unwrap();
        let at = |n: u64| 0xffff_ffff_8100_0000 + n;
        let unwound = |pc: u64, sp: u64| Unwound { pc: at(pc), sp: OWN + sp };
        let callers = Callers { frames: vec![unwound(0x110, 0xf00), unwound(0x20, 0xf80)], whole: true };
        let mut stacks = Stacks::default();
        assert!(!stacks.agrees(&callers, OWN + 0xef8, &symbols));
        stacks.seed(&callers, OWN + 0xef8, &symbols);
        assert!(stacks.agrees(&callers, OWN + 0xef8, &symbols));
        let mut chain = Vec::new();
        stacks.enter(at(0x200), OWN + 0xec0, OWN, &symbols, &mut chain);
        assert_eq!(chain.iter().map(|&f| stacks.name(f)).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert!(!stacks.agrees(&callers, OWN + 0xec0, &symbols), "c is above them");
        let part = Callers { frames: vec![unwound(0x210, 0xec0), unwound(0x110, 0xf00)], whole: false };
        assert!(stacks.agrees(&part, OWN + 0xec0, &symbols), "as far as it was followed");
        stacks.enter(at(0x30), OWN + 0xf80, OWN, &symbols, &mut chain);
        assert_eq!(chain.iter().map(|&f| stacks.name(f)).collect::<Vec<_>>(), ["a"], "b and c have returned");
    }
}
