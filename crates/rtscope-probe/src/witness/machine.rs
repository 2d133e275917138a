//! The changes of the machine during a run, read from files that a test can replace.

use super::order::WitnessOrder;
use crate::snapshot::{Root, heat};
use rtscope_record::witness::{Change, Changed, CpuSeen};
use std::collections::BTreeMap;

/// Length of a tick in `/proc/stat` (`USER_HZ`), ns; the same on every machine.
const TICK: u64 = 10_000_000;
/// The register that counts system management interrupts on Intel processors (Software Developer's Manual,
/// volume 4, `MSR_SMI_COUNT`).
const SMI_COUNT: u64 = 0x34;
/// A shorter sleep of the machine, ns, does not count: the two clocks are read one after the other.
const SLEPT: u64 = 10_000_000;
/// Kinds of cooling devices that slow a processor down; others are fans and the like.
const SLOWS: [&str; 5] = ["processor", "cpufreq", "cpuidle", "powerclamp", "cpu-throttle"];

/// Facts that do not change on an undisturbed machine: (kind, instance) to value.
type Facts = BTreeMap<(Changed, String), String>;

/// The machine at the last look.
#[derive(Debug, Default)]
pub(super) struct Machine {
    facts: Facts,
    slept: u64,
    khz: BTreeMap<u32, (u64, u64)>,
    steal: BTreeMap<u32, u64>,
    smis: BTreeMap<u32, u64>,
    cpus: Vec<u32>,
    counts_smis: bool,
}

impl Machine {
    /// Takes the look before the run. `slept`: how long the machine has slept so far, ns.
    pub(super) fn before(root: &Root, order: &WitnessOrder, slept: u64) -> Self {
        let counts_smis = root.text("/proc/cpuinfo").is_some_and(|text| text.contains("GenuineIntel"));
        let mut machine = Self { cpus: order.cpus.clone(), slept, counts_smis, ..Self::default() };
        machine.facts = facts(root, &machine.cpus, true);
        machine.frequencies(root);
        machine.steal = steal(root);
        machine.smis = machine.smi_counts(root);
        machine
    }

    /// What changed since the previous look. `thorough` reads more files.
    pub(super) fn look(&mut self, root: &Root, at: u64, slept: u64, thorough: bool) -> Vec<Change> {
        let now = facts(root, &self.cpus, thorough);
        let mut changes = Vec::new();
        for ((what, of), value) in now {
            // A fact that appears was only unreadable before (a CPU that comes back, a file that only root may read).
            if let Some(was) = self.facts.insert((what, of.clone()), value.clone()) {
                if was != value {
                    changes.push(Change { at, what, of, from: was, to: value });
                }
            }
        }
        if slept.abs_diff(self.slept) > SLEPT {
            let to = rtscope_record::Nanos(slept.abs_diff(self.slept) / 1_000_000 * 1_000_000).to_string();
            changes.push(Change { at, what: Changed::Suspended, of: String::new(), from: String::new(), to });
        }
        self.slept = slept;
        if thorough {
            self.frequencies(root);
        }
        changes
    }

    /// The figures of the measured CPUs at the end of the run.
    pub(super) fn cpus(&self, root: &Root) -> Vec<CpuSeen> {
        let (steal, smis) = (steal(root), self.smi_counts(root));
        let since = |now: &BTreeMap<u32, u64>, before: &BTreeMap<u32, u64>, cpu: u32| {
            Some(now.get(&cpu)?.saturating_sub(*before.get(&cpu)?))
        };
        let one = |&cpu: &u32| CpuSeen {
            cpu,
            steal_ns: since(&steal, &self.steal, cpu).map(|ticks| ticks.saturating_mul(TICK)),
            khz: self.khz.get(&cpu).copied(),
            smis: since(&smis, &self.smis, cpu),
        };
        self.cpus.iter().map(one).collect()
    }

    fn frequencies(&mut self, root: &Root) {
        for &cpu in &self.cpus {
            if let Some(khz) = root.number::<u64>(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq")) {
                let seen = self.khz.entry(cpu).or_insert((khz, khz));
                *seen = (seen.0.min(khz), seen.1.max(khz));
            }
        }
    }

    fn smi_counts(&self, root: &Root) -> BTreeMap<u32, u64> {
        let cpus = self.cpus.iter().filter(|_| self.counts_smis);
        cpus.filter_map(|&cpu| Some((cpu, register(root, cpu, SMI_COUNT)? & 0xffff_ffff))).collect()
    }
}

/// A model-specific register of one CPU, if the module `msr` is loaded and this is root.
fn register(root: &Root, cpu: u32, number: u64) -> Option<u64> {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::open(root.path(&format!("/dev/cpu/{cpu}/msr"))).ok()?;
    let mut value = [0u8; 8];
    file.read_exact_at(&mut value, number).ok()?;
    Some(u64::from_ne_bytes(value))
}

fn facts(root: &Root, cpus: &[u32], thorough: bool) -> Facts {
    let mut all = Facts::new();
    let mut put = |what, of: String, value: Option<String>| {
        if let Some(value) = value {
            all.insert((what, of), value);
        }
    };
    let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    put(Changed::Clocksource, String::new(), root.value(clock));
    put(Changed::Online, String::new(), root.value("/sys/devices/system/cpu/online"));
    for name in ["sched_rt_runtime_us", "sched_rt_period_us"] {
        put(Changed::RtThrottling, name.into(), root.value(&format!("/proc/sys/kernel/{name}")));
    }
    if !thorough {
        return all;
    }
    for cpu in cpus {
        let dir = format!("/sys/devices/system/cpu/cpu{cpu}");
        put(Changed::Governor, format!("CPU {cpu}"), root.value(&format!("{dir}/cpufreq/scaling_governor")));
        let server = format!("/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime");
        put(Changed::FairServer, format!("CPU {cpu}"), root.value(&server));
    }
    let mut events: BTreeMap<&str, u64> = BTreeMap::new();
    for cpu in cpus {
        for (name, why) in [
            ("core_throttle_count", "heat of cores"),
            ("package_throttle_count", "heat of the package"),
            ("core_power_limit_count", "power of cores"),
            ("package_power_limit_count", "power of the package"),
        ] {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{name}");
            if let Some(count) = root.number::<u64>(&path) {
                // All CPUs of a package show the same count.
                let sum = events.entry(why).or_default();
                *sum = if why.ends_with("package") { count.max(*sum) } else { sum.saturating_add(count) };
            }
        }
    }
    for (why, count) in events {
        put(Changed::ThrottleCount, why.into(), Some(count.to_string()));
    }
    let dir = "/sys/class/thermal";
    for n in root.numbers(dir, "cooling_device") {
        let own = format!("{dir}/cooling_device{n}");
        let kind = root.value(&format!("{own}/type")).unwrap_or_default();
        if SLOWS.iter().any(|word| kind.to_lowercase().contains(word)) {
            put(Changed::Cooling, format!("{kind} {n}"), root.value(&format!("{own}/cur_state")));
        }
    }
    put(Changed::Firmware, String::new(), heat::slowed_down_now(root));
    all
}

/// Time stolen so far by CPU, ticks.
fn steal(root: &Root) -> BTreeMap<u32, u64> {
    let text = root.bytes("/proc/stat", 256 * 1024).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let one = |line: &str| {
        let (cpu, fields) = line.strip_prefix("cpu")?.split_once(' ')?;
        Some((cpu.parse().ok()?, fields.split_ascii_whitespace().nth(7)?.parse().ok()?))
    };
    text.lines().take_while(|line| line.starts_with("cpu")).filter_map(one).collect()
}
