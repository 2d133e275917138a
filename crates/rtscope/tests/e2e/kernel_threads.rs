//! Threads of the kernel whose priority is set for a run: it is back, whatever ends the run. Over ssh that waits for a connection that is given
//! up; in `tuning`, at the end of all tests, nothing else would run meanwhile.

use crate::sshd::{Sshd, missing};
use crate::tuning::settable;
use crate::world::{World, skip, wait_for};
use std::fs;

/// Real-time priority and policy of the first CPU's thread for soft interrupts (proc_pid_stat(5)); `None` where the kernel's threads are not seen.
fn ksoftirqd() -> Option<[String; 2]> {
    let found = fs::read_dir("/proc").unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(path.join("stat")).ok()?;
        text.split_once(") ").filter(|(start, _)| start.ends_with("(ksoftirqd/0")).map(|(_, rest)| rest.to_owned())
    })?;
    // The fields from the third on.
    let field = |n: usize| found.split(' ').nth(n - 3).unwrap().to_owned();
    Some([field(40), field(41)])
}

#[test]
fn a_thread_of_the_kernel_gets_its_priority_back() {
    let Some(_choice) = settable() else { return };
    let Some(own) = ksoftirqd() else { return skip("the kernel's threads are not seen here") };
    let set = || (ksoftirqd() == Some(["37".into(), "1".into()])).then_some(());
    let back = || (ksoftirqd().as_ref() == Some(&own)).then_some(());
    let words = |length: &str| format!("measure timer -D {length} -a 0 --json --tune ksoftirqd-priority=37");
    let w = World::new();
    let record = w.line(&words("300ms")).measured().record();
    assert_eq!(record.parts().settings.tuning.to_string(), "ksoftirqd-priority=37");
    assert_eq!(ksoftirqd().as_ref(), Some(&own));
    let mut child = w.start(&words("1h"));
    wait_for("the priority", set);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("the kernel's own priority", back);
    if let Some(why) = missing() {
        return skip(why);
    }
    // The connection ends with whoever made it; the other end puts back what was.
    let sshd = Sshd::start(&w);
    let mut child = sshd.command(&w, &format!("{} --target ssh:board", words("1h"))).spawn().unwrap();
    wait_for("the priority over ssh", set);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("the kernel's own priority over ssh", back);
}
