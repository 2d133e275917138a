//! Modem-control lines of a serial port, `serial:DEVICE:OUT>IN`: for PCs without GPIO, over a null-modem cable
//! or two ports. The task that an edge wakes stamps it; the driver's counters show lost edges.

use super::{Abilities, Input, LineError, Output, Span};
use rtscope_record::lines::Stamp;
use rtscope_samples::Edge;
use rtscope_sys::rt::now;
use rtscope_sys::shared::{self, ByteLock};
use rtscope_sys::tty::{self, InterruptTimer, Modem};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

/// What such a line can do.
pub const ABILITIES: Abilities =
    Abilities { what: "modem-control line of a serial port", stamp: Stamp::Listener, tells_losses: true };

/// Which lines of which port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serial {
    /// The port, `/dev/ttyS0`.
    pub device: String,
    /// The line that is driven; `None` when the port is only listened to.
    pub output: Option<Modem>,
    /// The line that is listened to; `None` when the port is only driven.
    pub input: Option<Modem>,
}

fn name(line: Modem) -> &'static str {
    match line {
        Modem::Rts => "rts",
        Modem::Dtr => "dtr",
        Modem::Cts => "cts",
        Modem::Dsr => "dsr",
        Modem::Dcd => "dcd",
        Modem::Ri => "ri",
    }
}

fn output(text: &str) -> Option<Modem> {
    [Modem::Rts, Modem::Dtr].into_iter().find(|&l| name(l) == text)
}

/// The ring indicator is left out because drivers count only one of its edges.
fn input(text: &str) -> Option<Modem> {
    [Modem::Cts, Modem::Dsr, Modem::Dcd].into_iter().find(|&l| name(l) == text)
}

impl Serial {
    /// Parses what follows `serial:`.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const LINES: &str = "behind the device stand lines: rts or dtr, cts, dsr or dcd, or both as rts>cts";
        let (device, lines) = text.rsplit_once(':').ok_or(LINES)?;
        if !device.starts_with("/dev/") || device.contains("..") || device.contains(char::is_control) {
            return Err("the device of a serial port is a path below /dev/");
        }
        let (out, inp) = match lines.split_once('>') {
            Some((out, inp)) => (Some(output(out).ok_or(LINES)?), Some(input(inp).ok_or(LINES)?)),
            None => (output(lines), input(lines)),
        };
        if out.is_none() && inp.is_none() {
            return Err(LINES);
        }
        Ok(Self { device: device.into(), output: out, input: inp })
    }

    fn open(&self) -> Result<File, LineError> {
        let options = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK).open(&self.device);
        options.map_err(LineError::io(&self.to_string(), "open"))
    }

    fn unable(&self, why: &str) -> LineError {
        LineError::Unable { line: self.to_string(), why: why.into() }
    }

    /// The error of a refused operation. A pseudo terminal has no modem-control lines.
    fn refused(&self, act: &str, e: io::Error) -> LineError {
        match e.raw_os_error() {
            Some(libc::ENOTTY | libc::EINVAL) => self
                .unable(&format!("{} has no modem-control lines that can do so (a pseudo terminal has none): {act}", self.device)),
            _ => LineError::io(&self.to_string(), act.to_owned())(e),
        }
    }
}

impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrow = if self.output.is_some() && self.input.is_some() { ">" } else { "" };
        let of = |line: Option<Modem>| line.map_or("", name);
        write!(f, "serial:{}:{}{arrow}{}", self.device, of(self.output), of(self.input))
    }
}

/// Open for driving.
#[derive(Debug)]
pub struct SerialOutput {
    serial: Serial,
    line: Modem,
    port: File,
}

impl SerialOutput {
    /// Opens the port and drives the line low.
    pub fn open(serial: &Serial) -> Result<Self, LineError> {
        let line = serial.output.ok_or_else(|| serial.unable("it names no output (rts, dtr)"))?;
        let port = serial.open()?;
        let busy = |_| LineError::Busy { line: serial.to_string(), by: "another program drives it".into() };
        shared::lock(&port, ByteLock::Exclusive, line as i64).map_err(busy)?;
        tty::set(&port, line, false).map_err(|e| serial.refused("drive", e))?;
        Ok(Self { serial: serial.clone(), line, port })
    }
}

impl Output for SerialOutput {
    fn set(&mut self, level: bool) -> Result<Span, LineError> {
        let before = now();
        let outcome = tty::set(&self.port, self.line, level);
        let after = now();
        outcome.map_err(|e| self.serial.refused("drive", e))?;
        Ok(Span { before, after })
    }

    fn has_listener(&self) -> Option<bool> {
        None
    }
}

/// Open for listening.
#[derive(Debug)]
pub struct SerialInput {
    serial: Serial,
    line: Modem,
    port: File,
    level: bool,
    /// The driver's edge counter at the last edge that was returned.
    counted: u32,
    /// Timer of the waiting thread, made at its first wait.
    alarm: Option<InterruptTimer>,
}

impl SerialInput {
    /// Opens the port. Fails with [`LineError::Unable`] if its driver does not count edges.
    pub fn open(serial: &Serial) -> Result<Self, LineError> {
        let line = serial.input.ok_or_else(|| serial.unable("it names no input (cts, dsr, dcd)"))?;
        let port = serial.open()?;
        let level = tty::level(&port, line).map_err(|e| serial.refused("read", e))?;
        let counted = tty::edges(&port, line).map_err(|e| serial.refused("count edges", e))?;
        Ok(Self { serial: serial.clone(), line, port, level, counted, alarm: None })
    }

    /// The edge that the driver has counted since the last one, if any. `at` is when it was noticed.
    fn take(&mut self, at: u64) -> Result<Option<Edge>, LineError> {
        let counted = tty::edges(&self.port, self.line).map_err(|e| self.serial.refused("count edges", e))?;
        let new = counted.wrapping_sub(self.counted);
        if new == 0 {
            return Ok(None);
        }
        self.counted = counted;
        // Of several edges only the last is seen; an even number leaves the level unchanged.
        self.level = if new % 2 == 1 { !self.level } else { self.level };
        Ok(Some(Edge { level: self.level, at, lost: u64::from(new) - 1 }))
    }
}

impl Input for SerialInput {
    fn wait(&mut self, deadline: u64) -> Result<Option<Edge>, LineError> {
        if self.alarm.is_none() {
            self.alarm = Some(InterruptTimer::new().map_err(LineError::io(&self.serial.to_string(), "make a timer"))?);
        }
        loop {
            // This also finds an edge between two waits, which TIOCMIWAIT would not report.
            if let Some(edge) = self.take(now())? {
                return Ok(Some(edge));
            }
            if now() >= deadline {
                return Ok(None);
            }
            let timer = |at| self.alarm.as_ref().map_or(Ok(()), |alarm| alarm.set(at));
            timer(Some(deadline)).map_err(LineError::io(&self.serial.to_string(), "set a timer"))?;
            let outcome = tty::wait_edge(&self.port, self.line);
            let at = now();
            timer(None).map_err(LineError::io(&self.serial.to_string(), "set a timer"))?;
            outcome.map_err(|e| self.serial.refused("wait for an edge", e))?;
            if let Some(edge) = self.take(at)? {
                return Ok(Some(edge));
            }
        }
    }

    fn level(&mut self) -> Result<bool, LineError> {
        tty::level(&self.port, self.line).map_err(|e| self.serial.refused("read", e))
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
    fn what_is_no_serial_port_is_refused_by_name() {
        let serial = Serial::parse("/dev/null:rts>cts").unwrap();
        for error in [SerialOutput::open(&serial).unwrap_err(), SerialInput::open(&serial).unwrap_err()] {
            assert!(
                error.to_string().contains("serial:/dev/null:rts>cts") && error.to_string().contains("no modem-control lines"),
                "{error}"
            );
        }
        let absent = Serial::parse("/dev/no-such-port:cts").unwrap();
        assert!(SerialInput::open(&absent).unwrap_err().to_string().contains("no-such-port"));
        assert!(SerialOutput::open(&absent).unwrap_err().is_usage(), "it names no output");
    }
}
