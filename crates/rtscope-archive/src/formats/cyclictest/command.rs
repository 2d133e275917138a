//! cyclictest's command line, where a file contains it: the settings of the run, and how to read its output.

use rtscope_record::{Nanos, Policy, Settings};

/// Short options that take an argument (rt-tests 2.x).
const WITH_ARGUMENT: &str = "bcdDFhHilop";
/// Short options with an optional argument, which may be the next word if that starts with a digit.
const MAY_HAVE_ARGUMENT: &str = "aAt";
/// Long options: name, short equivalent (or 0), whether it takes an argument.
const LONG: [(&str, char, bool); 24] = [
    ("affinity", 'a', true),
    ("aligned", 'A', true),
    ("breaktrace", 'b', true),
    ("clock", 'c', true),
    ("distance", 'd', true),
    ("duration", 'D', true),
    ("fifo", 'F', true),
    ("histfile", '\0', true),
    ("histofall", 'H', true),
    ("histogram", 'h', true),
    ("interval", 'i', true),
    ("json", '\0', true),
    ("latency", '\0', true),
    ("loops", 'l', true),
    ("mainaffinity", '\0', true),
    ("mlockall", 'm', false),
    ("nsecs", 'N', false),
    ("oscope", 'o', true),
    ("policy", 'y', true),
    ("priority", 'p', true),
    ("priospread", 'Q', false),
    ("quiet", 'q', false),
    ("smp", 'S', false),
    ("threads", 't', true),
];

/// A parsed command line.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Command {
    words: Vec<String>,
    interval_us: Option<u64>,
    distance_us: Option<u64>,
    duration_s: Option<u64>,
    loops: Option<u64>,
    threads: Option<u32>,
    all_cpus: bool,
    pinned: bool,
    policy: Option<Policy>,
    priority: Option<u8>,
    spread: bool,
    mlockall: bool,
    break_us: Option<u64>,
    /// Number of bins of the histogram.
    pub(super) histogram: Option<u64>,
    /// `-H`
    pub(super) sum: bool,
    /// `-N`
    pub(super) nanoseconds: bool,
    verbose: bool,
}

impl Command {
    /// Finds a command line of cyclictest with at least one option in a line of text (after a prompt, `#`, `sudo`,
    /// `taskset` ...).
    pub(super) fn find(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let at = words.iter().position(|w| *w == "cyclictest" || w.ends_with("/cyclictest"))?;
        words.get(at + 1).filter(|w| w.starts_with('-'))?;
        Some(Self::of(&words[at..]))
    }

    /// Parses the words of a command line, starting with the program. Unknown options are skipped.
    pub(super) fn of(words: &[&str]) -> Self {
        let mut c = Self { words: words.iter().map(|w| (*w).to_owned()).collect(), ..Self::default() };
        let mut rest = words.iter().skip(1).copied().peekable();
        while let Some(word) = rest.next() {
            if let Some(long) = word.strip_prefix("--") {
                let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
                // getopt accepts any unambiguous prefix.
                let mut known = LONG.iter().filter(|l| l.0.starts_with(name));
                let exact = LONG.iter().find(|l| l.0 == name);
                let (Some(&(_, short, takes)), None) = (exact.or_else(|| known.next()), exact.map_or(known.next(), |_| None))
                else {
                    continue;
                };
                let value = match value {
                    None if takes && !MAY_HAVE_ARGUMENT.contains(short) => rest.next(),
                    None if takes => rest.next_if(|w| w.starts_with(|ch: char| ch.is_ascii_digit())),
                    given => given,
                };
                c.option(short, value);
            } else if let Some(cluster) = word.strip_prefix('-') {
                for (i, ch) in cluster.char_indices() {
                    let attached = Some(&cluster[i + ch.len_utf8()..]).filter(|a| !a.is_empty());
                    if WITH_ARGUMENT.contains(ch) {
                        c.option(ch, attached.or_else(|| rest.next()));
                        break;
                    }
                    if MAY_HAVE_ARGUMENT.contains(ch) {
                        let next =
                            if attached.is_none() { rest.next_if(|w| w.starts_with(|d: char| d.is_ascii_digit())) } else { None };
                        c.option(ch, attached.or(next));
                        break;
                    }
                    c.option(ch, None);
                }
            }
        }
        c
    }

    fn option(&mut self, option: char, value: Option<&str>) {
        let number = value.and_then(|v| v.parse::<u64>().ok());
        match option {
            'a' => self.pinned = true,
            'b' => self.break_us = number.filter(|&n| n > 0),
            'd' => self.distance_us = number,
            'D' => self.duration_s = value.and_then(seconds),
            'h' => self.histogram = number.filter(|&n| n > 0),
            'H' => {
                self.sum = true;
                self.histogram = number.filter(|&n| n > 0);
            }
            'i' => self.interval_us = number,
            'l' => self.loops = number.filter(|&n| n > 0),
            'm' => self.mlockall = true,
            'N' => self.nanoseconds = true,
            'p' => self.priority = number.and_then(|n| u8::try_from(n).ok()).filter(|&n| n <= 99),
            'Q' => self.spread = true,
            'S' => (self.all_cpus, self.pinned) = (true, true),
            't' => match number {
                Some(n) => self.threads = u32::try_from(n).ok(),
                None => self.all_cpus = true,
            },
            'v' => self.verbose = true,
            'y' => self.policy = value.and_then(|v| v.parse().ok()),
            _ => {}
        }
    }

    /// Interval of thread `i`, ns: each thread's is longer than the previous one's by the distance (default 500 us),
    /// except with a histogram.
    pub(super) fn interval_ns(&self, thread: u64) -> Option<u64> {
        let base = self.interval_us.unwrap_or(1000);
        let distance = if self.histogram.is_some() { 0 } else { self.distance_us.unwrap_or(500) };
        thread.checked_mul(distance)?.checked_add(base)?.checked_mul(1000)
    }

    /// The settings of a record with that many threads.
    pub(super) fn settings(&self, threads: usize) -> Settings {
        let us = |n: Option<u64>| n.and_then(Nanos::from_micros);
        let priority = self.priority.unwrap_or(0);
        // Without a priority cyclictest measures as SCHED_OTHER; with one, as SCHED_FIFO, or as another policy that has priorities.
        let policy = match self.policy {
            _ if priority == 0 => Policy::Other,
            Some(policy) if policy.has_priority() => policy,
            _ => Policy::Fifo,
        };
        Settings {
            interval: us(Some(self.interval_us.unwrap_or(1000))).unwrap_or_default(),
            distance: if self.histogram.is_some() {
                Nanos(0)
            } else {
                us(Some(self.distance_us.unwrap_or(500))).unwrap_or_default()
            },
            duration: self.duration_s.and_then(|s| s.checked_mul(Nanos::PER_SEC)).map(Nanos),
            loops: self.loops,
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
            migrate: !self.pinned,
            policy,
            priority,
            priority_descends: self.spread,
            mlockall: self.mlockall,
            hold_dma_latency: true,
            break_above: us(self.break_us),
            linear_bins: self.histogram.map(|n| (n, if self.nanoseconds { 1 } else { 1000 })),
            samples: self.verbose,
            worst: 0,
            command: self.words.clone(),
            ..Settings::default()
        }
    }
}

/// Parses cyclictest's duration: a number followed by `m`, `h` or `d`, or a number of seconds.
fn seconds(text: &str) -> Option<u64> {
    let (number, scale) = match text.char_indices().last()? {
        (at, 'm') => (&text[..at], 60),
        (at, 'h') => (&text[..at], 3600),
        (at, 'd') => (&text[..at], 86_400),
        _ => (text, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_found_and_read() {
        let c = Command::find("# sudo /usr/bin/cyclictest -l100000000 -m -Sp90 -i200 -h400 -q").unwrap();
        let s = c.settings(4);
        assert_eq!((s.interval, s.loops, s.policy, s.priority), (Nanos(200_000), Some(100_000_000), Policy::Fifo, 90));
        assert_eq!((s.linear_bins, s.mlockall, s.migrate, s.threads), (Some((400, 1000)), true, false, 4));
        assert_eq!(c.interval_ns(3), Some(200_000));
        let c = Command::find("cyclictest --thr=2 --interval 250 --nsecs -D 2m -t 3 --hist=50 --policy=rr -p 5 -H 60 -b 100 -v")
            .unwrap();
        let s = c.settings(3);
        assert_eq!((s.duration, s.policy, s.break_above), (Some(Nanos(120_000_000_000)), Policy::Rr, Some(Nanos(100_000))));
        // `--hist` is a prefix of three options, so getopt would refuse it.
        assert_eq!((c.histogram, c.sum, c.nanoseconds, s.interval), (Some(60), true, true, Nanos(250_000)));
        let s = Command::find("cyclictest -p 5 --policy=other -q").unwrap().settings(1);
        assert_eq!((s.policy, s.priority), (Policy::Fifo, 5));
        let c = Command::find("cyclictest -t2 -a 1 -q").unwrap();
        assert_eq!((c.interval_ns(0), c.interval_ns(1), c.settings(2).policy), (Some(1_000_000), Some(1_500_000), Policy::Other));
    }

    #[test]
    fn other_lines_are_not_taken_for_one() {
        for line in
            ["", "cyclictest", "cyclictest V 2.10", "# made by cyclictest on board 7", "cyclictest-results -q", "-q cyclictest"]
        {
            assert_eq!(Command::find(line), None, "{line}");
        }
    }
}
