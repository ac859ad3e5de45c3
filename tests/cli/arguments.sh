# Command lines: texts that begin with '-', numbers, outputs, the environment.
. "$(dirname "$0")/lib.bash" || exit 1

# --- a text that begins with '-'
"$WEFT" calc 'x + 1' --shape 3 -o a.npy
prints '-1 -2 -3' "$WEFT" calc '-a' a=a.npy
prints '-2 -4 -6' "$WEFT" calc --threads 1 '-a*2' a=a.npy
prints '0 1 2' "$WEFT" calc '-1 + a' a=a.npy
prints '1 2 3' "$WEFT" calc '--(a)' a=a.npy
prints '-9' "$WEFT" calc '-h*3' h=3
"$WEFT" dump '-a' a=a.npy | grep -q neg || die 'dump of -a'
refuses 2 '^weft calc: --devise: no such option' "$WEFT" calc --devise cpu 'a' a=a.npy
refuses 2 '^weft calc: --devise=cpu: no such option' "$WEFT" calc a a=a.npy --devise=cpu
refuses 2 '^weft dump: -q: no such option' "$WEFT" dump a a=a.npy -q
refuses 2 "'a': inputs are name=file or name=number; the text is '-q'" "$WEFT" calc -q a a=a.npy
refuses 2 "'a': .*; the text is '-q'" "$WEFT" dump -q a a=a.npy
refuses 2 '^weft stats: -1: no such option' "$WEFT" stats -1

# --- a text in a file
echo 'a + 1' > text.weft
refuses 1 '^weft: nope.weft: cannot open: .' "$WEFT" calc -f nope.weft
refuses 2 "there is a text already, 'a'" "$WEFT" calc a -f text.weft a=a.npy

mkdir folder-of-text
refuses 1 '^weft: folder-of-text: cannot read: .' "$WEFT" calc -f folder-of-text
refuses 2 'calc: --threads -1: give a number from 0 (all cores) to 1024' "$WEFT" calc a a=a.npy --threads -1
refuses 2 'calc: --dtype says how a file stores values' "$WEFT" calc a a=a.npy --dtype u8

# --- numbers
prints 'nan inf -inf' "$WEFT" calc 'x == 0 ? p : x == 1 ? q : r' p=nan q=inf r=-inf --shape 3
refuses 2 "'g=1e400': the number is too large; infinity is inf" "$WEFT" calc g g=1e400
refuses 2 "'g=-1e400': the number is too large" "$WEFT" dump g g=-1e400
refuses 2 "'a=f99\[4\]': no such dtype; there are bool, i8 " "$WEFT" dump a 'a=f99[4]'
refuses 2 "'a=f32\[0\]': give extents" "$WEFT" dump a 'a=f32[0]'
refuses 1 'g\[1\].npy: cannot open: no such file' "$WEFT" dump a 'a=g[1].npy'
refuses 2 'extents' "$WEFT" calc x --shape 99999999999999999999
refuses 2 '--seed 99999999999999999999: give a whole number' "$WEFT" sample --seed 99999999999999999999 -o x.mrc

# --- outputs: each a file of its own, of a known format
ln -s one.npy link.npy
mkdir folder
for other in one.npy ./one.npy folder/../one.npy; do
    refuses 2 "-o q=$other: the file of -o p=one.npy, too" "$WEFT" calc 'p = a; q = 2*a' a=a.npy -o p=one.npy -o q=$other
done
"$WEFT" calc 'p = a; q = 2*a' a=a.npy -o p=one.npy -o folder/one.npy
prints 18 "$WEFT" calc 'sum(p) + 3*sum(q) - sum(2*p + q)' p=one.npy q=folder/one.npy
refuses 2 'the file of -o p=one.npy, too' "$WEFT" calc 'p = a; q = 2*a' a=a.npy -o p=one.npy -o link.npy
ln -s later.npy to_later.npy # a link to what is not there yet
refuses 2 'the file of -o p=later.npy, too' "$WEFT" calc 'p = a; q = 2*a' a=a.npy -o p=later.npy -o q=to_later.npy
refuses 1 'nowhere/two.npy: the folder does not exist, or cannot be entered' "$WEFT" calc 'p = a; q = 2*a' a=a.npy -o p=first.npy -o q=nowhere/two.npy
[ ! -e first.npy ] || die 'one of two results was written'
"$WEFT" calc 'x + y' --shape 4,4 --dtype f32 -o in.mrc
refuses 2 'out.tiif: the suffix names no format (known: .mrc .* .tiff.*)' "$WEFT" calc a a=in.mrc -o out.tiif
refuses 2 'out: the suffix names no format' "$WEFT" sample -o out
refuses 2 '-o -: results go to files' "$WEFT" calc a a=in.mrc -o -
# an output that cannot be written is refused before the work begins
mkdir folder.mrc
mkfifo pipe.mrc
for bad in 'folder.mrc: this is a folder' 'pipe.mrc: this is not a regular file'; do
    refuses 1 "-o $bad" "$WEFT" sample --stack 100000 --box 1024 -o "${bad%%:*}"
done
if [ "$(id -u)" != 0 ]; then
    mkdir closed
    echo > closed.mrc
    chmod 555 closed closed.mrc
    refuses 1 'closed/a.mrc: the folder may not be written' "$WEFT" sample --stack 100000 --box 1024 -o closed/a.mrc
    refuses 1 'closed.mrc: the file may not be written' "$WEFT" sample --stack 100000 --box 1024 -o closed.mrc
fi
refuses 2 '--dtype float: no such type in files; there are bool i8 .* u4$' "$WEFT" calc a a=in.mrc --dtype float -o a.mrc
[ ! -e out.tiif ] && [ ! -e ./- ] || die 'a refused output is there'

# --- pictures are PNG, and never replace the file that they show
cp in.mrc same.mrc
refuses 2 'would replace the file that is shown' "$WEFT" view in.mrc -o ./in.mrc
refuses 2 'in2.mrc: the picture is a PNG; give a name that ends in .png' "$WEFT" view in.mrc -o in2.mrc
refuses 2 'picture: the picture is a PNG' "$WEFT" view in.mrc -o picture
refuses 2 'picture.jpg: the picture is a PNG' "$WEFT" view in.mrc -o picture.jpg
cmp in.mrc same.mrc || die 'view changed its input'

# --- options stand before "--"
refuses 2 "'-o': options stand before '--'" "$WEFT" calc -- '-a' a=a.npy -o minus.npy
refuses 2 "'--threads=2': options stand before '--'" "$WEFT" calc -- '-a' a=a.npy --threads=2
"$WEFT" calc -o minus.npy -- '-a' a=a.npy || die 'options before --'

# --- the environment
refuses 2 "WEFT_THREADS is 'abc'" env WEFT_THREADS=abc "$WEFT" calc 1
refuses 2 "WEFT_THREADS is '-5'" env WEFT_THREADS=-5 "$WEFT" stats a.npy
refuses 2 "WEFT_THREADS is '1025' in the environment: give a number from 0 (all cores) to 1024" \
    env WEFT_THREADS=1025 "$WEFT" calc 1
refuses 2 '--threads 1025: give a number from 0 (all cores) to 1024' "$WEFT" calc 1 --threads 1025
prints 1 env WEFT_THREADS=2 "$WEFT" calc 1
prints 1 env WEFT_THREADS= "$WEFT" calc 1
WEFT_CACHE_BYTES=1G "$WEFT" calc 1 > out 2> err
grep -q "weft: warning: WEFT_CACHE_BYTES is '1G' in the environment, which is no number" err || die "WEFT_CACHE_BYTES: $(cat err)"
"$WEFT" calc z --shape 2,7,10 -o deep.npy
refuses 1 'the index space has only 2 axes' "$WEFT" calc 'out = v[z, y, 3]' v=deep.npy --shape 7,10
WEFT_LLVM=$PWD/folder "$WEFT" info > out 2> err
grep -q "^LLVM      not found (WEFT_LLVM is .*/folder)" out || die "info: $(cat out)"
if "$WEFT" info | grep -q '^LLVM      [0-9]'; then
    grep -q 'WEFT_LLVM names .*/folder, a folder, not an LLVM library' err || die "WEFT_LLVM: $(cat err)"
    WEFT_LLVM=/no/such.so "$WEFT" info 2>&1 > out | grep -q 'WEFT_LLVM names /no/such.so, which is not there' ||
        die 'WEFT_LLVM: no such file'
    major=$("$WEFT" info | sed -nE 's/^LLVM      ([0-9]+),.*/\1/p')
    WEFT_LLVM=$major "$WEFT" info | grep -q "^LLVM      $major, " || die "WEFT_LLVM=$major"
    WEFT_LLVM=9 "$WEFT" info 2>&1 > out | grep -q 'WEFT_LLVM is 9, but a version must be from 15 to 22' ||
        die 'WEFT_LLVM: a version that is too old'
fi
WEFT_ISA=none "$WEFT" info > out 2> err
grep -q '^LLVM      not looked for: .* (WEFT_ISA=none)' out || die "info without code generation: $(cat out)"
long=$(printf 'v%.0s' $(seq 130))
! "$WEFT" calc "$long = 1" > out 2> err || die 'a name of 130 characters is taken'
grep -q 'the name vvvvvvvvvvvvvvvvvvvv\.\.\. is too long: 126 characters at most' err || die "a long name: $(cat err)"
[ "$("$WEFT" calc "${long:0:126} = 1")" = 1 ] || die 'a name of 126 characters'
echo ok
