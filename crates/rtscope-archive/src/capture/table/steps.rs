//! How finely a table knows its times, where it does not say so.

/// What the steps between rows say of the resolution.
#[derive(Debug, Default)]
pub(super) struct Steps {
    rows: u64,
    pub(super) least: Option<u64>,
    most: u64,
    divisor: u64,
    /// How far a time was from a multiple of the period of each of `RATES`, at most, in parts of that.
    off: [u64; RATES.len()],
}

/// Sample rates of logic analyzers whose period is no round number, kHz: tables of transitions have it rounded in each of their times.
const RATES: [u64; 12] = [1_500, 3_000, 6_000, 12_000, 24_000, 48_000, 96_000, 192_000, 300_000, 600_000, 750_000, 1_200_000];

/// What periods are counted in: so many of these parts are one.
const PERIODS: u64 = 1_000_000_000;

impl Steps {
    pub(super) fn take(&mut self, at: u64, before: u64) {
        let step = at - before;
        self.rows += 1;
        if step > 0 {
            self.least = Some(self.least.map_or(step, |l| l.min(step)));
            self.most = self.most.max(step);
            if self.divisor == 0 || step % self.divisor != 0 {
                self.divisor = gcd(self.divisor, step);
            }
        }
        // In 10^-9 of a period: 1 kHz is 10^-9 in a ps.
        let within = at % PERIODS;
        for (khz, off) in RATES.iter().zip(&mut self.off) {
            let phase = within * khz % PERIODS;
            *off = (*off).max(phase.min(PERIODS - phase));
        }
    }

    /// Of samples their interval (up to what rounding does to it); of transitions what all times are multiples of, up to rounding.
    pub(super) fn resolution(&self) -> u64 {
        let unit = self.divisor.max(1);
        match self.least {
            Some(least) if self.most <= least.saturating_add(least / 2) => self.most,
            // Times are rounded, to the unit, and so is the first one. A few rows could be near multiples by chance.
            Some(_) if self.rows >= 16 => {
                let mut rates = RATES.iter().zip(self.off).filter(|(khz, off)| *off / **khz <= unit && PERIODS / **khz >= 8 * unit);
                rates.next().map_or(unit, |(khz, _)| PERIODS.div_ceil(*khz))
            }
            _ => unit,
        }
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
