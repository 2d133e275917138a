//! `measure --live`: the run as a picture on the terminal while it goes on, with keys. Everything it shows is in the progress events that
//! the probe sends anyway; the record that the run ends with owes nothing to it.

mod bins;
mod draw;
mod keys;
mod view;

use crate::output;
use keys::wish;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event as Key, KeyEventKind};
use ratatui::crossterm::terminal::{self, EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::crossterm::{cursor, execute};
use rtscope_failure::{Explain as _, Failure};
use rtscope_load::StopHandle;
use rtscope_run::session::SessionStep;
use std::io::{self, IsTerminal as _, Stderr};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use view::View;

/// How often keys are looked for, and the picture is drawn at most.
const TICK: Duration = Duration::from_millis(100);

/// The picture of a run, drawn by a thread of its own until it is ended.
pub(crate) struct LiveView {
    shared: Arc<Shared>,
    drawer: Option<JoinHandle<()>>,
}

struct Shared {
    view: Mutex<View>,
    changed: AtomicBool,
    ended: AtomicBool,
}

impl Shared {
    fn view(&self) -> MutexGuard<'_, View> {
        // Nothing that leaves it half changed panics.
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fails if there is no terminal to draw on and to take keys from.
pub(crate) fn check() -> Result<(), Failure> {
    if io::stderr().is_terminal() && io::stdin().is_terminal() {
        return Ok(());
    }
    let message = "--live draws on a terminal and takes keys from it: standard input and standard error must be one";
    Err(Failure::usage(message, "run it in a terminal (over ssh: ssh -t), or leave --live out: progress is a line then"))
}

impl LiveView {
    /// Takes the terminal for a run named `title` that is `end_ns` long, or 0 if that is unknown. `stop` ends the run: Ctrl-C is a key.
    pub(crate) fn open(title: &str, end_ns: u64, stop: &StopHandle) -> Result<Self, Failure> {
        let remedy = "leave --live out";
        let shared = Arc::new(Shared {
            view: Mutex::new(View::new(title, end_ns)),
            changed: AtomicBool::new(true),
            ended: AtomicBool::new(false),
        });
        let screen = Screen::take().or_machine("the terminal", remedy)?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stderr())).or_machine("the terminal", remedy)?;
        let (drawn, stop) = (Arc::clone(&shared), stop.clone());
        let drawer = std::thread::Builder::new().name("rts-live".into());
        let drawer = drawer.spawn(move || drive(&drawn, terminal, screen, &stop)).or_machine("a thread", "is memory free?")?;
        Ok(Self { shared, drawer: Some(drawer) })
    }

    /// Shows a step of the session.
    pub(crate) fn step(&self, step: &SessionStep<'_>) {
        self.shared.view().step(step);
        self.shared.changed.store(true, Relaxed);
    }

    /// Gives the terminal back, and prints there what may not be lost with the picture.
    pub(crate) fn close(mut self) {
        self.end();
        for note in std::mem::take(&mut self.shared.view().notes) {
            output::note(&note);
        }
    }

    fn end(&mut self) {
        self.shared.ended.store(true, Relaxed);
        if let Some(drawer) = self.drawer.take() {
            let _ = drawer.join();
        }
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        self.end();
    }
}

/// The terminal in the state that a picture takes; restored when it is dropped.
struct Screen;

impl Screen {
    fn take() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        let screen = Self;
        execute!(io::stderr(), EnterAlternateScreen, cursor::Hide)?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = execute!(io::stderr(), LeaveAlternateScreen, cursor::Show);
        let _ = terminal::disable_raw_mode();
    }
}

/// Draws and takes keys until the view is ended.
fn drive(shared: &Shared, mut terminal: Terminal<CrosstermBackend<Stderr>>, screen: Screen, stop: &StopHandle) {
    while !shared.ended.load(Relaxed) {
        if shared.changed.swap(false, Relaxed) {
            let view = shared.view();
            // A terminal that is gone sends SIGHUP, which ends the run.
            let _ = terminal.draw(|frame| draw::draw(frame, &view));
        }
        match event::poll(TICK) {
            Ok(true) => match event::read() {
                Ok(Key::Key(key)) if key.kind != KeyEventKind::Release => {
                    shared.view().key(wish(key), || stop.stop());
                    shared.changed.store(true, Relaxed);
                }
                Ok(_) => shared.changed.store(true, Relaxed),
                Err(_) => std::thread::sleep(TICK),
            },
            Ok(false) => {}
            Err(_) => std::thread::sleep(TICK),
        }
    }
    drop(screen);
}
