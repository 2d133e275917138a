//! The guest's monotonic clock as a function of its time stamp counter, as the kernel computes it (kernel/time/timekeeping.c,
//! `timekeeping_delta_to_ns`; lib/vdso/gettimeofday.c, `do_hres`).

/// What the kernel keeps of a clock (`struct tk_read_base`): monotonic time is `base + ((counter - last) * mult + nsec) >> shift`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timekeeper {
    /// The counter when it was kept last.
    pub last: u64,
    /// Multiplier and shift from the counter's ticks to ns.
    pub mult: u32,
    /// See `mult`.
    pub shift: u32,
    /// Fractions of ns, shifted.
    pub nsec: u64,
    /// Monotonic time when it was kept last, whole ns.
    pub base: u64,
}

/// Where its fields are in memory, bytes from its begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Of `cycle_last`.
    pub last: usize,
    /// Of `mult`.
    pub mult: usize,
    /// Of `shift`.
    pub shift: usize,
    /// Of `xtime_nsec`.
    pub nsec: usize,
    /// Of `base`.
    pub base: usize,
}

impl Timekeeper {
    /// From memory; `None` when it is cut off, or can't be one.
    pub fn read(memory: &[u8], l: &Layout) -> Option<Self> {
        let long = |at: usize| Some(u64::from_le_bytes(memory.get(at..at.checked_add(8)?)?.try_into().ok()?));
        let word = |at: usize| Some(u32::from_le_bytes(memory.get(at..at.checked_add(4)?)?.try_into().ok()?));
        let t = Self { last: long(l.last)?, mult: word(l.mult)?, shift: word(l.shift)?, nsec: long(l.nsec)?, base: long(l.base)? };
        (t.mult > 0 && t.shift < 32).then_some(t)
    }

    /// Monotonic time at a value of the counter, ns.
    pub fn at(&self, counter: u64) -> u64 {
        let ticks = i128::from(counter) - i128::from(self.last);
        let shifted = ticks * i128::from(self.mult) + i128::from(self.nsec);
        u64::try_from(i128::from(self.base) + (shifted >> self.shift)).unwrap_or(0)
    }

    /// The first value of the counter at which monotonic time is `ns` or later.
    pub fn counter_at(&self, ns: u64) -> u64 {
        let shifted = ((i128::from(ns) - i128::from(self.base)) << self.shift) - i128::from(self.nsec);
        let mult = i128::from(self.mult);
        // Rounded up.
        let ticks = shifted.div_euclid(mult) + i128::from(shifted.rem_euclid(mult) != 0);
        u64::try_from(i128::from(self.last) + ticks).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LAYOUT: Layout = Layout { last: 16, mult: 24, shift: 28, nsec: 32, base: 40 };

    #[test]
    fn it_is_read_where_its_fields_are() {
        let mut memory = vec![0u8; 56];
        memory[16..24].copy_from_slice(&1_000u64.to_le_bytes());
        memory[24..28].copy_from_slice(&(1u32 << 23).to_le_bytes());
        memory[28..32].copy_from_slice(&22u32.to_le_bytes());
        memory[32..40].copy_from_slice(&(1u64 << 21).to_le_bytes());
        memory[40..48].copy_from_slice(&500u64.to_le_bytes());
        let t = Timekeeper::read(&memory, &LAYOUT).unwrap();
        // Two ns a tick, half an ns ahead.
        assert_eq!((t.at(1_000), t.at(1_003), t.counter_at(506), t.counter_at(507)), (500, 506, 1_003, 1_004));
        assert_eq!(Timekeeper::read(&memory[..47], &LAYOUT), None);
        assert_eq!(Timekeeper::read(&[0; 56], &LAYOUT), None);
    }

    proptest! {
        #[test]
        fn the_counter_at_a_time_is_the_first_one(
            last in 0u64..1 << 50, mult in 1u32 << 20..1 << 25, nsec in 0u64..1 << 24, base in 1u64 << 40..1 << 50, after in 0u64..1 << 40,
        ) {
            let t = Timekeeper { last: last + (1 << 52), mult, shift: 24, nsec, base };
            let counter = t.counter_at(base + after);
            prop_assert!(t.at(counter) >= base + after && t.at(counter - 1) < base + after);
        }
    }
}
