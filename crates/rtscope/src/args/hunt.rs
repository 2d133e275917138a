//! The command line of `rtscope hunt`.

use clap::Args;
use rtscope_lab::vm::TimeModel;
use rtscope_record::Nanos;
use rtscope_record::units::{micros, seconds};
use rtscope_run::hunt::SearchMethod;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Options of `hunt`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Tries stress-ng's stressors: groups first, then the stressors of the worst groups, these for longer, with more
workers and together. In the lab several trials run at once, on a machine one after the other. Every trial is a
record in the archive. After Ctrl-C, or with a longer budget, run it again: it goes on.

Examples:
  rtscope hunt lab:debian/6.12                     four minutes in the lab
  rtscope hunt lab:debian/6.12 --budget 1h -o worst.toml
  rtscope hunt lab:debian/6.12 --against lab:debian/6.12-rt   where RT gains most
  rtscope hunt local --budget 8h --trial 10s       this machine, overnight
  rtscope hunt ssh:root@board --budget 8h          a board, with the stress-ng that is there
  rtscope hunt lab:debian/6.12 --stressors vm-rw,klog,readahead")]
pub(crate) struct Hunt {
    /// Where to measure: local, ssh:HOST, or lab:KERNEL
    pub target: String,
    /// Hunt for the greatest difference: the latency on the target less that on this one
    #[arg(long, value_name = "TARGET")]
    pub against: Option<String>,
    /// How long to try, wall time
    #[arg(long, default_value = "4m", value_name = "TIME", value_parser = seconds)]
    pub budget: Nanos,
    /// How long a trial measures; a quarter of it while groups are tried [default: 200ms in the lab, 4s on a machine]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub trial: Option<Nanos>,
    /// How long a trial may take, wall time, before it is given up; given, trials that failed are taken again [default: 30s, and four times what it measures]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub limit: Option<Nanos>,
    /// Interval of the timer test
    #[arg(short, long, default_value = "250us", value_name = "TIME", value_parser = micros)]
    pub interval: Nanos,
    /// Only these stressors, separated by commas [default: all that the target's stress-ng has]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub stressors: Vec<String>,
    /// How to choose the loads to try: groups, or sweep (each stressor alone, one after the other, to compare with)
    #[arg(long, value_name = "METHOD", default_value = "groups", value_parser = str::parse::<SearchMethod>)]
    pub method: SearchMethod,
    /// Trials at once in the lab [default: the number of CPUs]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroU32>,
    /// Seed of the lab's machines
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Time model of the lab [default: 2]
    #[arg(long, value_name = "N")]
    pub model: Option<TimeModel>,
    /// Where loads may write on this machine [default: $TMPDIR or /var/tmp, whichever is on a disk]
    #[arg(long, value_name = "DIR")]
    pub load_dir: Option<PathBuf>,
    /// Write the worst load as a plan for `rtscope campaign run` to this file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// JSON instead of a table
    #[arg(long)]
    pub json: bool,
}
