//! Where a record came from, and the best verdict that this allows.

use crate::warning::{Effect, Verdict, Warning};
use crate::words::{Clock, word_enum};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

word_enum! {
    /// Where a record came from.
    Origin {
        /// Measured by rtscope's own probe on a machine.
        Measured = "measured",
        /// Measured by rtscope in a virtual machine of its lab.
        Lab = "lab",
        /// Measured by rtscope, but with an emulated instrument, or with given latencies (`fake:FILE`).
        Emulator = "emulator",
        /// Read from a file: another tool's, a capture, or a record of another archive.
        Imported = "imported",
    }
}

impl Origin {
    /// The best verdict for a record of this origin in the time of `clock`.
    ///
    /// `VALID` is for machines. The lab's virtual time is a model: its figures repeat, and are true of that model. For a file, the
    /// author is unknown.
    pub fn best(self, clock: Clock) -> Verdict {
        match (self, clock) {
            (Self::Measured, Clock::Host) => Verdict::Valid,
            (Self::Lab, Clock::Virtual) => Verdict::Repeatable,
            // `Measured` with a virtual clock contradicts itself: a machine's time is never virtual.
            (Self::Measured, Clock::Virtual) | (Self::Lab, Clock::Host) | (Self::Emulator | Self::Imported, _) => {
                Verdict::Inconclusive
            }
        }
    }
}

/// The warning that explains why a record of `origin` is INCONCLUSIVE at best; `None` if this program measured it.
pub fn warning(origin: Origin) -> Option<Warning> {
    let (message, remedy) = match origin {
        Origin::Measured | Origin::Lab => return None,
        Origin::Emulator => (
            "the instrument was a program that behaves like one (the gateware's emulator, or a line behind which there is no hardware): no pin \
             was driven, and its times are not a board's",
            "measure with a board: docs/fpga.md lists them",
        ),
        Origin::Imported => {
            ("this was read from a file: nobody knows whether it was measured so, and on which machine", "measure with rtscope")
        }
    };
    Some(Warning::new(origin.as_str(), Effect::Inconclusive, message, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::parts;
    use crate::{InstrumentFacts, Lab, Record, RecordError, RecordParts, Source};
    use proptest::prelude::*;

    fn source() -> Source {
        Source { format: "f".into(), file: "f".into(), sha256: String::new(), kept: Vec::new() }
    }

    /// Parts without warnings and without a stated origin.
    fn clean() -> RecordParts {
        RecordParts { warnings: Vec::new(), origin: None, ..parts() }
    }

    fn emulator() -> InstrumentFacts {
        InstrumentFacts { emulated: true, ..InstrumentFacts::default() }
    }

    #[test]
    fn the_origin_of_older_records_follows_from_what_they_hold() {
        let old = InstrumentFacts {
            what: "the FPGA instrument, emulator, at /dev/pts/3, resolution 5.05 ns".into(),
            ..InstrumentFacts::default()
        };
        let cases = vec![
            (clean(), Origin::Measured, Verdict::Valid),
            (RecordParts { source: Some(source()), ..clean() }, Origin::Imported, Verdict::Inconclusive),
            (RecordParts { target: "import".into(), ..clean() }, Origin::Imported, Verdict::Inconclusive),
            (
                RecordParts { lab: Some(Lab::default()), clock: Clock::Virtual, target: "lab:k".into(), ..clean() },
                Origin::Lab,
                Verdict::Repeatable,
            ),
            (RecordParts { lab: Some(Lab::default()), warnings: parts().warnings, ..clean() }, Origin::Lab, Verdict::Inconclusive),
            (RecordParts { instrument: Some(old), ..clean() }, Origin::Emulator, Verdict::Inconclusive),
            (RecordParts { instrument: Some(emulator()), ..clean() }, Origin::Emulator, Verdict::Inconclusive),
            (RecordParts { target: "fake:latencies".into(), ..clean() }, Origin::Emulator, Verdict::Inconclusive),
        ];
        for (parts, origin, verdict) in cases {
            let r = Record::new(parts).unwrap();
            assert_eq!((r.origin(), r.verdict()), (origin, verdict), "{:?}", r.parts());
            assert_eq!(Verdict::of(&r.findings()), if verdict == Verdict::Repeatable { Verdict::Valid } else { verdict });
            // As an older program wrote it, with the verdict from the warnings alone.
            let mut json = serde_json::to_value(&r).unwrap();
            assert!(json.get("origin").is_none());
            json["verdict"] = Verdict::of(&r.parts().warnings).as_str().into();
            assert_eq!(serde_json::from_value::<Record>(json).unwrap(), r);
        }
    }

    #[test]
    fn an_origin_that_the_rest_belies_is_refused() {
        let lab = || RecordParts { lab: Some(Lab::default()), clock: Clock::Virtual, ..clean() };
        for (parts, stated, own) in [
            (RecordParts { source: Some(source()), ..clean() }, Origin::Measured, Origin::Imported),
            (RecordParts { instrument: Some(emulator()), ..clean() }, Origin::Measured, Origin::Emulator),
            (lab(), Origin::Measured, Origin::Lab),
            (clean(), Origin::Lab, Origin::Measured),
        ] {
            let e = Record::new(RecordParts { origin: Some(stated), ..parts.clone() }).unwrap_err();
            assert_eq!(e, RecordError::Origin { stated, own });
            assert!(Record::new(RecordParts { origin: Some(Origin::Imported), ..parts }).is_ok());
        }
    }

    proptest! {
        /// Whatever a document states: a record that can be read has the verdict of its warnings and origin, and never states a
        /// better one.
        #[test]
        fn no_document_is_read_as_better_than_it_is(
            kind in 0..5,
            effect in prop::sample::select(vec![Effect::Note, Effect::Inconclusive, Effect::Invalid]),
            origin in prop::sample::select(vec![None, Some("measured"), Some("lab"), Some("emulator"), Some("imported")]),
            verdict in prop::sample::select(Verdict::ALL.to_vec()),
            clock in prop::sample::select(vec![Clock::Host, Clock::Virtual]),
        ) {
            let parts = RecordParts { warnings: vec![Warning::new("w", effect, "", "")], clock, ..clean() };
            let parts = match kind {
                0 => RecordParts { source: Some(source()), ..parts },
                1 => RecordParts { lab: Some(Lab::default()), ..parts },
                2 => RecordParts { instrument: Some(emulator()), ..parts },
                3 => RecordParts { target: "import".into(), ..parts },
                _ => parts,
            };
            let measured = kind == 4;
            let mut json = serde_json::to_value(Record::new(parts).unwrap()).unwrap();
            json["verdict"] = verdict.as_str().into();
            if let Some(origin) = origin {
                json["origin"] = origin.into();
            }
            if let Ok(r) = serde_json::from_value::<Record>(json) {
                prop_assert!(r.verdict() >= Verdict::of(&r.parts().warnings));
                prop_assert!(r.verdict() != Verdict::Valid || (measured && clock == Clock::Host && effect == Effect::Note));
                prop_assert!(origin.is_none() || verdict == r.verdict(), "a stated verdict beside an origin is the record's own");
            }
        }
    }
}
