//! Attacks: each case tries to make a figure untrue, a verdict too good or another user's file ours, and shows that the record is
//! not VALID, that the attempt is refused, or that it does no harm.
#![allow(clippy::disallowed_methods)] // a process that a test starts for itself may inherit any signal settings

mod archive;
mod arena;
mod figures;
mod files;
mod files_captures;
mod files_memory;
mod files_paths;
mod files_values;
mod lab;
mod load;
mod origin;
mod witness_machine;
mod witness_threads;
#[path = "../e2e/world.rs"]
#[allow(dead_code)] // shared with the end-to-end tests, which use all of it
mod world;

#[test]
fn a_case_has_namespaces_of_its_own() {
    arena::apart(|| {
        assert_eq!(std::process::id().min(9), std::process::id(), "a case sees only its own processes");
        assert_eq!(std::fs::read_dir("/dev/shm").unwrap().count(), 0);
    });
}
