//! Writes a record as the programs' text: their lines with correct figures, followed by rtscope's own lines.

use super::program::{BAD, OWN};
use crate::formats::error::ExportError;
use rtscope_record::{Distribution, Moments, Record, Test};
use std::fmt::Write as _;

/// Writes a response or periodic record as the program for its test would. Text that was imported is written back as it
/// was.
pub(in crate::formats) fn write(record: &Record) -> Result<String, ExportError> {
    if let Some(source) = record.parts().source.as_ref().filter(|s| s.format == "adam" && !s.kept.is_empty()) {
        return Ok(source.kept.join("\n") + "\n");
    }
    if let Some(d) = record.distributions().iter().find(|d| d.overflow() > 0) {
        return Err(ExportError::NoSlots { label: d.label().into() });
    }
    match record.parts().test {
        Test::Response => Ok(response(record) + &own(record)),
        Test::Periodic => Ok(periodic(record) + &own(record)),
        other => Err(ExportError::NotOverLines(other.to_string())),
    }
}

/// Histogram slots in ascending order: lowest and highest value (ns), and count.
struct Sorted(Vec<(f64, f64, u64)>);

impl Sorted {
    /// The slots of some distributions: early samples are below zero; `zero` is added to every value.
    fn of(parts: &[Distribution], zero: f64) -> Self {
        let mut all = Vec::new();
        for d in parts {
            let (min, max) = (d.min().unwrap_or(0), d.max().unwrap_or(0));
            for (low, high, n) in d.histogram().iter() {
                let (low, high) = (low.max(min) as f64, high.min(max) as f64);
                all.push(if d.is_early() { (zero - high, zero - low, n) } else { (zero + low, zero + high, n) });
            }
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self(all)
    }

    fn total(&self) -> u64 {
        self.0.iter().map(|s| s.2).sum()
    }

    /// How many samples are at or above `from` and below `to`, by the lower ends of their slots.
    fn between(&self, from: f64, to: f64) -> u64 {
        self.0.iter().filter(|s| (from..to).contains(&s.0)).map(|s| s.2).sum()
    }

    fn above(&self, value: f64) -> u64 {
        self.0.iter().filter(|s| s.0 > value).map(|s| s.2).sum()
    }

    /// Mean and variance, with each sample in the middle of its slot; 0 without samples.
    fn moments(&self) -> (f64, f64) {
        let n = self.total().max(1) as f64;
        let middles = || self.0.iter().map(|s| (f64::midpoint(s.0, s.1), s.2 as f64));
        let mean = middles().map(|(v, n)| v * n).sum::<f64>() / n;
        (mean, middles().map(|(v, k)| (v - mean).powi(2) * k).sum::<f64>() / n)
    }

    /// The median sample; 0 without samples.
    fn median(&self) -> f64 {
        let half = self.total().div_ceil(2);
        let mut seen = 0;
        self.0
            .iter()
            .find_map(|s| {
                seen += s.2;
                (seen >= half).then(|| f64::midpoint(s.0, s.1))
            })
            .unwrap_or(0.0)
    }

    fn ends(&self) -> (f64, f64) {
        (self.0.first().map_or(0.0, |s| s.0), self.0.last().map_or(0.0, |s| s.1))
    }
}

/// Exact mean and variance of all samples, early ones below zero; `None` where only a mean was reported.
fn exact(parts: &[Distribution]) -> Option<(f64, f64)> {
    let (mut n, mut sum, mut sum_sq) = (0u64, 0i128, 0u128);
    for d in parts {
        let Moments::Exact { sum: s, sum_sq: q } = d.parts().moments else { return None };
        let s = i128::try_from(s).ok()?;
        sum = sum.checked_add(if d.is_early() { -s } else { s })?;
        sum_sq = sum_sq.checked_add(q)?;
        n = n.checked_add(d.count())?;
    }
    let count = n.max(1) as f64;
    let mean = sum as f64 / count;
    let square = sum.unsigned_abs().checked_mul(sum.unsigned_abs());
    let variance = match (u128::from(n).checked_mul(sum_sq), square) {
        (Some(a), Some(b)) => a.saturating_sub(b) as f64 / (count * count),
        _ => (sum_sq as f64 / count - mean * mean).max(0.0),
    };
    Some((mean, variance))
}

fn us(ns: f64) -> String {
    format!("{:.1}", ns / 1e3)
}

fn percent(n: u64, of: u64) -> u64 {
    n.saturating_mul(100) / of.max(1)
}

fn response(record: &Record) -> String {
    let parts = record.distributions();
    let all = Sorted::of(parts, 0.0);
    let n = all.total();
    let bad = all.between(BAD as f64, f64::INFINITY);
    let good = Sorted(all.0.iter().copied().filter(|s| s.0 < BAD as f64).collect());
    let everything = exact(parts).unwrap_or_else(|| all.moments());
    let (mean, variance) = if bad == 0 { everything } else { good.moments() };
    let (min, max) = good.ends();
    let bad_max = if bad > 0 { all.ends().1 } else { 0.0 };
    let greater = all.above(mean);
    let mut out = String::new();
    // Writing to a String can't fail.
    let _ = write!(
        out,
        "\nTotal testing Time elapsed in secs = {}\n\
         \nTotal BAD<samples={bad} Bad_positive={bad} and Bad_negative=0\
         \nL100toBAD={}\nL200toBAD={}\nL50to100={}\
         \nSamples: {n}, average (mean) latency = {}usecs, \
         \nSamples: {n}, average (badmean - with all bads) latency = {}usecs, \
         \nVariance is: {:.1}, and standard deviation is: {} \
         \nmedian latency = {}usecs min latency = {}usecs, max latency [-1]= {}usecs\n\
         badmax latency = {}usecs\n\
         The amount greater than mean is {greater} ({}%) and the amount smaller or equal is {} ({}%)\n",
        record.parts().elapsed_ns / 1_000_000_000,
        good.above(100_000.0),
        good.above(200_000.0),
        good.between(50_000.0, 100_000.5),
        us(mean),
        us(everything.0),
        variance / 1e6,
        us(variance.sqrt()),
        us(all.median()),
        us(min),
        us(max),
        us(bad_max),
        percent(greater, n),
        n - greater,
        percent(n - greater, n),
    );
    out
}

fn periodic(record: &Record) -> String {
    let parts = record.distributions();
    let semi = record.parts().settings.interval.0 as f64;
    let all = Sorted::of(parts, semi);
    let n = all.total();
    let (jitter, variance) = exact(parts).unwrap_or_else(|| {
        let (mean, variance) = all.moments();
        (mean - semi, variance)
    });
    let mean = if n == 0 { 0.0 } else { semi + jitter };
    let (min, max) = all.ends();
    let greater = all.above(mean);
    let seconds = record.parts().elapsed_ns / 1_000_000_000;
    let mut out = String::new();
    let _ = write!(
        out,
        "Time elapsed in secs = {seconds}\nTime elapsed in secs = {seconds}\n\
         \nSamples: {n}, average (mean) latency = {}usecs, \
         \nVariance is: {:.1}, and standard deviation is: {} \
         \nmedian latency = {}usecs min latency = {}usecs at i=-1, max latency = {}usecs at i=-1\n\
         The amount greater than mean is {greater} ({}%) and the amount smaller or equal is {} ({}%)\n",
        us(mean),
        variance / 1e6,
        us(variance.sqrt()),
        us(all.median()),
        us(min),
        us(max),
        percent(greater, n),
        n - greater,
        percent(n - greater, n),
    );
    out
}

/// rtscope's own lines: what the programs do not say, and how these figures differ from theirs.
fn own(record: &Record) -> String {
    let p = record.parts();
    let sum = |f: fn(&Distribution) -> u64| record.distributions().iter().map(f).fold(0, u64::saturating_add);
    let k = &p.system.kernel;
    // The reader splits this line at commas.
    let machine = p.system.virtualization.as_ref().map_or_else(String::new, |v| format!(" in {}", v.replace(',', " ")));
    let mut lines = vec![
        format!(
            "record {}, {} test, {} space, clock {}{machine}, {}, kernel {} {}, load {}",
            p.id,
            p.test,
            p.space,
            p.clock,
            record.verdict(),
            k.release,
            k.preemption.as_str(),
            p.load
        ),
        format!(
            "counts: samples {}, missed {}, late {}, spurious {}, dropped {}",
            sum(Distribution::count),
            sum(Distribution::missed),
            sum(Distribution::late),
            sum(Distribution::spurious),
            sum(Distribution::dropped)
        ),
        "the program's layout with other figures: the first sample counts, the median is that of the sorted samples, sums are exact, the index \
         of an extreme is not kept (-1)"
            .into(),
    ];
    lines.push(match p.test {
        Test::Periodic => format!("lengths of the intervals of both edges at a semi-period of {}", p.settings.interval),
        _ => "mean, variance, min and max leave out samples of 500 us and more; near 50, 100, 200 and 500 us a sample may be counted on the \
              other side by up to 0.1 %"
            .into(),
    });
    for d in record.distributions() {
        let time = |ns: Option<u64>| ns.map_or_else(|| "-".into(), |v| format!("{:.3}", v as f64 / 1e3));
        let float = |ns: Option<f64>| ns.map_or_else(|| "-".into(), |v| format!("{:.3}", v / 1e3));
        lines.push(format!(
            "{}: samples {}, missed {}, min {} us, mean {} us, stdev {} us, max {} us",
            d.label(),
            d.count(),
            d.missed(),
            time(d.min()),
            float(d.mean()),
            float(d.stddev()),
            time(d.max())
        ));
    }
    // A name with a line break must not start a new line.
    lines.iter().fold(String::new(), |mut out, l| {
        let _ = writeln!(out, "{OWN}{}", l.replace(char::is_control, " "));
        out
    })
}
