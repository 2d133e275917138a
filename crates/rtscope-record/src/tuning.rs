//! What of a machine is set for a run while the kernel runs: the settings that there are, by their names, and their values.

use crate::units::{Nanos, micros};
use rtscope_failure::{Fault, Problem};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Something that can be set while the kernel runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Knob {
    /// Preemption model: `none`, `voluntary`, `full` or `lazy` (kernels with `PREEMPT_DYNAMIC`).
    Preempt,
    /// `kernel.sched_rt_runtime_us`: how long real-time tasks may run in each period, or `off` for no RT throttling.
    RtRuntime,
    /// What ordinary tasks get in each period of a CPU that real-time tasks keep busy (Linux 6.12 and later), or `off`.
    FairServer,
    /// Frequency governor of all CPUs.
    Governor,
    /// Idle states whose exit latency is longer are disabled on all CPUs.
    IdleLatency,
    /// FIFO priority of the interrupts' threads, `0`: ordinary tasks. `NAME:N` of those with NAME in their names.
    IrqPriority,
    /// The same of `ksoftirqd`.
    KsoftirqdPriority,
    /// The same of `ktimers`, which `PREEMPT_RT` has.
    KtimersPriority,
    /// `kernel.timer_migration`: `on` or `off`.
    TimerMigration,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    Thp,
}

impl Knob {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Preempt,
        Self::RtRuntime,
        Self::FairServer,
        Self::Governor,
        Self::IdleLatency,
        Self::IrqPriority,
        Self::KsoftirqdPriority,
        Self::KtimersPriority,
        Self::TimerMigration,
        Self::Thp,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Preempt => "preempt",
            Self::RtRuntime => "rt-runtime",
            Self::FairServer => "fair-server",
            Self::Governor => "governor",
            Self::IdleLatency => "idle-latency",
            Self::IrqPriority => "irq-priority",
            Self::KsoftirqdPriority => "ksoftirqd-priority",
            Self::KtimersPriority => "ktimers-priority",
            Self::TimerMigration => "timer-migration",
            Self::Thp => "thp",
        }
    }

    /// The values that it takes, in words.
    pub fn takes(self) -> &'static str {
        match self {
            Self::Preempt => "none, voluntary, full or lazy",
            Self::RtRuntime | Self::FairServer => "off, or a time such as 950ms",
            Self::Governor => "the name of a governor, such as performance",
            Self::IdleLatency => "a time such as 0us",
            Self::IrqPriority => "a priority from 0 (an ordinary task) to 99, or NAME:PRIORITY",
            Self::KsoftirqdPriority | Self::KtimersPriority => "a priority from 0 (an ordinary task) to 99",
            Self::TimerMigration => "on or off",
            Self::Thp => "always, madvise or never",
        }
    }

    /// A value as it is kept, if it is one.
    fn value(self, text: &str) -> Option<String> {
        let one_of = |all: &[&str]| all.contains(&text).then(|| text.to_owned());
        let priority = |text: &str| text.parse::<u8>().ok().filter(|p| *p <= 99).map(|p| p.to_string());
        // The kernel counts these in microseconds.
        let time = || micros(text).ok().filter(|t| t.0 % 1000 == 0 && t.0 <= 1000 * Nanos::PER_SEC).map(|t| t.to_string());
        match self {
            Self::Preempt => one_of(&["none", "voluntary", "full", "lazy"]),
            Self::RtRuntime | Self::FairServer => one_of(&["off"]).or_else(|| time().filter(|t| t != "0s")),
            Self::Governor => name(text).then(|| text.to_owned()),
            Self::IdleLatency => time(),
            Self::IrqPriority => match text.split_once(':') {
                Some((of, n)) => priority(n).filter(|_| name(of)).map(|n| format!("{of}:{n}")),
                None => priority(text),
            },
            Self::KsoftirqdPriority | Self::KtimersPriority => priority(text),
            Self::TimerMigration => one_of(&["on", "off"]),
            Self::Thp => one_of(&["always", "madvise", "never"]),
        }
    }
}

/// Whether `text` can be the name of a governor, or part of a kernel thread's.
fn name(text: &str) -> bool {
    (1..=32).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./".contains(&b))
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why a text is no setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TuningTextError {
    /// It has no `=`.
    #[error("`{0}` is not NAME=VALUE")]
    Form(String),
    /// No setting has this name.
    #[error("there is no setting `{0}`")]
    Name(String),
    /// The setting does not take this value.
    #[error("`{value}` is not a value of {knob}")]
    Value {
        /// The setting.
        knob: Knob,
        /// The value.
        value: String,
    },
    /// It is named twice.
    #[error("the setting {0} is named twice")]
    Twice(Knob),
}

impl Problem for TuningTextError {
    fn remedy(&self) -> String {
        match self {
            Self::Form(_) => "write preempt=full".into(),
            Self::Name(_) => format!("one of {}", Knob::ALL.map(Knob::as_str).join(", ")),
            Self::Value { knob, .. } => format!("{knob} takes {}", knob.takes()),
            Self::Twice(_) => "name it once".into(),
        }
    }

    fn fault(&self) -> Fault {
        Fault::Usage
    }
}

/// Settings of a machine for a run; empty: it is measured as it is.
///
/// ```
/// use rtscope_record::Tuning;
///
/// let tuning: Tuning = "thp=never preempt=full".parse().unwrap();
/// assert_eq!(tuning.to_string(), "preempt=full thp=never");
/// assert!("preempt=most".parse::<Tuning>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "BTreeMap<Knob, String>")]
pub struct Tuning(BTreeMap<Knob, String>);

impl Tuning {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each setting with its value.
    pub fn iter(&self) -> impl Iterator<Item = (Knob, &str)> {
        self.0.iter().map(|(knob, value)| (*knob, value.as_str()))
    }

    /// Each as `NAME=VALUE`.
    pub fn words(&self) -> Vec<String> {
        self.iter().map(|(knob, value)| format!("{knob}={value}")).collect()
    }

    /// Of words, each `NAME=VALUE`.
    pub fn of_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, TuningTextError> {
        let mut all = Self::default();
        for word in words {
            let (of, value) = word.split_once('=').ok_or_else(|| TuningTextError::Form(word.into()))?;
            let knob = Knob::ALL.into_iter().find(|k| k.as_str() == of).ok_or_else(|| TuningTextError::Name(of.into()))?;
            let value = knob.value(value).ok_or_else(|| TuningTextError::Value { knob, value: value.into() })?;
            if all.0.insert(knob, value).is_some() {
                return Err(TuningTextError::Twice(knob));
            }
        }
        Ok(all)
    }
}

impl FromStr for Tuning {
    type Err = TuningTextError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::of_words(text.split_whitespace())
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join(" "))
    }
}

impl TryFrom<BTreeMap<Knob, String>> for Tuning {
    type Error = TuningTextError;
    fn try_from(all: BTreeMap<Knob, String>) -> Result<Self, Self::Error> {
        for (&knob, value) in &all {
            if knob.value(value).as_ref() != Some(value) {
                return Err(TuningTextError::Value { knob, value: value.clone() });
            }
        }
        Ok(Self(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn settings_are_read_as_they_are_written() {
        for text in [
            "preempt=none",
            "rt-runtime=off fair-server=off",
            "governor=performance idle-latency=0s irq-priority=80",
            "irq-priority=eth0:80 ksoftirqd-priority=0 ktimers-priority=99",
            "timer-migration=off thp=never",
        ] {
            let tuning: Tuning = text.parse().unwrap();
            assert_eq!(tuning.to_string(), text);
            let json = serde_json::to_string(&tuning).unwrap();
            assert_eq!(serde_json::from_str::<Tuning>(&json).unwrap(), tuning);
        }
        assert_eq!("rt-runtime=900ms".parse::<Tuning>(), "rt-runtime=900000".parse());
        assert!("".parse::<Tuning>().unwrap().is_empty());
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        for (text, told, remedy) in [
            ("preempt", "`preempt` is not NAME=VALUE", "preempt=full"),
            ("swap=off", "there is no setting `swap`", "rt-runtime"),
            ("preempt=most", "`most` is not a value of preempt", "none, voluntary, full or lazy"),
            ("rt-runtime=0us", "`0us` is not a value of rt-runtime", "off, or a time"),
            ("rt-runtime=1500ns", "`1500ns` is not a value of rt-runtime", "off, or a time"),
            ("irq-priority=100", "`100` is not a value of irq-priority", "from 0"),
            ("irq-priority=a b", "`a` is not a value of irq-priority", "from 0"),
            ("governor=../../x;rm", "`../../x;rm` is not a value of governor", "performance"),
            ("thp=always thp=never", "the setting thp is named twice", "once"),
        ] {
            let e = text.parse::<Tuning>().unwrap_err();
            assert_eq!(e.to_string(), told);
            assert!(e.remedy().contains(remedy), "{}", e.remedy());
        }
        for json in [r#"{"thp":"no"}"#, r#"{"swap":"off"}"#, r#"{"idle-latency":"1000000us"}"#] {
            assert!(serde_json::from_str::<Tuning>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn each_is_named_as_its_json() {
        for knob in Knob::ALL {
            assert_eq!(serde_json::to_string(&knob).unwrap(), format!("\"{knob}\""));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_settings_or_an_error(text in "\\PC{0,40}") {
            if let Ok(tuning) = text.parse::<Tuning>() {
                prop_assert_eq!(tuning.to_string().parse::<Tuning>(), Ok(tuning));
            }
        }
    }
}
