//! Waits end when the process is asked to end. The only test of its process, since all later waits end at once too.

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::time::Duration;

#[test]
fn a_lock_that_never_comes_is_given_up_when_the_process_is_to_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock");
    let held = File::create(&path).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let ours = rtscope_files::open_own(&path).unwrap();
    let mut waits = 0;
    let end = std::thread::spawn(|| {
        std::thread::sleep(Duration::from_millis(100));
        rtscope_files::interrupt();
    });
    let given_up = rtscope_files::lock_patiently(&ours, || waits += 1).unwrap_err();
    assert_eq!((given_up.kind(), waits), (std::io::ErrorKind::Interrupted, 1));
    end.join().unwrap();
    drop(held);
    rtscope_files::lock_patiently(&ours, || waits += 1).unwrap();
    assert!(rtscope_files::interrupted() && waits == 1);
}
