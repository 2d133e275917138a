//! What the sampling loop writes into. Everything is allocated and touched beforehand; only the live figures are shared.

use crate::blocks::Blocks;
use crate::memory::{room, touched};
use crate::passed::{NEAR, Passed};
use rtscope_record::distribution::Worst;
use rtscope_record::histogram::slot_of;
use rtscope_record::{Distribution, DistributionError, DistributionParts, Histogram, LinearBins, Moments};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Live figures of one thread. The loop only stores, the reporter only loads. A pair of cache lines for each cell prevents false
/// sharing between threads.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct LiveCell {
    /// Samples.
    pub count: AtomicU64,
    /// Grid points passed over.
    pub missed: AtomicU64,
    /// Lowest sample, ns; `u64::MAX` before the first.
    pub min: AtomicU64,
    /// Latest sample, ns.
    pub last: AtomicU64,
    /// Sum of all samples, ns, modulo 2^64.
    pub sum: AtomicU64,
    /// Highest sample, ns.
    pub max: AtomicU64,
}

/// Samples beyond the array (the slots up to [`NEAR`]) that fit without an allocation. The array is no larger because it is locked
/// memory, of which a small board has little.
const FAR: usize = 256;

/// Counter wraps that fit without an allocation, each of 2^32 samples: 76 hours if a 1 us interval always hits the same slot.
const FULL: usize = 64;

/// How many overflow cycles of the linear bins are logged: as many as there are bins, like cyclictest, but at most 2^20.
fn overflow_room(bins: u64) -> usize {
    usize::try_from(bins).unwrap_or(0).min(1 << 20)
}

/// Equal-width bins that the loop fills.
#[derive(Debug)]
struct Linear {
    unit: u64,
    bins: Vec<u64>,
    overflow_at: Vec<u64>,
}

/// Samples in the order in which they were taken, for the reporter to drain: single producer, single consumer.
#[derive(Debug)]
pub struct Ring {
    slots: Vec<[AtomicU64; 2]>,
    head: AtomicU64,
    tail: AtomicU64,
    lost: AtomicU64,
}

impl Ring {
    /// A ring of `1 << bits` samples, with all its pages touched.
    fn new(bits: u32) -> Self {
        let slots = (0..1u64 << bits).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect();
        Self { slots, head: AtomicU64::new(0), tail: AtomicU64::new(0), lost: AtomicU64::new(0) }
    }

    #[allow(clippy::cast_possible_truncation)] // masked to the number of slots
    fn at(&self, position: u64) -> &[AtomicU64; 2] {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }

    fn push(&self, cycle: u64, value: u64) {
        let head = self.head.load(Relaxed);
        if head - self.tail.load(std::sync::atomic::Ordering::Acquire) >= self.slots.len() as u64 {
            self.lost.store(self.lost.load(Relaxed) + 1, Relaxed);
            return;
        }
        let [c, v] = self.at(head);
        c.store(cycle, Relaxed);
        v.store(value, Relaxed);
        self.head.store(head + 1, std::sync::atomic::Ordering::Release);
    }

    /// Hands every waiting sample (cycle, value) to `take`.
    pub fn drain(&self, mut take: impl FnMut(u64, u64)) {
        let head = self.head.load(std::sync::atomic::Ordering::Acquire);
        let mut tail = self.tail.load(Relaxed);
        while tail < head {
            let [c, v] = self.at(tail);
            take(c.load(Relaxed), v.load(Relaxed));
            tail += 1;
        }
        self.tail.store(tail, std::sync::atomic::Ordering::Release);
    }

    /// Samples lost because the ring was full.
    pub fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }
}

/// Where a sampler keeps what a live picture shows, as addresses in this process: the loop writes there with plain instructions, so that a
/// reader must have the kernel copy it (`process_vm_readv`). The memory stays until the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Picture {
    /// Address of the 32-bit counters, one a slot from slot 0 on.
    pub counts: usize,
    /// How many there are.
    pub slots: usize,
    /// Address of the worst samples: pairs of 64-bit numbers, latency and time since the start, ns. All that were not taken yet are zero.
    pub worst: usize,
    /// How many pairs there is room for.
    pub keep: usize,
}

/// Everything that one thread measures.
#[derive(Debug)]
pub struct Sampler {
    /// 32-bit counters, because every thread locks this memory.
    counts: Vec<u32>,
    /// Slots whose counter wrapped, once for each wrap.
    full: Vec<u32>,
    /// Slots of samples beyond the array. They may allocate: after a stall of more than a second, that disturbs nothing.
    far: Vec<u64>,
    /// Grid points passed over.
    pub passed: Passed,
    sum_carry: u64,
    sum_sq: u128,
    min: u64,
    max: u64,
    worst: Vec<Worst>,
    /// Only samples at or above this can be among the worst, or be a new maximum.
    worst_floor: u64,
    /// The highest latency of each block of the grid.
    blocks: Blocks,
    /// Only samples at or above this need [`Self::keep`]: the lower one of `worst_floor` and what is a new maximum of the block, or 0 where
    /// every sample needs it.
    keep_from: u64,
    keep: usize,
    early: u64,
    /// Linear bins or a ring were requested.
    extra: bool,
    linear: Option<Linear>,
    ring: Option<Arc<Ring>>,
    live: Arc<LiveCell>,
    /// Somebody may be reading [`Picture`].
    pictured: bool,
}

impl Sampler {
    /// A sampler that keeps the `keep` worst samples, fills bins if `linear` = (bins, width in ns) is given, and puts all samples
    /// into a ring if `ring` is set.
    pub fn new(keep: u32, linear: Option<(u64, u64)>, ring: bool) -> Self {
        let keep = keep.min(100_000) as usize;
        let linear = linear.map(|(bins, unit)| Linear {
            unit: unit.max(1),
            bins: touched(usize::try_from(bins).unwrap_or(0), 0),
            overflow_at: room(overflow_room(bins), 0),
        });
        let live = Arc::new(LiveCell::default());
        live.min.store(u64::MAX, Relaxed);
        Self {
            counts: touched(NEAR, 0),
            full: room(FULL, 0),
            far: room(FAR, 0),
            passed: Passed::none(),
            sum_carry: 0,
            sum_sq: 0,
            min: u64::MAX,
            max: 0,
            worst: room(keep, Worst { value: 0, at: 0 }),
            worst_floor: 0,
            blocks: Blocks::none(),
            keep_from: 0,
            keep,
            early: 0,
            extra: linear.is_some() || ring,
            linear,
            ring: ring.then(|| Arc::new(Ring::new(16))),
            live,
            pictured: false,
        }
    }

    /// This sampler with room for the points that a grid with this interval (ns) passes over.
    #[must_use]
    pub fn on_grid(self, interval: u64) -> Self {
        Self { passed: Passed::new(interval), ..self }
    }

    /// This sampler with room for the maximum of each block of the grid.
    #[must_use]
    pub fn in_blocks(self) -> Self {
        Self { blocks: Blocks::new(), ..self }
    }

    /// Ends a block of the grid. Returns how many points the next one has.
    pub fn end_block(&mut self) -> u64 {
        let points = self.blocks.end();
        self.set_keep_from();
        points
    }

    /// Takes the latency of the first point of a block that was passed over, the highest one of those in the block.
    pub fn passed_in_block(&mut self, latency: u64) {
        self.blocks.take(latency);
        self.set_keep_from();
    }

    /// The live figures, for the reporter.
    pub fn live(&self) -> Arc<LiveCell> {
        Arc::clone(&self.live)
    }

    /// The ring of samples, for the reporter.
    pub fn ring(&self) -> Option<Arc<Ring>> {
        self.ring.clone()
    }

    /// Where the histogram and the worst samples are, for a live picture.
    pub fn picture(&mut self) -> Picture {
        self.pictured = true;
        Picture {
            counts: self.counts.as_ptr() as usize,
            slots: self.counts.len(),
            worst: self.worst.as_ptr() as usize,
            keep: self.keep,
        }
    }

    /// Samples so far.
    #[inline]
    pub fn count(&self) -> u64 {
        self.live.count.load(Relaxed)
    }

    /// Records a sample of `value` ns taken at `now`, in a run that began at `start`; returns whether it is the highest so far.
    /// The loop calls this: no allocation, no lock, no function call. Count and sum exist in the live figures alone; only this
    /// thread writes them.
    #[inline(always)]
    #[allow(clippy::inline_always)] // a call would cost half as much as the body
    pub fn record(&mut self, value: u64, now: u64, start: u64) -> bool {
        match self.counts.get_mut(slot_of(value)) {
            Some(n) => {
                *n = n.wrapping_add(1);
                if *n == 0 {
                    self.went_round(value);
                }
            }
            None => self.record_far(value),
        }
        let (sum, carry) = self.live.sum.load(Relaxed).overflowing_add(value);
        if carry {
            self.carry();
        }
        self.sum_sq += u128::from(value) * u128::from(value);
        self.live.last.store(value, Relaxed);
        self.live.sum.store(sum, Relaxed);
        if value < self.min {
            self.new_min(value);
        }
        let highest = value >= self.keep_from && self.keep(value, now - start);
        self.live.count.store(self.count() + 1, Relaxed);
        highest
    }

    #[cold]
    fn carry(&mut self) {
        self.sum_carry += 1;
    }

    #[cold]
    fn new_min(&mut self, value: u64) {
        self.min = value;
        self.live.min.store(value, Relaxed);
    }

    /// Publishes the number of missed points among the live figures.
    pub fn show_missed(&self, missed: u64) {
        self.live.missed.store(missed, Relaxed);
    }

    /// Counts a wake-up before its grid point as spurious.
    #[cold]
    pub fn early(&mut self) {
        self.early += 1;
    }

    #[cold]
    fn went_round(&mut self, value: u64) {
        self.full.push(u32::try_from(slot_of(value)).unwrap_or_default());
    }

    #[cold]
    fn record_far(&mut self, value: u64) {
        self.far.push(slot_of(value) as u64);
    }

    /// The rare path of [`Self::record`]: the worst samples, and the bins and the ring if requested. The loop needs one comparison
    /// for all.
    #[cold]
    fn keep(&mut self, value: u64, at: u64) -> bool {
        if self.extra {
            self.record_extra(value);
        }
        self.blocks.take(value);
        let highest = value >= self.worst_floor && self.keep_worst(value, at);
        self.set_keep_from();
        highest
    }

    fn set_keep_from(&mut self) {
        self.keep_from = if self.extra { 0 } else { self.worst_floor.min(self.blocks.from) };
    }

    fn keep_worst(&mut self, value: u64, at: u64) -> bool {
        let highest = value > self.max;
        if highest {
            self.max = value;
            self.live.max.store(value, Relaxed);
        }
        if self.worst.len() < self.keep {
            self.worst.push(Worst { value, at }); // capacity was touched beforehand
        } else if let Some(least) = self.worst.iter_mut().min_by_key(|w| w.value) {
            *least = Worst { value, at };
        }
        if self.worst.len() == self.keep {
            let least = self.worst.iter().map(|w| w.value).min().unwrap_or(self.max);
            self.worst_floor = least.saturating_add(1);
        }
        highest
    }

    fn record_extra(&mut self, value: u64) {
        if let Some(l) = &mut self.linear {
            let bin = usize::try_from(value / l.unit).unwrap_or(usize::MAX);
            if let Some(n) = l.bins.get_mut(bin) {
                *n += 1;
            } else if l.overflow_at.len() < l.overflow_at.capacity() {
                l.overflow_at.push(self.live.count.load(Relaxed));
            }
        }
        if let Some(ring) = &self.ring {
            ring.push(self.live.count.load(Relaxed), value);
        }
    }

    /// The distribution, with the points passed over. `complete` adds label, thread and expected events.
    pub fn finish(mut self, complete: impl FnOnce(&mut DistributionParts)) -> Result<Distribution, DistributionError> {
        let mut p = DistributionParts::empty("");
        let near = (0u64..).zip(self.counts.iter().map(|&n| u64::from(n)));
        let full = self.full.iter().map(|&slot| (u64::from(slot), 1 << 32));
        let error = |e| DistributionError::Histogram { label: String::new(), error: rtscope_record::hdr::HdrError::Slot(e) };
        p.histogram = Histogram::from_slots(near.chain(full).chain(self.far.iter().map(|&slot| (slot, 1)))).map_err(error)?;
        p.passed = std::mem::replace(&mut self.passed, Passed::none()).finish().map_err(error)?;
        p.count = self.count();
        if p.count > 0 {
            (p.min, p.max) = (Some(self.min), Some(self.max));
        }
        p.moments =
            Moments::Exact { sum: u128::from(self.sum_carry) << 64 | u128::from(self.live.sum.load(Relaxed)), sum_sq: self.sum_sq };
        p.spurious = self.early;
        p.blocks = self.blocks.finish();
        self.worst.sort_by(|a, b| b.value.cmp(&a.value).then(a.at.cmp(&b.at)));
        p.worst.clone_from(&self.worst);
        if self.pictured {
            std::mem::forget((self.counts, self.worst));
        }
        p.linear = self.linear.map(|l| LinearBins {
            unit_ns: l.unit,
            size: l.bins.len() as u64,
            counts: l.bins.iter().enumerate().filter(|&(_, &n)| n > 0).map(|(bin, &n)| (bin as u64, n)).collect(),
            overflow_at: l.overflow_at,
        });
        complete(&mut p);
        if let Some(t) = &mut p.thread {
            t.last = (p.count > 0).then(|| self.live.last.load(Relaxed));
        }
        Distribution::new(p)
    }
}

#[cfg(test)]
#[path = "sampler_tests.rs"]
mod tests;
