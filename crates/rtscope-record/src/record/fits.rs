//! Checks that a record is within the size limits.

use super::parts::RecordParts;
use crate::distribution::Distribution;
use crate::limits::{DISTRIBUTIONS, LABEL, NAME, SLOTS, TEXT, TooLong, check as fits};
use crate::longest::longest_text;
use serde::de::{self, Deserializer};
use std::fmt;

/// Checks the size of everything in a record.
pub(crate) fn check(p: &RecordParts) -> Result<(), TooLong> {
    fits("the number of distributions", p.distributions.len(), DISTRIBUTIONS)?;
    let longest = p.distributions.iter().map(|d| d.label().len()).max().unwrap_or(0);
    fits("the bytes of a distribution's label", longest, LABEL)?;
    fits("the number of the histograms' slots", p.distributions.iter().map(Distribution::slots).sum(), SLOTS)?;
    fits("the bytes of the load's name", p.load.len(), NAME)?;
    fits("the bytes of the target's name", p.target.len(), NAME)?;
    fits("the bytes of the start", p.started.len(), NAME)?;
    let rest = (&p.warnings, &p.settings, &p.system, &p.load_proof, &p.source, &p.lab, &p.instrument, &p.witness, &p.signature);
    fits("the bytes of a text", longest_text(&rest), TEXT)
}

/// Reads distributions, but no more than a record may have: a few bytes of a file can expand to many slots.
pub(crate) fn distributions<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Distribution>, D::Error> {
    struct Bounded;
    impl<'de> de::Visitor<'de> for Bounded {
        type Value = Vec<Distribution>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("distributions")
        }

        fn visit_seq<A: de::SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
            let (mut found, mut slots) = (Vec::new(), 0);
            while let Some(d) = all.next_element::<Distribution>()? {
                slots += d.slots();
                fits("the number of the histograms' slots", slots, SLOTS).map_err(de::Error::custom)?;
                fits("the number of distributions", found.len() + 1, DISTRIBUTIONS).map_err(de::Error::custom)?;
                found.push(d);
            }
            Ok(found)
        }
    }
    input.deserialize_seq(Bounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_its_limit() {
        use crate::witness::{OtherRun, Witness};
        use crate::{Effect, InstrumentFacts, Lab, Signature, Source, Warning};
        type Put = fn(&mut RecordParts, String);
        let cases: [(&str, usize, Put); 10] = [
            ("the bytes of a distribution's label", LABEL, |p, text| {
                p.distributions = vec![Distribution::from_samples(&text, &[5], 1).unwrap()];
            }),
            ("the bytes of the load's name", NAME, |p, text| p.load = text),
            ("the bytes of the target's name", NAME, |p, text| p.target = text),
            ("the bytes of the start", NAME, |p, text| p.started = text),
            ("the bytes of a text", TEXT, |p, text| {
                p.warnings = vec![Warning { code: "w".into(), effect: Effect::Note, message: text, remedy: String::new() }];
            }),
            ("the bytes of a text", TEXT, |p, text| {
                p.source = Some(Source { format: String::new(), file: String::new(), sha256: String::new(), kept: vec![text] });
            }),
            ("the bytes of a text", TEXT, |p, text| {
                p.instrument = Some(InstrumentFacts { what: text, ..InstrumentFacts::default() });
            }),
            ("the bytes of a text", TEXT, |p, text| p.system.hostname = text),
            ("the bytes of a text", TEXT, |p, text| {
                p.witness =
                    Some(Witness { other_runs: vec![OtherRun { command: text, ..OtherRun::default() }], ..Witness::default() });
            }),
            ("the bytes of a text", TEXT, |p, text| {
                p.signature = Some(Signature { name: text, key: String::new(), value: String::new() });
            }),
        ];
        for (what, most, put) in cases {
            let found = |length: usize| {
                let mut p = crate::record::tests::parts();
                put(&mut p, "x".repeat(length));
                check(&p)
            };
            assert_eq!(found(most), Ok(()), "{what}");
            assert_eq!(found(most + 1), fits(what, most + 1, most));
        }
        let mut p = crate::record::tests::parts();
        p.lab = Some(Lab::default());
        assert_eq!(check(&p), Ok(()));
    }

    #[test]
    fn what_is_no_list_is_refused_by_what_it_should_be() {
        let error = distributions(serde_json::json!("x")).unwrap_err().to_string();
        assert_eq!(error, "invalid type: string \"x\", expected distributions");
        let all = [Distribution::from_samples("a", &[5], 1).unwrap(), Distribution::from_samples("b", &[], 1).unwrap()];
        assert_eq!(distributions(serde_json::to_value(&all).unwrap()).unwrap(), all);
    }

    #[test]
    fn no_more_is_read_than_a_record_may_have() {
        let refused = |d: &Distribution, n: usize| {
            let list = format!("[{}]", vec![serde_json::to_string(d).unwrap(); n].join(","));
            distributions(&mut serde_json::Deserializer::from_str(&list)).unwrap_err().to_string()
        };
        let empty = Distribution::from_samples("x", &[], 0).unwrap();
        let message = refused(&empty, DISTRIBUTIONS + 1);
        assert!(message.starts_with("the number of distributions: 16385, where a record may have 16384 at most"), "{message}");
        // All slots that there are.
        let mut p = crate::DistributionParts::empty("x");
        p.histogram = crate::Histogram::from_slots((0..crate::histogram::SLOTS as u64).map(|slot| (slot, 1))).unwrap();
        (p.count, p.min, p.max) = (p.histogram.total(), Some(0), Some(u64::MAX));
        p.moments = crate::Moments::Reported { mean: 1.0 };
        let full = Distribution::new(p).unwrap();
        let message = refused(&full, SLOTS / full.slots() + 1);
        assert!(message.starts_with("the number of the histograms' slots: 8391680, where"), "{message}");
    }
}
