//! All tools of a load: start, watch and end them, and collect their figures.

use super::messages::Report;
use super::network::{self, Place};
use super::running::{Files, Running};
use super::stage::Kind;
use super::watch::Watch;
use crate::job::Job;
use crate::process_tree;
use crate::programs::find_program;
use crate::tools;
use crate::tools::iperf3::{Client, Server};
use crate::tools::tool::{Part, Tool};
use rtscope_record::{Effect, LoadCourse, LoadProcess, Warning};
use rtscope_sys as sys;
use std::time::{Duration, Instant};

/// A message and its remedy.
type Failure = (String, String);

/// Streams from which on the client is waited for before the other tools start.
const MANY_STREAMS: u32 = 64;
/// How long that may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// How long the iperf3 server may take to end by itself after its client.
const SERVER_GRACE: Duration = Duration::from_millis(500);

/// A load that leaves less free disk space than this, bytes, is ended, so that the rest of the machine keeps
/// working. On a small disk the limit is a quarter of what was free at the start.
const LEAST_FREE: u64 = 1 << 30;

/// How many ended processes are reaped at once before other work gets its turn.
const MOST_COLLECTED: u32 = 4096;

/// Variables that say where temporary files go.
const TEMPORARY: [&str; 3] = ["TMPDIR", "TEMP", "TMP"];

/// All tools of one load.
pub(super) struct LoadTools<'a> {
    job: &'a Job,
    least_free: u64,
    /// Why rtscope ended the load early.
    ended_why: Option<String>,
    kind: Kind,
    net: bool,
    own_tmp: bool,
    tools: Vec<Running>,
    place: Option<Place>,
    watch: Option<Watch>,
}

impl<'a> LoadTools<'a> {
    /// `own_tmp`: /tmp is the load's own, and gone with it.
    pub(super) fn new(job: &'a Job, kind: Kind, net: bool, own_tmp: bool) -> Self {
        let free = sys::process::file_system(&job.scratch).map_or(0, |on| on.free_bytes);
        let least_free = LEAST_FREE.min(free / 4);
        Self { job, least_free, ended_why: None, kind, net, own_tmp, tools: Vec::new(), place: None, watch: None }
    }

    /// Starts all tools. Returns what must be reported about the start.
    pub(super) fn start(&mut self) -> Result<Vec<Report>, Failure> {
        // The network first: its set-up then does not compete for the CPU.
        let reports = self.start_network()?;
        for job in &self.job.tools {
            let unknown = || (format!("this supervisor knows no tool `{}`", job.role), "use one version of rtscope".to_owned());
            let tool = tools::of_role(&job.role).ok_or_else(unknown)?;
            self.launch(tool, job.workers, &job.args, None)?;
            if let Some(running) = self.tools.last_mut() {
                running.left_out.clone_from(&job.left_out);
            }
        }
        Ok(reports)
    }

    fn files(&self) -> Result<Files, Failure> {
        Files::make(&self.job.scratch, self.tools.len()).map_err(|e| {
            (
                format!("the load's directory {} can't be used: {e}", self.job.scratch.display()),
                "choose another with --load-dir".into(),
            )
        })
    }

    /// Starts a program, directly or through a stage, and remembers it.
    fn launch(&mut self, tool: &'static dyn Tool, workers: u32, args: &[String], stage: Option<&[&str]>) -> Result<u32, Failure> {
        let program = tool.program();
        let missing = || (format!("{program} is not installed"), format!("apt-get install {program}"));
        let path = find_program(program).ok_or_else(missing)?;
        let files = self.files()?;
        let args = tool.command(args, &files.paths());
        let mut command = match stage {
            None => sys::process::command(&path),
            Some(words) => {
                let mut command = self.job.reexec.stage(words);
                command.arg(&path);
                command
            }
        };
        command.args(&args);
        // iperf3 makes its buffers in files that it then removes: killed in between, it would leave them in the user's directory.
        for variable in TEMPORARY {
            command.env_remove(variable);
        }
        if !self.own_tmp {
            command.env(TEMPORARY[0], ".");
        }
        let shown = std::iter::once(program.to_owned()).chain(args).collect();
        let running = Running::start(tool, workers, shown, command, files)
            .map_err(|e| (format!("{program} can't be started: {e}"), format!("check {}", path.display())))?;
        let pid = running.pid;
        self.tools.push(running);
        Ok(pid)
    }

    fn start_network(&mut self) -> Result<Vec<Report>, Failure> {
        if self.job.iperf3.is_none() {
            return Ok(Vec::new());
        }
        if self.kind == Kind::Tree || !self.net {
            let place = self.loopback()?;
            self.start_pair(&place)?;
            return Ok(Vec::new());
        }
        match self.start_pair(&Place::apart()) {
            Ok(()) => Ok(Vec::new()),
            Err((why, _)) => {
                // This kernel has no veth, for example. End what was started of the pair before starting the other.
                for tool in self.tools.drain(..) {
                    signal(tool.pid, libc::SIGKILL);
                }
                let place = self.loopback()?;
                // Free the directory names of the first pair.
                for number in 0..2 {
                    let _ = std::fs::remove_dir(self.job.scratch.join(number.to_string()));
                }
                self.start_pair(&place)?;
                Ok(vec![Report::Warning(Warning::new(
                    "load-loopback",
                    Effect::Note,
                    format!("the network load ran over loopback, not between two network namespaces: {why}"),
                    "modprobe veth",
                ))])
            }
        }
    }

    fn loopback(&self) -> Result<Place, Failure> {
        Place::loopback(self.kind, self.net)
            .map_err(|e| (format!("no free port on loopback: {e}"), "check `ip address show lo`".into()))
    }

    /// Starts the server, connects it, then starts the client.
    fn start_pair(&mut self, place: &Place) -> Result<(), Failure> {
        let Some(iperf3) = self.job.iperf3.clone() else { return Ok(()) };
        let stage = network::server_stage();
        let args = Server::args(&place.address, place.port);
        let server = self.launch(&Server, 1, &args, place.apart.then_some(&stage[..]))?;
        let ready = if place.apart { network::join(server) } else { Ok(()) };
        ready.and_then(|()| network::wait_for(server, place.port)).map_err(|why| {
            let said = self.tools.last().map(Running::last_words).unwrap_or_default();
            (format!("the iperf3 server is not ready: {why} ({said})"), "check that `iperf3 -s` and `ip` work".into())
        })?;
        self.launch(&Client, 1, &Client::args(&iperf3, &place.address, place.port), None)?;
        self.place = Some(place.clone());
        if iperf3.streams >= MANY_STREAMS {
            self.connects();
        }
        Ok(())
    }

    /// Waits until the client sends, as long as that takes at most on an idle machine: beside hundreds of stressors that want the same CPU, it
    /// takes minutes to make a hundred connections. If it is not there by then, it goes on.
    fn connects(&self) {
        let end = Instant::now() + CONNECT_LIMIT;
        while Instant::now() < end && self.tools.last().is_some_and(|t| t.not_at_work(&process_tree::all()).is_some()) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The path of the network traffic, as text; empty when there is none.
    pub(super) fn traffic(&self) -> &'static str {
        match &self.place {
            None => "",
            Some(place) if place.apart => "; iperf3 between two network namespaces",
            Some(_) => "; iperf3 over loopback",
        }
    }

    /// Reaps what has ended. With `early`, returns the tools that ended without being asked to.
    pub(super) fn collect(&mut self, early: bool) -> Vec<String> {
        let mut died = Vec::new();
        // A tool killed to spare the disk did not end as asked, even if the order to stop arrives before it is gone.
        let early = early || self.ended_why.is_some();
        // Bounded, because forking stressors leave orphans faster than they can be reaped.
        for _ in 0..MOST_COLLECTED {
            let Ok(Some((pid, status))) = sys::process::reap() else { break };
            if let Some(tool) = self.tools.iter_mut().find(|t| t.pid == pid && t.ended.is_none()) {
                tool.ended = Some(status);
                tool.early = early;
                if early {
                    died.push(format!("{} ({})", tool.name(), tool.last_words()));
                }
            }
        }
        died
    }

    /// Ends a load that is about to fill the disk (`stress-ng --all` takes tens of gigabytes in seconds). Returns
    /// the reason, only once.
    pub(super) fn spare_the_disk(&mut self) -> Option<String> {
        if self.ended_why.is_some() || self.job.tools.is_empty() {
            return None;
        }
        let free = sys::process::file_system(&self.job.scratch).ok()?.free_bytes;
        if free >= self.least_free {
            return None;
        }
        self.kill_workers();
        self.signal_all(libc::SIGKILL, |_| true);
        let why = format!("ended by rtscope: it left only {} MiB of the disk under {}", free >> 20, self.job.scratch.display());
        self.ended_why = Some(why.clone());
        Some(why)
    }

    /// The failure when a tool ended before the whole load was up.
    pub(super) fn ended_while_starting(&self) -> Option<Failure> {
        // A server ends with its client, so the client's words say more.
        let ended = self.tools.iter().filter(|t| t.ended.is_some());
        let tool = ended.max_by_key(|t| t.tool.part() != Part::Server)?;
        Some((format!("`{}` ended before the load was up ({})", tool.name(), tool.last_words()), tool.tool.by_hand().into()))
    }

    /// Tools that are not at work yet, with the reason.
    pub(super) fn not_up(&self) -> Vec<String> {
        let processes = process_tree::all();
        self.tools.iter().filter_map(|t| t.not_at_work(&processes).map(|why| format!("`{}`: {why}", t.name()))).collect()
    }

    /// The failure when the load is not up in time.
    pub(super) fn too_slow(&self, missing: &[String]) -> Failure {
        let said: Vec<String> = self.tools.iter().map(Running::last_words).filter(|w| w != "still running").collect();
        let said = if said.is_empty() { String::new() } else { format!(" ({})", said.join("; ")) };
        let message = format!("the load was not up after {} s: {}{said}", self.job.up_timeout.as_secs_f64(), missing.join("; "));
        (message, "the machine may be too busy for it, or a stressor may not work here: try a milder load".into())
    }

    /// Starts watching the load, now that all of it is up.
    pub(super) fn watch(&mut self) {
        self.watch = Some(Watch::new(&self.tools, self.job.fills_cpus));
    }

    /// Takes the next look at the load when it is due.
    pub(super) fn look_when_due(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.look_when_due(&self.tools);
        }
    }

    /// What the kernel has accounted to each tool until now.
    pub(super) fn look(&mut self) -> Vec<LoadProcess> {
        if let Some(watch) = &mut self.watch {
            watch.look(&self.tools);
            for (number, tool) in self.tools.iter_mut().enumerate() {
                tool.workers = watch.workers(number);
            }
        }
        let processes = process_tree::all();
        self.tools.iter_mut().for_each(|t| t.look(&processes));
        self.tools.iter().map(Running::seen).collect()
    }

    /// What was seen of the load since it was up.
    pub(super) fn course(&self) -> Option<LoadCourse> {
        self.watch.as_ref().map(|w| w.course().clone())
    }

    /// Asks all tools to end (SIGINT). After a third of the time limit it kills workers that go on, so that
    /// stress-ng itself can end and print its figures (`mmapfork` of 0.15 fills all memory before it checks); after
    /// two thirds it sends SIGTERM, at the limit SIGKILL.
    pub(super) fn stop(&mut self) {
        self.collect(true);
        let begin = Instant::now();
        let limit = self.job.stop_timeout;
        self.signal_all(libc::SIGINT, |t| t.tool.part() != Part::Server);
        let mut next_kill = Duration::ZERO;
        let (mut urged, mut killed, mut clients_gone) = (false, false, None::<Instant>);
        while self.tools.iter().any(|t| t.ended.is_none()) {
            std::thread::sleep(Duration::from_millis(10));
            self.collect(false);
            if clients_gone.is_none() && self.tools.iter().all(|t| t.tool.part() != Part::Client || t.ended.is_some()) {
                clients_gone = Some(Instant::now());
            }
            if clients_gone.is_some_and(|at| at.elapsed() > SERVER_GRACE) {
                self.signal_all(libc::SIGINT, |t| t.tool.part() == Part::Server);
                clients_gone = None;
            }
            let spent = begin.elapsed();
            if !urged && spent > limit / 3 && begin.elapsed() > next_kill {
                self.kill_workers();
                // Seldom, because this reads the whole process table of a busy machine.
                next_kill = begin.elapsed() + Duration::from_millis(250);
            }
            if !urged && spent > limit * 2 / 3 {
                urged = true;
                self.signal_all(libc::SIGTERM, |_| true);
            }
            if !killed && spent > limit {
                killed = true;
                self.signal_all(libc::SIGKILL, |_| true);
            }
            if spent > limit + Duration::from_secs(2) {
                break; // in an uninterruptible sleep; the end of this process takes care of it
            }
        }
    }

    fn kill_workers(&self) {
        let processes = process_tree::all();
        for tool in self.tools.iter().filter(|t| t.ended.is_none()) {
            for worker in process_tree::descendants(&processes, tool.pid).into_iter().filter(|p| !p.ended) {
                signal(worker.pid, libc::SIGKILL);
            }
        }
    }

    fn signal_all(&self, number: i32, which: impl Fn(&Running) -> bool) {
        self.tools.iter().filter(|t| t.ended.is_none() && which(t)).for_each(|t| signal(t.pid, number));
    }

    /// What each tool achieved, once stopped.
    pub(super) fn achieved(&self) -> Vec<LoadProcess> {
        let mut all: Vec<LoadProcess> = self.tools.iter().map(Running::done).collect();
        if let Some(why) = &self.ended_why {
            for p in all.iter_mut().filter(|p| p.died_early) {
                p.stderr = [why, p.stderr.as_str()].join("\n");
            }
        }
        all
    }
}

fn signal(pid: u32, number: i32) {
    // A process that has ended in the meantime needs no signal.
    let _ = i32::try_from(pid).map(|pid| sys::kill(pid, number));
}
