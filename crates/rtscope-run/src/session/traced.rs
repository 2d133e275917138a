//! A run with the kernel's tracer on: first a short one without it, to say what the tracer costs, then the run itself, and the trace of
//! the first latency above the limit.

use super::error::MeasureError;
use super::step::SessionStep;
use crate::target::{Target, TargetError};
use base64::Engine as _;
use rtscope_explain::explanation::Means;
use rtscope_explain::trace::{Kept, Traced};
use rtscope_load::tracer::Tracer;
use rtscope_load::{StartOptions, StopHandle};
use rtscope_probe::protocol::{Event, Late, ProbePlan};
use rtscope_record::{Nanos, Record, Settings, Warning, findings};
use std::io::BufRead as _;

/// How long is measured without the tracer at most, ns.
const WITHOUT: u64 = Nanos::PER_SEC;

/// What a run came to, in few figures.
struct Figures {
    median: u64,
    max: u64,
}

impl Figures {
    fn of(record: &Record) -> Option<Self> {
        let all = record.merged().ok()??;
        Some(Self { median: all.value_at("p50".parse().ok()?)?, max: all.max()? })
    }
}

/// Takes the run of `plan` with the tracer on. What the tracer kept goes to `on_step`.
pub(super) fn measure(
    plan: &ProbePlan,
    options: &StartOptions,
    target: &dyn Target,
    stop: &StopHandle,
    on_step: &mut dyn FnMut(SessionStep<'_>),
) -> Result<Record, MeasureError> {
    on_step(SessionStep::Preparing("measuring without the tracer first, to see what it costs"));
    let without = target.run(&without_tracer(plan), stop, &mut |_| {})?;
    if without.parts().interrupted {
        return Err(TargetError::Interrupted.into());
    }
    let tracer = Tracer::start(&options.reexec, &options.journal, &plan.settings.cpus)?;
    let plan = ProbePlan { trace: Some(tracer.dir().display().to_string()), ..plan.clone() };
    let mut late = None;
    let record = target.run(&plan, stop, &mut |event| {
        if let Event::Traced(of) = event {
            late = Some(of.clone());
        }
        on_step(SessionStep::Event(event));
    })?;
    if let Some(late) = late {
        on_step(SessionStep::Traced(&read(&tracer, late)));
    }
    let mut parts = record.clone().into_parts();
    parts.warnings.retain(|w| w.code != findings::again::TRACED);
    parts.warnings.push(cost(means(&tracer), Figures::of(&without), Figures::of(&record)));
    Ok(Record::new(parts)?)
}

/// The same test, shorter and not traced.
fn without_tracer(plan: &ProbePlan) -> ProbePlan {
    let s = &plan.settings;
    let loops = (WITHOUT / s.interval.0.max(1)).max(1);
    let settings = Settings {
        trace_above: None,
        break_above: None,
        samples: false,
        duration: s.duration.map(|d| d.min(Nanos(WITHOUT.max(s.interval.0)))),
        loops: s.loops.map(|n| n.min(loops)),
        ..s.clone()
    };
    ProbePlan { settings, ..plan.clone() }
}

fn means(tracer: &Tracer) -> Means {
    if tracer.functions() { Means::Functions } else { Means::Events }
}

/// The late sample with what was recorded of it. A trace that can't be read is an empty one: the measurement stands.
fn read(tracer: &Tracer, late: Late) -> Traced {
    let mut kept = Kept::new(late.expiry, late.latency);
    if let Ok(text) = tracer.text(late.cpu) {
        // Task names may hold any bytes.
        text.split(b'\n').map_while(Result::ok).for_each(|line| kept.line(&String::from_utf8_lossy(&line)));
    }
    // Without it the text is as good.
    let file = tracer.file(late.cpu).map(|file| base64::engine::general_purpose::STANDARD.encode(file)).unwrap_or_default();
    let Late { label, tid, at, expiry, latency, .. } = late;
    Traced { distribution: label, tid, at, expiry, latency, means: means(tracer), text: kept.text(), file }
}

/// The warning that the tracer was on, with what it cost.
fn cost(means: Means, without: Option<Figures>, with: Option<Figures>) -> Warning {
    let usual = findings::again::traced();
    let (Some(without), Some(with)) = (without, with) else { return usual };
    let us = |ns: u64| format!("{}.{:03}", ns / 1000, ns % 1000);
    let message = format!(
        "{} ({}): median {} us and maximum {} us with it, {} and {} us in a shorter run of the same test without it just before",
        usual.message,
        means.words(),
        us(with.median),
        us(with.max),
        us(without.median),
        us(without.max)
    );
    Warning { message, ..usual }
}
