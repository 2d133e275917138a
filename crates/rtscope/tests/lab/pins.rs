//! A real kernel behind the FPGA instrument's pins. The gateware's emulator drives a GPIO of QEMU's `ast2600-evb`, on which
//! Debian's PREEMPT_RT kernel for 32-bit Arm runs the DUT, and stamps the answers.
//!
//! This tests function, not timing: QEMU's clock is the host's. Run by `./x pins`, which names the emulator (`RTSCOPE_EMULATOR`)
//! and the probe for the guest (`RTSCOPE_PINS`).

use crate::{Lab, cache};
use cpio::newc::{Builder, ModeFileType, trailer};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const KERNEL: &str = "debian/6.12-rt/armhf";
/// The DUT's input and output are pins of GPIO A.
const GPIO: &str = "/machine/soc/gpio";
const INPUT: &str = "gpioA0";
const OUTPUT: &str = "gpioA1";
/// How long a booting guest may take.
const BOOT: Duration = Duration::from_secs(240);

/// A child process, killed when dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// QEMU's control channel (QMP).
struct Qmp(BufReader<UnixStream>);

impl Qmp {
    fn connect(path: &Path) -> Self {
        let mut qmp = Self(BufReader::new(wait_for(path, || UnixStream::connect(path).ok())));
        qmp.line();
        qmp.run("qmp_capabilities", &json!({}));
        qmp
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn run(&mut self, command: &str, arguments: &Value) -> Value {
        let words = json!({ "execute": command, "arguments": arguments });
        writeln!(self.0.get_mut(), "{words}").unwrap();
        loop {
            let mut answer = self.line();
            assert!(answer.get("error").is_none(), "{command}: {answer}");
            if let Some(value) = answer.get_mut("return") {
                return value.take();
            }
        }
    }

    fn set(&mut self, pin: &str, level: bool) {
        self.run("qom-set", &json!({ "path": GPIO, "property": pin, "value": level }));
    }

    fn get(&mut self, pin: &str) -> bool {
        self.run("qom-get", &json!({ "path": GPIO, "property": pin })).as_bool().unwrap()
    }
}

fn wait_for<T>(what: &Path, mut found: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + BOOT;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < end, "{}: nothing in {BOOT:?}", what.display());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Carries levels between the pins of the emulator and the guest until `stop`; returns how many went each way.
fn carry(mut qmp: Qmp, mut wires: UnixStream, stop: &AtomicBool) -> (u64, u64) {
    wires.set_nonblocking(true).unwrap();
    let (mut there, mut back, mut waiting) = (0, 0, VecDeque::new());
    let mut level = qmp.get(OUTPUT);
    let mut free = Instant::now();
    while !stop.load(Relaxed) {
        let mut room = [0; 64];
        if let Ok(n) = wires.read(&mut room) {
            waiting.extend(room[..n].iter().map(|b| *b == b'1'));
        }
        // QEMU's GPIO loses an interrupt that comes before the previous one was served, so edges go one at a time.
        if Instant::now() >= free {
            if let Some(next) = waiting.pop_front() {
                qmp.set(INPUT, next);
                there += 1;
                free = Instant::now() + Duration::from_secs(2);
            }
        }
        let now = qmp.get(OUTPUT);
        if now != level {
            level = now;
            back += 1;
            free = Instant::now();
            wires.write_all(if level { b"1" } else { b"0" }).unwrap();
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    (there, back)
}

/// The first file called `name` below `dir`.
fn find(dir: &Path, name: &str) -> PathBuf {
    let mut open = vec![dir.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => open.push(entry.path()),
                _ if entry.file_name() == name => return entry.path(),
                _ => {}
            }
        }
    }
    panic!("there is no {name}")
}

const INIT: &str = "#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox insmod /gpio-aspeed.ko
exec /bin/probe dut /plan.json
";

/// Makes the guest's initramfs: busybox, the GPIO's driver, and the probe as the DUT.
fn image(kernel: &Path, probe: &Path, to: &Path) {
    let packed = find(kernel, "gpio-aspeed.ko.xz");
    let driver = Command::new("xz").arg("-dc").arg(packed).output().unwrap().stdout;
    let settings = json!({ "input": "gpio:gpiochip0/0", "output": "gpio:gpiochip0/1", "priority": 90, "inject": {} });
    let plan = json!({ "settings": settings, "load": "none" }).to_string();
    let busybox = fs::read(cache().join("tools/armhf/root/usr/bin/busybox")).unwrap();
    let files: [(&str, u32, Vec<u8>); 5] = [
        ("bin/busybox", 0o755, busybox),
        ("bin/probe", 0o755, fs::read(probe).unwrap()),
        ("gpio-aspeed.ko", 0o644, driver),
        ("init", 0o755, INIT.into()),
        ("plan.json", 0o644, plan.into()),
    ];
    let mut out = fs::File::create(to).unwrap();
    let mut number = 0;
    let mut add = |name: &str, kind: ModeFileType, mode: u32, bytes: &[u8]| {
        number += 1;
        let entry = Builder::new(name).ino(number).nlink(1).mode(mode).set_mode_file_type(kind);
        let mut entry = entry.write(&mut out, u32::try_from(bytes.len()).unwrap());
        entry.write_all(bytes).unwrap();
        entry.finish().unwrap();
    };
    for dir in ["bin", "dev", "proc", "sys"] {
        add(dir, ModeFileType::Directory, 0o755, &[]);
    }
    for (name, mode, bytes) in &files {
        add(name, ModeFileType::Regular, *mode, bytes);
    }
    trailer(&mut out).unwrap();
}

#[test]
fn a_real_kernel_answers_the_gateware() {
    let (Some(emulator), Some(probe)) = (std::env::var_os("RTSCOPE_EMULATOR"), std::env::var_os("RTSCOPE_PINS")) else {
        println!("left out: ./x pins runs it");
        return;
    };
    let lab = Lab::new();
    lab.line(&format!("lab kernels fetch {KERNEL}")).ends_with(0);
    let kernel = cache().join("kernels").join(KERNEL);
    let at = |name: &str| lab.0.path(name);
    image(&kernel, Path::new(&probe), &at("image"));

    let place = |kind: &str, name: &str, more: &str| format!("{kind}:{}{more}", at(name).display());
    let mut qemu = Command::new("qemu-system-arm");
    qemu.args(["-M", "ast2600-evb", "-display", "none", "-nodefaults", "-no-reboot", "-append", "console=ttyS4,115200 quiet"]);
    qemu.arg("-kernel").arg(kernel.join("vmlinuz")).arg("-initrd").arg(at("image"));
    qemu.arg("-dtb").arg(find(&kernel, "aspeed-ast2600-evb.dtb"));
    qemu.args(["-serial", &place("file", "console", ""), "-qmp", &place("unix", "qmp", ",server=on,wait=off")]);
    let _qemu = Program(qemu.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let mut program = Command::new(emulator);
    program.arg("--wires").arg(at("wires")).arg("--link").arg(at("port")).stdout(Stdio::null());
    let _emulator = Program(program.spawn().unwrap());

    let qmp = Qmp::connect(&at("qmp"));
    let wires = wait_for(&at("wires"), || UnixStream::connect(at("wires")).ok());
    // The DUT reports on the console that it listens, and on which kernel.
    let listens = |text: &str| text.lines().find(|l| l.contains("\"listening\"")).map(str::to_owned);
    let said = wait_for(&at("console"), || listens(&fs::read_to_string(at("console")).unwrap_or_default()));
    assert!(said.contains("rt-armmp"), "{said}");

    let stop = Arc::new(AtomicBool::new(false));
    let carrier = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || carry(qmp, wires, &stop)
    });
    let port = place("fpga", "port", "");
    let words = format!("measure response --answer {port} -i 250ms --timeout 250ms -l 40 --warmup 2 --dut none --no-save --json");
    let said = lab.line(&words);
    stop.store(true, Relaxed);
    let (there, back) = carrier.join().unwrap();
    let record: Value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {}", said.err));
    let sum = |key: &str| record["distributions"].as_array().unwrap().iter().map(|d| d[key].as_u64().unwrap_or(0)).sum::<u64>();
    println!("{there} levels there, {back} back; {} answers in time, {} missed, {} late", sum("count"), sum("missed"), sum("late"));
    assert_eq!((sum("count") + sum("missed"), sum("spurious")), (40, 0), "{record}");
    // However busy this host is: the loop through gateware, serial line and kernel and back is closed.
    assert!(sum("count") >= 20, "{record}");
    assert!(there >= 42 && back >= sum("count"), "{there} there, {back} back");
}
