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

/// The same, and the setting that does it for one run; the manual shows what it changes.
pub(super) fn commands_or(now: &str, back: &str, tune: &str) -> String {
    format!("{}; for one run `--tune {tune}` (docs/tuning.md has what that changed)", commands(now, back))
}
