//! Changes the virtual time in a machine's state for a machine whose instructions last longer or shorter.
//!
//! The format is internal to QEMU and not documented. The section to change is found by its name, which must
//! occur exactly once (migration/savevm.c, softmmu/cpu-timers.c). All numbers are big-endian.

/// How far the guest's clock advances during the pause, ns: more than a tick of any kernel, less than any
/// kernel watchdog notices.
const LEAP: i64 = 100_000_000;

/// Sets the virtual time of a state so that a machine whose instructions last 2^`runs` ns continues [`LEAP`]
/// after `paused`, the time (ns) that its guest read before it was paused.
///
/// Virtual time is `bias + (instructions << shift)`. The state contains bias and instructions but not the
/// shift, so only the bias changes. While pausing, QEMU may or may not have advanced to the guest's next timer;
/// after the leap that timer is due in both cases. `None` if the state, of a machine with `shift`, does not lie
/// between `paused` and the leap's end.
pub(super) fn set_time(state: &mut [u8], shift: u32, runs: u32, paused: u64) -> Option<()> {
    // The section: name, version, bias, instructions.
    let at = the_only(state, b"\x0ctimer/icount\0\0\0\x01", 16)?;
    let number = |at: usize| Some(i64::from_be_bytes(state.get(at..at + 8)?.try_into().ok()?));
    let (bias, instructions) = (number(at)?, number(at + 8)?);
    let lasted = |shift: u32| 1i64.checked_shl(shift)?.checked_mul(instructions);
    let now = lasted(shift)?.checked_add(bias)?;
    let paused = i64::try_from(paused).ok()?;
    let then = paused.checked_add(LEAP)?;
    let bias = then.checked_sub(lasted(runs)?).filter(|_| (paused..then).contains(&now))?;
    state[at..][..8].copy_from_slice(&bias.to_be_bytes());
    Some(())
}

/// The offset just after `head`, if at least `len` bytes follow; `None` unless `head` occurs exactly once.
fn the_only(state: &[u8], head: &[u8], len: usize) -> Option<usize> {
    let mut found = state.windows(head.len() + len).enumerate().filter(|(_, w)| w.starts_with(head)).map(|(at, _)| at);
    match (found.next(), found.next()) {
        (Some(at), None) => Some(at + head.len()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn timers(bias: i64, instructions: i64) -> Vec<u8> {
        let head = b"\x05\x0ctimer/icount\0\0\0\x01".as_slice();
        [b"before", head, &bias.to_be_bytes(), &instructions.to_be_bytes(), b"\x05 and more"].concat()
    }

    #[test]
    fn time_goes_on_at_the_same_moment_whether_or_not_it_went_on_to_a_timer() {
        let (instructions, read) = (2_000_000_000i64, 17_000_000_000u64);
        let mut states: Vec<Vec<u8>> = [0, 40, 3_999_960].iter().map(|jump| timers(1_000_000_040 + jump, instructions)).collect();
        for state in &mut states {
            assert!(set_time(state, 3, 0, read).is_some());
            assert_eq!(*state, timers(17_100_000_000 - instructions, instructions));
        }
        let mut slower = timers(1_000_000_040, instructions);
        assert!(set_time(&mut slower, 3, 1, read).is_some());
        assert_eq!(slower, timers(17_100_000_000 - 2 * instructions, instructions));
        // Earlier than what the guest read, much later, another shift, truncated, and no numbers at all.
        assert!(set_time(&mut timers(999_999_999, instructions), 3, 0, read).is_none());
        assert!(set_time(&mut timers(1_100_000_000, instructions), 3, 0, read).is_none());
        assert!(set_time(&mut timers(1_000_000_040, instructions), 0, 0, read).is_none());
        let whole = timers(1_000_000_040, instructions);
        assert!(set_time(&mut whole[..whole.len() - 11].to_vec(), 3, 0, read).is_none());
        assert!(set_time(&mut b"timer/icount".to_vec(), 3, 0, read).is_none());
    }

    proptest! {
        #[test]
        fn any_state_is_changed_or_refused(bias: i64, instructions: i64, shift in 0u32..80, runs in 0u32..80, paused: u64) {
            let mut state = timers(bias, instructions);
            let before = state.clone();
            if set_time(&mut state, shift, runs, paused).is_none() {
                prop_assert_eq!(state, before);
            }
        }
    }
}
