//! Warnings from what the kernel saw of a load during the run: it froze, lost workers or slowed down.

use super::kept::{LoadProcess, LoadProof, LoadStep, LoadWorkers};
use crate::warning::{Effect, Warning};

/// Length of the calibration at the start of a run, against which the rest is compared, ns.
const CALIBRATION_NS: u64 = 2_000_000_000;
/// Idle worker time below this is ignored, because it may be a single look, ns.
const ONE_LOOK_NS: u64 = 400_000_000;

fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

fn percent(share: f64) -> f64 {
    (share * 100.0).round()
}

impl LoadWorkers {
    /// Whether the workers were at work for more than half of the time.
    pub(super) fn at_work(&self) -> bool {
        self.cpu_ns > 0 && share(self.idle_ns, self.watched_ns) < 0.5
    }

    /// Whether the workers sleep by design, as some stressors do: they were idle from the beginning, and none was stopped or
    /// ended.
    fn sleeps(&self) -> bool {
        self.stopped == 0 && self.gone == 0 && share(self.early_idle_ns, self.early_watched_ns) >= 0.1
    }

    /// What is wrong with the workers, if anything, and how serious it is; `ran_ns` is the load's run time.
    fn failing(&self, ran_ns: u64) -> Option<(Effect, &'static str, String)> {
        let idle = share(self.idle_ns, self.watched_ns);
        let early = if self.sleeps() { share(self.early_idle_ns, self.early_watched_ns) } else { 0.0 };
        let frozen = !self.sleeps()
            && self.longest_idle_ns >= ONE_LOOK_NS
            && (share(self.longest_idle_ns, ran_ns) >= 0.1 || self.longest_idle_ns >= 5_000_000_000);
        let long = self.idle_ns >= ONE_LOOK_NS;
        let name = &self.name;
        let did_nothing = format!("{name} did nothing for {} % of its time", percent(idle));
        if frozen || (long && (idle >= early + 0.4 || idle >= 0.9)) {
            let longest = self.longest_idle_ns as f64 / 1e9;
            return Some((Effect::Invalid, "load-frozen", format!("{did_nothing}, all of it at once for up to {longest:.1} s")));
        }
        if self.gone > 0 {
            let effect = if self.gone >= self.count { Effect::Invalid } else { Effect::Inconclusive };
            return Some((
                effect,
                "load-workers-lost",
                format!("{} of {} workers of {name} ended too early", self.gone, self.count),
            ));
        }
        if self.stopped > 0 {
            return Some((
                Effect::Inconclusive,
                "load-stopped",
                format!("{name} was seen stopped by a signal {} times", self.stopped),
            ));
        }
        if (long && idle >= early + 0.1) || (!self.sleeps() && self.longest_idle_ns >= 1_000_000_000) {
            return Some((Effect::Inconclusive, "load-frozen", did_nothing));
        }
        (self.reniced > 0).then(|| {
            let said = format!("{} of {} workers of {name} were given another priority or policy", self.reniced, self.count);
            (Effect::Inconclusive, "load-reniced", said)
        })
    }
}

/// At most one warning for each process: the most serious one about its workers.
pub(super) fn of_process(proof: &LoadProof, process: &LoadProcess) -> Option<Warning> {
    let failing = process.workers.iter().filter_map(|w| w.failing(proof.ran_ns));
    let (effect, code, _) = failing.clone().max_by_key(|(effect, ..)| *effect)?;
    let said: Vec<String> = failing.filter(|f| (f.0, f.1) == (effect, code)).map(|f| f.2).collect();
    // With `--all`, some stressors end by themselves, sleep or change their own priority on any machine.
    let effect = if process.command.iter().any(|a| a == "--all") { Effect::Note } else { effect };
    let shown = said.iter().take(4).cloned().collect::<Vec<_>>().join("; ");
    let more = if said.len() > 4 { format!("; {} more", said.len() - 4) } else { String::new() };
    let remedy = match code {
        "load-reniced" => "see who changes priorities on this machine, and run again",
        "load-stopped" => "nobody may stop the load's processes while it is measured under; run again",
        _ => "run again; if it happens again, see what ends or stops its processes (dmesg, cgroups), or choose a milder load",
    };
    Some(Warning::new(code, effect, format!("the load `{}` was not there all the time: {shown}{more}", proof.name), remedy))
}

/// The warning that follows from the course of the whole load, if any.
pub(super) fn of_load(proof: &LoadProof) -> Option<Warning> {
    let course = proof.course.as_ref()?;
    let total = sum(&course.steps);
    let of_free = |s: &LoadStep| share(s.load_ns, s.load_ns.saturating_add(s.idle_ns));
    let load = &proof.name;
    let slowed = |message: String| {
        let remedy = "see what holds it up (a CPU quota, a slow disk, heat), or choose a load of your own; run again";
        Some(Warning::new("load-slowed", Effect::Inconclusive, message, remedy))
    };
    if course.fills_cpus && total.ns >= ONE_LOOK_NS && of_free(&total) < 0.7 {
        return slowed(format!(
            "the load `{load}` used {} % of the CPU time that other programs left, where it is to use all",
            percent(of_free(&total))
        ));
    }
    // The calibration by time. A run of less than one and a half times its length has too little to compare.
    let mut early = LoadStep::default();
    for step in &course.steps {
        if early.ns >= CALIBRATION_NS {
            break;
        }
        early = sum(&[early, *step]);
    }
    if total.ns < early.ns.saturating_add(early.ns / 2) || early.ns < CALIBRATION_NS {
        return None;
    }
    // A load that mostly waited at the beginning may wait differently later, so it is judged only over a longer time.
    let mut steps: Vec<f64> = course.steps.iter().map(of_free).collect();
    steps.sort_by(f64::total_cmp);
    let reference = of_free(&early).max(steps[steps.len() / 2]);
    let enough = reference >= 0.2 || total.ns >= 5_000_000_000;
    if enough && of_free(&total) < reference * 0.65 {
        return slowed(format!(
            "the load `{load}` used {:.1} % of the CPU time that other programs left, after {:.1} % in its good times: it was slowed or \
             stopped",
            of_free(&total) * 100.0,
            reference * 100.0
        ));
    }
    let (rate, first) = (share(total.load_ns, total.ns), share(early.load_ns, early.ns));
    (reference >= 0.2 && rate < first * 0.5).then(|| {
        Warning::new(
            "load-crowded",
            Effect::Inconclusive,
            format!(
                "other programs took the CPUs from the load `{load}`: it had {rate:.2} CPUs' time, after {first:.2} in its first seconds"
            ),
            "end what else runs on this machine, and run again",
        )
    })
}

fn sum(steps: &[LoadStep]) -> LoadStep {
    steps.iter().fold(LoadStep::default(), |a, b| LoadStep {
        ns: a.ns.saturating_add(b.ns),
        load_ns: a.load_ns.saturating_add(b.load_ns),
        idle_ns: a.idle_ns.saturating_add(b.idle_ns),
    })
}

#[cfg(test)]
#[path = "course_tests.rs"]
mod tests;
