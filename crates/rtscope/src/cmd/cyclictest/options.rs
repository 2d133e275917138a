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
    policy: Option<Policy>,
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
    Free,
    All,
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
            affinity: Affinity::Free,
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
            policy: None,
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

/// A number as `atoi` reads it, which cyclictest uses: blanks before it and anything after it are passed over. Without a digit it is
/// refused, where cyclictest takes 0.
fn digits(text: &str, name: &str, notes: &mut Vec<String>) -> Result<u64, Failure> {
    let own = text.trim();
    let end = own.bytes().take_while(u8::is_ascii_digit).count();
    let (read, rest) = own.split_at(end);
    let number = read.parse().map_err(|_| usage(format!("{name}: `{own}` is not a number")))?;
    if !rest.is_empty() {
        notes.push(format!("{name}: `{own}` is read as {number}, as by cyclictest"));
    }
    Ok(number)
}

fn number(parser: &mut Parser, name: &str, notes: &mut Vec<String>) -> Result<u64, Failure> {
    let value = parser.value().map_err(|e| usage(e.to_string()))?;
    digits(&value.to_string_lossy(), name, notes)
}

/// `-D`: seconds, or a number with s, m, h or d; other words as cyclictest reads them: the whole number before anything else is
/// seconds. 0 is no limit.
fn duration(text: &str, notes: &mut Vec<String>) -> Result<Option<Nanos>, Failure> {
    let time = match rtscope_record::units::seconds(text.trim()) {
        Ok(time) => time,
        Err(_) => {
            let seconds = digits(text, "-D", notes)?;
            Nanos(seconds.checked_mul(Nanos::PER_SEC).ok_or_else(|| usage(format!("-D: {seconds} s is too long")))?)
        }
    };
    Ok(Some(time).filter(|t| t.0 > 0))
}

/// cyclictest's long options that may be written shorter; getopt takes any beginning that only one of them has.
const LONG: [&str; 37] = [
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
    "threads",
    "tracemark",
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

/// The bins of a histogram, of which there must be some.
fn bins(n: u64) -> Result<u64, Failure> {
    if n > 0 { Ok(n) } else { Err(usage("a histogram has one bin at least")) }
}

/// Whether a word looks like a CPU set that names at least one CPU.
fn is_cpu_set(word: &str) -> bool {
    word == "all" || word.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '!')
}

impl Options {
    /// Parses the options that follow `cyclictest`.
    pub(super) fn parse(words: Vec<OsString>) -> Result<Self, Failure> {
        let mut o = Self::default();
        let mut parser = Parser::from_args(words);
        let mut smp = false;
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
                "a" | "affinity" => match optional(&mut parser, is_cpu_set) {
                    _ if smp => o.notes.push("-a has no effect after -S".into()),
                    Some(set) if text(set.clone()).trim() == "all" => o.affinity = Affinity::All,
                    Some(set) => o.affinity = Affinity::Set(text(set).trim().to_owned()),
                    None => o.affinity = Affinity::All,
                },
                "A" | "aligned" => {
                    let value = optional(&mut parser, |w| w.bytes().all(|b| b.is_ascii_digit()));
                    o.aligned = Some(value.map_or(Ok(0), |v| digits(&text(v), "-A", &mut o.notes))?);
                }
                "b" | "breaktrace" => o.break_us = Some(number(&mut parser, "-b", &mut o.notes)?),
                "c" | "clock" => {
                    if number(&mut parser, "-c", &mut o.notes)? != 0 {
                        return Err(Failure::usage("only CLOCK_MONOTONIC (-c 0) is measured", "leave -c out"));
                    }
                }
                "d" | "distance" => o.distance_us = number(&mut parser, "-d", &mut o.notes)?,
                "D" | "duration" => {
                    let value = parser.value().map_err(|e| usage(e.to_string()))?;
                    o.duration = duration(&text(value), &mut o.notes)?;
                }
                "h" | "histogram" => o.histogram = Some(bins(number(&mut parser, "-h", &mut o.notes)?)?),
                "H" | "histofall" => {
                    o.histogram = Some(bins(number(&mut parser, "-H", &mut o.notes)?)?);
                    o.sum = true;
                }
                "histfile" => o.histfile = Some(parser.value().map_err(|e| usage(e.to_string()))?.into()),
                "i" | "interval" => o.interval_us = number(&mut parser, "-i", &mut o.notes)?,
                "json" => o.json = Some(parser.value().map_err(|e| usage(e.to_string()))?.into()),
                "l" | "loops" => o.loops = number(&mut parser, "-l", &mut o.notes)?,
                "latency" => o.hold_dma_latency = number(&mut parser, "--latency", &mut o.notes)? == 0,
                "laptop" | "default-system" => o.hold_dma_latency = false,
                "m" | "mlockall" => o.mlockall = true,
                "N" | "nsecs" => o.nanoseconds = true,
                "p" | "prio" | "priority" => {
                    let p = number(&mut parser, "-p", &mut o.notes)?;
                    o.priority =
                        u8::try_from(p).ok().filter(|&p| p <= 99).ok_or_else(|| usage(format!("-p: {p} is not 0 to 99")))?;
                }
                "y" | "policy" => {
                    let value = text(parser.value().map_err(|e| usage(e.to_string()))?);
                    // cyclictest silently runs `batch` and `idle` as SCHED_OTHER; here they are an error.
                    o.policy = Some(value.parse().map_err(usage)?);
                }
                "priospread" | "Q" => o.priospread = true,
                "q" | "quiet" => o.quiet = true,
                "S" | "smp" => {
                    smp = true;
                    o.affinity = Affinity::All;
                    o.threads = Threads::PerCpu;
                }
                "t" | "threads" => {
                    let threads = match optional(&mut parser, |w| w.trim_start().starts_with(|c: char| c.is_ascii_digit())) {
                        Some(n) => {
                            let n = digits(&text(n), "-t", &mut o.notes)?;
                            let n = u32::try_from(n).map_err(|e| usage(format!("-t: {e}")))?;
                            if n == 0 { Threads::PerCpu } else { Threads::Number(n) }
                        }
                        None => Threads::PerCpu,
                    };
                    if smp { o.notes.push("-t has no effect after -S".into()) } else { o.threads = threads }
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
                    optional(&mut parser, |w| w.bytes().all(|b| b.is_ascii_digit()));
                    o.no_effect("--secaligned");
                }
                "o" | "oscope" => {
                    number(&mut parser, "-o", &mut o.notes)?;
                    o.no_effect("-o");
                }
                "mainaffinity" => {
                    parser.value().map_err(|e| usage(e.to_string()))?;
                    o.no_effect("--mainaffinity");
                }
                // rtscope's own options.
                "rtscope-dialect" => {
                    let value = text(parser.value().map_err(|e| usage(e.to_string()))?);
                    o.dialect = match value.as_str() {
                        "A" | "a" => Dialect::A,
                        "B" | "b" => Dialect::B,
                        _ => return Err(usage("--rtscope-dialect takes A (as up to rt-tests 2.6) or B (2.7 and later)")),
                    };
                }
                "rtscope-load" => {
                    let value = text(parser.value().map_err(|e| usage(e.to_string()))?);
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
        Ok(o)
    }

    fn no_effect(&mut self, name: &str) {
        self.notes.push(format!("{name} has no effect here"));
    }

    /// The settings on a machine where this process may use the CPUs `allowed`.
    pub(super) fn settings(&self, allowed: &[u32], command: Vec<String>) -> Result<Settings, Failure> {
        let us = |n: u64, name: &str| Nanos::from_micros(n).ok_or_else(|| usage(format!("{name}: {n} us is too long")));
        let per_cpu = u32::try_from(allowed.len()).unwrap_or(1);
        let cpus = match &self.affinity {
            Affinity::Free => Vec::new(),
            Affinity::All => allowed.to_vec(),
            Affinity::Set(set) => match set.strip_prefix('!') {
                Some(not) => {
                    let not = cpus(Some(&not.into()))?;
                    allowed.iter().copied().filter(|c| !not.contains(c)).collect()
                }
                None => cpus(Some(&set.as_str().into()))?,
            },
        };
        let threads = match self.threads {
            Threads::Number(n) => n,
            Threads::PerCpu => per_cpu,
        };
        // As cyclictest chooses it.
        let default = u8::try_from(threads.saturating_add(1)).unwrap_or(99).min(99);
        let priority = if self.policy.is_some_and(Policy::has_priority) && self.priority == 0 { default } else { self.priority };
        let policy = match self.policy {
            Some(policy) => policy,
            None if self.priority > 0 => Policy::Fifo,
            None => Policy::Other,
        };
        // Threads of a histogram share one interval, as in cyclictest.
        let distance = if self.histogram.is_some() || self.aligned.is_some() { 0 } else { self.distance_us };
        Ok(Settings {
            interval: us(self.interval_us, "-i")?,
            distance: us(distance, "-d")?,
            start_offset: us(self.aligned.unwrap_or(0), "-A")?,
            duration: self.duration,
            loops: (self.loops > 0).then_some(self.loops),
            threads,
            migrate: cpus.is_empty(),
            cpus,
            policy,
            priority: if policy.has_priority() { priority } else { 0 },
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(line: &str) -> Result<Options, Failure> {
        Options::parse(line.split_whitespace().map(OsString::from).collect())
    }

    fn settings(line: &str) -> Settings {
        parse(line).unwrap().settings(&[0, 1, 2, 3], vec![]).unwrap()
    }

    #[test]
    fn the_field_s_command_lines_are_understood() {
        let s = settings("-l100000000 -m -Sp90 -i200 -h400 -q");
        assert_eq!((s.loops, s.mlockall, s.priority, s.interval.0), (Some(100_000_000), true, 90, 200_000));
        assert_eq!((s.cpus.len(), s.threads, s.linear_bins), (4, 4, Some((400, 1000))));
        let s = settings("--mlockall --smp --priority=80 --interval=200 --distance=0 --duration=1m");
        assert_eq!((s.duration, s.distance.0, s.policy), (Some(Nanos(60_000_000_000)), 0, Policy::Fifo));
        let s = settings("-t 2 -a 1,3 -p 95 -d 250 -D 10 -n");
        assert_eq!((s.threads, s.cpus, s.distance.0), (2, vec![1, 3], 250_000));
        let s = settings("-t -a -p99 --priospread -N -h 5000");
        assert_eq!((s.threads, s.priority_descends, s.linear_bins), (4, true, Some((5000, 1))));
        let s = settings("-t2 -a0 -b 100 -c 0");
        assert_eq!((s.policy, s.cpus, s.break_above), (Policy::Other, vec![0], Some(Nanos(100_000))));
        assert_eq!(settings("-a !0 -t").cpus, [1, 2, 3]);
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for bad in [
            "-h 0",
            "--h 10",
            "--s",
            "-D x",
            "-D -1",
            "-i x",
            "-p 100",
            "--nonsense",
            "-r",
            "-c 1",
            "-h",
            "-t x1 -Z",
            "--policy=batch -p1",
        ] {
            let parsed = parse(bad).and_then(|o| o.settings(&[0], vec![]));
            assert!(parsed.is_err(), "{bad}");
        }
    }

    #[test]
    fn words_and_numbers_are_taken_as_cyclictest_takes_them() {
        let words = |words: &[&str]| Options::parse(words.iter().map(OsString::from).collect()).unwrap();
        // rteval's: an option with its argument in one word, an empty word, a mark in the trace.
        let o = words(&["-i100", "-qmu", "-h 3500", "-p95", "", "-t", "-a", "--tracemark"]);
        assert_eq!((o.histogram, o.affinity.clone(), o.threads), (Some(3500), Affinity::All, Threads::PerCpu));
        assert_eq!(o.notes, ["--tracemark has no effect here"]);
        // Linaro's.
        let o = words(&["-q", "-p", "98", "-i", "1000", "-t", "2", "-a", "all", "-D", "1m", "-h", "100", "-m", "stray"]);
        assert_eq!((o.affinity.clone(), o.threads, o.histogram), (Affinity::All, Threads::Number(2), Some(100)));
        assert_eq!(o.notes, ["`stray` is not an option: passed over, as by cyclictest"]);
        let o = words(&["-t 2", "-p 95", "-i 200x", "-a 0-1", "-S", "-t3", "-a0", "-aall"]);
        assert_eq!((o.priority, o.interval_us, o.affinity.clone(), o.threads), (95, 200, Affinity::All, Threads::PerCpu));
        assert_eq!(o.notes[0], "-i: `200x` is read as 200, as by cyclictest");
        assert_eq!(o.notes.len(), 4);
        assert!(words(&["-V"]).version && words(&["--version"]).version && !words(&["-v"]).version);
        assert_eq!((settings("--policy=fifo -t3").priority, settings("--policy=rr -p7").priority), (4, 7));
    }

    #[test]
    fn durations_and_beginnings_of_options_are_taken_as_by_getopt() {
        for (line, seconds) in [("-D 5x", 5), ("-D 1.5", 1), ("-D 2m", 120), ("--dur=3", 3), ("-D 4s", 4)] {
            assert_eq!(settings(line).duration, Some(Nanos(seconds * Nanos::PER_SEC)), "{line}");
        }
        assert_eq!(settings("-D 0 -l 5").duration, None);
        let s = settings("--loop=7 --mlock --prior=80 --thr=2 --secaligned 100 --inter 500");
        assert_eq!((s.loops, s.mlockall, s.priority, s.threads, s.interval.0), (Some(7), true, 80, 2, 500_000));
        assert_eq!(settings("-t 0").threads, 4);
        assert!(LONG.iter().all(|l| whole(l).is_ok_and(|w| w == *l)));
    }

    #[test]
    fn the_examples_of_the_help_text_are_understood() {
        let commands = super::super::HELP.lines().filter_map(|l| l.strip_prefix("  rtscope cyclictest "));
        let words = commands.map(|l| l.split("  ").next().unwrap_or_default().split(" >").next().unwrap_or_default());
        let found: Vec<&str> = words.collect();
        assert_eq!(found.len(), 2);
        for line in found {
            settings(line);
        }
    }

    #[test]
    fn the_help_text_says_what_is_taken_and_what_is_not() {
        let of = |begin: &str, end: &str| -> Vec<&str> {
            let text = super::super::HELP.split_once(begin).unwrap().1.split_once(end).unwrap().0;
            text.split([' ', ',']).filter(|w| w.starts_with('-')).collect()
        };
        let not_provided = of("Not provided: ", ".\n");
        for word in &not_provided {
            assert!(parse(word).unwrap_err().message.contains(&format!("{word} is not provided")), "{word}");
        }
        let named = |name: &&str| not_provided.iter().any(|w| w.trim_start_matches('-') == *name);
        let unnamed: Vec<&str> = NOT_PROVIDED.into_iter().filter(|n| !named(n)).collect();
        assert_eq!(unnamed, ["fifo", "relative", "system", "posix_timers"], "other names of -F, -r, -s and -x");
        let taken = of("Taken, without effect: ", "words");
        assert_eq!(taken.len(), 9);
        for word in taken {
            let read = parse(&format!("{word} 1")).unwrap();
            let same = Options { notes: Vec::new(), ..read };
            assert_eq!(same, Options::default(), "{word}");
        }
    }

    proptest! {
        #[test]
        fn any_words_are_read_or_refused(words in prop::collection::vec("-{0,2}[a-zA-Z0-9=,!.]{0,8}", 0..6)) {
            if let Ok(o) = Options::parse(words.into_iter().map(OsString::from).collect()) {
                let _ = o.settings(&[0, 1], vec![]);
            }
        }
    }
}
