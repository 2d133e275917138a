//! The figures of one record: of each distribution and of all merged, raw beside omission-corrected.

use crate::corrected::View;
use rtscope_record::{Clock, Distribution, DistributionError, Quantile, Record, Space, Test, Verdict};
use serde::Serialize;

/// One percentile, raw beside corrected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Percentile {
    /// "p99.9"
    pub name: String,
    /// Of the samples taken, ns, never too low; `None` when the count does not support it or overflowed samples hide it.
    pub raw: Option<u64>,
    /// With the omitted samples put back, ns; `None` when there is no basis for a correction.
    pub corrected: Option<u64>,
}

/// The figures of one distribution.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// "cpu0", "rising", "all" ...
    pub label: String,
    /// The CPU its thread was pinned to.
    pub cpu: Option<u32>,
    /// Grid of its thread, ns; 0 when unknown.
    pub interval: u64,
    /// Samples taken.
    pub count: u64,
    /// Events that should have given a sample.
    pub expected: Option<u64>,
    /// Events that gave none.
    pub missed: u64,
    /// Of the missed: answered after the time-out.
    pub late: u64,
    /// Events that nobody asked for.
    pub spurious: u64,
    /// Samples that an imported histogram does not hold.
    pub overflow: u64,
    /// Samples taken and lost.
    pub dropped: u64,
    /// Lowest sample, ns.
    pub min: Option<u64>,
    /// Highest sample, ns.
    pub max: Option<u64>,
    /// Mean of the samples taken, ns.
    pub mean: Option<f64>,
    /// Standard deviation (population form), ns.
    pub stddev: Option<f64>,
    /// Mean with the omitted samples put back, ns.
    pub corrected_mean: Option<f64>,
    /// Samples with the omitted ones put back.
    pub corrected_count: Option<u64>,
    /// The standard percentiles (p50 to p99.999) that the count supports in either view.
    pub percentiles: Vec<Percentile>,
    /// Upper bound, at 95 % confidence, of the chance that a further sample exceeds `max`; see [`rule_of_three`].
    pub exceedance: Option<f64>,
}

impl Row {
    fn of(d: &Distribution, corrected: Option<&View>) -> Self {
        let thread = d.parts().thread.as_ref();
        let percentiles = Quantile::STANDARD.iter().filter_map(|&q| {
            let (raw, corrected) = (d.value_at(q), corrected.and_then(|c| c.value_at(q)));
            (raw.is_some() || corrected.is_some()).then(|| Percentile { name: q.to_string(), raw, corrected })
        });
        Self {
            label: d.label().into(),
            cpu: thread.and_then(|t| t.cpu),
            interval: thread.map_or(0, |t| t.interval),
            count: d.count(),
            expected: d.parts().expected,
            missed: d.missed(),
            late: d.late(),
            spurious: d.spurious(),
            overflow: d.overflow(),
            dropped: d.dropped(),
            min: d.min(),
            max: d.max(),
            mean: d.mean(),
            stddev: d.stddev(),
            corrected_mean: corrected.map(|c| c.mean),
            corrected_count: corrected.map(View::count),
            percentiles: percentiles.collect(),
            exceedance: rule_of_three(d.count()),
        }
    }

    /// The percentile of this name, such as "p99.9".
    pub fn percentile(&self, name: &str) -> Option<&Percentile> {
        self.percentiles.iter().find(|p| p.name == name)
    }
}

/// The rule of three: after `n` independent samples without an exceedance, its probability is below 3/n at 95 % confidence.
///
/// Source: Hanley and Lippman-Hand, JAMA 249 (1983), from (1-p)^n = 0.05. `None` below 30 samples, where it is no good approximation.
pub fn rule_of_three(n: u64) -> Option<f64> {
    (n >= 30).then(|| 3.0 / n as f64)
}

/// The figures of one record and what a reader must see beside them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The record's id.
    pub id: String,
    /// RFC 3339 in UTC.
    pub started: String,
    /// Wall time of the measurement, ns.
    pub elapsed_ns: u64,
    /// What was measured.
    pub test: Test,
    /// Where the task ran.
    pub space: Space,
    /// Name of the load.
    pub load: String,
    /// Where the probe ran.
    pub target: String,
    /// Kernel release.
    pub kernel: String,
    /// Preemption model as people write it.
    pub preemption: String,
    /// Whose time the figures are in.
    pub clock: Clock,
    /// What the machine ran in, if not on bare metal.
    pub virtualization: Option<String>,
    /// Clock and machine in words: see [`clock_words`].
    pub clock_words: String,
    /// Whether the figures may be trusted.
    pub verdict: Verdict,
    /// The run was ended before its time.
    pub interrupted: bool,
    /// All distributions as one; `None` when there is none.
    pub merged: Option<Row>,
    /// One row for each distribution.
    pub rows: Vec<Row>,
}

/// Computes the figures of `record`. Fails only when the counts of its distributions do not fit into a u64 together.
pub fn summarize(record: &Record) -> Result<Summary, DistributionError> {
    let p = record.parts();
    let views: Vec<Option<View>> = record.distributions().iter().map(|d| View::of(record, d)).collect();
    let filled = record.distributions().iter().zip(&views).filter(|(d, _)| d.count() > 0);
    let all = View::merge(filled.map(|(_, v)| v.as_ref()));
    let merged = record.merged()?.map(|d| {
        let mut row = Row::of(&d, all.as_ref());
        "all".clone_into(&mut row.label);
        row
    });
    Ok(Summary {
        id: p.id.clone(),
        started: p.started.clone(),
        elapsed_ns: p.elapsed_ns,
        test: p.test,
        space: p.space,
        load: p.load.clone(),
        target: p.target.clone(),
        kernel: p.system.kernel.release.clone(),
        preemption: p.system.kernel.preemption.as_str().into(),
        clock: p.clock,
        virtualization: p.system.virtualization.clone(),
        clock_words: clock_words(record),
        verdict: record.verdict(),
        interrupted: p.interrupted,
        merged,
        rows: record.distributions().iter().zip(&views).map(|(d, v)| Row::of(d, v.as_ref())).collect(),
    })
}

/// Whose time a record's figures are in, in words that say so when it was no bare machine: "host", "host in kvm", "virtual in qemu".
pub fn clock_words(record: &Record) -> String {
    clock_and_machine(record.parts().clock, record.parts().system.virtualization.as_deref())
}

/// [`clock_words`] from the two facts themselves, for a listing that holds no records.
pub fn clock_and_machine(clock: Clock, virtualization: Option<&str>) -> String {
    match (virtualization, clock) {
        (Some(v), clock) => format!("{clock} in {v}"),
        (None, Clock::Virtual) => "virtual in a VM".into(),
        (None, Clock::Host) => "host".into(),
    }
}

const CONTAINER_WORDS: [&str; 11] =
    ["", "in", "a", "container", "docker", "podman", "lxc", "nspawn", "systemd", "containerd", "kubernetes"];

/// Whether the figures were taken in a virtual machine (a container shares its host's kernel and is none).
pub fn virtual_machine(record: &Record) -> bool {
    is_virtual(record.parts().clock, record.parts().system.virtualization.as_deref())
}

/// [`virtual_machine`] from the two facts themselves.
pub fn is_virtual(clock: Clock, virtualization: Option<&str>) -> bool {
    // "kvm", "container", "docker in kvm" ...: a machine unless every word of it names a container or is filler.
    let words = |v: &str| v.to_ascii_lowercase().split(|c: char| !c.is_ascii_alphanumeric()).any(|w| !CONTAINER_WORDS.contains(&w));
    clock == Clock::Virtual || virtualization.is_some_and(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Build, canonical};

    #[test]
    fn figures_of_the_canonical_example() {
        let s = summarize(&canonical()).unwrap();
        let row = s.merged.unwrap();
        assert_eq!((row.count, row.missed, row.expected), (10_001, 10_000, Some(20_001)));
        assert_eq!((row.min, row.max), (Some(1_000_000), Some(100_000_000_000)));
        assert!((row.mean.unwrap() / 1e3 - 10_998.90).abs() < 0.01);
        assert!((row.corrected_mean.unwrap() / 1e3 - 25_003_000.0).abs() < 1.0);
        let p99 = row.percentile("p99").unwrap();
        assert!((1_000_000..=1_001_000).contains(&p99.raw.unwrap()));
        assert!(p99.corrected.unwrap() >= 98_000_000_000);
        assert_eq!(row.percentile("p99.999"), None, "10,001 samples do not support it");
        assert!((row.exceedance.unwrap() - 3.0 / 10_001.0).abs() < 1e-12);
    }

    #[test]
    fn rows_and_the_merged_row_agree() {
        let r = Build::new("full").cpu(0, 1_000_000, &[5_000, 9_000]).cpu(1, 1_000_000, &[1_000, 2_500_000, 7_000]).record();
        let s = summarize(&r).unwrap();
        let all = s.merged.unwrap();
        assert_eq!(all.label, "all");
        assert_eq!(all.count, s.rows.iter().map(|r| r.count).sum::<u64>());
        assert_eq!(all.missed, 2);
        assert_eq!((all.min, all.max), (Some(1_000), Some(2_500_000)));
        assert_eq!((s.rows[1].cpu, s.rows[1].interval), (Some(1), 1_000_000));
        assert!((all.mean.unwrap() - 2_522_000.0 / 5.0).abs() < 1e-6);
        assert_eq!(all.exceedance, None, "five samples say nothing about rare events");
    }

    #[test]
    fn a_record_without_figures() {
        let s = summarize(&Build::new("none").record()).unwrap();
        assert_eq!(s.merged, None);
        let s = summarize(&Build::new("none").cpu(0, 1_000, &[]).record()).unwrap();
        let row = s.merged.unwrap();
        assert_eq!((row.count, row.min, row.mean, row.percentiles.len()), (0, None, None, 0));
    }

    #[test]
    fn a_virtual_machine_always_shows() {
        let mut b = Build::new("none");
        assert_eq!(clock_words(&Build::new("none").record()), "host");
        b.0.system.virtualization = Some("kvm".into());
        let r = b.record();
        assert_eq!((clock_words(&r).as_str(), virtual_machine(&r)), ("host in kvm", true));
        for (v, vm) in [("container", false), ("docker container", false), ("container in kvm", true), ("kvm+docker", true)] {
            let mut b = Build::new("none");
            b.0.system.virtualization = Some(v.into());
            let r = b.record();
            assert_eq!((clock_words(&r), virtual_machine(&r)), (format!("host in {v}"), vm));
        }
        let mut b = Build::new("none");
        b.0.clock = Clock::Virtual;
        assert_eq!(clock_words(&b.record()), "virtual in a VM");
    }
}
