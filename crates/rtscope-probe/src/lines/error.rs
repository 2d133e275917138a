//! Why a line can't be had, and what to do about it.

use std::io;

/// The forms of a line's name, for a remedy.
const FORMS: &str = "write soft:NAME, gpio:CHIP/OFFSET, gpio:LINE-NAME, sysfs:NUMBER, serial:DEVICE:OUT>IN such as \
     serial:/dev/ttyS0:rts>cts, wire:stimulus and wire:answer of the kernel module rtscope_wire, or fpga:PORT such as \
     fpga:/dev/ttyUSB1";

/// Why a line can't be had, or ended. Every message names the line; [`LineError::remedy`] says what to do.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The text names no line.
    #[error("`{text}` names no line: {why}")]
    Spec {
        /// As given.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// Somebody else has it.
    #[error("{line} is in use: {by}")]
    Busy {
        /// As named.
        line: String,
        /// By whom, as far as it is known.
        by: String,
    },
    /// This line can't do what is asked of it.
    #[error("{line} can't be used so: {why}")]
    Unable {
        /// As named.
        line: String,
        /// What it can't.
        why: String,
    },
    /// The instrument behind it can't be used.
    #[error("{line}: {why}")]
    Instrument {
        /// As named.
        line: String,
        /// Why not.
        why: String,
    },
    /// The kernel refused something.
    #[error("{line}: {act}: {source}")]
    Io {
        /// As named.
        line: String,
        /// What was tried.
        act: String,
        /// Why not.
        source: io::Error,
    },
}

impl LineError {
    pub(crate) fn io(line: &str, act: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let (line, act) = (line.to_owned(), act.into());
        move |source| Self::Io { line, act, source }
    }

    /// The request was wrong, not the machine.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Spec { .. } | Self::Unable { .. })
    }

    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Spec { .. } => FORMS.into(),
            Self::Busy { .. } => {
                "end the other program, or are stimulus and answer (or the DUT's --in and --out) swapped? A line has one driver"
                    .into()
            }
            Self::Unable { .. } => "choose another line".into(),
            Self::Instrument { .. } => {
                "is the board plugged in and its bitstream loaded? `rtscope fpga info PORT` asks it, `rtscope fpga selftest PORT` tests it".into()
            }
            Self::Io { source, line, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => {
                    format!(
                        "run as root, or let your user open the device of {line} (GPIO: a udev rule or the group gpio; a serial port: the \
                         group dialout)"
                    )
                }
                io::ErrorKind::NotFound if line == rtscope_sys::wire_device::DEVICE => {
                    "load the kernel module: insmod rtscope_wire.ko".into()
                }
                io::ErrorKind::NotFound => "does the device exist? `ls /dev/gpiochip* /dev/tty[SU]*`; is its driver loaded?".into(),
                _ if line.starts_with("fpga:") => {
                    "is this the board's serial port? `ls -l /dev/serial/by-id`; is it still plugged in? `dmesg | tail`".into()
                }
                _ => "look at the device's driver: `dmesg | tail`".into(),
            },
        }
    }
}
