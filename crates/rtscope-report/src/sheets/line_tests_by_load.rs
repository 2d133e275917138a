//! Vinh & Chau's tables: for each task of a kernel a table of jitter or interrupt latency, with a row for each load.

use super::line_tests::places;
use crate::format::{count, us_f64, us_opt};
use crate::sheet::{Cell, Columns, Sheet};
use crate::words::{mean, release, signed_us, space_name};
use rtscope_analysis::line_tests::{Group, LineTests};
use rtscope_analysis::versus::Role;
use rtscope_record::{Space, Test};

/// The note below the tables.
pub(crate) const NOTE: &str = "Both edges together; jitter is signed, early below zero.";

/// The paper's loads, in its order.
const LOADS: [&str; 6] = ["none", "background", "calculation", "disk", "network", "full"];

/// A table for each task: stock kernels first; for each kernel jitter in user space, latency, then jitter in kernel
/// space, as the paper goes from the stock system to the improvements.
pub(crate) fn by_load(a: &LineTests) -> Vec<Sheet<'_>> {
    let mut tasks: Vec<Vec<&Group>> = Vec::new();
    for g in &a.groups {
        match tasks.iter_mut().find(|t| same_task(t[0], g)) {
            Some(task) => task.push(g),
            None => tasks.push(vec![g]),
        }
    }
    tasks.sort_by_key(|t| {
        let (kernel, wave) = (t[0].space == Space::Kernel, t[0].test == Test::Periodic);
        (is_rt(t[0]), kernel && wave, !wave, kernel)
    });
    // The instrument is named only where there are several.
    let several = a.groups.iter().any(|g| g.instrument != a.groups[0].instrument);
    tasks.into_iter().enumerate().map(|(i, task)| sheet(i + 1, task, several)).collect()
}

fn is_rt(g: &Group) -> bool {
    g.kernel.role == Role::Rt
}

fn same_task(a: &Group, b: &Group) -> bool {
    let of = |g: &Group| {
        let what = (g.test, g.space, g.device.clone(), g.interval);
        (what, g.machine.clone(), g.os.clone(), g.kernel.clone(), g.arch.clone(), g.clock_words.clone(), g.instrument.clone())
    };
    of(a) == of(b)
}

fn sheet(number: usize, mut task: Vec<&Group>, by_instrument: bool) -> Sheet<'_> {
    let rank = |load: &str| LOADS.iter().position(|l| *l == load).unwrap_or(LOADS.len());
    task.sort_by_key(|g| (rank(&g.load), g.load.clone()));
    let first = task[0];
    let what = match first.test {
        Test::Periodic => format!("jitter of the periodic task, semi-period {}", first.interval),
        _ => format!("interrupt latency, interval {}", first.interval),
    };
    let rt = if is_rt(first) { " (PREEMPT_RT)" } else { "" };
    let by = if by_instrument && !first.instrument.is_empty() { format!(" · by {}", first.instrument) } else { String::new() };
    let title = format!("Table {number}: {what} · {} · kernel {}{rt}{by}", space_name(first), release(first));
    // The load is the row's; the rest of the place is the same for all.
    let (title, _) = places(&title, &[&Group { load: String::new(), ..first.clone() }]);
    let extra = |f: fn(&Group) -> u64| task.iter().any(|g| f(g) > 0);
    let (late, spurious) = (extra(|g| g.both.late), extra(|g| g.both.spurious));
    let columns = Columns::new()
        .left("type of load", 0, |g: &&Group| g.load.as_str().into())
        .right("mean us", 0, |g| mean(g.test, g.both.mean).into())
        .right("max us", 0, |g| Cell::main(signed_us(g.test, g.both.max)))
        .right("min us", 0, |g| signed_us(g.test, g.both.min).into())
        .right("std dev us", 0, |g| us_f64(g.both.stddev).into())
        .when(task[0].test == Test::Response, |c| c.right("p99.99 us", 2, |g| us_opt(g.both.p99_99).into()))
        .right("samples", 1, |g| count(g.both.samples).into())
        .right("missed", 0, |g| Cell::trouble(g.both.missed))
        .when(late, |c| c.right("of them late", 3, |g| Cell::trouble(g.both.late)))
        .when(spurious, |c| c.right("spurious", 3, |g| Cell::trouble(g.both.spurious)))
        .whole("verdict", 0, |g| Cell::verdict(g.verdict));
    columns.sheet_of(task).titled(title)
}
