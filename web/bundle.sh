#!/bin/sh
# Bundles the report's script and style: bundle.sh DIRECTORY writes report.js and report.css there. A single script without modules or
# imports, so that the page that contains it makes no requests. Needs neither node nor npm: esbuild is a program of its own, and it and
# uPlot are fetched by curl from npm's registry (or the one that npm is told to use), in the versions and with the hashes of package-lock.json.
set -eu
mkdir -p "${1:?usage: bundle.sh DIRECTORY}"
into=$(cd "$1" && pwd)
cd "$(dirname "$0")"

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# locked NAME KEY: what package-lock.json says of a package.
locked() {
    value=$(sed -n "\\|^    \"node_modules/$1\": {|,/^    }/s/^      \"$2\": \"\\(.*\\)\",\$/\\1/p" package-lock.json)
    [ -n "$value" ] || fail "web/package-lock.json says no $2 of $1"
    echo "$value"
}

# fetch NAME: puts a package into node_modules, unless this version is there, by npm or by an earlier call.
fetch() {
    version=$(locked "$1" version)
    integrity=$(locked "$1" integrity)
    ! grep -qsF "\"version\": \"$version\"" "node_modules/$1/package.json" || return 0
    url=${npm_config_registry:-$(sed -n 's/^registry *= *//p' "${HOME:-/root}/.npmrc" 2>/dev/null | tail -n 1)}
    url=${url:-https://registry.npmjs.org}
    url=${url%/}/$1/-/${1##*/}-$version.tgz
    case $integrity in sha512-*) ;; *) fail "web/package-lock.json has another hash than SHA-512 of $1" ;; esac
    part=$(mktemp -d)
    if ! curl -fsSL --proto-redir =https --retry 3 --max-time 300 --max-filesize 50000000 -o "$part/package.tgz" "$url"; then
        rm -rf "$part"
        fail "can't fetch $url"
    fi
    is=$(sha512sum <"$part/package.tgz" | cut -d ' ' -f 1)
    should=$(printf %s "${integrity#sha512-}" | base64 -d | od -An -v -tx1 | tr -d ' \n')
    if [ "$is" != "$should" ]; then
        rm -rf "$part"
        fail "$url is not what web/package-lock.json names: its SHA-512 is $is, not $should"
    fi
    rm -rf "node_modules/$1"
    mkdir -p "node_modules/$1"
    # What tells the version comes last: a package that was unpacked in part is fetched again.
    tar -C "node_modules/$1" --strip-components=1 --no-same-owner --exclude='package/package.json' -xzf "$part/package.tgz"
    tar -C "node_modules/$1" --strip-components=1 --no-same-owner -xzf "$part/package.tgz" package/package.json
    rm -rf "$part"
}

# Builds at the same time, with target directories of their own, take turns.
mkdir -p node_modules
exec 9>node_modules/.bundle.lock
flock 9

case $(uname -m) in
x86_64) esbuild=@esbuild/linux-x64 ;;
aarch64) esbuild=@esbuild/linux-arm64 ;;
armv7*) esbuild=@esbuild/linux-arm ;;
*) fail "esbuild is not known here for $(uname -m)" ;;
esac
fetch uplot
fetch "$esbuild"

# uPlot's licence requires its notice to accompany its code.
notice=$(sed 's|\*/|* /|g' node_modules/uplot/LICENSE)
"node_modules/$esbuild/bin/esbuild" report=src/main.ts --outdir="$into" --bundle --format=iife --target=es2020 --minify --charset=utf8 \
    --legal-comments=none --log-level=warning --banner:js="/*! Contains uPlot $(locked uplot version).
$notice
*/"
