//! sigrok's session files: a ZIP archive with an INI file `metadata` and the samples in parts.

use super::decimal::sample_rate;
use super::{Capture, CaptureError, Channel, Kind, Levels, Signal};
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use zip::ZipArchive;

/// More than any capture holds: a damaged or hostile archive is not unpacked for ever.
const MOST: u64 = 1 << 36;
/// Bytes read at a time.
const CHUNK: usize = 1 << 20;

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

pub(super) fn read(bytes: &[u8]) -> Result<Capture, CaptureError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| wrong("the archive", e))?;
    let version = text(&mut archive, "version")?;
    if !matches!(version.trim(), "1" | "2") {
        return Err(CaptureError::File(format!(
            "version `{}` of sigrok's session files is not known: 1 and 2 are",
            version.trim()
        )));
    }
    let metadata = text(&mut archive, "metadata")?;
    let keys = device(&metadata);
    let key = |name: &str| keys.get(name).copied();
    let number = |name: &str| key(name).and_then(|n| n.parse::<usize>().ok());
    let rate = key("samplerate").and_then(sample_rate).ok_or_else(|| {
        let what = "its metadata does not say the sample rate, without which no row has a time";
        CaptureError::File(what.into())
    })?;
    let name = |prefix: &str, n: usize| key(&format!("{prefix}{n}")).map(str::to_owned);
    // Of version 2 the metadata says both numbers; of version 1 all channels are digital.
    let probes = number("total probes").unwrap_or(0).min(1024);
    let analogs = number("total analog").unwrap_or(0).min(1024);
    let time = |sample: u64| u64::try_from(u128::from(sample) * 1_000_000_000_000 / u128::from(rate)).unwrap_or(u64::MAX);
    let (mut channels, mut end) = (Vec::new(), 0);
    if let Some(stem) = key("capturefile").filter(|_| probes > 0) {
        let unit = number("unitsize")
            .filter(|u| (1..=128).contains(u))
            .ok_or_else(|| CaptureError::File("its metadata does not say how many bytes a sample has (unitsize)".into()))?;
        if probes > unit * 8 {
            return Err(CaptureError::File(format!("{probes} channels do not fit into samples of {unit} bytes")));
        }
        let mut all = vec![Levels::default(); probes];
        let mut last: Vec<u8> = Vec::new();
        let samples = units(&mut archive, stem, unit, &mut |n, sample| {
            if last == sample {
                return;
            }
            for (i, levels) in all.iter_mut().enumerate() {
                levels.set(time(n), sample[i / 8] >> (i % 8) & 1 == 1);
            }
            last.clear();
            last.extend_from_slice(sample);
        })?;
        end = time(samples);
        for (i, levels) in all.into_iter().enumerate() {
            // Channels that were switched off have no name.
            if let Some(name) = name("probe", i + 1) {
                channels.push(Channel { name, signal: Signal::Digital(levels) });
            }
        }
    }
    for n in probes + 1..=probes + analogs {
        let Some(name) = name("analog", n) else { continue };
        let mut samples = Vec::new();
        let count = units(&mut archive, &format!("analog-1-{n}"), 4, &mut |at, sample| {
            let volts = f32::from_le_bytes([sample[0], sample[1], sample[2], sample[3]]);
            samples.push((time(at), f64::from(volts)));
        })?;
        if samples.iter().any(|s| !s.1.is_finite()) {
            return Err(CaptureError::File(format!("channel {name} has samples that are no numbers")));
        }
        end = end.max(time(count));
        channels.push(Channel { name, signal: Signal::Analog(samples) });
    }
    let writer = metadata.lines().find_map(|l| l.strip_prefix("sigrok version=")).unwrap_or_default();
    Ok(Capture { kind: Kind::Sigrok, writer: format!("sigrok {}", writer.trim()), channels, resolution: time(1).max(1), end })
}

fn wrong(what: &str, e: impl std::fmt::Display) -> CaptureError {
    CaptureError::File(format!("{what}: {e}"))
}

/// A small file of the archive.
fn text(archive: &mut Archive<'_>, name: &str) -> Result<String, CaptureError> {
    let file = archive.by_name(name).map_err(|e| wrong(&format!("this is no session of sigrok's: {name}"), e))?;
    let mut text = String::new();
    file.take(1 << 20).read_to_string(&mut text).map_err(|e| wrong(name, e))?;
    Ok(text)
}

/// Keys of the first device.
fn device(metadata: &str) -> BTreeMap<&str, &str> {
    let lines = metadata.lines().map(str::trim);
    let section = lines.skip_while(|l| !l.starts_with("[device")).skip(1).take_while(|l| !l.starts_with('['));
    section.filter_map(|l| l.split_once('=')).map(|(k, v)| (k.trim(), v.trim())).collect()
}

/// Hands every sample of `size` bytes to `take`, with its number, from the file `stem` or its parts `stem-1`, `stem-2` ...; returns how
/// many there were.
fn units(archive: &mut Archive<'_>, stem: &str, size: usize, take: &mut impl FnMut(u64, &[u8])) -> Result<u64, CaptureError> {
    let names: Vec<String> = if archive.index_for_name(stem).is_some() {
        vec![stem.to_owned()]
    } else {
        (1..u32::MAX).map(|part| format!("{stem}-{part}")).take_while(|name| archive.index_for_name(name).is_some()).collect()
    };
    if names.is_empty() {
        return Err(CaptureError::File(format!("the samples {stem} are missing")));
    }
    let (mut count, mut bytes, mut left) = (0, 0u64, Vec::new());
    for name in names {
        let mut file = archive.by_name(&name).map_err(|e| wrong(&name, e))?;
        let mut chunk = vec![0; CHUNK];
        loop {
            let n = file.read(&mut chunk).map_err(|e| wrong(&name, e))?;
            if n == 0 {
                break;
            }
            bytes += n as u64;
            if bytes > MOST {
                return Err(CaptureError::File(format!("{stem} holds more than {} GiB", MOST >> 30)));
            }
            // A sample may lie across two reads, or two parts.
            left.extend_from_slice(&chunk[..n]);
            let whole = left.len() - left.len() % size;
            for sample in left[..whole].chunks_exact(size) {
                take(count, sample);
                count += 1;
            }
            left.drain(..whole);
        }
    }
    if !left.is_empty() {
        return Err(CaptureError::File(format!("{stem} ends in the middle of a sample")));
    }
    Ok(count)
}
