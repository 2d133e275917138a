#!/bin/sh
# Debian packages, a tarball and an image for containers for each architecture, from programs that are built already. Started by `./x package`.
#   package.sh CHECKOUT DIRECTORY RTSCOPE ARCH...
# DIRECTORY/programs has the programs by name and architecture (rtscope-amd64 ...); RTSCOPE, one that runs here, makes man pages and
# completions. The same programs and commit give the same bytes: all times are the commit's.
set -eu
umask 022
checkout=$1 out=$2 rtscope=$3
shift 3
programs=$out/programs
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$checkout/Cargo.toml")
[ -n "$version" ] || { echo "error: Cargo.toml has no version" >&2; exit 3; }
SOURCE_DATE_EPOCH=$(git -C "$checkout" log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
day=$(date -R -d "@$SOURCE_DATE_EPOCH")
maintainer='The rtscope developers <rtscope@example.org>'

# put FILE MODE PATH: a file of the package in $tree.
put() { install -D -m "$2" "$1" "$tree/$3"; }

# text MODE PATH: the same from standard input.
text() {
    mkdir -p "$tree/$(dirname "$2")"
    cat >"$tree/$2"
    chmod "$1" "$tree/$2"
}

# begin NAME: an empty package.
begin() {
    name=$1
    tree=$out/trees/$name
    rm -rf "$tree"
    mkdir -p "$tree/DEBIAN"
    text 644 "usr/share/doc/$name/copyright" <<TEXT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: rtscope

Files: *
Copyright: 2026 the rtscope developers
License: $2
TEXT
    case $2 in
    GPL-2) echo ' On Debian systems the full text is in /usr/share/common-licenses/GPL-2.' ;;
    *)
        echo ' Either of the two, as you like. On Debian systems the full text of the latter is in'
        echo ' /usr/share/common-licenses/Apache-2.0. The former:'
        echo ' .'
        sed 's/^$/./; s/^/ /' "$checkout/LICENSE-MIT"
        ;;
    esac >>"$tree/usr/share/doc/$name/copyright"
    printf 'rtscope (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- %s  %s\n' "$version" "$maintainer" "$day" |
        gzip -9n | text 644 "usr/share/doc/$name/changelog.gz"
}

# permit LINE...: what lintian says of it, with the reason in its line above.
permit() { printf '%s\n' "$@" | text 644 "usr/share/lintian/overrides/$name"; }

# finish ARCH DEPENDS RECOMMENDS SUGGESTS: writes the package; its description, short and long, comes from standard input.
finish() {
    {
        printf 'Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$name" "$version" "$1" "$maintainer"
        printf 'Installed-Size: %s\nSection: devel\nPriority: optional\nHomepage: https://example.org/rtscope\n' \
            "$(du -k --apparent-size -s --exclude=DEBIAN "$tree" | cut -f1)"
        [ -z "$2" ] || printf 'Depends: %s\n' "$2"
        [ -z "$3" ] || printf 'Recommends: %s\n' "$3"
        [ -z "$4" ] || printf 'Suggests: %s\n' "$4"
        cat
    } >"$tree/DEBIAN/control"
    (cd "$tree" && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | sort | xargs -r md5sum) >"$tree/DEBIAN/md5sums"
    chmod 644 "$tree/DEBIAN/control" "$tree/DEBIAN/md5sums"
    find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Zxz --build "$tree" "$out" >/dev/null
    echo "$out/${name}_${version}_$1.deb"
}

# sum FILE: its SHA-256.
sum() { sha256sum "$1" | cut -d' ' -f1; }

# blob TYPE FILE: moves a file into the image that is being made in $image, and prints its descriptor.
blob() {
    digest=$(sum "$2") size=$(wc -c <"$2")
    mv "$2" "$image/blobs/sha256/$digest"
    printf '{"mediaType":"application/vnd.oci.image.%s","digest":"sha256:%s","size":%s}' "$1" "$digest" "$size"
}

# oci ARCH: an image for containers with the programs alone, as an archive in OCI's layout (image-spec 1.1), which needs no daemon to be made.
oci() {
    case $1 in
    armhf) platform='"architecture":"arm","variant":"v7","os":"linux"' ;;
    *) platform="\"architecture\":\"$1\",\"os\":\"linux\"" ;;
    esac
    tree=$out/trees/oci image=$out/trees/oci-image created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
    rm -rf "$tree" "$image"
    mkdir -p "$tree/tmp" "$tree/root" "$tree/work" "$image/blobs/sha256"
    chmod 1777 "$tree/tmp"
    for name in rtscope rtscope-probe; do
        put "$programs/$name-$1" 755 "usr/bin/$name"
    done
    for name in rtscope-guest rtscope-board rtscope-probe; do
        put "$programs/$name-$1" 755 "usr/lib/rtscope/$name-$1"
    done
    tar -C "$tree" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf "$image/layer" .
    diff=$(sum "$image/layer")
    gzip -9n "$image/layer"
    layer=$(blob layer.v1.tar+gzip "$image/layer.gz")
    printf '{"created":"%s",%s,"config":{"Entrypoint":["/usr/bin/rtscope"],"Env":["PATH=/usr/bin","HOME=/root"],"WorkingDir":"/work"},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
        "$created" "$platform" "$diff" >"$image/config"
    config=$(blob config.v1+json "$image/config")
    printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s,"layers":[%s]}' "$config" "$layer" >"$image/manifest"
    manifest=$(blob manifest.v1+json "$image/manifest")
    printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s,"platform":{%s},"annotations":{"org.opencontainers.image.ref.name":"%s"}}]}' \
        "${manifest%\}}" "$platform" "$version" >"$image/index.json"
    printf '{"imageLayoutVersion":"1.0.0"}' >"$image/oci-layout"
    tar -C "$image" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf "$out/rtscope-$version-$1.oci.tar" .
    echo "$out/rtscope-$version-$1.oci.tar"
}

# manual DIRECTORY: the manual with its pictures, and beside it what its pages link to elsewhere in the source.
manual() {
    for page in "$checkout"/docs/*.md "$checkout/CHANGELOG.md"; do
        for link in $(grep -o '](\.\./[^)#]*' "$page" | cut -c 6-); do
            put "$checkout/$link" 644 "$1/${link##*/}"
        done
        sed 's,](\.\./[^)#]*/,](,g' "$page" | text 644 "$1/${page##*/}"
    done
    for file in "$checkout"/docs/*.svg "$checkout"/docs/*.json; do
        put "$file" 644 "$1/${file##*/}"
    done
}

# What a person reads: man pages, completions, the manual, the plans.
readings() {
    rm -rf "$out/man"
    "$rtscope" man "$out/man" >/dev/null
    for page in "$out/man"/*.1; do
        gzip -9nc "$page" | text 644 "usr/share/man/man1/${page##*/}.gz"
    done
    "$rtscope" completions bash | text 644 usr/share/bash-completion/completions/rtscope
    "$rtscope" completions zsh | text 644 usr/share/zsh/vendor-completions/_rtscope
    "$rtscope" completions fish | text 644 usr/share/fish/vendor_completions.d/rtscope.fish
    manual "usr/share/doc/$name"
    for plan in "$checkout"/campaigns/*.toml; do
        put "$plan" 644 "usr/share/doc/$name/examples/${plan##*/}"
    done
}

# The source, with the page's script as it is bundled: `cargo install --path crates/rtscope` from it needs neither curl nor npm's registry. What is built from it
# knows its commit, as what is built from a registry's crate does.
begin rtscope-source 'MIT or Apache-2.0'
rm -rf "$tree/DEBIAN" "$tree/usr"
top=rtscope-$version-source
git -C "$checkout" archive --prefix="$top/" HEAD | tar -C "$tree" -xf -
for file in report.js report.css; do
    put "$out/page/$file" 644 "$top/crates/rtscope-report/prebuilt/$file"
done
printf '{"git":{"sha1":"%s"},"path_in_vcs":"crates/rtscope-probe"}\n' "$(git -C "$checkout" rev-parse HEAD)" |
    text 644 "$top/crates/rtscope-probe/.cargo_vcs_info.json"
tar -C "$tree" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "$top" | xz -T1 -6 >"$out/$top.tar.xz"
echo "$out/$top.tar.xz"

# lintian's words for the programs; one that is static and independent of its position is taken for a library too.
static=statically-linked-binary pie=shared-library-lacks-prerequisites
for arch in "$@"; do
    begin rtscope-probe 'MIT or Apache-2.0'
    put "$programs/rtscope-probe-$arch" 755 usr/bin/rtscope-probe
    gzip -9nc "$checkout/packaging/files/rtscope-probe.1" | text 644 usr/share/man/man1/rtscope-probe.1.gz
    permit '# It is copied to boards with any C library, or none.' "$name: $static [usr/bin/rtscope-probe]"
    finish "$arch" '' '' '' <<'TEXT'
Description: measures latencies of real-time Linux (the probe)
 The small static program that takes rtscope's measurements: wake-ups of
 threads on a fixed grid, and answers to edges of GPIO and serial lines.
 .
 rtscope starts it; alone it takes a plan and writes a record.
TEXT

    begin rtscope 'MIT or Apache-2.0'
    put "$programs/rtscope-$arch" 755 usr/bin/rtscope
    readings
    put "$checkout/packaging/files/60-rtscope.rules" 644 usr/lib/udev/rules.d/60-rtscope.rules
    put "$checkout/packaging/files/rtscope-campaign@.service" 644 usr/lib/systemd/system/rtscope-campaign@.service
    permit '# One program for every release of Debian and Ubuntu; SQLite is a part of it.' "$name: $static [usr/bin/rtscope]" "$name: $pie *" \
        "$name: embedded-library *"
    finish "$arch" "rtscope-probe (= $version)" 'openssh-client, stress-ng, iperf3, fio, iproute2' \
        "rtscope-lab (= $version), rtscope-boards (= $version), rtscope-dkms (= $version)" <<'TEXT'
Description: instrument for real-time Linux
 Measures how late a machine and its kernel can be, and proves it: wake-up
 latencies on every CPU, responses to edges, under loads that prove what they
 did. Each run leaves a record whose counts add up, with a verdict and every
 reason to doubt it. Compares kernels, fits tails, makes reports, and stands
 in for cyclictest.
TEXT

    begin rtscope-tarball 'MIT or Apache-2.0'
    rm -rf "$tree/DEBIAN" "$tree/usr"
    top=rtscope-$version-$arch
    for file in "rtscope-$arch bin/rtscope" "rtscope-probe-$arch bin/rtscope-probe" "rtscope-guest-$arch lib/rtscope/rtscope-guest-$arch" \
        "rtscope-board-$arch lib/rtscope/rtscope-board-$arch" "rtscope-probe-$arch lib/rtscope/rtscope-probe-$arch"; do
        put "$programs/${file% *}" 755 "$top/${file#* }"
    done
    for file in LICENSE-MIT LICENSE-APACHE; do
        put "$checkout/$file" 644 "$top/$file"
    done
    manual "$top/share/doc/rtscope"
    text 644 "$top/README" <<TEXT
rtscope $version for $arch: an instrument for real-time Linux. The programs are static, and run from here or from any directory that
has bin and lib beside each other:

    bin/rtscope                                    what to do next on this machine
    bin/rtscope measure timer -D 10s               wake-up latency on every CPU
    cp -r bin lib share /usr/local/                to install it

The manual begins at share/doc/rtscope/README.md. Licences: MIT or Apache-2.0, as you like.
TEXT
    tar -C "$tree" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "$top" | xz -T1 -6 >"$out/$top.tar.xz"
    echo "$out/$top.tar.xz"
    oci "$arch"
done

begin rtscope-boards 'MIT or Apache-2.0'
for arch in "$@"; do
    put "$programs/rtscope-probe-$arch" 755 "usr/lib/rtscope/rtscope-probe-$arch"
    put "$programs/rtscope-board-$arch" 755 "usr/lib/rtscope/rtscope-board-$arch"
done
permit '# Programs for other machines, which rtscope copies there.' "$name: $static *" "$name: $pie *" "$name: arch-independent-package-contains-binary-or-object *" \
    "$name: binary-from-other-architecture *" "$name: unstripped-binary-or-object *"
finish all "rtscope (= $version)" '' '' <<'TEXT'
Description: measures latencies of real-time Linux (programs for boards)
 The static programs that rtscope copies to a board over ssh for a run:
 nothing is installed there.
TEXT

begin rtscope-lab 'MIT or Apache-2.0'
for arch in "$@"; do
    put "$programs/rtscope-guest-$arch" 755 "usr/lib/rtscope/rtscope-guest-$arch"
done
permit '# The first process of virtual machines, of several architectures.' "$name: $static *" "$name: $pie *" \
    "$name: arch-independent-package-contains-binary-or-object *" "$name: binary-from-other-architecture *" "$name: unstripped-binary-or-object *"
finish all "rtscope (= $version), qemu-system-x86 | qemu-system-arm, debian-archive-keyring, gcc, make, libc6-dev" \
    'qemu-system-arm, stress-ng, iperf3' '' <<'TEXT'
Description: measures latencies of real-time Linux (virtual machines)
 Real Debian kernels, stock and PREEMPT_RT, under QEMU in time that is counted
 in instructions: a latency measured today is the same tomorrow, on any
 machine, and can be explained instruction by instruction.
TEXT

begin rtscope-dkms GPL-2
source=usr/src/rtscope-$version
for file in Kbuild Makefile README.md dkms.conf; do
    put "$checkout/kernel/$file" 644 "$source/$file"
done
for file in "$checkout"/kernel/*.[chS]; do
    put "$file" 644 "$source/${file##*/}"
done
# The module for tests stays where the tests are.
sed -i '/rtscope_hold/d' "$tree/$source/Kbuild"
sed -i "s/^PACKAGE_VERSION=.*/PACKAGE_VERSION=\"$version\"/" "$tree/$source/dkms.conf"
text 755 DEBIAN/postinst <<TEXT
#!/bin/sh
set -e
if [ "\$1" = configure ]; then
    /usr/lib/dkms/common.postinst rtscope $version /usr/share/rtscope-dkms "" "\$2"
fi
TEXT
text 755 DEBIAN/prerm <<TEXT
#!/bin/sh
set -e
case \$1 in
remove | upgrade | deconfigure)
    if [ -n "\$(dkms status -m rtscope -v $version)" ]; then
        dkms remove -m rtscope -v $version --all
    fi
    ;;
esac
TEXT
# Who starts the modules is of the same version; a board may have the probe alone.
finish all 'dkms' "rtscope-probe (= $version)" "rtscope (= $version)" <<'TEXT'
Description: measures latencies of real-time Linux (kernel modules)
 The timer test and the tasks of the device under test in the kernel, and a
 GPIO chip whose lines are connected in software, with its instrument; built
 by DKMS for each kernel.
TEXT
