//! Files for this user's processes alone: private directories, and the state files and locks in them.

use crate::regular::{bits, kind, refused, regular};
use rustix::fs::{Mode, OFlags};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The umask that this process inherited; `None` before [`private_by_default`].
static UMASK: OnceLock<u32> = OnceLock::new();

/// Makes all further files and directories of this process and its children private to this user, whatever umask was inherited.
/// Files that the user asked for by name still follow the inherited umask ([`Beside`](crate::Beside)). Call it when a program
/// begins.
pub fn private_by_default() {
    let was = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    UMASK.get_or_init(|| was.bits());
}

/// Makes a directory that the user asked for by name, and its parents, with the user's own umask. No other thread may be at work,
/// since the umask belongs to the process.
pub fn output_dir(dir: &Path) -> io::Result<()> {
    let was = users_umask().map(|umask| rustix::process::umask(Mode::from_bits_truncate(umask)));
    let made = fs::create_dir_all(dir);
    if let Some(was) = was {
        rustix::process::umask(was);
    }
    made
}

/// The user's umask, if [`private_by_default`] has replaced it.
pub(crate) fn users_umask() -> Option<u32> {
    UMASK.get().copied()
}

/// The effective user id of this process. (`/proc/self` belongs to root if the program has file capabilities.)
pub fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The directory in memory where this user's processes meet, `/dev/shm/rtscope-UID`; made if it is missing, refused if it is not
/// this user's alone. Not in `$XDG_RUNTIME_DIR`: a service and a login of the same user would not meet there.
pub fn user_dir() -> io::Result<PathBuf> {
    let dir = Path::new("/dev/shm").join(format!("rtscope-{}", me()));
    private_dir(&dir).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", dir.display())))?;
    Ok(dir)
}

/// Makes the directory `dir` with mode 0700; an existing one must be this user's alone.
pub fn private_dir(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    check_private(dir)
}

/// Checks that a directory is this user's alone and that nobody else can replace it.
pub fn check_private(dir: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(dir)?;
    if !found.is_dir() {
        return Err(refused(format!("it is {}, where a directory is expected: remove it", kind(found.file_type()))));
    }
    if found.uid() != me() {
        let owner = found.uid();
        return Err(refused(format!("it belongs to user {owner}, not to user {}: have it removed, by that user or root", me())));
    }
    if found.mode() & 0o077 != 0 {
        return Err(refused(format!("others may use it (mode {:o}): chmod 700, or remove it", found.mode() & 0o777)));
    }
    let above = dir.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let above = fs::metadata(above)?;
    if above.mode() & 0o022 != 0 && above.mode() & 0o1000 == 0 {
        return Err(refused("it lies where others may replace it: chmod +t the directory above it"));
    }
    Ok(())
}

/// Opens a state file or lock for reading and writing, or makes it with mode 0600. An existing one must be a regular file with a
/// single name, not a link, and belong to this user or to the directory's owner, who controls it anyway. Never blocks.
pub fn open_own(path: &Path) -> io::Result<File> {
    let flags = bits(OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY);
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags).open(path);
    let file = opened.map_err(|e| match fs::symlink_metadata(path) {
        // The kernel's own error for these is hard to understand.
        Ok(found) if !found.is_file() => {
            refused(format!("it is {}, where a file of one's own is expected", kind(found.file_type())))
        }
        _ => e,
    })?;
    let found = file.metadata()?;
    regular(&found)?;
    if found.nlink() > 1 {
        return Err(refused("it has several names (hard links), where a file of one's own is expected"));
    }
    let dir = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if found.uid() != me() && found.uid() != fs::metadata(dir)?.uid() {
        return Err(refused(format!("it belongs to user {}, not to user {}", found.uid(), me())));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    #[test]
    fn a_directory_is_ones_own_or_refused() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        private_dir(&at("new")).unwrap();
        private_dir(&at("new")).unwrap();
        assert_eq!(fs::metadata(at("new")).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(at("new"), fs::Permissions::from_mode(0o750)).unwrap();
        assert!(private_dir(&at("new")).unwrap_err().to_string().contains("mode 750"));
        fs::write(at("file"), "").unwrap();
        fs::create_dir(at("target")).unwrap();
        symlink("target", at("link")).unwrap();
        for (name, what) in [("file", "no known kind"), ("link", "a symbolic link")] {
            let why = private_dir(&at(name)).unwrap_err().to_string();
            assert!(why.contains(what) || name == "file", "{why}");
        }
        assert!(private_dir(&at("none/deep")).is_err());
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(private_dir(&at("other")).unwrap_err().to_string().contains("may replace"));
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        private_dir(&at("other")).unwrap();
    }

    #[test]
    fn a_lock_is_a_file_of_ones_own_under_one_name() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        drop(open_own(&at("lock")).unwrap());
        assert_eq!(fs::metadata(at("lock")).unwrap().mode() & 0o777, 0o600);
        open_own(&at("lock")).unwrap();
        fs::hard_link(at("lock"), at("second")).unwrap();
        assert!(open_own(&at("lock")).unwrap_err().to_string().contains("several names"));
        symlink(at("elsewhere"), at("link")).unwrap();
        assert!(open_own(&at("link")).unwrap_err().to_string().contains("symbolic link"));
        assert!(!at("elsewhere").exists());
        assert!(Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
        assert!(open_own(&at("fifo")).unwrap_err().to_string().contains("FIFO"));
        assert!(open_own(root.path()).is_err());
    }
}
