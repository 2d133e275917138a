//! Points in time as records have them: RFC 3339, and only those that exist.

/// Whether `text` is a moment in RFC 3339 format that exists: `2026-11-21T08:00:00.5Z`. Second 60 is accepted only where leap
/// seconds are: as the last second of a day in UTC.
///
/// ```
/// use rtscope_record::moment::is_moment;
/// assert!(is_moment("2024-02-29T23:59:60Z") && !is_moment("2026-02-30T00:00:00Z"));
/// ```
pub fn is_moment(text: &str) -> bool {
    read(text.as_bytes()).is_some()
}

fn read(text: &[u8]) -> Option<()> {
    let (date, rest) = text.split_at_checked(10)?;
    let (year, month, day) = (number(&date[..4])?, number(&date[5..7])?, number(&date[8..])?);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    };
    let dated = date[4] == b'-' && date[7] == b'-' && (1..=12).contains(&month) && (1..=days).contains(&day);
    let (time, rest) = rest.split_at_checked(9)?;
    let (hour, minute, second) = (number(&time[1..3])?, number(&time[4..6])?, number(&time[7..])?);
    let timed = matches!(time[0], b'T' | b't' | b' ') && time[3] == b':' && time[6] == b':' && hour < 24 && minute < 60;
    let zone = fraction(rest)?;
    let shift = match zone {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
            let minutes = (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)?;
            if *sign == b'+' { -minutes } else { minutes }
        }
        _ => return None,
    };
    let leap = second == 60 && (hour * 60 + minute + shift).rem_euclid(24 * 60) == 24 * 60 - 1;
    (dated && timed && (second < 60 || leap)).then_some(())
}

/// The text after a fraction of a second, if there is one; `None` if the fraction has no digits.
fn fraction(rest: &[u8]) -> Option<&[u8]> {
    let Some(digits) = rest.strip_prefix(b".") else { return Some(rest) };
    let n = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    (n > 0).then(|| &digits[n..])
}

fn number(digits: &[u8]) -> Option<i32> {
    digits.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + i32::from(b - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments_and_what_looks_like_them() {
        for text in [
            "2026-11-21T08:00:00Z",
            "2026-11-21t08:00:00.123456789z",
            "2026-11-21 08:00:00+02:00",
            "2000-02-29T00:00:00Z",
            "2016-12-31T23:59:60Z",
            "2017-01-01T01:29:60.5+01:30",
            "0000-01-01T00:00:00-23:59",
            "9999-12-31T23:59:59Z",
        ] {
            assert!(is_moment(text), "{text}");
        }
        for text in [
            "",
            "9999-99-99",
            "9999-99-99T00:00:00Z",
            "2026-02-30T08:00:00Z",
            "2026-02-29T08:00:00Z",
            "1900-02-29T08:00:00Z",
            "2026-00-01T08:00:00Z",
            "2026-04-31T08:00:00Z",
            "2026-11-21T25:00:00Z",
            "2026-11-21T24:00:00Z",
            "2026-11-21T08:60:00Z",
            "2026-11-21T08:00:60Z",
            "2026-11-21T08:00:61Z",
            "2026-11-21T08:00Z",
            "2026-11-21T08:00:00",
            "2026-11-21T08:00:00.Z",
            "2026-11-21T08:00:00+24:00",
            "2026-11-21T08:00:00+02:60",
            "2026-11-21T08:00:00+0200",
            "2026-11-21T08:00:00Z ",
            "2026-1-21T08:00:00Z",
            "+026-11-21T08:00:00Z",
            "２026-11-21T08:00:00Z",
            "no time",
        ] {
            assert!(!is_moment(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_one_or_not(text in "\\PC{0,40}", moment in "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,3})?(Z|[+-][0-9]{2}:[0-9]{2})") {
            let _ = (is_moment(&text), is_moment(&moment));
        }
    }
}
