//! The options of tests over lines: one definition for `rtscope measure` and for the plans of campaigns, and the settings that the
//! probe gets and the record holds.

use crate::handler::Handler;
use crate::lines::Inject;
use crate::plan_text;
use crate::units::Nanos;
#[cfg(feature = "cli")]
use crate::units::micros;
use crate::words::Test;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Shape of the stimulus, and which edges count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Shape {
    /// Each stimulus is a pulse of this width, ns, whose first edge is to be answered. Absent: stimuli are single edges, up and
    /// down in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, value_name = "TIME", value_parser = micros, help = "\
        `response` with the FPGA instrument: each stimulus is a pulse of this width, 50ns to 1us less than --interval, whose first edge asks \
        [default: single edges, up and down in turn, that all ask]"))]
    pub pulse: Option<Nanos>,
    /// The pulse's second edge is to be answered as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(
        feature = "cli",
        arg(long, hide_short_help = true, help = "With --pulse: its edge back asks as well, of a DUT that repeats the pulse")
    )]
    pub both_edges: bool,
    /// The stimulus idles high, and its pulses go down.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(
        feature = "cli",
        arg(
            long,
            hide_short_help = true,
            help = "\
        `response` with the FPGA instrument: the stimulus rests high, and its pulses go down"
        )
    )]
    pub active_low: bool,
    /// Pulses shorter than this are removed from every line before edges are paired, ns. Absent: none are removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, value_name = "TIME", value_parser = micros, help = "\
        With the FPGA instrument: pulses of any line that are shorter than this are taken out and counted, such as those of a slow edge \
        that passes the threshold several times [default: each edge counts]"))]
    pub min_width: Option<Nanos>,
    /// The run ends once this many stimuli are missed (`periodic`: grid points of the wave). Absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "cli",
        arg(
            long,
            hide_short_help = true,
            value_name = "N",
            help = "\
        `response` and `periodic`: end the run once N answers, or edges of the wave, are missed, as --breaktrace does at a latency"
        )
    )]
    pub break_missed: Option<u64>,
}

/// [`Shape`] in a plan: keys are the options' names, times are texts. The compiler keeps the two field lists equal.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Shape", rename_all = "kebab-case")]
struct InPlan {
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "plan_text::maybe")]
    pulse: Option<Nanos>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    both_edges: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    active_low: bool,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "plan_text::maybe")]
    min_width: Option<Nanos>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    break_missed: Option<u64>,
}

/// A [`Shape`] as plans write it.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct PlanShape(#[serde(with = "InPlan")] pub Shape);

/// What answers the stimuli. As JSON it is the text that the command line takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Who {
    /// A task that rtscope starts.
    Own,
    /// Something outside rtscope.
    None,
    /// The instrument in the kernel, to validate itself.
    Wire,
    /// A task that rtscope starts on the machine with this address, `ssh://HOST`. Its settings are those of `Own`.
    #[serde(untagged)]
    Elsewhere(String),
}

impl FromStr for Who {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "own" => Ok(Self::Own),
            "none" => Ok(Self::None),
            "wire" => Ok(Self::Wire),
            _ if text.starts_with("ssh:") => Ok(Self::Elsewhere(text.into())),
            _ => Err("it is own, none, wire, or ssh://HOST".into()),
        }
    }
}

/// Options of tests over lines. The comments on the fields are the command line's help.
///
/// As JSON it is part of the keys of a campaign's runs: what has its default is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[cfg_attr(feature = "cli", command(next_help_heading = "Tests over lines (response, periodic, sustained) and in the kernel"))]
pub struct LineOptions {
    /// The line that the instrument drives: soft:NAME, gpio:CHIP/OFFSET, gpio:NAME, sysfs:N, serial:DEVICE:OUT>IN, or wire:stimulus of
    /// the kernel module rtscope_wire [default in the lab: wire:stimulus; with the FPGA instrument: its own]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "cli",
        arg(
            long,
            value_name = "LINE",
            help = "The line that is driven: soft:NAME, gpio:CHIP/OFFSET, ...",
            long_help = "The line that the instrument drives: soft:NAME, gpio:CHIP/OFFSET, gpio:NAME, sysfs:N, serial:DEVICE:OUT>IN, or wire:stimulus of the kernel module rtscope_wire [default in the lab: wire:stimulus; with the FPGA instrument: its own]"
        )
    )]
    pub stimulus: Option<String>,
    /// The line that the instrument watches; fpga:PORT is the FPGA instrument at a serial port [default in the lab: wire:answer]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "cli",
        arg(
            long,
            value_name = "LINE",
            help = "The line that is watched; fpga:PORT is the FPGA instrument",
            long_help = "The line that the instrument watches; fpga:PORT is the FPGA instrument at a serial port [default in the lab: wire:answer]"
        )
    )]
    pub answer: Option<String>,
    /// Random intervals, from --interval to this [default: fixed]
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "plan_text::maybe")]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, value_name = "TIME", value_parser = micros))]
    pub interval_max: Option<Nanos>,
    /// Seed of the random intervals [default: 1]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, value_name = "N"))]
    pub interval_seed: Option<u64>,
    /// What goes to the instrument as it is. A plan's is read on its own, as [`PlanShape`]: so each struct has a list of its keys.
    #[serde(flatten, skip_deserializing, serialize_with = "InPlan::serialize")]
    #[cfg_attr(feature = "cli", command(flatten))]
    pub shape: Shape,
    /// Longest time to an answer; later ones are missed [default: the shortest interval]
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "plan_text::maybe")]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, value_name = "TIME", value_parser = micros))]
    pub timeout: Option<Nanos>,
    /// Stimuli (edges of a wave) before the figures begin; reported apart [default: 10]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, value_name = "N"))]
    pub warmup: Option<u64>,
    /// First measure the instrument's own share over this line, wired straight to the stimulus [default: the
    /// stimulus, if it is soft; a loop inside the kernel's and the FPGA instrument]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "cli",
        arg(long, hide_short_help = true, value_name = "LINE", num_args = 0..=1, require_equals = true, default_missing_value = "")
    )]
    pub calibrate: Option<String>,
    /// Who answers: `own`, a task that the probe starts, in kernel space a module that is loaded; `ssh://HOST`, a task that is started
    /// on that machine; `none`, something else; `wire`, the kernel's instrument itself, to validate it [default: own for soft lines and
    /// for the kernel's instrument]
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "plan_text::maybe")]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, value_name = "WHO", value_parser = <Who as FromStr>::from_str))]
    pub dut: Option<Who>,
    /// The line that the own DUT listens to, wired to the stimulus [default: the stimulus, if it is soft]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, value_name = "LINE"))]
    pub dut_in: Option<String>,
    /// The line that the own DUT drives, wired to the answer [default: the answer, if it is soft]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, value_name = "LINE"))]
    pub dut_out: Option<String>,
    /// Priority of the own DUT (FIFO); 0 for an ordinary task [default: --priority]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, value_name = "PRIO", value_parser = clap::value_parser!(u8).range(0..=99)))]
    pub dut_priority: Option<u8>,
    /// CPU of the own DUT [default: the first; the instrument is on the last]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, value_name = "CPU"))]
    pub dut_cpu: Option<u32>,
    /// Let rtscope's own DUT answer wrongly, to validate the instrument: delay=TIME, slow=TIME/N, drop=N, double=N (every N-th), skew=PPM
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "plan_text::maybe")]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, value_name = "WHAT,...", value_parser = <Inject as FromStr>::from_str))]
    pub inject: Option<Inject>,
    /// `sustained`: the shortest interval to try [default: 10us]
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "plan_text::maybe")]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, value_name = "TIME", value_parser = micros))]
    pub shortest: Option<Nanos>,
    /// With --space kernel, where the task does its work: hard, the hard interrupt; threaded, the interrupt's thread (response,
    /// sustained); soft, the softirq (periodic, timer); fiq, a FIQ of 32-bit Arm (timer) [default: hard]
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "plan_text::maybe")]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, value_name = "WHERE", value_parser = <Handler as FromStr>::from_str))]
    pub handler: Option<Handler>,
}

/// Default number of warm-up stimuli.
const WARMUP: u64 = 10;
/// Default for the shortest interval of the search.
const SHORTEST: Nanos = Nanos(10_000);

impl LineOptions {
    /// Whether no option is set, except perhaps the handler, which timers have too.
    pub fn names_no_line(&self) -> bool {
        (Self { handler: None, ..self.clone() }) == Self::default()
    }

    /// The settings of the probe for `test` at this interval, with `answer` as the watched line. Lines and devices that depend on
    /// other parts of the run are not filled in.
    pub fn settings(&self, test: Test, interval: Nanos, answer: String) -> LineSettings {
        let shortest = self.shortest.unwrap_or(SHORTEST.min(interval));
        LineSettings {
            answer,
            interval_max: self.interval_max,
            seed: self.interval_seed.unwrap_or(1),
            shape: self.shape,
            timeout: self.timeout.unwrap_or(interval),
            warmup: self.warmup.unwrap_or(WARMUP),
            shortest: (test == Test::Sustained).then_some(shortest),
            ..LineSettings::default()
        }
    }
}

/// Settings of a test over lines, beside those of every test.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineSettings {
    /// The line that the instrument drives; absent in `periodic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stimulus: Option<String>,
    /// The line that the instrument watches.
    pub answer: String,
    /// Intervals are random, from the settings' `interval` to this, ns, both included. Absent: they are fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_max: Option<Nanos>,
    /// Seed of the random intervals (splitmix64).
    #[serde(default)]
    pub seed: u64,
    /// Shape of the stimulus, and which edges count.
    #[serde(flatten)]
    pub shape: Shape,
    /// Time-out: longest time from a stimulus to its answer, ns; at most the shortest interval, except in captures.
    pub timeout: Nanos,
    /// Warm-up: number of first stimuli (`periodic`: intervals) that are reported separately.
    #[serde(default)]
    pub warmup: u64,
    /// Line wired straight to the stimulus, over which the instrument's own latency is measured (calibration).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null_wire: Option<String>,
    /// `sustained`: shortest interval to try, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortest: Option<Nanos>,
    /// The instrument in the kernel (`rtscope_wire`) answers its own stimuli, with these faults, to be validated itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_answer: Option<Inject>,
    /// rtscope's own DUT; absent if something else answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dut: Option<DutSettings>,
}

/// A DUT of rtscope's own: a thread in user space or, in kernel space, a kernel module loaded for the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DutSettings {
    /// The line that it watches; absent in `periodic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// The line that it drives.
    pub output: String,
    /// `SCHED_FIFO` priority, 1 to 99; 0 for an ordinary task, and in kernel space.
    pub priority: u8,
    /// CPU to which it is pinned. Absent: free to migrate; in kernel space the CPU of its interrupt or timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Faults that it makes on purpose, to validate the instrument.
    #[serde(default, skip_serializing_if = "Inject::is_none")]
    pub inject: Inject,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen() -> LineOptions {
        let (pulse, min_width) = (Some(Nanos(20_000)), Some(Nanos(1_000)));
        let shape = Shape { pulse, both_edges: true, active_low: true, min_width, break_missed: Some(3) };
        LineOptions { shape, timeout: Some(Nanos(5)), ..LineOptions::default() }
    }

    #[test]
    fn what_goes_to_the_instrument_is_named_as_flags_in_a_plan_and_as_fields_in_a_record() {
        let keys = r#"{"pulse":20000,"both-edges":true,"active-low":true,"min-width":1000,"break-missed":3,"timeout":5}"#;
        assert_eq!(serde_json::to_string(&chosen()).unwrap(), keys);
        assert_eq!(serde_json::to_string(&LineOptions::default()).unwrap(), "{}");
        let settings = chosen().settings(Test::Response, Nanos(7), "soft:b".into());
        let kept = r#"{"answer":"soft:b","seed":1,"pulse":20000,"both_edges":true,"active_low":true,"min_width":1000,"break_missed":3,"timeout":5,"warmup":10}"#;
        assert_eq!(serde_json::to_string(&settings).unwrap(), kept);
        assert_eq!(serde_json::from_str::<LineSettings>(kept).unwrap(), settings);
        let read: PlanShape =
            serde_json::from_str(r#"{"pulse":"20us","both-edges":true,"active-low":true,"min-width":"1us","break-missed":3}"#)
                .unwrap();
        assert_eq!(read.0, chosen().shape);
    }

    #[test]
    fn what_was_not_chosen_follows_from_the_test() {
        let of = |test, interval| LineOptions::default().settings(test, Nanos(interval), String::new());
        let plain = of(Test::Response, 1_000_000);
        assert_eq!((plain.timeout, plain.shortest, plain.shape), (Nanos(1_000_000), None, Shape::default()));
        assert_eq!(of(Test::Sustained, 1_000_000).shortest, Some(SHORTEST));
        assert_eq!(of(Test::Sustained, 3_000).shortest, Some(Nanos(3_000)));
    }

    #[test]
    fn what_was_chosen_is_what_the_probe_is_told() {
        let chosen = LineOptions {
            interval_max: Some(Nanos(9)),
            interval_seed: Some(8),
            timeout: Some(Nanos(6)),
            warmup: Some(4),
            shortest: Some(Nanos(3)),
            ..chosen()
        };
        let s = chosen.settings(Test::Sustained, Nanos(7), "soft:b".into());
        assert_eq!((s.answer.as_str(), s.interval_max, s.seed, s.shape), ("soft:b", Some(Nanos(9)), 8, chosen.shape));
        assert_eq!((s.timeout, s.warmup, s.shortest), (Nanos(6), 4, Some(Nanos(3))));
    }

    #[test]
    fn only_a_handler_names_no_line() {
        let handler = LineOptions { handler: Some(Handler::Soft), ..LineOptions::default() };
        assert!(handler.names_no_line() && !chosen().names_no_line());
    }

    #[test]
    fn who_answers_is_read_by_name() {
        let at = "ssh://board";
        for (text, who) in [("own", Who::Own), ("none", Who::None), ("wire", Who::Wire), (at, Who::Elsewhere(at.into()))] {
            assert_eq!(text.parse(), Ok(who.clone()));
            // The keys of a campaign's runs hold it as it was written.
            let json = serde_json::json!({ "dut": text }).to_string();
            let options: LineOptions = serde_json::from_str(&json).unwrap();
            assert_eq!((&options.dut, serde_json::to_string(&options).unwrap()), (&Some(who), json));
        }
        let wrong = "it is own, none, wire, or ssh://HOST";
        assert_eq!("board".parse::<Who>(), Err(wrong.into()));
        assert!(serde_json::from_str::<LineOptions>(r#"{"dut":"board"}"#).unwrap_err().to_string().contains(wrong));
    }
}
