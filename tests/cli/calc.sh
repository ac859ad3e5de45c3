# ctest: threads no_llvm
#
# weft calc: numbers and files as inputs and outputs; formats, stored types, meta data, refused command lines.
. "$(dirname "$0")/lib.bash" || exit 1

# --- as a calculator
prints 7 "$WEFT" calc '1 + 2*3'
prints 0.5 "$WEFT" calc 'out = 1/2'
prints 3 "$WEFT" calc 'a = 1; b = a + 1; c = a + b'
prints 5.5 "$WEFT" calc 'gain * x' gain=2.2 x=2.5

# --- programs, which run at every point of the shape
prints '0 1 7 2 5 8 16 3' "$WEFT" calc --shape 8 \
    'i32 n = x + 1, c; while (n != 1) { if (n % 2) n = 3*n + 1; else n /= 2; c++ } out = c'
prints '0 3 6' "$WEFT" calc 'f32 s; for (k = -1; k <= 1; k++) s += x + k
s' --shape 3
printf 'int out = 0;\nfor (int k = 0; k < 4; k++) {\n    if (k == x)\n        break;\n    out += 2;\n}\n' > steps.txt
prints '0 2 4 6 8 8' "$WEFT" calc -f steps.txt --shape 6
refuses 1 'never closed' "$WEFT" calc 'if (x > 1) { out = 1' --shape 3
refuses 1 'shape' "$WEFT" calc 'int k = 1; out = k'
"$WEFT" dump 'int s; while (s < a) s++; s' 'a=i32[8]' | grep -q '^%.* loop' || die 'dump: no loop'

# --- a drawing
"$WEFT" dump 'sqrt(a*a + 1)' 'a=f32[8]' --dot > graph.dot
grep -q '^digraph weft {$' graph.dot && grep -q 'label="sqrt' graph.dot && grep -q -e '->' graph.dot || die 'dump: no graph'

# --- dump: no memory for declared arrays; a shape, a text from a file
"$WEFT" dump 'out = a + 1' 'a=f32[30000,30000]' | grep -q 'store f32 (30000, 30000)' || die 'dump: a large array'
printf 'out = a[2*y, 2*x]\n    + 1\n' > half.weft
"$WEFT" dump -f half.weft 'a=f32[8,8]' --shape 4,4 | grep -q 'store f32 (4, 4)' || die 'dump: -f and --shape'
refuses 2 "there is a text already, 'a'" "$WEFT" dump a -f half.weft 'a=f32[8,8]'
refuses 2 "'a' is given twice" "$WEFT" dump a 'a=f32[8,8]' a=3
refuses 2 'give extents' "$WEFT" dump x --shape 0

# --- the history of kernels
"$WEFT" calc 'f32(x) * 2 - 2 + x*0' --shape 64 --history -o history.npy 2> history.txt
grep -q '^launch  kernel  hash' history.txt || die 'history: no table'
grep -Eq '^ *[0-9]+ +1 of 1 +[0-9a-f]{16} .* 64  new ' history.txt || die 'history: no kernel'

# --- arrays from coordinates; every format keeps the values
"$WEFT" calc 'x + 10*y' --shape 7,9 -o ramp.npy
"$WEFT" calc 'x + 10*y' --shape 7,9 -o=same.npy
cmp ramp.npy same.npy || die '-o=FILE'
prints '[7,9]' json_value shape ramp.npy
prints '"i64"' json_value dtype ramp.npy
prints 68 json_value max ramp.npy
near 34 json_value mean ramp.npy
for file in ramp.mrc ramp.tif ramp.npy; do
    "$WEFT" calc 'f32(a) + 0.25' a=ramp.npy -o "f32.${file##*.}"
    near 0 "$WEFT" calc 'max(abs(b - a - 0.25))' a=ramp.npy b="f32.${file##*.}"
done
"$WEFT" calc 'a' a=ramp.npy --dtype u8 -o ramp.png
"$WEFT" calc 'a * 100' a=ramp.npy --dtype u16 -o ramp16.png
prints '"u8"' json_value dtype ramp.png
prints '"u16"' json_value dtype ramp16.png
prints 0 "$WEFT" calc 'max(i64(b) != a*100)' a=ramp.npy b=ramp16.png

# --- stored types: rounded, cut to the range
"$WEFT" calc 'a*10 - 99.6' a=ramp.npy --dtype i8 -o cut.mrc
prints '"i8"' json_value dtype cut.mrc
prints -100 json_value min cut.mrc
prints 127 json_value max cut.mrc
"$WEFT" calc 'a / 3' a=ramp.npy --dtype f16 -o half.mrc
"$WEFT" info half.mrc | grep -q ' f16' || die 'info: f16'
prints 1 "$WEFT" calc 'max(abs(h - a/3)) < 0.0079' h=half.mrc a=ramp.npy

# --- several inputs and outputs, by name and by default
"$WEFT" calc 's = a + b; d = a - b; p = s * d' a=ramp.npy b=3 -o s=s.npy -o p.npy -o d=d.npy
near 0 "$WEFT" calc 'max(abs(p - s*d)) + max(abs(s - d - 6))' s=s.npy d=d.npy p=p.npy
# an input of the name of the output stays as it was
cp s.npy before.npy
"$WEFT" calc 's = s * 2' s=s.npy -o twice.npy
cmp s.npy before.npy || die 'the input was changed'
near 0 "$WEFT" calc 'max(abs(t - 2*s))' s=s.npy t=twice.npy
# in place, through the same file
"$WEFT" calc 's + 1' s=s.npy -o s.npy
near 0 "$WEFT" calc 'max(abs(s - b - 1))' s=s.npy b=before.npy

# --- neighbours, coordinates, reductions, broadcasting
near 1 "$WEFT" calc 'min(a[y, x+1; clamp] - a + (x == nx-1))' a=ramp.npy
near 10 "$WEFT" calc 'mean(a[y+1, x; periodic] - a[y, x; periodic]) + 10' a=ramp.npy
prints '0 1 2 3 4 5 6 7 8' "$WEFT" calc 'x' --shape 9
prints '10 11 12' "$WEFT" calc 'x + 10' --shape 3
near 0 "$WEFT" calc 'mean((a - mean(a)) / std(a))' a=ramp.npy
near 1 "$WEFT" calc 'std((a - mean(a)) / std(a))' a=ramp.npy
"$WEFT" calc 'out = (a - mean(a)) / stddev(a)' a=ramp.npy -o flat.mrc
near 1 "$WEFT" calc 'var(a) + abs(mean(a))' a=flat.mrc
near 0 "$WEFT" calc 'max(abs(mean(a; 1) - mean(a; -1))) + count(a != a)' a=ramp.npy
prints 62 "$WEFT" calc 'argmax(a)' a=ramp.npy
"$WEFT" calc '0.5 * x' --shape 9 -o row.npy
"$WEFT" calc 'a + r' a=ramp.npy r=row.npy -o sum.npy
prints '[7,9]' json_value shape sum.npy

# --- results of another shape than the inputs, which are read by index: bin, crop, pad, project
prints '5.5 7.5 25.5 27.5' "$WEFT" calc '0.25*(a[2*y,2*x] + a[2*y+1,2*x] + a[2*y,2*x+1] + a[2*y+1,2*x+1])' a=ramp.npy \
    --shape 2,2
prints '53 54 55' "$WEFT" calc 'a[5, x+3]' a=ramp.npy --shape 3
"$WEFT" calc 'a[y-1, x-1; clamp]' a=ramp.npy --shape 9,11 -o padded.npy
prints '[9,11]' json_value shape padded.npy
prints '0 0 1' "$WEFT" calc 'p[1, x]' p=padded.npy --shape 3
prints '210 217' "$WEFT" calc 'f32 s = 0; for (int k = 0; k < 7; k++) s += a[k, x]; out = s' a=ramp.npy --shape 2

# --- integers keep their digits
prints 9007199254740993 "$WEFT" calc n n=9007199254740993
prints '9007199254740994 9007199254740995' "$WEFT" calc 'x + n + 1' n=9007199254740993 --shape 2
prints 18446744073709551615 "$WEFT" calc n n=0xFFFFFFFFFFFFFFFF
prints -9223372036854775808 "$WEFT" calc n n=-9223372036854775808
prints 1.8446744073709552e+19 "$WEFT" calc 'n' n=18446744073709551616

# --- a line that begins with an operator continues the line before it
prints 7 "$WEFT" calc 'out = a
    + b' a=3 b=4

# --- a shape without inputs leaves the dtype to the text; a shape that is too large is an error
"$WEFT" calc pi --shape 3 -o pi.npy
prints '"f64"' json_value dtype pi.npy
refuses 1 'too many elements' "$WEFT" calc x --shape 4000000000,4000000000
refuses 1 'too much memory' "$WEFT" calc x --shape 3000000000,3000000000

# --- a file that grows beyond the limit of the process is an error with a message
refuses 1 'file too large' bash -c 'ulimit -f 8; "$0" calc "x * 0.5" --shape 100000 -o large.npy' "$WEFT"
[ ! -e large.npy ] || die 'a cut file'

# --- text from a file; comments and lines
printf '# two steps\nt = a *\n    2\nout = t + 1\n' > text.weft
"$WEFT" calc -f text.weft a=ramp.npy -o f.npy
near 0 "$WEFT" calc 'max(abs(f - 2*a - 1))' a=ramp.npy f=f.npy

# --- pixel size and kind follow the first file
"$WEFT" sample --stack 3 --box 32 --pixel 6 --dose 0 -o stack.mrcs
"$WEFT" calc 'a * 2' a=stack.mrcs -o twice.mrc
"$WEFT" info twice.mrc | grep -q 'stack of images' || die 'still a stack'
"$WEFT" info twice.mrc | grep -q 'spacing .* 6 6 A' || die 'still 6 A'

"$WEFT" sample --size 64 --pixel 3 -o image.mrc
"$WEFT" calc '0.25*(a[2*y,2*x] + a[2*y+1,2*x] + a[2*y,2*x+1] + a[2*y+1,2*x+1])' a=image.mrc --shape 32,32 -o bin.mrc
"$WEFT" info bin.mrc | grep -q 'spacing .* 6 6 A' || die "binned: $("$WEFT" info bin.mrc)"
"$WEFT" calc 'n = (a - mean(a)) / std(a); out = n[k*y, x]' a=image.mrc k=4 --shape 16,64 -o rows.mrc
"$WEFT" info rows.mrc | grep -q 'spacing .* 12 3 A' || die "every fourth row: $("$WEFT" info rows.mrc)"
"$WEFT" calc 'a[y+8, x+8]' a=image.mrc --shape 16,16 -o crop.mrc
"$WEFT" info crop.mrc | grep -q 'spacing .* 3 3 A' || die "cropped: $("$WEFT" info crop.mrc)"

for binned in 'bin(a, 2)=6 6' 'bin(lowpass(a, 0.2), 4)=12 12' 'bin(a, 2; -1)=3 6' 'bin(a, 2; 0)=6 3' \
    'k = 2; bin(a[2*y, x], k; 0)=12 3' 'gaussian_filter(rotate(a, 0.2), 1)=3 3'; do
    "$WEFT" calc "${binned%=*}" a=image.mrc -o bin.mrc
    "$WEFT" info bin.mrc | grep -q "spacing .* ${binned##*=} A" || die "$binned: $("$WEFT" info bin.mrc)"
done

# --- whole arrays and programs in one text
"$WEFT" calc 'm = mean(a); s = std(a); n = (a - m)/s; out = 0.25*(n[y,x-1] + 2*n[y,x] + n[y,x+1])' a=ramp.npy -o once.npy
"$WEFT" calc '(a - mean(a)) / std(a)' a=ramp.npy -o n.npy
"$WEFT" calc '0.25*(n[y,x-1] + 2*n[y,x] + n[y,x+1])' n=n.npy -o twice.npy
near 0 "$WEFT" calc 'max(abs(a - b))' a=once.npy b=twice.npy
prints '7 7 7 7 7 7 7 7 7 0' "$WEFT" calc 'global i32 h[10]; h[a % 10]++' a=ramp.npy
prints '63' "$WEFT" calc 'global i32 h[10]; h[a % 10]++; sum(h)' a=ramp.npy
prints '16 15 15 17' "$WEFT" calc 'histogram(a, 4)' a=ramp.npy
prints 34 "$WEFT" calc 'median(a)' a=ramp.npy
prints '4 14 24 34 44 54 64' "$WEFT" calc 'median(a; 1)' a=ramp.npy
prints '0 1 3' "$WEFT" calc 'cumsum(x)' --shape 3
"$WEFT" calc 'f32 r = 0; for (int k = -1; k <= 1; k++) r += a[y, x+k]; f32 t = 0; for (int k = -1; k <= 1; k++) t += r[y+k, x]
out = t/9' a=ramp.npy -o box.npy
near 11 "$WEFT" calc 'b[1, 1] + 0' b=box.npy
refuses 1 "'global' before its type" "$WEFT" calc 'f32 h[8]; h[1] += 1' a=ramp.npy
refuses 1 'a recording of your own or a dump cannot' "$WEFT" dump 'median(a)' 'a=f32[8]'

# --- devices and threads agree to the bit
"$WEFT" calc 'sin(a*0.1) + exp(-a/100)' a=ramp.npy -o one.npy --threads 1
"$WEFT" calc 'sin(a*0.1) + exp(-a/100)' a=ramp.npy -o two.npy --threads 2
"$WEFT" calc 'sin(a*0.1) + exp(-a/100)' a=ramp.npy -o three.npy --device interp
cmp one.npy two.npy && cmp one.npy three.npy || die 'devices differ'
parts='n = (a - mean(a))/std(a); b = n[y, x-1; mirror] + n[y+1, x; reflect]; global i64 h[32]; c = clamp(i64(b*4) + 16, 0, 31)
h[c]++; h = cumsum(h); f32 s = b; for (int k = -2; k <= 2; k++) s += b[y, x+k; periodic] * h[k+16]; s -= median(s); out = s'
"$WEFT" calc "$parts" a=f32.npy -o one.npy --threads 1
"$WEFT" calc "$parts" a=f32.npy -o two.npy --threads 2
"$WEFT" calc "$parts" a=f32.npy -o three.npy --device interp
cmp one.npy two.npy && cmp one.npy three.npy || die 'devices differ in a text of several parts'
"$WEFT" calc --time 'a + 1' a=ramp.npy -o t.npy 2> times
grep -q '^compute .* ms' times || die '--time'

# --- long texts, a byte order mark, a NUL byte, comments
for i in $(seq 2000); do echo "t$i = a*$i;"; done > long.txt
timeout 20 "$WEFT" calc -f long.txt a=2 -o t2=x2.npy -o t7=x7.npy || die 'a long text'
prints 14 "$WEFT" calc a a=x7.npy
printf '\357\273\277a + 1' > bom.txt
prints 8 "$WEFT" calc -f bom.txt a=7
printf 'a\0b' > nul.txt
refuses 1 'NUL byte at offset 1' "$WEFT" calc -f nul.txt a=7
prints 6 "$WEFT" calc 'n = 1; n++
n + a # sum; x
' a=4
prints 10 "$WEFT" calc 't = a; u = t +
 a; u <= t ? u : u + 2;' a=4
prints '0+2i' "$WEFT" calc 'complex(0, 1) * a' a=2

# --- neighbours whose index overflows, which the sanitizers would find
far=9223372036854775807
prints 0 "$WEFT" calc "sum(abs(a[y, x+$far])) + sum(abs(a[y-$far, x+1]))" a=f32.npy
prints 0 "$WEFT" calc "max(a[y, x-$far; clamp] - a[y, 0*x])" a=f32.npy

# --- pixel size, stacks and volumes
"$WEFT" calc 'x + y + z' --shape 3,4,5 --pixel 1.5 -o pixel.mrc --dtype f32
"$WEFT" info pixel.mrc | grep -q 'spacing 1.5 1.5 1.5 A' || die "--pixel: $("$WEFT" info pixel.mrc)"
"$WEFT" info pixel.mrc | grep -q 'volume' || die 'no volume'
"$WEFT" calc a[2*z,2*y,x] --shape 2,2,5 a=pixel.mrc --pixel 2,1,1.25 --stack -o pixel2.mrc
"$WEFT" info pixel2.mrc | grep -q 'stack of images' || die "--stack: $("$WEFT" info pixel2.mrc)"
"$WEFT" info pixel2.mrc | grep -q 'spacing .* 1 1.25 A' || die "--pixel: $("$WEFT" info pixel2.mrc)"
"$WEFT" calc a a=pixel2.mrc --volume --pixel 4,3 -o pixel3.mrc
"$WEFT" info pixel3.mrc | grep -q 'volume' || die "--volume: $("$WEFT" info pixel3.mrc)"
"$WEFT" info pixel3.mrc | grep -q 'spacing 4 4 3 A' || die "--pixel y,x: $("$WEFT" info pixel3.mrc)"
"$WEFT" calc a a=pixel3.mrc --pixel 2 -o pixel.tif
"$WEFT" info pixel.tif | grep -q 'spacing .* 2 2 A' || die "--pixel of a TIFF: $("$WEFT" info pixel.tif)"
for wrong in 0 -1 1,2,3,4 nan inf x 1, ,1; do
    refuses 2 'give Angstrom' "$WEFT" calc a a=pixel.mrc --pixel "$wrong" -o wrong.mrc
done
refuses 2 'not both' "$WEFT" calc a a=pixel.mrc --volume --stack -o wrong.mrc
refuses 2 'are for files' "$WEFT" calc a a=pixel.mrc --pixel 2
refuses 2 'no place for a pixel size' "$WEFT" calc a a=pixel.mrc --pixel 2 -o wrong.npy
refuses 2 'only MRC and OME files' "$WEFT" calc a a=pixel.mrc --stack -o wrong.tif
refuses 2 'that of a stack' "$WEFT" calc a a=pixel.mrc --volume -o wrong.mrcs
refuses 2 'that of a stack' "$WEFT" calc a a=pixel.mrc --volume -o wrong.MRCS
"$WEFT" calc a a=pixel.mrc --stack -o pixel.OME.TIF
"$WEFT" info pixel.OME.TIF | grep -q 'stack of images' || die "--stack: $("$WEFT" info pixel.OME.TIF)"
[ ! -e wrong.mrc ] || die 'a refused command left a file'

# --- a dump of a text of several parts; names of arrays in reasons
"$WEFT" dump 'n = a - mean(a); f32 s = n[y, x-1]; out = s' 'a=f32[8,8]' --passes > parts.txt
[ "$(grep -c '^==== recording' parts.txt)" = 2 ] || die "dump of two parts: $(cat parts.txt)"
grep -q 'wf_out to n starts group' parts.txt || die "no name of an array: $(cat parts.txt)"
"$WEFT" dump 'b[y, x] = a; out = b[y, x-1]' 'a=f32[8,8]' 'b=f32[8,8]' > parts.txt
[ "$(grep -c '^==== recording' parts.txt)" = 2 ] || die "dump of a write and a read: $(cat parts.txt)"
"$WEFT" dump 'if (a > 0) { b[y, x] = a; out = b[y, x-1]; }' 'a=f32[8,8]' 'b=f32[8,8]' --passes > parts.txt
grep -q 'reads elements of b that this stage writes before' parts.txt || die "no note of a race: $(cat parts.txt)"
"$WEFT" dump 'if (a > 0) { b[y, x] = a; out = b[y, x] + 1; }' 'a=f32[8,8]' 'b=f32[8,8]' --passes > parts.txt
grep -q 'reads elements' parts.txt && die "a note of a race that is none: $(cat parts.txt)"

# --- errors and their messages
refuses 1 "number of an axis, not 'x'" "$WEFT" calc 'sum(a; x)' a=ramp.npy
refuses 1 '^  sum(a; x)$' "$WEFT" calc 'sum(a; x)' a=ramp.npy
refuses 1 'not the end of the text' "$WEFT" calc 't = a; t +' a=ramp.npy
refuses 1 'needed, 1 is given' "$WEFT" calc 'f32 q = a[x]; out = q' a=ramp.npy --shape 9
refuses 1 "did you mean 'gain'" "$WEFT" calc 'out = a * gian' a=ramp.npy gain=2 -o x.npy
refuses 1 '^            ^$' "$WEFT" calc 'out = a * gian' a=ramp.npy gain=2 -o x.npy
refuses 1 'line 2, column 12:' "$WEFT" calc 'out = a
out = out +* 2' a=ramp.npy
refuses 1 'missing.mrc' "$WEFT" calc 'a' a=missing.mrc -o x.npy
refuses 1 'no/such' "$WEFT" calc 'a' a=ramp.npy -o no/such/folder.npy
refuses 1 'weft view' "$WEFT" calc 'a * 0.5' a=ramp.npy -o x.png
refuses 2 'name=file' "$WEFT" calc 'a' ramp.npy
refuses 2 'given twice' "$WEFT" calc 'a' a=ramp.npy a=ramp.npy
refuses 2 "assigns no 'b'" "$WEFT" calc 'a = 1' -o b=x.npy
refuses 2 'no such option' "$WEFT" calc 'a' --frobnicate
refuses 2 'needs a value' "$WEFT" calc 'a' -o
refuses 2 'takes no value' "$WEFT" calc --time=3 '1'
refuses 2 'cpu, interp, cuda:0' "$WEFT" calc 1 --device gpu
refuses 2 'no text' "$WEFT" calc
refuses 2 'extents' "$WEFT" calc x --shape 3,0
[ ! -e x.npy ] || die 'a failed command left a file'
echo ok

# --- numbers that a format cannot hold: a warning
warns() {
    local says=$1
    shift
    "$WEFT" calc "$@" 2> warning.txt || die "$*: $(cat warning.txt)"
    grep -q "$says" warning.txt || die "$*: '$(cat warning.txt)' lacks '$says'"
}
warns 'warning: wide.mrc: 4 of the integers (i32) have other values as f32' 'i32(x)*16777217' --shape 1,5 -o wide.mrc
warns 'warning: wide.mrc: 5 of the integers (i64)' '(i64(1) << 62) - 1 + (i64(1) << 62)' --shape 1,5 -o wide.mrc
warns 'warning: wide.mrc: 2 of the numbers (f64) are beyond' 'f64(x) * 1e38' --shape 1,6 -o wide.mrc
for holds in 'i32(x)*16777216 -o wide.mrc' 'i32(x)*16777217 -o wide.npy' 'i32(x)*16777217 -o wide.tif' \
    'f64(x)/3 -o wide.mrc' 'i32(x)*16777217 --dtype f32 -o wide.mrc' 'x/(0*f64(x)) -o wide.mrc'; do
    # shellcheck disable=SC2086
    "$WEFT" calc $holds --shape 1,6 2> warning.txt
    if grep 'warning: wide' warning.txt; then die "$holds: $(cat warning.txt)"; fi
done
