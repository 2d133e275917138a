//! Scheduling policies by name.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Scheduling policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// `SCHED_FIFO`
    Fifo,
    /// `SCHED_RR`
    Rr,
    /// `SCHED_OTHER`
    Other,
    /// `SCHED_DEADLINE`; a measuring thread has its interval as deadline and period, and a tenth of it as runtime
    Deadline,
}

impl Policy {
    /// The name as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Rr => "rr",
            Self::Other => "other",
            Self::Deadline => "deadline",
        }
    }

    /// Whether the policy takes a priority from 1 to 99.
    pub fn has_priority(self) -> bool {
        matches!(self, Self::Fifo | Self::Rr)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Policy {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().trim_start_matches("sched_") {
            "fifo" => Ok(Self::Fifo),
            "rr" => Ok(Self::Rr),
            "other" | "normal" => Ok(Self::Other),
            "deadline" => Ok(Self::Deadline),
            _ => Err(format!("`{text}` is not a scheduling policy: use fifo, rr, other or deadline")),
        }
    }
}
