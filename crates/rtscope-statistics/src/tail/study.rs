//! A study of a tail: fit, gates, intervals and levels, and whether a bound may be given.

use super::blocks::{block_maxima, cluster_maxima};
use super::bootstrap::{Source, block_length, laws, percentiles};
use super::error::TailError;
use super::fit::{Fit, Standard, fit_of};
use super::found::{CurvePoint, Parameter, ReturnLevel, Study, ValueGrid};
use super::gates::{Gate, GateOutcome};
use super::goodness::goodness;
use super::judged::{Gated, gates};
use super::law::Family;
use super::observed::{Observed, Resolution, grid_of};
use super::optimum::Minimum;
use super::profile::{Interval, Of, interval};
use super::request::{Method, Request, Rounding, Series};
use super::threshold::{level, mean_residual_life, thresholds, usual_thresholds};
use super::warnings;
use crate::seeded::Seeded;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// A grid counts where its step is more than this share of the law's scale: below, an exact likelihood is off by less than 0.4 %
/// of the variance.
const COARSE: f64 = 0.3;

/// More different values than this are put together for bootstraps where they are nearly equal.
const FEW: usize = 2000;

/// What a law is fitted to, and how it came about.
struct Material {
    family: Family,
    /// All values.
    all: Observed,
    /// What is fitted, in its order where that is known.
    ordered: Option<Vec<f64>>,
    observed: Observed,
    threshold: Option<f64>,
    block_size: Option<usize>,
    left_out: usize,
    /// Thresholds of the study.
    cuts: Vec<f64>,
}

/// Studies a tail.
pub fn study(series: &Series, request: &Request) -> Result<Study, TailError> {
    request.check(series)?;
    let mut m = material(series, request)?;
    let mut random = Seeded::new(request.seed);
    let (rounding, grid, (fit, minimum), standard) = fitted(&mut m, request)?;
    let total = m.all.total();
    let rate = if m.family == Family::Gpd { m.observed.total() / total } else { 1.0 };
    let base = if m.family == Family::Gpd { total } else { m.observed.total() };
    let (periods, chosen) = periods(request, m.family, base);
    if let Some(p) = periods.iter().find(|p| 1.0 / **p >= rate) {
        return Err(TailError::Asked(format!("a return period of {p} values: its level lies below the threshold")));
    }
    let drop = ChiSquared::new(1.0).map_or(3.841_458_820_694_124, |c| c.inverse_cdf(request.confidence));
    let (standard, minimum) = standard.coarser(&minimum);
    let profile = |of: Of| {
        let found = interval(&standard, &minimum, of, drop);
        let (scale, shift) = match of {
            Of::Shape => (1.0, 0.0),
            Of::Scale => (standard.spread, 0.0),
            Of::Location | Of::Level(_) => (standard.spread, standard.centre),
        };
        let back = |v: f64| v * scale + shift;
        Interval { low: found.low.map(back), high: found.high.map(back) }
    };
    let n = m.observed.total();
    let replicates =
        |most: u32| request.replicates.min(if n <= 300.0 { most } else { most.min(if n <= 3000.0 { 499 } else { 199 }) });
    let goodness = goodness(&m.observed, &fit.law, rounding, replicates(999), &mut random);
    let few = if m.observed.cells().len() > FEW { m.observed.condensed(fit.law.scale * 0.01) } else { m.observed.clone() };
    let source = match &m.ordered {
        Some(values) if values.len() < 20_000 => Source::Blocks(values, block_length(values.len()), rounding),
        _ => Source::Counted(&few),
    };
    let drawn = laws(source, &fit.law, replicates(499), &mut random);
    let levels: Vec<ReturnLevel> = periods
        .iter()
        .map(|period| {
            let p = 1.0 / period / rate;
            ReturnLevel {
                period: *period,
                probability: 1.0 / period,
                level: fit.law.exceeded_with(p),
                interval: profile(Of::Level(p)),
                bootstrap: percentiles(drawn.iter().map(|l| level(l, 1.0 / period, rate)).collect(), request.confidence),
                extrapolation: period / base,
            }
        })
        .collect();
    let headline = periods.iter().position(|p| p.total_cmp(&chosen).is_eq()).unwrap_or(0);
    let Gated { gates, extremal_index } = gates(series, m.ordered.as_deref(), m.threshold, request.decluster, &goodness);
    let gates: Vec<Gate> = gates.into_iter().chain([of_interval(&fit, levels.get(headline))]).collect();
    let probabilities: Vec<f64> = periods.iter().map(|p| 1.0 / p).collect();
    let is_gpd = m.family == Family::Gpd;
    let mut study = Study {
        family: m.family,
        values: total,
        fitted: n,
        block_size: m.block_size,
        threshold: m.threshold,
        rate,
        declustered: request.decluster,
        highest: m.all.range().map_or(0.0, |(_, high)| high),
        grid,
        confidence: request.confidence,
        parameters: parameters(&fit, &profile),
        upper_end: fit.law.upper_end(),
        curve: curve(&fit, rate, base, &periods, &profile),
        points: points(if is_gpd { &m.all } else { &m.observed }, m.threshold),
        fit,
        levels,
        headline,
        bounded: gates.iter().all(|g| g.outcome == GateOutcome::Passed),
        gates,
        extremal_index,
        goodness,
        replicates: u32::try_from(drawn.len()).unwrap_or(u32::MAX),
        thresholds: if is_gpd { thresholds(&m.all, &m.cuts, &probabilities) } else { Vec::new() },
        mean_residual_life: if is_gpd { mean_residual_life(&m.all, 60) } else { Vec::new() },
        warnings: Vec::new(),
        seed: request.seed,
    };
    study.warnings = warnings::of(&study, m.left_out);
    Ok(study)
}

fn material(series: &Series, request: &Request) -> Result<Material, TailError> {
    let maxima = |values: Vec<f64>, block_size: Option<usize>, left_out: usize| {
        let observed = Observed::of_values(&values)?;
        let all = observed.clone();
        let ordered = Some(values);
        Ok(Material { family: Family::Gev, all, ordered, observed, threshold: None, block_size, left_out, cuts: Vec::new() })
    };
    let blocks = |values: &[f64], size: usize| maxima(block_maxima(values, size)?, Some(size), values.len() % size.max(1));
    match (&request.method, series) {
        (Method::Maxima, Series::Ordered(values)) => maxima(values.clone(), None, 0),
        (Method::BlockSize(size), Series::Ordered(values)) => blocks(values, *size),
        (Method::Blocks(n), Series::Ordered(values)) => blocks(values, values.len() / (*n).max(1)),
        (Method::Thresholds(cuts), _) => {
            let all = series.observed()?;
            let usual = usual_thresholds(&all);
            let mut at = cuts.iter().map(|c| c.of(&all)).collect::<Result<Vec<f64>, _>>()?;
            if at.is_empty() {
                // The middle one has both enough values and the tail's shape; the study shows all.
                at.extend(usual.get(usual.len() / 2));
            }
            let needed = super::fit::FEWEST;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count
            let found = all.total() as u64;
            let Some(&threshold) = at.first() else { return Err(TailError::TooFew { what: "values", found, needed: 3 * needed }) };
            let mut shown: Vec<f64> = if at.len() > 1 { at.clone() } else { usual.into_iter().chain([threshold]).collect() };
            shown.sort_by(f64::total_cmp);
            shown.dedup();
            let ordered = match series {
                Series::Ordered(values) => Some(match request.decluster {
                    Some(run) => cluster_maxima(values, threshold, run.max(1)),
                    None => values.iter().copied().filter(|v| *v > threshold).collect(),
                }),
                Series::Counted(_) => None,
            };
            let observed = ordered.as_deref().map_or_else(|| Ok(all.above(threshold)), Observed::of_values)?;
            let threshold = Some(threshold);
            Ok(Material { family: Family::Gpd, all, ordered, observed, threshold, block_size: None, left_out: 0, cuts: shown })
        }
        (Method::Maxima | Method::BlockSize(_) | Method::Blocks(_), Series::Counted(_)) => {
            Err(TailError::Asked("block maxima need the order of the values, which a histogram does not keep".into()))
        }
    }
}

type Fitted = (Option<Resolution>, Option<ValueGrid>, (Fit, Minimum), Standard);

/// Fits the law to exact values, or to intervals where they are rounded coarsely.
fn fitted(m: &mut Material, request: &Request) -> Result<Fitted, TailError> {
    let attempt = |m: &Material| {
        let standard = Standard::new(&m.observed, m.family, m.threshold)?;
        Ok::<_, TailError>((fit_of(&standard)?, standard))
    };
    if m.observed.is_censored() {
        let threshold = m.threshold.map(|t| m.all.between_cells(t));
        if let Some(threshold) = threshold {
            m.observed = m.all.above(threshold);
            m.threshold = Some(threshold);
        }
        let (found, standard) = attempt(m)?;
        return Ok((None, None, found, standard));
    }
    let steps = m.ordered.as_deref().and_then(grid_of);
    let exact = attempt(m);
    let resolution = match request.rounding {
        Rounding::Exact => None,
        Rounding::Known(r) => Some(r),
        Rounding::Found => steps.map(Resolution::Nearest).filter(|r| match &exact {
            Ok(((fit, _), _)) => r.width() > COARSE * fit.law.scale || fit.at_border,
            Err(TailError::NoFit { .. }) => true,
            Err(_) => false,
        }),
    };
    let grid = |censored: bool| {
        let step = resolution.map(Resolution::width).or(steps)?;
        Some(ValueGrid { step, censored })
    };
    let Some(resolution) = resolution else {
        let (found, standard) = exact?;
        return Ok((None, grid(false), found, standard));
    };
    m.observed = m.observed.within(resolution);
    m.all = m.all.within(resolution);
    if let Some(threshold) = m.threshold {
        let threshold = m.all.between_cells(threshold);
        m.observed = m.observed.above(threshold);
        m.threshold = Some(threshold);
    }
    let (found, standard) = attempt(m)?;
    Ok((Some(resolution), grid(true), found, standard))
}

/// The gate that has no p-value: whether the likelihood bounds the law and the level at all.
fn of_interval(fit: &Fit, head: Option<&ReturnLevel>) -> Gate {
    let why = if fit.at_border || fit.errors.is_none() {
        Some("the likelihood has no maximum inside of its range: these values do not determine the law")
    } else if head.is_none_or(|l| l.interval.high.is_none()) {
        Some("the likelihood does not bound the level from above")
    } else {
        None
    };
    let good = "the law and the level have finite intervals";
    Gate::told("interval", "maximum and profile of the likelihood", why.map(str::to_owned), good)
}

/// The periods in ascending order, and that of the bound.
fn periods(request: &Request, family: Family, base: f64) -> (Vec<f64>, f64) {
    if let Some(first) = request.periods.first() {
        let mut all = request.periods.clone();
        all.sort_by(f64::total_cmp);
        all.dedup();
        return (all, *first);
    }
    if family == Family::Gev {
        return (vec![10.0, 100.0, 1000.0], 100.0);
    }
    let first = 10f64.powf(base.log10().ceil());
    (vec![first, first * 10.0, first * 100.0], first * 10.0)
}

fn parameters(fit: &Fit, profile: &dyn Fn(Of) -> Interval) -> Vec<Parameter> {
    let all = [("location", Of::Location), ("scale", Of::Scale), ("shape", Of::Shape)];
    let fitted = &all[3 - fit.law.family.parameters()..];
    let one = |(i, (name, of)): (usize, &(&'static str, Of))| Parameter {
        name,
        value: of.value(&fit.law),
        error: fit.errors.as_ref().map(|e| e[i]),
        interval: profile(*of),
    };
    fitted.iter().enumerate().map(one).collect()
}

/// Points of the curve, from where the data are to beyond the farthest level.
fn curve(fit: &Fit, rate: f64, base: f64, periods: &[f64], profile: &dyn Fn(Of) -> Interval) -> Vec<CurvePoint> {
    let from = if fit.law.family == Family::Gev { 2.0 } else { 1.02 / rate };
    let to = periods.iter().copied().fold(base * 2.0, f64::max).max(from * 10.0);
    let point = |i: u32| {
        let period = from * (to / from).powf(f64::from(i) / 14.0);
        let p = 1.0 / period / rate;
        CurvePoint { period, level: fit.law.exceeded_with(p), interval: profile(Of::Level(p)) }
    };
    (0..=14).map(point).collect()
}

/// Most points of a plot.
const POINTS: usize = 400;

/// The data by their empirical return period, `(n + 1) / rank`.
fn points(all: &Observed, threshold: Option<f64>) -> Vec<(f64, f64)> {
    let mut rank = 0.0;
    let mut points = Vec::new();
    let cells = all.cells();
    for (i, c) in cells.iter().rev().enumerate() {
        if threshold.is_some_and(|t| c.low < t) {
            break;
        }
        rank += c.count;
        // The outermost hundred, and evenly many of the others.
        if i < 100 || i % (cells.len() / (POINTS - 100) + 1) == 0 {
            points.push(((all.total() + 1.0) / rank, c.middle()));
        }
    }
    points
}

#[cfg(test)]
#[path = "study_tests.rs"]
mod tests;
