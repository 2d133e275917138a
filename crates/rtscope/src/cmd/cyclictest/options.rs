//! cyclictest's option syntax and habits: bundled short options, and arguments that may be separate words even if they are
//! optional.

use super::words::{
    NOT_PROVIDED, bins, cpu_set, duration, from_zero, integer, is_cpu_set, is_number, natural, number, optional, policy, usage,
    value, whole,
};
use lexopt::{Arg, Parser};
use rtscope_archive::formats::cyclictest::Dialect;
use rtscope_failure::Failure;
use rtscope_record::{Nanos, Policy, Settings};
use std::ffi::OsString;
use std::path::PathBuf;

/// The options, before the machine's CPUs are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    affinity: Affinity,
    aligned: Option<u64>,
    break_us: Option<u64>,
    distance_us: u64,
    duration: Option<Nanos>,
    pub(super) histogram: Option<u64>,
    pub(super) sum: bool,
    pub(super) histfile: Option<PathBuf>,
    interval_us: u64,
    pub(super) json: Option<PathBuf>,
    hold_dma_latency: bool,
    loops: u64,
    mlockall: bool,
    pub(super) nanoseconds: bool,
    priority: u8,
    policy: Policy,
    /// The policy as cyclictest prints it, which has names for some that it does not set.
    policy_name: &'static str,
    priospread: bool,
    pub(super) quiet: bool,
    threads: Threads,
    pub(super) verbose: bool,
    pub(super) dialect: Dialect,
    pub(super) load: String,
    pub(super) help: bool,
    pub(super) version: bool,
    /// What was taken in another way than it was perhaps meant: said on standard error.
    pub(super) notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Affinity {
    /// The CPUs that this process may use: also without `-a`, as cyclictest pins its threads in any case.
    Allowed,
    Set(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Threads {
    Number(u32),
    PerCpu,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            affinity: Affinity::Allowed,
            aligned: None,
            break_us: None,
            distance_us: 500,
            duration: None,
            histogram: None,
            sum: false,
            histfile: None,
            interval_us: 1000,
            json: None,
            hold_dma_latency: true,
            loops: 0,
            mlockall: false,
            nanoseconds: false,
            priority: 0,
            policy: Policy::Other,
            policy_name: "other",
            priospread: false,
            quiet: false,
            threads: Threads::Number(1),
            verbose: false,
            dialect: Dialect::A,
            load: "unknown".into(),
            help: false,
            version: false,
            notes: Vec::new(),
        }
    }
}

/// The number of threads. Where cyclictest takes `per_cpu` for one on each CPU.
fn threads(text: &str, per_cpu: i64, notes: &mut Vec<String>) -> Result<Threads, Failure> {
    let n = integer(text, "-t", notes)?;
    match u32::try_from(n) {
        _ if n == per_cpu => Ok(Threads::PerCpu),
        Ok(n) if n > 0 => Ok(Threads::Number(n)),
        _ => Err(usage(format!("-t: {n} threads are none to measure with"))),
    }
}

impl Options {
    /// Parses the options that follow `cyclictest`.
    pub(super) fn parse(words: Vec<OsString>) -> Result<Self, Failure> {
        let mut o = Self::default();
        let mut parser = Parser::from_args(words);
        let (mut smp, mut affinity, mut second, mut oscope) = (false, false, false, 1);
        let (mut distance, mut named) = (None, None);
        while let Some(arg) = parser.next().map_err(|e| usage(e.to_string()))? {
            // Owned, so that the parser can be used for the argument.
            let name = match &arg {
                Arg::Short(c) => c.to_string(),
                Arg::Long(l) => whole(l)?.to_owned(),
                // Words that are no options are passed over by getopt, and so by cyclictest.
                Arg::Value(v) => {
                    if !v.is_empty() {
                        o.notes.push(format!("`{}` is not an option: passed over, as by cyclictest", v.to_string_lossy()));
                    }
                    continue;
                }
            };
            let text = |v: OsString| v.to_string_lossy().into_owned();
            match name.as_str() {
                "a" | "affinity" => {
                    affinity = true;
                    match optional(&mut parser, is_cpu_set) {
                        _ if smp => o.notes.push("-a has no effect after -S".into()),
                        Some(set) => o.affinity = Affinity::Set(text(set).trim().to_owned()),
                        None => o.affinity = Affinity::Allowed,
                    }
                }
                "A" | "aligned" => {
                    let value = optional(&mut parser, is_number);
                    o.aligned = Some(value.map_or(Ok(0), |v| natural(&text(v), "-A", &mut o.notes))?);
                }
                "b" | "breaktrace" => o.break_us = Some(from_zero(&mut parser, "-b", &mut o.notes)?),
                "c" | "clock" => {
                    if number(&mut parser, "-c", &mut o.notes)? != 0 {
                        return Err(Failure::usage("only CLOCK_MONOTONIC (-c 0) is measured", "leave -c out"));
                    }
                }
                "d" | "distance" => {
                    let text = value(&mut parser)?;
                    // -1 is how cyclictest notes that there is none.
                    let none = integer(&text, "-d", &mut Vec::new())? == -1;
                    distance = if none { None } else { Some(natural(&text, "-d", &mut o.notes)?) };
                }
                "D" | "duration" => o.duration = duration(&value(&mut parser)?, &mut o.notes)?,
                "h" | "histogram" => {
                    let n = number(&mut parser, "-h", &mut o.notes)?;
                    o.histogram = Some(bins(n, &mut o.notes)?);
                }
                "H" | "histofall" => {
                    let n = number(&mut parser, "-H", &mut o.notes)?;
                    o.histogram = Some(bins(n, &mut o.notes)?);
                    o.sum = true;
                }
                "histfile" => o.histfile = Some(parser.value().map_err(|e| usage(e.to_string()))?.into()),
                "i" | "interval" => o.interval_us = number(&mut parser, "-i", &mut o.notes)?,
                "json" => o.json = Some(parser.value().map_err(|e| usage(e.to_string()))?.into()),
                "l" | "loops" => o.loops = from_zero(&mut parser, "-l", &mut o.notes)?,
                "latency" => o.hold_dma_latency = from_zero(&mut parser, "--latency", &mut o.notes)? == 0,
                "laptop" | "default-system" => o.hold_dma_latency = false,
                "m" | "mlockall" => o.mlockall = true,
                "N" | "nsecs" => o.nanoseconds = true,
                "p" | "prio" | "priority" => {
                    let p = number(&mut parser, "-p", &mut o.notes)?;
                    o.priority =
                        u8::try_from(p).ok().filter(|&p| p <= 99).ok_or_else(|| usage(format!("-p: {p} is not 0 to 99")))?;
                    if !o.policy.has_priority() {
                        (o.policy, o.policy_name) = (Policy::Fifo, "fifo");
                    }
                }
                "y" | "policy" => {
                    let name = value(&mut parser)?;
                    (o.policy, o.policy_name) = policy(&name);
                    named = Some(name);
                }
                "priospread" | "Q" => o.priospread = true,
                "q" | "quiet" => o.quiet = true,
                "S" | "smp" => {
                    if affinity && !smp {
                        return Err(Failure::usage(
                            "-S after -a is refused, as by cyclictest",
                            "leave -a out: -S pins a thread to each CPU",
                        ));
                    }
                    smp = true;
                    o.threads = Threads::PerCpu;
                }
                "t" | "threads" => {
                    let attached = parser.optional_value();
                    let separate = attached.is_none().then(|| optional(&mut parser, is_number)).flatten();
                    if smp {
                        o.notes.push("-t has no effect after -S".into());
                        continue;
                    }
                    o.threads = match (&attached, separate) {
                        (None, None) => Threads::PerCpu,
                        (_, Some(n)) => threads(&text(n), 0, &mut o.notes)?,
                        (Some(n), None) => threads(&n.to_string_lossy(), -1, &mut o.notes)?,
                    };
                }
                "v" | "verbose" => o.verbose = true,
                "help" => o.help = true,
                "V" | "version" => o.version = true,
                // Accepted for compatibility: sleeps are always absolute, and every line is flushed.
                "n" | "nanosleep" | "u" | "unbuffered" => {}
                "M" | "refresh_on_max" => o.no_effect("-M"),
                "dbg_cyclictest" => o.no_effect("--dbg_cyclictest"),
                // Marks in the kernel's trace change no figure.
                "tracemark" => o.no_effect("--tracemark"),
                "R" | "resolution" => o.no_effect("-R"),
                // All threads start on one instant, whichever that is.
                "secaligned" => {
                    optional(&mut parser, is_number);
                    second = true;
                    o.no_effect("--secaligned");
                }
                "o" | "oscope" => {
                    oscope = number(&mut parser, "-o", &mut o.notes)?;
                    o.no_effect("-o");
                }
                "mainaffinity" => {
                    value(&mut parser)?;
                    o.no_effect("--mainaffinity");
                }
                // rtscope's own options.
                "rtscope-dialect" => {
                    let value = value(&mut parser)?;
                    o.dialect = match value.as_str() {
                        "A" | "a" => Dialect::A,
                        "B" | "b" => Dialect::B,
                        _ => return Err(usage("--rtscope-dialect takes A (as up to rt-tests 2.6) or B (2.7 and later)")),
                    };
                }
                "rtscope-load" => {
                    let value = value(&mut parser)?;
                    o.load = crate::args::values::name(&value).map_err(|e| usage(format!("--rtscope-load: {e}")))?;
                }
                known if NOT_PROVIDED.contains(&known) => {
                    let dashes = if known.len() == 1 { "-" } else { "--" };
                    let message = format!("cyclictest's {dashes}{known} is not provided: its figures would mean something else");
                    return Err(Failure::usage(message, "leave it out, or run cyclictest and `rtscope import` its output"));
                }
                other => return Err(usage(format!("cyclictest has no option `{other}`"))),
            }
        }
        if oscope == 0 || oscope > 1 && !o.verbose {
            return Err(usage("-o is 1, or more with -v"));
        }
        if second && o.aligned.is_some() {
            return Err(usage("-A and --secaligned exclude each other"));
        }
        if o.histogram.is_some() && distance.is_some() {
            o.notes.push("-d has no effect with a histogram".into());
        }
        o.distance_us = distance.unwrap_or(o.distance_us);
        if (o.priority > 0 || o.priospread) && !o.policy.has_priority() {
            (o.policy, o.policy_name) = (Policy::Fifo, "fifo");
        }
        if let Some(name) = named.filter(|n| !n.eq_ignore_ascii_case(o.policy.as_str())) {
            let note = format!("--policy={name}: the policy is SCHED_{}, as in cyclictest", o.policy.as_str().to_uppercase());
            o.notes.push(note);
        }
        Ok(o)
    }

    /// The policy as cyclictest prints it.
    pub(super) fn policy_line(&self) -> String {
        if self.policy.has_priority() { self.policy_name.into() } else { format!("{}/other", self.policy_name) }
    }

    /// The priority of `settings`, if it was left to cyclictest to choose.
    pub(super) fn chosen(&self, settings: &Settings) -> Option<u8> {
        Some(settings.priority).filter(|&p| p > 0 && self.priority == 0)
    }

    fn no_effect(&mut self, name: &str) {
        self.notes.push(format!("{name} has no effect here"));
    }

    /// The settings on a machine with the CPUs `all`, of which this process may use `allowed`.
    pub(super) fn settings(&self, allowed: &[u32], all: &[u32], command: Vec<String>) -> Result<Settings, Failure> {
        let us = |n: u64, name: &str| Nanos::from_micros(n).ok_or_else(|| usage(format!("{name}: {n} us is too long")));
        let cpus = match &self.affinity {
            Affinity::Allowed => allowed.to_vec(),
            Affinity::Set(set) => cpu_set(set, allowed, all)?,
        };
        let threads = match self.threads {
            Threads::Number(n) => n,
            Threads::PerCpu => u32::try_from(cpus.len()).unwrap_or(1),
        };
        // As cyclictest chooses it.
        let default = u8::try_from(threads.saturating_add(1)).unwrap_or(99).min(99);
        let priority = match (self.policy.has_priority(), self.priority) {
            (false, _) => 0,
            (true, 0) => default,
            (true, own) => own,
        };
        if self.priospread && u32::from(priority) < threads {
            let message = format!("--priospread: with {threads} threads from priority {priority} on the last has none left");
            return Err(Failure::usage(message, format!("-p {threads} or more")));
        }
        // Threads of a histogram share one interval, as in cyclictest.
        let distance = if self.histogram.is_some() { 0 } else { self.distance_us };
        Ok(Settings {
            interval: us(self.interval_us, "-i")?,
            distance: us(distance, "-d")?,
            start_offset: us(self.aligned.unwrap_or(0), "-A")?,
            duration: self.duration,
            loops: (self.loops > 0).then_some(self.loops),
            threads,
            migrate: false,
            cpus,
            policy: self.policy,
            priority,
            priority_descends: self.priospread,
            mlockall: self.mlockall,
            hold_dma_latency: self.hold_dma_latency,
            break_above: self.break_us.filter(|&n| n > 0).map(|n| us(n, "-b")).transpose()?,
            linear_bins: self.histogram.map(|n| (n, if self.nanoseconds { 1 } else { 1000 })),
            samples: self.verbose,
            command,
            ..Settings::default()
        })
    }
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
