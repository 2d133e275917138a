//! What a task was about: the system call, exception, softirq or kernel thread that its calls began with.

/// Softirqs and other work by the function that does it, and what is usually said of it.
const WORK: [(&str, &str); 12] = [
    ("net_rx_action", "network receive"),
    ("net_tx_action", "network transmit"),
    ("run_timer_softirq", "timers"),
    ("hrtimer_run_softirq", "timers"),
    ("rcu_core", "RCU callbacks"),
    ("rcu_do_batch", "RCU callbacks"),
    ("tasklet_action_common", "tasklets"),
    ("tasklet_action_common.constprop.0", "tasklets"),
    ("blk_complete_reqs", "block I/O completion"),
    ("run_rebalance_domains", "load balancing"),
    ("sched_balance_softirq", "load balancing"),
    ("do_exit", "exit of a process"),
];

/// What the innermost of `calls` (outermost first) that tells says: "page fault", "system call mmap".
pub(crate) fn of<'a>(calls: impl DoubleEndedIterator<Item = &'a str>) -> Option<String> {
    let mut inner = None;
    calls.rev().find_map(|name| {
        let inner = inner.replace(name);
        if name == "process_one_work" {
            return Some(inner.map_or_else(|| "work queue".into(), |work| format!("work {work}")));
        }
        if let Some((_, words)) = WORK.iter().find(|(function, _)| *function == name) {
            return Some((*words).to_owned());
        }
        let call = ["__x64_sys_", "__arm64_sys_", "__ia32_sys_", "__do_sys_", "__se_sys_", "ksys_"]
            .iter()
            .find_map(|p| name.strip_prefix(p));
        match (call, name) {
            (Some(call), _) => Some(format!("system call {call}")),
            (_, "asm_exc_page_fault" | "exc_page_fault" | "do_user_addr_fault" | "do_mem_abort") => Some("page fault".into()),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_innermost_that_tells_counts() {
        let of = |calls: &[&str]| super::of(calls.iter().copied());
        assert_eq!(of(&["do_syscall_64", "__x64_sys_mmap", "vm_mmap_pgoff"]).as_deref(), Some("system call mmap"));
        assert_eq!(of(&["asm_exc_page_fault", "handle_mm_fault", "__rmqueue_pcplist"]).as_deref(), Some("page fault"));
        assert_eq!(of(&["__x64_sys_write", "__do_softirq", "net_rx_action", "tcp_v4_rcv"]).as_deref(), Some("network receive"));
        assert_eq!(of(&["ret_from_fork", "process_one_work", "cleanup_net", "kfree"]).as_deref(), Some("work cleanup_net"));
        assert_eq!(of(&["ret_from_fork", "work"]), None);
    }
}
