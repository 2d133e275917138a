//! Whether the machine is virtual, and whether this process runs in a container.

use super::processor::line;
use super::root::Root;

/// The hypervisor; `None` on bare metal, as far as can be told.
///
/// On x86, cpuinfo's flag `hypervisor` decides, because vendors write the same names into the firmware tables
/// of their bare-metal machines. Elsewhere, only the firmware tables and the device tree can tell.
pub(super) fn hypervisor(root: &Root, cpuinfo: &str, clocksources: &[String]) -> Option<String> {
    let flags = line(cpuinfo, "flags");
    let flagged = flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    if line(cpuinfo, "vendor_id") == Some("User Mode Linux") {
        return Some("uml".into());
    }
    if root.facts.uname.release.to_ascii_lowercase().contains("microsoft") {
        return Some("wsl".into());
    }
    let by_firmware = firmware(root, flags.is_none() || flagged);
    let by_clock = || {
        let offers = |part: &str| clocksources.iter().any(|name| name.contains(part));
        [("kvm-clock", "kvm"), ("hyperv", "hyperv"), ("xen", "xen"), ("vmware", "vmware")]
            .into_iter()
            .find_map(|(part, name)| offers(part).then(|| name.to_owned()))
    };
    let by_kernel = || root.value("/sys/hypervisor/type").filter(|kind| kind != "none");
    by_firmware.or_else(by_kernel).or_else(|| device_tree(root)).or_else(by_clock).or_else(|| flagged.then(|| "hypervisor".into()))
}

/// The hypervisor by the names in DMI. With `sure`, names that the vendor also uses for bare metal are accepted.
fn firmware(root: &Root, sure: bool) -> Option<String> {
    let names: Vec<String> = ["sys_vendor", "product_name", "board_vendor", "bios_vendor"]
        .into_iter()
        .filter_map(|file| root.value(&format!("/sys/class/dmi/id/{file}")))
        .collect();
    let has = |part: &str| names.iter().any(|name| name.contains(part));
    let always = [
        ("QEMU", "qemu"),
        ("KVM", "kvm"),
        ("VMware", "vmware"),
        ("VirtualBox", "virtualbox"),
        ("innotek GmbH", "virtualbox"),
        ("Bochs", "bochs"),
        ("Parallels", "parallels"),
        ("HVM domU", "xen"),
        ("BHYVE", "bhyve"),
        ("Apple Virtualization", "apple"),
    ];
    if let Some((_, name)) = always.into_iter().find(|(part, _)| has(part)) {
        return Some(name.into());
    }
    if !sure || names.iter().any(|name| name.contains(".metal")) {
        return None;
    }
    let vendors =
        [("Amazon EC2", "amazon"), ("Google Compute Engine", "google"), ("Virtual Machine", "hyperv"), ("OpenStack", "openstack")];
    vendors.into_iter().find(|(part, _)| has(part)).map(|(_, name)| name.into())
}

fn device_tree(root: &Root) -> Option<String> {
    let compatible = root.value("/proc/device-tree/hypervisor/compatible");
    if let Some(text) = compatible {
        let known = ["kvm", "xen", "vmware", "jailhouse"].into_iter().find(|name| text.contains(name));
        return Some(known.map_or(text.clone(), str::to_owned));
    }
    let board = root.value("/proc/device-tree/compatible")?;
    board.contains("linux,dummy-virt").then(|| "qemu".into())
}

/// The kind of container; `None` outside of any, as far as can be told.
pub(super) fn container(root: &Root) -> Option<String> {
    if let Some(name) = root.value("/run/systemd/container") {
        return Some(name);
    }
    if root.exists("/run/.containerenv") {
        return Some("podman".into());
    }
    if root.exists("/.dockerenv") {
        return Some("docker".into());
    }
    // Set for process 1 by whatever started it (systemd's container interface). Only root can read it.
    let environment = root.bytes("/proc/1/environ", 64 * 1024).unwrap_or_default();
    let told = environment.split(|&b| b == 0).find_map(|entry| entry.strip_prefix(b"container="));
    if let Some(name) =
        told.map(|name| String::from_utf8_lossy(name).replace(|c: char| c.is_control(), "?")).filter(|name| !name.is_empty())
    {
        return Some(name);
    }
    let groups = root.text("/proc/1/cgroup").unwrap_or_default();
    let kinds =
        [("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc"), ("containerd", "containerd")];
    let kind = kinds.into_iter().find(|(part, _)| groups.lines().any(|line| line.contains(part)));
    kind.map(|(_, name)| name.into()).or_else(|| (root.exists("/proc/vz") && !root.exists("/proc/bc")).then(|| "openvz".into()))
}
