//! A kernel with parameters for its command line, as targets name it: `debian/6.12/amd64+highres=off+preempt=full`.

use super::error::KernelError;
use super::name::KernelName;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Most parameters, and most characters of one.
const MOST: usize = 16;
const LONGEST: usize = 128;
/// What the lab sets itself, because runs would not repeat or not even begin without it; and the roles of the guest's program, which it would
/// play if the kernel passed such a word on.
const RESERVED: [&str; 15] = [
    "agent",
    "clocksource",
    "console",
    "cryptomgr.notests",
    "earlycon",
    "init",
    "initcall_blacklist",
    "initrd",
    "load_supervisor",
    "panic",
    "probe",
    "quiet",
    "rdinit",
    "root",
    "tsc",
];

/// A kernel and what is added to its command line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ToBoot {
    /// The kernel.
    pub kernel: KernelName,
    /// Parameters, as they stand on the command line: `highres=off`.
    pub parameters: Vec<String>,
}

impl From<KernelName> for ToBoot {
    fn from(kernel: KernelName) -> Self {
        Self { kernel, parameters: Vec::new() }
    }
}

impl fmt::Display for ToBoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = std::iter::once(self.kernel.to_string()).chain(self.parameters.iter().cloned());
        f.pad(&all.collect::<Vec<_>>().join("+"))
    }
}

impl From<ToBoot> for String {
    fn from(booted: ToBoot) -> Self {
        booted.to_string()
    }
}

impl TryFrom<String> for ToBoot {
    type Error = KernelError;

    fn try_from(text: String) -> Result<Self, KernelError> {
        text.parse()
    }
}

impl FromStr for ToBoot {
    type Err = KernelError;

    fn from_str(text: &str) -> Result<Self, KernelError> {
        let mut parts = text.split('+');
        let kernel = parts.next().unwrap_or_default().parse()?;
        let parameters: Vec<String> = parts.map(str::to_owned).collect();
        let wrong = |why: String| Err(KernelError::Name { name: text.chars().take(2 * LONGEST).collect(), why });
        if parameters.len() > MOST {
            return wrong(format!("at most {MOST} parameters follow a kernel's name"));
        }
        for (i, parameter) in parameters.iter().enumerate() {
            if let Some(why) = refused(parameter) {
                return wrong(why);
            }
            if parameters[..i].contains(parameter) {
                return wrong(format!("`{parameter}` stands there twice"));
            }
        }
        Ok(Self { kernel, parameters })
    }
}

/// Why this is not a parameter that can be added; `None` if it can.
fn refused(parameter: &str) -> Option<String> {
    let fit = |b: u8| b.is_ascii_alphanumeric() || b"_.,:=@/-".contains(&b);
    let begins = parameter.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    if !begins || parameter.len() > LONGEST || !parameter.bytes().all(fit) {
        return Some(format!(
            "after `+` stands a parameter of the kernel's command line, such as highres=off: letters, digits and _.,:=@/- only, at most {LONGEST}"
        ));
    }
    let key = parameter.split('=').next().unwrap_or_default().replace('-', "_");
    RESERVED.contains(&key.as_str()).then(|| format!("the lab sets `{key}` itself"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rtscope_failure::Problem as _;

    #[test]
    fn parameters_follow_the_name() {
        let booted: ToBoot = "debian/6.12/amd64+highres=off+isolcpus=managed_irq,1".parse().unwrap();
        assert_eq!(booted.kernel.to_string(), "debian/6.12/amd64");
        assert_eq!(booted.parameters, ["highres=off", "isolcpus=managed_irq,1"]);
        assert_eq!(booted.to_string(), "debian/6.12/amd64+highres=off+isolcpus=managed_irq,1");
        assert!("own/mine/amd64".parse::<ToBoot>().unwrap().parameters.is_empty());
    }

    #[test]
    fn what_would_break_the_lab_or_the_command_line_is_refused() {
        for (parameter, says) in [
            ("", "letters"),
            ("a b", "letters"),
            ("a\"b", "letters"),
            ("-- x", "letters"),
            ("console=tty0", "sets `console`"),
            ("clocksource=hpet", "sets `clocksource`"),
            ("rdinit=/bin/sh", "sets `rdinit`"),
            ("nohz=off+nohz=off", "twice"),
        ] {
            let e = format!("debian/6.12/amd64+{parameter}").parse::<ToBoot>().unwrap_err();
            assert!(e.to_string().contains(says) && e.is_usage(), "{parameter}: {e}");
        }
        assert!(format!("debian/6.12{}", "+a".repeat(99)).parse::<ToBoot>().is_err());
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_alike(text in "debian/6.12/amd64(\\+[a-z_]{1,8}(=[a-z0-9,]{0,8})?){0,4}") {
            if let Ok(booted) = text.parse::<ToBoot>() {
                prop_assert_eq!(booted.to_string(), text);
            }
        }

        #[test]
        fn no_text_brings_blanks_or_quotes_to_the_command_line(text in "debian/6.12(\\+\\PC{0,20})?") {
            if let Ok(booted) = text.parse::<ToBoot>() {
                prop_assert!(booted.parameters.iter().all(|p| !p.contains([' ', '"', '\'', '\n'])));
            }
        }
    }
}
