//! Short, unique names for runs in tables and plots.

use crate::format::cut;
use crate::properties::handler;
use rtscope_analysis::versus::Kernel;
use rtscope_record::{Record, Space};
use std::collections::BTreeMap;

/// The name of each record in a list of them all: its load, as much of its kernel as distinguishes the kernels, and test,
/// space, handler, time model and seed where they differ. Runs that are still alike are numbered.
pub(crate) fn run_names(records: &[&Record]) -> Vec<String> {
    let seed = |r: &Record| r.parts().lab.as_ref().map(|lab| lab.seed);
    let differ = records.windows(2).any(|w| seed(w[0]) != seed(w[1]));
    let shown = |r: &Record| seed(r).filter(|_| differ).map_or_else(String::new, |n| format!(" seed {n}"));
    numbered(kind_names(records).into_iter().zip(records).map(|(name, r)| name + &shown(r)).collect())
}

/// The runs of one kernel.
pub(crate) struct Group {
    pub(crate) kernel: String,
    pub(crate) runs: Vec<Run>,
}

/// A run among those of one kernel.
pub(crate) struct Run {
    /// Index among all records.
    pub(crate) index: usize,
    /// A name that is unique among the runs of its kernel.
    pub(crate) name: String,
    /// The name in at most [`LONGEST`] characters.
    pub(crate) label: String,
}

/// Most characters of a label.
pub(crate) const LONGEST: usize = 30;

/// The runs by kernel; kernels and runs are in the order of the records.
pub(crate) fn groups(records: &[Record]) -> Vec<Group> {
    let mut members: Vec<(String, Vec<usize>)> = Vec::new();
    for (i, r) in records.iter().enumerate() {
        let kernel = Kernel::of(r).label;
        match members.iter_mut().find(|m| m.0 == kernel) {
            Some(m) => m.1.push(i),
            None => members.push((kernel, vec![i])),
        }
    }
    let group = |(kernel, members): (String, Vec<usize>)| {
        let names = run_names(&members.iter().map(|&i| &records[i]).collect::<Vec<_>>());
        let labels = labels(&names, LONGEST);
        let runs = members.into_iter().zip(names.into_iter().zip(labels));
        Group { kernel, runs: runs.map(|(index, (name, label))| Run { index, name, label }).collect() }
    };
    members.into_iter().map(group).collect()
}

/// `names` in at most `longest` characters each, kept unique.
fn labels(names: &[String], longest: usize) -> Vec<String> {
    let room = |names: &[String], longest| names.iter().map(|n| cut(n, longest)).collect::<Vec<_>>();
    let short = room(names, longest);
    // Names may become alike when cut: numbers then replace their ends.
    let digits = names.len().to_string().len() + 2;
    if several(&short) { numbered(room(names, longest.saturating_sub(digits))) } else { short }
}

fn several(names: &[String]) -> bool {
    names.iter().collect::<std::collections::BTreeSet<_>>().len() < names.len()
}

/// Appends numbers to names that are alike.
fn numbered(names: Vec<String>) -> Vec<String> {
    let mut seen: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for n in &names {
        seen.entry(n.clone()).or_default()[0] += 1;
    }
    let number = |n: String| match seen.get_mut(&n) {
        Some([all, next]) if *all > 1 => {
            *next += 1;
            format!("{n} #{next}")
        }
        _ => n,
    };
    names.into_iter().map(number).collect()
}

/// [`run_names`] without seeds: runs of one kind share a name.
pub(crate) fn kind_names(records: &[&Record]) -> Vec<String> {
    let kernels: Vec<Kernel> = records.iter().map(|r| Kernel::of(r)).collect();
    let ways: [fn(&Kernel) -> String; 4] = [
        |_| String::new(),
        |k| format!(" {}", k.role.as_str()),
        |k| format!(" {} {}", k.series(), k.role.as_str()),
        |k| format!(" {}", k.label),
    ];
    let apart = |way: &fn(&Kernel) -> String| {
        let mut named: BTreeMap<String, &Kernel> = BTreeMap::new();
        kernels.iter().all(|k| *named.entry(way(k)).or_insert(k) == k)
    };
    // If all kernels have the same name, it is left out.
    let alike = kernels.windows(2).all(|k| k[0].label == k[1].label);
    let way = if alike { ways[0] } else { ways.into_iter().find(apart).unwrap_or(ways[3]) };
    let more: [fn(&Record) -> String; 4] = [
        |r| format!(" {}", r.parts().test),
        |r| format!(" {}", r.parts().space),
        |r| {
            r.parts()
                .instrument
                .as_ref()
                .map(|i| format!(" {}", handler(&i.dut)))
                .filter(|_| r.parts().space == Space::Kernel)
                .unwrap_or_default()
        },
        |r| r.parts().lab.as_ref().map_or_else(String::new, |lab| format!(" model {}", lab.model)),
    ];
    let differ = more.map(|of| records.windows(2).any(|w| of(w[0]) != of(w[1])));
    let rest = |r: &Record| more.iter().zip(differ).filter(|m| m.1).map(|m| (m.0)(r)).collect::<String>();
    records.iter().zip(&kernels).map(|(r, k)| r.parts().load.clone() + &way(k) + &rest(r)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_alike_are_numbered() {
        let names = ["none", "disk", "none"].map(String::from).to_vec();
        assert_eq!(numbered(names), ["none #1", "disk", "none #2"]);
    }
}
