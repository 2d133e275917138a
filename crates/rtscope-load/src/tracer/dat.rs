//! A trace as a file for trace-cmd and KernelShark.
//!
//! Source of the format: trace-cmd.dat.v6(5) of trace-cmd's documentation. The kernel's own descriptions of its events go into it, so that any
//! reader understands them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What the kernel gives at a time, and what the data are aligned to, bytes.
const PAGE: usize = 4096;
/// Of the options, the one that names the clock.
const OPTION_CLOCK: u16 = 4;

/// The trace of `cpu` in the instance `dir`. What is read of the buffer is taken out of it.
pub(super) fn of(dir: &Path, cpu: u32) -> io::Result<Vec<u8>> {
    // An instance is in the directory `instances` of the tracefs.
    let tracefs = dir.parent().and_then(Path::parent).ok_or(io::ErrorKind::NotFound)?;
    let mut out = b"\x17\x08\x44tracing6\0".to_vec();
    out.push(u8::from(cfg!(target_endian = "big")));
    out.push(u8::try_from(size_of::<usize>()).unwrap_or(8));
    out.extend(u32::try_from(PAGE).unwrap_or(0).to_ne_bytes());
    for name in ["header_page", "header_event"] {
        out.extend(name.as_bytes());
        out.push(0);
        sized(&mut out, &read(&tracefs.join("events").join(name))?);
    }
    formats(&mut out, &tracefs.join("events/ftrace"))?;
    let systems = recorded(dir)?;
    count(&mut out, systems.len());
    for (system, events) in systems {
        out.extend(system.as_bytes());
        out.push(0);
        count(&mut out, events.len());
        for format in events {
            sized(&mut out, &format);
        }
    }
    for text in [functions()?, read(&tracefs.join("printk_formats")).unwrap_or_default()] {
        count(&mut out, text.len());
        out.extend(text);
    }
    sized(&mut out, &read(&tracefs.join("saved_cmdlines")).unwrap_or_default());
    let cpus = usize::try_from(cpu).unwrap_or(0) + 1;
    count(&mut out, cpus);
    out.extend(b"options  \0");
    let mut clock = read(&dir.join("trace_clock"))?;
    clock.push(0);
    out.extend(OPTION_CLOCK.to_ne_bytes());
    count(&mut out, clock.len());
    out.extend(clock);
    out.extend(0u16.to_ne_bytes());
    out.extend(b"flyrecord\0");
    let pages = pages(&dir.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw")))?;
    let from = (out.len() + cpus * 16).next_multiple_of(PAGE);
    for of in 0..cpus {
        let len = if of + 1 == cpus { pages.len() } else { 0 };
        out.extend((from as u64).to_ne_bytes());
        out.extend((len as u64).to_ne_bytes());
    }
    out.resize(from, 0);
    out.extend(pages);
    Ok(out)
}

/// A text with its length, 64 bits, before it.
fn sized(out: &mut Vec<u8>, text: &[u8]) {
    out.extend((text.len() as u64).to_ne_bytes());
    out.extend(text);
}

/// A number of 32 bits.
fn count(out: &mut Vec<u8>, n: usize) {
    out.extend(u32::try_from(n).unwrap_or(u32::MAX).to_ne_bytes());
}

/// A file of the kernel's. Some give all that they hold at the first read, and nothing after it.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let (mut all, mut part) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(all),
            n => all.extend(&part[..n]),
        }
    }
}

/// The descriptions of all events of a directory.
fn formats(out: &mut Vec<u8>, dir: &Path) -> io::Result<()> {
    let all = subdirectories(dir)?;
    let all: Vec<Vec<u8>> = all.iter().filter_map(|d| read(&d.join("format")).ok()).collect();
    count(out, all.len());
    for format in all {
        sized(out, &format);
    }
    Ok(())
}

/// The descriptions of the events that the instance records, by system.
fn recorded(dir: &Path) -> io::Result<Vec<(String, Vec<Vec<u8>>)>> {
    let mut systems = Vec::new();
    for system in subdirectories(&dir.join("events"))? {
        let enabled = |event: &PathBuf| read(&event.join("enable")).is_ok_and(|on| on.starts_with(b"1"));
        let events: Vec<PathBuf> = subdirectories(&system)?.into_iter().filter(enabled).collect();
        let formats: Vec<Vec<u8>> = events.iter().filter_map(|e| read(&e.join("format")).ok()).collect();
        if let (Some(name), false) = (system.file_name(), formats.is_empty()) {
            systems.push((name.to_string_lossy().into_owned(), formats));
        }
    }
    Ok(systems)
}

fn subdirectories(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> = fs::read_dir(dir)?.flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    all.sort();
    Ok(all)
}

/// The kernel's functions by address, as `/proc/kallsyms` lists them among all that has a name.
fn functions() -> io::Result<Vec<u8>> {
    let all = read(Path::new("/proc/kallsyms"))?;
    let code = |line: &&[u8]| line.split(|b| *b == b' ').nth(1).is_some_and(|kind| matches!(kind, b"t" | b"T" | b"w" | b"W"));
    Ok(all.split_inclusive(|b| *b == b'\n').filter(code).flatten().copied().collect())
}

/// All pages of a ring buffer.
fn pages(path: &Path) -> io::Result<Vec<u8>> {
    let mut file: File = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let (mut all, mut page) = (Vec::new(), vec![0; PAGE]);
    loop {
        match file.read(&mut page) {
            Ok(0) => return Ok(all),
            Ok(n) => {
                all.extend(&page[..n]);
                all.resize(all.len().next_multiple_of(PAGE), 0);
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(all),
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_of_a_cpu_are_where_its_table_says() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &[u8]| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("events/header_page", b"page");
        put("events/header_event", b"event");
        put("events/ftrace/function/format", b"ID: 1");
        put("events/ftrace/enable", b"0");
        for (event, on) in [("sched_switch", "1"), ("sched_stat", "0")] {
            put(&format!("instances/x/events/sched/{event}/enable"), on.as_bytes());
            put(&format!("instances/x/events/sched/{event}/format"), format!("name: {event}").as_bytes());
        }
        put("instances/x/trace_clock", b"local [mono]");
        let pages = [7; PAGE + 10];
        put("instances/x/per_cpu/cpu1/trace_pipe_raw", &pages);
        let file = of(&root.path().join("instances/x"), 1).unwrap();
        assert!(file.starts_with(b"\x17\x08\x44tracing6\0"));
        let at = |text: &[u8]| file.windows(text.len()).position(|w| w == text);
        assert!(at(b"name: sched_switch").is_some() && at(b"name: sched_stat").is_none() && at(b"local [mono]\0").is_some());
        let table = at(b"flyrecord\0").unwrap() + 10;
        let numbers: Vec<usize> = file[table..table + 32]
            .chunks_exact(8)
            .map(|n| usize::try_from(u64::from_ne_bytes(n.try_into().unwrap())).unwrap())
            .collect();
        let from = file.len() - 2 * PAGE;
        assert_eq!(numbers, [from, 0, from, 2 * PAGE]);
        assert_eq!(&file[from..from + pages.len()], &pages);
        assert!(of(&root.path().join("instances/y"), 0).is_err());
    }
}
