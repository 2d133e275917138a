//! The options of every test: one definition of them for `rtscope measure` and for the plans of campaigns.

use crate::plan_text;
use crate::policy::Policy;
use crate::settings::Settings;
use crate::system::parse_cpu_list;
use crate::units::Nanos;
#[cfg(feature = "cli")]
use crate::units::{micros, seconds};
use rtscope_failure::{Fault, Problem};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::num::NonZeroU32;

/// Options of every test. The comments on the fields are the command line's help.
///
/// As JSON it is part of the keys of a campaign's runs: a key that is added later must be left out where it has its default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[cfg_attr(feature = "cli", command(next_help_heading = "Timing and threads"))]
pub struct RunOptions {
    /// Grid of the wake-ups (a number without unit is microseconds, as in cyclictest) [default: 1ms]
    #[serde(deserialize_with = "plan_text::maybe")]
    #[cfg_attr(feature = "cli", arg(short, long, value_name = "TIME", value_parser = micros))]
    pub interval: Option<Nanos>,
    /// How long to measure (a number without unit is seconds, as in cyclictest) [default: 10s]
    #[serde(deserialize_with = "plan_text::maybe")]
    #[cfg_attr(feature = "cli", arg(short = 'D', long, value_name = "TIME", value_parser = seconds))]
    pub duration: Option<Nanos>,
    /// How many samples each thread takes, instead of a duration
    #[cfg_attr(feature = "cli", arg(short, long, value_name = "N", conflicts_with = "duration", hide_short_help = true))]
    pub loops: Option<u64>,
    /// Scheduling policy: fifo, rr, other, deadline. The latencies of `other` include the timer slack, which the record states
    // The keys of a campaign's runs have the policy before the priority; the help has it after.
    #[serde(deserialize_with = "plan_text::one")]
    #[cfg_attr(feature = "cli", arg(long, default_value = "fifo", value_name = "NAME", value_parser = <Policy as std::str::FromStr>::from_str, display_order = 4, hide_short_help = true))]
    pub policy: Policy,
    /// Scheduling priority, 1 to 99 [default: 95]
    #[cfg_attr(feature = "cli", arg(short, long, value_name = "PRIO", display_order = 3))]
    pub priority: Option<u8>,
    /// Number of threads [default: one for each CPU]
    #[serde(deserialize_with = "threads")]
    #[cfg_attr(feature = "cli", arg(short, long, value_name = "N"))]
    pub threads: Option<u32>,
    /// CPUs to measure on, such as 0,2-3 [default: all]
    #[cfg_attr(feature = "cli", arg(short, long, value_name = "CPUS"))]
    pub affinity: Option<CpuList>,
    /// One pinned thread for each CPU at the same priority (the default; cyclictest's -S)
    #[serde(skip)]
    #[cfg_attr(feature = "cli", arg(short = 'S', long, conflicts_with_all = ["threads", "migrate"], hide_short_help = true))]
    pub smp: bool,
    /// Let the threads migrate between CPUs
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true))]
    pub migrate: bool,
    /// Start offset of each further thread [default: all start on one instant; cyclictest staggers its own] (cyclictest's -d lengthens the interval instead: see `rtscope cyclictest`)
    #[serde(deserialize_with = "plan_text::one")]
    #[cfg_attr(feature = "cli", arg(short = 'd', long, value_name = "TIME", value_parser = micros, default_value = "0us", hide_short_help = true))]
    pub distance: Nanos,
    /// Each further thread one priority lower
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true))]
    pub priospread: bool,
    /// Break the run at the first latency above this
    #[serde(deserialize_with = "plan_text::maybe")]
    #[cfg_attr(feature = "cli", arg(short, long, value_name = "TIME", value_parser = micros))]
    pub breaktrace: Option<Nanos>,
    /// Do not lock memory (the verdict says so)
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true))]
    pub no_mlockall: bool,
    /// Let the CPUs enter deep idle states: leave /dev/cpu_dma_latency alone
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true))]
    pub no_dma_latency: bool,
    /// Worst samples to keep for each thread
    #[cfg_attr(feature = "cli", arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u32).range(..=i64::from(crate::limits::WORST)), hide_short_help = true))]
    pub worst: u32,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            interval: None,
            duration: None,
            loops: None,
            policy: Policy::Fifo,
            priority: None,
            threads: None,
            affinity: None,
            smp: false,
            migrate: false,
            distance: Nanos(0),
            priospread: false,
            breaktrace: None,
            no_mlockall: false,
            no_dma_latency: false,
            worst: 32,
        }
    }
}

fn threads<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    Ok(Some(NonZeroU32::deserialize(from)?.get()))
}

impl RunOptions {
    /// Fills in the defaults, as `rtscope measure` does where neither command line nor configuration gives a value.
    pub fn fill(&mut self) {
        self.interval.get_or_insert(Nanos(1_000_000));
        self.priority.get_or_insert(95);
        if self.loops.is_none() {
            self.duration.get_or_insert(Nanos(10 * Nanos::PER_SEC));
        }
    }

    /// The settings of a run on these CPUs (those chosen, or all there are), after [filling in](Self::fill) the defaults.
    pub fn settings(&self, cpus: Vec<u32>) -> Settings {
        let mut o = self.clone();
        o.fill();
        let pinned = !o.migrate && (o.policy != Policy::Deadline || o.affinity.is_some());
        let priority = o.priority.filter(|_| o.policy.has_priority());
        Settings {
            interval: o.interval.unwrap_or_default(),
            start_offset: o.distance,
            duration: o.duration,
            loops: o.loops,
            threads: o.threads.unwrap_or(u32::try_from(cpus.len()).unwrap_or(1)),
            cpus: if pinned { cpus } else { Vec::new() },
            migrate: !pinned,
            policy: o.policy,
            priority: priority.unwrap_or(0),
            priority_descends: o.priospread,
            mlockall: !o.no_mlockall,
            hold_dma_latency: !o.no_dma_latency,
            break_above: o.breaktrace,
            worst: o.worst,
            ..Settings::default()
        }
    }

    /// The first given option that only timers in user space have.
    pub fn of_user_timers(&self) -> Option<&'static str> {
        let given = [
            (self.threads.is_some(), "threads"),
            (self.smp, "smp"),
            (self.distance.0 > 0, "distance"),
            (self.priospread, "priospread"),
            (self.breaktrace.is_some(), "breaktrace"),
        ];
        given.into_iter().find_map(|(given, name)| given.then_some(name))
    }
}

/// CPUs as a user writes them: `0,2-3`. On the command line any text is accepted at first, in a plan only a valid list. Serialized
/// as numbers.
#[derive(Debug, Clone)]
pub struct CpuList(String);

impl CpuList {
    /// The CPU numbers, in the order given.
    pub fn cpus(&self) -> Result<Vec<u32>, NotCpus> {
        parse_cpu_list(&self.0).ok_or_else(|| NotCpus(self.0.clone()))
    }
}

/// The text is not a list of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a list of CPUs")]
pub struct NotCpus(String);

impl Problem for NotCpus {
    fn remedy(&self) -> String {
        "write 0,2-3".into()
    }

    fn fault(&self) -> Fault {
        Fault::Usage
    }
}

impl PartialEq for CpuList {
    fn eq(&self, other: &Self) -> bool {
        self.cpus() == other.cpus()
    }
}

impl Eq for CpuList {}

impl From<&str> for CpuList {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl Serialize for CpuList {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.cpus().unwrap_or_default().serialize(to)
    }
}

impl<'de> Deserialize<'de> for CpuList {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let list = Self(String::deserialize(from)?);
        list.cpus().map_err(|e| D::Error::custom(format!("{e}: {}", e.remedy())))?;
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_open_is_filled() {
        let mut o = RunOptions::default();
        o.fill();
        assert_eq!((o.interval, o.duration, o.priority), (Some(Nanos(1_000_000)), Some(Nanos(10_000_000_000)), Some(95)));
        let mut o = RunOptions { loops: Some(5), priority: Some(3), interval: Some(Nanos(7)), ..RunOptions::default() };
        o.fill();
        assert_eq!((o.interval, o.duration, o.priority), (Some(Nanos(7)), None, Some(3)));
    }

    #[test]
    fn settings_are_what_was_chosen() {
        let plain = RunOptions::default().settings(vec![4, 5]);
        let same = Settings { duration: Some(Nanos(10 * Nanos::PER_SEC)), threads: 2, cpus: vec![4, 5], ..Settings::default() };
        assert_eq!(plain, same);
        let chosen =
            RunOptions { policy: Policy::Deadline, threads: Some(3), distance: Nanos(9), worst: 0, ..RunOptions::default() };
        let s = chosen.settings(vec![0]);
        assert_eq!((s.threads, s.cpus, s.migrate, s.priority, s.start_offset, s.worst), (3, vec![], true, 0, Nanos(9), 0));
        let named = RunOptions { affinity: Some(CpuList("0".into())), ..chosen };
        assert_eq!((named.settings(vec![0]).cpus, named.of_user_timers()), (vec![0], Some("threads")));
        assert_eq!(RunOptions { priospread: true, ..RunOptions::default() }.of_user_timers(), Some("priospread"));
        assert_eq!(RunOptions { migrate: true, ..RunOptions::default() }.of_user_timers(), None);
    }

    #[test]
    fn each_option_is_in_the_settings() {
        let o = RunOptions {
            interval: Some(Nanos(1)),
            loops: Some(2),
            policy: Policy::Rr,
            priority: Some(3),
            migrate: true,
            priospread: true,
            breaktrace: Some(Nanos(4)),
            no_mlockall: true,
            no_dma_latency: true,
            worst: 5,
            ..RunOptions::default()
        };
        let s = o.settings(vec![0, 1]);
        assert_eq!((s.interval, s.duration, s.loops, s.threads, s.cpus), (Nanos(1), None, Some(2), 2, vec![]));
        assert_eq!((s.policy, s.priority, s.priority_descends, s.migrate), (Policy::Rr, 3, true, true));
        assert_eq!((s.mlockall, s.hold_dma_latency, s.break_above, s.worst), (false, false, Some(Nanos(4)), 5));
        let free = RunOptions { policy: Policy::Deadline, ..RunOptions::default() }.settings(vec![0]);
        assert!(free.migrate && free.cpus.is_empty() && free.priority == 0);
        let default = RunOptions::default;
        for (given, name) in [
            (RunOptions { smp: true, ..default() }, "smp"),
            (RunOptions { distance: Nanos(1), ..default() }, "distance"),
            (RunOptions { breaktrace: Some(Nanos(0)), ..default() }, "breaktrace"),
        ] {
            assert_eq!(given.of_user_timers(), Some(name));
        }
    }

    #[test]
    fn a_plan_names_a_number_of_threads() {
        let read = |text: &str| serde_json::from_str::<RunOptions>(text).map(|o| o.threads);
        assert_eq!(read(r#"{"threads":7}"#).unwrap(), Some(7));
        assert_eq!(read("{}").unwrap(), None);
        assert!(read(r#"{"threads":0}"#).is_err());
    }

    #[test]
    fn lists_of_cpus_are_what_they_name() {
        let [some, same, wrong] = ["0,2-3", "0,2,3", "3-2"].map(CpuList::from);
        assert_eq!((some.cpus(), &some), (Ok(vec![0, 2, 3]), &same));
        assert!(some != CpuList::from("0,2") && some != wrong);
        assert_eq!(wrong.cpus().unwrap_err().to_string(), "`3-2` is not a list of CPUs");
        assert_eq!(serde_json::to_string(&same).unwrap(), "[0,2,3]");
        assert!(serde_json::from_str::<CpuList>("\"3-2\"").unwrap_err().to_string().contains("write 0,2-3"));
        assert_eq!(serde_json::from_str::<CpuList>("\"0,2-3\"").unwrap(), some);
    }
}
