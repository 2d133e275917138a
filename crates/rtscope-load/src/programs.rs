//! Finds the system's programs, and runs the one that configures networks.

use rtscope_sys as sys;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

/// Finds a program in `$PATH` or in the system directories that an ordinary user's `$PATH` lacks.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(system)
        .map(|dir| dir.join(name))
        .find(|file| fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0))
}

/// Runs iproute2. Must not run while another thread reaps children by [`sys::process::reap`].
pub(crate) fn ip(args: &[&str]) -> Result<(), String> {
    let program = find_program("ip").ok_or("`ip` is not installed: apt-get install iproute2")?;
    let command = format!("ip {}", args.join(" "));
    let out = sys::process::command(program).args(args).stdin(Stdio::null()).output().map_err(|e| format!("`{command}`: {e}"))?;
    let said = String::from_utf8_lossy(&out.stderr);
    if out.status.success() { Ok(()) } else { Err(format!("`{command}`: {}", said.trim())) }
}
