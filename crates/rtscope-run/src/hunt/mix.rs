//! A load of a hunt: stressors, each with its number of workers and, where it takes one, its size.

use std::collections::BTreeMap;

/// Sizes that are tried of stressors that take one, as stress-ng reads them.
pub(super) const SIZES: [&str; 3] = ["1m", "16m", "128m"];

/// How a stressor is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Part {
    workers: u32,
    /// Of `--NAME-bytes`; stress-ng's own if there is none.
    size: Option<&'static str>,
}

const ONE: Part = Part { workers: 1, size: None };

/// A load: stressors, each with how it is run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mix(BTreeMap<String, Part>);

impl Mix {
    /// One worker of each stressor.
    pub fn of<'a>(stressors: impl IntoIterator<Item = &'a String>) -> Self {
        Self(stressors.into_iter().map(|s| (s.clone(), ONE)).collect())
    }

    /// One worker of a stressor.
    pub fn one(stressor: impl AsRef<str>) -> Self {
        Self::single(stressor.as_ref(), ONE)
    }

    pub(super) fn workers(stressor: &str, workers: u32) -> Self {
        Self::single(stressor, Part { workers, ..ONE })
    }

    pub(super) fn sized(stressor: &str, size: &'static str) -> Self {
        Self::single(stressor, Part { size: Some(size), ..ONE })
    }

    fn single(stressor: &str, part: Part) -> Self {
        Self(BTreeMap::from([(stressor.to_owned(), part)]))
    }

    /// As `--load` takes it.
    pub fn load(&self) -> String {
        let words = self.0.iter().map(|(name, part)| {
            let size = part.size.map_or_else(String::new, |size| format!(" --{name}-bytes {size}"));
            format!(" --{name} {}{size}", part.workers)
        });
        format!("stress-ng:{}", words.collect::<String>().trim_start())
    }

    /// Its stressors.
    pub fn stressors(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_written_as_measure_takes_them() {
        let all = ["vm-rw", "klog"].map(String::from);
        for (mix, load) in [
            (Mix::of(&all), "stress-ng:--klog 1 --vm-rw 1"),
            (Mix::workers("klog", 4), "stress-ng:--klog 4"),
            (Mix::sized("vm", "16m"), "stress-ng:--vm 1 --vm-bytes 16m"),
        ] {
            assert_eq!(mix.load(), load);
            rtscope_load::Load::parse(load).unwrap();
        }
    }
}
