//! Limits for results, the same for all commands that judge them.

use clap::Args;
use rtscope_analysis::Confidence;

/// Limits, and how sure they must be.
#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    /// Hold the result to a limit, such as 'p99.9<80us', 'max<1ms', 'missed==0'; may be repeated
    #[arg(long = "assert", value_name = "LIMIT")]
    pub assertions: Vec<String>,
    /// How sure a percentile must be to pass or to fail, in per cent
    #[arg(long, value_name = "PERCENT", default_value = "95")]
    pub confidence: Confidence,
}

/// The same, of commands that show each run.
#[derive(Debug, Args)]
pub(crate) struct JudgeArgs {
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Show the percentiles of each distribution with bounds that hold with this confidence
    #[arg(long)]
    pub intervals: bool,
}
