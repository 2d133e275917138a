//! The table of loads. To add a load, add one [`Entry`] to [`LOADS`]; no other code knows their names.

/// A named load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// The name in `--load NAME`.
    pub(crate) name: &'static str,
    /// One line for the help.
    pub(crate) about: &'static str,
    /// Tools to run at the same time.
    pub(crate) runs: &'static [Run],
    /// An iperf3 client and server to run beside these tools.
    pub(crate) iperf3: Option<Iperf3>,
    /// The load is meant to leave no CPU idle; if it does, the proof says so.
    pub(crate) fills_cpus: bool,
}

/// One process of a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// The tool.
    pub(crate) tool: &'static str,
    /// Its arguments, separated by blanks. The word `N` stands for the number of CPUs; each `N` adds that many workers.
    pub(crate) args: &'static str,
    /// stress-ng's stressors that it leaves out of those that the arguments ask for.
    pub(crate) left_out: &'static [LeftOut],
    /// It is meant to write to a disk, so its directory must not lie in memory.
    pub(crate) on_disk: bool,
    /// Upper bound of its disk space at any time, MiB: per CPU, and fixed.
    pub(crate) disk_mib: (u64, u64),
}

impl Run {
    /// What is left out on so many CPUs.
    pub(crate) fn left_out_of(&self, cpus: u32) -> impl Iterator<Item = &'static LeftOut> + use<> {
        self.left_out.iter().filter(move |l| cpus == 1 || !l.on_one_cpu_only)
    }

    /// The arguments by which stress-ng leaves out what is left out on so many CPUs.
    pub(crate) fn exclude(&self, cpus: u32) -> impl Iterator<Item = String> + use<> {
        let names: Vec<&str> = self.left_out_of(cpus).map(|l| l.stressor).collect();
        (!names.is_empty()).then(|| ["--exclude".to_owned(), names.join(",")]).into_iter().flatten()
    }
}

/// A stressor that a load does without.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeftOut {
    /// Its name, as stress-ng's `--exclude` takes it.
    pub(crate) stressor: &'static str,
    /// Only where there is one CPU.
    pub(crate) on_one_cpu_only: bool,
    /// What it does that is too much.
    pub(crate) why: &'static str,
}

/// One iperf3 client with its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Iperf3 {
    /// Parallel streams per CPU; the total is clamped to `bounds`.
    pub(crate) streams_per_cpu: u32,
    /// Fewest and most streams (iperf3 itself allows 128).
    pub(crate) bounds: (u32, u32),
    /// Socket buffer (`-w`), if it is fixed.
    pub(crate) window: Option<&'static str>,
}

const STRESS_NG: &str = "stress-ng";

/// Scheduler work found on any machine: context switches over a pipe (`switch`), bulk data and wake-ups
/// (`pipe`), semaphores (`sem`), event counters (`eventfd`), local sockets (`sockpair`). All of it is short
/// kernel work that ends in a wake-up.
const SCHEDULING: Run = Run {
    tool: STRESS_NG,
    args: "--switch N --pipe N --sem N --eventfd N --sockpair N",
    left_out: &[],
    on_disk: false,
    disk_mib: (0, 1),
};

/// Integer, floating-point and bit operations (`cpu` cycles through all its methods), and cache and memory
/// traffic (`matrix`).
const CALCULATION: Run = Run { tool: STRESS_NG, args: "--cpu N --matrix N", left_out: &[], on_disk: false, disk_mib: (0, 1) };

/// Writes that wait for the disk: `O_SYNC` and `O_DIRECT` writes (`hdd`), `sync_file_range` (`sync-file`), and
/// allocation (`fallocate`).
const DISK: Run = Run {
    tool: STRESS_NG,
    args: "--hdd N --hdd-bytes 64M --hdd-opts direct,sync --sync-file N --sync-file-bytes 16M --fallocate 1 --fallocate-bytes 16M",
    left_out: &[],
    on_disk: true,
    disk_mib: (64 + 16, 16),
};

const MANY_STREAMS: Iperf3 = Iperf3 { streams_per_cpu: 8, bounds: (16, 128), window: None };

/// Dewit 2024: one worker of every stressor, but for [`LEFT_OUT`].
const EVERYTHING: Run = Run { tool: STRESS_NG, args: "--all 1", left_out: LEFT_OUT, on_disk: true, disk_mib: (0, 8192) };

/// What `dewit` leaves out: what changes the machine for good when it is killed midway, and where there is one CPU what takes it for
/// itself at a real-time priority. The latter are those of stress-ng 0.15.06 (Debian 12's, and the guests') that hardly leave the CPU, above
/// rtscope's own FIFO 1 and the kernel's threads of that priority (PREEMPT_RT: `rcu_preempt`, `ktimers`): all ordinary tasks then
/// share the 5 % that the kernel keeps for them. docs/papers.md has what each did by itself. `cyclic` and `schedpolicy` leave it.
const LEFT_OUT: &[LeftOut] = &[
    always("cpu-online", "takes CPUs away from the measuring threads, and leaves them off when it is killed"),
    always("swap", "adds swap space, and leaves it when it is killed"),
    always("reboot", "asks the kernel to restart"),
    on_one_cpu("softlockup", "a loop at FIFO 99: the only CPU is never free again"),
    on_one_cpu("mutex", "two threads that loop at FIFO 1 to 86 and never sleep"),
    on_one_cpu("hrtimers", "eight processes at RR 49, each with a timer of at most 66 us"),
];

const fn always(stressor: &'static str, why: &'static str) -> LeftOut {
    LeftOut { stressor, on_one_cpu_only: false, why }
}

const fn on_one_cpu(stressor: &'static str, why: &'static str) -> LeftOut {
    LeftOut { stressor, on_one_cpu_only: true, why }
}

/// Every load by name, mildest first.
pub(crate) const LOADS: &[Entry] = &[
    Entry { name: "none", about: "nothing beside the measurement", runs: &[], iperf3: None, fills_cpus: false },
    Entry {
        name: "background",
        about: "scheduling and IPC traffic (stress-ng)",
        runs: &[SCHEDULING],
        iperf3: None,
        fills_cpus: false,
    },
    Entry {
        name: "calculation",
        about: "CPU and matrix work on every CPU (stress-ng)",
        runs: &[CALCULATION],
        iperf3: None,
        fills_cpus: true,
    },
    Entry { name: "disk", about: "synchronous and direct writes (stress-ng)", runs: &[DISK], iperf3: None, fills_cpus: false },
    Entry {
        name: "network",
        about: "many TCP streams between two network namespaces, or over loopback (iperf3)",
        runs: &[],
        iperf3: Some(MANY_STREAMS),
        fills_cpus: false,
    },
    Entry {
        name: "full",
        about: "background, calculation, disk and network together",
        runs: &[SCHEDULING, CALCULATION, DISK],
        iperf3: Some(MANY_STREAMS),
        fills_cpus: true,
    },
    Entry {
        name: "dewit",
        about: "stress-ng --all 1 and iperf3 -w 64K -P 100, as in Dewit 2024",
        runs: &[EVERYTHING],
        iperf3: Some(Iperf3 { streams_per_cpu: 0, bounds: (100, 100), window: Some("64K") }),
        fills_cpus: false,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_every_load_but_none_does_something() {
        let names: BTreeSet<_> = LOADS.iter().map(|l| l.name).collect();
        assert_eq!(names.len(), LOADS.len());
        for load in LOADS {
            assert_eq!(load.name == "none", load.runs.is_empty() && load.iperf3.is_none(), "{}", load.name);
        }
    }
}
