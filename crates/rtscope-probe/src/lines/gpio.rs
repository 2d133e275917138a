//! GPIO lines of the character device, uAPI v2 (Linux 5.10): `gpio:CHIP/OFFSET` or `gpio:NAME`. The kernel
//! stamps edges and numbers them.

use super::{Abilities, Input, LineError, Output, Span};
use gpiocdev::Request;
use gpiocdev::line::{EdgeDetection, EdgeKind, EventClock, Offset, Value};
use rtscope_record::lines::Stamp;
use rtscope_samples::Edge;
use rtscope_sys::rt::now;
use rtscope_sys::tty::wait_for;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// Size of the kernel's buffer for edges that have not been read.
const KERNEL_BUFFER: u32 = 1024;
/// Number of 64-bit words of a uAPI v2 edge event.
const EVENT_WORDS: usize = 6;

/// What a GPIO line can do.
pub const ABILITIES: Abilities = Abilities { what: "GPIO line (character device)", stamp: Stamp::Kernel, tells_losses: true };

/// Which line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gpio {
    /// By chip (`gpiochip0`, `/dev/gpiochip0`, or the chip's label) and offset.
    Offset(String, u32),
    /// By its name.
    Name(String),
}

/// The label of a chip that is named by its device, `gpiochip0` or a path, because kernel modules know chips by
/// their labels. `None` if it is not such a name, or the chip does not exist.
pub fn label_of(chip: &str) -> Option<String> {
    let numbered = chip.strip_prefix("gpiochip").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let path =
        if numbered { PathBuf::from("/dev").join(chip) } else { PathBuf::from(Some(chip).filter(|c| c.starts_with("/dev/"))?) };
    let info = gpiocdev::Chip::from_path(path).and_then(|chip| chip.info()).ok()?;
    Some(info.label).filter(|label| !label.is_empty())
}

impl std::fmt::Display for Gpio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Offset(chip, offset) => write!(f, "gpio:{chip}/{offset}"),
            Self::Name(name) => write!(f, "gpio:{name}"),
        }
    }
}

impl Gpio {
    /// Path of the chip's device, and the offset.
    fn find(&self) -> Result<(PathBuf, Offset), LineError> {
        let line = self.to_string();
        let none = |act: &str| LineError::io(&line, act.to_owned())(io::ErrorKind::NotFound.into());
        match self {
            Self::Offset(chip, offset) if chip.starts_with("/dev/") => Ok((PathBuf::from(chip), *offset)),
            Self::Offset(chip, offset) => {
                let chips = gpiocdev::chip::chips().map_err(|e| failed(&line, "list the GPIO chips", &e))?;
                let is_it = |path: &PathBuf| {
                    path.file_name().is_some_and(|n| n == chip.as_str())
                        || gpiocdev::Chip::from_path(path).and_then(|c| c.info()).is_ok_and(|info| info.label == *chip)
                };
                let path = chips.into_iter().find(is_it).ok_or_else(|| none("there is no GPIO chip of this name or label"))?;
                Ok((path, *offset))
            }
            Self::Name(name) => {
                let found = gpiocdev::find_named_line(name).ok_or_else(|| none("no GPIO chip has a line of this name"))?;
                Ok((found.chip, found.info.offset))
            }
        }
    }

    /// The error of a refused request, naming this line.
    fn refused(&self, chip: &PathBuf, offset: Offset, act: &str, e: &gpiocdev::Error) -> LineError {
        let line = self.to_string();
        match errno(e) {
            Some(libc::EBUSY) => {
                let info = gpiocdev::Chip::from_path(chip).and_then(|c| c.line_info(offset));
                let by = info.map(|i| i.consumer).ok().filter(|c| !c.is_empty());
                LineError::Busy { line, by: by.map_or_else(|| "somebody has it".into(), |c| format!("by `{c}`")) }
            }
            Some(libc::EINVAL) => {
                let lines = gpiocdev::Chip::from_path(chip).and_then(|c| c.info()).map(|i| i.num_lines);
                let why = match lines {
                    Ok(n) if offset >= n => format!("its chip has {n} lines, 0 to {}", n.saturating_sub(1)),
                    _ => format!("the kernel can't {act} offset {offset}"),
                };
                LineError::Unable { line, why }
            }
            Some(libc::ENXIO | libc::EOPNOTSUPP | libc::ENODEV | libc::EIO) => {
                let what = if act == LISTEN { "gives no interrupts for its edges" } else { "does not drive it" };
                let why = format!("its chip {what}; two lines, or their wires, may be swapped");
                LineError::Unable { line, why }
            }
            _ => failed(&line, act, e),
        }
    }
}

const LISTEN: &str = "listen to";

fn errno(e: &gpiocdev::Error) -> Option<i32> {
    match e {
        gpiocdev::Error::Os(errno) | gpiocdev::Error::Uapi(_, gpiocdev_uapi::Error::Os(errno)) => Some(errno.0),
        _ => None,
    }
}

fn failed(line: &str, act: &str, e: &gpiocdev::Error) -> LineError {
    let source = errno(e).map_or_else(|| io::Error::other(e.to_string()), io::Error::from_raw_os_error);
    LineError::io(line, act.to_owned())(source)
}

/// Open for driving.
#[derive(Debug)]
pub struct GpioOutput {
    line: String,
    request: Request,
    offset: Offset,
}

impl GpioOutput {
    /// Requests the line as an output, low.
    pub fn open(gpio: &Gpio) -> Result<Self, LineError> {
        let (chip, offset) = gpio.find()?;
        let mut builder = Request::builder();
        builder.with_consumer("rtscope").on_chip(&chip).with_line(offset).as_output(Value::Inactive);
        let request = builder.request().map_err(|e| gpio.refused(&chip, offset, "drive", &e))?;
        Ok(Self { line: gpio.to_string(), request, offset })
    }
}

impl Output for GpioOutput {
    fn set(&mut self, level: bool) -> Result<Span, LineError> {
        let before = now();
        let outcome = self.request.set_value(self.offset, if level { Value::Active } else { Value::Inactive });
        let after = now();
        outcome.map_err(|e| failed(&self.line, "drive", &e))?;
        Ok(Span { before, after })
    }

    fn has_listener(&self) -> Option<bool> {
        None
    }
}

/// Open for listening.
#[derive(Debug)]
pub struct GpioInput {
    line: String,
    request: Request,
    offset: Offset,
    seen: u32,
}

impl GpioInput {
    /// Requests the line as an input with both edges, stamped on `CLOCK_MONOTONIC`.
    pub fn open(gpio: &Gpio) -> Result<Self, LineError> {
        let (chip, offset) = gpio.find()?;
        let mut builder = Request::builder();
        builder
            .with_consumer("rtscope")
            .with_kernel_event_buffer_size(KERNEL_BUFFER)
            .on_chip(&chip)
            .with_line(offset)
            .as_input()
            .with_edge_detection(EdgeDetection::BothEdges)
            .with_event_clock(EventClock::Monotonic);
        let request = builder.request().map_err(|e| gpio.refused(&chip, offset, LISTEN, &e))?;
        Ok(Self { line: gpio.to_string(), request, offset, seen: 0 })
    }
}

impl Input for GpioInput {
    fn wait(&mut self, deadline: u64) -> Result<Option<Edge>, LineError> {
        let ready = wait_for(self.request.as_raw_fd(), libc::POLLIN, deadline).map_err(LineError::io(&self.line, "poll"))?;
        if !ready {
            return Ok(None);
        }
        let mut room = [0u64; EVENT_WORDS];
        let event = self.request.read_edge_events_into_slice(&mut room).and_then(|_| self.request.edge_event_from_slice(&room));
        let event = event.map_err(|e| failed(&self.line, "read an edge", &e))?;
        let lost = event.line_seqno.wrapping_sub(self.seen).wrapping_sub(1);
        self.seen = event.line_seqno;
        Ok(Some(Edge { level: event.kind == EdgeKind::Rising, at: event.timestamp_ns, lost: lost.into() }))
    }

    fn level(&mut self) -> Result<bool, LineError> {
        let value = self.request.value(self.offset).map_err(|e| failed(&self.line, "read", &e))?;
        Ok(value == Value::Active)
    }

    fn has_driver(&self) -> Option<bool> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_failure::Problem as _;

    #[test]
    fn a_chip_that_is_not_there_is_named() {
        let gpio = Gpio::Offset("no-such-chip".into(), 3);
        for error in [GpioOutput::open(&gpio).unwrap_err(), GpioInput::open(&Gpio::Name("NO_SUCH_LINE".into())).unwrap_err()] {
            let text = error.to_string();
            assert!(text.starts_with("gpio:") && !error.is_usage() && !error.remedy().is_empty(), "{text}");
        }
        let error = GpioOutput::open(&Gpio::Offset("/dev/null".into(), 3)).unwrap_err();
        assert!(error.to_string().contains("/dev/null"), "{error}");
    }

    #[test]
    fn an_event_is_of_the_size_that_is_read() {
        assert_eq!(std::mem::size_of::<gpiocdev_uapi::v2::LineEdgeEvent>(), EVENT_WORDS * 8);
    }
}
