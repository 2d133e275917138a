//! What takes root: mount disks, load kernel modules, switch the machine off.

use super::check;
use super::process::c_path;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Mounts the file system `kind` of the device (or, without one, the name) `from` on `target`, with `options` of its own.
pub fn mount(kind: &str, from: &Path, target: &Path, options: &str) -> io::Result<()> {
    let c_string = |text: &str| CString::new(text).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    let (kind, options) = (c_string(kind)?, c_string(options)?);
    let (from, target) = (c_path(from)?, c_path(target)?);
    // SAFETY: four valid C strings; the data of these file systems are text.
    check(unsafe { libc::mount(from.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, options.as_ptr().cast()) })
}

/// Loads the kernel module in `file` with `parameters` such as `delay_us=100` (`finit_module(2)`). `EEXIST` when it is there already.
pub fn load_module(file: &Path, parameters: &[String]) -> io::Result<()> {
    let parameters = CString::new(parameters.join(" ")).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let file = File::open(file)?;
    // SAFETY: a descriptor that lives through the call and a valid C string; the kernel copies both.
    let result = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), parameters.as_ptr(), 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Unloads the kernel module `name` (`delete_module(2)`).
pub fn unload_module(name: &str) -> io::Result<()> {
    let name = CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: a valid C string and flags.
    let result = unsafe { libc::syscall(libc::SYS_delete_module, name.as_ptr(), libc::O_NONBLOCK) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Restarts the machine at once, without asking anyone (`reboot(2)`). Returns only when it is refused.
pub fn restart() -> io::Error {
    // SAFETY: takes a command and touches no memory.
    unsafe { libc::reboot(libc::RB_AUTOBOOT) };
    io::Error::last_os_error()
}
