//! Namespaces for one case: its own processes, mounts, network and an empty `/dev/shm`, so that an attack affects nothing else.

use std::sync::{Mutex, PoisonError};

/// Environment variable that is set inside the namespaces.
const INSIDE: &str = "RTSCOPE_ARENA";

/// One case at a time: an attack that takes a CPU away must not affect another case.
static ONE: Mutex<()> = Mutex::new(());

/// Runs `case` in its own namespaces, by running this test again inside them. Skipped without root.
#[track_caller]
pub(crate) fn apart(case: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return case();
    }
    if !crate::world::root() {
        return crate::world::skip("namespaces take root");
    }
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let name = std::thread::current().name().expect("a test's thread has its name").to_owned();
    let set_up = "mount -t tmpfs -o mode=1777 none /dev/shm && ip link set lo up && exec \"$@\"";
    let out = rtscope_sys::process::command("unshare")
        .args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--net", "--ipc", "sh", "-c", set_up, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, errors) = (text(&out.stdout), text(&out.stderr));
    assert!(out.status.success() && said.contains("1 passed"), "{name}: {}\n{said}\n{errors}", out.status);
}
