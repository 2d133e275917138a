//! The connection to the instrument: a serial port, or a pseudo-terminal.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::termios::{OptionalActions, QueueSelector};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// Baud rate of the boards' serial lines.
const BAUD: u32 = 3_000_000;

/// A connection that carries bytes.
pub trait Port {
    /// Sends all of `bytes`.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Reads what has arrived, waiting for at most `patience`; returns 0 if nothing has.
    fn receive(&mut self, room: &mut [u8], patience: Duration) -> io::Result<usize>;
    /// Whether a board may be at the other end: `false` only where it is certainly a program.
    fn is_hardware(&self) -> bool;
}

/// A serial port, opened exclusively.
#[derive(Debug)]
pub struct SerialPort {
    file: File,
}

impl SerialPort {
    /// Opens the port at `path`: raw, 8N1, 3 Mbaud, with old input discarded.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::NOCTTY | OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
        // If two programs read one port, each would get a part of the bytes.
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
        let mut settings = rustix::termios::tcgetattr(&file)?;
        settings.make_raw();
        settings.set_speed(BAUD)?;
        rustix::termios::tcsetattr(&file, OptionalActions::Now, &settings)?;
        rustix::termios::tcflush(&file, QueueSelector::IOFlush)?;
        Ok(Self { file })
    }

    /// Major and minor number of the port's device.
    fn device(&self) -> io::Result<(u32, u32)> {
        let device = rustix::fs::fstat(&self.file)?.st_rdev;
        Ok((rustix::fs::major(device), rustix::fs::minor(device)))
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

impl Drop for SerialPort {
    /// Closing alone might not release the lock: a child that another thread has just forked holds a copy of the descriptor for a
    /// moment.
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.file, rustix::fs::FlockOperation::Unlock);
    }
}

/// Majors of pseudo-terminals (`Documentation/admin-guide/devices.txt`): BSD's, and both ends of Unix98's.
fn is_pseudo_terminal(major: u32) -> bool {
    matches!(major, 2 | 3 | 128..=143)
}

/// Whether a port's device is virtual, by its path in sysfs, such as `/sys/devices/pci0000:00/.../ttyUSB0/tty/ttyUSB0`.
fn is_virtual(place: &Path) -> bool {
    place.starts_with("/sys/devices/virtual")
}

impl Port for SerialPort {
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
            // Ready but at its end: the device was unplugged.
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => Ok(n),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
            Err(e) => Err(e),
        }
    }

    /// The other end of a pseudo-terminal is a program, and so is that of a virtual serial port (tty0tty and the like). Any path
    /// or link may lead there, so this asks the kernel about the opened device. A port of unknown kind is taken for hardware, as
    /// the user says.
    fn is_hardware(&self) -> bool {
        let Ok((major, minor)) = self.device() else { return false };
        let place = std::fs::canonicalize(format!("/sys/dev/char/{major}:{minor}"));
        !is_pseudo_terminal(major) && !place.is_ok_and(|place| is_virtual(&place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pseudo_terminal_is_no_board_by_whatever_name() {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let dir = std::env::temp_dir().join(format!("rtscope-port-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let link = dir.join("ttyUSB0");
        std::os::unix::fs::symlink(name.to_str().unwrap(), &link).unwrap();
        let port = SerialPort::open(&link).unwrap();
        assert!(!port.is_hardware());
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(is_virtual(Path::new("/sys/devices/virtual/tty/tnt0")));
        assert!(!is_virtual(Path::new("/sys/devices/platform/serial8250/tty/ttyS0")));
        assert!(is_pseudo_terminal(136) && is_pseudo_terminal(143) && !is_pseudo_terminal(188) && !is_pseudo_terminal(4));
    }
}
