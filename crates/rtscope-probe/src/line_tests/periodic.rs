//! The loop of `periodic`: listens to a wave.

use super::instrument::{Ended, RunCounts};
use super::stimulate::Until;
use super::wires::Wires;
use crate::lines::LineError;
use rtscope_samples::wave::WaveSampler;
use std::sync::atomic::Ordering::Relaxed;

/// Longest wait before the loop checks whether to stop, ns.
const POLL_INTERVAL: u64 = 100_000_000;
/// A wave without an edge for this many semi-periods and this long, ns, has ended.
const SILENT: (u64, u64) = (20, 2_000_000_000);

/// Listens to a wave until `until` (its `stimuli` are intervals here), and books its edges.
pub fn observe(wires: &mut impl Wires, until: &Until<'_>, samples: &mut WaveSampler) -> Result<(Ended, RunCounts), LineError> {
    let mut counts = RunCounts::default();
    let start = wires.now();
    samples.start_at(start);
    let patience = SILENT.1.max(SILENT.0.saturating_mul(samples.semi_period()));
    let mut heard = start;
    let ended = loop {
        let now = wires.now();
        if until.stop.load(Relaxed) {
            break Ended::Stopped;
        }
        if now >= until.end || samples.intervals() >= until.stimuli {
            break Ended::Complete;
        }
        if now.saturating_sub(heard) >= patience {
            break Ended::Silent;
        }
        if let Some(edge) = wires.wait(until.end.min(now + POLL_INTERVAL))? {
            counts.edges += 1;
            counts.lost += if samples.take(edge) { edge.lost.max(1) } else { 0 };
            heard = edge.at.max(heard);
        }
    };
    counts.elapsed = wires.now() - start;
    Ok((ended, counts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line_tests::wires::Simulated;
    use rtscope_record::Distribution;
    use std::sync::atomic::AtomicBool;

    static NEVER: AtomicBool = AtomicBool::new(false);
    const SEMI: u64 = 1_000_000;

    fn heard(edges: impl IntoIterator<Item = u64>, intervals: u64) -> (Vec<Distribution>, RunCounts, Ended) {
        let mut wires = Simulated::new(|_, _| Vec::new()).edges(edges.into_iter().map(|k| (2_000_000 + k * SEMI, k % 2 == 0)));
        let mut samples = WaveSampler::new(SEMI, 4, 0);
        let until = Until { stimuli: intervals, end: u64::MAX, stop: &NEVER };
        let (ended, counts) = observe(&mut wires, &until, &mut samples).unwrap();
        (samples.finish(|_| ()).unwrap().0, counts, ended)
    }

    #[test]
    fn a_wave_is_heard_to_its_end() {
        let (d, counts, ended) = heard(0..1001, 1000);
        assert_eq!((d[0].count() + d[2].count(), counts.edges, counts.lost, ended), (1000, 1001, 0, Ended::Complete));
    }

    #[test]
    fn silence_ends_it() {
        let (d, counts, ended) = heard([], u64::MAX);
        assert_eq!((ended, counts.edges, d[0].count()), (Ended::Silent, 0, 0));
    }

    #[test]
    fn a_lost_edge_is_counted() {
        let (_, counts, ended) = heard((0..10).filter(|&k| k != 5), 8);
        assert_eq!((counts.edges, counts.lost, ended), (9, 1, Ended::Complete));
    }
}
