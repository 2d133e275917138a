//! A line of a trace as the kernel prints it (Documentation/trace/ftrace.rst, "Output format").

/// Longest line that is looked at, bytes: the kernel's own limit is a page.
const LONGEST: usize = 8 << 10;

/// Where a line was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// A task, or the idle loop.
    Task,
    /// A softirq.
    Soft,
    /// A hard interrupt, or one that can't be masked.
    Hard,
}

/// The flags before the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flags {
    /// Interrupts are off.
    pub(crate) irqs_off: bool,
    /// Bottom halves are off.
    pub(crate) bottom_halves_off: bool,
    /// A switch is due.
    pub(crate) due: bool,
    /// Where.
    pub(crate) level: Level,
    /// A softirq runs, or was interrupted.
    pub(crate) in_softirq: bool,
    /// How often preemption was switched off and not on again.
    pub(crate) depth: u32,
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What<'a> {
    /// A function was entered, from `caller`.
    Function { name: &'a str, caller: &'a str },
    /// An event with its fields.
    Event { name: &'a str, fields: &'a str },
}

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// When, ns, a multiple of 1000: so the kernel prints it.
    pub(crate) at: u64,
    /// The task's name; `<...>` if the kernel does not know it any more.
    pub(crate) comm: &'a str,
    /// The task.
    pub(crate) pid: u32,
    pub(crate) flags: Flags,
    pub(crate) what: What<'a>,
}

impl<'a> Line<'a> {
    /// Reads a line; `None` for anything else: a comment, a blank line, damage.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        if text.len() > LONGEST || text.starts_with('#') {
            return None;
        }
        // A task's name may contain anything, but is too short to hold all that follows it.
        let (task, rest) = text.match_indices(" [").find_map(|(i, _)| Some((&text[..i], after_cpu(&text[i + 2..])?)))?;
        let (comm, pid) = task.trim().rsplit_once('-')?;
        let (flags, rest) = rest.trim_start().split_once(' ')?;
        let (time, what) = rest.trim_start().split_once(": ")?;
        Some(Self { at: time_of(time)?, comm, pid: pid.parse().ok()?, flags: flags_of(flags)?, what: what_of(what)? })
    }

    /// The value of a field of an event, such as `next_pid`.
    pub(crate) fn field(&self, name: &str) -> Option<&'a str> {
        let What::Event { fields, .. } = self.what else { return None };
        let value = |word: &'a str| word.strip_prefix(name)?.strip_prefix('=');
        fields.split_whitespace().find_map(value)
    }

    /// Whether it is the event `name`.
    pub(crate) fn is(&self, event: &str) -> bool {
        matches!(self.what, What::Event { name, .. } if name == event)
    }

    /// The task that the CPU was switched to.
    pub(crate) fn switched_to(&self) -> Option<u32> {
        self.field("next_pid").filter(|_| self.is("sched_switch"))?.parse().ok()
    }

    /// The task that was woken.
    pub(crate) fn woken(&self) -> Option<u32> {
        self.field("pid").filter(|_| self.is("sched_waking") || self.is("sched_wakeup"))?.parse().ok()
    }
}

/// What follows `[007]`.
fn after_cpu(text: &str) -> Option<&str> {
    let (cpu, rest) = text.split_once(']')?;
    let number = cpu.len() >= 3 && cpu.bytes().all(|b| b.is_ascii_digit());
    (number && rest.starts_with(' ')).then_some(rest)
}

/// `5468.914153`, in ns.
fn time_of(text: &str) -> Option<u64> {
    let (seconds, micros) = text.split_once('.')?;
    if micros.len() != 6 || !micros.bytes().chain(seconds.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (seconds, micros): (u64, u64) = (seconds.parse().ok()?, micros.parse().ok()?);
    seconds.checked_mul(1_000_000)?.checked_add(micros)?.checked_mul(1_000)
}

/// `d..2.`: the letters of `trace_print_lat_fmt` (kernel/trace/trace_output.c). What follows the fourth is left out: whether tasks
/// may migrate delays nobody.
fn flags_of(text: &str) -> Option<Flags> {
    let [irqs, due, level, depth] = text.as_bytes().first_chunk()?;
    let depth = if *depth == b'.' { 0 } else { char::from(*depth).to_digit(16)? };
    Some(Flags {
        irqs_off: matches!(irqs, b'd' | b'D'),
        bottom_halves_off: matches!(irqs, b'b' | b'D'),
        due: matches!(due, b'N' | b'n' | b'p' | b'L' | b'b' | b'B'),
        level: match level {
            b'.' => Level::Task,
            b's' => Level::Soft,
            b'h' | b'H' | b'z' | b'Z' => Level::Hard,
            _ => return None,
        },
        in_softirq: matches!(level, b's' | b'H' | b'Z'),
        depth,
    })
}

fn what_of(text: &str) -> Option<What<'_>> {
    // A module's name may follow a function's.
    let symbol = |text: &'_ str| text.split_whitespace().next().map(str::len);
    if let Some((name, caller)) = text.split_once(" <-") {
        if !name.contains(':') {
            return Some(What::Function { name: &name[..symbol(name)?], caller: &caller[..symbol(caller)?] });
        }
    }
    let (name, fields) = text.split_once(':')?;
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    plain.then_some(What::Event { name, fields })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_kernels_are_read() {
        let line = "         rtscope-25580   [000] d.h2.  5468.914155: sched_waking: comm=a b pid=25674 prio=120 target_cpu=000";
        let l = Line::parse(line).unwrap();
        assert_eq!(
            (l.at, l.comm, l.pid, l.woken(), l.flags.level),
            (5_468_914_155_000, "rtscope", 25580, Some(25674), Level::Hard)
        );
        assert!(l.flags.irqs_off && !l.flags.due && l.flags.depth == 2);
        let l = Line::parse("          <idle>-0       [001] DNs1     1.000002: ktime_get <-hold_thread [rtscope_hold]").unwrap();
        assert_eq!(l.what, What::Function { name: "ktime_get", caller: "hold_thread" });
        assert!(l.flags.bottom_halves_off && l.flags.due && l.flags.in_softirq);
        let odd = "   a-b [1] c: d-7 [0] [123]-12     [010] .....     3.000000: sched_switch: prev_comm=x ==> next_comm=y next_pid=9 next_prio=4";
        let l = Line::parse(odd).unwrap();
        assert_eq!((l.comm, l.pid, l.switched_to(), l.woken()), ("a-b [1] c: d-7 [0] [123]", 12, Some(9), None));
        for other in [
            "",
            "# tracer: function",
            "CPU:0 [LOST 3 EVENTS]",
            "x-1 [000] d... 1.5: a",
            "x-1 [000] d.q.. 1.000000: a: b",
            "x-y [000] d.... 1.000000: a: b",
        ] {
            assert_eq!(Line::parse(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,120}", times in "[0-9.: ]{0,40}", flags in "[a-zA-Z0-9.]{0,6}") {
            let _ = Line::parse(&text);
            let _ = Line::parse(&format!("x-1 [000] {flags} {times}: {text}")).map(|l| (l.switched_to(), l.woken()));
        }
    }
}
