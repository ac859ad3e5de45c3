"""Control flow and other statements of traced functions."""
import math

import pytest

import weft
from tracing import check, ints, zeros

numpy = pytest.importorskip("numpy")


def test_if_and_else():
    def f(i, a, out):
        x = a[i]
        if x > 10:
            y = 1
            x = 2
        elif x > 0:
            y = 2
        elif x == 0:
            y = x + 5
            x -= 1
        else:
            y = -x
            t = y * 2
            x = t
        out[i] = y * 100 + x

    check(f, ints(50), zeros(50))


def test_branches_of_python_stay_python():
    def f(i, a, out, how):
        if how == "double":
            v = a[i] * 2
        else:
            v = undefined_name  # noqa: F821
        if None is None and not []:
            out[i] = v

    k = check(f, ints(9), zeros(9), "double")
    with pytest.raises(NameError):
        k(ints(9), zeros(9), "other")


def test_loops_with_break_and_continue():
    def f(i, a, out):
        total = 0
        for j in range(a[i] % 7 + 3):
            if j == 2:
                continue
            k = 0
            while True:
                k += 1
                if k > j:
                    break
                if (k + j) % 3 == 0:
                    continue
                total += k * j
                if total > 50:
                    break
            if total > 60:
                break
            total += 1
        else:
            total += 1000
        out[i] = total * 10 + j

    check(f, ints(64, 0, 50), zeros(64))


def test_static_loops_with_a_break_of_the_recording():
    def f(i, a, out):
        n = 0
        for j in range(5):
            if a[i] < j:
                break
            n += j
        for w in (1, 2, 3):
            n += w * a[i]
        for j in range(100, 0, -7):
            n += j
        out[i] = n

    check(f, ints(30), zeros(30))

    @weft.kernel
    def over_objects(i, a, out):
        out[i] = 0
        for w in (1, 2, 3):
            if a[i] > w:
                break

    with pytest.raises(weft.UnsupportedError, match="range"):
        over_objects(ints(4), zeros(4))


def test_early_return():
    def f(i, a, out):
        x = a[i]
        if x < -10:
            return
        out[i] = 1
        if x < 0:
            out[i] = 2
            return
        for j in range(x):
            if j * j > x:
                out[i] = 10 + j
                return
            for k in range(3):
                if j + k == 5:
                    return
        out[i] = 3

    check(f, ints(60), zeros(60))


def test_results_of_helpers():
    def first_divisor(n):
        k = 2
        while k * k <= n:
            if n % k == 0:
                return k, True
            k += 1
        return n, False

    def sign(x):
        if x > 0:
            return 1
        if x < 0:
            return -1
        return 0

    def f(i, a, out):
        d, found = first_divisor(a[i])
        out[i] = d * 10 + found + sign(a[i] - 30) * 1000

    check(f, ints(60, 2, 90), zeros(60))


def test_conditions():
    def f(i, a, b, out):
        x, y = a[i], b[i]
        n = 0
        if x > 0 and y > 0 or not (x < y and y < 5):
            n += 1
        if 0 <= x < y <= 10:
            n += 2
        if not x:
            n += 4
        n += 8 if x > y else 16 if x == y else 32
        if x >= 0 and x < 4 and a[x] > 0:
            n += 64
        n += (a[0] if x > 2 else b[1]) * 1000
        while x > 0 and (x < 10 or y > 0):
            x -= 1
            n += 128
        out[i] = n

    check(f, ints(200, -12, 12), ints(200, -12, 12, 2), zeros(200))


def test_guarded_reads_stay_in_range():
    @weft.kernel
    def f(i, a, out):
        out[i] = 1 if i >= 1 and a[i - 1] > 0 else 0

    a, out = numpy.ones(8), zeros(8)
    with weft.debug():
        f(a, out)
    assert out.tolist() == [0, 1, 1, 1, 1, 1, 1, 1]


def test_variables_hold_tuples_and_lists():
    def f(i, a, out):
        p = (a[i], 0)
        v = [0, 1, a[i]]
        while p[0] > 0:
            p = p[0] - 3, p[1] + 1
            v[0] += p[1]
            v = [v[1], v[0], v[2]]
        if a[i] < 0:
            v[2] = 5
        out[i] = p[1] * 100 + v[0] + v[1] * 7 + v[2]

    check(f, ints(40), zeros(40))


def test_elements_of_a_list_that_one_branch_assigns():
    def f(i, a, out):
        v = [0, 1]
        if a[i] > 0:
            v[0] = 5
        else:
            v[1] = 7
        out[i] = v[0] * 10 + v[1]

    check(f, ints(20), zeros(20))


def test_what_was_learnt_before_a_dtype_changed_is_forgotten():
    def f(i, a, n, out):
        total = 0.0
        for k in weft.range(3):
            if a[i] > 0.5:
                t = total * n[i]
            else:
                t = total * n[i] + 1
            total += a[i] + k
            out[i] = t + total

    check(f, numpy.random.rand(9).astype("f4"), numpy.arange(9, dtype="i4"), zeros(9, "f4"))


def test_other_statements():
    def power(x, n):
        return 1 if n == 0 else x * power(x, n - 1)

    def total(*values, scale=1, **more):
        result = 0
        for v in values:
            result += v * scale
        for name, v in more.items():
            if name != "none":
                result += v
        return result

    def f(i, a, out):
        def clip(x, low=-3, high=5):
            if x < low:
                return low
            return high if x > high else x

        out[i] = 0
        if (n := a[i] + 1) > 3:
            n -= 1
        m = n
        while (m := m - 2) > 0:
            if m == 7:
                break
            out[i] += m
        else:
            out[i] += 1000
        for k, w in enumerate((1, 2, 4)):
            out[i] += w * clip(a[i] + k)
        for p, q in zip([1, 2], (3, 4)):
            n += p * q
        try:
            if a[i] == 4:
                n += 1
                return
            n += power(clip(a[i]), 3)
        finally:
            n += 2
        s = total(a[i], n, scale=2, extra=clip(n, high=9), none=7)
        values = [clip(a[i] + k) for k in range(3)]
        first, *rest = values
        x = y = first + sum(rest)
        x, (y, values[0]) = y + 1, (x, n)
        kind: int = 3
        assert kind == 3, f"{kind}"
        text = f"{kind}" if kind else None
        del text
        out[i] += s + x * 3 + y + values[0] * kind

    check(f, ints(60, -12, 24), zeros(60))


def test_closures_globals_and_lists_outside():
    weights = (1, 2, 4, 8)
    table = numpy.arange(10) * 3

    def helper(x, scale=3):
        return x * scale if x > 0 else x

    def f(i, a, out):
        total = 0
        for k in range(4):
            total += weights[k] * helper(a[i] + k)
        for k in range(a[i] % 4):
            total += weights[k]
        total += table[a[i] % 10] + sum([helper(k, 2) for k in range(3)])
        out[i] = total + math.floor(a[i] / 3) + max(a[i], 2, i) + int(a[i] * 0.5) + abs(a[i])

    check(f, ints(40), zeros(40))


def test_functions_of_math_and_numpy():
    def f(i, a, out):
        x = a[i]
        out[i] = math.sqrt(x) + numpy.sin(x) * math.exp(-x) + math.atan2(x, 2.0) + numpy.minimum(x, 0.5) + float(x)

    check(f, numpy.random.rand(20), zeros(20, "f8"))


def test_methods_and_decorated_functions():
    class Model:
        def __init__(self, limit):
            self.limit = limit

        def clip(self, x):
            if x > self.limit:
                return self.limit
            return x

    model = Model(3)

    @weft.function
    def twice(x):
        return x * 2 if x > 0 else x

    def f(i, a, out):
        out[i] = model.clip(a[i]) + sum(map(twice, (a[i], 1)))

    check(f, ints(20), zeros(20))
    assert twice(4) == 8


def test_local_arrays():
    @weft.kernel
    def median(i, a, out):
        w = weft.local_array(weft.i64, 5)
        for k in range(5):
            w[k] = a[i + k - 2, "clamp"]
        for p in weft.range(1, 5):
            for q in weft.range(p, 0, -1):
                low, high = min(w[q - 1], w[q]), max(w[q - 1], w[q])
                w[q - 1] = low
                w[q] = high
        out[i] = w[2]

    a, out = ints(40), zeros(40)
    median(a, out)
    padded = numpy.pad(a, 2, "edge")
    assert (out == [numpy.median(padded[i:i + 5]) for i in range(40)]).all()


def test_functions_of_sequences_with_values():
    def f(i, a, out):
        x = [a[i] * k for k in range(3)]
        out[i, 0] = max(x) + min((a[i], 2.0))
        out[i, 1] = max(a[i] * k for k in range(3))
        out[i, 2] = any([a[i] > 1, a[i] < 0]) + 2 * all((a[i] > 1, a[i] < 3))
        out[i, 3] = (a[i] in (1.0, 3.0)) + 2 * (a[i] not in [0.0, -2.0]) + 4 * (2 in (1, 2))
        out[i, 4] = 1 if i in range(1, 6, 2) and a[i] in {3.0, 1.0} else 0
        out[i, 5] = any([]) + 2 * all([]) + any(a[i] > k for k in range(3))
        out[i, 6] = max([1, 2]) + round(a[i] * 1.26, 1) + round(a[i] * 1.26)

    check(f, numpy.array([1.0, -2, 3, 0]), numpy.zeros((4, 7)), shape=4)

    def g(i, a, out):
        out[i] = numpy.round(a[i], 1) + numpy.around(a[i])

    check(g, numpy.array([1.26, -2.54]), numpy.zeros(2))


def test_parts_of_values():
    def f(i, a, out):
        z = a[i] * 2
        out[i, 0] = z.real + (z.conj() * z).real
        out[i, 1] = z.imag

    check(f, numpy.array([1 + 2j, -3j, 2]), numpy.zeros((3, 2)), shape=3)

    def g(i, a, out):
        out[i] = a[i].real - a[i].imag + a[i].conjugate()

    check(g, numpy.array([1.0, -2.0]), numpy.zeros(2))
    check(g, ints(5), zeros(5))
