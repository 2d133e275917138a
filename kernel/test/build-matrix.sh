#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Builds all modules against every kernel in rtscope's cache (rtscope lab kernels), each in its own directory. A compiler warning
# is a failure. Usage: build-matrix.sh [OUTPUT], where OUTPUT keeps what was built.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
cache=${RTSCOPE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rtscope}
if [ $# -gt 0 ]; then
    output=$1
    mkdir -p "$output"
else
    output=$(mktemp -d)
    trap 'rm -rf "$output"' EXIT
fi

built=0 failed=0
for config in "$cache"/kernels/*/*/*/config; do
    [ -e "$config" ] || continue
    kernel=$(dirname "$config")
    name=${kernel#"$cache"/kernels/}
    arch=${name##*/}
    set --
    case $arch in
    arm64) set -- ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- ;;
    armhf) set -- ARCH=arm CROSS_COMPILE=arm-linux-gnueabihf- ;;
    esac
    # The headers themselves; the common ones are what they refer to.
    headers=
    for directory in "$kernel"/headers/usr/src/linux-headers-*; do
        case $directory in *-common | *-common-rt) ;; *) headers=$directory ;; esac
    done
    if ! [ -e "$headers/Makefile" ]; then
        echo "$name: no headers"
        failed=$((failed + 1))
        continue
    fi

    directory=$output/$name
    rm -rf "$directory"
    mkdir -p "$directory"
    (cd "$source" && cp -- Kbuild Makefile *.[chS] "$directory" && mkdir "$directory/test" &&
        cp -- test/rtscope_*.c "$directory/test")
    log=$directory/build.log
    if ! make -s -C "$directory" KDIR="$headers" W=1 "$@" modules >"$log" 2>&1; then
        echo "$name: FAILED"
        cat "$log"
        failed=$((failed + 1))
    elif grep -q 'warning: .*\[-W\|^WARNING: modpost' "$log"; then
        echo "$name: built with warnings"
        cat "$log"
        failed=$((failed + 1))
    else
        echo "$name: $(find "$directory" -name '*.ko' | wc -l) modules"
        built=$((built + 1))
    fi
done
if [ $((built + failed)) -eq 0 ]; then
    echo "no kernel in $cache: fetch one by rtscope lab kernels fetch debian/6.12-rt/amd64" >&2
    exit 3
fi
echo "$built kernels, $failed failed"
[ "$failed" -eq 0 ]
