//! Inputs of `import`: held in memory if necessary, else read as a stream; the start of the file tells its format.

use rtscope_failure::{Explain, Failure};
use rtscope_files::Streamed;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::time::SystemTime;

/// How much of a file is looked at to detect its format, bytes.
const START: u64 = 1 << 20;

/// An input whose format is known.
pub(super) enum Input {
    /// The content of a pipe, or of a file whose reader needs all of it.
    Held(Vec<u8>),
    /// A regular file.
    Streamed(Streamed),
}

/// An input whose format is not known yet.
pub(super) struct Opened {
    /// Its first bytes; for a pipe, all bytes.
    pub start: Vec<u8>,
    /// Time of the last change; for standard input, now.
    pub time: SystemTime,
    /// The file, if it is a regular one.
    stream: Option<Streamed>,
    name: String,
    /// Most bytes that may be held.
    most: u64,
}

impl Opened {
    /// Opens a file, or standard input for `-`. Anything but a regular file is read to its end, up to `most` bytes.
    pub(super) fn new(file: &Path, most: u64) -> Result<Self, Failure> {
        let name = file.display().to_string();
        let failed = |e: io::Error| failure(&name, &e);
        if file.as_os_str() == "-" {
            let bytes = rtscope_files::standard_input().and_then(|mut input| rtscope_files::read_bounded(&mut input, most));
            return Ok(Self { start: bytes.map_err(failed)?, time: SystemTime::now(), stream: None, name, most });
        }
        let mut opened = rtscope_files::open_stream(file).map_err(failed)?;
        let found = opened.metadata().map_err(failed)?;
        let time = found.modified().unwrap_or_else(|_| SystemTime::now());
        if !found.is_file() {
            let start = rtscope_files::read_bounded(&mut opened, most).map_err(failed)?;
            return Ok(Self { start, time, stream: None, name, most });
        }
        let mut stream = Streamed::new(opened).map_err(failed)?;
        let mut start = Vec::new();
        stream.by_ref().take(START).read_to_end(&mut start).map_err(failed)?;
        Ok(Self { start, time, stream: Some(stream), name, most })
    }

    /// The content, for a reader that needs all of it.
    pub(super) fn held(self) -> Result<Vec<u8>, Failure> {
        let Some(mut stream) = self.stream else { return Ok(self.start) };
        let read = stream.check_size(self.most).and_then(|()| stream.rewind()).and_then(|()| {
            drop(self.start);
            rtscope_files::read_bounded(&mut stream, self.most)
        });
        read.map_err(|e| failure(&self.name, &e))
    }

    /// A stream if possible, for a reader of streams.
    pub(super) fn streamed(self) -> Result<Input, Failure> {
        let Some(stream) = self.stream else { return Ok(Input::Held(self.start)) };
        stream.check_size(rtscope_files::STREAMED).or_machine(self.name, "capture less, or only the channels that are needed")?;
        Ok(Input::Streamed(stream))
    }
}

/// The failure of an import; the message says that nothing of the file was imported.
pub(super) fn nothing_of(name: &str, why: impl Into<Failure>) -> Failure {
    let failure = why.into();
    Failure { message: format!("{name}: {}; nothing of this file was imported", failure.message), ..failure }
}

fn failure(name: &str, e: &io::Error) -> Failure {
    let large = e.kind() == io::ErrorKind::FileTooLarge;
    let usual = "name a readable file, or `-` for standard input";
    let remedy = if large { "capture less, or raise the limit: --memory-limit 4GiB" } else { usual };
    Failure::machine(format!("{name}: {e}"), remedy)
}
