//! Where tasks in kernel space do their work, by name.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Context in which a task in kernel space works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Handler {
    /// Hard interrupt context, also on `PREEMPT_RT`.
    #[default]
    Hard,
    /// `response` and `sustained`: the interrupt's thread (`SCHED_FIFO` 50).
    Threaded,
    /// `periodic` and `timer`: softirq context, on `PREEMPT_RT` a softirq thread.
    Soft,
    /// `timer` on 32-bit Arm: a FIQ, which Linux's sections without interrupts do not hold up.
    Fiq,
}

impl Handler {
    /// The name as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hard => "hard",
            Self::Threaded => "threaded",
            Self::Soft => "soft",
            Self::Fiq => "fiq",
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
            "fiq" => Ok(Self::Fiq),
            _ => Err(format!("`{text}` is not a handler: use hard, threaded, soft or fiq")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_are_read_as_they_are_written() {
        for (handler, text) in
            [(Handler::Hard, "hard"), (Handler::Threaded, "threaded"), (Handler::Soft, "soft"), (Handler::Fiq, "fiq")]
        {
            assert_eq!((handler.as_str(), format!("{handler:>9}")), (text, format!("{text:>9}")));
            assert_eq!(text.parse(), Ok(handler));
        }
        assert_eq!("softirq".parse::<Handler>(), Err("`softirq` is not a handler: use hard, threaded, soft or fiq".into()));
    }
}
