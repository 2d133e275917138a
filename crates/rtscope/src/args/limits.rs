//! Limits for results, the same for all commands that judge them.

use clap::Args;
use rtscope_analysis::Confidence;

/// Where the help lists limits.
pub(crate) const HELD: &str = "What the runs are held to";

/// Limits, and how sure they must be.
#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    /// Hold the result to a limit, such as 'p99.9<80us', 'max<1ms', 'missed==0'; may be repeated
    #[arg(long = "assert", value_name = "LIMIT", help_heading = HELD)]
    pub assertions: Vec<String>,
    /// How sure a percentile must be to pass or to fail, in per cent
    #[arg(long, value_name = "PERCENT", default_value = "95", help_heading = HELD, hide_short_help = true)]
    pub confidence: Confidence,
}

/// The same, of commands that show each run.
#[derive(Debug, Args)]
pub(crate) struct JudgeArgs {
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Show the percentiles of each distribution with bounds that hold with this confidence
    #[arg(long, help_heading = "Results", hide_short_help = true)]
    pub intervals: bool,
}
