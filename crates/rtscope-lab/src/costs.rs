//! The cost of elementary operations on a machine, ns. The same code runs in a guest and on this host, so that
//! the lab's virtual time can be compared with real time.

use rtscope_sys::costs::{self, Fresh};
use rtscope_sys::rt::{self, Instant};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// How many batches are timed. The result is their median, which a busy host disturbs little.
const TIMES: usize = 15;
const PAGE: usize = 4096;
const COPIED: usize = 64 << 10;
/// Size of the memory that is walked through, more than caches hold; reads are one cache line (`LINE`) apart.
const WALKED: usize = 64 << 20;
const LINE: usize = 64;

/// The cost of one operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// A stable name for programs, such as `system-call`.
    pub name: String,
    /// Description, for people.
    pub what: String,
    /// ns; `None` where the machine can't do it.
    pub ns: Option<f64>,
    /// Why there is no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Times one operation. It gets the list of allowed CPUs and runs on the first of them.
type Act = fn(&[u32]) -> io::Result<f64>;

/// Name, description, and the function that times it.
const ACTS: [(&str, &str, Act); 16] = [
    ("add", "1000 additions, each waiting for the one before", add),
    ("clock", "read the clock (vDSO)", clock),
    ("system-call", "system call (getppid)", system_call),
    ("cpuid", "cpuid", cpuid),
    ("copy-user", "copy 64 KiB in user space", copy_user),
    ("copy-kernel", "copy 64 KiB out of the page cache (pread)", copy_kernel),
    ("zero-page", "zero a page of 4 KiB in the kernel (/dev/zero)", zero_page),
    ("page-fault", "page fault on fresh memory, its page zeroed", page_fault),
    ("mmap", "mmap and munmap of a page", mmap),
    ("cache-miss", "dependent read, far apart in 64 MiB", cache_miss),
    ("pipe", "byte through a pipe within a thread", pipe),
    ("switch", "context switch (half a round trip by two pipes)", switch),
    ("thread", "create a thread and join it", thread),
    ("timer-interrupt", "interrupt of a timer that wakes nobody", timer_interrupt),
    ("wake-up", "how late a sleep of 200 us ends (an ordinary thread, no timer slack)", wake_up),
    ("ipi", "interrupt another CPU and wait for it (membarrier)", ipi),
];

/// Times every operation on one CPU. Takes a second or two.
pub fn measure() -> Vec<Cost> {
    let allowed = rt::allowed_cpus().unwrap_or_default();
    if let Some(first) = allowed.first() {
        // Without pinning, migrations disturb the figures a little more.
        let _ = rt::pin(*first);
    }
    let all = ACTS.iter().map(|(name, what, act)| {
        let (ns, why) = match act(&allowed) {
            Ok(ns) => (Some(ns), None),
            Err(e) => (None, Some(e.to_string())),
        };
        Cost { name: (*name).into(), what: (*what).into(), ns, why }
    });
    let all = all.collect();
    let _ = rt::pin_to(&allowed);
    all
}

fn unsupported<T>(why: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, why.to_owned()))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// ns per call of `act`: the median of [`TIMES`] batches of `batch` calls.
fn timed(batch: u32, mut act: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    // One call as a warm-up.
    act()?;
    let mut took = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let begun = rt::now();
        for _ in 0..batch {
            act()?;
        }
        took.push((rt::now() - begun) as f64 / f64::from(batch));
    }
    Ok(median(took))
}

fn add(_: &[u32]) -> io::Result<f64> {
    timed(20, || {
        let mut sum = 0u64;
        for _ in 0..1000 {
            sum = black_box(sum) + 1;
        }
        black_box(sum);
        Ok(())
    })
}

fn clock(_: &[u32]) -> io::Result<f64> {
    timed(500, || {
        black_box(rt::now());
        Ok(())
    })
}

fn system_call(_: &[u32]) -> io::Result<f64> {
    timed(500, || {
        costs::system_call();
        Ok(())
    })
}

fn cpuid(_: &[u32]) -> io::Result<f64> {
    if !costs::ask_processor() {
        return unsupported("x86 only");
    }
    timed(50, || {
        costs::ask_processor();
        Ok(())
    })
}

fn copy_user(_: &[u32]) -> io::Result<f64> {
    let (from, mut to) = (vec![1u8; COPIED], vec![2u8; COPIED]);
    timed(10, || {
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
        Ok(())
    })
}

fn copy_kernel(_: &[u32]) -> io::Result<f64> {
    let mut file = File::from(rustix::fs::memfd_create("rtscope-costs", rustix::fs::MemfdFlags::CLOEXEC)?);
    let mut room = vec![1u8; COPIED];
    file.write_all(&room)?;
    timed(10, || {
        file.seek(SeekFrom::Start(0))?;
        file.read_exact(black_box(&mut room))
    })
}

fn zero_page(_: &[u32]) -> io::Result<f64> {
    let mut zero = File::open("/dev/zero")?;
    let mut room = vec![1u8; PAGE];
    timed(100, || zero.read_exact(black_box(&mut room)))
}

fn page_fault(_: &[u32]) -> io::Result<f64> {
    const PAGES: usize = 64;
    let mut took = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let mut fresh = Fresh::map(PAGES * PAGE)?;
        let begun = rt::now();
        fresh.touch(PAGE);
        took.push((rt::now() - begun) as f64 / PAGES as f64);
    }
    Ok(median(took))
}

fn mmap(_: &[u32]) -> io::Result<f64> {
    timed(50, || Fresh::map(PAGE).map(drop))
}

/// One step of a pseudo-random generator (xorshift, Marsaglia 2003).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn cache_miss(_: &[u32]) -> io::Result<f64> {
    const STEP: usize = LINE / size_of::<u32>();
    // A single cycle through all lines (Sattolo's algorithm), so that no prefetcher can guess the next.
    let lines = WALKED / LINE;
    let mut order: Vec<u32> = (0..u32::try_from(lines).unwrap_or(0)).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for i in (1..lines).rev() {
        #[allow(clippy::cast_possible_truncation)] // below `i`
        let j = (next(&mut state) % i as u64) as usize;
        order.swap(i, j);
    }
    let mut memory = vec![0u32; lines * STEP];
    for (line, to) in order.iter().enumerate() {
        memory[line * STEP] = *to;
    }
    drop(order);
    let mut at = 0u32;
    timed(10_000, || {
        at = black_box(memory[at as usize * STEP]);
        Ok(())
    })
}

fn pipe(_: &[u32]) -> io::Result<f64> {
    let (mut read, mut write) = costs::pipe()?;
    timed(200, || {
        write.write_all(&[1])?;
        read.read_exact(&mut [0])
    })
}

/// Two threads on one CPU that wait for each other: each round trip takes two context switches.
fn switch(_: &[u32]) -> io::Result<f64> {
    let ((mut hear, mut ask), (mut answered, mut answer)) = (costs::pipe()?, costs::pipe()?);
    std::thread::scope(|scope| {
        scope.spawn(move || while hear.read(&mut [0]).is_ok_and(|n| n == 1) && answer.write_all(&[1]).is_ok() {});
        let took = timed(100, || {
            ask.write_all(&[1])?;
            answered.read_exact(&mut [0])
        });
        // Closing the pipe ends the other thread.
        drop(ask);
        Ok(took? / 2.0)
    })
}

fn thread(_: &[u32]) -> io::Result<f64> {
    timed(10, || std::thread::Builder::new().spawn(|| ())?.join().map_err(|_| io::Error::other("the thread failed")))
}

/// From the gaps in a loop that does nothing but read the clock while a timer expires.
fn timer_interrupt(_: &[u32]) -> io::Result<f64> {
    const EVERY: u64 = 250_000;
    const EXPIRES: usize = 200;
    let _ticking = costs::ticking(EVERY)?;
    let end = rt::now() + EVERY * EXPIRES as u64;
    let mut gaps: Vec<u64> = Vec::with_capacity(1 << 22);
    let mut last = rt::now();
    while last < end && gaps.len() < gaps.capacity() {
        let now = rt::now();
        gaps.push(now - last);
        last = now;
    }
    gaps.sort_unstable();
    // The median of as many longest gaps as the timer expired; only the very longest come from other work on the host.
    let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(0);
    let longest = &gaps[gaps.len().saturating_sub(EXPIRES)..];
    let of = longest.get(longest.len() / 2).copied().unwrap_or(0);
    if of <= 2 * usual { unsupported("too small to be told from the loop itself") } else { Ok((of - usual) as f64) }
}

#[allow(clippy::unnecessary_wraps)] // as the others
fn wake_up(_: &[u32]) -> io::Result<f64> {
    costs::timer_slack(1);
    let late = (0..100).map(|_| {
        let at = rt::now() + 200_000;
        rt::sleep_until(Instant::from_ns(at));
        rt::now().saturating_sub(at) as f64
    });
    let late = late.collect();
    costs::timer_slack(0);
    Ok(median(late))
}

/// Meanwhile another thread computes on another CPU, so that there is a CPU to interrupt.
fn ipi(cpus: &[u32]) -> io::Result<f64> {
    let stop = AtomicBool::new(false);
    let Some(&other) = cpus.get(1) else { return unsupported("there is one CPU") };
    costs::announce_barriers()?;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = rt::pin(other);
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        // Wait until the thread is there.
        rt::sleep_until(Instant::from_ns(rt::now() + 20_000_000));
        let took = timed(50, costs::interrupt_others);
        stop.store(true, Ordering::Relaxed);
        took
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_a_cost_or_a_reason() {
        let all = measure();
        assert_eq!(all.len(), ACTS.len());
        for c in &all {
            assert!(c.ns.is_some_and(|ns| ns >= 0.0) != c.why.is_some(), "{c:?}");
        }
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Cost>>(&text).unwrap(), all);
    }
}
