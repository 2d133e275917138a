//! How a campaign's plan writes values: as the texts that the command line takes.

use serde::{Deserialize, Deserializer};
use std::fmt::Display;
use std::str::FromStr;

/// A value from its text.
pub(crate) fn one<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(from: D) -> Result<T, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

/// The same, where it may be left out.
pub(crate) fn maybe<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(from: D) -> Result<Option<T>, D::Error> {
    one(from).map(Some)
}
