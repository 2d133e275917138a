//! Claims that are bounds on what the papers' boards did, held against each kind of one's own runs: two of Adam's, and the majority of
//! latencies that he and Balci saw.

use super::claims::{Answer, Claim, FEWEST, Held, Kinds, overall, worst_verdict};
use super::paper::Paper;
use super::run::{MAJORITY, PaperRun, RunKind};
use crate::kernel::Role;
use crate::share::ShareBelow;
use rtscope_record::{Space, Test};

/// Adam's "acceptable safety margin", ns, and the samples over which he saw it held.
const MARGIN: f64 = 160_000.0;
const MARGIN_SAMPLES: u64 = 1_000_000;
/// The time between stimuli from which on Adam's RT boards answered all of them, ns.
const ALL_ANSWERED: f64 = 10e6;

/// What the runs of a kind say to a bound: the bound, what was found and their unit, and the answer with its reason.
fn row(
    of: String,
    sides: [&str; 2],
    (bound, found, unit): (f64, Option<f64>, &'static str),
    (answer, why): (Answer, String),
    runs: &[&PaperRun],
) -> Held {
    Held {
        of,
        sides: sides.map(str::to_owned),
        runs: [0, runs.len()],
        figures: found.map(|found| [bound, found]),
        unit,
        ratio: found.map(|found| found / bound),
        interval: None,
        answer,
        why,
        verdict: worst_verdict(runs),
    }
}

/// Adam's margin: no response of an RT kernel in user space takes longer than 160 us.
pub(super) fn margin(kinds: &Kinds<'_>) -> Claim {
    let fits = |k: &RunKind| k.test == Test::Response && k.space == Space::User && k.kernel.role == Role::Rt;
    let held: Vec<Held> = kinds
        .iter()
        .filter(|(k, _)| fits(k))
        .map(|(k, runs)| {
            let samples = runs.iter().map(|r| r.samples).fold(0, u64::saturating_add);
            let worst = runs.iter().map(|r| r.worst).try_fold(0.0, |worst: f64, v| Some(worst.max(v?)));
            let (answer, why) = match worst {
                None => (Answer::Contradicted, "stimuli were not answered in time".to_owned()),
                Some(w) if w > MARGIN => (Answer::Contradicted, String::new()),
                Some(_) if samples < MARGIN_SAMPLES => {
                    (Answer::NotEnoughData, format!("none of {samples} above, but the paper's are {MARGIN_SAMPLES}"))
                }
                Some(_) => (Answer::Confirmed, String::new()),
            };
            let of = format!("{}, load {}, {samples} samples", k.kernel.label, k.load);
            row(of, ["160 us", "maximum"], (MARGIN, worst, "ns"), (answer, why), runs)
        })
        .collect();
    Claim {
        id: "rt-response-within-160us",
        paper: Paper::Adam2021,
        says: "160 us is a safe bound for responses of a PREEMPT_RT kernel in user space, on these boards",
        test: format!("no sample above 160 us in at least {MARGIN_SAMPLES}"),
        answer: overall(&held),
        missing: if held.is_empty() {
            "there are no response tests in user space on a PREEMPT_RT kernel".into()
        } else {
            String::new()
        },
        held,
    }
}

/// Adam's section 6.1.1: an RT kernel answers every stimulus if they are 10 ms apart or more.
pub(super) fn frequency(kinds: &Kinds<'_>) -> Claim {
    let held: Vec<Held> = kinds
        .iter()
        .filter(|(k, _)| k.test == Test::Sustained && k.kernel.role == Role::Rt)
        .map(|(k, runs)| {
            let longest = runs.iter().map(|r| r.sustained).try_fold(0, |longest: u64, found| Some(longest.max(found?)));
            let longest = longest.map(|ns| ns as f64);
            let (answer, why) = match longest {
                None => (Answer::Contradicted, "no interval was found at which all were answered".to_owned()),
                Some(found) if found > ALL_ANSWERED => (Answer::Contradicted, String::new()),
                Some(_) if runs.len() < FEWEST => (Answer::NotEnoughData, format!("{} runs: take {FEWEST}", runs.len())),
                Some(_) => (Answer::Confirmed, String::new()),
            };
            let of = format!("{}, load {}, {} space", k.kernel.label, k.load, k.space);
            row(of, ["limit", "longest interval found"], (ALL_ANSWERED, longest, "ns"), (answer, why), runs)
        })
        .collect();
    Claim {
        id: "rt-answers-every-10ms",
        paper: Paper::Adam2021,
        says: "A PREEMPT_RT kernel answers all stimuli that are 10 ms apart or more",
        test: format!("the interval found by the sustained test is at most 10 ms, in each of at least {FEWEST} runs"),
        answer: overall(&held),
        missing: if held.is_empty() { "there are no sustained tests on a PREEMPT_RT kernel".into() } else { String::new() },
        held,
    }
}

/// Adam's conclusion of RT kernels, and Balci's of both: the majority of latencies is below 50 us.
pub(super) fn majority(paper: Paper, kinds: &Kinds<'_>) -> Claim {
    let (id, says, lacks, fits): (_, _, _, fn(&RunKind) -> bool) = match paper {
        Paper::Adam2021 => (
            "most-rt-responses-below-50us",
            "The majority of a PREEMPT_RT kernel's response latencies is below 50 us, on these boards",
            "there are no response tests on a PREEMPT_RT kernel",
            |k| k.test == Test::Response && k.kernel.role == Role::Rt,
        ),
        _ => (
            "most-samples-below-50us",
            "Without load most wake-up latencies are below 50 us, on stock and on RT",
            "there are no timer tests in user space without load",
            |k| {
                let timer = k.test == Test::Timer && k.space == Space::User && k.load == "none";
                timer && k.kernel.role != Role::Unknown && !k.on_the_tick()
            },
        ),
    };
    let held: Vec<Held> = kinds
        .iter()
        .filter(|(k, _)| fits(k))
        .map(|(k, runs)| {
            // Pooled, one run's majority could hide that another has none.
            let most = |n: u64, of: u64| n > of / 2;
            let all = |of: fn(&ShareBelow) -> u64| runs.iter().all(|r| most(of(&r.below), r.below.of));
            let shares = runs.iter().filter(|r| r.below.of > 0).map(|r| r.below.below as f64 / r.below.of as f64);
            let lowest = shares.reduce(f64::min);
            let (answer, why) = if !all(|s| s.below.saturating_add(s.undecided)) {
                (Answer::Contradicted, String::new())
            } else if !all(|s| s.below) {
                (Answer::NotEnoughData, "of too many events it is not known on which side of 50 us they are".to_owned())
            } else if runs.len() < FEWEST {
                (Answer::NotEnoughData, format!("{} runs: take {FEWEST}", runs.len()))
            } else {
                (Answer::Confirmed, String::new())
            };
            let of = format!("{}, load {}, {} {}, every {}", k.kernel.label, k.load, k.test, k.space, k.every());
            row(of, ["half", "lowest share of a run"], (0.5, lowest, ""), (answer, why), runs)
        })
        .collect();
    Claim {
        id,
        paper,
        says,
        test: format!(
            "of each run more than half of all events are below {} us, in each of at least {FEWEST} runs",
            MAJORITY / 1_000
        ),
        answer: overall(&held),
        missing: if held.is_empty() { lacks.into() } else { String::new() },
        held,
    }
}
