//! The Rust mirror of `kernel/rtscope.h`: the instrument in the kernel module rtscope_wire, through its device.

use super::check;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::Path;

/// `RTSCOPE_ABI`.
pub const ABI: u32 = 1;
/// `RTSCOPE_CPU_ANY`.
pub const CPU_ANY: u32 = u32::MAX;
/// The device of rtscope_wire.
pub const DEVICE: &str = "/dev/rtscope-wire";

/// `enum rtscope_wire_mode`.
pub mod mode {
    /// Gives stimuli and judges their answers.
    pub const STIMULATE: u32 = 0;
    /// Stamps every edge of the answer line.
    pub const CAPTURE: u32 = 1;
}

/// `enum rtscope_wire_inject_mode`.
pub mod inject {
    /// A DUT answers.
    pub const OFF: u32 = 0;
    /// The stimulus is wired to the answer.
    pub const NULL: u32 = 1;
    /// The instrument answers itself.
    pub const ANSWER: u32 = 2;
}

/// `enum rtscope_wire_kind`.
pub mod kind {
    /// A stimulus and its answer, in time.
    pub const ANSWERED: u32 = 1;
    /// A stimulus without an answer in time.
    pub const MISSED: u32 = 2;
    /// An answer after its time-out.
    pub const LATE: u32 = 3;
    /// An edge that belongs to no stimulus.
    pub const SPURIOUS: u32 = 4;
    /// Stimuli that were never given.
    pub const SKIPPED: u32 = 5;
    /// An edge, when capturing.
    pub const EDGE: u32 = 6;
    /// The last record.
    pub const DONE: u32 = 7;
}

/// `struct rtscope_wire_inject`; fields as in the header.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct WireInject {
    pub mode: u32,
    pub other_every: u32,
    pub delay_ns: u64,
    pub other_delay_ns: u64,
    pub drop_every: u32,
    pub double_every: u32,
}

/// `struct rtscope_wire_config`; fields as in the header.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct WireConfig {
    pub abi: u32,
    pub mode: u32,
    pub flags: u32,
    pub cpu: u32,
    pub interval_min_ns: u64,
    pub interval_max_ns: u64,
    pub timeout_ns: u64,
    pub start_delay_ns: u64,
    pub count: u64,
    pub seed: u64,
    pub ring_records: u32,
    pub wake_records: u32,
    pub inject: WireInject,
}

/// `struct rtscope_wire_event`; fields as in the header.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct WireEvent {
    pub seq: u64,
    pub stimulus: u64,
    pub programmed_ns: u64,
    pub stimulus_ns: u64,
    pub answer_ns: u64,
    pub kind: u32,
    pub level: u32,
    pub count: u32,
    pub cpu: u32,
    pub flags: u32,
    pub reserved: u32,
}

/// `struct rtscope_wire_status`; fields as in the header.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct WireStatus {
    pub abi: u32,
    pub state: u32,
    pub cpu: u32,
    pub wires: u32,
    pub now_ns: u64,
    pub started_ns: u64,
    pub ended_ns: u64,
    pub due: u64,
    pub stimuli: u64,
    pub open: u64,
    pub answered: u64,
    pub missed: u64,
    pub late: u64,
    pub spurious: u64,
    pub skipped: u64,
    pub edges: u64,
    pub records: u64,
    pub lost: u64,
    pub unread: u64,
    pub stimulus_late_max_ns: u64,
    pub injected: u64,
    pub injected_other: u64,
    pub injected_dropped: u64,
    pub injected_doubled: u64,
}

/// Size of an event, bytes.
const EVENT: usize = size_of::<WireEvent>();

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<WireInject>() == 32 && offset_of!(WireInject, drop_every) == 24);
    assert!(size_of::<WireConfig>() == 104 && offset_of!(WireConfig, ring_records) == 64 && offset_of!(WireConfig, inject) == 72);
    assert!(EVENT == 64 && offset_of!(WireEvent, answer_ns) == 32 && offset_of!(WireEvent, flags) == 56);
    assert!(size_of::<WireStatus>() == 176 && offset_of!(WireStatus, due) == 40 && offset_of!(WireStatus, injected) == 144);
};

/// `_IOC` of `include/uapi/asm-generic/ioctl.h`: direction (1 write, 2 read), size, type 0xf7, number.
#[allow(clippy::cast_possible_truncation, clippy::cast_lossless, clippy::cast_possible_wrap)] // 32 bits, in the C library's type
pub(super) const fn ioc(direction: u32, number: u32, size: usize) -> libc::Ioctl {
    (direction << 30 | (size as u32) << 16 | 0xf7 << 8 | number) as libc::Ioctl
}

/// The instrument, opened for one or more runs. Closing it ends a run in progress.
#[derive(Debug)]
pub struct Wire {
    file: File,
}

impl Wire {
    /// Opens `device`. `EBUSY` if another process has it open, `ENOENT` if the module is not loaded.
    pub fn open(device: &Path) -> io::Result<Self> {
        OpenOptions::new().read(true).write(true).open(device).map(|file| Self { file })
    }

    /// Sets what to run next. `EPROTO` from a module of another version, `EINVAL` for what the module can't do.
    pub fn configure(&self, config: &WireConfig) -> io::Result<()> {
        // SAFETY: the pointer is valid for one structure of the size in the request, which is only read.
        check(unsafe { libc::ioctl(self.file.as_raw_fd(), ioc(1, 0x10, size_of::<WireConfig>()), std::ptr::from_ref(config)) })
    }

    /// Starts the run.
    pub fn start(&self) -> io::Result<()> {
        // SAFETY: no argument.
        check(unsafe { libc::ioctl(self.file.as_raw_fd(), ioc(0, 0x11, 0), 0) })
    }

    /// Ends the run early.
    pub fn stop(&self) -> io::Result<()> {
        // SAFETY: no argument.
        check(unsafe { libc::ioctl(self.file.as_raw_fd(), ioc(0, 0x12, 0), 0) })
    }

    /// The instrument's status.
    pub fn status(&self) -> io::Result<WireStatus> {
        let mut status = WireStatus::default();
        // SAFETY: the pointer is valid for one structure of the size in the request, which the kernel fills.
        check(unsafe { libc::ioctl(self.file.as_raw_fd(), ioc(2, 0x13, size_of::<WireStatus>()), &raw mut status) })?;
        Ok(status)
    }

    /// Waits until there is something to read, at most until `deadline` (`CLOCK_MONOTONIC`, ns); returns whether there is.
    pub fn wait(&self, deadline: u64) -> io::Result<bool> {
        super::tty::wait_for(self.file.as_raw_fd(), libc::POLLIN, deadline)
    }

    /// Reads available events into `room`, 64 at most; returns how many, 0 at the end of the run. Blocks while there are none.
    pub fn read(&mut self, room: &mut [WireEvent]) -> io::Result<usize> {
        let mut bytes = [0u8; 64 * EVENT];
        let most = bytes.len().min(room.len() * EVENT);
        let n = self.file.read(&mut bytes[..most])?;
        for (event, bytes) in room.iter_mut().zip(bytes[..n].chunks_exact(EVENT)) {
            *event = WireEvent::from_bytes(bytes);
        }
        Ok(n / EVENT)
    }
}

impl WireEvent {
    fn from_bytes(bytes: &[u8]) -> Self {
        let long = |at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
        let word = |at: usize| bytes[at..at + 4].try_into().map_or(0, u32::from_ne_bytes);
        Self {
            seq: long(0),
            stimulus: long(8),
            programmed_ns: long(16),
            stimulus_ns: long(24),
            answer_ns: long(32),
            kind: word(40),
            level: word(44),
            count: word(48),
            cpu: word(52),
            flags: word(56),
            reserved: word(60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers as printed by a C program that includes `kernel/rtscope.h` (x86-64 and arm64).
    #[test]
    fn requests_have_the_headers_numbers() {
        assert_eq!(ioc(1, 0x10, size_of::<WireConfig>()), 0x4068_f710);
        assert_eq!((ioc(0, 0x11, 0), ioc(0, 0x12, 0)), (0xf711, 0xf712));
        assert_eq!(ioc(2, 0x13, size_of::<WireStatus>()), 0x80b0_f713);
    }

    #[test]
    fn an_event_is_read_field_by_field() {
        let bytes: Vec<u8> = (0..64).collect();
        let e = WireEvent::from_bytes(&bytes);
        assert_eq!(e.seq.to_ne_bytes(), bytes[..8]);
        assert_eq!(
            (e.answer_ns.to_ne_bytes(), e.kind.to_ne_bytes()),
            (bytes[32..40].try_into().unwrap(), bytes[40..44].try_into().unwrap())
        );
        assert_eq!(e.reserved.to_ne_bytes(), bytes[60..]);
    }

    #[test]
    fn what_is_no_instrument_says_so() {
        let mut null = Wire::open(Path::new("/dev/null")).unwrap();
        assert!(null.configure(&WireConfig::default()).is_err() && null.start().is_err() && null.status().is_err());
        assert_eq!(null.read(&mut [WireEvent::default(); 4]).unwrap(), 0);
    }
}
