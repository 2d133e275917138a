//! Real-time tasks of other programs, and whether irqbalance runs.

use super::cpus::parse_list;
use super::root::Root;
use rtscope_record::Policy;
use rtscope_record::system::RtTask;

/// Flag of kernel threads (`include/linux/sched.h`, `PF_KTHREAD`).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The result of a walk over all tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Tasks {
    /// Real-time tasks, highest priority first.
    pub rt: Vec<RtTask>,
    /// Whether a process named irqbalance runs.
    pub irqbalance: bool,
    /// Others' tasks are not visible: process 2, which in the first PID namespace is always the parent of the
    /// kernel threads, is missing or something else.
    pub hidden: bool,
}

/// Walks over `/proc/*/task/*/stat`. Takes about 10 us for each thread of the machine.
pub(super) fn collect(root: &Root, last_cpu: u32) -> Tasks {
    let mut tasks = Tasks { hidden: !first_namespace(root), ..Tasks::default() };
    for pid in root.numbers("/proc", "") {
        if pid == root.facts.pid {
            continue;
        }
        let dir = format!("/proc/{pid}/task");
        for tid in root.numbers(&dir, "") {
            // It has ended since the listing, or may not be read.
            let Some(stat) = root.line(&format!("{dir}/{tid}/stat")).and_then(|text| Stat::parse(&text)) else { continue };
            tasks.irqbalance |= tid == pid && stat.name == "irqbalance";
            let Some(policy) = stat.policy else { continue };
            if stat.kernel && each_cpu_has_one(&stat.name) {
                continue;
            }
            let cpus = root.text(&format!("{dir}/{tid}/status")).and_then(|text| allowed(&text, last_cpu)).unwrap_or_default();
            tasks.rt.push(RtTask { tid, name: stat.name, policy, priority: stat.priority, cpus, kernel: stat.kernel });
        }
    }
    tasks.rt.sort_by_key(|task| (task.policy != Policy::Deadline, std::cmp::Reverse(task.priority), task.tid));
    tasks
}

fn first_namespace(root: &Root) -> bool {
    root.text("/proc/2/stat").and_then(|text| Stat::parse(&text)).is_some_and(|stat| stat.kernel)
}

/// The real-time priority of a process; 0 for an ordinary one.
pub(super) fn priority(stat: &str) -> u8 {
    Stat::parse(stat).filter(|stat| stat.policy.is_some()).map_or(0, |stat| stat.priority)
}

/// Whether this is a per-CPU kernel thread such as `migration/3`, `idle_inject/0`, `ktimers/1`. Interrupt
/// threads (`irq/42-eth0`) are not.
pub(crate) fn each_cpu_has_one(name: &str) -> bool {
    let number = name.rsplit_once('/').map(|(_, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

fn allowed(status: &str, last_cpu: u32) -> Option<Vec<u32>> {
    parse_list(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?, last_cpu)
}

/// The fields of a `stat` file that are used here (`proc_pid_stat(5)`).
pub(crate) struct Stat {
    pub(crate) name: String,
    pub(crate) kernel: bool,
    /// `None` for an ordinary task.
    pub(crate) policy: Option<Policy>,
    /// 1 to 99, 0 for deadline.
    pub(crate) priority: u8,
    /// Its parent process.
    pub(crate) parent: u32,
    /// CPU time so far, ticks.
    pub(crate) ticks: u64,
    /// Start time, ticks since boot.
    pub(crate) start: u64,
    /// The CPU that it ran on last.
    pub(crate) cpu: u32,
}

impl Stat {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        // The name is in parentheses and may contain any character, so it ends at the last one.
        let (start, end) = (text.find('(')?, text.rfind(')')?);
        let name = text.get(start + 1..end)?.replace(|c: char| c.is_control(), "?");
        // Field 3, the state, is the first one after the name.
        let fields: Vec<&str> = text.get(end + 1..)?.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let policy = match field(41)? {
            1 => Some(Policy::Fifo),
            2 => Some(Policy::Rr),
            6 => Some(Policy::Deadline),
            _ => None,
        };
        let priority = u8::try_from(field(40)?).ok().filter(|&priority| priority <= 99)?;
        let priority = if policy == Some(Policy::Deadline) { 0 } else { priority };
        let small = |number: usize| field(number).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        let ticks = field(14).unwrap_or(0).saturating_add(field(15).unwrap_or(0));
        Some(Self {
            name,
            kernel: field(9)? & KERNEL_THREAD != 0,
            policy,
            priority,
            parent: small(4),
            ticks,
            start: field(22).unwrap_or(0),
            cpu: small(39),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A `stat` line as the kernel writes it.
    pub(in super::super) fn stat(tid: u32, name: &str, flags: u64, priority: u8, policy: u8) -> String {
        format!(
            "{tid} ({name}) S 2 0 0 0 -1 {flags} 0 0 0 0 0 0 0 0 -51 0 1 0 30 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 1 \
             {priority} {policy} 0 0 0 0 0 0 0 0 0 0 0\n"
        )
    }

    #[test]
    fn names_with_parentheses_and_spaces() {
        let read = Stat::parse(&stat(7, "a) R 1 (b", 0x40, 80, 2)).unwrap();
        assert_eq!((read.name.as_str(), read.kernel, read.policy, read.priority), ("a) R 1 (b", false, Some(Policy::Rr), 80));
    }

    #[test]
    fn policies() {
        for (number, policy) in [
            (0, None),
            (1, Some(Policy::Fifo)),
            (2, Some(Policy::Rr)),
            (3, None),
            (5, None),
            (6, Some(Policy::Deadline)),
            (7, None),
        ] {
            assert_eq!(Stat::parse(&stat(1, "x", 0, 3, number)).unwrap().policy, policy);
        }
        assert_eq!(priority(&stat(1, "x", 0, 42, 1)), 42);
        assert_eq!(priority(&stat(1, "x", 0, 0, 0)), 0);
    }

    #[test]
    fn threads_of_each_cpu() {
        for (name, each) in [
            ("migration/0", true),
            ("ktimers/12", true),
            ("irq/42-eth0", false),
            ("rcu_preempt", false),
            ("a/", false),
            ("a/1b", false),
        ] {
            assert_eq!(each_cpu_has_one(name), each, "{name}");
        }
    }

    #[test]
    fn our_own_stat_is_understood() {
        let text = std::fs::read_to_string("/proc/self/stat").unwrap();
        let ours = Stat::parse(&text).unwrap();
        assert!(!ours.kernel && text.contains(&ours.name));
    }

    proptest! {
        #[test]
        fn any_text(text in "\\PC{0,120}|[0-9 ()S-]{0,200}", cut in 0usize..200, at in 0usize..200, with in "[ ()0-9a-z]") {
            let _ = Stat::parse(&text);
            let _ = allowed(&text, 3);
            let mut valid = stat(1, "name", 0, 50, 1);
            valid.replace_range(at % valid.len()..=at % valid.len(), &with);
            let _ = Stat::parse(&valid);
            valid.truncate(cut);
            let _ = Stat::parse(&valid);
        }
    }
}
