//! The input of the rules, and how their remedies are written.

use crate::settings::Settings;
use crate::system::System;

/// The input of a rule.
pub(super) struct Context<'a> {
    pub(super) system: &'a System,
    pub(super) settings: &'a Settings,
    /// CPUs that the measuring threads run on.
    pub(super) measured: Vec<u32>,
}

impl Context<'_> {
    /// Those of `cpus` that are measured.
    pub(super) fn of_measured(&self, cpus: impl IntoIterator<Item = u32>) -> Vec<u32> {
        cpus.into_iter().filter(|cpu| self.measured.contains(cpu)).collect()
    }

    /// Online CPUs that are not measured.
    pub(super) fn others(&self) -> Vec<u32> {
        self.system.cpu.online.iter().copied().filter(|cpu| !self.measured.contains(cpu)).collect()
    }
}

/// A remedy of commands for root: one that applies it and one that reverts it.
pub(super) fn commands(now: &str, back: &str) -> String {
    format!("as root: `{now}` (back: `{back}`)")
}

/// The same, and the setting that does it for one run.
pub(super) fn commands_or(now: &str, back: &str, tune: &str) -> String {
    format!("{}; for one run `--tune {tune}` ({})", commands(now, back), shown(tune))
}

/// What isolates CPU 1, as docs/tuning.md has it.
pub(super) const ISOLATED: &str = "isolcpus=1 nohz_full=1 rcu_nocbs=1";

/// Kernel threads above the measured one, as docs/tuning.md has them.
pub(super) const THREADS_ABOVE: &str = "irq-priority=97";

/// Of the settings and parameters that remedies name, those that docs/tuning.md has measured rows of. A test holds it against that page.
pub(super) const MEASURED: [&str; 4] = ["preempt=full", "rt-runtime=off", "fair-server=off", THREADS_ABOVE];

/// Where the manual says what a setting or parameter changes.
pub(super) fn shown(setting: &str) -> &'static str {
    if MEASURED.contains(&setting) {
        "docs/tuning.md has what that changed"
    } else {
        "docs/tuning.md says how to measure what that changes"
    }
}
