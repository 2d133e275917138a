//! The DUT in user space: answers every edge of its input line, or makes a wave, with nothing between the edge
//! and the answer.
//!
//! The faults in [`Inject`] are made on purpose, to prove that the instrument measures and counts correctly.

use crate::lines::{Input, LineError, Output};
use rtscope_record::Inject;
use rtscope_samples::Edge;
use rtscope_sys::rt::{self, Instant};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Longest wait before the device checks whether to stop, ns.
const POLL_INTERVAL: u64 = 50_000_000;
/// A device that delays on purpose sleeps until this long before, then polls the clock, ns.
const SPIN: u64 = 100_000;

/// What a device has counted so far.
#[derive(Debug, Default)]
pub struct Done {
    /// Edges taken from the input line, or grid points of the wave.
    pub edges: AtomicU64,
    /// Answers given, or edges of the wave.
    pub answers: AtomicU64,
    /// Edges that the input line reported as lost.
    pub lost: AtomicU64,
    /// Grid points of the wave that were passed over.
    pub missed: AtomicU64,
}

/// There is only one writer: a load and a store suffice, without a locked instruction.
fn add(to: &AtomicU64, n: u64) {
    to.store(to.load(Relaxed) + n, Relaxed);
}

/// Answers every edge of `input` with the same level on `output`, until `stop`.
pub fn respond(
    input: &mut dyn Input,
    output: &mut dyn Output,
    inject: &Inject,
    stop: &AtomicBool,
    done: &Done,
) -> Result<(), LineError> {
    if !inject.is_none() {
        return respond_wrong(input, output, inject, stop, done);
    }
    while !stop.load(Relaxed) {
        if let Some(edge) = input.wait(rt::now() + POLL_INTERVAL)? {
            output.set(edge.level)?;
            add(&done.edges, 1);
            add(&done.answers, 1);
            add(&done.lost, edge.lost);
        }
    }
    Ok(())
}

fn respond_wrong(
    input: &mut dyn Input,
    output: &mut dyn Output,
    inject: &Inject,
    stop: &AtomicBool,
    done: &Done,
) -> Result<(), LineError> {
    let mut wrong = Wrong { inject: *inject, pulses: 0, answers: 0, dropping: false };
    while !stop.load(Relaxed) {
        let Some(edge) = input.wait(rt::now() + POLL_INTERVAL)? else { continue };
        add(&done.edges, 1);
        add(&done.lost, edge.lost);
        let Some(answer) = wrong.answer(edge) else { continue };
        wait_until(answer.at);
        output.set(edge.level)?;
        if answer.twice {
            output.set(!edge.level)?;
            output.set(edge.level)?;
        }
        add(&done.answers, 1);
    }
    Ok(())
}

fn wait_until(at: u64) {
    let now = rt::now();
    if now + SPIN < at {
        rt::sleep_until(Instant::from_ns(at - SPIN));
    }
    while rt::now() < at {
        std::hint::spin_loop();
    }
}

/// Which answers are faulty, and how.
#[derive(Debug)]
struct Wrong {
    inject: Inject,
    pulses: u64,
    answers: u64,
    dropping: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Answer {
    at: u64,
    twice: bool,
}

impl Wrong {
    /// The answer to `edge`; `None` if it is to be left out.
    fn answer(&mut self, edge: Edge) -> Option<Answer> {
        let i = &self.inject;
        if edge.level {
            self.pulses += 1;
            self.dropping = is_nth(self.pulses, i.drop_every);
        }
        if self.dropping {
            return None;
        }
        self.answers += 1;
        let delay = if is_nth(self.answers, i.slow_every) { i.slow } else { i.delay };
        Some(Answer { at: edge.at + delay.0, twice: is_nth(self.answers, i.double_every) })
    }
}

/// Whether `number`, counted from 1, is a multiple of `n`; never for `n` = 0.
fn is_nth(number: u64, n: u64) -> bool {
    n > 0 && number % n == 0
}

/// Toggles `output` at `first` and every `semi_period` ns after it, until `stop`. Grid points that it slept
/// through are passed over and counted.
pub fn wave(
    output: &mut dyn Output,
    first: u64,
    semi_period: u64,
    inject: &Inject,
    stop: &AtomicBool,
    done: &Done,
) -> Result<(), LineError> {
    let skew = i128::from(semi_period) * i128::from(inject.skew_ppm) / 1_000_000;
    let semi_period = u64::try_from(i128::from(semi_period) + skew).unwrap_or(1).max(1);
    let mut next = first;
    let mut level = false;
    let mut toggles = 0;
    while !stop.load(Relaxed) {
        // Sleep through a long semi-period in parts, so that a stop is noticed.
        let now = rt::now();
        if now + POLL_INTERVAL < next {
            rt::sleep_until(Instant::from_ns(now + POLL_INTERVAL));
            continue;
        }
        toggles += 1;
        if is_nth(toggles, inject.slow_every) {
            wait_until(next + inject.slow.0);
        } else if rt::sleep_until(Instant::from_ns(next)) != 0 {
            toggles -= 1;
            continue;
        }
        level = !level;
        let span = output.set(level)?;
        add(&done.answers, 1);
        let passed = span.before.saturating_sub(next) / semi_period;
        add(&done.missed, passed);
        add(&done.edges, 1 + passed);
        next += (1 + passed) * semi_period;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_record::Nanos;

    #[test]
    fn what_is_wrong_is_wrong_as_often_as_asked() {
        let inject: Inject = "delay=5us,slow=1ms/4,drop=3,double=5".parse().unwrap();
        let mut wrong = Wrong { inject, pulses: 0, answers: 0, dropping: false };
        let answers: Vec<_> = (0..60).map(|i| wrong.answer(Edge { level: i % 2 == 0, at: 1000 * i, lost: 0 })).collect();
        assert_eq!(answers.iter().filter(|a| a.is_none()).count(), 20, "every third of 30 pulses, both edges");
        assert!(answers[4].is_none() && answers[5].is_none() && answers[6].is_some());
        let given: Vec<&Answer> = answers.iter().flatten().collect();
        assert_eq!(given.iter().filter(|a| a.twice).count(), 8);
        assert_eq!(given[0], &Answer { at: Nanos(5_000).0, twice: false });
        assert_eq!(given[3].at, 3000 + 1_000_000);
    }
}
