//! Tests of the gates, against R 4.2.2 (stats, tseries, evd).

use super::*;
use crate::seeded::Seeded;
use crate::tail::published::{NILE, OXFORD, PORTPIRIE, VENICE};

fn near(found: f64, known: f64) {
    assert!((found / known - 1.0).abs() < 1e-6, "{found} {known}");
}

#[test]
fn port_pirie_and_the_nile() {
    near(ljung_box(&PORTPIRIE, 10).unwrap().0, 5.829_842);
    near(ljung_box(&PORTPIRIE, 10).unwrap().1, 0.829_350_740);
    for (lags, known) in [(1, 25.593_831_552_6), (5, 63.971_712_348_1), (10, 88.126_871_551_3)] {
        near(ljung_box(&NILE, lags).unwrap().0, known);
    }
    assert_eq!((kpss_lags(65), kpss_lags(100)), (3, 4));
    near(kpss(&PORTPIRIE, 3).unwrap().0, 0.057_753_2);
    near(kpss(&NILE, 4).unwrap().0, 0.965_434_9);
    near(runs(&NILE).unwrap().0, -4.221_374_2);
    near(runs(&PORTPIRIE).unwrap().0, -0.537_162_745);
    for (lags, known) in [(1, 6.482_262_797_35), (5, 11.601_715_207_7), (10, 14.119_557_292_9)] {
        near(ljung_box(&VENICE, lags).unwrap().0, known);
    }
    near(ljung_box(&OXFORD, 1).unwrap().0, 1.589_735_821_05);
}

#[test]
fn the_critical_values_of_kpss() {
    // Kwiatkowski and others 1992, table 1: asymptotic ones, by simulation, to 3 digits.
    for (x, p) in [(0.347, 0.10), (0.463, 0.05), (0.574, 0.025), (0.739, 0.01)] {
        assert!((brownian_bridge(x) / p - 1.0).abs() < 0.05, "{x} {}", brownian_bridge(x));
    }
    // Csorgo and Faraway 1996, table 1: the limit of Cramer and von Mises's statistic.
    for (x, p) in [(0.461_36, 0.05), (0.743_46, 0.01), (0.118_88, 0.5)] {
        assert!((brownian_bridge(x) - p).abs() < 2e-5, "{x} {}", brownian_bridge(x));
    }
    assert!(brownian_bridge(0.01) > 0.9999 && brownian_bridge(5.0) < 1e-6);
}

#[test]
fn clusters_are_told_from_chance() {
    let mut random = Seeded::new(3);
    let alone: Vec<f64> = (0..20_000).map(|_| random.uniform()).collect();
    let i = extremal_index(&alone, 0.95, usual_run(20_000, 1000)).unwrap();
    assert!((i.index - i.independent).abs() < 0.05 && i.p > 0.01 && i.intervals > 0.9, "{i:?}");
    // Each value is the greater of two neighbours: clusters of two, index 1/2.
    let pairs: Vec<f64> = alone.windows(2).map(|w| w[0].max(w[1])).collect();
    let i = extremal_index(&pairs, 0.975, 10).unwrap();
    assert!(i.p < 1e-6 && (i.intervals - 0.5).abs() < 0.06, "{i:?}");
    assert!(extremal_index(&alone, 2.0, 1).is_none());
}

#[test]
fn what_does_not_vary_has_no_test() {
    let flat = [3.0; 40];
    assert!(kpss(&flat, 3).is_none() && ljung_box(&flat, 5).is_none() && runs(&flat).is_none());
    assert!(runs(&[1.0]).is_none() && ljung_box(&[1.0, 2.0], 4).is_none());
    let gate = Gate::judged("runs", "runs".into(), None, 0.05, "");
    assert_eq!(gate.outcome, GateOutcome::NotAvailable);
}
