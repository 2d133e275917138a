//! A TOML table of a plan whose keys belong to several structs. Every error points to its key or value in the file; serde's
//! `flatten` can't do that, as it reads the whole table before it looks at any value.

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use std::fmt;
use toml::{Table, Value};

/// One of the structs, with its keys.
pub(super) struct Part {
    keys: &'static [&'static str],
    /// Why a table with some of its keys can't be read; `None` if it can.
    fault: fn(Table) -> Option<String>,
}

impl Part {
    /// `T` must be readable from any subset of its keys.
    pub(super) fn of<T: DeserializeOwned>() -> Self {
        Self { keys: keys::<T>(), fault: |table| table.try_into::<T>().err().map(|e| e.message().to_owned()) }
    }
}

/// All the structs.
pub(super) struct Keyed {
    name: &'static str,
    parts: &'static [Part],
    keys: &'static [&'static str],
}

impl Keyed {
    /// `name` is what error messages call the table.
    pub(super) fn of<const N: usize>(name: &'static str, parts: [Part; N]) -> Self {
        let keys: Vec<_> = parts.iter().flat_map(|p| p.keys).copied().collect();
        Self { name, parts: Vec::leak(parts.into()), keys: Vec::leak(keys) }
    }

    /// Reads a table, key by key.
    pub(super) fn read<'de, D: Deserializer<'de>>(&'static self, from: D) -> Result<Values, D::Error> {
        from.deserialize_map(Whole(self)).map(Values)
    }
}

/// A table in which every value was accepted by the struct of its key.
pub(super) struct Values(Table);

impl Values {
    /// Reads the struct `T` from its keys.
    pub(super) fn part<T: DeserializeOwned, E: Error>(&self) -> Result<T, E> {
        let own = keys::<T>();
        let part: Table =
            self.0.iter().filter(|(key, _)| own.contains(&key.as_str())).map(|(k, v)| (k.clone(), v.clone())).collect();
        part.try_into().map_err(|e| E::custom(e.message()))
    }
}

struct Whole(&'static Keyed);

impl<'de> Visitor<'de> for Whole {
    type Value = Table;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Table, A::Error> {
        let mut table = Table::new();
        while let Some(key) = map.next_key_seed(Key(self.0))? {
            let value = map.next_value_seed(One { key: &key, of: self.0 })?;
            table.insert(key, value);
        }
        Ok(table)
    }
}

/// Reads a key; refuses one that belongs to no struct.
struct Key(&'static Keyed);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = String;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<String, D::Error> {
        from.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("field identifier")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<String, E> {
        if self.0.keys.contains(&key) { Ok(key.to_owned()) } else { Err(E::unknown_field(key, self.0.keys)) }
    }
}

/// Reads the value of a key and checks it with its struct. An error raised here carries the position of the value.
struct One<'a> {
    key: &'a str,
    of: &'static Keyed,
}

impl<'de> DeserializeSeed<'de> for One<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        let value = <Value as serde::Deserialize>::deserialize(from)?;
        let alone = || Table::from_iter([(self.key.to_owned(), value.clone())]);
        let part = self.of.parts.iter().find(|p| p.keys.contains(&self.key));
        part.and_then(|p| (p.fault)(alone())).map_or(Ok(()), |fault| Err(D::Error::custom(fault)))?;
        Ok(value)
    }
}

/// The field names of `T`, in declaration order.
fn keys<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut found: &[&str] = &[];
    // Always an error, as there is nothing to read.
    let _ = T::deserialize(Listener(&mut found));
    found
}

/// A deserializer that only records which fields it is asked for.
struct Listener<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Listener<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        Err(Error::custom("nothing to read"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Self::Error> {
        Err(Error::custom("nothing to read"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use std::sync::LazyLock;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, rename_all = "kebab-case")]
    struct First {
        a: u8,
        two_words: Option<String>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Second {
        b: bool,
    }

    #[derive(Debug, PartialEq)]
    struct Both(First, Second);

    static BOTH: LazyLock<Keyed> = LazyLock::new(|| Keyed::of("both", [Part::of::<First>(), Part::of::<Second>()]));

    impl<'de> Deserialize<'de> for Both {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            let table = BOTH.read(from)?;
            Ok(Self(table.part()?, table.part()?))
        }
    }

    #[test]
    fn each_struct_gets_its_keys() {
        let read: Both = toml::from_str("b = true\ntwo-words = \"x\"\na = 3").unwrap();
        assert_eq!(read, Both(First { a: 3, two_words: Some("x".into()) }, Second { b: true }));
        assert_eq!(toml::from_str::<Both>("").unwrap(), Both(First::default(), Second::default()));
    }

    #[test]
    fn what_is_wrong_is_told_where_it_stands() {
        for (text, place, words) in [
            ("a = 1\nb = 2", "line 2, column 5", "invalid type: integer `2`, expected a boolean"),
            ("b = true\na = 256", "line 2, column 5", "invalid value: integer `256`, expected u8"),
            ("b = true\nc = 1", "line 2, column 1", "unknown field `c`, expected one of `a`, `two-words`, `b`"),
        ] {
            let told = toml::from_str::<Both>(text).unwrap_err().to_string();
            assert!(told.contains(place) && told.contains(words), "{told}");
        }
        let told = toml::from_str::<std::collections::BTreeMap<String, Both>>("x = 1").unwrap_err().to_string();
        assert!(told.contains("invalid type: integer `1`, expected both"), "{told}");
    }
}
