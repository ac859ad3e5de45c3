# ctest: threads
#
# weft calc --memory: files are the memory of arrays; the results are those of arrays in memory, byte for byte.
. "$(dirname "$0")/lib.bash" || exit 1

"$WEFT" calc 'a = f32(sin(z*0.1) + x*y*0.01)' --shape 40,90,100 --pixel 2 -o a=a.mrc
"$WEFT" calc 'b = a*3 + 1' a=a.mrc -o b=b.npy
"$WEFT" calc 'a' a=a.mrc -o a.mrc.gz

# same TEXT OUTPUT ARGUMENT...: the text writes the same files with --memory and without
same() {
    local text=$1 out=$2
    shift 2
    "$WEFT" calc "$text" "$@" -o "out=whole-$out"
    "$WEFT" calc "$text" "$@" -o "out=mapped-$out" --memory 1M
    cmp "whole-$out" "mapped-$out" || die "$text: another file with --memory"
}
same 'n = (a - mean(a))/std(a); out = n[z, y, x-1] + n[z-1, y, x; clamp] - 2*n' out.mrc a=a.mrc
same 'n = (a - mean(a))/std(a); out = n[z, y, x-1] + n[z-1, y, x; clamp] - 2*n' out.npy a=a.mrc
same 'out = a*b + g' out.npy a=a.mrc b=b.npy g=2.5
same 'out = a*b' out.mrc a=a.mrc.gz b=b.npy
same 'out = sort(a; 0)' out.mrc a=a.mrc
same 'out = a; out = out*out' out.npy a=a.mrc
same 'out = f64(a)*2' out.mrc a=a.mrc # stored as f32
same 'out = mean(a; 0)' out.tif a=a.mrc
same 'out = a > b' out.npy a=a.mrc b=b.npy
same 'f32 s = 0; for (int k = -2; k <= 2; k++) s += a[z, y, x+k]; out = s' out.mrc a=a.mrc
same 'out = x + y' out.npy --shape 700,900
same 'global i32 out[40]; out[i64(abs(a)) % 40]++' out.npy a=a.mrc # a global array is no memory of a file
same 'global i32 h[40]; h[i64(abs(a)) % 40]++; out = cumsum(h)' out.npy a=a.mrc
same 'global i32 h[40]; h[i64(abs(a)) % 40]++; out = h[i64(abs(a)) % 40] * 1.0' out.mrc a=a.mrc
same 'f32 out = 0; for (int k = 0; k < 3; k++) out += a[z, y, x+k]' out.mrc a=a.mrc

"$WEFT" calc 'a = a*2; m = a > 1' a=a.mrc -o a=twice.mrc -o m=m.npy --memory 2k 2> refused.err && die 'a small k'
"$WEFT" calc 'a = a*2; m = a > 1' a=a.mrc -o a=twice.mrc -o m=m.npy --memory 2K
"$WEFT" calc 'a = a*2; m = a > 1' a=a.mrc -o a=twice2.mrc -o m=m2.npy
cmp twice.mrc twice2.mrc || die 'an input that is assigned'
cmp m.npy m2.npy || die 'two outputs'
cp a.mrc in-place.mrc
"$WEFT" calc 'out = a + 1' a=in-place.mrc -o in-place.mrc --memory 1M # the input is replaced when all is computed
"$WEFT" calc 'out = a + 1' a=a.mrc -o plus.mrc
cmp in-place.mrc plus.mrc || die 'a result in the place of its input'
near "$("$WEFT" calc 'mean(a)' a=a.mrc)" "$WEFT" calc 'mean(a)' a=a.mrc --memory 1M

refuses 2 '^weft calc: --memory 2X: give bytes' "$WEFT" calc a a=a.mrc --memory 2X -o c.npy
refuses 2 '^weft calc: --memory 0: give bytes' "$WEFT" calc a a=a.mrc --memory 0 -o c.npy
refuses 2 '^weft calc: --chunk or --memory, not both' "$WEFT" calc a a=a.mrc --memory 1M --chunk 1 -o c.npy
refuses 2 'works on cpu and interp only' "$WEFT" calc a a=a.mrc --memory 1M --device cuda:0 -o c.npy
refuses 1 "unknown name 'q'" "$WEFT" calc 'out = a + q' a=a.mrc --memory 1M -o c.npy
refuses 1 'no file in .*/nowhere: No such file' env TMPDIR="$work/nowhere" "$WEFT" calc 'r = x + f64(y); out = sort(r; 0)' \
    --shape 700,900 --memory 1 -o c.npy
[ ! -e c.npy ] || die 'a result after an error'
head -c 700000 a.mrc > short.mrc
refuses 1 'short.mrc' "$WEFT" calc 'out = a' a=short.mrc --memory 1M -o c.npy
