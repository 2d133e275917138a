//! Checks the settings of a test over lines. The probe does so, and before it whoever made the settings, so
//! that nothing is built or booted for what can't be measured.

use crate::lines::LineSpec;
use crate::measured::Failure;
use crate::witness::WitnessOrder;
use rtscope_record::limits::{LONGEST, SHORTEST, WARMUP};
use rtscope_record::{LineSettings, Nanos, Policy, Settings, Shape, Test};
use rtscope_sys::rt;

/// Shortest interval of the instrument in the kernel, ns.
const SHORTEST_WIRE: u64 = 10_000;
/// Shortest time from the instrument's own answer to the next stimulus, ns.
const SELF_ANSWER_REST: u64 = 5_000;
/// Shortest pulse, and shortest time from its end to the next one, ns.
const PULSE: (u64, u64) = (50, 1_000);

/// The checked settings of a test over lines.
#[derive(Debug)]
pub struct LineTest<'a> {
    /// All settings.
    pub settings: &'a Settings,
    /// The settings about lines.
    pub lines: &'a LineSettings,
    /// The stimulus line; none for `periodic`.
    pub stimulus: Option<LineSpec>,
    /// The answer line.
    pub answer: LineSpec,
    /// The line that is wired directly to the stimulus.
    pub null_wire: Option<LineSpec>,
}

impl<'a> LineTest<'a> {
    /// The order to the witness: the CPUs of instrument and DUT, with rivals judged by the lower of their two priorities.
    pub(super) fn watch(&self, test: Test) -> WitnessOrder {
        let (s, dut) = (self.settings, self.lines.dut.as_ref());
        let reads = self.answer.is_autonomous();
        let mut cpus: Vec<u32> = if reads { Vec::new() } else { s.cpus.iter().copied().take(1).collect() };
        cpus.extend(dut.and_then(|d| d.cpu));
        if cpus.is_empty() {
            cpus = rt::allowed_cpus().unwrap_or_default();
        }
        cpus.sort_unstable();
        cpus.dedup();
        let instrument = (!reads).then_some((s.policy, s.priority));
        let device = dut.map(|d| if d.priority == 0 { (Policy::Other, 0) } else { (Policy::Fifo, d.priority) });
        let ours = match (instrument, device) {
            (Some((Policy::Other, _)), _) | (_, Some((Policy::Other, _))) => Some((Policy::Other, 0)),
            (Some(a), Some(b)) => Some(if a.1 <= b.1 { a } else { b }),
            (a, b) => a.or(b),
        };
        // The search of `sustained` takes as many trials as it needs.
        let planned = s.duration.filter(|_| test != Test::Sustained).map(|d| d.0);
        WitnessOrder { cpus, ours, planned, grid: None, ends_only: false }
    }

    /// Checks the settings. Fails with a usage error for what can't be measured.
    pub fn of(test: Test, s: &'a Settings) -> Result<Self, Failure> {
        let usage = |message: String, remedy: &str| Err(Failure::usage(message, remedy));
        let Some(l) = &s.lines else {
            return usage(
                format!("`{test}` takes lines, and none is named"),
                "--stimulus LINE --answer LINE, such as soft:a and soft:b",
            );
        };
        let line = |name: &String| name.parse::<LineSpec>();
        let stimulus = l.stimulus.as_ref().map(line).transpose()?;
        let answer = line(&l.answer)?;
        let null_wire = l.null_wire.as_ref().map(line).transpose()?;
        match (&stimulus, test) {
            (None, Test::Response | Test::Sustained) => {
                return usage(format!("`{test}` drives a line, and none is named"), "--stimulus LINE");
            }
            (Some(_), Test::Periodic) => return usage("`periodic` drives no line".into(), "leave --stimulus out"),
            (Some(stimulus), _) if *stimulus == answer => {
                let remedy = "name two lines; for the instrument's own share use --calibrate";
                return usage(format!("{answer} is stimulus and answer"), remedy);
            }
            _ => {}
        }
        let Shape { pulse, both_edges, active_low, min_width, break_missed } = l.shape;
        let port = answer.fpga_port();
        if (pulse.is_some() || both_edges || active_low) && port.is_none() {
            let remedy = "--answer fpga:PORT, or leave --pulse, --both-edges and --active-low out";
            return usage("only the FPGA instrument gives pulses or rests high".into(), remedy);
        }
        if min_width.is_some() && port.is_none() {
            let remedy = "--answer fpga:PORT, or leave --min-width out";
            return usage("only the FPGA instrument sees how wide pulses are".into(), remedy);
        }
        if min_width.zip(pulse).is_some_and(|(least, pulse)| least.0 >= pulse.0) {
            return usage("the least width would take out the stimulus' own pulses".into(), "--min-width below --pulse");
        }
        if min_width.is_some_and(|least| least.0 >= s.interval.0) {
            return usage("the least width is not below the interval".into(), "a shorter --min-width, or a longer --interval");
        }
        let wire = answer.is_wire();
        if stimulus.as_ref().is_some_and(|s| s.is_wire() != wire) {
            let remedy = "--stimulus wire:stimulus --answer wire:answer";
            return usage("only one of the lines is the kernel instrument's".into(), remedy);
        }
        if stimulus.as_ref().is_some_and(|s| s.fpga_port() != port) || matches!(answer, LineSpec::Fpga(_, true)) {
            let remedy = "--answer fpga:PORT, and no other line beside it";
            return usage("stimulus and answer must both be lines of the FPGA instrument".into(), remedy);
        }
        if port.is_some() && null_wire.is_some() && null_wire != stimulus && stimulus.is_some() {
            let remedy = "--calibrate without a line; with pins and wires: a jumper from stimulus to answer, measured as a DUT";
            return usage("the FPGA instrument calibrates over the loop inside it".into(), remedy);
        }
        if (pulse.is_some() || active_low) && test != Test::Response {
            let remedy = "`measure response --answer fpga:PORT`, or leave --pulse and --active-low out";
            return usage("only the FPGA instrument gives pulses or rests high, and only in `response`".into(), remedy);
        }
        if both_edges && pulse.is_none() {
            return usage("without pulses both edges ask anyway, in turn".into(), "--pulse WIDTH, or leave --both-edges out");
        }
        if let Some(width) = pulse.filter(|w| w.0 < PULSE.0 || w.0.saturating_add(PULSE.1) > s.interval.0) {
            let message = format!("a pulse of {width} does not fit into an interval of {}", s.interval);
            return usage(message, "--pulse 50ns or more, and an interval that is longer by 1us or more");
        }
        if break_missed.is_some_and(|n| n == 0 || test == Test::Sustained) {
            let message = format!("`{test}` can't break at {} missed", break_missed.unwrap_or_default());
            return usage(message, "--break-missed 1 or more, with `response` or `periodic`");
        }
        if l.self_answer.is_some() && (!wire || l.dut.is_some() || test == Test::Periodic) {
            return usage("only the kernel instrument can answer itself, and no DUT beside it".into(), "--dut own");
        }
        if let Some(i) = l.self_answer.filter(|i| i.delay.max(i.slow).0 + SELF_ANSWER_REST > s.interval.0) {
            let message = format!("the instrument's own answers ({i}) come too late: the interval is {}", s.interval);
            return usage(message, "every delay ends 5us before the next stimulus; one beyond --timeout makes a late answer");
        }
        if wire && s.interval.0 < SHORTEST_WIRE {
            return usage(format!("the interval {} is below 10us", s.interval), "the kernel instrument takes 10us and more");
        }
        if null_wire.is_some() && stimulus.is_none() {
            return usage("`periodic` has no stimulus to calibrate with".into(), "leave --calibrate out");
        }
        let longest = l.interval_max.unwrap_or(s.interval);
        if s.interval.0 < SHORTEST || longest.0 > LONGEST {
            return usage(format!("the interval {} is not from 2us to 1h", s.interval), "choose one such as --interval 1ms");
        }
        if longest < s.interval || longest.0 - s.interval.0 >= u64::from(u32::MAX) {
            let message = format!("{} to {longest} is not a range of intervals", s.interval);
            return usage(message, "the second is the longer one, by at most 4s: --interval 1ms --interval-max 10ms");
        }
        if l.interval_max.is_some() && test != Test::Response {
            return usage(format!("`{test}` has a fixed interval"), "leave --interval-max out");
        }
        if test != Test::Periodic && (l.timeout.0 == 0 || l.timeout > s.interval) {
            return usage(
                format!("the time-out {} is not within the shortest interval, {}", l.timeout, s.interval),
                "an answer must come before the next stimulus: shorten --timeout or lengthen --interval",
            );
        }
        if l.shortest.is_some_and(|t| t.0 < SHORTEST || t > s.interval) {
            let message = format!("the search can't end at {}", l.shortest.unwrap_or_default());
            return usage(message, "choose --shortest between 2us and the interval that it begins with");
        }
        if l.warmup > WARMUP {
            return usage(format!("a warm-up of {}", l.warmup), "at most 100000");
        }
        if s.duration.is_none() && s.loops.is_none() && test == Test::Sustained {
            return usage("the confirming run needs an end".into(), "give --duration or --loops");
        }
        if s.loops == Some(0) || s.duration == Some(Nanos(0)) {
            return usage("a run of nothing was asked for".into(), "ask for at least one stimulus, or for a duration");
        }
        if !matches!(s.policy, Policy::Fifo | Policy::Rr | Policy::Other) {
            return usage(format!("the instrument can't run as {}", s.policy), "--policy fifo");
        }
        let priorities = [if s.policy.has_priority() { s.priority } else { 1 }, l.dut.as_ref().map_or(1, |d| d.priority.max(1))];
        if let Some(p) = priorities.iter().find(|p| !(1..=99).contains(*p)) {
            return usage(format!("{p} is not a priority"), "choose 1 to 99");
        }
        if let Some(d) = &l.dut {
            if test != Test::Periodic && d.input.is_none() {
                return usage("the DUT has no line to listen to".into(), "--dut-in LINE");
            }
            let wave_only = d.inject.skew_ppm != 0;
            let answers_only = d.inject.delay.0 > 0 || d.inject.drop_every > 0 || d.inject.double_every > 0;
            if if test == Test::Periodic { answers_only } else { wave_only } {
                let message = format!("`{}` can't be injected into `{test}`", d.inject);
                return usage(message, "a wave takes skew and slow, answers take delay, slow, drop and double");
            }
        }
        Ok(Self { settings: s, lines: l, stimulus, answer, null_wire })
    }
}
