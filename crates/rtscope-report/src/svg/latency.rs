//! The field's usual plot: latency across, samples up on a logarithmic axis, a stair line for each CPU, with the maximum
//! marked. Jitter has a sign: on the linear axis, what came early is below zero.

use super::draw::{Canvas, Key, Range, Scale, linear_ticks_from, log_ticks, series_class};
use super::style::{Axis, Use};
use crate::curve::{bin_width, bins};
use crate::format::{coordinate, count, cut, time, us};
use crate::names::LONGEST;
use crate::words::{self, hertz, samples};
use rtscope_analysis::{clock_words, machine_name};
use rtscope_record::system::Preemption;
use rtscope_record::{Distribution, Record, Test};
use std::fmt::Write as _;

/// The plot of one record. Linear: bins of equal width; log: bins of 2 % each. The count axis is the same.
pub fn latency(record: &Record, axis: Axis, usage: Use) -> String {
    let shown: Vec<&Distribution> = record.distributions().iter().collect();
    let top = shown.iter().filter_map(|d| d.max().map(|m| (m, *d))).max_by_key(|t| t.0);
    let held: Vec<&Distribution> = shown.iter().copied().filter(|d| d.histogram().total() > 0).collect();
    let low = held.iter().filter_map(|d| d.min()).min().unwrap_or(0).max(1);
    let below_zero = |d: &Distribution| axis == Axis::Linear && d.is_early();
    // Overflowed samples are beyond the histogram: the axis ends with the histogram, and the sub-title counts them.
    let end_of = |below: bool| {
        let end = |d: &Distribution| d.histogram().iter().next_back().map(|t| t.1.min(d.max().unwrap_or(t.1)));
        held.iter().filter(|d| below_zero(d) == below).filter_map(|d| end(d)).max().unwrap_or(0)
    };
    let (earliest, last) = (end_of(true), end_of(false));
    let resolution = held.iter().map(|d| d.parts().resolution).max().unwrap_or(1);
    let width = bin_width(last.saturating_add(earliest), resolution);
    let stairs_of = |d: &&Distribution| {
        let mut stairs = steps(d, axis, width);
        if below_zero(d) {
            stairs.reverse();
            for (from, to, _) in &mut stairs {
                (*from, *to) = (-*to, -*from);
            }
        }
        stairs
    };
    let stairs: Vec<Vec<(f64, f64, u64)>> = shown.iter().map(stairs_of).collect();
    let most = stairs.iter().flatten().map(|s| s.2).max().unwrap_or(1);
    let x = match axis {
        Axis::Linear => Range { low: earliest as f64 * -1.03, high: (last as f64 * 1.03).max(width as f64), log: false },
        Axis::Log => Range { low: low as f64 / 1.2, high: (last as f64 * 1.2).max(low as f64 * 10.0), log: true },
    };
    let y = Range { low: 0.8, high: (most as f64 * 1.6).max(8.0), log: true };
    let keys: Vec<Key> = shown.iter().enumerate().map(|(i, d)| key(i, d, top.is_some_and(|t| t.1.label() == d.label()))).collect();
    let mut c = Canvas::open(usage, &title(record), &subtitle(record), &keys, x, y);
    let x_ticks = match axis {
        Axis::Linear => linear_ticks_from(x.low, x.high, 1e3, 10.0),
        Axis::Log => log_ticks(x.low, x.high, 1e3),
    };
    let early = if earliest > 0 { ", early below zero" } else { "" };
    let width_text = match axis {
        Axis::Linear => format!("{} (µs){early}, bins of {}", samples(record.parts().test), time(width as f64)),
        Axis::Log => format!("{} (µs), logarithmic, bins of 2 %", samples(record.parts().test)),
    };
    c.axes(&x_ticks, &width_text, &log_ticks(y.low, y.high, 1.0), "Samples");
    for (i, (d, stair)) in shown.iter().zip(&stairs).enumerate() {
        let path = stair_path(stair, [&c.x, &c.y], y.low);
        c.path(&series_class(i), &path, d.label());
    }
    match top {
        Some((max, d)) if !held.is_empty() => {
            let at = if below_zero(d) { -(max as f64) } else { max as f64 };
            c.mark(at, &format!("max {} µs, {}", us(max as f64), d.label()));
        }
        _ => c.nothing("no samples"),
    }
    c.close()
}

/// Such as "Timer latency, load full", of an import with its file. For a sustained frequency, the samples are the latencies measured
/// at it.
pub(super) fn title(record: &Record) -> String {
    let p = record.parts();
    let sustained = p.instrument.as_ref().and_then(|i| i.sustained).map(|i| format!(": latency at {} Hz", hertz(i.0)));
    let file = p.source.as_ref().map(|s| format!(", {}", cut(s.file.rsplit('/').next().unwrap_or_default(), LONGEST)));
    format!("{}{}, load {}{}", words::title(p.test), sustained.unwrap_or_default(), p.load, file.unwrap_or_default())
}

/// Kernel, preemption, clock and verdict; then counts.
pub(super) fn subtitle(record: &Record) -> Vec<String> {
    let p = record.parts();
    let k = &p.system.kernel;
    let host = machine_name(record);
    let host = if host.is_empty() { host } else { format!("{host} · ") };
    let sum = |f: fn(&Distribution) -> u64| record.distributions().iter().map(f).fold(0u64, u64::saturating_add);
    let mut counts = format!("{} samples · {} missed", count(sum(Distribution::count)), count(sum(Distribution::missed)));
    for (n, what) in [
        (sum(Distribution::late), "of them late"),
        (sum(Distribution::spurious), "spurious"),
        (sum(Distribution::overflow), "beyond the histogram"),
        (sum(Distribution::dropped), "lost"),
    ] {
        if n > 0 {
            let _ = write!(counts, " · {} {what}", count(n));
        }
    }
    let early = if p.interrupted { " · ended early" } else { "" };
    let interval = if p.test == Test::Periodic { "semi-period" } else { "interval" };
    let kernel = match (k.release.as_str(), k.preemption) {
        ("", Preemption::Unknown) => "kernel not known".into(),
        (release, preemption) => {
            format!("kernel {} {}", if release.is_empty() { "unknown" } else { release }, preemption.as_str())
        }
    };
    // 0: an import does not say.
    let every = if p.settings.interval.0 > 0 { format!(" · {interval} {}", p.settings.interval) } else { String::new() };
    vec![
        format!("{host}{kernel} · {} space{every}", p.space),
        format!("{counts} · {} · clock: {}{early}", record.verdict(), clock_words(record)),
    ]
}

fn key(i: usize, d: &Distribution, is_top: bool) -> Key {
    let max = d.max().map_or_else(|| "no samples".into(), |m| format!("max {} µs", us(m as f64)));
    let mark = if is_top { " ← highest" } else { "" };
    Key { class: series_class(i), text: format!("{} {max}{mark}", d.label()) }
}

/// (from, to, samples) of each non-empty bin, ns.
pub(super) fn steps(d: &Distribution, axis: Axis, width: u64) -> Vec<(f64, f64, u64)> {
    match axis {
        Axis::Linear => {
            let w = width as f64;
            bins(d, width).into_iter().map(|(b, n)| (b as f64 * w, (b as f64 + 1.0) * w, n)).collect()
        }
        Axis::Log => {
            // 116 bins per decade are 2 % each, wider than the slots above 100 ns.
            const PER_DECADE: f64 = 116.0;
            let mut steps: Vec<(f64, f64, u64)> = Vec::new();
            for (low, high, n) in d.histogram().iter() {
                let value = f64::midpoint(low as f64, high as f64).max(1.0);
                let bin = (value.log10() * PER_DECADE).floor();
                let (from, to) = (10f64.powf(bin / PER_DECADE), 10f64.powf((bin + 1.0) / PER_DECADE));
                match steps.last_mut() {
                    Some(last) if last.1 > value => last.2 += n,
                    _ => steps.push((from, to, n)),
                }
            }
            steps
        }
    }
}

/// A stair line that drops to the floor between bins that are not adjacent.
pub(super) fn stair_path(steps: &[(f64, f64, u64)], [across, up]: [&Scale; 2], floor: f64) -> String {
    let mut d = String::new();
    let bottom = up.at(floor);
    let mut put = |command: char, v: f64| {
        d.push(command);
        coordinate(&mut d, v);
    };
    let mut open_until: Option<f64> = None;
    for &(from, to, n) in steps {
        let (x1, x2, y) = (across.at(from), across.at(to), up.at(n as f64));
        let touches = open_until.is_some_and(|end| (end - from).abs() <= (to - from) * 1e-6);
        if !touches {
            if open_until.is_some() {
                put('V', bottom);
            }
            put('M', x1);
            put(' ', bottom);
        }
        put('V', y);
        put('H', x2);
        open_until = Some(to);
    }
    if open_until.is_some() {
        put('V', bottom);
    }
    d
}
