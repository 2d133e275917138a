//! The engine with a fake machine and a fake archive: interruptions at any point, how many run at once, and in which order.

use super::super::state::look;
use super::*;
use crate::local::tests::record;
use crate::target::TargetError;
use proptest::prelude::*;
use rtscope_load::LoadError;
use rtscope_record::{Clock, Verdict};
use std::path::Path;
use std::sync::Condvar;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// 8 runs in virtual time, 4 in the machine's own time.
const PLAN: &str = "name = \"c\"\ntargets = [\"lab:a\", \"lab:b\", \"local\"]\nloads = [\"none\", \"disk\"]\nrepetitions = 2\n\
                    [[tests]]\ntest = \"timer\"\nduration = \"1s\"";
const RUNS: usize = 12;

fn plan(text: &str) -> CampaignPlan {
    CampaignPlan::parse(text, Path::new("c.toml"), Path::new("/")).unwrap()
}

/// How a fake run ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Record,
    Fails,
    /// The campaign is asked to stop during the run; the run ends with a partial record.
    Stopped,
    /// As `Stopped`, but before anything was measured.
    Interrupted,
    /// Only this run is ended, not the campaign.
    CutShort,
    WrongId,
    WrongClock,
}

struct Machine<'a> {
    /// How the n-th run ends, from 0; runs beyond the list return a record.
    ends: Vec<End>,
    stop: &'a StopHandle,
    taken: Arc<AtomicUsize>,
    now: AtomicUsize,
    most: AtomicUsize,
    /// Runs wait for each other until this many are under way.
    meet: usize,
    arrived: (Mutex<usize>, Condvar),
    order: Mutex<Vec<String>>,
}

impl<'a> Machine<'a> {
    fn new(stop: &'a StopHandle, ends: &[End]) -> Self {
        Self {
            ends: ends.to_vec(),
            stop,
            taken: Arc::default(),
            now: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            meet: 1,
            arrived: (Mutex::new(0), Condvar::new()),
            order: Mutex::default(),
        }
    }
}

impl Executor for Machine<'_> {
    fn execute(
        &self,
        run: &Run,
        id: &str,
        stop: &StopHandle,
        on_step: &mut dyn FnMut(SessionStep<'_>),
    ) -> Result<Record, MeasureError> {
        let now = self.now.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(now, SeqCst);
        assert!(now == 1 || !run.is_exclusive(), "a run in the machine's own time has company");
        lock(&self.order).push(run.key.clone());
        let end = self.ends.get(self.taken.fetch_add(1, SeqCst)).copied().unwrap_or(End::Record);
        on_step(SessionStep::LoadUp);
        if self.meet > 1 && !run.is_exclusive() {
            let mut arrived = lock(&self.arrived.0);
            *arrived += 1;
            self.arrived.1.notify_all();
            let patience = Duration::from_secs(30);
            let (arrived, _) = self.arrived.1.wait_timeout_while(arrived, patience, |n| *n < self.meet).unwrap();
            assert!(*arrived >= self.meet, "{arrived} runs at once, not {}", self.meet);
        }
        if matches!(end, End::Stopped | End::Interrupted) {
            self.stop.stop();
            assert!(stop.is_stopped(), "the run under way is told");
        }
        self.now.fetch_sub(1, SeqCst);
        let mut parts = record().into_parts();
        parts.id = if end == End::WrongId { "other".into() } else { id.into() };
        let other = if run.clock == Clock::Host { Clock::Virtual } else { Clock::Host };
        parts.clock = if end == End::WrongClock { other } else { run.clock };
        parts.lab = run.model.map(|m| rtscope_record::Lab { model: m.number(), ..rtscope_record::Lab::default() });
        parts.interrupted = stop.is_stopped() || end == End::CutShort;
        match end {
            End::Fails => Err(TargetError::Probe { message: "broken".into(), remedy: "mend it".into() }.into()),
            End::Interrupted => Err(LoadError::Interrupted.into()),
            _ => Ok(Record::new(parts)?),
        }
    }
}

/// An archive that counts how often it was given each record, and can simulate a power cut.
#[derive(Default)]
struct FakeKeeper {
    records: BTreeMap<String, usize>,
    /// Fails at the n-th further record, from 0: before keeping it (`false`) or after (`true`).
    power: Option<(usize, bool)>,
    /// The number of runs begun; checked while a record in the machine's own time is kept.
    taken: Option<Arc<AtomicUsize>>,
}

impl Keeper for FakeKeeper {
    fn kept(&mut self, ids: &BTreeSet<String>) -> Result<BTreeSet<String>, KeepError> {
        Ok(ids.iter().filter(|id| self.records.contains_key(*id)).cloned().collect())
    }

    fn keep(&mut self, record: &Record) -> Result<(), KeepError> {
        let cut = match &mut self.power {
            Some((0, after)) => Some(*after),
            Some((n, _)) => {
                *n -= 1;
                None
            }
            None => None,
        };
        if let Some(taken) = self.taken.as_ref().filter(|_| record.parts().clock == Clock::Host) {
            let before = taken.load(SeqCst);
            std::thread::sleep(Duration::from_millis(2));
            assert_eq!(taken.load(SeqCst), before, "a run begins while another is being kept");
        }
        if cut != Some(false) {
            *self.records.entry(record.id().into()).or_default() += 1;
        }
        if cut.is_some() { Err("the power is gone".into()) } else { Ok(()) }
    }
}

/// One start of the campaign in `dir`.
fn go(dir: &Path, plan: &CampaignPlan, keeper: &mut FakeKeeper, jobs: usize, ends: &[End]) -> Result<CampaignEnd, CampaignError> {
    let stop = StopHandle::new();
    let machine = Machine::new(&stop, ends);
    let mut state = State::open(dir, plan).unwrap();
    let result = run(plan, &mut state, &machine, keeper, jobs, &stop, &|_| {});
    assert!(machine.most.load(SeqCst) <= jobs, "{} at once", machine.most.load(SeqCst));
    result
}

fn all_done() -> CampaignEnd {
    CampaignEnd { done: RUNS, failed: 0, of: RUNS, interrupted: false }
}

#[test]
fn every_run_is_taken_once_and_none_again() {
    let (dir, plan, mut keeper) = (tempfile::tempdir().unwrap(), plan(PLAN), FakeKeeper::default());
    assert_eq!(go(dir.path(), &plan, &mut keeper, 2, &[]).unwrap(), all_done());
    assert_eq!((keeper.records.len(), keeper.records.values().max()), (RUNS, Some(&1)));
    let past = look(dir.path(), &plan).unwrap().0;
    assert!(past.len() == RUNS && past.keys().eq(keeper.records.keys()));
    // No run is left: any run would fail.
    assert_eq!(go(dir.path(), &plan, &mut keeper, 2, &[End::Fails; RUNS]).unwrap(), all_done());
    // A record that was removed from the archive is measured again; no other run is.
    let gone = keeper.records.pop_first().unwrap().0;
    assert_eq!(go(dir.path(), &plan, &mut keeper, 2, &[End::Record, End::Fails]).unwrap(), all_done());
    assert_eq!(keeper.records.get(&gone), Some(&1));
}

#[test]
fn a_failed_run_is_written_down_and_taken_again_the_next_time() {
    let (dir, plan, mut keeper) = (tempfile::tempdir().unwrap(), plan(PLAN), FakeKeeper::default());
    let ends = [End::Record, End::Fails, End::WrongId, End::WrongClock];
    let summary = go(dir.path(), &plan, &mut keeper, 1, &ends).unwrap();
    assert_eq!(summary, CampaignEnd { done: RUNS - 3, failed: 3, of: RUNS, interrupted: false });
    let past = look(dir.path(), &plan).unwrap().0;
    let mut reasons: Vec<_> =
        past.values().filter_map(|e| if let RunOutcome::Failed { reason } = &e.outcome { Some(reason) } else { None }).collect();
    reasons.sort();
    assert!(reasons[0].contains("broken; mend it"), "{reasons:?}");
    assert!(reasons[1].contains("called `other`") && reasons[2].contains("in host time"), "{reasons:?}");
    assert_eq!(go(dir.path(), &plan, &mut keeper, 1, &[]).unwrap(), all_done());
    assert!(
        look(dir.path(), &plan)
            .unwrap()
            .0
            .values()
            .all(|e| matches!(e.outcome, RunOutcome::Done { verdict: Verdict::Valid | Verdict::Repeatable }))
    );
}

#[test]
fn as_many_as_asked_for_run_at_once_in_virtual_time() {
    let (dir, plan, mut keeper) = (tempfile::tempdir().unwrap(), plan(PLAN), FakeKeeper::default());
    let stop = StopHandle::new();
    let machine = Machine { meet: 3, ..Machine::new(&stop, &[]) };
    let mut state = State::open(dir.path(), &plan).unwrap();
    run(&plan, &mut state, &machine, &mut keeper, 3, &stop, &|_| {}).unwrap();
    assert_eq!(machine.most.load(SeqCst), 3);
}

#[test]
fn in_the_machines_own_time_one_follows_the_other_in_the_plans_order() {
    let text = "name = \"o\"\ntargets = [\"local\", \"fake:x\"]\nloads = [\"none\", \"disk\"]\nrepetitions = 3\n[[tests]]\ntest = \"timer\"";
    let (dir, plan, mut keeper) = (tempfile::tempdir().unwrap(), plan(text), FakeKeeper::default());
    let stop = StopHandle::new();
    let machine = Machine::new(&stop, &[]);
    keeper.taken = Some(Arc::clone(&machine.taken));
    let mut state = State::open(dir.path(), &plan).unwrap();
    run(&plan, &mut state, &machine, &mut keeper, 8, &stop, &|_| {}).unwrap();
    let keys: Vec<String> = plan.runs().into_iter().map(|r| r.key).collect();
    assert_eq!((machine.most.load(SeqCst), &*lock(&machine.order)), (1, &keys));
}

#[test]
fn the_observer_is_told_of_every_run() {
    let (dir, plan, mut keeper) = (tempfile::tempdir().unwrap(), plan(PLAN), FakeKeeper::default());
    let stop = StopHandle::new();
    let machine = Machine::new(&stop, &[End::Fails]);
    let mut state = State::open(dir.path(), &plan).unwrap();
    let told: Mutex<Vec<String>> = Mutex::default();
    run(&plan, &mut state, &machine, &mut keeper, 1, &stop, &|h| {
        lock(&told).push(match h {
            Happening::Begins { done, of, gone, left } => format!("begins {done}/{of} {gone} {left:?}"),
            Happening::Started { index, .. } => format!("started {index}"),
            Happening::Step { index, .. } => format!("step {index}"),
            Happening::Ended { index, record, done, left, .. } => {
                format!("ended {index} {} {done} {}", record.is_some(), left.is_some())
            }
        });
    })
    .unwrap();
    let told = told.into_inner().unwrap();
    assert_eq!(told[0], "begins 0/12 0 None");
    assert!(told.contains(&"ended 0 false 0 false".to_owned()) && told.contains(&"ended 1 true 1 true".to_owned()), "{told:?}");
    assert_eq!(told.iter().filter(|t| t.starts_with("started")).count(), RUNS);
    assert_eq!(told.iter().filter(|t| t.starts_with("step")).count(), RUNS);
    assert!(told.contains(&"ended 11 true 11 true".to_owned()), "{told:?}");
    keeper.records.pop_first();
    let again = Mutex::new(None);
    run(&plan, &mut state, &machine, &mut keeper, 1, &stop, &|h| {
        if let Happening::Begins { done, gone, left, .. } = h {
            *lock(&again) = Some((done, gone, left.is_some()));
        }
    })
    .unwrap();
    assert_eq!(again.into_inner().unwrap(), Some((10, 1, true)), "one failed, one is gone");
}

/// A fault during one start of the campaign.
#[derive(Debug, Clone)]
enum Mishap {
    /// The n-th run ends this way.
    Run(usize, End),
    /// A power cut at the n-th record: before it is in the archive (`false`), or after that but before the journal's line
    /// (`true`).
    Power(usize, bool),
    /// Afterwards, the last bytes of the journal are lost.
    Torn(usize),
}

fn mishap() -> impl Strategy<Value = Mishap> {
    let end = prop_oneof![Just(End::Fails), Just(End::Stopped), Just(End::Interrupted), Just(End::CutShort)];
    prop_oneof![
        (0..RUNS, end).prop_map(|(n, end)| Mishap::Run(n, end)),
        (0..RUNS, any::<bool>()).prop_map(|(n, after)| Mishap::Power(n, after)),
        (1usize..1500).prop_map(Mishap::Torn),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_befalls_it_every_run_is_kept_exactly_once(mishaps in prop::collection::vec(mishap(), 0..5), jobs in 1usize..4) {
        let (dir, plan, mut keeper) = (tempfile::tempdir().unwrap(), plan(PLAN), FakeKeeper::default());
        for mishap in mishaps {
            let mut ends = Vec::new();
            keeper.power = None;
            match &mishap {
                Mishap::Run(n, end) => {
                    ends = vec![End::Record; *n];
                    ends.push(*end);
                }
                Mishap::Power(n, after) => keeper.power = Some((*n, *after)),
                Mishap::Torn(_) => {}
            }
            let before = keeper.records.len();
            let result = go(dir.path(), &plan, &mut keeper, jobs, &ends);
            match (&mishap, &result) {
                (Mishap::Power(n, _), Err(CampaignError::Keep(_))) => prop_assert!(before + n < RUNS),
                (Mishap::Run(_, End::Fails), Ok(s)) => prop_assert!(!s.interrupted && s.done + s.failed == RUNS),
                (Mishap::Run(n, _), Ok(s)) => prop_assert_eq!(s.interrupted, before + n < RUNS),
                (_, Ok(s)) => prop_assert_eq!(s, &all_done()),
                (_, Err(e)) => prop_assert!(false, "{mishap:?}: {e}"),
            }
            if let Mishap::Torn(bytes) = mishap {
                let path = dir.path().join("journal.ndjson");
                let journal = std::fs::OpenOptions::new().write(true).open(path).unwrap();
                let length = journal.metadata().unwrap().len();
                journal.set_len(length.saturating_sub(bytes as u64)).unwrap();
            }
        }
        keeper.power = None;
        prop_assert_eq!(go(dir.path(), &plan, &mut keeper, jobs, &[]).unwrap(), all_done());
        prop_assert_eq!(keeper.records.len(), RUNS);
        prop_assert!(keeper.records.values().all(|&n| n == 1), "{:?}", keeper.records);
    }
}
