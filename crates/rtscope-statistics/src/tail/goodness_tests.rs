//! Tests of the fit tests.

use super::*;
use crate::tail::fit::fit;
use crate::tail::published::PORTPIRIE;

#[test]
fn port_pirie() {
    let o = Observed::of_values(&PORTPIRIE).unwrap();
    // R's goftest, and ks.test, for the law as evd prints it.
    let law = Law { family: Family::Gev, location: 3.874_75, scale: 0.198_05, shape: -0.050_12 };
    let d = distances(&o, &law);
    assert!((d.anderson_darling / 0.154_326_923_4 - 1.0).abs() < 1e-8, "{d:?}");
    assert!((d.cramer_von_mises / 0.021_142_515_5 - 1.0).abs() < 1e-8, "{d:?}");
    assert!((d.kolmogorov_smirnov / 0.060_633_071_9 - 1.0).abs() < 1e-8, "{d:?}");
    let g = goodness(&o, &law, None, 199, &mut Seeded::new(1));
    assert!(g.replicates > 190 && g.p.unwrap().anderson_darling > 0.5, "{g:?}");
    assert_eq!(g, goodness(&o, &law, None, 199, &mut Seeded::new(1)));
}

#[test]
fn narrow_cells_have_the_distances_of_values() {
    let o = Observed::of_values(&PORTPIRIE).unwrap();
    let law = fit(&o, Family::Gev, None).unwrap().law;
    let (exact, cells) = (distances(&o, &law), distances(&o.within(Resolution::Nearest(1e-4)), &law));
    assert!((exact.anderson_darling / cells.anderson_darling - 1.0).abs() < 3e-3, "{exact:?} {cells:?}");
    assert!((exact.cramer_von_mises / cells.cramer_von_mises - 1.0).abs() < 3e-3, "{exact:?} {cells:?}");
}

/// p-values of data that follow the law, drawn `n` at a time.
fn p_values(n: usize, rounding: Option<Resolution>, data: u64) -> Vec<f64> {
    let law = Law { family: Family::Gpd, location: 0.0, scale: 3.0, shape: 0.1 };
    let mut random = Seeded::new(17);
    let one = |_| {
        let values: Vec<f64> = (0..n).map(|_| law.exceeded_with(random.uniform())).collect();
        let rounded = |v: &f64| rounding.map_or(*v, |r| (v / r.width()).floor() * r.width());
        let exact = Observed::of_values(&values.iter().map(rounded).collect::<Vec<_>>()).unwrap();
        let o = rounding.map_or(exact.clone(), |r| exact.within(r));
        let found = fit(&o, Family::Gpd, Some(0.0)).unwrap();
        goodness(&o, &found.law, rounding, 39, &mut random).p.unwrap().anderson_darling
    };
    (0..data).map(one).collect()
}

#[test]
fn data_that_follow_the_law_have_any_p_value() {
    for (n, rounding) in [(60, None), (300, Some(Resolution::Down(2.0))), (5000, None), (13_000, Some(Resolution::Down(1.0)))] {
        let p = p_values(n, rounding, 30);
        let mean = p.iter().sum::<f64>() / 30.0;
        assert!((0.33..0.67).contains(&mean), "{n}: {mean} {p:?}");
        assert!(p.iter().filter(|p| **p <= 0.05).count() <= 6, "{n}: {p:?}");
    }
}

#[test]
fn another_law_is_found_out() {
    let mut random = Seeded::new(5);
    let values: Vec<f64> = (0..400).map(|i| if i % 2 == 0 { random.uniform() } else { 9.0 + random.uniform() }).collect();
    let o = Observed::of_values(&values).unwrap();
    let found = fit(&o, Family::Gpd, Some(0.0)).unwrap();
    assert!(goodness(&o, &found.law, None, 99, &mut random).p.unwrap().anderson_darling < 0.02);
}
