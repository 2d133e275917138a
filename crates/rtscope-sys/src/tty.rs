//! Waiting for a descriptor to a deadline, and the modem-control lines of serial ports.

use super::check;
use super::rt::now;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// Waits until `fd` has one of `events` (`POLLIN`, `POLLPRI`), at most until `deadline` (`CLOCK_MONOTONIC`, ns); returns whether
/// it has. A signal ends the wait early.
pub fn wait_for(fd: RawFd, events: i16, deadline: u64) -> io::Result<bool> {
    let mut fds = libc::pollfd { fd, events, revents: 0 };
    let left = deadline.saturating_sub(now());
    #[allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation)] // seconds of a deadline fit
    let time = libc::timespec { tv_sec: (left / 1_000_000_000) as _, tv_nsec: (left % 1_000_000_000) as _ };
    // SAFETY: one entry and one time, both valid through the call; no mask is changed.
    let n = unsafe { libc::ppoll(&raw mut fds, 1, &raw const time, std::ptr::null()) };
    match n {
        n if n > 0 => Ok(fds.revents & events != 0),
        0 => Ok(false),
        _ => match io::Error::last_os_error() {
            e if e.kind() == io::ErrorKind::Interrupted => Ok(false),
            e => Err(e),
        },
    }
}

/// A modem-control line of a serial port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modem {
    /// Request to send, an output.
    Rts,
    /// Data terminal ready, an output.
    Dtr,
    /// Clear to send, an input.
    Cts,
    /// Data set ready, an input.
    Dsr,
    /// Carrier detect, an input.
    Dcd,
    /// Ring indicator, an input.
    Ri,
}

impl Modem {
    fn bit(self) -> libc::c_int {
        match self {
            Self::Rts => libc::TIOCM_RTS,
            Self::Dtr => libc::TIOCM_DTR,
            Self::Cts => libc::TIOCM_CTS,
            Self::Dsr => libc::TIOCM_DSR,
            Self::Dcd => libc::TIOCM_CD,
            Self::Ri => libc::TIOCM_RI,
        }
    }
}

/// The level of `line` (`TIOCMGET`).
pub fn level(port: &impl AsRawFd, line: Modem) -> io::Result<bool> {
    let mut bits: libc::c_int = 0;
    // SAFETY: the pointer is valid for one int.
    check(unsafe { libc::ioctl(port.as_raw_fd(), libc::TIOCMGET, &raw mut bits) })?;
    Ok(bits & line.bit() != 0)
}

/// Sets the output `line` (`TIOCMBIS`, `TIOCMBIC`).
pub fn set(port: &impl AsRawFd, line: Modem, level: bool) -> io::Result<()> {
    let bit = line.bit();
    let request = if level { libc::TIOCMBIS } else { libc::TIOCMBIC };
    // SAFETY: the pointer is valid for one int, which is only read.
    check(unsafe { libc::ioctl(port.as_raw_fd(), request, &raw const bit) })
}

/// `struct serial_icounter_struct` of `include/uapi/linux/serial.h`.
#[repr(C)]
#[derive(Default)]
struct Counters {
    cts: i32,
    dsr: i32,
    rng: i32,
    dcd: i32,
    others: [i32; 7],
    reserved: [i32; 9],
}

const _: () = assert!(size_of::<Counters>() == 80);

/// Number of edges of the input `line` that the driver has counted (`TIOCGICOUNT`); for the ring indicator, falling edges only.
pub fn edges(port: &impl AsRawFd, line: Modem) -> io::Result<u32> {
    const TIOCGICOUNT: libc::Ioctl = 0x545d;
    let mut counters = Counters::default();
    // SAFETY: the pointer is valid for one structure of the size that the kernel writes.
    check(unsafe { libc::ioctl(port.as_raw_fd(), TIOCGICOUNT, &raw mut counters) })?;
    let n = match line {
        Modem::Dsr => counters.dsr,
        Modem::Dcd => counters.dcd,
        Modem::Ri => counters.rng,
        Modem::Cts | Modem::Rts | Modem::Dtr => counters.cts,
    };
    #[allow(clippy::cast_sign_loss)] // a counter that wraps
    Ok(n as u32)
}

/// Waits for an edge of the input `line` (`TIOCMIWAIT`). The call has no time-out; a signal ends it (see [`InterruptTimer`]), which returns
/// `false`.
pub fn wait_edge(port: &impl AsRawFd, line: Modem) -> io::Result<bool> {
    const TIOCMIWAIT: libc::Ioctl = 0x545c;
    // SAFETY: the argument is a mask, not a pointer.
    match check(unsafe { libc::ioctl(port.as_raw_fd(), TIOCMIWAIT, libc::c_long::from(line.bit())) }) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(e) => Err(e),
    }
}

/// A timer that interrupts any system call of the thread which made it: from the set time on, every 5 ms until it is turned off.
/// It repeats because a single signal could come just before the call.
#[derive(Debug)]
pub struct InterruptTimer {
    timer: libc::timer_t,
}

// SAFETY: the timer is a number of the process; the thread to wake was fixed when it was made.
unsafe impl Send for InterruptTimer {}

impl InterruptTimer {
    /// An alarm for the calling thread.
    pub fn new() -> io::Result<Self> {
        super::rt::install_wake()?;
        // SAFETY: all fields are integers or pointers, for which zero is a value; the kernel copies the event.
        unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGUSR2;
            event.sigev_notify_thread_id = libc::pid_t::try_from(super::rt::tid()).unwrap_or(0);
            let mut timer: libc::timer_t = std::mem::zeroed();
            check(libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer))?;
            Ok(Self { timer })
        }
    }

    /// Sets the alarm to `at` (`CLOCK_MONOTONIC`, ns); `None` turns it off.
    pub fn set(&self, at: Option<u64>) -> io::Result<()> {
        #[allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation)] // monotonic seconds fit
        let time = |ns: u64| libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ };
        // A time of zero would turn it off.
        let (value, interval) = at.map_or((0, 0), |at| (at.max(1), 5_000_000));
        let spec = libc::itimerspec { it_interval: time(interval), it_value: time(value) };
        // SAFETY: a timer of ours, a valid structure that is only read, and no old value asked for.
        check(unsafe { libc::timer_settime(self.timer, libc::TIMER_ABSTIME, &raw const spec, std::ptr::null_mut()) })
    }
}

impl Drop for InterruptTimer {
    fn drop(&mut self) {
        // SAFETY: the timer is ours and deleted once.
        unsafe { libc::timer_delete(self.timer) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn a_wait_ends_at_its_deadline_and_not_before() {
        let (mut theirs, ours) = std::os::unix::net::UnixStream::pair().unwrap();
        let deadline = now() + 3_000_000;
        assert!(!wait_for(ours.as_raw_fd(), libc::POLLIN, deadline).unwrap());
        assert!(now() >= deadline);
        std::io::Write::write_all(&mut theirs, b"x").unwrap();
        assert!(wait_for(ours.as_raw_fd(), libc::POLLIN, 0).unwrap());
    }

    #[test]
    fn an_alarm_wakes_its_thread_again_and_again() {
        let alarm = InterruptTimer::new().unwrap();
        let at = now() + 2_000_000;
        alarm.set(Some(at)).unwrap();
        for _ in 0..2 {
            assert_eq!(super::super::rt::sleep_until(super::super::rt::Instant::from_ns(now() + 60_000_000_000)), libc::EINTR);
            assert!(now() >= at);
        }
        alarm.set(None).unwrap();
    }

    #[test]
    fn what_is_no_serial_port_says_so() {
        let file = File::open("/dev/null").unwrap();
        assert!(level(&file, Modem::Cts).is_err() && set(&file, Modem::Rts, true).is_err());
        assert!(edges(&file, Modem::Cts).is_err() && wait_edge(&file, Modem::Cts).is_err());
    }
}
