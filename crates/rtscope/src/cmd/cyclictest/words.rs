//! Words as getopt and cyclictest read them: numbers, times, CPU sets, policies, and the names of its long options.

use crate::cmd::run::cpus;
use lexopt::Parser;
use rtscope_failure::Failure;
use rtscope_record::{Nanos, Policy};
use std::ffi::OsString;

pub(super) fn usage(message: impl Into<String>) -> Failure {
    Failure::usage(message, "rtscope cyclictest --help")
}

/// An optional argument as getopt and cyclictest take it: attached, or the next word if `looks` accepts it.
pub(super) fn optional(parser: &mut Parser, looks: impl Fn(&str) -> bool) -> Option<OsString> {
    if let Some(attached) = parser.optional_value() {
        return Some(attached);
    }
    let next = parser.try_raw_args().is_some_and(|raw| raw.peek().and_then(|n| n.to_str()).is_some_and(&looks));
    if next { parser.value().ok() } else { None }
}

/// A number as `atoi` reads it, which cyclictest uses, and what follows it: blanks before it are passed over.
pub(super) fn atoi(text: &str) -> (Option<i64>, &str) {
    let own = text.trim_start();
    let sign = usize::from(own.starts_with(['-', '+']));
    let (read, rest) = own.split_at(sign + own[sign..].bytes().take_while(u8::is_ascii_digit).count());
    (read.parse().ok(), rest)
}

/// Whether cyclictest takes a word of its own for the number that an option may have.
pub(super) fn is_number(word: &str) -> bool {
    let digits = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    digits || !word.starts_with('-') && atoi(word).0.is_some_and(|n| n != 0)
}

/// A number with anything after it, which is passed over. Without a digit it is refused, where cyclictest takes 0.
pub(super) fn integer(text: &str, name: &str, notes: &mut Vec<String>) -> Result<i64, Failure> {
    let own = text.trim();
    let (number, rest) = atoi(own);
    let number = number.ok_or_else(|| usage(format!("{name}: `{own}` is not a number")))?;
    if !rest.is_empty() {
        notes.push(format!("{name}: `{own}` is read as {number}, as by cyclictest"));
    }
    Ok(number)
}

/// The same where nothing below 0 can be meant.
pub(super) fn natural(text: &str, name: &str, notes: &mut Vec<String>) -> Result<u64, Failure> {
    let number = integer(text, name, notes)?;
    u64::try_from(number).map_err(|_| usage(format!("{name}: {number} is negative")))
}

pub(super) fn value(parser: &mut Parser) -> Result<String, Failure> {
    let value = parser.value().map_err(|e| usage(e.to_string()))?;
    Ok(value.to_string_lossy().into_owned())
}

pub(super) fn number(parser: &mut Parser, name: &str, notes: &mut Vec<String>) -> Result<u64, Failure> {
    natural(&value(parser)?, name, notes)
}

/// The same where cyclictest takes whatever is negative for 0.
pub(super) fn from_zero(parser: &mut Parser, name: &str, notes: &mut Vec<String>) -> Result<u64, Failure> {
    let number = integer(&value(parser)?, name, notes)?;
    if number < 0 {
        notes.push(format!("{name}: {number} is taken for 0, as by cyclictest"));
    }
    Ok(u64::try_from(number).unwrap_or(0))
}

/// `-D`: a number and the one character behind it, as cyclictest reads them: `500ms` are minutes. 0 is no limit.
pub(super) fn duration(text: &str, notes: &mut Vec<String>) -> Result<Option<Nanos>, Failure> {
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
pub(super) const LONG: [&str; 40] = [
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
pub(super) const NOT_PROVIDED: [&str; 15] = [
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
pub(super) fn whole(word: &str) -> Result<&str, Failure> {
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
pub(super) fn bins(n: u64, notes: &mut Vec<String>) -> Result<u64, Failure> {
    if n > MOST_BINS {
        notes.push(format!("a histogram has {MOST_BINS} bins at most, as in cyclictest"));
    }
    if n > 0 { Ok(n.min(MOST_BINS)) } else { Err(usage("a histogram has one bin at least")) }
}

/// Whether cyclictest takes a word of its own for a CPU set.
pub(super) fn is_cpu_set(word: &str) -> bool {
    word.starts_with(['0', '!', '+', 'a']) || is_number(word)
}

/// The policy of a name and what cyclictest calls it. It looks at the beginning only, in either case, sets three, and takes what it
/// does not know for `other`.
pub(super) fn policy(name: &str) -> (Policy, &'static str) {
    let known =
        [("other", Policy::Other), ("batch", Policy::Other), ("idle", Policy::Other), ("fifo", Policy::Fifo), ("rr", Policy::Rr)];
    let begins = |known: &str| name.get(..known.len()).is_some_and(|n| n.eq_ignore_ascii_case(known));
    let (own, policy) = known.into_iter().find(|(known, _)| begins(known)).unwrap_or(known[0]);
    (policy, own)
}

/// The CPUs of a set: a list, `all`, or either after `!` (all but these) or `+`, which leave out those that this process may not
/// use. Threads are dealt out in the order of the CPUs.
pub(super) fn cpu_set(set: &str, allowed: &[u32], all: &[u32]) -> Result<Vec<u32>, Failure> {
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
