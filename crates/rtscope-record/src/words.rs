//! Enumerations that are written as one word in a record, and the most important of them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Defines an enumeration that is written as one word in a record.
macro_rules! word_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// As written in a record.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text { $($word => Ok(Self::$variant),)+ _ => Err(format!(concat!("`{}` is none of", $(" ", $word),+), text)) }
            }
        }
    };
}

pub(crate) use word_enum;

word_enum! {
    /// Kind of measurement.
    Test {
        /// Wake-up latency of a timer.
        Timer = "timer",
        /// Latency of the answers to stimuli on a line.
        Response = "response",
        /// Jitter of a line that a timer toggles.
        Periodic = "periodic",
        /// Highest frequency at which every stimulus is answered in time.
        Sustained = "sustained",
    }
}

word_enum! {
    /// Where the measured task runs.
    Space {
        /// User space.
        User = "user",
        /// Kernel space.
        Kernel = "kernel",
    }
}

word_enum! {
    /// Time base of all figures.
    Clock {
        /// The machine's own clock.
        Host = "host",
        /// Virtual time of a virtual machine, counted in instructions.
        Virtual = "virtual",
    }
}
