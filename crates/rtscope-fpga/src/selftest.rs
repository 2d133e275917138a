//! The self-test: over the instrument's internal loop, every stimulus must come back on all channels with exactly the designed
//! delay.

use crate::instrument::{FpgaError, FpgaInstrument, Stimulus};
use crate::port::Port;
use crate::stream::Item;
use std::time::{Duration, Instant};

/// Number of stimuli in a self-test, and their interval, ns.
const STIMULI: usize = 1000;
const INTERVAL: u64 = 1_000_000;
/// How long all stimuli together may take.
const TEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The result of a self-test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Stimuli that came back correctly on all channels.
    pub stimuli: usize,
}

/// Tests the time stamps, the store, the serial line and the host, but not the pins.
pub fn run<P: Port>(instrument: &mut FpgaInstrument<P>) -> Result<Found, FpgaError> {
    let before = instrument.losses();
    let mut edges = Vec::new();
    let mut take = |item| {
        if let Item::Edge { channel, level, at } = item {
            edges.push((at, channel, level));
        }
    };
    instrument.start(0xF, true)?;
    instrument.stimulate(&Stimulus { shortest: INTERVAL, longest: INTERVAL, seed: 1, pulse: None }, &mut take)?;
    let end = Instant::now() + TEST_TIMEOUT;
    let mut stimuli = 0;
    while stimuli < STIMULI && Instant::now() < end {
        instrument.listen(Duration::from_millis(100), &mut |item| {
            stimuli += usize::from(matches!(item, Item::Edge { channel: 0, .. }));
            take(item);
        })?;
    }
    instrument.stop()?;
    let lost = instrument.losses().since(&before);
    if !lost.is_none() {
        let (damaged, missing, overflowed) = (lost.damaged, lost.missing, lost.overflowed);
        return Err(FpgaError::SelfTest(format!(
            "{damaged} frames were damaged, {missing} missing, {overflowed} events overflowed"
        )));
    }
    check(&edges, instrument.identity().loop_adds()).map_err(FpgaError::SelfTest)
}

/// Compares the edges (half ticks, channel, level) with those that the loop must give. `late` is the delay of the answer channel,
/// half ticks.
fn check(edges: &[(u64, u8, bool)], late: u64) -> Result<Found, String> {
    let mut stimuli = 0;
    for round in edges.chunks_exact(4) {
        let (at, _, level) = round[0];
        let expected = [(at, 0, level), (at, 3, !level), (at + late, 1, level), (at + 2, 2, level)];
        if round != expected {
            return Err(format!("stimulus {}: {round:?}, not {expected:?} (half ticks, channel, level)", stimuli + 1));
        }
        stimuli += 1;
    }
    if stimuli < STIMULI - 1 {
        return Err(format!("{stimuli} of {STIMULI} stimuli came back"));
    }
    Ok(Found { stimuli })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_that_is_late_or_silent_is_found() {
        let rounds = |n: u64, late: u64| {
            let round = move |i: u64| {
                let (at, up) = (1000 * i, i % 2 == 0);
                [(at, 0, up), (at, 3, !up), (at + late, 1, up), (at + 2, 2, up)]
            };
            (0..n).flat_map(round).collect::<Vec<_>>()
        };
        assert_eq!(check(&rounds(1000, 1), 1), Ok(Found { stimuli: 1000 }));
        assert!(check(&rounds(1000, 0), 1).unwrap_err().starts_with("stimulus 1:"));
        assert!(check(&rounds(900, 1), 1).unwrap_err().starts_with("900 of 1000"));
        let mut silent = rounds(1000, 1);
        silent.remove(402);
        assert!(check(&silent, 1).unwrap_err().starts_with("stimulus 101:"));
    }
}
