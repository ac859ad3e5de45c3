# weft calc --chunk: stacks of any length, in pieces; the results are those of the whole where each image stands alone.
. "$(dirname "$0")/lib.bash" || exit 1

"$WEFT" sample -o a.mrcs --stack 7 --box 40 --pixel 2
"$WEFT" calc 'x + 100*y' --shape 40,40 -o gain.npy
text='out = sqrt(abs(a))*g + a[z, y-1, x+2; mirror]; big = a > 0'
"$WEFT" calc "$text" a=a.mrcs g=gain.npy -o whole.mrcs -o big=big.npy
for n in 1 2 3 7 100; do
    "$WEFT" calc "$text" a=a.mrcs g=gain.npy --chunk $n -o part.mrcs -o big=part.npy
    cmp whole.mrcs part.mrcs || die "chunks of $n images: another file"
    cmp big.npy part.npy || die "chunks of $n images: another mask"
done
"$WEFT" calc a a=a.mrcs --dtype u16 -o whole.tif
"$WEFT" calc a a=a.mrcs --dtype u16 --chunk 2 -o part.tif
cmp whole.tif part.tif || die 'TIFF: another file'
"$WEFT" calc a a=a.mrcs -o a.mrcs.gz
"$WEFT" calc "$text" a=a.mrcs.gz g=gain.npy --chunk 3 -o part.mrcs.gz
gunzip -c part.mrcs.gz | cmp - whole.mrcs || die 'gzip: another file'
"$WEFT" calc 'a - mean(a)' a=a.mrcs --chunk 1 -o m.npy # sums are those of each image
prints '1' "$WEFT" calc 'all(abs(mean(m; 1, 2)) < 1e-4)' m=m.npy
"$WEFT" calc --time a a=a.mrcs --chunk 4 -o t.npy 2> times
grep -q 'compute' times || die 'no times'
refuses 2 '^weft calc: --chunk or --shape, not both' "$WEFT" calc a a=a.mrcs --chunk 2 --shape 3,3 -o b.npy
refuses 2 '^weft calc: --chunk writes stacks; -o names one' "$WEFT" calc a a=a.mrcs --chunk 2
refuses 2 '^weft calc: --chunk 0: give a number of images' "$WEFT" calc a a=a.mrcs --chunk 0 -o b.npy
refuses 1 'no input is a stack of images' "$WEFT" calc g g=gain.npy --chunk 2 -o b.npy
refuses 1 'the first axis of a result must be that of the stacks' "$WEFT" calc 'mean(a; 0)' a=a.mrcs --chunk 2 -o b.npy
"$WEFT" sample -o b.mrcs --stack 5 --box 40
refuses 1 'b.mrcs has 5 images, another stack has 7' "$WEFT" calc a+b a=a.mrcs b=b.mrcs --chunk 2 -o c.npy
[ ! -e b.npy ] && [ ! -e c.npy ] || die 'a result after an error'
