//! Tests of what laws are fitted to.

use super::*;
use crate::tail::law::Family;

#[test]
fn equal_values_are_counted_together() {
    let o = Observed::of_values(&[3.0, 1.0, 3.0, 2.0]).unwrap();
    assert_eq!(o.cells().len(), 3);
    assert_eq!(o.cells()[2], Cell { low: 3.0, high: 3.0, count: 2.0 });
    assert!((o.total() - 4.0).abs() < 1e-12);
    assert_eq!(o.quantile(0.5), Some(2.0));
    assert!((o.above(1.0).total() - 3.0).abs() < 1e-12);
    let wide = o.within(Resolution::Down(1.0));
    assert_eq!(wide.range(), Some((1.0, 4.0)));
    // The threshold 2 is the lower end of what was written as 2.
    assert!((wide.above(2.0).total() - 3.0).abs() < 1e-12);
    assert!((o.within(Resolution::Nearest(1.0)).between_cells(1.0) - 1.5).abs() < 1e-12);
}

#[test]
fn what_is_no_number_is_refused() {
    assert_eq!(Observed::of_values(&[1.0, f64::NAN]), Err(TailError::NotFinite(2)));
    assert_eq!(Observed::of_values(&[f64::INFINITY]), Err(TailError::NotFinite(1)));
    let cell = Cell { low: 0.0, high: f64::INFINITY, count: 1.0 };
    assert!(Observed::of_cells(vec![cell]).is_err());
}

#[test]
fn the_grid_is_the_widest_step() {
    assert_eq!(grid_of(&[4.03, 3.83, 3.65, 3.88]), Some(0.01));
    assert_eq!(grid_of(&[10.0, 30.0, 20.0]), Some(10.0));
    assert_eq!(grid_of(&[1e9, 1e9 + 5.0, 1e9 + 15.0]), Some(5.0));
    assert_eq!(grid_of(&[0.123_456_789_1, std::f64::consts::PI, 2.0f64.sqrt()]), None);
    assert_eq!(grid_of(&[2.0, 2.0]), None);
    assert_eq!(grid_of(&[-0.3, 0.1, 0.2]), Some(0.1));
}

#[test]
fn condensing_keeps_count_mean_and_likelihood() {
    let values: Vec<f64> = (0..5000u32).map(|i| -(1.0 - (f64::from(i) + 0.5) / 5000.0f64).ln()).collect();
    let o = Observed::of_values(&values).unwrap();
    let c = o.condensed(0.01);
    assert!(c.cells().len() < 700, "{}", c.cells().len());
    let mean = |o: &Observed| o.cells().iter().map(|c| c.low * c.count).sum::<f64>() / o.total();
    assert!((mean(&o) - mean(&c)).abs() < 1e-12);
    let law = Law { family: Family::Gpd, location: 0.0, scale: 1.1, shape: 0.1 };
    assert!((o.nllh(&law) - c.nllh(&law)).abs() < 0.01, "{} {}", o.nllh(&law), c.nllh(&law));
}
