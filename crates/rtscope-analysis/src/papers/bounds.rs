//! Adam's two claims that are bounds on what his boards did, held against each kind of one's own runs.

use super::claims::{Answer, Claim, FEWEST, Held, Kinds, overall, worst_verdict};
use super::paper::Paper;
use super::run::RunKind;
use crate::kernel::Role;
use rtscope_record::{Space, Test};

/// Adam's "acceptable safety margin", ns, and the samples over which he saw it held.
const MARGIN: f64 = 160_000.0;
const MARGIN_SAMPLES: u64 = 1_000_000;
/// The time between stimuli from which on Adam's RT boards answered all of them, ns.
const ALL_ANSWERED: f64 = 10e6;

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
            Held {
                of: format!("{}, load {}, {samples} samples", k.kernel.label, k.load),
                sides: ["160 us".into(), "maximum".into()],
                runs: [0, runs.len()],
                figures: worst.map(|w| [MARGIN, w]),
                unit: "ns",
                ratio: worst.map(|w| w / MARGIN),
                interval: None,
                answer,
                why,
                verdict: worst_verdict(runs),
            }
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
            Held {
                of: format!("{}, load {}, {} space", k.kernel.label, k.load, k.space),
                sides: ["limit".into(), "longest interval found".into()],
                runs: [0, runs.len()],
                figures: longest.map(|found| [ALL_ANSWERED, found]),
                unit: "ns",
                ratio: longest.map(|found| found / ALL_ANSWERED),
                interval: None,
                answer,
                why,
                verdict: worst_verdict(runs),
            }
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
