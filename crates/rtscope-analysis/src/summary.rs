//! The figures of one record: for each distribution and for all merged, raw and corrected.

use crate::effective::Bursts;
use rtscope_record::correction::{Basis, Corrected};
use rtscope_record::{Clock, Distribution, DistributionError, Origin, Quantile, Record, Space, Test, Verdict};
use serde::Serialize;

/// One percentile, raw and corrected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Percentile {
    /// "p99.9"
    pub name: String,
    /// Of the samples taken, ns, rounded up; `None` when there are too few samples, or when the percentile lies among
    /// overflowed samples.
    pub raw: Option<u64>,
    /// Of all events that were expected and not lost, ns; `None` when there is no basis for a corrected view, or when the
    /// percentile lies among unanswered stimuli.
    pub corrected: Option<u64>,
}

/// The figures of one distribution.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// "cpu0", "rising", "all" ...
    pub label: String,
    /// The CPU its thread was pinned to.
    pub cpu: Option<u32>,
    /// Interval of its thread's grid, ns; 0 when unknown.
    pub interval: u64,
    /// Samples taken.
    pub count: u64,
    /// Events that should have given a sample.
    pub expected: Option<u64>,
    /// Events that gave none.
    pub missed: u64,
    /// How many of the missed were answered after the time-out.
    pub late: u64,
    /// Edges that answer no stimulus.
    pub spurious: u64,
    /// Samples above the range of an imported histogram.
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
    /// What the corrected figures rest on: "corrected" where each event is known, or "by HdrHistogram's rule".
    pub corrected_basis: Option<&'static str>,
    /// Mean of the corrected view, ns.
    pub corrected_mean: Option<f64>,
    /// Maximum of the corrected view, ns.
    pub corrected_max: Option<u64>,
    /// Events of the corrected view: expected and not lost.
    pub corrected_count: Option<u64>,
    /// How many of these were stimuli without an answer in time: they are later than every known latency.
    pub unanswered: u64,
    /// The standard percentiles (p50 to p99.999) that the count supports in either view.
    pub percentiles: Vec<Percentile>,
    /// Independent samples that these are worth, as their bursts say ([`Bursts`]); `None` where they have no block maxima.
    pub effective: Option<u64>,
    /// Upper bound, at 95 % confidence, of the probability that a further sample exceeds `max`, by the effective number where that is known;
    /// see [`rule_of_three`].
    pub exceedance: Option<f64>,
}

impl Row {
    fn of(d: &Distribution, corrected: Option<&Corrected>, bursts: Option<Bursts>) -> Self {
        let effective = bursts.map(|b| b.effective(d.count()));
        let thread = d.parts().thread.as_ref();
        let values = d.standard().into_iter().zip(corrected.map_or_else(Default::default, Corrected::standard));
        let known = Quantile::STANDARD.iter().zip(values).filter(|(_, (raw, corrected))| raw.is_some() || corrected.is_some());
        let percentiles = known.map(|(q, (raw, corrected))| Percentile { name: q.to_string(), raw, corrected });
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
            corrected_basis: corrected.map(|c| c.basis.as_str()),
            corrected_mean: corrected.and_then(|c| c.mean),
            corrected_max: corrected.filter(|c| c.unanswered == 0).map(|c| c.max),
            corrected_count: corrected.map(Corrected::count),
            unanswered: corrected.map_or(0, |c| c.unanswered),
            percentiles: percentiles.collect(),
            effective,
            exceedance: rule_of_three(effective.unwrap_or(d.count())),
        }
    }

    /// Whether the corrected figures are guessed by `HdrHistogram`'s rule.
    pub fn by_rule(&self) -> bool {
        self.corrected_basis == Some(Basis::Rule.as_str())
    }

    /// The percentile of this name, such as "p99.9".
    pub fn percentile(&self, name: &str) -> Option<&Percentile> {
        self.percentiles.iter().find(|p| p.name == name)
    }
}

/// The rule of three: if none of `n` independent samples exceeds a value, the probability that one does is below 3/n, at
/// 95 % confidence.
///
/// Source: Hanley and Lippman-Hand, JAMA 249 (1983), from (1-p)^n = 0.05. `None` below 30 samples, where the
/// approximation is poor.
pub fn rule_of_three(n: u64) -> Option<f64> {
    (n >= 30).then(|| 3.0 / n as f64)
}

/// The figures of one record and what a reader must see beside them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The record's id.
    pub id: String,
    /// Start of the run, RFC 3339 in UTC.
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
    /// Where it came from.
    pub origin: Origin,
    /// Whether the figures may be trusted.
    pub verdict: Verdict,
    /// The run was ended before its planned end.
    pub interrupted: bool,
    /// All distributions merged; `None` when there are none.
    pub merged: Option<Row>,
    /// One row for each distribution.
    pub rows: Vec<Row>,
}

/// Computes the figures of `record`. Fails only when the summed counts of its distributions exceed a u64.
pub fn summarize(record: &Record) -> Result<Summary, DistributionError> {
    let p = record.parts();
    let views: Vec<Option<Corrected>> = record.distributions().iter().map(|d| Corrected::of(p, d)).collect();
    let all = Corrected::of_views(record, &views);
    let merged = record.merged()?.map(|d| {
        let mut row = Row::of(&d, all.as_ref(), Bursts::of_record(record));
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
        origin: record.origin(),
        verdict: record.verdict(),
        interrupted: p.interrupted,
        merged,
        rows: record.distributions().iter().zip(&views).map(|(d, v)| Row::of(d, v.as_ref(), Bursts::of(record, d))).collect(),
    })
}

/// The clock of a record's figures in words, with the virtual machine where there was one, and the origin where it is an
/// emulator or an import: "host", "host in kvm", "virtual in qemu, model 2", "host, imported".
pub fn clock_words(record: &Record) -> String {
    let words = clock_and_machine(record.parts().clock, record.parts().system.virtualization.as_deref(), record.origin());
    match record.parts().lab.as_ref().and(time_model(record)) {
        Some(model) => format!("{words}, model {model}"),
        None => words,
    }
}

/// The time model of a record in virtual time, 1 where it names none; `None` for host time. A ratio never mixes two
/// models.
pub fn time_model(record: &Record) -> Option<u32> {
    let p = record.parts();
    (p.clock == Clock::Virtual).then(|| p.lab.as_ref().map_or(1, |lab| lab.model))
}

/// The name of a machine: for a guest of the lab its kernel and time model, otherwise the host name; empty where the
/// record does not say. The kernel's default host name `(none)` counts as none.
pub fn machine_name(record: &Record) -> String {
    let p = record.parts();
    match &p.lab {
        Some(lab) => lab.name(),
        None if p.system.hostname == "(none)" => String::new(),
        None => p.system.hostname.clone(),
    }
}

/// [`clock_words`] from the facts themselves, for listings that hold no records.
pub fn clock_and_machine(clock: Clock, virtualization: Option<&str>, origin: Origin) -> String {
    let words = match (virtualization, clock) {
        (Some(v), clock) => format!("{clock} in {v}"),
        (None, Clock::Virtual) => "virtual in a VM".into(),
        (None, Clock::Host) => "host".into(),
    };
    match origin {
        // Records of this program say nothing more; for the lab, the words already name the machine.
        Origin::Measured | Origin::Lab => words,
        Origin::Emulator | Origin::Imported => format!("{words}, {origin}"),
    }
}

const CONTAINER_WORDS: [&str; 11] =
    ["", "in", "a", "container", "docker", "podman", "lxc", "nspawn", "systemd", "containerd", "kubernetes"];

/// Whether the figures were taken in a virtual machine. A container is not one: it shares its host's kernel.
pub fn virtual_machine(record: &Record) -> bool {
    is_virtual(record.parts().clock, record.parts().system.virtualization.as_deref())
}

/// [`virtual_machine`] from the facts themselves.
pub fn is_virtual(clock: Clock, virtualization: Option<&str>) -> bool {
    // "kvm", "container", "docker in kvm" ...: a virtual machine unless every word names a container or is filler.
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
        // Each of the 10,000 points passed over has a latency, down to 0 at the wake-up: the same sum as by the rule,
        // over one more event.
        assert_eq!((row.corrected_count, row.corrected_basis), (Some(20_001), Some("corrected")));
        assert!((row.corrected_mean.unwrap() - 25_003_000_000.0 * 20_000.0 / 20_001.0).abs() < 1.0);
        let p99 = row.percentile("p99").unwrap();
        assert!((1_000_000..=1_001_000).contains(&p99.raw.unwrap()));
        assert!(p99.corrected.unwrap() >= 98_000_000_000);
        assert_eq!(row.percentile("p99.999"), None, "10,001 samples do not support it");
        assert!((row.exceedance.unwrap() - 3.0 / 10_001.0).abs() < 1e-12);
    }

    #[test]
    fn an_import_has_the_rule_and_its_name() {
        let mut values = vec![1_000_000u64; 10_000];
        values.push(100_000_000_000);
        let row = summarize(&Build::new("none").cpu(0, 10_000_000, &values).import().record()).unwrap().merged.unwrap();
        assert_eq!((row.corrected_count, row.corrected_basis), (Some(20_000), Some("by HdrHistogram's rule")));
        assert!((row.corrected_mean.unwrap() / 1e3 - 25_003_000.0).abs() < 1.0);
    }

    #[test]
    fn each_thread_has_its_own_grid() {
        let r = Build::new("none").cpu(0, 1_000_000, &[10_000, 3_000_001]).cpu(1, 2_000_000, &[10_000, 3_000_001]).record();
        // A latency of 3 ms passes over three points at 1 ms and one at 2 ms.
        assert_eq!(summarize(&r).unwrap().merged.unwrap().corrected_count, Some(4 + 3 + 1));
        // An old native record says how many points were passed over, but not how late they were.
        let mut parts = r.clone().into_parts();
        let mut d = parts.distributions.remove(0).into_parts();
        d.passed = None;
        parts.distributions.insert(0, Distribution::new(d).unwrap());
        assert!(!summarize(&r).unwrap().merged.unwrap().by_rule());
        assert!(summarize(&Record::new(parts).unwrap()).unwrap().merged.unwrap().by_rule());
    }

    #[test]
    fn a_part_without_a_view_leaves_none_for_the_whole() {
        let mut parts = Build::new("none").cpu(0, 1_000_000, &[10_000]).cpu(1, 1_000_000, &[10_000]).record().into_parts();
        let mut d = parts.distributions.remove(0).into_parts();
        (d.dropped, d.expected) = (1, None);
        parts.distributions.push(Distribution::new(d).unwrap());
        assert_eq!(summarize(&Record::new(parts).unwrap()).unwrap().merged.unwrap().corrected_count, None);
    }

    #[test]
    fn unanswered_stimuli_are_events_too() {
        let r = Build::lines("a", Test::Response, &[("rising", &[100; 90], 10), ("falling", &[200; 100], 0)]).record();
        let row = summarize(&r).unwrap().merged.unwrap();
        assert_eq!((row.corrected_count, row.unanswered, row.corrected_max, row.corrected_mean), (Some(200), 10, None, None));
        assert_eq!(row.percentile("p95").map(|p| (p.raw, p.corrected)), Some((Some(200), Some(200))));
        assert_eq!(row.percentile("p99").map(|p| (p.raw, p.corrected)), Some((Some(200), None)));
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
        assert!(is_virtual(Clock::Virtual, None) && is_virtual(Clock::Virtual, Some("container")));
        assert!(!is_virtual(Clock::Host, None) && !virtual_machine(&Build::new("none").record()));
    }

    #[test]
    fn a_machine_is_called_by_its_own_name() {
        let named = |hostname: &str, lab: Option<rtscope_record::Lab>| {
            let mut b = Build::new("none");
            (b.0.system.hostname, b.0.lab) = (hostname.into(), lab);
            machine_name(&b.record())
        };
        assert_eq!([named("board", None), named("(none)", None), named("", None)], ["board", "", ""]);
        let lab = rtscope_record::Lab::default();
        assert_eq!(named("board", Some(lab.clone())), lab.name());
    }

    #[test]
    fn the_rule_of_three_needs_thirty_samples() {
        assert_eq!((rule_of_three(29), rule_of_three(30)), (None, Some(0.1)));
    }

    #[test]
    fn where_there_is_nothing_to_correct_the_percentiles_are_raw() {
        let s = summarize(&Build::lines("r", Test::Periodic, &[("rising late", &[5, 7], 0)]).record()).unwrap();
        let p50 = s.rows[0].percentile("p50").unwrap();
        assert_eq!((p50.raw, p50.corrected, s.rows[0].percentile("p90")), (Some(5), None, None));
    }

    #[test]
    fn an_empty_distribution_does_not_hide_the_others() {
        let r = Build::new("none").cpu(0, 1_000_000, &[5_000, 2_500_000]).cpu(1, 1_000_000, &[]).record();
        let all = summarize(&r).unwrap().merged.unwrap();
        assert!(all.count == 2 && all.corrected_count.is_some() && all.corrected_mean.is_some());
    }
}
