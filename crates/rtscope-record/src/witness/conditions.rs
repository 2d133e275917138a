//! From observations to warnings: changes of the machine during a run.

use super::seen::{Change, Changed, CpuSeen, Witness};
use super::words::{amount, seconds};
use crate::warning::{Effect, Warning};

/// Frequencies are reported if they differ by more than one part in this many.
const VARIES: u64 = 10;
/// How many changes of one kind a warning lists.
const TOLD: usize = 4;

/// One kind of change: code, effect, meaning, remedy.
struct Kind {
    what: Changed,
    code: &'static str,
    means: &'static str,
    remedy: &'static str,
}

const KINDS: [Kind; 11] = [
    Kind {
        what: Changed::Clocksource,
        code: "clocksource-changed",
        means: "the kernel changed its clock in mid-run: figures before and after are of two clocks",
        remedy: "see in `dmesg` why (a watchdog may have found the processor's counter unstable), and measure again",
    },
    Kind {
        what: Changed::Governor,
        code: "governor-changed",
        means: "the frequency governor was changed in mid-run: the figures are of both",
        remedy: "find who changes it (power-profiles-daemon, tuned), and measure again",
    },
    Kind {
        what: Changed::RtThrottling,
        code: "rt-throttling-changed",
        means: "what real-time tasks may take of a CPU was changed in mid-run: the figures are of both settings",
        remedy: "find who sets kernel.sched_rt_runtime_us, and measure again",
    },
    Kind {
        what: Changed::FairServer,
        code: "rt-throttling-changed",
        means: "what ordinary tasks get of a CPU was changed in mid-run: the figures are of both settings",
        remedy: "find who sets sched/fair_server in debugfs, and measure again",
    },
    Kind {
        what: Changed::Online,
        code: "cpus-changed",
        means: "CPUs went offline or came online, which stops all of them for a moment and moves tasks and interrupts",
        remedy: "leave CPUs alone while it is measured, and measure again",
    },
    Kind {
        what: Changed::ThrottleCount,
        code: "throttled-meanwhile",
        means: "the processor was slowed down for heat or power while it was measured",
        remedy: "cool the board, see to its power supply, and measure again",
    },
    Kind {
        what: Changed::Cooling,
        code: "throttled-meanwhile",
        means: "the kernel slowed the processor down, or let it go again, for heat while it was measured",
        remedy: "cool the board, and measure again",
    },
    Kind {
        what: Changed::Firmware,
        code: "throttled-meanwhile",
        means: "the firmware slowed the machine down, or let it go again, for heat or undervoltage while it was measured",
        remedy: "cool the board, and use the power supply and cable that its maker asks for; then measure again",
    },
    Kind {
        what: Changed::Suspended,
        code: "suspended",
        means: "the machine slept while it was measured; its clocks, caches and interrupts started anew",
        remedy: "keep it awake (systemd-inhibit), and measure again",
    },
    Kind {
        what: Changed::Paused,
        code: "paused",
        means: "nothing of the probe ran though it waited for no CPU: the process was stopped or the machine stood still (a virtual \
                one that its host paused or moved), and the highest latencies are that",
        remedy: "measure again undisturbed",
    },
    Kind {
        what: Changed::Continued,
        code: "paused",
        means: "the probe was told to go on (SIGCONT): somebody had stopped it, and the highest latencies may be that",
        remedy: "measure again undisturbed",
    },
];

pub(super) fn findings(w: &Witness) -> Vec<Warning> {
    let mut all: Vec<Warning> = KINDS.iter().filter_map(|kind| change(kind, w)).collect();
    all.extend(stolen(w));
    all.extend(frequency(w));
    all.extend(smis(w));
    all
}

fn change(kind: &Kind, w: &Witness) -> Option<Warning> {
    let seen: Vec<&Change> = w.changes.iter().filter(|c| c.what == kind.what).collect();
    seen.first()?;
    // With a clock that moves in ticks, differences are not latencies.
    let coarse = kind.what == Changed::Clocksource && seen.iter().any(|c| c.to.contains("jiffies"));
    let effect = if coarse { Effect::Invalid } else { Effect::Inconclusive };
    let told: Vec<String> = seen.iter().take(TOLD).map(|c| in_words(c)).collect();
    let more = if seen.len() > TOLD { format!(" and {} more", seen.len() - TOLD) } else { String::new() };
    Some(Warning::new(kind.code, effect, format!("{}: {}{more}", kind.means, told.join(", ")), kind.remedy))
}

/// `CPU 0 from performance to powersave, seen at 1.500 s`.
fn in_words(c: &Change) -> String {
    let of = if c.of.is_empty() { String::new() } else { format!("{} ", c.of) };
    if c.from.is_empty() && c.to.is_empty() {
        return format!("{of}seen at {}", seconds(c.at));
    }
    if c.from.is_empty() {
        return format!("{of}for {}, seen at {}", c.to, seconds(c.at));
    }
    format!("{of}from {} to {}, seen at {}", c.from, c.to, seconds(c.at))
}

/// The change for the one-line summary.
pub(super) fn in_short(c: &Change) -> String {
    let code = KINDS.iter().find(|k| k.what == c.what).map_or("", |k| k.code);
    format!("{code} {}", in_words(c))
}

fn stolen(w: &Witness) -> Option<Warning> {
    let of = |c: &CpuSeen| Some((c.cpu, c.steal_ns.filter(|&ns| ns > 0)?));
    let stolen: Vec<(u32, u64)> = w.cpus.iter().filter_map(of).collect();
    stolen.first()?;
    let told: Vec<String> = stolen.iter().take(8).map(|(cpu, ns)| format!("CPU {cpu} {}", amount(*ns))).collect();
    let more = if stolen.len() > 8 { format!(" and {} more", stolen.len() - 8) } else { String::new() };
    Some(Warning::new(
        "stolen",
        Effect::Inconclusive,
        format!("the hypervisor gave measured CPUs to others meanwhile: {}{more}", told.join(", ")),
        "measure on the machine itself, or give the virtual machine CPUs of its own",
    ))
}

fn frequency(w: &Witness) -> Option<Warning> {
    let varied: Vec<String> = w
        .cpus
        .iter()
        .filter_map(|c| c.khz.filter(|(low, high)| high.saturating_sub(*low) > high / VARIES).map(|khz| (c.cpu, khz)))
        .map(|(cpu, (low, high))| format!("CPU {cpu} {} to {} MHz", low / 1000, high / 1000))
        .collect();
    varied.first()?;
    let more = if varied.len() > 8 { format!(" and {} more", varied.len() - 8) } else { String::new() };
    Some(Warning::new(
        "frequency-varied",
        Effect::Note,
        format!("measured CPUs ran at several frequencies: {}{more}", varied[..varied.len().min(8)].join(", ")),
        "pin the frequency: `performance` into scaling_governor, and see to cooling",
    ))
}

fn smis(w: &Witness) -> Option<Warning> {
    let most = w.cpus.iter().filter_map(|c| c.smis).max().filter(|&n| n > 0)?;
    Some(Warning::new(
        "smis",
        Effect::Note,
        format!("the firmware stopped the processor {most} times meanwhile (system management interrupts), unseen by the kernel"),
        "see in the firmware's settings what can be switched off (USB legacy support, power management); it is this board's latency",
    ))
}
