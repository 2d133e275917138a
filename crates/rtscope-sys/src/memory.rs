//! A limit of the process's own for what it allocates: reached, the process says so and ends, as one whose input is at fault.
//!
//! `RLIMIT_DATA` and `RLIMIT_AS` would end it by an abort, and a budget in each reader of files would be missing in the next one. Where no
//! limit is set (in a measurement, and in the probe) nothing is counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::Relaxed};

/// Bytes that may be in use; `usize::MAX` while there is no limit.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Bytes in use, of what was allocated since the limit was set; what was allocated before is also freed, so that it may be below 0.
static LIVE: AtomicIsize = AtomicIsize::new(0);
/// Bytes that a thread takes or frees before it says so in [`LIVE`]: threads that allocate at once would wait for each other's counts.
/// So much of each thread may be missing there, which is nothing beside any limit.
const UNSAID: isize = 64 << 10;

thread_local! {
    /// Bytes that this thread took (or, below 0, freed) and did not say yet. Needs neither memory nor a destructor.
    static OWN: Cell<isize> = const { Cell::new(0) };
}

/// The limit in GiB and MiB, for the message: nothing can be formatted then.
static MEBIBYTES: AtomicUsize = AtomicUsize::new(0);
static TOLD: AtomicBool = AtomicBool::new(false);
/// Of the limit, what is not the allocator's: program, stacks, libraries.
const REST: usize = 32 << 20;
/// Exit code of a process that reached its limit: it could not read its input.
const CODE: i32 = 3;

/// Limits what the process has in use to `bytes` from now on.
pub fn limit(bytes: u64) {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX - 1).min(usize::MAX - 1);
    MEBIBYTES.store(bytes >> 20, Relaxed);
    LIMIT.store(bytes.saturating_sub(REST).max(1 << 20), Relaxed);
}

/// The system's allocator, with [`limit`].
#[derive(Debug)]
pub struct Limited;

/// What a piece of memory costs: the C library's head, and its rounding.
fn cost(size: usize) -> isize {
    let whole = size.saturating_add(8 + 15) & !15;
    isize::try_from(whole.max(32)).unwrap_or(isize::MAX)
}

/// Counts `more` bytes; ends the process when they are too many.
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

/// Says why, and ends the process: without a lock or an allocation, since neither is known to be free.
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
            // SAFETY: the slice is valid for its length; a failure is of no interest any more.
            unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
        }
    }
    // SAFETY: ends the process at once; takes an integer.
    unsafe { libc::_exit(CODE) }
}

// SAFETY: every call is passed on to the system's allocator as it came; only counters are kept beside it.
unsafe impl GlobalAlloc for Limited {
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
