//! Why a line can't be used, and what to do about it.

use rtscope_failure::{Fault, Problem};
use std::io;

/// The forms of a line's name, for the remedy.
const FORMS: &str = "write soft:NAME, gpio:CHIP/OFFSET, gpio:LINE-NAME, sysfs:NUMBER, serial:DEVICE:OUT>IN such as \
     serial:/dev/ttyS0:rts>cts, wire:stimulus and wire:answer of the kernel module rtscope_wire, or fpga:PORT such as \
     fpga:/dev/ttyUSB1";

/// Why a line can't be used, or failed. The message names the line; the remedy says what to do.
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
    /// Another program or thread uses the line.
    #[error("{line} is in use: {by}")]
    Busy {
        /// The line, as named.
        line: String,
        /// Its user, as far as known.
        by: String,
    },
    /// The line does not support what is asked of it.
    #[error("{line} can't be used this way: {why}")]
    Unable {
        /// As named.
        line: String,
        /// What is not supported.
        why: String,
    },
    /// The instrument behind the line can't be used.
    #[error("{line}: {why}")]
    Instrument {
        /// As named.
        line: String,
        /// The reason.
        why: String,
        /// What to do about it; empty if `why` already says it.
        remedy: String,
    },
    /// The kernel refused an operation.
    #[error("{line}: {act}: {source}")]
    Io {
        /// As named.
        line: String,
        /// The operation.
        act: String,
        /// The system's error.
        source: io::Error,
    },
}

impl LineError {
    pub(crate) fn io(line: &str, act: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let (line, act) = (line.to_owned(), act.into());
        move |source| Self::Io { line, act, source }
    }
}

impl Problem for LineError {
    fn remedy(&self) -> String {
        match self {
            Self::Spec { .. } => FORMS.into(),
            Self::Busy { .. } => {
                "end the other program, or are stimulus and answer (or the DUT's --in and --out) swapped? A line has one driver"
                    .into()
            }
            Self::Unable { .. } => "choose another line".into(),
            Self::Instrument { remedy, .. } => remedy.clone(),
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

    fn fault(&self) -> Fault {
        match self {
            Self::Spec { .. } | Self::Unable { .. } => Fault::Usage,
            Self::Busy { .. } | Self::Instrument { .. } | Self::Io { .. } => Fault::Machine,
        }
    }
}
