//! What of a run is watched for an explanation: whose timers, where a sample ends, and which kernel modules it goes through.

use rtscope_explain::executed::ExplainError;
use rtscope_explain::path::{Path, Subject};
use rtscope_explain::symbols::Symbols;
use rtscope_failure::Failure;
use rtscope_lab::inside::{ModuleFunction, WatchedTimer};
use rtscope_load::kernel_modules::{PERIODIC, RESPONSE, TIMER, WIRE};
use rtscope_record::{Clock, Distribution, Record, Space, Test};

/// The timer test's callback in the kernel.
const EXPIRED: ModuleFunction = ModuleFunction { module: TIMER, function: "expired" };
/// Drives a stimulus.
const STIMULUS: ModuleFunction = ModuleFunction { module: WIRE, function: "stimulus_fire" };
/// Stamps an edge of the answer line.
const EDGE: ModuleFunction = ModuleFunction { module: WIRE, function: "wire_run_edge" };
/// The handler that answers.
const HANDLER: ModuleFunction = ModuleFunction { module: RESPONSE, function: "answer" };
/// The callback that toggles a wave.
const TOGGLE: ModuleFunction = ModuleFunction { module: PERIODIC, function: "toggle" };
/// The thread of the probe that makes a wave.
const DUT: &str = "rts-dut";

/// How the samples of a record are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Watched {
    pub(super) who: WatchedTimer,
    end: Option<ModuleFunction>,
    path: Path,
    driver: Option<ModuleFunction>,
    task: Option<ModuleFunction>,
    /// What the times of samples count from, on the guest's clock; `None`: see [`Watched::first`].
    pub(super) began: Option<u64>,
    /// The first grid point, ns since the start of the run.
    first: u64,
}

impl Watched {
    /// How the samples `d` of `record` are watched.
    pub(super) fn of(record: &Record, d: &Distribution) -> Result<Self, Failure> {
        let unsaid = || {
            Failure::usage(
                format!("the record {} does not say which thread took its samples, and from when on", record.id()),
                "measure again: records of this version do",
            )
        };
        let p = record.parts();
        let thread = d.parts().thread.as_ref();
        let first = || thread.and_then(|t| t.first_at).ok_or_else(unsaid);
        let began = || p.instrument.as_ref().and_then(|i| i.began).map(Some).ok_or_else(unsaid);
        let none =
            Self { who: WatchedTimer::Called(DUT), end: None, path: Path::WakeUp, driver: None, task: None, began: None, first: 0 };
        let kernel = p.space == Space::Kernel;
        Ok(match p.test {
            Test::Timer if kernel => {
                Self { who: WatchedTimer::Callback(EXPIRED), path: Path::Callback, task: Some(EXPIRED), first: first()?, ..none }
            }
            Test::Timer => {
                let tid = thread.map(|t| t.tid).filter(|tid| *tid > 0).ok_or_else(unsaid)?;
                Self { who: WatchedTimer::Thread(tid), first: first()?, ..none }
            }
            Test::Response => Self {
                who: WatchedTimer::Callback(STIMULUS),
                end: Some(EDGE),
                path: Path::Answer,
                driver: Some(STIMULUS),
                task: kernel.then_some(HANDLER),
                began: began()?,
                ..none
            },
            Test::Periodic | Test::Sustained => Self {
                who: if kernel { WatchedTimer::Callback(TOGGLE) } else { WatchedTimer::Called(DUT) },
                end: Some(EDGE),
                path: Path::Edge,
                task: kernel.then_some(TOGGLE),
                began: began()?,
                ..none
            },
        })
    }

    /// Where an answer is over, which may come long after its stimulus.
    pub(super) fn answer(&self) -> Option<ModuleFunction> {
        self.end.filter(|_| self.path == Path::Answer)
    }

    /// Whether only the begin of the next sample shows that one is over: which edge a wave's grid point led to, the next one shows;
    /// and of a stimulus that was not answered in time the answer may come after the next stimulus.
    pub(super) fn is_patient(&self, record: &Record) -> bool {
        let troubled = |d: &Distribution| d.missed() + d.spurious() > 0;
        self.path == Path::Edge || (self.path == Path::Answer && record.distributions().iter().any(troubled))
    }

    /// What a sample is of, with the functions where the run had them.
    pub(super) fn subject(&self, symbols: &Symbols) -> Result<Subject, Failure> {
        let at = |place: Option<ModuleFunction>| {
            let found = |p: ModuleFunction| {
                symbols.in_module(p.module, p.function).ok_or_else(|| {
                    Failure::machine(
                        format!("the kernel module {} was not seen with its function {}", p.module, p.function),
                        "report this with the record",
                    )
                })
            };
            place.map(found).transpose()
        };
        // Where nothing else ends it, a callback does.
        let end = at(self.end.or(self.task))?;
        Ok(Subject { path: self.path, end, driver: at(self.driver)?, task: at(self.task)? })
    }

    /// When a sample was taken that began at `expiry` on the guest's clock, or at the grid point `after`: ns since the start of the run.
    pub(super) fn taken(&self, expiry: u64, after: u64, latency: u64) -> u64 {
        self.began.map_or(self.first.saturating_add(after), |began| expiry.saturating_sub(began)).saturating_add(latency)
    }

    /// The sample's grid point, as samples have it, of one that began at `expiry`.
    pub(super) fn after(&self, expiry: u64) -> u64 {
        expiry.saturating_sub(self.began.unwrap_or_default())
    }

    /// From `expiry` to a wave's edge at `edge` (ns since the start of the run).
    pub(super) fn late(&self, expiry: u64, edge: u64) -> Result<u64, ExplainError> {
        let at = self.began.unwrap_or_default().saturating_add(edge);
        at.checked_sub(expiry).ok_or_else(|| ExplainError::NotAnchored {
            whose: "the kernel's",
            latency: 0,
            begin: self.path.begins(),
            seen: format!("the edge came {} ns before its grid point", expiry - at),
        })
    }
}

/// Refuses a record whose run can't be looked into.
pub(super) fn check(record: &Record) -> Result<(), Failure> {
    let p = record.parts();
    if p.lab.is_none() || p.clock != Clock::Virtual {
        return Err(Failure::usage(
            format!("the run {} can't be taken again to the last bit: it was not taken in the lab's virtual time", record.id()),
            "measure with --target lab:KERNEL, and explain that run; on a machine: rtscope measure timer --trace 100us",
        ));
    }
    if p.test == Test::Sustained {
        return Err(Failure::usage(
            "the sustained frequency is found by many runs, which are not explained",
            "measure response with that interval in the lab, and explain that run",
        ));
    }
    if p.test != Test::Timer && p.instrument.as_ref().is_none_or(|i| i.began.is_none()) {
        return Err(Failure::usage(
            format!("the run {} was not timed by the instrument in the kernel: only its edges can be explained", record.id()),
            format!("measure {} --target lab:KERNEL, with the lines that it has by default", p.test),
        ));
    }
    Ok(())
}
