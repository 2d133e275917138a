//! The table of the tools that loads run. Each tool has a file that says how it is started, when it is at work,
//! and how its figures are read.

mod fio;
pub(crate) mod iperf3;
mod stress_ng;
pub(crate) mod tool;

use tool::{Tool, WithArguments};

/// Every tool. Only the loads that use them refer to them by name.
pub(crate) const TOOLS: &[&dyn Tool] = &[&stress_ng::StressNg, &fio::Fio, &iperf3::Client, &iperf3::Server];

/// The tools that the lab's guests have: package name, which is also the tool's name, and path in the guest.
pub fn in_guests() -> impl Iterator<Item = (&'static str, &'static str)> {
    TOOLS.iter().filter_map(|tool| Some((tool.program(), tool.in_guests()?)))
}

/// The tool with this role in a job.
pub(crate) fn of_role(role: &str) -> Option<&'static dyn Tool> {
    TOOLS.iter().copied().find(|t| t.role() == role)
}

/// Tools that accept the user's own arguments. They are selected by the program's name before the colon.
pub(crate) fn with_arguments() -> impl Iterator<Item = (&'static dyn Tool, &'static WithArguments)> {
    TOOLS.iter().filter_map(|&t| Some((t, t.own()?)))
}

/// The tool and its words in `NAME:ARGS`.
pub(crate) fn in_text(text: &str) -> Option<(&'static dyn Tool, &'static WithArguments, &str)> {
    let (name, words) = text.split_once(':')?;
    with_arguments().find(|(tool, _)| tool.program() == name).map(|(tool, own)| (tool, own, words))
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
