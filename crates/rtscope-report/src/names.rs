//! Short, unique names for runs in tables and plots.

use crate::format::{clean, cut};
use crate::properties::handler;
use rtscope_analysis::versus::KernelModel;
use rtscope_record::{Record, Space};
use std::collections::BTreeMap;

/// The name of each record in a list of them all: its load, as much of its kernel as distinguishes the kernels, and test,
/// space, handler, time model, interval and seed where they differ. Runs that are still alike have their file, their time or
/// their id besides.
pub(crate) fn run_names(records: &[&Record]) -> Vec<String> {
    let seed = |r: &Record| r.parts().lab.as_ref().map(|lab| lab.seed);
    let differ = records.windows(2).any(|w| seed(w[0]) != seed(w[1]));
    let shown = |r: &Record| seed(r).filter(|_| differ).map_or_else(String::new, |n| format!(" seed {n}"));
    told_apart(kind_names(records).into_iter().zip(records).map(|(name, r)| name + &shown(r)).collect(), records)
}

/// What may tell a run from others; `None` where a run has no such thing.
type Way = fn(&Record) -> Option<String>;

/// The file that a run was imported from.
const FILE: Way = |r| r.parts().source.as_ref().map(|s| clean(s.file.rsplit('/').next().unwrap_or_default()));

/// When a run began, the end of its id, its id.
const WHICH: [Way; 4] = [
    |r| started(r, "2026-11-21T08:00".len()),
    |r| started(r, "2026-11-21T08:00:00".len()),
    |r| r.id().rsplit('-').next().map(str::to_owned),
    |r| Some(r.id().to_owned()),
];

fn started(r: &Record, until: usize) -> Option<String> {
    r.parts().started.get(..until).map(|t| t.replacen('T', " ", 1))
}

/// `names` of `records`, where those that are alike have after them what tells them apart: the file that they were imported from;
/// and if that is the same, or there is none, when they began, or which they are.
fn told_apart(mut names: Vec<String>, records: &[&Record]) -> Vec<String> {
    for runs in alike(&names) {
        let files: Vec<Option<String>> = runs.iter().map(|&i| FILE(records[i])).collect();
        if different(&files) > 1 {
            add(&mut names, &runs, files);
        }
    }
    for runs in alike(&names) {
        let said = |way: &Way| -> Option<Vec<String>> { runs.iter().map(|&i| way(records[i])).collect() };
        let mut which = WHICH.iter().filter_map(said).find(|all| different(all) == all.len()).unwrap_or_default();
        let day = which.first().and_then(|t| t.get(..DAY.len())).filter(|d| is_day(d)).map(str::to_owned);
        // The day is left out where it is the same.
        if let Some(day) = day.filter(|day| which.iter().all(|t| t.starts_with(day.as_str()))) {
            for time in &mut which {
                *time = time[day.len()..].to_owned();
            }
        }
        add(&mut names, &runs, which.into_iter().map(Some));
    }
    numbered(names)
}

/// The indices of each name that there is several times.
fn alike(names: &[String]) -> Vec<Vec<usize>> {
    let mut alike: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, name) in names.iter().enumerate() {
        alike.entry(name).or_default().push(i);
    }
    alike.into_values().filter(|runs| runs.len() > 1).collect()
}

fn add(names: &mut [String], runs: &[usize], more: impl IntoIterator<Item = Option<String>>) {
    for (&i, more) in runs.iter().zip(more) {
        if let Some(more) = more {
            names[i] = format!("{} {more}", names[i]);
        }
    }
}

/// How a day stands before a time.
const DAY: &str = "2026-11-21 ";

fn is_day(text: &str) -> bool {
    text.len() == DAY.len()
        && text.bytes().zip(DAY.bytes()).all(|(b, d)| if d.is_ascii_digit() { b.is_ascii_digit() } else { b == d })
}

/// How many different texts there are.
fn different<T: Ord>(all: &[T]) -> usize {
    all.iter().collect::<std::collections::BTreeSet<_>>().len()
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
        let kernel = KernelModel::of(r).label;
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

/// `names` in at most `longest` characters each, kept unique: those that would be alike are cut where they are still the same.
pub(crate) fn labels(names: &[String], longest: usize) -> Vec<String> {
    let mut short: Vec<String> = names.iter().map(|n| cut(n, longest)).collect();
    let mut alike: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, label) in short.iter().enumerate().filter(|(i, label)| **label != names[*i]) {
        alike.entry(label).or_default().push(i);
    }
    let alike: Vec<_> = alike.into_values().filter(|a| a.len() > 1).collect();
    for of in alike {
        let these: Vec<&str> = of.iter().map(|&i| names[i].as_str()).collect();
        for (i, label) in of.iter().zip(differing(&these, longest)) {
            short[*i] = label;
        }
    }
    // What is alike beyond that has numbers at its end.
    let digits = names.len().to_string().len() + 2;
    if several(&short) { numbered(short.iter().map(|n| cut(n, longest.saturating_sub(digits))).collect()) } else { short }
}

/// `names`, all longer than `longest` characters and with the same beginning: a third of the room for that, the rest for what
/// follows from a little before the first difference on.
fn differing(names: &[&str], longest: usize) -> Vec<String> {
    let characters: Vec<Vec<char>> = names.iter().map(|n| n.chars().collect()).collect();
    let shortest = characters.iter().map(Vec::len).min().unwrap_or(0);
    let first = (0..shortest).take_while(|&at| characters.windows(2).all(|w| w[0][at] == w[1][at])).count();
    let head = longest / 3;
    let room = longest.saturating_sub(head + 1);
    let from = |name: &[char]| first.saturating_sub(4).min(name.len().saturating_sub(room)).max(head);
    let label = |name: &Vec<char>| {
        let rest: String = name[from(name).min(name.len())..].iter().collect();
        name.iter().take(head).chain(&['…']).collect::<String>() + &cut(&rest, room)
    };
    characters.iter().map(label).collect()
}

fn several(names: &[String]) -> bool {
    different(names) < names.len()
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
    let kernels: Vec<KernelModel> = records.iter().map(|r| KernelModel::of(r)).collect();
    let ways: [fn(&KernelModel) -> String; 4] = [
        |_| String::new(),
        |k| format!(" {}", k.role.as_str()),
        |k| format!(" {} {}", k.series(), k.role.as_str()),
        |k| format!(" {}", k.label),
    ];
    let apart = |way: &fn(&KernelModel) -> String| {
        let mut named: BTreeMap<String, &KernelModel> = BTreeMap::new();
        kernels.iter().all(|k| *named.entry(way(k)).or_insert(k) == k)
    };
    // If all kernels have the same name, it is left out.
    let alike = kernels.windows(2).all(|k| k[0].label == k[1].label);
    let way = if alike { ways[0] } else { ways.into_iter().find(apart).unwrap_or(ways[3]) };
    let more: [fn(&Record) -> String; 5] = [
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
        // 0: not known.
        |r| Some(r.parts().settings.interval).filter(|i| i.0 > 0).map_or_else(String::new, |i| format!(" {i}")),
    ];
    let differ = more.map(|of| records.windows(2).any(|w| of(w[0]) != of(w[1])));
    let rest = |r: &Record| more.iter().zip(differ).filter(|m| m.1).map(|m| (m.0)(r)).collect::<String>();
    records.iter().zip(&kernels).map(|(r, k)| r.parts().load.clone() + &way(k) + &rest(r)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use rtscope_record::{Nanos, RecordParts, Source, fixtures};

    /// Names of runs that are alike but for what `change` makes of each.
    fn names(change: [fn(&mut RecordParts); 3]) -> Vec<String> {
        let records = change.map(|change| {
            let mut p = fixtures::parts();
            change(&mut p);
            Record::new(p).unwrap()
        });
        run_names(&records.iter().collect::<Vec<_>>())
    }

    #[test]
    fn runs_are_named_by_what_differs() {
        assert_eq!(
            names([|p| p.settings.interval = Nanos(200_000), |_| (), |p| p.load = "disk".into()]),
            ["none 200us", "none 1ms", "disk 1ms"]
        );
        let at = names([
            |p| p.started = "2026-11-21T08:00:07Z".into(),
            |p| p.started = "2026-11-21T08:01:07Z".into(),
            |p| p.load = "disk".into(),
        ]);
        assert_eq!(at, ["none 08:00", "none 08:01", "disk"]);
        let second = names([
            |p| p.started = "2026-11-21T08:00:07Z".into(),
            |p| p.started = "2026-11-21T08:00:08Z".into(),
            |p| p.load = "disk".into(),
        ]);
        assert_eq!(second[..2], ["none 08:00:07", "none 08:00:08"]);
        let ids = names([
            |p| p.id = "20261121T080000Z-1a2b3c".into(),
            |p| p.id = "20261121T080000Z-1a2b3d".into(),
            |p| p.load = "disk".into(),
        ]);
        assert_eq!(ids, ["none 1a2b3c", "none 1a2b3d", "disk"]);
    }

    #[test]
    fn imported_runs_are_named_by_their_files() {
        fn from(p: &mut RecordParts, file: &str) {
            p.source = Some(Source { format: "f".into(), file: file.into(), sha256: String::new(), kept: Vec::new() });
        }
        let named = names([|p| from(p, "a/stock.txt"), |p| from(p, "a/rt.txt"), |p| from(p, "b/rt\u{1b}.txt")]);
        assert_eq!(named[..2], ["none stock.txt", "none rt.txt"]);
        assert!(!named[2].contains('\u{1b}'));
    }

    #[test]
    fn what_tells_only_some_apart_is_completed() {
        fn from(p: &mut RecordParts, file: &str, started: &str) {
            p.source = Some(Source { format: "f".into(), file: file.into(), sha256: String::new(), kept: Vec::new() });
            p.started = started.into();
        }
        let named = names([
            |p| from(p, "a/run.txt", "2026-11-21T08:00:07Z"),
            |p| from(p, "b/run.txt", "2026-11-21T08:01:07Z"),
            |p| from(p, "rt.txt", "2026-11-22T08:01:07Z"),
        ]);
        assert_eq!(named, ["none run.txt 08:00", "none run.txt 08:01", "none rt.txt"]);
        let days = names([
            |p| p.started = "2026-11-21T08:00:07Z".into(),
            |p| p.started = "2026-11-22T08:00:07Z".into(),
            |p| p.load = "disk".into(),
        ]);
        assert_eq!(days[..2], ["none 2026-11-21 08:00", "none 2026-11-22 08:00"]);
    }

    #[test]
    fn names_that_are_alike_are_numbered() {
        let names = ["none", "disk", "none"].map(String::from).to_vec();
        assert_eq!(numbered(names), ["none #1", "disk", "none #2"]);
    }
}
