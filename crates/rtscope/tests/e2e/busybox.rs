//! A board as small as boards are: busybox and dropbear in a root directory of its own, no compiler, a full /tmp and a noexec one.
//! `RTSCOPE_STATIC_PROBE` names the probe that goes there.

use crate::sshd::{command, configure, keygen};
use crate::world::{World, codes, end_of, installed, root, skip, wait_for};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Makes the board's root directory and becomes its ssh server, in namespaces that end with it. Arguments: the root, the port.
const BOARD: &str = r#"set -e
root=$1
mkdir -p "$root/bin" "$root/etc" "$root/proc" "$root/dev" "$root/tmp" "$root/var/tmp" "$root/run"
cp "$(command -v busybox)" "$root/bin/busybox"
for name in sh sed cut id mktemp rm chmod head wc uname cat sha256sum mkdir kill awk cmp cp grep ls mv sleep sync tail tr; do
    ln -sf busybox "$root/bin/$name"
done
# Busybox's shell prefers its own applets to the programs that a test put there.
if [ -e "$root/usr/bin/tools" ]; then
    rm "$root/bin/sh"
    cp -L "$(command -v dash)" "$root/bin/sh"
fi
for file in $(ldd "$root/bin/busybox" "$root/bin/sh" /usr/sbin/dropbear | grep -o '/[^ :]*' | grep -v "^$root") /usr/sbin/dropbear; do
    mkdir -p "$root/$(dirname "$file")"
    cp -L "$file" "$root/$file"
done
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'root:*:19000:0:99999:7:::' >"$root/etc/shadow"
echo 'root:x:0:' >"$root/etc/group"
echo /bin/sh >"$root/etc/shells"
chown -R 0:0 "$root/root"
mount -t proc proc "$root/proc"
mount -t tmpfs none "$root/dev"
for node in null zero urandom ptmx; do
    : >"$root/dev/$node"
    mount --bind "/dev/$node" "$root/dev/$node"
done
[ ! -f "$root/run/boot_id" ] || mount --bind "$root/run/boot_id" "$root/proc/sys/kernel/random/boot_id"
mkdir "$root/dev/shm"
mount -t tmpfs -o size=1m none "$root/tmp"
mount -t tmpfs -o noexec none "$root/var/tmp"
mount -t tmpfs -o size=16m none "$root/dev/shm"
exec chroot "$root" /usr/sbin/dropbear -F -E -s -p "127.0.0.1:$2" -r /root/host -P /run/dropbear.pid
"#;

pub(crate) struct Board {
    child: Child,
    pub(crate) dir: PathBuf,
}

/// Why there can be no such board here; says so.
pub(crate) fn cannot() -> bool {
    let why = if !root() {
        "only root can make the board's root directory"
    } else if !["dropbear", "dropbearkey", "busybox", "ssh"].iter().all(|p| installed(p)) {
        "busybox or dropbear is not installed (apt-get install busybox-static dropbear-bin openssh-client)"
    } else if !Command::new("unshare").args(MOUNTS).stderr(Stdio::null()).status().is_ok_and(|s| s.success()) {
        "nothing can be mounted in this container"
    } else {
        return false;
    };
    skip(why);
    true
}

const MOUNTS: [&str; 6] = ["--mount", "--pid", "--fork", "sh", "-c", "mount -t tmpfs none /mnt && mount -t proc proc /mnt"];

impl Board {
    /// The board, with the probe that goes there, and what else is put into its root directory.
    pub(crate) fn start(w: &World, probe: Option<&Path>, more: impl FnOnce(&Path)) -> Self {
        let dir = w.path("board");
        let login = dir.join("root/root/.ssh");
        for made in [&login, &dir.join("probes")] {
            fs::create_dir_all(made).unwrap();
        }
        keygen(&dir.join("key"));
        fs::copy(dir.join("key.pub"), login.join("authorized_keys")).unwrap();
        let host = Command::new("dropbearkey").args(["-t", "ed25519", "-f"]).arg(dir.join("root/root/host")).output().unwrap();
        let public = String::from_utf8(host.stdout).unwrap();
        let public = public.lines().find(|l| l.starts_with("ssh-")).unwrap_or_else(|| panic!("{public}"));
        for (arch, probe) in ["amd64", "arm64", "armhf"].iter().filter_map(|arch| probe.map(|p| (arch, p))) {
            fs::copy(probe, dir.join(format!("probes/rtscope-probe-{arch}"))).unwrap();
        }
        more(&dir.join("root"));
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        fs::write(dir.join("known"), format!("[127.0.0.1]:{port} {public}\n")).unwrap();
        configure(&dir, port, "known", "key");
        let log = fs::File::create(dir.join("log")).unwrap();
        let mut c = Command::new("unshare");
        c.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", BOARD, "board"])
            .arg(dir.join("root"))
            .arg(port.to_string());
        let mut child = c.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        wait_for("the board's ssh server", || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}: {}", fs::read_to_string(dir.join("log")).unwrap());
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        Self { child, dir }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_board_with_busybox_and_dropbear_is_measured() {
    let Some(probe) = std::env::var_os("RTSCOPE_STATIC_PROBE") else { return skip("RTSCOPE_STATIC_PROBE is not set") };
    if cannot() {
        return;
    }
    let w = World::new();
    let board = Board::start(&w, Some(Path::new(&probe)), |_| ());
    let said = end_of(command(&board.dir, &w, "board add board -D 500ms").spawn().unwrap()).ends_with(0);
    assert!(said.out.contains("Next: ") && said.out.contains("max us"), "{}", said.out);
    let [record] = &w.records()[..] else { panic!("one run") };
    assert_eq!((record.parts().target.as_str(), record.distributions()[0].parts().expected), ("ssh:board", Some(500)));
    assert!(!codes(record).contains(&"priority-refused"), "{:?}", codes(record));
    // What was there is gone, wherever it was.
    for place in ["tmp", "var/tmp", "dev/shm", "root"] {
        let inside = format!("/proc/{}/root", init_of(&board.child));
        let left =
            fs::read_dir(format!("{inside}/{place}")).unwrap().flatten().map(|e| e.file_name().to_string_lossy().into_owned());
        assert_eq!(left.filter(|name| name.contains("rtscope")).count(), 0, "{place}");
    }
}

/// The server itself, the first process of its namespace.
fn init_of(unshare: &Child) -> u32 {
    *crate::world::children(unshare.id()).first().unwrap()
}
