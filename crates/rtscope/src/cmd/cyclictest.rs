//! `rtscope cyclictest`: a drop-in for cyclictest, with the missed periods added as comment lines.

mod options;
mod words;

use crate::cmd::measure;
use crate::cmd::run::{Machine, Request, cpus};
use crate::config::Context;
use crate::error::Code;
use crate::output;
use options::Options;
use rtscope_archive::formats::cyclictest::{self as text, LiveLine, TextOptions};
use rtscope_failure::{Explain, Failure};
use rtscope_load::{Load, StopHandle};
use rtscope_probe::protocol::{Event, Live};
use rtscope_record::{Record, Settings, Space, Test, Verdict};
use rtscope_run::session::SessionStep;
use std::ffi::OsString;

pub(crate) const HELP: &str = "\
rtscope cyclictest: a drop-in for cyclictest (rt-tests). Same flags, same text, same JSON; the grid points that were
passed over are added as `# Missed:` and `# Expected:` lines, and the record is kept in rtscope's archive.

Usage: rtscope cyclictest [OPTIONS]

  -a [CPUSET] --affinity        pin thread N to the N-th CPU of the set (0,2-3, all, or !0 or +0,1 of those that
                                may be used) [all that may be used]
  -A [USEC]   --aligned         start each further thread this much later
  -b USEC     --breaktrace      end the run at the first latency above USEC
  -c 0        --clock           CLOCK_MONOTONIC, the only one
  -d DIST     --distance        each further thread's interval is longer by DIST us [500; 0 with -h]
  -D TIME     --duration        how long; a number is seconds, or with m, h, d
  -h N        --histogram       print a histogram of N bins, a million at most
  -H N        --histofall       the same with a column for all threads
              --histfile=FILE   print the histogram to FILE
  -i USEC     --interval        interval of the first thread [1000]
              --json=FILE       results as JSON
              --laptop --default-system --latency=N   leave the idle states alone (N other than 0)
  -l N        --loops           samples of each thread [0: until interrupted]
  -m          --mlockall        lock memory
  -N          --nsecs           nanoseconds instead of microseconds
  -p PRIO     --priority        priority, of SCHED_FIFO [without: SCHED_OTHER]; 0 is one more than there are threads
              --policy=NAME     fifo, rr; other, batch and idle are SCHED_OTHER
              --priospread      each further thread one priority lower
  -q          --quiet           print only at the end
  -S          --smp             a thread on each CPU, all of one priority
  -t [N]      --threads         number of threads [1; without N one for each CPU]
  -v          --verbose         every sample as thread:cycle:latency

Taken, without effect: -M -n -o -R -u --dbg_cyclictest --mainaffinity --secaligned --tracemark, and words that are
no options. -V: the version.
Not provided: -F -r -s -U -x -X --deepest-idle-state --numa --smi --spike --spike-nodes.
Added: --rtscope-dialect=A|B   text as up to rt-tests 2.6 (A, the default) or as from 2.7 (B)
       --rtscope-load=NAME     name of the load to write into the record

Examples:
  rtscope cyclictest -l100000 -m -Sp90 -i200 -h400 -q >output      then mklatencyplot, as ever
  rtscope cyclictest -Sp95 -mq -D 1m --json=result.json

Exit codes: 0 done; 2 usage; 3 could not measure; 4 INVALID (priority or memory lock refused).
";

/// Prints the help text.
pub(crate) fn help() -> Result<Code, Failure> {
    output::result(HELP)?;
    Ok(Code::Done)
}

/// Runs like cyclictest: SIGINT ends the run with results and exit code 0.
pub(crate) fn run(words: Vec<OsString>) -> Result<Code, Failure> {
    let o = Options::parse(words)?;
    if o.help {
        return help();
    }
    if o.version {
        output::result(&format!("cyclictest V {} (rtscope)\n", env!("CARGO_PKG_VERSION")))?;
        return Ok(Code::Done);
    }
    for note in &o.notes {
        output::note(&format!("rtscope: {note}"));
    }
    let archive = std::env::var_os("RTSCOPE_ARCHIVE").map(Into::into);
    let context = Context::new(&crate::args::Global { archive, memory_limit: crate::args::values::Size(1 << 30), quiet: true })?;
    let allowed = cpus(None)?;
    let settings = o.settings(&allowed, &with_isolated(&allowed), measure::command())?;
    if let Some(priority) = o.chosen(&settings) {
        output::note(&format!("rtscope: the priority is {priority}, one more than there are threads, as in cyclictest"));
    }
    let format = TextOptions {
        dialect: o.dialect,
        histogram: o.histogram,
        sum: o.sum,
        nanoseconds: o.nanoseconds,
        quiet: o.quiet,
        missed: true,
        header: false,
    };
    // cyclictest handles SIGINT even if it was started with `&` (which ignores it): scripts end it by kill -INT, so that works
    // here too.
    let stop = StopHandle::new();
    super::stop::stop_quietly_on_signals(&stop)?;
    let none = Load::parse("none")?;
    let mut screen = Screen { o: &o, settings: &settings, format, again: false, error: None };
    let request = Request {
        id: measure::fresh_id(),
        test: Test::Timer,
        space: Space::User,
        load: &none,
        target: "local",
        lab: None,
        dut: None,
        settings: &settings,
        picture: false,
    };
    let measured = Machine::new(&context, None)?.execute(request, &stop, &mut |step| {
        if let SessionStep::Event(event) = step {
            screen.event(event);
        }
    });
    let (again, error) = (screen.again, screen.error);
    let mut record = measured?;
    if o.load != "none" {
        // The session ran no load: the caller says what ran beside it.
        let mut parts = record.into_parts();
        parts.load.clone_from(&o.load);
        record = Record::new(parts).or_machine("the record does not hold together", "report this")?;
    }
    measure::keep(&context, &record)?;
    if let Some(error) = error {
        return Err(error);
    }
    print(&record, &o, &format, again)?;
    for w in record.parts().warnings.iter().filter(|w| w.effect == rtscope_record::Effect::Invalid) {
        output::note(&format!("rtscope: INVALID: {}\n  try: {}", w.message, w.remedy));
    }
    Ok(if record.verdict() == Verdict::Invalid { Code::Verdict } else { Code::Done })
}

/// Prints the results in the forms that were asked for.
fn print(record: &Record, o: &Options, format: &TextOptions, again: bool) -> Result<(), Failure> {
    if let Some(path) = &o.json {
        let json = text::write_json(record, format)?;
        super::report::write(path, json.as_bytes())?;
    }
    // A histogram that goes to its file is not in the text.
    let shown = TextOptions { histogram: format.histogram.filter(|_| o.histfile.is_none()), ..*format };
    if let Some(path) = &o.histfile {
        let whole = text::write_text(record, &TextOptions { quiet: true, ..*format })?;
        super::report::write(path, whole.as_bytes())?;
    }
    let mut out = String::new();
    if o.verbose {
        // cyclictest prints samples, and the histogram if there is one, but no summary: of ours, only the comment lines.
        let summary = text::write_text(record, &TextOptions { quiet: true, ..shown })?;
        summary.split_inclusive('\n').filter(|l| !l.starts_with("T:")).for_each(|l| out.push_str(l));
        return output::exact(out.as_bytes());
    }
    if again {
        // Overwrite the last refresh.
        out += &format!("\u{1b}[{}A", record.distributions().len() + 2);
    }
    if !o.quiet {
        out += &text::write_live(&o.policy_line(), &loadavg(), &[], format, false);
    }
    if o.histfile.is_none() || !o.quiet {
        let last = text::write_text(record, &shown)?;
        // Below refreshed lines, comment lines come where longer lines stood.
        let width = if again && o.histogram.is_none() { last.lines().map(str::len).max().unwrap_or(0) } else { 0 };
        for line in last.lines() {
            out += &format!("{line:width$}\n");
        }
    }
    output::exact(out.as_bytes())
}

/// `allowed` and the CPUs that the kernel sets aside, on which no process starts (`isolcpus`).
fn with_isolated(allowed: &[u32]) -> Vec<u32> {
    let listed = |name: &str| {
        let path = std::path::Path::new("/sys/devices/system/cpu").join(name);
        let text = rtscope_files::read_text(&path, rtscope_files::SMALL).unwrap_or_default();
        cpus(Some(&text.trim().into())).unwrap_or_default()
    };
    let online = listed("online");
    let isolated = listed("isolated").into_iter().filter(|cpu| online.contains(cpu) && !allowed.contains(cpu));
    allowed.iter().copied().chain(isolated).collect()
}

/// Text of /proc/loadavg, which cyclictest repeats; empty if it can't be read.
fn loadavg() -> String {
    std::fs::read_to_string("/proc/loadavg").unwrap_or_default()
}

/// Prints during the run.
struct Screen<'a> {
    o: &'a Options,
    settings: &'a Settings,
    format: TextOptions,
    again: bool,
    error: Option<Failure>,
}

impl Screen<'_> {
    fn event(&mut self, event: &Event) {
        let mut out = String::new();
        match event {
            Event::Started => self.header(&mut out),
            Event::Progress { threads, .. } if !self.o.quiet && !self.o.verbose => {
                let lines: Vec<LiveLine> = threads.iter().enumerate().map(line).collect();
                out = text::write_live(&self.o.policy_line(), &loadavg(), &lines, &self.format, self.again);
                self.again = true;
            }
            Event::Sample { thread, cycle, value } => text::write_verbose_line(&mut out, *thread, *cycle, *value, &self.format),
            _ => return,
        }
        if self.error.is_none() {
            self.error = output::exact(out.as_bytes()).err();
        }
    }

    fn header(&self, out: &mut String) {
        let s = self.settings;
        if self.o.verbose {
            let cpus = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
            let intervals: Vec<u64> = (0..u64::from(s.threads)).map(|i| (s.interval.0 + (i + 1) * s.distance.0) / 1000).collect();
            text::write_verbose_header(out, cpus, cpus, s.hold_dma_latency, &intervals);
        } else if s.hold_dma_latency {
            out.push_str("# /dev/cpu_dma_latency set to 0us\n");
        }
    }
}

fn line((index, t): (usize, &Live)) -> LiveLine {
    LiveLine {
        index,
        tid: t.tid,
        priority: t.priority,
        interval: t.interval,
        count: t.count,
        min: t.min,
        last: t.last,
        sum: t.sum.into(),
        max: t.max,
    }
}
