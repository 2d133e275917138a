//! Work on a target, from copying the probe to removing everything: begun over one connection, followed over as many as it takes.

use super::connection::{Breaker, Connection, Voice};
use super::host::Ssh;
use super::probe::Probe;
use super::scripts;
use crate::target::TargetError;
use rtscope_failure::Failure;
use rtscope_load::StopHandle;
use rtscope_probe::build;
use rtscope_probe::protocol::{Event, Identity, PROTOCOL, Unattended, Work, WorkOrder};
use rtscope_probe::spool;
use rtscope_record::Nanos;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much longer a keeper waits for its driver than the driver tries to reconnect.
const KEEPERS_SHARE: Duration = Duration::from_secs(30);
/// How long a driver tries to reconnect to a run that it was asked to end.
const RECONNECT_WHEN_STOPPED: Duration = Duration::from_secs(15);
/// Time between two attempts to reconnect.
const PAUSE: Duration = Duration::from_millis(500);

/// How a stop request reaches the other end.
enum Reach {
    /// The work has not begun: cut the connection.
    Opening(Breaker),
    /// Tell the follower.
    AtWork(Voice),
    /// There is no connection: tell the follower after reconnecting.
    Away,
}

/// Work on a target. Dropping it ends the work and removes its directory, as far as there is a connection.
pub(super) struct RemoteWork {
    ssh: Ssh,
    dir: String,
    /// Bytes of the spool that were read.
    at: u64,
    connection: Option<Connection>,
    reach: Arc<Mutex<Reach>>,
    stop: StopHandle,
    begun: bool,
    /// Progress, for messages: `, after 1.5s and 3000 samples`.
    progress: String,
    /// How long each loss of the connection lasted.
    pub(super) losses: Vec<Duration>,
}

fn probe_failure(message: String, remedy: impl Into<String>) -> TargetError {
    TargetError::Probe { message, remedy: remedy.into() }
}

impl RemoteWork {
    /// Copies the probe, checks it, and has it begin. `stop` ends the work early, or the attempt if the work has not begun.
    pub(super) fn begin(ssh: &Ssh, work: Work, stop: &StopHandle) -> Result<Self, TargetError> {
        let reach = Arc::new(Mutex::new(Reach::Away));
        let on_stop = Arc::clone(&reach);
        stop.on_stop(move || match &*on_stop.lock().unwrap_or_else(PoisonError::into_inner) {
            Reach::Opening(breaker) => breaker.cut(),
            // If this fails, the connection is lost, and the next one will be told.
            Reach::AtWork(voice) => drop(voice.say("stop")),
            Reach::Away => {}
        });
        let mut new = Self {
            ssh: ssh.clone(),
            dir: String::new(),
            at: 0,
            connection: None,
            reach,
            stop: stop.clone(),
            begun: false,
            progress: ", before its first figures".into(),
            losses: Vec::new(),
        };
        let outcome = new.send(work);
        if stop.is_stopped() && !new.begun {
            return Err(TargetError::Interrupted);
        }
        outcome.map(|()| new)
    }

    fn send(&mut self, work: Work) -> Result<(), TargetError> {
        let name = self.ssh.address.to_string();
        let mut connection = self.open(scripts::KEEP)?;
        let greeting = connection.marked()?;
        let Some((machine, dir)) = greeting.split_once(' ').filter(|(_, dir)| dir.starts_with('/')) else {
            let remedy = "mount one of /tmp, /var/tmp, /dev/shm without noexec, or set TMPDIR there";
            return Err(probe_failure(format!("{name} has no directory where a program may be put and run"), remedy));
        };
        let probe = Probe::find(&self.ssh.options.probes, machine, work.needs_session(), &name)?;
        dir.clone_into(&mut self.dir);
        // If this fails, the answer will show it.
        let _ = connection.voice.say(&format!("{} {}", probe.bytes.len(), probe.sha256));
        let _ = connection.voice.send(&probe.bytes);
        self.arrived(&connection.marked()?, &probe)?;
        let _ = connection.voice.say("go");
        let unattended = hello(&mut connection)?;
        let order = WorkOrder {
            protocol: PROTOCOL.into(),
            driver: spool::identity(),
            abandoned: unattended.into_iter().filter(|u| is_dead(&u.driver)).map(|u| u.dir).collect(),
            patience_ms: u64::try_from((self.ssh.options.patience + KEEPERS_SHARE).as_millis()).unwrap_or(u64::MAX),
            work,
        };
        if self.stop.is_stopped() {
            return Err(TargetError::Interrupted);
        }
        connection.voice.say(&serde_json::to_string(&order).map_err(std::io::Error::from)?)?;
        self.begun = true;
        self.attach(connection);
        Ok(())
    }

    fn open(&self, script: &str) -> Result<Connection, TargetError> {
        let connection = Connection::open(&self.ssh.options.way, &self.ssh.address, script)?;
        if !self.begun {
            self.set(Reach::Opening(connection.breaker()));
            if self.stop.is_stopped() {
                return Err(TargetError::Interrupted);
            }
        }
        Ok(connection)
    }

    fn set(&self, reach: Reach) {
        *self.reach.lock().unwrap_or_else(PoisonError::into_inner) = reach;
    }

    /// Checks what the target says about the probe that was sent.
    fn arrived(&self, said: &str, probe: &Probe) -> Result<(), TargetError> {
        let (name, dir) = (&self.ssh.address, &self.dir);
        let (what, rest) = said.split_once(' ').unwrap_or((said, ""));
        match what {
            "there" if rest.strip_prefix("rtscope-probe ").is_some_and(build::is_same) => Ok(()),
            "there" => {
                let message = format!("{} is `{rest}`, this is rtscope {}", probe.path.display(), build::described());
                let remedy = format!(
                    "take both of one build: the packages rtscope and rtscope-boards of one version; in a checkout: ./x build, ./x probe {}",
                    probe.arch
                );
                Err(probe_failure(message, remedy))
            }
            "damaged" => Err(probe_failure(format!("the probe did not arrive at {name} as it was sent"), "try again")),
            "unable" => {
                let message = format!("{} does not run on {name} (in {dir})", probe.path.display());
                Err(probe_failure(
                    message,
                    format!(
                        "is it a static program for {0}? Install the package rtscope-boards; in a checkout: ./x probe {0}",
                        probe.arch
                    ),
                ))
            }
            _ => {
                let message = format!("of the probe's {} bytes {rest} arrived in {dir} on {name}", probe.bytes.len());
                Err(probe_failure(message, "free space there, or set TMPDIR there to a directory with room"))
            }
        }
    }

    /// Uses a new connection: orders go over it.
    fn attach(&mut self, connection: Connection) {
        connection.voice.beat();
        self.set(Reach::AtWork(connection.voice.clone()));
        if self.stop.is_stopped() {
            // If this fails, the loss of the connection shows at once.
            let _ = connection.voice.say("stop");
        }
        self.connection = Some(connection);
    }

    /// The next event. A lost connection is reported to `on_event` and made again; events from the meantime follow then.
    pub(super) fn next(&mut self, on_event: &mut dyn FnMut(&Event)) -> Result<Event, TargetError> {
        loop {
            let line = self.connection.as_mut().and_then(|c| c.line().ok().flatten());
            let Some(line) = line else {
                self.resume(on_event)?;
                continue;
            };
            self.at += line.len() as u64;
            let event: Event = serde_json::from_slice(&line).map_err(|e| garbled(&line, &e.to_string()))?;
            if let Event::Progress { elapsed_ns, threads } = &event {
                let samples = threads.iter().fold(0u64, |sum, t| sum.saturating_add(t.count));
                let elapsed = elapsed_ns - elapsed_ns % 100_000_000;
                self.progress = format!(", after {} and {samples} samples", Nanos(elapsed));
            }
            return Ok(event);
        }
    }

    /// Reconnects to the work, or returns an error that says what was lost.
    fn resume(&mut self, on_event: &mut dyn FnMut(&Event)) -> Result<(), TargetError> {
        let outcome = self.come_back_in_time(on_event);
        // After giving up, `let_go` must not try to reconnect.
        self.begun = outcome.is_ok();
        outcome
    }

    fn come_back_in_time(&mut self, on_event: &mut dyn FnMut(&Event)) -> Result<(), TargetError> {
        let name = self.ssh.address.to_string();
        let since = Instant::now();
        self.set(Reach::Away);
        let words = self.connection.take().map(|mut c| c.last_words()).unwrap_or_default();
        let words = if words.is_empty() { words } else { format!(" ({words})") };
        let going = "the run goes on there";
        on_event(&Event::Connection { message: format!("the connection to {name} was lost{}{words}; {going}", self.progress) });
        loop {
            let outcome = self.come_back();
            match outcome {
                Ok(Some(connection)) => {
                    let gone = since.elapsed();
                    self.losses.push(gone);
                    let message = format!("connected to {name} again after {:.1}s; nothing is missing", gone.as_secs_f64());
                    on_event(&Event::Connection { message });
                    self.attach(connection);
                    return Ok(());
                }
                Ok(None) => {
                    let message = format!(
                        "the run on {name} is lost{}: its directory {} is gone, and what was measured with it",
                        self.progress, self.dir
                    );
                    return Err(probe_failure(message, "did the target reboot, or was the directory removed? Measure again"));
                }
                Err(e) => {
                    let patience = self.ssh.options.patience;
                    let stopped = self.stop.is_stopped();
                    if since.elapsed() > if stopped { patience.min(RECONNECT_WHEN_STOPPED) } else { patience } {
                        let message = format!(
                            "the connection to {name} was lost{} and did not come back within {}: all figures of this run are lost ({}); the \
                             target ends the run and removes its directory by itself within {}",
                            self.progress,
                            seconds(since.elapsed()),
                            Failure::from(e).in_one(),
                            seconds(patience + KEEPERS_SHARE)
                        );
                        return Err(probe_failure(
                            message,
                            "mend the connection and measure again; RTSCOPE_SSH_PATIENCE=10m waits longer",
                        ));
                    }
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    /// A new connection to the work; `None` if its directory is gone.
    fn come_back(&self) -> Result<Option<Connection>, TargetError> {
        let mut connection = self.open(scripts::FOLLOW)?;
        connection.marked()?;
        // If this fails, the answer will show it.
        let _ = connection.voice.say(&self.dir);
        let _ = connection.voice.say(&self.at.to_string());
        if connection.marked()? == "gone" {
            return Ok(None);
        }
        hello(&mut connection)?;
        Ok(Some(connection))
    }

    /// Ends the work and has everything removed; the error says what could not be removed.
    pub(super) fn let_go(&mut self) -> Result<(), String> {
        if !self.begun {
            return Ok(());
        }
        self.begun = false;
        self.set(Reach::Away);
        let mut connection = self.connection.take().map_or_else(|| self.come_back(), |c| Ok(Some(c)));
        for _ in 0..2 {
            let gone = match connection {
                // Its directory is already gone.
                Ok(None) => true,
                Ok(Some(c)) => c.let_go(),
                Err(_) => false,
            };
            if gone {
                return Ok(());
            }
            connection = self.come_back();
        }
        Err(format!(
            "the directory {} on {} could not be removed now; it goes by itself within {}, or at the next run",
            self.dir,
            self.ssh.address,
            seconds(self.ssh.options.patience + KEEPERS_SHARE)
        ))
    }
}

impl Drop for RemoteWork {
    fn drop(&mut self) {
        // Ignored: there is already an error to report.
        let _: Result<(), String> = self.let_go();
        // Frees the connection that the handler holds.
        if !self.stop.is_stopped() {
            self.stop.on_stop(|| {});
        }
    }
}

fn seconds(d: Duration) -> Nanos {
    Nanos(d.as_secs().saturating_mul(1_000_000_000))
}

/// Whether a driver was a process of this machine and boot, and is dead.
fn is_dead(driver: &Identity) -> bool {
    let me = spool::identity();
    driver.boot == me.boot && driver.space == me.space && !spool::is_alive(driver)
}

/// Reads the probe's greeting; returns the work there that nobody follows.
fn hello(connection: &mut Connection) -> Result<Vec<Unattended>, TargetError> {
    let Ok(Some(line)) = connection.line() else { return Err(connection.failure()) };
    match serde_json::from_slice(&line) {
        Ok(Event::Hello { protocol, unattended, .. }) if protocol == PROTOCOL => Ok(unattended),
        Ok(Event::Hello { protocol, .. }) => {
            let message = format!("the probe speaks `{protocol}`, this is rtscope with {PROTOCOL}");
            let remedy = "take both of one build: the packages rtscope and rtscope-boards of one version; in a checkout: ./x build, ./x probe";
            Err(probe_failure(message, remedy))
        }
        _ => Err(garbled(&line, "it is not the probe's greeting")),
    }
}

fn garbled(line: &[u8], reason: &str) -> TargetError {
    let shown: String = String::from_utf8_lossy(line).chars().take(200).collect();
    TargetError::Garbled { line: shown.trim_end().escape_debug().to_string(), reason: reason.into() }
}
