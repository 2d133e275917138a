//! Turns voltages into levels: a threshold with hysteresis, like a Schmitt trigger.

use super::levels::Levels;
use super::request::CaptureRequest;

/// The default hysteresis, as a fraction of the swing.
const HYSTERESIS: f64 = 0.1;
/// The smallest swing of any logic, V, with a margin: LVDS swings by 0.35 V.
const LEAST_SWING: f64 = 0.2;

/// The voltage threshold between low and high.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// The middle of the threshold, V.
    pub volts: f64,
    /// Total width of the hysteresis, V: a voltage must be half of it above the middle to become high, and half below to
    /// become low.
    pub hysteresis: f64,
}

/// How a channel's voltages were turned into levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Analog {
    /// The lowest and highest voltage; `None` where there is no sample.
    pub swing: Option<(f64, f64)>,
    /// The voltage looks like noise: it hardly swings, or spends most of the time in the middle half of its swing. (A
    /// triangle wave is there half of the time.)
    pub noise: bool,
    /// The threshold used.
    pub threshold: Threshold,
}

/// The swing of a channel, updated with every sample.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Swing(Option<(f64, f64)>);

impl Swing {
    pub(super) fn of(low: f64, high: f64) -> Self {
        Self(Some((low, high)))
    }

    pub(super) fn take(&mut self, volts: f64) {
        let (low, high) = self.0.unwrap_or((f64::MAX, f64::MIN));
        self.0 = Some((low.min(volts), high.max(volts)));
    }

    /// The lowest and highest voltage.
    pub(super) fn ends(self) -> Option<(f64, f64)> {
        self.0.filter(|(low, high)| low <= high)
    }
}

/// Turns samples into levels, one at a time. An edge is timed where the straight line between two samples crosses the
/// middle, even when the far threshold is passed only later: the hysteresis decides whether there is an edge, not when.
#[derive(Debug)]
pub(super) struct Slicer {
    swing: Option<(f64, f64)>,
    threshold: Threshold,
    levels: Levels,
    /// When the voltage last crossed the middle on the way up, and on the way down.
    up: Option<u64>,
    down: Option<u64>,
    before: Option<(u64, f64)>,
    samples: usize,
    /// Samples in the middle half of the swing.
    middle: usize,
}

impl Slicer {
    /// With the requested threshold, else the middle of the swing; with the requested hysteresis, else a tenth of the
    /// swing.
    pub(super) fn new(swing: Swing, request: &CaptureRequest) -> Self {
        let swing = swing.ends();
        let (low, high) = swing.unwrap_or_default();
        let middle = low + (high - low) / 2.0;
        let hysteresis = request.hysteresis.unwrap_or((high - low) * HYSTERESIS);
        let threshold = Threshold { volts: request.threshold.unwrap_or(middle), hysteresis };
        Self { swing, threshold, levels: Levels::default(), up: None, down: None, before: None, samples: 0, middle: 0 }
    }

    /// Takes the next sample.
    pub(super) fn take(&mut self, at: u64, v: f64) {
        let (t, half) = (self.threshold, self.threshold.hysteresis.abs() / 2.0);
        let (low, high) = self.swing.unwrap_or_default();
        let quarter = (high - low) / 4.0;
        self.samples += 1;
        self.middle += usize::from(v > low + quarter && v < high - quarter);
        if let Some((was_at, was)) = self.before {
            let crossing = || {
                let part = (t.volts - was) / (v - was);
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and the interval
                let offset = (part.clamp(0.0, 1.0) * (at - was_at) as f64).round() as u64;
                was_at + offset
            };
            if was < t.volts && v >= t.volts {
                self.up = Some(crossing());
            }
            if was >= t.volts && v < t.volts {
                self.down = Some(crossing());
            }
        }
        if v >= t.volts + half && self.levels.level() != Some(true) {
            self.levels.set(self.up.unwrap_or(at), true);
        }
        if v <= t.volts - half && v < t.volts && self.levels.level() != Some(false) {
            self.levels.set(self.down.unwrap_or(at), false);
        }
        self.before = Some((at, v));
    }

    pub(super) fn finish(self) -> (Levels, Analog) {
        let noise = self.swing.is_some_and(|(low, high)| high - low < LEAST_SWING || self.middle > self.samples / 4 * 3);
        (self.levels, Analog { swing: self.swing, noise, threshold: self.threshold })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sliced(samples: &[(u64, f64)], threshold: Option<f64>, hysteresis: Option<f64>) -> (Vec<(u64, bool)>, Analog) {
        let mut swing = Swing::default();
        for s in samples {
            swing.take(s.1);
        }
        let mut slicer = Slicer::new(swing, &CaptureRequest { threshold, hysteresis, ..CaptureRequest::default() });
        for s in samples {
            slicer.take(s.0, s.1);
        }
        let (levels, analog) = slicer.finish();
        (levels.edges().collect(), analog)
    }

    #[test]
    fn an_edge_is_where_the_middle_is_passed() {
        let ramp = [(0, 0.0), (100, 0.0), (200, 2.0), (300, 3.0), (400, 3.0), (500, 0.0)];
        let (edges, analog) = sliced(&ramp, None, None);
        // The middle between 0 and 3 V is 1.5 V: reached after three quarters of the rise from 0 to 2 V, and half way
        // from 3 to 0 V.
        assert_eq!(edges, [(175, true), (450, false)]);
        assert!((analog.threshold.volts - 1.5).abs() < 1e-9 && (analog.threshold.hysteresis - 0.3).abs() < 1e-9);
        assert_eq!(sliced(&ramp, Some(2.0), Some(0.0)).0, [(200, true), (433, false)]);
        assert_eq!(sliced(&ramp, Some(4.0), Some(0.0)).0, []);
    }

    #[test]
    fn a_line_that_does_nothing_but_noise_has_no_middle() {
        let is_noise =
            |volts: &dyn Fn(u64) -> f64| sliced(&(0..1000).map(|i| (i * 10, volts(i))).collect::<Vec<_>>(), None, None).1.noise;
        // The sum of a few unrelated sines resembles noise.
        let noise = |i: u64| [0.61, 1.13, 2.39, 0.29].iter().map(|f| (f * i as f64).sin()).sum::<f64>();
        assert!(is_noise(&noise));
        assert!(is_noise(&|i| 3.28 + 0.04 * (i % 2) as f64), "the last bit of a converter");
        assert!(is_noise(&|_| 3.3));
        assert!(!is_noise(&|i| 3.3 * (i / 100 % 2) as f64 + 0.02 * noise(i)));
        assert!(!is_noise(&|i| (i as f64 / 30.0).sin()));
        assert!(!is_noise(&|i| if i % 500 == 7 { 3.3 } else { 0.01 * noise(i) }), "rare pulses");
        assert!(!sliced(&[], None, None).1.noise);
    }

    #[test]
    fn noise_within_the_hysteresis_is_no_edge() {
        let noisy: Vec<(u64, f64)> = (0..100).map(|i| (i * 10, if i % 2 == 0 { 1.4 } else { 1.6 })).collect();
        assert_eq!(sliced(&noisy, Some(1.5), Some(1.0)).0, []);
        assert_eq!(sliced(&noisy, Some(1.5), Some(0.0)).0.len(), 99);
        assert_eq!(sliced(&[], None, None).0, []);
        assert_eq!(sliced(&[(0, 1.0), (1, 1.0)], None, None).0, []);
    }

    proptest! {
        #[test]
        fn levels_alternate_and_times_do_not_fall(volts in proptest::collection::vec(-5.0f64..5.0, 0..60), hysteresis in 0.0f64..4.0) {
            let samples: Vec<(u64, f64)> = volts.iter().enumerate().map(|(i, v)| (i as u64 * 7, *v)).collect();
            let edges = sliced(&samples, Some(0.0), Some(hysteresis)).0;
            for pair in edges.windows(2) {
                prop_assert!(pair[0].1 != pair[1].1 && pair[0].0 <= pair[1].0);
            }
        }
    }
}
