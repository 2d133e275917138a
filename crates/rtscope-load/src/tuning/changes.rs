//! From a setting to what is to be written where, on this machine: refused is what is not there.

use super::error::TuningError;
use super::place::{Files, Place};
use rtscope_record::{Knob, Nanos, Tuning};
use std::io;

/// Something that is to be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// The setting that it is for, as `NAME=VALUE`.
    pub(super) of: String,
    pub(super) place: Place,
    pub(super) before: String,
    pub(super) wanted: String,
}

/// What `tuning` asks for; nothing is set yet.
pub(super) fn changes(files: &Files, tuning: &Tuning) -> Result<Vec<Change>, TuningError> {
    let mut all = Vec::new();
    for (knob, value) in tuning.iter() {
        all.extend(Asked { files, knob, value }.changes()?);
    }
    Ok(all)
}

/// One setting.
struct Asked<'a> {
    files: &'a Files,
    knob: Knob,
    value: &'a str,
}

impl Asked<'_> {
    fn changes(&self) -> Result<Vec<Change>, TuningError> {
        let value = self.value;
        match self.knob {
            Knob::Preempt => {
                let file = "sys/kernel/debug/sched/preempt";
                self.offered(file, "its preemption model can't be changed while it runs (CONFIG_PREEMPT_DYNAMIC)")
            }
            Knob::RtRuntime => {
                let file = "proc/sys/kernel/sched_rt_runtime_us";
                let us = self.time().map_or("-1".into(), |t| (t.0 / 1000).to_string());
                Ok(vec![self.change(Place::File(file.into()), us, "it has no RT throttling")?])
            }
            Knob::FairServer => {
                let dir = "sys/kernel/debug/sched/fair_server";
                let ns = self.time().unwrap_or_default().0.to_string();
                let file = |cpu| format!("{dir}/cpu{cpu}/runtime");
                self.each(
                    self.files.numbered(dir, "cpu").into_iter().map(file),
                    &ns,
                    dir,
                    "it has no fair server to set (Linux 6.12 and later have, for root)",
                )
            }
            Knob::Governor => self.governor(),
            Knob::IdleLatency => self.idle_states(),
            Knob::IrqPriority => {
                let (part, priority) = value.split_once(':').unwrap_or(("", value));
                let named = |name: &str| name.starts_with("irq/") && name.contains(part);
                self.threads(priority, named, "boot with threadirqs, or a PREEMPT_RT kernel")
            }
            Knob::KsoftirqdPriority => {
                self.threads(value, |name| name.starts_with("ksoftirqd/"), "in a container they can't be seen")
            }
            Knob::KtimersPriority => self.threads(value, |name| name.starts_with("ktimers/"), "PREEMPT_RT kernels have them"),
            Knob::TimerMigration => {
                let file = Place::File("proc/sys/kernel/timer_migration".into());
                let on = if value == "on" { "1" } else { "0" };
                Ok(vec![self.change(file, on.into(), "its timers do not migrate, as on one without SMP or NO_HZ")?])
            }
            Knob::Thp => {
                let file = "sys/kernel/mm/transparent_hugepage/enabled";
                self.offered(file, "it has no transparent huge pages, as PREEMPT_RT kernels have none")
            }
        }
    }

    /// A time; `None` for `off`.
    fn time(&self) -> Option<Nanos> {
        self.value.parse().ok()
    }

    /// The same in several files, at least one; `dir` is where they should be.
    fn each(&self, files: impl Iterator<Item = String>, wanted: &str, dir: &str, why: &str) -> Result<Vec<Change>, TuningError> {
        let all: Vec<Change> = files.map(|f| self.change(Place::File(f), wanted.into(), why)).collect::<Result<_, _>>()?;
        if all.is_empty() { Err(self.missing(&format!("/{dir}"), why)) } else { Ok(all) }
    }

    /// One word of those in the file.
    fn offered(&self, file: &str, why: &str) -> Result<Vec<Change>, TuningError> {
        let change = self.change(Place::File(file.into()), self.value.into(), why)?;
        let text = self.files.text(file)?;
        self.is_among(text.split_whitespace().map(|word| word.trim_matches(['[', ']', '(', ')'])))?;
        Ok(vec![change])
    }

    fn is_among<'a>(&self, words: impl Iterator<Item = &'a str> + Clone) -> Result<(), TuningError> {
        if words.clone().any(|word| word == self.value) {
            return Ok(());
        }
        let remedy = format!("this machine has {}", words.collect::<Vec<_>>().join(", "));
        Err(TuningError::Refused { message: format!("{}: the kernel has no such value", self.text()), remedy, usage: true })
    }

    fn governor(&self) -> Result<Vec<Change>, TuningError> {
        let cpus = "sys/devices/system/cpu";
        let of = |cpu, file| format!("{cpus}/cpu{cpu}/cpufreq/{file}");
        let scaled = self.files.numbered(cpus, "cpu").into_iter();
        let scaled: Vec<u32> = scaled.filter(|cpu| self.files.path(&of(*cpu, "scaling_governor")).exists()).collect();
        let why = "the kernel does not scale its frequency";
        let all =
            self.each(scaled.iter().map(|cpu| of(*cpu, "scaling_governor")), self.value, &format!("{cpus}/cpu0/cpufreq"), why)?;
        let offered = self.files.text(&of(scaled[0], "scaling_available_governors"))?;
        self.is_among(offered.split_whitespace())?;
        Ok(all)
    }

    fn idle_states(&self) -> Result<Vec<Change>, TuningError> {
        let cpus = "sys/devices/system/cpu";
        let limit = self.time().unwrap_or_default().0 / 1000;
        let (mut all, mut states) = (Vec::new(), 0);
        for cpu in self.files.numbered(cpus, "cpu") {
            let dir = format!("{cpus}/cpu{cpu}/cpuidle");
            for state in self.files.numbered(&dir, "state") {
                states += 1;
                let latency = self.files.text(&format!("{dir}/state{state}/latency"))?;
                if latency.parse::<u64>().map_err(io::Error::other)? > limit {
                    let file = Place::File(format!("{dir}/state{state}/disable"));
                    all.push(self.change(file, "1".into(), "this state can't be disabled")?);
                }
            }
        }
        if states == 0 {
            return Err(self.missing(&format!("/{cpus}/cpu0/cpuidle"), "it has no idle states"));
        }
        Ok(all)
    }

    fn threads(&self, priority: &str, wanted: impl Fn(&str) -> bool, remedy: &str) -> Result<Vec<Change>, TuningError> {
        let scheduling = if priority == "0" { "other 0".into() } else { format!("fifo {priority}") };
        let threads = self.files.threads().into_iter().filter(|t| wanted(&t.name));
        let place = threads.map(|t| Place::Thread { tid: t.tid, start: t.start, name: t.name });
        let all: Vec<Change> = place.map(|p| self.change(p, scheduling.clone(), "")).collect::<Result<_, _>>()?;
        if let Some(odd) = all.iter().find(|c| c.before.starts_with("policy")) {
            let message = format!("{}: {} is {}, which could not be put back", self.text(), odd.place, odd.before);
            return Err(TuningError::Refused { message, remedy: "leave it out there".into(), usage: false });
        }
        if all.is_empty() {
            let message = format!("{}: this machine has no such kernel thread", self.text());
            return Err(TuningError::Refused { message, remedy: remedy.into(), usage: false });
        }
        Ok(all)
    }

    fn change(&self, place: Place, wanted: String, why: &str) -> Result<Change, TuningError> {
        let before = self.files.read(&place).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => self.missing(&place.to_string(), why),
            _ => refused(&self.text(), &place, "read", &e),
        })?;
        Ok(Change { of: self.text(), place, before, wanted })
    }

    fn missing(&self, file: &str, why: &str) -> TuningError {
        let message = format!("{}: this machine has no {file}: {why}", self.text());
        TuningError::Refused { message, remedy: format!("leave {} out there", self.knob), usage: false }
    }

    fn text(&self) -> String {
        format!("{}={}", self.knob, self.value)
    }
}

/// The kernel refused it.
pub(super) fn refused(of: &str, place: &Place, done: &str, e: &io::Error) -> TuningError {
    let remedy = match e.kind() {
        io::ErrorKind::PermissionDenied => "run as root, not in a container",
        io::ErrorKind::ReadOnlyFilesystem => "run on the machine itself, not in a container",
        _ => "does the kernel take this value? its log may say why not: dmesg | tail",
    };
    TuningError::Refused { message: format!("{of}: {place} can't be {done}: {e}"), remedy: remedy.into(), usage: false }
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
