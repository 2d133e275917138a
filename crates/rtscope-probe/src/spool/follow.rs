//! The follower: passes a spool on over one connection, and forwards orders to the keeper.

use super::events::{has_last_word, say};
use super::files::{POLL_INTERVAL, put, read};
use super::identity::{self, alive};
use crate::protocol::Identity;
use crate::serve::hello;
use rtscope_failure::Failure;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A driver that sends nothing for this long is gone: it sends something every five seconds.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a keeper may take to end its work and itself.
const END_LIMIT: Duration = Duration::from_secs(15);

/// An order of a driver to a follower, one per line. An empty line only shows that the driver is there.
#[derive(Debug, PartialEq, Eq)]
enum Order {
    Here,
    /// End the work, and pass on its result.
    Stop,
    /// End the work, and remove everything.
    Drop,
}

/// Says hello, then passes on the spool in `dir` from byte `at` on until the driver lets go. Returns the exit code.
pub fn follow(dir: &Path, at: u64, input: impl Read + Send + 'static, out: &mut dyn Write) -> u8 {
    if say(out, &hello(Vec::new())).is_err() {
        return 3;
    }
    pass_on(dir, at, input, out)
}

/// The same without the hello.
pub(super) fn pass_on(dir: &Path, at: u64, input: impl Read + Send + 'static, out: &mut dyn Write) -> u8 {
    match Follower::new(dir, at).and_then(|f| f.run(&orders(input), out)) {
        Ok(()) => 0,
        Err(e) => {
            let message = format!("what the probe said can't be read from {}: {e}", dir.display());
            let _ = say(out, &Failure::machine(message, "was the directory removed?").into());
            3
        }
    }
}

fn orders(input: impl Read + Send + 'static) -> Receiver<Order> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(input).lines() {
            let order = match line.as_deref() {
                Ok("") => Order::Here,
                Ok("stop") => Order::Stop,
                Ok("drop") => Order::Drop,
                _ => return,
            };
            if sender.send(order).is_err() {
                return;
            }
        }
    });
    receiver
}

struct Follower<'a> {
    dir: &'a Path,
    spool: File,
    /// A line whose end is still missing.
    part: Vec<u8>,
    me: Identity,
}

impl<'a> Follower<'a> {
    fn new(dir: &'a Path, at: u64) -> io::Result<Self> {
        let mut spool = File::open(dir.join("events"))?;
        spool.seek(SeekFrom::Start(at))?;
        let me = identity::identity();
        put(dir, "follower", &serde_json::to_vec(&me)?)?;
        Ok(Self { dir, spool, part: Vec::new(), me })
    }

    fn run(mut self, orders: &Receiver<Order>, out: &mut dyn Write) -> io::Result<()> {
        let mut heard = Instant::now();
        let mut told = false;
        loop {
            // Checked before reading the spool: a process that is dead by then has written everything.
            let over = self.dir.join("done").exists() || !alive(self.dir);
            self.forward(out)?;
            if over && !told {
                told = true;
                if !has_last_word(self.dir)? {
                    let message = "the probe's keeper on the target was killed, and the run with it";
                    say(out, &Failure::machine(message, "see its kernel's log: dmesg | tail").into())?;
                }
            }
            match orders.recv_timeout(POLL_INTERVAL) {
                Ok(order) => {
                    heard = Instant::now();
                    match order {
                        Order::Here => {}
                        Order::Stop => drop(File::create(self.dir.join("stop"))?),
                        Order::Drop => return self.remove(),
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            let replaced = read::<Identity>(self.dir, "follower").is_some_and(|f| f != self.me);
            if replaced || heard.elapsed() > SILENCE {
                return Ok(());
            }
        }
    }

    /// Passes on all complete lines.
    fn forward(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut room = vec![0; 64 << 10];
        loop {
            let n = self.spool.read(&mut room)?;
            if n == 0 {
                return out.flush();
            }
            self.part.extend_from_slice(&room[..n]);
            if let Some(end) = room[..n].iter().rposition(|&b| b == b'\n') {
                let whole = self.part.len() - n + end + 1;
                out.write_all(&self.part[..whole])?;
                self.part.drain(..whole);
            }
        }
    }

    /// Has the keeper end and remove everything. If the keeper is dead, removes it itself.
    fn remove(self) -> io::Result<()> {
        File::create(self.dir.join("drop"))?;
        let end = Instant::now() + END_LIMIT;
        while alive(self.dir) && Instant::now() < end {
            std::thread::sleep(POLL_INTERVAL / 4);
        }
        match fs::remove_dir_all(self.dir) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}
