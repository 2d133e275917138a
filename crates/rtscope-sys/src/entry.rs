//! What Rust's runtime does for a process before its `main`, for a program that does without it.

/// Has what is written to nobody be an error and not the end (SIGPIPE), and fills closed standard streams, so that no file that is opened later
/// is taken for one.
pub fn prepare() {
    for fd in 0..=2 {
        // SAFETY: integers and a literal that ends with a zero byte; the lowest free descriptor is this one.
        unsafe {
            if libc::fcntl(fd, libc::F_GETFD) < 0 {
                libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            }
        }
    }
    // SAFETY: integers only.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}
