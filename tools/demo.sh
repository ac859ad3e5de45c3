#!/usr/bin/env bash
# Makes a micrograph, a movie and a volume, processes them by the tool, and writes pictures of each step to demo/. `make demo`
# runs this script.
set -euo pipefail
cd "$(dirname "$0")/.."
WEFT=${WEFT:-$PWD/build/weft}
[ -x "$WEFT" ] || { echo "demo: $WEFT does not exist: make" >&2; exit 1; }
mkdir -p demo
cd demo
begin=$(date +%s)

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { # shows the command, with long texts shortened, and runs it
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
near='(abs(@ - a) < 0.1*a ? @ : a)' # neighbours that differ too much are replaced by the pixel itself

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

    say "4. The background: means over 217 x 217 pixels that lie on the same side of the carbon's edge"
    run calc --time "$(taps x 9 "$near" $equal)" a=smooth.mrc -o rows.mrc
    run calc --time "$(taps y 9 "$near" $equal)" a=rows.mrc -o background.mrc
    run view background.mrc -o 2-background.png --size 1024
}

say "5. The particles, as contrast against the background, and their edges"
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

say "7. The stages of the gradient: recorded, fused into one kernel, compiled"
run dump "$gradient" a=f32[2048,2048] --trace
printf '  $ weft dump ... --plan | tail\n'
"$WEFT" dump "$gradient" 'a=f32[2048,2048]' --plan 2>&1 | tail -n 30 | sed 's/^/    /'
if [ -n "$("$WEFT" info | sed -n '/^LLVM      [0-9]/p')" ]; then
    printf '  $ weft dump ... --asm: the instructions of the inner loops, counted\n'
    "$WEFT" dump "$gradient" 'a=f32[2048,2048]' --asm | grep -oE '^[[:space:]]+v[a-z0-9]+' | sort | uniq -c | sort -rn |
        sed -n '1,8s/^/    /p'
fi

say "8. A movie: 8 frames of a drifting specimen with the noise of counted electrons, aligned and added"
run sample -o still.mrc --size 1024 --pixel 2 --defocus 1.8 --dose 5000
frames=() pick=
for i in 0 1 2 3 4 5 6 7; do
    shift=$(awk -v i=$i 'BEGIN { printf "%.2f,%.2f", 6 * sqrt(i), -1.3 * i }')
    "$WEFT" transform still.mrc --shift "$shift" --border mirror -o "frame$i.mrc"
    frames+=("f$i=frame$i.mrc")
    pick+="z == $i ? f${i}[y, x] : "
done
noise='i64 h = x + 1024*(y + 1024*z) + 1; for (int k = 0; k < 3; k++) { h = h ^ h >> 16; h = h * 73244475 % 4294967296; }
f32 u = (h % 65536 + 0.5)/65536; f32 v = (h / 65536)/65536.0
f32 m = ('"$pick"'0) / 5000
out = m + 0.35*sqrt(-2*log(u))*cos(2*pi*v)'
run calc "$noise" --shape 8,1024,1024 "${frames[@]}" --stack --pixel 2 -o movie.mrcs
rm -f frame?.mrc
run align movie.mrcs -o sum.mrc
run align movie.mrcs --no-align -o blurred.mrc
run calc 'x < nx/2 ? b : a' a=sum.mrc b=blurred.mrc -o halves.mrc
run filter halves.mrc --lowpass 14 -o halves.mrc
run view halves.mrc -o 9-frames-added-and-aligned.png --sigma 3

say "9. The microscope: its contrast transfer function, found in the power spectrum (recorded at 1.8 um) and corrected"
run ctf sum.mrc --fit --amplitude 0.07 --resolution 40,6 -o flipped.mrc
run radial sum.mrc --log -o 10-power.png
run filter flipped.mrc --lowpass 16 --highpass 400 -o clear.mrc

say "10. Particles, found by projections of the volume in 8 directions and 18 rotations"
run bin particle.mrc --to 2 -o coarse.mrc
run mask coarse.mrc --sphere 44 -o masked.mrc
run project masked.mrc --count 8 -o views.mrcs
run pick clear.mrc views.mrcs --rotations 18 --invert --distance 40 --count 60 --box 96 -o picked.mrcs | awk 'NR <= 6'
echo '    ... the best of 60: y, x, correlation'
run view picked.mrcs -o 11-picked.png --columns 15

say "11. The particles of each direction, turned and moved onto its projection, and averaged"
run average picked.mrcs views.mrcs --rotations 72 --iterations 2 --invert --radius 40 -o averages.mrcs | awk 'NR <= 4'
echo '    ... of 60: reference, rotation, shift, correlation'
run view averages.mrcs -o 12-averages.png --columns 8 --scale 2 --each

say "12. The volume from 400 projections, by inserting the transform of each as a slice"
echo '  $ weft project masked.mrc --count 400 -o many.mrcs > many.txt'
"$WEFT" project masked.mrc --count 400 -o many.mrcs > many.txt
run reconstruct many.mrcs --angles many.txt -o back.mrc
run fsc masked.mrc back.mrc -o 13-fsc-reconstructed.png
run view back.mrc -o 13-reconstructed.png --scale 2 --percentiles 0,99.9

say "13. The resolution of two volumes with independent noise, before and after averaging over the symmetry D7"
run bin particle.mrc --by 2 --fourier -o small.mrc
for half in 1 2; do
    noise='i64 h = x + 64*(y + 64*z) + 1000000*'$half'; for (int k = 0; k < 3; k++) { h = h ^ h >> 16; h = h * 73244475 % 4294967296; }
f32 u = (h % 65536 + 0.5)/65536; f32 v = (h / 65536)/65536.0
out = p[z, y, x] + 2*sqrt(-2*log(u))*cos(2*pi*v)'
    run calc "$noise" --shape 64,64,64 p=small.mrc -o "half$half.mrc"
    run symmetrize "half$half.mrc" --symmetry D7 -o "averaged$half.mrc"
done
run fsc half1.mrc half2.mrc -o 14-fsc.png
run fsc averaged1.mrc averaged2.mrc -o 15-fsc-averaged.png

say "14. How fast, beside plain C"
run bench --quick

say "Done in $(($(date +%s) - begin)) s. Look at:"
for picture in *.png; do printf '  demo/%s\n' "$picture"; done
printf '\n  weft help           all commands\n  weft help calc      more of one of them\n  docs/text.md        the language\n'
