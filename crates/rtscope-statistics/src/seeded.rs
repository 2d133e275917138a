//! Random numbers that follow from a seed.
//!
//! xoshiro256++ of Blackman and Vigna 2019 (rand_xoshiro): the same on every machine, and a seed says all of it.

use rand_core::{RngCore, SeedableRng};
use rand_distr::{Binomial, Distribution};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A generator.
#[derive(Debug, Clone)]
pub struct Seeded(Xoshiro256PlusPlus);

impl Seeded {
    /// The generator of this seed.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number above 0 and below 1.
    pub fn uniform(&mut self) -> f64 {
        // 52 bits, in the middle of their step: neither end is met.
        ((self.0.next_u64() >> 12) as f64 + 0.5) * 2f64.powi(-52)
    }

    /// A whole number below `n`, each as probable as the others (Lemire 2019, without the rejection of less than n in 2^64).
    #[allow(clippy::cast_possible_truncation)] // the high half of a product
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }

    /// How many of `n` trials succeed, each with probability `p`, by rand_distr's rejection: its time does not grow with `n`.
    pub fn binomial(&mut self, n: u64, p: f64) -> u64 {
        Binomial::new(n, p.clamp(0.0, 1.0)).map_or(0, |b| b.sample(&mut self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_says_all() {
        let (mut a, mut b, mut c) = (Seeded::new(7), Seeded::new(7), Seeded::new(8));
        let of = |s: &mut Seeded| (0..9).map(|_| s.below(1000)).collect::<Vec<_>>();
        let first = of(&mut a);
        assert_eq!(first, of(&mut b));
        assert_ne!(first, of(&mut c));
        let mean: f64 = (0..10_000).map(|_| a.uniform()).sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        assert!((0..1000).all(|_| a.below(3) < 3));
        let mean = (0..1000).map(|_| a.binomial(1_000_000_000, 0.25) as f64).sum::<f64>() / 1e3;
        assert!((mean / 2.5e8 - 1.0).abs() < 1e-5, "{mean}");
        assert_eq!((a.binomial(5, 0.0), a.binomial(5, 1.5)), (0, 5));
    }
}
