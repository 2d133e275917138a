//! The way to the instrument: a serial port, or a pseudo-terminal.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::termios::{OptionalActions, QueueSelector};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// Speed of the boards' lines.
const BAUD: u32 = 3_000_000;

/// A line of bytes.
pub trait Port {
    /// Sends all of `bytes`.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// What has arrived, at most after `patience`; 0 where nothing has.
    fn receive(&mut self, room: &mut [u8], patience: Duration) -> io::Result<usize>;
}

/// A serial port, open for us alone.
#[derive(Debug)]
pub struct Serial {
    file: File,
}

impl Serial {
    /// Opens it: raw, 8N1, 3 Mbaud, without what came before.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::NOCTTY | OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
        // Two programs that read one line would each get a part of it.
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
        let mut settings = rustix::termios::tcgetattr(&file)?;
        settings.make_raw();
        settings.set_speed(BAUD)?;
        rustix::termios::tcsetattr(&file, OptionalActions::Now, &settings)?;
        rustix::termios::tcflush(&file, QueueSelector::IOFlush)?;
        Ok(Self { file })
    }

    fn wait(&self, what: PollFlags, patience: Duration) -> io::Result<bool> {
        let timeout = Timespec::try_from(patience).map_err(|_| io::ErrorKind::InvalidInput)?;
        match poll(&mut [PollFd::new(&self.file, what)], Some(&timeout)) {
            Ok(n) => Ok(n > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }
}

impl Drop for Serial {
    /// Closing alone would not free it: a child that another thread has just forked holds a copy of the descriptor for a moment.
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.file, rustix::fs::FlockOperation::Unlock);
    }
}

impl Port for Serial {
    fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    if !self.wait(PollFlags::OUT, Duration::from_secs(2))? {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn receive(&mut self, room: &mut [u8], patience: Duration) -> io::Result<usize> {
        if !self.wait(PollFlags::IN, patience)? {
            return Ok(0);
        }
        match self.file.read(room) {
            // What was ready and is at its end was pulled out.
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => Ok(n),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
            Err(e) => Err(e),
        }
    }
}
