//! Which CPUs the guest's kernel set aside, as it shows them itself; read only where its command line asks for some.

use rtscope_lab::vm::messages::SetAside;
use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;

const CPUS: &str = "/sys/devices/system/cpu";

/// How the kernel's log names the CPUs whose RCU callbacks other CPUs run; no file has them.
const OFFLOADED: &str = "Offload RCU callbacks from CPUs: ";

/// Most records of the log that are read; a boot leaves some hundred.
const RECORDS: usize = 20_000;

/// What the kernel shows.
pub(super) fn set_aside() -> SetAside {
    let cmdline = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    if !SetAside::ASKED_BY.iter().any(|name| cmdline.replace('-', "_").contains(name)) {
        return SetAside::default();
    }
    let list = |name: &str| fs::read_to_string(format!("{CPUS}/{name}")).ok().map(|text| text.trim().to_owned());
    SetAside { isolated: list("isolated"), nohz_full: list("nohz_full"), rcu_nocbs: log().find_map(|record| offloaded(&record)) }
}

/// The records of the kernel's log; none where it can't be read.
fn log() -> impl Iterator<Item = String> {
    let mut file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg").ok();
    let mut room = [0; 8192];
    std::iter::from_fn(move || {
        // A record that was overwritten meanwhile gives an error, after which the next can be read.
        for _ in 0..RECORDS {
            match file.as_mut()?.read(&mut room) {
                Ok(n) if n > 0 => return Some(String::from_utf8_lossy(&room[..n]).into_owned()),
                Err(e) if e.raw_os_error() == Some(libc::EPIPE) => {}
                _ => return None,
            }
        }
        None
    })
    .take(RECORDS)
}

/// The list of CPUs in a record of the log, if it has that; empty where there are none.
fn offloaded(record: &str) -> Option<String> {
    let (_, rest) = record.lines().next()?.split_once(OFFLOADED)?;
    let list = rest.trim_end().trim_end_matches('.');
    Some(if list == "(none)" { String::new() } else { list.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_names_the_cpus_without_callbacks() {
        let of = |text: &str| offloaded(&format!("6,93,0,-;rcu: \\x09{text}\n"));
        assert_eq!(of("Offload RCU callbacks from CPUs: 1-3,5."), Some("1-3,5".into()));
        assert_eq!(of("Offload RCU callbacks from CPUs: (none)."), Some(String::new()));
        assert_eq!(of("Poll for callbacks from no-CBs CPUs."), None);
        assert_eq!(offloaded(""), None);
    }
}
