//! The spool's events: one per line, and which of them is the last.

use crate::protocol::Event;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Writes one event.
pub(super) fn say(out: &mut dyn Write, event: &Event) -> io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// Only the kind of an event: the code that reads a whole record is a fifth of the program, and belongs to the driver.
#[derive(Deserialize)]
struct Word {
    event: String,
}

/// Whether the spool's last line is complete and one of the final events.
pub(super) fn has_last_word(dir: &Path) -> io::Result<bool> {
    let (_, line) = last_line(dir)?;
    let word: Option<Word> = line.ends_with(b"\n").then(|| serde_json::from_slice(&line).ok()).flatten();
    Ok(word.is_some_and(|w| Event::LAST.contains(&w.event.as_str())))
}

/// The spool's last line, complete or not, and its offset. The spool may be long, so it is read from the end.
pub(super) fn last_line(dir: &Path) -> io::Result<(u64, Vec<u8>)> {
    let mut spool = File::open(dir.join("events"))?;
    let all = spool.metadata()?.len();
    let mut part = 1 << 16;
    loop {
        let from = all.saturating_sub(part);
        spool.seek(SeekFrom::Start(from))?;
        let mut text = vec![0; usize::try_from(all - from).unwrap_or(usize::MAX)];
        spool.read_exact(&mut text)?;
        let before = text.strip_suffix(b"\n").unwrap_or(&text).iter().rposition(|&b| b == b'\n');
        if before.is_some() || from == 0 {
            let at = before.map_or(0, |at| at + 1);
            return Ok((from + at as u64, text.split_off(at)));
        }
        part *= 4;
    }
}
