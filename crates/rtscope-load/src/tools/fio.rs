//! fio: reads and writes files, with one process per job.

use super::tool::{Achieved, ArgumentsJob, Paths, Refused, Said, Seen, Tool, WithArguments, Workers, figure};
use serde_json::Value;

/// The run time given to fio, s: longer than any run.
const A_YEAR: &str = "--runtime=31536000";
/// CPU time after which the jobs count as at work, ns. They start once their files are laid out.
const AT_WORK_NS: u64 = 10_000_000;
/// Free space needed beside its files, MiB.
const SPARE_MIB: u64 = 128;
/// Most memory for the buffers of all jobs together, bytes.
const MOST_BUFFERS: u64 = 256 << 20;

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;
const G: u64 = 1 << 30;

/// The values that an option may have.
#[derive(Debug)]
enum Values {
    /// A whole number in this range, both ends included.
    Number(u64, u64),
    /// A number of bytes in this range; a suffix `k`, `m` or `g` multiplies by 2^10, 2^20 or 2^30.
    Size(u64, u64),
    /// One of these words.
    Words(&'static [&'static str]),
}

/// 0 or 1.
const SWITCH: Values = Values::Number(0, 1);

/// All options that are accepted, each with its other name if it has one: they select what is read and written,
/// and nothing else. fio has hundreds more, and each version adds some; among them are options that write
/// elsewhere, start programs or set their own run time.
const ALLOWED: &[(&str, &str, Values)] = &[
    ("rw", "readwrite", Values::Words(&["read", "write", "rw", "readwrite", "randread", "randwrite", "randrw"])),
    ("bs", "blocksize", Values::Size(512, 16 * M)),
    ("size", "", Values::Size(4 * K, 1024 * G)),
    ("numjobs", "", Values::Number(1, 128)),
    ("nrfiles", "", Values::Number(1, 1000)),
    ("iodepth", "", Values::Number(1, 256)),
    ("ioengine", "", Values::Words(&["sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring", "mmap"])),
    ("direct", "", SWITCH),
    ("buffered", "", SWITCH),
    ("sync", "", Values::Words(&["0", "1", "none", "sync", "dsync"])),
    ("fsync", "", Values::Number(0, 1_000_000)),
    ("fdatasync", "", Values::Number(0, 1_000_000)),
    ("rwmixread", "", Values::Number(0, 100)),
    ("rwmixwrite", "", Values::Number(0, 100)),
    ("percentage_random", "", Values::Number(0, 100)),
    ("randseed", "", Values::Number(0, u32::MAX as u64)),
    ("randrepeat", "", SWITCH),
    ("norandommap", "", SWITCH),
    ("invalidate", "", SWITCH),
    ("overwrite", "", SWITCH),
    ("fallocate", "", Values::Words(&["none", "native", "posix", "keep"])),
    ("refill_buffers", "", SWITCH),
    ("zero_buffers", "", SWITCH),
];

/// Reasons for refusing some well-known options. Every option that is not in [`ALLOWED`] is refused.
const REFUSED: &[(&[&str], &str)] = &[
    (
        &["runtime", "time_based", "timeout", "loops", "number_ios", "io_size", "io_limit", "ramp_time", "startdelay", "exitall"],
        "rtscope ends the load together with the measurement",
    ),
    (
        &["output", "output-format", "minimal", "append-terse", "eta", "status-interval", "group_reporting"],
        "rtscope reads the figures itself",
    ),
    (&["name", "section", "thread", "new_group", "stonewall"], "rtscope makes the jobs, each a process of its own"),
    (&["filename", "directory", "opendir", "aux-path", "filename_format"], "the load's files lie in a directory of its own"),
    (&["exec_prerun", "exec_postrun", "trigger", "trigger-file"], "it starts other programs"),
    (&["client", "server", "daemonize", "remote-config"], "the load would run elsewhere, or outlive the run"),
    (
        &["rate", "rate_iops", "rate_min", "thinktime", "io_submit_mode"],
        "a load that holds itself back can't be told from one that is held up",
    ),
    (
        &["prio", "prioclass", "nice", "cpus_allowed", "cpumask", "numa_cpu_nodes"],
        "a load runs with ordinary priority on every CPU",
    ),
];

/// fio.
#[derive(Debug)]
pub(crate) struct Fio;

impl Tool for Fio {
    fn program(&self) -> &'static str {
        "fio"
    }

    /// Debian's fio is linked with Ceph, Gluster and their dependencies, some sixty libraries: more than the rest
    /// of a guest, and all of it would lie in the guest's memory.
    fn in_guests(&self) -> Option<&'static str> {
        None
    }

    fn own(&self) -> Option<&'static WithArguments> {
        Some(&WithArguments {
            about: "fio with your own arguments, such as 'fio:--rw=randwrite --bs=4k --size=64m --direct=1'",
            read: own,
        })
    }

    /// fio writes to the directory it is started in: in `--directory`, a colon in the path would end the path.
    fn command(&self, args: &[String], _: &Paths<'_>) -> Vec<String> {
        let before = ["--output-format=json", "--eta=never", "--name=fio"].map(str::to_owned);
        let after = ["--group_reporting=1", "--time_based=1", A_YEAR].map(str::to_owned);
        before.into_iter().chain(args.iter().cloned()).chain(after).collect()
    }

    fn prints_figures(&self) -> bool {
        true
    }

    fn not_at_work(&self, seen: &Seen<'_>) -> Option<String> {
        seen.children_not_at_work(AT_WORK_NS)
    }

    fn account(&self, seen: &Seen<'_>) -> Option<(&'static str, f64)> {
        Some(("fio.cpu_seconds", seen.cpu_seconds()))
    }

    fn workers(&self) -> Workers {
        Workers::Children
    }

    fn said(&self, text: &str) -> Said {
        figures(text)
    }

    /// fio ends with 128 after a signal, having ended its jobs and printed their figures.
    fn ends_with(&self, exit_code: Option<i32>) -> bool {
        matches!(exit_code, Some(0 | 128))
    }

    fn by_hand(&self) -> &'static str {
        "run the command by hand in an empty directory to see what it lacks"
    }
}

/// Accepts only what is known to stay in the load's directory and within a bounded size: the numbers and words
/// of [`ALLOWED`]. So no value can hold anything that fio expands (variables, sums, several paths).
fn own(words: &[String]) -> Result<ArgumentsJob, Refused> {
    let mut given: Vec<(&str, u64)> = Vec::new();
    for word in words {
        let (option, number) = read(word)?;
        if given.iter().any(|(g, _)| *g == option) {
            return Refused::because(word, "it is there twice");
        }
        given.push((option, number));
    }
    let all = words.join(" ");
    let value = |option: &str| given.iter().find(|(g, _)| *g == option).map(|(_, number)| *number);
    if value("rw").is_none() {
        return Refused::because(&all, "it does not say what to do: write for example fio:--rw=randwrite --bs=4k");
    }
    let mut args = words.to_vec();
    let size = value("size").unwrap_or_else(|| {
        args.push("--size=64m".into());
        64 * M
    });
    let jobs = value("numjobs").unwrap_or(1);
    let buffers = jobs * value("iodepth").unwrap_or(1) * value("bs").unwrap_or(4 * K);
    if buffers > MOST_BUFFERS {
        return Refused::because(&all, "numjobs, iodepth and bs together ask for more than 256 MiB of memory for buffers");
    }
    let disk_mib = (jobs * size).div_ceil(M) + SPARE_MIB;
    Ok(ArgumentsJob { args, workers: u32::try_from(jobs).unwrap_or(u32::MAX), disk_mib })
}

/// Parses an option: its first name, and its value where that is a number.
fn read(word: &str) -> Result<(&'static str, u64), Refused> {
    let Some(option) = word.strip_prefix("--") else {
        return Refused::because(word, "it is not an option: job files are not read, since they could hold anything");
    };
    let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
    let Some((first, _, values)) = ALLOWED.iter().find(|(first, other, _)| !name.is_empty() && (*first == name || *other == name))
    else {
        // fio accepts abbreviated names, and `-` for `_`.
        let plain = name.replace('_', "-");
        let why = REFUSED.iter().find(|(names, _)| names.iter().any(|n| n.replace('_', "-") == plain));
        let unknown =
            "it is none of the options that are known to stay within the load's directory and its proof; write them in full";
        return Refused::because(word, why.map_or(unknown, |(_, reason)| reason));
    };
    let Some(value) = value else { return Refused::because(word, "write --NAME=VALUE") };
    match values {
        Values::Number(least, most) => number(value).filter(|n| (least..=most).contains(&n)).map(|n| (*first, n)),
        Values::Size(least, most) => size(value).filter(|n| (least..=most).contains(&n)).map(|n| (*first, n)),
        Values::Words(known) => known.contains(&value).then_some((*first, 0)),
    }
    .ok_or_else(|| Refused { word: word.into(), reason: "its value is none that is taken here" })
}

/// Accepts digits only: fio itself would also accept sums, hexadecimal numbers and times.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.len() <= 10 && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

fn size(text: &str) -> Option<u64> {
    let unit = match text.bytes().last()?.to_ascii_lowercase() {
        b'k' => K,
        b'm' => M,
        b'g' => G,
        _ => return number(text),
    };
    number(&text[..text.len() - 1])?.checked_mul(unit)
}

/// Reads what `fio --output-format=json` prints (3.0 and later): `fio.bytes`, `fio.iops` and `fio.runtime_s` of
/// all jobs together. Lines before and after the document are skipped; fio reports an interruption there. Jobs
/// that moved no data have no figures, so CPU time alone does not prove them.
pub(super) fn figures(text: &str) -> Said {
    let begin = if text.starts_with('{') { Some(0) } else { text.find("\n{") };
    let document = begin.and_then(|at| serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>().next());
    let Some(Ok(document)) = document else { return Said::default() };
    let jobs = document["jobs"].as_array().map_or(&[][..], Vec::as_slice);
    let all = |key: &str| -> Vec<f64> {
        let sides = jobs.iter().flat_map(|job| [&job["read"], &job["write"]]);
        sides.filter_map(|side| side[key].as_f64().and_then(figure)).collect()
    };
    let (bytes, iops) = (all("io_bytes").iter().sum::<f64>(), all("iops").iter().sum::<f64>());
    let mut achieved = Achieved::new();
    if bytes > 0.0 && bytes.is_finite() {
        achieved.insert("fio.bytes".into(), bytes);
        achieved.insert("fio.runtime_s".into(), all("runtime").into_iter().fold(0.0, f64::max) / 1e3);
        achieved.extend(figure(iops).map(|iops| ("fio.iops".into(), iops)));
    }
    let error = jobs.iter().filter_map(|job| job["error"].as_i64()).find(|&e| e != 0);
    let said = |e: i64| i32::try_from(e).map_or_else(|_| e.to_string(), |e| std::io::Error::from_raw_os_error(e).to_string());
    Said { achieved, error: error.map(|e| format!("a job ended by an error: {}", said(e))) }
}

#[cfg(test)]
#[path = "fio_tests.rs"]
mod tests;
