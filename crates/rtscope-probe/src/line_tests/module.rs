//! The DUT as a kernel module: checks that it is loaded in this version, and reads its counts after a run.

use super::device::Duty;
use crate::measured::Failure;
use rtscope_record::{Effect, Warning};
use rtscope_sys::module_devices::{PeriodicStatus, ResponseStatus, periodic_status, response_status};
use std::io;

/// A loaded module that serves as the DUT.
#[derive(Debug)]
pub struct ModuleDut {
    /// Name and context of the module, as text.
    pub what: String,
    name: &'static str,
    before: Counts,
}

/// The module's counts before the run.
#[derive(Debug)]
enum Counts {
    Response(ResponseStatus),
    Periodic(PeriodicStatus),
    /// This user may not read them.
    Unknown,
}

impl ModuleDut {
    /// The module for `duty`. Fails if it is not loaded, or of another version.
    pub fn find(duty: Duty) -> Result<Self, Failure> {
        let (name, parameter) =
            if duty == Duty::Respond { ("rtscope_response", "handler") } else { ("rtscope_periodic", "context") };
        let how = std::fs::read_to_string(format!("/sys/module/{name}/parameters/{parameter}")).map_err(|e| {
            Failure::machine(
                format!("the DUT's kernel module {name} is not loaded: {e}"),
                format!("leave --dut none out; or as root: insmod {name}.ko with its lines, such as in=rtscope-wire/0 out=rtscope-wire/1"),
            )
        })?;
        let before = match Counts::now(duty) {
            Ok(counts) => counts,
            Err(e) if matches!(e.raw_os_error(), Some(libc::EPROTO | libc::ENOTTY)) => {
                let message = format!("the kernel module {name} is of another version of rtscope");
                return Err(Failure::machine(message, format!("build it anew, and load that one: rmmod {name}")));
            }
            Err(_) => Counts::Unknown,
        };
        Ok(Self { what: format!("kernel module {name}, {parameter} {}", how.trim()), name, before })
    }

    /// Whether the module for `duty` is loaded on this machine.
    pub fn is_loaded(duty: Duty) -> bool {
        let name = if duty == Duty::Respond { "rtscope_response" } else { "rtscope_periodic" };
        std::path::Path::new("/sys/module").join(name).exists()
    }

    /// Whether this module is still loaded.
    pub fn is_there(&self) -> bool {
        std::path::Path::new("/sys/module").join(self.name).exists()
    }

    /// What the module did since `find`: edges (or points of its grid), answers (or edges driven), edges lost, points missed.
    pub fn done(&self, duty: Duty) -> Result<(u64, u64, u64, u64), Failure> {
        let now = Counts::now(duty).map_err(|e| Failure::machine(format!("{}: {e}", self.what), "was it unloaded?"))?;
        Ok(match (&self.before, &now) {
            (Counts::Response(a), Counts::Response(b)) => {
                let answers = (b.rising + b.falling).saturating_sub(a.rising + a.falling);
                (b.edges.saturating_sub(a.edges), answers, b.unchanged.saturating_sub(a.unchanged), 0)
            }
            (Counts::Periodic(a), Counts::Periodic(b)) => {
                let (toggles, missed) = (b.toggles.saturating_sub(a.toggles), b.missed.saturating_sub(a.missed));
                (toggles + missed, toggles, 0, missed)
            }
            _ => (0, 0, 0, 0),
        })
    }

    /// Warnings that follow from the module's own counts. Fails if the module is gone.
    pub fn check(&self, duty: Duty) -> Result<Vec<Warning>, Failure> {
        if matches!(self.before, Counts::Unknown) {
            return Ok(Vec::new());
        }
        let after = Counts::now(duty).map_err(|e| {
            let message = format!("the DUT ({}) does not answer any more: {e}", self.what);
            Failure::machine(message, "was it unloaded during the run? Measure again")
        })?;
        Ok(self.before.against(&after))
    }
}

impl Counts {
    fn now(duty: Duty) -> io::Result<Self> {
        match duty {
            Duty::Respond => response_status().map(Self::Response),
            Duty::Wave(_) => periodic_status().map(Self::Periodic),
        }
    }

    fn against(&self, after: &Self) -> Vec<Warning> {
        let mut all = Vec::new();
        match (self, after) {
            (Self::Response(a), Self::Response(b)) => {
                let (outside, unchanged) = (b.outside.saturating_sub(a.outside), b.unchanged.saturating_sub(a.unchanged));
                if outside > 0 {
                    let message = format!("the DUT's hard handler ran {outside} times outside of a hard interrupt");
                    all.push(Warning::new(
                        "dut-not-in-hard-interrupt",
                        Effect::Invalid,
                        message,
                        "report this with `rtscope show --json`",
                    ));
                }
                if unchanged > 0 {
                    let message =
                        format!("the DUT found {unchanged} times that its line had changed back: it was too slow for two edges");
                    all.push(Warning::new("dut-lost-edges", Effect::Note, message, "a longer --interval"));
                }
            }
            (Self::Periodic(a), Self::Periodic(b)) => {
                let missed = b.missed.saturating_sub(a.missed);
                if missed > 0 {
                    let message = format!("the DUT passed over {missed} points of its own grid");
                    all.push(Warning::new(
                        "dut-missed-points",
                        Effect::Note,
                        message,
                        "a longer --interval, or a less loaded machine",
                    ));
                }
            }
            _ => {}
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modules_own_counts_become_warnings() {
        let codes = |a: &Counts, b: &Counts| a.against(b).iter().map(|w| w.code.clone()).collect::<Vec<_>>();
        let response = |outside, unchanged| Counts::Response(ResponseStatus { unchanged, outside, ..ResponseStatus::default() });
        assert!(codes(&response(0, 7), &response(0, 7)).is_empty());
        assert_eq!(codes(&response(0, 7), &response(1, 8)), ["dut-not-in-hard-interrupt", "dut-lost-edges"]);
        let wave = |missed| Counts::Periodic(PeriodicStatus { missed, ..PeriodicStatus::default() });
        assert_eq!(codes(&wave(0), &wave(3)), ["dut-missed-points"]);
        assert!(codes(&wave(3), &wave(3)).is_empty());
    }

    #[test]
    fn without_its_module_there_is_no_dut() {
        if !std::path::Path::new("/sys/module/rtscope_response").exists() {
            let e = ModuleDut::find(Duty::Respond).unwrap_err();
            assert!(e.message.contains("rtscope_response is not loaded") && e.remedy.contains("insmod"), "{e}");
        }
    }
}
