//! What the reader of a comparison of stock with RT must beware of.

use super::block::KernelPair;
use super::figures::LoadFigures;
use super::tally::Named;
use crate::differences::{Aspects, differences};
use crate::finding::{Finding, NAMED, finding, first_of};
use crate::kernel::Role;
use rtscope_record::Verdict;

/// From this ratio of sample counts on, the maxima of two kernels had unequal chances.
const UNEQUAL: u64 = 2;

/// The records of the selection that the comparison leaves out, since they are what `why` says.
pub(super) fn of_selection(other: &[String], why: &str) -> Vec<Finding> {
    if other.is_empty() {
        return Vec::new();
    }
    let message = format!("left out, since {why}: {}", first_of(other, NAMED));
    vec![finding("other-tests", message, "compare them with rtscope compare A B")]
}

/// All findings about one block.
pub(super) fn of_block(block: &KernelPair, set: &[Named<'_>]) -> Vec<Finding> {
    let mut found = Vec::new();
    match set {
        [stock, rt] if stock.version != rt.version => {
            found.push(finding(
                "version-differs",
                format!(
                    "{} and {} are of one series but not of one version: a ratio is of the versions as well",
                    stock.kernel.label, rt.kernel.label
                ),
                "measure both kernels of one version",
            ));
        }
        [one] => found.push(alone(one)),
        _ => {}
    }
    let mut merged: Vec<(Finding, Vec<&str>)> = Vec::new();
    for l in &block.loads {
        for f in of_load(block, l, set) {
            // A finding that holds under several loads is reported once.
            match merged.iter_mut().find(|(g, _)| g.code == f.code && g.message == f.message) {
                Some((_, loads)) => loads.push(&l.load),
                None => merged.push((f, vec![&l.load])),
            }
        }
    }
    let all = block.loads.len();
    found.extend(merged.into_iter().map(|(mut f, loads)| {
        if loads.len() < all || all == 1 {
            f.message = format!("under {}: {}", loads.join(", "), f.message);
        }
        f
    }));
    found
}

fn alone(g: &Named<'_>) -> Finding {
    let (name, clock) = (&g.kernel.label, &g.place.clock_words);
    let (what, remedy) = match g.kernel.role {
        Role::Stock => ("no PREEMPT_RT kernel", "measure the RT kernel of the same series on the same machine"),
        Role::Rt => ("no stock kernel", "measure the stock kernel of the same series on the same machine"),
        Role::Unknown => ("no known preemption model, so it", "measure it with rtscope, whose records say which model is in force"),
    };
    let message = match g.kernel.role {
        Role::Unknown => format!("{name} (clock {clock}) has {what} can't be compared"),
        _ => format!("{what} stands beside {name} (clock {clock})"),
    };
    finding("no-partner", message, remedy)
}

fn of_load(block: &KernelPair, l: &LoadFigures, set: &[Named<'_>]) -> Vec<Finding> {
    let mut found = Vec::new();
    let used: Vec<Option<&Aspects>> = set.iter().map(|g| g.under(&l.load).map(|there| &there.merged().aspects)).collect();
    match used.as_slice() {
        [Some(stock), Some(rt)] => found.extend(differences(stock, rt, ["stock", "RT"])),
        // With a single kernel, only differences among its own runs.
        _ => found.extend(used.iter().flatten().flat_map(|own| differences(own, own, ["", ""]))),
    }
    for (kernel, f) in block.kernels.iter().zip(&l.figures) {
        let name = kernel.role.as_str();
        let Some(f) = f else {
            found.push(finding(
                "load-on-one-side",
                format!("{name} was not measured, so there is no ratio"),
                format!("measure it too: rtscope measure timer --load {}", l.load),
            ));
            continue;
        };
        if f.verdict == Verdict::Invalid {
            found.push(finding(
                "invalid",
                format!("{name} is INVALID, so there is no ratio: its figures mean something else than they say"),
                format!("see the warnings: rtscope show {}", f.ids[0]),
            ));
        }
        if let Some(id) = f.left_out.first() {
            found.push(finding(
                "invalid-left-out",
                format!("left out of {name}, since INVALID: {}", first_of(&f.left_out, NAMED)),
                format!("see the warnings: rtscope show {id}"),
            ));
        }
        if f.interrupted {
            found.push(finding("interrupted", format!("{name} holds a run that was ended early"), "repeat it to its end"));
        }
    }
    if let [Some(stock), Some(rt)] = l.figures.as_slice() {
        let mut counts = [(stock.count, "stock"), (rt.count, "RT")];
        counts.sort_unstable();
        let [(low, _), (high, more)] = counts;
        if l.ratios.is_some() && high >= low.saturating_mul(UNEQUAL) {
            found.push(finding(
                "count-differs",
                format!(
                    "{more} has {UNEQUAL} times the samples of the other or more: the longer one measures, the higher the maximum"
                ),
                "measure both for the same --duration",
            ));
        }
    }
    found
}
