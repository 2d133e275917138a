//! The probe as a program: a plan in, events out, the same on every target.

use crate::measured::{Failure, Measured};
use crate::protocol::{Event, PROTOCOL, ProbePlan, Unattended};
use crate::{build, fake, line_tests, snapshot, timer};
use rtscope_record::{Clock, Origin, Record, RecordParts, Space, Test, findings, witness};
use rtscope_sys::rt;
use std::io::{BufRead, Read, Write};
use std::os::fd::AsRawFd;

/// Longest plan (one line), bytes.
const LONGEST_PLAN: u64 = 1 << 20;

/// Reads one plan from `input`, measures, and writes events to `output`. The end of `input` ends the run early
/// unless `keep_going`.
///
/// Returns the exit code of the process: 0 a record was written, 2 the plan was wrong, 3 it could not measure.
pub fn serve(input: impl Read + AsRawFd, output: &mut dyn Write, keep_going: bool) -> u8 {
    let mut broken_pipe = false;
    let fd = if keep_going { -1 } else { input.as_raw_fd() };
    let mut say = |event: Event| {
        // If the driver is gone, the end of its pipe ends the run; until then there is nobody to tell.
        broken_pipe |=
            serde_json::to_writer(&mut *output, &event).is_err() || output.write_all(b"\n").is_err() || output.flush().is_err();
    };
    say(hello(Vec::new()));
    let code = match read_plan(input).and_then(|plan| measure(&plan, fd, &mut say)) {
        Ok(record) => {
            say(Event::Record { record: Box::new(record) });
            0
        }
        Err(failure) => {
            let code = if failure.is_usage() { 2 } else { 3 };
            say(failure.into());
            code
        }
    };
    if broken_pipe { 3 } else { code }
}

/// The first event: protocol and version.
pub(crate) fn hello(unattended: Vec<Unattended>) -> Event {
    Event::Hello { protocol: PROTOCOL.into(), version: build::VERSION.into(), commit: build::commit().into(), unattended }
}

fn read_plan(input: impl Read) -> Result<ProbePlan, Failure> {
    let mut line = Vec::new();
    // One byte at a time, because nothing after the line may be consumed. A plan is short.
    std::io::BufReader::with_capacity(1, input.take(LONGEST_PLAN))
        .read_until(b'\n', &mut line)
        .map_err(|e| Failure::usage(format!("the plan could not be read: {e}"), "send one line of JSON"))?;
    let plan: ProbePlan = serde_json::from_slice(&line).map_err(|e| {
        Failure::usage(format!("the plan is not understood: {e}"), "driver and probe must be of one version of rtscope")
    })?;
    if plan.protocol != PROTOCOL {
        let message = format!("the driver speaks `{}`, this probe {PROTOCOL}", plan.protocol);
        return Err(Failure::usage(message, "use the probe of the same rtscope version"));
    }
    Ok(plan)
}

/// Carries out `plan`. `input` and `say` as in [`crate::timer::run`].
pub fn measure(plan: &ProbePlan, input: i32, say: &mut dyn FnMut(Event)) -> Result<Record, Failure> {
    let fake = plan.target.strip_prefix("fake:");
    if fake.is_some() && plan.space != Space::User {
        let message = format!("this probe can't measure `{}` in {} space on {}", plan.test, plan.space, plan.target);
        return Err(Failure::usage(message, "leave out --space: a fake target has user space only"));
    }
    let signals = rt::prepare_signals().map_err(|e| Failure::machine(format!("signal handling: {e}"), "report this"))?;
    let signals = signals.of_the_driver(input >= 0);
    let system = snapshot::collect(&snapshot::Root::of_this_machine());
    let started = utc_now();
    let measured = match (plan.test, plan.space, fake) {
        (Test::Timer, _, Some(file)) => fake::run(plan, file),
        (Test::Timer, Space::User, None) => timer::run(plan, &signals, input, say),
        (Test::Timer, Space::Kernel, None) => timer::kernel::run(plan, &signals, input, say),
        (Test::Response | Test::Periodic | Test::Sustained, ..) => line_tests::run(plan, &signals, input, say),
    }?;
    let Measured { distributions, mut warnings, elapsed_ns, interrupted, mut instrument, witness } = measured;
    let dut = match instrument.as_mut().and_then(|i| i.system.as_mut()) {
        Some(host) => std::mem::replace(&mut **host, system),
        None => system,
    };
    if interrupted {
        warnings.push(findings::again::interrupted());
    }
    warnings.extend(witness.iter().flat_map(|w| witness::findings(w, &plan.settings, &distributions)));
    warnings.extend(fake.map(|_| fake::warning()));
    let mut parts = RecordParts {
        id: plan.id.clone(),
        started,
        elapsed_ns,
        test: plan.test,
        space: plan.space,
        load: plan.load.clone(),
        target: plan.target.clone(),
        clock: Clock::Host,
        origin: None,
        interrupted,
        warnings,
        settings: plan.settings.clone(),
        system: dut,
        load_proof: None,
        distributions,
        source: None,
        lab: None,
        instrument,
        witness,
        signature: None,
    };
    let origin = Origin::derived(&parts);
    parts.origin = Some(origin);
    parts.warnings.extend(fake.is_none().then(|| rtscope_record::origin::warning(origin)).flatten());
    parts.warnings.extend(if fake.is_none() { findings::of_machines(&parts) } else { Vec::new() });
    // The warnings that an import would add are there from the beginning. The driver adds the load's proof.
    let rest = findings::again::missing(&RecordParts { load: "none".into(), ..parts.clone() });
    parts.warnings.extend(rest);
    Record::new(parts).map_err(|e| Failure::machine(format!("no record could be made: {e}"), "report this"))
}

/// Wall time in RFC 3339, UTC, to the second.
pub fn utc_now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    rfc3339(since.as_secs())
}

/// Days to a civil date: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn rfc3339(secs: u64) -> String {
    // A clock that is far off must not cost the run its record: RFC 3339 years have four digits.
    let secs = secs.min(253_402_300_799);
    let (days, rest) = (secs / 86_400 + 719_468, secs % 86_400);
    let era = days / 146_097;
    let doe = days % 146_097;
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
    let year = yoe + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(u64::MAX), "9999-12-31T23:59:59Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_795_248_000 + 3_723), "2026-11-21T09:02:03Z");
    }

    proptest! {
        #[test]
        fn any_plan_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_plan(bytes.as_slice());
        }
    }
}
