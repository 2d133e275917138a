//! The kernel of a record, with what was set of it, its short name, and whether it is stock or RT.

use rtscope_record::system::Preemption;
use rtscope_record::{Record, Tuning};
use serde::Serialize;

/// A kernel's role in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Any preemption model other than PREEMPT_RT.
    Stock,
    /// PREEMPT_RT.
    Rt,
    /// The record does not say, so it counts as neither.
    Unknown,
}

impl Role {
    /// The name as people write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::Rt => "RT",
            Self::Unknown => "unknown preemption",
        }
    }
}

/// A kernel: its release and its preemption model.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct KernelModel {
    /// `uname -r`; may be empty.
    pub release: String,
    /// Preemption model as people write it.
    pub preemption: String,
    /// Stock or RT.
    pub role: Role,
    /// What the target's name added to its command line, in the lab; elsewhere what of the command line bears on latencies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
    /// What was set for the run while it ran.
    #[serde(skip_serializing_if = "Tuning::is_empty")]
    pub tuning: Tuning,
    /// Short form of release and role, the parameters and what was set: "6.12.95+deb12 RT", "6.12.95+deb12 stock highres=off",
    /// "6.12.95+deb12 stock with thp=never".
    pub label: String,
}

impl KernelModel {
    /// The kernel of a record.
    pub fn of(r: &Record) -> Self {
        let k = &r.parts().system.kernel;
        let role = match k.preemption {
            Preemption::Rt => Role::Rt,
            Preemption::Unknown => Role::Unknown,
            _ => Role::Stock,
        };
        let parameters = match &r.parts().lab {
            Some(lab) => lab.parameters.clone(),
            None => bearing(&k.cmdline),
        };
        let tuning = r.parts().settings.tuning.clone();
        let mut words = match (k.release.as_str(), role) {
            // As many imports are.
            ("", Role::Unknown) => vec!["unknown kernel".into()],
            (release, role) => vec![short(release), role.as_str().to_owned()],
        };
        words.extend(added(&parameters, &tuning));
        Self {
            release: k.release.clone(),
            preemption: k.preemption.as_str().into(),
            role,
            label: words.join(" "),
            parameters,
            tuning,
        }
    }

    /// Parameters and what was set, in words; empty where there is neither.
    pub fn added(&self) -> String {
        added(&self.parameters, &self.tuning).join(" ")
    }

    /// As it comes, without parameters, and nothing was set.
    pub(crate) fn is_plain(&self) -> bool {
        self.parameters.is_empty() && self.tuning.is_empty()
    }

    /// Major and minor number; `None` where the release does not begin with both.
    pub(crate) fn numbers(&self) -> Option<(u64, u64)> {
        Version::of(&self.release).series()
    }

    /// Major and minor number, such as "6.12"; "unknown" where the release does not begin with both.
    pub fn series(&self) -> String {
        self.numbers().map_or_else(|| "unknown".into(), |(major, minor)| format!("{major}.{minor}"))
    }
}

/// Gives kernels that the short form does not tell apart longer names: the whole release, and where that is the same too, the preemption
/// model. Kernels that one tree was built into for several preemption models are all stock but for PREEMPT_RT.
pub(crate) fn tell_apart(kernels: &mut [KernelModel]) {
    let longer: [fn(&KernelModel) -> Vec<String>; 2] =
        [|k| vec![k.release.clone(), k.role.as_str().to_owned()], |k| vec![k.release.clone(), k.preemption.clone()]];
    for words in longer {
        let labels: Vec<String> = kernels.iter().map(|k| k.label.clone()).collect();
        for i in 0..kernels.len() {
            let k = &kernels[i];
            let shared = kernels
                .iter()
                .zip(&labels)
                .any(|(other, label)| *label == labels[i] && (&other.release, &other.preemption) != (&k.release, &k.preemption));
            if shared && !k.release.is_empty() {
                let mut words = words(k);
                words.extend(added(&k.parameters, &k.tuning));
                kernels[i].label = words.join(" ");
            }
        }
    }
}

/// Parameters of a command line that bear on latencies (Documentation/admin-guide/kernel-parameters.txt), but for `preempt`, which the preemption
/// model tells.
const BEARING: [&str; 15] = [
    "cpuidle.off",
    "highres",
    "idle",
    "intel_idle.max_cstate",
    "irqaffinity",
    "isolcpus",
    "maxcpus",
    "nohz",
    "nohz_full",
    "nosmt",
    "processor.max_cstate",
    "rcu_nocb_poll",
    "rcu_nocbs",
    "skew_tick",
    "threadirqs",
];

/// Those of a command line; what stands behind `--` is for init.
fn bearing(cmdline: &str) -> Vec<String> {
    let words = cmdline.split_ascii_whitespace().take_while(|word| *word != "--");
    words.filter(|word| BEARING.contains(&word.split('=').next().unwrap_or_default())).map(str::to_owned).collect()
}

fn added(parameters: &[String], tuning: &Tuning) -> Vec<String> {
    let set = if tuning.is_empty() { Vec::new() } else { [vec!["with".to_owned()], tuning.words()].concat() };
    parameters.iter().cloned().chain(set).collect()
}

/// The release without flavour and architecture: "6.1.0-42-rt-amd64" becomes "6.1.0-42".
fn short(release: &str) -> String {
    let mut parts = release.split('-');
    let mut out = parts.next().filter(|p| !p.is_empty()).unwrap_or("unknown").to_owned();
    for p in parts {
        let number = !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit());
        if !number && !p.starts_with("rc") {
            break;
        }
        out.push('-');
        out += p;
    }
    out
}

/// The numbers of a release, used for sorting and for the series: "6.1.0-42-rt-amd64" gives 6, 1, 0, 42.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    numbers: Vec<u64>,
    /// The short form, so that 6.12.95+deb12 and 6.12.95+deb13 differ.
    text: String,
}

impl Version {
    pub(crate) fn of(release: &str) -> Self {
        let text = short(release);
        let plain = text.split('+').next().unwrap_or_default();
        let numbers = plain.split(['.', '-']).map_while(|p| p.parse().ok()).collect();
        Self { numbers, text }
    }

    /// Major and minor number.
    pub(crate) fn series(&self) -> Option<(u64, u64)> {
        match self.numbers.as_slice() {
            [major, minor, ..] => Some((*major, *minor)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn releases() {
        for (release, wanted, series) in [
            ("6.12.95+deb12-amd64", "6.12.95+deb12", Some((6, 12))),
            ("6.12.95+deb12-rt-amd64", "6.12.95+deb12", Some((6, 12))),
            ("6.1.0-42-cloud-amd64", "6.1.0-42", Some((6, 1))),
            ("6.1.0-42-rt-arm64", "6.1.0-42", Some((6, 1))),
            ("6.6.30-rt30-v8+", "6.6.30", Some((6, 6))),
            ("6.14-rc3-rt1", "6.14-rc3", Some((6, 14))),
            ("6.1--42", "6.1", Some((6, 1))),
            ("6", "6", None),
            ("", "unknown", None),
        ] {
            assert_eq!(short(release), wanted);
            assert_eq!(Version::of(release).series(), series, "{release}");
        }
        assert!(Version::of("6.12.95-amd64") < Version::of("6.12.107-amd64"), "by number, not by letter");
        assert_ne!(Version::of("6.12.95+deb12-amd64"), Version::of("6.12.95+deb13-amd64"));
    }

    #[test]
    fn kernels_of_one_tree_are_told_apart() {
        let kernel = |release: &str, preemption: Preemption| {
            let mut parts = rtscope_record::fixtures::parts();
            (parts.system.kernel.release, parts.system.kernel.preemption) = (release.into(), preemption);
            KernelModel::of(&Record::new(parts).unwrap())
        };
        let labels = |mut kernels: Vec<KernelModel>| {
            tell_apart(&mut kernels);
            kernels.into_iter().map(|k| k.label).collect::<Vec<_>>()
        };
        // A kernel at two places is still one; another series keeps its short name.
        let none = kernel("6.17.13-none", Preemption::None);
        let of_one_tree = vec![
            none.clone(),
            kernel("6.17.13-lazy", Preemption::Lazy),
            kernel("6.17.13-rt", Preemption::Rt),
            none,
            kernel("6.12.95+deb12-amd64", Preemption::Voluntary),
        ];
        assert_eq!(
            labels(of_one_tree),
            ["6.17.13-none stock", "6.17.13-lazy stock", "6.17.13 RT", "6.17.13-none stock", "6.12.95+deb12 stock"]
        );
        // `preempt=` of a kernel that can be told.
        let dynamic = vec![kernel("6.12.95+deb12-amd64", Preemption::Voluntary), kernel("6.12.95+deb12-amd64", Preemption::Full)];
        assert_eq!(labels(dynamic), ["6.12.95+deb12-amd64 PREEMPT_VOLUNTARY", "6.12.95+deb12-amd64 PREEMPT"]);
    }

    #[test]
    fn a_machine_booted_with_other_parameters_has_another_kernel() {
        let booted = |cmdline: &str| {
            let mut parts = rtscope_record::fixtures::parts();
            parts.system.kernel.release = "6.12.95-amd64".into();
            parts.system.kernel.preemption = Preemption::Voluntary;
            parts.system.kernel.cmdline = cmdline.into();
            KernelModel::of(&Record::new(parts).unwrap())
        };
        let plain = booted("BOOT_IMAGE=/vmlinuz root=/dev/sda1 quiet preempt=voluntary -- isolcpus=1");
        assert_eq!((plain.label.as_str(), plain.is_plain()), ("6.12.95 stock", true));
        let isolated = booted("root=/dev/sda1 isolcpus=1 nohz_full=1 quiet threadirqs");
        assert_eq!(isolated.label, "6.12.95 stock isolcpus=1 nohz_full=1 threadirqs");
        assert_ne!(plain, isolated);
    }

    #[test]
    fn a_record_that_says_nothing_has_an_unknown_kernel() {
        let mut parts = rtscope_record::fixtures::parts();
        parts.system = rtscope_record::System::default();
        assert_eq!(KernelModel::of(&Record::new(parts.clone()).unwrap()).label, "unknown kernel");
        parts.system.kernel.preemption = Preemption::Rt;
        assert_eq!(KernelModel::of(&Record::new(parts).unwrap()).label, "unknown RT");
    }

    proptest! {
        #[test]
        fn any_release_has_a_short_form(release in "\\PC{0,40}") {
            prop_assert!(!short(&release).is_empty());
            let _ = Version::of(&release).series();
        }
    }
}
