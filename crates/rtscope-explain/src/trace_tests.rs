//! Traces of real kernels, whose causes are known, and damaged ones.

use super::*;
use crate::cause::Cause;
use crate::explained::Explained;
use proptest::prelude::*;

/// Debian's 6.12-rt in the lab, with the module `rtscope_hold hold_us=120 irqs=1`. Of the lines within the hold the first and last stay.
const INTERRUPTS_OFF: &str = include_str!("trace/fixtures/interrupts-off.txt");
/// The same with `hold_us=700 irqs=0`.
const PREEMPTION_OFF: &str = include_str!("trace/fixtures/preemption-off.txt");
/// A 6.18 without function tracer, in a virtual machine.
const EVENTS: &str = include_str!("trace/fixtures/events.txt");

/// As the marker in the text says.
fn traced(text: &str, tid: u32, means: Means) -> Traced {
    let (_, mark) = text.split_once("rtscope: ").unwrap();
    let (latency, rest) = mark.split_once(" ns late for the grid point ").unwrap();
    let [latency, expiry] = [latency, rest.trim()].map(|n| n.parse().unwrap());
    Traced { distribution: "cpu0".into(), tid, at: 7, expiry, latency, means, text: text.into(), file: String::new() }
}

fn sums(e: &Explanation) {
    let all: u64 = e.functions.iter().map(|f| f.own).sum();
    assert!(e.is_sound() && all <= e.latency, "{e:?}");
    let kept = Explained::new("r", "cpu0", 7, e.clone());
    let read = Explained::read(&serde_json::to_string(&kept).unwrap()).unwrap();
    assert_eq!(read.explanation.causes, e.causes);
    assert_eq!(read.explanation.traced, e.traced);
}

#[test]
fn who_kept_interrupts_off_is_named_and_for_how_long() {
    let e = explain(&traced(INTERRUPTS_OFF, 146, Means::Functions)).unwrap();
    sums(&e);
    let h = &e.hold;
    assert_eq!((h.cause, h.from.last().unwrap().as_str(), h.mostly.as_str()), (Cause::InterruptsOff, "hold_thread", "ktime_get"));
    assert!(h.whole.abs_diff(120_000) <= 3_000 && h.ns < h.whole, "{h:?}");
    assert_eq!(h.task, "rtscope_hold[135]");
    let m = e.milestones;
    let order = [m.interrupt, m.woken, m.due, m.switched].map(Option::unwrap);
    assert!(order.is_sorted() && order[0] > 100_000 && m.user.is_none(), "{m:?}");
    let sentence = "157.345 us: interrupts were off for 122.000 us, 105.905 us of it in this latency, from hold_thread on, mostly in ktime_get \
                    (rtscope_hold[135]).";
    assert_eq!(e.sentence(), sentence);
}

#[test]
fn who_kept_preemption_off_is_named_though_interrupts_came() {
    let e = explain(&traced(PREEMPTION_OFF, 146, Means::Functions)).unwrap();
    sums(&e);
    let h = &e.hold;
    assert_eq!((h.cause, h.from.last().unwrap().as_str()), (Cause::PreemptionOff, "hold_thread"));
    assert!(h.whole.abs_diff(700_000) <= 3_000, "{h:?}");
    assert!(e.milestones.interrupt.unwrap() < 5_000 && e.milestones.switched.unwrap() > 100_000, "{:?}", e.milestones);
}

#[test]
fn events_tell_when_but_not_who() {
    let t = traced(EVENTS, 31961, Means::Events);
    let e = explain(&t).unwrap();
    sums(&e);
    assert_eq!((e.hold.cause, e.hold.mostly.as_str()), (Cause::Delivery, ""));
    assert_eq!(e.sentence(), "21.141 us: timer interrupt on its way took 9.988 us (idle[0]); besides hard interrupt 8.000 us.");
    assert!(e.milestones.switched.is_some());
    assert!(e.functions.iter().any(|f| f.name == "hrtimer_wakeup"), "{:?}", e.functions);
    // This kernel leaves some switches away from the idle task out.
    let lines: Vec<&str> = EVENTS.lines().filter(|l| !l.contains("prev_comm=swapper")).collect();
    let e = explain(&Traced { text: lines.join("\n"), ..t }).unwrap();
    sums(&e);
    assert_eq!(e.milestones.switched, None);
}

#[test]
fn what_the_trace_does_not_hold_is_not_guessed() {
    let t = traced(EVENTS, 31961, Means::Events);
    assert_eq!(explain(&Traced { text: String::new(), ..t.clone() }), Err(TraceError::Nothing));
    assert_eq!(explain(&Traced { tid: 5, ..t.clone() }), Err(TraceError::NoThread(5)));
    let late: Vec<&str> = EVENTS.lines().filter(|l| l.contains("7221.147")).collect();
    assert_eq!(explain(&Traced { text: late.join("\n"), ..t }), Err(TraceError::TooShort(9)));
}

#[test]
fn a_thread_that_was_still_awake_is_said_to_be() {
    let line = |task: &str, us: u64, what: &str| format!("  {task} [000] d..2.  1.{us:06}: {what}\n");
    let away = "sched_switch: prev_comm=t prev_pid=7 prev_prio=4 prev_state=R ==> next_comm=o next_pid=9 next_prio=1";
    let back = "sched_switch: prev_comm=o prev_pid=9 prev_prio=1 prev_state=S ==> next_comm=t next_pid=7 next_prio=4";
    let text = [line("t-7", 10, "hrtimer_start: x"), line("t-7", 150, away), line("o-9", 190, back)].concat();
    let t = Traced { expiry: 1_000_100_000, latency: 100_000, text, ..traced(EVENTS, 7, Means::Events) };
    let e = explain(&t).unwrap();
    sums(&e);
    let all: Vec<(&str, u64)> = e.causes.iter().map(|c| (c.name.as_str(), c.ns)).collect();
    assert_eq!(all[0], ("not asleep yet", 50_000), "{all:?}");
}

#[test]
fn only_what_is_of_interest_is_kept() {
    let mut kept = Kept::new(100_000_000, 50_000);
    kept.line("# tracer: nop");
    for ms in 0..200 {
        kept.line(&format!("  x-1 [000] d..2.  0.{ms:03}000: a: b"));
    }
    let text = kept.text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("# tracer") && lines[1].contains("0.079000") && lines.len() == 122,
        "{} {}",
        lines.len(),
        lines[1]
    );
    let mut kept = Kept::new(0, 0);
    let long = "y".repeat(LONGEST / 2);
    (0..5).for_each(|_| kept.line(&long));
    assert!(kept.text().len() <= LONGEST);
}

proptest! {
    /// Lines left out, doubled, cut or out of order: an answer that adds up, or none.
    #[test]
    fn damage_never_panics(cuts in prop::collection::vec((0usize..4, any::<prop::sample::Index>(), 0usize..60), 0..20),
                           latency in 0u64..400_000, tid in prop::sample::select(vec![0u32, 135, 146]), events: bool) {
        let mut lines: Vec<String> = INTERRUPTS_OFF.lines().map(str::to_owned).collect();
        for (how, at, n) in cuts {
            let i = at.index(lines.len());
            match how {
                0 => { lines.remove(i); }
                1 => { let line = lines[i].clone(); lines.insert(i, line); }
                2 => { let line = &mut lines[i]; let cut = n.min(line.len()); if line.is_char_boundary(cut) { line.truncate(cut); } }
                _ => { let j = (i + n) % lines.len(); lines.swap(i, j); }
            }
        }
        let means = if events { Means::Events } else { Means::Functions };
        let usual = traced(INTERRUPTS_OFF, tid, means);
        if let Ok(e) = explain(&Traced { text: lines.join("\n"), latency, ..usual }) {
            prop_assert!(e.is_sound() && e.latency == latency);
        }
    }

    #[test]
    fn no_text_panics(text in "(\\PC{0,80}\n){0,8}", expiry: u64, latency: u64) {
        let _ = explain(&Traced { expiry, latency, text, ..traced(EVENTS, 1, Means::Functions) });
    }
}
