//! A kernel on a board for one boot, and the way back. The board has busybox and dropbear; in place of its package and boot programs
//! there are scripts that do to its files what those do: GRUB's environment block, the Raspberry Pi's tryboot, dpkg with hooks that make the
//! newest kernel the one that boots. docs/kernels.md says what was tried with the real ones.

use crate::busybox::{Board, cannot};
use crate::sshd::command;
use crate::world::{Said, World, end_of, wait_for};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// All those programs; which one goes by its name.
const TOOLS: &str = r##"#!/bin/sh
env=/boot/grub/grubenv
fw=/boot/firmware
# Hooks that fail say much.
fails() {
    [ -e /run/dpkg-fails ] || return 0
    head -c 20 /dev/zero | tr '\0' '\n' | sed 's/$/a hook failed/'
    [ ! -e /run/dpkg-fails-once ] || rm /run/dpkg-fails
    exit 1
}
entry() { echo "gnulinux-advanced-UUID>gnulinux-$1-advanced-UUID"; }
case ${0##*/} in
uname)
    case $1 in
    -r) cat /run/release ;;
    -v) echo "#1 SMP PREEMPT of $(cat /run/release)" ;;
    esac
    ;;
dpkg-deb) sed -n "s/^$3: //p" "$2" ;;
dpkg-query) [ ! -e /var/installed ] || echo 'ii ' ;;
dpkg)
    case $1 in
    --print-architecture) echo amd64 ;;
    --install)
        package=$(dpkg-deb -f "$2" Package)
        release=${package#linux-image-}
        echo "$package" >/var/installed
        mkdir -p "/lib/modules/$release" "/usr/lib/linux-image-$release/broadcom"
        : >"/usr/lib/linux-image-$release/broadcom/bcm2711-rpi-4-b.dtb"
        while [ -e /run/dpkg-waits ]; do
            sleep 1
        done
        fails
        echo "$release" >"/boot/vmlinuz-$release"
        [ ! -d $fw ] || echo "kernel=vmlinuz-$release" >>$fw/config.txt
        [ ! -d /boot/grub ] || update-grub
        ;;
    --purge)
        fails
        release=${2#linux-image-}
        rm -rf "/boot/vmlinuz-$release" "/lib/modules/$release" "/usr/lib/linux-image-$release" /var/installed
        [ ! -d /boot/grub ] || update-grub
        ;;
    esac
    ;;
grub-probe)
    case $1 in
    --target=abstraction) cat /run/abstraction 2>/dev/null ;;
    --target=fs) echo ext2 ;;
    esac
    ;;
grub-editenv)
    case $2 in
    create) : >"$1" ;;
    list) cat "$1" ;;
    unset) sed -i "/^$3=/d" "$1" ;;
    set)
        sed -i "/^${3%%=*}=/d" "$1"
        echo "$3" >>"$1"
        ;;
    esac
    ;;
update-grub)
    GRUB_DEFAULT=0
    for file in /etc/default/grub.d/*.cfg; do
        [ ! -f "$file" ] || . "$file"
    done
    {
        echo 'if [ "${next_entry}" ] ; then set default="${next_entry}" ; fi'
        [ "$GRUB_DEFAULT" != saved ] || echo 'set default="${saved_entry}"'
        echo "linux $GRUB_CMDLINE_LINUX"
        newest=$(ls /boot/vmlinuz-* | tail -n 1)
        echo "menuentry 'Debian' \$menuentry_id_option 'gnulinux-simple-UUID' { ${newest#/boot/vmlinuz-}"
        echo '}'
        echo "submenu 'Advanced' \$menuentry_id_option 'gnulinux-advanced-UUID' {"
        for file in /boot/vmlinuz-*; do
            [ -e /run/no-entries ] && [ "${file#*6.17}" != "$file" ] || printf "\tmenuentry 'Linux' --class os \$menuentry_id_option 'gnulinux-%s-advanced-UUID' {\n\t}\n" "${file#/boot/vmlinuz-}"
        done
        echo '}'
    } >/boot/grub/grub.cfg
    ;;
reboot)
    if [ -d $fw ]; then
        config=$fw/config.txt
        [ "$1" != '0 tryboot' ] || [ ! -f $fw/tryboot.txt ] || config=$fw/tryboot.txt
        prefix=$(sed -n 's/^os_prefix=//p' $config | tail -n 1)
        kernel=$(sed -n 's/^kernel=//p' $config | tail -n 1)
        release=$(cat "$fw/$prefix$kernel")
        cat "$fw/${prefix}cmdline.txt" >/run/cmdline
    else
        at=$(sed -n 's/^next_entry=//p' $env)
        grub-editenv $env unset next_entry
        saved=$(sed -n 's/^saved_entry=//p' $env)
        newest=$(ls /boot/vmlinuz-* | tail -n 1)
        default=$(entry "${newest#/boot/vmlinuz-}")
        ! grep -q saved_entry /boot/grub/grub.cfg || default=$saved
        release=''
        for one in "$at" "$default"; do
            for file in /boot/vmlinuz-*; do
                # What is broken ends in a panic, and the machine starts anew.
                [ -n "$release" ] || [ "$(entry "${file#/boot/vmlinuz-}")" != "$one" ] || [ "$(cat "$file")" = broken ] || release=${file#/boot/vmlinuz-}
            done
        done
        sed -n 's/^linux//p' /boot/grub/grub.cfg >/run/cmdline
    fi
    echo "$release" >/run/release
    cat /proc/sys/kernel/random/uuid >/run/boot_id
    ;;
esac
"##;
const NAMES: [&str; 8] = ["uname", "dpkg", "dpkg-deb", "dpkg-query", "grub-probe", "grub-editenv", "update-grub", "reboot"];
const OLD: &str = "6.1.0-1-amd64";
const NEW: &str = "6.17.13-rt";

/// A board with the old kernel, before anything is installed.
fn board(w: &World, prepare: impl FnOnce(&Path)) -> Board {
    Board::start(w, None, |root| {
        for made in ["usr/bin", "run", "boot", "etc/default/grub.d", "var/lib", "lib/modules", "usr/lib"] {
            fs::create_dir_all(root.join(made)).unwrap();
        }
        let tools = root.join("usr/bin/tools");
        fs::write(&tools, TOOLS).unwrap();
        fs::set_permissions(&tools, fs::Permissions::from_mode(0o755)).unwrap();
        for name in NAMES {
            symlink("tools", root.join("usr/bin").join(name)).unwrap();
        }
        fs::write(root.join("run/boot_id"), "first\n").unwrap();
        fs::write(root.join("run/release"), format!("{OLD}\n")).unwrap();
        fs::write(root.join(format!("boot/vmlinuz-{OLD}")), format!("{OLD}\n")).unwrap();
        prepare(root);
    })
}

fn with_grub(root: &Path) {
    fs::create_dir_all(root.join("boot/grub")).unwrap();
    fs::write(root.join("boot/grub/grubenv"), "").unwrap();
    let menu = format!(
        "menuentry 'Debian' $menuentry_id_option 'gnulinux-simple-UUID' {{ {OLD}\n}}\nsubmenu 'Advanced' $menuentry_id_option 'gnulinux-advanced-UUID' \
         {{\n\tmenuentry 'Linux' --class os $menuentry_id_option 'gnulinux-{OLD}-advanced-UUID' {{\n\t}}\n}}\n"
    );
    fs::write(
        root.join("boot/grub/grub.cfg"),
        format!("if [ \"${{next_entry}}\" ] ; then set default=\"${{next_entry}}\" ; fi\nlinux \n{menu}"),
    )
    .unwrap();
}

fn with_firmware(root: &Path) {
    for made in ["boot/firmware", "sys/firmware/devicetree/base"] {
        fs::create_dir_all(root.join(made)).unwrap();
    }
    fs::write(root.join("sys/firmware/devicetree/base/model"), "Raspberry Pi 4 Model B Rev 1.4\0").unwrap();
    fs::write(root.join("boot/firmware/config.txt"), "arm_64bit=1\nkernel=kernel8.img\nauto_initramfs=1\n").unwrap();
    fs::write(root.join("boot/firmware/cmdline.txt"), "root=/dev/mmcblk0p2\n").unwrap();
    fs::write(root.join("boot/firmware/kernel8.img"), format!("{OLD}\n")).unwrap();
}

/// Everything on the board that an installation may change, with its content.
fn state(board: &Board) -> Vec<(PathBuf, String)> {
    let root = board.dir.join("root");
    let (mut left, mut found): (Vec<PathBuf>, Vec<(PathBuf, String)>) = (vec![], vec![]);
    left.extend(["boot", "etc", "var", "lib/modules", "usr/lib"].map(|d| root.join(d)));
    while let Some(path) = left.pop() {
        match fs::read_dir(&path) {
            Ok(inside) => left.extend(inside.map(|e| e.unwrap().path())),
            Err(_) => found.push((path.clone(), String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned())),
        }
    }
    found.sort();
    found
}

/// Nothing on the board is other than before.
#[track_caller]
fn is_as(board: &Board, before: &[(PathBuf, String)]) {
    let now = state(board);
    let differs: Vec<_> = now.iter().filter(|f| !before.contains(f)).chain(before.iter().filter(|f| !now.contains(f))).collect();
    assert!(differs.is_empty(), "{differs:#?}");
}

fn package(w: &World, name: &str, arch: &str) -> String {
    let text =
        format!("!<arch>\ndebian-binary   0           0     0     100644  4         `\nPackage: {name}\nArchitecture: {arch}\n");
    fs::write(w.path("kernel.deb"), text).unwrap();
    w.path("kernel.deb").display().to_string()
}

fn rt(w: &World) -> String {
    package(w, &format!("linux-image-{NEW}"), "amd64")
}

fn run(board: &Board, w: &World, words: &str) -> Said {
    end_of(command(&board.dir, w, words).spawn().unwrap())
}

fn running(board: &Board) -> String {
    fs::read_to_string(board.dir.join("root/run/release")).unwrap().trim().into()
}

/// The board reboots, whoever asked for it.
fn reboots(board: &Board) {
    let mut ssh = std::process::Command::new("ssh");
    assert!(ssh.arg("-F").arg(board.dir.join("config")).args(["board", "reboot"]).status().unwrap().success());
}

#[test]
fn grub_boots_a_kernel_once_until_it_is_kept() {
    if cannot() {
        return;
    }
    let w = World::new();
    let board = board(&w, with_grub);
    let before = state(&board);
    let said = run(&board, &w, &format!("kernel install {} --to board", rt(&w))).ends_with(0);
    assert!(
        said.out.contains("rtscope kernel try --to ssh:board") || said.out.contains("rtscope kernel try --to board"),
        "{}",
        said.out
    );
    assert_eq!(running(&board), OLD);
    let said = run(&board, &w, "kernel try --to board").ends_with(0);
    assert!(said.out.contains(&format!("board runs {NEW}: #1 SMP PREEMPT")), "{}", said.out);
    assert_eq!(running(&board), NEW);
    let cmdline = || fs::read_to_string(board.dir.join("root/run/cmdline")).unwrap();
    assert!(cmdline().contains("panic=30"), "{}", cmdline());
    // The boot after that.
    reboots(&board);
    assert_eq!(running(&board), OLD);
    let said = run(&board, &w, "kernel keep --to board").ends_with(2);
    assert!(said.err.contains(&format!("runs {OLD}, not {NEW}")), "{}", said.err);
    let said = run(&board, &w, &format!("kernel install {} --to board", rt(&w))).ends_with(2);
    assert!(said.err.contains("rtscope kernel remove --to ssh:board"), "{}", said.err);
    run(&board, &w, "kernel try --to board").ends_with(0);
    run(&board, &w, "kernel keep --to board").ends_with(0);
    reboots(&board);
    assert_eq!(running(&board), NEW);
    assert!(!cmdline().contains("panic"), "{}", cmdline());
    run(&board, &w, "kernel try --to board").ends_with(2);
    let said = run(&board, &w, "kernel remove --to board").ends_with(3);
    assert!(said.err.contains("--reboot"), "{}", said.err);
    run(&board, &w, "kernel remove --to board --reboot").ends_with(0);
    assert_eq!(running(&board), OLD);
    is_as(&board, &before);
    run(&board, &w, "kernel remove --to board").ends_with(2);
}

#[test]
fn a_kernel_that_does_not_boot_leaves_the_board_with_the_old_one() {
    if cannot() {
        return;
    }
    let w = World::new();
    let board = board(&w, with_grub);
    let before = state(&board);
    run(&board, &w, &format!("kernel install {} --to board", rt(&w))).ends_with(0);
    fs::write(board.dir.join(format!("root/boot/vmlinuz-{NEW}")), "broken\n").unwrap();
    let said = run(&board, &w, "kernel try --to board").ends_with(3);
    assert!(said.err.contains(&format!("is back with {OLD}: {NEW} did not boot")), "{}", said.err);
    run(&board, &w, "kernel remove --to board").ends_with(0);
    is_as(&board, &before);
}

#[test]
fn a_raspberry_pi_tries_a_kernel_until_it_is_kept() {
    if cannot() {
        return;
    }
    let w = World::new();
    let board = board(&w, with_firmware);
    let before = state(&board);
    let said = run(&board, &w, &format!("kernel install {} --to board --reboot", rt(&w))).ends_with(0);
    assert!(said.err.contains("booted by the Raspberry Pi's firmware"), "{}", said.err);
    assert_eq!(running(&board), NEW);
    let file = |name: &str| fs::read_to_string(board.dir.join("root").join(name)).unwrap();
    assert_eq!(file("run/cmdline"), "root=/dev/mmcblk0p2 panic=30\n");
    // The package's hook, which made it the kernel of every boot, was undone.
    assert!(!file("boot/firmware/config.txt").contains(NEW));
    reboots(&board);
    assert_eq!(running(&board), OLD);
    run(&board, &w, "kernel try --to board").ends_with(0);
    run(&board, &w, "kernel keep --to board").ends_with(0);
    reboots(&board);
    assert_eq!((running(&board).as_str(), file("run/cmdline").as_str()), (NEW, "root=/dev/mmcblk0p2\n"));
    run(&board, &w, "kernel remove --to board --reboot").ends_with(0);
    assert_eq!(running(&board), OLD);
    is_as(&board, &before);
}

/// What the board knows to be at work.
fn busy(board: &Board) -> Option<String> {
    fs::read_to_string(board.dir.join("root/var/lib/rtscope/kernel/busy")).ok().filter(|text| text.ends_with('\n'))
}

#[test]
fn an_installation_goes_on_without_its_connection_and_nothing_comes_between() {
    if cannot() {
        return;
    }
    let w = World::new();
    let board = board(&w, with_grub);
    let before = state(&board);
    let waits = board.dir.join("root/run/dpkg-waits");
    fs::write(&waits, "").unwrap();
    let package = rt(&w);
    let mut child = command(&board.dir, &w, &format!("kernel install {package} --to board")).spawn().unwrap();
    wait_for("dpkg to be at work", || board.dir.join("root/lib/modules").join(NEW).exists().then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    let at_work = busy(&board).unwrap();
    assert!(at_work.starts_with("install "), "{at_work}");
    for words in ["try", "keep", "remove", "remove --reboot", &format!("install {package}")] {
        let said = run(&board, &w, &format!("kernel {words} --to board")).ends_with(3);
        said.complains(&["rtscope kernel install is still at work on ssh:board", "wait until it has ended"]);
    }
    assert_eq!(busy(&board).unwrap(), at_work);
    fs::remove_file(&waits).unwrap();
    wait_for("the installation to end", || busy(&board).is_none().then_some(()));
    run(&board, &w, "kernel try --to board").ends_with(0);
    assert_eq!(running(&board), NEW);
    run(&board, &w, "kernel remove --to board --reboot").ends_with(0);
    is_as(&board, &before);
}

#[test]
fn what_was_cut_off_is_not_tried_and_what_only_waits_is_ended() {
    if cannot() {
        return;
    }
    let w = World::new();
    let board = board(&w, with_grub);
    let before = state(&board);
    let there = board.dir.join("root/var/lib/rtscope/kernel");
    run(&board, &w, &format!("kernel install {} --to board", rt(&w))).ends_with(0);
    // As a power cut in the middle of it leaves it; its number has another process by now.
    let undo = fs::read_to_string(there.join("undo")).unwrap();
    let cut: String = undo.split_inclusive('\n').filter(|line| !line.starts_with("new=")).collect();
    fs::write(there.join("undo"), cut).unwrap();
    fs::write(there.join("busy"), "install 1 1 first\n").unwrap();
    let grubenv = board.dir.join("root/boot/grub/grubenv");
    let order = fs::read_to_string(&grubenv).unwrap();
    let boot = || fs::read_to_string(board.dir.join("root/run/boot_id")).unwrap();
    run(&board, &w, "kernel try --to board")
        .ends_with(3)
        .complains(&[&format!("the installation of {NEW} on ssh:board was cut off")]);
    assert_eq!((boot().as_str(), fs::read_to_string(&grubenv).unwrap()), ("first\n", order));
    run(&board, &w, "kernel remove --to board").ends_with(0);
    is_as(&board, &before);
    // A connection that went without a word leaves an installation that waits for the rest of its package.
    let waits = "mkdir -p /var/lib/rtscope/kernel; echo \"receiving $$ $(cut -d' ' -f22 /proc/$$/stat) first\" >/var/lib/rtscope/kernel/busy; exec sleep 600";
    let mut ssh = std::process::Command::new("ssh");
    let mut ssh = ssh.arg("-F").arg(board.dir.join("config")).args(["board", waits]).spawn().unwrap();
    wait_for("the installation to wait", || busy(&board));
    let said = run(&board, &w, &format!("kernel install {} --to board", rt(&w))).ends_with(3);
    said.complains(&["waits for it since the connection was lost", "rtscope kernel remove --to ssh:board"]);
    run(&board, &w, "kernel remove --to board").ends_with(0);
    wait_for("it to end", || ssh.try_wait().unwrap());
    is_as(&board, &before);
}

#[test]
fn what_would_have_no_way_back_is_refused_and_undone() {
    if cannot() {
        return;
    }
    let w = World::new();
    let mut lines = Vec::new();
    let mut refused = |board: &Board, package: &str, code: i32| {
        let before = state(board);
        let said = run(board, &w, &format!("kernel install {package} --to board")).ends_with(code);
        is_as(board, &before);
        lines.extend(said.err.lines().filter(|l| l.contains("error: ")).map(|l| l.replace("rtscope: error: ", "")));
    };
    {
        let board = board(&w, with_grub);
        let at = |name: &str| board.dir.join("root/run").join(name);
        refused(&board, &package(&w, "firmware-linux", "amd64"), 2);
        refused(&board, &package(&w, "linux-image-6.17.13-rt", "arm64"), 2);
        refused(&board, &package(&w, &format!("linux-image-{OLD}"), "amd64"), 2);
        fs::write(at("abstraction"), "lvm\n").unwrap();
        refused(&board, &rt(&w), 3);
        fs::remove_file(at("abstraction")).unwrap();
        fs::write(at("dpkg-fails"), "").unwrap();
        // Undoing it fails too: both say more than is repeated.
        let said = run(&board, &w, &format!("kernel install {} --to board", rt(&w))).ends_with(3);
        assert!(said.err.contains("dpkg could not remove linux-image-6.17.13-rt on ssh:board; it said:"), "{}", said.err);
        assert_eq!(said.err.matches("a hook failed").count(), 15, "{}", said.err);
        fs::remove_file(at("dpkg-fails")).unwrap();
        run(&board, &w, "kernel remove --to board").ends_with(0);
        for name in ["dpkg-fails", "dpkg-fails-once"] {
            fs::write(at(name), "").unwrap();
        }
        // What failed is undone; update-grub has written its menu anew.
        run(&board, &w, &format!("kernel install {} --to board", rt(&w))).ends_with(3).complains(&["dpkg could not install"]);
        refused(
            &board,
            &{
                fs::write(at("no-entries"), "").unwrap();
                rt(&w)
            },
            3,
        );
    }
    fs::remove_dir_all(w.path("board")).unwrap();
    refused(&board(&w, |_| ()), &rt(&w), 3);
    let wanted = [
        "the package is called `firmware-linux`, and a kernel's is linux-image-RELEASE",
        "the package is for arm64, and ssh:board is amd64",
        "ssh:board already has a kernel 6.1.0-1-amd64",
        "ssh:board: GRUB can't write to /boot/grub, which is on lvm",
        "ssh:board: its menu got no entry for 6.17.13-rt",
        "ssh:board is booted neither by GRUB nor by a Raspberry Pi's firmware, so no kernel can be booted once, with a way back",
    ];
    assert_eq!(lines, wanted);
}
