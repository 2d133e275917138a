//! Kernel configurations: what a `.config` says, what differs between two, and what a fragment asks for.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Begins every option's name in a configuration's text; left out everywhere else.
const PREFIX: &str = "CONFIG_";
/// What an option that is off is called; so is one that there is not.
const OFF: &str = "n";
/// Behind a value: a tree without the option is good too.
const OPTIONAL: &str = "# optional";

/// A kernel's `.config`: the options that are on, with their values as they are written there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Config(BTreeMap<String, String>);

impl Config {
    /// Reads a `.config`. Lines that set nothing are passed over; of an option that is named twice, the last value counts.
    pub(super) fn parse(text: &str) -> Self {
        let mut options = BTreeMap::new();
        for line in text.lines() {
            let off = line.strip_prefix("# ").and_then(|l| l.strip_suffix(" is not set")).map(|name| (name, OFF));
            let Some((name, value)) = off.or_else(|| line.split_once('=')) else { continue };
            let Some(name) = name.strip_prefix(PREFIX) else { continue };
            if value == OFF {
                options.remove(name);
            } else {
                options.insert(name.to_owned(), value.to_owned());
            }
        }
        Self(options)
    }

    /// The value of an option; `n` if it is off or not there.
    pub(super) fn get(&self, option: &str) -> &str {
        self.0.get(option).map_or(OFF, String::as_str)
    }
}

/// An option that differs between two configurations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OptionChange {
    /// Its name, without `CONFIG_`.
    pub option: String,
    /// Its value in the first configuration; `n` if it is off or not there.
    pub from: String,
    /// Its value in the second.
    pub to: String,
    /// Whether it is one that was asked to differ; the others follow from these.
    pub chosen: bool,
}

impl fmt::Display for OptionChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} -> {}", self.option, self.from, self.to)
    }
}

/// Every option that differs, sorted by name. `chosen` are those that were asked to differ.
pub(super) fn difference(first: &Config, second: &Config, chosen: &BTreeSet<String>) -> Vec<OptionChange> {
    let names: BTreeSet<&String> = first.0.keys().chain(second.0.keys()).collect();
    let differ = names.into_iter().filter(|n| first.get(n) != second.get(n));
    let change = |option: &String| OptionChange {
        option: option.clone(),
        from: first.get(option).to_owned(),
        to: second.get(option).to_owned(),
        chosen: chosen.contains(option),
    };
    differ.map(change).collect()
}

/// What is asked for of one option.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wish {
    value: String,
    need: Need,
}

/// Whether it must be so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Always.
    Always,
    /// In a tree that has the option at all: options come and go.
    WhereKnown,
    /// It is good too without.
    Optional,
}

/// What is asked for: some options with their values. Later ones replace earlier ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fragment(BTreeMap<String, Wish>);

/// An option that kconfig did not set as it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// Its name, without `CONFIG_`.
    pub option: String,
    /// What was asked for.
    pub wanted: String,
    /// What it is.
    pub is: String,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={} is {}", self.option, self.wanted, self.is)
    }
}

impl Fragment {
    /// Reads a fragment: `CONFIG_NAME=VALUE` and `# CONFIG_NAME is not set`, one a line; other lines that begin with `#` are
    /// remarks. `# optional` behind a value lets a tree do without the option. The error names the line.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut fragment = Self::default();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            let (setting, optional) = line.strip_suffix(OPTIONAL).map_or((line, false), |l| (l.trim_end(), true));
            let off = setting.strip_prefix("# ").and_then(|l| l.strip_suffix(" is not set"));
            let pair = match off {
                Some(name) => Some((name, OFF)),
                None if line.is_empty() || line.starts_with('#') => continue,
                None => setting.split_once('='),
            };
            let known = pair.and_then(|(name, value)| Some((name.strip_prefix(PREFIX)?, value)));
            let Some((name, value)) = known.filter(|(name, value)| is_option(name) && is_value(value)) else {
                // A remark may read like an option that is off.
                if off.is_some() {
                    continue;
                }
                return Err(format!("line {}: `{line}` sets no option; write CONFIG_NAME=VALUE", at + 1));
            };
            let need = if optional { Need::Optional } else { Need::Always };
            fragment.0.insert(name.to_owned(), Wish { value: value.to_owned(), need });
        }
        Ok(fragment)
    }

    /// With `option` asked to be `value`.
    pub(super) fn with(mut self, option: &str, value: &str) -> Self {
        self.0.insert(option.to_owned(), Wish { value: value.to_owned(), need: Need::Always });
        self
    }

    /// With `option` asked to be `value` where the tree has it.
    pub(super) fn with_optional(mut self, option: &str, value: &str) -> Self {
        self.0.insert(option.to_owned(), Wish { value: value.to_owned(), need: Need::Optional });
        self
    }

    /// For trees of any version: without the options that one does not have.
    pub(super) fn where_known(mut self) -> Self {
        for wish in self.0.values_mut().filter(|wish| wish.need == Need::Always) {
            wish.need = Need::WhereKnown;
        }
        self
    }

    /// Those of its options that a tree may do without if it does not have them.
    pub(super) fn only_where_known(&self) -> BTreeSet<&str> {
        self.0.iter().filter(|(_, wish)| wish.need == Need::WhereKnown).map(|(name, _)| name.as_str()).collect()
    }

    /// Takes in everything that `other` asks for; where both speak of an option, `other` counts.
    pub(super) fn extend(&mut self, other: &Self) {
        self.0.extend(other.0.iter().map(|(name, wish)| (name.clone(), wish.clone())));
    }

    /// The names of its options.
    pub(super) fn options(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// As kconfig reads it, sorted by name.
    pub(super) fn text(&self) -> String {
        self.0.iter().fold(String::new(), |text, (name, wish)| match wish.value.as_str() {
            OFF => format!("{text}# {PREFIX}{name} is not set\n"),
            value => format!("{text}{PREFIX}{name}={value}\n"),
        })
    }

    /// What kconfig did not take: it drops an option whose dependencies are not met without a word.
    pub(super) fn dropped(&self, config: &Config) -> Vec<Dropped> {
        let missed = self.0.iter().filter(|(name, wish)| wish.need != Need::Optional && config.get(name) != wish.value);
        let said = |(name, wish): (&String, &Wish)| Dropped {
            option: name.clone(),
            wanted: wish.value.clone(),
            is: config.get(name).to_owned(),
        };
        missed.map(said).collect()
    }
}

/// Whether this may be an option's name.
pub(super) fn is_option(name: &str) -> bool {
    !name.is_empty() && name.len() <= 100 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether this may be a value: `y`, `m`, `n`, a number, or a text in quotes.
pub(super) fn is_value(value: &str) -> bool {
    let number = |t: &str, radix| !t.is_empty() && t.bytes().all(|b| char::from(b).is_digit(radix));
    let text = |t: &str| !t.contains(['"', '\\']) && !t.chars().any(char::is_control);
    matches!(value, "y" | "m" | OFF)
        || number(value.strip_prefix('-').unwrap_or(value), 10)
        || value.strip_prefix("0x").is_some_and(|t| number(t, 16))
        || value.len() >= 2 && value.strip_prefix('"').and_then(|t| t.strip_suffix('"')).is_some_and(text)
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
