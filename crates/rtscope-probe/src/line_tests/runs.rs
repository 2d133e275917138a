//! The three tests over lines, each from opening its lines to its distributions.

use super::bench::{Bench, Cells, Taken};
use super::device::Duty;
use super::instrument::{Answers, Collector, Ended, Instrument, Order, RunCounts};
use super::sustained::{judge, search};
use crate::measured::Failure;
use crate::protocol::Event;
use rtscope_record::lines::{Confirmation, Trial};
use rtscope_record::{Distribution, Effect, LineSettings, Nanos, Warning};
use rtscope_samples::outcome::LABELS;
use rtscope_samples::phase::PhaseSampler;
use rtscope_samples::responses::ResponseSampler;
use rtscope_samples::wave::WaveSampler;

/// Duration of a trial in the search, ns, and its fewest and most stimuli.
const TRIAL: (u64, u64, u64) = (500_000_000, 20, 5_000);
/// At the first interval or a longer one, a trial of this many stimuli without any edge ends the search if
/// earlier trials had edges.
const DUMB: u64 = 10;

impl Bench<'_> {
    pub(super) fn response(&mut self, say: &mut dyn FnMut(Event)) -> Result<Taken, Failure> {
        let mut instrument = self.open(Duty::Respond, say)?;
        let (s, l) = (self.test.settings, self.test.lines);
        let mut samples = ResponseSampler::new(s.worst, l.warmup);
        let longest = l.interval_max.unwrap_or(s.interval).0;
        let order = self.order((s.interval.0, longest), l.timeout.0);
        let [falling, rising] = samples.live();
        let mut cells = vec![("rising", rising), ("falling", falling)];
        cells.retain(|(label, _)| asks(l, label));
        let ran = self.follow(&cells, say, |stop| instrument.run(&order, stop, &mut Collector::Responses(&mut samples)))?;
        self.warnings.extend(instrument.losses(0));
        let (ended, counts) = ran.outcome;
        let thread = self.thread(ran.tid, ran.refused.as_ref());
        self.warnings.extend(ran.refused);
        self.facts.began = self.test.answer.is_wire().then(|| samples.start());
        let (mut distributions, warmup) = samples.finish(|p| p.thread = Some(thread.clone())).map_err(|e| unsound(&e))?;
        distributions.retain(|d| asks(l, d.label()));
        self.facts.warmup = warmup;
        Ok(Taken { distributions, counts, ended })
    }

    pub(super) fn periodic(&mut self, say: &mut dyn FnMut(Event)) -> Result<Taken, Failure> {
        let (s, l) = (self.test.settings, self.test.lines);
        let mut instrument = self.open(Duty::Wave(s.interval.0), say)?;
        let mut samples = WaveSampler::new(s.interval.0, s.worst, l.warmup);
        let order = Order { capture: true, ..self.order((s.interval.0, s.interval.0), s.interval.0) };
        let ran = self.follow(&samples.live(), say, |stop| instrument.run(&order, stop, &mut Collector::Wave(&mut samples)))?;
        self.warnings.extend(instrument.losses(0));
        let (ended, counts) = ran.outcome;
        let thread = self.thread(ran.tid, ran.refused.as_ref());
        self.warnings.extend(ran.refused);
        self.facts.began = self.test.answer.is_wire().then(|| samples.start());
        let (distributions, warmup, grid) = samples.finish(|p| p.thread = Some(thread.clone())).map_err(|e| unsound(&e))?;
        (self.facts.warmup, self.facts.grid) = (warmup, grid);
        Ok(Taken { distributions, counts, ended })
    }

    pub(super) fn sustained(&mut self, say: &mut dyn FnMut(Event)) -> Result<Taken, Failure> {
        let mut instrument = self.open(Duty::Respond, say)?;
        let (s, l) = (self.test.settings, self.test.lines);
        let (mut edges, mut overflowed, mut gone) = (0, 0, false);
        let mut steps = Vec::new();
        let mut confirmed: Option<Taken> = None;
        let shortest = l.shortest.unwrap_or(s.interval).0;
        let found = search(s.interval.0, shortest, &mut |interval, confirming| {
            let (trial, taken) = match self.attempt(instrument.as_mut(), interval, confirming, say) {
                // What was found until then is kept, and the record says how the run ended.
                Err(_) if edges > 0 && instrument.is_gone() => {
                    gone = true;
                    return Ok(None);
                }
                attempt => attempt?,
            };
            // A device may be silent at an interval that is too short for it. One that is silent at the first interval or
            // longer, or for long, is dead.
            let dumb = taken.counts.edges == 0 && interval >= s.interval.0 && taken.counts.stimuli >= DUMB;
            if edges > 0 && (dumb || taken.ended == Ended::Silent) {
                return Err(Failure::machine(
                    format!("nothing comes back on {} any more: the DUT died during the search", self.test.answer),
                    "look after the DUT, and measure again",
                ));
            }
            edges += taken.counts.edges;
            overflowed += taken.counts.overflowed;
            gone = taken.ended == Ended::Gone;
            let stopped = gone || taken.ended == Ended::Stopped;
            steps.push(trial.clone());
            if confirming {
                confirmed = Some(taken);
            }
            Ok::<_, Failure>((!stopped).then_some(trial))
        })?;
        // Overflows in the trials only matter to the search: their samples are not in the figures.
        let spared = overflowed - confirmed.as_ref().map_or(0, |c| c.counts.overflowed);
        self.warnings.extend(instrument.losses(spared));
        self.facts.search = steps;
        if let Some(found) = &found {
            if edges == 0 {
                let (stimulus, answer) = (self.facts.stimulus.as_ref(), &self.test.answer);
                return Err(super::warnings::nothing_came(stimulus, answer, found.trials.iter().map(|t| t.stimuli).sum()));
            }
            if found.interval.is_none() {
                let longest = found.trials.iter().map(|t| t.interval).max().unwrap_or_default();
                let message = match found.trials.iter().filter(|t| t.sustained).map(|t| t.interval).min() {
                    Some(held) => format!("an interval of {held} held once, but no run up to {longest} confirmed it"),
                    None => format!("at no interval up to {longest} was every stimulus answered"),
                };
                return Err(Failure::machine(
                    message,
                    "is the DUT still there? begin with a longer --interval, or see with `measure response` what is missed",
                ));
            }
            if found.instrument_limited {
                self.warnings.push(Warning::new(
                    "instrument-limited",
                    Effect::Inconclusive,
                    "the instrument could not ask faster: the DUT's limit is at this frequency or above",
                    "a faster instrument (another board, the lab)",
                ));
            }
            if !found.instrument_limited && found.trials.iter().all(|t| t.sustained) {
                self.warnings.push(Warning::new(
                    "search-limited",
                    Effect::Inconclusive,
                    format!(
                        "every interval held, down to the shortest, {}: the DUT keeps up with that or with more",
                        Nanos(shortest)
                    ),
                    "a shorter --shortest, if the instrument can send stimuli that fast (the kernel's can: 10us)",
                ));
            }
            (self.facts.sustained, self.facts.confirmation) = (found.interval.map(Nanos), found.confirmation);
            if let Some(c) = found.confirmation.filter(Confirmation::is_weak) {
                self.warnings.push(Warning::new(
                    "weak-confirmation",
                    Effect::Inconclusive,
                    format!(
                        "{} stimuli without a miss confirm it: with {} % confidence, as many as {:.1} % may be missed",
                        c.stimuli,
                        c.confidence,
                        c.miss_below_ppb as f64 / 1e7
                    ),
                    "a longer --duration",
                ));
            }
        }
        // Ended before anything was confirmed: the record has no samples, and says why.
        let ended = if gone { Ended::Gone } else { Ended::Stopped };
        let taken = confirmed.unwrap_or(Taken { distributions: Vec::new(), counts: RunCounts::default(), ended });
        Ok(if gone { Taken { ended, ..taken } } else { taken })
    }

    /// The order to the instrument for the whole run.
    fn order(&self, intervals: (u64, u64), timeout: u64) -> Order {
        let (s, l) = (self.test.settings, self.test.lines);
        let mean = intervals.0.midpoint(intervals.1).max(1);
        let each = if l.shape.both_edges { 2 } else { 1 };
        let count =
            s.loops.or(s.duration.map(|d| d.0.saturating_mul(each) / mean)).map_or(0, |n| n.max(1).saturating_add(l.warmup));
        Order {
            capture: false,
            intervals,
            timeout,
            stimuli: s.loops.map(|n| n.saturating_add(l.warmup)),
            duration: s.duration.map(|d| d.0),
            count,
            seed: l.seed,
            answers: l.self_answer.map_or(Answers::Device, Answers::Itself),
            shape: l.shape,
            again: false,
        }
    }

    /// One trial of the search, or the confirming run.
    fn attempt(
        &mut self,
        instrument: &mut dyn Instrument,
        interval: u64,
        confirming: bool,
        say: &mut dyn FnMut(Event),
    ) -> Result<(Trial, Taken), Failure> {
        let s = self.test.settings;
        let (mut samples, mut brief) = (confirming.then(|| ResponseSampler::new(s.worst, 0)), PhaseSampler::new(TRIAL.2));
        let cells: Cells = samples.as_ref().map_or_else(Vec::new, |samples| {
            let [falling, rising] = samples.live();
            vec![("rising", rising), ("falling", falling)]
        });
        let whole = Order { stimuli: s.loops, again: true, ..self.order((interval, interval), interval) };
        let trial = trial_of(interval);
        let order = if confirming { whole } else { Order { stimuli: Some(trial), duration: None, count: trial, ..whole } };
        let ran = self.follow(&cells, say, |stop| match &mut samples {
            Some(samples) => instrument.run(&order, stop, &mut Collector::Responses(samples)),
            None => instrument.run(&order, stop, &mut Collector::Responses(&mut brief)),
        })?;
        let (ended, counts) = ran.outcome;
        let thread = self.thread(ran.tid, ran.refused.as_ref());
        if self.warnings.iter().all(|w| w.code != "priority-refused") {
            self.warnings.extend(ran.refused);
        }
        let mut distributions = Vec::new();
        let (missed, spurious, max) = if let Some(samples) = samples {
            distributions = samples
                .finish(|p| {
                    let mut thread = thread.clone();
                    thread.interval = interval;
                    p.thread = Some(thread);
                })
                .map_err(|e| unsound(&e))?
                .0;
            let sum = |f: fn(&Distribution) -> u64| distributions.iter().map(f).sum::<u64>();
            (sum(Distribution::missed), sum(Distribution::spurious), distributions.iter().filter_map(Distribution::max).max())
        } else {
            let phase = brief.finish();
            (phase.missed, phase.spurious, phase.max)
        };
        Ok((judge(interval, &counts, missed, spurious, max, confirming), Taken { distributions, counts, ended }))
    }
}

/// Whether edges with this label are stimuli. Of a pulse, it may be only the first edge.
fn asks(l: &LineSettings, label: &str) -> bool {
    l.shape.pulse.is_none() || l.shape.both_edges || label == LABELS[usize::from(!l.shape.active_low)]
}

/// Number of stimuli of a trial.
fn trial_of(interval: u64) -> u64 {
    (TRIAL.0 / interval).clamp(TRIAL.1, TRIAL.2)
}

fn unsound(e: &rtscope_record::DistributionError) -> Failure {
    Failure::machine(format!("the counts do not add up: {e}"), "report this")
}
