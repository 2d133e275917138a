//! fio: reads and writes of files, by jobs that are processes of their own.

use super::tool::{Achieved, ArgumentsJob, Paths, Refused, Said, Seen, Tool, WithArguments, Workers, figure};
use serde_json::Value;

/// How long it is to run, s.
const A_YEAR: &str = "--runtime=31536000";
/// CPU time after which its jobs are at work, ns. They are started when their files are there.
const AT_WORK_NS: u64 = 10_000_000;
/// To be free beside its files, MiB.
const SPARE_MIB: u64 = 128;
/// Most memory for the buffers of all jobs, bytes.
const MOST_BUFFERS: u64 = 256 << 20;

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;
const G: u64 = 1 << 30;

/// What the value of an option may be.
#[derive(Debug)]
enum Values {
    /// A whole number from the first to the second.
    Number(u64, u64),
    /// The same in bytes, with `k`, `m` or `g` at its end for 2^10, 2^20 or 2^30 of them.
    Size(u64, u64),
    /// One of these words.
    Words(&'static [&'static str]),
}

/// 0 or 1.
const SWITCH: Values = Values::Number(0, 1);

/// All options that are taken, with their other name where they have one: they choose what is read and written, and nothing else. fio has
/// hundreds more, and each version has new ones; what would write elsewhere, start a program or run for its own time is among them.
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

/// Why some options are refused; all that are not allowed are.
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

    /// Debian's is linked with Ceph, Gluster and what these need, some sixty libraries: more than the rest of a guest, and all of it would
    /// lie in the guest's memory.
    fn in_guests(&self) -> Option<&'static str> {
        None
    }

    fn own(&self) -> Option<&'static WithArguments> {
        Some(&WithArguments {
            about: "fio with your own arguments, such as 'fio:--rw=randwrite --bs=4k --size=64m --direct=1'",
            read: own,
        })
    }

    /// Its files lie in the directory that it is started in: `--directory` would take a colon in the path for the end of one.
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

    /// 128 is what it says of a signal, at which it ends its jobs and prints their figures.
    fn ends_with(&self, exit_code: Option<i32>) -> bool {
        matches!(exit_code, Some(0 | 128))
    }

    fn by_hand(&self) -> &'static str {
        "run the command by hand in an empty directory to see what it lacks"
    }
}

/// Takes only what is known to stay in the load's directory, in a bounded size: numbers and words that stand in [`ALLOWED`], so that none of
/// what fio reads into a value (variables, sums, several paths) is left in one.
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

/// An option by its first name, with its value as a number where it is one.
fn read(word: &str) -> Result<(&'static str, u64), Refused> {
    let Some(option) = word.strip_prefix("--") else {
        return Refused::because(word, "it is not an option: job files are not read, since they could hold anything");
    };
    let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
    let Some((first, _, values)) = ALLOWED.iter().find(|(first, other, _)| !name.is_empty() && (*first == name || *other == name))
    else {
        // fio takes beginnings of names, and `-` for `_`.
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

/// Digits alone: fio itself would also take sums, hexadecimal numbers and times.
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

/// Reads what `fio --output-format=json` prints (3.0 and later): `fio.bytes`, `fio.iops` and `fio.runtime_s` of all jobs together. Lines
/// before and after the document are passed over: that it was interrupted, it says there. Jobs that moved nothing have no figures, so that
/// CPU time alone proves nothing of them.
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
