# weft sample: seeds, sizes, and the physics that an image shows.
. "$(dirname "$0")/lib.bash" || exit 1

small="--size 128 --pixel 3 --particles 3"
"$WEFT" sample $small -o a.mrc
"$WEFT" sample $small -o b.mrc
"$WEFT" sample $small --seed 2 -o c.mrc
near 0 "$WEFT" calc 'max(abs(a - b))' a=a.mrc b=b.mrc
[ "$("$WEFT" calc 'max(abs(a - b)) > 1' a=a.mrc b=c.mrc)" = 1 ] || die 'another seed, another image'
"$WEFT" info a.mrc | grep -q 'MRC, 128 x 128 f32' || die size
"$WEFT" info a.mrc | grep -q 'spacing 3 3 3 A' || die 'pixel size'

# counts are integers with the mean dose * pixel^2 (the thickness varies by some per cent)
"$WEFT" calc 'abs(mean(a) / 360 - 1) < 0.1' a=a.mrc | grep -qx 1 || die 'the mean is the dose'
prints 0 "$WEFT" calc 'max(a != round(a))' a=a.mrc

# without noise, particles are darker than ice at underfocus and brighter at overfocus
"$WEFT" sample --stack 2 --box 64 --pixel 4 --dose 0 --defocus 2 --cs 0.01 -o under.mrcs
"$WEFT" sample --stack 2 --box 64 --pixel 4 --dose 0 --defocus -2 --cs 0.01 --contrast 0 -o over.mrcs
inside='(y - ny/2)**2 + (x - nx/2)**2 < 100'
"$WEFT" calc "sum(($inside) * (a - 1)) < 0" a=under.mrcs | grep -qx 1 || die 'dark at underfocus'
"$WEFT" calc "sum(($inside) * (a - 1)) > 0" a=over.mrcs | grep -qx 1 || die 'bright at overfocus'

# the particle: its potential in volts, centred in the box, with the symmetry D7 about z (two-fold about x)
"$WEFT" sample --volume --box 64 --pixel 3 -o v.mrc
"$WEFT" calc 'abs(sum(v) * 27 / 7e5 - 1) < 0.01' v=v.mrc | grep -qx 1 || die 'all of it is there'
"$WEFT" calc 'm = sum(v); abs(sum(v * (x - 32)) / m) < 0.1 && abs(sum(v * (z - 32)) / m) < 0.1' v=v.mrc | grep -qx 1 || die centred
"$WEFT" calc 'max(abs(v - v[64-z, 64-y, x])) < 0.01 * max(v)' v=v.mrc | grep -qx 1 || die 'two-fold axis'

refuses 2 'no output: -o' "$WEFT" sample
refuses 2 '64 to 4096' "$WEFT" sample -o x.mrc --size 9
refuses 2 '--voltage 1: give 20 to 1500 kV' "$WEFT" sample -o x.mrc --voltage 1
refuses 2 'not both' "$WEFT" sample -o x.mrc --volume --stack 3
refuses 2 '-o x.png: PNG cannot store f32: .*weft view' timeout 20 "$WEFT" sample --stack 100000 --box 1024 -o x.png
refuses 1 'no/such' "$WEFT" sample --volume --box 16 --pixel 12 -o no/such/x.mrc
echo ok
