//! Formats numbers and foreign text for people.

use rtscope_analysis::ShareBelow;
use std::fmt::Write as _;

/// Shown where a figure is unknown.
pub(crate) const NONE: &str = "-";

/// Microseconds with two decimals, from ns.
pub(crate) fn us(ns: f64) -> String {
    format!("{:.2}", ns / 1e3)
}

/// Microseconds with two decimals, from ns, or a dash.
pub(crate) fn us_opt(ns: Option<u64>) -> String {
    ns.map_or_else(|| NONE.into(), us_whole)
}

/// Microseconds with two decimals, from whole ns.
pub(crate) fn us_whole(ns: u64) -> String {
    decimals(ns, 10, 100).unwrap_or_else(|| us(ns as f64))
}

/// Seconds with six decimals, from whole ns.
pub(crate) fn seconds(ns: u64) -> String {
    decimals(ns, 1_000, 1_000_000).unwrap_or_else(|| format!("{:.6}", rtscope_record::Nanos(ns).as_secs_f64()))
}

/// Formats `n` with decimals: `lost` of them are one in the last decimal, and `last` of those are a whole unit. The text
/// is that of float formatting, but made faster. `None` where the float's binary value decides: half way between two
/// decimals, and beyond its precision.
fn decimals(n: u64, lost: u64, last: u64) -> Option<String> {
    if n % lost == lost / 2 || n > 1 << 40 {
        return None;
    }
    let shown = (n + lost / 2) / lost;
    let mut digits = itoa::Buffer::new();
    let mut text = String::with_capacity(16);
    text.push_str(digits.format(shown / last));
    text.push('.');
    // A leading 1 keeps the zeros at the start.
    text.push_str(&digits.format(last + shown % last)[1..]);
    Some(text)
}

/// Microseconds with two decimals, from fractional ns, or a dash.
pub(crate) fn us_f64(ns: Option<f64>) -> String {
    ns.map_or_else(|| NONE.into(), us)
}

/// A time in a suitable unit: whole ns, else at least three significant digits: "12.3 µs", "4.56 ms", "1.20 s".
pub(crate) fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        v if v < 1e3 => return format!("{v:.0} ns"),
        v if v < 1e6 => (v / 1e3, "µs"),
        v if v < 1e9 => (v / 1e6, "ms"),
        v => (v / 1e9, "s"),
    };
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {unit}")
}

/// A share in percent: `99.98 %`, or bounds such as `99.90 to 99.98 %`. A share and a lower bound are rounded down, so that
/// 100 means all of them; an upper bound is rounded up.
pub(crate) fn share(s: &ShareBelow) -> String {
    if s.of == 0 {
        return NONE.into();
    }
    // Hundredths of a percent, in integers.
    let hundredths = |n: u64, up: u64| {
        let product = u128::from(n) * 10_000 + u128::from(up) * u128::from(s.of - 1);
        (product / u128::from(s.of)) as f64 / 100.0
    };
    let text = |n: u64, up: u64| match n {
        0 => "0".into(),
        n if n == s.of => "100".into(),
        n if hundredths(n, up) == 0.0 => "<0.01".into(),
        n => format!("{:.2}", hundredths(n, up)),
    };
    let (low, high) = (text(s.below, 0), text(s.below.saturating_add(s.undecided).min(s.of), 1));
    if s.undecided == 0 || low == high { format!("{low} %") } else { format!("{low} to {high} %") }
}

/// A figure with six significant digits; whole numbers of more digits whole, very large and very small ones with an exponent.
pub(crate) fn figure(v: f64) -> String {
    if v == 0.0 || !v.is_finite() {
        return format!("{v}");
    }
    let size = v.abs().log10().floor();
    if !(-5.0..12.0).contains(&size) {
        return format!("{v:.5e}");
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 0 to 10
    let decimals = (5.0 - size).max(0.0) as usize;
    format!("{v:.decimals$}")
}

/// [`figure`], or a dash.
pub(crate) fn figure_opt(v: Option<f64>) -> String {
    v.map_or_else(|| NONE.into(), figure)
}

/// A count or period, whole where it is.
pub(crate) fn count_f64(n: f64) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a whole number far below 2^64
    if n.fract() == 0.0 && (0.0..1e15).contains(&n) { count(n as u64) } else { figure(n) }
}

/// A whole number with a comma between thousands.
pub(crate) fn count(n: u64) -> String {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(n);
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    let (first, rest) = digits.split_at((digits.len() - 1) % 3 + 1);
    text.push_str(first);
    for at in (0..rest.len()).step_by(3) {
        text.push(',');
        text.push_str(&rest[at..at + 3]);
    }
    text
}

/// A ratio with at most two decimals, fewer from 10 on, or a dash: "0.82", "14.8", "1,250".
pub(crate) fn times(ratio: Option<f64>) -> String {
    match ratio {
        None => NONE.into(),
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a whole number far below 2^64
        Some(r) if (1000.0..1e15).contains(&r) => count(r.round() as u64),
        Some(r) => {
            let decimals = if r < 10.0 { 2 } else { usize::from(r < 100.0) };
            format!("{r:.decimals$}")
        }
    }
}

/// Short form of a number on an axis: 1, 10, 1k, 2M, 1G, 1T, 1e15.
pub(crate) fn short(n: f64) -> String {
    for (scale, unit) in [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if n >= 1e15 {
            return format!("{n:e}");
        }
        if n >= scale {
            return format!("{}{unit}", n / scale);
        }
    }
    format!("{n}")
}

/// A percentage of that many nines: "0%", "90%", "99.9%".
pub(crate) fn nines(decade: usize) -> String {
    match decade {
        0 => "0%".into(),
        1 => "90%".into(),
        2 => "99%".into(),
        n => format!("99.{}%", "9".repeat(n - 2)),
    }
}

/// Text from a record on one line: characters that could move a terminal's cursor or start a colour are made visible and
/// harmless.
pub(crate) fn clean(text: &str) -> String {
    rtscope_record::text::visible_line(text).into_owned()
}

/// `text` in at most `longest` characters; the last one is an ellipsis where text was cut.
pub(crate) fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.into();
    }
    let mut t: String = text.chars().take(longest.saturating_sub(1)).collect();
    t.push('…');
    t
}

/// `text` in at most `longest` characters; an ellipsis in place of what was cut, after the first third of the room.
pub(crate) fn cut_in_the_middle(text: &str, longest: usize) -> String {
    let length = text.chars().count();
    if length <= longest {
        return text.into();
    }
    let head = longest / 3;
    let tail = longest.saturating_sub(head + 1);
    text.chars().take(head).chain(['…']).chain(text.chars().skip(length - tail)).collect()
}

/// What XML 1.0 (section 2.2) forbids besides controls and surrogates: replaced, since a library that leaves controls out lets them pass.
pub(crate) fn xml_characters(text: &str) -> String {
    text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// Escapes text for the content or an attribute of XML or HTML. Characters that would reorder or hide text are written
/// out, as on a terminal; other characters that XML 1.0 forbids are replaced.
pub(crate) fn escape(text: &str) -> String {
    let text = xml_characters(&rtscope_record::text::visible(text));
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A coordinate with one decimal, without a trailing zero.
pub(crate) fn coordinate(out: &mut String, v: f64) {
    let start = out.len();
    // Writing to a String can't fail.
    let _ = write!(out, "{v:.1}");
    if out[start..].ends_with(".0") {
        out.truncate(out.len() - 2);
    }
}

/// A command with its arguments, quoted for a shell.
pub(crate) fn command(args: &[String]) -> String {
    let plain = |a: &String| !a.is_empty() && a.chars().all(|c| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c));
    let quoted = args.iter().map(|a| if plain(a) { a.clone() } else { format!("'{}'", a.replace('\'', r"'\''")) });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers() {
        assert_eq!((us(12_345.0), us_opt(None)), ("12.35".into(), "-".into()));
        assert_eq!([count(0), count(999), count(1_000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(
            [time(5.0), time(12_345.0), time(4.56e6), time(123.4e6), time(2e9)],
            ["5 ns", "12.3 µs", "4.56 ms", "123 ms", "2.00 s"]
        );
        assert_eq!([0.818, 14.84, 147.3, 1_250.4].map(|r| times(Some(r))), ["0.82", "14.8", "147", "1,250"]);
        assert_eq!(times(None), "-");
        assert_eq!([short(1.0), short(1e3), short(2e6), short(1e15)], ["1", "1k", "2M", "1e15"]);
        assert_eq!([nines(1), nines(2), nines(3), nines(5)], ["90%", "99%", "99.9%", "99.999%"]);
        assert_eq!(command(&["stress-ng".into(), "--cpu".into(), "a b".into(), "it's".into()]), r"stress-ng --cpu 'a b' 'it'\''s'");
    }

    #[test]
    fn shares() {
        let text = |below, undecided, of| share(&ShareBelow { threshold: 1, below, undecided, of });
        assert_eq!([text(1, 0, 3), text(3, 0, 3), text(0, 0, 3), text(0, 0, 0)], ["33.33 %", "100 %", "0 %", "-"]);
        assert_eq!([text(999_999, 0, 1_000_000), text(1, 0, 1_000_000)], ["99.99 %", "<0.01 %"]);
        assert_eq!([text(900, 50, 1_000), text(999_000, 1_000, 1_000_000)], ["90.00 to 95.00 %", "99.90 to 100 %"]);
        assert_eq!(text(1, 1, u64::MAX), "<0.01 to 0.01 %");
    }

    proptest! {
        #[test]
        fn whole_nanoseconds_are_written_as_fractional_ones(ns in any::<u64>(), shift in 0u32..64) {
            for ns in [ns >> shift, (ns >> shift) / 10 * 10 + 5, (ns >> shift) / 1_000 * 1_000 + 500, 1 << 40, (1 << 40) + 1] {
                prop_assert_eq!(us_opt(Some(ns)), us(ns as f64));
                prop_assert_eq!(seconds(ns), format!("{:.6}", ns as f64 / 1e9));
            }
        }
    }

    proptest! {
        #[test]
        fn escaped_text_is_well_formed(text in any::<String>()) {
            let xml = format!("<a b=\"{0}\">{0}</a>", escape(&text));
            prop_assert!(roxmltree::Document::parse(&xml).is_ok(), "{:?}", xml);
        }

        #[test]
        fn clean_text_cannot_drive_a_terminal(text in any::<String>()) {
            prop_assert!(!clean(&text).contains(|c: char| c.is_control() || rtscope_record::text::acts(c)));
        }
    }
}
