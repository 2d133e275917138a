//! The guest's monotonic clock as a function of virtual time, as the kernel computes it from a counter (kernel/time/timekeeping.c,
//! `timekeeping_delta_to_ns`; lib/vdso/gettimeofday.c, `do_hres`). The counter is virtual time divided by the length of its tick: x86's
//! time stamp counter has ticks of 1 ns in QEMU, Arm's `CNTVCT_EL0` of 16 ns.

/// What the kernel keeps of a clock (`struct tk_read_base`): monotonic time is `base + ((counter - last) * mult + nsec) >> shift`.
/// Between two ticks it is taken to go on evenly.
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
    /// Length of a tick of the counter, ns of virtual time.
    pub tick: u32,
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
    pub fn read(memory: &[u8], l: &Layout, tick: u32) -> Option<Self> {
        let long = |at: usize| Some(u64::from_le_bytes(memory.get(at..at.checked_add(8)?)?.try_into().ok()?));
        let word = |at: usize| Some(u32::from_le_bytes(memory.get(at..at.checked_add(4)?)?.try_into().ok()?));
        let (mult, shift) = (word(l.mult)?, word(l.shift)?);
        let t = Self { last: long(l.last)?, mult, shift, nsec: long(l.nsec)?, base: long(l.base)?, tick };
        (mult > 0 && shift < 32 && tick > 0).then_some(t)
    }

    /// When the counter got the value that it has at `time`: both virtual ns.
    pub fn ticked(&self, time: u64) -> u64 {
        time - time % u64::from(self.tick)
    }

    /// Monotonic time at a moment of virtual time, both ns.
    pub fn at(&self, time: u64) -> u64 {
        let passed = i128::from(time) - i128::from(self.last) * i128::from(self.tick);
        let shifted = passed * i128::from(self.mult) + i128::from(self.nsec) * i128::from(self.tick);
        u64::try_from(i128::from(self.base) + shifted.div_euclid(i128::from(self.tick) << self.shift)).unwrap_or(0)
    }

    /// The first moment of virtual time at which monotonic time is `ns` or later.
    pub fn time_at(&self, ns: u64) -> u64 {
        let shifted = ((i128::from(ns) - i128::from(self.base)) << self.shift) - i128::from(self.nsec);
        let (shifted, mult) = (shifted * i128::from(self.tick), i128::from(self.mult));
        // Rounded up.
        let passed = shifted.div_euclid(mult) + i128::from(shifted.rem_euclid(mult) != 0);
        u64::try_from(i128::from(self.last) * i128::from(self.tick) + passed).unwrap_or(0)
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
        let t = Timekeeper::read(&memory, &LAYOUT, 1).unwrap();
        // Two ns a tick, half an ns ahead.
        assert_eq!((t.at(1_000), t.at(1_003), t.time_at(506), t.time_at(507)), (500, 506, 1_003, 1_004));
        // The same counter, with ticks of 4 ns of virtual time: at a tick the time is the same, and between ticks it goes on.
        let slow = Timekeeper::read(&memory, &LAYOUT, 4).unwrap();
        assert_eq!((slow.at(4_000), slow.at(4_012), slow.at(4_014), slow.time_at(506)), (500, 506, 507, 4_011));
        assert_eq!((slow.ticked(4_015), slow.ticked(4_012), t.ticked(1_003)), (4_012, 4_012, 1_003));
        assert_eq!(Timekeeper::read(&memory[..47], &LAYOUT, 1), None);
        assert_eq!(Timekeeper::read(&memory, &LAYOUT, 0), None);
        assert_eq!(Timekeeper::read(&[0; 56], &LAYOUT, 1), None);
    }

    proptest! {
        #[test]
        fn the_moment_of_a_time_is_the_first_one(
            last in 0u64..1 << 50, mult in 1u32 << 20..1 << 25, nsec in 0u64..1 << 24, base in 1u64 << 40..1 << 50, after in 0u64..1 << 40,
            tick in 1u32..64,
        ) {
            let t = Timekeeper { last: last + (1 << 52), mult, shift: 24, nsec, base, tick };
            let moment = t.time_at(base + after);
            prop_assert!(t.at(moment) >= base + after && t.at(moment - 1) < base + after);
        }
    }
}
