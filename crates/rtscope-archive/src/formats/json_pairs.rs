//! JSON objects read as pairs in their own order: a key that stands twice is refused, with its line, and not forgotten.

use super::error::ImportError;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

/// Most pairs of one object: a histogram of jitterdebugger in ns has a million bins.
const MOST: usize = 1 << 21;

/// The pairs of an object.
#[derive(Debug)]
pub(super) struct Pairs<V>(pub(super) Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Pairs<V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Reader<V> {
            type Value = Pairs<V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let (mut pairs, mut seen) = (Vec::new(), HashSet::new());
                while let Some((key, value)) = map.next_entry::<String, V>()? {
                    if !seen.insert(key.clone()) {
                        return Err(A::Error::custom(format!("`{}` is there twice", rtscope_record::limits::cut(&key, 40))));
                    }
                    if pairs.len() == MOST {
                        return Err(A::Error::custom("more than 2097152 keys"));
                    }
                    pairs.push((key, value));
                }
                Ok(Pairs(pairs))
            }
        }
        from.deserialize_map(Reader(PhantomData))
    }
}

/// Reads a whole file; what its contents contradict is told with the line.
pub(super) fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ImportError> {
    serde_json::from_slice(bytes).map_err(|e| match e.classify() {
        serde_json::error::Category::Data => {
            let told = e.to_string();
            let what = told.rsplit_once(" at line ").map_or(told.as_str(), |t| t.0);
            ImportError::line(e.line(), what)
        }
        _ => ImportError::Json(e),
    })
}

/// The bins of a histogram, ascending and without empty ones; `bin` reads a bin's name.
pub(super) fn bins(pairs: Pairs<u64>, bin: impl Fn(&str) -> Option<u64>) -> Result<Vec<(u64, u64)>, String> {
    let mut bins = Vec::with_capacity(pairs.0.len());
    for (name, count) in pairs.0 {
        let value = bin(&name).ok_or_else(|| format!("`{}` is not a bin", rtscope_record::limits::cut(&name, 40)))?;
        bins.push((value, count));
    }
    bins.sort_unstable();
    if let Some(twice) = bins.windows(2).find(|w| w[0].0 == w[1].0) {
        return Err(format!("bin {} is there twice", twice[0].0));
    }
    bins.retain(|b| b.1 > 0);
    Ok(bins)
}
