//! What the picture shows: the latest figures of each thread, and what the keys chose.

use super::keys::Wish;
use rtscope_probe::protocol::{Event, Live};
use rtscope_record::text::visible_line;
use rtscope_run::session::SessionStep;

/// The state of the picture.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) title: String,
    /// Length of the run, ns; 0 if it is unknown.
    pub(super) end_ns: u64,
    /// What the session does.
    pub(super) doing: String,
    /// Warnings, to be printed once the terminal is given back.
    pub(super) notes: Vec<String>,
    latest: Figures,
    /// What was there when the picture was paused.
    paused: Option<Figures>,
    /// Counts are drawn in proportion, not by their logarithm.
    pub(super) linear: bool,
    /// The first thread that is shown.
    pub(super) top: usize,
    ending: bool,
}

/// The figures of a moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures {
    /// Since the start of the run, ns.
    pub(super) elapsed_ns: u64,
    /// Every thread's.
    pub(super) threads: Vec<Live>,
    /// When each thread's maximum was first seen, ns since the start.
    pub(super) max_at: Vec<u64>,
}

impl View {
    pub(super) fn new(title: &str, end_ns: u64) -> Self {
        Self { title: visible_line(title).into_owned(), end_ns, doing: "starting".into(), ..Self::default() }
    }

    pub(super) fn step(&mut self, step: &SessionStep<'_>) {
        let doing = match step {
            SessionStep::Event(Event::Progress { elapsed_ns, threads }) => {
                self.latest.take(*elapsed_ns, threads);
                return;
            }
            SessionStep::Event(Event::Started) => "measuring".into(),
            SessionStep::Event(Event::Connection { message }) => self.warning(message),
            SessionStep::LoadDied(what) => self.warning(&format!("the load died: {what}")),
            SessionStep::Event(_) | SessionStep::GuestStarting { .. } | SessionStep::Guest(_) => return,
            SessionStep::Preparing(what) | SessionStep::Fetching(what) => (*what).to_owned(),
            SessionStep::LoadStarting(load) => format!("starting the load `{load}`"),
            SessionStep::LoadUp => "the load is at work".into(),
            SessionStep::Traced(_) => "reading the kernel's trace".into(),
            SessionStep::LoadStopping => "ending the load".into(),
        };
        self.doing = visible_line(&doing).into_owned();
    }

    fn warning(&mut self, what: &str) -> String {
        self.notes.push(format!("rtscope: warning: {what}"));
        format!("warning: {what}")
    }

    /// Does what a key asks for; `end` ends the run.
    pub(super) fn key(&mut self, wish: Wish, end: impl FnOnce()) {
        match wish {
            Wish::End => {
                self.ending = true;
                end();
            }
            Wish::Pause => self.paused = if self.paused.is_some() { None } else { Some(self.latest.clone()) },
            Wish::Scale => self.linear = !self.linear,
            Wish::Up => self.top = self.top.saturating_sub(1),
            Wish::Down => self.top = (self.top + 1).min(self.latest.threads.len().saturating_sub(1)),
            Wish::Nothing => {}
        }
    }

    /// The figures to draw.
    pub(super) fn figures(&self) -> &Figures {
        self.paused.as_ref().unwrap_or(&self.latest)
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// What to say of the session.
    pub(super) fn status(&self) -> &str {
        if self.ending { "ending the run; its record is kept" } else { &self.doing }
    }
}

impl Figures {
    fn take(&mut self, elapsed_ns: u64, threads: &[Live]) {
        let before = std::mem::take(&mut self.threads);
        let unchanged =
            |at: usize, now: &Live| before.get(at).filter(|b| b.max == now.max).and_then(|_| self.max_at.get(at).copied());
        // The probe's own time where it sends the worst samples; else the first report with it.
        let since = |(at, now): (usize, &Live)| {
            let worst = now.worst.first().filter(|w| w.0 == now.max).map(|w| w.1);
            worst.or_else(|| unchanged(at, now)).unwrap_or(elapsed_ns)
        };
        self.max_at = threads.iter().enumerate().map(since).collect();
        (self.elapsed_ns, self.threads) = (elapsed_ns, threads.to_vec());
    }

    /// The worst samples of all threads, the highest first: latency, when, which thread.
    pub(super) fn worst(&self) -> Vec<(u64, u64, &str)> {
        let of = |t: &'_ Live| t.worst.iter().map(|&(value, at)| (value, at)).collect::<Vec<_>>();
        let mut all: Vec<_> =
            self.threads.iter().flat_map(|t| of(t).into_iter().map(|(value, at)| (value, at, t.label.as_str()))).collect();
        all.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(label: &str, max: u64, worst: &[(u64, u64)]) -> Live {
        Live { label: label.into(), max, worst: worst.to_vec(), ..Live::default() }
    }

    fn told(view: &mut View, elapsed_ns: u64, threads: &[Live]) {
        view.step(&SessionStep::Event(&Event::Progress { elapsed_ns, threads: threads.to_vec() }));
    }

    #[test]
    fn a_maximum_has_an_age() {
        let mut view = View::new("t", 0);
        told(&mut view, 100, &[of("cpu0", 5, &[]), of("cpu1", 7, &[(7, 60)])]);
        told(&mut view, 200, &[of("cpu0", 5, &[]), of("cpu1", 9, &[(9, 170), (7, 60)])]);
        assert_eq!(view.figures().max_at, [100, 170]);
        told(&mut view, 300, &[of("cpu0", 6, &[]), of("cpu1", 9, &[(9, 170), (7, 60)])]);
        assert_eq!(view.figures().max_at, [300, 170]);
        assert_eq!(view.figures().worst(), [(9, 170, "cpu1"), (7, 60, "cpu1")]);
    }

    #[test]
    fn a_paused_picture_stays_and_the_run_goes_on() {
        let mut view = View::new("t", 0);
        told(&mut view, 100, &[of("cpu0", 5, &[])]);
        view.key(Wish::Pause, || ());
        told(&mut view, 200, &[of("cpu0", 50, &[])]);
        assert_eq!((view.figures().elapsed_ns, view.is_paused()), (100, true));
        view.key(Wish::Pause, || ());
        assert_eq!((view.figures().elapsed_ns, view.figures().threads[0].max), (200, 50));
    }

    #[test]
    fn keys_end_the_run_change_the_scale_and_move() {
        let mut view = View::new("t", 0);
        told(&mut view, 100, &[of("cpu0", 5, &[]), of("cpu1", 5, &[])]);
        let mut ended = false;
        for (wish, top) in [(Wish::Up, 0), (Wish::Down, 1), (Wish::Down, 1), (Wish::Up, 0), (Wish::Nothing, 0)] {
            view.key(wish, || ended = true);
            assert_eq!(view.top, top, "{wish:?}");
        }
        assert!(!ended && !view.linear);
        view.key(Wish::Scale, || ());
        view.key(Wish::End, || ended = true);
        assert!(ended && view.linear && view.status().contains("record is kept"));
    }

    #[test]
    fn warnings_outlive_the_picture_and_do_nothing_to_the_terminal() {
        let mut view = View::new("\x1b[2Jt", 0);
        view.step(&SessionStep::LoadDied("stress-ng\x1b[2J"));
        assert_eq!(view.notes.len(), 1);
        assert!(!view.title.contains('\x1b') && !view.status().contains('\x1b'));
    }
}
