//! The command line of tests over lines, and of the device under test.

use super::values::{micros, seconds};
use clap::{Args, Subcommand};
use rtscope_record::{Handler, Inject, Nanos};

/// What a line is, for help texts.
const LINES: &str = "\
A LINE is soft:NAME, a software line between tasks of one user (no hardware, no privilege);
gpio:CHIP/OFFSET such as gpio:gpiochip0/17, or gpio:NAME, a line by its name; sysfs:N, GPIO of
old kernels; or serial:DEVICE:OUT>IN such as serial:/dev/ttyS0:rts>cts, modem-control lines.";

fn dut(text: &str) -> Result<String, String> {
    if matches!(text, "own" | "none" | "wire") || rtscope_run::ssh::is_ssh(text) {
        return Ok(text.into());
    }
    Err("it is own, none, wire, or ssh://HOST".into())
}

/// Options of `response`, `periodic` and `sustained`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Tests over lines (response, periodic, sustained) and in the kernel")]
pub(crate) struct LineArgs {
    /// The line that the instrument drives: soft:NAME, gpio:CHIP/OFFSET, gpio:NAME, sysfs:N, serial:DEVICE:OUT>IN, or wire:stimulus of
    /// the kernel module rtscope_wire [default in the lab: wire:stimulus; with the FPGA instrument: its own]
    #[arg(long, value_name = "LINE")]
    pub stimulus: Option<String>,
    /// The line that the instrument watches; fpga:PORT is the FPGA instrument at a serial port [default in the lab: wire:answer]
    #[arg(long, value_name = "LINE")]
    pub answer: Option<String>,
    /// Random intervals, from --interval to this [default: fixed]
    #[arg(long, value_name = "TIME", value_parser = micros)]
    pub interval_max: Option<Nanos>,
    /// Seed of the random intervals [default: 1]
    #[arg(long, value_name = "N")]
    pub interval_seed: Option<u64>,
    /// `response` with the FPGA instrument: each stimulus is a pulse of this width, 50ns to 1us less than --interval, whose first edge
    /// asks [default: single edges, up and down in turn, that all ask]
    #[arg(long, value_name = "TIME", value_parser = micros)]
    pub pulse: Option<Nanos>,
    /// With --pulse: its edge back asks as well, of a DUT that repeats the pulse
    #[arg(long)]
    pub both_edges: bool,
    /// `response` with the FPGA instrument: the stimulus rests high, and its pulses go down
    #[arg(long)]
    pub active_low: bool,
    /// With the FPGA instrument: pulses of any line that are shorter than this are taken out and counted, such as those of a slow edge
    /// that passes the threshold several times [default: each edge counts]
    #[arg(long, value_name = "TIME", value_parser = micros)]
    pub min_width: Option<Nanos>,
    /// Longest time to an answer; later ones are missed [default: the shortest interval]
    #[arg(long, value_name = "TIME", value_parser = micros)]
    pub timeout: Option<Nanos>,
    /// Stimuli (edges of a wave) before the figures begin; reported apart [default: 10]
    #[arg(long, value_name = "N")]
    pub warmup: Option<u64>,
    /// First measure the instrument's own share over this line, wired straight to the stimulus [default: the
    /// stimulus, if it is soft; a loop inside the kernel's and the FPGA instrument]
    #[arg(long, value_name = "LINE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub calibrate: Option<String>,
    /// Who answers: `own`, a task that the probe starts, in kernel space a module that is loaded; `ssh://HOST`, a task that is started
    /// on that machine; `none`, something else; `wire`, the kernel's instrument itself, to validate it [default: own for soft lines and
    /// for the kernel's instrument]
    #[arg(long, value_name = "WHO", value_parser = dut)]
    pub dut: Option<String>,
    /// The line that the own DUT listens to, wired to the stimulus [default: the stimulus, if it is soft]
    #[arg(long, value_name = "LINE")]
    pub dut_in: Option<String>,
    /// The line that the own DUT drives, wired to the answer [default: the answer, if it is soft]
    #[arg(long, value_name = "LINE")]
    pub dut_out: Option<String>,
    /// Priority of the own DUT (FIFO); 0 for an ordinary task [default: --priority]
    #[arg(long, value_name = "PRIO", value_parser = clap::value_parser!(u8).range(0..=99))]
    pub dut_priority: Option<u8>,
    /// CPU of the own DUT [default: the first; the instrument is on the last]
    #[arg(long, value_name = "CPU")]
    pub dut_cpu: Option<u32>,
    /// Let the own DUT do wrong, to validate the instrument: delay=TIME, slow=TIME/N, drop=N, double=N (every N-th), skew=PPM
    #[arg(long, value_name = "WHAT,...", value_parser = |t: &str| t.parse::<Inject>())]
    pub inject: Option<Inject>,
    /// `sustained`: the shortest interval to try [default: 10us]
    #[arg(long, value_name = "TIME", value_parser = micros)]
    pub shortest: Option<Nanos>,
    /// With --space kernel, where the task does its work: hard, the hard interrupt; threaded, the interrupt's thread (response,
    /// sustained); soft, the softirq (periodic, timer) [default: hard]
    #[arg(long, value_name = "WHERE", value_parser = |t: &str| t.parse::<Handler>())]
    pub handler: Option<Handler>,
}

/// Options of `dut`.
#[derive(Debug, Args)]
#[command(after_help = LINES)]
pub(crate) struct Dut {
    #[command(subcommand)]
    pub task: DutTask,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DutTask {
    /// Answer every edge of a line by the same level on another
    #[command(after_help = "\
Examples:
  rtscope dut response --in gpio:gpiochip0/17 --out gpio:gpiochip0/27
  rtscope dut response --in gpio:gpiochip0/17 --out gpio:gpiochip0/27 --space kernel
  rtscope dut response --in soft:a --out soft:b --cpu 0 -D 1m    for `measure response --dut none` in another terminal")]
    Response(DutResponse),
    /// Toggle a line every semi-period, on an absolute grid
    #[command(after_help = "\
Examples:
  rtscope dut periodic --out gpio:gpiochip0/27 --semi-period 10ms
  rtscope dut periodic --out gpio:gpiochip0/27 --semi-period 10ms --space kernel
  rtscope dut periodic --out soft:w --semi-period 500us --inject skew=100    a wave that is 100 ppm too slow")]
    Periodic(DutPeriodic),
}

#[derive(Debug, Args)]
pub(crate) struct DutResponse {
    /// The line to listen to
    #[arg(long = "in", value_name = "LINE")]
    pub input: String,
    #[command(flatten)]
    pub common: DutCommon,
}

#[derive(Debug, Args)]
pub(crate) struct DutPeriodic {
    /// Between two edges
    #[arg(long, value_name = "TIME", value_parser = micros)]
    pub semi_period: Nanos,
    #[command(flatten)]
    pub common: DutCommon,
}

#[derive(Debug, Args)]
pub(crate) struct DutCommon {
    /// The line to drive
    #[arg(long = "out", value_name = "LINE")]
    pub output: String,
    /// Where its task runs: user, or kernel, in a module that is loaded (GPIO lines only; as root)
    #[arg(long, default_value = "user", value_name = "SPACE", value_parser = ["user", "kernel"])]
    pub space: String,
    /// With --space kernel: hard, in the hard interrupt; threaded, in the interrupt's thread (response); soft, in the softirq (periodic)
    /// [default: hard]
    #[arg(long, value_name = "WHERE", value_parser = |t: &str| t.parse::<Handler>())]
    pub handler: Option<Handler>,
    /// Priority (FIFO), 1 to 99; 0 for an ordinary task [default: 95]
    #[arg(short, long, value_name = "PRIO", value_parser = clap::value_parser!(u8).range(0..=99))]
    pub priority: Option<u8>,
    /// CPU to be on [default: free to migrate]
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<u32>,
    /// End after this long [default: Ctrl-C]
    #[arg(short = 'D', long, value_name = "TIME", value_parser = seconds)]
    pub duration: Option<Nanos>,
    /// Do wrong on purpose, to validate an instrument: delay=TIME, slow=TIME/N, drop=N, double=N (every N-th), skew=PPM
    #[arg(long, value_name = "WHAT,...", value_parser = |t: &str| t.parse::<Inject>())]
    pub inject: Option<Inject>,
    /// What was done, as JSON
    #[arg(long)]
    pub json: bool,
}
