//! Reads the response program's text into records.

use super::program::{BAD, OWN, RESOLUTION};
use crate::formats::error::ImportError;
use crate::formats::format::ImportOptions;
use crate::formats::imported::{hash, imported};
use rtscope_record::{
    Clock, Distribution, DistributionParts, Effect, Moments, Nanos, Policy, Record, RecordParts, Settings, Space, System, Test,
    Verdict, Warning,
};

/// The lines of one report, with their numbers in the file.
type Lines<'a> = Vec<(usize, &'a str)>;

/// Reads every report in a text as a record. Figures other than count, minimum, mean and maximum are kept as lines.
pub(in crate::formats) fn read(bytes: &[u8], options: &ImportOptions) -> Result<Vec<Record>, ImportError> {
    let text = String::from_utf8_lossy(bytes);
    let sha256 = hash(bytes);
    let reports = reports(&text);
    let many = reports.len() > 1;
    let record = |(i, lines): (usize, &Lines<'_>)| {
        let suffix = if many { format!("-{}", i + 1) } else { String::new() };
        one(lines, options, &sha256, &suffix)
    };
    reports.iter().enumerate().map(record).collect()
}

/// Splits a text after the last line of each report and rtscope's own lines that follow it.
fn reports(text: &str) -> Vec<Lines<'_>> {
    let mut all: Vec<Lines<'_>> = vec![Vec::new()];
    let mut ended = false;
    for (i, line) in text.lines().enumerate() {
        let belongs = line.trim().is_empty() || line.starts_with(OWN);
        if ended && !belongs {
            all.push(Vec::new());
            ended = false;
        }
        ended |= line.starts_with("The amount greater than mean");
        if let Some(last) = all.last_mut() {
            last.push((i + 1, line));
        }
    }
    all
}

/// What a report says; times are in ns.
struct Report {
    samples: u64,
    elapsed: Option<u64>,
    bad_positive: u64,
    bad_negative: u64,
    mean: Option<f64>,
    all_mean: Option<f64>,
    min: u64,
    max: u64,
    bad_max: u64,
    /// Missed, late, spurious, dropped: only in text written by rtscope.
    own: Option<[u64; 4]>,
    /// Where the run was measured: only in text written by rtscope.
    place: Place,
}

/// The text after `key` in the line that holds it; an error where several lines do.
fn behind<'a>(lines: &Lines<'a>, key: &str) -> Result<Option<(usize, &'a str)>, ImportError> {
    let mut found = lines.iter().filter(|l| !l.1.starts_with('#')).filter_map(|(n, l)| Some((*n, l.split_once(key)?.1)));
    let first = found.next();
    match found.next() {
        Some((line, _)) => Err(ImportError::line(line, format!("a second `{key}`: the report before it lacks its last line"))),
        None => Ok(first),
    }
}

/// The number at the start of a text.
fn number(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-'))).unwrap_or(text.len());
    &text[..end]
}

fn count(lines: &Lines<'_>, key: &str) -> Result<Option<u64>, ImportError> {
    let Some((line, rest)) = behind(lines, key)? else { return Ok(None) };
    let wrong = |_| ImportError::line(line, format!("`{}` behind `{key}` is not a number of samples", number(rest)));
    number(rest).parse().map(Some).map_err(wrong)
}

/// A number of microseconds: the unit must follow it.
fn micros(text: &str) -> Option<&str> {
    let figure = number(text);
    text.trim_start().strip_prefix(figure)?.starts_with("usecs").then_some(figure)
}

/// Microseconds with decimals, as ns; `None` for the NaN that C prints for a mean without samples.
fn time(lines: &Lines<'_>, key: &str) -> Result<Option<u64>, ImportError> {
    let Some((line, rest)) = behind(lines, key)? else { return Ok(None) };
    if rest.trim_start().trim_start_matches('-').starts_with("nan") {
        return Ok(None);
    }
    let wrong = || ImportError::line(line, format!("`{}` behind `{key}` is not a time in us", number(rest)));
    let figure = micros(rest).ok_or_else(wrong)?;
    let (whole, fraction) = figure.split_once('.').unwrap_or((figure, ""));
    let fraction = format!("{fraction:0<3}");
    let part = fraction.get(..3).and_then(|f| f.parse::<u64>().ok()).ok_or_else(wrong)?;
    let whole = whole.parse::<u64>().ok().and_then(|w| w.checked_mul(1000)).ok_or_else(wrong)?;
    whole.checked_add(part).map(Some).ok_or_else(wrong)
}

/// A mean in ns, which may be negative, as samples may; `None` as for [`time`].
fn mean(lines: &Lines<'_>, key: &str) -> Result<Option<f64>, ImportError> {
    let Some((line, rest)) = behind(lines, key)? else { return Ok(None) };
    if rest.trim_start().trim_start_matches('-').starts_with("nan") {
        return Ok(None);
    }
    let wrong = || ImportError::line(line, format!("`{}` behind `{key}` is not a mean in us", number(rest)));
    micros(rest).and_then(|m| m.parse::<f64>().ok()).map(|us| Some(us * 1e3)).ok_or_else(wrong)
}

impl Report {
    fn of(lines: &Lines<'_>) -> Result<Self, ImportError> {
        let last = lines.last().map_or(1, |l| l.0);
        let need = |key: &str| ImportError::line(last, format!("the report ends without `{key}`: is the file cut off?"));
        let samples = behind(lines, "average (mean) latency =")?.ok_or_else(|| need("average (mean) latency ="))?.0;
        let line = lines.iter().find(|l| l.0 == samples).map_or("", |l| l.1);
        let first = line.split_once("Samples:").map_or("", |l| l.1);
        let samples = number(first).parse().map_err(|_| ImportError::line(samples, "no number of samples behind `Samples:`"))?;
        let bad = count(lines, "Total BAD<samples=")?;
        let Some(bad) = bad else {
            return Err(ImportError::File(
                "this is the text of Adam's periodic program: it has lengths of intervals, but not their semi-period, nor how many were \
                 longer, so that no jitter can be told from it"
                    .into(),
            ));
        };
        let bad_positive = count(lines, "Bad_positive=")?.ok_or_else(|| need("Bad_positive="))?;
        let bad_negative = count(lines, "Bad_negative=")?.ok_or_else(|| need("Bad_negative="))?;
        if bad_positive.checked_add(bad_negative) != Some(bad) {
            return Err(ImportError::File(format!(
                "Total BAD<samples={bad}, but Bad_positive={bad_positive} and Bad_negative={bad_negative}"
            )));
        }
        let (min, max) = (time(lines, "min latency =")?, lines_max(lines)?);
        Ok(Self {
            samples,
            elapsed: count(lines, "Time elapsed in secs =")?,
            bad_positive,
            bad_negative,
            mean: mean(lines, "average (mean) latency =")?,
            all_mean: mean(lines, "average (badmean - with all bads) latency =")?,
            min: min.ok_or_else(|| need("min latency ="))?,
            max: max.ok_or_else(|| need("max latency ["))?,
            bad_max: time(lines, "badmax latency =")?.ok_or_else(|| need("badmax latency ="))?,
            own: own(lines)?,
            place: Place::of(lines),
        })
    }

    /// Samples that enter no figure: the first one, except in rtscope's own text.
    fn first(&self) -> u64 {
        u64::from(self.own.is_none()).min(self.samples)
    }

    fn distribution(&self) -> Result<Distribution, ImportError> {
        let mut p = DistributionParts::empty("both edges");
        let [missed, late, spurious, dropped] = self.own.unwrap_or_default();
        let lost = self.first().saturating_add(self.bad_negative);
        let odd = |what: &str| ImportError::File(format!("{what}: {} samples, {} of them BAD", self.samples, self.bad_positive));
        p.count = self.samples.checked_sub(lost).ok_or_else(|| odd("more negative samples than there are"))?;
        let good = p.count.checked_sub(self.bad_positive).ok_or_else(|| odd("more BAD samples than there are"))?;
        (p.missed, p.late, p.spurious) = (missed, late, spurious);
        p.dropped = lost.saturating_add(dropped);
        p.expected = p.count.checked_add(missed).and_then(|n| n.checked_add(p.dropped));
        // The text has no bins: book every sample as overflow.
        (p.overflow, p.resolution) = (p.count, RESOLUTION);
        p.moments = Moments::Reported { mean: 0.0 };
        if p.count > 0 {
            let highest = if self.bad_positive > 0 { self.bad_max.max(self.max).max(BAD) } else { self.max };
            p.min = Some(if good > 0 { self.min } else { BAD });
            p.max = Some(highest);
            p.moments = Moments::Reported { mean: self.mean_of_all(p.count, good)? };
        }
        Ok(Distribution::new(p)?)
    }

    /// The mean of all samples taken; the programs divide by one more than they add up.
    fn mean_of_all(&self, count: u64, good: u64) -> Result<f64, ImportError> {
        let n = self.samples as f64;
        let plain = self.bad_positive == 0 && self.bad_negative == 0;
        let stated = if plain { self.mean } else { self.all_mean.filter(|_| self.bad_negative == 0) };
        let share = match (stated, self.mean) {
            (Some(stated), _) => stated * n / (n - self.first() as f64),
            // Negative samples spoil the mean of all samples: only that of the good ones is left.
            (None, Some(good_only)) if good > 0 => good_only * (n - (count - good) as f64 - self.bad_negative as f64) / good as f64,
            _ => return Err(ImportError::File("it counts samples, but states no mean of them".into())),
        };
        Ok(share)
    }
}

/// The time in `max latency [INDEX]= TIME`.
fn lines_max(lines: &Lines<'_>) -> Result<Option<u64>, ImportError> {
    let Some((line, rest)) = behind(lines, "max latency [")? else { return Ok(None) };
    let figure = rest.split_once("]=").map(|r| format!("max latency ={}", r.1));
    let Some(figure) = figure else { return Err(ImportError::line(line, "no `]=` behind `max latency [`")) };
    time(&vec![(line, figure.as_str())], "max latency =")
}

/// The counts that rtscope adds; `None` in the programs' own text.
fn own(lines: &Lines<'_>) -> Result<Option<[u64; 4]>, ImportError> {
    let mut found = lines.iter().filter_map(|(n, l)| Some((*n, l.strip_prefix(OWN)?.strip_prefix("counts: ")?)));
    let Some((line, text)) = found.next() else { return Ok(None) };
    if let Some((line, _)) = found.next() {
        return Err(ImportError::line(line, "a second line of counts"));
    }
    let of = |name: &str| {
        let wrong = || ImportError::line(line, format!("no number behind `{name}`"));
        text.split(", ").find_map(|t| t.strip_prefix(name)).and_then(|n| n.trim().parse().ok()).ok_or_else(wrong)
    };
    Ok(Some([of("missed ")?, of("late ")?, of("spurious ")?, of("dropped ")?]))
}

/// Where the run was measured, according to rtscope's own text: figures from a virtual machine must remain marked as
/// such.
#[derive(Default)]
struct Place {
    space: Option<Space>,
    clock: Option<Clock>,
    virtualization: Option<String>,
    verdict: Option<Verdict>,
}

impl Place {
    /// Parses `record ID, TEST test, SPACE space, clock CLOCK[ in MACHINE], VERDICT, ...`
    fn of(lines: &Lines<'_>) -> Self {
        let line = lines.iter().find_map(|l| l.1.strip_prefix(OWN)?.strip_prefix("record "));
        let mut words = line.unwrap_or_default().split(", ").skip(2);
        let mut next = || words.next().unwrap_or_default();
        let space = next().strip_suffix(" space").and_then(|s| s.parse().ok());
        let clock = next().strip_prefix("clock ").unwrap_or_default();
        let (clock, machine) = clock.split_once(" in ").map_or((clock, None), |(c, m)| (c, Some(m.to_owned())));
        let verdict = next();
        let verdict = Verdict::ALL.into_iter().find(|v| v.as_str() == verdict);
        Self { space, clock: clock.parse().ok(), virtualization: machine, verdict }
    }
}

fn one(lines: &Lines<'_>, options: &ImportOptions, sha256: &str, suffix: &str) -> Result<Record, ImportError> {
    let report = Report::of(lines)?;
    let seconds = |s: u64| s.checked_mul(1_000_000_000).ok_or_else(|| ImportError::File("it ran for more than 2^64 ns".into()));
    let kept = lines.iter().map(|l| l.1.to_owned()).collect();
    Ok(Record::new(RecordParts {
        elapsed_ns: report.elapsed.map_or(Ok(0), seconds)?,
        test: Test::Response,
        space: options.space.or(report.place.space).unwrap_or(Space::User),
        clock: report.place.clock.unwrap_or(Clock::Host),
        warnings: warnings(&report, options),
        settings: Settings { interval: Nanos(0), policy: Policy::Fifo, priority: 99, worst: 0, ..Settings::default() },
        system: System { virtualization: report.place.virtualization.clone(), ..System::default() },
        distributions: vec![report.distribution()?],
        ..imported(options, None, sha256, suffix, "adam", kept)?
    })?)
}

fn warnings(r: &Report, options: &ImportOptions) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut warn = |code: &str, effect, message: String, remedy: &str| found.push(Warning::new(code, effect, message, remedy));
    let again = "measure with `rtscope measure response`";
    warn(
        "no-histogram",
        Effect::Inconclusive,
        "the text holds count, minimum, mean and maximum only, in tenths of a us: there are no percentiles, and shares are bounds"
            .into(),
        again,
    );
    warn("edges-not-told-apart", Effect::Note, "rising and falling edges are one distribution".into(), again);
    if r.own.is_none() {
        warn(
            "first-sample-dropped",
            Effect::Note,
            "the program leaves its first sample out of every figure, yet divides by all: the mean is corrected for that".into(),
            again,
        );
        warn(
            "missed-unknown",
            Effect::Inconclusive,
            "the program waits for an answer for ever and takes any edge for it, so that it can't miss one; seconds of its clock are ignored"
                .into(),
            again,
        );
        warn(
            "f32-sums",
            Effect::Inconclusive,
            "the program adds up in f32: of many samples mean and deviation may be off by percents; its median is the middle sample in order \
             of time, and is not taken"
                .into(),
            again,
        );
    }
    if r.bad_positive > 0 && r.own.is_none() {
        warn(
            "maximum-unknown",
            Effect::Invalid,
            format!(
                "{} samples were above 500 us: of these the text states the last one only, so that the maximum is that or more",
                r.bad_positive
            ),
            again,
        );
    }
    if r.bad_negative > 0 {
        warn(
            "dropped",
            Effect::Invalid,
            format!("{} samples were below zero and are left out: the clock was set meanwhile", r.bad_negative),
            again,
        );
    }
    let effect = match r.place.verdict {
        Some(Verdict::Invalid) => Some(Effect::Invalid),
        Some(Verdict::Inconclusive) => Some(Effect::Inconclusive),
        _ => None,
    };
    if let Some((effect, verdict)) = effect.zip(r.place.verdict) {
        let message = format!("the record that the text was written from is {verdict}; it says why, the text does not");
        warn("source-verdict", effect, message, "import the record itself (rtscope export --format json)");
    }
    if options.space.is_none() && r.place.space.is_none() {
        warn(
            "space-unknown",
            Effect::Note,
            "the text does not say where the device's task ran: user space is taken".into(),
            "--space kernel",
        );
    }
    warn(
        "system-unknown",
        Effect::Note,
        "the text says nothing of the machine, its kernel and the interval".into(),
        "keep them beside the file",
    );
    found
}
