//! Plain lists of numbers.

use rtscope_failure::Failure;
use rtscope_record::text::visible_line;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Longest line, bytes.
const LONGEST: u64 = 1 << 20;
/// Most characters of a word that an error repeats.
const SHOWN: usize = 40;

/// The numbers of a file, or of standard input for `-`; `most` of them at most.
pub(super) fn read(file: &Path, most: u64) -> Result<Vec<f64>, Failure> {
    let place = file.display().to_string();
    if file.as_os_str() == "-" {
        return numbers(rtscope_files::standard_input().map_err(|e| unreadable(&place, &e))?, &place, most);
    }
    let opened = rtscope_files::open_stream(file).map_err(|e| unreadable(&place, &e))?;
    numbers(BufReader::with_capacity(1 << 16, opened), &place, most)
}

fn unreadable(place: &str, e: &io::Error) -> Failure {
    Failure::machine(format!("{place}: {e}"), "name a readable file, or `-` for standard input")
}

fn numbers(mut from: impl BufRead, place: &str, most: u64) -> Result<Vec<f64>, Failure> {
    let mut values: Vec<f64> = Vec::new();
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let read = from.by_ref().take(LONGEST + 1).read_until(b'\n', &mut line).map_err(|e| unreadable(place, &e))?;
        if read == 0 {
            break;
        }
        let wrong = |what: String| {
            Failure::usage(format!("{place}: line {number}: {what}"), "one or more numbers a line; `#` begins a remark")
        };
        if line.len() as u64 > LONGEST {
            return Err(wrong(format!("it is longer than {LONGEST} bytes")));
        }
        let text = std::str::from_utf8(&line).map_err(|_| wrong("it is not text (UTF-8)".into()))?;
        let text = if number == 1 { text.trim_start_matches('\u{feff}') } else { text };
        let text = text.split('#').next().unwrap_or_default();
        for word in text.split(|c: char| c.is_whitespace() || c == ',' || c == ';').filter(|w| !w.is_empty()) {
            let shown = || visible_line(&word.chars().take(SHOWN).collect::<String>()).into_owned();
            let value: f64 = word.parse().map_err(|_| wrong(format!("`{}` is no number", shown())))?;
            if !value.is_finite() {
                return Err(wrong(format!("`{}` is not a finite number", shown())));
            }
            if values.len() as u64 >= most {
                let remedy = "give block maxima, or raise the limit: --memory-limit 4GiB";
                return Err(Failure::usage(format!("{place}: more than {most} values"), remedy));
            }
            values.push(value);
        }
    }
    if values.is_empty() {
        return Err(Failure::usage(format!("{place}: it holds no number"), "one or more numbers a line"));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &[u8]) -> Result<Vec<f64>, String> {
        numbers(text, "x", 5).map_err(|f| f.message)
    }

    #[test]
    fn lists_are_read() {
        assert_eq!(of(b"1\n2.5 # two\n\n# none\n-3e2,4;\t5\r\n"), Ok(vec![1.0, 2.5, -300.0, 4.0, 5.0]));
        assert_eq!(of("\u{feff}7".as_bytes()), Ok(vec![7.0]));
        assert_eq!(of(b"1\n2\nthree\n"), Err("x: line 3: `three` is no number".into()));
        assert_eq!(of(b"1\nNaN"), Err("x: line 2: `NaN` is not a finite number".into()));
        assert_eq!(of(b"1e999"), Err("x: line 1: `1e999` is not a finite number".into()));
        assert_eq!(of(b"\x1b[2J"), Err("x: line 1: `\\x1b[2J` is no number".into()));
        assert_eq!(of(b"\n# only\n"), Err("x: it holds no number".into()));
        assert_eq!(of(b"1 2 3 4 5 6"), Err("x: more than 5 values".into()));
        assert!(of(&[0xff]).unwrap_err().contains("not text"));
        assert!(of(&vec![b' '; usize::try_from(LONGEST + 2).unwrap()]).unwrap_err().contains("longer than"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(values) = of(&bytes) {
                prop_assert!(values.iter().all(|v| v.is_finite()) && !values.is_empty());
            }
        }
    }
}
