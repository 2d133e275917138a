//! Searches for the highest frequency at which every stimulus is answered before the next one, and confirms it by
//! a full run.
//!
//! The interval is halved until a trial fails (or doubled until one succeeds), then bisected to 1 %. A run of
//! full length follows; while it fails, the interval grows by 2 %. Trials only say where to confirm: none of
//! their answers supports the claim, and each further attempt to confirm has to show more, because one of many
//! succeeds by luck ([`Confirmation`]).

use rtscope_record::Nanos;
use rtscope_record::lines::{Confirmation, Trial};

/// The search ends when the shortest interval that held and the longest that failed are this close: 1 in 100.
const CLOSE: u64 = 100;
/// How often the interval is doubled if even the first one fails.
const DOUBLINGS: u32 = 12;
/// How often a confirming run is tried, each time with a longer interval.
const CONFIRMATIONS: u32 = 20;
/// If stimuli are further apart than asked by more than this ratio (3/2), the instrument can't go faster.
const SLOW: (u64, u64) = (3, 2);

/// What the search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sustained {
    /// The mean interval of the confirming run, ns; `None` when nothing held.
    pub interval: Option<u64>,
    /// Every step, in order; the last one is the confirming run, if any held.
    pub trials: Vec<Trial>,
    /// The instrument itself was the limit.
    pub instrument_limited: bool,
    /// The confidence in the interval.
    pub confirmation: Option<Confirmation>,
}

/// Runs a trial at an interval, ns; the flag is `true` for a confirming run. `None`: it was told to stop.
pub trait Try<E>: FnMut(u64, bool) -> Result<Option<Trial>, E> {}
impl<E, F: FnMut(u64, bool) -> Result<Option<Trial>, E>> Try<E> for F {}

/// Searches from the interval `first` down to `shortest`, ns. `None` when told to stop.
pub fn search<E>(first: u64, shortest: u64, attempt: &mut impl Try<E>) -> Result<Option<Sustained>, E> {
    let mut found = Sustained { interval: None, trials: Vec::new(), instrument_limited: false, confirmation: None };
    let mut held = None;
    let mut failed = 0;
    let mut interval = first.max(shortest);
    let mut doublings = 0;
    loop {
        let Some(trial) = attempt(interval, false)? else { return Ok(None) };
        let slow = trial.given.0.saturating_mul(SLOW.1) > interval.saturating_mul(SLOW.0);
        if trial.sustained {
            held = Some(interval);
        } else {
            failed = interval;
            found.instrument_limited = by_itself(&trial);
        }
        found.trials.push(trial);
        interval = match held {
            None if doublings == DOUBLINGS => return Ok(Some(found)),
            None => {
                doublings += 1;
                interval * 2
            }
            // A shorter interval does not make the instrument faster.
            Some(_) if slow && interval == held.unwrap_or(0) => {
                found.instrument_limited = true;
                break;
            }
            Some(h) if failed == 0 && h <= shortest => break,
            Some(h) if failed == 0 => (h / 2).max(shortest),
            Some(h) if h - failed <= h / CLOSE => break,
            Some(h) => failed + (h - failed) / 2,
        };
    }
    let mut interval = held.unwrap_or(first);
    for tries in 1..=CONFIRMATIONS {
        let Some(trial) = attempt(interval, true)? else { return Ok(None) };
        let (sustained, given, stimuli) = (trial.sustained, trial.given, trial.stimuli);
        found.instrument_limited |= by_itself(&trial);
        found.trials.push(trial);
        if sustained {
            found.interval = Some(given.0);
            found.confirmation = Some(Confirmation::of(stimuli, tries));
            break;
        }
        interval += (interval * 2 / 100).max(1);
    }
    Ok(Some(found))
}

/// Whether the trial failed because of the instrument, not the device.
fn by_itself(trial: &Trial) -> bool {
    trial.overflowed > 0 && trial.missed == 0 && trial.spurious == 0
}

/// Makes a trial from its counts.
pub fn judge(
    interval: u64,
    own: &super::instrument::RunCounts,
    missed: u64,
    spurious: u64,
    max: Option<u64>,
    confirming: bool,
) -> Trial {
    Trial {
        interval: Nanos(interval),
        given: Nanos(own.elapsed / own.stimuli.max(1)),
        stimuli: own.stimuli,
        missed,
        spurious,
        max,
        overflowed: own.overflowed,
        sustained: missed == 0 && spurious == 0 && own.overflowed == 0 && own.stimuli > 0,
        confirming,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line_tests::schedule::Schedule;
    use crate::line_tests::stimulate::{Until, stimulate};
    use crate::line_tests::wires::Simulated;
    use proptest::prelude::*;
    use rtscope_samples::phase::PhaseSampler;
    use std::sync::atomic::AtomicBool;

    static NEVER: AtomicBool = AtomicBool::new(false);

    /// A device that needs `service` ns for each edge, one after the other. The instrument gives a stimulus at most
    /// every `limit` ns.
    fn found(service: u64, first: u64, limit: u64) -> Sustained {
        let mut attempt = |interval: u64, confirming| {
            let mut busy = 0;
            let mut wires = Simulated::new(|at, level| {
                busy = at.max(busy) + service;
                vec![(busy, level)]
            });
            let mut brief = PhaseSampler::new(200);
            let until = Until { stimuli: 200, end: u64::MAX, stop: &NEVER };
            let asked = interval.max(limit);
            let (_, mut own) = stimulate(&mut wires, &mut Schedule::new(asked, asked, 0), interval, &until, &mut brief).unwrap();
            own.elapsed = own.stimuli * asked;
            let phase = brief.finish();
            assert!(phase.count <= own.stimuli);
            Ok::<_, ()>(Some(judge(interval, &own, phase.missed, phase.spurious, phase.max, confirming)))
        };
        search(first, 2_000, &mut attempt).unwrap().unwrap()
    }

    #[test]
    fn an_instrument_at_its_limit_says_so() {
        let f = found(100, 1_000_000, 50_000);
        assert!(f.instrument_limited, "{f:?}");
        assert_eq!(f.interval, Some(50_000));
    }

    #[test]
    fn an_instrument_without_room_has_reached_its_own_limit() {
        let mut attempt = |interval, confirming| {
            let overflowed = if interval < 70_000 { 100 } else { 0 };
            let own =
                crate::line_tests::instrument::RunCounts { stimuli: 10, elapsed: 10 * interval, overflowed, ..Default::default() };
            Ok::<_, ()>(Some(judge(interval, &own, 0, 0, Some(5), confirming)))
        };
        let f = search(1_000_000, 2_000, &mut attempt).unwrap().unwrap();
        assert!(f.instrument_limited && (70_000..72_000).contains(&f.interval.unwrap()), "{f:?}");
        assert!(f.trials.last().is_some_and(|t| t.confirming && t.overflowed == 0));
    }

    #[test]
    fn a_device_that_never_answers_in_time_has_no_limit() {
        let mut tries = 0;
        let mut attempt = |interval, confirming| {
            tries += 1;
            let own = crate::line_tests::instrument::RunCounts { stimuli: 10, elapsed: 10 * interval, ..Default::default() };
            Ok::<_, ()>(Some(judge(interval, &own, 10, 0, None, confirming)))
        };
        assert_eq!(search(1_000_000, 2_000, &mut attempt).unwrap().unwrap().interval, None);
        assert_eq!(tries, 13);
    }

    #[test]
    fn a_failed_confirmation_is_tried_with_longer_intervals() {
        let mut attempt = |interval, confirming| {
            let own = crate::line_tests::instrument::RunCounts { stimuli: 10, elapsed: 10 * interval, ..Default::default() };
            let limit = if confirming { 110_000 } else { 100_000 };
            Ok::<_, ()>(Some(judge(interval, &own, u64::from(interval < limit), 0, Some(1), confirming)))
        };
        let f = search(1_000_000, 2_000, &mut attempt).unwrap().unwrap();
        assert!((110_000..115_000).contains(&f.interval.unwrap()), "{f:?}");
        assert!(f.trials.last().is_some_and(|t| t.confirming && t.sustained));
        let confirming = f.trials.iter().filter(|t| t.confirming).count();
        assert!(confirming > 1, "{f:?}");
        assert_eq!(f.confirmation.map(|c| (c.stimuli, c.tries as usize)), Some((10, confirming)));
    }

    /// A device that misses each stimulus with the same probability, whatever the interval: the claim is false in
    /// at most one search of twenty, however often it tried to confirm.
    #[test]
    fn a_lucky_try_is_no_proof() {
        let mut state = 1u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for (miss, stimuli) in [(0.02, 100u64), (0.05, 100), (0.01, 400), (0.002, 1_000)] {
            let held = (1.0f64 - miss).powi(i32::try_from(stimuli).unwrap());
            let mut wrong = 0;
            for _ in 0..10_000 {
                let mut attempt = |interval, confirming| {
                    let own =
                        crate::line_tests::instrument::RunCounts { stimuli, elapsed: stimuli * interval, ..Default::default() };
                    let missed = u64::from(confirming && uniform() >= held);
                    Ok::<_, ()>(Some(judge(interval, &own, missed, 0, Some(1), confirming)))
                };
                let f = search(4_000, 2_000, &mut attempt).unwrap().unwrap();
                wrong += u32::from(f.confirmation.is_some_and(|c| (c.miss_below_ppb as f64) < miss * 1e9));
            }
            assert!(wrong <= 500 + 66, "{miss}: {wrong}");
        }
    }

    proptest! {
        #[test]
        fn the_limit_is_the_service_time(service in 3_000u64..5_000_000, first in 10_000u64..50_000_000) {
            let f = found(service, first, 0);
            let limit = f.interval.unwrap();
            prop_assert!(limit >= service && limit <= service + service / 20, "{} for {}: {:?}", limit, service, f);
        }
    }
}
