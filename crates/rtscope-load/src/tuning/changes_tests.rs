//! Settings on a tree of files as a kernel has them.

use super::*;
use std::fs;

fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Files) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let files = Files::below(dir.path());
    (dir, files)
}

/// Each change as `FILE: BEFORE -> WANTED`.
fn asked(files: &Files, text: &str) -> Result<Vec<String>, TuningError> {
    let all = changes(files, &text.parse().unwrap())?;
    Ok(all.into_iter().map(|c| format!("{}: {} -> {}", c.place, c.before, c.wanted)).collect())
}

const CPU: &str = "sys/devices/system/cpu";

#[test]
fn each_setting_has_its_files() {
    let governor = |cpu: u32, file: &str| format!("{CPU}/cpu{cpu}/cpufreq/{file}");
    let idle = |state: u32, file: &str| format!("{CPU}/cpu0/cpuidle/state{state}/{file}");
    let owned = [
        (governor(0, "scaling_governor"), "schedutil\n"),
        (governor(0, "scaling_available_governors"), "performance schedutil\n"),
        (governor(1, "scaling_governor"), "performance\n"),
        (idle(0, "latency"), "0\n"),
        (idle(0, "disable"), "0\n"),
        (idle(1, "latency"), "120\n"),
        (idle(1, "disable"), "0\n"),
    ];
    let mut all: Vec<(&str, &str)> = owned.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    all.extend([
        ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
        ("proc/sys/kernel/timer_migration", "1\n"),
        ("sys/kernel/debug/sched/preempt", "none voluntary (full)\n"),
        ("sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000\n"),
        ("sys/kernel/debug/sched/fair_server/cpu10/runtime", "50000000\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ]);
    let (_dir, files) = tree(&all);
    for (text, wanted) in [
        ("rt-runtime=off", vec!["/proc/sys/kernel/sched_rt_runtime_us: 950000 -> -1"]),
        ("rt-runtime=500ms", vec!["/proc/sys/kernel/sched_rt_runtime_us: 950000 -> 500000"]),
        ("timer-migration=off", vec!["/proc/sys/kernel/timer_migration: 1 -> 0"]),
        ("preempt=none", vec!["/sys/kernel/debug/sched/preempt: full -> none"]),
        (
            "fair-server=off",
            vec![
                "/sys/kernel/debug/sched/fair_server/cpu0/runtime: 50000000 -> 0",
                "/sys/kernel/debug/sched/fair_server/cpu10/runtime: 50000000 -> 0",
            ],
        ),
        ("thp=never", vec!["/sys/kernel/mm/transparent_hugepage/enabled: madvise -> never"]),
        (
            "governor=performance",
            vec![
                "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor: schedutil -> performance",
                "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor: performance -> performance",
            ],
        ),
        ("idle-latency=100us", vec!["/sys/devices/system/cpu/cpu0/cpuidle/state1/disable: 0 -> 1"]),
        ("idle-latency=120us", vec![]),
    ] {
        assert_eq!(asked(&files, text).unwrap(), wanted, "{text}");
    }
    for (text, told, usage) in [
        ("preempt=lazy", "preempt=lazy: the kernel has no such value", true),
        ("governor=fast", "governor=fast: the kernel has no such value", true),
        ("ksoftirqd-priority=50", "this machine has no such kernel thread", false),
    ] {
        let e = asked(&files, text).unwrap_err();
        assert!(e.to_string().contains(told), "{e}");
        assert!(matches!(e, TuningError::Refused { usage: u, .. } if u == usage), "{text}");
    }
}

#[test]
fn what_a_machine_does_not_have_is_named() {
    let (_dir, files) = tree(&[]);
    for knob in Knob::ALL {
        let value = match knob {
            Knob::Preempt => "full",
            Knob::RtRuntime | Knob::FairServer | Knob::TimerMigration => "off",
            Knob::Governor => "performance",
            Knob::IdleLatency => "0us",
            Knob::IrqPriority | Knob::KsoftirqdPriority | Knob::KtimersPriority => "50",
            Knob::Thp => "never",
        };
        let e = asked(&files, &format!("{knob}={value}")).unwrap_err();
        let told = e.to_string();
        assert!(told.starts_with(knob.as_str()) && told.contains("this machine has no "), "{told}");
    }
}
