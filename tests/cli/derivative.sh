# weft check: derivatives of texts beside differences.
. "$(dirname "$0")/lib.bash" || exit 1

"$WEFT" calc 'sin(1.3*x + 0.7*y)' --shape 5,7 -o a.npy
"$WEFT" calc 'f32(cos(x - 2.1*y))' --shape 5,7 -o t.npy
"$WEFT" calc 'complex(f32(x) - 2.5, f32(y) + 0.5)' --shape 2,6 -o c.npy
"$WEFT" calc 'i32(x)' --shape 7 -o i.npy

# --- derivatives that agree: with respect to each array of floats
"$WEFT" check 'L = sum((sin(a) - t)**2 * i)' a=a.npy t=t.npy i=i.npy > out || die "agrees: $(cat out)"
grep -q '^a, f64 of 5 x 7$' out || die "a is not checked: $(cat out)"
grep -q '^t, f64 of 5 x 7$' out || die "t is not checked: $(cat out)"
grep -q '^i,' out && die "integers are checked: $(cat out)"
tail -n 1 out | grep -qx 'the derivative agrees' || die "$(cat out)"
"$WEFT" check 'L = sum(abs(c)**3)' c=c.npy > out || die "complex: $(cat out)"
grep -q '^c, c128 of 2 x 6$' out || die "c is not checked: $(cat out)"
"$WEFT" check 'L = sum((a[y, x+1; mirror] - a)**2); M = 0*mean(a)' -o L a=a.npy > out || die "-o: $(cat out)"
"$WEFT" check 'sum(sin(a) * a)' a=a.npy > out || die "an expression: $(cat out)"
refuses 2 'give the result a name' "$WEFT" check 'k = 2; sum(a*k)' a=a.npy
"$WEFT" check 'L = mean(a*k)' a=a.npy k=2.5 > out || die "a number: $(cat out)"

# --- one that differs: the derivative does not see what stands in stop(...)
"$WEFT" check 'L = sum(a*stop(a))' a=a.npy > out && die "differs: $(cat out)"
[ "$(grep -c 'along direction.*differs$' out)" = 2 ] || die "which directions differ: $(cat out)"
grep -q '^  worst element.*differs$' out || die "which element differs: $(cat out)"
tail -n 1 out | grep -qx 'the derivative differs' || die "$(cat out)"

# --- mistakes
# the rounding of a loss that is large, or f32, is no error of its derivative; an error of a thousandth is one
"$WEFT" calc 'sin(x*0.37 + y*1.3)*exp(-x*0.01) + 0.1' --shape 40,50 --dtype f32 -o many.npy
"$WEFT" calc 'cos(x*0.7 + y*0.3)' --shape 40,50 -o u.npy
"$WEFT" check 'L = 1e7 + sum((sin(a) - t)**2)' a=many.npy t=u.npy > out || die "a large loss: $(cat out)"
"$WEFT" check 'L = f32(sum((sin(a) - t)**2))' a=many.npy t=u.npy > out || die "f32: $(cat out)"
"$WEFT" check 'v = (sin(a) - t)**2; L = 1e7 + sum(replace_gradient(v, 1.001*v))' a=many.npy t=u.npy > out &&
    die "differs: $(cat out)"
[ "$(grep -c '^  worst.*differs$' out)" = 2 ] || die "differs: $(cat out)"
refuses 1 'fft is computed before the recording goes on' "$WEFT" check 'L = sum(abs(fft(a)))' a=a.npy
refuses 1 'must have one element' "$WEFT" check 'L = a*a' a=a.npy
refuses 1 "expected ',' or ')', not the end of the text" "$WEFT" check 'L = sum(a*a' a=a.npy
refuses 2 'no argument is an array of floats' "$WEFT" check 'L = sum(i)' i=i.npy
refuses 2 'step 0: give a number above 0' "$WEFT" check 'L = sum(a)' a=a.npy --step 0

# --- dump --ad: the recording of the derivatives, whose values are called d(name)
text='b = sin(a)*2; L = sum(b*b + t)'
"$WEFT" dump --ad "$text" 'a=f32[4]' 't=f32[4]' > out || die "dump --ad: $(cat out)"
for label in b L 'd(b)' 'd(a)' 'd(t)'; do
    grep -qF " # $label" out || die "dump --ad has no $label: $(cat out)"
done
[ "$(grep -c '^store' out)" = 2 ] || die "dump --ad stores other results: $(cat out)"
"$WEFT" dump --ad "$text; M = 3" -o L 'a=f32[4]' 't=i32[4]' > out || die "dump --ad -o: $(cat out)"
[ "$(grep -c '^store' out)" = 1 ] || die "dump --ad of integers: $(cat out)"
"$WEFT" dump --ad 'v = a*t' 'a=f32[4]' 't=f32[4]' > out || die "dump --ad of many elements: $(cat out)"
grep -qF ' # d(b)' out && die "dump --ad has labels of another text: $(cat out)"
"$WEFT" dump --ad --plan "$text" 'a=f32[4]' 't=f32[4]' | grep -q 'loops 4' || die 'dump --ad --plan'
"$WEFT" dump "$text; g = grad(L, b)" 'a=f32[4]' 't=f32[4]' | grep -qF ' # d(b)' || die 'a derivative of the text itself'
refuses 2 'give the result a name, L = ...' "$WEFT" dump --ad 'a*a' 'a=f32[4]'
refuses 2 'no argument is an array of floats' "$WEFT" dump --ad 'L = sum(i)' 'i=i32[4]'
refuses 1 "line 1, column 9" "$WEFT" dump --ad 'L = sum(' 'a=f32[4]'
