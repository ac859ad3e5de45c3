# Printing: integers exactly, reals with the fewest digits that read back, NaN without a sign; statistics of values whose
# squares leave the range of f64.
. "$(dirname "$0")/lib.bash" || exit 1

# --- integers beyond the digits of f64
"$WEFT" calc '(i64(1) << 53) + 1 + x' --shape 2 -o i.npy
prints '9007199254740993 9007199254740994' "$WEFT" calc a a=i.npy
prints 18014398509481987 "$WEFT" calc 'sum(a)' a=i.npy
prints '-9007199254740993 -9007199254740994' "$WEFT" calc '-a' a=i.npy
"$WEFT" calc 'u64(0) - u64(1 + x)' --shape 2 -o u.npy
prints '18446744073709551615 18446744073709551614' "$WEFT" calc a a=u.npy
prints '[9007199254740993,9007199254740994]' echo "[$(json_value min i.npy),$(json_value max i.npy)]"
prints '[18446744073709551614,18446744073709551615]' echo "[$(json_value min u.npy),$(json_value max u.npy)]"
prints '-128 127' "$WEFT" calc 'i8(255*x - 128)' --shape 2
prints '0 1' "$WEFT" calc 'x > 0' --shape 2

# --- reals: the fewest digits of their dtype
prints 0.30000000000000004 "$WEFT" calc '0.1 + 0.2'
prints 0.3333333333333333 "$WEFT" calc '1 / 3.0'
prints 0.33333334 "$WEFT" calc 'f32(1) / 3'
prints 0.1 "$WEFT" calc 'f32(0.1)'
prints 0.1 "$WEFT" calc 'f16(0.1)'
prints 6e-08 "$WEFT" calc 'f16(6e-8)'
prints 3.14 "$WEFT" calc 'bf16(3.14159)'
prints 5e-324 "$WEFT" calc '5e-324'
prints 1.7976931348623157e+308 "$WEFT" calc '1.7976931348623157e308'
prints '-0 100000 0.0001' "$WEFT" calc 'x == 0 ? -0.0 : x == 1 ? 1e5 : 1e-4' --shape 3
prints '0.1-0.2i' "$WEFT" calc 'complex(f32(0.1), f32(-0.2))'

# --- NaN of either sign
for device in cpu interp; do
    prints 'nan inf -inf' "$WEFT" calc --device $device 'x == 0 ? inf - inf : x == 1 ? inf : -inf' --shape 3
    prints nan "$WEFT" calc --device $device '-abs(inf - inf)'
    prints nan+nani "$WEFT" calc --device $device 'complex(f32(nan), -f32(nan))'
done
"$WEFT" calc '-(0 * inf) + f32(x)' --shape 20 -o nan.npy
"$WEFT" stats nan.npy | grep -qx '  min nan  max nan  mean nan  std nan' || die 'stats of nan'
prints 'f32 of 20: min nan max nan mean nan std nan' "$WEFT" calc '-a' a=nan.npy
[ "$("$WEFT" stats --median nan.npy | grep -c -e '-nan')" = 0 ] || die 'the median of nan'

# --- moments of very large and very small values
statistics() { "$WEFT" stats "$1" | sed -n 2p; }
"$WEFT" calc '(x + 1) * 1e200' --shape 4 -o large.npy
prints '  min 1e+200  max 4e+200  mean 2.5e+200  std 1.118034e+200' statistics large.npy
"$WEFT" calc '(x + 1) * 1e-200' --shape 4 -o small.npy
prints '  min 1e-200  max 4e-200  mean 2.5e-200  std 1.118034e-200' statistics small.npy
"$WEFT" calc '(x < 2 ? f64(1) : -1) * 1e308' --shape 3 -o far.npy
prints '  min -1e+308  max 1e+308  mean 3.333333e+307  std 9.42809e+307' statistics far.npy
"$WEFT" calc '(x == 1 ? f64(inf) : x == 0 ? 1 : -1) * 1e308' --shape 3 -o inf.npy
prints '  min -1e+308  max 1e+308  mean 0  std 1e+308' statistics inf.npy
"$WEFT" calc '(1 + x) * 5e-324' --shape 3 -o least.npy
prints '1e-323' json_value mean least.npy
echo ok
