#!/bin/sh
# What the packages do to a machine: a bare Debian, the packages installed, a run of everything, the kernel modules by DKMS, and all removed again.
# Started by `./x installed`.
#   installed.sh CHECKOUT DIRECTORY PACKAGES [--arch ARCH] [--keep] [SUITE...]
# PACKAGES is the directory with the packages. Another architecture than this machine's is run by QEMU's user emulation: without the lab
# and DKMS.
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
    inside root apt-get update
    mkdir "$root/debs"
    cp "$packages"/*_"$arch".deb "$packages"/*_all.deb "$root/debs/"
    # What they depend on, so that what is theirs can be told apart; stress-ng for a run under a load.
    apt_install openssh-client stress-ng iperf3 iproute2 ca-certificates
    [ "$arch" != "$host" ] || apt_install qemu-system-x86 debian-archive-keyring gcc make libc6-dev
}

# What a tool for containers says of the image (it reads every digest), and Debian's own checker of the packages.
check() {
    skopeo copy --quiet "oci-archive:$packages/rtscope-$version-$arch.oci.tar" "dir:$dir/$suite/image"
    lintian --fail-on warning,error --allow-root --no-cfg "$packages"/*.deb
}

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

measure() {
    inside root rtscope --version
    # 4: measured, but INVALID on such a machine.
    code=0
    inside root rtscope measure timer -D 1s --load 'none,calculation' || code=$?
    [ "$code" -eq 0 ] || [ "$code" -eq 4 ] || return 1
    inside root rtscope list
    inside root rtscope report -o /tmp/report.html
    inside root grep -q '</html>' /tmp/report.html
    [ -s "$root/usr/share/man/man1/rtscope.1.gz" ] && [ -s "$root/usr/share/bash-completion/completions/rtscope" ]
}

lab() { inside root rtscope measure timer -D 1s --target lab:debian/6.12; }

# The modules for every kernel that the suite and its backports have.
dkms_all() {
    echo "deb $mirror $suite-backports main" >>"$root/etc/apt/sources.list"
    inside root apt-get update
    apt_install dkms linux-headers-amd64
    apt_install -t "$suite-backports" linux-headers-amd64
    apt_install "/debs/rtscope-dkms_${version}_all.deb"
    for kernel in $(inside root sh -c 'cd /lib/modules && for k in *; do [ ! -e "$k/build" ] || echo "$k"; done'); do
        inside root dkms install "rtscope/$version" -k "$kernel" --force
    done
    inside root dkms status | tee "$dir/$suite/dkms.txt"
    inside root apt-get purge -y rtscope-dkms
    [ -z "$(inside root find /usr/src /lib/modules /var/lib/dkms -name '*rtscope*')" ]
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
    if [ "$arch" = "$host" ]; then step bare bare; else step bare foreign "$arch"; fi
    mounts
    step prepare prepare
    files before
    step install install_all
    step measure measure
    if [ "$arch" = "$host" ]; then
        step lab lab
        step purge purge
        step dkms dkms_all
    else
        step purge purge
    fi
    leave
    say "rtscope: $suite $arch: installed, measured and removed; logs are in $dir/$suite"
done
say "rtscope: passed:$took"
