# weft view: pixels, contrast, sizes of montages and slices.
. "$(dirname "$0")/lib.bash" || exit 1

pixels() { # pixels FILE: all of them
    "$WEFT" calc 'a' a="$1"
}

# --- contrast: --range is exact; gamma, invert
"$WEFT" calc '10.0 * x' --shape 1,5 -o ramp.npy # 0 10 20 30 40
"$WEFT" view ramp.npy -o r.png --range 0,40
prints '0 64 128 191 255' pixels r.png
"$WEFT" view ramp.npy -o r.png --range 10,30
prints '0 0 128 255 255' pixels r.png
"$WEFT" view ramp.npy -o r.png --range 0,40 --invert
prints '255 191 128 64 0' pixels r.png
"$WEFT" view ramp.npy -o r.png --range 0,40 --gamma 2
prints '0 16 64 143 255' pixels r.png
"$WEFT" view ramp.npy -o r.png --percentiles 0,100
prints '0 64 128 191 255' pixels r.png
"$WEFT" view ramp.npy -o r.png --sigma 1 # 20 +- 14.142
prints '0 37 128 218 255' pixels r.png
"$WEFT" calc '1e9 + a' a=ramp.npy -o offset.npy # f64 and i32 values beyond the digits of f32
"$WEFT" view offset.npy -o r.png --percentiles 0,100
prints '0 64 128 191 255' pixels r.png
"$WEFT" calc 'i32(1073741824) + i32(10*x)' --shape 1,5 --dtype i32 -o whole.npy
"$WEFT" view whole.npy -o r.png --range 1073741824,1073741864
prints '0 64 128 191 255' pixels r.png
"$WEFT" calc '(a - 20) * 1.5e37' a=ramp.npy --dtype f32 -o wide.npy
"$WEFT" view wide.npy -o r.png --range=-3e38,3e38
prints '0 64 128 191 255' pixels r.png
"$WEFT" view wide.npy -o r.png --range=-1e300,1e300
prints '128 128 128 128 128' pixels r.png
"$WEFT" calc 'a / a' a=ramp.npy -o nan.npy
"$WEFT" view nan.npy -o r.png --range 0,1
prints '0 255 255 255 255' pixels r.png
"$WEFT" calc 'a * 0 + 7' a=ramp.npy -o flat.npy
"$WEFT" view flat.npy -o r.png

# --- size: averaging, enlarging
"$WEFT" calc 'f32(x + 100*y)' --shape 6,9 -o grid.npy
"$WEFT" view grid.npy -o g.png --scale 0.34 --range 0,1000
prints '[2,3]' json_value shape g.png
prints '26 27 27 102 103 104' pixels g.png # means of 3 x 3: 101, 104, 107, 401, 404, 407
"$WEFT" view grid.npy -o g.png --scale 2 --range 0,1000
prints '[12,18]' json_value shape g.png
"$WEFT" calc 'x' --shape 300,300 -o large.npy
"$WEFT" view large.npy -o l.png --size 100
prints '[100,100]' json_value shape l.png

# --- stacks and volumes
"$WEFT" sample --stack 7 --box 32 --pixel 6 -o s.mrcs
"$WEFT" view s.mrcs -o m.png
prints "[$((3 * 36 - 4)),$((3 * 36 - 4))]" json_value shape m.png
"$WEFT" view s.mrcs -o m.png --images 2:4 --columns 1 --each
prints "[$((2 * 36 - 4)),32]" json_value shape m.png
"$WEFT" view s.mrcs --volume --slice x=3 -o m.png
prints '[7,32]' json_value shape m.png
"$WEFT" sample --volume --box 32 --pixel 6 -o v.mrc
"$WEFT" view v.mrc -o m.png
prints "[32,$((3 * 36 - 4))]" json_value shape m.png
"$WEFT" calc 'x*0.01 + y*0.1 + z' --shape 3,4,5 -o vol.npy
"$WEFT" view vol.npy -o z.png --slice z=1 --range 1,2
prints '[4,5]' json_value shape z.png
prints '0' json_value min z.png
prints "$(awk 'BEGIN { print int(255 * 0.34 + 0.5) }')" json_value max z.png

# --- colours stay colours
"$WEFT" calc 'x' --shape 4,5,3 -o c.npy
"$WEFT" calc 'c * 100' c=c.npy --dtype u8 -o c.png
"$WEFT" view c.png -o c2.png --range 0,255
prints '[4,5,3]' json_value shape c2.png
prints 0 "$WEFT" calc 'max(a != b)' a=c.png b=c2.png
"$WEFT" view c.png -o c2.png --range 0,255 --scale 2
prints '[8,10,3]' json_value shape c2.png
"$WEFT" calc 'int d = b[idiv(i0, 2), idiv(i1, 2), i2] != a; d' a=c2.png b=c.png -o twice.npy
prints 0 "$WEFT" calc 'count(d)' d=twice.npy
# alpha is not stretched: 65535 is opaque in 16 bits
"$WEFT" calc 'x == 3 ? 257 * 40 : 1000 * y' --shape 5,5,4 --dtype u16 -o alpha.tif
"$WEFT" view alpha.tif -o alpha.png --range 0,65535
prints 40 "$WEFT" calc 'max(x == 3 ? a : 0)' a=alpha.png
# pages in colour make a montage in colour; an axis of four pixels is no channels
"$WEFT" calc '50*i0 + 10*i1 + x' --shape 3,5,6,3 --dtype u8 -o pages.tif
"$WEFT" view pages.tif -o pages.png --range 0,255
prints '[5,26,3]' json_value shape pages.png
"$WEFT" view pages.tif -o page.png --range 0,255 --images 2
"$WEFT" calc '100 + 10*i0 + x' --shape 5,6,3 -o page.npy
prints 0 "$WEFT" calc 'count(a != b)' a=page.png b=page.npy
"$WEFT" calc '10*z + y + x' --shape 3,6,4 -o narrow.mrcs
"$WEFT" calc a a=narrow.mrcs -o narrow.tif
"$WEFT" view narrow.tif -o narrow.png
prints '[6,20]' json_value shape narrow.png
refuses 1 '--slice is for volumes, and this is a stack' "$WEFT" view pages.tif -o x.png --slice z

refuses 2 '--range or --sigma, not both' "$WEFT" view v.mrc -o x.png --range 0,1 --sigma 2
refuses 2 '--percentiles or --range, not both' "$WEFT" view v.mrc -o x.png --percentiles 1,99 --range 0,1
refuses 2 '--stack or --volume, not both' "$WEFT" view v.mrc -o x.png --volume --stack
refuses 2 '--scale 1.5: give a factor below 1, or a whole one' "$WEFT" view v.mrc -o x.png --scale 1.5
refuses 2 '--images 9223372036854775807: give images' "$WEFT" view s.mrcs -o x.png --images 9223372036854775807
"$WEFT" view c.png -o tiny.png --scale 1e-300
"$WEFT" view c.png -o small.png --scale 0.001
cmp tiny.png small.png || die 'a scale that is all but 0'
refuses 1 '--images is for stacks, and this is none; --stack' "$WEFT" view v.mrc -o x.png --images 0:2
refuses 1 '--images is for stacks, and this is none$' "$WEFT" view grid.npy -o x.png --images 0
refuses 1 '--images is for stacks' "$WEFT" view c.png -o x.png --images 0
refuses 1 '--slice is for volumes, and this is a stack; --volume' "$WEFT" view s.mrcs -o x.png --slice z
refuses 1 '--slice is for volumes, and this is an image' "$WEFT" view grid.npy -o x.png --slice z
# a wave of 4 periods: its power is at 4 pixels from the middle, on both sides, and nowhere else
"$WEFT" calc 'cos(2*pi*4*x/64)' --shape 48,64 -o wave.npy
"$WEFT" view wave.npy -o rings.png --spectrum --range=-5,5
prints 2 "$WEFT" calc 'sum(i32(a > 200))' a=rings.png
prints '1 1' "$WEFT" calc 'i32(a[24, 32 + 8*x - 4] == 255)' --shape 2 a=rings.png
"$WEFT" view v.mrc -o rings.png --spectrum --slice z
"$WEFT" view v.mrc -o m.png --stack --images 0:4 --columns 2
prints '[68,68]' json_value shape m.png
refuses 2 'no output: -o' "$WEFT" view s.mrcs
refuses 2 'no file' "$WEFT" view -o x.png
refuses 1 'images of one channel' "$WEFT" view c.png -o x.png --spectrum
refuses 2 'is a second' "$WEFT" view s.mrcs v.mrc -o x.png
refuses 2 'give two' "$WEFT" view s.mrcs -o x.png --range 3
refuses 2 'give axes' "$WEFT" view v.mrc -o x.png --slice q
refuses 1 'slice z=99: the volume has [0-9]* sections there, 0 to' "$WEFT" view v.mrc -o x.png --slice z=99
refuses 1 'images 9: the stack has [0-9]* images, 0 to' "$WEFT" view s.mrcs -o x.png --images 9
refuses 1 'missing' "$WEFT" view missing.mrc -o x.png
[ ! -e x.png ] || die 'a failed command left a file'
echo ok
