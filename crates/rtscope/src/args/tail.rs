//! The command line of `rtscope tail`.

use clap::Args;
use rtscope_statistics::tail::{Cut, Resolution, Rounding};
use std::path::PathBuf;

/// Options of `tail`.
#[derive(Debug, Args)]
#[command(after_help = "\
A SELECTION's runs keep the highest latency of each of 64 to 128 blocks; those of runs of one kind follow each
other in the order of time. FILE is a plain list of numbers, one or more a line, with blanks, tabs, commas or semicolons between them; `#` begins
a remark; `-` is standard input. They are taken as maxima of blocks (a year, a run), as published lists of annual
maxima are, and a GEV is fitted; with --block-size or --blocks as a series whose maxima are taken; with --threshold
as a series of which a GPD is fitted to what exceeds. The order must be that of time: the gates look at it.

Examples:
  rtscope tail                                            the latest run
  rtscope tail load=full,kernel=6.12                      all runs of that kind
  rtscope tail latest --threshold 1%,0.1%                 what exceeds the threshold, of all latencies
  rtscope tail --values portpirie.txt --unit m            annual maxima: levels of 10, 100 and 1000 years
  rtscope tail --values maxima.txt --return-level 50,200  other levels; the first is the bound
  rtscope tail --values rain.txt --threshold 30 --return-level 36525 --unit mm
  rtscope tail --values latencies.txt --threshold 2%,1%,0.5% --return-level 1e-9 --unit us
  rtscope tail --values latencies.txt --block-size 10000 --unit us --svg plots
  rtscope tail --values ftse.txt --threshold 2 --decluster 5 --json
  rtscope tail --values cyclictest-us.txt --threshold auto --resolution 1:down")]
pub(crate) struct Tail {
    /// Runs of which block maxima are studied (with --threshold in us: all latencies): each CPU under each load by itself, and the worst of them
    #[arg(value_name = "SELECTION", conflicts_with_all = ["values", "maxima", "block_size", "blocks", "decluster", "resolution", "unit"])]
    pub selection: Vec<String>,
    /// A list of numbers
    #[arg(long, value_name = "FILE")]
    pub values: Option<PathBuf>,
    /// The values are maxima of blocks (the default)
    #[arg(long, conflicts_with_all = ["block_size", "blocks", "threshold"])]
    pub maxima: bool,
    /// Take the maximum of each N values
    #[arg(long, value_name = "N", conflicts_with_all = ["blocks", "threshold"], value_parser = clap::value_parser!(u64).range(2..))]
    pub block_size: Option<u64>,
    /// Take the maxima of N blocks of equal size
    #[arg(long, value_name = "N", conflicts_with = "threshold", value_parser = clap::value_parser!(u64).range(2..))]
    pub blocks: Option<u64>,
    /// Fit what exceeds X: a value, a share of the values as `1%`, or `auto`; of several, the first is that of the bound
    #[arg(long, value_name = "X[,X...]", value_delimiter = ',', allow_hyphen_values = true, value_parser = threshold)]
    pub threshold: Vec<Threshold>,
    /// Fit the maxima of clusters, which R values in a row below the threshold end
    #[arg(long, value_name = "R", requires = "threshold", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub decluster: Option<u64>,
    /// The levels that one in N blocks (values, with --threshold) exceeds, or, below 1, one with this probability; the first is
    /// that of the bound [default: 10, 100 and 1000 blocks; with --threshold beyond the number of values]
    #[arg(long, value_name = "N|P", value_delimiter = ',', value_parser = period)]
    pub return_level: Vec<f64>,
    /// Confidence of the intervals, percent
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = confidence)]
    pub confidence: f64,
    /// Step to which the values were rounded: W to the nearest, W:down, or `exact` [default: found, and used where it is coarse]
    #[arg(long, value_name = "W", value_parser = rounding)]
    pub resolution: Option<Rounding>,
    /// Unit of the values, as it is to be printed
    #[arg(long, value_name = "UNIT", default_value = "", value_parser = super::values::name)]
    pub unit: String,
    /// Seed of the bootstraps
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// Write the plots of return levels and, with --threshold, of the mean residual life to this directory
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
}

/// A threshold as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Threshold {
    /// The usual ones.
    Auto,
    /// This one.
    Given(Cut),
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|v: &f64| v.is_finite())
}

fn threshold(text: &str) -> Result<Threshold, String> {
    if text == "auto" {
        return Ok(Threshold::Auto);
    }
    match text.strip_suffix('%') {
        Some(share) => {
            let share = number(share).filter(|s| *s > 0.0 && *s < 100.0).ok_or("a share lies above 0% and below 100%")?;
            Ok(Threshold::Given(Cut::Above(share / 100.0)))
        }
        None => number(text).map(|v| Threshold::Given(Cut::At(v))).ok_or_else(|| "a number, a share such as 1%, or auto".into()),
    }
}

fn period(text: &str) -> Result<f64, String> {
    match number(text) {
        Some(p) if p > 0.0 && p <= 0.5 => Ok(1.0 / p),
        Some(n) if (2.0..1e300).contains(&n) => Ok(n),
        _ => Err("2 or more, or a probability up to 0.5".into()),
    }
}

fn confidence(text: &str) -> Result<f64, String> {
    match number(text.trim_end_matches('%')) {
        Some(p) if (51.0..=99.9).contains(&p) => Ok(p / 100.0),
        _ => Err("a percentage from 51 to 99.9".into()),
    }
}

fn rounding(text: &str) -> Result<Rounding, String> {
    if text == "exact" {
        return Ok(Rounding::Exact);
    }
    let (width, down) = text.strip_suffix(":down").map_or((text, false), |w| (w, true));
    let width = number(width).filter(|w| *w > 0.0).ok_or("a step above 0, such as 1, 0.5:down, or exact")?;
    Ok(Rounding::Known(if down { Resolution::Down(width) } else { Resolution::Nearest(width) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_options() {
        assert_eq!(threshold("30"), Ok(Threshold::Given(Cut::At(30.0))));
        assert_eq!(threshold("-2.5"), Ok(Threshold::Given(Cut::At(-2.5))));
        assert_eq!(threshold("1%"), Ok(Threshold::Given(Cut::Above(0.01))));
        assert_eq!(threshold("auto"), Ok(Threshold::Auto));
        assert!(["", "x", "0%", "100%", "nan", "inf"].iter().all(|t| threshold(t).is_err()));
        assert_eq!((period("100"), period("1e-6"), period("0.5")), (Ok(100.0), Ok(1e6), Ok(2.0)));
        assert!(["0", "1", "0.7", "-3", "inf"].iter().all(|t| period(t).is_err()));
        assert_eq!((confidence("95"), confidence("99%")), (Ok(0.95), Ok(0.99)));
        assert!(["50", "100", "x"].iter().all(|t| confidence(t).is_err()));
        assert_eq!(rounding("exact"), Ok(Rounding::Exact));
        assert_eq!(rounding("0.5:down"), Ok(Rounding::Known(Resolution::Down(0.5))));
        assert!(["0", "-1", "down", ""].iter().all(|t| rounding(t).is_err()));
    }
}
