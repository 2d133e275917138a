# The board's side of `rtscope kernel install`: for any POSIX shell, as root.
# A line names the action: install, try, keep, remove or restart. $state says how to undo it, and is written before anything is changed;
# what is at work is in $state/busy.
rtscope() {
    umask 022
    LC_ALL=C
    PATH=$PATH:/usr/sbin:/sbin
    DEBIAN_FRONTEND=noninteractive
    export LC_ALL PATH DEBIAN_FRONTEND
    # The end of the connection must not leave this half done.
    trap '' HUP
    state=/var/lib/rtscope/kernel
    grubenv=/boot/grub/grubenv
    grubcfg=/boot/grub/grub.cfg
    dropin=/etc/default/grub.d/rtscope.cfg
    boot=$(cat /proc/sys/kernel/random/boot_id)
    mine=''

    tell() {
        trap '' PIPE
        printf 'rtscope-ssh/1 %s\n' "$*"
        trap - PIPE
    }
    # Ends with an error: a code for the driver, then what is the matter.
    fail() {
        let_go
        tell "error $*"
        exit 1
    }
    has() { command -v "$1" >/dev/null 2>&1; }
    get() { sed -n "s/^$1=//p" "$state/undo" 2>/dev/null; }
    # Last lines of a program that failed, for the driver.
    log() { tail -n 15 "$state/log" 2>/dev/null | sed 's#^#rtscope-ssh/1 log #'; }

    # When a process began, in ticks since the boot; nothing if it has ended.
    began() { sed -n 's/.*) \([^XZ]\) /\1 /p' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

    # Has process $2 known as the one that is at work here, on $1. Another process may get its number later.
    mark() {
        echo "$1 $2 $(began "$2") $boot" >"$state/busy"
        mine=y
    }

    # Whether another one is at work: on $doing, as process $pid. The end of its connection did not end it.
    at_work() {
        [ -f "$state/busy" ] && read -r doing pid start of <"$state/busy" || return 1
        [ "$of" = "$boot" ] && [ -n "$start" ] && [ "$(began "$pid")" = "$start" ]
    }

    # Nothing is at work any more. The driver's next command may come at once.
    let_go() { [ -z "$mine" ] || rm -f "$state/busy"; }

    # The directory that the Raspberry Pi's firmware reads; nothing on another board.
    firmware() {
        model=$(tr -d '\000' </sys/firmware/devicetree/base/model 2>/dev/null)
        case $model in
        'Raspberry Pi'*)
            for place in /boot/firmware /boot; do
                [ -f "$place/config.txt" ] && echo "$place" && return
            done
            ;;
        esac
    }

    loader() {
        if [ -n "$(firmware)" ]; then
            echo raspberry-pi
        elif [ -f $grubcfg ] && has grub-probe && has grub-editenv && has update-grub; then
            echo grub
        else
            echo none
        fi
    }

    # The name of a kernel's entry in GRUB's menu, with that of the submenu that it is in.
    entry() {
        awk -v want="gnulinux-$1-advanced-" '
            function id(line) { sub(/.*menuentry_id_option .?/, "", line); sub(/[^A-Za-z0-9._+~-].*/, "", line); return line }
            /^submenu / { menu = id($0) ">" }
            /^}/ { menu = "" }
            /menuentry_id_option/ && /menuentry / && index(id($0), want) == 1 { print menu id($0); exit }
        ' $grubcfg
    }

    saved() { grub-editenv $grubenv list | sed -n 's/^saved_entry=//p'; }

    # Why GRUB could not do it; nothing if it can. It clears the order for one boot by itself, so it must be able to write there.
    grub_cannot() {
        abstraction=$(grub-probe --target=abstraction /boot/grub 2>/dev/null)
        if [ -n "$abstraction" ]; then
            echo "GRUB can't write to /boot/grub, which is on $abstraction"
            return
        fi
        kind=$(grub-probe --target=fs /boot/grub 2>/dev/null)
        case $kind in
        ext2 | fat | xfs) ;;
        *) echo "GRUB can't write to /boot/grub, whose file system is '$kind' to it" ;;
        esac
    }

    # GRUB boots the entry that is saved, and after a panic it does so by itself: $1 is what else the kernels are told.
    write_dropin() {
        mkdir -p "${dropin%/*}"
        {
            echo "# Written by rtscope kernel install; rtscope kernel remove removes it."
            echo "GRUB_DEFAULT=saved"
            echo "GRUB_SAVEDEFAULT=false"
            [ -z "$1" ] || echo "GRUB_CMDLINE_LINUX=\"\$GRUB_CMDLINE_LINUX $1\""
        } >"$dropin"
    }

    undo() {
        package=$(get package) release=$(get release)
        case $(get loader) in
        grub)
            rm -f "$dropin"
            before=$(get saved)
            if [ -n "$before" ]; then
                grub-editenv $grubenv set "saved_entry=$before"
            else
                grub-editenv $grubenv unset saved_entry
            fi
            grub-editenv $grubenv unset next_entry
            ;;
        raspberry-pi)
            place=$(get place)
            cmp -s "$state/config.txt" "$place/config.txt" || cp "$state/config.txt" "$place/config.txt"
            rm -rf "$place/tryboot.txt" "$place/rtscope"
            ;;
        esac
        if dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^.[^n]'; then
            dpkg --purge "$package" >>"$state/log" 2>&1 || { log; fail "purge $package"; }
        fi
        case $(get loader) in
        grub) update-grub >>"$state/log" 2>&1 || { log; fail "update-grub"; } ;;
        # Hooks of packages may have written it anew.
        raspberry-pi) cmp -s "$state/config.txt" "$place/config.txt" || cp "$state/config.txt" "$place/config.txt" ;;
        esac
        rm -rf "$state"
        rmdir "${state%/*}" 2>/dev/null
        sync
    }

    # Undoes what was begun, then ends with an error.
    back() {
        log
        undo
        fail "$*"
    }

    # The try of a Raspberry Pi: its firmware reads tryboot.txt in place of config.txt for one boot, and what it starts is in rtscope/.
    prepare_pi() {
        place=$1 release=$2
        mkdir -p "$place/rtscope"
        cp "/boot/vmlinuz-$release" "$place/rtscope/vmlinuz" || return 1
        initrd=''
        if [ -f "/boot/initrd.img-$release" ]; then
            cp "/boot/initrd.img-$release" "$place/rtscope/initrd" || return 1
            initrd='initramfs initrd followkernel'
        fi
        for trees in "/usr/lib/linux-image-$release/broadcom" "/usr/lib/linux-image-$release"; do
            for tree in "$trees"/bcm27*.dtb "$trees"/bcm28*.dtb; do
                if [ -f "$tree" ]; then
                    cp "$tree" "$place/rtscope/" || return 1
                fi
            done
        done
        if [ -d "/usr/lib/linux-image-$release/overlays" ]; then
            cp -r "/usr/lib/linux-image-$release/overlays" "$place/rtscope/" || return 1
        fi
        set -- "$place"/rtscope/*.dtb
        [ -f "$1" ] || return 1
        echo "$(head -n 1 "$place/cmdline.txt") panic=30" >"$place/rtscope/cmdline.txt"
        {
            sed '/^[[:space:]]*\(kernel\|initramfs\|auto_initramfs\|os_prefix\|cmdline\|device_tree\)[[:space:]=]/d' "$place/config.txt"
            printf '\n[all]\nos_prefix=rtscope/\nkernel=vmlinuz\n%s\n' "$initrd"
        } >"$place/tryboot.txt"
    }

    install() {
        [ ! -e "$state" ] || fail "there $(get release)"
        has dpkg && has dpkg-deb && has dpkg-query || fail no-dpkg
        kind=$(loader)
        [ "$kind" != none ] || fail no-loader
        read -r size sum || exit 1
        mkdir -p "${state%/*}" && mkdir -m 700 "$state" || fail "no-room /var/lib/rtscope"
        mark receiving $$
        head -c "$size" >"$state/package.deb"
        got=$(($(wc -c <"$state/package.deb")))
        if [ "$got" -ne "$size" ]; then
            rm -rf "$state"
            fail "short $got"
        fi
        if [ "$(sha256sum <"$state/package.deb" | cut -d' ' -f1)" != "$sum" ]; then
            rm -rf "$state"
            fail damaged
        fi
        package=$(dpkg-deb -f "$state/package.deb" Package 2>/dev/null)
        release=${package#linux-image-}
        arch=$(dpkg-deb -f "$state/package.deb" Architecture 2>/dev/null)
        here=$(dpkg --print-architecture)
        why=''
        case $package in
        linux-image-[0-9]*) ;;
        *) why="not-a-kernel $package" ;;
        esac
        if [ "$arch" != "$here" ]; then
            why="architecture $arch $here"
        elif [ -e "/boot/vmlinuz-$release" ] || [ -e "/lib/modules/$release" ]; then
            why="there-already $release"
        fi
        place=$(firmware)
        old=''
        if [ "$kind" = grub ]; then
            cannot=$(grub_cannot)
            old=$(entry "$(uname -r)")
            if [ -n "$cannot" ]; then
                why="grub $cannot"
            elif [ -z "$old" ]; then
                why="grub its menu has no entry for $(uname -r), which runs"
            fi
        elif [ -e "$place/tryboot.txt" ] || [ -e "$place/rtscope" ]; then
            why="tryboot $place"
        fi
        if [ -n "$why" ]; then
            rm -rf "$state"
            fail "$why"
        fi
        mark install $$
        [ "$kind" != grub ] || [ -f $grubenv ] || grub-editenv $grubenv create
        {
            printf 'loader=%s\npackage=%s\nrelease=%s\nrunning=%s\n' "$kind" "$package" "$release" "$(uname -r)"
            case $kind in
            grub) printf 'old=%s\nsaved=%s\n' "$old" "$(saved)" ;;
            raspberry-pi)
                printf 'place=%s\n' "$place"
                cp "$place/config.txt" "$state/config.txt"
                ;;
            esac
        } >"$state/undo"
        sync
        tell "installing $package"
        if [ "$kind" = grub ]; then
            write_dropin panic=30
            grub-editenv $grubenv set "saved_entry=$old" || back "grub saved_entry can't be set"
        fi
        dpkg --install "$state/package.deb" >"$state/log" 2>&1 </dev/null || back "dpkg $package"
        rm -f "$state/package.deb"
        [ -f "/boot/vmlinuz-$release" ] || back "no-image $release"
        case $kind in
        grub)
            update-grub >>"$state/log" 2>&1 </dev/null || back "update-grub"
            new=$(entry "$release")
            [ -n "$new" ] || back "grub its menu got no entry for $release"
            [ "$(entry "$(uname -r)")" = "$old" ] || back "grub the old kernel's entry is no longer called $old"
            grep -q 'next_entry' $grubcfg && grep -q 'saved_entry' $grubcfg || back "grub its configuration does not read grubenv"
            ;;
        raspberry-pi)
            prepare_pi "$place" "$release" >>"$state/log" 2>&1 || back "pi $place"
            # The package's hooks may have made the new kernel the one for every boot.
            cmp -s "$state/config.txt" "$place/config.txt" || cp "$state/config.txt" "$place/config.txt"
            new=tryboot.txt
            ;;
        esac
        sync
        # Without this line the installation was cut off.
        echo "new=$new" >>"$state/undo"
        sync
        once || back "once"
        let_go
        tell "installed $release"
    }

    # The next boot, and only that, is the new kernel's.
    once() {
        new=$(get new)
        [ -n "$new" ] || return 1
        case $(get loader) in
        grub) grub-editenv $grubenv set "next_entry=$new" ;;
        raspberry-pi) [ -f "$(get place)/tryboot.txt" ] ;;
        esac
    }

    # Reboots, after the connection has ended.
    restart() {
        sync
        if [ "$1" = tryboot ]; then
            (sleep 2; exec reboot '0 tryboot') >/dev/null 2>&1 </dev/null &
        else
            (sleep 2; exec reboot) >/dev/null 2>&1 </dev/null &
        fi
        [ ! -d "$state" ] || mark reboot $!
        tell "rebooting $(get release)"
    }

    try() {
        [ -e "$state/undo" ] || fail none
        [ ! -e "$state/kept" ] || fail "kept $(get release)"
        [ -n "$(get new)" ] || fail "unfinished $(get release)"
        once || fail once
        if [ "$(get loader)" = raspberry-pi ]; then
            restart tryboot
        else
            restart
        fi
    }

    keep() {
        [ -e "$state/undo" ] || fail none
        release=$(get release)
        [ "$(uname -r)" = "$release" ] || fail "not-running $(uname -r) $release"
        [ -n "$(get new)" ] || fail "unfinished $release"
        case $(get loader) in
        grub)
            write_dropin ''
            grub-editenv $grubenv set "saved_entry=$(get new)" || fail once
            update-grub >"$state/log" 2>&1 </dev/null || { log; fail "update-grub"; }
            ;;
        raspberry-pi)
            place=$(get place)
            if ! [ -e "$state/kept" ]; then
                head -n 1 "$place/cmdline.txt" >"$place/rtscope/cmdline.txt"
                mv "$place/tryboot.txt" "$place/config.txt" || fail "pi $place"
            fi
            ;;
        esac
        : >"$state/kept"
        sync
        let_go
        tell "kept $release"
    }

    # Away from the new kernel: to the old one first if it runs.
    remove() {
        [ -e "$state" ] || fail none
        release=$(get release)
        if [ -n "$release" ] && [ "$(uname -r)" = "$release" ]; then
            case $(get loader) in
            grub)
                grub-editenv $grubenv set "saved_entry=$(get old)"
                grub-editenv $grubenv unset next_entry
                ;;
            raspberry-pi) cp "$state/config.txt" "$(get place)/config.txt" ;;
            esac
            sync
            let_go
            tell "running $release $(get running)"
            return
        fi
        if [ -e "$state/undo" ]; then undo; else rm -rf "$state"; fi
        tell "removed ${release:-what was sent}"
    }

    tell "machine $(cat /proc/sys/kernel/random/boot_id) $(uname -r) $(loader)"
    tell "version $(uname -v)"
    read -r action || exit 1
    case $action in
    install | keep | remove | restart | try)
        if at_work; then
            # What still waits for a package has changed nothing, and may wait for hours if its driver went without a word.
            [ "$action $doing" = 'remove receiving' ] || fail "busy $doing"
            kill -KILL "$pid"
        fi
        [ ! -d "$state" ] || mark "$action" $$
        $action
        ;;
    *) tell "here" ;;
    esac
}
rtscope; exit
