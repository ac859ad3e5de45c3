# ctest: no_llvm
#
# Help, version, exit codes, info, stats and dump: results and messages.
. "$(dirname "$0")/lib.bash" || exit 1

"$WEFT" --version | grep -qE '^weft [0-9]+\.[0-9]+\.[0-9]+$' || die '--version'
"$WEFT" help | grep -q 'weft calc' || die help
"$WEFT" --help | grep -q 'Exit codes' || die --help
"$WEFT" help -h | grep -q 'Exit codes' || die 'help -h'
for command in calc stats view sample info dump check bench; do
    "$WEFT" help "$command" > one
    "$WEFT" "$command" --help > two
    cmp one two || die "help of $command"
    grep -q "^  weft $command" one || die "no example in the help of $command"
    grep -q "weft $command" "$WEFT_SOURCE/cli/weft.1" || die "$command is not in the man page"
    ! grep -nE '^\.' "$WEFT_SOURCE/cli/weft.1" | grep -vE ':\.([A-Z][A-Z]?|nf|fi|br|\\")( |$)' ||
        die "the man page begins a line with a dot that is no macro"
    # the command takes every option that its help names
    for option in $(grep -oE '^  (-[a-z], )?--[a-z-]+' one | grep -oE '\-\-[a-z-]+' | sort -u); do
        "$WEFT" "$command" "$option" none none none > out 2> err < /dev/null || true
        ! grep -q 'no such option' err || die "$command $option is in the help only"
    done
done
refuses 2 'no command' "$WEFT" frobnicate
refuses 2 'one command at a time' "$WEFT" help calc view
refuses 2 'no command' "$WEFT" help frobnicate
status=0
"$WEFT" > out 2> err || status=$?
[ "$status" = 2 ] && grep -q 'weft calc' err || die 'no arguments'
status=0
"$WEFT" help > /dev/full 2> err || status=$?
[ "$status" = 1 ] || die 'a full disk is noticed'

# --- info
"$WEFT" info > out
for word in weft devices LLVM cache; do grep -q "^$word" out || die "info: $word"; done
"$WEFT" sample --volume --box 32 --pixel 6 -o v.mrc
"$WEFT" info v.mrc | grep -q 'MRC, 32 x 32 x 32 f32, volume' || die 'info of a volume'
"$WEFT" calc 'x + z' --shape 3,4,5 --dtype u8 -o rank3.npy
"$WEFT" info rank3.npy | grep -qx 'rank3.npy: NPY, 3 x 4 x 5 u8' || die 'info: NPY does not say what its axes are'
for channels in 'grey and alpha' colour 'colour and alpha'; do
    n=$((${n-1} + 1))
    "$WEFT" calc '10*y + x' --shape 5,6,$n --dtype u8 -o colour.png -o colour.tif
    "$WEFT" info colour.png | grep -qx "colour.png: PNG, 5 x 6 x $n u8, $channels" || die "info of PNG: $channels"
    "$WEFT" info colour.tif | grep -qx "colour.tif: TIFF, 5 x 6 x $n u8, $channels" || die "info of TIFF: $channels"
done
"$WEFT" calc 'x + z' --shape 2,5,6,3 --dtype u8 -o pages.tif
"$WEFT" info pages.tif | grep -q '2 x 5 x 6 x 3 u8, stack of images: colour$' || die 'info of pages of colour'
{
    head -c 92 v.mrc
    printf '\120\0\0\0' # NSYMBT is 80
    tail -c +97 v.mrc | head -c 8
    printf CCP4
    tail -c +109 v.mrc | head -c 916
    printf '%-80s' 'X,  Y,  Z'
    tail -c +1025 v.mrc
} > symmetry.mrc
"$WEFT" info symmetry.mrc | grep -qx '  extended header of 80 bytes: CCP4' || die 'info of an extended header'
"$WEFT" calc '2*a' a=symmetry.mrc -o twice.mrc
"$WEFT" info twice.mrc | grep -qx '  extended header of 80 bytes: CCP4' || die 'the extended header is lost'
refuses 1 'nothing.mrc' "$WEFT" info nothing.mrc
head -c 1500 v.mrc > short.mrc
refuses 1 'short.mrc' "$WEFT" info short.mrc
refuses 1 'short.mrc' "$WEFT" stats short.mrc

cp "$WEFT" lonely
WEFT_CUDA_EMU= ./lonely info > out
grep -q 'cuda-emu (an emulated GPU' out || grep -q '^          cuda-emu is missing: `make` builds libweft_cuda_emu.so' out ||
    die "info without the emulator: $(cat out)"
WEFT_CUDA_EMU=/no/such.so ./lonely info | grep -qx '          cuda-emu cannot be used: WEFT_CUDA_EMU is /no/such.so' ||
    die 'info with a wrong WEFT_CUDA_EMU'

# --- names of files that are not UTF-8 are valid strings of JSON: each such byte is a low surrogate, as in Python
name=$(printf 'caf\303\251-\351-\355\240\200-\364\217\277\277.npy')
cp rank3.npy "$name"
prints "\"$(printf 'caf\303\251')-\\udce9-\\udced\\udca0\\udc80-$(printf '\364\217\277\277').npy\"" json_value file "$name"

# --- info names a cache folder that cannot be used; commands that compile warn once; results are the same
echo > file
WEFT_CACHE=$work/file/below "$WEFT" info | grep -q "^cache     $work/file/below: .*; WEFT_CACHE=folder names one" || die 'info of the cache'
if [ "$(id -u)" != 0 ]; then
    mkdir closed
    chmod 555 closed
    WEFT_CACHE=$work/closed/a/b "$WEFT" info |
        grep -q ": the folder cannot be made in $work/closed: Permission denied; WEFT_CACHE=folder names one" ||
        die 'info of a cache that cannot be made'
fi
if "$WEFT" info | grep -q '^LLVM      [0-9]'; then
    for place in "$work/file" "$work/file/below"; do
        WEFT_CACHE=$place "$WEFT" calc 'b = sum(x * 3); b + sum(f32(x))' --shape 4 > out 2> err || die "without a cache: $place"
        [ "$(cat out)" = 24 ] && [ "$(grep -c "warning: compiled kernels are not kept.*: $place: " err)" = 1 ] ||
            die "no cache: $(cat out err)"
    done
fi

# --- stats: sums that are known exactly, a large mean, values that are not finite
"$WEFT" calc 'f64(x)' --shape 101 -o x.npy
"$WEFT" stats x.npy | grep -q 'min 0  max 100  mean 50  std 29.15476' || die stats
"$WEFT" calc 'x + 1e9' --shape 101 -o big.npy
near 29.154759474226502 json_value std big.npy
prints 1000000050 json_value mean big.npy
"$WEFT" calc 'x == 0 ? 1e12 : f64(x)' --shape 10000 -o hot.npy # the first element is far from all others
near 1 "$WEFT" calc "$(json_value std hot.npy) / 9999499937.502292"
"$WEFT" calc 'x == 3 ? nan : x == 4 ? inf : f32(x)' --shape 101 -o bad.npy
prints 2 json_value not_finite bad.npy
prints 100 json_value max bad.npy
"$WEFT" stats --median x.npy | grep -q 'median 50  quartiles 25 75' || die 'stats --median'
"$WEFT" stats --median --json x.npy | grep -q '"quartile1":25,"median":50,"quartile3":75' || die 'stats --median --json'
"$WEFT" stats bad.npy | grep -q '2 of 101 values are not finite' || die 'stats of nan'
status=0
"$WEFT" stats x.npy missing.npy big.npy > out 2> err || status=$?
[ "$status" = 1 ] && grep -q big.npy out && grep -q missing.npy err || die 'a bad file does not hide the others'
refuses 2 'no file' "$WEFT" stats

# --- dump: declared arrays, files, numbers
"$WEFT" dump 'out = a*b + gain' a=f32[64,64] b=f32[64,64] gain=2 | grep -q fma\\\|mul || die 'dump --trace'
[ "$("$WEFT" dump 'a + 1' a=x.npy --trace --kernels | grep -c '^---- ')" = 2 ] || die 'dump: headings'
# every pass has a name, and can be looked at where it applies
"$WEFT" dump --passes > passes
[ "$(grep -c . passes)" -gt 15 ] || die 'dump: names of passes'
for pass in $(cat passes); do
    "$WEFT" dump 'out = a + 1' 'a=f32[8,8]' --after "$pass" > of-arrays 2>&1 ||
        "$WEFT" dump 'out = a[y,x+1]' 'a=f32[8,8]' --after "$pass" > of-space 2>&1 ||
        grep -q 'does not apply' of-space || die "dump --after $pass: $(cat of-space)"
done
"$WEFT" dump 'out = a + 1' 'a=f32[8,8]' --after layout | grep -q '^%1 = index i64 0' || die 'dump --after layout'
"$WEFT" dump 's = sum(a); out = a/s' 'a=f32[8,8]' --passes | grep -q '^    split: ' || die 'dump --passes: reasons'
"$WEFT" dump 'out = a + 1' 'a=f32[8,8]' --plan | grep -q '^plan for cpu: ' || die 'dump --plan'
! "$WEFT" dump 'out = a' 'a=f32[8]' --after nothing 2> error || die 'dump: a pass that is none'
grep -q "there is no pass 'nothing'" error || die 'dump: a pass that is none is named'
refuses 1 'unknown name' "$WEFT" dump 'a + c' a=f32[4]
refuses 2 'name=f32' "$WEFT" dump 'a' f32[4]
"$WEFT" dump 'a + 1' a=f32[4096] --ptx | grep -q '^\.target sm_70' || die 'dump --ptx'
"$WEFT" dump 'a + 1' a=f32[4096] --ptx --arch sm_90 | grep -q '^\.target sm_90' || die 'dump --arch'
refuses 2 'an architecture is' "$WEFT" dump 'a' a=f32[4] --arch new
if "$WEFT" info | grep -q '^LLVM      [0-9]'; then
    "$WEFT" dump 'a + 1' a=f32[4096] --llvm | grep -q 'define' || die 'dump --llvm'
    "$WEFT" dump 'a + 1' a=f32[4096] --asm | grep -q 'wf_kernel' || die 'dump --asm'
fi

echo ok
