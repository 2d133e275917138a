//! sigrok's session files: a ZIP archive with an INI file `metadata` and the samples in one or more parts.

use super::analog::{Slicer, Swing};
use super::content::{Capture, Channel};
use super::decimal::sample_rate;
use super::error::CaptureError;
use super::input::{CHUNK, Hashed};
use super::kind::CaptureKind;
use super::levels::Levels;
use super::names::Names;
use super::request::CaptureRequest;
use std::collections::BTreeMap;
use std::io::{BufReader, Read, Seek, SeekFrom};
use zip::ZipArchive;

/// Limit of unpacked bytes, above any real capture: stops a damaged or hostile archive from being unpacked for ever.
const MOST: u64 = 1 << 36;
/// From this size on, bytes, searching the whole file for the archive's directory would take long.
const LARGE: u64 = 16 << 20;
/// An archive's directory ends with 22 bytes and a comment of at most 2^16 bytes.
const TAIL: u64 = (1 << 16) + 22;
/// Picoseconds in a second.
const SECOND: u64 = 1_000_000_000_000;

pub(super) fn read<R: Read + Seek>(input: &mut R, request: &CaptureRequest) -> Result<Capture, CaptureError> {
    check_end(input).map_err(|e| wrong("the archive", e))?;
    let mut archive = ZipArchive::new(BufReader::with_capacity(CHUNK, input)).map_err(|e| wrong("the archive", e))?;
    let version = text(&mut archive, "version")?;
    if !matches!(version.trim(), "1" | "2") {
        return Err(CaptureError::File(format!(
            "version `{}` of sigrok's session files is not known: 1 and 2 are",
            version.trim()
        )));
    }
    let metadata = text(&mut archive, "metadata")?;
    let session = Session::of(&metadata)?;
    let mut names = Names::new(request);
    session.digital.iter().chain(&session.analog).for_each(|line| names.offer(&line.name));
    let meant: BTreeMap<usize, String> = names.meant().into_iter().collect();
    let mut channels = Vec::new();
    let mut unpacked = Unpacked { archive, bytes: 0 };
    let mut end = 0;
    if let Some((stem, unit)) = &session.logic {
        let wanted = session.digital.iter().enumerate().filter(|(place, _)| meant.contains_key(place));
        let mut wanted: Vec<_> = wanted.map(|(place, line)| (place, line.number, Levels::default())).collect();
        let samples = unpacked.changes(stem, *unit, |n, sample| {
            for (_, bit, levels) in &mut wanted {
                let level = sample[*bit / 8] >> (*bit % 8) & 1 == 1;
                if levels.level() != Some(level) {
                    levels.set(session.time(n), level);
                }
            }
        })?;
        end = session.time(samples);
        let name = |place: &usize| meant.get(place).cloned().unwrap_or_default();
        channels.extend(wanted.into_iter().map(|(place, _, levels)| Channel { name: name(&place), place, levels, analog: None }));
    }
    // All channels are read, so that whether a file is accepted does not depend on the channels requested.
    for (i, line) in session.analog.iter().enumerate() {
        let (stem, place) = (format!("analog-1-{}", line.number), session.digital.len() + i);
        let (mut swing, mut sound) = (Swing::default(), true);
        let count = unpacked.samples(&stem, 4, |_, sample| {
            let volts = volts(sample);
            sound &= volts.is_finite();
            swing.take(volts);
        })?;
        if !sound {
            return Err(CaptureError::File(format!("channel {} has samples that are not numbers", line.name)));
        }
        end = end.max(session.time(count));
        if let Some(name) = meant.get(&place) {
            // The swing, and so the threshold, is known now.
            let mut slicer = Slicer::new(swing, request);
            unpacked.samples(&stem, 4, |at, sample| slicer.take(session.time(at), volts(sample)))?;
            let (levels, analog) = slicer.finish();
            channels.push(Channel { name: name.clone(), place, levels, analog: Some(analog) });
        }
    }
    let sha256 = Hashed::new(unpacked.archive.into_inner().get_mut())?.digest()?;
    let resolution = session.time(1).max(1);
    Ok(Capture { kind: CaptureKind::Sigrok, writer: session.writer, sha256, resolution, end, channels, names })
}

/// Looks for the end of a large archive's directory at the end of the file, where it must be: the ZIP reader would search
/// the whole file, which may be nothing but zeros.
fn check_end(input: &mut (impl Read + Seek)) -> std::io::Result<()> {
    let size = input.seek(SeekFrom::End(0))?;
    if size < LARGE {
        return Ok(());
    }
    let mut end = Vec::new();
    input.seek(SeekFrom::Start(size - TAIL))?;
    input.take(TAIL).read_to_end(&mut end)?;
    let found = end.windows(4).any(|w| w == b"PK\x05\x06");
    if found { Ok(()) } else { Err(std::io::Error::other("it has no directory: it is no ZIP archive, or was cut off")) }
}

/// A channel named in the metadata.
struct Line {
    name: String,
    /// For a digital channel its bit, from 0; for an analog one the number in its files' names.
    number: usize,
}

/// What the metadata says.
struct Session {
    writer: String,
    /// Samples per second.
    rate: u64,
    /// Time between two samples, ps, where that is an integer.
    step: Option<u64>,
    /// Name of the digital samples' file, and the bytes of each sample.
    logic: Option<(String, usize)>,
    digital: Vec<Line>,
    analog: Vec<Line>,
}

impl Session {
    fn of(metadata: &str) -> Result<Self, CaptureError> {
        let keys = device(metadata);
        let key = |name: &str| keys.get(name).copied();
        let number = |name: &str| key(name).and_then(|n| n.parse::<usize>().ok());
        let rate = key("samplerate").and_then(sample_rate).ok_or_else(|| {
            let what = "its metadata does not say the sample rate, without which no row has a time";
            CaptureError::File(what.into())
        })?;
        // Version 2 states both numbers of channels; in version 1 all channels are digital.
        let probes = number("total probes").unwrap_or(0).min(1024);
        let analogs = number("total analog").unwrap_or(0).min(1024);
        let mut logic = None;
        if let Some(stem) = key("capturefile").filter(|_| probes > 0) {
            let unit = number("unitsize")
                .filter(|u| (1..=128).contains(u))
                .ok_or_else(|| CaptureError::File("its metadata does not say how many bytes a sample has (unitsize)".into()))?;
            if probes > unit * 8 {
                return Err(CaptureError::File(format!("{probes} channels do not fit into samples of {unit} bytes")));
            }
            logic = Some((stem.to_owned(), unit));
        }
        // Channels that were switched off have no name.
        let line = |prefix: &str, n: usize, number| key(&format!("{prefix}{n}")).map(|name| Line { name: name.to_owned(), number });
        let digital = (1..=probes).filter(|_| logic.is_some()).filter_map(|n| line("probe", n, n - 1)).collect();
        let analog = (probes + 1..=probes + analogs).filter_map(|n| line("analog", n, n)).collect();
        let writer = metadata.lines().find_map(|l| l.strip_prefix("sigrok version=")).unwrap_or_default();
        let step = (SECOND % rate == 0).then_some(SECOND / rate);
        Ok(Self { writer: format!("sigrok {}", writer.trim()), rate, step, logic, digital, analog })
    }

    /// Time of a sample, ps.
    fn time(&self, sample: u64) -> u64 {
        let exact = || u64::try_from(u128::from(sample) * u128::from(SECOND) / u128::from(self.rate)).unwrap_or(u64::MAX);
        self.step.and_then(|step| sample.checked_mul(step)).unwrap_or_else(exact)
    }
}

fn volts(sample: &[u8]) -> f64 {
    f64::from(f32::from_le_bytes([sample[0], sample[1], sample[2], sample[3]]))
}

fn wrong(what: &str, e: impl std::fmt::Display) -> CaptureError {
    CaptureError::File(format!("{what}: {e}"))
}

/// Text of a small file in the archive.
fn text(archive: &mut ZipArchive<impl Read + Seek>, name: &str) -> Result<String, CaptureError> {
    let file = archive.by_name(name).map_err(|e| wrong(&format!("this is not a sigrok session: {name}"), e))?;
    let mut text = String::new();
    file.take(1 << 20).read_to_string(&mut text).map_err(|e| wrong(name, e))?;
    Ok(text)
}

/// Keys of the first device section.
fn device(metadata: &str) -> BTreeMap<&str, &str> {
    let lines = metadata.lines().map(str::trim);
    let section = lines.skip_while(|l| !l.starts_with("[device")).skip(1).take_while(|l| !l.starts_with('['));
    section.filter_map(|l| l.split_once('=')).map(|(k, v)| (k.trim(), v.trim())).collect()
}

/// The archive's samples, unpacked as they are read.
struct Unpacked<R> {
    archive: ZipArchive<R>,
    /// Bytes unpacked so far.
    bytes: u64,
}

impl<R: Read + Seek> Unpacked<R> {
    /// Passes every sample of `size` bytes with its number to `take`, from the file `stem` or its parts `stem-1`,
    /// `stem-2` ...; returns the number of samples.
    fn samples(&mut self, stem: &str, size: usize, mut take: impl FnMut(u64, &[u8])) -> Result<u64, CaptureError> {
        self.chunks(stem, size, |count, chunk| {
            for (n, sample) in (count..).zip(chunk.chunks_exact(size)) {
                take(n, sample);
            }
        })
    }

    /// Like [`Self::samples`], but passes only samples that differ from the previous one.
    fn changes(&mut self, stem: &str, size: usize, mut take: impl FnMut(u64, &[u8])) -> Result<u64, CaptureError> {
        let mut last: Vec<u8> = Vec::new();
        self.chunks(stem, size, |mut count, mut rest| {
            while let Some(sample) = rest.get(..size) {
                if last != sample {
                    take(count, sample);
                    last.clear();
                    last.extend_from_slice(sample);
                }
                // Most samples equal the previous one.
                let same = match last[..] {
                    [byte] => rest.iter().position(|b| *b != byte),
                    _ => rest.chunks_exact(size).position(|s| s != last),
                };
                let same = same.unwrap_or(rest.len() / size);
                count += same as u64;
                rest = &rest[same * size..];
            }
        })
    }

    /// Passes blocks of whole samples, with the number of the first sample in each.
    fn chunks(&mut self, stem: &str, size: usize, mut take: impl FnMut(u64, &[u8])) -> Result<u64, CaptureError> {
        let archive = &mut self.archive;
        let parts = if archive.index_for_name(stem).is_some() { 0..1 } else { 1..u32::MAX };
        let (mut count, mut left, mut chunk) = (0, 0, vec![0; CHUNK]);
        let mut any = false;
        for part in parts {
            let name = if part == 0 { stem.to_owned() } else { format!("{stem}-{part}") };
            if archive.index_for_name(&name).is_none() {
                break;
            }
            any = true;
            let mut file = archive.by_name(&name).map_err(|e| wrong(&name, e))?;
            loop {
                // A sample may be split across two reads or two parts.
                let n = file.read(&mut chunk[left..]).map_err(|e| wrong(&name, e))?;
                if n == 0 {
                    break;
                }
                self.bytes += n as u64;
                if self.bytes > MOST {
                    return Err(CaptureError::File(format!(
                        "{stem} holds more than {} GiB, with what was read before",
                        MOST >> 30
                    )));
                }
                let filled = left + n;
                let whole = filled - filled % size;
                take(count, &chunk[..whole]);
                count += (whole / size) as u64;
                chunk.copy_within(whole..filled, 0);
                left = filled - whole;
            }
        }
        if !any {
            return Err(CaptureError::File(format!("the samples {stem} are missing")));
        }
        if left > 0 {
            return Err(CaptureError::File(format!("{stem} ends in the middle of a sample")));
        }
        Ok(count)
    }
}
