//! From voltages to levels: a threshold with hysteresis, as a Schmitt trigger has it.

use super::{Channel, Levels, Signal};

/// Of the swing, the hysteresis where none is asked for.
const HYSTERESIS: f64 = 0.1;
/// No logic swings less, V: LVDS does by 0.35.
const LEAST_SWING: f64 = 0.2;

/// When a voltage is high.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// The middle, V.
    pub volts: f64,
    /// How far a voltage must pass over the middle, in all, V: half of it above to be high, half below to be low.
    pub hysteresis: f64,
}

impl Channel {
    /// The lowest and highest voltage; `None` of levels, and where there is no sample.
    pub fn swing(&self) -> Option<(f64, f64)> {
        let Signal::Analog(samples) = &self.signal else { return None };
        let (low, high) = samples.iter().fold((f64::MAX, f64::MIN), |(l, h), s| (l.min(s.1), h.max(s.1)));
        (low <= high).then_some((low, high))
    }

    /// Whether its middle parts nothing: it hardly swings, or is most of the time in the middle half of its swing, as noise is. (A triangle
    /// is there half of the time.)
    pub fn is_noise(&self) -> bool {
        let (Signal::Analog(samples), Some((low, high))) = (&self.signal, self.swing()) else { return false };
        let quarter = (high - low) / 4.0;
        let middle = samples.iter().filter(|s| s.1 > low + quarter && s.1 < high - quarter).count();
        high - low < LEAST_SWING || middle > samples.len() / 4 * 3
    }

    /// Its levels; of voltages by `volts` and `hysteresis`, else by the middle of its swing and a tenth of that. Returns what was used.
    pub fn levels(&self, volts: Option<f64>, hysteresis: Option<f64>) -> (Levels, Option<Threshold>) {
        match &self.signal {
            Signal::Digital(levels) => (levels.clone(), None),
            Signal::Analog(samples) => {
                let (low, high) = self.swing().unwrap_or_default();
                let swing = high - low;
                let middle = low + swing / 2.0;
                let used = Threshold { volts: volts.unwrap_or(middle), hysteresis: hysteresis.unwrap_or(swing * HYSTERESIS) };
                (slice(samples, used), Some(used))
            }
        }
    }
}

/// The levels of `samples`. An edge is where the straight line between two samples passes the middle, also when the far threshold is passed
/// only later: hysteresis decides whether there is an edge, not when.
fn slice(samples: &[(u64, f64)], t: Threshold) -> Levels {
    let mut levels = Levels::default();
    let half = t.hysteresis.abs() / 2.0;
    // Where the middle was last passed on the way up and down.
    let (mut up, mut down) = (None, None);
    let mut before: Option<(u64, f64)> = None;
    for &(at, v) in samples {
        if let Some((was_at, was)) = before {
            let crossing = || {
                let part = (t.volts - was) / (v - was);
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and the interval
                let offset = (part.clamp(0.0, 1.0) * (at - was_at) as f64).round() as u64;
                was_at + offset
            };
            if was < t.volts && v >= t.volts {
                up = Some(crossing());
            }
            if was >= t.volts && v < t.volts {
                down = Some(crossing());
            }
        }
        if v >= t.volts + half && levels.level != Some(true) {
            levels.set(up.unwrap_or(at), true);
        }
        if v <= t.volts - half && v < t.volts && levels.level != Some(false) {
            levels.set(down.unwrap_or(at), false);
        }
        before = Some((at, v));
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn analog(samples: &[(u64, f64)]) -> Channel {
        Channel { name: "CH1".into(), signal: Signal::Analog(samples.to_vec()) }
    }

    #[test]
    fn an_edge_is_where_the_middle_is_passed() {
        let ramp = analog(&[(0, 0.0), (100, 0.0), (200, 2.0), (300, 3.0), (400, 3.0), (500, 0.0)]);
        let (levels, used) = ramp.levels(None, None);
        // The middle of 0 and 3 V is 1.5 V: three quarters from 0 to 2 V; half from 3 to 0 V.
        assert_eq!(levels.edges, [(175, true), (450, false)]);
        assert!((used.unwrap().volts - 1.5).abs() < 1e-9 && (used.unwrap().hysteresis - 0.3).abs() < 1e-9);
        assert_eq!(ramp.levels(Some(2.0), Some(0.0)).0.edges, [(200, true), (433, false)]);
        assert_eq!(ramp.levels(Some(4.0), Some(0.0)).0.edges, []);
    }

    #[test]
    fn a_line_that_does_nothing_but_noise_has_no_middle() {
        let of = |volts: &dyn Fn(u64) -> f64| analog(&(0..1000).map(|i| (i * 10, volts(i))).collect::<Vec<_>>());
        // The sum of a few that don't go together is like noise.
        let noise = |i: u64| [0.61, 1.13, 2.39, 0.29].iter().map(|f| (f * i as f64).sin()).sum::<f64>();
        assert!(of(&noise).is_noise());
        assert!(of(&|i| 3.28 + 0.04 * (i % 2) as f64).is_noise(), "the last bit of a converter");
        assert!(of(&|_| 3.3).is_noise());
        assert!(!of(&|i| 3.3 * (i / 100 % 2) as f64 + 0.02 * noise(i)).is_noise());
        assert!(!of(&|i| (i as f64 / 30.0).sin()).is_noise());
        assert!(!of(&|i| if i % 500 == 7 { 3.3 } else { 0.01 * noise(i) }).is_noise(), "rare pulses");
        assert!(!analog(&[]).is_noise());
    }

    #[test]
    fn noise_within_the_hysteresis_is_no_edge() {
        let noisy: Vec<(u64, f64)> = (0..100).map(|i| (i * 10, if i % 2 == 0 { 1.4 } else { 1.6 })).collect();
        assert_eq!(analog(&noisy).levels(Some(1.5), Some(1.0)).0.edges, []);
        assert_eq!(analog(&noisy).levels(Some(1.5), Some(0.0)).0.edges.len(), 99);
        assert_eq!(analog(&[]).levels(None, None).0.edges, []);
        assert_eq!(analog(&[(0, 1.0), (1, 1.0)]).levels(None, None).0.edges, []);
    }

    proptest! {
        #[test]
        fn levels_alternate_and_times_do_not_fall(volts in proptest::collection::vec(-5.0f64..5.0, 0..60), hysteresis in 0.0f64..4.0) {
            let samples: Vec<(u64, f64)> = volts.iter().enumerate().map(|(i, v)| (i as u64 * 7, *v)).collect();
            let levels = analog(&samples).levels(Some(0.0), Some(hysteresis)).0;
            for pair in levels.edges.windows(2) {
                prop_assert!(pair[0].1 != pair[1].1 && pair[0].0 <= pair[1].0);
            }
        }
    }
}
