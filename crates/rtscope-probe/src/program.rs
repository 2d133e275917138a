//! The command line of `rtscope-probe`.

use crate::{build, by_hand, serve, spool};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

const HELP: &str = "\
rtscope-probe: takes a measurement on the machine it runs on (part of rtscope)

Usage: rtscope-probe             one plan (a line of JSON) on standard input; its end ends the run early
       rtscope-probe PLAN.json   the plan from a file; SIGINT or SIGTERM ends the run early
       rtscope-probe timer SECONDS
                                 by hand, where rtscope is not: wake-up latency on every CPU, as a table
       rtscope-probe --version

Events go to standard output, one JSON object a line; the last is the record or the error.
Exit codes: 0 a record was written, 2 the plan was wrong, 3 it could not measure.
";

/// Does what `arguments` (without the program's name) ask for. Returns the exit code.
pub fn main(arguments: &[OsString]) -> u8 {
    let mut out = std::io::stdout();
    let words: Vec<&str> = arguments.iter().map(|a| a.to_str().unwrap_or_default()).collect();
    if !words.is_empty() {
        // The parent may have blocked signals until the plan is read.
        rtscope_sys::signals::at_start();
    }
    match words.as_slice() {
        [] => serve::serve(std::io::stdin(), &mut out, false),
        ["--version" | "-V"] => say(&mut out, &format!("rtscope-probe {}\n", build::described()), 0),
        ["--help" | "-h"] => say(&mut out, HELP, 0),
        ["timer", seconds] => by_hand::timer(seconds, &mut out),
        // Requests of a driver on another machine, explained in `spool`.
        ["keep", dir] => spool::keep(Path::new(dir), std::io::stdin(), &mut out),
        ["follow", dir, at] => match at.parse() {
            Ok(at) => spool::follow(Path::new(dir), at, std::io::stdin(), &mut out),
            Err(_) => say(&mut std::io::stderr(), HELP, 2),
        },
        ["keeper", dir] => spool::keeper(Path::new(dir)),
        ["dut", plan] => spool::dut(Path::new(plan), &mut out),
        [_] => match rtscope_files::open_stream(Path::new(&arguments[0])) {
            Ok(plan) => serve::serve(plan, &mut out, true),
            Err(e) => {
                let name = arguments[0].to_string_lossy();
                say(&mut std::io::stderr(), &format!("rtscope-probe: {}: {e}\n", rtscope_record::text::visible_line(&name)), 2)
            }
        },
        _ => say(&mut std::io::stderr(), HELP, 2),
    }
}

fn say(to: &mut impl Write, text: &str, code: u8) -> u8 {
    if to.write_all(text.as_bytes()).is_ok() { code } else { 3 }
}

#[cfg(test)]
mod tests {
    use super::HELP;

    #[test]
    fn the_man_page_has_every_call_of_the_help() {
        let page = include_str!("../../../packaging/files/rtscope-probe.1").replace("\\-", "-");
        // Without roff's requests for bold and italic it is plain text.
        let words: Vec<&str> = page.split_whitespace().filter(|w| ![".B", ".I", ".br"].contains(w)).collect();
        let page = words.join(" ");
        let calls: Vec<&str> = HELP.lines().filter_map(|l| l.split("rtscope-probe ").nth(1)?.split("  ").next()).collect();
        assert_eq!(calls.len(), 4, "{calls:?}");
        for call in calls {
            assert!(page.contains(format!("rtscope-probe {call}").trim_end()), "{call}: {page}");
        }
    }
}
