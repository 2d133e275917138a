#!/bin/sh
# What a newcomer meets: a bare Debian or Ubuntu, a clone of the checkout, the README's two commands, the report in a browser. Started by
# `./x newcomer`.
#   newcomer.sh CHECKOUT DIRECTORY [--user] [--demo-only] [--keep] [SUITE...]
set -eu
checkout=$1 dir=$2
shift 2
. "$checkout/packaging/bare.sh"
known='bookworm trixie noble resolute'

who=root demo_only=''
for word in "$@"; do
    case $word in
    --user) who=newcomer ;;
    --demo-only) demo_only=yes ;;
    *) common "$word" || refuse "$word" '--user, --demo-only' ;;
    esac
done

# The user, and the clone.
settle() {
    if [ "$who" != root ]; then
        inside root apt-get update
        apt_install sudo
        inside root useradd --create-home --shell /bin/bash "$who"
        echo "$who ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$who"
        chmod 440 "$root/etc/sudoers.d/$who"
    fi
    home=$root/root
    [ "$who" = root ] || home=$root/home/$who
    reach "$home"
    git clone --quiet --depth 1 "file://$checkout" "$home/rtscope"
    # Seen from inside: the user may have got a number that means somebody else here.
    [ "$who" = root ] || inside root chown -R "$who:$who" "/home/$who"
}

in_checkout() { inside "$who" sh -c 'cd rtscope && exec "$@"' sh "$@"; }

# The page as Chromium has it once its script ran, and a picture of it.
browser() {
    place=$(inside "$who" pwd)/rtscope/target/demo
    page=file://$place/report.html
    if is_ubuntu; then
        # Its Chromium is a snap, which takes a running systemd: the one that the tests fetched, which prints no page by itself.
        in_checkout sh -c 'RTSCOPE_CHROMIUM=$(pwd)/web/browser/node_modules/.unpacked/chromium exec node web/test/look.mjs "$@"' sh \
            "$page" "$place/report.png" >"$dir/$suite/report.dom.html"
    else
        apt_install chromium
        flags='--headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking --virtual-time-budget=20000'
        # shellcheck disable=SC2086 # a list
        inside "$who" chromium $flags --dump-dom "$page" >"$dir/$suite/report.dom.html"
        # shellcheck disable=SC2086
        inside "$who" chromium $flags --window-size=1280,4000 "--screenshot=$place/report.png" "$page"
    fi
    cp "$root$place/report.png" "$root$place/report.html" "$dir/$suite/"
    grep -q '<html[^>]*data-ready="true"' "$dir/$suite/report.dom.html" || { echo 'the page is not ready: its script failed'; return 1; }
    grep -q '<title>rtscope demo' "$dir/$suite/report.dom.html" || { echo 'the page has another title'; return 1; }
    grep -q '<canvas' "$dir/$suite/report.dom.html" || { echo 'the page has no plot'; return 1; }
}

for suite in ${suites:-bookworm trixie}; do
    enter "$suite"
    step bare bare
    mounts
    step clone settle
    step demo in_checkout ./x demo
    [ -n "$demo_only" ] || step test in_checkout ./x test
    if is_ubuntu && [ -n "$demo_only" ]; then
        say "rtscope: $suite has Chromium as a snap alone, and the tests, which fetch another, were left out: without the look at the report"
    else
        step browser browser
    fi
    leave
    say "rtscope: $suite: passed as $who; logs and what was looked at are in $dir/$suite"
done
say "rtscope: passed:$took"
