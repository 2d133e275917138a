//! `rtscope measure` on the command line.

use super::lab;
use super::limits::{HELD, JudgeArgs};
use super::values::{FailIf, fail_if};
use clap::Args;
use rtscope_record::units::micros;
use rtscope_record::{LineOptions, Nanos, RunOptions};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rtscope measure timer -D 10s                                 one thread on each CPU, every 1ms, FIFO 95
  rtscope measure timer -i 200us -D 1h -p 98 --load full       Balci's run under all loads at once
  rtscope measure timer -i 100us -D 1h --load dewit --migrate  Dewit's run, free to migrate
  rtscope measure timer -D 5s --load none,disk,full            three runs, one table
  rtscope measure response --stimulus soft:a --answer soft:b -D 5s     a task that answers an edge
  rtscope measure response --stimulus gpio:gpiochip0/17 --answer gpio:gpiochip0/27 --interval 1ms --interval-max 10ms
  rtscope measure periodic --answer soft:w -i 500us -D 5s              the jitter of a wave
  rtscope measure sustained --stimulus soft:a --answer soft:b -D 2s    how fast can it be asked?
  rtscope measure timer -D 5s --target lab:debian/6.12-rt     in a virtual machine: the same figures again any day
  rtscope measure response -D 5s --target lab:debian/6.12-rt --space kernel   in the hard interrupt
  rtscope measure timer -D 10s --target ssh:root@board        on another machine: the probe is copied, run and removed
  rtscope measure timer -D 10s --assert 'p99.9<80us' --assert 'missed==0' --strict
  rtscope measure timer -D 2s --repeat 5 --target lab:debian/6.12-rt --baseline base.json --fail-if=worse
  rtscope measure timer -D 10s --tune rt-runtime=off --tune governor=performance   set for the run, put back after it
  rtscope measure timer -D 1m --trace 100us                   why the first latency above 100 us was so late
  rtscope measure timer -D 3s --json | jq -c '.distributions[] | [.label, .count, .missed, .max]'";

/// What `-h` shows.
const SHORT: &str = "\
Examples:
  rtscope measure timer -D 10s                          one thread on each CPU
  rtscope measure timer -D 5s --load none,disk,full     three runs, one table
  rtscope measure timer -D 10s --target ssh:root@board  on another machine
  rtscope measure timer -D 10s --assert 'p99.9<80us'    exit code 1 says no
  rtscope measure response --stimulus soft:a --answer soft:b -D 5s
`rtscope measure --help` has every option, and more examples.";

const WHERE: &str = "Load and target";
const RESULTS: &str = "Results";
const WHY: &str = "Why it was late";

#[derive(Debug, Args)]
#[command(after_help = SHORT, after_long_help = EXAMPLES)]
pub(crate) struct Measure {
    /// What to measure
    #[arg(value_enum)]
    pub test: MeasureTest,
    #[command(flatten)]
    pub run: RunOptions,
    #[arg(long, default_value = "none", value_name = "LOAD", help_heading = WHERE, help = "Loads, one run each: none, disk, full, ... or all (`rtscope loads`)", long_help = "Loads to measure under, one run each: none, background, calculation, disk, network, full, dewit, `stress-ng:ARGS`, `fio:ARGS`, `worst` (what `rtscope hunt` found worst on the target), or `all`")]
    pub load: Vec<String>,
    /// Where the disk load may write [default: $TMPDIR or /var/tmp, whichever is on a disk]
    #[arg(long, value_name = "DIR", help_heading = WHERE, hide_short_help = true)]
    pub load_dir: Option<PathBuf>,
    #[arg(long, default_value = "local", value_name = "TARGET", help_heading = WHERE, help = "local, ssh:[USER@]HOST, lab:KERNEL or fake:FILE", long_help = "Where to measure: `local`; `ssh:[USER@]HOST[:PORT]`, another machine, by the user's own ssh; `lab:KERNEL`, a virtual machine (`rtscope lab kernels` lists them); or `fake:FILE` with injected latencies (ns, one a line) to validate the instrument itself")]
    pub target: String,
    /// Set this on the machine for the run, and put back what was: NAME=VALUE, such as `preempt=full` (see docs/tuning.md)
    #[arg(long, value_name = "NAME=VALUE", help_heading = WHERE)]
    pub tune: Vec<String>,
    #[command(flatten)]
    pub lines: LineOptions,
    #[command(flatten)]
    pub guest: lab::GuestArgs,
    /// Where the measured task runs
    #[arg(long, default_value = "user", value_name = "SPACE", value_parser = ["user", "kernel"], help_heading = WHERE)]
    pub space: String,
    #[arg(long, help_heading = RESULTS, help = "A picture on the terminal while it measures", long_help = "A picture on the terminal while it measures: a table and a histogram of each thread, the worst samples; keys to pause, to change the scale, to end the run")]
    pub live: bool,
    #[arg(long, help_heading = RESULTS, help = "The record as JSON on standard output", long_help = "The record as JSON on standard output (several runs: one a line)")]
    pub json: bool,
    #[arg(long, value_name = "FILE", help_heading = RESULTS, help = "Write every raw sample to this CSV file", long_help = "Write every raw sample (thread,cycle,latency_ns) to this CSV file")]
    pub raw: Option<PathBuf>,
    #[command(flatten)]
    pub judge: JudgeArgs,
    /// Exit with 4 also when the verdict is INCONCLUSIVE
    #[arg(long, help_heading = HELD)]
    pub strict: bool,
    #[arg(long, help_heading = WHY, help = "In the lab: say why the worst sample was so late", long_help = "Then take the run again in the lab, and say why its worst sample was so late (see `rtscope explain`)")]
    pub explain: bool,
    #[arg(long, value_name = "TIME", value_parser = micros, conflicts_with = "breaktrace", help_heading = WHY, help = "Say why the first latency above this was so late", long_help = "`timer`: with the kernel's own tracer on, which is stopped at the first latency above this, and say why that was so late; on any machine, and without taking the run again (see docs/trace.md)")]
    pub trace: Option<Nanos>,
    /// With --trace: write the kernel's trace (text, and a file for trace-cmd), a flame chart (SVG), folded stacks and a trace for Perfetto to this directory
    #[arg(long, value_name = "DIR", requires = "trace", help_heading = WHY, hide_short_help = true)]
    pub trace_files: Option<PathBuf>,
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000), hide_default_value = true, help_heading = HELD, help = "Take N runs of each load, in turn", long_help = "Take N runs of each load, in turn; in the lab with N seeds, from --seed on")]
    pub repeat: u16,
    #[arg(long, value_name = "SELECTION", help_heading = HELD, help = "Then compare with earlier runs", long_help = "Then compare these runs with earlier ones, as `rtscope compare BASELINE` does: a SELECTION, or a file of records")]
    pub baseline: Option<String>,
    #[arg(long, value_name = "worse[:METRIC[:PERCENT]]", value_parser = fail_if, requires = "baseline", help_heading = HELD, help = "Exit with 1 if they are worse than the baseline", long_help = "Exit with 1 if these runs are shown to be worse than the baseline, or if there are too few to tell; see `rtscope compare`")]
    pub fail_if: Vec<FailIf>,
    /// Write verdicts, limits and the comparison with the baseline as JUnit XML to this file
    #[arg(long, value_name = "FILE", help_heading = RESULTS, hide_short_help = true)]
    pub junit: Option<PathBuf>,
    /// Append them as Markdown to this file, such as "$GITHUB_STEP_SUMMARY"
    #[arg(long, value_name = "FILE", help_heading = RESULTS, hide_short_help = true)]
    pub summary: Option<PathBuf>,
    /// Sign the record with your key (see `rtscope key`)
    #[arg(long, help_heading = RESULTS, hide_short_help = true)]
    pub sign: bool,
    /// Do not keep the record in the archive
    #[arg(long, help_heading = RESULTS)]
    pub no_save: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum MeasureTest {
    /// Wake-up latency of a timer on every CPU (cyclictest's measurement)
    Timer,
    /// How long a device takes to answer an edge of a line
    Response,
    /// How regular the wave of a device is; --interval is its semi-period
    Periodic,
    /// The highest frequency at which a device answers every edge in time; the search begins at --interval
    Sustained,
}
