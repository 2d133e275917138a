//! The Rust mirror of `kernel/rtscope.h`: the timer test in rtscope_timer, and the status of the DUT's modules, each through its
//! device.

use super::check;
use super::wire_device::{ABI, ioc};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// The device of rtscope_timer.
pub const TIMER_DEVICE: &str = "/dev/rtscope-timer";
/// The device of rtscope_response.
pub const RESPONSE_DEVICE: &str = "/dev/rtscope-response";
/// The device of rtscope_periodic.
pub const PERIODIC_DEVICE: &str = "/dev/rtscope-periodic";

/// `struct rtscope_timer_config`; fields as in the header.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct TimerConfig {
    pub abi: u32,
    pub context: u32,
    pub flags: u32,
    pub ring_records: u32,
    pub interval_ns: u64,
    pub start_delay_ns: u64,
    pub count: u64,
    pub distance_ns: u64,
    pub wake_records: u32,
    pub reserved: u32,
    pub cpus: [u64; 16],
}

/// `struct rtscope_timer_event`; fields as in the header.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct TimerEvent {
    pub seq: u64,
    pub expected_ns: u64,
    pub actual_ns: u64,
    pub cpu: u32,
    pub missed: u32,
}

/// `struct rtscope_timer_status`; fields as in the header.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct TimerStatus {
    pub abi: u32,
    pub state: u32,
    pub cpu: u32,
    pub cpus: u32,
    pub now_ns: u64,
    pub started_ns: u64,
    pub due: u64,
    pub samples: u64,
    pub missed: u64,
    pub lost: u64,
    pub unread: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub sum_ns: u64,
}

/// `struct rtscope_response_status`; fields as in the header.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct ResponseStatus {
    pub abi: u32,
    pub handler: u32,
    pub irq: u32,
    pub cpu: u32,
    pub edges: u64,
    pub rising: u64,
    pub falling: u64,
    pub unchanged: u64,
    pub service_ns: u64,
    pub outside: u64,
}

/// `struct rtscope_periodic_status`; fields as in the header.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct PeriodicStatus {
    pub abi: u32,
    pub context: u32,
    pub cpu: u32,
    pub level: u32,
    pub semi_period_ns: u64,
    pub first_ns: u64,
    pub toggles: u64,
    pub missed: u64,
    pub late_max_ns: u64,
    pub now_ns: u64,
}

/// Size of an event, bytes.
const EVENT: usize = size_of::<TimerEvent>();
/// Number of events in one read.
const BATCH: usize = 128;

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<TimerConfig>() == 184 && offset_of!(TimerConfig, wake_records) == 48 && offset_of!(TimerConfig, cpus) == 56);
    assert!(EVENT == 32 && offset_of!(TimerEvent, cpu) == 24 && offset_of!(TimerEvent, missed) == 28);
    assert!(size_of::<TimerStatus>() == 96 && offset_of!(TimerStatus, due) == 32 && offset_of!(TimerStatus, lost) == 56);
    assert!(size_of::<ResponseStatus>() == 64 && offset_of!(ResponseStatus, unchanged) == 40);
    assert!(size_of::<PeriodicStatus>() == 64 && offset_of!(PeriodicStatus, missed) == 40);
};

/// The timer test in the kernel, opened for one run. Closing it ends the run.
#[derive(Debug)]
pub struct Timer {
    file: File,
}

impl Timer {
    /// Opens the device. `EBUSY` if another process has it open, `ENOENT` if the module is not loaded.
    pub fn open() -> io::Result<Self> {
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(TIMER_DEVICE).map(|file| Self { file })
    }

    /// Sets what to run. `EPROTO` from a module of another version, `EINVAL` for what the module can't do, `ENXIO` for a CPU that
    /// is offline.
    pub fn configure(&self, config: &TimerConfig) -> io::Result<()> {
        // SAFETY: the pointer is valid for one structure of the size in the request, which is only read.
        check(unsafe { libc::ioctl(self.file.as_raw_fd(), ioc(1, 0x40, size_of::<TimerConfig>()), std::ptr::from_ref(config)) })
    }

    /// Starts the run.
    pub fn start(&self) -> io::Result<()> {
        // SAFETY: no argument.
        check(unsafe { libc::ioctl(self.file.as_raw_fd(), ioc(0, 0x41, 0), 0) })
    }

    /// Ends the run early.
    pub fn stop(&self) -> io::Result<()> {
        // SAFETY: no argument.
        check(unsafe { libc::ioctl(self.file.as_raw_fd(), ioc(0, 0x42, 0), 0) })
    }

    /// The counters of one CPU.
    pub fn status(&self, cpu: u32) -> io::Result<TimerStatus> {
        let mut status = TimerStatus { cpu, ..TimerStatus::default() };
        // SAFETY: the pointer is valid for one structure of the size in the request, which the kernel reads and fills.
        check(unsafe { libc::ioctl(self.file.as_raw_fd(), ioc(3, 0x43, size_of::<TimerStatus>()), &raw mut status) })?;
        Ok(status)
    }

    /// Hands all available events to `take`; returns whether the run has ended and all its events were read.
    pub fn read(&mut self, mut take: impl FnMut(&TimerEvent)) -> io::Result<bool> {
        let mut bytes = [0u8; BATCH * EVENT];
        loop {
            match self.file.read(&mut bytes) {
                Ok(0) => return Ok(true),
                Ok(n) => bytes[..n].chunks_exact(EVENT).for_each(|bytes| take(&TimerEvent::from_bytes(bytes))),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl TimerEvent {
    fn from_bytes(bytes: &[u8]) -> Self {
        let long = |at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
        let word = |at: usize| bytes[at..at + 4].try_into().map_or(0, u32::from_ne_bytes);
        Self { seq: long(0), expected_ns: long(8), actual_ns: long(16), cpu: word(24), missed: word(28) }
    }
}

/// The status of rtscope_response; `EPROTO` from a module of another version.
pub fn response_status() -> io::Result<ResponseStatus> {
    let file = File::open(RESPONSE_DEVICE)?;
    let mut status = ResponseStatus::default();
    // SAFETY: the pointer is valid for one structure of the size in the request, which the kernel fills.
    check(unsafe { libc::ioctl(file.as_raw_fd(), ioc(2, 0x20, size_of::<ResponseStatus>()), &raw mut status) })?;
    if status.abi == ABI { Ok(status) } else { Err(io::Error::from_raw_os_error(libc::EPROTO)) }
}

/// The status of rtscope_periodic; `EPROTO` from a module of another version.
pub fn periodic_status() -> io::Result<PeriodicStatus> {
    let file = File::open(PERIODIC_DEVICE)?;
    let mut status = PeriodicStatus::default();
    // SAFETY: the pointer is valid for one structure of the size in the request, which the kernel fills.
    check(unsafe { libc::ioctl(file.as_raw_fd(), ioc(2, 0x30, size_of::<PeriodicStatus>()), &raw mut status) })?;
    if status.abi == ABI { Ok(status) } else { Err(io::Error::from_raw_os_error(libc::EPROTO)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers as printed by a C program that includes `kernel/rtscope.h` (x86-64 and arm64).
    #[test]
    fn requests_have_the_headers_numbers() {
        assert_eq!(ioc(2, 0x20, size_of::<ResponseStatus>()), 0x8040_f720);
        assert_eq!(ioc(2, 0x30, size_of::<PeriodicStatus>()), 0x8040_f730);
        assert_eq!(ioc(1, 0x40, size_of::<TimerConfig>()), 0x40b8_f740);
        assert_eq!((ioc(0, 0x41, 0), ioc(0, 0x42, 0)), (0xf741, 0xf742));
        assert_eq!(ioc(3, 0x43, size_of::<TimerStatus>()), 0xc060_f743);
    }

    #[test]
    fn an_event_is_read_field_by_field() {
        let bytes: Vec<u8> = (0..32).collect();
        let e = TimerEvent::from_bytes(&bytes);
        assert_eq!(
            (e.seq.to_ne_bytes(), e.actual_ns.to_ne_bytes()),
            (bytes[..8].try_into().unwrap(), bytes[16..24].try_into().unwrap())
        );
        assert_eq!(
            (e.cpu.to_ne_bytes(), e.missed.to_ne_bytes()),
            (bytes[24..28].try_into().unwrap(), bytes[28..].try_into().unwrap())
        );
    }
}
