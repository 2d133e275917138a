//! How a kernel of arm64 is entered and left, by the names of its code (arch/arm64/kernel/entry.S of Linux).

/// Where the CPU enters the kernel: 16 entries of 128 bytes each from a multiple of 2 KiB on. They go on to these functions.
const VECTORS: [&str; 16] = [
    "el1t_64_sync",
    "el1t_64_irq",
    "el1t_64_fiq",
    "el1t_64_error",
    "el1h_64_sync",
    "el1h_64_irq",
    "el1h_64_fiq",
    "el1h_64_error",
    "el0t_64_sync",
    "el0t_64_irq",
    "el0t_64_fiq",
    "el0t_64_error",
    "el0t_32_sync",
    "el0t_32_irq",
    "el0t_32_fiq",
    "el0t_32_error",
];

/// Code that is mapped a second time, far from all other: of that, entries from user space and the way back to it where the kernel's
/// page tables are not in use meanwhile.
pub(crate) const TRAMPOLINE: &str = "tramp_vectors";

/// The function that an entry at `pc` goes on to, if `function`, which it is in, is of such entries.
pub(crate) fn entered(function: &str, pc: u64) -> Option<&'static str> {
    let (from_user, at) = (8, usize::try_from(pc % 0x800 / 0x80).unwrap_or(0));
    let is = function == "vectors" || function == "__bp_harden_el1_vectors" || (function == TRAMPOLINE && at >= from_user);
    VECTORS.get(at).copied().filter(|_| is)
}

/// Whether a function saves the registers of what was interrupted, and calls who sees to it.
pub(crate) fn is_entry(function: &str) -> bool {
    VECTORS.contains(&function)
}

/// Whether it is entered by an interrupt.
pub(crate) fn is_interrupt(function: &str) -> bool {
    is_entry(function) && !function.ends_with("_sync")
}

/// Whether a function restores the registers of what was interrupted, and goes back to it.
pub(crate) fn is_exit(function: &str) -> bool {
    ["ret_to_kernel", "ret_to_user"].contains(&function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_told_by_where_they_are() {
        let of = |function, pc: u64| entered(function, 0xffff_8000_8001_0800 + pc);
        assert_eq!(of("vectors", 0x284), Some("el1h_64_irq"));
        assert_eq!(of("vectors", 0x400), Some("el0t_64_sync"));
        assert_eq!(of(TRAMPOLINE, 0x4fc), Some("el0t_64_irq"));
        assert_eq!(of(TRAMPOLINE, 0x10), None, "the way back");
        assert_eq!(of("el1h_64_irq", 0x280), None);
        assert!(is_entry("el0t_64_sync") && !is_interrupt("el0t_64_sync") && is_interrupt("el1h_64_irq"));
        assert!(is_exit("ret_to_user") && !is_exit("el0t_64_sync") && !is_entry("el0t_64_sync_handler"));
    }
}
