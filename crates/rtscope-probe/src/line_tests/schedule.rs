//! When the next stimulus is due: fixed intervals, or random ones in a range from a seed.

/// splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014), the same as in
/// `kernel/rtscope.h`, so that a seed gives the same sequence on every instrument.
#[derive(Debug, Clone)]
pub struct Schedule {
    shortest: u64,
    /// Longest minus shortest, plus one.
    spread: u64,
    state: u64,
}

impl Schedule {
    /// Intervals from `shortest` to `longest` ns, both included; fixed when they are equal. The range must be below 2^32 ns.
    pub fn new(shortest: u64, longest: u64, seed: u64) -> Self {
        Self { shortest, spread: longest.saturating_sub(shortest).min(u64::from(u32::MAX) - 1) + 1, state: seed }
    }

    /// The next interval, ns.
    pub fn interval(&mut self) -> u64 {
        if self.spread == 1 {
            return self.shortest;
        }
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        self.shortest + (((z >> 32) * self.spread) >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_seed_is_a_sequence() {
        let take = |seed| {
            let mut s = Schedule::new(0, u64::from(u32::MAX) - 1, seed);
            (0..4).map(|_| s.interval()).collect::<Vec<_>>()
        };
        assert_eq!(take(7), take(7));
        assert_ne!(take(7), take(8));
        // The first outputs of splitmix64 for the seed 0, with the upper halves scaled to the range (reference:
        // prng.di.unimi.it/splitmix64.c).
        let expected = [0xe220_a839_7b1d_cdaf_u64, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f, 0xf88b_b8a8_724c_81ec];
        assert_eq!(take(0), expected.map(|z| ((z >> 32) * u64::from(u32::MAX)) >> 32));
    }

    proptest! {
        #[test]
        fn intervals_keep_to_their_range(shortest in 0u64..1 << 40, spread in 0u64..u64::from(u32::MAX), seed: u64) {
            let mut s = Schedule::new(shortest, shortest + spread, seed);
            for _ in 0..50 {
                prop_assert!((shortest..=shortest + spread).contains(&s.interval()));
            }
        }
    }
}
