//! The command line of `rtscope plan`.

use clap::Args;
use rtscope_analysis::Confidence;
use rtscope_record::Nanos;
use rtscope_record::units::{micros, seconds};

/// Options of `plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
A claim holds for each thread by itself, as --assert holds it. Without --from, samples are taken as independent and none as beyond the limit: the
least that it takes. With --from, as many exceed the limit as in those runs, and bursts count once (extremal index of their block maxima).

Examples:
  rtscope plan 'p99.999<100us'                               the least that this claim takes
  rtscope plan 'p99.999<100us' --from load=full              with the bursts and exceedances of those runs
  rtscope plan 'p99.99<50us' -i 200us --duration 10m         and what ten minutes can claim
  rtscope plan --duration 1h --from latest
  rtscope plan --difference 20% --from last=5 --loads 6      runs a side for a comparison under six loads")]
pub(crate) struct Plan {
    /// A percentile below a limit, such as 'p99.999<100us'
    #[arg(value_name = "CLAIM", required_unless_present_any = ["duration", "difference"])]
    pub claim: Option<String>,
    /// Earlier runs of that kind: their interval, how often they exceed the limit, how much their samples depend, and how much they vary
    #[arg(long, value_name = "SELECTION")]
    pub from: Option<String>,
    /// Interval between two samples [default: that of the earlier runs, or 1ms]
    #[arg(short, long, value_name = "TIME", value_parser = micros)]
    pub interval: Option<Nanos>,
    /// What can be claimed after this time
    #[arg(short = 'D', long, value_name = "TIME", value_parser = seconds)]
    pub duration: Option<Nanos>,
    /// Runs a side that show a difference of so many percent in nine of ten cases
    #[arg(long, value_name = "PERCENT", requires = "from", value_parser = percent)]
    pub difference: Option<f64>,
    /// Loads of the comparison that is planned: all its intervals are to hold together
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub loads: u16,
    /// How sure the claim must be, in per cent
    #[arg(long, value_name = "PERCENT", default_value = "95")]
    pub confidence: Confidence,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>().ok();
    number.filter(|p| (0.1..=10_000.0).contains(p)).ok_or_else(|| "a percentage from 0.1 to 10000, such as 20%".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages() {
        assert_eq!((percent("20%"), percent("0.5")), (Ok(20.0), Ok(0.5)));
        assert!(["", "x", "0", "-5%", "nan", "1e9"].iter().all(|t| percent(t).is_err()));
    }
}
