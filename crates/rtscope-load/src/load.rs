//! Loads: the work that the DUT does while it is measured. Named loads are in the table `load/table.rs`;
//! `NAME:ARGS` runs a tool with the user's own arguments.

mod args;
mod error;
mod handle;
mod options;
mod place;
mod table;

pub use error::LoadError;
pub use handle::LoadHandle;
pub use options::StartOptions;

use crate::job::{Iperf3Job, ToolJob, Workload};
use crate::programs::find_program;
use crate::tools::tool::{ArgumentsJob, Refused, Tool};
use crate::tools::{self, iperf3};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use table::{Entry, LOADS};

/// Disk space to leave free beside what the load writes, MiB.
const SPARE_MIB: u64 = 256;

/// A load that can be started.
#[derive(Debug, Clone)]
pub struct Load {
    name: String,
    kind: What,
}

#[derive(Debug, Clone)]
enum What {
    Named(&'static Entry),
    Own { role: &'static str, job: ArgumentsJob },
}

impl Load {
    /// Reads the name of a load (`none`, `background` ...) or a tool with the user's own arguments
    /// (`stress-ng:ARGS`). ARGS are split at white space, and quotes keep blanks; no shell sees them. Fails on an
    /// unknown name, and on arguments that would break the proof or outlive the run.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        if let Some((tool, own, words)) = tools::in_text(text) {
            let refused = |Refused { word, reason }| LoadError::Argument { tool: tool.program(), word, reason };
            let job = args::split(words).and_then(|words| (own.read)(&words)).map_err(refused)?;
            return Ok(Self { name: text.into(), kind: What::Own { role: tool.role(), job } });
        }
        let entry =
            LOADS.iter().find(|l| l.name == text).ok_or_else(|| LoadError::Unknown { name: text.into(), known: all_names() })?;
        Ok(Self { name: entry.name.into(), kind: What::Named(entry) })
    }

    /// Name and description of every named load, mildest first.
    pub fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
        LOADS.iter().map(|l| (l.name, l.about))
    }

    /// Name and description of every tool that takes the user's own arguments: `stress-ng:ARGS` ...
    pub fn with_arguments() -> impl Iterator<Item = (String, &'static str)> {
        tools::with_arguments().map(|(tool, own)| (format!("{}:ARGS", tool.program()), own.about))
    }

    /// Whether `text` is a tool with arguments, valid or not. The arguments may hold anything, commas too.
    pub fn has_arguments(text: &str) -> bool {
        tools::in_text(text).is_some()
    }

    /// The name, as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether this load does nothing.
    pub fn is_none(&self) -> bool {
        matches!(self.kind, What::Named(e) if e.runs.is_empty() && e.iperf3.is_none())
    }

    /// Tools that the load needs, which are also the names of their Debian packages.
    pub fn tools(&self) -> Vec<&'static str> {
        let sized = self.sized(1);
        let alone = sized.tools.iter().filter_map(|job| tools::of_role(&job.role)).map(Tool::program);
        let mut used: Vec<&str> = alone.chain(sized.iperf3.map(|_| iperf3::Client.program())).collect();
        used.dedup();
        used
    }

    /// Tools that the load needs and that are not installed.
    pub fn missing_tools(&self) -> Vec<&'static str> {
        self.tools().into_iter().filter(|t| find_program(t).is_none()).collect()
    }

    /// Starts the load and returns when it is at work; `None` for the load `none`. Fails with a [`LoadError`] when
    /// a tool is missing, the disk is nearly full, or the load is not up within [`StartOptions::up_timeout`]; then
    /// nothing of it is left.
    pub fn start(&self, options: &StartOptions) -> Result<Option<LoadHandle>, LoadError> {
        if self.is_none() {
            return Ok(None);
        }
        if let Some(&tool) = self.missing_tools().first() {
            return Err(LoadError::Missing { load: self.name.clone(), tool });
        }
        LoadHandle::start(&self.name, self.sized(options.cpus), options).map(Some)
    }

    pub(crate) fn sized(&self, cpus: u32) -> Workload {
        let cpus = cpus.max(1);
        match &self.kind {
            What::Own { role, job } => Workload {
                tools: vec![ToolJob {
                    role: (*role).into(),
                    args: job.args.clone(),
                    workers: job.workers,
                    left_out: BTreeMap::new(),
                }],
                iperf3: None,
                on_disk: true,
                need_mib: job.disk_mib,
                fills_cpus: false,
            },
            What::Named(entry) => {
                let job = |run: &table::Run| {
                    let words: Vec<&str> = run.args.split(' ').collect();
                    let per_cpu = u32::try_from(words.iter().filter(|w| **w == "N").count()).unwrap_or(u32::MAX);
                    let asked = words.iter().map(|&w| if w == "N" { cpus.to_string() } else { w.to_owned() });
                    ToolJob {
                        role: run.tool.into(),
                        args: asked.chain(run.exclude(cpus)).collect(),
                        left_out: run.left_out_of(cpus).map(|l| (l.stressor.to_owned(), l.why.to_owned())).collect(),
                        workers: per_cpu.saturating_mul(cpus).max(1),
                    }
                };
                let disk = |run: &table::Run| run.disk_mib.0 * u64::from(cpus) + run.disk_mib.1;
                let on_disk = entry.runs.iter().any(|run| run.on_disk);
                Workload {
                    tools: entry.runs.iter().map(job).collect(),
                    iperf3: entry.iperf3.map(|i| Iperf3Job {
                        streams: i.streams_per_cpu.saturating_mul(cpus).clamp(i.bounds.0, i.bounds.1),
                        window: i.window.map(Into::into),
                    }),
                    on_disk,
                    fills_cpus: entry.fills_cpus,
                    // Logs and figures of the other loads are small, but a full disk would lose them.
                    need_mib: entry.runs.iter().map(disk).sum::<u64>() + if on_disk { SPARE_MIB } else { 16 },
                }
            }
        }
    }
}

/// All names, joined for use in a sentence.
fn all_names() -> String {
    let mut names: Vec<String> =
        LOADS.iter().map(|l| l.name.to_owned()).chain(Load::with_arguments().map(|(name, _)| name)).collect();
    let last = names.pop().unwrap_or_default();
    format!("{} or {last}", names.join(", "))
}

impl FromStr for Load {
    type Err = LoadError;
    fn from_str(text: &str) -> Result<Self, LoadError> {
        Self::parse(text)
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
