//! Fills an archive with small but valid records, through the archive's own interface:
//! `many_records RECORD.json ARCHIVE COUNT`.
//!
//! Every record is RECORD.json with its own id, start and samples; loads, kernels and tests alternate.

use rtscope_archive::Archive;
use rtscope_record::system::Preemption;
use rtscope_record::{Distribution, Record};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [record, archive, count] = args.as_slice() else { return Err("many_records RECORD.json ARCHIVE COUNT".into()) };
    let base: Record = serde_json::from_str(&std::fs::read_to_string(record)?)?;
    let count: u64 = count.parse()?;
    let mut archive = Archive::open(Path::new(archive))?;
    for first in (0..count).step_by(2_000) {
        let some = (first..count.min(first + 2_000)).map(|i| variant(&base, i)).collect::<Result<Vec<_>, _>>()?;
        archive.insert_many(&some)?;
    }
    Ok(())
}

/// The `i`th record.
fn variant(base: &Record, i: u64) -> Result<Record, Box<dyn Error>> {
    let mut p = base.clone().into_parts();
    p.id = format!("20260101T000000Z-{i:06x}");
    p.started = format!("2026-01-{:02}T{:02}:{:02}:{:02}Z", 1 + i / 86_400 % 28, i / 3600 % 24, i / 60 % 60, i % 60);
    p.load = ["none", "disk", "network", "full"][usize::try_from(i % 4)?].into();
    let rt = i / 4 % 2 == 1;
    p.system.kernel.release = if rt { "6.12.95+deb12-rt-amd64" } else { "6.12.95+deb12-amd64" }.into();
    p.system.kernel.preemption = if rt { Preemption::Rt } else { Preemption::Voluntary };
    let mut seed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for d in &mut p.distributions {
        let mut samples = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            2_000 + seed % 997 * (seed >> 32) % 90_000
        };
        let (parts, samples) = (d.clone().into_parts(), (0..200).map(|_| samples()).collect::<Vec<u64>>());
        let mut own = Distribution::from_samples(&parts.label, &samples, 8)?.into_parts();
        own.thread = parts.thread;
        own.expected = Some(own.count);
        *d = Distribution::new(own)?;
    }
    Ok(Record::new(p)?)
}
