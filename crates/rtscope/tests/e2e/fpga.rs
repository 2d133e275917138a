//! The FPGA instrument: rtscope measures with the gateware's emulator on a pseudo-terminal; the results are compared with what
//! the emulator did.
//!
//! Needs the emulator (`make -C gateware emulator`), named by RTSCOPE_EMULATOR, as `./x test` does.

use crate::world::{World, codes, end_of, signal, skip, wait_for};
use rtscope_record::{Distribution, Verdict};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Half ticks of the emulator's clock per second.
const HALF_TICKS: u128 = 2 * 99_000_000;

struct Emulator {
    process: Child,
    port: String,
    truth: std::path::PathBuf,
}

impl Emulator {
    /// `None` if there is no emulator to test with.
    fn start(w: &World, options: &str) -> Option<Self> {
        let Some(program) = std::env::var_os("RTSCOPE_EMULATOR") else {
            skip("the FPGA instrument's emulator is not named (RTSCOPE_EMULATOR): ./x test builds it");
            return None;
        };
        let truth = w.path("truth.json");
        let mut command = Command::new(program);
        command.args(options.split_whitespace()).arg("--truth").arg(&truth).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the emulator starts");
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Some(Self { process, port: port.trim().into(), truth })
    }

    /// Waits until the emulator has written more than `lines` stimuli and edges, including those of the calibration.
    #[track_caller]
    fn wait_for_lines(&self, lines: usize) {
        wait_for("the emulated instrument", || (std::fs::read_to_string(&self.truth).ok()?.lines().count() > lines).then_some(()));
    }

    /// Ends the emulator; returns what it did, without the first line of its file.
    fn truth(mut self) -> Vec<Value> {
        // SIGTERM makes it write the rest of its file and end.
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").arg(&pid).status().unwrap().success());
        assert!(self.process.wait().unwrap().success());
        let text = std::fs::read_to_string(&self.truth).unwrap();
        text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn ns(half_ticks: u64) -> u64 {
    u64::try_from((u128::from(half_ticks) * 1_000_000_000 + HALF_TICKS / 2) / HALF_TICKS).unwrap()
}

fn sum(all: &[Distribution], f: impl Fn(&Distribution) -> u64) -> u64 {
    all.iter().map(f).sum()
}

#[test]
fn a_hundred_thousand_stimuli_are_all_accounted_for() {
    const STIMULI: usize = 100_000;
    let w = World::new();
    // Includes several faults in one pulse, and in neighbouring pulses.
    let options = "--answer uniform:10us,40us --drop 11 --double 6 --early 7 --gap 30us --seed 7";
    let Some(e) = Emulator::start(&w, options) else { return };
    let words = format!("measure response --answer fpga:{} -i 200us -l {STIMULI} --warmup 0 --json --no-save", e.port);
    let r = w.line(&words).measured().record();
    let truth = e.truth();
    let d = r.distributions();
    // What the emulator did for the measured stimuli, separately for each edge.
    for (d, rising) in d.iter().zip([true, false]) {
        let of = |t: &&Value| t["rising"] == rising;
        let stimuli: Vec<&Value> =
            truth.iter().filter(|t| t["stimulus"].as_u64().is_some_and(|n| n <= STIMULI as u64)).filter(of).collect();
        let mut latencies: Vec<u64> = stimuli.iter().filter_map(|t| Some(ns(t["answer"].as_u64()? - t["at"].as_u64()?))).collect();
        latencies.sort_unstable();
        let missed = (stimuli.len() - latencies.len()) as u64;
        let spurious =
            truth.iter().filter(|t| t["spurious"].as_u64().is_some_and(|n| n <= STIMULI as u64)).filter(of).count() as u64;
        assert_eq!((d.count(), d.missed(), d.spurious(), d.late()), (latencies.len() as u64, missed, spurious, 0));
        assert!(missed > 400 && spurious > 400);
        // Both sides round a stamp to ns.
        let near = |a: Option<u64>, b: Option<&u64>| a.unwrap().abs_diff(*b.unwrap()) <= 1;
        assert!(near(d.min(), latencies.first()) && near(d.max(), latencies.last()), "{d:?}");
        let mean = latencies.iter().sum::<u64>() as f64 / latencies.len() as f64;
        assert!((d.mean().unwrap() - mean).abs() < 1.0, "{mean} {d:?}");
    }
    assert_eq!(sum(d, |d| d.count() + d.missed()), STIMULI as u64);
    assert_eq!(r.parts().instrument.as_ref().unwrap().lost, 0);
    assert!(!codes(&r).contains(&"instrument-losses"));
}

/// The value change dump up to the stimulus that follows the first `stimuli`.
fn up_to(dump: &str, stimuli: usize) -> String {
    let levels = dump.find("$dumpvars").unwrap();
    let begin = levels + dump[levels..].find("$end\n").unwrap() + 5;
    let (mut seen, mut at) = (0, begin);
    for line in dump[begin..].split_inclusive('\n') {
        seen += usize::from(line.trim_end().ends_with('!') && !line.starts_with('#'));
        if seen > stimuli {
            break;
        }
        at += line.len();
    }
    dump[..at].to_owned()
}

#[test]
fn a_capture_of_the_same_pins_gives_the_same_numbers() {
    const STIMULI: usize = 4000;
    let w = World::new();
    let dump = w.path("pins.vcd");
    let options =
        format!("--answer uniform:10us,40us --drop 110 --double 60 --gap 30us --seed 9 --timescale 1ps --vcd {}", dump.display());
    let Some(e) = Emulator::start(&w, &options) else { return };
    let words = format!("measure response --answer fpga:{} -i 200us -l {STIMULI} --warmup 0 --worst 5000 --json", e.port);
    let seen = w.line(&words).measured().record();
    e.truth();
    w.file("cut.vcd", up_to(&std::fs::read_to_string(&dump).unwrap(), STIMULI));
    let said = w.line("import cut.vcd --stimulus stimulus --answer answer --timeout 200us --worst 5000 --json").ends_with(0);
    let captured = said.record();
    assert_eq!(captured.distributions().len(), 2);
    for (a, b) in seen.distributions().iter().zip(captured.distributions()) {
        let counts = |d: &Distribution| (d.label().to_owned(), d.count(), d.missed(), d.late(), d.spurious());
        assert_eq!(counts(a), counts(b));
        assert!(a.missed() > 10 && a.spurious() > 10);
        // Both round a stamp to ns, from half ticks or from ps.
        let near = |a: Option<u64>, b: Option<u64>| a.unwrap().abs_diff(b.unwrap()) <= 1;
        assert!(near(a.min(), b.min()) && near(a.max(), b.max()), "{a:?} {b:?}");
        assert!((a.mean().unwrap() - b.mean().unwrap()).abs() < 1.0);
    }
    assert_eq!(captured.parts().instrument.as_ref().unwrap().uncertainty, 1, "half ticks of 5.05 ns, written in ps");
    // Two instruments saw the same run: they agree pulse by pulse.
    let said = w.line(&format!("compare {} {} --same-runs --json", seen.id(), captured.id())).ends_with(0);
    let compared: Value = serde_json::from_str(&said.out).unwrap();
    let both = &compared["agreement"][0]["edges"][0];
    assert_eq!(
        (&both["edge"], both["offset"]["pairs"].as_u64()),
        (&"both".into(), Some(sum(seen.distributions(), Distribution::count)))
    );
    assert!(both["offset"]["mean"].as_f64().unwrap().abs() < 1.0, "{both}");
    // The report also shows both.
    w.line("report last=2 -o page.html").ends_with(0);
    let page = std::fs::read_to_string(w.path("page.html")).unwrap();
    assert!(page.contains("the FPGA instrument") && page.contains("response latency"));
}

#[test]
fn a_line_that_spoils_bytes_is_told_and_nothing_of_it_is_data() {
    let w = World::new();
    let Some(e) = Emulator::start(&w, "--answer constant:50us --lose 3000 --flip 3000 --split --seed 3") else { return };
    let words = format!("measure response --answer fpga:{} -i 1ms -l 5000 --warmup 0 --json --no-save", e.port);
    let r = w.line(&words).ends_with(4).record();
    let truth = e.truth();
    let spoiled = truth.last().unwrap();
    assert!(spoiled["bytes_lost"].as_u64().unwrap() > 10 && spoiled["bytes_flipped"].as_u64().unwrap() > 10, "{spoiled}");
    assert_eq!(r.verdict(), Verdict::Invalid);
    assert!(codes(&r).contains(&"instrument-losses"));
    assert!(r.parts().instrument.as_ref().unwrap().lost > 10);
    // Answers whose stimulus arrived have the right latency; every stimulus that arrived intact was answered.
    for d in r.distributions() {
        assert_eq!((d.min(), d.max(), d.missed(), d.spurious()), (Some(50_000), Some(50_000), 0, 0), "{d:?}");
        assert!(d.count() > 2000);
    }
}

#[test]
fn a_wave_and_a_limit_are_found() {
    let w = World::new();
    let Some(e) = Emulator::start(&w, "--wave 500us --jitter 20us --skew 50") else { return };
    let r = w.line(&format!("measure periodic --answer fpga:{} -i 500us -l 4000 --json --no-save", e.port)).measured().record();
    drop(e);
    assert_eq!(sum(r.distributions(), Distribution::count), 4000);
    assert!(r.distributions().iter().all(|d| d.max() <= Some(20_030)), "{:?}", r.distributions());
    let grid = r.parts().instrument.as_ref().unwrap().grid.unwrap();
    assert!((45_000..55_000).contains(&grid.drift_ppb), "{grid:?}");
    // The serial line carries some 13,500 stimuli a second. Faster ones overflow the store, which is the instrument's limit and
    // not a loss. (A short run fits into the store at a somewhat higher rate.)
    let Some(e) = Emulator::start(&w, "--answer constant:5us --baud 3000000") else { return };
    let r = w.line(&format!("measure sustained --answer fpga:{} -i 200us -l 1000 --json --no-save", e.port)).measured().record();
    let i = r.parts().instrument.as_ref().unwrap();
    assert!(codes(&r).contains(&"instrument-limited") && !codes(&r).contains(&"instrument-losses"), "{:?}", codes(&r));
    assert!((60_000..90_000).contains(&i.sustained.unwrap().0) && i.search.iter().any(|t| t.overflowed > 0), "{:?}", i.search);
    drop(e);
    let Some(e) = Emulator::start(&w, "--answer constant:80us") else { return };
    let r = w.line(&format!("measure sustained --answer fpga:{} -i 5ms -l 3000 --json --no-save", e.port)).measured().record();
    let found = r.parts().instrument.as_ref().unwrap().sustained.unwrap();
    assert!((80_000..84_000).contains(&found.0), "{found}");
}

/// An emulator shares its CPUs with others, and may get none for seconds.
#[test]
fn an_emulator_that_stands_still_for_a_while_is_waited_for() {
    let w = World::new();
    let Some(e) = Emulator::start(&w, "--answer constant:50us --pace") else { return };
    let words = format!("measure response --answer fpga:{} -i 1ms -l 2000 --warmup 0 --json --no-save", e.port);
    let run = w.start(&words);
    e.wait_for_lines(500);
    signal(e.process.id(), libc::SIGSTOP);
    std::thread::sleep(std::time::Duration::from_millis(4500));
    signal(e.process.id(), libc::SIGCONT);
    let r = end_of(run).measured().record();
    assert_eq!((sum(r.distributions(), Distribution::count), sum(r.distributions(), Distribution::missed)), (2000, 0));
}

#[test]
fn the_instrument_says_who_it_is_and_tests_itself() {
    let w = World::new();
    let Some(e) = Emulator::start(&w, "--answer none") else { return };
    let info: Value = serde_json::from_str(&w.line(&format!("fpga info {} --json", e.port)).ends_with(0).out).unwrap();
    assert_eq!((&info["name"], &info["clock_hz"], &info["resolution_ps"]), (&"emulator".into(), &99_000_000.into(), &5050.into()));
    let said = w.line(&format!("fpga selftest {}", e.port)).ends_with(0).out;
    assert!(said.contains("passed"), "{said}");
    let silent = w.line(&format!("measure response --answer fpga:{} -l 100", e.port)).ends_with(3).err;
    assert!(silent.contains("no edge came back"), "{silent}");
    for (words, code, what) in [
        ("fpga info /dev/null", 3, "/dev/null: it is not a serial port"),
        ("fpga info /nonexistent", 3, "/nonexistent"),
        ("measure response --answer fpga:ttyUSB1 -l 10", 2, "path of a serial port"),
    ] {
        let said = w.line(words).ends_with(code).err;
        assert!(said.contains(what), "{said}");
    }
}

/// Compares a run of pulses with what the emulator did. The first edge of each pulse asks, or both edges if `both`.
fn pulses(w: &World, width_us: u64, faults: &str, both: bool, low: bool) {
    const PULSES: usize = 1002;
    let options = format!("--answer uniform:10us,40us --gap 5us --seed 5 {faults}");
    let Some(e) = Emulator::start(w, &options) else { return };
    let flags = format!("{}{}", if both { " --both-edges" } else { "" }, if low { " --active-low" } else { "" });
    let loops = if both { 2 * PULSES } else { PULSES };
    let words = format!(
        "measure response --answer fpga:{} -i 400us --pulse {width_us}us -l {loops} --warmup 0 --json --no-save{flags}",
        e.port
    );
    let r = w.line(&words).measured().record();
    let mut truth = e.truth();
    let case = format!("{words} {faults}");
    if low {
        // The first edge only raises the line to its idle level; the device answers it too.
        let first = truth.iter().position(|t| t["stimulus"] == 2).unwrap();
        truth.drain(..first);
    }
    let stimuli = |rising: bool| truth.iter().filter(move |t| t["stimulus"].is_u64() && t["rising"] == rising);
    let at = |t: &Value| t["at"].as_u64().unwrap();
    let (first, back): (Vec<u64>, Vec<u64>) = (stimuli(!low).map(at).collect(), stimuli(low).map(at).collect());
    assert!(first.windows(2).all(|p| p[1] - p[0] == 79_200), "{case}: the period, half ticks");
    assert!(first.iter().zip(&back).take(PULSES).all(|(f, b)| b - f == 198 * width_us), "{case}: the width, half ticks");
    assert_eq!(r.distributions().len(), if both { 2 } else { 1 }, "{case}");
    for d in r.distributions() {
        let rising = d.label() == "rising";
        assert!(both || rising != low, "{case}: the first edge asks");
        let mine: Vec<&Value> = stimuli(rising).take(PULSES).collect();
        let missed = mine.iter().filter(|t| t["answer"].is_null()).count();
        let end = PULSES as u64 * 2 + u64::from(low);
        let unasked = |t: &&Value| t["spurious"].as_u64().is_some_and(|n| n <= end) && t["rising"] == rising;
        let spurious = truth.iter().filter(unasked).count();
        let counts = (d.count(), d.missed(), d.late(), d.spurious());
        assert_eq!(counts, ((PULSES - missed) as u64, missed as u64, 0, spurious as u64), "{case} {}", d.label());
        assert!(missed > 80 && spurious > 80, "{case} {}: {missed} {spurious}", d.label());
        // The answer is the first edge to that level, before the next stimulus to that level.
        let mut edges: Vec<u64> = truth
            .iter()
            .filter(|t| t["rising"] == rising)
            .filter_map(|t| if t["spurious"].is_null() { t["answer"].as_u64() } else { Some(at(t)) })
            .collect();
        edges.sort_unstable();
        let latency = |t: &&Value| edges.iter().find(|e| **e >= at(t)).filter(|e| **e < at(t) + 79_200).map(|e| ns(e - at(t)));
        let latencies: Vec<u64> = mine.iter().filter(|t| !t["answer"].is_null()).filter_map(latency).collect();
        let near = |a: Option<u64>, b: Option<&u64>| a.unwrap().abs_diff(*b.unwrap()) <= 1;
        assert!(near(d.min(), latencies.iter().min()) && near(d.max(), latencies.iter().max()), "{case} {d:?}");
    }
    let l = r.parts().settings.lines.as_ref().unwrap().shape;
    assert_eq!((l.pulse.unwrap().0, l.both_edges, l.active_low), (width_us * 1000, both, low));
}

#[test]
fn pulses_are_answered_whatever_their_width() {
    let w = World::new();
    for both in [false, true] {
        for low in [false, true] {
            // The answer comes during the pulse (100 us), and after it (2 us). If only the fall asks, an extra rise from doubling
            // must not stand in for a dropped one: hence another drop rate.
            let faults = if low && !both { "--drop 12 --double 6" } else { "--drop 11 --double 6" };
            pulses(&w, 100, faults, both, low);
            pulses(&w, 2, faults, both, low);
        }
    }
    // The answer ends before the pulse does, so nothing answers the second edge.
    pulses(&w, 100, "--drop 11 --double 6 --early 7", true, false);
    for (words, what) in [
        ("--answer soft:b --stimulus soft:a --pulse 20us", "only the FPGA instrument"),
        ("--answer soft:b --stimulus soft:a --active-low", "only the FPGA instrument"),
        ("--answer fpga:/dev/null --both-edges", "--pulse WIDTH"),
        ("--answer fpga:/dev/null -i 1ms --pulse 1ms", "does not fit"),
        ("--answer fpga:/dev/null -i 1ms --pulse 40ns", "50ns or more"),
    ] {
        let said = w.line(&format!("measure response {words} -l 10")).ends_with(2).err;
        assert!(said.contains(what), "{said}");
    }
    let said = w.line("measure sustained --answer fpga:/dev/null --active-low -l 10").ends_with(2).err;
    assert!(said.contains("only in `response`"), "{said}");
}

#[test]
fn a_capture_of_pulses_gives_the_same_numbers() {
    const PULSES: usize = 1002;
    let w = World::new();
    let dump = w.path("pins.vcd");
    let options = format!("--answer uniform:10us,40us --drop 11 --double 6 --gap 5us --seed 9 --vcd {}", dump.display());
    let Some(e) = Emulator::start(&w, &options) else { return };
    let words = format!("measure response --answer fpga:{} -i 300us --interval-max 500us --pulse 2us -l {PULSES}", e.port);
    let seen = w.line(&format!("{words} --warmup 0 --json --no-save")).measured().record();
    e.truth();
    let pins = std::fs::read_to_string(&dump).unwrap();
    // Steps in which viewers open it in seconds.
    assert!(pins.contains("$timescale 10 ns $end") || pins.contains("$timescale 10ns $end"), "{}", &pins[..200]);
    w.file("cut.vcd", up_to(&pins, 2 * PULSES));
    let options = "--stimulus stimulus --answer answer --stimulus-edges rising --timeout 300us --json";
    let captured = w.line(&format!("import cut.vcd {options}")).ends_with(0).record();
    let figures = |r: &rtscope_record::Record| {
        let of = |d: &Distribution| (d.label().to_owned(), d.count(), d.missed(), d.late(), d.spurious());
        r.distributions().iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!((figures(&seen), figures(&seen).len()), (figures(&captured), 1));
    let d = &seen.distributions()[0];
    assert!(d.missed() > 80 && d.spurious() > 80, "{d:?}");
    // Both ends of a response are in steps of 10 ns.
    assert!(d.max().unwrap().abs_diff(captured.distributions()[0].max().unwrap()) <= 11, "{d:?} {captured:?}");
}

#[test]
fn the_instruments_own_share_is_measured_inside_it() {
    let w = World::new();
    let Some(e) = Emulator::start(&w, "--answer constant:300us") else { return };
    let words = format!("measure response --answer fpga:{} -i 1ms -l 400 --warmup 0 --calibrate --json --no-save", e.port);
    let r = w.line(&words).measured().record();
    let i = r.parts().instrument.as_ref().unwrap();
    let own = i.calibration.as_ref().unwrap();
    // The device heard those stimuli too, but its answers are neither in the instrument's share nor in the figures.
    assert_eq!((own.stimuli, own.count, own.missed, own.late, own.spurious), (1000, 1000, 0, 0, 0));
    assert_eq!((own.min, own.median, own.max), (Some(0), Some(0), Some(0)), "one clock and one path: no share");
    assert!(codes(&r).contains(&"null-wire-inside"), "{:?}", codes(&r));
    assert_eq!(r.parts().settings.lines.as_ref().unwrap().null_wire, Some(format!("fpga:{}:stimulus", e.port)));
    let counts = |d: &Distribution| (d.count(), d.missed(), d.spurious(), d.min(), d.max());
    assert!(r.distributions().iter().all(|d| counts(d) == (200, 0, 0, Some(300_000), Some(300_000))), "{:?}", r.distributions());
    for (words, what) in [
        (format!("measure response --answer fpga:{0} --calibrate=fpga:{0} -l 10", e.port), "loop inside"),
        (format!("measure periodic --answer fpga:{} --calibrate -l 10", e.port), "no stimulus to calibrate with"),
    ] {
        let said = w.line(&words).ends_with(2).err;
        assert!(said.contains(what), "{said}");
    }
}

#[test]
fn an_instrument_that_goes_away_leaves_what_it_measured() {
    let w = World::new();
    let Some(mut e) = Emulator::start(&w, "--answer constant:50us --pace") else { return };
    let run = w.start(&format!("measure response --answer fpga:{} -i 1ms -l 100000 --json --no-save", e.port));
    e.wait_for_lines(500);
    e.process.kill().unwrap();
    let said = end_of(run);
    let r = said.ends_with(4).record();
    assert!(codes(&r).contains(&"instrument-gone"), "{:?}", codes(&r));
    assert!(sum(r.distributions(), Distribution::count) > 100);
    assert!(r.distributions().iter().all(|d| d.min() == Some(50_000) && d.max() == Some(50_000)));
}

#[test]
fn a_search_whose_instrument_goes_away_finds_no_limit() {
    let w = World::new();
    let Some(mut e) = Emulator::start(&w, "--answer constant:50us --pace") else { return };
    let run = w.start(&format!("measure sustained --answer fpga:{} -i 5ms -D 3s --json --no-save", e.port));
    // Past the first trial, which has 100 stimuli.
    e.wait_for_lines(400);
    e.process.kill().unwrap();
    let r = end_of(run).ends_with(4).record();
    assert!(codes(&r).contains(&"instrument-gone"), "{:?}", codes(&r));
    let i = r.parts().instrument.as_ref().unwrap();
    assert!(i.sustained.is_none() && !i.search.is_empty(), "what was tried until then is kept: {i:?}");
}
