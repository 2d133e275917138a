//! Removes narrow pulses: those of a slow edge while it crosses the threshold.
//!
//! Two edges of a line that are closer than the width are both removed, so that what remains of a burst is the edge after which
//! the level held. This is done on the host because the gateware only stamps. So each run may choose the width, the removed pulses
//! are counted, and a capture is filtered by the same code.

use crate::edge::Edge;
use std::collections::VecDeque;

/// A line's number and an edge of that line.
pub type Of = (usize, Edge);

#[derive(Debug)]
struct Waiting {
    of: Of,
    /// The level held for the width: the edge is final.
    stays: bool,
}

/// A filter for the edges of several lines; they leave it in the order of their times.
#[derive(Debug)]
pub struct Narrow {
    width: u64,
    waiting: VecDeque<Waiting>,
    removed: u64,
}

impl Narrow {
    /// Removes pulses shorter than `width` ns. 0 removes none.
    pub fn new(width: u64) -> Self {
        Self { width, waiting: VecDeque::new(), removed: 0 }
    }

    /// Pulses removed so far.
    pub fn removed(&self) -> u64 {
        self.removed
    }

    /// Takes an edge, which may not be earlier than those before it. `take` receives all edges that are now final.
    pub fn edge(&mut self, line: usize, edge: Edge, take: &mut dyn FnMut(Of)) {
        if self.width == 0 {
            return take((line, edge));
        }
        self.time(edge.at, take);
        // The previous edge of this line, unless its level has already held.
        match self.waiting.iter().rposition(|w| w.of.0 == line && !w.stays) {
            // An edge after lost edges does not complete a pulse: the pulse's other edge may be among them.
            Some(before) if edge.lost == 0 && self.waiting[before].of.1.lost == 0 => {
                self.waiting.remove(before);
                self.removed += 1;
                self.release(take);
            }
            _ => self.waiting.push_back(Waiting { of: (line, edge), stays: false }),
        }
    }

    /// Advances the filter to `now`, ns, by the clock of the edges.
    pub fn time(&mut self, now: u64, take: &mut dyn FnMut(Of)) {
        let width = self.width;
        for w in &mut self.waiting {
            w.stays |= now.saturating_sub(w.of.1.at) >= width;
        }
        self.release(take);
    }

    /// Hands out all waiting edges as they are, at the end of the edges or after a loss.
    pub fn flush(&mut self, take: &mut dyn FnMut(Of)) {
        self.waiting.drain(..).for_each(|w| take(w.of));
    }

    fn release(&mut self, take: &mut dyn FnMut(Of)) {
        while self.waiting.front().is_some_and(|w| w.stays) {
            self.waiting.pop_front().into_iter().for_each(|w| take(w.of));
        }
    }
}

/// The edges of one line without its narrow pulses, and the number of pulses removed.
pub fn without(edges: &[Edge], width: u64) -> (Vec<Edge>, u64) {
    let (mut narrow, mut kept) = (Narrow::new(width), Vec::with_capacity(edges.len()));
    for edge in edges {
        narrow.edge(0, *edge, &mut |of| kept.push(of.1));
    }
    narrow.flush(&mut |of| kept.push(of.1));
    (kept, narrow.removed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edges(at: &[u64]) -> Vec<Edge> {
        at.iter().zip([true, false].into_iter().cycle()).map(|(&at, level)| Edge { at, level, lost: 0 }).collect()
    }

    fn times(edges: &[Edge]) -> Vec<u64> {
        edges.iter().map(|e| e.at).collect()
    }

    #[test]
    fn of_a_slow_edge_one_remains() {
        // A rise with two bounces, a fall with one, and a spike.
        let all = edges(&[1000, 1010, 1015, 1030, 1040, 5000, 5005, 5020, 7000, 7030]);
        let (kept, removed) = without(&all, 50);
        assert_eq!((times(&kept), removed), (vec![1040, 5020], 4));
        assert_eq!(kept.iter().map(|e| e.level).collect::<Vec<_>>(), [true, false]);
        assert_eq!(without(&all, 0), (all.clone(), 0), "only if asked");
        assert_eq!(without(&all, 5).1, 0, "a pulse of the width itself stays");
    }

    #[test]
    fn lines_keep_their_order() {
        let mut narrow = Narrow::new(100);
        let mut out = Vec::new();
        let e = |at, level| Edge { at, level, lost: 0 };
        for (line, edge) in [(0, e(1000, true)), (1, e(1050, true)), (1, e(1060, false)), (1, e(1070, true)), (0, e(2000, false))] {
            narrow.edge(line, edge, &mut |of: Of| out.push((of.0, of.1.at)));
        }
        assert_eq!(out, [(0, 1000), (1, 1070)]);
        narrow.time(2099, &mut |of: Of| out.push((of.0, of.1.at)));
        assert_eq!(out.len(), 2);
        narrow.time(2100, &mut |of: Of| out.push((of.0, of.1.at)));
        assert_eq!((out[2], narrow.removed()), ((0, 2000), 1));
    }

    #[test]
    fn what_tells_of_lost_edges_is_kept() {
        let mut all = edges(&[1000, 1010, 1020]);
        all[1].lost = 1;
        assert_eq!(without(&all, 50), (all.clone(), 0));
        all[2].lost = 1;
        assert_eq!(without(&all, 50), (all, 0));
    }

    proptest! {
        #[test]
        fn nothing_narrow_remains_and_all_is_counted(steps in proptest::collection::vec(0u64..100, 0..60), width in 1u64..80) {
            let mut at = 0;
            let all = edges(&steps.iter().map(|s| { at += s; at }).collect::<Vec<_>>());
            let (kept, removed) = without(&all, width);
            prop_assert_eq!(kept.len() as u64 + 2 * removed, all.len() as u64);
            prop_assert!(kept.windows(2).all(|e| e[1].at - e[0].at >= width && e[0].level != e[1].level));
        }
    }
}
