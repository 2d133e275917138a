//! Runs repeat to the last bit, distinguish stock from RT, agree with cyclictest, and leave nothing behind.

use super::{Lab, RT, STOCK, wanted};
use crate::world::{Said, end_of, said_by};
use rtscope_record::{Clock, Record, Verdict};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn max(record: &Record) -> u64 {
    record.merged().unwrap().unwrap().max().unwrap()
}

/// Directories of machines that run, or were left behind.
fn machines() -> BTreeSet<String> {
    let names = fs::read_dir("/dev/shm").unwrap().flatten().map(|e| e.file_name().to_string_lossy().into_owned());
    names.filter(|n| n.starts_with("rtscope-vm-")).collect()
}

#[test]
fn a_run_comes_again_while_the_host_is_loaded_and_from_another_boot() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let said = lab.line(&format!("lab verify {STOCK} --load network -D 200ms --host-load full --json")).ends_with(0);
    let verified: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(verified["same"], true);
    let runs = verified["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3);
    for run in runs {
        assert_eq!((&run["samples"], &run["missed"], &run["fingerprint"]), (&200.into(), &0.into(), &runs[0]["fingerprint"]));
    }
}

#[test]
fn stock_is_told_from_rt_and_everything_says_virtual() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let plan = lab.0.file(
        "plan.toml",
        format!(
            "name = \"pair\"\ntargets = [\"lab:{STOCK}\", \"lab:{RT}\"]\nloads = [\"none\", \"network\", \"full\"]\n\
             [[tests]]\ntest = \"timer\"\ninterval = \"250us\"\nduration = \"250ms\"\n"
        ),
    );
    let plan = plan.to_str().unwrap();
    let said = lab.run(&["campaign", "run", plan, "--report", "page.html"]).ends_with(0);
    let mut highest = [0, 0];
    for record in records(&lab, "all") {
        let parts = record.parts();
        assert_eq!((parts.clock, record.verdict()), (Clock::Virtual, Verdict::Repeatable), "{:?}", parts.warnings);
        assert_eq!(record.distributions().iter().map(|d| (d.count(), d.missed())).collect::<Vec<_>>(), [(1000, 0)]);
        let of = usize::from(parts.target.contains("-rt"));
        highest[of] = highest[of].max(max(&record));
        let lab = parts.lab.as_ref().unwrap();
        assert_eq!((lab.model, lab.processor.as_ref().unwrap().flags.iter().any(|f| f == "erms" || f == "fsrm")), (2, false));
        assert_eq!((lab.qemu_sha256.as_ref().unwrap().len(), lab.firmware_sha256.as_ref().unwrap().len()), (64, 64));
        assert!(!lab.qemu.is_empty() && lab.icount.as_deref() == Some("shift=0,sleep=off") && lab.seed == 1);
        assert_eq!(lab.boot_icount.as_deref(), Some("shift=3,sleep=off"));
        assert!(lab.package.starts_with("linux-image-6.12"), "{}", lab.package);
        assert_eq!([lab.kernel_sha256.len(), lab.image_sha256.len(), lab.state.len()], [64; 3]);
        if parts.load != "none" {
            let proof = parts.load_proof.as_ref().unwrap();
            assert!(proof.processes.iter().all(|p| !p.died_early), "{proof:?}");
        }
    }
    let [stock, rt] = highest;
    // Observed over five seeds of 3 s each: 60 to 191 us against 7.9 to 8.8 us.
    assert!(stock >= 5 * rt, "stock {stock} ns, RT {rt} ns");
    assert!(said.out.contains("time model 2") && said.out.contains("one seed") && !said.out.contains("(none)"), "{}", said.out);
    assert!(said.out.contains("stock/RT") && said.out.contains("virtual") && !said.out.contains(" host "), "{}", said.out);
    let page = fs::read_to_string(lab.0.path("page.html")).unwrap();
    assert!(page.contains("Stock against RT") && page.contains("virtual"));
    // Completed runs are not taken again.
    lab.run(&["campaign", "run", plan, "--quiet"]).ends_with(0);
    assert_eq!(records(&lab, "all").len(), 6);
}

pub(crate) fn records(lab: &Lab, selection: &str) -> Vec<Record> {
    let said = lab.run(&["show", selection, "--json"]).ends_with(0);
    serde_json::Deserializer::from_str(&said.out)
        .into_iter::<Value>()
        .flat_map(|v| match v.unwrap() {
            Value::Array(all) => all,
            one => vec![one],
        })
        .map(|v| serde_json::from_value(v).unwrap())
        .collect()
}

#[test]
fn cyclictest_in_the_same_guest_agrees() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    for load in ["none", "full"] {
        let own =
            lab.line(&format!("measure timer -D 250ms --target lab:{RT} --load {load} --json --no-save")).ends_with(0).record();
        // In ns, with one bin per ns.
        let peer =
            lab.line(&format!("lab run {RT} --load {load} -- cyclictest -m -S -p95 -i1000 -l250 -N -h 100000 -q")).ends_with(0);
        lab.0.file("peer.txt", &peer.out);
        let peer = lab.line("import peer.txt --nsecs --json").ends_with(0).record();
        let median = |r: &Record| r.merged().unwrap().unwrap().percentiles()["p50"] as f64;
        let ratio = median(&own) / median(&peer);
        assert!((0.9..1.1).contains(&ratio), "{load}: medians {} and {} ns", median(&own), median(&peer));
        // The maxima are of two runs, each with its own phase relative to the load, so they agree only in order of magnitude.
        let ratio = max(&own) as f64 / max(&peer) as f64;
        assert!((0.4..2.5).contains(&ratio), "{load}: maxima {} and {} ns", max(&own), max(&peer));
    }
}

#[test]
fn another_seed_is_another_run_and_the_hosts_clock_is_inconclusive() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let run = |more: &str| -> Record {
        let line = format!("measure timer -D 200ms --target lab:{RT} --load background --json --no-save {more}");
        lab.line(&line).ends_with(0).record()
    };
    let (first, second) = (run("--seed 2"), run("--seed 3"));
    assert_ne!(first.fingerprint(), second.fingerprint());
    // However the same settings are written.
    assert_eq!(run("--seed 2 --priority 95 --interval 1ms --worst 32 --affinity 0").fingerprint(), first.fingerprint());
    let host = run("--clock host --guest-cpus 2");
    assert_eq!((host.parts().clock, host.verdict()), (Clock::Host, Verdict::Inconclusive));
    assert!(host.parts().warnings.iter().any(|w| w.code == "lab-host-clock"));
    assert_eq!(host.distributions().len(), 2);
    for d in host.distributions() {
        assert_eq!(d.count() + d.missed(), 200);
    }
}

#[test]
fn a_load_of_ones_own_runs_in_the_guest_and_a_damaged_state_is_made_anew() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let run = || -> Record {
        let target = format!("lab:{RT}");
        let words = ["measure", "timer", "-D", "100ms", "--json", "--no-save", "--target", &target, "--load"];
        lab.run(&[&words[..], &["stress-ng:--matrix 1 --fork 1"]].concat()).ends_with(0).record()
    };
    let first = run();
    assert!(first.parts().load_proof.as_ref().unwrap().processes.iter().all(|p| !p.died_early));
    let state = &first.parts().lab.as_ref().unwrap().state[..32];
    let at = super::cache().join("states").join(state);
    let (path, memory) = (at.with_extension("state"), at.with_extension("memory"));
    let spoil = |path: &Path, offset: u64, by: &[u8]| {
        let file = fs::File::options().write(true).open(path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, by, offset).unwrap();
    };
    // Overwrites the state's beginning, its virtual time (which QEMU would accept as it is), and the guest's memory.
    let name = b"timer/icount";
    let time = fs::read(&path).unwrap().windows(name.len()).position(|w| w == name).unwrap() + name.len() + 4 + 6;
    for (path, offset, by) in [(&path, 0, [0; 64].as_slice()), (&path, time as u64, &[3]), (&memory, 24 << 20, b"not what it was")]
    {
        spoil(path, offset, by);
        assert_eq!(run().fingerprint(), first.fingerprint());
    }
}

#[test]
fn programs_run_in_the_guest_and_their_ends_are_told() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    lab.0.file("tool", "#!/bin/sh\necho tool says $1\n");
    let said = lab.line(&format!("lab run {RT} --guest-file tool:/root/tool -- /root/tool hello")).ends_with(0);
    assert_eq!(said.out, "tool says hello\n");
    let said = lab.run(&["lab", "run", RT, "--", "sh", "-c", "echo out; echo err >&2; exit 7"]).ends_with(3);
    assert_eq!(said.out, "out\n");
    assert!(said.err.contains("err") && said.err.contains("exit status 7"), "{}", said.err);
    // A process that it leaves running does not delay the end.
    assert_eq!(
        lab.run(&["lab", "run", RT, "--limit", "10s", "--", "sh", "-c", "sleep 1000 & echo away"]).ends_with(0).out,
        "away\n"
    );
    lab.line(&format!("lab run {RT} -- /no/such/program")).ends_with(2).complains(&["can't be started in the guest"]);
    // A program that never ends is noticed by virtual time, which passes quickly in an idle guest.
    lab.line(&format!("lab run {RT} --limit 1s -- sleep 100000")).ends_with(3).complains(&["the guest hangs", "console"]);
}

#[test]
fn a_shell_is_told_all_that_stands_in_its_input() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    // What is typed, and with what the shell ends then: by itself, or as a shell says it of what a signal ended. Each is a boot of its own.
    // What is said is nowhere in what is typed, and no line's end is asked for: a terminal echoes what is typed ahead amid what programs say.
    for (typed, code, told) in [
        (
            "echo first $((6 * 7))\ncat /proc/sys/kernel/osrelease\necho 'rtscope-guest: the agent' 'ended: exit status: 3'\n",
            0,
            &["first 42", "deb12-rt-amd64", "rtscope-guest: the agent ended: exit status: 3"][..],
        ),
        ("sh -c 'kill -9 $$'\nexit\n", 137, &[]),
        ("kill -TERM $$\nkill -9 $$\n", 137, &[]),
        ("exit 7\n", 7, &[]),
        // A last line without an end.
        ("exit 8", 8, &[]),
    ] {
        lab.0.file("input", typed);
        let input = fs::File::open(lab.0.path("input")).unwrap();
        let said = said_by(lab.command(&["lab", "shell", RT]).stdin(input)).ends_with(code);
        assert!(told.iter().all(|t| said.out.contains(t)), "{}", said.out);
        let internals = said.out.contains("reboot:") || said.out.contains("rtscope-guest") && !typed.contains("rtscope-guest");
        assert!(!internals, "{}", said.out);
    }
}

/// The terminal is the program's then, and the end of input that it is told is not the shell's.
#[test]
fn an_input_that_ends_while_a_program_runs_ends_the_shell() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let mut shell = lab.command(&["lab", "shell", RT]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut keyboard = shell.stdin.take().unwrap();
    keyboard.write_all(b"echo begun $((6 * 7)); sleep 5\n").unwrap();
    for line in BufReader::new(shell.stdout.as_mut().unwrap()).lines() {
        if line.unwrap().contains("begun 42") {
            break;
        }
    }
    drop(keyboard);
    end_of(shell).ends_with(0);
}

/// A symbol's name can hold a hash over the source, tests included: a guest of the same code would be another.
#[test]
fn a_guests_program_has_no_symbols() {
    for arch in ["amd64", "arm64"].into_iter().filter(|arch| wanted() && super::has_guest(arch)) {
        let file = Path::new(&std::env::var_os("RTSCOPE_GUESTS").unwrap()).join(format!("rtscope-guest-{arch}"));
        let bytes = fs::read(file).unwrap();
        let holds = |name: &[u8]| bytes.windows(name.len()).any(|w| w == name);
        assert!(holds(b".shstrtab\0") && !holds(b".symtab\0"), "{arch}");
    }
}

#[test]
fn a_panic_is_told_with_the_consoles_last_lines() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let said = lab.run(&["lab", "run", RT, "--", "sh", "-c", "echo c > /proc/sysrq-trigger"]).ends_with(3);
    said.complains(&["the guest ended", "sysrq triggered crash", "the whole console"]);
    assert!(machines().iter().all(|name| alive(name)), "{:?}", machines());
}

/// Whether the process in the name of a machine's directory is alive.
fn alive(name: &str) -> bool {
    let pid = name.trim_start_matches("rtscope-vm-").split('-').next().unwrap_or_default();
    fs::metadata(format!("/proc/{pid}")).is_ok()
}

#[test]
fn an_interrupted_run_leaves_neither_record_nor_machine() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    // The state is already kept, so that the signal hits a run and not a boot.
    lab.line(&format!("lab run {RT} -- true")).ends_with(0);
    for signal in [libc::SIGINT, libc::SIGKILL] {
        let words = ["measure", "timer", "-D", "1h", "--quiet", "--target", &format!("lab:{RT}"), "--load", "calculation"];
        let child = lab.command(&words).spawn().unwrap();
        let pid = child.id();
        let end = Instant::now() + Duration::from_secs(180);
        let qemu = loop {
            let found = fs::read_dir("/proc").unwrap().flatten().find(|e| {
                fs::read_to_string(e.path().join("stat")).is_ok_and(|stat| {
                    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
                    stat.contains("(qemu-system") && fields.get(1) == Some(&pid.to_string().as_str())
                })
            });
            if let Some(entry) = found {
                break entry.path();
            }
            assert!(Instant::now() < end, "no QEMU");
            std::thread::sleep(Duration::from_millis(20));
        };
        std::thread::sleep(Duration::from_secs(2));
        rtscope_sys::kill(i32::try_from(pid).unwrap(), signal).unwrap();
        assert_eq!(end_of(child).code, (signal == libc::SIGINT).then_some(130));
        let end = Instant::now() + Duration::from_secs(120);
        while qemu.exists() {
            assert!(Instant::now() < end, "QEMU is still there");
            std::thread::sleep(Duration::from_millis(20));
        }
        // The next start removes what a killed one left.
        lab.line(&format!("lab run {RT} -- true")).ends_with(0);
        assert!(!machines().iter().any(|name| name.starts_with(&format!("rtscope-vm-{pid}-"))), "{:?}", machines());
    }
    let listed: Said = lab.line("list --json").ends_with(0);
    assert_eq!(serde_json::from_str::<Value>(&listed.out).unwrap(), serde_json::json!([]));
}
