//! Decimal numbers of seconds, exact to the picosecond: a float would lose the last digits in a long capture.

/// Reads a number such as `-1.25e-03` times 10^`scale` seconds, in ps, rounded half away from zero. `None`: not a number,
/// or beyond 2^100 ps.
pub(super) fn picoseconds(text: &str, scale: i32) -> Option<i128> {
    let text = text.trim();
    if let Some(value) = short(text, scale) {
        return Some(value);
    }
    let (negative, text) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    // Convert to picoseconds: 10^12 of them are a second.
    let places = exponent.checked_add(scale)?.checked_add(12)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let value = if digits.is_empty() {
        0
    } else if places >= 0 {
        let digits: i128 = if digits.len() > 30 { return None } else { digits.parse().ok()? };
        digits.checked_mul(10i128.checked_pow(places.unsigned_abs())?)?
    } else {
        let cut = usize::try_from(places.unsigned_abs()).ok()?;
        let keep = digits.len().saturating_sub(cut);
        if keep > 30 {
            return None;
        }
        let kept: i128 = if keep == 0 { 0 } else { digits[..keep].parse().ok()? };
        let up = cut <= digits.len() && digits.as_bytes().get(keep).is_some_and(|d| *d >= b'5');
        kept + i128::from(up)
    };
    (value < 1 << 100).then_some(if negative { -value } else { value })
}

/// [`picoseconds`] for the common case: a few digits and at most a decimal point.
fn short(text: &str, scale: i32) -> Option<i128> {
    let (mut value, mut digits, mut places) = (0u64, 0, None);
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' => (value, digits) = (value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')), digits + 1),
            b'.' if places.is_none() => places = Some(digits),
            _ => return None,
        }
    }
    let fraction = digits - places.unwrap_or(digits);
    let power = scale.checked_add(12)?.checked_sub(fraction)?;
    let fits = (1..=18).contains(&digits) && (0..=18).contains(&power);
    fits.then(|| i128::from(value) * i128::from(10u64.pow(power.unsigned_abs())))
}

/// `2026-01-02T10:00:00.000000125+01:00` (RFC 3339) in ps since 1970.
pub(super) fn date_and_time(text: &str) -> Option<i128> {
    text.parse::<jiff::Timestamp>().ok().map(|at| at.as_nanosecond() * 1000)
}

/// `1 MHz`, `100kHz`, `1000000`, in Hz.
pub(super) fn sample_rate(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| c == ' ' || c.is_alphabetic()).unwrap_or(text.len()));
    let scale = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "hz" => 0,
        "khz" => 3,
        "mhz" => 6,
        "ghz" => 9,
        _ => return None,
    };
    // `picoseconds` multiplies by 10^12, so that is taken off the scale.
    u64::try_from(picoseconds(number, scale - 12)?).ok().filter(|hz| *hz > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_as_instruments_write_them() {
        for (text, scale, ps) in [
            ("289.692741059", 0, 289_692_741_059_000),
            ("-6.000000e-03", 0, -6_000_000_000),
            ("1.25E+2", -6, 125_000_000),
            (".5", -9, 500),
            ("1.", -9, 1000),
            ("0.0000000000005", 0, 1),
            ("0.0000000000004", 0, 0),
            ("00012", -12, 12),
            ("0e-400", 0, 0),
        ] {
            assert_eq!(picoseconds(text, scale), Some(ps), "{text}");
        }
        for bad in ["", "-", ".", "e5", "1,5", "0x10", "nan", "inf", "1e99", "1e", "--1", "1.2.3"] {
            assert_eq!(picoseconds(bad, 0), None, "{bad}");
        }
    }

    #[test]
    fn sample_rates() {
        for (text, hz) in [("24 MHz", 24_000_000), ("100 kHz", 100_000), ("1000000", 1_000_000), ("1.5 GHz", 1_500_000_000)] {
            assert_eq!(sample_rate(text), Some(hz), "{text}");
        }
        assert!(["", "0", "x Hz", "5 m"].iter().all(|t| sample_rate(t).is_none()));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(ps in -(1i128 << 80)..(1i128 << 80)) {
            let sign = if ps < 0 { "-" } else { "" };
            let n = ps.unsigned_abs();
            let text = format!("{sign}{}.{:012}", n / 1_000_000_000_000, n % 1_000_000_000_000);
            prop_assert_eq!(picoseconds(&text, 0), Some(ps));
            prop_assert_eq!(picoseconds(&format!("{ps}e-12"), 0), Some(ps));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}", scale in -20i32..20) {
            let _ = picoseconds(&text, scale);
        }
    }
}
