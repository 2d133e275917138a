//! Wake-ups made by hand, of which every nanosecond is known.

use super::*;
use crate::cause::Cause;
use crate::explanation::{Milestones, Share};
use crate::log::{Block, ClockRead, Task};
use crate::orc::Orc;
use crate::path::Path;
use crate::unwinder::Unwinder as Tables;

const LAYOUT: Layout = Layout { last: 0, mult: 8, shift: 12, nsec: 16, base: 24 };
const THREAD: u64 = 0x1000;
const OTHER: u64 = 0x2000;
const ON: u32 = 0x200;
const NO_SWITCH_DUE: u32 = 1 << 31;
const NAMES: [&str; 16] = [
    "work",
    "lock_all",
    "_raw_spin_lock_irqsave",
    "asm_sysvec_apic_timer_interrupt",
    "hrtimer_wakeup",
    "__schedule",
    "hrtimer_nanosleep",
    "el1h_64_irq",
    "arch_timer_handler_virt",
    "expired",
    "stimulus_fire",
    "wire_run_edge",
    "answer",
    "ktime_get",
    "try_to_wake_up",
    "do_syscall_64",
];

fn at(name: &str) -> u64 {
    0xffff_ffff_8100_0000 + 0x100 * NAMES.iter().position(|n| *n == name).unwrap() as u64
}

fn symbols() -> Symbols {
    let lines: Vec<String> = NAMES.iter().map(|n| format!("{:x} T {n}", at(n))).collect();
    Symbols::parse(&lines.join("\n")).unwrap()
}

/// A window whose clock reads as its counter, and whose thread was to wake at 1000.
struct Script(Window, u64);

impl Script {
    fn new() -> Self {
        let mut timekeeper = vec![0; 32];
        timekeeper[8] = 1;
        let tasks = [(THREAD, 7, "rts-cpu0"), (OTHER, 9, "load")];
        let tasks =
            tasks.map(|(at, pid, comm)| (at, Task { pid, comm: comm.into(), stack: 0xffff_c900_0000_0000 + at * 16 })).into();
        Self(Window { expiry: 1_000, thread: THREAD, timekeeper, whole: true, tick: 1, tasks, ..Window::default() }, 900)
    }

    /// So many instructions at `pc`, with this depth of the stack.
    fn run(mut self, insns: u32, pc: u64, depth: u64, task: u64, preempt: u32, flags: u32) -> Self {
        self.1 += u64::from(insns);
        let sp = 0xffff_c900_0000_0800 + task * 16 - depth;
        self.0.blocks.push(Block { end: self.1, pc, sp, task, insns, preempt, flags, cpu: 0 });
        self
    }

    /// From the interrupt at present to the thread's read of the clock.
    fn wakes(self) -> Self {
        let busy = 0x1_0000 | NO_SWITCH_DUE;
        let mut done = self
            .run(20, at("asm_sysvec_apic_timer_interrupt"), 0x200, OTHER, NO_SWITCH_DUE, 0)
            .run(30, at("hrtimer_wakeup"), 0x220, OTHER, busy, 0)
            .run(10, at("asm_sysvec_apic_timer_interrupt") + 8, 0x208, OTHER, 0x1_0000, 0)
            .run(40, at("__schedule"), 0x240, OTHER, 1, 0)
            .run(15, at("__schedule") + 8, 0x240, THREAD, 1, 0)
            .run(25, at("hrtimer_nanosleep") + 8, 0x100, THREAD, NO_SWITCH_DUE, ON)
            .run(5, 0x5000, 0, THREAD, NO_SWITCH_DUE, ON);
        done.0.clock_reads.push(ClockRead { at: done.1, pc: 0x5000, task: THREAD, block: done.0.blocks.len() - 1 });
        done
    }

    /// The clock is read by the last block.
    fn reads(mut self) -> Self {
        let block = self.0.blocks.len() - 1;
        let last = self.0.blocks[block];
        self.0.clock_reads.push(ClockRead { at: self.1, pc: last.pc, task: last.task, block });
        self
    }

    fn explain(&self, latency: u64) -> Result<Explanation, ExplainError> {
        self.explain_as(Subject::default(), Some(latency))
    }

    fn explain_as(&self, subject: Subject, latency: Option<u64>) -> Result<Explanation, ExplainError> {
        explain(
            &self.0,
            &Question {
                subject,
                latency,
                instruction_ns: 1,
                symbols: &symbols(),
                layout: &LAYOUT,
                unwinder: &Tables::Orc(Orc::default()),
            },
        )
    }
}

/// The other task, which switches interrupts off 60 ns before the expiry, for 300 ns.
fn interrupts_off() -> Script {
    Script::new()
        .run(30, at("work"), 0x10, OTHER, NO_SWITCH_DUE, ON)
        .run(10, at("_raw_spin_lock_irqsave"), 0x20, OTHER, NO_SWITCH_DUE, ON)
        .run(300, at("lock_all"), 0x20, OTHER, NO_SWITCH_DUE, 0)
        .wakes()
}

#[test]
fn every_nanosecond_has_a_cause_a_task_and_a_function() {
    let e = interrupts_off().explain(385).unwrap();
    let of = |all: &[Share]| all.iter().map(|s| (s.name.clone(), s.ns)).collect::<Vec<_>>();
    let own = |all: [(&str, u64); 5]| all.map(|(name, ns)| (name.to_owned(), ns)).to_vec();
    let causes = own([
        ("interrupts off", 240),
        ("hard interrupt", 60),
        ("scheduling", 55),
        ("return from the sleep", 25),
        ("user space", 5),
    ]);
    assert_eq!(of(&e.causes), causes);
    assert_eq!(of(&e.tasks), [("load[9]".to_owned(), 340), ("rts-cpu0[7]".to_owned(), 45)]);
    let function = |name: &str| e.functions.iter().find(|f| f.name == name).map(|f| (f.own, f.total));
    assert_eq!(function("lock_all"), Some((240, 340)), "interrupts on top of it count");
    assert_eq!(function("asm_sysvec_apic_timer_interrupt"), Some((30, 100)), "with what it called");
    assert_eq!(e.functions.iter().map(|f| f.own).sum::<u64>(), 385);
    let m = Milestones {
        interrupt: Some(240),
        woken: Some(260),
        due: Some(290),
        switched: Some(340),
        user: Some(380),
        ..Milestones::default()
    };
    assert_eq!(e.milestones, m);
}

#[test]
fn the_answer_names_who_switched_off_and_for_how_long() {
    let e = interrupts_off().explain(385).unwrap();
    assert_eq!((e.hold.cause, e.hold.ns, e.hold.whole), (Cause::InterruptsOff, 240, 300));
    assert_eq!(e.hold.from, ["work"], "not the helper that did it for its caller");
    let sentence =
        "0.385 us: interrupts were off for 0.300 us, 0.240 us of it in this latency, from work on, mostly in lock_all (load[9]).";
    assert_eq!(e.sentence(), sentence);
}

#[test]
fn without_preemption_the_interrupt_comes_but_not_the_switch() {
    let off = 1 | NO_SWITCH_DUE;
    let script = Script::new()
        .run(50, at("work"), 0x10, OTHER, NO_SWITCH_DUE, ON)
        .run(60, at("lock_all"), 0x20, OTHER, off, ON)
        .run(20, at("asm_sysvec_apic_timer_interrupt"), 0x100, OTHER, off, 0)
        .run(30, at("hrtimer_wakeup"), 0x120, OTHER, 0x1_0001 | NO_SWITCH_DUE, 0)
        .run(90, at("lock_all") + 8, 0x20, OTHER, 1, ON)
        .run(40, at("__schedule"), 0x30, OTHER, 1, 0)
        .run(10, at("__schedule") + 8, 0x240, THREAD, 1, 0)
        .run(5, 0x5000, 0, THREAD, NO_SWITCH_DUE, ON);
    let mut script = script;
    script.0.clock_reads.push(ClockRead { at: script.1, pc: 0x5000, task: THREAD, block: script.0.blocks.len() - 1 });
    let e = script.explain(205).unwrap();
    assert_eq!((e.hold.cause, e.hold.ns, e.hold.whole), (Cause::PreemptionOff, 90, 200), "since before the expiry");
    assert_eq!((e.hold.from.as_slice(), e.hold.mostly.as_str()), (&["work".to_owned()][..], "lock_all"));
    assert_eq!(e.causes.iter().map(|c| c.ns).sum::<u64>(), 205);
    assert_eq!(e.milestones.switched, Some(190));
}

#[test]
fn on_arm64_an_interrupt_is_the_timers_from_its_entry_on_and_the_clock_has_ticks() {
    let mut script = Script::new()
        .run(150, at("work"), 0x10, OTHER, NO_SWITCH_DUE, ON)
        .run(20, at("el1h_64_irq"), 0x200, OTHER, NO_SWITCH_DUE, 0)
        .run(30, at("arch_timer_handler_virt"), 0x240, OTHER, 0x1_0000 | NO_SWITCH_DUE, 0)
        .run(10, at("hrtimer_wakeup"), 0x260, OTHER, 0x1_0000 | NO_SWITCH_DUE, 0)
        .run(40, at("__schedule"), 0x280, OTHER, 1, 0)
        .run(15, at("__schedule") + 8, 0x240, THREAD, 1, 0)
        .run(5, 0x5000, 0, THREAD, NO_SWITCH_DUE, ON);
    script.0.clock_reads.push(ClockRead { at: script.1, pc: 0x5000, task: THREAD, block: script.0.blocks.len() - 1 });
    // One ns of the clock for each of virtual time: 16 for each tick.
    script.0.tick = 16;
    script.0.timekeeper[8] = 16;
    let e = script.explain(168).unwrap();
    assert_eq!(script.1, 1_170, "the tick before the read was at 1168");
    assert_eq!((e.milestones.interrupt, e.milestones.woken, e.milestones.switched), (Some(50), Some(100), Some(150)));
    assert_eq!(e.causes.iter().map(|c| c.ns).sum::<u64>(), 168);
    assert_eq!((e.causes[0].name.as_str(), e.causes[0].ns), ("hard interrupt", 60));
    assert!(script.explain(170).is_err(), "no tick was there");
}

#[test]
fn what_passed_before_the_first_block_and_between_blocks_is_in_the_sum() {
    // The timer had expired before the thread was asleep; a block that was begun twice.
    let mut late = interrupts_off();
    late.0.blocks.drain(..3);
    let again = late.0.blocks[1];
    late.0.blocks.insert(1, Block { end: again.end - 8, ..again });
    late.0.clock_reads[0].block -= 2;
    let e = late.explain(385).unwrap();
    let sum = |all: &[Share]| all.iter().map(|s| s.ns).sum::<u64>();
    assert_eq!((sum(&e.causes), sum(&e.tasks), e.functions.iter().map(|f| f.own).sum::<u64>()), (385, 385, 385));
    assert_eq!((e.causes[0].name.as_str(), e.causes[0].ns, e.hold.cause), ("not asleep yet", 240, Cause::NotAsleep));
    assert_eq!((e.tasks[0].name.as_str(), e.tasks[0].ns), ("(not logged)", 240));
    assert!(e.sentence().contains("not asleep yet when its timer expired, for 0.240 us"), "{}", e.sentence());
}

#[test]
fn a_sample_whose_latency_was_not_kept_ends_with_the_first_read_of_the_clock() {
    let symbols = symbols();
    let question = Question {
        subject: Subject::default(),
        latency: None,
        instruction_ns: 1,
        symbols: &symbols,
        layout: &LAYOUT,
        unwinder: &Tables::Orc(Orc::default()),
    };
    let script = interrupts_off();
    assert_eq!(explain(&script.0, &question), script.explain(385));
    let mut unread = interrupts_off();
    unread.0.clock_reads.clear();
    assert!(explain(&unread.0, &question).is_err());
}

#[test]
fn what_is_not_the_sample_is_refused() {
    let script = interrupts_off();
    let e = script.explain(384).unwrap_err();
    assert_eq!(
        e.to_string(),
        "the thread's clock was not read 384 ns after the expiry: what was logged is not this sample (reads after 385 ns)"
    );
    let mut cut = interrupts_off();
    cut.0.whole = false;
    assert_eq!(cut.explain(385), Err(ExplainError::CutOff));
    let mut broken = interrupts_off();
    broken.0.timekeeper.truncate(20);
    assert_eq!(broken.explain(385), Err(ExplainError::NoClock));
    let mut unread = interrupts_off();
    unread.0.clock_reads.clear();
    assert!(unread.explain(385).unwrap_err().to_string().contains("no read was seen"));
}

const HARD: u32 = 0x1_0000 | NO_SWITCH_DUE;

fn shares(all: &[Share]) -> Vec<(&str, u64)> {
    all.iter().map(|s| (s.name.as_str(), s.ns)).collect()
}

#[test]
fn a_callback_in_the_kernel_ends_with_its_own_read_of_the_clock() {
    let script = Script::new()
        .run(30, at("work"), 0x10, OTHER, NO_SWITCH_DUE, ON)
        .run(270, at("lock_all"), 0x20, OTHER, NO_SWITCH_DUE, 0)
        .run(20, at("asm_sysvec_apic_timer_interrupt"), 0x200, OTHER, NO_SWITCH_DUE, 0)
        .run(5, at("ktime_get"), 0x210, OTHER, HARD, 0)
        .reads()
        .run(10, at("expired"), 0x220, OTHER, HARD, 0)
        .run(5, at("ktime_get"), 0x240, OTHER, HARD, 0)
        .reads();
    let subject = Subject { path: Path::Callback, end: Some(at("expired")), driver: None, task: Some(at("expired")) };
    let e = script.explain_as(subject, Some(240)).unwrap();
    assert_eq!(shares(&e.causes), [("interrupts off", 200), ("hard interrupt", 25), ("the task in the kernel", 15)]);
    assert_eq!(shares(&e.tasks), [("load[9]", 240)]);
    let m = Milestones { interrupt: Some(200), called: Some(225), ..Milestones::default() };
    assert_eq!(e.milestones, m);
    assert_eq!(script.explain_as(subject, None), Ok(e), "the first read that is its own");
    let error = script.explain_as(subject, Some(225)).unwrap_err().to_string();
    assert_eq!(
        error, "the kernel's clock was not read 225 ns after the expiry: what was logged is not this sample (reads after 240 ns)",
        "the interrupt's own read is not the callback's"
    );
    assert!(script.explain(240).is_err(), "the thread read nothing");
}

/// A stimulus at 1000 that is driven at 1160, and wakes the task.
fn stimulus() -> Script {
    Script::new()
        .run(130, at("work"), 0x10, OTHER, NO_SWITCH_DUE, ON)
        .run(100, at("asm_sysvec_apic_timer_interrupt"), 0x200, OTHER, NO_SWITCH_DUE, 0)
        .run(20, at("stimulus_fire"), 0x220, OTHER, HARD, 0)
        .run(10, at("ktime_get"), 0x240, OTHER, HARD, 0)
        .reads()
}

#[test]
fn an_answer_counts_from_the_stimulus_to_its_edge() {
    let answers = |script: Script| {
        script
            .run(10, at("wire_run_edge"), 0x140, THREAD, 1 | NO_SWITCH_DUE, 0)
            .run(5, at("ktime_get"), 0x160, THREAD, 1 | NO_SWITCH_DUE, 0)
            .reads()
    };
    let script = stimulus()
        .run(30, at("try_to_wake_up"), 0x240, OTHER, HARD, 0)
        .run(10, at("asm_sysvec_apic_timer_interrupt") + 8, 0x208, OTHER, 0x1_0000, 0)
        .run(40, at("__schedule"), 0x240, OTHER, 1, 0)
        .run(15, at("__schedule") + 8, 0x240, THREAD, 1, 0)
        .run(25, at("do_syscall_64"), 0x100, THREAD, NO_SWITCH_DUE, ON)
        .run(5, 0x5000, 0, THREAD, NO_SWITCH_DUE, ON)
        .run(50, at("do_syscall_64"), 0x100, THREAD, NO_SWITCH_DUE, ON);
    let script = answers(script);
    let subject = Subject { path: Path::Answer, end: Some(at("wire_run_edge")), driver: Some(at("stimulus_fire")), task: None };
    let e = script.explain_as(subject, Some(350)).unwrap();
    let causes = [
        ("hard interrupt", 170),
        ("the task's system call", 65),
        ("scheduling", 55),
        ("timer interrupt on its way", 30),
        ("return from the wait", 25),
        ("user space", 5),
    ];
    assert_eq!(shares(&e.causes), causes);
    let m = Milestones {
        interrupt: Some(30),
        driven: Some(160),
        called: None,
        woken: Some(160),
        due: Some(190),
        switched: Some(240),
        user: Some(280),
    };
    assert_eq!(e.milestones, m);
    assert!(script.explain_as(subject, Some(160)).is_err(), "the stimulus is not the answer");
}

#[test]
fn a_handler_in_the_kernel_answers_within_the_stimulus() {
    let script = stimulus()
        .run(10, at("answer"), 0x240, OTHER, HARD, 0)
        .run(10, at("wire_run_edge"), 0x260, OTHER, HARD, 0)
        .run(5, at("ktime_get"), 0x280, OTHER, HARD, 0)
        .reads();
    let (end, driver, task) = (Some(at("wire_run_edge")), Some(at("stimulus_fire")), Some(at("answer")));
    let e = script.explain_as(Subject { path: Path::Answer, end, driver, task }, Some(185)).unwrap();
    assert_eq!((e.milestones.driven, e.milestones.called, e.milestones.switched), (Some(160), Some(160), None));
    let causes = [("hard interrupt", 130), ("timer interrupt on its way", 30), ("the task in the kernel", 25)];
    assert_eq!(shares(&e.causes), causes);
}

#[test]
fn what_was_not_logged_of_an_answer_is_not_said_of_a_thread() {
    let mut late = stimulus().run(10, at("wire_run_edge"), 0x240, OTHER, HARD, 0).reads();
    late.0.blocks.drain(..1);
    late.0.clock_reads.iter_mut().for_each(|r| r.block -= 1);
    let (end, task) = (Some(at("wire_run_edge")), Some(at("stimulus_fire")));
    let subject = Subject { path: Path::Edge, end, driver: None, task };
    let mut e = late.explain_as(subject, Some(170)).unwrap();
    assert_eq!(e.causes.iter().map(|c| c.ns).sum::<u64>(), 170);
    assert!(shares(&e.causes).contains(&("not logged", 30)), "{:?}", e.causes);
    e.hold.cause = Cause::NotLogged;
    e.jitter = Some(120);
    let sentence = e.sentence();
    assert!(
        sentence.starts_with("0.170 us after its grid point, 0.120 us later than the edge before: what ran for "),
        "{sentence}"
    );
    assert!(sentence.contains(" after the grid point was not logged"), "{sentence}");
}
