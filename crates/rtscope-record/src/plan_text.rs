//! Reads values in a campaign's plan, which have the same text form as on the command line.

use serde::{Deserialize, Deserializer};
use std::fmt::Display;
use std::str::FromStr;

/// Parses a value from its text.
pub(crate) fn one<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(from: D) -> Result<T, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

/// The same for an optional value.
pub(crate) fn maybe<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(from: D) -> Result<Option<T>, D::Error> {
    one(from).map(Some)
}
