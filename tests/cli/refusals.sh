# What the commands for images and STAR files refuse, by messages that name files, options and what works instead.
. "$(dirname "$0")/lib.bash" || exit 1

calc() { "$WEFT" calc "$@"; }

# --- pictures in colour are no volumes; the command of the message works as it is typed
calc '(x*7 + y*13 + z) % 256' --shape 6,5,3 --dtype u8 -o colour.png
for to in out.mrc out.ome.zarr; do
    refuses 1 'colour.png: the image has 3 channels' "$WEFT" convert colour.png $to
    [ ! -e $to ] || die "$to was written"
done
refuses 1 'the image has 3 channels' "$WEFT" bin colour.png --by 2 -o out.mrc
weft() { "$WEFT" "$@"; }
eval "$(grep '^  weft calc' refused.err)"
prints '[6,5]' json_value shape channel.mrc
prints 0 calc 'max(abs(f32(a) - b[y, x, 0]))' --shape 6,5 a=channel.mrc b=colour.png
"$WEFT" convert colour.png colour.npy
prints '[6,5,3]' json_value shape colour.npy

# --- volumes, masks, groups and blocks that do not fit
calc 'x + y + z' --shape 12,10,8 --volume --pixel 2 -o volume.map
calc 'x + y' --shape 10,8 -o image.npy
calc 'x + y + z' --shape 3,10,8 --stack --pixel 2 -o stack.mrcs
refuses 1 'image.npy is 10 x 8' "$WEFT" fsc volume.map volume.map --mask image.npy
"$WEFT" fsc stack.mrcs stack.mrcs --mask image.npy > fsc.txt
refuses 2 '--sphere -4: give 1 length from 0 on' "$WEFT" mask volume.map --sphere -4 -o out.map
refuses 2 '--ellipsoid 3,0,3: give 3 lengths' "$WEFT" mask volume.map --ellipsoid 3,0,3 -o out.map
refuses 2 '--symmetry X4: give C4, D7' "$WEFT" symmetrize volume.map --symmetry X4 -o out.map
refuses 2 '--symmetry TT' "$WEFT" symmetrize volume.map --symmetry TT -o out.map
refuses 2 '--by 9: volume.map has 8 pixels along x' "$WEFT" bin volume.map --by 9 -o out.map
refuses 1 'a stack of images is no volume' "$WEFT" project stack.mrcs --rotate 1,2,3 -o out.mrc
prints 'f32 of 0 x 0: no values' calc 'bin(f32(a), 100)' a=image.npy
refuses 2 'not from standard input' "$WEFT" calc a a=-
refuses 2 '--scale 0.7: give one over a whole number' "$WEFT" view image.npy -o out.png --scale 0.7
refuses 2 '--scale 0.3: give one over a whole number' "$WEFT" view image.npy -o out.png --scale 0.3
refuses 1 'rotate takes 2 arguments, not 3$' "$WEFT" calc 'rotate(a, 1, 2)' a=image.npy
refuses 1 'sum takes 1 argument, not 2; axes follow a semicolon' "$WEFT" calc 'sum(a, 1)' a=image.npy

# --- STAR files: which table has a column; a row is a line whatever its values are
printf 'data_optics\nloop_\n_a\n_b\n1 2\ndata_particles\nloop_\n_c\n_d\n3\n;two\nlines\n;\n4 5\n' > two.star
refuses 1 'data_optics does not have the columns c, which data_particles has' \
    "$WEFT" star two.star --table optics --columns c
refuses 1 'data_optics does not have the columns e$' "$WEFT" star two.star --table optics --columns e
refuses 1 'no table has the columns e' "$WEFT" star two.star --columns e
prints "$(printf '3\ttwo lines\n4\t5')" "$WEFT" star two.star --table particles
[ ! -e out.map ] && [ ! -e out.mrc ] && [ ! -e out.png ] || die 'a refused command wrote a file'
