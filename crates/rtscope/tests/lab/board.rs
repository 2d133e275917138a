//! A board over ssh as small as boards are: a guest of its own with Debian's kernel, busybox and dropbear; no compiler, nothing of rtscope.
//! Its clock is the host's: this tests function, says how long the first table took, and holds the work for it below a limit. Work is counted
//! in CPU time, which other programs on the host lengthen by little: 8.4 s alone, 10.5 s beside eight busy ones.
//! `RTSCOPE_STATIC_PROBE` names the probe that goes there.

use crate::sshd::{command, configure, keygen};
use crate::world::{codes, end_of, installed, skip};
use crate::{Lab, STOCK, cache, wanted};
use cpio::newc::{Builder, ModeFileType, trailer};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a booting guest may take.
const BOOT: Duration = Duration::from_secs(600);
/// How long a user may wait for the table of a board that is up, when the machine has nothing else to do: the CPU time of the guest, and the
/// measurement.
const FIRST_TABLE: Duration = Duration::from_secs(60);
/// How long `board add` measures.
const MEASURED: Duration = Duration::from_secs(5);
/// The first process: mounts, the network card with QEMU's address for guests, and the ssh server.
const INIT: &str = "#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o size=1m none /tmp
mount -t tmpfs -o noexec none /var/tmp
mount -t tmpfs -o size=16m none /dev/shm
unxz </lib/e1000.ko.xz >/run/e1000.ko
insmod /run/e1000.ko
ip link set lo up
ip address add 10.0.2.15/24 dev eth0
ip link set eth0 up
exec dropbear -F -E -s -r /root/host
";
const APPLETS: [&str; 20] = [
    "cat",
    "chmod",
    "cut",
    "head",
    "id",
    "insmod",
    "ip",
    "kill",
    "mkdir",
    "mktemp",
    "mount",
    "rm",
    "sed",
    "sh",
    "sha256sum",
    "sleep",
    "tail",
    "uname",
    "unxz",
    "wc",
];

/// The guest; ends when dropped.
struct Qemu(Child);

impl Drop for Qemu {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_guest_with_busybox_and_dropbear_is_a_board() {
    let Some(probe) = std::env::var_os("RTSCOPE_STATIC_PROBE") else { return skip("RTSCOPE_STATIC_PROBE is not set") };
    if !wanted() || cfg!(not(target_arch = "x86_64")) {
        return;
    }
    if !["dropbear", "dropbearkey", "busybox", "ssh", "qemu-system-x86_64"].iter().all(|p| installed(p)) {
        return skip("busybox, dropbear or QEMU is not installed (apt-get install busybox-static dropbear-bin openssh-client)");
    }
    let lab = Lab::new();
    lab.line(&format!("lab kernels fetch {STOCK}")).ends_with(0);
    let kernel = cache().join("kernels").join(STOCK);
    let dir = lab.0.path("board");
    fs::create_dir_all(dir.join("probes")).unwrap();
    fs::copy(&probe, dir.join("probes/rtscope-probe-amd64")).unwrap();
    keygen(&dir.join("key"));
    let host = Command::new("dropbearkey").args(["-t", "ed25519", "-f"]).arg(dir.join("host")).output().unwrap();
    let public = String::from_utf8(host.stdout).unwrap();
    let public = public.lines().find(|l| l.starts_with("ssh-")).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    fs::write(dir.join("known"), format!("[127.0.0.1]:{port} {public}\n")).unwrap();
    configure(&dir, port, "known", "key");
    // Whoever runs the tests, there is only root on the board. The last block is for every host.
    let mut config = fs::OpenOptions::new().append(true).open(dir.join("config")).unwrap();
    config.write_all(b"  User root\n").unwrap();
    image(&dir, &kernel);

    let console = fs::File::create(dir.join("console")).unwrap();
    let mut c = Command::new("qemu-system-x86_64");
    c.args([
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-accel",
        "tcg",
        "-cpu",
        "max",
        "-m",
        "512",
        "-smp",
        "2",
        "-serial",
        "stdio",
    ]);
    // Packets leave for nowhere but the forwarded port of 127.0.0.1.
    c.arg("-netdev")
        .arg(format!("user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22"))
        .args(["-device", "e1000,netdev=net,romfile="]);
    c.arg("-kernel")
        .arg(kernel.join("vmlinuz"))
        .arg("-initrd")
        .arg(dir.join("image"))
        .args(["-append", "console=ttyS0 rdinit=/init net.ifnames=0"]);
    let mut qemu = Qemu(c.stdin(Stdio::null()).stdout(console.try_clone().unwrap()).stderr(console).spawn().unwrap());
    let began = Instant::now();
    // QEMU takes connections from the start; the server there greets.
    while !greets(port) {
        let log = fs::read_to_string(dir.join("console")).unwrap_or_default();
        let end: String = log.chars().rev().take(1500).collect::<Vec<_>>().into_iter().rev().collect();
        assert!(qemu.0.try_wait().unwrap().is_none() && began.elapsed() < BOOT, "the guest did not come up: {end}");
        std::thread::sleep(Duration::from_millis(500));
    }
    println!("the board was up after {} s", began.elapsed().as_secs());

    let cpu_time = || Duration::from_nanos(rtscope_sys::process::cpu_time(qemu.0.id()).unwrap());
    let (began, worked) = (Instant::now(), cpu_time());
    let said = end_of(command(&dir, &lab.0, "board add board").spawn().unwrap()).ends_with(0);
    let worked = cpu_time().saturating_sub(worked);
    println!(
        "board add: first table after {:.1} s, for which the guest had {:.1} s of CPU time",
        began.elapsed().as_secs_f64(),
        worked.as_secs_f64()
    );
    assert!(MEASURED + worked < FIRST_TABLE, "{worked:?}");
    assert!(said.out.contains("Next: ") && said.out.contains("max us"), "{}", said.out);
    let [record] = &lab.0.records()[..] else { panic!("one run") };
    let threads = record.distributions();
    assert_eq!((record.parts().target.as_str(), threads.len()), ("ssh:board", 2));
    // 5 s of the default interval; what was missed on a slow host is counted too.
    assert!(threads.iter().all(|d| d.parts().expected == Some(5000)), "{}", said.out);
    let system = &record.parts().system;
    let release = fs::read_dir(kernel.join("lib/modules")).unwrap().next().unwrap().unwrap().file_name();
    assert_eq!(Some(system.kernel.release.as_str()), release.to_str());
    assert!(!codes(record).contains(&"priority-refused"), "{:?}", codes(record));
    let listed = end_of(command(&dir, &lab.0, "board list").spawn().unwrap()).ends_with(0);
    assert!(listed.out.contains("ssh:board"), "{}", listed.out);
    // What was there is gone, wherever it was.
    let mut ssh = Command::new("ssh");
    ssh.arg("-F").arg(dir.join("config")).args(["board", "cat /proc/mounts; echo; echo /tmp/* /var/tmp/* /dev/shm/* /root/*"]);
    let left = String::from_utf8(ssh.stdin(Stdio::null()).output().unwrap().stdout).unwrap();
    assert_eq!(left.lines().last(), Some("/tmp/* /var/tmp/* /dev/shm/* /root/host"), "{left}");
}

/// Whether an ssh server answers on a port of 127.0.0.1.
fn greets(port: u16) -> bool {
    let Ok(mut there) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    there.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut said = [0; 4];
    there.read_exact(&mut said).is_ok() && &said == b"SSH-"
}

/// The board's root directory as an initial file system: busybox, dropbear with what it is linked with, the network card's module.
fn image(dir: &Path, kernel: &Path) {
    let which = |name: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut dirs = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
        dirs.find_map(|d| Some(d.join(name)).filter(|p| p.is_file())).unwrap()
    };
    let mut files: Vec<(String, PathBuf)> = Vec::new();
    for program in ["busybox", "dropbear"] {
        files.push((format!("bin/{program}"), which(program)));
        let linked = Command::new("ldd").arg(which(program)).output().unwrap().stdout;
        let linked = String::from_utf8(linked).unwrap();
        files.extend(linked.split_whitespace().filter(|w| w.starts_with('/')).map(|w| (w[1..].into(), w.into())));
    }
    let modules = fs::read_dir(kernel.join("lib/modules")).unwrap().next().unwrap().unwrap().path();
    files.push(("lib/e1000.ko.xz".into(), modules.join("kernel/drivers/net/ethernet/intel/e1000/e1000.ko.xz")));
    files.push(("root/host".into(), dir.join("host")));
    files.push(("root/.ssh/authorized_keys".into(), dir.join("key.pub")));
    let mut nodes: Vec<(String, u32, ModeFileType, Vec<u8>)> = Vec::new();
    for made in ["dev", "proc", "sys", "run", "tmp", "var/tmp"] {
        nodes.push((made.into(), 0o755, ModeFileType::Directory, Vec::new()));
    }
    for (name, from) in files {
        nodes.push((name, 0o700, ModeFileType::Regular, fs::read(&from).unwrap_or_else(|e| panic!("{}: {e}", from.display()))));
    }
    for applet in APPLETS {
        nodes.push((format!("bin/{applet}"), 0o777, ModeFileType::Symlink, b"busybox".to_vec()));
    }
    for (name, text) in [
        ("init", INIT),
        ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
        ("etc/shadow", "root:*:19000:0:99999:7:::\n"),
        ("etc/group", "root:x:0:\n"),
        ("etc/shells", "/bin/sh\n"),
    ] {
        nodes.push((name.into(), 0o755, ModeFileType::Regular, text.into()));
    }
    let mut out = fs::File::create(dir.join("image")).unwrap();
    let mut made: Vec<String> = Vec::new();
    let mut inode = 1;
    let mut write = |name: &str, mode: u32, kind: ModeFileType, content: &[u8]| {
        let entry = Builder::new(name).ino(inode).mode(mode).set_mode_file_type(kind);
        inode += 1;
        let mut to = entry.write(&mut out, u32::try_from(content.len()).unwrap());
        to.write_all(content).unwrap();
        to.finish().unwrap();
    };
    for (name, mode, kind, content) in nodes {
        let parts: Vec<&str> = name.split('/').collect();
        for i in 1..parts.len() {
            let parent = parts[..i].join("/");
            if !made.contains(&parent) {
                write(&parent, 0o755, ModeFileType::Directory, &[]);
                made.push(parent);
            }
        }
        if !made.contains(&name) {
            write(&name, mode, kind, &content);
            made.push(name);
        }
    }
    trailer(&mut out).unwrap();
}
