//! In what kernels differ: `PREEMPT=voluntary,rt`, `HZ=100,1000`, or any other option with its values.

use super::config::{Fragment, is_option, is_value};
use super::error::BuildError;
use std::collections::BTreeSet;
use std::str::FromStr;

/// Most kernels that one command builds.
const MOST: usize = 16;
/// The preemption models, as they are asked for, with their options.
const MODELS: [(&str, &str); 5] =
    [("none", "PREEMPT_NONE"), ("voluntary", "PREEMPT_VOLUNTARY"), ("full", "PREEMPT"), ("lazy", LAZY), ("rt", RT)];
const LAZY: &str = "PREEMPT_LAZY";
const RT: &str = "PREEMPT_RT";
/// The frequencies of the tick that there are options for, on any architecture.
const FREQUENCIES: [&str; 7] = ["24", "100", "200", "250", "300", "500", "1000"];
/// When there is a tick: kconfig lets one of these be chosen.
const TICKS: [&str; 3] = ["HZ_PERIODIC", "NO_HZ_IDLE", "NO_HZ_FULL"];

/// An option and the values that it takes, one kernel each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vary {
    option: String,
    values: Vec<String>,
}

impl Vary {
    /// Whether one of the kernels has PREEMPT_RT.
    pub(super) fn has_rt(&self) -> bool {
        self.option == "PREEMPT" && self.values.iter().any(|value| value == "rt")
    }

    /// What is built if nothing else is asked for: the pair stock and PREEMPT_RT. Stock is voluntary preemption, or lazy, which took its
    /// place.
    pub(super) fn pair(models: Models) -> Self {
        let stock = if models.lazy && !models.voluntary { "lazy" } else { "voluntary" };
        Self { option: "PREEMPT".into(), values: vec![stock.into(), "rt".into()] }
    }
}

impl FromStr for Vary {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Self, BuildError> {
        let wrong = |why: String| {
            // The command line's parser shows the message alone.
            let such = "such as PREEMPT=none,voluntary,full,lazy,rt, HZ=100,250,1000 or NO_HZ_FULL=y,n";
            Err(BuildError::ask(format!("{why}; {such}"), ""))
        };
        let Some((option, values)) = text.split_once('=') else { return wrong("write OPTION=VALUE,VALUE".into()) };
        let option = option.strip_prefix("CONFIG_").unwrap_or(option);
        if !is_option(option) {
            return wrong(format!("`{option}` is not an option's name"));
        }
        let values: Vec<String> = values.split(',').map(str::to_owned).collect();
        for (at, value) in values.iter().enumerate() {
            let fits = match option {
                "PREEMPT" => MODELS.iter().any(|(model, _)| model == value),
                "HZ" => FREQUENCIES.contains(&value.as_str()),
                _ => is_value(value) && !value.starts_with('"'),
            };
            if !fits {
                return wrong(format!("`{value}` is not a value of {option}"));
            }
            if values[..at].contains(value) {
                return wrong(format!("it has {value} twice"));
            }
        }
        Ok(Self { option: option.to_owned(), values })
    }
}

/// What a tree's kconfig has of the preemption models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Models {
    /// PREEMPT_NONE and PREEMPT_VOLUNTARY can be chosen. From 7.0 on neither can on an architecture that has PREEMPT_LAZY.
    none: bool,
    voluntary: bool,
    /// PREEMPT_LAZY is one of the models. In the PREEMPT_RT patches of older series it is a part of PREEMPT_RT, and not asked for.
    lazy: bool,
    /// It has PREEMPT_RT.
    rt: bool,
    /// PREEMPT_RT is a switch beside the choice of a model (from 6.13 on), not one of the choice.
    apart: bool,
    /// The architecture has what PREEMPT_RT needs.
    supported: bool,
}

impl Models {
    /// Reads them from the tree's `kernel/Kconfig.preempt` and the architecture's `Kconfig`.
    pub(super) fn of(preempt: &str, arch: &str) -> Self {
        let defines = |option: &str| preempt.lines().position(|l| l.split_whitespace().eq(["config", option]));
        let line = |text: &str| preempt.lines().position(|l| l.trim() == text);
        let (begin, end) = (line("choice"), line("endchoice"));
        let selects = |option: &str| arch.lines().any(|l| l.split_whitespace().take(2).eq(["select", option]));
        // What the architecture has decides on some models.
        let met = |condition: &str| match condition {
            "ARCH_NO_PREEMPT" | "ARCH_HAS_PREEMPT_LAZY" => selects(condition),
            "!ARCH_NO_PREEMPT" | "!ARCH_HAS_PREEMPT_LAZY" => !selects(&condition[1..]),
            _ => true,
        };
        let offered = |option: &str| {
            defines(option).is_some_and(|at| {
                let block = preempt.lines().skip(at + 1).take_while(|l| l.is_empty() || l.starts_with([' ', '\t']));
                block.filter_map(|l| l.trim().strip_prefix("depends on ")).all(|needs| needs.split("&&").all(|c| met(c.trim())))
            })
        };
        Self {
            none: offered("PREEMPT_NONE"),
            voluntary: offered("PREEMPT_VOLUNTARY"),
            lazy: offered(LAZY) && begin.zip(defines(LAZY)).zip(end).is_some_and(|((begin, at), end)| begin < at && at < end),
            rt: defines(RT).is_some(),
            apart: defines(RT).zip(end).is_some_and(|(at, end)| at > end),
            supported: selects("ARCH_SUPPORTS_RT"),
        }
    }

    /// The options of a model. `tree` says in messages what is built from.
    fn model(self, model: &str, tree: &str) -> Result<Fragment, BuildError> {
        if model == "lazy" && !self.lazy {
            return Err(BuildError::ask(format!("{tree} has no PREEMPT_LAZY"), "lazy preemption takes a kernel from 6.13 on"));
        }
        if self.lazy && ((model == "none" && !self.none) || (model == "voluntary" && !self.voluntary)) {
            return Err(BuildError::ask(
                format!("{tree} has no PREEMPT_{} where there is PREEMPT_LAZY", model.to_ascii_uppercase()),
                "take lazy, full and rt; trees from 6.13 to 6.19 have all five models",
            ));
        }
        if model == "rt" && !(self.rt && self.supported) {
            let why =
                if self.rt { "is not made for PREEMPT_RT on this architecture (no ARCH_SUPPORTS_RT)" } else { "has no PREEMPT_RT" };
            let remedy = "take 6.12 or later, which has it for amd64 and arm64, or a tree with the PREEMPT_RT patch for its version; or leave rt out";
            return Err(BuildError::ask(format!("{tree} {why}"), remedy));
        }
        let own = MODELS.iter().find(|(name, _)| *name == model).map_or(RT, |(_, option)| option);
        let on = |option: &str| option == own || (own == RT && self.apart && option == "PREEMPT");
        let with = |f: Fragment, (_, option): &(&str, &str)| f.with(option, if on(option) { "y" } else { "n" });
        let fragment = MODELS.iter().filter(|(_, option)| *option != LAZY || self.lazy).fold(Fragment::default(), with);
        // kconfig's own default with PREEMPT_RT, which starting from nothing would lose.
        Ok(if own == RT { fragment.with_optional("RCU_BOOST", "y") } else { fragment })
    }
}

/// One of the kernels to build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variant {
    /// What tells it from the others, such as `rt` or `rt-hz1000`.
    pub(super) label: String,
    /// Its own options.
    pub(super) own: Fragment,
}

/// Every combination of the values, in the order in which they were given, and what all of them have in common so that they can
/// be chosen.
pub(super) fn variants(vary: &[Vary], models: Models, tree: &str) -> Result<(Vec<Variant>, Fragment), BuildError> {
    let mut all = vec![Variant { label: String::new(), own: Fragment::default() }];
    let mut common = Fragment::default();
    for (at, v) in vary.iter().enumerate() {
        if vary[..at].iter().any(|other| other.option == v.option) {
            return Err(BuildError::ask(format!("{} is varied twice", v.option), "give all its values with one --vary"));
        }
        if let Some(other) = vary[..at].iter().find(|other| is_tick(&other.option) && is_tick(&v.option)) {
            let message = format!("{} and {} are of one choice: where one is on, the other is off", other.option, v.option);
            return Err(BuildError::ask(message, "vary one of them"));
        }
        if v.option == "PREEMPT" {
            // Otherwise the model is chosen at boot, and all kernels are compiled for full preemption.
            common = common.with("PREEMPT_DYNAMIC", "n");
            if v.has_rt() {
                common = common.with("EXPERT", "y");
            }
        }
        let mut more = Vec::new();
        for before in &all {
            for value in &v.values {
                let (word, settings) = match v.option.as_str() {
                    "PREEMPT" => (value.clone(), models.model(value, tree)?),
                    "HZ" => (format!("hz{value}"), frequency(value)),
                    option if is_tick(option) => (word(option, value), tick(option, value)),
                    option => (word(option, value), Fragment::default().with(option, value)),
                };
                let label = if before.label.is_empty() { word } else { format!("{}-{word}", before.label) };
                let mut own = before.own.clone();
                own.extend(&settings);
                more.push(Variant { label, own });
            }
        }
        all = more;
        if all.len() > MOST {
            return Err(BuildError::ask(format!("these would be {} kernels", all.len()), format!("vary less: {MOST} at most")));
        }
    }
    let mut labels = BTreeSet::new();
    if let Some(twice) = all.iter().find(|v| !labels.insert(v.label.as_str())) {
        return Err(BuildError::ask(format!("two of the kernels would both be called {}", twice.label), "leave one of them out"));
    }
    Ok((all, common))
}

/// An option with its value in a kernel's name and release. These are in a Debian package's name too, which has neither `_` nor
/// upper case.
fn word(option: &str, value: &str) -> String {
    format!("{option}-{value}").to_ascii_lowercase().replace('_', "-")
}

/// Whether an option is one of the choice of a tick.
fn is_tick(option: &str) -> bool {
    TICKS.contains(&option)
}

/// The options of a tick: the one that is on takes the place of whichever the profiles ask for. Without it, it is theirs or kconfig's.
fn tick(option: &str, value: &str) -> Fragment {
    let others = TICKS.iter().filter(|other| value == "y" && **other != option);
    others.fold(Fragment::default().with(option, value), |f, other| f.with(other, "n"))
}

/// The options of a tick's frequency.
fn frequency(hz: &str) -> Fragment {
    let with = |f: Fragment, other: &&str| f.with(&format!("HZ_{other}"), if *other == hz { "y" } else { "n" });
    FREQUENCIES.iter().fold(Fragment::default(), with).with("HZ", hz)
}

#[cfg(test)]
#[path = "vary_tests.rs"]
mod tests;
