//! What the witness saw of a run: before, at intervals during, and after the measurement. Collected by the probe; here are the
//! observations and the warnings that follow ([`findings()`]).
//!
//! Looks are samples: what begins and ends between two looks is seen only where the kernel counts it (see
//! [`ThreadSeen::migrations`], [`ThreadSeen::was_ordinary`], [`ThreadSeen::waited_ns`], and the CPU time of rivals).

mod conditions;
mod findings;
mod seen;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod text_tests;
mod words;

pub use findings::findings;
pub use seen::{Change, Changed, CpuSeen, MOST, OtherRun, Rival, Starved, ThreadSeen, ThreadState, Witness};

impl Witness {
    /// A summary in one line: `11 looks, no change`.
    pub fn in_words(&self) -> String {
        let looks = if self.looks == 1 { "1 look".into() } else { format!("{} looks", self.looks) };
        let mut all: Vec<String> = self.threads.iter().filter_map(findings::thread_in_short).collect();
        all.extend(self.starved.iter().map(|s| format!("starved at {}", words::seconds(s.at))));
        all.extend(self.changes.iter().map(conditions::in_short));
        let ran = |r: &Rival| format!("{} ran {}", r.in_words(), words::amount(r.ran_ns));
        all.extend(self.rivals.iter().filter(|r| !r.kernel).map(ran));
        all.extend(self.other_runs.iter().map(|o| format!("another run, pid {}", o.pid)));
        if all.is_empty() {
            return format!("{looks}, no change");
        }
        let more = all.len().saturating_sub(6);
        all.truncate(6);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        format!("{looks}: {}{more}", all.join("; "))
    }
}
