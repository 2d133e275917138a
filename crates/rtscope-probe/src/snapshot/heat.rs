//! Temperatures, and throttling because of heat or undervoltage.

use super::root::Root;
use rtscope_record::System;
use rtscope_record::system::Temperature;

/// Bits of the Raspberry Pi's firmware flags (Raspberry Pi documentation, `vcgencmd get_throttled`): the
/// current state. The same bits, 16 higher, tell what has happened since boot.
const FIRMWARE: [(u32, &str); 4] =
    [(0, "undervoltage"), (1, "ARM frequency capped"), (2, "throttled"), (3, "soft temperature limit active")];

/// Fills in the temperatures and what is known about throttling.
pub(super) fn collect(root: &Root, system: &mut System) {
    system.temperatures = zones(root);
    system.throttle_count = counters(root, &system.cpu.online);
    let flags = firmware_flags(root);
    let (now, mut before) = (current(root, flags), named(flags, 16));
    if let Some(count) = system.throttle_count.filter(|&count| count > 0) {
        before.push(format!("{count} thermal throttle events"));
    }
    let words = |names: Vec<String>| if names.is_empty() { None } else { Some(names.join(", ")) };
    system.throttling = words(now);
    system.throttled_since_boot = words(before);
}

/// What the firmware currently reports about throttling, as text; "nothing" if there is none. `None` if it does
/// not report at all.
pub(crate) fn slowed_down_now(root: &Root) -> Option<String> {
    let flags = firmware_flags(root);
    let now = current(root, flags);
    let speaks = flags.is_some() || undervoltage_alarm(root).is_some();
    if now.is_empty() { speaks.then(|| "nothing".into()) } else { Some(now.join(", ")) }
}

fn named(flags: Option<u32>, shift: u32) -> Vec<String> {
    FIRMWARE.iter().filter(|(bit, _)| flags.unwrap_or(0) >> (bit + shift) & 1 == 1).map(|&(_, name)| name.into()).collect()
}

fn current(root: &Root, flags: Option<u32>) -> Vec<String> {
    let mut now = named(flags, 0);
    if undervoltage_alarm(root) == Some(true) && !now.iter().any(|name| name == FIRMWARE[0].1) {
        now.push(FIRMWARE[0].1.into());
    }
    now
}

fn zones(root: &Root) -> Vec<Temperature> {
    let dir = "/sys/class/thermal";
    let zone = |n: u32| {
        let own = format!("{dir}/thermal_zone{n}");
        let trips = root.numbers_in(&own, "trip_point_", "_type").into_iter().filter_map(|trip| {
            let kind = root.value(&format!("{own}/trip_point_{trip}_type"))?;
            let at: i64 = root.number(&format!("{own}/trip_point_{trip}_temp"))?;
            // Drivers write a trip point at or below freezing to mean "not set".
            (matches!(kind.as_str(), "passive" | "hot" | "critical") && at > 0).then_some(at)
        });
        Some(Temperature {
            zone: root.value(&format!("{own}/type")).unwrap_or_else(|| format!("thermal_zone{n}")),
            milli_celsius: root.number(&format!("{own}/temp"))?,
            trip_milli_celsius: trips.min(),
        })
    };
    root.numbers(dir, "thermal_zone").into_iter().filter_map(zone).collect()
}

/// The sum of all cores' counters. The package's counter is the same on all of its CPUs, and counts events that
/// the cores' do not.
fn counters(root: &Root, online: &[u32]) -> Option<u64> {
    let count = |n: &u32, name: &str| root.number::<u64>(&format!("/sys/devices/system/cpu/cpu{n}/thermal_throttle/{name}"));
    let cores: Vec<u64> = online.iter().filter_map(|n| count(n, "core_throttle_count")).collect();
    let package = online.iter().filter_map(|n| count(n, "package_throttle_count")).max();
    if cores.is_empty() && package.is_none() {
        return None;
    }
    Some(cores.into_iter().chain(package).fold(0, u64::saturating_add))
}

/// The flags are below `soc/soc:firmware` up to the Raspberry Pi 4, and elsewhere on later ones.
fn firmware_flags(root: &Root) -> Option<u32> {
    let dir = "/sys/devices/platform";
    let socs = root.names(dir).into_iter().filter(|name| name.starts_with("soc"));
    let read = |soc: &String| {
        let firmware = root.names(&format!("{dir}/{soc}")).into_iter().filter(|name| name.contains("firmware"));
        let nested = firmware.map(|name| format!("{dir}/{soc}/{name}/get_throttled"));
        let text = nested.chain([format!("{dir}/{soc}/get_throttled")]).find_map(|path| root.value(&path))?;
        u32::from_str_radix(text.strip_prefix("0x").unwrap_or(&text), 16).ok()
    };
    socs.into_iter().find_map(|soc| read(&soc))
}

/// The mainline driver of the same machine reports only this, through its hardware monitor.
fn undervoltage_alarm(root: &Root) -> Option<bool> {
    let dir = "/sys/class/hwmon";
    let names = root.names(dir);
    let mut monitors = names.iter().filter(|name| root.value(&format!("{dir}/{name}/name")).is_some_and(|kind| kind == "rpi_volt"));
    let alarm = root.value(&format!("{dir}/{}/in0_lcrit_alarm", monitors.next()?))?;
    Some(alarm == "1")
}
