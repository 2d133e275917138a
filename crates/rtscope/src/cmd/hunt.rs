//! `rtscope hunt`: searches for the load under which a target is latest.

mod found;
mod hunter;
mod trial;

use super::campaign::Bench;
use super::run::{Machine, target_name};
use super::stop::stop_on_signals;
use super::style;
use crate::args::hunt::Hunt;
use crate::config::Context;
use crate::error::Code;
use crate::output;
use found::Found;
use hunter::Hunter;
use rtscope_failure::Failure;
use rtscope_load::StopHandle;
use rtscope_run::hunt::{Search, TimeLimited};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Rounds that a hunt has at most; with all stressors there are some twenty.
const ROUNDS: usize = 999;

/// Hunts until the budget is used up, nothing is left to try, or a signal comes.
pub(crate) fn run(context: &Context, a: &Hunt) -> Result<Code, Failure> {
    // By the names that records have.
    let against = a.against.as_deref().map(target_name).transpose()?;
    let a = &Hunt { target: target_name(&a.target)?, against, ..a.clone() };
    let hunter = Hunter::new(context, a)?;
    let asked = stop_on_signals()?;
    let begun = Instant::now();
    let mut stressors = hunter.candidates(&asked)?;
    let mut found = Found::new(stressors.all.len());
    context.say(&format!(
        "{} stressors, {} that only compute come last; name of the hunt: {}",
        stressors.all.len(),
        stressors.computing.len(),
        hunter.name
    ));
    stressors.all = found.allowed(&stressors.all);
    stressors.computing.retain(|s| stressors.all.contains(s));
    let mut search = Search::new(a.method, stressors);
    let bench = TimeLimited { executor: Bench::new(Machine::new(context, a.load_dir.clone())?)?, limit: hunter.limit };
    let budget = Duration::from_nanos(a.budget.0);
    within(budget.saturating_sub(begun.elapsed()), &asked, |stop| {
        for number in 1..=ROUNDS {
            let Some(round) = search.next().filter(|_| !stop.is_stopped()) else { break };
            let plan = hunter.plan(&round, number)?;
            let outcome = hunter.take(&plan, &bench, stop)?;
            let scores = found.learn(context, &hunter, &round, &plan, &outcome.dir)?;
            let best = found.best().map_or_else(String::new, |t| format!("; worst so far {}", t.words()));
            context.say(&format!("round {number}, {}: {} trials{best}", round.what, round.loads.len()));
            search.learn(&round, scores);
            if outcome.interrupted {
                break;
            }
        }
        Ok::<(), Failure>(())
    })?;
    let took = begun.elapsed();
    // What fails from here on costs no result.
    let failed = |what: &str, e: &Failure| {
        if !asked.is_stopped() {
            context.say(&format!("{what}: {}", e.in_one()));
        }
    };
    let best = found.best().filter(|_| hunter.is_lab() && !asked.is_stopped());
    let again = best.map(|best| hunter.again(&bench, best, &asked));
    let again = again.and_then(|taken| taken.map_err(|e| failed("the worst trial could not be taken once more", &e)).ok());
    let sentence = again.as_ref().filter(|_| !asked.is_stopped()).and_then(|record| {
        let said = super::explain::of_run(context, record, &[], &asked);
        said.map_err(|e| failed("the worst sample is not explained", &e)).ok()
    });
    let coverage = search.coverage();
    let report = found.report(&hunter, coverage, again.as_ref(), sentence, took);
    if let Some((path, best)) = a.output.as_ref().zip(found.best()) {
        super::report::write(path, hunter.worst_plan(best).as_bytes())?;
    }
    if a.json {
        output::json(&report)?;
    } else {
        output::result(&report.text(style()))?;
    }
    if asked.is_stopped() {
        return Err(Failure::interrupted("the hunt was ended", "run it again: it goes on"));
    }
    if report.ranking.is_empty() {
        return Err(Failure::machine("no trial gave a figure", "`rtscope measure timer` with one of the loads says what is wrong"));
    }
    Ok(Code::Done)
}

/// Does `work` with a handle that is stopped by `asked`, and when `time` is over.
fn within(time: Duration, asked: &StopHandle, work: impl FnOnce(&StopHandle) -> Result<(), Failure>) -> Result<(), Failure> {
    let stop = StopHandle::new();
    let passed_on = stop.clone();
    asked.on_stop(move || passed_on.stop());
    let (done, wait) = channel::<()>();
    std::thread::scope(|scope| {
        let over = stop.clone();
        scope.spawn(move || {
            if wait.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                over.stop();
            }
        });
        let result = work(&stop);
        drop(done);
        result
    })
}
