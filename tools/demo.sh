#!/usr/bin/env bash
# Makes a micrograph, works on it with weft calc, and leaves pictures of before and after in demo/. `make demo` runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
WEFT=${WEFT:-$PWD/build/weft}
[ -x "$WEFT" ] || { echo "demo: $WEFT does not exist: make" >&2; exit 1; }
mkdir -p demo
cd demo
begin=$(date +%s)

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { # shows the command and runs it; long texts are cut
    local shown="weft" argument
    for argument; do
        argument=${argument//$'\n'/; }
        [ ${#argument} -le 100 ] || argument="${argument:0:70} ... (${#argument} characters)"
        case $argument in *[\ \;\*\(\[]*) argument="'$argument'" ;; esac
        shown+=" $argument"
    done
    printf '  $ %s\n' "$shown"
    "$WEFT" "$@" 2>&1 | sed 's/^/    /'
}
# taps AXIS STEP TEMPLATE WEIGHTS...: a weighted sum of neighbours along an axis; @ in the template is the neighbour
taps() {
    local axis=$1 step=$2 template=$3 text="" k=0 w at
    shift 3
    local n=$(($# / 2))
    for w; do
        printf -v at '%+d' $(((k - n) * step))
        [ "$axis" = x ] && at="a[y, x$at; mirror]" || at="a[y$at, x; mirror]"
        text+=" + $w*${template//@/$at}"
        k=$((k + 1))
    done
    echo "out = ${text# + }"
}
gauss=$(awk 'BEGIN { for (i = -9; i <= 9; i++) s += exp(-i*i/24.5); for (i = -9; i <= 9; i++) printf "%.4f ", exp(-i*i/24.5) / s }')
equal=$(awk 'BEGIN { for (i = 0; i < 25; i++) printf "0.04 " }')
near='(abs(@ - a) < 0.1*a ? @ : a)' # what differs too much does not count

say "1. This machine"
run info

say "2. A micrograph: 2048 x 2048, 1.5 A per pixel, proteins in ice, at the edge of the carbon film"
run sample -o micrograph.mrc --carbon --defocus 2
run stats micrograph.mrc
run view micrograph.mrc -o 1-before.png --size 1024

# shellcheck disable=SC2086 # lists of weights
{
    say "3. Less noise: a Gaussian of 19 x 19 pixels, as sums of neighbours along x, then y"
    run calc --time "$(taps x 1 @ $gauss)" a=micrograph.mrc -o rows.mrc
    run calc --time "$(taps y 1 @ $gauss)" a=rows.mrc -o smooth.mrc

    say "4. The background: means over 217 x 217 pixels, leaving out what lies across the edge of the carbon"
    run calc --time "$(taps x 9 "$near" $equal)" a=smooth.mrc -o rows.mrc
    run calc --time "$(taps y 9 "$near" $equal)" a=rows.mrc -o background.mrc
    run view background.mrc -o 2-background.png --size 1024
}

say "5. What is left: the particles, as contrast against the background; and their edges"
run calc --time 'a / b - 1' a=smooth.mrc b=background.mrc -o contrast.mrc
run stats contrast.mrc
run view contrast.mrc -o 3-after.png --size 1024 --sigma 3.5
gradient='gx = a[y, x+4; clamp] - a[y, x-4; clamp]
gy = a[y+4, x; clamp] - a[y-4, x; clamp]
out = sqrt(gx*gx + gy*gy)'
run calc --time "$gradient" a=contrast.mrc -o edges.mrc
run view edges.mrc -o 4-edges.png --size 1024 --percentiles 20,99.8
run calc 'before = (raw - mean(raw)) / std(raw) / 3; out = x < nx/2 ? before : c / std(c) / 3.5' raw=micrograph.mrc \
    c=contrast.mrc -o halves.mrc
run view halves.mrc -o 5-before-and-after.png --size 1024 --range=-1,1

say "6. The particle itself, and single images of it: as recorded, and smoothed"
run sample --volume -o particle.mrc --box 128
run view particle.mrc -o 6-particle.png --scale 2 --percentiles 0,99.9
run sample --stack 20 --box 128 --defocus 2 -o particles.mrcs
# shellcheck disable=SC2086 # lists of weights
run calc "$(taps x 1 @ $gauss)" a=particles.mrcs -o rows.mrcs
# shellcheck disable=SC2086
run calc "$(taps y 1 @ $gauss)" a=rows.mrcs -o smooth.mrcs
run view particles.mrcs -o 7-particles.png --columns 10 --sigma 3
run view smooth.mrcs -o 8-particles-smoothed.png --columns 10 --sigma 3 --each

say "7. What became of the gradient: recorded, fused into one kernel, compiled"
run dump "$gradient" a=f32[2048,2048] --trace
printf '  $ weft dump ... --plan | tail\n'
"$WEFT" dump "$gradient" 'a=f32[2048,2048]' --plan 2>&1 | tail -n 30 | sed 's/^/    /'
if "$WEFT" info | grep -q '^LLVM      [0-9]'; then
    printf '  $ weft dump ... --asm: the instructions of the inner loops, counted\n'
    "$WEFT" dump "$gradient" 'a=f32[2048,2048]' --asm | grep -oE '^[[:space:]]+v[a-z0-9]+' | sort | uniq -c | sort -rn |
        head -n 8 | sed 's/^/    /'
fi

say "8. How fast, beside plain C"
run bench --quick

say "Done in $(($(date +%s) - begin)) s. Look at:"
for picture in *.png; do printf '  demo/%s\n' "$picture"; done
printf '\n  weft help calc      more of it\n  docs/text.md        the language\n'
