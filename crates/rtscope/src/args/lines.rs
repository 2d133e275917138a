//! The command line of the device under test.

use clap::{Args, Subcommand};
use rtscope_record::units::{micros, seconds};
use rtscope_record::{Handler, Inject, Nanos};

/// Help text about lines.
const LINES: &str = "\
A LINE is soft:NAME, a software line between tasks of one user (no hardware, no privilege);
gpio:CHIP/OFFSET such as gpio:gpiochip0/17, or gpio:NAME, a line by its name; sysfs:N, GPIO of
old kernels; or serial:DEVICE:OUT>IN such as serial:/dev/ttyS0:rts>cts, modem-control lines.";

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
    /// Time between two edges
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
    /// Answer wrongly on purpose, to validate an instrument: delay=TIME, slow=TIME/N, drop=N, double=N (every N-th), skew=PPM
    #[arg(long, value_name = "WHAT,...", value_parser = |t: &str| t.parse::<Inject>())]
    pub inject: Option<Inject>,
    /// What was done, as JSON
    #[arg(long)]
    pub json: bool,
}
