//! Synthetic records of tests over lines.

use super::{LOADS, Noise, parts};
use rtscope_record::fixtures;
use rtscope_record::lines::{GridError, InstrumentFacts, LineFacts, Phase, Stamp, Trial};
use rtscope_record::system::Preemption;
use rtscope_record::{Distribution, LineSettings, Nanos, Policy, Record, RecordParts, Space, Test, ThreadInfo};

/// The samples of an edge, with numbers of missed, late and spurious events.
fn edge(label: &str, samples: &[u64], [missed, late, spurious]: [u64; 3]) -> Distribution {
    let mut p = Distribution::from_samples(label, samples, 8).unwrap().into_parts();
    (p.missed, p.late, p.spurious) = (missed, late, spurious);
    p.expected = Some(p.count + missed);
    p.thread = Some(ThreadInfo { tid: 77, cpu: Some(1), policy: Some(Policy::Fifo), priority: 95, ..ThreadInfo::default() });
    Distribution::new(p).unwrap()
}

/// The parts of a record of a test over lines.
fn over_lines(test: Test, id: &str, rt: bool, space: Space, device: &str) -> RecordParts {
    let mut p = parts("none");
    (p.id, p.test, p.space) = (id.into(), test, space);
    p.system.kernel.release = if rt { "6.12.47-rt".into() } else { "6.12.47".into() };
    p.system.kernel.preemption = if rt { Preemption::Rt } else { Preemption::Voluntary };
    p.settings.interval = Nanos(10_000_000);
    p.settings.command = Vec::new();
    p.settings.lines = Some(LineSettings {
        stimulus: (test != Test::Periodic).then(|| "gpio:gpiochip0/5".into()),
        answer: "gpio:gpiochip0/6".into(),
        timeout: Nanos(10_000_000),
        warmup: 10,
        ..fixtures::lines()
    });
    let line = |name: &str| LineFacts { name: name.into(), what: "a line of gpiochip0".into(), stamp: Stamp::Kernel };
    p.instrument = Some(InstrumentFacts {
        what: "a task in user space on this machine".into(),
        stimulus: (test != Test::Periodic).then(|| line("gpio:gpiochip0/5")),
        answer: Some(line("gpio:gpiochip0/6")),
        dut: device.into(),
        uncertainty: 900,
        uncertainty_mean: 300,
        warmup: Some(Phase {
            stimuli: 10,
            count: 10,
            min: Some(40_000),
            median: Some(52_000),
            max: Some(90_000),
            ..Phase::default()
        }),
        ..InstrumentFacts::default()
    });
    p
}

/// Response and periodic tests of a stock and an RT kernel, in user and kernel space; the last one measured a wave.
pub(crate) fn responses(count: u64) -> Vec<Record> {
    let rows = [
        (true, Space::User, "another program or machine", [49_000, 147_000]),
        (false, Space::User, "another program or machine", [53_000, 360_000]),
        (true, Space::Kernel, "kernel module rtscope_response, handler hardirq", [30_000, 37_000]),
        (true, Space::Kernel, "kernel module rtscope_response, handler thread", [50_000, 67_000]),
        (false, Space::Kernel, "kernel module rtscope_response, handler hardirq", [51_000, 81_000]),
    ];
    let mut records = Vec::new();
    for (i, (rt, space, device, [min, max])) in rows.into_iter().enumerate() {
        let mut p = over_lines(Test::Response, &format!("20261121T08000{i}Z-resp"), rt, space, device);
        for (n, label) in ["rising", "falling"].into_iter().enumerate() {
            let mut noise = Noise(0x9e37_79b9 ^ (min << 8) ^ (n as u64 + 1));
            // The fourth power, so that most samples are near the minimum.
            let mut take = || {
                let far = noise.next() % 1_000;
                min + (max - min) * far * far / 1_000_000 * far * far / 1_000_000
            };
            let mut samples: Vec<u64> = (0..count).map(|_| take()).collect();
            (samples[0], samples[1]) = (min + 7 * n as u64, max - 1_000 * n as u64);
            let faults = if i == 1 { [3, 2, 1] } else { [0; 3] };
            p.distributions.push(edge(label, &samples, faults));
        }
        records.push(Record::new(p).unwrap());
    }
    let mut p = over_lines(Test::Periodic, "20261121T080009Z-wave", true, Space::User, "another program or machine");
    p.settings.interval = Nanos(15_000_000);
    for (label, samples) in [
        ("rising late", [0, 1_200, 5_400].as_slice()),
        ("rising early", &[2_100, 800]),
        ("falling late", &[900, 3_300, 100]),
        ("falling early", &[6_700]),
    ] {
        p.distributions.push(edge(label, samples, [0; 3]));
    }
    let facts = p.instrument.as_mut().unwrap();
    facts.grid = Some(GridError { points: 9, min: -6_700, max: 9_100, last: 1_300, drift_ppb: 12_345, mean_jitter: 144 });
    records.push(Record::new(p).unwrap());
    records
}

/// A wave under each of [`LOADS`] on a stock kernel, two runs each: jitter of both signs, which grows with the load.
pub(crate) fn waves(count: u64) -> Vec<Record> {
    let mut records = Vec::new();
    for (i, load) in LOADS.iter().enumerate() {
        for seed in 0..2 {
            let mut p = over_lines(Test::Periodic, &format!("20261121T1{i}000{seed}Z-{load}"), false, Space::User, "rtscope");
            (p.load, p.settings.interval) = ((*load).into(), Nanos(20_000_000));
            let mut noise = Noise(0x9e37_79b9 ^ ((i as u64) << 8) ^ (seed + 1));
            let reach = 2_000 * 7u64.pow(u32::try_from(i).unwrap());
            for label in ["rising late", "rising early", "falling late", "falling early"] {
                // Squared, so that most samples are near zero.
                let mut take = || {
                    let far = noise.next() % 1_000;
                    reach * far * far / 1_000_000
                };
                let samples: Vec<u64> = (0..count).map(|_| take()).collect();
                p.distributions.push(edge(label, &samples, [0; 3]));
            }
            records.push(Record::new(p).unwrap());
        }
    }
    records
}

/// What another instrument saw of the first two records of [`responses`]: only rising edges, 400 ns later.
pub(crate) fn scope(count: u64) -> Vec<Record> {
    let view = |r: Record| {
        let mut p = r.into_parts();
        p.id += "-scope";
        p.instrument.as_mut().unwrap().what = "an oscilloscope".into();
        let rising = &p.distributions[0];
        let later: Vec<u64> = rising.histogram().iter().flat_map(|(low, _, n)| (0..n).map(move |_| low + 400)).collect();
        p.distributions = vec![edge("rising", &later, [0; 3])];
        Record::new(p).unwrap()
    };
    responses(count).into_iter().take(2).map(view).collect()
}

/// A sustained frequency of 2 kHz.
pub(crate) fn sustained() -> Record {
    let mut p = over_lines(Test::Sustained, "20261121T080010Z-fast", true, Space::User, "another program or machine");
    p.distributions.push(edge("rising", &[31_000, 44_000, 40_500], [0; 3]));
    p.distributions.push(edge("falling", &[33_000, 46_000], [0; 3]));
    let facts = p.instrument.as_mut().unwrap();
    facts.sustained = Some(Nanos(500_000));
    let trial = Trial {
        overflowed: 0,
        interval: Nanos(480_000),
        given: Nanos(481_000),
        stimuli: 1_000,
        missed: 2,
        spurious: 0,
        max: Some(470_000),
        sustained: false,
        confirming: false,
    };
    let confirmed =
        Trial { interval: Nanos(500_000), given: Nanos(500_000), missed: 0, sustained: true, confirming: true, ..trial };
    facts.search = vec![trial, confirmed];
    Record::new(p).unwrap()
}
