//! Records for the tests of this crate.

use rtscope_record::{
    Distribution, Effect, LineSettings, Nanos, PassedOver, Record, RecordParts, Source, Test, ThreadInfo, Warning, fixtures,
};

pub(crate) struct Build(pub(crate) RecordParts);

impl Build {
    pub(crate) fn new(load: &str) -> Self {
        Self(RecordParts {
            id: format!("20261121T080000Z-{}", load.replace(|c: char| !c.is_ascii_alphanumeric(), "-")),
            load: load.into(),
            ..fixtures::parts()
        })
    }

    pub(crate) fn cpu(mut self, cpu: u32, interval: u64, samples: &[u64]) -> Self {
        let mut d = Distribution::from_samples(&format!("cpu{cpu}"), samples, 8).unwrap().into_parts();
        d.missed = samples.iter().map(|v| v / interval).sum();
        d.passed = PassedOver::of_stalls(samples.iter().map(|v| (v.saturating_sub(interval), v / interval)), interval).unwrap();
        d.expected = Some(d.count + d.missed);
        d.thread = Some(ThreadInfo { cpu: Some(cpu), interval, ..ThreadInfo::default() });
        self.0.settings.interval = Nanos(interval);
        self.0.distributions.push(Distribution::new(d).unwrap());
        self
    }

    /// A record of a test over lines: for each label a distribution of these samples and this number of missed stimuli.
    pub(crate) fn lines(id: &str, test: Test, parts: &[(&str, &[u64], u64)]) -> Self {
        let mut b = Self::new("none");
        (b.0.id, b.0.test) = (id.into(), test);
        for (label, samples, missed) in parts {
            let mut p = Distribution::from_samples(label, samples, 0).unwrap().into_parts();
            (p.missed, p.expected) = (*missed, Some(p.count + missed));
            b.0.distributions.push(Distribution::new(p).unwrap());
        }
        b
    }

    /// Sets the time-out for answers, ns.
    pub(crate) fn timeout(mut self, ns: u64) -> Self {
        self.0.settings.lines = Some(LineSettings {
            stimulus: Some("soft:a".into()),
            answer: "soft:b".into(),
            timeout: Nanos(ns),
            ..fixtures::lines()
        });
        self
    }

    /// Makes it a record imported from another tool, of which only the samples are known.
    pub(crate) fn import(mut self) -> Self {
        self.0.source = Some(Source { format: "cyclictest-json".into(), file: "x".into(), sha256: "0".into(), kept: Vec::new() });
        for d in &mut self.0.distributions {
            let mut p = d.clone().into_parts();
            (p.missed, p.passed, p.expected) = (0, None, None);
            *d = Distribution::new(p).unwrap();
        }
        self
    }

    pub(crate) fn warn(mut self, code: &str, effect: Effect) -> Self {
        self.0.warnings.push(Warning::new(code, effect, "what was found", "what mends it"));
        self
    }

    pub(crate) fn record(self) -> Record {
        Record::new(self.0).unwrap()
    }
}

/// 10,000 samples of 1 ms and one of 100 s at an interval of 10 ms.
pub(crate) fn canonical() -> Record {
    let mut values = vec![1_000_000u64; 10_000];
    values.push(100_000_000_000);
    Build::new("none").cpu(0, 10_000_000, &values).record()
}
