//! The processors: which exist and which are isolated, their frequency and their idle states.

use super::config::parameter;
use super::cpus::parse_list;
use super::root::Root;
use rtscope_record::system::{Cpu, IdleState};

const CPUS: &str = "/sys/devices/system/cpu";

/// `/proc/cpuinfo` describes each CPU at length, and on big machines queries each one's frequency; the first
/// few CPUs are enough. Bytes.
const CPUINFO: u64 = 16 * 1024;

/// Highest CPU number that the kernel may use: what `N` and `all` mean in its CPU lists.
pub(super) fn last_cpu(root: &Root) -> u32 {
    let possible = root.text(&format!("{CPUS}/possible")).and_then(|text| parse_list(&text, 0));
    let numbers = possible.unwrap_or_else(|| root.numbers(CPUS, "cpu"));
    numbers.into_iter().max().unwrap_or(0)
}

/// The first lines of `/proc/cpuinfo`.
pub(super) fn cpuinfo(root: &Root) -> String {
    String::from_utf8_lossy(&root.bytes("/proc/cpuinfo", CPUINFO).unwrap_or_default())
        .replace(|c: char| c.is_control() && c != '\n', " ")
}

/// Everything about the processors.
pub(super) fn collect(root: &Root, cmdline: &str, cpuinfo: &str) -> Cpu {
    let last = last_cpu(root);
    let list = |name: &str| root.text(&format!("{CPUS}/{name}")).and_then(|text| parse_list(&text, last));
    let online = list("online").unwrap_or_else(|| root.numbers(CPUS, "cpu"));
    let asked = |name: &str| parameter(cmdline, name);
    let mut cpu = Cpu {
        model: model(cpuinfo),
        allowed: root.facts.allowed.clone(),
        smt_active: root.value(&format!("{CPUS}/smt/active")).map(|value| value == "1"),
        turbo: turbo(root),
        idle_driver: root.value(&format!("{CPUS}/cpuidle/current_driver")).filter(|driver| driver != "none"),
        idle_states: idle_states(root, &online),
        isolated: list("isolated").or_else(|| isolated(asked("isolcpus")?, last)).unwrap_or_default(),
        nohz_full: list("nohz_full").or_else(|| parse_list(asked("nohz_full")?, last)).unwrap_or_default(),
        rcu_nocbs: asked("rcu_nocbs").and_then(|text| parse_list(text, last)).unwrap_or_default(),
        ..Cpu::default()
    };
    for &n in &online {
        let file = |name: &str| format!("{CPUS}/cpu{n}/cpufreq/{name}");
        let Some(governor) = root.value(&file("scaling_governor")) else { continue };
        cpu.governor.insert(n, governor);
        if let (Some(low), Some(high)) = (root.number(&file("scaling_min_freq")), root.number(&file("scaling_max_freq"))) {
            cpu.frequency_khz.insert(n, (low, high));
        }
        if cpu.frequency_driver.is_none() {
            cpu.frequency_driver = root.value(&file("scaling_driver"));
        }
    }
    cpu.online = online;
    cpu
}

/// Parses `isolcpus=[flags,]LIST`. With flags that do not include `domain`, the scheduler continues to use the CPUs.
fn isolated(text: &str, last: u32) -> Option<Vec<u32>> {
    let is_flag = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase()) && !word.starts_with("all");
    let (flags, list): (Vec<&str>, Vec<&str>) = text.split(',').partition(is_flag);
    if flags.is_empty() || flags.contains(&"domain") { parse_list(&list.join(","), last) } else { None }
}

/// Whether boosting is on. The Intel driver's file says when it is off, all others' when it is on.
fn turbo(root: &Root) -> Option<bool> {
    let off = root.value(&format!("{CPUS}/intel_pstate/no_turbo")).map(|value| value == "0");
    off.or_else(|| root.value(&format!("{CPUS}/cpufreq/boost")).map(|value| value == "1"))
}

/// The idle states of all CPUs, merged by name, in the order of the first CPU that has them.
fn idle_states(root: &Root, online: &[u32]) -> Vec<IdleState> {
    let mut states: Vec<IdleState> = Vec::new();
    for &n in online {
        let dir = format!("{CPUS}/cpu{n}/cpuidle");
        for state in root.numbers(&dir, "state") {
            let file = |name: &str| format!("{dir}/state{state}/{name}");
            let Some(name) = root.value(&file("name")) else { continue };
            let latency_us = root.number(&file("latency")).unwrap_or(0);
            let at = states.iter().position(|known| known.name == name).unwrap_or_else(|| {
                states.push(IdleState { name, latency_us: 0, disabled: true, cpus: Vec::new() });
                states.len() - 1
            });
            let known = &mut states[at];
            known.latency_us = known.latency_us.max(latency_us);
            if root.value(&file("disable")).is_none_or(|value| value == "0") {
                known.disabled = false;
                known.cpus.push(n);
            }
        }
    }
    states
}

/// The value in the first cpuinfo line `name : value`.
pub(super) fn line<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name && !value.trim().is_empty()).then(|| value.trim())
    })
}

fn model(cpuinfo: &str) -> Option<String> {
    // x86 and older ARM; MIPS; RISC-V; POWER.
    let named = ["model name", "cpu model", "uarch", "cpu"].into_iter().find_map(|name| line(cpuinfo, name));
    named.map(str::to_owned).or_else(|| Some(arm_model(line(cpuinfo, "CPU implementer")?, line(cpuinfo, "CPU part")?)))
}

/// 64-bit ARM kernels only give numbers: the implementer and part fields of MIDR_EL1, as in Arm's technical
/// reference manuals.
fn arm_model(implementer: &str, part: &str) -> String {
    let name = match (implementer, part) {
        ("0x41", "0xc07") => "Cortex-A7",
        ("0x41", "0xc08") => "Cortex-A8",
        ("0x41", "0xc09") => "Cortex-A9",
        ("0x41", "0xc0f") => "Cortex-A15",
        ("0x41", "0xd03") => "Cortex-A53",
        ("0x41", "0xd04") => "Cortex-A35",
        ("0x41", "0xd05") => "Cortex-A55",
        ("0x41", "0xd07") => "Cortex-A57",
        ("0x41", "0xd08") => "Cortex-A72",
        ("0x41", "0xd09") => "Cortex-A73",
        ("0x41", "0xd0a") => "Cortex-A75",
        ("0x41", "0xd0b") => "Cortex-A76",
        ("0x41", "0xd0c") => "Neoverse-N1",
        ("0x41", "0xd0d") => "Cortex-A77",
        ("0x41", "0xd40") => "Neoverse-V1",
        ("0x41", "0xd41") => "Cortex-A78",
        ("0x41", "0xd49") => "Neoverse-N2",
        _ => return format!("CPU implementer {implementer}, part {part}"),
    };
    name.into()
}
