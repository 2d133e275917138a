# A bare Debian or Ubuntu in a directory, for the scripts beside this file, which are the first process of their own PID and mount namespaces
# (`bare` in ./x): when it ends, however it ends, nothing is mounted and nothing runs. They set $dir, where all of it goes.
# shellcheck shell=sh disable=SC2034,SC2154 # shared variables

say() { printf '%s\n' "$*" >&2; }

mirror=${RTSCOPE_DEBIAN_MIRROR:-http://deb.debian.org/debian}
case $mirror in
*/debian) security=$mirror-security ;;
*) security=http://deb.debian.org/debian-security ;;
esac
ubuntu=${RTSCOPE_UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
# What a host says of its way to the network and of whom it trusts, by the names of variables; nothing else comes in.
passed='^(RTSCOPE_(DEBIAN|UBUNTU)_MIRROR|RTSCOPE_RUST|RUSTUP_(DIST_SERVER|UPDATE_ROOT)|https?_proxy|ftp_proxy|all_proxy|no_proxy|HTTPS?_PROXY|FTP_PROXY|ALL_PROXY|NO_PROXY|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE|GIT_SSL_CAINFO|CARGO_(HTTP|NET|SOURCE|REGISTRIES)_[A-Z0-9_]*|npm_config_(registry|cafile|proxy|https_proxy|noproxy)|NPM_CONFIG_(REGISTRY|CAFILE|PROXY|HTTPS_PROXY|NOPROXY))='
settings=$(env | grep -E "$passed" | grep -v ' ' | tr '\n' ' ' || true)
took=''

# common WORD: takes an argument that all these scripts have; 1 if it is another one. $known: the suites.
keep='' suites='' known='bookworm trixie'
common() {
    case " --keep $known " in
    *" $1 "*) if [ "$1" = --keep ]; then keep=yes; else suites="$suites $1"; fi ;;
    *) return 1 ;;
    esac
}

# refuse WORD OTHERS: WORD is no argument; OTHERS are those that the script has besides.
refuse() {
    say "error: '$1' is neither a suite ($(echo "$known" | sed 's/ /, /g')) nor --keep, $2"
    exit 2
}

# Whether $suite is one of Ubuntu.
is_ubuntu() {
    case $suite in
    noble | resolute) ;;
    *) return 1 ;;
    esac
}

# enter SUITE: what follows is about a bare root directory of this suite. What a killed run left there goes first: nothing is
# mounted below it, since mounts end with their namespace.
enter() {
    suite=$1
    root=$dir/$suite/root
    mkdir -p "$dir/$suite"
    exec 9>"$dir/$suite/lock"
    flock -n 9 || { say "error: another run is at work in $dir/$suite: wait for its end"; exit 3; }
    rm -rf --one-file-system "$root"
}

# leave: removes it, unless it shall be kept.
leave() {
    umount -R "$root"
    [ -n "${keep:-}" ] || rm -rf --one-file-system "$root"
}

# inside WHO COMMAND...: runs it in the bare root, which is then the root of a mount namespace (in a chroot the kernel refuses user
# namespaces, which loads and Chromium make).
inside() {
    user=$1
    shift
    case $user in
    root) home=/root as='' ;;
    *) home=/home/$user as="setpriv --reuid=$user --regid=$user --init-groups --" ;;
    esac
    # shellcheck disable=SC2016,SC2086 # expanded inside; $as and $settings are lists
    unshare --mount -- sh -c 'cd "$1" && pivot_root . mnt && cd / && umount -l /mnt && shift && exec "$@"' sh "$root" \
        env -i $settings "HOME=$home" "USER=$user" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
        ${TERM:+"TERM=$TERM"} $as sh -c 'cd && exec "$@"' sh "$@" 9>&-
}

apt_install() { inside root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; }

# step NAME COMMAND...: runs it, its output in a log; says how long it took.
step() {
    name=$1
    shift
    log=$dir/$suite/$name.log
    began=$(date +%s)
    say "rtscope: $suite: $name ($log)"
    code=0
    # As a job, because a function that is asked for its exit code right away (`||`) goes on after an error.
    "$@" >"$log" 2>&1 </dev/null &
    wait $! || code=$?
    took="$took
  $suite $name: $(($(date +%s) - began)) s"
    [ "$code" -eq 0 ] && return
    tail -n 30 "$log" >&2
    say "error: $suite: $name ended with exit code $code; the root directory is left in $root$took"
    exit 1
}

bare() {
    if is_ubuntu; then
        ubuntu_keys
        # All releases of Ubuntu are made alike; debootstrap need not know the newest by name.
        debootstrap --variant=minbase --components=main,universe --keyring="$keys" "$suite" "$root" "$ubuntu" /usr/share/debootstrap/scripts/gutsy
    else
        debootstrap --variant=minbase "$suite" "$root" "$mirror"
    fi
    settle_archives
}

# The keys of Ubuntu's archive as $keys: this machine's, else those that Debian 13 has in a package.
ubuntu_keys() {
    keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg
    [ ! -e "$keys" ] || return 0
    work=$dir/$suite/keys
    rm -rf "$work"
    mkdir -p "$work/lists/partial" "$work/archives/partial"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$work/sources.list"
    set -- -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$work/lists" \
        -o "Dir::Cache=$work" -o APT::Sandbox::User=root
    apt-get "$@" update
    (cd "$work" && apt-get "$@" download ubuntu-keyring)
    dpkg-deb -x "$work"/ubuntu-keyring_*.deb "$work"
    keys=$work$keys
}

# foreign ARCH: the same for another architecture, whose programs QEMU's user emulation runs from now on until `forget`. The kernel keeps
# the emulator open, so that it need not be in the root.
foreign() {
    case $1 in
    arm64) emulator=qemu-aarch64-static machine='\xb7\x00' class='\x02' ;;
    armhf) emulator=qemu-arm-static machine='\x28\x00' class='\x01' ;;
    *) say "error: no emulator for $1"; return 1 ;;
    esac
    formats=/proc/sys/fs/binfmt_misc
    mountpoint -q $formats || mount -t binfmt_misc binfmt_misc $formats
    registered=rtscope-$1
    if ! [ -e "$formats/$registered" ]; then
        # Magic and mask of an ELF program, little-endian, executable or shared (see elf(5)).
        magic="\x7fELF$class\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00$machine"
        mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
        printf '%s' ":$registered:M::$magic:$mask:$(command -v $emulator):F" >$formats/register
    fi
    debootstrap --arch="$1" --foreign --variant=minbase "$suite" "$root" "$mirror"
    chroot "$root" /debootstrap/debootstrap --second-stage
    settle_archives
    # Without updates, whose lists for such architectures lag on some mirrors: apt then refuses them all.
    echo "deb $mirror $suite main" >"$root/etc/apt/sources.list"
}

# forget ARCH: the kernel runs no more programs of this architecture.
forget() {
    [ ! -e "/proc/sys/fs/binfmt_misc/rtscope-$1" ] || echo -1 >"/proc/sys/fs/binfmt_misc/rtscope-$1"
}

settle_archives() {
    if is_ubuntu; then
        for part in '' -updates -security; do echo "deb $ubuntu $suite$part main universe"; done >"$root/etc/apt/sources.list"
    else
        cat >"$root/etc/apt/sources.list" <<TEXT
deb $mirror $suite main
deb $mirror $suite-updates main
deb $security $suite-security main
TEXT
    fi
    # How this machine reaches its archives.
    if command -v apt-config >/dev/null 2>&1; then
        apt-config dump Acquire | grep -E '^Acquire::(https?::|Check-|Retries)' >"$root/etc/apt/apt.conf.d/99host" || true
    fi
    cat /etc/resolv.conf >"$root/etc/resolv.conf"
    cat /etc/hosts >"$root/etc/hosts"
}

# reach HOME: the root reaches what this machine reaches: what is set for pip, cargo and npm here, less passwords and tokens.
reach() {
    for file in .npmrc .cargo/config.toml .config/pip/pip.conf; do
        [ -f "${HOME:-/root}/$file" ] || continue
        mkdir -p "$(dirname "$1/$file")"
        grep -viE '_auth|_password|token|://[^/]*@' "${HOME:-/root}/$file" >"$1/$file" || true
    done
    ! [ -f /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/"
    # Authorities that were added here: installed with the package ca-certificates, whenever that comes.
    mkdir -p "$root/usr/local/share/ca-certificates"
    find /usr/local/share/ca-certificates -name '*.crt' -exec cp {} "$root/usr/local/share/ca-certificates/" \;
    # A file that a variable names elsewhere.
    for file in $(printf '%s\n' $settings | sed -n 's/^[^=]*=\(\/.*\)$/\1/p'); do
        case $file in /etc/ssl/certs/* | /etc/ssl/certs) continue ;; esac
        [ -f "$file" ] || continue
        mkdir -p "$root$(dirname "$file")"
        cp "$file" "$root$file"
    done
}

# What a running machine has: /proc, /sys, /dev with a page of its own for software lines.
mounts() {
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount -t sysfs sysfs "$root/sys"
    mount -t tmpfs -o mode=755 dev "$root/dev"
    for node in null zero full random urandom tty kvm cpu_dma_latency net/tun; do
        [ -c "/dev/$node" ] || continue
        mkdir -p "$root/dev/$(dirname "$node")"
        : >"$root/dev/$node"
        mount --bind "/dev/$node" "$root/dev/$node"
    done
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts "$root/dev/pts"
    mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    ln -s fd/0 "$root/dev/stdin"
    ln -s fd/1 "$root/dev/stdout"
    ln -s fd/2 "$root/dev/stderr"
    mount -t tmpfs -o mode=755 run "$root/run"
    mkdir -m 1777 "$root/run/lock"
}
