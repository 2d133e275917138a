//! `rtscope demo`: shows on this machine and in the lab what rtscope does, by its own commands, which it prints.

use crate::args::Demo;
use crate::cmd::stop::stop_on_signals;
use crate::config::{self, Context};
use crate::error::Code;
use crate::output;
use rtscope_failure::{Explain as _, Failure};
use rtscope_lab::kernels::Arch;
use rtscope_lab::vm::Guests;
use rtscope_load::{Load, StopHandle};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{IsTerminal as _, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Instant;

/// A command of the demo that did not end as it should.
struct Stopped(Code);

/// A command that runs beside others, and is ended with this unless it goes on alone.
struct Beside(Option<std::io::Result<Child>>);

impl Beside {
    fn on(mut self) -> std::io::Result<Child> {
        self.0.take().unwrap_or_else(|| Err(std::io::ErrorKind::NotFound.into()))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(Ok(child)) = &mut self.0 {
            // One that has ended is not reaped yet, so that no other process has its number.
            let _ = kill_process(Pid::from_child(child), Signal::INT);
            let _ = child.wait();
        }
    }
}

/// A command beside others whose results are shown later.
struct Kept {
    words: String,
    child: Beside,
    results: Option<File>,
}

/// Runs commands of this very program with the demo's archive, and keeps how long they took.
struct Stage<'a> {
    context: &'a Context,
    dir: &'a Path,
    stop: &'a StopHandle,
    took: Vec<(&'static str, u64)>,
    /// Runs that were taken.
    runs: u32,
}

impl Stage<'_> {
    /// What comes next, in a sentence.
    fn say(&self, what: &str) {
        self.context.say(&format!("rtscope: {what}"));
    }

    /// Runs a command, which takes `runs` runs.
    fn run(&mut self, part: &'static str, words: &str, runs: u32) -> Result<(), Stopped> {
        let code = self.command(part, words, Stdio::inherit())?;
        self.took_runs(code, runs)
    }

    /// This very program, with these words and the demo's archive.
    fn own(&self, words: &str, quiet: bool, out: Stdio) -> std::io::Result<Child> {
        let mut command = rtscope_sys::process::command("/proc/self/exe");
        command.args(words.split(' ')).env("RTSCOPE_ARCHIVE", self.dir.join("archive.db"));
        if quiet {
            command.arg("--quiet");
        }
        // Results that are kept in a file first are for the same eyes.
        if output::colour() {
            command.env("CLICOLOR_FORCE", "1");
        }
        if std::io::stdout().is_terminal() {
            command.env("COLUMNS", output::width().to_string());
        }
        command.stdin(Stdio::null()).stdout(out).spawn()
    }

    /// Starts a command beside others. Its results are kept until [`Stage::show`].
    fn kept(&self, words: &str) -> Kept {
        let memory = memfd_create("results", MemfdFlags::CLOEXEC).map(File::from).map_err(std::io::Error::from);
        let started = memory.and_then(|file| Ok((self.own(words, true, file.try_clone()?.into())?, file)));
        let (child, results) = started.map_or_else(|e| (Err(e), None), |(child, file)| (Ok(child), Some(file)));
        Kept { words: words.to_owned(), child: Beside(Some(child)), results }
    }

    /// Waits for a command that took `runs` runs, and shows its results.
    fn show(&mut self, part: &'static str, kept: Kept, runs: u32) -> Result<(), Stopped> {
        let code = self.shown(part, kept)?;
        self.took_runs(code, runs)
    }

    /// Waits for a command, and shows its results. Returns its exit code.
    fn shown(&mut self, part: &'static str, kept: Kept) -> Result<i32, Stopped> {
        self.context.say(&format!("\n$ rtscope {}", kept.words));
        let code = self.end(part, kept.child.on())?;
        let mut text = String::new();
        if let Some(mut file) = kept.results {
            let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
            read.and_then(|_| std::io::stdout().write_all(text.as_bytes())).map_err(|_| Stopped(Code::Failed))?;
        }
        Ok(code)
    }

    /// An INVALID run (exit code 4) is still worth a look: the table says why.
    fn took_runs(&mut self, code: i32, runs: u32) -> Result<(), Stopped> {
        match code {
            0 | 4 => {
                self.runs += runs;
                Ok(())
            }
            2 => Err(Stopped(Code::Usage)),
            130 => Err(Stopped(Code::Interrupted)),
            _ => Err(Stopped(Code::Failed)),
        }
    }

    /// Runs a command with its results to `out`. Returns its exit code.
    fn command(&mut self, part: &'static str, words: &str, out: Stdio) -> Result<i32, Stopped> {
        self.context.say(&format!("\n$ rtscope {words}"));
        let child = self.own(words, self.context.quiet, out);
        self.end(part, child)
    }

    /// Waits for a command. Returns its exit code.
    fn end(&mut self, part: &'static str, child: std::io::Result<Child>) -> Result<i32, Stopped> {
        let began = Instant::now();
        let status = child.and_then(|mut child| {
            // Ctrl-C is for it too, a signal to this process alone is not.
            let pid = Pid::from_child(&child);
            self.stop.on_stop(move || {
                let _ = kill_process(pid, Signal::INT);
            });
            let status = child.wait();
            self.stop.on_stop(|| {});
            status
        });
        if self.stop.is_stopped() {
            return Err(Stopped(Code::Interrupted));
        }
        let seconds = began.elapsed().as_secs();
        match self.took.iter_mut().find(|(p, _)| *p == part) {
            Some((_, s)) => *s += seconds,
            None => self.took.push((part, seconds)),
        }
        match status {
            // A signal that ended it was for this process too.
            Ok(status) => Ok(status.code().unwrap_or(130)),
            Err(e) => {
                output::failure(&Failure::machine(format!("rtscope can't start itself: {e}"), "is /proc mounted?"));
                Err(Stopped(Code::Failed))
            }
        }
    }
}

/// Runs the demo.
pub(crate) fn run(context: &Context, a: &Demo) -> Result<Code, Failure> {
    let dir = match &a.dir {
        Some(dir) => dir.clone(),
        None => config::data_dir()?.join("demo"),
    };
    rtscope_files::output_dir(&dir).or_machine(dir.display(), "name another one: --dir DIR")?;
    let dir = dir.canonicalize().or_machine(dir.display(), "name another one: --dir DIR")?;
    // Ctrl-C ends the command under way, which keeps what it has; this process sees it end.
    let stop = stop_on_signals()?;
    let mut stage = Stage { context, dir: &dir, stop: &stop, took: Vec::new(), runs: 0 };
    let with_lab = !a.no_lab && has_lab(&stage);
    let shown = this_machine(&mut stage).and_then(|()| if with_lab { lab(&mut stage) } else { Ok(()) });
    let code = match shown {
        Ok(()) => Code::Done,
        Err(Stopped(code)) => code,
    };
    if stage.runs > 0 && code != Code::Interrupted {
        let page = dir.join("report.html");
        let last = format!("last={}", stage.runs);
        let took: Vec<String> = stage.took.iter().map(|(part, s)| format!("{part} {s} s")).collect();
        stage.say(&format!("took: {}; all of it on one page:", took.join(", ")));
        let mut report = rtscope_sys::process::command("/proc/self/exe");
        report.args(["report", &last, "--title", "rtscope demo", "-o"]).arg(&page).env("RTSCOPE_ARCHIVE", dir.join("archive.db"));
        let made = report.stdin(Stdio::null()).status().is_ok_and(|s| s.success());
        if code == Code::Done && !made {
            return Ok(Code::Failed);
        }
    }
    Ok(code)
}

/// This machine: every CPU, then under the loads, then from an edge to its answer.
fn this_machine(stage: &mut Stage<'_>) -> Result<(), Stopped> {
    const HERE: &str = "this machine";
    stage.say("wake-up latency on every CPU, 2 s");
    stage.run(HERE, "measure timer -D 2s", 1)?;
    let (here, without): (Vec<&str>, Vec<&str>) = LOADS.into_iter().partition(|name| missing(name).is_empty());
    if !without.is_empty() {
        let tools: BTreeSet<&str> = without.iter().flat_map(|name| missing(name)).collect();
        let tools = tools.into_iter().collect::<Vec<_>>().join(" and ");
        stage.say(&format!("left out, as {tools} is not installed here (`rtscope loads` says how): {}", without.join(", ")));
    }
    if !here.is_empty() {
        stage.say(&format!("the same under {}, 1 s each", here.join(", ")));
        stage.run(
            HERE,
            &format!("measure timer -D 1s --load {}", here.join(",")),
            u32::try_from(here.len()).unwrap_or(u32::MAX),
        )?;
    }
    stage.say("response over software lines: from the edge that one task drives to the answer of another, 1 s");
    stage.run(HERE, "measure response --stimulus soft:demo-a --answer soft:demo-b -D 1s", 1)
}

/// The loads that are shown.
const LOADS: [&str; 5] = ["background", "calculation", "disk", "network", "full"];

/// The tools of a load that are not installed here.
fn missing(load: &str) -> Vec<&'static str> {
    Load::parse(load).map(|l| l.missing_tools()).unwrap_or_default()
}

/// Whether virtual machines can be started here. Asked before kernels are fetched, which would be for nothing otherwise.
fn has_lab(stage: &Stage<'_>) -> bool {
    let missing = Guests::check_host(Arch::host()).err();
    if let Some(e) = &missing {
        stage.say(&e.to_string());
        stage.say(&format!(
            "so the lab's part is left out, and nothing is fetched for it: it comes with the package rtscope-lab (in a checkout: ./x guest {})",
            Arch::host()
        ));
    }
    missing.is_none()
}

/// Whether a kernel could be fetched, by the exit code of the command.
fn had(stage: &Stage<'_>, code: i32) -> Result<bool, Stopped> {
    match code {
        0 => Ok(true),
        130 => Err(Stopped(Code::Interrupted)),
        _ => {
            stage.say("the rest of the lab's part is left out: what it needs can't be had here (see above); the same command tries it again");
            Ok(false)
        }
    }
}

/// The part of the demo in virtual machines.
const LAB: &str = "lab";

/// The lab: Debian's stock kernel against its PREEMPT_RT sister. What else the machine does takes nothing of a guest's virtual time, so
/// that virtual machines run beside each other.
fn lab(stage: &mut Stage<'_>) -> Result<(), Stopped> {
    const FETCHED: &str = "kernels fetched";
    let [stock, rt] = ["debian/6.12", "debian/6.12-rt"].map(|k| format!("{k}/{}", Arch::host()));
    stage.say("Debian's stock kernel 6.12 against its PREEMPT_RT kernel, in virtual machines with a clock of their own");
    stage.say("the first time both kernels and the guest's tools are fetched from Debian (about 290 MB, kept in the cache)");
    let fetch = |kernel: &str| format!("lab kernels fetch {kernel}");
    let wake_ups = |kernel: &str| format!("measure timer --target lab:{kernel} -i 200us -D 200ms --load none,network");
    let cause = |kernel: &str| format!("explain target=lab:{kernel},test=timer,load=network,last=1");
    let response = |kernel: &str, space: &str| format!("measure response --target lab:{kernel} --space {space} -D 250ms");
    let code = stage.command(FETCHED, &fetch(&stock), Stdio::null())?;
    if !had(stage, code)? {
        return Ok(());
    }
    // Each virtual machine keeps one CPU busy: two at a time.
    stage.say("its wake-up latency is being measured, 1,000 times under each of two loads; meanwhile the other kernel is fetched");
    let stocks = stage.kept(&wake_ups(&stock));
    let code = stage.command(FETCHED, &fetch(&rt), Stdio::null())?;
    let both = had(stage, code)?;
    let rts = both.then(|| stage.kept(&wake_ups(&rt)));
    stage.show(LAB, stocks, 2)?;
    let Some(rts) = rts else { return Ok(()) };
    stage.say("why the worst of these was so late; meanwhile the other kernel is measured");
    let why = stage.kept(&cause(&stock));
    stage.show(LAB, rts, 2)?;
    let other = stage.kept(&cause(&rt));
    explained(stage.shown(LAB, why)?)?;
    let stocks = ["user", "kernel"].map(|space| stage.kept(&response(&stock, space)));
    explained(stage.shown(LAB, other)?)?;
    stage.run(LAB, "compare test=timer,last=4", 0)?;
    stage.say("response over a GPIO in the same kernels: a task in user space, and an interrupt handler in the kernel");
    let rts = ["user", "kernel"].map(|space| stage.kept(&response(&rt, space)));
    for kept in stocks.into_iter().chain(rts) {
        stage.show(LAB, kept, 1)?;
    }
    stage.run(LAB, "compare test=response,last=4", 0)
}

/// Where a sample can't be explained the error says why, and the rest stands.
fn explained(code: i32) -> Result<(), Stopped> {
    if code == 130 { Err(Stopped(Code::Interrupted)) } else { Ok(()) }
}
