//! stress-ng: any number of stressors, one or more workers for each.

use super::tool::{Achieved, ArgumentsJob, Paths, Refused, Said, Seen, Tool, WithArguments, Workers, figure};
use std::collections::BTreeMap;

/// The run time given to stress-ng, s. Not 0 (endless): with that, some stressors of 0.15 end at once (fpunch).
const A_YEAR: &str = "31536000";
/// CPU time after which its workers count as at work, ns.
const AT_WORK_NS: u64 = 20_000_000;
/// Free space needed for a user's own stressors, MiB. What they write is not known in advance; they are ended
/// when too little space is left.
const OWN_DISK_MIB: u64 = 128;

/// How many left out stressors are kept, and how much of a reason, characters: stress-ng has some 350 stressors.
const LEFT_OUT: usize = 1024;
const REASON: usize = 160;

/// Long options that are refused, with the reason. getopt accepts any unambiguous abbreviation, so
/// abbreviations are refused too.
const REFUSED: &[(&str, &str)] = &[
    ("timeout", "rtscope ends the load together with the measurement"),
    ("metrics", "rtscope asks for the metrics itself"),
    ("metrics-brief", "it hides stressors that did nothing"),
    ("yaml", "rtscope reads the metrics from a file of its own"),
    ("temp-path", "rtscope gives the load a directory that it removes afterwards"),
    ("log-file", "it writes outside of the load's directory"),
    ("log-lockless", "rtscope reads the log"),
    ("job", "a job file could hold any of the other refused options"),
    ("dry-run", "nothing would run"),
    ("help", "nothing would run"),
    ("version", "nothing would run"),
    ("stressors", "nothing would run"),
    ("verifiable", "nothing would run"),
    ("buildinfo", "nothing would run"),
    ("keep-files", "nothing of a load may survive the run"),
    ("pathological", "these stressors are known to hang a machine"),
    ("ignite-cpu", "it changes the machine's settings, and leaves them changed when it is killed"),
    ("ftrace", "it turns on kernel tracing, and leaves it on when it is killed"),
    ("cpu-online", "it takes CPUs away from the measuring threads, and leaves them off when it is killed"),
    ("swap", "it adds swap space, and leaves it when it is killed"),
    ("reboot", "it asks the kernel to restart"),
];

/// Short options that are refused, by the long name of the same option.
const REFUSED_SHORT: &[(char, &str)] =
    &[('t', "timeout"), ('M', "metrics"), ('Y', "yaml"), ('j', "job"), ('n', "dry-run"), ('h', "help"), ('V', "version")];

/// Stressors whose whole name is also the beginning of a refused option.
const STRESSORS: &[&str] = &["cpu"];

/// Short options without an argument: the next character of the same word is another option.
const SHORT_FLAGS: &str = "hkMnqvV";

/// stress-ng.
#[derive(Debug)]
pub(crate) struct StressNg;

impl Tool for StressNg {
    fn program(&self) -> &'static str {
        "stress-ng"
    }

    fn in_guests(&self) -> Option<&'static str> {
        Some("/usr/bin/stress-ng")
    }

    fn own(&self) -> Option<&'static WithArguments> {
        Some(&WithArguments { about: "stress-ng with your own arguments, such as 'stress-ng:--cpu 2 --vm 1'", read: own })
    }

    fn command(&self, args: &[String], paths: &Paths<'_>) -> Vec<String> {
        let ours = ["--timeout", A_YEAR, "--metrics", "--yaml"].map(str::to_owned);
        let places = [paths.figures.display().to_string(), "--temp-path".into(), paths.dir.display().to_string()];
        args.iter().cloned().chain(ours).chain(places).collect()
    }

    /// stress-ng prints its errors on standard output; the figures go to a file.
    fn prints_figures(&self) -> bool {
        false
    }

    fn not_at_work(&self, seen: &Seen<'_>) -> Option<String> {
        seen.children_not_at_work(AT_WORK_NS)
    }

    fn account(&self, seen: &Seen<'_>) -> Option<(&'static str, f64)> {
        Some(("stress-ng.cpu_seconds", seen.cpu_seconds()))
    }

    fn workers(&self) -> Workers {
        Workers::Children
    }

    fn said(&self, text: &str) -> Said {
        Said { achieved: figures(text), error: None }
    }

    fn left_out(&self, log: &str) -> BTreeMap<String, String> {
        log.lines().filter_map(skipped).take(LEFT_OUT).collect()
    }

    fn ends_with(&self, exit_code: Option<i32>) -> bool {
        exit_code == Some(0)
    }

    fn by_hand(&self) -> &'static str {
        "run the command by hand to see what it lacks"
    }
}

fn own(words: &[String]) -> Result<ArgumentsJob, Refused> {
    check(words)?;
    Ok(ArgumentsJob { args: words.to_vec(), workers: 1, disk_mib: OWN_DISK_MIB })
}

/// Refuses what would break the proof, escape the load's directory, or outlive the run.
fn check(words: &[String]) -> Result<(), Refused> {
    if !words.iter().any(|w| w.starts_with('-') && w.len() > 1) {
        return Refused::because(&words.join(" "), "it names no stressor: write for example stress-ng:--cpu 2");
    }
    for word in words {
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or_default();
            if name.is_empty() {
                return Refused::because(word, "it is not an option");
            }
            let refused = REFUSED.iter().find(|(n, _)| n.starts_with(name) && !STRESSORS.contains(&name));
            if let Some((_, reason)) = refused {
                return Refused::because(word, reason);
            }
        } else if let Some(short) = word.strip_prefix('-') {
            for c in short.chars() {
                let refused = REFUSED_SHORT.iter().find(|(s, _)| *s == c).and_then(|(_, l)| REFUSED.iter().find(|(n, _)| n == l));
                if let Some((_, reason)) = refused {
                    return Refused::because(word, reason);
                }
                if !SHORT_FLAGS.contains(c) {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Reads the `metrics:` section that `stress-ng --metrics --yaml FILE` writes (0.09 to 0.19): `NAME.bogo_ops`
/// and `NAME.bogo_ops_per_s` (by wall clock) for each stressor. The file is simple enough to be read line by
/// line; other sections and keys are skipped. A stressor listed twice is added up.
pub(super) fn figures(yaml: &str) -> Achieved {
    let mut achieved = Achieved::new();
    let mut in_metrics = false;
    let mut stressor = None::<String>;
    for line in yaml.lines().filter(|l| !l.trim().is_empty()) {
        if !line.starts_with([' ', '-', '\t']) {
            in_metrics = line.trim_end() == "metrics:";
            stressor = None;
            continue;
        }
        let item = line.trim().trim_start_matches("- ");
        let (true, Some((key, value))) = (in_metrics, item.split_once(':')) else { continue };
        let value = value.trim().trim_matches(['\'', '"']);
        let unit = match key.trim() {
            "stressor" => {
                stressor = Some(value.into()).filter(|v: &String| !v.is_empty());
                continue;
            }
            "bogo-ops" => "bogo_ops",
            "bogo-ops-per-second-real-time" => "bogo_ops_per_s",
            _ => continue,
        };
        if let (Some(name), Some(figure)) = (&stressor, value.parse().ok().and_then(figure)) {
            *achieved.entry(format!("{name}.{unit}")).or_insert(0.0) += figure;
        }
    }
    achieved
}

/// A line of the log by which stress-ng (0.15 to 0.19) says that it leaves a stressor out: its name and the reason.
fn skipped(line: &str) -> Option<(String, String)> {
    let (_, said) = line.split_once(" info: ")?;
    let (_, said) = said.split_once("] ")?;
    // Before it starts them: what it cannot run here, and what may hang the machine.
    let (name, reason) = said
        .split_once(" stressor will be skipped, ")
        .or_else(|| said.strip_prefix("disabled '")?.split_once("' as "))
        // Once started: "NAME: REASON, skipping stressor" or "skipping stress test".
        .or_else(|| said.rsplit_once(", skipping stress")?.0.split_once(": "))?;
    let is_name = !name.is_empty() && name.len() <= 32 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    is_name.then(|| (name.to_owned(), reason.chars().take(REASON).collect()))
}

#[cfg(test)]
#[path = "stress_ng_tests.rs"]
mod tests;
