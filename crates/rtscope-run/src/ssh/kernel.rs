//! A kernel's package on a board: installed so that the next boot, and only that, is its own; kept; removed again.
//!
//! The board's side is `kernel.sh`. It needs Debian's package tools, and a boot loader that can be told what to boot once: GRUB
//! (`grub-reboot`, <https://www.gnu.org/software/grub/manual/grub/>), or the Raspberry Pi's firmware (`tryboot`,
//! <https://www.raspberrypi.com/documentation/computers/config_txt.html>).

use super::connection::Connection;
use super::host::Ssh;
use crate::target::TargetError;
use rtscope_files::digest;
use rtscope_load::StopHandle;
use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

const SCRIPT: &str = include_str!("kernel.sh");
/// Longest text of the board that is repeated, characters.
const LONGEST: usize = 300;
/// Most lines of a failed program's log that are repeated, the last ones.
const MOST_LOG: usize = 15;
/// Most lines of it that a board may send: it has more to say where undoing fails too.
const MOST_SENT: usize = 200;
/// Time between two attempts to reach a board that reboots.
const PAUSE: Duration = Duration::from_secs(3);

/// The kernel that runs on a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// `uname -r`.
    pub release: String,
    /// `uname -v`, which names the preemption model.
    pub version: String,
    /// Identity of this boot.
    boot: String,
}

/// What became of a kernel that is to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// Its release; it is gone, and the boot loader is as it was.
    Removed(String),
    /// It runs; from the next boot on the old one does.
    StillRuns {
        /// Its release.
        release: String,
        /// Release of the old one.
        old: String,
    },
}

impl Ssh {
    /// Installs a kernel's Debian package: the next boot is this kernel's, the one after is again that of the kernel that runs. Returns the new
    /// kernel's release and the old one's. If it fails, the board is as it was. Stopped in between, the board goes on to the end.
    pub fn install_kernel(
        &self,
        package: &Path,
        stop: &StopHandle,
        say: &mut dyn FnMut(String),
    ) -> Result<(String, Running), TargetError> {
        let bytes = rtscope_files::read(package, rtscope_files::LARGE).map_err(|e| TargetError::Usage {
            message: format!("{}: {e}", package.display()),
            remedy: "name a kernel's Debian package, such as one of rtscope kernel build --deb DIR".into(),
        })?;
        if !bytes.starts_with(b"!<arch>\ndebian-binary") {
            return Err(TargetError::Usage {
                message: format!("{} is not a Debian package", package.display()),
                remedy: "name a kernel's Debian package, such as one of rtscope kernel build --deb DIR".into(),
            });
        }
        let (mut there, running, loader) = self.greet(stop)?;
        let loader = if loader == "grub" { "GRUB" } else { "the Raspberry Pi's firmware" };
        say(format!("{} runs {} ({}), booted by {loader}", self.address, running.release, running.version));
        // If one of these fails, the answer will show it.
        let _ = there.voice.say("install");
        let _ = there.voice.say(&format!("{} {}", bytes.len(), digest::bytes(&bytes)));
        let _ = there.voice.send(&bytes);
        loop {
            match self.told(&mut there, stop)? {
                (what, release) if what == "installed" => return Ok((release, running)),
                (what, of) if what == "installing" => {
                    say(format!("installing {of}: dpkg, and what the board does after it (minutes on a slow one)"));
                }
                (what, _) => return Err(garbled(&what)),
            }
        }
    }

    /// Reboots into the kernel that was installed, for this boot, and waits until the board answers.
    pub fn try_kernel(&self, wait: Duration, stop: &StopHandle, say: &mut dyn FnMut(String)) -> Result<Running, TargetError> {
        let (mut there, before, _) = self.greet(stop)?;
        let _ = there.voice.say("try");
        let release = self.answer(&mut there, stop, "rebooting")?;
        drop(there);
        say(format!("{} reboots into {release}", self.address));
        let now = self.after_reboot(&before, wait, stop, say)?;
        if now.release == release {
            return Ok(now);
        }
        Err(TargetError::Probe {
            message: format!("{} is back with {}: {release} did not boot, or ended in a panic", self.address, now.release),
            remedy: format!("its console says why; take it away: rtscope kernel remove --to {}", self.address),
        })
    }

    /// Makes the kernel that was tried and runs the one of every boot. Returns its release.
    pub fn keep_kernel(&self, stop: &StopHandle) -> Result<String, TargetError> {
        let (mut there, ..) = self.greet(stop)?;
        let _ = there.voice.say("keep");
        self.answer(&mut there, stop, "kept")
    }

    /// Removes the kernel that was installed, and what was changed for it; if it runs, has the old one boot next.
    pub fn remove_kernel(&self, stop: &StopHandle) -> Result<Removal, TargetError> {
        let (mut there, ..) = self.greet(stop)?;
        let _ = there.voice.say("remove");
        let (what, rest) = self.told(&mut there, stop)?;
        Ok(match rest.split_once(' ') {
            Some((release, old)) if what == "running" => Removal::StillRuns { release: release.into(), old: old.into() },
            _ if what == "removed" => Removal::Removed(rest),
            _ => return Err(garbled(&what)),
        })
    }

    /// Reboots and waits until the board answers.
    pub fn reboot(&self, wait: Duration, stop: &StopHandle, say: &mut dyn FnMut(String)) -> Result<Running, TargetError> {
        let (mut there, before, _) = self.greet(stop)?;
        let _ = there.voice.say("restart");
        self.answer(&mut there, stop, "rebooting")?;
        drop(there);
        say(format!("{} reboots", self.address));
        self.after_reboot(&before, wait, stop, say)
    }

    /// Connects, as root there; what runs, and which boot loader there is.
    fn greet(&self, stop: &StopHandle) -> Result<(Connection, Running, String), TargetError> {
        let mut there = Connection::open_as_root(&self.options.way, &self.address, SCRIPT)?;
        let breaker = there.breaker();
        stop.on_stop(move || breaker.cut());
        let first = Self::line(&mut there, stop)?;
        let words: Vec<&str> = first.split(' ').collect();
        let ["machine", boot, release, loader] = words[..] else { return Err(garbled(&first)) };
        let second = Self::line(&mut there, stop)?;
        let version = second.strip_prefix("version ").ok_or_else(|| garbled(&second))?;
        let running = Running { release: release.into(), version: version.chars().take(LONGEST).collect(), boot: boot.into() };
        Ok((there, running, loader.into()))
    }

    fn line(there: &mut Connection, stop: &StopHandle) -> Result<String, TargetError> {
        there.marked().map_err(|e| if stop.is_stopped() { TargetError::Interrupted } else { e })
    }

    /// The rest of the line that begins with `word`.
    fn answer(&self, there: &mut Connection, stop: &StopHandle, word: &str) -> Result<String, TargetError> {
        match self.told(there, stop)? {
            (what, rest) if what == word => Ok(rest),
            (what, _) => Err(garbled(&what)),
        }
    }

    /// The next word of the board's side and what follows it; its errors as errors.
    fn told(&self, there: &mut Connection, stop: &StopHandle) -> Result<(String, String), TargetError> {
        let mut log = Log::default();
        loop {
            let line = Self::line(there, stop)?;
            let line: String = line.chars().take(LONGEST).collect();
            let (what, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match what {
                "log" if log.takes(rest) => {}
                "log" => return Err(garbled(&line)),
                "error" => return Err(self.refused(rest, &log.text())),
                _ => return Ok((what.into(), rest.into())),
            }
        }
    }

    /// What an error of the board's side means.
    fn refused(&self, said: &str, log: &str) -> TargetError {
        let at = &self.address;
        let (code, rest) = said.split_once(' ').unwrap_or((said, ""));
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        let usage = matches!(code, "not-a-kernel" | "architecture" | "there-already" | "none" | "not-running" | "there" | "kept");
        let remove = format!("rtscope kernel remove --to {at}");
        let as_it_was = format!("{at} is as it was");
        let (message, remedy) = match code {
            "there" => {
                (format!("{at} has a kernel of rtscope kernel install already: {rest}"), format!("remove it first: {remove}"))
            }
            "no-dpkg" => {
                (format!("{at} has no dpkg, so no Debian package can be installed"), "install the kernel there by hand".into())
            }
            "no-loader" => (
                format!(
                    "{at} is booted neither by GRUB nor by a Raspberry Pi's firmware, so no kernel can be booted once, with a way back"
                ),
                "install the kernel there by hand, with another medium at hand to boot from".into(),
            ),
            "no-room" => (format!("{at} has no room for a file in {rest}"), "free space there".into()),
            "short" | "damaged" => {
                (format!("the package did not arrive at {at} as it was sent"), "is there room in /var/lib? Try again".into())
            }
            "not-a-kernel" => (
                format!("the package is called `{rest}`, and a kernel's is linux-image-RELEASE"),
                "of what rtscope kernel build --deb DIR made, name linux-image-*.deb, without -dbg".into(),
            ),
            "architecture" => (
                format!("the package is for {first}, and {at} is {second}"),
                format!("rtscope kernel build --arch {second} --deb DIR"),
            ),
            "there-already" => (
                format!("{at} already has a kernel {rest}"),
                "build it under another name: rtscope kernel build --name NAME --deb DIR".into(),
            ),
            "grub" => (format!("{at}: {rest}"), format!("{as_it_was}; without a boot that GRUB forgets there is no way back")),
            "tryboot" => {
                (format!("{rest} on {at} has tryboot.txt or a directory rtscope that are not of this"), "move them away".into())
            }
            "dpkg" => (format!("dpkg could not install {rest} on {at}"), as_it_was),
            "no-image" => (format!("the package put no /boot/vmlinuz-{rest} on {at}"), as_it_was),
            "update-grub" => (format!("update-grub failed on {at}"), format!("mend what it says, then: {remove}")),
            "pi" => (format!("kernel, device trees and configuration could not be put into {rest} on {at}"), as_it_was),
            "once" => (format!("the boot loader of {at} could not be told what to boot next"), remove),
            "purge" => (format!("dpkg could not remove {rest} on {at}"), format!("mend what it says, then: {remove}")),
            "busy" => match first {
                "receiving" => (
                    format!("{at} is being sent the package of a rtscope kernel install, or waits for it since the connection was lost"),
                    format!("wait, or end that: {remove}"),
                ),
                "reboot" => (format!("{at} is about to reboot"), "wait until it answers again".into()),
                _ => (
                    format!("a rtscope kernel {first} is still at work on {at}"),
                    "wait until it has ended; a lost connection does not end it. What it does is in /var/lib/rtscope/kernel/log there".into(),
                ),
            },
            "unfinished" => (format!("the installation of {rest} on {at} was cut off"), format!("undo it: {remove}")),
            "none" => {
                (format!("{at} has no kernel of rtscope kernel install"), format!("rtscope kernel install FILE.deb --to {at}"))
            }
            "kept" => (format!("{rest} is already the kernel of every boot on {at}"), format!("rtscope board add {at}")),
            "not-running" => (format!("{at} runs {first}, not {second}"), format!("try it first: rtscope kernel try --to {at}")),
            _ => (format!("{at}: {said}"), remove),
        };
        let message = message + log;
        if usage { TargetError::Usage { message, remedy } } else { TargetError::Probe { message, remedy } }
    }

    /// Waits for another boot than `before`.
    fn after_reboot(
        &self,
        before: &Running,
        wait: Duration,
        stop: &StopHandle,
        say: &mut dyn FnMut(String),
    ) -> Result<Running, TargetError> {
        let began = Instant::now();
        loop {
            let pause = Instant::now();
            while pause.elapsed() < PAUSE {
                if stop.is_stopped() {
                    return Err(TargetError::Interrupted);
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            match self.greet(stop) {
                Ok((_, now, _)) if now.boot != before.boot => {
                    say(format!("{} answers again after {} s", self.address, began.elapsed().as_secs()));
                    return Ok(now);
                }
                Err(TargetError::Interrupted) => return Err(TargetError::Interrupted),
                Ok(_) | Err(_) if began.elapsed() < wait => {}
                Ok(_) => {
                    return Err(TargetError::Probe {
                        message: format!("{} did not reboot within {} s", self.address, wait.as_secs()),
                        remedy: "reboot it by hand".into(),
                    });
                }
                Err(e) => {
                    return Err(TargetError::Probe {
                        message: format!(
                            "{} does not answer {} s after it began to reboot: {e}",
                            self.address,
                            began.elapsed().as_secs()
                        ),
                        remedy: format!(
                            "if it hangs, switch it off and on: it boots {} again; if it takes longer: --wait 15m",
                            before.release
                        ),
                    });
                }
            }
        }
    }
}

/// The log of a failed program, as the board sends it.
#[derive(Debug, Default)]
struct Log {
    /// The last lines.
    last: VecDeque<String>,
    sent: usize,
}

impl Log {
    /// Takes in a line, unless there were too many.
    fn takes(&mut self, line: &str) -> bool {
        self.sent += 1;
        if self.last.len() == MOST_LOG {
            self.last.pop_front();
        }
        self.last.push_back(line.into());
        self.sent <= MOST_SENT
    }

    /// What is said of it behind an error; nothing of an empty one.
    fn text(&self) -> String {
        let line = |text: String, line: &String| text + "\n" + line;
        if self.last.is_empty() { String::new() } else { self.last.iter().fold("; it said:".into(), line) }
    }
}

fn garbled(line: &str) -> TargetError {
    let shown: String = line.chars().take(LONGEST).collect();
    TargetError::Probe {
        message: format!("the board answers what it was not asked: `{}`", shown.escape_debug()),
        remedy: "log in there once: does its shell say or change something by itself?".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_log_the_end_is_said() {
        let mut log = Log::default();
        assert_eq!(log.text(), "");
        assert!((1..=30).all(|n| log.takes(&n.to_string())), "as many as an undoing that fails sends");
        let text = log.text();
        assert!(text.starts_with("; it said:\n16\n17\n") && text.ends_with("\n30"), "{text}");
        assert!((31..=MOST_SENT).all(|n| log.takes(&n.to_string())));
        assert!(!log.takes("and on it goes"));
    }
}
