//! Lines: what carries an edge from the instrument to the device under test and back, whatever it is made of.

pub mod gpio;
pub mod serial;
pub mod soft;
pub mod spec;
pub mod sysfs;

use rtscope_record::lines::Stamp;
pub use spec::LineSpec;
use std::io;

/// An edge of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The level after it.
    pub level: bool,
    /// When, `CLOCK_MONOTONIC`, ns; [`Abilities::stamp`] says whose clock read it is.
    pub at: u64,
    /// Edges of this line that were lost just before this one.
    pub lost: u64,
}

/// The clock around an act on a line, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Read just before.
    pub before: u64,
    /// Read just after.
    pub after: u64,
}

/// What a line can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abilities {
    /// What it is, in words.
    pub what: &'static str,
    /// Who stamps its edges.
    pub stamp: Stamp,
    /// Whether it can tell that edges were lost.
    pub tells_losses: bool,
}

/// A line that is open for driving. Dropping it gives it back.
pub trait Output: Send {
    /// Sets the level; says when. A level that it has already makes no edge.
    fn set(&mut self, level: bool) -> Result<Span, LineError>;
    /// Whether somebody listens; `None` where that can't be told.
    fn has_listener(&self) -> Option<bool>;
}

/// A line that is open for listening. Dropping it gives it back.
pub trait Input: Send {
    /// The next edge, at most until `deadline` (`CLOCK_MONOTONIC`, ns). An edge that is there already is given even after the deadline.
    fn wait(&mut self, deadline: u64) -> Result<Option<Edge>, LineError>;
    /// The level now.
    fn level(&mut self) -> Result<bool, LineError>;
    /// Whether somebody drives it; `None` where that can't be told.
    fn has_driver(&self) -> Option<bool>;
}

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
            Self::Spec { .. } => spec::FORMS.into(),
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
                io::ErrorKind::NotFound if line == rtscope_sys::wire::DEVICE => {
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
