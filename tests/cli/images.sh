# ctest: long
#
# weft filter, bin, transform, symmetrize, mask, radial, fsc, correlate, align, convert, ctf, project, pick, star,
# average, reconstruct: what they do
# to waves, discs and shifted images whose results are known, pixel sizes, and refused command lines.
. "$(dirname "$0")/lib.bash" || exit 1

calc() { "$WEFT" calc "$@"; }
# below LIMIT COMMAND...: the command prints a number that is smaller in size
below() {
    local limit=$1 got
    shift
    got=$("$@") || die "$* (exit code $?)"
    awk -v a="$got" -v b="$limit" 'BEGIN { a = a < 0 ? -a : a; exit !(a < b) }' || die "$*: printed '$got', not below $limit"
}
pixel_is() { # pixel_is 'Z Y X' FILE
    "$WEFT" info "$2" | grep -q "spacing $1 A" || die "$2: $("$WEFT" info "$2")"
}

coarse='cos(2*pi*4*x/64)'
fine='cos(2*pi*20*x/64 + 1)'
calc "3 + $coarse + $fine" --shape 48,64 -o waves.mrc --pixel 2

# --- filter: a wave of 32 A stays, one of 6.4 A goes; both ways of naming a resolution
"$WEFT" filter waves.mrc --lowpass 16 -o low.mrc
below 1e-5 calc "max(abs(a - 3 - $coarse))" a=low.mrc
pixel_is '2 2 2' low.mrc
"$WEFT" filter waves.mrc --lowpass 8px,7px -o low.mrc
below 1e-5 calc "max(abs(a - 3 - $coarse))" a=low.mrc
"$WEFT" filter waves.mrc --highpass 16 -o high.mrc
below 1e-5 calc "max(abs(a - $fine))" a=high.mrc
"$WEFT" filter waves.mrc --blur 1.5 -o blur.mrc
below 1e-5 calc "s = -2*(pi*1.5)**2; max(abs(a - 3 - exp(s/256)*$coarse - exp(s*(20./64)**2)*$fine))" a=blur.mrc
"$WEFT" filter waves.mrc --bfactor -100 --lowpass 16 -o sharp.mrc
below 1e-5 calc "max(abs(a - 3 - exp(25./32**2)*$coarse))" a=sharp.mrc
"$WEFT" filter waves.mrc --gaussian 16 -o gauss.mrc
below 1e-5 calc "max(abs(a - 3 - exp(-0.5*(16./32)**2)*$coarse - exp(-0.5*(16*20./128)**2)*$fine))" a=gauss.mrc
"$WEFT" filter waves.mrc --butterworth 16,2 --invert -o butter.mrc
below 1e-5 calc "max(abs(a + 3 + $coarse/sqrt(1 + (16./32)**4) + $fine/sqrt(1 + (16*20./128)**4)))" a=butter.mrc
calc '(z + 1) * (x + 3)' --shape 3,8,8 --stack -o stack.mrcs
"$WEFT" filter stack.mrcs --normalize -o same.mrcs
below 1e-6 calc 'max(abs(mean(a; 1, 2)))' a=same.mrcs
below 1e-6 calc 'max(abs(std(a; 1, 2) - 1))' a=same.mrcs
"$WEFT" filter waves.mrc --lowpass 16 --device cuda-emu --dtype f16 -o emulated.mrc
below 2e-3 calc 'max(abs(a - b))' a=emulated.mrc b=low.mrc
calc 'x + y' --shape 8,8 -o plain.npy
refuses 2 'the pixel size of plain.npy is unknown' "$WEFT" filter plain.npy --lowpass 20 -o out.npy
refuses 2 'give a resolution' "$WEFT" filter waves.mrc --lowpass -3 -o out.mrc
refuses 2 'must be the finer one' "$WEFT" filter waves.mrc --lowpass 16,20 -o out.mrc
refuses 2 'must be the coarser one' "$WEFT" filter waves.mrc --highpass 16,10 -o out.mrc
refuses 2 'no filter' "$WEFT" filter waves.mrc -o out.mrc
refuses 2 'no output' "$WEFT" filter waves.mrc --blur 2
refuses 2 'one file at a time' "$WEFT" filter waves.mrc low.mrc --blur 2 -o out.mrc
refuses 1 'cannot open' "$WEFT" filter none.mrc --blur 2 -o out.mrc
[ ! -e out.mrc ] && [ ! -e out.npy ] || die 'a refused command wrote a file'

# --- bin
"$WEFT" bin waves.mrc --by 2 -o half.mrc
below 1e-6 calc 'max(abs(b - 0.25*(a[2*y, 2*x] + a[2*y+1, 2*x] + a[2*y, 2*x+1] + a[2*y+1, 2*x+1])))' --shape 24,32 \
    a=waves.mrc b=half.mrc
pixel_is '4 4 4' half.mrc
"$WEFT" bin waves.mrc --by 2 --fourier -o half.mrc
below 1e-5 calc "max(abs(a - 3 - cos(2*pi*4*x/32)))" a=half.mrc
"$WEFT" bin waves.mrc --to 1 -o twice.mrc
below 1e-5 calc "max(abs(a - 3 - cos(2*pi*4*x/128) - cos(2*pi*20*x/128 + 1)))" a=twice.mrc
pixel_is '1 1 1' twice.mrc
"$WEFT" bin stack.mrcs --by 4 -o quarter.mrcs
prints '[3,2,2]' json_value shape quarter.mrcs
refuses 2 'one of them' "$WEFT" bin waves.mrc -o out.mrc
refuses 2 'pixel size of plain.npy is unknown' "$WEFT" bin plain.npy --to 3 -o out.npy

# --- transform: turns by right angles, whole shifts and crops are exact
calc '(x*7 + y*13 + x*y) % 17 * 1.0' --shape 33,33 -o odd.mrc --pixel 1.5
"$WEFT" transform odd.mrc --rotate 90 --interpolation nearest -o turned.mrc
prints 0 calc 'i32(max(abs(b - a[32 - x, y])))' a=odd.mrc b=turned.mrc
"$WEFT" transform odd.mrc --shift 3,-2 --interpolation linear --border periodic -o moved.mrc
prints 0 calc 'i32(max(abs(b - a[y - 3, x + 2; periodic])))' a=odd.mrc b=moved.mrc
"$WEFT" transform odd.mrc --shape 20,41 --interpolation nearest --border -5 -o cropped.mrc
prints 0 calc 'i32(max(abs(b - a[y + 6, x - 4; -5.0])))' --shape 20,41 a=odd.mrc b=cropped.mrc
pixel_is '1.5 1.5 1.5' cropped.mrc
"$WEFT" transform odd.mrc --rotate -90 --shift 3,-2 -o turned.mrc # with splines, which would differ from 0 beside the edge
prints 0 calc 'i32(1000*max(abs(b - a[x + 2, 35 - y])))' a=odd.mrc b=turned.mrc
"$WEFT" transform odd.mrc --shape 40,41 -o padded.mrc
prints 0 calc 'i32(1000*max(abs(b - a[y - 4, x - 4])))' --shape 40,41 a=odd.mrc b=padded.mrc
calc "exp(-((x-32)**2 + (y-24)**2)/50.)" --shape 48,64 -o spot.npy
"$WEFT" transform spot.npy --scale 2 --center 24,32 -o wide.npy
below 2e-3 calc "max(abs(a - exp(-((x-32)**2 + (y-24)**2)/200.)))" a=wide.npy
calc "exp(-((x-16)**2 + (y-20)**2 + (z-16)**2)/20.)" --shape 32,32,32 -o ball.npy
"$WEFT" transform ball.npy --rotate 90,0,0 --order zyz -o ball2.npy
below 2e-3 calc "max(abs(a - exp(-((x-12)**2 + (y-16)**2 + (z-16)**2)/20.)))" a=ball2.npy
calc '(x*7 + y*13 + z*11 + x*y*z) % 17 * 1.0' --shape 9,9,9 -o rough.npy
"$WEFT" transform rough.npy --rotate 90,90,-90 --shape 11,11,11 -o turned.npy
"$WEFT" transform rough.npy --rotate 90,90,-90 --shape 11,11,11 --interpolation nearest -o nearest.npy
prints 0 calc 'i32(1000*max(abs(a - b)))' a=turned.npy b=nearest.npy
refuses 2 'give three angles' "$WEFT" transform ball.npy --rotate 90 -o out.npy
refuses 2 'give one angle' "$WEFT" transform spot.npy --rotate 90,0,0 -o out.npy
refuses 2 'no such\|zyz, zxz' "$WEFT" transform ball.npy --rotate 1,2,3 --order zyy -o out.npy
refuses 2 'nearest, linear' "$WEFT" transform spot.npy --interpolation soft -o out.npy
refuses 2 'give 2 extents' "$WEFT" transform spot.npy --shape 8,8,8 -o out.npy

# --- symmetrize: the result is its own rotation, with the mean of the four
"$WEFT" symmetrize odd.mrc -s C4 --interpolation nearest -o c4.mrc
below 1e-5 calc 'max(abs(b - 0.25*(a + a[x, 32 - y] + a[32 - y, 32 - x] + a[32 - x, y])))' a=odd.mrc b=c4.mrc
refuses 2 'D2: give C and a number' "$WEFT" symmetrize odd.mrc -s D2 -o out.mrc
refuses 2 'no symmetry' "$WEFT" symmetrize odd.mrc -o out.mrc
# a helix: planes one rise apart are the same, turned by the twist about n/2
"$WEFT" symmetrize ball.npy --rise 4 --twist 90 --part 0.5 --interpolation linear -o helix.npy
below 1e-6 calc 'max(z < 28 && x > 0 && y > 0 ? abs(a - a[z + 4, x, 32 - y]) : 0)' a=helix.npy
prints 1 calc 'max(z > 29 ? a : 0) > 0.1' a=helix.npy
refuses 2 'is of a helix' "$WEFT" symmetrize ball.npy --twist 3 -o out.npy
refuses 2 'needs --twist' "$WEFT" symmetrize ball.npy --rise 3 -o out.npy
refuses 2 'only C and a number' "$WEFT" symmetrize ball.npy --rise 3 --twist 3 -s D2 -o out.npy
refuses 2 'known pixel size' "$WEFT" symmetrize ball.npy --rise 3A --twist 3 -o out.npy
refuses 2 'for volumes' "$WEFT" symmetrize odd.mrc --rise 3 --twist 3 -o out.mrc
refuses 1 'shorter than the rise' "$WEFT" symmetrize ball.npy --rise 30 --twist 3 -o out.npy

# --- mask
"$WEFT" mask waves.mrc --sphere 10 --edge 0 --only -o disc.mrc
prints 0 calc 'r2 = (x-32)**2 + (y-24)**2; i32(max(abs(a - (r2 <= 100 ? 1 : 0))))' a=disc.mrc
"$WEFT" mask waves.mrc --sphere 20A --edge 0 --invert --outside mean -o hole.mrc
below 1e-5 calc 'r2 = (x-32)**2 + (y-24)**2; max(abs(b - (r2 <= 100 ? mean(a) : a)))' a=waves.mrc b=hole.mrc
"$WEFT" mask ball.npy --box 3,4,5 --edge 0 --only -o box.npy
prints 693 calc 'i32(sum(a))' a=box.npy
"$WEFT" mask ball.npy --cylinder 4,6 --edge 3 -o cylinder.npy
below 1e-6 calc 'max(abs(b - (hypot(x-16., y-16.) < 4 && abs(z-16) < 6 ? a : b)))' a=ball.npy b=cylinder.npy
refuses 2 'for volumes' "$WEFT" mask waves.mrc --cylinder 4,6 -o out.mrc
refuses 2 'known pixel size' "$WEFT" mask ball.npy --sphere 20A -o out.npy
refuses 2 'not both' "$WEFT" mask ball.npy --sphere 20 --box 1,1,1 -o out.npy

# --- radial: a wave has its power in its shell, |F|^2 / N summed over the shell's two elements; values by distance
"$WEFT" radial waves.mrc > power.txt
[ "$(grep -vc '^#' power.txt)" = 25 ] || die 'radial: not a line for each shell'
awk '!/^#/ && $1 == 3 { exit !($2 > 31.9 && $2 < 32.1 && $3 > 30) }' power.txt || die "radial: $(cat power.txt)"
awk '!/^#/ && $1 == 9 { exit !($3 < 1e-6) }' power.txt || die "radial: $(cat power.txt)"
calc 'sqrt((x-16.)**2 + (y-16.)**2)' --shape 32,32 -o cone.npy
"$WEFT" radial cone.npy --values | awk '!/^#/ && $1 > 2 && ($2 - $1 > 0.25 || $1 - $2 > 0.25) { exit 1 }' || die 'radial --values'
"$WEFT" radial waves.mrc --log -o power.svg && grep -q '^<svg' power.svg && grep -q '</svg>' power.svg || die 'radial: svg'
"$WEFT" radial waves.mrc -o power.png
prints '"u8"' json_value dtype power.png
refuses 2 'ends in .svg or .png' "$WEFT" radial waves.mrc -o power.mrc

# --- fsc: of a file with itself 1; of independent noise small; the mask counts
calc "f32 n = 0; i64 h = x*7919 + y*104729 + z*1299709; h = (h ^ (h >> 13)) * 1274126177 % 65536; n = h; out = n/65536 - 0.5" \
    --shape 32,32,32 -o noise.npy
calc "f32 n = 0; i64 h = x*15485863 + y*32452843 + z*49979687 + 77; h = (h ^ (h >> 11)) * 1103515245 % 65536; n = h; out = n/65536 - 0.5" \
    --shape 32,32,32 -o other.npy
calc 'a*20 + n' a=ball.npy n=noise.npy -o one.npy
calc 'a*20 + n' a=ball.npy n=other.npy -o two.npy
"$WEFT" fsc one.npy one.npy | grep -q 'stays above 0.143' || die 'fsc of a file with itself'
"$WEFT" fsc one.npy two.npy --pixel 2 > fsc.txt
grep -q '^# resolution [0-9.]* A at FSC 0.143' fsc.txt || die "fsc: $(head -3 fsc.txt)"
awk '$1 == 1 { exit !($3 > 0.95) }' fsc.txt && awk '$1 == 15 { exit !($3 < 0.3) }' fsc.txt || die "fsc: $(cat fsc.txt)"
"$WEFT" fsc one.npy two.npy --mask ball.npy --threshold 0.5 -o fsc.svg | grep -q 'at FSC 0.5$' || die 'fsc --mask'
grep -q '</svg>' fsc.svg || die 'fsc: svg'
refuses 1 'cone.npy is 32 x 32' "$WEFT" fsc one.npy cone.npy
calc a a=one.npy --pixel 2 -o one.mrc
calc a a=two.npy --pixel 3 -o two.mrc
refuses 1 'one.mrc has pixels of 2 Angstrom and two.mrc of 3' "$WEFT" fsc one.mrc two.mrc
refuses 1 'one.mrc has pixels of 2 Angstrom and two.mrc of 3' "$WEFT" correlate one.mrc two.mrc
refuses 1 'one.mrc has pixels of 2 Angstrom and two.mrc of 3' "$WEFT" fsc one.mrc one.npy --mask two.mrc
"$WEFT" fsc one.mrc two.mrc --pixel 2 > same.txt
cmp <(head -n 1 same.txt) <(head -n 1 fsc.txt) || die 'fsc --pixel of files with other sizes'
refuses 2 'second file is missing' "$WEFT" fsc one.npy

# --- correlate: the shift that transform made
"$WEFT" transform odd.mrc --shift 4,-3 --border periodic --interpolation nearest -o moved.mrc
"$WEFT" correlate moved.mrc odd.mrc > peak.txt
awk '{ a = $2 - 4; b = $3 + 3; exit !(a*a + b*b < 0.01 && $4 > 0.99) }' peak.txt || die "correlate: $(cat peak.txt)"
"$WEFT" correlate moved.mrc odd.mrc --mutual -o map.mrc > peak.txt
prints 1 calc 'i32(argmax(a) == (16 + 4)*33 + 16 - 3)' a=map.mrc
"$WEFT" correlate stack.mrcs stack.mrcs | awk '$2 != 0 || $4 < 0.999 { exit 1 }' || die 'correlate: a stack with itself'
refuses 2 'not both' "$WEFT" correlate odd.mrc odd.mrc --phase --mutual

# --- align: a movie of one image, moved by known fractions of pixels
calc "f32 n = 0; i64 h = x*7919 + y*104729; h = (h ^ (h >> 13)) * 1274126177 % 65536; n = h; out = n/65536 - 0.5" \
    --shape 128,128 -o grain.npy
"$WEFT" filter grain.npy --blur 2 -o soft.npy
frames=''
for i in 0 1 2 3 4; do
    "$WEFT" transform soft.npy --shift "$(awk "BEGIN { print 0.7*$i }"),$(awk "BEGIN { print -1.2*$i }")" --border periodic \
        --interpolation lanczos8 -o "frame$i.npy"
    frames="$frames f$i=frame$i.npy"
done
calc 'z == 0 ? f0[y, x] : z == 1 ? f1[y, x] : z == 2 ? f2[y, x] : z == 3 ? f3[y, x] : f4[y, x]' --shape 5,128,128 $frames \
    --stack --pixel 2 -o movie.mrc
"$WEFT" align movie.mrc -o sum.mrc > shifts.txt
awk '{ a = $2 - 0.7*$1; b = $3 + 1.2*$1; if (a*a + b*b > 0.0025) exit 1 }' shifts.txt || die "align: $(cat shifts.txt)"
below 0.02 calc 'max(abs(b - 5*a)) / max(b)' a=soft.npy b=sum.mrc
pixel_is '2 2 2' sum.mrc
"$WEFT" align movie.mrc --no-align --bin 2 --dose 1 --gain soft.npy -o small.mrc > /dev/null
pixel_is '4 4 4' small.mrc
refuses 1 'odd.mrc: the gain is 33 x 33 pixels' "$WEFT" align movie.mrc --gain odd.mrc -o out.mrc
"$WEFT" align movie.mrc --no-align --gain soft.npy --divide --group 2 -o pairs.mrc > /dev/null
below 1e-4 calc 'max(abs(a*b - (m[0, y, x] + m[1, y, x] + m[2, y, x] + m[3, y, x])))' a=pairs.mrc b=soft.npy m=movie.mrc \
    --shape 128,128
# an EER file: the example of the documentation of the format, 20 x 16 pixels of four parts, four electrons
entry() { printf "\\x$(printf %02x $(($1 % 256)))\\x$(printf %02x $(($1 / 256)))\\x03\\x00\\x01\\x00\\x00\\x00\\x$(printf %02x $(($2 % 256)))\\x$(printf %02x $(($2 / 256)))\\x00\\x00"; }
{ printf 'II*\0\20\0\0\0\x03\x1b\xfc\xb1\x35\xfb\0\0\10\0'
    entry 256 16; entry 257 20; entry 259 65002; entry 273 8; entry 279 6; entry 65007 7; entry 65008 1; entry 65009 1
    printf '\0\0\0\0'; } > four.eer
"$WEFT" info four.eer | grep -q '^four.eer: EER, 1 x 20 x 16 u8, stack of images$' || die "info: $("$WEFT" info four.eer)"
"$WEFT" convert four.eer four.tif --lzw --stack 2> /dev/null && die 'convert --stack to TIFF'
"$WEFT" convert four.eer four.tif --lzw
prints '4' calc 'sum(i32(a))' a=four.tif
prints '2' calc 'i32(a[0, 3]) + i32(a[14, 9])' --shape 1 a=four.tif
"$WEFT" convert four.eer fine.mrcs --upsample 2 --pixel 0.5
prints '4' calc 'i32(a[0, 7]) + i32(a[3, 3]) + i32(a[29, 18]) + i32(a[39, 14])' --shape 1 a=fine.mrcs
calc '2' --shape 20,16 -o two.npy
"$WEFT" convert four.eer half.npy --gain two.npy --divide
prints '2' calc 'sum(a)' a=half.npy
refuses 1 'movie.group is 2 (the file has 1 frames' "$WEFT" convert four.eer out.mrc --group 2
"$WEFT" convert waves.mrc waves.zarr --deflate
"$WEFT" convert waves.zarr -o waves2.mrc
refuses 2 "'b.mrc' is the name of the new file already" "$WEFT" convert waves.mrc b.mrc -o c.mrc
below 1e-12 calc 'max(abs(a - b))' a=waves.mrc b=waves2.mrc
"$WEFT" info waves.zarr | grep -q '^waves.zarr: Zarr, 48 x 64 f32$' || die "info: $("$WEFT" info waves.zarr)"
"$WEFT" convert waves.mrc waves.zarr 2> /dev/null && die 'convert replaced a folder'
mkdir ome.zarr
echo '{"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.5", "multiscales": [{"axes":
    [{"name": "y", "type": "space", "unit": "nanometer"}, {"name": "x", "type": "space", "unit": "nanometer"}],
    "datasets": [{"path": "0.zarr", "coordinateTransformations": [{"type": "scale", "scale": [0.3, 0.3]}]}]}]}}}' \
    > ome.zarr/zarr.json
"$WEFT" convert waves.mrc ome.zarr/0.zarr --deflate
"$WEFT" convert ome.zarr waves3.mrc
pixel_is '0 3 3' waves3.mrc
# levels: each is listed with its path, and is a file by it; a broken one is an error beside the others
"$WEFT" convert waves.mrc levels.ome.zarr --pixel 1.5 --coarsest 20
"$WEFT" info levels.ome.zarr > listed
cat > expected << 'END'
levels.ome.zarr: Zarr, 48 x 64 f32
  spacing 0 1.5 1.5 A (z y x)
  level 0  levels.ome.zarr/0: 48 x 64, spacing 0 1.5 1.5 A (z y x)
  level 1  levels.ome.zarr/1: 24 x 32, spacing 0 3 3 A (z y x)
  level 2  levels.ome.zarr/2: 12 x 16, spacing 0 6 6 A (z y x)
END
cmp listed expected || die "info: $(cat listed)"
below 1e-6 calc 'out = a[y, x] - (b[2*y, 2*x] + b[2*y+1, 2*x] + b[2*y, 2*x+1] + b[2*y+1, 2*x+1])/4; max(abs(out))' \
    --shape 24,32 a=levels.ome.zarr/1 b=levels.ome.zarr
pixel_is '0 6 6' levels.ome.zarr/2
"$WEFT" convert waves.mrc plain.ome.zarr --pixel 1.5 # 64 samples are no more than 256
"$WEFT" info plain.ome.zarr | grep -q level && die 'info lists the level of an image with one'
"$WEFT" convert waves.mrc same.ome.zarr --pixel 1.5 --pyramid
diff -r plain.ome.zarr same.ome.zarr || die 'an image without further levels is another file'
rm -r levels.ome.zarr/1
"$WEFT" info levels.ome.zarr > listed 2> errors && die 'info: a level is missing'
grep -q 'levels.ome.zarr/1: level 1 of the image is not there' errors || die "info: $(cat errors)"
sed '/ome.zarr.[12]:/d' expected | cmp - listed || die "info: $(cat listed)"
refuses 2 'upsample 3: give 1, 2, 4' "$WEFT" convert four.eer out.mrc --upsample 3
refuses 2 'the suffix names no format that is written' "$WEFT" convert four.tif out.eer
refuses 1 'only EER files have finer pixels' "$WEFT" align movie.mrc --upsample 2 -o out.mrc
refuses 1 'a movie has frames' "$WEFT" align soft.npy -o out.mrc
refuses 2 'give electrons' "$WEFT" align movie.mrc --dose -1 -o out.mrc

# --- convert
"$WEFT" convert odd.mrc odd.tif --dtype u8 --deflate
"$WEFT" convert odd.tif back.mrc --pixel 3
prints 0 calc 'i32(max(abs(a - b)))' a=odd.mrc b=back.mrc
pixel_is '3 3 3' back.mrc
refuses 2 'two files are needed' "$WEFT" convert odd.mrc
[ ! -e out.mrc ] && [ ! -e out.npy ] || die 'a refused command wrote a file'

# --- ctf: found in the sample micrograph; flipping twice changes nothing but the sign that flips; the function drawn
"$WEFT" sample -o micrograph.mrc --size 1024 --pixel 1.3 --defocus 1.6
"$WEFT" ctf micrograph.mrc --fit --amplitude 0.07 > fit.txt
awk '{ d = $3 - 1.6; exit !(d*d < 0.0009 && $6 < 0.02 && $12 > 0.1) }' fit.txt || die "ctf --fit: $(cat fit.txt)"
"$WEFT" ctf micrograph.mrc --defocus 1.6,0.05,0 -o flipped.mrc
"$WEFT" ctf flipped.mrc --defocus 1.6,0.05,0 --flip -o twice.mrc
below 1e-3 calc 'max(abs(a - b))' a=micrograph.mrc b=twice.mrc
"$WEFT" ctf --size 64 --pixel 1.3 --defocus 1.6 --amplitude 0.1 -o function.mrc
near 0.1 calc 'sum(x == 32 && y == 32 ? a : 0)' a=function.mrc
"$WEFT" ctf --size 64 --pixel 1.3 --defocus 1.6 --amplitude 0.1 --multiply -o square.mrc
below 1e-6 calc 'max(abs(b - a*a))' a=function.mrc b=square.mrc
"$WEFT" ctf micrograph.mrc --fit --wiener 0.1 --range 1,2 --resolution 25,4 --window 256 -o wiener.mrc > fit.txt
awk '{ d = $3 - 1.6; exit !(d*d < 0.0025) }' fit.txt || die "ctf --fit: $(cat fit.txt)"
refuses 2 'no defocus' "$WEFT" ctf micrograph.mrc -o out.mrc
refuses 2 'not both' "$WEFT" ctf micrograph.mrc --fit --flip --multiply
refuses 2 'pixel gives the pixel size' "$WEFT" ctf --size 64 --defocus 1 -o out.mrc
refuses 2 'pixel size of odd.npy is unknown' bash -c "'$WEFT' calc a a=odd.mrc -o odd.npy && '$WEFT' ctf odd.npy --fit"
refuses 1 'this is a volume' "$WEFT" ctf ball.npy --pixel 1 --fit
[ ! -e out.mrc ] || die 'a refused command wrote a file'

# --- project: the sum of the turned volume, of which its box cuts off the corners
"$WEFT" sample -o barrel.mrc --volume --box 32 --pixel 6
"$WEFT" project barrel.mrc --rotate 30,45,60 --order relion -o view.mrc
"$WEFT" transform barrel.mrc --rotate 30,45,60 --order relion --interpolation linear -o turned.mrc
below 1e-3 calc 'max(abs(sum(a; 0) - b)) / max(b)' a=turned.mrc b=view.mrc
pixel_is '6 6 6' view.mrc
"$WEFT" project barrel.mrc --count 5 -o views.mrcs > angles.txt
prints '[5,32,32]' json_value shape views.mrcs
"$WEFT" project barrel.mrc --rotate "$(awk '$1 == 3 { print $2 "," $3 "," $4 }' angles.txt)" -o view.mrc
below 1e-3 calc 'max(abs(a[3, y, x] - b)) / max(b)' --shape 32,32 a=views.mrcs b=view.mrc
refuses 2 'one of them' "$WEFT" project barrel.mrc -o out.mrc
refuses 2 'angles of --count are zyz' "$WEFT" project barrel.mrc --count 3 --order zxz -o out.mrc
refuses 1 'a volume has 3 axes' "$WEFT" project view.mrc --count 3 -o out.mrc

# --- pick: three spots of another contrast on grains, the best first; a turned template is found by its rotations
calc 'f32 s = 0; s += 9*exp(-(pow(x-30., 2)/40 + pow(y-20., 2)/10)); s += 6*exp(-(pow(x-90., 2)/40 + pow(y-35., 2)/10))
s += 4*exp(-(pow(x-60., 2)/40 + pow(y-70., 2)/10)); out = n[y, x] - s' --shape 100,128 n=grain.npy -o spots.npy
calc 'exp(-(pow(x-10., 2)/10 + pow(y-10., 2)/40))' --shape 21,21 -o spot.npy # turned by 90 degrees
"$WEFT" pick spots.npy spot.npy --rotations 4 --invert --threshold 0.75 -o spots.npy.mrcs --box 16 > picks.txt
prints '20 30;35 90;70 60;' awk '{ printf "%d %d;", $1, $2 }' picks.txt
prints '[3,16,16]' json_value shape spots.npy.mrcs
below 1e-6 calc 'max(abs(b[0, y, x] - a[y + 12, x + 22]))' --shape 16,16 a=spots.npy b=spots.npy.mrcs
[ "$("$WEFT" pick spots.npy spot.npy --rotations 4 --invert --count 2 | wc -l)" = 2 ] || die 'pick --count'
"$WEFT" pick spots.npy spot.npy --threshold 0.99 -o none.mrcs --star none.star > none.txt 2> errors
[ ! -s none.txt ] && [ ! -e none.mrcs ] || die 'pick without a hit'
grep -q 'no place has a correlation of 0.99; nothing is written to none.mrcs' errors || die "$(cat errors)"
grep -q 'data_particles: 0 rows' <("$WEFT" star none.star) || die "$(cat none.star)"
"$WEFT" pick spots.npy spot.npy --threshold 0.99 2> errors
grep -q 'no place has a correlation of 0.99$' errors || die "$(cat errors)"
calc a a=spot.npy --pixel 2 -o spot2.mrc
refuses 1 'spots.mrc has pixels of 3 Angstrom and spot2.mrc of 2' \
    bash -c "'$WEFT' calc a a=spots.npy --pixel 3 -o spots.mrc && '$WEFT' pick spots.mrc spot2.mrc"
[ "$("$WEFT" pick spots.mrc spot2.mrc --rotations 4 --invert --count 2 --pixel 3 | wc -l)" = 2 ] || die 'pick --pixel'
refuses 2 'give a correlation' "$WEFT" pick spots.npy spot.npy --threshold 3
refuses 1 'one micrograph at a time' "$WEFT" pick views.mrcs spot.npy
# --- STAR files of picks: what is written is read again, and cuts the same boxes
"$WEFT" pick spots.npy spot.npy --rotations 4 --invert --threshold 0.75 --pixel 1.5 -o star.mrcs --box 16 \
    --star picks.star > again.txt
cmp picks.txt again.txt || die 'pick --star'
prints '30 20;90 35;60 70;' awk '/mrcs/ { printf "%d %d;", $1, $2 }' picks.star
prints "$(printf '000001@star.mrcs\tspots.npy\n000002@star.mrcs\tspots.npy')" \
    "$WEFT" star picks.star --columns rlnImageName,_rlnMicrographName --rows 2
prints '1.5' "$WEFT" star picks.star --table optics --columns rlnImagePixelSize
"$WEFT" star picks.star --columns rlnCoordinateY,rlnCoordinateX,rlnAutopickFigureOfMerit -o picks.npy
prints '[3,3]' json_value shape picks.npy
below 1e-9 calc 'abs(a[1, 0] - 35) + abs(a[1, 1] - 90)' --shape 1 a=picks.npy
"$WEFT" star picks.star > listed
"$WEFT" info picks.star | cmp - listed || die 'weft info of a STAR file'
grep -q '^picks.star: STAR, 2 tables$' listed || die "$(cat listed)"
grep -q '^  data_particles: 3 rows, 6 columns: rlnCoordinateX rlnCoordinateY ' listed || die "$(cat listed)"
"$WEFT" pick spots.npy --coordinates picks.star --box 16 -o cut.mrcs > again.txt
cmp picks.txt again.txt || die 'pick --coordinates'
below 1e-9 calc 'max(abs(a - b))' a=cut.mrcs b=star.mrcs
# all columns of places that were read go on, and the optics groups
printf 'data_optics\nloop_\n_rlnOpticsGroup\n_rlnVoltage\n_rlnMicrographPixelSize\n7 300 1.5\n
data_particles\nloop_\n_rlnMicrographName\n_rlnCoordinateX\n_rlnCoordinateY\n_rlnOpticsGroup\n_rlnDefocusU\n' > full.star
printf 'm/a.mrc 1 2 7 8\nspots.npy 30.0 20.25 7 15000\nspots.npy 90 35 7 16000\n' >> full.star
"$WEFT" pick spots.npy --coordinates full.star --box 16 -o kept.mrcs --star kept.star > kept.txt
prints "$(printf '30.0\t20.25\t7\t15000\t000001@kept.mrcs\n90\t35\t7\t16000\t000002@kept.mrcs')" \
    "$WEFT" star kept.star --columns rlnCoordinateX,rlnCoordinateY,rlnOpticsGroup,rlnDefocusU,rlnImageName
prints "$(printf '7\t300\t1.5\t1.5\t16')" "$WEFT" star kept.star --table optics \
    --columns rlnOpticsGroup,rlnVoltage,rlnMicrographPixelSize,rlnImagePixelSize,rlnImageSize
"$WEFT" pick spots.npy --coordinates kept.star --box 16 -o again.mrcs --pixel 3 --star again.star > again.txt
cmp kept.txt again.txt || die 'pick --coordinates of its own file'
prints "$(printf '7\t300\t1.5\t3')" "$WEFT" star again.star --table optics \
    --columns rlnOpticsGroup,rlnVoltage,rlnMicrographPixelSize,rlnImagePixelSize
printf 'data_\nloop_\n_rlnMicrographName\n_rlnCoordinateX\n_rlnCoordinateY\nm/a.mrc 1 2\nm/spots.npy 30.4 19.6\n' > two.star
prints '20 30' "$WEFT" pick spots.npy --coordinates two.star --box 16 -o cut.mrcs
below 1e-9 calc 'max(abs(a[y, x] - b[0, y, x]))' --shape 16,16 a=cut.mrcs b=star.mrcs
refuses 1 'no particle has the rlnMicrographName spot.npy' "$WEFT" pick spot.npy --coordinates two.star
printf 'data_x\n_a 1\n' > mixed.star
refuses 1 'no table has rlnCoordinateX' "$WEFT" pick spots.npy --coordinates mixed.star
printf 'data_x\nloop_\n_rlnCoordinateX\n_rlnCoordinateY\n5 6\n1e300 ?\n' > unknown.star
refuses 1 'row 1 has the coordinates nan 1e+300' "$WEFT" pick spots.npy --coordinates unknown.star
refuses 2 'box gives the size' "$WEFT" pick spots.npy --coordinates two.star -o out.mrcs
refuses 2 "'spot.npy' is not needed" "$WEFT" pick spots.npy spot.npy --coordinates two.star
refuses 1 'no table has the columns rlnX' "$WEFT" star two.star --columns rlnX
refuses 1 'no table data_optics' "$WEFT" star two.star --table optics
refuses 1 "line 6: rlnMicrographName of table data_ is 'm/a.mrc'" "$WEFT" star two.star -o out.npy
refuses 2 'names separated by commas' "$WEFT" star two.star --columns a,,b
[ ! -e out.mrc ] && [ ! -e out.mrcs ] && [ ! -e out.npy ] || die 'a refused command wrote a file'
# --- average: particles that are references, turned and shifted by known amounts
calc 'exp(-((y - 15)**2/40.0 + (x - 24)**2/9.0)) + (z == 0 ? 0.7*exp(-((y - 28)**2 + (x - 16)**2)/12.0)
        : 0.9*exp(-((y - 20)**2 + (x - 9)**2)/25.0))' --shape 2,40,40 --stack --pixel 2 -o two.mrcs
for i in 0 1; do
    calc 'v[k, y, x]' v=two.mrcs k=$i --shape 40,40 --pixel 2 -o one.mrc
    "$WEFT" transform one.mrc --rotate $((100 * i + 40)) --shift $((2 - i)),$((3 * i - 1)) -o "part$i.mrc"
done
calc 'z % 2 == 0 ? a[y, x] : b[y, x]' --shape 4,40,40 a=part0.mrc b=part1.mrc --stack --pixel 2 -o parts.mrcs
"$WEFT" average parts.mrcs two.mrcs --iterations 1 --radius 18 -o averages.mrcs > places.txt
awk '{ k = $1 % 2; a = $3 - 100*k - 40; y = $4 - (2 - k); x = $5 - (3*k - 1)
       if ($2 != k || a*a > 0.01 || y*y + x*x > 0.04 || $6 < 0.9 || $6 > 1) exit 1 } END { exit NR != 4 }' places.txt ||
    die "average: $(cat places.txt)"
below 0.03 calc 'c = (a - mean(a; 1, 2))/std(a; 1, 2); d = (b - mean(b; 1, 2))/std(b; 1, 2); 1 - min(mean(c*d; 1, 2))' \
    a=averages.mrcs b=two.mrcs
pixel_is '2 2 2' averages.mrcs
calc '-a' a=parts.mrcs -o dark.mrcs
"$WEFT" average dark.mrcs two.mrcs --iterations 1 --invert -o averages.mrcs | awk '$2 != $1 % 2 { exit 1 }' || die 'average --invert'
refuses 1 'images of 40 x 40' "$WEFT" average parts.mrcs odd.mrc -o out.mrcs
refuses 2 'give a number of angles' "$WEFT" average parts.mrcs two.mrcs --rotations 0 -o out.mrcs

# --- reconstruct: the volume comes back from its projections; shifts and the order of angles count
calc 'exp(-((z - 14)**2 + (y - 20)**2 + (x - 16)**2)/18.0) + 0.6*exp(-((z - 19)**2 + (y - 12)**2 + (x - 20)**2)/8.0)' \
    --shape 32,32,32 --pixel 2 -o blobs.mrc
"$WEFT" project blobs.mrc --count 120 -o views.mrcs > views.txt
"$WEFT" reconstruct views.mrcs --angles views.txt -o back.mrc
below 0.06 calc 'max(abs(a - b))' a=blobs.mrc b=back.mrc # projections interpolate linearly
pixel_is '2 2 2' back.mrc
"$WEFT" transform views.mrcs --shift 1,-2 -o moved.mrcs
awk '{ print $0, 1, -2 }' views.txt | sort -r > moved.txt # in any order of lines
"$WEFT" reconstruct moved.mrcs --angles moved.txt -o again.mrc
below 0.06 calc 'max(abs(a - b))' a=blobs.mrc b=again.mrc
"$WEFT" reconstruct views.mrcs --angles views.txt --resolution 16 -o coarse.mrc
prints 1 calc 'f = abs(fft(a))**2; k = min(z, nz - z)**2 + min(y, ny - y)**2 + min(x, nx - x)**2
    i32(sum(f * (k > 25)) < 0.01 * sum(f) && sum(f * (k > 9)) > 0.001 * sum(f))' a=coarse.mrc
{ echo '# number, angles'; head -n 3 views.txt; } > few.txt
"$WEFT" reconstruct views.mrcs --angles few.txt -o few.mrc
printf '0 1 2\n' > bad.txt
refuses 1 'bad.txt: line 1' "$WEFT" reconstruct views.mrcs --angles bad.txt -o out.mrc
printf '0 1 2 3\n120 1 2 3\n' > bad.txt
refuses 1 'line 2: there are 120 images' "$WEFT" reconstruct views.mrcs --angles bad.txt -o out.mrc
: > bad.txt
refuses 1 'no angles' "$WEFT" reconstruct views.mrcs --angles bad.txt -o out.mrc
refuses 2 'no angles: give a STAR file or --angles FILE' "$WEFT" reconstruct views.mrcs -o out.mrc
refuses 2 '--subset is for STAR files' "$WEFT" reconstruct views.mrcs --angles views.txt --subset 1 -o out.mrc
refuses 1 'give square ones' "$WEFT" reconstruct waves.mrc --angles views.txt -o out.mrc

# --angles of project reads what reconstruct reads: lists, with shifts, and STAR files
"$WEFT" project blobs.mrc --angles views.txt -o again.mrcs > again.txt
cmp views.txt again.txt || die 'project --angles'
below 1e-3 calc 'max(abs(a - b))' a=again.mrcs b=views.mrcs # of angles to a thousandth
"$WEFT" project blobs.mrc --angles moved.txt -o shifted.mrcs > shifted.txt
"$WEFT" reconstruct shifted.mrcs --angles shifted.txt -o again.mrc
below 0.05 calc 'max(abs(a - b))' a=again.mrc b=back.mrc
{ printf 'data_particles\nloop_\n_rlnAngleRot\n_rlnAngleTilt\n_rlnAnglePsi\n_rlnOriginYAngst\n_rlnOriginXAngst\n'
    awk '!/^#/ && NF { print -$4, -$3, -$2, -2*$5, -2*$6 }' shifted.txt; } > shifted.star
"$WEFT" project blobs.mrc --angles shifted.star -o star.mrcs > star.txt
below 0.01 calc 'max(abs(a - b))' a=star.mrcs b=shifted.mrcs
refuses 2 'one of them' "$WEFT" project blobs.mrc --angles views.txt --count 3 -o out.mrcs
refuses 2 'are those of relion' "$WEFT" project blobs.mrc --angles shifted.star --order zyz -o out.mrcs
refuses 1 'shifted.txt: image 0, from 0, is not centred' "$WEFT" project blobs.mrc --angles shifted.txt --defocus 1 -o out.mrcs
refuses 1 'no table has rlnAngleRot' "$WEFT" project blobs.mrc --angles picks.star -o out.mrcs
# with symmetry a fourth of the directions is enough
calc 'a + a[z, 32 - y, 32 - x] + a[z, x, 32 - y] + a[z, 32 - x, y]' a=blobs.mrc -o four.mrc
"$WEFT" project four.mrc --count 40 -o some.mrcs > some.txt
"$WEFT" reconstruct some.mrcs --angles some.txt -o plain.mrc
"$WEFT" reconstruct some.mrcs --angles some.txt --symmetry C4 -o symmetric.mrc
prints 1 calc 'i32(sum((b - a)**2) < 0.5*sum((c - a)**2) && sum((b - a)**2) < 0.01*sum(a**2))' \
    a=four.mrc b=symmetric.mrc c=plain.mrc
refuses 2 'C4x: give C4, D7' "$WEFT" reconstruct some.mrcs --angles some.txt --symmetry C4x -o out.mrc

# a STAR file: shifts in Angstrom, two stacks of different defocus, optics groups, a stack above the STAR file's folder.
# RELION's angles are those of --order zyz of the inverse rotation.
mkdir -p Extract Refine/job
"$WEFT" ctf moved.mrcs --defocus 1.5 --multiply -o Extract/odd.mrcs
"$WEFT" ctf moved.mrcs --defocus 1.0,0.1,30 --multiply -o Extract/even.mrcs
star() { # star OPTICS_COLUMNS OPTICS COLUMNS AWK_FIELDS
    printf 'data_optics\nloop_\n_rlnOpticsGroup\n'
    printf '_%s\n' $1
    printf '1 %s\n\ndata_particles\nloop_\n_rlnOpticsGroup\n' "$2"
    printf '_%s\n' $3
    awk "{ odd = \$1 % 2; print 1, $4 }" views.txt
}
optics='rlnImagePixelSize rlnVoltage rlnSphericalAberration rlnAmplitudeContrast'
angles='rlnImageName rlnAngleRot rlnAngleTilt rlnAnglePsi'
defocus='rlnDefocusU rlnDefocusV rlnDefocusAngle'
name='($1 + 1) "@Extract/" (odd ? "odd" : "even") ".mrcs", -$4, -$3, -$2'
ctf='odd ? 15000 : 11000, odd ? 15000 : 9000, odd ? 0 : 30'
star "$optics" '2 300 2.7 0.1' "$angles rlnOriginYAngst rlnOriginXAngst $defocus rlnRandomSubset" \
    "$name, -2, 4, $ctf, odd + 1" > Refine/job/run_data.star
(cd Refine && "$WEFT" reconstruct job/run_data.star -o ../map.mrc)
below 0.08 calc 'max(abs(a - b))' a=blobs.mrc b=map.mrc
pixel_is '2 2 2' map.mrc
"$WEFT" reconstruct Refine/job/run_data.star --no-ctf -o map.mrc
prints 1 calc 'i32(max(abs(a - b)) > 0.3)' a=blobs.mrc b=map.mrc
for half in 1 2; do
    "$WEFT" reconstruct Refine/job/run_data.star --subset $half -o map$half.mrc
    below 0.13 calc 'max(abs(a - b))' a=blobs.mrc b=map$half.mrc # one defocus, whose zeros lose what is there
done
prints 1 calc 'i32(max(abs(a - b)) > 1e-3)' a=map1.mrc b=map2.mrc
# images that were multiplied by their CTFs again, origins in pixels, the pixel size of the detector and magnification
"$WEFT" ctf Extract/odd.mrcs --defocus 1.5 --multiply -o Extract/squared.mrcs
star "rlnVoltage rlnSphericalAberration rlnAmplitudeContrast rlnCtfDataAreCtfPremultiplied" '300 2.7 0.1 1' \
    "$angles rlnOriginY rlnOriginX rlnDetectorPixelSize rlnMagnification $defocus" \
    '($1 + 1) "@Extract/squared.mrcs", -$4, -$3, -$2, -1, 2, 5, 25000, 15000, 15000, 0' > old.star
"$WEFT" reconstruct old.star -o map.mrc
below 0.13 calc 'max(abs(a - b))' a=blobs.mrc b=map.mrc
# what is not corrected is named, unless it is 0
star "$optics rlnBeamTiltX rlnEvenZernike rlnMagMat00" '2 300 2.7 0.1 0.0 [0,0.000,0] 1.01' "$angles $defocus" \
    "$name, $ctf" > tilted.star
"$WEFT" reconstruct tilted.star -o map.mrc 2> warnings
[ "$(grep 'tilted.star' warnings)" = 'weft: warning: tilted.star: rlnMagMat00 is not corrected' ] || die "$(cat warnings)"
star "$optics rlnBeamTiltX rlnEvenZernike" '2 300 2.7 0.1 -0.1 [0,0.002,0]' "$angles $defocus" "$name, $ctf" > tilted.star
"$WEFT" reconstruct tilted.star -o map.mrc 2> warnings
[ "$(grep -c 'rlnBeamTiltX\|rlnEvenZernike' warnings)" = 2 ] || die "$(cat warnings)"
refused_star() { # refused_star MESSAGE STAR_ARGUMENTS...
    local message=$1
    shift
    star "$@" > bad.star
    refuses 1 "$message" "$WEFT" reconstruct bad.star -o out.mrc
}
refused_star 'no rlnAnglePsi' rlnImagePixelSize 2 'rlnImageName rlnAngleRot rlnAngleTilt' '"1@Extract/odd.mrcs", 0, 0'
refused_star 'there is rlnDefocusU and no rlnVoltage' rlnImagePixelSize 2 "$angles $defocus" "$name, $ctf"
refused_star 'particle 1, 1@Extract/even.mrcs: rlnAmplitudeContrast is 10, and must be from -1 to 1' "$optics" '2 300 2.7 10' \
    "$angles $defocus" "$name, $ctf"
refused_star 'rlnVoltage is 300000, and must be from 1 to 3000' "$optics" '2 300000 2.7 0.1' "$angles $defocus" "$name, $ctf"
refused_star 'rlnVoltage is 0, and' "$optics" '2 0 2.7 0.1' "$angles $defocus" "$name, $ctf"
refused_star 'there is rlnOriginXAngst and no rlnImagePixelSize' rlnVoltage 300 "$angles rlnOriginYAngst rlnOriginXAngst" "$name, 1, 1"
refused_star 'no table has rlnImageName' rlnVoltage 300 rlnAngleRot 1
refused_star 'give the number of an image' rlnVoltage 300 "$angles" '"0@Extract/odd.mrcs", 0, 0, 0'
refused_star 'there are 120 images, and bad.star has image 121' rlnVoltage 300 "$angles" '($1 + 2) "@Extract/odd.mrcs", 0, 0, 0'
refused_star 'cannot open' rlnVoltage 300 "$angles" '"1@Extract/none.mrcs", 0, 0, 0'
refused_star 'particle 1, 1@Extract/odd.mrcs: an angle' rlnVoltage 300 "$angles" '"1@Extract/odd.mrcs", 0, "?", 0'
refused_star 'particles of two pixel sizes, 2 and 3' rlnVoltage 300 "$angles rlnImagePixelSize" "$name, 2 + odd"
refuses 1 'there is no rlnRandomSubset' "$WEFT" reconstruct old.star --subset 1 -o out.mrc
refuses 2 'the STAR file has the angles' "$WEFT" reconstruct old.star --angles views.txt -o out.mrc

[ ! -e out.mrc ] && [ ! -e out.mrcs ] || die 'a refused command wrote a file'
