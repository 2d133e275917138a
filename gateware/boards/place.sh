#!/bin/sh
# place.sh BOARD DEVICE PACKAGE MHZ DIR SEEDS: places, routes and packs a board's design with the first seed that meets its clock.
set -eu
board=$1 device=$2 package=$3 mhz=$4 dir=$5 seeds=$6
for seed in $seeds; do
    log=$dir/nextpnr.log
    # A design that barely fits may take very long to place with the wrong seed.
    if timeout 120 nextpnr-ice40 "--$device" --package "$package" --pcf "boards/$board/pins.pcf" --json "$dir/$board.json" \
        --asc "$dir/$board.asc" --freq "$mhz" --seed "$seed" >"$log" 2>&1; then
        icepack "$dir/$board.asc" "$dir/$board.bin"
        cells=$(sed -n 's/.*ICESTORM_LC: *\([0-9]*\)\/ *\([0-9]*\).*/\1 of \2 cells/p' "$log" | head -n 1)
        rams=$(sed -n 's/.*ICESTORM_RAM: *\([0-9]*\)\/ *\([0-9]*\).*/\1 of \2 block RAMs/p' "$log" | head -n 1)
        reached=$(sed -n "s/.*Max frequency for clock .*: \([0-9.]*\) MHz (PASS.*/\1/p" "$log" | tail -n 1)
        [ -n "$reached" ] || { echo "place.sh: no speed in $log" >&2; exit 1; }
        half=$(awk "BEGIN { printf \"%.2f\", 500 / $mhz }")
        echo "$board: $cells, $rams, $reached MHz reached of $mhz needed (seed $seed), resolution $half ns" >"$dir/summary"
        exit 0
    fi
    echo "place.sh: $board: not with seed $seed: $(grep -m 1 ERROR "$log" || echo 'took too long')" >&2
done
exit 1
