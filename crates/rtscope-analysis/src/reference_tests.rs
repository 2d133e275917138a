//! Tests of the published latencies: the data as it lies in the repository, what is refused of a row, filters, what matches.

use super::read::{ns, read};
use super::*;
use crate::fixtures::Build;
use proptest::prelude::*;
use rtscope_record::{Space, Test};

fn get(id: &str) -> Reference {
    one(id).unwrap()
}

#[test]
fn the_data_is_sound_and_whole() {
    let rows = all().unwrap();
    assert_eq!(rows.len(), 125);
    let of = |words: &str| {
        let f = PublishedFilter::parse(&[words]).unwrap();
        rows.iter().filter(|r| f.takes(r)).count()
    };
    assert_eq!((of("study=adam 2021"), of("study=vinh"), of("study=dewit 2024"), of("evidence=secondary")), (52, 30, 12, 12));
    assert_eq!((of("test=timer"), of("test=response"), of("test=periodic")), (39, 67, 19));
    assert_eq!((get("adam-7-sw").below.as_deref(), get("dewit-rt").below), (Some("95 % far below 76"), None));
    // Wherever it is shown, a doubt of the sources must be with the figure.
    for r in rows.iter().filter(|r| r.id.starts_with("adam-") && r.id.ends_with("-sw")) {
        assert_eq!((r.max_is, r.avg), (Standing::Censored, None), "{}", r.id);
        assert!(r.caveat.contains("500 us") && r.max.unwrap() < 500_000, "{}", r.id);
    }
    let impossible = rows.iter().filter(|r| r.std_is == Standing::Impossible).count();
    let variances = rows.iter().filter(|r| r.caveat.contains("the printed variance")).count();
    assert_eq!((impossible, variances), (17, 6));
    assert!(rows.iter().filter(|r| r.id.starts_with("vinh-")).all(|r| r.caveat.contains("number of samples")));
    assert!(rows.iter().all(|r| r.checked != Checked::No), "none was taken over unseen");
    assert!(rows.iter().all(|r| r.tool != "same" && r.load != "same"), "each row says its own conditions");
}

#[test]
fn figures_are_whole_ns() {
    let r = get("dewit-rt");
    assert_eq!((r.avg, r.max, r.std), (Some(5_910), Some(124_000), Some(3_250)));
    assert!(r.caveat.contains("125 in the text"), "{}", r.caveat);
    assert_eq!(get("RTSL").max, Some(258_164));
    assert_eq!((get("balci-rt").max_is, get("balci-rt").avg), (Standing::About, None));
    assert_eq!((get("rpi3bp-419b").max, get("rpi3bp-419b").max_is), (Some(260_000), Standing::Above));
    assert_eq!((get("sec-riva").avg_is, get("sec-riva").max_is), (Standing::Disputed, Standing::Disputed));
    assert_eq!(one("nonsense"), Err(ReferenceError::Unknown("nonsense".into())));
    for (us, wanted) in [("0", 0), ("0.02", 20), ("4.957", 4_957), ("36802", 36_802_000), ("11.2", 11_200)] {
        assert_eq!(ns(us), Ok(Some(wanted)), "{us}");
    }
    for bad in ["-1", "1.2345", "~90", "1.", ".5", "1e3", "35/45", " 1", "99999999999999999999", "18446744073709552"] {
        assert!(ns(bad).is_err(), "{bad}");
    }
}

const HEAD: &str = "id,study,where,board,kernel,rt,test,space,figure,what,tool,load,samples,min_us,avg_us,avg_is,max_us,max_is,\
                    std_us,std_is,evidence,checked,original,caveat,below\n";

/// A sound row, with some of its fields replaced.
fn row(changes: &[(&str, &str)]) -> String {
    let sound = "a,S,W,B,6.12,yes,timer,user,latency,wake-up,cyclictest,none,1M,1,2,,3,,0.5,,primary,no,,none,";
    let names: Vec<&str> = HEAD.trim().split(',').collect();
    let mut fields: Vec<&str> = sound.split(',').collect();
    for (name, value) in changes {
        fields[names.iter().position(|n| n == name).unwrap()] = value;
    }
    fields.join(",") + "\n"
}

#[test]
fn a_row_that_contradicts_itself_is_refused() {
    assert_eq!(read(&(HEAD.to_owned() + &row(&[]))).unwrap().len(), 1);
    for (changes, why) in [
        (&[("min_us", "2.5")][..], "min <= avg <= max"),
        (&[("avg_us", "3.1")], "min <= avg <= max"),
        (&[("avg_us", ""), ("max_us", "")], "neither average nor maximum"),
        (&[("avg_us", ""), ("avg_is", "about")], "not there"),
        (&[("std_us", "1.1")], "more than half of the range"),
        (&[("std_is", "impossible")], "more than half of the range"),
        (&[("max_us", "~3")], "no time in us"),
        (&[("rt", "maybe")], "not yes or no"),
        (&[("test", "sleep")], "no test"),
        (&[("space", "outer")], "no space"),
        (&[("figure", "speed")], "speed"),
        (&[("load", " ")], "`load` is empty"),
        (&[("caveat", "")], "`caveat` is empty"),
        (&[("id", "A b")], "lower case"),
        (&[("original", "z")], "no primary row"),
        (&[("evidence", "rumour")], "rumour"),
    ] {
        let refused = read(&(HEAD.to_owned() + &row(changes))).unwrap_err().to_string();
        assert!(refused.contains(why), "{changes:?}: {refused}");
    }
    let twice = HEAD.to_owned() + &row(&[]) + &row(&[]);
    assert!(read(&twice).unwrap_err().to_string().contains("occurs twice"));
    assert!(read("id\na\n").is_err() && read(&(HEAD.to_owned() + "a,b\n")).is_err());
    // What the caveat doubts may contradict the rest.
    assert!(read(&(HEAD.to_owned() + &row(&[("avg_us", "9"), ("avg_is", "disputed")]))).is_ok());
}

#[test]
fn filters() {
    let ids = |words: &[&str]| {
        let f = PublishedFilter::parse(words).unwrap();
        all().unwrap().into_iter().filter(|r| f.takes(r)).map(|r| r.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&["board=rpi5,rt=yes"]), ["dewit-rt", "rosrt-r5-68"]);
    assert_eq!(ids(&["test=periodic", "space=user,load=FULL"]), ["vinh-60"]);
    assert_eq!(ids(&["figure=bound"]), ["rtsl"]);
    assert_eq!(ids(&["figure=handler-entry"]).len(), 5);
    assert!(PublishedFilter::parse::<&str>(&[]).unwrap().is_all() && !PublishedFilter::parse(&["rt=no"]).unwrap().is_all());
    for bad in ["rpi5", "colour=red", "board=", "rt=perhaps"] {
        assert_eq!(PublishedFilter::parse(&[bad]), Err(ReferenceError::Filter(bad.into())));
    }
}

fn own(record: Build) -> Own {
    Own::of(&record.record()).unwrap()
}

#[test]
fn only_the_same_test_space_and_figure_stand_beside() {
    let rows = all().unwrap();
    let timer = own(Build::new("none").cpu(0, 1_000_000, &[2_000, 4_000]));
    assert_eq!((timer.avg, timer.max, timer.samples), (Some(3_000.0), Some(4_000), 2));
    let mut inside = Build::lines("r", Test::Response, &[("rising", &[5_000], 0), ("falling", &[7_000], 1)]);
    inside.0.space = Space::Kernel;
    let wave = Build::lines("p", Test::Periodic, &[("rising late", &[1_000], 0), ("rising early", &[3_000], 0)]);
    let found = beside(vec![timer.clone(), own(inside), timer, own(wave)], &rows, false);
    assert_eq!(
        found.iter().map(|b| (b.test, b.space, b.own.len())).collect::<Vec<_>>(),
        [(Test::Timer, Space::User, 2), (Test::Response, Space::Kernel, 1), (Test::Periodic, Space::User, 1)]
    );
    for b in &found {
        assert!(b.none.is_none() && !b.references.is_empty());
        assert!(b.references.iter().all(|r| r.test == b.test && r.space == Some(b.space) && Some(r.figure) == b.figure));
        assert!(b.references.is_sorted_by_key(|r| !r.rt), "RT first");
    }
    let has = |i: usize, id: &str| found[i].references.iter().any(|r| r.id == id);
    assert!(has(0, "dewit-rt") && !has(0, "rtsl"), "a bound is no measurement");
    assert!(has(1, "adam-3-sw") && has(1, "vinh-61") && !has(1, "adam-1-sw") && !has(1, "gk-rpi700mhz"), "entry is no answer");
    assert!(has(2, "vinh-55") && !has(2, "vinh-67") && !has(2, "adam-per"), "its space is not stated");
    let mut soft = Build::lines("s", Test::Response, &[("rising", &[5_000], 0)]).timeout(1_000_000);
    soft.0.source = None;
    let soft = own(soft);
    assert_eq!((soft.tool.as_str(), soft.soft_lines), ("rtscope, soft:a to soft:b", true));
    assert_eq!((found[0].own[0].tool.as_str(), found[0].own[0].soft_lines), ("rtscope", false));
    // A jitter counts by its amount.
    assert_eq!((found[2].own[0].avg, found[2].own[0].max), (Some(2_000.0), Some(3_000)));
    // A quotation stands back where its original is.
    assert_eq!(found[0].quotations, ["sec-balci", "sec-riva", "sec-emlid"]);
    assert!(has(0, "balci-rt") && has(0, "sec-durr") && !has(0, "sec-balci"));
}

#[test]
fn what_has_no_partner_says_so() {
    let rows = all().unwrap();
    let timer = || own(Build::new("none").cpu(0, 1_000_000, &[2_000]));
    let mut kernel = Build::new("none").cpu(0, 1_000_000, &[2_000]);
    kernel.0.space = Space::Kernel;
    let found = beside(vec![own(kernel)], &rows, false);
    assert_eq!(found[0].none.as_deref(), Some("No published figure is of the test timer in kernel space (latency)."));
    let narrow: Vec<Reference> = rows.iter().filter(|r| r.board == "nothing").cloned().collect();
    assert!(beside(vec![timer()], &narrow, true)[0].none.as_deref().unwrap().ends_with("and passes the filters."));
    // A quotation whose original is filtered away is shown.
    let quoted: Vec<Reference> = rows.iter().filter(|r| r.id == "sec-balci").cloned().collect();
    let found = beside(vec![timer()], &quoted, true);
    assert_eq!((found[0].references.len(), found[0].quotations.len()), (1, 0));
    assert_eq!(found[0].references[0].doubts(), ["average disputed", "quoted"]);
    let sustained = own(Build::lines("s", Test::Sustained, &[("rising", &[5_000], 0)]));
    assert!(beside(vec![sustained], &rows, false)[0].none.as_deref().unwrap().contains("sustained"));
    assert!(beside(Vec::new(), &rows, false).is_empty());
}

proptest! {
    #[test]
    fn any_text_is_a_filter_or_an_error(text in "\\PC{0,40}") {
        let _ = PublishedFilter::parse(&[text]);
    }

    #[test]
    fn any_time_is_whole_ns(us in 0u64..1_000_000_000, part in 0u64..1000) {
        prop_assert_eq!(ns(&format!("{us}.{part:03}")), Ok(Some(us * 1000 + part)));
    }
}
