//! The engine: takes the runs that are left, keeps their records, writes down how each ended.
//!
//! One thread keeps and writes, in this order: the record into the archive, then the line into the journal. In virtual time workers measure
//! meanwhile; in the machine's own time nothing does.

use super::estimate::Estimate;
use super::matrix::Run;
use super::plan::Plan;
use super::state::{Entry, Outcome, State, StateError};
use crate::session::{MeasureError, Step};
use rtscope_load::StopHandle;
use rtscope_record::Record;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Takes one run.
pub trait Executor: Sync {
    /// Measures, and returns the record, which must be called `id`. `stop` ends it early; what it then returns is not kept.
    fn execute(&self, run: &Run, id: &str, stop: &StopHandle, on_step: &mut dyn FnMut(Step<'_>)) -> Result<Record, MeasureError>;
}

/// Why a record can't be kept.
pub type KeepError = Box<dyn std::error::Error + Send + Sync>;

/// Where records are kept.
pub trait Keeper {
    /// Which of these ids have a record.
    fn kept(&mut self, ids: &BTreeSet<String>) -> Result<BTreeSet<String>, KeepError>;
    /// Keeps a record; safe from a power cut when this returns.
    fn keep(&mut self, record: &Record) -> Result<(), KeepError>;
}

/// What goes on, for a progress display. Comes from several threads.
#[derive(Debug)]
pub enum Happening<'a> {
    /// Before the first run: how many are done already, of how many.
    Begins {
        /// Done before.
        done: usize,
        /// In all.
        of: usize,
        /// Written down as done, but their records are no longer kept: they are taken again.
        gone: usize,
        /// How long the rest will take, if that can be said.
        left: Option<Duration>,
    },
    /// A run begins.
    Started {
        /// Its place among the plan's runs.
        index: usize,
        /// Which.
        run: &'a Run,
    },
    /// A run is at this step.
    Step {
        /// Its place among the plan's runs.
        index: usize,
        /// The step.
        step: &'a Step<'a>,
    },
    /// A run ended, and that is written down; `None` for one that was cut short and is to be taken again.
    Ended {
        /// Its place among the plan's runs.
        index: usize,
        /// Which.
        run: &'a Run,
        /// How.
        entry: Option<&'a Entry>,
        /// The record, if there is one.
        record: Option<&'a Record>,
        /// Runs that are done now.
        done: usize,
        /// How long the rest will take, if that can be said.
        left: Option<Duration>,
    },
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Runs whose record is kept.
    pub done: usize,
    /// Runs that failed this time.
    pub failed: usize,
    /// Runs of the plan.
    pub of: usize,
    /// It was ended before its time: runs are left.
    pub interrupted: bool,
}

/// Why a campaign could not go on. What was done before is kept.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// Its state can't be kept.
    #[error(transparent)]
    State(#[from] StateError),
    /// The archive can't be asked, or did not take a record.
    #[error("the campaign can't go on: {0}")]
    Keep(KeepError),
}

/// Takes every run of `plan` whose record is not kept yet: those in virtual time up to `jobs` at once, then those in the machine's own time one
/// by one. A run that fails is written down, and the others are taken; when `stop` is asked, or a run is cut short by anything else, those
/// under way are ended and count as not taken.
pub fn run(
    plan: &Plan,
    state: &mut State,
    executor: &dyn Executor,
    keeper: &mut dyn Keeper,
    jobs: usize,
    stop: &StopHandle,
    observer: &(dyn Fn(Happening<'_>) + Sync),
) -> Result<Summary, CampaignError> {
    let (runs, digest) = (plan.runs(), plan.digest());
    let ids: Vec<String> = runs.iter().map(|r| r.id(&plan.name, &digest)).collect();
    let kept = keeper.kept(&ids.iter().cloned().collect()).map_err(CampaignError::Keep)?;
    let (mut estimate, mut gone) = (Estimate::new(&runs), 0);
    for (i, id) in ids.iter().enumerate() {
        if let Some(Entry { outcome: Outcome::Done { .. }, wall_ms, .. }) = state.past().get(id) {
            estimate.add(i, Duration::from_millis(*wall_ms));
            gone += usize::from(!kept.contains(id));
        }
    }
    let rest: BTreeSet<usize> = (0..runs.len()).filter(|&i| !kept.contains(&ids[i])).collect();
    let done = runs.len() - rest.len();
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
    // Sorted by it: `partition_point` finds where the exclusive ones begin.
    let first_exclusive = runs.partition_point(|r| !r.is_exclusive());
    campaign.together(0..first_exclusive, jobs.max(1));
    campaign.alone(first_exclusive..runs.len());
    stop.on_stop(|| {});
    let Bookkeeping { rest, done, failed, error, .. } = campaign.bookkeeping;
    error.map_or(Ok(Summary { done, failed, of: runs.len(), interrupted: !rest.is_empty() }), Err)
}

/// A run under way.
#[derive(Debug)]
struct Running {
    since: Instant,
    stop: StopHandle,
}

type UnderWay = Arc<Mutex<BTreeMap<usize, Running>>>;

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these locks.
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

/// What the keeping thread alone touches.
struct Bookkeeping<'a> {
    state: &'a mut State,
    keeper: &'a mut dyn Keeper,
    estimate: Estimate<'a>,
    /// Runs to be taken, or under way.
    rest: BTreeSet<usize>,
    done: usize,
    failed: usize,
    /// The first that ended the campaign.
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

    /// Takes those of `range` that are left, `jobs` at once.
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
                        // Nobody receives only when the receiving thread panicked.
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

    /// Takes those of `range` that are left, each when the one before is kept and written down: that too would disturb it.
    fn alone(&mut self, range: Range<usize>) {
        let (rest, worker): (Vec<usize>, _) = (self.bookkeeping.rest.range(range).copied().collect(), self.worker());
        for index in rest {
            if self.stop.is_stopped() {
                return;
            }
            self.enter(worker.take(index));
        }
    }

    /// Keeps what a worker brought, and writes it down.
    fn enter(&mut self, Finished { index, wall, result }: Finished) {
        let (run, id) = (&self.runs[index], &self.ids[index]);
        let cut_short = match &result {
            Ok(record) => record.parts().interrupted,
            Err(e) => e.is_interrupted() || self.stop.is_stopped(),
        };
        if cut_short {
            // Also when only the run was told to end: whoever did that wants it to be over.
            self.stop.stop();
            (self.observer)(Happening::Ended { index, run, entry: None, record: None, done: self.bookkeeping.done, left: None });
            return;
        }
        let record = result.map_err(|e| e.to_string()).and_then(|record| right(run, id, record));
        let outcome = match &record {
            Ok(record) => {
                if let Err(e) = self.bookkeeping.keeper.keep(record) {
                    self.give_up(CampaignError::Keep(e));
                    return;
                }
                Outcome::Done { verdict: record.verdict() }
            }
            Err(reason) => Outcome::Failed { reason: reason.clone() },
        };
        let wall_ms = u64::try_from(wall.as_millis()).unwrap_or(u64::MAX);
        let entry = Entry { key: run.key.clone(), id: id.clone(), wall_ms, outcome };
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

/// Refuses a record that is not of this run.
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

/// What each measuring thread needs.
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
        // Asked before this run was among those that are told.
        if self.stop.is_stopped() {
            stop.stop();
        }
        (self.observer)(Happening::Started { index, run });
        let on_step = &mut |step: Step<'_>| (self.observer)(Happening::Step { index, step: &step });
        let result = self.executor.execute(run, &self.ids[index], &stop, on_step);
        lock(&self.running).remove(&index);
        Finished { index, wall: since.elapsed(), result }
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
