//! A fingerprint of distributions: two runs have the same one exactly when all their figures are equal.

use crate::distribution::{Distribution, Moments};
use crate::histogram::Histogram;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fmt::Write;
use std::str::FromStr;

/// Fingerprint of the distributions, 32 hex digits: the first 128 bits of a SHA-256 over everything in them except which threads
/// measured.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
pub struct Fingerprint(u128);

impl Fingerprint {
    /// The fingerprint of these distributions, in their order. Thread ids are left out: they say nothing about what was measured.
    ///
    /// The hash is over a text with one fact on each line, so that it does not depend on an encoder's version: label, every
    /// counter, extremes, sums, resolution, each occupied slot of the histogram with its count, the same of the points passed
    /// over, the worst samples with their times, the linear bins, and the block maxima.
    pub fn of(distributions: &[Distribution]) -> Self {
        let slots = |h: &Histogram| h.occupied() * 16;
        let usual = |d: &Distribution| 1024 + slots(d.histogram()) + d.parts().passed.as_ref().map_or(0, |p| slots(&p.histogram));
        let mut text = String::with_capacity(distributions.iter().map(usual).sum());
        for d in distributions {
            let p = d.parts();
            let moments = match p.moments {
                Moments::Exact { sum, sum_sq } => format!("sum {sum} {sum_sq}"),
                Moments::Reported { mean } => format!("mean {:016x}", mean.to_bits()),
            };
            // The label's length prevents a label from imitating the lines that follow it.
            let _ = writeln!(
                text,
                "distribution {} {}\ncount {}\nmin {:?}\nmax {:?}\n{moments}\nmissed {}\nspurious {}\noverflow {}\ndropped {}\nexpected {:?}\nresolution {}",
                p.label.len(),
                p.label,
                p.count,
                p.min,
                p.max,
                p.missed,
                p.spurious,
                p.overflow,
                p.dropped,
                p.expected,
                p.resolution
            );
            // Only if there are any, so that the fingerprints of other tests stay as they were.
            if p.late > 0 {
                let _ = writeln!(text, "late {}", p.late);
            }
            for (slot, n) in p.histogram.slots() {
                pair(&mut text, "", slot as u64, n);
            }
            if let Some(passed) = &p.passed {
                let _ = writeln!(text, "passed {} {} {}", passed.sum, passed.min, passed.max);
                for (slot, n) in passed.histogram.slots() {
                    pair(&mut text, "passed ", slot as u64, n);
                }
            }
            for w in &p.worst {
                pair(&mut text, "worst ", w.value, w.at);
            }
            if let Some(bins) = &p.linear {
                let _ = writeln!(text, "linear {} {} {:?} {:?}", bins.unit_ns, bins.size, bins.counts, bins.overflow_at);
            }
            if let Some(blocks) = &p.blocks {
                let _ = writeln!(text, "blocks {} {:?}", blocks.points, blocks.maxima);
            }
        }
        Self::of_text(&text)
    }

    /// One fingerprint of several runs, each with its name, in whatever order: the same exactly when all of them are.
    pub fn of_runs<'a>(runs: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        let mut lines: Vec<String> = runs.into_iter().map(|(name, own)| format!("{own} {} {name}\n", name.len())).collect();
        lines.sort_unstable();
        Self::of_text(&lines.concat())
    }

    fn of_text(text: &str) -> Self {
        let hash = Sha256::digest(text.as_bytes());
        let mut first = [0u8; 16];
        first.copy_from_slice(&hash[..16]);
        Self(u128::from_be_bytes(first))
    }
}

/// Writes a line like `writeln!`, but faster: nearly all lines are of this kind, and formatting would take much of the time to
/// read a record.
fn pair(text: &mut String, name: &str, first: u64, second: u64) {
    let mut digits = itoa::Buffer::new();
    // Reserves room for the whole line, so that no part of it has to grow the text.
    text.reserve(name.len() + 2 * 20 + 2);
    text.push_str(name);
    text.push_str(digits.format(first));
    text.push(' ');
    text.push_str(digits.format(second));
    text.push('\n');
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Fingerprint> for String {
    fn from(f: Fingerprint) -> Self {
        f.to_string()
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hex = text.len() == 32 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let value = if hex { u128::from_str_radix(text, 16).ok() } else { None };
        value.map(Self).ok_or_else(|| format!("`{text}` is not a fingerprint: 32 hex digits"))
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::{BlockMaxima, ThreadInfo};
    use proptest::prelude::*;

    fn of(samples: &[u64]) -> Distribution {
        Distribution::from_samples("cpu0", samples, 4).unwrap()
    }

    #[test]
    fn every_fact_counts_but_the_thread() {
        let base = of(&[3000, 5000, 4000]);
        let own = Fingerprint::of(std::slice::from_ref(&base));
        let changed = |change: &dyn Fn(&mut crate::DistributionParts)| {
            let mut p = base.clone().into_parts();
            change(&mut p);
            Fingerprint::of(&[Distribution::new(p).unwrap()])
        };
        assert_eq!(changed(&|p| p.thread = Some(ThreadInfo { tid: 7, ..ThreadInfo::default() })), own);
        assert_ne!(changed(&|p| p.label = "cpu1".into()), own);
        assert_ne!(changed(&|p| (p.missed, p.expected) = (1, Some(4))), own);
        assert_ne!(changed(&|p| p.spurious = 1), own);
        let late = |ns| {
            changed(&|p| {
                p.passed = crate::PassedOver::of_stalls([(ns, 1)], 1).unwrap();
                (p.missed, p.expected) = (1, Some(4));
            })
        };
        assert_ne!(late(10_000), late(10_001));
        assert_ne!(late(10_000), changed(&|p| (p.missed, p.expected) = (1, Some(4))));
        // The fingerprint from before points passed over were recorded.
        assert_eq!(own.to_string(), "548f4ac8f2c6124b7a6285340a6d1d39");
        let missed = changed(&|p| (p.missed, p.expected) = (1, Some(4)));
        assert_ne!(changed(&|p| (p.missed, p.late, p.expected) = (1, 1, Some(4))), missed);
        assert_ne!(changed(&|p| p.worst[0].at = 9), own);
        let block = |points| changed(&|p| (p.expected, p.blocks) = (Some(3), Some(BlockMaxima { points, maxima: vec![5000] })));
        assert!(block(3) != own && block(3) != block(2));
        assert_ne!(Fingerprint::of(&[of(&[3000, 5000, 4001])]), own);
        assert_ne!(Fingerprint::of(&[]), own);
        assert_ne!(Fingerprint::of(&[base.clone(), of(&[1])]), own);
    }

    #[test]
    fn it_stays_what_it_was() {
        let mut p = of(&[3000, 5000, 4000]).into_parts();
        assert_eq!(Fingerprint::of(&[Distribution::new(p.clone()).unwrap()]).to_string(), "548f4ac8f2c6124b7a6285340a6d1d39");
        (p.missed, p.late, p.expected) = (1, 1, Some(4));
        assert_eq!(Fingerprint::of(&[Distribution::new(p).unwrap()]).to_string(), "3a5562f15c154d65d17afd26e12a890c");
    }

    #[test]
    fn many_slots_and_more_of_points_passed_over_have_one_too() {
        let mut p = of(&(0..2000).map(|i| i * 1000).collect::<Vec<_>>()).into_parts();
        (p.missed, p.expected) = (3000, Some(5000));
        p.passed = crate::PassedOver::of_stalls((1..=3000).map(|i| (i * 1000, 1)), 1).unwrap();
        let slots = |p: &crate::DistributionParts| (p.histogram.occupied(), p.passed.as_ref().map(|x| x.histogram.occupied()));
        let of = |p: crate::DistributionParts| Fingerprint::of(&[Distribution::new(p).unwrap()]).to_string();
        assert_eq!((slots(&p), of(p)), ((1978, Some(2513)), "3883789052ce1c67725d74440606f791".into()));
    }

    #[test]
    fn a_line_has_the_room_of_its_longest_from_the_start() {
        let mut text = String::new();
        pair(&mut text, "passed ", u64::MAX, u64::MAX);
        assert_eq!(text.capacity(), text.len(), "it was reserved at once");
    }

    #[test]
    fn it_is_written_as_32_lower_hex_digits() {
        let text = "00000000000000000000000000abcdef";
        let own = Fingerprint(0xab_cdef);
        assert_eq!((own.to_string(), String::from(own), format!("{own:?}")), (text.into(), text.into(), text.into()));
        assert_eq!(text.parse(), Ok(own));
        for bad in
            [&text[1..], "0abcdef", &format!("0{text}"), &text.to_uppercase(), &text.replace('f', "g"), &format!("+{}", &text[1..])]
        {
            assert_eq!(bad.parse::<Fingerprint>(), Err(format!("`{bad}` is not a fingerprint: 32 hex digits")));
        }
    }

    proptest! {
        #[test]
        fn it_survives_being_written_and_read(samples in prop::collection::vec(any::<u32>(), 0..50)) {
            let samples: Vec<u64> = samples.into_iter().map(u64::from).collect();
            let d = of(&samples);
            let own = Fingerprint::of(std::slice::from_ref(&d));
            let back: Distribution = serde_json::from_str(&serde_json::to_string(&d).unwrap()).unwrap();
            prop_assert_eq!(Fingerprint::of(&[back]), own);
            prop_assert_eq!(own.to_string().parse::<Fingerprint>().unwrap(), own);
        }

        #[test]
        fn a_pair_is_written_as_by_the_formatter(a: u64, b: u64, shift in 0u32..64) {
            for (a, b) in [(a >> shift, b), (a, b >> shift), (0, u64::MAX)] {
                let mut text = String::from("x\n");
                pair(&mut text, "worst ", a, b);
                prop_assert_eq!(text, format!("x\nworst {a} {b}\n"));
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            let _ = text.parse::<Fingerprint>();
        }
    }
}
