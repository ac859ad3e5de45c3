# The place and the pixels of results: origins that follow from NSTART, origins of crops and means, --origin, pixels of
# different sizes along the axes, and records of symmetry that a rotation drops.
. "$(dirname "$0")/lib.bash" || exit 1

calc() { "$WEFT" calc "$@"; }
# is FILE 'LINE'...: weft info prints these lines
is() {
    local file=$1 line
    shift
    "$WEFT" info "$file" > info.txt
    for line; do
        grep -qx -e "$line" info.txt || die "$file: no line '$line' in $(cat info.txt)"
    done
}
# put FILE OFFSET BYTES: replaces bytes of a header
put() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
# word FILE OFFSET: an i32 of the header
word() { od -An -tdI -j "$2" -N 4 "$1" | tr -d ' '; }

calc 'x + 10.*y + 100.*z' --shape 12,10,8 --volume --pixel 2 -o plain.map
cp plain.map start.map
put start.map 16 '\376\377\377\377\003' # NSTART x = -2, y = 3
is start.map '  origin  0 6 -4 A (z y x)'

# an origin that comes from NSTART follows the pixel size, and is saved as NSTART alone
"$WEFT" convert start.map five.map --pixel 5
is five.map '  spacing 5 5 5 A (z y x)' '  origin  0 15 -10 A (z y x)'
prints -2 word five.map 16
prints 0 word five.map 196
calc 'a + 1' a=start.map --pixel 5 -o five.map
is five.map '  origin  0 15 -10 A (z y x)'
"$WEFT" mask start.map --sphere 3 --pixel 4 -o four.map
is four.map '  origin  0 12 -8 A (z y x)'
# another origin stays where it is
"$WEFT" convert plain.map placed.map --origin 1,-2.5,3
is placed.map '  origin  1 -2.5 3 A (z y x)'
"$WEFT" convert placed.map five.map --pixel 5
is five.map '  origin  1 -2.5 3 A (z y x)'
"$WEFT" convert start.map placed.map --origin 7,8
is placed.map '  origin  0 7 8 A (z y x)'
prints 0 word placed.map 16
calc 'a[z, y+1, x]' a=start.map --shape 4,4,4 -o text.map
is text.map '  origin  0 6 -4 A (z y x)'
calc 'a[z, y+1, x]' a=start.map --shape 4,4,4 --origin 0,8,-4 -o text.map
is text.map '  origin  0 8 -4 A (z y x)'
refuses 2 'give Angstrom along z,y,x or y,x' "$WEFT" convert plain.map out.map --origin 3
refuses 2 'no place for an origin' "$WEFT" convert plain.map out.npy --origin 1,2
refuses 2 '--origin.*are for files' "$WEFT" calc 'a' a=plain.map --origin 1,2

# crops, pads and means: each sample has the place that it had
"$WEFT" transform start.map --shape 6,4,16 -o crop.map
is crop.map '  origin  6 12 -12 A (z y x)'
prints 0 calc 'i32(max(abs(a - b[z+3, y+3, x-4])))' --shape 6,4,16 a=crop.map b=start.map
"$WEFT" transform start.map --shape 6,4,8 --origin 1,1,1 -o crop.map
is crop.map '  origin  1 1 1 A (z y x)'
"$WEFT" bin start.map --by 2 -o half.map
is half.map '  spacing 4 4 4 A (z y x)' '  origin  1 7 -3 A (z y x)'
"$WEFT" bin start.map --by 2 -o half.ome.zarr
"$WEFT" convert start.map levels.ome.zarr --coarsest 8
is levels.ome.zarr/1 '  origin  1 7 -3 A (z y x)'
is half.ome.zarr '  origin  1 7 -3 A (z y x)'
"$WEFT" bin start.map --by 2 --fourier -o half.map
is half.map '  origin  0 6 -4 A (z y x)'

# lengths in Angstrom along axes of different pixel sizes
calc '0*x + y + z' --shape 24,24,24 --volume --pixel 3,2,1 -o uneven.map
"$WEFT" mask uneven.map --sphere 8.5A --edge 0 --only -o ball.map
farthest() { calc "f32 d = 0; d = a > 0 ? abs($2 - 12) : 0; max(d)" a="$1"; }
prints 2 farthest ball.map z
prints 4 farthest ball.map y
prints 8 farthest ball.map x
"$WEFT" mask uneven.map --box 8.5,8.5,8.5A --edge 0 --only -o box.map
prints 2 farthest box.map z
prints 8 farthest box.map x
"$WEFT" mask uneven.map --sphere 8.5 --edge 0 --only -o ball.map # pixels
prints 8 farthest ball.map z
refuses 1 'pixels of 3 x 2 x 1 Angstrom (z y x): --edge in Angstrom' \
    "$WEFT" mask uneven.map --sphere 8 --edge 4A -o out.map
refuses 1 '--cylinder in Angstrom' "$WEFT" mask uneven.map --cylinder 8,6A -o out.map
refuses 1 'a shell of one resolution' "$WEFT" fsc uneven.map uneven.map
refuses 1 'a shell of one resolution' "$WEFT" radial uneven.map
"$WEFT" radial uneven.map --values > values.txt
refuses 1 'a rotation needs one size' "$WEFT" transform uneven.map --rotate 10,20,30 -o out.map
refuses 1 'a rotation needs one size' "$WEFT" symmetrize uneven.map --symmetry C4 -o out.map
refuses 1 'a rotation needs one size' "$WEFT" project uneven.map --count 4 -o out.mrcs
"$WEFT" bin uneven.map --to 1 -o even.map
"$WEFT" transform even.map --rotate 10,20,30 -o turned.map
"$WEFT" fsc even.map turned.map > fsc.txt
"$WEFT" convert uneven.map nearly.map --pixel 1,1,1.009
"$WEFT" transform nearly.map --rotate 10,20,30 -o turned.map

# what is rotated, shifted or scaled has no symmetry of the crystal
cp plain.map crystal.map
put crystal.map 88 '\004'
"$WEFT" filter crystal.map --blur 1 -o soft.map
prints 4 word soft.map 88
for how in '--rotate 90,0,0' '--shift 1,0,0' '--scale 2'; do
    "$WEFT" transform crystal.map $how -o out.map
    prints 1 word out.map 88
    rm out.map
done
[ ! -e out.map ] && [ ! -e out.npy ] || die 'a refused command wrote a file'
