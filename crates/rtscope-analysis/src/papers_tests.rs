//! Tests of the papers' tables and claims.

use super::*;
use crate::fixtures::Build;
use rtscope_record::system::Preemption;
use rtscope_record::{Clock, Lab, Record, Verdict};

/// Five runs of a kernel in the lab with these maxima, in us; the mean of all is about 5 us.
fn kernel(rt: bool, load: &str, parameters: &[&str], maxima: [u64; 5]) -> Vec<Record> {
    let of = |(seed, max): (usize, u64)| {
        let name = format!("{}-{load}-{}-{seed}", if rt { "rt" } else { "stock" }, parameters.len());
        let mut samples = vec![5_000 + seed as u64; 999];
        samples.push(max * 1_000);
        let mut b = Build::new(load).cpu(0, 100_000_000, &samples);
        (b.0.id, b.0.clock) = (name, Clock::Virtual);
        b.0.system.kernel.release = "6.12.1-amd64".into();
        b.0.system.kernel.preemption = if rt { Preemption::Rt } else { Preemption::Voluntary };
        let parameters = parameters.iter().map(|p| (*p).to_owned()).collect();
        b.0.lab = Some(Lab { model: 2, seed: seed as u64, parameters, ..Lab::default() });
        b.record()
    };
    maxima.into_iter().enumerate().map(of).collect()
}

fn held(asked: &[Paper], records: &[Record]) -> Papers {
    let runs: Vec<PaperRun> = records.iter().filter_map(|r| PaperRun::of(r).unwrap()).collect();
    papers(asked, &runs).unwrap()
}

fn answer(p: &Papers, id: &str) -> Answer {
    p.claims.iter().find(|c| c.id == id).unwrap().answer
}

#[test]
fn a_claim_is_confirmed_contradicted_or_open_by_its_interval() {
    let stock = kernel(false, "network", &[], [300, 310, 305, 298, 320]);
    for (maxima, lower, tenfold) in [
        ([20, 21, 20, 22, 20], Answer::Confirmed, Answer::Confirmed),
        ([200, 210, 190, 205, 199], Answer::Confirmed, Answer::Contradicted),
        ([600, 610, 620, 605, 590], Answer::Contradicted, Answer::Contradicted),
        ([100, 900, 50, 700, 300], Answer::NotEnoughData, Answer::Contradicted),
    ] {
        let p = held(&[Paper::Dewit2024], &[stock.clone(), kernel(true, "network", &[], maxima)].concat());
        let found = [answer(&p, "rt-lowers-maximum-under-load"), answer(&p, "stock-maximum-ten-times-rt")];
        assert_eq!(found, [lower, tenfold], "{maxima:?}: {:?}", p.claims);
    }
}

#[test]
fn too_few_runs_the_same_runs_and_no_runs_are_not_enough() {
    let both = [kernel(false, "full", &[], [300; 5]), kernel(true, "full", &[], [20; 5])].concat();
    let id = "rt-lowers-maximum-under-load";
    assert_eq!(answer(&held(&[Paper::Dewit2024], &both), id), Answer::Confirmed);
    // Two a side.
    let two = [&both[..2], &both[5..7]].concat();
    assert_eq!(answer(&held(&[Paper::Dewit2024], &two), id), Answer::NotEnoughData);
    // The same two again and again.
    let again = [two.clone(), two.clone(), two].concat();
    assert_eq!(answer(&held(&[Paper::Dewit2024], &again), id), Answer::NotEnoughData);
    let none = held(&Paper::ALL, &[]);
    assert!(none.claims.iter().all(|c| c.answer == Answer::NotEnoughData && !c.missing.is_empty()));
    assert!(none.papers.iter().all(|p| p.own_conditions.is_empty() && !p.tables.is_empty()));
}

#[test]
fn one_load_that_contradicts_is_enough() {
    let kernels =
        |load: &str, rt: [u64; 5]| [kernel(false, load, &[], [300, 305, 302, 299, 301]), kernel(true, load, &[], rt)].concat();
    let mixed = [kernels("network", [20, 21, 22, 20, 21]), kernels("full", [900, 905, 899, 902, 901])].concat();
    let p = held(&[Paper::Dewit2024], &mixed);
    assert_eq!(answer(&p, "rt-lowers-maximum-under-load"), Answer::Contradicted);
}

#[test]
fn kernels_with_other_parameters_are_others() {
    let off = kernel(false, "none", &["highres=off"], [3_600, 3_601, 3_605, 3_599, 3_602]);
    let on = kernel(false, "none", &[], [5, 6, 5, 7, 5]);
    let p = held(&[Paper::VinhChau, Paper::Balci2017], &[off, on].concat());
    assert_eq!(answer(&p, "high-resolution-timers-lower-jitter"), Answer::Confirmed);
    let stock: Vec<&PaperRow> = p.papers[1].tables[0].rows.iter().filter(|r| r.own.is_some()).collect();
    assert_eq!(stock.len(), 2, "{stock:?}");
    assert!(stock.iter().any(|r| r.of.contains("highres=off")));
}

#[test]
fn runs_of_a_kind_are_pooled_and_stand_below_the_published_rows() {
    let p = held(&[Paper::Dewit2024], &kernel(true, "network", &[], [20, 21, 22, 23, 24]));
    let rows = &p.papers[0].tables[0].rows;
    let own = rows.iter().find_map(|r| r.own.as_ref()).unwrap();
    assert_eq!((own.runs, own.samples, own.min, own.max), (5, 5_000, Some(5_000), Some(24_000)));
    // Of 999 samples at 5000 + seed and one at the maximum, five times.
    let mean = (0..5).map(|s| f64::from(999 * (5_000 + s) + (20 + s) * 1_000)).sum::<f64>() / 5_000.0;
    assert!((own.mean.unwrap() - mean).abs() < 1e-6);
    let square = |v: f64| (v - mean).powi(2);
    let all = (0..5).map(|s| 999.0 * square(f64::from(5_000 + s)) + square(f64::from((20 + s) * 1_000))).sum::<f64>();
    assert!((own.stddev.unwrap() - (all / 5_000.0).sqrt()).abs() < 1e-6);
    let at = rows.iter().position(|r| r.own.is_some()).unwrap();
    assert!(rows[at - 1].published.as_ref().is_some_and(|r| r.id == "dewit-rt"), "{rows:?}");
    assert!(own.verdict < Verdict::Invalid && p.papers[0].own_conditions.len() == 1);
}

#[test]
fn every_claim_has_a_name_of_its_own_and_every_table_published_rows() {
    let none = held(&Paper::ALL, &[]);
    let ids: std::collections::BTreeSet<&str> = none.claims.iter().map(|c| c.id).collect();
    assert_eq!(ids.len(), none.claims.len());
    for table in none.papers.iter().flat_map(|p| &p.tables) {
        assert!(table.rows.iter().any(|r| r.published.is_some()), "{}", table.title);
    }
    for paper in Paper::ALL {
        assert_eq!(paper.as_str().parse(), Ok(paper));
        assert!(none.claims.iter().any(|c| c.paper == paper), "{paper}");
    }
    assert!("dewit".parse::<Paper>().unwrap_err().contains("dewit-2024"));
}

#[test]
fn runs_of_other_lengths_are_not_held_against_each_other() {
    let longer = |r: Record| {
        let mut p = r.into_parts();
        p.settings.duration = Some(rtscope_record::Nanos(3_600_000_000_000));
        Record::new(p).unwrap()
    };
    let stock = kernel(false, "network", &[], [300, 310, 305, 298, 320]);
    let rt: Vec<Record> = kernel(true, "network", &[], [20, 21, 20, 22, 20]).into_iter().map(longer).collect();
    let p = held(&[Paper::Dewit2024], &[stock, rt].concat());
    let claim = p.claims.iter().find(|c| c.id == "rt-lowers-maximum-under-load").unwrap();
    assert!(claim.held.is_empty() && claim.answer == Answer::NotEnoughData && !claim.missing.is_empty(), "{claim:?}");
}
