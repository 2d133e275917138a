//! A running load: start it and wait until it works, ask for its state, end it and collect the proof.

use super::error::LoadError;
use super::options::StartOptions;
use super::place;
use crate::job::{Job, Workload};
use crate::journal::SCRATCH_PREFIX;
use crate::supervisor::messages::{Order, Report, receive, send};
use crate::tools;
use rtscope_record::{LoadCourse, LoadProcess, LoadProof, Warning};
use std::fs;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What the stages need beyond the tools' own time-outs.
const OVERHEAD: Duration = Duration::from_secs(25);

/// A load that is up. Dropping it ends it without a proof.
#[derive(Debug)]
pub struct LoadHandle {
    name: String,
    sized: Workload,
    stop_timeout: Duration,
    scratch: PathBuf,
    supervisor: Child,
    orders: Option<ChildStdin>,
    reports: Receiver<Report>,
    complaint: Option<JoinHandle<String>>,
    isolation: String,
    warnings: Vec<Warning>,
    died: Option<String>,
    seen: Vec<LoadProcess>,
    done: Option<Vec<LoadProcess>>,
    course: Option<LoadCourse>,
    up_since: Instant,
    oom_before: Option<u64>,
}

impl LoadHandle {
    /// Starts a load of this size and waits until it is at work.
    pub(super) fn start(name: &str, sized: Workload, options: &StartOptions) -> Result<Self, LoadError> {
        let (base, warning) = place::choose(name, options.dir.as_ref(), &sized)?;
        let token = place::token().map_err(|e| LoadError::Directory { path: "/dev/urandom".into(), reason: e.to_string() })?;
        let job = Job {
            reexec: options.reexec.clone(),
            tools: sized.tools.clone(),
            iperf3: sized.iperf3.clone(),
            isolation: options.isolation,
            scratch: base.join(format!("{SCRATCH_PREFIX}{token}")),
            token,
            journal: std::path::absolute(options.journal.dir()).unwrap_or_else(|_| options.journal.dir().into()),
            fills_cpus: sized.fills_cpus,
            up_timeout: options.up_timeout,
            stop_timeout: options.stop_timeout,
        };
        let mut handle = Self::spawn(name, sized, options, &job)
            .map_err(|source| LoadError::Supervisor { program: options.reexec.program.clone(), source })?;
        handle.warnings.extend(warning);
        handle.wait_until_up(options)?;
        Ok(handle)
    }

    fn spawn(name: &str, sized: Workload, options: &StartOptions, job: &Job) -> io::Result<Self> {
        let mut command = options.reexec.stage(&["outer"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut supervisor = command.spawn()?;
        let (sender, reports) = channel();
        if let Some(from) = supervisor.stdout.take() {
            std::thread::spawn(move || {
                let mut from = BufReader::new(from);
                while let Ok(Some(report)) = receive(&mut from) {
                    if sender.send(report).is_err() {
                        return;
                    }
                }
            });
        }
        // Stages write nothing to standard error unless they fail in an unforeseen way.
        let complaint = supervisor.stderr.take().map(|from| {
            std::thread::spawn(move || {
                let mut said = Vec::new();
                let _ = from.take(64 << 10).read_to_end(&mut said);
                String::from_utf8_lossy(&said).trim().to_owned()
            })
        });
        let mut orders = supervisor.stdin.take();
        if let Some(to) = &mut orders {
            // If the supervisor is gone already, the end of its reports shows it.
            let _ = send(to, &Order::Start(Box::new(job.clone())));
        }
        Ok(Self {
            name: name.into(),
            sized,
            stop_timeout: options.stop_timeout,
            scratch: job.scratch.clone(),
            supervisor,
            orders,
            reports,
            complaint,
            isolation: String::new(),
            warnings: Vec::new(),
            died: None,
            seen: Vec::new(),
            done: None,
            course: None,
            up_since: Instant::now(),
            oom_before: oom_kills(),
        })
    }

    fn wait_until_up(&mut self, options: &StartOptions) -> Result<(), LoadError> {
        /// How often the start checks whether the user wants to stop.
        const SLICE: Duration = Duration::from_millis(50);
        let end = Instant::now() + options.up_timeout + OVERHEAD;
        let load = self.name.clone();
        let failed = |message: String, remedy: &str| LoadError::Start { load: load.clone(), message, remedy: remedy.into() };
        loop {
            if options.stop.is_stopped() {
                return Err(LoadError::Interrupted);
            }
            match self.reports.recv_timeout(SLICE) {
                Err(RecvTimeoutError::Timeout) if Instant::now() < end => {}
                Ok(Report::Up) => {
                    self.up_since = Instant::now();
                    self.oom_before = oom_kills();
                    return Ok(());
                }
                Ok(Report::Failed { message, remedy }) => return Err(failed(message, &remedy)),
                Ok(Report::Died(who)) => return Err(failed(who, "run again; if it happens again, report it")),
                Ok(Report::Isolated(how)) => self.isolation = how,
                Ok(Report::Warning(warning)) => self.warnings.push(warning),
                Ok(Report::NotIsolated(_) | Report::Seen(_) | Report::Course(_) | Report::Done(_)) => {}
                Err(why) => {
                    self.orders = None;
                    self.end_supervisor(Duration::from_secs(5));
                    let said = self.complaint.take().and_then(|c| c.join().ok()).unwrap_or_default();
                    let (what, remedy) = match why {
                        RecvTimeoutError::Timeout => (
                            format!("it was not at work after {} s", (options.up_timeout + OVERHEAD).as_secs()),
                            "end other work on this machine, and run again",
                        ),
                        RecvTimeoutError::Disconnected => {
                            ("its supervisor ended".into(), "run again; if it happens again, report it")
                        }
                    };
                    return Err(failed(if said.is_empty() { what } else { format!("{what}: {said}") }, remedy));
                }
            }
        }
    }

    /// What ended before it was told to, as far as is known now. Never waits.
    pub fn poll(&mut self) -> Option<&str> {
        loop {
            match self.reports.try_recv() {
                Ok(report) => self.take_in(report),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    if self.done.is_none() {
                        self.died
                            .get_or_insert_with(|| "the load's supervisor was killed, and everything of the load with it".into());
                    }
                    break;
                }
            }
        }
        self.died.as_deref()
    }

    fn take_in(&mut self, report: Report) {
        match report {
            Report::Died(who) => _ = self.died.get_or_insert(who),
            Report::Seen(processes) => self.seen = processes,
            Report::Course(course) => self.course = Some(course),
            Report::Done(processes) => self.done = Some(processes),
            Report::Isolated(how) => self.isolation = how,
            Report::Warning(warning) => self.warnings.push(warning),
            Report::NotIsolated(_) | Report::Up | Report::Failed { .. } => {}
        }
    }

    /// Warnings from the start that belong beside the proof: a disk load that wrote to memory, missing namespaces ...
    pub fn start_warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Process id of the supervisor.
    pub fn supervisor_pid(&self) -> u32 {
        self.supervisor.id()
    }

    /// The load's directory.
    pub fn directory(&self) -> &Path {
        &self.scratch
    }

    /// Ends the load and returns its proof. Takes at most the stop time-out plus 50 s; after that everything is killed.
    pub fn stop(mut self) -> LoadProof {
        let died = self.poll().map(str::to_owned);
        let ran = self.up_since.elapsed();
        if let Some(to) = &mut self.orders {
            // If the supervisor is gone, the loop below notices.
            let _ = send(to, &Order::Stop);
        }
        let end = Instant::now() + self.stop_timeout + OVERHEAD;
        while self.done.is_none() {
            match self.reports.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(report) => self.take_in(report),
                Err(_) => break,
            }
        }
        let oom_kills = self.oom_before.zip(oom_kills()).map(|(before, now)| now.saturating_sub(before));
        let processes = self.done.take().unwrap_or_else(|| self.lost(died.is_some()));
        self.orders = None;
        self.end_supervisor(OVERHEAD);
        LoadProof {
            name: std::mem::take(&mut self.name),
            isolation: std::mem::take(&mut self.isolation),
            ran_ns: u64::try_from(ran.as_nanos()).unwrap_or(u64::MAX),
            processes,
            oom_kills,
            course: self.course.take(),
        }
    }

    /// What is known of the processes when no supervisor is left to report.
    fn lost(&self, died_early: bool) -> Vec<LoadProcess> {
        let why = self.died.clone().unwrap_or_else(|| "the load's supervisor was killed or got stuck".into());
        if !self.seen.is_empty() {
            let known = |p: &LoadProcess| LoadProcess { died_early: p.died_early || died_early, stderr: why.clone(), ..p.clone() };
            return self.seen.iter().map(known).collect();
        }
        let alone = self.sized.tools.iter().map(|job| {
            let program = tools::of_role(&job.role).map_or_else(|| job.role.clone(), |tool| tool.program().to_owned());
            std::iter::once(program).chain(job.args.iter().cloned()).collect()
        });
        let iperf3 = self.sized.iperf3.iter().map(|i| vec!["iperf3".to_owned(), "-P".into(), i.streams.to_string()]);
        alone
            .chain(iperf3)
            .map(|command| LoadProcess { command, died_early, stderr: why.clone(), ..LoadProcess::default() })
            .collect()
    }

    /// Waits for the supervisor, whose standard input is closed; kills it after `limit`. What it then leaves behind
    /// is in the journal.
    fn end_supervisor(&mut self, limit: Duration) {
        let end = Instant::now() + limit;
        while let Ok(None) = self.supervisor.try_wait() {
            if Instant::now() >= end {
                let _ = self.supervisor.kill();
                let _ = self.supervisor.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for LoadHandle {
    fn drop(&mut self) {
        self.orders = None;
        self.end_supervisor(OVERHEAD);
    }
}

/// OOM kills since boot; `None` before Linux 4.13.
fn oom_kills() -> Option<u64> {
    let vmstat = fs::read_to_string("/proc/vmstat").ok()?;
    vmstat.lines().find_map(|l| l.strip_prefix("oom_kill "))?.trim().parse().ok()
}
