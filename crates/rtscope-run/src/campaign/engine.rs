//! The engine: takes the remaining runs, keeps their records and logs how each ended.
//!
//! One thread keeps and logs, in this order: first the record goes into the archive, then the line into the journal. In virtual
//! time, workers measure meanwhile; in the machine's own time nothing does.

use super::estimate::Estimate;
use super::matrix::Run;
use super::plan::CampaignPlan;
use super::state::{JournalLine, RunOutcome, State, StateError};
use crate::session::{MeasureError, SessionStep};
use rtscope_failure::{Failure, Fault, Problem};
use rtscope_load::StopHandle;
use rtscope_record::Record;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Takes one run.
pub trait Executor: Sync {
    /// Measures and returns the record, whose id must be `id`. `stop` ends it early; the record of a stopped run is not kept.
    fn execute(
        &self,
        run: &Run,
        id: &str,
        stop: &StopHandle,
        on_step: &mut dyn FnMut(SessionStep<'_>),
    ) -> Result<Record, MeasureError>;
}

/// Why a record can't be kept.
pub type KeepError = Box<dyn std::error::Error + Send + Sync>;

/// Where records are kept.
pub trait Keeper {
    /// Those of these ids that have a record.
    fn kept(&mut self, ids: &BTreeSet<String>) -> Result<BTreeSet<String>, KeepError>;
    /// Keeps a record. Once this returns, the record survives a power cut.
    fn keep(&mut self, record: &Record) -> Result<(), KeepError>;
}

/// Events of a campaign, for a progress display. They come from several threads.
#[derive(Debug)]
pub enum Happening<'a> {
    /// Before the first run.
    Begins {
        /// Runs that are already done.
        done: usize,
        /// Runs of the plan.
        of: usize,
        /// Runs that the journal lists as done but whose records are no longer kept; they are taken again.
        gone: usize,
        /// Estimated time for the remaining runs, if known.
        left: Option<Duration>,
    },
    /// A run begins.
    Started {
        /// Its place among the plan's runs.
        index: usize,
        /// The run.
        run: &'a Run,
    },
    /// A run is at this step.
    Step {
        /// Its place among the plan's runs.
        index: usize,
        /// The step.
        step: &'a SessionStep<'a>,
    },
    /// A run ended.
    Ended {
        /// Its place among the plan's runs.
        index: usize,
        /// The run.
        run: &'a Run,
        /// Its line in the journal; `None` for a run that was cut short and must be taken again.
        entry: Option<&'a JournalLine>,
        /// The record, if there is one.
        record: Option<&'a Record>,
        /// Runs that are done by now.
        done: usize,
        /// Estimated time for the remaining runs, if known.
        left: Option<Duration>,
    },
}

/// How a campaign ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignEnd {
    /// Runs whose record is kept.
    pub done: usize,
    /// Runs that failed this time.
    pub failed: usize,
    /// Runs of the plan.
    pub of: usize,
    /// The campaign was ended early: runs are left.
    pub interrupted: bool,
}

/// Why a campaign could not go on. Records kept so far stay.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// Its state can't be kept.
    #[error(transparent)]
    State(#[from] StateError),
    /// The archive can't be read, or refused a record.
    #[error("the campaign can't go on: {0}")]
    Keep(KeepError),
}

impl Problem for CampaignError {
    fn remedy(&self) -> String {
        match self {
            Self::State(e) => e.remedy(),
            Self::Keep(_) => "mend the archive, then run the campaign again: it goes on".into(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::State(e) => e.fault(),
            Self::Keep(_) => Fault::Machine,
        }
    }
}

/// Takes every run of `plan` that has no kept record yet: first those in virtual time, up to `jobs` at once, then those in the
/// machine's own time, one by one. A run that fails is logged, and the campaign goes on. When `stop` is asked, or anything else
/// cuts a run short, all runs under way are ended and count as not taken.
pub fn run(
    plan: &CampaignPlan,
    state: &mut State,
    executor: &dyn Executor,
    keeper: &mut dyn Keeper,
    jobs: usize,
    stop: &StopHandle,
    observer: &(dyn Fn(Happening<'_>) + Sync),
) -> Result<CampaignEnd, CampaignError> {
    let (runs, digest) = (plan.runs(), plan.digest());
    let ids: Vec<String> = runs.iter().map(|r| r.id(&plan.name, &digest)).collect();
    let kept = keeper.kept(&ids.iter().cloned().collect()).map_err(CampaignError::Keep)?;
    let (mut estimate, mut gone) = (Estimate::new(&runs), 0);
    for (i, id) in ids.iter().enumerate() {
        if let Some(JournalLine { outcome: RunOutcome::Done { .. }, wall_ms, .. }) = state.past().get(id) {
            estimate.add(i, Duration::from_millis(*wall_ms));
            gone += usize::from(!kept.contains(id));
        }
    }
    let rest: BTreeSet<usize> = (0..runs.len()).filter(|&i| !kept.contains(&ids[i]) && state.retries(&ids[i])).collect();
    let done = ids.iter().filter(|id| kept.contains(*id)).count();
    let mut campaign = Campaign {
        runs: &runs,
        ids: &ids,
        jobs,
        executor,
        observer,
        stop,
        running: UnderWay::default(),
        bookkeeping: Bookkeeping { state, keeper, estimate, rest, done, failed: 0, error: None },
    };
    let fan_out = Arc::clone(&campaign.running);
    stop.on_stop(move || lock(&fan_out).values().for_each(|r| r.stop.stop()));
    observer(Happening::Begins { done, of: runs.len(), gone, left: campaign.left() });
    // `plan.runs()` sorts by `is_exclusive`, so `partition_point` finds the first exclusive run.
    let first_exclusive = runs.partition_point(|r| !r.is_exclusive());
    campaign.together(0..first_exclusive, jobs.max(1));
    campaign.alone(first_exclusive..runs.len());
    stop.on_stop(|| {});
    let Bookkeeping { rest, done, failed, error, .. } = campaign.bookkeeping;
    error.map_or(Ok(CampaignEnd { done, failed, of: runs.len(), interrupted: !rest.is_empty() }), Err)
}

/// A run under way.
#[derive(Debug)]
struct Running {
    since: Instant,
    stop: StopHandle,
}

type UnderWay = Arc<Mutex<BTreeMap<usize, Running>>>;

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread never panics while it holds one of these locks.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Campaign<'a> {
    runs: &'a [Run],
    ids: &'a [String],
    jobs: usize,
    executor: &'a dyn Executor,
    observer: &'a (dyn Fn(Happening<'_>) + Sync),
    stop: &'a StopHandle,
    running: UnderWay,
    bookkeeping: Bookkeeping<'a>,
}

/// State that only the keeping thread touches.
struct Bookkeeping<'a> {
    state: &'a mut State,
    keeper: &'a mut dyn Keeper,
    estimate: Estimate<'a>,
    /// Runs that are still to be taken, or under way.
    rest: BTreeSet<usize>,
    done: usize,
    failed: usize,
    /// The first error that ended the campaign.
    error: Option<CampaignError>,
}

struct Finished {
    index: usize,
    wall: Duration,
    result: Result<Record, MeasureError>,
}

impl<'a> Campaign<'a> {
    fn worker(&self) -> Worker<'a> {
        let Self { runs, ids, executor, observer, stop, .. } = *self;
        Worker { runs, ids, executor, observer, stop, running: Arc::clone(&self.running) }
    }

    /// Takes the remaining runs of `range`, `jobs` at once.
    fn together(&mut self, range: Range<usize>, jobs: usize) {
        let queue: Mutex<VecDeque<usize>> = Mutex::new(self.bookkeeping.rest.range(range).copied().collect());
        let workers = jobs.min(lock(&queue).len());
        let worker = self.worker();
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            for _ in 0..workers {
                let (sender, worker, queue) = (sender.clone(), worker.clone(), &queue);
                scope.spawn(move || {
                    while !worker.stop.is_stopped() {
                        let Some(index) = lock(queue).pop_front() else { return };
                        // Sending fails only if the receiving thread panicked.
                        let _ = sender.send(worker.take(index));
                    }
                });
            }
            drop(sender);
            for finished in receiver {
                self.enter(finished);
            }
        });
    }

    /// Takes the remaining runs of `range` one by one. Each waits until the previous record is kept and logged, as that would
    /// disturb the run.
    fn alone(&mut self, range: Range<usize>) {
        let (rest, worker): (Vec<usize>, _) = (self.bookkeeping.rest.range(range).copied().collect(), self.worker());
        for index in rest {
            if self.stop.is_stopped() {
                return;
            }
            self.enter(worker.take(index));
        }
    }

    /// Keeps the record that a worker returned, and logs the run.
    fn enter(&mut self, Finished { index, wall, result }: Finished) {
        let (run, id) = (&self.runs[index], &self.ids[index]);
        let cut_short = match &result {
            Ok(record) => record.parts().interrupted,
            Err(e) => e.is_interrupted() || self.stop.is_stopped(),
        };
        if cut_short {
            // Stop also when only this run was told to end: whoever ended it wants the campaign to end.
            self.stop.stop();
            (self.observer)(Happening::Ended { index, run, entry: None, record: None, done: self.bookkeeping.done, left: None });
            return;
        }
        let record = result.map_err(|e| Failure::from(e).in_one()).and_then(|record| right(run, id, record));
        let outcome = match &record {
            Ok(record) => {
                if let Err(e) = self.bookkeeping.keeper.keep(record) {
                    self.give_up(CampaignError::Keep(e));
                    return;
                }
                RunOutcome::Done { verdict: record.verdict() }
            }
            Err(reason) => RunOutcome::Failed { reason: reason.clone() },
        };
        let wall_ms = u64::try_from(wall.as_millis()).unwrap_or(u64::MAX);
        let entry = JournalLine { key: run.key.clone(), id: id.clone(), wall_ms, outcome };
        let written = self.bookkeeping.state.append(entry.clone());
        self.bookkeeping.rest.remove(&index);
        if record.is_ok() {
            self.bookkeeping.done += 1;
            self.bookkeeping.estimate.add(index, wall);
        } else {
            self.bookkeeping.failed += 1;
        }
        let (done, left) = (self.bookkeeping.done, self.left());
        (self.observer)(Happening::Ended { index, run, entry: Some(&entry), record: record.as_ref().ok(), done, left });
        if let Err(e) = written {
            self.give_up(e.into());
        }
    }

    fn give_up(&mut self, error: CampaignError) {
        self.bookkeeping.error.get_or_insert(error);
        self.stop.stop();
    }

    fn left(&self) -> Option<Duration> {
        let running = lock(&self.running);
        let under_way = |i: &usize| running.get(i).map_or(Duration::ZERO, |r| r.since.elapsed());
        let rest: Vec<_> = self.bookkeeping.rest.iter().map(|i| (*i, under_way(i))).collect();
        self.bookkeeping.estimate.left(&rest, self.jobs)
    }
}

/// Refuses a record that does not belong to this run.
fn right(run: &Run, id: &str, record: Record) -> Result<Record, String> {
    let p = record.parts();
    if p.id != id {
        return Err(format!("the record is called `{}`, the run `{id}`", p.id));
    }
    if p.clock != run.clock {
        return Err(format!("the record is in {} time, the plan asks for {} time", p.clock, run.clock));
    }
    let model = p.lab.as_ref().map(|lab| lab.model);
    if run.model.is_some_and(|wanted| Some(wanted.number()) != model) {
        let model = model.map_or_else(|| "none".into(), |m| m.to_string());
        return Err(format!("the record is of time model {model}, the plan asks for another"));
    }
    Ok(record)
}

/// What each worker needs.
#[derive(Clone)]
struct Worker<'a> {
    runs: &'a [Run],
    ids: &'a [String],
    executor: &'a dyn Executor,
    observer: &'a (dyn Fn(Happening<'_>) + Sync),
    stop: &'a StopHandle,
    running: UnderWay,
}

impl Worker<'_> {
    /// Takes one run.
    fn take(&self, index: usize) -> Finished {
        let (run, stop, since) = (&self.runs[index], StopHandle::new(), Instant::now());
        lock(&self.running).insert(index, Running { since, stop: stop.clone() });
        // `stop` may have been asked before this run was in `running`.
        if self.stop.is_stopped() {
            stop.stop();
        }
        (self.observer)(Happening::Started { index, run });
        let on_step = &mut |step: SessionStep<'_>| (self.observer)(Happening::Step { index, step: &step });
        let result = self.executor.execute(run, &self.ids[index], &stop, on_step);
        lock(&self.running).remove(&index);
        Finished { index, wall: since.elapsed(), result }
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
