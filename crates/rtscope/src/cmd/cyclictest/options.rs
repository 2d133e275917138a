//! cyclictest's option syntax and habits: bundled short options, and arguments that may be separate words even if they are
//! optional.

use crate::cmd::run::cpus;
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

fn usage(message: impl Into<String>) -> Failure {
    Failure::usage(message, "rtscope cyclictest --help")
}

/// An optional argument as getopt and cyclictest take it: attached, or the next word if `looks` accepts it.
fn optional(parser: &mut Parser, looks: impl Fn(&str) -> bool) -> Option<OsString> {
    if let Some(attached) = parser.optional_value() {
        return Some(attached);
    }
    let next = parser.try_raw_args().is_some_and(|raw| raw.peek().and_then(|n| n.to_str()).is_some_and(&looks));
    if next { parser.value().ok() } else { None }
}

/// A number as `atoi` reads it, which cyclictest uses, and what follows it: blanks before it are passed over.
fn atoi(text: &str) -> (Option<i64>, &str) {
    let own = text.trim_start();
    let sign = usize::from(own.starts_with(['-', '+']));
    let (read, rest) = own.split_at(sign + own[sign..].bytes().take_while(u8::is_ascii_digit).count());
    (read.parse().ok(), rest)
}

/// Whether cyclictest takes a word of its own for the number that an option may have.
fn is_number(word: &str) -> bool {
    let digits = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    digits || !word.starts_with('-') && atoi(word).0.is_some_and(|n| n != 0)
}

/// A number with anything after it, which is passed over. Without a digit it is refused, where cyclictest takes 0.
fn integer(text: &str, name: &str, notes: &mut Vec<String>) -> Result<i64, Failure> {
    let own = text.trim();
    let (number, rest) = atoi(own);
    let number = number.ok_or_else(|| usage(format!("{name}: `{own}` is not a number")))?;
    if !rest.is_empty() {
        notes.push(format!("{name}: `{own}` is read as {number}, as by cyclictest"));
    }
    Ok(number)
}

/// The same where nothing below 0 can be meant.
fn natural(text: &str, name: &str, notes: &mut Vec<String>) -> Result<u64, Failure> {
    let number = integer(text, name, notes)?;
    u64::try_from(number).map_err(|_| usage(format!("{name}: {number} is negative")))
}

fn value(parser: &mut Parser) -> Result<String, Failure> {
    let value = parser.value().map_err(|e| usage(e.to_string()))?;
    Ok(value.to_string_lossy().into_owned())
}

fn number(parser: &mut Parser, name: &str, notes: &mut Vec<String>) -> Result<u64, Failure> {
    natural(&value(parser)?, name, notes)
}

/// The same where cyclictest takes whatever is negative for 0.
fn from_zero(parser: &mut Parser, name: &str, notes: &mut Vec<String>) -> Result<u64, Failure> {
    let number = integer(&value(parser)?, name, notes)?;
    if number < 0 {
        notes.push(format!("{name}: {number} is taken for 0, as by cyclictest"));
    }
    Ok(u64::try_from(number).unwrap_or(0))
}

/// `-D`: a number and the one character behind it, as cyclictest reads them: `500ms` are minutes. 0 is no limit.
fn duration(text: &str, notes: &mut Vec<String>) -> Result<Option<Nanos>, Failure> {
    let own = text.trim();
    let (number, rest) = atoi(own);
    let number = number.ok_or_else(|| usage(format!("-D: `{own}` is not a number")))?;
    let number = u64::try_from(number).map_err(|_| usage(format!("-D: {number} is negative")))?;
    let (scale, unit) = match rest.chars().next() {
        Some('m' | 'M') => (60, "min"),
        Some('h' | 'H') => (3600, "h"),
        Some('d' | 'D') => (86_400, "d"),
        _ => (1, "s"),
    };
    if rest.len() > 1 || (scale == 1 && !["", "s"].contains(&rest)) {
        notes.push(format!("-D: `{own}` is read as {number} {unit}, as by cyclictest"));
    }
    let time = number.checked_mul(scale * Nanos::PER_SEC).ok_or_else(|| usage(format!("-D: {own} is too long")))?;
    Ok(Some(Nanos(time)).filter(|t| t.0 > 0))
}

/// cyclictest's long options that may be written shorter; getopt takes any beginning that only one of them has.
const LONG: [&str; 40] = [
    "affinity",
    "aligned",
    "breaktrace",
    "clock",
    "dbg_cyclictest",
    "default-system",
    "distance",
    "duration",
    "fifo",
    "help",
    "histfile",
    "histofall",
    "histogram",
    "interval",
    "json",
    "laptop",
    "latency",
    "loops",
    "mainaffinity",
    "mlockall",
    "nsecs",
    "oscope",
    "policy",
    "posix_timers",
    "priority",
    "priospread",
    "quiet",
    "refresh_on_max",
    "relative",
    "resolution",
    "secaligned",
    "smi",
    "smp",
    "spike",
    "spike-nodes",
    "system",
    "threads",
    "tracemark",
    "unbuffered",
    "verbose",
];

/// cyclictest's options that are refused, with other names of them after a short one.
const NOT_PROVIDED: [&str; 15] = [
    "F",
    "fifo",
    "r",
    "relative",
    "s",
    "system",
    "U",
    "x",
    "posix_timers",
    "X",
    "deepest-idle-state",
    "numa",
    "smi",
    "spike",
    "spike-nodes",
];

/// The long option that `word` is the beginning of, or `word` itself.
fn whole(word: &str) -> Result<&str, Failure> {
    let mut all = LONG.iter().filter(|l| l.starts_with(word));
    match (LONG.contains(&word), all.next(), all.next()) {
        (false, Some(one), None) => Ok(one),
        (false, Some(one), Some(other)) => Err(usage(format!("`--{word}` may be --{one} or --{other}"))),
        _ => Ok(word),
    }
}

/// Most bins of a histogram, as in cyclictest.
const MOST_BINS: u64 = 1_000_000;

/// The bins of a histogram, of which there must be some.
fn bins(n: u64, notes: &mut Vec<String>) -> Result<u64, Failure> {
    if n > MOST_BINS {
        notes.push(format!("a histogram has {MOST_BINS} bins at most, as in cyclictest"));
    }
    if n > 0 { Ok(n.min(MOST_BINS)) } else { Err(usage("a histogram has one bin at least")) }
}

/// Whether cyclictest takes a word of its own for a CPU set.
fn is_cpu_set(word: &str) -> bool {
    word.starts_with(['0', '!', '+', 'a']) || is_number(word)
}

/// The policy of a name and what cyclictest calls it. It looks at the beginning only, in either case, sets three, and takes what it
/// does not know for `other`.
fn policy(name: &str) -> (Policy, &'static str) {
    let known =
        [("other", Policy::Other), ("batch", Policy::Other), ("idle", Policy::Other), ("fifo", Policy::Fifo), ("rr", Policy::Rr)];
    let begins = |known: &str| name.get(..known.len()).is_some_and(|n| n.eq_ignore_ascii_case(known));
    let (own, policy) = known.into_iter().find(|(known, _)| begins(known)).unwrap_or(known[0]);
    (policy, own)
}

/// The CPUs of a set: a list, `all`, or either after `!` (all but these) or `+`, which leave out those that this process may not
/// use. Threads are dealt out in the order of the CPUs.
fn cpu_set(set: &str, allowed: &[u32], all: &[u32]) -> Result<Vec<u32>, Failure> {
    let (list, sign) = match set.strip_prefix(['!', '+']) {
        Some(list) => (list, set.chars().next()),
        None => (set, None),
    };
    let mut named = if list == "all" { all.to_vec() } else { cpus(Some(&list.into()))? };
    match sign {
        Some('!') => named = allowed.iter().copied().filter(|c| !named.contains(c)).collect(),
        Some(_) => named.retain(|c| allowed.contains(c)),
        None => {}
    }
    named.sort_unstable();
    named.dedup();
    if named.is_empty() { Err(usage(format!("-a: no CPU is left of `{set}`"))) } else { Ok(named) }
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
