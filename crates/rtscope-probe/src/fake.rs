//! The timer test of the target `fake:FILE`, with given latencies. It validates the way from the loop to the report.
//!
//! The sampling loop is the real one; only the clock is fake, so that a run of an hour takes a moment.

use crate::measured::{Failure, Measured};
use crate::protocol::ProbePlan;
use crate::timer::check;
use crate::timer::grid::Grid;
use crate::timer::sampling::{Fake, LoopLimits, sample};
use rtscope_record::{Effect, ThreadInfo, Warning};
use rtscope_samples::sampler::Sampler;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Largest accepted file of latencies, bytes.
const LARGEST: u64 = 64 << 20;
/// Most grid points of a fake run, per thread.
const MOST_POINTS: u64 = 1_000_000_000;

/// The warning that the figures are not those of this machine.
pub fn warning() -> Warning {
    Warning::new(
        "fake",
        Effect::Invalid,
        "the latencies were injected by a fake clock: they say nothing about this machine",
        "measure with --target local",
    )
}

/// Parses latencies in ns, one per line; empty lines and lines that begin with `#` are skipped.
fn parse(text: &str) -> Result<Vec<u64>, String> {
    let lines = text.lines().enumerate().map(|(i, l)| (i, l.trim())).filter(|(_, l)| !l.is_empty() && !l.starts_with('#'));
    lines.map(|(i, l)| l.parse::<u64>().map_err(|_| format!("line {}: `{l:.40}` is not a latency in ns", i + 1))).collect()
}

/// The latencies in `file`, ns, one per line.
pub(crate) fn latencies(file: &str) -> Result<Arc<[u64]>, Failure> {
    let text = rtscope_files::read_text(Path::new(file), LARGEST)
        .map_err(|e| Failure::usage(format!("{file}: {e}"), "name a file of latencies, one in ns a line: --target fake:FILE"))?;
    Ok(parse(&text).map_err(|e| Failure::usage(format!("{file}: {e}"), "write one latency in ns a line"))?.into())
}

/// Runs the timer test of `plan` with the latencies in `file`: one per line in ns, repeated from the start when
/// the list ends.
pub fn run(plan: &ProbePlan, file: &str) -> Result<Measured, Failure> {
    let latencies = latencies(file)?;
    let s = &plan.settings;
    check(s, &s.cpus)?;
    if s.duration.is_none() && s.loops.is_none() {
        return Err(Failure::usage("a fake run needs an end", "give --duration or --loops"));
    }
    let limit = AtomicU64::new(s.loops.unwrap_or(u64::MAX));
    let mut distributions = Vec::new();
    let mut elapsed_ns = 0;
    for i in 0..s.threads {
        let interval = s.interval.0 + s.distance.0 * u64::from(i);
        let points = s.duration.map_or(u64::MAX, |d| d.0 / interval);
        if points.min(s.loops.unwrap_or(u64::MAX)) > MOST_POINTS {
            return Err(Failure::usage("more than 10^9 points were asked of a fake", "ask for fewer"));
        }
        let mut grid = Grid::new(interval, interval, points);
        let mut sampler = Sampler::new(s.worst, s.linear_bins, false).on_grid(interval).in_blocks();
        let until = LoopLimits { samples: &limit, break_above: u64::MAX };
        sample(&mut Fake::new(Arc::clone(&latencies)), &mut grid, &mut sampler, 0, &until);
        elapsed_ns = elapsed_ns.max(grid.next() - interval);
        let distribution = sampler.finish(|p| {
            p.label = format!("thread{i}");
            p.missed = grid.missed();
            p.expected = Some(grid.next() / interval - 1);
            p.thread = Some(ThreadInfo { interval, first_at: Some(interval), ..ThreadInfo::default() });
        });
        distributions.push(distribution.map_err(|e| Failure::machine(e.to_string(), "report this"))?);
    }
    Ok(Measured { distributions, warnings: Vec::new(), elapsed_ns, interrupted: false, instrument: None, witness: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn latencies_are_read() {
        assert_eq!(parse("# a comment\n\n10\n 20 \n"), Ok(vec![10, 20]));
        assert!(parse("10\n-3\n").unwrap_err().contains("line 2"));
    }

    proptest! {
        #[test]
        fn any_file_is_read_or_refused(text in "\\PC{0,60}") {
            let _ = parse(&text);
        }
    }
}
