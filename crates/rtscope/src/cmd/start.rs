//! `rtscope` alone: what to do next on this machine, then the commands.

use super::check;
use crate::args::Global;
use crate::args::values::Size;
use crate::config::Context;
use crate::error::Code;
use crate::output;
use rtscope_archive::{Filter, RunSummary};
use rtscope_failure::Failure;
use rtscope_record::{Effect, Warning};

/// A run in the archive.
#[derive(Debug, Clone)]
struct Run {
    id: String,
    test: String,
    space: String,
    load: String,
    target: String,
    verdict: String,
}

impl Run {
    fn of(s: RunSummary) -> Self {
        Self { id: s.id, test: s.test, space: s.space, load: s.load, target: s.target, verdict: s.verdict }
    }

    /// Whether the two can be laid side by side.
    fn is_like(&self, other: &Self) -> bool {
        [&self.test, &self.space, &self.load, &self.target] == [&other.test, &other.space, &other.load, &other.target]
    }
}

/// A command, and why it is the next.
type Step = (String, String);

/// Says what to do next, and lists the commands.
pub(crate) fn run() -> Result<Code, Failure> {
    let mut text = String::from("Next on this machine:\n");
    for (command, why) in steps(&check::here(check::PRIORITY).1, &newest()) {
        text += &format!("  {command}\n      {why}\n");
    }
    let help = crate::args::command().render_help().to_string();
    let commands = help.split_once("\nCommands:\n").map_or(&*help, |c| c.1).split("\n\n").next().unwrap_or_default();
    text += &format!(
        "\nCommands:\n{}\n\n`rtscope COMMAND -h` shows a command's examples and options, `rtscope --help` those of all.\n",
        commands.trim_end()
    );
    output::result(&text)?;
    Ok(Code::Done)
}

/// Runs that are looked at.
const LOOKED_AT: u32 = 100;

/// The newest runs, newest first; none if there is no archive, or none that can be read: this is no place to fail.
fn newest() -> Vec<Run> {
    let archive = std::env::var_os("RTSCOPE_ARCHIVE").map(Into::into);
    let Ok(context) = Context::new(&Global { archive, memory_limit: Size(1 << 30), quiet: true }) else { return Vec::new() };
    let Ok(archive) = rtscope_archive::Archive::open_existing(&context.archive) else { return Vec::new() };
    let mut found = Vec::new();
    let filter = Filter { limit: Some(LOOKED_AT), ..Filter::default() };
    let _ = archive.each_summary(&filter, |s| {
        found.extend(s.map(Run::of));
        Ok::<(), rtscope_archive::ArchiveError>(())
    });
    found
}

/// The three steps, from what is found on the machine and the newest runs.
fn steps(findings: &[Warning], runs: &[Run]) -> Vec<Step> {
    let mut steps = Vec::new();
    let grave = |effect| findings.iter().filter(move |f| f.effect == effect);
    if let Some(f) = grave(Effect::Invalid).next() {
        steps.push(("rtscope check".into(), format!("{}, which makes every run INVALID: {}. {}", f.code, f.message, f.remedy)));
    } else if grave(Effect::Inconclusive).next().is_some() {
        let codes: Vec<&str> = grave(Effect::Inconclusive).map(|f| f.code.as_str()).collect();
        steps.push((
            "rtscope check".into(),
            format!("{} keeps runs here from being VALID: what it is, and what mends it", codes.join(", ")),
        ));
    }
    match runs {
        [] => {
            steps.push(("rtscope measure timer -D 10s".into(), "nothing was measured yet: every CPU for ten seconds".into()));
            steps.push((
                "rtscope measure timer -D 5s --load all".into(),
                "under each load in turn, which is where latencies are".into(),
            ));
        }
        [last, earlier @ ..] => {
            let what = format!("the latest run, {} under {}: {}", last.test, last.load, last.verdict);
            steps.push((format!("rtscope show {}", last.id), format!("{what}; percentiles, worst samples, warnings")));
            steps.push(match earlier.iter().find(|r| r.is_like(last)) {
                Some(before) => (
                    format!("rtscope compare {} {}", before.id, last.id),
                    "the run before it under the same load, beside it".into(),
                ),
                None => beside(last, earlier),
            });
        }
    }
    if let ([_, _, ..], true) = (runs, steps.len() < STEPS) {
        let n = runs.len().min(MOST);
        steps.push((format!("rtscope report last={n} -o report.html"), format!("the last {n} runs as one page")));
    }
    if steps.len() < STEPS {
        steps.push((
            "rtscope measure timer -D 5s --target lab:debian/6.12-rt".into(),
            "a PREEMPT_RT kernel in a virtual machine: the same figures any day".into(),
        ));
    }
    steps.truncate(STEPS);
    steps
}

/// A run to lay beside `last`, as a command that can be typed as it is: the timer test needs neither lines nor wires.
fn beside(last: &Run, earlier: &[Run]) -> Step {
    let elsewhere = ["lab:", "ssh:"].iter().any(|kind| last.target.starts_with(kind));
    let target = if elsewhere { format!(" --target {}", last.target) } else { String::new() };
    let taken = |load: &str| {
        std::iter::once(last).chain(earlier).any(|r| r.test == "timer" && r.load == load && (!elsewhere || r.target == last.target))
    };
    let (load, why) = if !taken("none") {
        ("", "the same machine without a load: what the load adds")
    } else if !taken("full") {
        (" --load full", "under load the latencies are others")
    } else {
        (" --load all", "under each load in turn, which is where latencies are")
    };
    (format!("rtscope measure timer -D 10s{load}{target}"), why.into())
}

const STEPS: usize = 3;
/// Runs of the page that is proposed.
const MOST: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(findings: &[Warning], runs: &[Run]) -> Vec<String> {
        steps(findings, runs).into_iter().map(|s| s.0).collect()
    }

    fn kept(load: &str) -> Run {
        Run {
            id: format!("20261121T080000Z-{load}"),
            test: "timer".into(),
            space: "user".into(),
            load: load.into(),
            target: "local".into(),
            verdict: "VALID".into(),
        }
    }

    #[test]
    fn every_command_can_be_typed_as_it_is() {
        let line = |run: Run| Run { test: "response".into(), ..run };
        let guest = |run: Run| Run { target: "lab:debian/6.12-rt".into(), ..run };
        let of_all = ["none", "full", "disk"].map(kept).to_vec();
        for runs in [vec![], vec![kept("full")], vec![line(kept("none"))], vec![guest(kept("disk")), kept("disk")], of_all] {
            for command in commands(&[], &runs) {
                let parsed = crate::args::parse(command.split(' ').map(str::to_owned));
                assert!(parsed.is_ok(), "{command}: {parsed:?}");
            }
        }
        assert_eq!(commands(&[], &[kept("full")])[1], "rtscope measure timer -D 10s");
        let other = commands(&[], &[guest(kept("none")), kept("none")]);
        assert_eq!(other[1], "rtscope measure timer -D 10s --load full --target lab:debian/6.12-rt");
    }

    #[test]
    fn the_steps_follow_from_what_is_there() {
        let bad = Warning::new("priority", Effect::Invalid, "SCHED_FIFO 95 is not permitted", "ulimit -r 95");
        assert_eq!(commands(&[], &[])[0], "rtscope measure timer -D 10s");
        let first = &steps(std::slice::from_ref(&bad), &[])[0];
        assert!(first.0 == "rtscope check" && first.1.contains("ulimit -r 95"), "{first:?}");
        let (disk, none) = (kept("disk"), kept("none"));
        let two = commands(&[], &[disk.clone(), none.clone()]);
        assert!(
            two[0].starts_with("rtscope show ")
                && two[1].contains("--load full")
                && two[2] == "rtscope report last=2 -o report.html",
            "{two:?}"
        );
        assert!(commands(&[], &[disk.clone(), none, disk])[1].starts_with("rtscope compare "));
        for runs in [vec![], vec![kept("none")]] {
            assert_eq!(commands(&[], &runs).len(), STEPS);
            assert_eq!(commands(std::slice::from_ref(&bad), &runs).len(), STEPS);
        }
    }
}
