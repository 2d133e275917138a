//! A capture as the instrument: a file of a logic analyzer or an oscilloscope to a record.

use crate::args::{CaptureArgs, Edges};
use crate::cmd::archive::nothing_of;
use crate::cmd::input::Input;
use rtscope_archive::capture::{self, Analog, Capture, CaptureError, Kind, Request};
use rtscope_failure::{Explain, Failure};
use rtscope_probe::lines::Edge;
use rtscope_probe::wired::books::LABELS;
use rtscope_probe::wired::narrow;
use rtscope_probe::wired::recorded::{self, Recorded};
use rtscope_probe::wired::remarks;
use rtscope_record::lines::{Instrument, LineFacts, LineSettings, Stamp};
use rtscope_record::{Clock, Effect, Nanos, Origin, Policy, Record, RecordParts, Settings, Space, System, Test, Warning, limits};
use std::io::Cursor;
use std::time::SystemTime;

/// The kind of a file that is a capture: as named, else by looking at its start.
/// Who names a channel has a capture: when it is none that is known, the reader of tables says why.
pub(super) fn kind(format: Option<&str>, bytes: &[u8], a: &CaptureArgs) -> Option<Kind> {
    match format {
        Some(name) => name.parse().ok(),
        None => Kind::detect(bytes).or(a.answer.as_ref().map(|_| Kind::Csv)),
    }
}

/// A channel of the capture as a line.
struct Line {
    name: String,
    edges: Vec<Edge>,
    unknown: u64,
    /// Pulses that were too narrow, and taken out.
    narrow: u64,
    analog: Option<Analog>,
}

impl Line {
    fn of(capture: &Capture, wanted: &str, a: &CaptureArgs) -> Result<Self, CaptureError> {
        let channel = capture.channel(wanted)?;
        let noise = channel.analog.filter(|of| of.noise && a.threshold.is_none());
        if let Some((low, high)) = noise.and_then(|of| of.swing) {
            return Err(CaptureError::File(format!(
                "channel {} is between {low:.3} V and {high:.3} V, most of the time in the middle or not far from it: that is noise rather \
                 than levels; look at its wire, or give --threshold VOLTS",
                channel.name
            )));
        }
        // Picoseconds to nanoseconds, each time for itself: no error adds up.
        let edges: Vec<Edge> = channel.levels.edges().map(|(at, level)| Edge { at: (at + 500) / 1000, level, lost: 0 }).collect();
        let (edges, narrow) = match a.min_width {
            Some(width) if width.0 > 0 => narrow::without(&edges, width.0),
            _ => (edges, 0),
        };
        Ok(Self {
            name: limits::cut(&channel.name, limits::LABEL),
            edges,
            unknown: channel.levels.unknown(),
            narrow,
            analog: channel.analog,
        })
    }

    /// Only some edges.
    fn keep(&mut self, edges: Edges) {
        match edges {
            Edges::Both => {}
            Edges::Rising => self.edges.retain(|e| e.level),
            Edges::Falling => self.edges.retain(|e| !e.level),
        }
    }

    /// Why it may be without edges.
    fn constant(&self) -> String {
        let Some((Some((low, high)), t)) = self.analog.map(|of| (of.swing, of.threshold)) else {
            return "its level never changes that way".into();
        };
        format!(
            "it is between {low:.3} V and {high:.3} V, and the threshold is {:.3} V with {:.3} V of hysteresis: --threshold, --hysteresis",
            t.volts, t.hysteresis
        )
    }

    fn facts(&self) -> LineFacts {
        let said = |t: capture::Threshold| format!(", {:.4} V with {:.4} V of hysteresis", t.volts, t.hysteresis);
        let of = self.analog.map(|of| said(of.threshold)).unwrap_or_default();
        LineFacts { name: self.name.clone(), what: format!("channel of a capture{of}"), stamp: Stamp::Outside }
    }
}

/// What is known of the file.
pub(super) struct File<'a> {
    pub name: &'a str,
    pub time: SystemTime,
    pub load: Option<&'a str>,
    pub space: Option<Space>,
}

/// Reads a capture as the options say.
pub(super) fn import(file: &File<'_>, input: &mut Input, kind: Kind, a: &CaptureArgs) -> Result<Record, Failure> {
    let wrong = |e: CaptureError| nothing_of(file.name, e);
    let channels = a.stimulus.iter().filter(|_| a.answer.is_some()).chain(&a.answer).cloned().collect();
    let request = Request { channels, threshold: a.threshold, hysteresis: a.hysteresis };
    let capture = match input {
        Input::Held(bytes) => Capture::read(Cursor::new(bytes), kind, &request),
        Input::Streamed(stream) => {
            let capture = Capture::read(&mut *stream, kind, &request);
            // Whatever is wrong with it then, this is why.
            let unfinished = |e: std::io::Error| Failure::machine(e.to_string(), "import it when it is finished");
            stream.check_unchanged().map_err(|e| nothing_of(file.name, unfinished(e)))?;
            capture
        }
    };
    let capture = capture.map_err(wrong)?;
    let Some(answer) = &a.answer else {
        let names = capture.names();
        let (first, second) = (&names[0], names.get(1).unwrap_or(&names[0]));
        return Err(Failure::usage(
            format!("{} is a capture ({}) with the channels {}", file.name, kind, listed(&capture)),
            format!(
                "say what it shows: --stimulus '{first}' --answer '{second}', or for a wave --answer '{first}' --semi-period TIME"
            ),
        ));
    };
    if let Some(stimulus) = &a.stimulus {
        if capture.channel(stimulus).map_err(wrong)?.place == capture.channel(answer).map_err(wrong)?.place {
            let twice = Failure::usage(format!("{stimulus} can't be stimulus and answer at once"), "name two channels");
            return Err(nothing_of(file.name, twice));
        }
    }
    let answer = Line::of(&capture, answer, a).map_err(wrong)?;
    let stimulus = a.stimulus.as_ref().map(|s| Line::of(&capture, s, a)).transpose().map_err(wrong)?;
    let taken = match stimulus {
        Some(stimulus) => responses(&capture, stimulus, answer, a),
        None => wave(&capture, &answer, a),
    };
    let taken = taken.map_err(|e| nothing_of(file.name, e))?;
    assemble(file, &capture, taken, a)
}

/// As many names as one may read.
fn listed(capture: &Capture) -> String {
    let more = capture.count() - capture.names().len();
    capture.names().join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// What came of it.
struct Taken {
    test: Test,
    settings: Settings,
    distributions: Vec<rtscope_record::Distribution>,
    instrument: Instrument,
    warnings: Vec<Warning>,
    elapsed_ns: u64,
}

/// What nobody recorded is not claimed.
fn settings(interval: Nanos, lines: LineSettings, a: &CaptureArgs) -> Settings {
    Settings {
        interval,
        policy: Policy::Other,
        priority: 0,
        mlockall: false,
        hold_dma_latency: false,
        worst: a.worst,
        lines: Some(lines),
        ..Settings::default()
    }
}

fn line_settings(stimulus: Option<String>, answer: String, timeout: Nanos, a: &CaptureArgs) -> LineSettings {
    LineSettings {
        stimulus,
        answer,
        interval_max: None,
        seed: 0,
        pulse: None,
        both_edges: false,
        active_low: false,
        min_width: a.min_width,
        timeout,
        warmup: a.warmup,
        null_wire: None,
        shortest: None,
        self_answer: None,
        dut: None,
    }
}

fn responses(capture: &Capture, mut stimulus: Line, mut answer: Line, a: &CaptureArgs) -> Result<Taken, Failure> {
    stimulus.keep(a.stimulus_edges);
    answer.keep(a.answer_edges.unwrap_or(match (a.stimulus_edges, a.inverted) {
        (Edges::Rising, true) => Edges::Falling,
        (Edges::Falling, true) => Edges::Rising,
        (edges, _) => edges,
    }));
    if stimulus.edges.is_empty() {
        let message = format!("channel {} has no such edge, so nothing stimulated: {}", stimulus.name, stimulus.constant());
        return Err(Failure::machine(message, "name the channel that stimulates, and its edges: --stimulus, --stimulus-edges"));
    }
    // The rules know an answer by its level: those of the stimulus it answers.
    let one_edge = match a.stimulus_edges {
        Edges::Both => None,
        Edges::Rising => Some(true),
        Edges::Falling => Some(false),
    };
    for edge in &mut answer.edges {
        edge.level = one_edge.unwrap_or(edge.level != a.inverted);
    }
    let usual = recorded::usual_interval(&stimulus.edges);
    let timeout =
        a.timeout.map(|t| t.0).or(usual).ok_or_else(|| Failure::machine("one stimulus tells no time-out", "give --timeout"))?;
    let end = capture.end.div_ceil(1000);
    let recorded = Recorded { stimulus: &stimulus.edges, answer: &answer.edges, end };
    let mut r = recorded::responses(&recorded, timeout, a.warmup, a.worst)?;
    if let Some(level) = one_edge {
        let label = LABELS[usize::from(level)];
        r.distributions.retain(|d| d.label() == label);
    }
    let mut warnings = Vec::new();
    if r.cut {
        warnings.push(Warning::new(
            "last-stimulus-cut",
            Effect::Note,
            "the capture ended before the last stimulus had its time: it is in no count",
            "capture a little longer than the last interval",
        ));
    }
    if let Some(usual) = usual.filter(|u| timeout > *u) {
        warnings.push(Warning::new(
            "timeout-beyond-interval",
            Effect::Note,
            format!("answers had less time than the time-out of {}: the next stimulus came after {}", Nanos(timeout), Nanos(usual)),
            "a shorter --timeout",
        ));
    }
    let shortest = r.distributions.iter().filter_map(rtscope_record::Distribution::min).min();
    warnings.extend(remarks::of_answers(&r.distributions, &answer.name, Nanos(timeout)));
    warnings.extend(common(capture, &[&stimulus, &answer], shortest, a));
    let interval = Nanos(usual.unwrap_or(timeout));
    let lines = line_settings(Some(stimulus.name.clone()), answer.name.clone(), Nanos(timeout), a);
    let (driven, watched) = (Some(stimulus.facts()), Some(answer.facts()));
    let instrument = Instrument {
        stimulus: driven,
        answer: watched,
        warmup: r.warmup,
        narrow: stimulus.narrow + answer.narrow,
        ..Instrument::default()
    };
    let elapsed_ns = end.saturating_sub(stimulus.edges[0].at);
    Ok(Taken {
        test: Test::Response,
        settings: settings(interval, lines, a),
        distributions: r.distributions,
        instrument,
        warnings,
        elapsed_ns,
    })
}

fn wave(capture: &Capture, answer: &Line, a: &CaptureArgs) -> Result<Taken, Failure> {
    let usual = recorded::usual_interval(&answer.edges).filter(|i| *i > 0);
    let semi_period = a.semi_period.map(|t| t.0).or(usual);
    let semi_period = semi_period.ok_or_else(|| {
        let message = format!("channel {} has fewer than two edges and so no wave: {}", answer.name, answer.constant());
        Failure::machine(message, "name the channel with the wave: --answer")
    })?;
    let w = recorded::wave(&answer.edges, semi_period, a.warmup, a.worst)?;
    let mut warnings = common(capture, &[answer], Some(semi_period), a);
    if a.semi_period.is_none() {
        warnings.push(Warning::new(
            "semi-period-assumed",
            Effect::Note,
            format!(
                "no semi-period was given: the usual one of the wave is taken, {}, so that its mean error can't show",
                Nanos(semi_period)
            ),
            "give the one that it should have: --semi-period TIME",
        ));
    }
    let lines = line_settings(None, answer.name.clone(), Nanos(semi_period), a);
    let elapsed_ns = answer.edges.last().map_or(0, |e| e.at) - answer.edges.first().map_or(0, |e| e.at);
    Ok(Taken {
        test: Test::Periodic,
        settings: settings(Nanos(semi_period), lines, a),
        distributions: w.distributions,
        instrument: Instrument {
            warmup: w.warmup,
            grid: w.grid,
            answer: Some(answer.facts()),
            narrow: answer.narrow,
            ..Instrument::default()
        },
        warnings,
        elapsed_ns,
    })
}

/// What a reader must know of every capture. `shortest` is the lowest figure that should be resolved, ns.
fn common(capture: &Capture, lines: &[&Line], shortest: Option<u64>, a: &CaptureArgs) -> Vec<Warning> {
    let mut all = vec![Warning::new(
        "machine-unknown",
        Effect::Inconclusive,
        "nothing is known of the machine: a capture does not say what the DUT is, how it was set up, what it did meanwhile, nor who took it",
        "measure with rtscope where the figures must hold by themselves; else say the load (--load NAME), and keep `rtscope check --json` of \
         the machine beside the file",
    )];
    for line in lines.iter().filter(|l| l.unknown > 0) {
        all.push(Warning::new(
            "undefined-levels",
            Effect::Invalid,
            format!("channel {} was undefined or of high impedance {} times: edges may be missing", line.name, line.unknown),
            "look at the wiring, and capture again",
        ));
    }
    for line in lines.iter().filter(|l| l.name.ends_with('…')) {
        all.push(Warning::new("name-cut", Effect::Note, format!("the channel's name is longer: {}", line.name), "name it shorter"));
    }
    for line in lines.iter().filter(|l| l.narrow > 0) {
        let width = a.min_width.unwrap_or_default();
        all.push(Warning::new(
            "narrow-pulses",
            Effect::Note,
            format!(
                "channel {}: {} pulses shorter than {width} were taken out, as asked; they are in no other count",
                line.name, line.narrow
            ),
            "look at the signal: slow edges, bouncing or crosstalk?",
        ));
    }
    let resolution = capture.resolution.div_ceil(1000);
    if let Some(shortest) = shortest.filter(|s| resolution * 10 > *s) {
        all.push(Warning::new(
            "coarse-capture",
            Effect::Inconclusive,
            format!("times are known to {} only, the lowest figure is {}", Nanos(resolution), Nanos(shortest)),
            "capture with a higher sample rate",
        ));
    }
    all
}

fn assemble(file: &File<'_>, capture: &Capture, mut taken: Taken, a: &CaptureArgs) -> Result<Record, Failure> {
    taken.instrument.what =
        format!("capture ({})", [capture.kind.as_str(), &limits::cut(&capture.writer, limits::NAME)].join(" ").trim_end());
    taken.instrument.dut = "what the capture was taken of".into();
    taken.instrument.uncertainty = capture.resolution.div_ceil(1000);
    taken.instrument.uncertainty_mean = taken.instrument.uncertainty;
    taken.settings.command = super::measure::command();
    let source = capture::source(capture, file.name);
    // The same file may be read in several ways.
    let lines = taken.settings.lines.as_ref();
    let way = format!("{:?} {:?} {a:?}", lines.and_then(|l| l.stimulus.as_ref()), lines.map(|l| &l.answer));
    let started = rtscope_archive::started(file.time).or_machine(file.name, "set the file's time: touch FILE")?;
    let id = capture::id(&started, &source, &way);
    Record::new(RecordParts {
        id,
        started,
        elapsed_ns: taken.elapsed_ns,
        test: taken.test,
        space: file.space.unwrap_or(Space::User),
        load: file.load.unwrap_or("unknown").into(),
        target: "import".into(),
        clock: Clock::Host,
        origin: Some(Origin::Imported),
        interrupted: false,
        warnings: taken.warnings,
        settings: taken.settings,
        system: System::default(),
        load_proof: None,
        distributions: taken.distributions,
        source: Some(source),
        lab: None,
        instrument: Some(taken.instrument),
        witness: None,
        signature: None,
    })
    .map_err(|e| nothing_of(file.name, e))
}
