//! Names of lines: `soft:a`, `gpio:gpiochip0/17`, `sysfs:17`, `serial:/dev/ttyS0:rts>cts`.

use super::gpio::{self, Gpio, GpioInput, GpioOutput};
use super::serial::{self, Serial, SerialInput, SerialOutput};
use super::soft::{self, SoftInput, SoftOutput};
use super::sysfs::{self, SysfsInput, SysfsOutput};
use super::{Abilities, Input, LineError, Output};
use rtscope_record::lines::Stamp;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// What a line of the kernel's instrument can do.
const WIRE: Abilities =
    Abilities { what: "line of the kernel module rtscope_wire, in hard-IRQ context", stamp: Stamp::Kernel, tells_losses: true };

/// What a line of the FPGA instrument can do.
const FPGA: Abilities = Abilities { what: "line of the FPGA instrument", stamp: Stamp::Outside, tells_losses: true };
/// Follows the port's path for the instrument's output.
const FPGA_STIMULUS: &str = ":stimulus";

/// A line by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineSpec {
    /// A software line.
    Soft(String),
    /// A GPIO line of the character device.
    Gpio(Gpio),
    /// A GPIO line of sysfs, by its number.
    Sysfs(u32),
    /// Modem-control lines of a serial port.
    Serial(Serial),
    /// The stimulus (0) or answer (1) of the instrument in the kernel module rtscope_wire.
    Wire(u32),
    /// The stimulus (true) or answer of the FPGA instrument at a serial port.
    Fpga(String, bool),
}

impl LineSpec {
    /// What such a line can do.
    pub fn abilities(&self) -> Abilities {
        match self {
            Self::Soft(_) => soft::ABILITIES,
            Self::Gpio(_) => gpio::ABILITIES,
            Self::Sysfs(_) => sysfs::ABILITIES,
            Self::Serial(_) => serial::ABILITIES,
            Self::Wire(_) => WIRE,
            Self::Fpga(..) => FPGA,
        }
    }

    /// Opens the line for driving, low.
    pub fn output(&self) -> Result<Box<dyn Output>, LineError> {
        match self {
            Self::Soft(name) => Ok(Box::new(SoftOutput::open(name)?)),
            Self::Gpio(gpio) => Ok(Box::new(GpioOutput::open(gpio)?)),
            Self::Sysfs(number) => Ok(Box::new(SysfsOutput::open(Path::new(sysfs::ROOT), *number)?)),
            Self::Serial(serial) => Ok(Box::new(SerialOutput::open(serial)?)),
            Self::Wire(_) | Self::Fpga(..) => Err(self.wire_alone()),
        }
    }

    /// Opens the line for listening to both edges.
    pub fn input(&self) -> Result<Box<dyn Input>, LineError> {
        match self {
            Self::Soft(name) => Ok(Box::new(SoftInput::open(name)?)),
            Self::Gpio(gpio) => Ok(Box::new(GpioInput::open(gpio)?)),
            Self::Sysfs(number) => Ok(Box::new(SysfsInput::open(Path::new(sysfs::ROOT), *number)?)),
            Self::Serial(serial) => Ok(Box::new(SerialInput::open(serial)?)),
            Self::Wire(_) | Self::Fpga(..) => Err(self.wire_alone()),
        }
    }

    fn wire_alone(&self) -> LineError {
        let why = match self {
            Self::Fpga(..) => "its other line is of another kind, or a DUT was to use it: a DUT is wired to the board's pins",
            _ => "its other line is of another kind, or a DUT was to use it: a DUT's lines are gpio:rtscope-wire/0 and /1",
        };
        LineError::Unable { line: self.to_string(), why: why.into() }
    }

    /// Whether the instrument is the kernel module rtscope_wire.
    pub fn is_wire(&self) -> bool {
        matches!(self, Self::Wire(_))
    }

    /// The port of the FPGA instrument, if this is one of its lines.
    pub fn fpga_port(&self) -> Option<&str> {
        if let Self::Fpga(port, _) = self { Some(port) } else { None }
    }

    /// Whether the instrument stimulates and stamps on its own, so that no task here has to be in time.
    pub fn is_autonomous(&self) -> bool {
        matches!(self, Self::Wire(_) | Self::Fpga(..))
    }

    /// Whether the line needs no wire: driver and listener meet by its name.
    pub fn is_soft(&self) -> bool {
        matches!(self, Self::Soft(_))
    }
}

fn soft_name(name: &str) -> Result<String, &'static str> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fine) {
        return Err("the name of a software line is 1 to 64 letters, digits, - and _");
    }
    Ok(name.into())
}

fn gpio_line(text: &str) -> Result<Gpio, &'static str> {
    if text.is_empty() || text.len() > 100 || text.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return Err("a GPIO line is CHIP/OFFSET or a name without blanks");
    }
    match text.rsplit_once('/') {
        Some((chip, offset)) if !chip.is_empty() && offset.bytes().all(|b| b.is_ascii_digit()) && !offset.is_empty() => {
            let offset = offset.parse::<u32>().map_err(|_| "the offset is too high")?;
            Ok(Gpio::Offset(chip.into(), offset))
        }
        _ => Ok(Gpio::Name(text.into())),
    }
}

impl FromStr for LineSpec {
    type Err = LineError;

    fn from_str(text: &str) -> Result<Self, LineError> {
        let wrong = |why: &str| LineError::Spec { text: text.chars().take(200).collect(), why: why.into() };
        match text.split_once(':') {
            Some(("soft", name)) => soft_name(name).map(Self::Soft).map_err(wrong),
            Some(("gpio", line)) => gpio_line(line).map(Self::Gpio).map_err(wrong),
            Some(("wire", "stimulus")) => Ok(Self::Wire(0)),
            Some(("wire", "answer")) => Ok(Self::Wire(1)),
            Some(("fpga", port)) => {
                let (path, stimulus) = port.strip_suffix(FPGA_STIMULUS).map_or((port, false), |path| (path, true));
                if path.len() < 2 || !path.starts_with('/') || path.len() > 1000 || path.contains(char::is_control) {
                    return Err(wrong("behind fpga: stands the path of a serial port"));
                }
                Ok(Self::Fpga(path.into(), stimulus))
            }
            Some(("sysfs", number)) => {
                number.parse().map(Self::Sysfs).map_err(|_| wrong("behind sysfs: stands the number of a GPIO"))
            }
            Some(("serial", port)) => Serial::parse(port).map(Self::Serial).map_err(wrong),
            _ => Err(wrong("it has no kind that is known")),
        }
    }
}

impl fmt::Display for LineSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Soft(name) => write!(f, "soft:{name}"),
            Self::Gpio(gpio) => gpio.fmt(f),
            Self::Sysfs(number) => write!(f, "sysfs:{number}"),
            Self::Serial(serial) => serial.fmt(f),
            Self::Fpga(port, stimulus) => write!(f, "fpga:{port}{}", if *stimulus { FPGA_STIMULUS } else { "" }),
            Self::Wire(side) => f.write_str(if *side == 0 { "wire:stimulus" } else { "wire:answer" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rtscope_failure::Problem as _;

    #[test]
    fn what_is_no_line_is_refused() {
        let none =
            ["", "soft", "soft:", "soft:a/b", "soft:..", "soft:a b", "tin:can", "a", "gpio:", "gpio:a b", "gpio:x/99999999999"];
        let others = [
            "fpga:",
            "fpga:ttyUSB0",
            "fpga::stimulus",
            "sysfs:",
            "sysfs:x",
            "sysfs:-1",
            "serial:",
            "serial:/dev/ttyS0",
            "serial:ttyS0:rts",
            "serial:/dev/ttyS0:cts>rts",
        ];
        for text in none.into_iter().chain(others) {
            let error = text.parse::<LineSpec>().unwrap_err();
            assert!(error.is_usage() && error.to_string().contains(text), "{error}");
        }
        assert!(format!("soft:{}", "x".repeat(65)).parse::<LineSpec>().is_err());
    }

    #[test]
    fn every_kind_is_read_and_written() {
        let of = |text: &str| text.parse::<LineSpec>().unwrap();
        assert_eq!(of("gpio:gpiochip0/17"), LineSpec::Gpio(Gpio::Offset("gpiochip0".into(), 17)));
        assert_eq!(of("gpio:/dev/gpiochip0/17"), LineSpec::Gpio(Gpio::Offset("/dev/gpiochip0".into(), 17)));
        assert_eq!(of("gpio:GPIO17"), LineSpec::Gpio(Gpio::Name("GPIO17".into())));
        for text in [
            "soft:a-b_1",
            "gpio:rtscope-wire/3",
            "sysfs:21",
            "serial:/dev/ttyS0:rts>cts",
            "serial:/dev/ttyUSB0:dsr",
            "wire:stimulus",
            "wire:answer",
            "fpga:/dev/ttyUSB1",
            "fpga:/dev/serial/by-path/pci-0:1:stimulus",
        ] {
            assert_eq!(of(text).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(soft:|fpga:/|gpio:|gpio:a/|sysfs:|serial:|serial:/dev/x:|serial:/dev/x:rts>)?[a-z0-9:/>._-]{0,12}\\PC{0,20}") {
            if let Ok(spec) = text.parse::<LineSpec>() {
                prop_assert_eq!(spec.to_string().parse::<LineSpec>().unwrap(), spec);
            }
        }
    }
}
