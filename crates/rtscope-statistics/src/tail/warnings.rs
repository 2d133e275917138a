//! What a reader of a study must beware of.

use super::found::Study;
use super::law::Family;

/// Beyond this factor the data say next to nothing of a level.
const FAR: f64 = 100.0;

/// The warnings of a study; `left_out` values were in no block.
pub(super) fn of(s: &Study, left_out: usize) -> Vec<String> {
    let mut all = Vec::new();
    let mut warn = |applies: bool, text: String| {
        if applies {
            all.push(text);
        }
    };
    let what = if s.family == Family::Gev { "maxima" } else { "exceedances" };
    warn(s.fitted < 30.0, format!("{} {what} are few: the intervals are wide, and the gates find little", s.fitted));
    let head = &s.levels[s.headline];
    warn(
        head.extrapolation > FAR,
        format!("the level lies {:.0} times beyond the data: it rests on the law alone", head.extrapolation),
    );
    warn(
        s.levels.iter().any(|l| l.interval.high.is_none()),
        "the data do not bound a level from above: no upper end of its interval was found".into(),
    );
    let shape = s.fit.law.shape;
    warn(
        s.fit.at_border,
        "the shape lies at the border of -1: the likelihood has no maximum inside, and there are no errors".into(),
    );
    warn(
        shape < -0.5 && !s.fit.at_border,
        format!("the shape {shape:.3} is below -0.5: standard errors and intervals do not have their usual meaning (Smith 1985)"),
    );
    warn(shape >= 0.5, format!("the shape {shape:.3} is 0.5 or more: a law with this tail has no variance"));
    warn(
        s.fit.errors.is_none() && !s.fit.at_border,
        "the likelihood has no curvature at its maximum: there are no standard errors".into(),
    );
    if let Some(grid) = s.grid {
        let share = grid.step / s.fit.law.scale;
        warn(grid.censored, format!("the values were fitted as intervals of {}: {share:.2} of the law's scale", grid.step));
        warn(
            !grid.censored && share > 0.1,
            format!("the values lie on a grid of {}, {share:.2} of the law's scale; they were fitted as exact", grid.step),
        );
    }
    let highest = s.upper_end.filter(|end| *end < s.highest);
    warn(highest.is_some(), "the fitted law ends below the highest value".into());
    warn(left_out > 0, format!("the last {left_out} values fill no block, and were left out"));
    // Levels of other thresholds that lie outside of the bound's interval.
    let (low, high) = (head.interval.low.unwrap_or(f64::NEG_INFINITY), head.interval.high.unwrap_or(f64::INFINITY));
    let outside = s.thresholds.iter().filter(|t| t.levels.get(s.headline).is_some_and(|l| *l < low || *l > high)).count();
    warn(
        outside > 0,
        format!("{outside} of {} thresholds give a level outside of the interval: the choice decides", s.thresholds.len()),
    );
    if let Some(b) = head.bootstrap.and_then(|b| b.low.zip(b.high)) {
        warn(
            b.1 < head.level || b.0 > head.level,
            "the bootstrap's interval does not hold the level: the fit is not stable".into(),
        );
    }
    all
}
