//! Values that several commands take: times, sizes, names, and whether to print JSON.

use clap::Args;
use rtscope_record::limits;

#[derive(Debug, Args)]
pub(crate) struct Json {
    /// JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

/// A size such as `512MiB`, `4GiB`, `2G`; units are powers of 1024.
pub(crate) fn size(text: &str) -> Result<Size, String> {
    let wrong = || "write a size such as 512MiB or 4GiB, of 64MiB at least".to_owned();
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        "t" | "tib" => 40,
        _ => return Err(wrong()),
    };
    let bytes = number.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift)).ok_or_else(wrong)?;
    if bytes < 64 << 20 { Err(wrong()) } else { Ok(Size(bytes)) }
}

/// Parses a name that goes into a record; checks its length.
pub(crate) fn name(text: &str) -> Result<String, String> {
    let fits = text.len() <= limits::NAME;
    fits.then(|| text.to_owned()).ok_or_else(|| format!("a name has {} bytes at most, this one {}", limits::NAME, text.len()))
}

/// What `--fail-if` names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FailIf {
    /// One of the metrics of [`rtscope_analysis::replicates`]; `None`: any.
    pub metric: Option<String>,
    /// By how many percent.
    pub percent: f64,
}

impl std::fmt::Display for FailIf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("worse")?;
        if self.metric.is_some() || self.percent > 0.0 {
            write!(f, ":{}", self.metric.as_deref().unwrap_or_default())?;
        }
        if self.percent > 0.0 { write!(f, ":{}", self.percent) } else { Ok(()) }
    }
}

/// `worse`, `worse:METRIC` or `worse:METRIC:PERCENT`.
pub(crate) fn fail_if(text: &str) -> Result<FailIf, String> {
    use rtscope_analysis::replicates::METRICS;
    let wrong = || format!("write worse, worse:METRIC or worse:METRIC:PERCENT, with METRIC one of {}", METRICS.join(", "));
    let mut words = text.split(':');
    let (word, metric, percent) = (words.next(), words.next(), words.next());
    if word != Some("worse") || words.next().is_some() || metric.is_some_and(|m| !m.is_empty() && !METRICS.contains(&m)) {
        return Err(wrong());
    }
    let percent = percent.map_or(Ok(0.0), |p| p.trim_end_matches('%').parse::<f64>()).map_err(|_| wrong())?;
    if !(0.0..1e6).contains(&percent) {
        return Err(wrong());
    }
    Ok(FailIf { metric: metric.filter(|m| !m.is_empty()).map(str::to_owned), percent })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_read() {
        let of = |metric: Option<&str>, percent| Ok(FailIf { metric: metric.map(str::to_owned), percent });
        assert_eq!(fail_if("worse"), of(None, 0.0));
        assert_eq!(fail_if("worse:p99.9"), of(Some("p99.9"), 0.0));
        assert_eq!(fail_if("worse:block-max:12.5%"), of(Some("block-max"), 12.5));
        assert_eq!(fail_if("worse::5"), of(None, 5.0));
        for text in ["worse", "worse:p99.9", "worse:block-max:12.5", "worse::5"] {
            assert_eq!(fail_if(text).unwrap().to_string(), text);
        }
        for bad in ["", "better", "worse:p98", "worse:p99:x", "worse:p99:-1", "worse:p99:NaN", "worse:p99:1:2", "worse:p99:"] {
            assert!(fail_if(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!((size("1GiB"), size("512m"), size("64 MiB")), (Ok(Size(1 << 30)), Ok(Size(512 << 20)), Ok(Size(64 << 20))));
        for bad in ["", "1", "GiB", "-1GiB", "1.5GiB", "63MiB", "99999999999999999999GiB", "16777216TiB"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
