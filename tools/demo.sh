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
# taps AXIS STEP N WEIGHTS...: a weighted sum of neighbours along an axis
taps() {
    local axis=$1 step=$2 text="" k=0 w at
    shift 2
    local n=$(($# / 2))
    for w; do
        at=$(((k - n) * step))
        [ "$axis" = x ] && text+=" + $w*a[y, x+$at; mirror]" || text+=" + $w*a[y+$at, x; mirror]"
        k=$((k + 1))
    done
    echo "(${text# + })"
}
gauss="0.011 0.044 0.114 0.206 0.25 0.206 0.114 0.044 0.011"
flat=$(for _ in $(seq 25); do printf '0.04 '; done)

say "1. This machine"
run info

say "2. A micrograph: 2048 x 2048, 1.5 A per pixel, proteins in ice, at the edge of the carbon film"
run sample -o micrograph.mrc --carbon --defocus 2
run stats micrograph.mrc
run view micrograph.mrc -o 1-before.png --size 1024

say "3. Less noise: 9 x 9 Gaussian, as sums of neighbours along x, then y"
# shellcheck disable=SC2086
run calc --time "out = $(taps x 1 $gauss)" a=micrograph.mrc -o rows.mrc
# shellcheck disable=SC2086
run calc --time "out = $(taps y 1 $gauss)" a=rows.mrc -o smooth.mrc

say "4. The background, and the spread, around each pixel: means over 288 x 288"
# shellcheck disable=SC2086
run calc --time "m = $(taps x 12 $flat); s = $(taps x 12 $flat | sed -E 's/a\[([^]]*)\]/a[\1]**2/g')" \
    a=smooth.mrc -o m=mean_x.mrc -o s=square_x.mrc
# shellcheck disable=SC2086
run calc --time "m = $(taps y 12 $flat); s = $(taps y 12 $flat | sed 's/a\[/q[/g'); out = (img - m) / sqrt(max(s - m*m, 1e-6))" \
    img=smooth.mrc a=mean_x.mrc q=square_x.mrc -o m=background.mrc -o out=normalised.mrc
run view background.mrc -o 2-background.png --size 1024
run view normalised.mrc -o 3-after.png --size 1024 --range=-3.2,2.4

say "5. Edges: the magnitude of the gradient, where the signal is dark"
gradient='gx = a[y, x+3; clamp] - a[y, x-3; clamp]
gy = a[y+3, x; clamp] - a[y-3, x; clamp]
out = sqrt(gx*gx + gy*gy) * (a < 0 ? 1 : 0.4)'
run calc --time "$gradient" a=normalised.mrc -o edges.mrc
run view edges.mrc -o 4-edges.png --size 1024 --percentiles 1,99.8
run calc 'x < nx/2 ? (b - mean(b)) / std(b) : a' b=micrograph.mrc a=normalised.mrc -o halves.mrc
run view halves.mrc -o 5-before-and-after.png --size 1024 --range=-3,2.4

say "6. The particle itself, and single images of it"
run sample --volume -o particle.mrc --box 128
run sample --stack 40 --box 128 --dose 60 -o particles.mrcs
run view particle.mrc -o 6-particle.png --scale 2
run view particles.mrcs -o 7-particles.png --columns 10 --sigma 3

say "7. What became of the gradient: recorded, fused into one kernel, compiled"
run dump "$gradient" a=f32[2048,2048] --trace
printf '  $ weft dump ... --passes | tail\n'
"$WEFT" dump "$gradient" 'a=f32[2048,2048]' --passes 2>&1 | tail -n 30 | sed 's/^/    /'
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
