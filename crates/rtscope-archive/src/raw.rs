//! Summarizes raw samples in one pass: packed little-endian nanoseconds become a distribution with exact sums.
//!
//! The caller's thread reads; several counting threads, at most one for each CPU, work on what has been read. Each has a
//! dense array of counts of its own, so nothing is shared while counting; adding up the arrays at the end is exact.

use rtscope_failure::Problem;
use rtscope_record::histogram::{SLOTS, slot_of};
use rtscope_record::{Distribution, DistributionError, DistributionParts, Histogram, Moments};
use std::io::{self, Read};
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Bytes read at once: a multiple of both widths.
const CHUNK: usize = 1 << 20;
/// Samples processed at once: few enough to stay in the L1 cache between summing and counting.
const BLOCK: usize = 2048;
/// More counting threads than this would only wait for the reader.
const MOST_WORKERS: usize = 4;

/// Width of a sample in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Four bytes: up to 4.29 s.
    U32,
    /// Eight bytes.
    U64,
}

impl Width {
    /// Width in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::U32 => 4,
            Self::U64 => 8,
        }
    }
}

/// Why samples could not be summarized.
#[derive(Debug, thiserror::Error)]
pub enum RawError {
    /// Reading failed.
    #[error("reading the samples failed after {read} bytes: {error}")]
    Read {
        /// Bytes read before.
        read: u64,
        /// What the system said.
        error: io::Error,
    },
    /// The file ends within a sample.
    #[error("{read} bytes are not a whole number of {width}-byte samples: is the file cut off, or of another width?")]
    Partial {
        /// Bytes read.
        read: u64,
        /// Bytes of a sample.
        width: usize,
    },
    /// The sum of the squares is more than 2^128.
    #[error("the samples are too large: the sum of their squares is more than 2^128")]
    Overflow,
    /// A counting thread could not be started.
    #[error("starting a counting thread failed: {0}")]
    Thread(io::Error),
    /// The figures do not make a valid distribution.
    #[error(transparent)]
    Distribution(#[from] DistributionError),
}

impl Problem for RawError {
    fn remedy(&self) -> String {
        match self {
            Self::Read { .. } => "look after the disk, or the program that writes the samples".into(),
            Self::Partial { .. } | Self::Overflow => "raw samples are packed little-endian ns of --width".into(),
            Self::Thread(_) => "end other programs".into(),
            Self::Distribution(e) => e.remedy(),
        }
    }
}

/// Everything that one thread counts.
struct Tally {
    /// Separate arrays for samples with even and odd index: otherwise a run of equal samples, the common case, would wait
    /// for each increment.
    counts: [Vec<u64>; 2],
    count: u64,
    min: u64,
    max: u64,
    sum: u128,
    /// `None` after an overflow.
    sum_sq: Option<u128>,
}

impl Tally {
    fn new() -> Self {
        Self { counts: [vec![0; SLOTS], vec![0; SLOTS]], count: 0, min: u64::MAX, max: 0, sum: 0, sum_sq: Some(0) }
    }

    fn add_u32(&mut self, bytes: &[u8]) {
        let mut room = [0u32; BLOCK];
        for block in bytes.chunks(BLOCK * 4) {
            let samples = &mut room[..block.len() / 4];
            for (s, b) in samples.iter_mut().zip(block.chunks_exact(4)) {
                *s = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            }
            let (mut min, mut max) = (u32::MAX, 0u32);
            // Squares are below 2^64: summing their halves separately avoids overflow and can be vectorized.
            let (mut sum, mut low, mut high) = (0u64, 0u64, 0u64);
            for &s in samples.iter() {
                min = min.min(s);
                max = max.max(s);
                sum += u64::from(s);
                let square = u64::from(s) * u64::from(s);
                low += square & 0xffff_ffff;
                high += square >> 32;
            }
            self.merge_sums(u64::from(min), u64::from(max), sum.into(), Some((u128::from(high) << 32) + u128::from(low)));
            self.count_each(samples.iter().map(|&s| u64::from(s)));
        }
    }

    fn add_u64(&mut self, bytes: &[u8]) {
        let mut room = [0u64; BLOCK];
        for block in bytes.chunks(BLOCK * 8) {
            let samples = &mut room[..block.len() / 8];
            for (s, b) in samples.iter_mut().zip(block.chunks_exact(8)) {
                *s = u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
            }
            let (mut min, mut max, mut sum) = (u64::MAX, 0u64, 0u128);
            let mut sum_sq = Some(0u128);
            for &s in samples.iter() {
                min = min.min(s);
                max = max.max(s);
                sum += u128::from(s);
                sum_sq = sum_sq.and_then(|q| q.checked_add(u128::from(s) * u128::from(s)));
            }
            self.merge_sums(min, max, sum, sum_sq);
            self.count_each(samples.iter().copied());
        }
    }

    fn count_each(&mut self, samples: impl ExactSizeIterator<Item = u64>) {
        self.count += samples.len() as u64;
        let [even, odd] = &mut self.counts;
        for (i, s) in samples.enumerate() {
            let counts = if i % 2 == 0 { &mut *even } else { &mut *odd };
            counts[slot_of(s)] += 1;
        }
    }

    fn merge_sums(&mut self, min: u64, max: u64, sum: u128, sum_sq: Option<u128>) {
        self.min = self.min.min(min);
        self.max = self.max.max(max);
        self.sum += sum;
        self.sum_sq = self.sum_sq.zip(sum_sq).and_then(|(a, b)| a.checked_add(b));
    }

    fn merge(&mut self, other: &Self) {
        for (own, more) in self.counts.iter_mut().zip(&other.counts) {
            for (a, b) in own.iter_mut().zip(more) {
                *a += b;
            }
        }
        self.count += other.count;
        self.merge_sums(other.min, other.max, other.sum, other.sum_sq);
    }

    fn finish(self, label: &str) -> Result<Distribution, RawError> {
        let mut p = DistributionParts::empty(label);
        let [even, odd] = self.counts;
        let dense: Vec<u64> = even.iter().zip(&odd).map(|(a, b)| a + b).collect();
        // No file holds 2^64 samples, so neither these sums nor the histogram's can overflow.
        p.histogram = Histogram::from_dense(&dense).map_err(|_| RawError::Overflow)?;
        p.count = self.count;
        (p.min, p.max) = if self.count == 0 { (None, None) } else { (Some(self.min), Some(self.max)) };
        p.moments = Moments::Exact { sum: self.sum, sum_sq: self.sum_sq.ok_or(RawError::Overflow)? };
        Ok(Distribution::new(p)?)
    }
}

/// Reads samples (ns, little-endian, packed) to the end and summarizes them under `label`: exact count, sums, minimum and
/// maximum, and the histogram. Individual worst samples are not kept.
pub fn summarize(reader: impl Read, width: Width, label: &str) -> Result<Distribution, RawError> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(MOST_WORKERS);
    let (full, work) = channel::<Vec<u8>>();
    let (done, empty) = channel::<Vec<u8>>();
    let work = Mutex::new(work);
    // One buffer for the reader, and two for each worker: one in use, one waiting.
    for _ in 0..=2 * workers {
        // The receiver lives until the end of this function.
        let _ = done.send(Vec::new());
    }
    let tally = thread::scope(|scope| {
        let mut running = Vec::new();
        for _ in 0..workers {
            let (work, done) = (&work, done.clone());
            let worker = thread::Builder::new().name("count".into()).spawn_scoped(scope, move || count(work, &done, width));
            match worker {
                Ok(worker) => running.push(worker),
                Err(e) => {
                    // Workers that did start must see the end of the work.
                    drop(full);
                    return Err(RawError::Thread(e));
                }
            }
        }
        // With this sender gone, `empty` closes once every worker has ended.
        drop(done);
        let read = feed(reader, &full, &empty, width);
        drop(full);
        let mut all = Tally::new();
        for worker in running {
            // Workers run no code that can panic; if one did, its counts would be lost, so no summary may be given.
            match worker.join() {
                Ok(part) => all.merge(&part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        read.map(|()| all)
    })?;
    tally.finish(label)
}

/// Reads chunk after chunk into empty buffers and passes them on.
fn feed(mut reader: impl Read, full: &Sender<Vec<u8>>, empty: &Receiver<Vec<u8>>, width: Width) -> Result<(), RawError> {
    let mut read = 0u64;
    loop {
        let Ok(mut chunk) = empty.recv() else { return Ok(()) };
        chunk.resize(CHUNK, 0);
        let mut filled = 0;
        while filled < CHUNK {
            match reader.read(&mut chunk[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(RawError::Read { read: read + filled as u64, error }),
            }
        }
        read += filled as u64;
        if filled % width.bytes() != 0 {
            return Err(RawError::Partial { read, width: width.bytes() });
        }
        let last = filled < CHUNK;
        chunk.truncate(filled);
        if full.send(chunk).is_err() || last {
            return Ok(());
        }
    }
}

/// A counting thread: takes full chunks, counts, and returns the buffers.
fn count(work: &Mutex<Receiver<Vec<u8>>>, done: &Sender<Vec<u8>>, width: Width) -> Tally {
    let mut tally = Tally::new();
    loop {
        let next = work.lock().map(|w| w.recv());
        let Ok(Ok(chunk)) = next else { return tally };
        match width {
            Width::U32 => tally.add_u32(&chunk),
            Width::U64 => tally.add_u64(&chunk),
        }
        // The reader may be done and not receive it.
        let _ = done.send(chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A reader that gives a few bytes at a time, like a pipe.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(room.len()).min(self.0.len());
            room[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the cable is out"))
        }
    }

    fn plain(samples: &[u64]) -> Distribution {
        let mut p = Distribution::from_samples("x", samples, 0).unwrap().into_parts();
        p.worst.clear();
        Distribution::new(p).unwrap()
    }

    #[test]
    fn many_chunks_of_both_widths() {
        let samples: Vec<u64> = (0..700_001u64).map(|i| i.wrapping_mul(2_654_435_761) >> (i % 31) & 0xffff_ffff).collect();
        let narrow: Vec<u8> = samples.iter().flat_map(|&s| u32::try_from(s).unwrap().to_le_bytes()).collect();
        let wide: Vec<u8> = samples.iter().flat_map(|s| s.to_le_bytes()).collect();
        let expected = plain(&samples);
        assert_eq!(summarize(narrow.as_slice(), Width::U32, "x").unwrap(), expected);
        assert_eq!(summarize(wide.as_slice(), Width::U64, "x").unwrap(), expected);
    }

    #[test]
    fn faults_are_told() {
        assert!(matches!(summarize(&[0u8; 7][..], Width::U32, "x"), Err(RawError::Partial { read: 7, width: 4 })));
        assert!(matches!(summarize(&vec![0u8; CHUNK + 4][..], Width::U64, "x"), Err(RawError::Partial { .. })));
        assert!(matches!(summarize(Broken, Width::U32, "x"), Err(RawError::Read { read: 0, .. })));
        assert!(matches!(summarize(&[0xffu8; 64][..], Width::U64, "x"), Err(RawError::Overflow)));
        assert_eq!(summarize(io::empty(), Width::U64, "x").unwrap().count(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_same_as_one_by_one(samples in prop::collection::vec(prop_oneof![any::<u32>(), 0u32..5000], 0..3000), drip in 1usize..5000) {
            let bytes: Vec<u8> = samples.iter().flat_map(|s| s.to_le_bytes()).collect();
            let wide: Vec<u64> = samples.iter().map(|&s| s.into()).collect();
            prop_assert_eq!(summarize(Drip(&bytes, drip), Width::U32, "x").unwrap(), plain(&wide));
        }

        #[test]
        fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..600), wide: bool) {
            let width = if wide { Width::U64 } else { Width::U32 };
            let done = summarize(bytes.as_slice(), width, "x");
            prop_assert!(done.is_err() || done.unwrap().count() == (bytes.len() / width.bytes()) as u64);
        }
    }
}
