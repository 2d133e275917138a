//! How long, how many and how large: what a record may hold, and what `measure` and `import` alike may be asked for.

use crate::{Distribution, RecordParts};
use serde::de::{self, Deserializer};
use serde::ser::{self, Serialize, Serializer};
use std::fmt;

/// Longest label of a distribution, bytes.
pub const LABEL: usize = 256;
/// Longest name: of a load, a target, a start, bytes.
pub const NAME: usize = 4096;
/// Longest of all other texts, bytes.
pub const TEXT: usize = 65_535;
/// Longest text of a warning, bytes; a longer one is cut.
pub const REMARK: usize = 16_384;
/// Most distributions.
pub const DISTRIBUTIONS: usize = 16_384;
/// Most slots of histograms, all together: some 100 bytes of a file may hold 50,000 of them.
pub const SLOTS: usize = 1 << 23;

/// Shortest interval, semi-period or time-out of tests over lines, ns, where software takes the edges.
pub const SHORTEST: u64 = 2_000;
/// Longest interval, semi-period or time-out of tests over lines, ns.
pub const LONGEST: u64 = 3_600_000_000_000;
/// Most stimuli before the figures begin.
pub const WARMUP: u64 = 100_000;
/// Most worst samples to keep of each distribution.
pub const WORST: u32 = 10_000;

/// `text`, cut to `most` bytes where it is longer, with an ellipsis then.
pub fn cut(text: &str, most: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most.saturating_sub(MARK.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned() + MARK
}

/// Something is too long for a record, or there is too much of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {found}, where a record may have {most} at most")]
pub struct TooLong {
    /// What.
    what: &'static str,
    /// How much of it there is, bytes or number.
    found: usize,
    /// How much there may be.
    most: usize,
}

/// Holds a text, or a number of things, against what it may be.
pub fn check(what: &'static str, found: usize, most: usize) -> Result<(), TooLong> {
    if found > most { Err(TooLong { what, found, most }) } else { Ok(()) }
}

/// Holds everything in a record against what it may be.
pub(crate) fn check_parts(p: &RecordParts) -> Result<(), TooLong> {
    check("the number of distributions", p.distributions.len(), DISTRIBUTIONS)?;
    let longest = p.distributions.iter().map(|d| d.label().len()).max().unwrap_or(0);
    check("the bytes of a distribution's label", longest, LABEL)?;
    check("the number of the histograms' slots", p.distributions.iter().map(Distribution::slots).sum(), SLOTS)?;
    check("the bytes of the load's name", p.load.len(), NAME)?;
    check("the bytes of the target's name", p.target.len(), NAME)?;
    check("the bytes of the start", p.started.len(), NAME)?;
    let rest = (&p.warnings, &p.settings, &p.system, &p.load_proof, &p.source, &p.lab, &p.instrument, &p.witness, &p.signature);
    check("the bytes of a text", longest_text(&rest), TEXT)
}

/// Reads distributions, and no more of them than a record may have: a few bytes of a file may hold many slots.
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
                check("the number of the histograms' slots", slots, SLOTS).map_err(de::Error::custom)?;
                check("the number of distributions", found.len() + 1, DISTRIBUTIONS).map_err(de::Error::custom)?;
                found.push(d);
            }
            Ok(found)
        }
    }
    input.deserialize_seq(Bounded)
}

/// Bytes of the longest text in anything, keys of maps included.
fn longest_text(value: &impl Serialize) -> usize {
    let mut longest = 0;
    // Nothing in it fails.
    let _ = value.serialize(Walk(&mut longest));
    longest
}

/// Goes through a value and sees every text of it; a type that is added later too.
struct Walk<'a>(&'a mut usize);

impl Walk<'_> {
    fn see(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), fmt::Error> {
        value.serialize(Walk(self.0))
    }
}

macro_rules! nothing {
    ($($name:ident: $type:ty),*) => { $(fn $name(self, _: $type) -> Result<(), fmt::Error> { Ok(()) })* };
}

impl<'a> Serializer for Walk<'a> {
    type Ok = ();
    type Error = fmt::Error;
    type SerializeSeq = Walk<'a>;
    type SerializeTuple = Walk<'a>;
    type SerializeTupleStruct = Walk<'a>;
    type SerializeTupleVariant = Walk<'a>;
    type SerializeMap = Walk<'a>;
    type SerializeStruct = Walk<'a>;
    type SerializeStructVariant = Walk<'a>;

    nothing!(serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_u8: u8,
        serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32, serialize_f64: f64, serialize_char: char,
        serialize_i128: i128, serialize_u128: u128, serialize_unit_struct: &'static str);

    fn serialize_str(self, text: &str) -> Result<(), fmt::Error> {
        *self.0 = (*self.0).max(text.len());
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), fmt::Error> {
        *self.0 = (*self.0).max(bytes.len());
        Ok(())
    }

    fn serialize_none(self) -> Result<(), fmt::Error> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(mut self, value: &T) -> Result<(), fmt::Error> {
        self.see(value)
    }

    fn serialize_unit(self) -> Result<(), fmt::Error> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), fmt::Error> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(mut self, _: &'static str, value: &T) -> Result<(), fmt::Error> {
        self.see(value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        mut self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), fmt::Error> {
        self.see(value)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, fmt::Error> {
        Ok(self)
    }
}

macro_rules! several {
    ($($trait:ident $name:ident),*) => { $(impl ser::$trait for Walk<'_> {
        type Ok = ();
        type Error = fmt::Error;
        fn $name<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> { self.see(value) }
        fn end(self) -> Result<(), fmt::Error> { Ok(()) }
    })* };
}

several!(SerializeSeq serialize_element, SerializeTuple serialize_element, SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field);

macro_rules! named {
    ($($trait:ident),*) => { $(impl ser::$trait for Walk<'_> {
        type Ok = ();
        type Error = fmt::Error;
        fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, value: &T) -> Result<(), fmt::Error> { self.see(value) }
        fn end(self) -> Result<(), fmt::Error> { Ok(()) }
    })* };
}

named!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Walk<'_> {
    type Ok = ();
    type Error = fmt::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), fmt::Error> {
        self.see(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        self.see(value)
    }

    fn end(self) -> Result<(), fmt::Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_text_is_seen_wherever_it_is() {
        let value = serde_json::json!({"a": ["x", {"four": null, "b": 1.5}], "c": [[], {}], "d": true});
        assert_eq!(longest_text(&value), 4);
        assert_eq!(longest_text(&serde_json::json!({"a": [{"b": "0123456789"}]})), 10);
        assert_eq!(longest_text(&(Some("abc"), None::<String>, std::collections::BTreeMap::from([("abcde", 1)]))), 5);
    }

    proptest! {
        #[test]
        fn what_is_cut_fits(text in "\\PC{0,40}", most in 3usize..60) {
            let short = cut(&text, most);
            prop_assert!(short.len() <= most && (short == text || short.ends_with('…')));
        }
    }

    #[test]
    fn a_cut_text_ends_between_characters() {
        assert_eq!([cut("abcdef", 6), cut("abcdefg", 6)], ["abcdef", "abc…"]);
        // Two bytes each.
        assert_eq!([cut("µµµµ", 8), cut("µµµµ", 7), cut("µµµµ", 6)], ["µµµµ", "µµ…", "µ…"]);
    }

    #[test]
    fn as_much_as_may_be_is_not_too_much() {
        assert_eq!((check("the bytes", 3, 4), check("the bytes", 4, 4)), (Ok(()), Ok(())));
        assert_eq!(check("the bytes", 5, 4).unwrap_err().to_string(), "the bytes: 5, where a record may have 4 at most");
    }

    #[test]
    fn each_part_has_its_limit() {
        use crate::witness::{OtherRun, Witness};
        use crate::{Effect, Instrument, Lab, Signature, Source, Warning};
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
            ("the bytes of a text", TEXT, |p, text| p.instrument = Some(Instrument { what: text, ..Instrument::default() })),
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
                check_parts(&p)
            };
            assert_eq!(found(most), Ok(()), "{what}");
            assert_eq!(found(most + 1), Err(TooLong { what, found: most + 1, most }));
        }
        let mut p = crate::record::tests::parts();
        p.lab = Some(Lab::default());
        assert_eq!(check_parts(&p), Ok(()));
    }

    #[test]
    fn what_is_no_list_is_refused_by_what_it_should_be() {
        let error = distributions(serde_json::json!("x")).unwrap_err().to_string();
        assert_eq!(error, "invalid type: string \"x\", expected distributions");
        let all = [Distribution::from_samples("a", &[5], 1).unwrap(), Distribution::from_samples("b", &[], 1).unwrap()];
        assert_eq!(distributions(serde_json::to_value(&all).unwrap()).unwrap(), all);
    }

    #[test]
    fn each_shape_of_a_value_shows_its_texts() {
        #[derive(serde::Serialize)]
        struct Named {
            a: &'static str,
            b: u8,
        }
        #[derive(serde::Serialize)]
        struct One(&'static str);
        #[derive(serde::Serialize)]
        struct Two(u8, &'static str);
        #[derive(serde::Serialize)]
        struct Nothing;
        #[derive(serde::Serialize)]
        enum Variant {
            Nothing,
            One(&'static str),
            Two(u8, &'static str),
            Named { a: &'static str },
        }
        struct Bytes;
        impl Serialize for Bytes {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_bytes(&[0; 3])
            }
        }
        let found = [
            longest_text(&"four"),
            longest_text(&Bytes),
            longest_text(&Some("four")),
            longest_text(&["a", "four"]),
            longest_text(&("four", 1)),
            longest_text(&Named { a: "four", b: 1 }),
            longest_text(&One("four")),
            longest_text(&Two(1, "four")),
            longest_text(&Variant::One("four")),
            longest_text(&Variant::Two(1, "four")),
            longest_text(&Variant::Named { a: "four" }),
            longest_text(&std::collections::BTreeMap::from([("four", 1)])),
            longest_text(&std::collections::BTreeMap::from([(1, "four")])),
        ];
        assert_eq!(found, [4, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4]);
        let none = (Nothing, Variant::Nothing, (), None::<u8>, true, 'c', 1.5, -1);
        assert_eq!(longest_text(&none), 0, "names of types and variants are our own");
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
        // Every slot there is.
        let mut p = crate::DistributionParts::empty("x");
        p.histogram = crate::Histogram::from_slots((0..crate::histogram::SLOTS as u64).map(|slot| (slot, 1))).unwrap();
        (p.count, p.min, p.max) = (p.histogram.total(), Some(0), Some(u64::MAX));
        p.moments = crate::Moments::Reported { mean: 1.0 };
        let full = Distribution::new(p).unwrap();
        let message = refused(&full, SLOTS / full.slots() + 1);
        assert!(message.starts_with("the number of the histograms' slots: 8391680, where"), "{message}");
    }
}
