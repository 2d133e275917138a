//! Machines as directory trees that change between two looks, and a witness of this process.

use super::machine::Machine;
use super::tasks::Table;
use super::*;
use crate::snapshot::SystemCallFacts;
use proptest::prelude::*;
use rtscope_record::witness::{Change, Changed};
use rtscope_record::{Policy, Settings};
use std::fs;
use std::time::Duration;

struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let file = self.0.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
        self
    }

    fn root(&self) -> Root {
        Root::at(self.0.path(), SystemCallFacts { pid: 4242, ..SystemCallFacts::default() })
    }

    /// A task that took `ran` ns and was started `start` ticks after boot.
    fn task(&self, (pid, tid): (u32, u32), name: &str, (policy, priority): (u8, u8), cpu: u32, (ran, start): (u64, u64)) -> &Self {
        let dir = format!("/proc/{pid}/task/{tid}");
        self.put(
            &format!("{dir}/stat"),
            format!(
                "{tid} ({name}) S 77 0 0 0 -1 64 0 0 0 0 {} 0 0 0 -51 0 1 0 {start} 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 \
                 0 0 0 17 {cpu} {priority} {policy} 0 0 0 0 0 0 0 0 0 0 0\n",
                ran / 10_000_000
            ),
        );
        self.put(&format!("{dir}/schedstat"), format!("{ran} 5 3\n"));
        self.put(&format!("{dir}/status"), format!("Name:\t{name}\nCpus_allowed_list:\t{cpu}\n"))
    }
}

/// A machine with two CPUs, including every file that is looked at.
fn machine() -> Tree {
    let t = Tree::new();
    t.put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
        .put("/sys/devices/system/cpu/online", "0-1\n");
    t.put("/proc/sys/kernel/sched_rt_runtime_us", "950000\n").put("/proc/sys/kernel/sched_rt_period_us", "1000000\n");
    t.put("/proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
    t.put("/proc/stat", "cpu  9 0 9 9 0 0 0 30 0 0\ncpu0 4 0 4 4 0 0 0 10 0 0\ncpu1 5 0 5 5 0 0 0 20 0 0\nintr 5\n");
    for cpu in 0..2 {
        let dir = format!("/sys/devices/system/cpu/cpu{cpu}");
        t.put(&format!("{dir}/cpufreq/scaling_governor"), "performance\n");
        t.put(&format!("{dir}/cpufreq/scaling_cur_freq"), "3000000\n");
        t.put(&format!("{dir}/thermal_throttle/core_throttle_count"), "3\n");
        t.put(&format!("{dir}/thermal_throttle/package_throttle_count"), "7\n");
        t.put(&format!("{dir}/thermal_throttle/core_power_limit_count"), "0\n");
        t.put(&format!("/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime"), "50000000\n");
        let mut registers = vec![0u8; 0x34];
        registers.extend(100u64.to_ne_bytes());
        t.put(&format!("/dev/cpu/{cpu}/msr"), registers);
    }
    t.put("/sys/class/thermal/cooling_device0/type", "Processor\n").put("/sys/class/thermal/cooling_device0/cur_state", "0\n");
    t.put("/sys/class/thermal/cooling_device1/type", "pwm-fan\n").put("/sys/class/thermal/cooling_device1/cur_state", "1\n");
    t.put("/sys/devices/platform/soc/soc:firmware/get_throttled", "0\n");
    t
}

fn order() -> WitnessOrder {
    WitnessOrder { cpus: vec![0, 1], ours: Some((Policy::Fifo, 95)), planned: None, grid: None, ends_only: false }
}

/// What a second look sees after `change`.
fn seen(change: impl FnOnce(&Tree)) -> Vec<Change> {
    let t = machine();
    let mut m = Machine::before(&t.root(), &order(), 0);
    assert_eq!(m.look(&t.root(), 1, 0, true), []);
    change(&t);
    m.look(&t.root(), 1_500_000_000, 0, true)
}

#[test]
fn each_condition_that_changes_is_seen() {
    let heat = "/sys/devices/system/cpu/cpu0/thermal_throttle";
    for (path, content, what, of, from, to) in [
        ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n", Changed::Clocksource, "", "tsc", "hpet"),
        ("/sys/devices/system/cpu/online", "0\n", Changed::Online, "", "0-1", "0"),
        ("/proc/sys/kernel/sched_rt_runtime_us", "-1\n", Changed::RtThrottling, "sched_rt_runtime_us", "950000", "-1"),
        (
            "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
            "powersave\n",
            Changed::Governor,
            "CPU 1",
            "performance",
            "powersave",
        ),
        ("/sys/kernel/debug/sched/fair_server/cpu0/runtime", "0\n", Changed::FairServer, "CPU 0", "50000000", "0"),
        (&format!("{heat}/core_throttle_count"), "5", Changed::ThrottleCount, "heat of cores", "6", "8"),
        (&format!("{heat}/package_throttle_count"), "9", Changed::ThrottleCount, "heat of the package", "7", "9"),
        (&format!("{heat}/core_power_limit_count"), "1", Changed::ThrottleCount, "power of cores", "0", "1"),
        ("/sys/class/thermal/cooling_device0/cur_state", "2", Changed::Cooling, "Processor 0", "0", "2"),
        (
            "/sys/devices/platform/soc/soc:firmware/get_throttled",
            "50005",
            Changed::Firmware,
            "",
            "nothing",
            "undervoltage, throttled",
        ),
    ] {
        let change = Change { at: 1_500_000_000, what, of: of.into(), from: from.into(), to: to.into() };
        assert_eq!(seen(|t| _ = t.put(path, content)), [change]);
    }
    assert_eq!(seen(|t| _ = t.put("/sys/class/thermal/cooling_device1/cur_state", "3")), [], "a fan slows nothing down");
}

#[test]
fn a_file_that_goes_is_no_change_and_one_that_comes_is_none() {
    let governor = "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor";
    assert_eq!(seen(|t| fs::remove_file(t.0.path().join(governor)).unwrap()), []);
    let more = |t: &Tree| {
        _ = t.put("/sys/class/thermal/cooling_device7/type", "Processor").put("/sys/class/thermal/cooling_device7/cur_state", "1");
    };
    assert_eq!(seen(more), []);
    assert_eq!(Machine::before(&Tree::new().root(), &order(), 0).look(&Tree::new().root(), 1, 0, true), []);
}

#[test]
fn the_machine_slept() {
    let t = machine();
    let mut m = Machine::before(&t.root(), &order(), 5_000_000_000);
    assert_eq!(m.look(&t.root(), 1, 5_000_000_100, false), []);
    let all = m.look(&t.root(), 2, 65_000_000_100, false);
    assert_eq!((all.len(), all[0].what, all[0].to.as_str()), (1, Changed::Suspended, "1m"));
    assert_eq!(m.look(&t.root(), 3, 65_000_000_100, false), []);
}

#[test]
fn cpus_with_what_was_stolen_their_frequencies_and_smis() {
    let t = machine();
    let mut m = Machine::before(&t.root(), &order(), 0);
    t.put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "800000");
    m.look(&t.root(), 1, 0, true);
    t.put("/proc/stat", "cpu  9 0 9 9 0 0 0 34 0 0\ncpu0 4 0 4 4 0 0 0 14 0 0\ncpu1 5 0 5 5 0 0 0 20 0 0\nintr 5\n");
    let mut registers = vec![0u8; 0x34];
    registers.extend(103u64.to_ne_bytes());
    t.put("/dev/cpu/1/msr", registers);
    let cpus = m.cpus(&t.root());
    assert_eq!((cpus[0].steal_ns, cpus[0].khz, cpus[0].smis), (Some(40_000_000), Some((800_000, 3_000_000)), Some(0)));
    assert_eq!((cpus[1].steal_ns, cpus[1].khz, cpus[1].smis), (Some(0), Some((3_000_000, 3_000_000)), Some(3)));
    // Other vendors' processors have another register there, or none.
    t.put("/proc/cpuinfo", "vendor_id\t: AuthenticAMD\n");
    assert_eq!(Machine::before(&t.root(), &order(), 0).cpus(&t.root())[0].smis, None);
}

#[test]
fn what_watches_over_a_load_is_no_rival() {
    let t = Tree::new();
    let mut table = Table::new(&[0, 1], Some((Policy::Fifo, 1)), 1);
    for (pid, name) in [(10, "rtscope-guest"), (11, "rt-load-init"), (12, "exe")] {
        t.task((pid, pid), name, (1, 1), 0, (0, 50));
    }
    table.look(&t.root(), 0, &mut || ());
    for (pid, name) in [(10, "rtscope-guest"), (11, "rt-load-init"), (12, "exe")] {
        t.task((pid, pid), name, (1, 1), 0, (1000, 50));
    }
    table.look(&t.root(), 1000, &mut || ());
    let names: Vec<String> = table.told().0.into_iter().map(|r| r.name).collect();
    assert_eq!(names, ["exe"]);
}

#[test]
fn rivals_that_ran_by_what_they_took() {
    let t = Tree::new();
    let second = 1_000_000_000;
    t.task((10, 10), "was-there", (1, 99), 0, (7 * second, 50)).task((11, 11), "idle", (1, 99), 0, (3 * second, 50));
    t.task((12, 12), "elsewhere", (1, 99), 5, (0, 50)).task((13, 13), "below", (1, 94), 0, (0, 50));
    t.task((4242, 4242), "ourselves", (1, 99), 0, (0, 50)).task((14, 14), "ordinary", (0, 0), 0, (second, 50));
    let mut table = Table::new(&[0, 1], Some((Policy::Fifo, 95)), 10 * second);
    table.look(&t.root(), 0, &mut || ());
    t.task((10, 10), "was-there", (1, 99), 0, (9 * second, 50)).task((12, 12), "elsewhere", (1, 99), 5, (second, 50));
    t.task((13, 13), "below", (1, 94), 0, (second, 50)).task((4242, 4242), "ourselves", (1, 99), 0, (second, 50));
    // The first began in mid-run, the second was an ordinary task before.
    t.task((20, 21), "late", (6, 0), 1, (second / 2, 1200)).task((14, 14), "ordinary", (2, 95), 1, (2 * second, 50));
    let mut calm = 0;
    table.look(&t.root(), 3 * second, &mut || calm += 1);
    assert_eq!(calm, 6, "after each task");
    assert_eq!(table.culprit(0).unwrap().name, "was-there");
    t.task((14, 14), "ordinary", (2, 95), 1, (2 * second + 1000, 50));
    // A look at the known ones alone; 20 is another task by now.
    t.task((20, 21), "later", (6, 0), 1, (second, 1300)).task((22, 22), "unknown", (1, 99), 0, (second, 1300));
    table.look_again(&t.root(), &mut || ());
    let (rivals, runs, more) = table.told();
    let told: Vec<_> = rivals.iter().map(|r| (r.name.as_str(), r.policy.as_str(), r.ran_ns, r.first_at)).collect();
    assert_eq!(
        told,
        [("was-there", "fifo", 2 * second, 0), ("late", "deadline", second / 2, 3 * second), ("ordinary", "rr", 1000, 3 * second)]
    );
    assert_eq!((runs.len(), more), (0, 0));
}

#[test]
fn other_runs_by_their_threads() {
    let t = Tree::new();
    t.task((30, 30), "rtscope-probe", (0, 0), 0, (1, 500)).task((30, 31), "rts-cpu0", (1, 95), 0, (1, 501));
    t.task((30, 32), "rts-cpu1", (1, 95), 1, (1, 501)).task((40, 41), "rts-dut", (1, 95), 1, (1, 501));
    t.put("/proc/77/comm", "rtscope\n").put("/proc/77/cmdline", "rtscope\0measure\0timer\0-D\0\x1b[2J\0");
    let mut table = Table::new(&[0, 1], Some((Policy::Fifo, 95)), 10_000_000_000);
    table.look(&t.root(), 0, &mut || ());
    t.task((50, 51), "rts-instrument", (1, 95), 0, (1, 1400));
    table.look(&t.root(), 4_000_000_000, &mut || ());
    let (rivals, runs, _) = table.told();
    assert_eq!(rivals, [], "they are told as what they are");
    let told: Vec<_> = runs.iter().map(|r| (r.pid, r.before_ns, r.first_at, r.threads.len())).collect();
    assert_eq!(told, [(30, 4_990_000_000, 0, 2), (50, 0, 4_000_000_000, 1)], "a DUT alone is no run");
    assert_eq!(runs[0].command, "rtscope measure timer -D ?[2J");
}

#[test]
fn what_is_to_be_witnessed_follows_from_the_settings() {
    let s = Settings { cpus: vec![2, 0, 3], threads: 2, priority_descends: true, ..Settings::default() };
    let order = WitnessOrder::of(&s, &[0, 1, 2, 3]);
    assert_eq!((order.cpus, order.ours, order.grid), (vec![0, 2], Some((Policy::Fifo, 94)), Some(1_000_000)));
    let free = Settings { migrate: true, cpus: Vec::new(), threads: 1, policy: Policy::Other, ..s };
    let order = WitnessOrder::of(&free, &[0, 1, 2, 3]);
    assert_eq!((order.cpus.len(), order.ours), (4, Some((Policy::Other, 0))));
}

#[test]
fn a_witness_of_this_process() {
    let order = WitnessOrder { cpus: vec![0], ours: None, planned: Some(1), grid: Some(1_000_000), ends_only: false };
    let witness = RunningWitness::start(Root::of_this_machine(), &order).unwrap();
    let post = witness.post("x", None, 0);
    let (left, end) = (Arc::clone(&post), Duration::from_millis(1200));
    let worker = std::thread::spawn(move || {
        left.arrive();
        left.enter();
        std::thread::sleep(end);
        left.leave();
    });
    witness.begin(rt::now());
    worker.join().unwrap();
    assert!(!witness.ended_it() && !post.is_emergency());
    let w = witness.finish(end.as_nanos().try_into().unwrap()).unwrap();
    assert!(w.looks >= 1 && w.starved.is_none(), "{w:?}");
    assert_eq!((w.threads.len(), w.threads[0].label.as_str(), w.threads[0].states.len()), (1, "x", 1));
    assert_eq!((w.planned_ns, w.real_ns, w.cpus.len()), (Some(1), 1_200_000_000, 1));
}

#[test]
fn a_witness_that_is_dropped_ends() {
    drop(RunningWitness::start(Root::of_this_machine(), &WitnessOrder::default()).unwrap());
}

proptest! {
    // Each case makes some forty files.
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn no_content_of_any_file_makes_a_look_fail(text in "\\PC{0,60}|[0-9 ,\n-]{0,60}", which in 0usize..9) {
        let t = machine();
        t.task((10, 10), "x", (1, 99), 0, (1, 1));
        let paths = [
            "/proc/stat", "/proc/sys/kernel/sched_rt_runtime_us", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
            "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "/sys/class/thermal/cooling_device0/cur_state",
            "/sys/devices/platform/soc/soc:firmware/get_throttled", "/proc/10/task/10/stat", "/proc/10/task/10/schedstat",
            "/proc/10/task/10/status",
        ];
        let mut m = Machine::before(&t.root(), &order(), 0);
        let mut table = Table::new(&[0], Some((Policy::Fifo, 95)), 0);
        table.look(&t.root(), 0, &mut || ());
        t.put(paths[which], text);
        let _ = m.look(&t.root(), 1, u64::MAX, true);
        table.look(&t.root(), u64::MAX, &mut || ());
        let _ = (m.cpus(&t.root()), table.told());
    }
}
