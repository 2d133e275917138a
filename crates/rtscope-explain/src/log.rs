//! The log that the plugin of QEMU writes (`rtscope-lab/plugin/window.c`): entries of 48 bytes, little-endian.

use crate::symbols::Function;
use crate::unwound::StackCopy;
use rtscope_failure::Problem;
use std::collections::BTreeMap;
use std::io::{self, Read};

/// Size of an entry, bytes.
pub const ENTRY: usize = 48;

/// A block of instructions that was executed without a jump inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Virtual time after its last instruction, had it run to its end, ns.
    pub end: u64,
    /// Its first instruction.
    pub pc: u64,
    /// The stack pointer before it.
    pub sp: u64,
    /// The task that runs, as an address.
    pub task: u64,
    /// Its instructions.
    pub insns: u32,
    /// `preempt_count` before it, in the form of x86: its highest bit is clear when a switch is due.
    pub preempt: u32,
    /// Whether interrupts were on before it, as EFLAGS has it; and [`HALTS`].
    pub flags: u32,
    /// CPU of the guest.
    pub cpu: u16,
}

/// Of a block's flags: its last instruction waits for an interrupt, and until that comes time goes on by itself.
pub const HALTS: u32 = 1 << 30;

/// The counter that is the kernel's clock was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockRead {
    /// When: virtual time, ns.
    pub at: u64,
    /// By which code.
    pub pc: u64,
    /// In which task.
    pub task: u64,
    /// The number of the block whose last instruction it is.
    pub block: usize,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Task {
    /// Its id.
    pub pid: u32,
    /// Its name, 15 bytes at most.
    pub comm: String,
    /// Where its stack begins.
    pub stack: u64,
}

/// What was executed from the begin of one sleep of the measuring thread to that of its next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Window {
    /// When the sleep was to end: monotonic time, ns.
    pub expiry: u64,
    /// The thread, as the address of its task.
    pub thread: u64,
    /// Its CPU when it went to sleep.
    pub cpu: u16,
    /// From one value of the counter to the next: virtual time, ns.
    pub tick: u32,
    /// All blocks, in their order.
    pub blocks: Vec<Block>,
    /// Reads of the counter.
    pub clock_reads: Vec<ClockRead>,
    /// The tasks by their addresses. One that ended may have left its address to another; the first counts.
    pub tasks: BTreeMap<u64, Task>,
    /// Copies of stacks: of each task when it was first seen in the kernel, and every so many blocks.
    pub samples: Vec<StackCopy>,
    /// The kernel's timekeeper when the sleep began.
    pub timekeeper: Vec<u8>,
    /// Whether it was seen to its end.
    pub whole: bool,
}

/// A log, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    /// In their order.
    pub windows: Vec<Window>,
    /// Functions of kernel modules that were loaded meanwhile.
    pub functions: Vec<Function>,
}

/// Why a log can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// It is no such log, or damaged.
    #[error("the log of what ran is damaged at byte {0}")]
    Damaged(usize),
    /// It was longer than allowed.
    #[error("the log of what ran grew too long: more was executed than can be kept")]
    Full,
}

impl Problem for LogError {
    fn remedy(&self) -> String {
        match self {
            Self::Damaged(_) => "is memory free? Else report this with the record".into(),
            Self::Full => "explain fewer samples, or a shorter one: --worst N".into(),
        }
    }
}

/// The next window of a log that is read piece by piece, as the bytes that [`parse`] takes; `None` at the end. A log may be larger than
/// what fits in memory, a window is not.
pub fn next_window(log: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    loop {
        let at = bytes.len();
        log.take(ENTRY as u64).read_to_end(&mut bytes)?;
        // What is cut off is refused by `parse`.
        let Some(entry) = bytes[at..].first_chunk::<ENTRY>() else { return Ok(Some(bytes).filter(|b| !b.is_empty())) };
        let size = u32::from_le_bytes(std::array::from_fn(|i| entry[32 + i])) as usize;
        match u16::from_le_bytes([entry[44], entry[45]]) {
            3 | 6 => return Ok(Some(bytes)),
            5 | 8 | 9 => {
                log.take((size.div_ceil(ENTRY) * ENTRY) as u64).read_to_end(&mut bytes)?;
            }
            _ => {}
        }
    }
}

/// Reads a log of any number of windows.
pub fn parse(log: &[u8]) -> Result<Log, LogError> {
    let (mut windows, mut functions): (Vec<Window>, Vec<Function>) = (Vec::new(), Vec::new());
    let mut open = false;
    let mut entries = log.chunks(ENTRY).enumerate();
    while let Some((i, bytes)) = entries.next() {
        let damaged = || LogError::Damaged(i * ENTRY);
        let bytes: &[u8; ENTRY] = bytes.try_into().map_err(|_| damaged())?;
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let (at, pc, sp, task, insns) = (long(0), long(8), long(16), long(24), word(32));
        let (kind, cpu) = (half(44), half(46));
        if kind == 2 {
            windows.push(Window { expiry: pc, thread: task, cpu, tick: insns, ..Window::default() });
            open = true;
            continue;
        }
        if kind == 9 {
            let text = |bytes: &[u8]| {
                let text: Vec<u8> = bytes.iter().copied().take_while(|b| *b != 0).collect();
                String::from_utf8_lossy(&text).into_owned()
            };
            let name = text(&memory(&mut entries, insns).ok_or_else(damaged)?);
            functions.push(Function { start: at, name, module: Some(text(&bytes[8..32])) });
            continue;
        }
        let window = windows.last_mut().ok_or_else(damaged)?;
        match kind {
            1 if open => window.blocks.push(Block { end: at, pc, sp, task, insns, preempt: word(36), flags: word(40), cpu }),
            3 => (window.whole, open) = (open, false),
            4 if open => {
                let block = window.blocks.len().checked_sub(1).ok_or_else(damaged)?;
                window.clock_reads.push(ClockRead { at, pc, task, block });
            }
            5 => {
                let memory = memory(&mut entries, insns).ok_or_else(damaged)?;
                if open {
                    window.timekeeper = memory;
                }
            }
            8 => {
                let memory = memory(&mut entries, insns).ok_or_else(damaged)?;
                if open {
                    window.samples.push(StackCopy { pc, sp, fp: at, link: long(36), task, memory, before: window.blocks.len() });
                }
            }
            6 => return Err(LogError::Full),
            7 if open => {
                let name: Vec<u8> = bytes[8..24].iter().copied().take_while(|b| *b != 0).collect();
                let comm = String::from_utf8_lossy(&name).into_owned();
                window.tasks.entry(task).or_insert(Task { pid: insns, comm, stack: at });
            }
            _ => return Err(damaged()),
        }
    }
    Ok(Log { windows, functions })
}

/// Memory of the guest, which follows an entry that says how long it is.
fn memory<'a>(entries: &mut impl Iterator<Item = (usize, &'a [u8])>, size: u32) -> Option<Vec<u8>> {
    let size = size as usize;
    let mut memory = Vec::new();
    for _ in 0..size.div_ceil(ENTRY) {
        memory.extend_from_slice(entries.next()?.1);
    }
    memory.truncate(size);
    Some(memory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(kind: u16, at: u64, pc: u64, task: u64, insns: u32) -> Vec<u8> {
        let mut e = [at, pc, 0, task].map(u64::to_le_bytes).concat();
        e.extend([insns, 0, 0x200].map(u32::to_le_bytes).concat());
        e.extend([kind, 1].map(u16::to_le_bytes).concat());
        e
    }

    #[test]
    fn windows_are_told_apart() {
        let keeper = [entry(5, 0, 0, 0, 50), vec![7; 50], vec![0; 46]].concat();
        let name = u64::from_le_bytes(*b"rts-cpu0");
        let one = [
            entry(2, 10, 1_000, 5, 16),
            entry(7, 0x4000, name, 5, 77),
            keeper.clone(),
            entry(1, 12, 0x40, 5, 2),
            [entry(8, 3, 0x50, 5, 16), vec![9; 16], vec![0; 32]].concat(),
            entry(4, 12, 0x40, 5, 2),
        ];
        let log = [one.concat(), entry(3, 20, 2_000, 5, 0), keeper, entry(2, 20, 2_000, 5, 0)].concat();
        let windows = parse(&log).unwrap().windows;
        let w = &windows[0];
        assert_eq!((windows.len(), w.expiry, w.thread, w.cpu, w.tick, w.whole), (2, 1_000, 5, 1, 16, true));
        assert_eq!(w.tasks[&5], Task { pid: 77, comm: "rts-cpu0".into(), stack: 0x4000 });
        assert_eq!(w.timekeeper, [7; 50]);
        assert_eq!(w.samples, [StackCopy { pc: 0x50, sp: 0, fp: 3, link: 0x200 << 32, task: 5, memory: vec![9; 16], before: 1 }]);
        assert_eq!(w.blocks, [Block { end: 12, pc: 0x40, sp: 0, task: 5, insns: 2, preempt: 0, flags: 0x200, cpu: 1 }]);
        assert_eq!(w.clock_reads, [ClockRead { at: 12, pc: 0x40, task: 5, block: 0 }]);
        assert!(!windows[1].whole && windows[1].blocks.is_empty());
        // Piece by piece it is the same: each piece is a window.
        let (mut rest, mut pieces) = (&log[..], Vec::new());
        while let Some(piece) = next_window(&mut rest).unwrap() {
            pieces.push(piece);
        }
        assert_eq!((pieces.len(), pieces.concat()), (2, log.clone()));
        assert_eq!(parse(&pieces[0]).unwrap().windows, windows[..1]);
        assert_eq!(parse(&log[..log.len() - 1]), Err(LogError::Damaged(log.len() - ENTRY)));
        assert_eq!(parse(&entry(1, 0, 0, 0, 0)), Err(LogError::Damaged(0)));
        assert_eq!(parse(&[entry(2, 0, 0, 0, 0), entry(4, 0, 0, 0, 0)].concat()), Err(LogError::Damaged(ENTRY)), "of no block");
        assert_eq!(parse(&[entry(2, 0, 0, 0, 0), entry(6, 0, 0, 0, 0)].concat()), Err(LogError::Full));
    }

    #[test]
    fn functions_of_modules_come_before_the_windows() {
        let mut named = entry(9, 0xffff_ffff_c000_0000, u64::from_le_bytes(*b"veth\0\0\0\0"), 0, 9);
        named.extend(b"veth_xmit");
        named.resize(2 * ENTRY, 0);
        let log = [named.clone(), entry(2, 10, 1_000, 5, 1), entry(3, 20, 0, 5, 0)].concat();
        let read = parse(&log).unwrap();
        let function = Function { start: 0xffff_ffff_c000_0000, name: "veth_xmit".into(), module: Some("veth".into()) };
        assert_eq!((read.functions, read.windows.len()), (vec![function], 1));
        assert_eq!(next_window(&mut &log[..]).unwrap().unwrap(), log);
        assert_eq!(parse(&named[..ENTRY]), Err(LogError::Damaged(0)), "its name is cut off");
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in prop::collection::vec(0u8..8, 0..400)) {
            let _ = parse(&bytes);
        }
    }
}
