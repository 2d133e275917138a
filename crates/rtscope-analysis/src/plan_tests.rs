use super::*;
use crate::fixtures::Build;

const MS: u64 = 1_000_000;

fn claim(text: &str) -> Assertion {
    text.parse().unwrap()
}

fn pilot(records: &[Record], of: Option<&Assertion>) -> Pilot {
    let mut all = Pilot::default();
    for r in records {
        all.add(r, of).unwrap();
    }
    all
}

fn run(i: u64, late: usize) -> Record {
    let mut samples: Vec<u64> = (0..10_000).map(|k| 5_000 + (k * 31 + i * 7) % 1_000).collect();
    for s in samples.iter_mut().take(late) {
        *s = 150_000;
    }
    let mut b = Build::new("full").cpu(0, MS, &samples);
    (b.0.id, b.0.elapsed_ns) = (format!("r{i}"), 10_000 * MS);
    b.record()
}

#[test]
fn without_earlier_runs_the_least_number() {
    let confidence = Confidence::default();
    // ln .05 / ln .99999.
    let found = plan_claim(&claim("p99.999<100us"), confidence, MS, &Pilot::default()).unwrap();
    assert_eq!((found.least, found.independent, found.samples), (299_572, Some(299_572), Some(299_572)));
    assert_eq!((found.duration_ns, found.runs, found.worst), (Some(299_572 * MS), None, None));
    // The same number as the assertion takes.
    assert_eq!(plan_claim(&claim("p99<100us"), confidence, MS, &Pilot::default()).unwrap().least, 299);
    for other in ["max<1ms", "p99>5us", "p99==5us", "missed==0", "p100<5us", "mean<5us"] {
        assert!(matches!(plan_claim(&claim(other), confidence, MS, &Pilot::default()), Err(PlanError::Claim(_))), "{other}");
    }
}

#[test]
fn what_exceeds_the_limit_takes_more() {
    let c = claim("p99.9<100us");
    let plan = |late: usize| plan_claim(&c, Confidence::default(), MS, &pilot(&[run(1, late), run(2, late)], Some(&c))).unwrap();
    let (none, some, many) = (plan(0), plan(2), plan(20));
    assert_eq!((none.samples, none.runs), (Some(none.least), Some(1)));
    assert_eq!(none.worst, Some(("cpu0".into(), 20_000, 0)));
    assert!(some.samples > none.samples && some.worst == Some(("cpu0".into(), 20_000, 4)), "{some:?}");
    assert_eq!((many.samples, many.runs), (None, None), "two in a thousand are beyond: no number shows one in a thousand");
    // What is planned is shown: of n samples at this rate, the assertion's own bound allows as many as come in nine of ten cases.
    let n = some.samples.unwrap();
    let expected = n as f64 * 2e-4;
    assert!(most(n, 0.001, 0.05).unwrap() as f64 >= expected + 1.28 * expected.sqrt());
}

#[test]
fn what_a_time_can_claim() {
    let found = plan_time(3_600_000 * MS, Confidence::default(), MS, &Pilot::default());
    assert_eq!((found.samples, found.independent), (3_600_000, 3_600_000));
    assert_eq!(found.percentiles.last().map(String::as_str), Some("p99.9999"), "2,995,731 suffice for it");
    assert!((found.exceedance.unwrap() * 3_600_000.0 - 2.9957).abs() < 1e-3, "rule of three");
    let bursts = Pilot { bursts: Some(Bursts::default()), ..Pilot::default() };
    assert!(plan_time(MS, Confidence::default(), MS, &bursts).percentiles.is_empty());
}

#[test]
fn runs_that_a_difference_takes() {
    let runs: Vec<Record> = (0..6).map(|i| run(i, usize::try_from(i).unwrap())).collect();
    let found = plan_difference(20.0, 1, &pilot(&runs, None));
    let row = |name: &str| found.rows.iter().find(|r| r.0 == name).unwrap().clone();
    assert!(row("mean").2.unwrap() <= row("p99.9").2.unwrap_or(usize::MAX), "{found:?}");
    assert!(plan_difference(20.0, 6, &pilot(&runs, None)).rows[0].2 >= row("mean").2);
    let one = plan_difference(20.0, 1, &pilot(&runs[..1], None));
    assert!(one.rows.iter().all(|r| r.1.is_none() && r.2.is_none()), "one run says nothing of how runs vary: {one:?}");
}

#[test]
fn what_can_tell_nothing_is_refused() {
    let mut invalid = run(1, 0).into_parts();
    invalid.warnings.push(rtscope_record::Warning::new("x", rtscope_record::Effect::Invalid, "m", "r"));
    let mut all = Pilot::default();
    assert_eq!(all.add(&Record::new(invalid).unwrap(), None), Err(PlanError::Invalid("r1".into())));
    let mut import = Build::new("none").cpu(0, MS, &[5_000; 50]).import().0;
    import.settings.interval = rtscope_record::Nanos(0);
    for d in &mut import.distributions {
        let mut p = d.clone().into_parts();
        p.thread = None;
        *d = rtscope_record::Distribution::new(p).unwrap();
    }
    assert!(matches!(all.add(&Record::new(import).unwrap(), None), Err(PlanError::Nothing(_))));
    assert_eq!(all.runs, 0);
}
