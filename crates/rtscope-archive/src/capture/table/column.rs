//! A column of values: levels as long as nothing but 0 and 1 comes, else voltages.

use crate::capture::{Levels, Signal};

/// What came so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Column {
    /// Of stretches of one value below an analog one only the ends: nothing lies between them.
    samples: Vec<(u64, f64)>,
    analog: bool,
}

impl Column {
    pub(super) fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    #[allow(clippy::float_cmp)] // as written: 0 and 1 are exact, and only sameness counts
    pub(super) fn take(&mut self, at: u64, value: f64) {
        self.analog |= value != 0.0 && value != 1.0;
        if let [.., before, last] = &mut self.samples[..] {
            if before.1 == last.1 && last.1 == value {
                last.0 = at;
                return;
            }
        }
        self.samples.push((at, value));
    }

    #[allow(clippy::float_cmp)] // as above
    pub(super) fn finish(self) -> Signal {
        if self.analog {
            return Signal::Analog(self.samples);
        }
        let mut levels = Levels::default();
        for (at, value) in self.samples {
            levels.set(at, value == 1.0);
        }
        Signal::Digital(levels)
    }
}
