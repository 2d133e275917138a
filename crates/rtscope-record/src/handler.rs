//! Where tasks in kernel space do their work, by name.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Where a task in kernel space does its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Handler {
    /// In the hard interrupt, on every kernel.
    #[default]
    Hard,
    /// `response` and `sustained`: in the interrupt's thread (FIFO 50).
    Threaded,
    /// `periodic` and `timer`: in the softirq; on `PREEMPT_RT` in its thread.
    Soft,
}

impl Handler {
    /// The name as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hard => "hard",
            Self::Threaded => "threaded",
            Self::Soft => "soft",
        }
    }
}

impl fmt::Display for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Handler {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "hard" => Ok(Self::Hard),
            "threaded" => Ok(Self::Threaded),
            "soft" => Ok(Self::Soft),
            _ => Err(format!("`{text}` is not a handler: use hard, threaded or soft")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_are_read_as_they_are_written() {
        for (handler, text) in [(Handler::Hard, "hard"), (Handler::Threaded, "threaded"), (Handler::Soft, "soft")] {
            assert_eq!((handler.as_str(), format!("{handler:>9}")), (text, format!("{text:>9}")));
            assert_eq!(text.parse(), Ok(handler));
        }
        assert_eq!("softirq".parse::<Handler>(), Err("`softirq` is not a handler: use hard, threaded or soft".into()));
    }
}
