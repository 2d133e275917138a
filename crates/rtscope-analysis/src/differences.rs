//! Finds what was measured differently on two sides, since a ratio should compare the measurements and not the machines.

use crate::finding::{Finding, finding};
use rtscope_record::Record;
use std::collections::BTreeSet;

/// Code of the finding, name of the aspect, remedy for a difference, and the aspect's value in a record (empty where the
/// record does not say).
type Aspect = (&'static str, &'static str, &'static str, fn(&Record) -> String);

const ASPECTS: [Aspect; 10] = [
    ("test-differs", "test", "compare runs of the same test", |r| r.parts().test.to_string()),
    ("space-differs", "space", "measure both in the same --space", |r| r.parts().space.to_string()),
    ("clock-differs", "clock", "measure both with the same clock: virtual and host time do not compare", |r| {
        r.parts().clock.to_string()
    }),
    ("machine-differs", "machine", "measure both on bare metal, or both in the same virtual machine", |r| {
        r.parts().system.virtualization.clone().unwrap_or_else(|| "bare metal".into())
    }),
    ("interval-differs", "interval", "measure both with the same --interval", |r| intervals(r)),
    ("policy-differs", "policy and priority", "measure both with the same --policy and --priority", |r| {
        let s = &r.parts().settings;
        format!("{} {}", s.policy, s.priority)
    }),
    ("placement-differs", "placement of threads", "measure both pinned, or both with --migrate, on as many threads", |r| {
        let s = &r.parts().settings;
        format!("{} threads {}", s.threads, if s.migrate { "free to migrate" } else { "pinned" })
    }),
    ("tuning-differs", "settings of the machine", "measure both with the same --tune", |r| {
        let tuning = &r.parts().settings.tuning;
        if tuning.is_empty() { "as it was".into() } else { tuning.to_string() }
    }),
    ("lab-differs", "the lab's machine", "take both with one QEMU: the same program, firmware and processor", |r| {
        let of = |l: &rtscope_record::Lab| {
            let short = |sha256: &Option<String>| sha256.as_deref().map_or("-", |hex| hex.get(..12).unwrap_or(hex)).to_owned();
            let flags = l.processor.as_ref().map_or(0, |p| p.flags.len());
            format!("QEMU {} ({}, firmware {}, {flags} CPU flags)", l.qemu, short(&l.qemu_sha256), short(&l.firmware_sha256))
        };
        r.parts().lab.as_ref().map(of).unwrap_or_default()
    }),
    ("resolution-differs", "resolution", "measure both with rtscope: an imported figure was rounded down", |r| {
        let widest = r.distributions().iter().map(|d| d.parts().resolution).max().unwrap_or(1);
        format!("{widest} ns")
    }),
];

/// How a set of records was measured: for each aspect, its distinct values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aspects([BTreeSet<String>; ASPECTS.len()]);

impl Aspects {
    pub(crate) fn of(r: &Record) -> Self {
        Self(ASPECTS.map(|(.., f)| Some(f(r)).filter(|s| !s.is_empty()).into_iter().collect()))
    }

    pub(crate) fn add(&mut self, later: &Self) {
        for (own, more) in self.0.iter_mut().zip(&later.0) {
            for text in more {
                note(own, text);
            }
        }
    }
}

/// Adds a text to a set, allocating only when it is new; empty texts are left out.
pub(crate) fn note(set: &mut BTreeSet<String>, text: &str) {
    if !text.is_empty() && !set.contains(text) {
        set.insert(text.into());
    }
}

/// The aspects in which `a` and `b` differ, or in which the runs merged on each side differ; `names` are the names of the
/// sides.
pub(crate) fn differences(a: &Aspects, b: &Aspects, names: [&str; 2]) -> Vec<Finding> {
    let mut found = Vec::new();
    for ((code, what, remedy, _), (x, y)) in ASPECTS.into_iter().zip(a.0.iter().zip(&b.0)) {
        let words = |set: &BTreeSet<String>| set.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        if x != y {
            let message = format!("{} and {} differ in {what}: {} against {}", names[0], names[1], words(x), words(y));
            found.push(finding(code, message, remedy));
        } else if x.len() > 1 {
            let message = format!("the runs merged on each side differ in {what}: {}", words(x));
            found.push(finding(code, message, remedy));
        }
    }
    found
}

fn intervals(r: &Record) -> String {
    let of_threads: BTreeSet<u64> =
        r.distributions().iter().filter_map(|d| d.parts().thread.as_ref()).map(|t| t.interval).filter(|&i| i > 0).collect();
    if of_threads.is_empty() {
        return r.parts().settings.interval.to_string();
    }
    of_threads.into_iter().map(|i| rtscope_record::Nanos(i).to_string()).collect::<Vec<_>>().join("+")
}
