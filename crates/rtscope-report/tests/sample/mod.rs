//! Fixed synthetic records for tests and the example: the same in every run and on every machine.
#![allow(dead_code)] // each user needs only a part

pub(crate) mod explained;
mod lines;

#[allow(unused_imports)] // each user needs only a part
pub(crate) use lines::{responses, scope, sustained, waves};

use rtscope_record::fixtures;
use rtscope_record::system::{Cpu, IdleState, Kernel, Preemption, Temperature};
use rtscope_record::{
    Clock, Distribution, DistributionParts, Effect, LoadProcess, LoadProof, Moments, Nanos, Policy, Record, RecordParts, Settings,
    System, ThreadInfo, Warning, Worst,
};
use std::collections::BTreeMap;

/// The loads of the sample records.
pub(crate) const LOADS: [&str; 6] = ["none", "background", "calculation", "disk", "network", "full"];

/// A small generator (xorshift), so that no figure depends on a crate's version.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A latency around `base` ns, with a right tail that grows with `stress`.
    fn latency(&mut self, base: u64, stress: u64) -> u64 {
        let near = (0..4).map(|_| self.next() % (base / 2)).sum::<u64>();
        let tail = match self.next() % 20_000 {
            0 => 40 * stress * (self.next() % 1_000),
            1..=60 => stress * (self.next() % 2_500),
            61..=2_000 => stress * (self.next() % 300),
            _ => 0,
        };
        base / 4 + near + tail
    }
}

pub(crate) fn cpu(label: &str, number: u32, count: u64, interval: u64, mut next: impl FnMut() -> u64) -> Distribution {
    let mut p = DistributionParts::empty(label);
    let (mut sum, mut sum_sq, mut at) = (0u128, 0u128, 0u64);
    let (mut all, mut stalls) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let v = next();
        p.histogram.record(v, 1).unwrap();
        sum += u128::from(v);
        sum_sq += u128::from(v) * u128::from(v);
        p.missed += v / interval;
        stalls.push((v.saturating_sub(interval), v / interval));
        all.push(Worst { value: v, at });
        at += interval * (1 + v / interval);
    }
    p.passed = rtscope_record::PassedOver::of_stalls(stalls, interval).unwrap();
    p.count = count;
    p.min = all.iter().map(|w| w.value).min();
    p.max = all.iter().map(|w| w.value).max();
    p.moments = Moments::Exact { sum, sum_sq };
    p.expected = Some(p.count + p.missed);
    all.sort_by(|a, b| b.value.cmp(&a.value).then(a.at.cmp(&b.at)));
    all.truncate(32);
    p.worst = all;
    p.thread = Some(ThreadInfo {
        tid: 4200 + number,
        cpu: Some(number),
        policy: Some(Policy::Fifo),
        priority: 95,
        interval,
        last: None,
        first_at: Some(0),
    });
    Distribution::new(p).unwrap()
}

pub(crate) fn system() -> System {
    System {
        hostname: "bench-pi5".into(),
        board: Some("Raspberry Pi 5 Model B Rev 1.0".into()),
        os: Some("Debian GNU/Linux 12 (bookworm)".into()),
        kernel: Kernel {
            release: "6.12.47-rt".into(),
            version: "#1 SMP PREEMPT_RT Debian 1:6.12.47-1".into(),
            arch: "aarch64".into(),
            cmdline: "console=tty1 root=/dev/mmcblk0p2".into(),
            preemption: Preemption::Rt,
            preemption_evidence: "uname -v".into(),
            hz: Some(250),
            ..Kernel::default()
        },
        cpu: Cpu {
            model: Some("Cortex-A76".into()),
            online: vec![0, 1, 2, 3],
            allowed: vec![0, 1, 2, 3],
            smt_active: Some(false),
            governor: BTreeMap::from([
                (0, "performance".into()),
                (1, "performance".into()),
                (2, "ondemand".into()),
                (3, "performance".into()),
            ]),
            frequency_khz: BTreeMap::from([(0, (1_500_000, 2_400_000)), (1, (1_500_000, 2_400_000))]),
            frequency_driver: Some("cpufreq-dt".into()),
            idle_driver: Some("psci_idle".into()),
            idle_states: vec![
                IdleState { name: "WFI".into(), latency_us: 1, disabled: false, ..IdleState::default() },
                IdleState { name: "cpu-sleep".into(), latency_us: 300, disabled: true, ..IdleState::default() },
            ],
            isolated: vec![2, 3],
            nohz_full: vec![2, 3],
            ..Cpu::default()
        },
        clocksource: Some("arch_sys_counter".into()),
        clocksources: vec!["arch_sys_counter".into()],
        timer_resolution_ns: Some(1),
        rt_runtime_us: Some(950_000),
        rt_period_us: Some(1_000_000),
        timer_migration: Some(true),
        swap_kib: Some((0, 0)),
        temperatures: vec![Temperature { zone: "cpu-thermal".into(), milli_celsius: 51_250, trip_milli_celsius: Some(80_000) }],
        tools: BTreeMap::from([("rtscope".into(), "0.1.0".into()), ("stress-ng".into(), "0.15.06".into())]),
        ..System::default()
    }
}

/// Five runs of a stock kernel as it is, and five with each of two settings: `preempt=full` halves the latency, `thp=never` does nothing.
pub(crate) fn tuned(count: u64) -> Vec<Record> {
    let mut all = Vec::new();
    for (n, (tuning, base)) in [("", 12_000), ("preempt=full", 6_000), ("thp=never", 12_000)].into_iter().enumerate() {
        for run in 0..5u64 {
            let mut noise = Noise(0x9e37_79b9 + 100 * n as u64 + run);
            let mut p = parts("network");
            p.id = format!("20261122T08{n}00{run}Z-network");
            (p.system.kernel.preemption, p.system.kernel.release) = (Preemption::Voluntary, "6.12.47-amd64".into());
            p.settings.tuning = tuning.parse().unwrap();
            p.distributions = vec![cpu("cpu0", 0, count, 1_000_000, || noise.latency(base, 1))];
            all.push(Record::new(p).unwrap());
        }
    }
    all
}

pub(crate) fn parts(load: &str) -> RecordParts {
    RecordParts {
        id: format!("20261121T080000Z-{load}"),
        elapsed_ns: 20_000_000_000,
        load: load.into(),
        settings: Settings {
            interval: Nanos(1_000_000),
            duration: Some(Nanos(20_000_000_000)),
            threads: 4,
            cpus: vec![0, 1, 2, 3],
            command: ["rtscope", "measure", "timer", "--load", load, "--duration", "20s"].map(String::from).to_vec(),
            ..Settings::default()
        },
        system: system(),
        ..fixtures::parts()
    }
}

/// A record with `cpus` distributions of `count` samples each.
pub(crate) fn record(load: &str, cpus: u32, count: u64) -> RecordParts {
    let stress = 1 + 3 * LOADS.iter().position(|l| *l == load).unwrap_or(0) as u64;
    let mut p = parts(load);
    p.settings.threads = cpus;
    p.settings.cpus = (0..cpus).collect();
    for c in 0..cpus {
        let mut noise = Noise(0x9e37_79b9_7f4a_7c15 ^ (u64::from(c) << 32) ^ stress);
        let base = 4_000 + 900 * u64::from(c) + 350 * stress;
        let mut taken = 0;
        // The machine stalls once for 4.6 periods under full load.
        let stall = (load == "full" && c == 1).then_some(count / 3);
        p.distributions.push(cpu(&format!("cpu{c}"), c, count, 1_000_000, || {
            taken += 1;
            if Some(taken) == stall { 4_612_345 } else { noise.latency(base, stress) }
        }));
    }
    if load != "none" {
        p.load_proof = Some(LoadProof {
            name: load.into(),
            isolation: "pid+net namespaces".into(),
            ran_ns: 20_512_000_000,
            processes: vec![LoadProcess {
                command: ["stress-ng", "--cpu", "4", "--timeout", "0"].map(String::from).to_vec(),
                exit_code: Some(0),
                achieved: BTreeMap::from([("cpu.bogo_ops".into(), 48_211.0), ("cpu.bogo_ops_per_s".into(), 2_350.625)]),
                ..LoadProcess::default()
            }],
            oom_kills: Some(0),
            course: None,
        });
    }
    p.warnings.push(Warning::new(
        "rt-throttling",
        Effect::Note,
        "RT throttling lets real-time tasks run for 950000 us in each 1000000 us; a measuring thread uses far less.",
        "sysctl kernel.sched_rt_runtime_us=-1",
    ));
    if load == "disk" || load == "full" {
        p.warnings.push(Warning::new(
            "governor",
            Effect::Inconclusive,
            "CPU 2 runs under the governor ondemand: its frequency, and with it every latency, changes during the run.",
            "cpupower frequency-set -g performance",
        ));
    }
    p
}

/// Six loads on four CPUs: a good board.
pub(crate) fn board(count: u64) -> Vec<Record> {
    LOADS.iter().map(|l| Record::new(record(l, 4, count)).unwrap()).collect()
}

/// Records taken in a virtual machine; one of them is INVALID and interrupted.
pub(crate) fn virtual_machine(count: u64) -> Vec<Record> {
    let make = |load: &str| {
        let mut p = record(load, 2, count);
        p.id = format!("20261121T090000Z-{load}");
        p.system.virtualization = Some("kvm".into());
        p.system.kernel.release = "6.1.0-42-cloud-amd64".into();
        p.system.kernel.preemption = Preemption::Voluntary;
        p.warnings.push(Warning::new(
            "virtual-machine",
            Effect::Inconclusive,
            "This is a virtual machine (kvm): its host may stop it at any moment.",
            "measure on the board itself",
        ));
        if load == "full" {
            p.interrupted = true;
            p.warnings.push(Warning::new(
                "load-died",
                Effect::Invalid,
                "stress-ng was killed by signal 9 after 3.1 s.",
                "free memory",
            ));
            let proof = p.load_proof.as_mut().unwrap();
            proof.oom_kills = Some(1);
            proof.processes[0].exit_code = None;
            proof.processes[0].signal = Some(9);
            proof.processes[0].died_early = true;
            proof.processes[0].stderr = "stress-ng: info: [812] </script><b>terminated</b> by SIGKILL".into();
        }
        Record::new(p).unwrap()
    };
    vec![make("none"), make("full")]
}

/// The loads of [`kernels`] with the tails of a stock and an RT kernel (probability in 1/1000, reach in ns), as in the
/// virtual lab.
const KERNEL_LOADS: [(&str, [(u64, u64); 2]); 6] = [
    ("none", [(20, 2_200), (20, 3_400)]),
    ("background", [(60, 4_000), (30, 2_600)]),
    ("calculation", [(80, 5_200), (40, 2_100)]),
    ("disk", [(90, 128_000), (60, 4_100)]),
    ("network", [(620, 140_000), (80, 3_000)]),
    ("full", [(280, 150_000), (120, 3_600)]),
];

/// Stock and RT kernels of two series in virtual time, `count` samples each: 6.12 under six loads, 6.1 under two.
pub(crate) fn kernels(count: u64) -> Vec<Record> {
    let mut records = Vec::new();
    for (series, release, loads) in [("6.12", "6.12.95+deb12", 6), ("6.1", "6.1.0-42", 2)] {
        for (load, tails) in &KERNEL_LOADS[6 - loads..] {
            for (rt, &(chance, reach)) in [false, true].into_iter().zip(tails) {
                let flavour = if rt { "rt-amd64" } else { "amd64" };
                let mut p = parts(load);
                p.id = format!("20261121T1{}0000Z-{}-{load}", u8::from(series == "6.1"), if rt { "rt" } else { "stock" });
                p.elapsed_ns = count * 1_000_000;
                p.clock = Clock::Virtual;
                p.lab = Some(rtscope_record::Lab::default());
                p.target = format!("lab:debian/{series}{}/amd64", if rt { "-rt" } else { "" });
                p.settings.threads = 1;
                p.settings.cpus = vec![0];
                p.settings.duration = Some(Nanos(count * 1_000_000));
                p.system = System {
                    hostname: "lab".into(),
                    board: Some("Standard PC (i440FX + PIIX, 1996)".into()),
                    os: Some("rtscope lab".into()),
                    kernel: Kernel {
                        release: format!("{release}-{flavour}"),
                        version: "#1 SMP Debian".into(),
                        arch: "x86_64".into(),
                        cmdline: "console=ttyS0 quiet".into(),
                        preemption: if rt { Preemption::Rt } else { Preemption::Voluntary },
                        preemption_evidence: "uname -v".into(),
                        hz: Some(250),
                        ..Kernel::default()
                    },
                    virtualization: Some("qemu".into()),
                    ..System::default()
                };
                let mut noise = Noise(0x2545_f491_4f6c_dd1d ^ (reach << 8) ^ u64::from(rt));
                p.distributions.push(cpu("cpu0", 0, count, 1_000_000, || {
                    let near = 3_600 + noise.next() % 300 + if noise.next() % 5 == 0 { noise.next() % 500 } else { 0 };
                    // Squared, so that a tail gets thinner farther out.
                    let far = noise.next() % 1_000;
                    if noise.next() % 1_000 < chance { near + reach * far * far / 1_000_000 } else { near }
                }));
                records.push(Record::new(p).unwrap());
            }
        }
    }
    records
}

/// [`kernels`] with problems: an INVALID run, one in host time, one without a partner, one with too few samples.
pub(crate) fn troubled_kernels() -> Vec<Record> {
    let mut records: Vec<Record> = kernels(2_000).into_iter().take(8).collect();
    let mut change = |i: usize, f: &dyn Fn(&mut RecordParts)| {
        let mut p = records[i].clone().into_parts();
        f(&mut p);
        records[i] = Record::new(p).unwrap();
    };
    change(0, &|p| p.settings.priority = 50);
    change(2, &|p| {
        p.warnings.push(Warning::new("load-died", Effect::Invalid, "stress-ng was killed by signal 9.", "free memory"));
    });
    change(4, &|p| p.distributions = vec![cpu("cpu0", 0, 300, 1_000_000, || 4_612_345)]);
    change(7, &|p| {
        p.clock = Clock::Host;
        p.system.virtualization = Some("kvm".into());
    });
    records
}

/// Records with nothing measured, one sample, overflowed imported bins, many CPUs, and hostile names.
pub(crate) fn odd() -> Vec<Record> {
    let named = |id: &str, p: RecordParts| Record::new(RecordParts { id: id.into(), ..p }).unwrap();
    let empty = parts("none");
    let mut none_taken = parts("none");
    none_taken.distributions.push(cpu("cpu0", 0, 0, 1_000_000, || 0));
    let mut single = parts("none");
    single.distributions.push(cpu("cpu0", 0, 1, 1_000_000, || 12_345));
    let mut zero = parts("none");
    zero.distributions.push(cpu("cpu0", 0, 3, 1_000_000, || 0));
    let mut huge = parts("none");
    huge.settings.interval = Nanos(1 << 50);
    huge.distributions.push(Distribution::from_samples("cpu0", &[1, u64::MAX / 4], 2).unwrap());
    let mut overflowed = parts("imported");
    let mut d = Distribution::from_samples("T0", &[3_000, 4_000, 4_000, 90_000], 0).unwrap().into_parts();
    d.resolution = 1_000;
    d.overflow = 2;
    d.count += 2;
    d.max = Some(812_000);
    d.moments = Moments::Reported { mean: 200_000.0 };
    overflowed.distributions.push(Distribution::new(d).unwrap());
    let many = record("none", 40, 50);
    let mut hostile = record("none", 1, 50);
    hostile.load = "</script><script>alert(1)</script><!-- \u{1b}[31m\u{202e}".into();
    hostile.system.hostname = "a\"b'c&d<e>\u{0}".into();
    hostile.warnings.push(Warning::new("<code>", Effect::Note, "]]> & </style>", "rm -rf \"$HOME\" # <no>"));
    let mut d = hostile.distributions.remove(0).into_parts();
    d.label = "<cpu0 onload='x'>".into();
    hostile.distributions.push(Distribution::new(d).unwrap());
    vec![
        named("odd-empty", empty),
        named("odd-none-taken", none_taken),
        named("odd-single", single),
        named("odd-zero", zero),
        named("odd-huge", huge),
        named("odd-overflowed", overflowed),
        named("odd-many", many),
        named("odd-wave", responses(3).remove(5).into_parts()),
        named("odd-hostile", hostile),
    ]
}
