//! The resolution of a table's times, where it does not state one.

/// What the steps between rows show about the resolution.
#[derive(Debug, Default)]
pub(super) struct Steps {
    rows: u64,
    pub(super) least: Option<u64>,
    most: u64,
    divisor: u64,
    /// For each of `RATES`: the largest distance of a time from a multiple of its period, in parts of the period (see
    /// `PERIODS`).
    off: [u64; RATES.len()],
}

/// Sample rates of logic analyzers whose period is not a whole number of ps, kHz: tables of transitions round it in each
/// time.
const RATES: [u64; 12] = [1_500, 3_000, 6_000, 12_000, 24_000, 48_000, 96_000, 192_000, 300_000, 600_000, 750_000, 1_200_000];

/// How many parts a period is divided into.
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
        // In 10^-9 of a period: 1 kHz is 10^-9 periods per ps.
        let within = at % PERIODS;
        for (khz, off) in RATES.iter().zip(&mut self.off) {
            let phase = within * khz % PERIODS;
            *off = (*off).max(phase.min(PERIODS - phase));
        }
    }

    /// For samples, their interval (up to rounding); for transitions, what all times are multiples of, up to rounding.
    pub(super) fn resolution(&self) -> u64 {
        let unit = self.divisor.max(1);
        match self.least {
            Some(least) if self.most <= least.saturating_add(least / 2) => self.most,
            // Times, including the first, are rounded to the unit. A few rows could be near multiples by chance.
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
