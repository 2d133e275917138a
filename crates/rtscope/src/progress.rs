//! Progress on standard error: a live line on a terminal, nothing otherwise.

pub(crate) mod campaign;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use rtscope_probe::protocol::{Event, Live};
use rtscope_record::Nanos;
use rtscope_record::text::visible_line;
use rtscope_run::session::SessionStep;
use std::io::IsTerminal;
use std::time::Duration;

/// How often the probe reports, ms; also how often a load is checked.
pub(crate) const EVERY_MS: u32 = 200;

/// The progress line of a run.
pub(crate) struct Progress {
    bar: ProgressBar,
    end_ns: u64,
}

impl Progress {
    /// A line named `title`; `end_ns` is the length of the run, or 0 if it is unknown.
    pub(crate) fn new(title: &str, end_ns: u64, quiet: bool) -> Self {
        Self::of(ProgressBar::with_draw_target(Some(end_ns.max(1)), screen(quiet)), title, end_ns)
    }

    /// As `new`, as one line of several.
    fn among(lines: &MultiProgress, title: &str, end_ns: u64) -> Self {
        Self::of(lines.add(ProgressBar::with_draw_target(Some(end_ns.max(1)), ProgressDrawTarget::hidden())), title, end_ns)
    }

    fn of(bar: ProgressBar, title: &str, end_ns: u64) -> Self {
        let template = if end_ns > 0 {
            "{prefix:12!.bold} [{bar:12}] {elapsed_precise} {wide_msg}"
        } else {
            "{prefix:12!.bold} {spinner} {elapsed_precise} {wide_msg}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(visible_line(title).into_owned());
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { bar, end_ns }
    }

    /// Shows a step of the session.
    pub(crate) fn step(&self, step: &SessionStep<'_>) {
        match step {
            SessionStep::Preparing(what) => self.say((*what).to_owned()),
            SessionStep::Fetching(what) => self.bar.suspend(|| crate::output::note(&format!("rtscope: {what}"))),
            SessionStep::GuestStarting { boots: true } => self.say("booting the virtual machine (once; its state is kept)"),
            SessionStep::GuestStarting { boots: false } => self.say("starting the virtual machine"),
            SessionStep::Guest(progress) => {
                if let Some(s) = progress.virtual_s {
                    self.say(format!("{s} s of virtual time"));
                }
            }
            SessionStep::LoadStarting(load) => self.say(format!("starting the load `{load}`")),
            SessionStep::LoadUp => self.say("the load is up"),
            SessionStep::Event(Event::Progress { elapsed_ns, threads }) => {
                if self.end_ns > 0 {
                    self.bar.set_position((*elapsed_ns).min(self.end_ns));
                }
                self.say(figures(threads));
            }
            SessionStep::LoadDied(what) => {
                let text = format!("rtscope: warning: the load died: {what}");
                // A hidden bar would drop the text.
                self.bar.suspend(|| crate::output::note(&text));
            }
            SessionStep::Event(Event::Connection { message }) => {
                let text = format!("rtscope: warning: {message}");
                self.bar.suspend(|| crate::output::note(&text));
            }
            SessionStep::Traced(_) => self.say(self.after_the_maximum("reading the kernel's trace")),
            SessionStep::LoadStopping => self.say(self.after_the_maximum("ending the load")),
            SessionStep::Event(_) => {}
        }
    }

    /// `what` behind the maximum that the line shows, which stays in sight until the end.
    fn after_the_maximum(&self, what: &str) -> String {
        let shown = self.bar.message();
        let maximum = shown.split(", ").next().filter(|first| first.starts_with("max "));
        maximum.map_or_else(|| what.to_owned(), |max| format!("{max}, {what}"))
    }

    /// Does something that prints, with the line out of its way.
    pub(crate) fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.suspend(work)
    }

    /// Sets the text behind the bar, which may be foreign.
    pub(crate) fn say(&self, text: impl Into<String>) {
        self.bar.set_message(visible_line(&text.into()).into_owned());
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Standard error, if it is a terminal and `quiet` is not set.
fn screen(quiet: bool) -> ProgressDrawTarget {
    let visible = !quiet && std::io::stderr().is_terminal();
    if visible { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() }
}

fn figures(threads: &[Live]) -> String {
    let count: u64 = threads.iter().map(|t| t.count).sum();
    let missed: u64 = threads.iter().map(|t| t.missed).sum();
    let sum: u64 = threads.iter().fold(0, |s, t| s.saturating_add(t.sum));
    let worst = threads.iter().max_by_key(|t| t.max);
    let mean = Nanos(sum / count.max(1)).as_micros_f64();
    let max = worst.map_or(0.0, |w| Nanos(w.max).as_micros_f64());
    let who = worst.map_or("", |w| w.label.as_str());
    // What is behind the terminal's edge is lost: the maximum comes first.
    format!("max {max:.1} us ({who}), missed {missed}, mean {mean:.1} us, {count} samples")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_comes_first_and_stays_until_the_end() {
        let line = Progress::new("timer", 1_000_000_000, false);
        line.step(&SessionStep::LoadStopping);
        assert_eq!(line.bar.message(), "ending the load", "there is none yet");
        let of = |label: &str, max| Live { label: label.into(), count: 10, max, sum: 50_000, missed: 1, ..Live::default() };
        let threads = vec![of("cpu0", 7_300), of("cpu1", 41_250)];
        line.step(&SessionStep::Event(&Event::Progress { elapsed_ns: 5, threads }));
        assert_eq!(line.bar.message(), "max 41.2 us (cpu1), missed 2, mean 5.0 us, 20 samples");
        for _ in 0..2 {
            line.step(&SessionStep::LoadStopping);
            assert_eq!(line.bar.message(), "max 41.2 us (cpu1), ending the load");
        }
    }
}
