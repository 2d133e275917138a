//! The command line of `rtscope papers`.

use clap::Args;
use rtscope_analysis::papers::Paper;
use std::path::PathBuf;

/// Options of `papers`.
#[derive(Debug, Args)]
#[command(after_help = "\
The papers: adam-2021, balci-2017, dewit-2024, vinh-chau. Their plans are in campaigns/, for a board and for the lab.
A claim is a bound on a ratio of whole runs: confirmed or contradicted where its interval lies on one side in every comparison that the runs allow,
else there is not enough data. It takes three runs a side, better five; all intervals of a claim hold together at 95 %.

Examples:
  rtscope campaign run campaigns/dewit-2024-lab.toml     take the runs
  rtscope papers                                         all four beside all runs of the archive
  rtscope papers --paper dewit-2024 --comparisons        one, with each comparison of its claims
  rtscope papers --paper dewit-2024 -o dewit.html        and a page, with its figures drawn from your runs
  rtscope papers --claims target=lab:debian/6.12/amd64,latest
  rtscope papers --json | jq '.claims[] | [.id, .answer]'")]
pub(crate) struct Papers {
    /// Which runs [default: all]
    pub selection: Vec<String>,
    /// A paper; may be repeated [default: all four]
    #[arg(long = "paper", value_name = "NAME")]
    pub only: Vec<Paper>,
    /// Also a page with all of it, and the papers' figures drawn from these runs
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The claims only
    #[arg(long)]
    pub claims: bool,
    /// Also each comparison of each claim, with its interval
    #[arg(long)]
    pub comparisons: bool,
    /// JSON instead of tables
    #[arg(long)]
    pub json: bool,
}
