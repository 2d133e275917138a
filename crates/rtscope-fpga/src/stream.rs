//! From records to edges: extends the tick counter to 64 bits and keeps an account of losses.

use crate::frame::{Body, Parsed, Parser, Tick};

/// An item of the stream, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// A channel changed.
    Edge {
        /// Its number; 0 is the stimulus.
        channel: u8,
        /// The level after it.
        level: bool,
        /// When, in half ticks from an origin before the first record.
        at: u64,
    },
    /// Time has advanced to this point.
    Time {
        /// When, half ticks.
        at: u64,
        /// The host requested this as a mark.
        mark: bool,
        /// The channels' levels.
        levels: u8,
    },
    /// Something unknown was lost before the next item.
    Gap,
    /// The answer to a command.
    Reply {
        /// Whether it was carried out.
        done: bool,
        /// The register's address.
        address: u8,
        /// The command's tag.
        tag: u8,
        /// The register's value.
        value: u32,
    },
}

/// What was lost, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// Frames that arrived damaged.
    pub damaged: u64,
    /// Frames missing in the sequence, including the damaged ones; a lower bound.
    pub missing: u64,
    /// Events that the instrument's store had no room for.
    pub overflowed: u64,
    /// Records whose levels don't continue those of the previous record, although none is missing.
    pub inconsistent: u64,
}

impl Losses {
    /// Whether nothing was lost.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// What was lost since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            damaged: self.damaged - earlier.damaged,
            missing: self.missing - earlier.missing,
            overflowed: self.overflowed - earlier.overflowed,
            inconsistent: self.inconsistent - earlier.inconsistent,
        }
    }

    /// Lower bound for the number of lost records and events, as one figure.
    pub fn total(&self) -> u64 {
        self.damaged.max(self.missing) + self.overflowed + self.inconsistent
    }
}

/// Parses bytes into items.
#[derive(Debug, Default)]
pub struct Stream {
    parser: Parser,
    losses: Losses,
    sequence: Option<u16>,
    tick: Option<(u32, u64)>,
    levels: Option<u8>,
    enabled: u8,
}

impl Stream {
    /// Sets the channels whose levels must be continuous from record to record.
    pub fn enable(&mut self, channels: u8) {
        self.enabled = channels;
        self.levels = None;
    }

    /// What was lost so far.
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Parses `bytes` and hands the resulting items to `take`.
    pub fn take(&mut self, bytes: &[u8], take: &mut impl FnMut(Item)) {
        for &byte in bytes {
            match self.parser.take(byte) {
                None => {}
                Some(Parsed::Damaged) => {
                    self.losses.damaged += 1;
                    self.levels = None;
                    take(Item::Gap);
                }
                Some(Parsed::FrameRecord(record)) => {
                    let missing = self.sequence.map_or(0, |before| record.sequence.wrapping_sub(before).wrapping_sub(1));
                    self.sequence = Some(record.sequence);
                    if missing > 0 {
                        self.losses.missing += u64::from(missing);
                        self.levels = None;
                        take(Item::Gap);
                    }
                    self.body(record.body, take);
                }
            }
        }
    }

    fn body(&mut self, body: Body, take: &mut impl FnMut(Item)) {
        match body {
            Body::Reply { done, address, tag, value } => take(Item::Reply { done, address, tag, value }),
            Body::Lost { events, levels } => {
                self.losses.overflowed += u64::from(events);
                self.levels = Some(levels);
                take(Item::Gap);
            }
            Body::Tick(event) => self.event(event, take),
        }
    }

    fn event(&mut self, e: Tick, take: &mut impl FnMut(Item)) {
        let at = self.tick.map_or(1 << 32, |(low, whole)| whole + u64::from(e.tick.wrapping_sub(low)));
        self.tick = Some((e.tick, at));
        if self.levels.is_some_and(|levels| (levels ^ e.before) & self.enabled != 0) {
            self.losses.inconsistent += 1;
            take(Item::Gap);
        }
        self.levels = Some(e.second);
        for (half, (from, to)) in [(0, (e.before, e.first)), (1, (e.first, e.second))] {
            // Of simultaneous edges the stimulus comes first: an answer can't precede its stimulus.
            for channel in (0..4).filter(|c| (from ^ to) & self.enabled & 1 << c != 0) {
                take(Item::Edge { channel, level: to & 1 << channel != 0, at: 2 * at + half });
            }
        }
        take(Item::Time { at: 2 * at + 1, mark: e.mark, levels: e.second });
    }
}

/// Converts half ticks to ns; `clock` is in ticks per second.
pub fn nanos(half_ticks: u64, clock: u32) -> u64 {
    let clock = u128::from(clock.max(1));
    u64::try_from((u128::from(half_ticks) * 500_000_000 + clock / 2) / clock).unwrap_or(u64::MAX)
}

/// Converts ns to ticks; `clock` is in ticks per second.
pub fn ticks(ns: u64, clock: u32) -> u64 {
    u64::try_from((u128::from(ns) * u128::from(clock) + 500_000_000) / 1_000_000_000).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::frame;

    fn event(sequence: u16, kind: u8, levels: [u8; 3], tick: u32) -> Vec<u8> {
        let mut p = sequence.to_be_bytes().to_vec();
        p.extend([kind << 4 | levels[0], levels[1] << 4 | levels[2]]);
        p.extend(tick.to_be_bytes());
        frame(&p)
    }

    fn run(frames: &[Vec<u8>]) -> (Vec<Item>, Losses) {
        let mut stream = Stream::default();
        stream.enable(0xF);
        let mut items = Vec::new();
        stream.take(&frames.concat(), &mut |item| items.push(item));
        (items, stream.losses())
    }

    fn edges(items: &[Item]) -> Vec<(u8, bool, u64)> {
        let first = |at: u64| at - (2 << 32);
        items
            .iter()
            .filter_map(|i| if let Item::Edge { channel, level, at } = *i { Some((channel, level, first(at))) } else { None })
            .collect()
    }

    #[test]
    fn edges_are_in_the_half_of_the_tick_where_they_were_seen() {
        let (items, losses) = run(&[
            event(7, 1, [0, 1, 1], 100),
            event(8, 1, [1, 1, 3], 110),
            // A pulse of half a tick on channel 2, and the wrap.
            event(9, 3, [3, 7, 3], 50),
        ]);
        let turn = (1u64 << 32) - 50;
        assert_eq!(edges(&items), [(0, true, 0), (1, true, 21), (2, true, 2 * turn), (2, false, 2 * turn + 1)]);
        assert!(losses.is_none());
    }

    #[test]
    fn what_is_missing_is_said_before_what_follows() {
        let mut broken = event(2, 1, [3, 2, 2], 120);
        broken[1] ^= 4;
        let lost = frame(&[0, 5, 0x90, 0x22, 0, 0, 0, 9]);
        let (items, losses) = run(&[
            event(1, 1, [0, 1, 3], 100),
            broken,
            event(4, 1, [1, 1, 0], 130),
            lost,
            event(6, 1, [2, 2, 3], 140),
            event(7, 1, [2, 2, 0], 150),
        ]);
        assert_eq!(losses, Losses { damaged: 1, missing: 2, overflowed: 9, inconsistent: 1 });
        assert_eq!(items.iter().filter(|i| **i == Item::Gap).count(), 4);
        assert_eq!(losses.total(), 12);
        let gap_before_130 = items.iter().position(|i| *i == Item::Gap).unwrap();
        assert!(items[gap_before_130..].iter().any(|i| matches!(i, Item::Edge { level: false, .. })));
    }

    #[test]
    fn times_do_not_drift() {
        assert_eq!(nanos(2 * 99_000_000, 99_000_000), 1_000_000_000);
        assert_eq!(nanos(2 * 99_000_000 * 86_400 * 365, 99_000_000), 86_400 * 365 * 1_000_000_000);
        assert_eq!((nanos(1, 99_000_000), nanos(1, 51_000_000)), (5, 10));
        assert_eq!((ticks(1_000_000, 99_000_000), ticks(1, 51_000_000)), (99_000, 0));
    }
}
