//! The command line of `rtscope campaign`.

use super::limits::LimitArgs;
use clap::{Args, Subcommand};
use rtscope_lab::vm::TimeModel;
use std::num::NonZeroU32;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rtscope campaign run campaigns/stock-vs-rt.toml --report stock-vs-rt.html
  rtscope campaign status campaigns/stock-vs-rt.toml

A plan is a TOML file:
  name = \"loads\"
  targets = [\"local\"]
  loads = [\"none\", \"disk\", \"full\"]
  repetitions = 3
  [[tests]]
  test = \"timer\"
  interval = \"200us\"
  duration = \"1m\"";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Campaign {
    #[command(subcommand)]
    pub command: CampaignCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CampaignCommand {
    /// Take the runs of a plan that are not done yet; after Ctrl-C or a power cut, run it again and it goes on
    Run(CampaignRun),
    /// Every run of a plan: done, failed or to do
    Status(CampaignStatus),
}

#[derive(Debug, Args)]
#[command(after_help = "\
A run is done when its record is in the archive. One that was cut short is taken again, and so is one that failed, the next time.
A plan that asks for other runs is another campaign.

Examples:
  rtscope campaign run plan.toml                             all of it, or what is left of it
  rtscope campaign run plan.toml --assert 'max<100us' --strict
  rtscope campaign run plan.toml --model 2,1                 in the lab: which conclusions hang on what things cost
  rtscope campaign run plan.toml --jobs 4 --report page.html
  rtscope campaign run campaigns/dewit-2024-board.toml --scale 60   as long as in the paper
  rtscope campaign run plan.toml --json | jq '.runs[] | select(.state == \"failed\").reason'")]
#[command(mut_arg("assertions", |a| a.help("Hold every run to a limit, such as 'p99.9<80us', 'max<1ms', 'missed==0'; may be repeated")))]
pub(crate) struct CampaignRun {
    /// The plan
    pub plan: PathBuf,
    /// Runs at once where the clock is virtual [default: the plan's, else the number of CPUs]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroU32>,
    /// Time models of the lab's runs in place of the plan's, such as 2,1: each run is taken in each model, and ratios show their range over the models
    #[arg(long = "model", value_name = "N", value_delimiter = ',')]
    pub models: Vec<TimeModel>,
    /// Take runs so many times as long as the plan says: another campaign
    #[arg(long, value_name = "FACTOR")]
    pub scale: Option<f64>,
    /// Where the campaign's journal is kept [default: $XDG_DATA_HOME/rtscope/campaigns/NAME-DIGEST]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Where the disk load may write on this machine [default: $TMPDIR or /var/tmp, whichever is on a disk]
    #[arg(long, value_name = "DIR")]
    pub load_dir: Option<PathBuf>,
    /// Write a self-contained HTML page of all runs to this file at the end
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// The campaign's status as JSON instead of tables (`rtscope show --json ID` prints a record)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Exit with 4 also when a verdict is INCONCLUSIVE
    #[arg(long)]
    pub strict: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rtscope campaign status plan.toml
  rtscope campaign status plan.toml --json | jq '[.done, .failed, .to_do]'")]
pub(crate) struct CampaignStatus {
    /// The plan
    pub plan: PathBuf,
    /// Time models, if others than the plan's were asked for
    #[arg(long = "model", value_name = "N", value_delimiter = ',')]
    pub models: Vec<TimeModel>,
    /// Take runs so many times as long as the plan says: another campaign
    #[arg(long, value_name = "FACTOR")]
    pub scale: Option<f64>,
    /// Where the campaign's journal is kept, if not at its usual place
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// JSON instead of a table
    #[arg(long)]
    pub json: bool,
}
