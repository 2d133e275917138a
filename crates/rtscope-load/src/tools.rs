//! The tools that loads run, as a table. Each has a file that says how it is started, when it is at work, and what it says that it did.

mod fio;
pub(crate) mod iperf3;
mod stress_ng;
pub(crate) mod tool;

use tool::{Tool, WithArguments};

/// Every tool. Nothing else knows their names but the loads that use them.
pub(crate) const TOOLS: &[&dyn Tool] = &[&stress_ng::StressNg, &fio::Fio, &iperf3::Client, &iperf3::Server];

/// What the lab's guests take of each tool: its package, which is called as the tool is, and its place there.
pub fn in_guests() -> impl Iterator<Item = (&'static str, &'static str)> {
    TOOLS.iter().filter_map(|tool| Some((tool.program(), tool.in_guests()?)))
}

/// The tool that a job calls so.
pub(crate) fn of_role(role: &str) -> Option<&'static dyn Tool> {
    TOOLS.iter().copied().find(|t| t.role() == role)
}

/// Tools that take arguments of the user's, by the name before the colon.
pub(crate) fn with_arguments() -> impl Iterator<Item = (&'static dyn Tool, &'static WithArguments)> {
    TOOLS.iter().filter_map(|&t| Some((t, t.own()?)))
}

/// The tool and the words of `NAME:ARGS`.
pub(crate) fn in_text(text: &str) -> Option<(&'static dyn Tool, &'static WithArguments, &str)> {
    let (name, words) = text.split_once(':')?;
    with_arguments().find(|(tool, _)| tool.program() == name).map(|(tool, own)| (tool, own, words))
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
