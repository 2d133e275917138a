//! The machine as a whole: its names, its memory, and the limits of its user.

use super::root::Root;
use super::tasks;
use rtscope_record::system::Limits;

const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_NICE: u32 = 23;

/// Placeholder names in firmware whose maker did not fill in the field.
const PLACEHOLDERS: [&str; 6] = [
    "To Be Filled By O.E.M.",
    "To be filled by O.E.M.",
    "System Product Name",
    "System manufacturer",
    "Default string",
    "Not Specified",
];

/// Name of the board or product: the device tree's model, else DMI's vendor and product, else its vendor and board.
pub(super) fn board(root: &Root) -> Option<String> {
    let trees = ["/proc/device-tree/model", "/sys/firmware/devicetree/base/model"];
    let dmi = |file: &str| root.value(&format!("/sys/class/dmi/id/{file}")).filter(|value| !PLACEHOLDERS.contains(&value.as_str()));
    let pair = |vendor: &str, name: &str| {
        let name = dmi(name)?;
        Some(dmi(vendor).map_or(name.clone(), |vendor| format!("{vendor} {name}")))
    };
    let model = trees.into_iter().find_map(|path| root.value(path));
    model.or_else(|| pair("sys_vendor", "product_name")).or_else(|| pair("board_vendor", "board_name"))
}

/// `PRETTY_NAME` of os-release(5).
pub(super) fn os(root: &Root) -> Option<String> {
    let text = ["/etc/os-release", "/usr/lib/os-release"].into_iter().find_map(|path| root.text(path))?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim();
    let name = name.trim_matches(['"', '\'']);
    if name.is_empty() { None } else { Some(name.into()) }
}

/// Total memory, KiB; and swap as (total, used), KiB.
pub(super) fn memory(root: &Root) -> (Option<u64>, Option<(u64, u64)>) {
    let text = root.text("/proc/meminfo").unwrap_or_default();
    let field = |name: &str| -> Option<u64> {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        value.split_whitespace().next()?.parse().ok()
    };
    let swap = field("SwapTotal").map(|total| (total, total.saturating_sub(field("SwapFree").unwrap_or(total))));
    (field("MemTotal"), swap)
}

/// Ticks since boot that the hypervisor gave to others: the field `steal` in the first line of `/proc/stat`.
pub(super) fn steal_ticks(root: &Root) -> Option<u64> {
    // The rest, after the CPUs' lines, is long and not needed.
    let bytes = root.bytes("/proc/stat", 4096)?;
    let text = String::from_utf8_lossy(&bytes);
    let fields = text.lines().next()?.strip_prefix("cpu ")?;
    fields.split_whitespace().nth(7)?.parse().ok()
}

/// The limits and capabilities of this process.
pub(super) fn limits(root: &Root) -> Limits {
    let status = root.text("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok()).unwrap_or(0);
    let own = root.text("/proc/self/stat").map_or(0, |stat| tasks::priority(&stat));
    Limits {
        memlock: root.facts.memlock,
        rtprio: root.facts.rtprio.max(own.into()),
        cap_sys_nice: effective >> CAP_SYS_NICE & 1 == 1,
        cap_ipc_lock: effective >> CAP_IPC_LOCK & 1 == 1,
        cpu_dma_latency: root.can_write("/dev/cpu_dma_latency"),
    }
}
