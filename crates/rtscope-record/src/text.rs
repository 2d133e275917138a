//! Makes foreign text harmless: characters that a terminal would act on, instead of showing them, are escaped.
//!
//! Load names, labels, warnings, command lines and file names come from elsewhere. An escape sequence in them could colour a
//! verdict, overwrite a printed line, or send input in the user's name. A character that reorders or hides text could make a name
//! look like another.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a terminal acts on this character instead of showing it: control characters (C0, DEL, C1) except line ends and tabs,
/// characters that reorder text or break lines in other ways, and invisible ones.
#[inline]
pub fn acts(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control() && !matches!(c, '\n' | '\t');
    }
    let unseen = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}');
    let orders = matches!(c, '\u{2028}'..='\u{202e}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    c.is_control() || unseen || orders
}

/// Whether `text` has a character for which `acts` is true. `harmless` names ASCII bytes besides the printable ones that certainly
/// don't act. Nearly all text is printable ASCII, which is skipped in whole pieces.
fn has(text: &str, harmless: impl Fn(u8) -> bool, acts: impl Fn(char) -> bool) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        // Folds over the whole piece without an early exit, so that the compiler can vectorize it.
        let piece = &bytes[at..bytes.len().min(at + PIECE)];
        if piece.iter().fold(true, |all, &b| all & (matches!(b, b' '..=b'~') | harmless(b))) {
            at += piece.len();
            continue;
        }
        // If the piece ends inside a character, extend it to the character's end.
        let mut end = at + piece.len();
        while !text.is_char_boundary(end) {
            end += 1;
        }
        if text[at..end].contains(&acts) {
            return true;
        }
        at = end;
    }
    false
}

const PIECE: usize = 64;

/// `text` with every character that [`acts`] escaped: `\x1b`, `\u{202e}`. A carriage return before a line end is dropped, because
/// ssh and others end lines with both.
///
/// ```
/// assert_eq!(rtscope_record::text::visible("load\x1b[2J\r\n"), "load\\x1b[2J\n");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if !has(text, |b| matches!(b, b'\n' | b'\t'), acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '\r' && rest.peek() == Some(&'\n') {
            continue;
        }
        put(&mut out, c);
    }
    Cow::Owned(out)
}

/// [`visible`] on one line: line ends and other white space become blanks.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    if !has(text, |_| false, |c| acts(c) || matches!(c, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if c.is_whitespace() { out.push(' ') } else { put(&mut out, c) }
    }
    Cow::Owned(out)
}

fn put(out: &mut String, c: char) {
    // Writing to a String can't fail.
    let _ = match u32::from(c) {
        code if acts(c) && code < 0x80 => write!(out, "\\x{code:02x}"),
        code if acts(c) => write!(out, "\\u{{{code:x}}}"),
        _ => {
            out.push(c);
            Ok(())
        }
    };
}

/// JSON for a terminal: characters in strings that [`acts`] are written as `\u` escapes, which mean the same. JSON itself escapes
/// only characters below U+0020, so only strings are affected.
pub fn json(json: &str) -> Cow<'_, str> {
    let acts = |c: char| acts(c) && c != '\r';
    if !has(json, |b| matches!(b, b'\r' | b'\n' | b'\t'), acts) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if acts(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_acts_is_shown() {
        for (text, shown) in [
            ("plain, µs, \u{1f980}, שלום\n\tx", "plain, µs, \u{1f980}, שלום\n\tx"),
            ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
            ("a\rb\r\nc\x7f\0", "a\\x0db\nc\\x7f\\x00"),
            ("\u{9b}31m \u{85}", "\\u{9b}31m \\u{85}"),
            ("\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}\u{e0041}", "\\u{202e}\\u{2066}\\u{200b}\\u{feff}\\u{2028}\\u{e0041}"),
        ] {
            assert_eq!(visible(text), shown);
        }
        assert_eq!(visible_line("a\x1bb\r\n\tc\u{2028}d"), "a\\x1bb   c d");
        assert_eq!(json("{\"\u{9b}\u{e0041}\x7f\":\"é\"}"), r#"{"\u009b\udb40\udc41\u007f":"é"}"#);
    }

    #[test]
    fn a_character_alone_is_shown_unless_it_acts() {
        for c in (0..=u8::MAX).map(char::from) {
            let alone = c.to_string();
            assert_eq!(visible(&alone) == alone, !acts(c), "{c:?}");
            assert_eq!(visible_line(&alone) == alone, !acts(c) && !matches!(c, '\n' | '\t'), "{c:?}");
            assert_eq!(json(&alone) == alone, !acts(c) || c == '\r', "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_acts_is_left(text in any::<String>()) {
            prop_assert!(!visible(&text).contains(acts));
            prop_assert!(!visible_line(&text).contains(|c: char| acts(c) || c == '\n' || c == '\t'));
            let written = serde_json::to_string(&text).unwrap();
            let safe = json(&written);
            prop_assert!(!safe.contains(acts));
            prop_assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
        }
    }

    proptest! {
        #[test]
        fn pieces_are_looked_at_as_the_whole(text in prop::collection::vec("[ -~]{50,70}|é{0,3}|\u{9b}|\n|\u{1f980}", 0..6)) {
            let text = text.concat();
            let all = |harmless: &[char]| text.chars().any(|c| acts(c) || c.is_ascii_control() && !harmless.contains(&c));
            prop_assert_eq!(matches!(visible(&text), Cow::Owned(_)), all(&['\n', '\t']));
            prop_assert_eq!(matches!(visible_line(&text), Cow::Owned(_)), all(&[]));
            prop_assert_eq!(matches!(json(&text), Cow::Owned(_)), all(&['\n', '\t', '\r']));
        }
    }

    #[test]
    fn what_acts_begins_and_ends_at_these_characters() {
        for (first, last) in [
            ('\0', '\x08'),
            ('\x0b', '\x1f'),
            ('\x7f', '\u{9f}'),
            ('\u{ad}', '\u{ad}'),
            ('\u{61c}', '\u{61c}'),
            ('\u{180e}', '\u{180e}'),
            ('\u{200b}', '\u{200f}'),
            ('\u{2028}', '\u{202e}'),
            ('\u{2060}', '\u{206f}'),
            ('\u{feff}', '\u{feff}'),
            ('\u{fff9}', '\u{fffb}'),
            ('\u{e0000}', '\u{e007f}'),
        ] {
            assert!((first..=last).all(acts), "{first:?}");
            let before = u32::from(first).checked_sub(1).and_then(char::from_u32);
            let after = char::from_u32(u32::from(last) + 1).unwrap();
            assert!(before.is_none_or(|c| !acts(c)) && !acts(after), "{first:?}");
        }
    }

    #[test]
    fn harmless_text_is_not_copied() {
        for text in ["", "plain\n\tµs"] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
        }
        assert!(matches!(visible_line("plain µs"), Cow::Borrowed("plain µs")));
        // Between the strings of JSON there may be line ends of either kind.
        assert!(matches!(json("{\r\n\t\"a\": \"é\"\r}"), Cow::Borrowed("{\r\n\t\"a\": \"é\"\r}")));
    }

    #[test]
    fn a_character_is_written_by_its_number() {
        assert_eq!(visible("\x7f\u{80}\u{ad}"), "\\x7f\\u{80}\\u{ad}");
        assert_eq!(visible("a\r\r\nb\r"), "a\\x0d\nb\\x0d");
        assert_eq!(
            (visible_line("a\nb"), visible_line("a\tb"), visible_line("a\u{85}b")),
            ("a b".into(), "a b".into(), "a b".into())
        );
    }
}
