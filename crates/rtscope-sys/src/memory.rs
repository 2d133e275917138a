//! A limit for the memory that the process allocates. When it is reached, the process prints a message and exits with code 3.
//!
//! With `RLIMIT_DATA` or `RLIMIT_AS` the process would abort, and a budget in each reader of files would be missing from the next
//! one. While no limit is set (during a measurement, and in the probe) nothing is counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::Relaxed};

/// Limit for the bytes in use; `usize::MAX` means none.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Bytes in use, counted since the limit was set. Older memory may be freed later, so this may be below 0.
static LIVE: AtomicIsize = AtomicIsize::new(0);
/// Bytes that a thread may take or free before it adds them to [`LIVE`]: with every allocation counted there, threads would
/// contend for it. [`LIVE`] may be off by this amount for each thread, which is negligible beside any limit.
const UNSAID: isize = 64 << 10;

thread_local! {
    /// Bytes that this thread has taken (below 0: freed) and not yet added to [`LIVE`]. Needs no allocation and no destructor.
    static OWN: Cell<isize> = const { Cell::new(0) };
}

/// The limit in MiB, for the message.
static MEBIBYTES: AtomicUsize = AtomicUsize::new(0);
static TOLD: AtomicBool = AtomicBool::new(false);
/// The part of the limit that is left for memory outside the allocator: program, stacks, libraries.
const REST: usize = 32 << 20;
/// Exit code of a process that reached its limit: it failed to read its input.
const CODE: i32 = 3;

/// Limits the memory of the process to `bytes` from now on.
pub fn limit(bytes: u64) {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX - 1).min(usize::MAX - 1);
    MEBIBYTES.store(bytes >> 20, Relaxed);
    LIMIT.store(bytes.saturating_sub(REST).max(1 << 20), Relaxed);
}

/// The system allocator, subject to [`limit`].
#[derive(Debug)]
pub struct LimitedAllocator;

/// Memory that an allocation of `size` bytes takes, with the C library's header and rounding.
fn cost(size: usize) -> isize {
    let whole = size.saturating_add(8 + 15) & !15;
    isize::try_from(whole.max(32)).unwrap_or(isize::MAX)
}

/// Counts `more` bytes (below 0: freed); ends the process above the limit.
fn take(more: isize) {
    let limit = LIMIT.load(Relaxed);
    if limit == usize::MAX {
        return;
    }
    let own = OWN.get().saturating_add(more);
    if own.unsigned_abs() < UNSAID.unsigned_abs() {
        OWN.set(own);
        return;
    }
    OWN.set(0);
    let live = LIVE.fetch_add(own, Relaxed).saturating_add(own);
    if own > 0 && usize::try_from(live).is_ok_and(|live| live > limit) {
        end();
    }
}

/// Prints the reason and ends the process, without a lock or an allocation: a lock may be held, and memory is short.
#[cold]
fn end() -> ! {
    if !TOLD.swap(true, Relaxed) {
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        let mut left = MEBIBYTES.load(Relaxed);
        loop {
            at -= 1;
            digits[at] = b'0' + u8::try_from(left % 10).unwrap_or(0);
            left /= 10;
            if left == 0 {
                break;
            }
        }
        let parts: [&[u8]; 3] = [
            b"rtscope: error: this takes more memory than the limit of ",
            &digits[at..],
            b" MiB\n  try: a smaller file or selection, or a higher limit: --memory-limit 4GiB\n",
        ];
        for part in parts {
            // SAFETY: the slice is valid for its length; a failure no longer matters.
            unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
        }
    }
    // SAFETY: ends the process at once; takes an integer.
    unsafe { libc::_exit(CODE) }
}

// SAFETY: every call goes to the system's allocator unchanged; only counters are added.
unsafe impl GlobalAlloc for LimitedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(cost(layout.size()));
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        take(-cost(layout.size()));
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(cost(layout.size()));
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(cost(size).saturating_sub(cost(layout.size())));
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}
