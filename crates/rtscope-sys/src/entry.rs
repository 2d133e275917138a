//! What Rust's runtime does before `main`, for a program that runs without it.

/// Ignores SIGPIPE, so that writing to a closed pipe gives an error, and opens `/dev/null` for closed standard streams, so that no
/// file opened later gets their numbers.
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
