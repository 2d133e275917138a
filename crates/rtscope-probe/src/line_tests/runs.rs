//! The three tests over lines, each from its open lines to its distributions.

use super::bench::{Bench, Cells, Rig, Taken};
use super::device::Duty;
use super::fpga;
use super::kernel::{self, Taker};
use super::order::Order;
use super::periodic::observe;
use super::schedule::Schedule;
use super::stimulate::{Ended, RunCounts, Until, stimulate};
use super::sustained::{judge, search};
use super::wires::{Real, Wires};
use crate::lines::LineError;
use crate::measured::Failure;
use crate::protocol::Event;
use rtscope_record::lines::{Confirmation, Trial};
use rtscope_record::{Distribution, Effect, LineSettings, Nanos, Warning};
use rtscope_samples::outcome::LABELS;
use rtscope_samples::phase::PhaseSampler;
use rtscope_samples::responses::ResponseSampler;
use rtscope_samples::stimuli::Shape;
use rtscope_samples::wave::WaveSampler;
use rtscope_sys::rt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How long a trial of the search is, ns, and how many stimuli it has at least and at most.
const TRIAL: (u64, u64, u64) = (500_000_000, 20, 5_000);
/// A search ends at a trial of so many stimuli without any edge, where there were some before.
const DUMB: u64 = 10;
/// How long a device may go on answering after a trial, ns.
const BACKLOG: u64 = 2_000_000_000;

impl Bench<'_> {
    pub(super) fn response(&mut self, say: &mut dyn FnMut(Event)) -> Result<Taken, Failure> {
        let mut rig = self.open(Duty::Respond, say)?;
        let (s, l) = (self.asked.settings, self.asked.lines);
        let mut books = ResponseSampler::new(s.worst, l.warmup);
        let longest = l.interval_max.unwrap_or(s.interval).0;
        let mut schedule = Schedule::new(s.interval.0, longest, l.seed);
        let [falling, rising] = books.live();
        let order = self.order((s.interval.0, longest), l.timeout.0);
        let mut cells = vec![("rising", rising), ("falling", falling)];
        cells.retain(|(label, _)| asks(l, label));
        let line = self.asked.answer.to_string();
        let ran = self.follow(&cells, say, |stop| {
            let start = rt::now();
            books.start_at(start);
            let until = Until {
                stimuli: s.loops.map_or(u64::MAX, |n| n.saturating_add(l.warmup)),
                end: s.duration.map_or(u64::MAX, |d| start.saturating_add(d.0)),
                stop,
            };
            match &mut rig {
                Rig::Lines(wires) => stimulate(wires, &mut schedule, l.timeout.0, &until, &mut books),
                // The number of stimuli is the end, so that runs are the same; the time is for a DUT that hangs the machine.
                Rig::Wire(wire) => kernel::run(wire, &order, u64::MAX, stop, &mut Taker::Sink(&mut books)),
                Rig::Fpga(fpga) => fpga::run(&line, fpga, &order, u64::MAX, stop, &mut Taker::Sink(&mut books)),
            }
        })?;
        self.account(&rig, 0);
        let (ended, own) = ran.outcome;
        let thread = self.thread(ran.tid, ran.refused.as_ref());
        self.warnings.extend(ran.refused);
        let (mut distributions, warmup) = books.finish(|p| p.thread = Some(thread.clone())).map_err(|e| unsound(&e))?;
        distributions.retain(|d| asks(l, d.label()));
        self.facts.warmup = warmup;
        Ok(Taken { distributions, own, ended })
    }

    pub(super) fn periodic(&mut self, say: &mut dyn FnMut(Event)) -> Result<Taken, Failure> {
        let (s, l) = (self.asked.settings, self.asked.lines);
        let mut rig = self.open(Duty::Wave(s.interval.0), say)?;
        let mut books = WaveSampler::new(s.interval.0, s.worst, l.warmup);
        let order = Order { capture: true, ..self.order((s.interval.0, s.interval.0), s.interval.0) };
        let line = self.asked.answer.to_string();
        let ran = self.follow(&books.live(), say, |stop| {
            let until = Until {
                stimuli: s.loops.map_or(u64::MAX, |n| n.saturating_add(l.warmup)),
                end: s.duration.map_or(u64::MAX, |d| rt::now().saturating_add(d.0)),
                stop,
            };
            match &mut rig {
                Rig::Lines(wires) => observe(wires, &until, &mut books),
                Rig::Wire(wire) => {
                    books.start_at(rt::now());
                    kernel::run(wire, &order, until.end, stop, &mut Taker::<PhaseSampler>::Wave(&mut books))
                }
                Rig::Fpga(fpga) => {
                    // The wave's intervals are counted, so that the time is the instrument's.
                    fpga::run(&line, fpga, &order, u64::MAX, stop, &mut Taker::<PhaseSampler>::Wave(&mut books))
                }
            }
        })?;
        self.account(&rig, 0);
        let (ended, own) = ran.outcome;
        let thread = self.thread(ran.tid, ran.refused.as_ref());
        self.warnings.extend(ran.refused);
        let (distributions, warmup, grid) = books.finish(|p| p.thread = Some(thread.clone())).map_err(|e| unsound(&e))?;
        (self.facts.warmup, self.facts.grid) = (warmup, grid);
        Ok(Taken { distributions, own, ended })
    }

    pub(super) fn sustained(&mut self, say: &mut dyn FnMut(Event)) -> Result<Taken, Failure> {
        let mut rig = self.open(Duty::Respond, say)?;
        let (s, l) = (self.asked.settings, self.asked.lines);
        let (mut edges, mut overflowed, mut gone) = (0, 0, false);
        let mut steps = Vec::new();
        let mut confirmed: Option<Taken> = None;
        let shortest = l.shortest.unwrap_or(s.interval).0;
        let found = search(s.interval.0, shortest, &mut |interval, confirming| {
            let (trial, taken) = match self.attempt(&mut rig, interval, confirming, say) {
                // What was found until then is kept, and says how it ended.
                Err(_) if edges > 0 && rig.is_gone() => {
                    gone = true;
                    return Ok(None);
                }
                attempt => attempt?,
            };
            // A device that is too slow for an interval may be dumb there; one that is dumb at a longer one than before, or for long, is dead.
            let dumb = taken.own.edges == 0 && interval >= s.interval.0 && taken.own.stimuli >= DUMB;
            if edges > 0 && (dumb || taken.ended == Ended::Silent) {
                return Err(Failure::machine(
                    format!("nothing comes back on {} any more: the DUT died during the search", self.asked.answer),
                    "look after the DUT, and measure again",
                ));
            }
            edges += taken.own.edges;
            overflowed += taken.own.overflowed;
            gone = taken.ended == Ended::Gone;
            let stopped = gone || taken.ended == Ended::Stopped;
            steps.push(trial.clone());
            if confirming {
                confirmed = Some(taken);
            }
            Ok::<_, Failure>((!stopped).then_some(trial))
        })?;
        // Steps that overflowed are the search's business: none of them is in the figures.
        self.account(&rig, overflowed - confirmed.as_ref().map_or(0, |c| c.own.overflowed));
        self.facts.search = steps;
        if let Some(found) = &found {
            if edges == 0 {
                let (stimulus, answer) = (self.facts.stimulus.as_ref(), &self.asked.answer);
                return Err(super::remarks::nothing_came(stimulus, answer, found.trials.iter().map(|t| t.stimuli).sum()));
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
                    "a shorter --shortest, where the instrument can ask so fast (the kernel's: 10us)",
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
        // Ended before anything was confirmed: a record without samples says so.
        let ended = if gone { Ended::Gone } else { Ended::Stopped };
        let taken = confirmed.unwrap_or(Taken { distributions: Vec::new(), own: RunCounts::default(), ended });
        Ok(if gone { Taken { ended, ..taken } } else { taken })
    }

    /// Says what was lost on the way from an instrument of its own, less `spared` events that it had no room for.
    fn account(&mut self, rig: &Rig, spared: u64) {
        if let Rig::Fpga(fpga) = rig {
            let mut losses = fpga.losses();
            losses.overflowed = losses.overflowed.saturating_sub(spared);
            self.warnings.extend(fpga::lost(&self.asked.answer.to_string(), &losses));
        }
    }

    /// The order to the kernel's instrument, for the whole run.
    fn order(&self, intervals: (u64, u64), timeout: u64) -> Order {
        let (s, l) = (self.asked.settings, self.asked.lines);
        let mean = intervals.0.midpoint(intervals.1).max(1);
        let each = if l.both_edges { 2 } else { 1 };
        let count =
            s.loops.or(s.duration.map(|d| d.0.saturating_mul(each) / mean)).map_or(0, |n| n.max(1).saturating_add(l.warmup));
        let inject = l.self_answer.as_ref().map(kernel::own_answers).unwrap_or_default();
        let min_width = l.min_width.map_or(0, |w| w.0);
        let shape = Shape { pulse: l.pulse.map(|w| w.0), both_edges: l.both_edges, active_low: l.active_low, min_width };
        Order { capture: false, intervals, timeout, count, seed: l.seed, inject, shape }
    }

    /// One step of the search.
    fn attempt(
        &mut self,
        rig: &mut Rig,
        interval: u64,
        confirming: bool,
        say: &mut dyn FnMut(Event),
    ) -> Result<(Trial, Taken), Failure> {
        let s = self.asked.settings;
        let (mut books, mut brief) = (confirming.then(|| ResponseSampler::new(s.worst, 0)), PhaseSampler::new(TRIAL.2));
        let cells: Cells = books.as_ref().map_or_else(Vec::new, |books| {
            let [falling, rising] = books.live();
            vec![("rising", rising), ("falling", falling)]
        });
        let order = self.order((interval, interval), interval);
        let line = self.asked.answer.to_string();
        let ran = self.follow(&cells, say, |stop| {
            let wires = match rig {
                Rig::Lines(wires) => wires,
                Rig::Wire(wire) => {
                    let trial = Order { count: trial_of(interval), ..order };
                    return match &mut books {
                        Some(books) => {
                            books.start_at(rt::now());
                            kernel::run(wire, &order, u64::MAX, stop, &mut Taker::Sink(books))
                        }
                        None => kernel::run(wire, &trial, u64::MAX, stop, &mut Taker::Sink(&mut brief)),
                    };
                }
                Rig::Fpga(fpga) => {
                    let trial = Order { count: trial_of(interval), ..order };
                    return match &mut books {
                        Some(books) => fpga::run(&line, fpga, &order, u64::MAX, stop, &mut Taker::Sink(books)),
                        None => fpga::run(&line, fpga, &trial, u64::MAX, stop, &mut Taker::Sink(&mut brief)),
                    };
                }
            };
            settle(wires, interval, stop)?;
            let start = rt::now();
            let mut schedule = Schedule::new(interval, interval, 0);
            if let Some(books) = &mut books {
                books.start_at(start);
                let stimuli = s.loops.unwrap_or(u64::MAX);
                let end = s.duration.map_or(u64::MAX, |d| start.saturating_add(d.0));
                stimulate(wires, &mut schedule, interval, &Until { stimuli, end, stop }, books)
            } else {
                stimulate(wires, &mut schedule, interval, &Until { stimuli: trial_of(interval), end: u64::MAX, stop }, &mut brief)
            }
        })?;
        let (ended, own) = ran.outcome;
        let thread = self.thread(ran.tid, ran.refused.as_ref());
        if self.warnings.iter().all(|w| w.code != "priority-refused") {
            self.warnings.extend(ran.refused);
        }
        let mut distributions = Vec::new();
        let (missed, spurious, max) = if let Some(books) = books {
            distributions = books
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
        Ok((judge(interval, &own, missed, spurious, max, confirming), Taken { distributions, own, ended }))
    }
}

/// Whether edges of this label ask: of a pulse it may be the first one alone.
fn asks(l: &LineSettings, label: &str) -> bool {
    l.pulse.is_none() || l.both_edges || label == LABELS[usize::from(!l.active_low)]
}

/// Stimuli of a trial.
fn trial_of(interval: u64) -> u64 {
    (TRIAL.0 / interval).clamp(TRIAL.1, TRIAL.2)
}

/// Lets a device that fell behind in the trial before catch up, so that its answers do not count against this one.
fn settle(wires: &mut Real, interval: u64, stop: &AtomicBool) -> Result<(), LineError> {
    let end = rt::now() + BACKLOG;
    while rt::now() < end && !stop.load(Relaxed) {
        if wires.wait(rt::now() + (2 * interval).clamp(5_000_000, 100_000_000))?.is_none() {
            break;
        }
    }
    Ok(())
}

fn unsound(e: &rtscope_record::DistributionError) -> Failure {
    Failure::machine(format!("the counts do not add up: {e}"), "report this")
}
