#!/bin/sh
# What the packages do to a machine: a bare Debian, the packages installed, a run of everything, all removed again, the kernel modules by DKMS;
# and rtscope from the source tarball. Started by `./x installed`.
#   installed.sh CHECKOUT DIRECTORY PACKAGES [--arch ARCH] [--keep] [SUITE...]
# PACKAGES is the directory with the packages. Another architecture than this machine's is run by QEMU's user emulation: without the lab,
# DKMS and the source.
set -eu
checkout=$1 dir=$2 packages=$3
shift 3
. "$checkout/packaging/bare.sh"

host=$(dpkg --print-architecture)
arch=$host
while [ $# -gt 0 ]; do
    case $1 in
    --arch)
        [ $# -gt 1 ] || { say 'error: --arch takes an architecture'; exit 2; }
        arch=$2
        shift
        ;;
    *) common "$1" || refuse "$1" '--arch ARCH' ;;
    esac
    shift
done
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$checkout/Cargo.toml")
for name in rtscope rtscope-probe; do
    [ -f "$packages/${name}_${version}_$arch.deb" ] || { say "error: $packages has no ${name}_${version}_$arch.deb: ./x package $arch makes it"; exit 3; }
done

# The packages that are tried here.
ours='rtscope rtscope-probe rtscope-boards'
[ "$arch" != "$host" ] || ours="$ours rtscope-lab"

prepare() {
    reach "$root/root"
    inside root apt-get update
    mkdir "$root/debs"
    cp "$packages"/*_"$arch".deb "$packages"/*_all.deb "$root/debs/"
    # What they depend on, so that what is theirs can be told apart; stress-ng for a run under a load.
    apt_install openssh-client stress-ng iperf3 fio iproute2 ca-certificates
    [ "$arch" != "$host" ] || apt_install qemu-system-x86 debian-archive-keyring gcc make libc6-dev systemd udev
}

# What a tool for containers says of the image: it reads every digest, and that it is of this architecture.
image() {
    case $arch in
    armhf) platform='--override-arch=arm --override-variant=v7' ;;
    *) platform=--override-arch=$arch ;;
    esac
    # shellcheck disable=SC2086 # a list
    skopeo $platform copy --quiet "oci-archive:$packages/rtscope-$version-$arch.oci.tar" "dir:$dir/$suite/image"
}

# What is in the image runs where there is nothing else.
container() {
    mkdir "$root/root/image"
    for layer in $(tr -d ' \n' <"$dir/$suite/image/manifest.json" | sed 's/.*"layers"//' | grep -o 'sha256:[0-9a-f]*' | cut -d : -f 2); do
        tar -C "$root/root/image" --no-same-owner -xf "$dir/$suite/image/$layer"
    done
    inside root chroot /root/image rtscope --version | diff "$dir/$suite/version.txt" -
    inside root rm -r /root/image
}

# Debian's own checker of the packages.
check() { lintian --fail-on warning,error --allow-root --no-cfg "$packages"/*.deb; }

# All files, but for those of dpkg, apt and others that keep notes on what came and went.
files() {
    inside root find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /debs -o -path /root -o \
        -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \) -prune -o -print | sort >"$dir/$suite/$1"
}

# As a user does it: one command with the files.
install_all() {
    list=''
    for name in $ours; do
        for file in "$root/debs/${name}_${version}"_*.deb; do
            list="$list /debs/${file##*/}"
        done
    done
    # shellcheck disable=SC2086 # a list
    apt_install $list
    inside root dpkg --audit
}

# taken COMMAND...: runs what takes a run. 4: it was taken, but is INVALID on such a machine.
taken() {
    code=0
    "$@" || code=$?
    [ "$code" -eq 0 ] || [ "$code" -eq 4 ]
}

measure() {
    inside root rtscope --version >"$dir/$suite/version.txt"
    cat "$dir/$suite/version.txt"
    taken inside root rtscope measure timer -D 1s --load 'none,calculation'
    inside root rtscope list
    inside root rtscope report -o /tmp/report.html
    inside root grep -q '</html>' /tmp/report.html
    [ -s "$root/usr/share/man/man1/rtscope.1.gz" ]
    [ -s "$root/usr/share/bash-completion/completions/rtscope" ]
    links "$root/usr/share/doc/rtscope"
}

# links DIRECTORY: every link of a page in it to another file leads to one.
links() {
    pages=$1
    grep -oh ']([^)# ]*' "$pages"/*.md | cut -c 3- | grep -v '://' | sort -u >"$dir/$suite/links"
    [ -s "$dir/$suite/links" ]
    while read -r link; do
        [ -z "$link" ] || [ -e "$pages/$link" ] || { echo "a page in $pages links to $link, which is not there"; return 1; }
    done <"$dir/$suite/links"
}

# The tarball for machines without dpkg: it runs where it was unpacked, and its manual is whole.
tarball() {
    tar -C "$root/root" --no-same-owner -xf "$packages/rtscope-$version-$arch.tar.xz"
    there=/root/rtscope-$version-$arch
    inside root "$there/bin/rtscope" --version | diff "$dir/$suite/version.txt" -
    taken inside root env RTSCOPE_ARCHIVE=/tmp/tarball.db "$there/bin/rtscope" measure timer -D 1s
    links "$root$there/share/doc/rtscope"
    inside root rm -r "$there"
}

# What `rtscope demo` shows of this machine.
demo() {
    inside root rtscope demo --no-lab --dir /tmp/demo
    inside root grep -q '</html>' /tmp/demo/report.html
}

# The lab's cache, where a campaign that systemd starts has it.
cache=RTSCOPE_CACHE=/var/cache/rtscope

# In user space, then by a kernel module: there is no gcc-12 on Debian 13, so that it is fetched.
lab() {
    for space in user kernel; do
        inside root env $cache rtscope measure timer -D 1s --target lab:debian/6.12 --space $space
    done
    inside root env $cache rtscope measure response -D 1s --target lab:debian/6.12 --space kernel
}

# A campaign in the lab as the unit starts it: its command with its environment alone, since no systemd runs here.
unit() {
    file=$root/usr/lib/systemd/system/rtscope-campaign@.service
    # Debian 12's udevadm cannot check rules.
    if [ "$suite" != bookworm ]; then inside root udevadm verify /usr/lib/udev/rules.d/60-rtscope.rules; fi
    inside root systemd-analyze verify --man=no /usr/lib/systemd/system/rtscope-campaign@night.service
    said() { sed -n "s/^$1=//p" "$file" | sed 's,%i,night,g; s,%C,/var/cache,g; s,%S,/var/lib,g'; }
    inside root mkdir -p /etc/rtscope /var/lib/rtscope
    cat >"$root/etc/rtscope/night.toml" <<TEXT
name = "night"
title = "one run"
targets = ["lab:debian/6.12"]
clock = "virtual"
loads = ["none"]

[[tests]]
test = "timer"
interval = "1ms"
duration = "1s"
TEXT
    # shellcheck disable=SC2046 # words of the unit
    taken inside root env -i PATH=/usr/local/bin:/usr/bin:/bin $(said Environment) $(said ExecStart)
    inside root rtscope --archive /var/lib/rtscope/archive.db list --json | grep -q lab:debian/6.12
    inside root rm -r /etc/rtscope /var/lib/rtscope
}

# The modules for every kernel that the suite and its backports have.
dkms_all() {
    echo "deb $mirror $suite-backports main" >>"$root/etc/apt/sources.list"
    inside root apt-get update
    apt_install dkms linux-headers-amd64
    apt_install -t "$suite-backports" linux-headers-amd64
    apt_install "/debs/rtscope-dkms_${version}_all.deb"
    kernels=$(inside root sh -c 'cd /lib/modules && for k in *; do [ ! -e "$k/build" ] || echo "$k"; done')
    for kernel in $kernels; do
        inside root dkms install "rtscope/$version" -k "$kernel" --force
    done
    inside root dkms status | tee "$dir/$suite/dkms.txt"
    # The suite's own kernel, and the newer one of its backports.
    case $suite in
    bookworm) releases='6.1 6.12' ;;
    *) releases=6.12 ;;
    esac
    for release in $releases; do grep -q ", $release\.[^:]*: installed" "$dir/$suite/dkms.txt"; done
    [ "$(grep -c ': installed' "$dir/$suite/dkms.txt")" -ge 2 ]
    inside root apt-get purge -y rtscope-dkms
    [ -z "$(inside root find /usr/src /lib/modules /var/lib/dkms -name '*rtscope*')" ]
}

# As somebody does it who does not have the packages: nothing is fetched for the page, and the program is of the same commit.
source_tarball() {
    # Debian's older releases have a Rust that is new enough for browsers.
    if inside root apt-cache show cargo-web rustc-web >/dev/null 2>&1; then rust='cargo-web rustc-web'; else rust='cargo rustc'; fi
    # shellcheck disable=SC2086 # a list
    apt_install $rust
    tar -C "$root/root" --no-same-owner -xf "$packages/rtscope-$version-source.tar.xz"
    inside root cargo install --locked --root /root/built --path "rtscope-$version-source/crates/rtscope"
    if [ -e "$root/root/rtscope-$version-source/web/node_modules" ]; then
        echo 'the page was bundled anew: it is in the source tarball already'
        return 1
    fi
    inside root /root/built/bin/rtscope --version | diff "$dir/$suite/version.txt" -
    grep 'commit [0-9a-f]' "$dir/$suite/version.txt"
}

purge() {
    # shellcheck disable=SC2086 # a list
    inside root apt-get purge -y $ours
    files after
    diff "$dir/$suite/before" "$dir/$suite/after"
}

# Whatever ends this.
[ "$arch" = "$host" ] || trap 'forget "$arch"' EXIT

for suite in ${suites:-bookworm trixie}; do
    enter "$suite"
    [ "$arch" != "$host" ] || step lintian check
    step image image
    if [ "$arch" = "$host" ]; then step bare bare; else step bare foreign "$arch"; fi
    mounts
    step prepare prepare
    files before
    step install install_all
    step measure measure
    step tarball tarball
    step container container
    if [ "$arch" = "$host" ]; then
        step demo demo
        step lab lab
        step unit unit
        step purge purge
        step dkms dkms_all
        step source source_tarball
    else
        step purge purge
    fi
    leave
    say "rtscope: $suite $arch: installed, measured and removed; logs are in $dir/$suite"
done
say "rtscope: passed:$took"
