//! Progress of a campaign: on a terminal a line for the campaign and one for each run under way; otherwise a line for each run
//! that ended.

use super::{Progress, screen};
use crate::output;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use rtscope_record::text::visible_line;
use rtscope_record::{Nanos, Record};
use rtscope_run::campaign::{CampaignPlan, Happening, JournalLine, Run, RunOutcome};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The estimated remaining time, and when it was estimated.
type Left = Arc<Mutex<Option<(Instant, Duration)>>>;

/// The progress lines of a campaign.
pub(crate) struct CampaignProgress {
    lines: MultiProgress,
    whole: ProgressBar,
    under_way: Mutex<BTreeMap<usize, Progress>>,
    left: Left,
    of: usize,
    quiet: bool,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CampaignProgress {
    /// Lines for a campaign that is about to begin.
    pub(crate) fn new(plan: &CampaignPlan, quiet: bool) -> Self {
        let of = plan.runs().len();
        let lines = MultiProgress::with_draw_target(screen(quiet));
        let whole = lines.add(ProgressBar::with_draw_target(Some(of as u64), ProgressDrawTarget::hidden()));
        let left = Left::default();
        let shown = Arc::clone(&left);
        if let Ok(style) = ProgressStyle::with_template("{prefix:12!.bold} [{bar:24}] {elapsed_precise} {pos}/{len} runs{left}") {
            let tell = move |_: &ProgressState, to: &mut dyn std::fmt::Write| {
                // Minus the time since the estimate.
                let left = lock(&shown).map(|(at, left)| left.saturating_sub(at.elapsed()));
                let _ = left.map(|left| write!(to, ", about {} left", about(left)));
            };
            whole.set_style(style.progress_chars("=> ").with_key("left", tell));
        }
        whole.set_prefix(visible_line(&plan.name).into_owned());
        whole.enable_steady_tick(Duration::from_millis(250));
        Self { lines, whole, under_way: Mutex::default(), left, of, quiet }
    }

    /// Shows an event of the campaign.
    pub(crate) fn happens(&self, what: &Happening<'_>) {
        match what {
            Happening::Begins { done, of, gone, left } => {
                self.estimate(*done, *left);
                if *gone > 0 {
                    self.say(&format!("rtscope: {gone} runs were done, but are no longer in the archive: they are taken again"));
                }
                if *done > 0 {
                    self.say(&format!("rtscope: {done} of {of} runs are done already"));
                }
            }
            Happening::Started { index, run } => {
                let line = Progress::among(&self.lines, &title(run), run.test.span().0);
                lock(&self.under_way).insert(*index, line);
            }
            Happening::Step { index, step } => {
                if let Some(line) = lock(&self.under_way).get(index) {
                    line.step(step);
                }
            }
            Happening::Ended { index, run, entry, record, done, left } => {
                if let Some(line) = lock(&self.under_way).remove(index) {
                    line.clear();
                }
                let Some(entry) = entry else { return };
                self.estimate(*done, *left);
                let left = left.filter(|l| !l.is_zero()).map_or(String::new(), |l| format!("; about {} left", about(l)));
                let text = format!("rtscope: {done}/{} runs: {}: {}{left}", self.of, title(run), ended(entry, *record));
                if record.is_some() {
                    self.say(&text);
                } else {
                    // An error: printed even with `--quiet`.
                    self.suspend(|| output::note(&text));
                }
            }
        }
    }

    /// Does `work`, which writes to the terminal, with the lines hidden.
    pub(crate) fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        self.lines.suspend(work)
    }

    /// Removes the lines.
    pub(crate) fn clear(&self) {
        self.whole.finish_and_clear();
        let _ = self.lines.clear();
    }

    fn estimate(&self, done: usize, left: Option<Duration>) {
        *lock(&self.left) = left.map(|left| (Instant::now(), left));
        self.whole.set_position(done as u64);
    }

    fn say(&self, text: &str) {
        if !self.quiet {
            self.suspend(|| output::note(text));
        }
    }
}

fn title(run: &Run) -> String {
    let again = if run.repetition > 1 { format!(" #{}", run.repetition) } else { String::new() };
    format!("{} {}{again}", run.place(), run.load)
}

fn ended(entry: &JournalLine, record: Option<&Record>) -> String {
    // Rounded to the nearest second.
    let took = about(Duration::from_secs(entry.wall_ms.saturating_add(500) / 1000));
    match &entry.outcome {
        RunOutcome::Failed { reason } => format!("failed after {took}: {reason}"),
        RunOutcome::Done { verdict } => {
            let highest = record.and_then(|r| r.distributions().iter().filter_map(rtscope_record::Distribution::max).max());
            let max = highest.map_or(String::new(), |m| format!(", max {:.1} us", Nanos(m).as_micros_f64()));
            format!("{verdict}{max}, took {took}")
        }
    }
}

/// A time for people: `40s`, `2m10s`, `1h05m`.
fn about(time: Duration) -> String {
    // Rounded up, so that the rest is never shown as 0.
    let s = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    match s {
        0..60 => format!("{s}s"),
        60..3600 => format!("{}m{:02}s", s / 60, s % 60),
        _ => format!("{}h{:02}m", s / 3600, s / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let texts = [0, 1, 59_001, 130_000, 3_900_000].map(|ms| about(Duration::from_millis(ms)));
        assert_eq!(texts, ["0s", "1s", "1m00s", "2m10s", "1h05m"]);
    }
}
