//! Intervals by the profile likelihood, of parameters and of levels: as skewed as the data make them.
//!
//! Source: Coles 2001, sections 2.6.6, 3.3.4 and 4.3.3. What is profiled is a parameter in place of another one: a level in place
//! of the location (GEV) or scale (GPD).

use super::fit::Standard;
use super::law::{Family, Law};
use super::optimum::{Minimum, descend, root};
use serde::Serialize;
use std::cell::RefCell;

/// An interval; `None` where the likelihood does not bound it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// What an interval is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Of {
    Location,
    Scale,
    Shape,
    /// The value that is exceeded with this probability.
    Level(f64),
}

impl Of {
    /// Its value for a law.
    pub(super) fn value(self, law: &Law) -> f64 {
        match self {
            Self::Location => law.location,
            Self::Scale => law.scale,
            Self::Shape => law.shape,
            Self::Level(p) => law.exceeded_with(p),
        }
    }

    /// The parameters besides, of a law.
    fn rest(self, law: &Law) -> Vec<f64> {
        match (self, law.family) {
            (Self::Location, Family::Gev) => vec![law.scale, law.shape],
            // With a level far out, a scale would fix the location too well for a search.
            (Self::Scale | Self::Level(_), Family::Gev) => vec![law.location, law.shape],
            (Self::Shape, Family::Gev) => vec![law.location, law.scale],
            (Self::Shape, Family::Gpd) => vec![law.scale],
            (_, Family::Gpd) => vec![law.shape],
        }
    }

    /// Other parameters from which a search may begin: those of the best law, and some with other shapes or scales.
    fn starts(self, law: &Law, first: &[f64]) -> Vec<Vec<f64>> {
        let shapes = [law.shape, law.shape / 2.0, 0.0, -0.1, -0.3, 0.2, 0.5, 1.0];
        let mut all = vec![first.to_vec()];
        match (self, law.family) {
            (Self::Shape, _) => all.extend([0.5, 1.5, 3.0, 9.0].map(|by| {
                let mut rest = first.to_vec();
                rest[first.len() - 1] *= by;
                rest
            })),
            (_, Family::Gev) => all.extend(shapes.iter().map(|shape| vec![first[0], *shape])),
            (_, Family::Gpd) => all.extend(shapes.iter().map(|shape| vec![*shape])),
        }
        all
    }

    /// The free parameters of the law that has this value, and the others as given.
    fn free(self, family: Family, value: f64, rest: &[f64]) -> Vec<f64> {
        let level = |p: f64, shape: f64| Law::standard_level(family, shape, p);
        match (self, family) {
            (Self::Location, Family::Gev) => vec![value, rest[0], rest[1]],
            (Self::Scale, Family::Gev) => vec![rest[0], value, rest[1]],
            (Self::Shape, Family::Gev) => vec![rest[0], rest[1], value],
            (Self::Level(p), Family::Gev) => vec![rest[0], (value - rest[0]) / level(p, rest[1]), rest[1]],
            (Self::Shape, Family::Gpd) => vec![rest[0], value],
            (Self::Scale | Self::Location, Family::Gpd) => vec![value, rest[0]],
            (Self::Level(p), Family::Gpd) => vec![value / level(p, rest[0]), rest[0]],
        }
    }
}

/// What lies farther beyond an interval is no place to search from.
const FAR: f64 = 30.0;

/// How many times a bracket is widened.
const WIDENINGS: usize = 40;

/// The interval in which twice the log-likelihood lies less than `drop` below its maximum, on the standard's scale.
pub(super) fn interval(standard: &Standard, best: &Minimum, of: Of, drop: f64) -> Interval {
    let origin = standard.origin();
    let Some(law) = origin.with_free(&best.at) else { return Interval { low: None, high: None } };
    let at = of.value(&law);
    let steps = standard.steps();
    let start = of.rest(&law);
    let side = |sign: f64| {
        // The best other parameters where the profile was last looked at: the next are near.
        let near = RefCell::new(start.clone());
        let beyond = |value: f64| {
            let f = |rest: &[f64]| standard.nllh(&of.free(standard.family, value, rest));
            let from = feasible(&f, &near.borrow(), of.starts(&law, &start));
            let found = from.and_then(|from| descend(&f, &from, &steps[..start.len()]));
            let Some(found) = found else { return f64::INFINITY };
            let beyond = 2.0 * (found.value - best.value) - drop;
            if beyond < FAR {
                *near.borrow_mut() = found.at;
            }
            beyond
        };
        let mut step = first_step(of, &law, standard);
        let mut inside = at;
        for _ in 0..WIDENINGS {
            let mut outside = inside + sign * step;
            if of == Of::Shape {
                outside = outside.max(-0.999_999);
            }
            if of == Of::Scale || matches!(of, Of::Level(_)) && standard.family == Family::Gpd {
                outside = outside.max(inside / 4.0);
            } else if matches!(of, Of::Level(_)) {
                outside = outside.max(f64::midpoint(inside, law.location - 2.0 * law.scale));
            }
            let found = beyond(outside);
            if found > 0.0 {
                let capped = |v: f64| beyond(v).min(1e6);
                return root(&capped, inside.min(outside), inside.max(outside), (outside - inside).abs() * 1e-9);
            }
            if of == Of::Shape && outside < -0.999 {
                return None;
            }
            inside = outside;
            step *= 1.6;
        }
        None
    };
    Interval { low: side(-1.0), high: side(1.0) }
}

/// Where a search for the other parameters begins: at the last ones, or else at the most likely of `others`.
fn feasible(f: &dyn Fn(&[f64]) -> f64, near: &[f64], others: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    if f(near).is_finite() {
        return Some(near.to_vec());
    }
    let tried = others.into_iter().map(|o| (f(&o), o)).filter(|(value, _)| value.is_finite());
    tried.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, o)| o)
}

/// About a standard error.
fn first_step(of: Of, law: &Law, standard: &Standard) -> f64 {
    let usual = 1.0 / standard.data.total().sqrt();
    match of {
        Of::Location | Of::Scale => law.scale * usual,
        Of::Shape => usual,
        Of::Level(_) => (of.value(law).abs() + law.scale) * usual * 0.5,
    }
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
