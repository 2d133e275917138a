//! How people name a line: `soft:a`, `gpio:gpiochip0/17`, `sysfs:17`, `serial:/dev/ttyS0:rts>cts`.

use super::soft::{self, SoftInput, SoftOutput};
use super::{Abilities, Input, LineError, Output};
use std::fmt;
use std::str::FromStr;

/// The forms, for a remedy.
pub const FORMS: &str =
    "write soft:NAME, gpio:CHIP/OFFSET, gpio:LINE-NAME, sysfs:NUMBER or serial:DEVICE:OUT>IN such as serial:/dev/ttyS0:rts>cts";

/// A line by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineSpec {
    /// A software line.
    Soft(String),
}

impl LineSpec {
    /// What such a line can do.
    pub fn abilities(&self) -> Abilities {
        match self {
            Self::Soft(_) => soft::ABILITIES,
        }
    }

    /// Opens it for driving, low.
    pub fn output(&self) -> Result<Box<dyn Output>, LineError> {
        match self {
            Self::Soft(name) => Ok(Box::new(SoftOutput::open(name)?)),
        }
    }

    /// Opens it for listening to both edges.
    pub fn input(&self) -> Result<Box<dyn Input>, LineError> {
        match self {
            Self::Soft(name) => Ok(Box::new(SoftInput::open(name)?)),
        }
    }

    /// Whether the line needs no wire: who drives it is heard by whoever listens to the same name.
    pub fn is_soft(&self) -> bool {
        matches!(self, Self::Soft(_))
    }
}

fn soft_name(name: &str) -> Result<String, &'static str> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fine) {
        return Err("the name of a software line is 1 to 64 letters, digits, - and _");
    }
    Ok(name.into())
}

impl FromStr for LineSpec {
    type Err = LineError;

    fn from_str(text: &str) -> Result<Self, LineError> {
        let wrong = |why: &str| LineError::Spec { text: text.chars().take(200).collect(), why: why.into() };
        match text.split_once(':') {
            Some(("soft", name)) => soft_name(name).map(Self::Soft).map_err(wrong),
            _ => Err(wrong("it has no kind that is known")),
        }
    }
}

impl fmt::Display for LineSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Soft(name) => write!(f, "soft:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_line_is_refused() {
        for text in ["", "soft", "soft:", "soft:a/b", "soft:..", "soft:a b", "tin:can", "a"] {
            let error = text.parse::<LineSpec>().unwrap_err();
            assert!(error.is_usage() && error.to_string().contains(text), "{error}");
        }
        assert!(format!("soft:{}", "x".repeat(65)).parse::<LineSpec>().is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(soft|gpio|sysfs|serial|x)?:?\\PC{0,40}") {
            if let Ok(spec) = text.parse::<LineSpec>() {
                prop_assert_eq!(spec.to_string().parse::<LineSpec>().unwrap(), spec);
            }
        }
    }
}
