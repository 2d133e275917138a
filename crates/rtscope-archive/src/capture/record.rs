//! Makes a record of a capture: the capture is the instrument, its channels are assigned roles, and its edges are judged
//! by the rules of a live run.

use super::analog::{Analog, Threshold};
use super::content::Capture;
use super::error::CaptureError;
use crate::hex::hex;
use rtscope_record::lines::{InstrumentFacts, LineFacts, Stamp};
use rtscope_record::{
    Clock, Distribution, Effect, LineSettings, Nanos, Origin, Policy, Record, RecordParts, Settings, Shape, Source, Space, System,
    Test, Warning, limits,
};
use rtscope_samples::outcome::LABELS;
use rtscope_samples::recorded::{self, Recorded};
use rtscope_samples::{Edge, narrow, warnings};
use sha2::{Digest, Sha256};

/// Which edges count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edges {
    /// Rising and falling ones.
    Both,
    /// Rising ones.
    Rising,
    /// Falling ones.
    Falling,
}

/// How a capture is to be read.
#[derive(Debug, Clone)]
pub struct Reading<'a> {
    /// The stimulus channel; `None`: the answer channel is a wave.
    pub stimulus: Option<&'a str>,
    /// The answer channel, or the wave.
    pub answer: &'a str,
    /// Edges of the stimulus channel that count as stimuli.
    pub stimulus_edges: Edges,
    /// Edges of the answer channel that count; `None`: derived from the stimulus edges and `inverted`.
    pub answer_edges: Option<Edges>,
    /// A rising stimulus is answered by a falling edge.
    pub inverted: bool,
    /// Pulses shorter than this are removed, ns.
    pub min_width: Option<Nanos>,
    /// Time-out for answers, ns; `None`: the usual time between two stimuli.
    pub timeout: Option<Nanos>,
    /// Nominal semi-period of the wave, ns; `None`: its usual one.
    pub semi_period: Option<Nanos>,
    /// Stimuli, or edges of a wave, to skip before the figures begin.
    pub warmup: u64,
    /// Number of worst samples to keep for each edge.
    pub worst: u32,
    /// The user named the threshold, so a channel may spend most of the time around the middle of its swing.
    pub threshold_named: bool,
}

/// What is known about the file, and about the request to import it.
#[derive(Debug, Clone)]
pub struct File<'a> {
    /// Its name, as stored in the record.
    pub name: &'a str,
    /// When the run started, RFC 3339: [`crate::started`] of the file's modification time.
    pub started: String,
    /// The load during the run, as stated by the user.
    pub load: Option<&'a str>,
    /// Where the task ran, as stated by the user.
    pub space: Option<Space>,
    /// The command line of the import.
    pub command: Vec<String>,
    /// Distinguishes this reading from other readings of the same file; part of the record's id.
    pub way: String,
}

impl Capture {
    /// The record of this capture. An error's `fault` says whether the request or the file is wrong.
    pub fn record(&self, a: &Reading<'_>, file: &File<'_>) -> Result<Record, CaptureError> {
        let answer = Line::of(self, a.answer, a)?;
        let stimulus = a.stimulus.map(|s| Line::of(self, s, a)).transpose()?;
        let taken = match stimulus {
            Some(stimulus) => responses(self, stimulus, answer, a),
            None => wave(self, &answer, a),
        }?;
        assemble(file, self, taken)
    }
}

/// A channel of the capture as a line.
struct Line {
    name: String,
    edges: Vec<Edge>,
    unknown: u64,
    /// Number of pulses removed as too narrow.
    narrow: u64,
    analog: Option<Analog>,
}

impl Line {
    fn of(capture: &Capture, wanted: &str, a: &Reading<'_>) -> Result<Self, CaptureError> {
        let channel = capture.channel(wanted)?;
        let noise = channel.analog.filter(|of| of.noise && !a.threshold_named);
        if let Some((low, high)) = noise.and_then(|of| of.swing) {
            let what = format!(
                "channel {} is between {low:.3} V and {high:.3} V, most of the time in the middle or not far from it: that is noise rather \
                 than levels",
                channel.name
            );
            return Err(CaptureError::Shows { what, remedy: "look at its wire, or give --threshold VOLTS".into() });
        }
        // Each time is rounded from ps to ns by itself, so errors do not add up.
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

    /// Keeps only these edges.
    fn keep(&mut self, edges: Edges) {
        match edges {
            Edges::Both => {}
            Edges::Rising => self.edges.retain(|e| e.level),
            Edges::Falling => self.edges.retain(|e| !e.level),
        }
    }

    /// Why the channel may have no edges.
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
        let said = |t: Threshold| format!(", {:.4} V with {:.4} V of hysteresis", t.volts, t.hysteresis);
        let of = self.analog.map(|of| said(of.threshold)).unwrap_or_default();
        LineFacts { name: self.name.clone(), what: format!("channel of a capture{of}"), stamp: Stamp::Outside }
    }
}

/// What a reading gives: the parts of the record that depend on it.
struct Taken {
    test: Test,
    settings: Settings,
    distributions: Vec<Distribution>,
    instrument: InstrumentFacts,
    warnings: Vec<Warning>,
    elapsed_ns: u64,
}

/// Settings that claim nothing beyond what the capture shows.
fn settings(interval: Nanos, lines: LineSettings, a: &Reading<'_>) -> Settings {
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

fn line_settings(stimulus: Option<String>, answer: String, timeout: Nanos, a: &Reading<'_>) -> LineSettings {
    LineSettings {
        stimulus,
        answer,
        shape: Shape { min_width: a.min_width, ..Shape::default() },
        timeout,
        warmup: a.warmup,
        ..LineSettings::default()
    }
}

fn responses(capture: &Capture, mut stimulus: Line, mut answer: Line, a: &Reading<'_>) -> Result<Taken, CaptureError> {
    stimulus.keep(a.stimulus_edges);
    answer.keep(a.answer_edges.unwrap_or(match (a.stimulus_edges, a.inverted) {
        (Edges::Rising, true) => Edges::Falling,
        (Edges::Falling, true) => Edges::Rising,
        (edges, _) => edges,
    }));
    if stimulus.edges.is_empty() {
        let what = format!("channel {} has no such edge, so nothing stimulated: {}", stimulus.name, stimulus.constant());
        let remedy = "name the channel that stimulates, and its edges: --stimulus, --stimulus-edges".into();
        return Err(CaptureError::Shows { what, remedy });
    }
    // The pairing rules match an answer to its stimulus by level, so give each answer the level of the stimulus it
    // answers.
    let one_edge = match a.stimulus_edges {
        Edges::Both => None,
        Edges::Rising => Some(true),
        Edges::Falling => Some(false),
    };
    for edge in &mut answer.edges {
        edge.level = one_edge.unwrap_or(edge.level != a.inverted);
    }
    let usual = recorded::usual_interval(&stimulus.edges);
    let timeout = a
        .timeout
        .map(|t| t.0)
        .or(usual)
        .ok_or_else(|| CaptureError::Shows { what: "one stimulus tells no time-out".into(), remedy: "give --timeout".into() })?;
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
    let shortest = r.distributions.iter().filter_map(Distribution::min).min();
    warnings.extend(warnings::of_answers(&r.distributions, &answer.name, Nanos(timeout)));
    warnings.extend(common(capture, &[&stimulus, &answer], shortest, a));
    let interval = Nanos(usual.unwrap_or(timeout));
    let lines = line_settings(Some(stimulus.name.clone()), answer.name.clone(), Nanos(timeout), a);
    let (driven, watched) = (Some(stimulus.facts()), Some(answer.facts()));
    let instrument = InstrumentFacts {
        stimulus: driven,
        answer: watched,
        warmup: r.warmup,
        narrow: stimulus.narrow + answer.narrow,
        ..InstrumentFacts::default()
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

fn wave(capture: &Capture, answer: &Line, a: &Reading<'_>) -> Result<Taken, CaptureError> {
    let usual = recorded::usual_interval(&answer.edges).filter(|i| *i > 0);
    let semi_period = a.semi_period.map(|t| t.0).or(usual);
    let semi_period = semi_period.ok_or_else(|| {
        let what = format!("channel {} has fewer than two edges and so no wave: {}", answer.name, answer.constant());
        CaptureError::Shows { what, remedy: "name the channel with the wave: --answer".into() }
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
        instrument: InstrumentFacts {
            warmup: w.warmup,
            grid: w.grid,
            answer: Some(answer.facts()),
            narrow: answer.narrow,
            ..InstrumentFacts::default()
        },
        warnings,
        elapsed_ns,
    })
}

/// Warnings for every capture. `shortest` is the lowest figure that the resolution should suffice for, ns.
fn common(capture: &Capture, lines: &[&Line], shortest: Option<u64>, a: &Reading<'_>) -> Vec<Warning> {
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

/// The origin of a record from this capture.
fn source(capture: &Capture, file: &str) -> Source {
    Source { format: capture.kind.as_str().into(), file: file.into(), sha256: capture.sha256.clone(), kept: Vec::new() }
}

/// The id of a record: from its start time (RFC 3339), the file's hash and the way of reading.
fn id(started: &str, source: &Source, way: &str) -> String {
    let digits: String = started.split('.').next().unwrap_or(started).chars().filter(char::is_ascii_alphanumeric).collect();
    let hash = hex(&Sha256::digest(format!("{} {way}", source.sha256)));
    format!("{}Z-{}", digits.trim_end_matches('Z'), &hash[..8])
}

fn assemble(file: &File<'_>, capture: &Capture, mut taken: Taken) -> Result<Record, CaptureError> {
    taken.instrument.what =
        format!("capture ({})", [capture.kind.as_str(), &limits::cut(&capture.writer, limits::NAME)].join(" ").trim_end());
    taken.instrument.dut = "what the capture was taken of".into();
    taken.instrument.uncertainty = capture.resolution.div_ceil(1000);
    taken.instrument.uncertainty_mean = taken.instrument.uncertainty;
    taken.settings.command.clone_from(&file.command);
    let source = source(capture, file.name);
    // One file may be read in several ways, so the way is part of the id.
    let lines = taken.settings.lines.as_ref();
    let way = format!("{:?} {:?} {}", lines.and_then(|l| l.stimulus.as_ref()), lines.map(|l| &l.answer), file.way);
    let started = file.started.clone();
    let id = id(&started, &source, &way);
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
    .map_err(CaptureError::from)
}
