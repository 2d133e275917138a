//! QEMU's control channel (QMP, JSON lines over a socket): commands and their answers. Events are skipped.
//!
//! Protocol: QEMU's "QEMU Machine Protocol Specification" (docs/interop/qmp-spec). Of some forty commands that
//! a client may need, the lab uses six.

use super::VmError;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Longest line that is read, bytes.
const LONGEST: u64 = 1 << 20;

/// A connection after the greeting.
pub(super) struct Qmp {
    from: BufReader<UnixStream>,
    to: UnixStream,
    timeout: Duration,
}

impl Qmp {
    /// Reads the greeting and enters command mode. Each read and write fails after `timeout`.
    pub(super) fn new(socket: UnixStream, timeout: Duration) -> Result<Self, VmError> {
        let broken = |e: std::io::Error| VmError::Control(e.to_string());
        socket.set_read_timeout(Some(timeout)).map_err(broken)?;
        socket.set_write_timeout(Some(timeout)).map_err(broken)?;
        let to = socket.try_clone().map_err(broken)?;
        let mut qmp = Self { from: BufReader::new(socket), to, timeout };
        let greeting = qmp.line()?;
        if greeting.get("QMP").is_none() {
            return Err(VmError::Control(format!("it greets with {greeting}")));
        }
        qmp.run("qmp_capabilities", &json!({}))?;
        Ok(qmp)
    }

    /// Runs a command and returns its answer.
    pub(super) fn run(&mut self, command: &str, arguments: &Value) -> Result<Value, VmError> {
        let mut text = json!({ "execute": command, "arguments": arguments }).to_string();
        text.push('\n');
        self.to.write_all(text.as_bytes()).map_err(|e| VmError::Control(format!("{command}: {e}")))?;
        loop {
            let mut said = self.line()?;
            if let Some(answer) = said.get_mut("return") {
                return Ok(answer.take());
            }
            if let Some(error) = said.get("error") {
                let why = error.get("desc").and_then(Value::as_str).unwrap_or("no reason given");
                return Err(VmError::Control(format!("{command}: {why}")));
            }
            // Skip events: `query-` commands give the same information.
        }
    }

    /// State of the machine: `running`, `paused`, `inmigrate`, `guest-panicked` ...
    pub(super) fn status(&mut self) -> Result<String, VmError> {
        let answer = self.run("query-status", &json!({}))?;
        Ok(answer.get("status").and_then(Value::as_str).unwrap_or_default().to_owned())
    }

    fn line(&mut self) -> Result<Value, VmError> {
        let mut line = Vec::new();
        self.from.by_ref().take(LONGEST).read_until(b'\n', &mut line).map_err(|e| match e.kind() {
            // The read's limit: EAGAIN.
            ErrorKind::WouldBlock | ErrorKind::TimedOut => VmError::Silent(self.timeout),
            _ => VmError::Control(e.to_string()),
        })?;
        if line.is_empty() {
            return Err(VmError::Control("it closed the channel".into()));
        }
        serde_json::from_slice(&line).map_err(|e| VmError::Control(format!("it said {:?}: {e}", String::from_utf8_lossy(&line))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A fake QEMU that sends `lines` and reads nothing.
    fn qemu(lines: &[u8]) -> UnixStream {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(lines).unwrap();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        // Kept open until the test ends, so that commands can be written to it.
        std::mem::forget(theirs);
        ours
    }

    #[test]
    fn events_between_command_and_answer_are_passed_over() {
        let said = b"{\"QMP\": {}}\n{\"return\": {}}\n{\"event\": \"STOP\"}\n{\"return\": {\"status\": \"paused\"}}\n{\"error\": {\"desc\": \"no\"}}\n";
        let mut qmp = Qmp::new(qemu(said), Duration::from_secs(5)).unwrap();
        assert_eq!(qmp.status().unwrap(), "paused");
        assert!(qmp.run("cont", &json!({})).unwrap_err().to_string().contains("cont: no"));
        assert!(qmp.run("cont", &json!({})).unwrap_err().to_string().contains("closed"));
    }

    #[test]
    fn one_that_does_not_answer_is_said_to_be_silent() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"{\"QMP\": {}}\n").unwrap();
        let error = Qmp::new(ours, Duration::from_millis(1)).map(drop).unwrap_err();
        assert!(matches!(error, VmError::Silent(_)), "{error}");
        assert_eq!(VmError::Silent(Duration::from_secs(75)).to_string(), "QEMU has not answered for 75 s");
    }

    proptest! {
        #[test]
        fn whatever_it_says_is_taken_or_refused(said in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Qmp::new(qemu(&said), Duration::from_millis(200)).map(|mut q| q.status());
        }
    }
}
