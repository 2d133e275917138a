//! Minima, curvatures and roots of functions of a few parameters.
//!
//! The simplex search and Brent's method are argmin's; Newton's method and the curvature, which standard errors need anyway,
//! stand here.

use argmin::core::{CostFunction, Error, Executor, State};
use argmin::solver::brent::BrentRoot;
use argmin::solver::neldermead::NelderMead;

/// A function of some parameters, infinite where it is not defined.
pub(super) type Function<'a> = &'a dyn Fn(&[f64]) -> f64;

/// A square matrix.
pub(super) type Matrix = Vec<Vec<f64>>;

/// A minimum.
#[derive(Debug, Clone)]
pub(super) struct Minimum {
    pub(super) at: Vec<f64>,
    pub(super) value: f64,
}

struct Cost<'a>(Function<'a>);

impl CostFunction for Cost<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, at: &Vec<f64>) -> Result<f64, Error> {
        Ok(defined((self.0)(at)))
    }
}

struct Line<'a>(&'a dyn Fn(f64) -> f64);

impl CostFunction for Line<'_> {
    type Param = f64;
    type Output = f64;

    fn cost(&self, at: &f64) -> Result<f64, Error> {
        Ok((self.0)(*at))
    }
}

/// A large number in place of what is not a number: a simplex can't be ordered otherwise.
fn defined(value: f64) -> f64 {
    if value.is_finite() { value } else { 1e300 }
}

/// Searches from `start`, where `f` must be finite, with a simplex of the size `steps`, then by Newton's method.
pub(super) fn search(f: Function<'_>, start: &[f64], steps: &[f64]) -> Option<Minimum> {
    let mut best = Minimum { at: start.to_vec(), value: f(start) };
    if !best.value.is_finite() {
        return None;
    }
    for _ in 0..3 {
        let mut simplex = vec![best.at.clone()];
        for (i, step) in steps.iter().enumerate() {
            let moved = |by: f64| {
                let mut corner = best.at.clone();
                corner[i] += by;
                corner
            };
            let by = [1.0, -1.0, 0.25, -0.25, 0.05, -0.05].map(|share| share * step);
            simplex.push(by.into_iter().map(moved).find(|c| f(c).is_finite()).unwrap_or_else(|| moved(step * 1e-3)));
        }
        let solver = NelderMead::new(simplex).with_sd_tolerance(1e-6 + best.value.abs() * 1e-12).ok()?;
        let run = Executor::new(Cost(f), solver).configure(|s| s.max_iters(400)).run().ok()?;
        let state = run.state();
        if let Some(at) = state.get_best_param().filter(|_| state.get_best_cost() < best.value) {
            best = Minimum { at: at.clone(), value: state.get_best_cost() };
        }
        // A search that ended early begins once more from where it was.
        if let Some(found) = newton(f, &best, steps) {
            return Some(found);
        }
    }
    // On the border of the support there is no curvature; what the simplex found stands.
    Some(best)
}

/// Goes from `start`, which is near the minimum, by Newton's method; by [`search`] if that fails.
pub(super) fn descend(f: Function<'_>, start: &[f64], steps: &[f64]) -> Option<Minimum> {
    let from = Minimum { at: start.to_vec(), value: f(start) };
    if from.value.is_finite() {
        if let Some(found) = newton(f, &from, steps) {
            return Some(found);
        }
    }
    search(f, start, steps)
}

/// Steps that Newton's method may take.
const STEPS: usize = 40;

fn newton(f: Function<'_>, from: &Minimum, steps: &[f64]) -> Option<Minimum> {
    let mut now = from.clone();
    let mut widths: Vec<f64> = steps.iter().map(|s| s * 0.05).collect();
    let mut known: Option<Matrix> = None;
    let mut last = f64::INFINITY;
    for _ in 0..STEPS {
        if known.is_none() {
            let rough = hessian(f, &now.at, now.value, &widths)?;
            widths = widths_of(&rough, &widths);
            let fine = hessian(f, &now.at, now.value, &widths)?;
            known = Some(inverse(&fine)?);
        }
        let inverse = known.as_ref()?;
        let gradient = gradient(f, &now.at, &widths)?;
        let direction: Vec<f64> = inverse.iter().map(|row| -dot(row, &gradient)).collect();
        // Half the squared distance to the minimum in standard errors.
        let left = -dot(&direction, &gradient) / 2.0;
        if left.is_nan() || left < 0.0 {
            return None;
        }
        let mut share = 1.0;
        let next = loop {
            let at: Vec<f64> = now.at.iter().zip(&direction).map(|(x, d)| x + share * d).collect();
            let value = f(&at);
            if value.is_finite() && value <= now.value + now.value.abs() * 1e-13 {
                break Some(Minimum { at, value });
            }
            share /= 2.0;
            if share < 1e-4 {
                break None;
            }
        };
        let Some(next) = next else { return (left < 1e-7).then_some(now) };
        now = next;
        if left < 1e-11 {
            return Some(now);
        }
        if left > last * 0.05 {
            known = None;
        }
        last = left;
    }
    (last < 1e-6).then_some(now)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Widths for differences: a twentieth of the distance at which `f` rises by a half.
fn widths_of(curvature: &Matrix, before: &[f64]) -> Vec<f64> {
    let wide = |(i, before): (usize, &f64)| {
        let bend = curvature[i][i];
        if bend > 0.0 { (0.05 / bend.sqrt()).min(before * 20.0) } else { *before }
    };
    before.iter().enumerate().map(wide).collect()
}

fn shifted(at: &[f64], shifts: &[(usize, f64)]) -> Vec<f64> {
    let mut at = at.to_vec();
    for (i, by) in shifts {
        at[*i] += by;
    }
    at
}

/// The gradient by differences much narrower than those of the curvature: it decides where the minimum is.
fn gradient(f: Function<'_>, at: &[f64], widths: &[f64]) -> Option<Vec<f64>> {
    let slope = |i: usize| {
        let mut h = widths[i] * 0.02;
        for _ in 0..8 {
            let (up, down) = (f(&shifted(at, &[(i, h)])), f(&shifted(at, &[(i, -h)])));
            if up.is_finite() && down.is_finite() {
                return Some((up - down) / (2.0 * h));
            }
            h /= 8.0;
        }
        None
    };
    (0..at.len()).map(slope).collect()
}

/// Second derivatives by central differences.
fn hessian(f: Function<'_>, at: &[f64], value: f64, widths: &[f64]) -> Option<Matrix> {
    let n = at.len();
    let mut h = widths.to_vec();
    for _ in 0..12 {
        let ends: Vec<[f64; 2]> = (0..n).map(|i| [h[i], -h[i]].map(|by| f(&shifted(at, &[(i, by)])))).collect();
        if let Some(i) = ends.iter().position(|e| !e.iter().all(|v| v.is_finite())) {
            h[i] /= 4.0;
            continue;
        }
        let mut all = vec![vec![0.0; n]; n];
        for i in 0..n {
            all[i][i] = (ends[i][0] + ends[i][1] - 2.0 * value) / (h[i] * h[i]);
            for j in 0..i {
                let both = [1.0, -1.0].map(|s| f(&shifted(at, &[(i, s * h[i]), (j, s * h[j])])));
                let around: f64 = ends[i].iter().chain(&ends[j]).sum();
                all[i][j] = (both[0] + both[1] - around + 2.0 * value) / (2.0 * h[i] * h[j]);
                all[j][i] = all[i][j];
            }
        }
        if all.iter().flatten().all(|v| v.is_finite()) {
            return Some(all);
        }
        for h in &mut h {
            *h /= 4.0;
        }
    }
    None
}

/// The curvature (observed information) at a minimum, by Richardson's extrapolation of two differences.
pub(super) fn curvature(f: Function<'_>, minimum: &Minimum, steps: &[f64]) -> Option<Matrix> {
    let (at, value) = (&minimum.at, minimum.value);
    let first: Vec<f64> = steps.iter().map(|s| s * 0.05).collect();
    let rough = hessian(f, at, value, &first)?;
    let widths: Vec<f64> = widths_of(&rough, &first).iter().map(|w| w * 2.0).collect();
    let half: Vec<f64> = widths.iter().map(|w| w / 2.0).collect();
    let (wide, narrow) = (hessian(f, at, value, &widths)?, hessian(f, at, value, &half)?);
    let both = wide.iter().zip(&narrow);
    Some(both.map(|(w, n)| w.iter().zip(n).map(|(w, n)| (4.0 * n - w) / 3.0).collect()).collect())
}

/// The inverse of a symmetric matrix; `None` unless it is positive definite. By Cholesky's decomposition.
pub(super) fn inverse(a: &Matrix) -> Option<Matrix> {
    let n = a.len();
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let rest = a[i][j] - dot(&l[i][..j], &l[j][..j]);
            if i == j {
                if !(rest > 0.0 && rest.is_finite()) {
                    return None;
                }
                l[i][i] = rest.sqrt();
            } else {
                l[i][j] = rest / l[j][j];
            }
        }
    }
    let column = |k: usize| {
        let mut x = vec![0.0; n];
        for i in 0..n {
            let one = if i == k { 1.0 } else { 0.0 };
            x[i] = (one - dot(&l[i][..i], &x[..i])) / l[i][i];
        }
        for i in (0..n).rev() {
            let below: f64 = (i + 1..n).map(|j| l[j][i] * x[j]).sum();
            x[i] = (x[i] - below) / l[i][i];
        }
        x
    };
    Some((0..n).map(column).collect())
}

/// The root of `f` between `low` and `high`, where its signs differ.
pub(super) fn root(f: &dyn Fn(f64) -> f64, low: f64, high: f64, tolerance: f64) -> Option<f64> {
    let solver = BrentRoot::new(low, high, tolerance);
    let run = Executor::new(Line(f), solver).configure(|s| s.param(f64::midpoint(low, high)).max_iters(200)).run().ok()?;
    run.state().get_best_param().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valley_and_its_curvature() {
        // Rosenbrock's function; its curvature at (1, 1) is [[802, -400], [-400, 200]].
        let f = |x: &[f64]| 100.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2);
        let found = search(&f, &[-1.2, 1.0], &[0.5, 0.5]).unwrap();
        assert!((found.at[0] - 1.0).abs() < 1e-6 && (found.at[1] - 1.0).abs() < 1e-6, "{found:?}");
        let bend = curvature(&f, &found, &[0.1, 0.1]).unwrap();
        assert!((bend[0][0] / 802.0 - 1.0).abs() < 1e-4 && (bend[0][1] / -400.0 - 1.0).abs() < 1e-4, "{bend:?}");
        let back = inverse(&bend).unwrap();
        assert!((back[0][0] - 0.5).abs() < 1e-2, "{back:?}");
    }

    #[test]
    fn what_is_undefined_is_gone_around() {
        let f = |x: &[f64]| if x[0] > 0.0 { x[0] - x[0].ln() } else { f64::INFINITY };
        assert!((search(&f, &[1e-3], &[10.0]).unwrap().at[0] - 1.0).abs() < 1e-6);
        assert!(search(&f, &[-1.0], &[1.0]).is_none());
        assert!(inverse(&vec![vec![1.0, 2.0], vec![2.0, 1.0]]).is_none());
        assert!((root(&|x| x * x - 2.0, 0.0, 2.0, 1e-12).unwrap() - 2f64.sqrt()).abs() < 1e-9);
    }
}
