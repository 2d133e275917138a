//! `rtscope measure`: makes settings from the command line, takes one run per load, keeps the records and judges limits.

mod baseline;
mod lines;
mod traced;

use super::run::{Machine, Request, cpus_of, lab_kernel, target_name};
use super::stop::stop_on_signals;
use super::style;
use super::worst::{is_worst, worst};
use crate::args::lab::GuestArgs;
use crate::args::limits::LimitArgs;
use crate::args::values::name;
use crate::args::{Measure, MeasureTest};
use crate::config::Context;
use crate::error::Code;
use crate::live::{self, LiveView};
use crate::output;
use crate::progress::Progress;
use rtscope_analysis::assertion::{Assertion, Evaluation, Outcome};
use rtscope_analysis::confidence::{Bounded, Confidence, bounded};
use rtscope_failure::{Explain, Failure, Problem};
use rtscope_files::Replacement;
use rtscope_lab::vm::LabOptions;
use rtscope_load::{Load, StopHandle};
use rtscope_probe::protocol::Event;
use rtscope_record::text::visible_line;
use rtscope_record::units::{micros, seconds};
use rtscope_record::{Record, Settings, Space, Test, Tuning, Verdict, limits};
use rtscope_report::table;
use rtscope_run::lines::{dut_address, take_dut};
use rtscope_run::session::SessionStep;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::path::PathBuf;

/// Measures under each load in turn.
pub(crate) fn run(context: &Context, a: &Measure) -> Result<Code, Failure> {
    let limits = Limits::parse(&a.judge.limits)?;
    let loads = loads(context, &a.load, &a.target)?;
    if a.raw.is_some() && (loads.len() > 1 || a.repeat > 1) {
        return Err(Failure::usage(
            "--raw takes one run: its lines do not say which run they are of",
            "measure once for each load",
        ));
    }
    let lab = lab_options(a)?;
    let target = target_name(&a.target)?;
    let dut_at = dut_address(&a.lines, &a.target)?;
    if a.load_dir.is_some() && (dut_at.is_some() || rtscope_run::ssh::is_ssh(&target)) {
        let message = "--load-dir is a directory of this machine, and the load is on another one";
        return Err(Failure::usage(message, "leave it out: a load writes in $TMPDIR or /var/tmp there"));
    }
    if a.explain && lab.is_none() {
        let message = format!("--explain takes the run again in the lab, and `{}` is not a target of the lab", a.target);
        return Err(Failure::usage(message, "measure with --target lab:KERNEL"));
    }
    let test = match a.test {
        MeasureTest::Timer => Test::Timer,
        MeasureTest::Response => Test::Response,
        MeasureTest::Periodic => Test::Periodic,
        MeasureTest::Sustained => Test::Sustained,
    };
    let space = a.space.parse::<Space>().or_usage("--space", "user or kernel")?;
    traced::check(a, test, space, &target)?;
    if a.live {
        if lab.is_some() {
            let message = "--live shows a run while it goes on, and a virtual machine of the lab tells its figures at the end";
            return Err(Failure::usage(message, "leave --live out"));
        }
        if context.quiet {
            return Err(Failure::usage("--live and --quiet exclude each other", "leave one of them out"));
        }
        live::check()?;
    }
    let mut settings = lines::settings(a, test, space, &settings(context, a, lab.as_ref())?)?;
    let dut = dut_at.zip(take_dut(&a.lines, test, &mut settings));
    let machine = Machine::new(context, a.load_dir.clone())?;
    let machine = if a.sign { machine.signing()? } else { machine };
    let earlier = baseline::earlier(context, a, test)?;
    let stop = stop_on_signals()?;
    let mut raw = a.raw.as_ref().map(|path| Raw::create(path)).transpose()?;
    let (mut records, mut explained) = (Vec::new(), Vec::new());
    let mut code = Code::Done;
    let turns = (0..u64::from(a.repeat)).flat_map(|turn| loads.iter().map(move |load| (turn, load)));
    for (turn, load) in turns {
        let lab = lab.clone().map(|lab| LabOptions { seed: lab.seed.wrapping_add(turn), ..lab });
        let dut = dut.as_ref().map(|(address, plan)| (address, plan));
        let request =
            Request { id: fresh_id(), test, space, load, target: &target, lab, dut, settings: &settings, picture: a.live };
        let end = settings.duration.map_or(settings.loops.unwrap_or(0).saturating_mul(settings.interval.0), |d| d.0);
        let progress = Shown::new(context, a, &request, end, &stop)?;
        let mut trace = None;
        let outcome = machine.execute(request, &stop, &mut |step| {
            if let SessionStep::Traced(of) = &step {
                trace = Some((*of).clone());
            }
            if let (SessionStep::Event(Event::Sample { thread, cycle, value }), Some(raw)) = (&step, &mut raw) {
                raw.sample(*thread, *cycle, *value);
            }
            progress.step(&step);
        });
        progress.close();
        let record = match outcome {
            Ok(record) => record,
            Err(e) if e.is_interrupted() => return ended(context, &records, &limits, a, Code::Interrupted),
            Err(e) => {
                // Records from the loads before are shown nevertheless.
                ended(context, &records, &limits, a, Code::Failed)?;
                return Err(e.into());
            }
        };
        if !a.no_save {
            code = code.max(keep(context, &record)?);
        }
        if a.json {
            json(&record, limits.confidence)?;
        }
        let interrupted = record.parts().interrupted;
        if a.explain && !interrupted {
            // The measurement stands, whether or not it can be explained.
            match super::explain::of_run(context, &record, &a.guest.guest_module, &stop) {
                Ok(sentence) => explained.push(format!("why, under {}: {}\n", load.name(), visible_line(&sentence))),
                Err(_) if stop.is_stopped() => {}
                Err(e) => output::failure(&e),
            }
        }
        if a.trace.is_some() {
            match traced::why(context, &record, trace.as_ref(), a) {
                Ok(text) => explained.push(text),
                Err(e) => output::failure(&e),
            }
        }
        records.push(record);
        if interrupted || stop.is_stopped() {
            return ended(context, &records, &limits, a, Code::Interrupted);
        }
    }
    if let Some(raw) = raw {
        raw.finish()?;
    }
    let code = finish(context, &records, &limits, a, code)?;
    for text in &explained {
        if a.json { output::note(text.trim_end()) } else { output::result(text)? }
    }
    let compared = earlier.map(|earlier| baseline::compared(&earlier, &records, a)).transpose()?;
    let held: Vec<_> = records.iter().flat_map(|r| limits.held(r)).collect();
    baseline::written(&records, &held, compared.as_ref().map(|c| &c.0), a)?;
    last(context, &records, a)?;
    Ok(if code == Code::Done { compared.map_or(code, |c| c.1) } else { code })
}

/// How a run is shown while it goes on.
enum Shown {
    Line(Progress),
    Picture(LiveView),
}

impl Shown {
    fn new(context: &Context, a: &Measure, of: &Request<'_>, end_ns: u64, stop: &StopHandle) -> Result<Self, Failure> {
        if !a.live {
            return Ok(Self::Line(Progress::new(of.load.name(), end_ns, context.quiet)));
        }
        let s = of.settings;
        let title =
            format!("{}  {}  load {}  interval {}  {} {}", of.test, of.target, of.load.name(), s.interval, s.policy, s.priority);
        LiveView::open(&title, end_ns, stop).map(Self::Picture)
    }

    fn step(&self, step: &SessionStep<'_>) {
        match self {
            Self::Line(line) => line.step(step),
            Self::Picture(picture) => picture.step(step),
        }
    }

    fn close(self) {
        match self {
            Self::Line(line) => line.clear(),
            Self::Picture(picture) => picture.close(),
        }
    }
}

/// Prints the results and judges them. An interruption, or a record that could not be kept, takes precedence over the verdict.
fn finish(context: &Context, records: &[Record], limits: &Limits, a: &Measure, so_far: Code) -> Result<Code, Failure> {
    if records.is_empty() {
        return Ok(so_far);
    }
    if !a.json {
        output::result(&match (records, context.quiet) {
            ([one], true) => table::bare(one, style())?,
            ([one], false) => table::brief(one, !a.no_save, style())?,
            (several, true) => table::loads_bare(several, style())?,
            (several, false) => table::loads(several, style())?,
        })?;
        if a.judge.intervals {
            output::result(&table::intervals(records, limits.confidence, style()))?;
        }
    }
    let judged = judge(records, limits, a.strict, a.json)?;
    Ok(if so_far == Code::Done { judged } else { so_far })
}

/// [`finish`] for what ends early, with the last line.
fn ended(context: &Context, records: &[Record], limits: &Limits, a: &Measure, so_far: Code) -> Result<Code, Failure> {
    let code = finish(context, records, limits, a, so_far)?;
    last(context, records, a)?;
    Ok(code)
}

/// Prints the line that stays in sight, after everything else.
fn last(context: &Context, records: &[Record], a: &Measure) -> Result<(), Failure> {
    if a.json || context.quiet { Ok(()) } else { output::result(&table::last_line(records, style())?) }
}

/// Checks records against limits and prints the outcome, with `json` to standard error.
pub(crate) fn judge(records: &[Record], limits: &Limits, strict: bool, json: bool) -> Result<Code, Failure> {
    let all: Vec<_> = records.iter().flat_map(|r| limits.held(r)).collect();
    let verdict = records.iter().map(Record::verdict).max().unwrap_or(Verdict::Valid);
    judged(&all, verdict, strict, json)
}

/// As [`judge`], from the evaluated limits and the worst verdict.
pub(crate) fn judged(all: &[Evaluation], verdict: Verdict, strict: bool, json: bool) -> Result<Code, Failure> {
    if !all.is_empty() {
        let colour = style().colour && !json;
        let text = table::evaluations(all, table::Style { colour, ..style() });
        if json { output::note(text.trim_end()) } else { output::result(&text)? }
    }
    Ok(if verdict == Verdict::Invalid || (strict && !verdict.passes_strict()) {
        Code::Verdict
    } else if all.iter().any(|e| e.outcome != Outcome::Pass) {
        Code::Assertion
    } else {
        Code::Done
    })
}

/// The limits to check records against.
pub(crate) struct Limits {
    assertions: Vec<Assertion>,
    pub(crate) confidence: Confidence,
}

impl Limits {
    /// Parses the limits.
    pub(crate) fn parse(a: &LimitArgs) -> Result<Self, Failure> {
        let one = |t: &String| t.parse::<Assertion>().at("--assert");
        Ok(Self { assertions: a.assertions.iter().map(one).collect::<Result<_, _>>()?, confidence: a.confidence })
    }

    /// Evaluates each limit for `record`.
    pub(crate) fn held(&self, record: &Record) -> Vec<Evaluation> {
        self.assertions.iter().map(|a| a.evaluate(record, self.confidence)).collect()
    }
}

/// Prints a record as JSON, with the confidence bounds of its percentiles beside its own keys.
fn json(record: &Record, confidence: Confidence) -> Result<(), Failure> {
    output::exact(json_text(record, confidence)?.as_bytes())
}

/// The line that [`json`] prints.
pub(crate) fn json_text(record: &Record, confidence: Confidence) -> Result<String, Failure> {
    #[derive(serde::Serialize)]
    struct Intervals {
        confidence: String,
        distributions: BTreeMap<String, Vec<Bounded>>,
    }
    #[derive(serde::Serialize)]
    struct Shown<'a> {
        #[serde(flatten)]
        record: &'a Record,
        intervals: Intervals,
    }
    let distributions = record.distributions().iter().map(|d| (d.label().to_owned(), bounded(record, d, confidence))).collect();
    output::json_text(&Shown { record, intervals: Intervals { confidence: confidence.to_string(), distributions } })
}

/// The loads that the words of `--load` name for a run on `target`.
fn loads(context: &Context, words: &[String], target: &str) -> Result<Vec<Load>, Failure> {
    let mut loads = Vec::new();
    for word in names(words) {
        name(word).or_usage("--load", "write it shorter")?;
        if is_worst(word) {
            for load in worst(context, word, &[target.to_owned()])? {
                loads.push(Load::parse(&load)?);
            }
        } else {
            loads.push(Load::parse(word)?);
        }
    }
    Ok(loads)
}

/// The words of `--load`, one for each load.
fn names(words: &[String]) -> Vec<&str> {
    const ALL: [&str; 6] = ["none", "background", "calculation", "disk", "network", "full"];
    let mut names = Vec::new();
    for word in words {
        match word.as_str() {
            "all" => names.extend(ALL),
            // The arguments of a tool may contain commas.
            w if Load::has_arguments(w) => names.push(w),
            w => names.extend(w.split(',')),
        }
    }
    names
}

/// The options of the guest; `None` if the target is not in the lab.
fn lab_options(a: &Measure) -> Result<Option<LabOptions>, Failure> {
    if lab_kernel(&a.target).is_none() {
        return if a.guest == GuestArgs::default() {
            Ok(None)
        } else {
            let message =
                format!("`{}` is not a target of the lab: it has no clock, seed, CPUs, memory or modules to choose", a.target);
            Err(Failure::usage(message, "measure with --target lab:KERNEL, or without these options"))
        };
    }
    if a.load_dir.is_some() {
        return Err(Failure::usage("a guest has its own disk", "leave --load-dir out"));
    }
    a.guest.options().map(Some)
}

fn settings(context: &Context, a: &Measure, lab: Option<&LabOptions>) -> Result<Settings, Failure> {
    let (file, form) = ("config.toml", "write times as 200us, 10ms, 1h");
    let (mut run, default) = (a.run.clone(), &context.measure);
    if run.interval.is_none() {
        run.interval = default.interval.as_deref().map(micros).transpose().or_usage(file, form)?;
    }
    if run.duration.is_none() && run.loops.is_none() {
        run.duration = default.duration.as_deref().map(seconds).transpose().or_usage(file, form)?;
    }
    run.priority = run.priority.or(default.priority);
    let cpus = match (lab, &run.affinity) {
        // In a guest, its own CPUs.
        (Some(guest), None) => (0..guest.cpus).collect(),
        (_, list) => cpus_of(&a.target, list.as_ref())?,
    };
    let tuning = Tuning::of_words(a.tune.iter().map(String::as_str)).at("--tune")?;
    Ok(Settings { tuning, samples: a.raw.is_some(), trace_above: a.trace, command: command(), ..run.settings(cpus) })
}

/// The command line as given; words longer than a name may be are cut, and so is the list if it is too long.
pub(crate) fn command() -> Vec<String> {
    let mut room = limits::TEXT;
    let words = std::env::args_os().map(|w| limits::cut(&w.to_string_lossy(), limits::NAME));
    let mut words: Vec<String> = words.take_while(|w| room.checked_sub(w.len()).map(|left| room = left).is_some()).collect();
    let all = std::env::args_os().len();
    if words.len() < all {
        words.push(format!("… {} more", all - words.len()));
    }
    words
}

/// An id for a record: sorts by time; 24 random bits keep ids of the same second apart.
pub(crate) fn fresh_id() -> String {
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish() & 0xff_ffff;
    format!("{}-{random:06x}", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"))
}

/// Keeps a record: in the archive, else beside it, else in the temporary directory. Only the first is a success.
pub(crate) fn keep(context: &Context, record: &Record) -> Result<Code, Failure> {
    let Err(error) = context.open().and_then(|mut archive| archive.insert(record).map_err(Failure::from)) else {
        return Ok(Code::Done);
    };
    output::failure(&error);
    for dir in [context.spill_dir(), std::env::temp_dir()] {
        match rtscope_archive::store::spill(record, &dir) {
            Ok(path) => {
                output::note(&format!("rtscope: the record is kept in {}; `rtscope import` takes it", path.display()));
                return Ok(Code::Failed);
            }
            Err(e) => output::note(&format!("rtscope: warning: {}: {e}", dir.display())),
        }
    }
    output::note("rtscope: the record could not be written anywhere; here it is:");
    output::json(record)?;
    Ok(Code::Failed)
}

/// Raw samples as CSV, written to a temporary file beside `path`.
struct Raw {
    path: PathBuf,
    out: Option<std::io::BufWriter<Replacement>>,
    error: Option<std::io::Error>,
}

impl Raw {
    fn create(path: &std::path::Path) -> Result<Self, Failure> {
        let file = Replacement::new(path, 0o666).or_usage(path.display(), "name a file that can be written")?;
        let mut raw = Self { path: path.into(), out: Some(std::io::BufWriter::with_capacity(1 << 20, file)), error: None };
        raw.line(format_args!("thread,cycle,latency_ns"));
        Ok(raw)
    }

    fn sample(&mut self, thread: u32, cycle: u64, value: u64) {
        self.line(format_args!("{thread},{cycle},{value}"));
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        if let (None, Some(out)) = (&self.error, &mut self.out) {
            self.error = writeln!(out, "{text}").err();
        }
    }

    /// Gives the file its name, with the samples so far.
    fn publish(&mut self) -> std::io::Result<()> {
        let Some(out) = self.out.take() else { return Ok(()) };
        out.into_inner().map_err(std::io::IntoInnerError::into_error)?.commit()
    }

    fn finish(mut self) -> Result<(), Failure> {
        let published = self.publish().err();
        let error = self.error.take().or(published);
        error.map_or(Ok(()), |e| {
            Err(Failure::machine(
                format!("{}: {e}: the raw samples are incomplete", self.path.display()),
                "free space there; the record itself is kept",
            ))
        })
    }
}

impl Drop for Raw {
    /// Keeps the samples of a run that was ended early.
    fn drop(&mut self) {
        let _ = self.publish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_split_but_not_a_tools_arguments() {
        let split = |w: &str| names(&[w.into()]).into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(split("none,disk,worst"), ["none", "disk", "worst"]);
        assert_eq!(split("all").len(), 6);
        assert_eq!(split("stress-ng:--cpu 1,2 --cpu-method fft").len(), 1);
    }
}
