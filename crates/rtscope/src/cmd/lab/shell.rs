//! `rtscope lab shell`: a look inside a guest, which ends as its shell ends.

use super::guest::open;
use crate::args::lab::Shell;
use crate::config::Context;
use crate::error::Code;
use crate::output;
use rtscope_failure::{Explain, Failure};
use std::io::{self, IsTerminal, Read, Write};
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

/// Runs a shell in the guest, on this terminal.
pub(super) fn shell(context: &Context, a: &Shell) -> Result<Code, Failure> {
    let guest = open(context, &a.kernel, a.guest.options()?)?;
    context.say("the guest boots; `exit` ends it");
    let mut command = guest.interactive();
    // A terminal is QEMU's own, for its keys; what comes from elsewhere is typed once the shell is there.
    let typed = !io::stdin().is_terminal();
    command.stdin(if typed { Stdio::piped() } else { Stdio::inherit() }).stdout(Stdio::piped());
    let mut machine = command.spawn().or_machine("QEMU can't be started", "is it installed?")?;
    let failed = |e: io::Error| Failure::machine(format!("following the guest: {e}"), "report this");
    let (mut keyboard, mut screen) = (machine.stdin.take(), machine.stdout.take());
    let (mut view, mut piece) = (View::default(), [0; 4096]);
    let unread = Arc::new(OnceLock::new());
    while let Some(n) = screen.as_mut().map(|s| s.read(&mut piece)).transpose().map_err(failed)?.filter(|n| *n > 0) {
        output::exact(&view.take(&piece[..n]))?;
        if let Some(mut keyboard) = keyboard.take_if(|_| view.is_ready()) {
            let unread = Arc::clone(&unread);
            // This thread ends with the process if the guest ends first.
            thread::spawn(move || type_all(&mut io::stdin(), &mut keyboard, PAUSE, &unread));
        }
    }
    let status = machine.wait().map_err(failed)?;
    let (code, rest) = view.end();
    output::exact(&rest)?;
    if let Some(e) = unread.get() {
        return Err(Failure::machine(format!("reading what is to be typed: {e}"), "name a file that can be read, or type it"));
    }
    match code {
        Some(0) => Ok(Code::Done),
        Some(code) => Ok(Code::Own(code)),
        None if status.success() => Err(Failure::machine("the guest ended without its shell", "see what it said")),
        None => Err(Failure::machine(format!("QEMU ended: {status}"), "see what it said")),
    }
}

/// Prompt of the guest's shell, when it is ready for input. A booting machine loses what is typed.
const PROMPT: &[u8] = b"lab# ";
/// Ctrl-D.
const END_OF_INPUT: u8 = 4;
/// Between one Ctrl-D and the next.
const PAUSE: Duration = Duration::from_secs(1);
/// End of the line with which the guest's own program makes way for the shell; a random token follows in brackets.
const BEGINS: &[u8] = b"`exit` ends the machine [";

/// How the guest's own program begins to speak again, with the token: what the shell's programs print does not begin so.
fn ends(token: &[u8]) -> Vec<u8> {
    [b"rtscope-guest: [", token, b"] the shell ended: "].concat()
}

/// Types all of `input`, and at its end Ctrl-D for as long as the guest runs: one that comes while the shell's program runs ends that
/// program's input, or is lost, but not the shell's. A last line without an end is given one: Ctrl-D ends no line that has begun.
/// What `input` can't be read for is put into `unread`.
fn type_all(input: &mut impl Read, keyboard: &mut impl Write, pause: Duration, unread: &OnceLock<io::Error>) {
    let (mut piece, mut last) = ([0; 4096], b'\n');
    // What can't be written is nobody's: the guest has ended.
    loop {
        match input.read(&mut piece) {
            Ok(0) => break,
            Ok(n) if keyboard.write_all(&piece[..n]).is_err() => return,
            Ok(n) => last = piece[n - 1],
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => {
                let _ = unread.set(e);
                break;
            }
        }
    }
    if last != b'\n' && keyboard.write_all(b"\n").is_err() {
        return;
    }
    while keyboard.write_all(&[END_OF_INPUT]).is_ok() {
        thread::sleep(pause);
    }
}

/// The guest's console, without what is before and after its shell.
#[derive(Debug, Default)]
struct View {
    /// What is not shown yet, and perhaps never.
    held: Vec<u8>,
    /// How its end begins, once the shell has begun.
    ends: Option<Vec<u8>>,
    /// The end of what the shell said, where a prompt may stand.
    tail: Vec<u8>,
    ready: bool,
}

impl View {
    /// What is to be shown of what was held and of `piece`.
    fn take(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        let mut new = piece.len();
        if self.ends.is_none() {
            let Some(at) = find(&self.held, BEGINS) else { return Vec::new() };
            let Some(line) = self.held[at..].iter().position(|b| *b == b'\n') else { return Vec::new() };
            let line: Vec<u8> = self.held.drain(..=at + line).skip(at + BEGINS.len()).collect();
            self.ends = Some(ends(line.split(|b| *b == b']').next().unwrap_or_default()));
            new = self.held.len();
        }
        let ends = self.ends.as_deref().unwrap_or_default();
        self.tail.extend_from_slice(&self.held[self.held.len() - new..]);
        self.ready = self.ready || find(&self.tail, PROMPT).is_some();
        self.tail.drain(..self.tail.len().saturating_sub(PROMPT.len()));
        // The end of what is there may be the beginning of these words.
        let begins = || (0..=self.held.len()).find(|at| ends.starts_with(&self.held[*at..]));
        let keep = find(&self.held, ends).or_else(begins).unwrap_or(self.held.len());
        self.held.drain(..keep).collect()
    }

    /// Whether the shell has asked for input.
    fn is_ready(&self) -> bool {
        self.ready
    }

    /// The shell's exit status, and what else is to be shown: all of it if there was no shell.
    fn end(self) -> (Option<u8>, Vec<u8>) {
        let digits = self.ends.as_deref().and_then(|ends| self.held.strip_prefix(ends));
        let digits: String = digits.unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).map(|b| char::from(*b)).collect();
        match digits.parse() {
            Ok(code) => (Some(code), Vec::new()),
            Err(_) => (None, self.held),
        }
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|w| w == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOT: &str = "[    0.1] Linux\r\nrtscope-guest 0.1.0\r\nrtscope-guest: no job will come (x); here is a shell, `exit` ends the machine [f00-1]\r\n";
    const END: &str = "rtscope-guest: [f00-1] the shell ended: 7\r\nrtscope-guest: the agent ended: exit status: 7\r\n[    9.1] reboot: Restarting system\r\n";

    /// What is shown of a console that comes in pieces of `size` bytes, and the exit status.
    fn shown(console: &str, size: usize) -> (String, Option<u8>) {
        let mut view = View::default();
        let mut out: Vec<u8> = console.as_bytes().chunks(size).flat_map(|p| view.take(p)).collect();
        let (code, rest) = view.end();
        out.extend(rest);
        (String::from_utf8(out).unwrap(), code)
    }

    #[test]
    fn only_the_shell_is_shown() {
        let said = "lab# uname\r\nLinux\r\nrtscope-guest: no end\r\nlab# exit 7\r\n";
        for size in [1, 2, 7, 64, 100_000] {
            assert_eq!(shown(&format!("{BOOT}{said}{END}"), size), (said.to_owned(), Some(7)));
        }
    }

    #[test]
    fn the_prompt_is_seen_in_any_pieces() {
        for size in [1, 3, 100_000] {
            let mut view = View::default();
            let mut ready = false;
            for piece in format!("lab# {BOOT}lab# ").as_bytes().chunks(size) {
                assert!(!ready);
                view.take(piece);
                ready = view.is_ready();
            }
            assert!(ready);
        }
    }

    /// A guest that ends at the third Ctrl-D.
    #[derive(Default)]
    struct Guest(Vec<u8>);

    impl Write for Guest {
        fn write(&mut self, typed: &[u8]) -> io::Result<usize> {
            if self.0.ends_with(&[END_OF_INPUT; 3]) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.0.extend_from_slice(typed);
            Ok(typed.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_last_line_and_the_end_of_the_input_reach_the_shell() {
        for (input, typed) in [("", ""), ("ls\nexit 7\n", "ls\nexit 7\n"), ("ls\nexit 7", "ls\nexit 7\n")] {
            let (mut guest, unread) = (Guest::default(), OnceLock::new());
            type_all(&mut input.as_bytes(), &mut guest, Duration::ZERO, &unread);
            assert_eq!(String::from_utf8(guest.0).unwrap(), format!("{typed}\u{4}\u{4}\u{4}"));
            assert!(unread.get().is_none());
        }
    }

    #[test]
    fn an_input_that_can_not_be_read_ends_there() {
        struct Torn;
        impl Read for Torn {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::IsADirectory.into())
            }
        }
        let (mut guest, unread) = (Guest::default(), OnceLock::new());
        type_all(&mut "ls".as_bytes().chain(Torn), &mut guest, Duration::ZERO, &unread);
        assert_eq!(guest.0, b"ls\n\x04\x04\x04");
        assert_eq!(unread.get().map(io::Error::kind), Some(io::ErrorKind::IsADirectory));
    }

    #[test]
    fn a_guest_without_a_shell_is_shown_whole() {
        assert_eq!(shown("[ 0.1] Kernel panic\r\n", 4), ("[ 0.1] Kernel panic\r\n".into(), None));
    }

    #[test]
    fn who_prints_the_last_words_hides_nothing_and_decides_nothing() {
        for like in [
            "rtscope-guest: [f00-2] the shell ended: 3",
            "rtscope-guest: the agent ended: exit status: 3",
            "[f00-1] the shell ended: 3",
        ] {
            let said = format!("lab# cat\r\n{like}\r\n");
            for size in [1, 7, 100_000] {
                assert_eq!(shown(&format!("{BOOT}{said}"), size), (said.clone(), None), "{like}");
                assert_eq!(shown(&format!("{BOOT}{said}{END}"), size), (said.clone(), Some(7)), "{like}");
            }
        }
    }
}
