//! The longest text in a serializable value.

use serde::ser::{self, Serialize, Serializer};
use std::fmt;

/// Length in bytes of the longest text in `value`, including keys of maps.
pub(crate) fn longest_text(value: &impl Serialize) -> usize {
    let mut longest = 0;
    // This serializer never fails.
    let _ = value.serialize(Walk(&mut longest));
    longest
}

/// Visits every text of a value, also in types that are added later.
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

    #[test]
    fn every_text_is_seen_wherever_it_is() {
        let value = serde_json::json!({"a": ["x", {"four": null, "b": 1.5}], "c": [[], {}], "d": true});
        assert_eq!(longest_text(&value), 4);
        assert_eq!(longest_text(&serde_json::json!({"a": [{"b": "0123456789"}]})), 10);
        assert_eq!(longest_text(&(Some("abc"), None::<String>, std::collections::BTreeMap::from([("abcde", 1)]))), 5);
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
}
