//! Scripts for the target's shell: any POSIX shell, with coreutils or busybox.
//!
//! A shell may read the script byte by byte and leave the rest of its standard input to other programs, or it may read ahead. So
//! everything is in one function, nothing follows its call, and the driver sends more only after the script has printed
//! something.

/// Prints the machine's architecture and the usable CPUs.
pub(super) const LOOK: &str = r#"rtscope() {
    printf 'rtscope-ssh/1 %s %s\n' "$(uname -m)" "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"
}
rtscope; exit
"#;

/// Prints the kernel's release, and what stress-ng says of its stressors; without stress-ng only the former.
pub(super) const STRESSORS: &str = r#"rtscope() {
    LC_ALL=C
    export LC_ALL
    printf 'rtscope-ssh/1 kernel %s\n' "$(uname -r)"
    stress-ng --stressors 2>/dev/null </dev/null | sed 's#^#rtscope-ssh/1 list #'
    stress-ng --class 'cpu?' 2>&1 </dev/null | sed 's#^#rtscope-ssh/1 class #'
    stress-ng --help 2>/dev/null </dev/null | sed 's#^#rtscope-ssh/1 help #'
    echo 'rtscope-ssh/1 end'
}
rtscope; exit
"#;

/// Makes a private directory where programs may run, if possible with room for any of them; prints the architecture and the
/// directory; reads the probe's size and SHA-256 (one line) and the probe itself; checks it and prints its version; and, when told
/// to go on, becomes the probe as a keeper. Whatever fails, the directory is removed. (PIPE is what the shell gets when it prints to a
/// connection that is gone; it would end it without the trap on EXIT.)
pub(super) const KEEP: &str = r#"rtscope() {
    umask 077
    LC_ALL=C
    export LC_ALL
    user=$(id -u)
    d=''
    trap '[ -z "$d" ] || rm -rf "$d"' EXIT
    trap 'exit 1' HUP INT TERM PIPE
    for room in 8000000 0; do
        for place in "${TMPDIR:-/tmp}" /tmp /var/tmp /dev/shm "$HOME"; do
            d=$(mktemp -d "$place/rtscope-ssh-$user-XXXXXXXX" 2>/dev/null) || { d=''; continue; }
            printf '#!/bin/sh\nexit 0\n' >"$d/try" && chmod 700 "$d/try" && "$d/try" 2>/dev/null &&
                head -c "$room" /dev/zero >"$d/room" 2>/dev/null && [ "$(($(wc -c <"$d/room")))" -eq "$room" ] && break 2
            rm -rf "$d"
            d=''
        done
    done
    if [ -z "$d" ]; then
        echo 'rtscope-ssh/1 no-place'
        exit 1
    fi
    rm -f "$d/try" "$d/room"
    echo "$$ $(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f20)" >"$d/shell"
    printf 'rtscope-ssh/1 %s %s\n' "$(uname -m)" "$d"
    read -r size sum || exit 1
    head -c "$size" >"$d/rtscope-probe"
    got=$(($(wc -c <"$d/rtscope-probe")))
    if [ "$got" -ne "$size" ]; then
        echo "rtscope-ssh/1 short $got"
        exit 1
    fi
    if command -v sha256sum >/dev/null 2>&1; then
        set -- $(sha256sum <"$d/rtscope-probe")
        if [ "$1" != "$sum" ]; then
            echo 'rtscope-ssh/1 damaged'
            exit 1
        fi
    fi
    chmod 700 "$d/rtscope-probe"
    if ! version=$("$d/rtscope-probe" --version); then
        echo 'rtscope-ssh/1 unable'
        exit 1
    fi
    echo "rtscope-ssh/1 there $version"
    read -r go || exit 1
    exec "$d/rtscope-probe" keep "$d"
}
rtscope; exit
"#;

/// Reads a directory and a position, a line each, and becomes the follower there.
pub(super) const FOLLOW: &str = r#"rtscope() {
    echo 'rtscope-ssh/1 here'
    IFS= read -r d && read -r at || exit 1
    if ! [ -x "$d/rtscope-probe" ]; then
        echo 'rtscope-ssh/1 gone'
        exit 1
    fi
    echo 'rtscope-ssh/1 there'
    exec "$d/rtscope-probe" follow "$d" "$at"
}
rtscope; exit
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::Stdio;

    #[test]
    fn nothing_is_left_where_the_connection_is_gone_before_the_directory_is_told() {
        let there = tempfile::tempdir().unwrap();
        let mut shell = rtscope_sys::process::command("sh");
        shell.env("TMPDIR", there.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = shell.spawn().unwrap();
        drop(child.stdout.take());
        let mut input = child.stdin.take().unwrap();
        input.write_all(KEEP.as_bytes()).unwrap();
        assert!(!child.wait().unwrap().success());
        drop(input);
        let left: Vec<_> = std::fs::read_dir(there.path()).unwrap().flatten().map(|e| e.file_name()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
