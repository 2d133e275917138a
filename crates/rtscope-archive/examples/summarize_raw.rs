//! Measures how long it takes to summarize a file of packed little-endian u32 samples (ns):
//! `cargo run --release --example summarize_raw FILE`.
use rtscope_archive::raw::{Width, summarize};
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("name a file of packed little-endian u32 samples")?;
    let start = std::time::Instant::now();
    let d = summarize(std::fs::File::open(path)?, Width::U32, "raw")?;
    writeln!(std::io::stdout(), "{:?}: {} samples, max {:?}, {:?}", start.elapsed(), d.count(), d.max(), d.percentiles())?;
    Ok(())
}
