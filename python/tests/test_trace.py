"""Tracing of Python functions. The oracle is Python itself, which runs the same function for every point."""
import itertools
import math
import os
import pathlib
import random
import subprocess
import sys
import traceback

import pytest

import weft

numpy = pytest.importorskip("numpy")


def plain(f, shape, *arguments):
    """What Python makes of the function: new arrays, after a call for every point."""
    arguments = [a.copy() if isinstance(a, numpy.ndarray) else a for a in arguments]
    for point in itertools.product(*map(range, shape)):
        f(*point, *arguments)
    return [a for a in arguments if isinstance(a, numpy.ndarray)]


def check(f, *arguments, shape=None, **options):
    """Runs a function by Weft and by Python, and compares all arrays. Returns the kernel."""
    k = weft.kernel(**options)(f)
    mine = [a.copy() if isinstance(a, numpy.ndarray) else a for a in arguments]
    k(*mine) if shape is None else k[shape](*mine)
    space = shape if shape is not None else mine[k.names.index(k.space)].shape
    expected = plain(f, space if isinstance(space, tuple) else (space,), *arguments)
    for got, want in zip([a for a in mine if isinstance(a, numpy.ndarray)], expected):
        if want.dtype.kind == "f":
            assert numpy.allclose(got, want, rtol=1e-5, atol=1e-6, equal_nan=True), (got, want)
        else:
            assert (got == want).all(), (got, want)
    return k


def ints(n, low=-20, high=20, seed=1):
    return numpy.random.RandomState(seed).randint(low, high, n).astype("i8")


def zeros(n, dtype="i8"):
    return numpy.zeros(n, dtype)


# ---- kernels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("border, mode", [("clamp", "edge"), ("periodic", "wrap"), ("mirror", "symmetric"),
                                          ("reflect", "reflect"), ("value", "constant")])
def test_stencils_with_border_modes(border, mode):
    @weft.kernel
    def edges(y, x, img, out, border):
        dx = img[y, x + 1, border, 3] - img[y, x - 1, border, 3]
        dy = img[y + 1, x, border, 3] - img[y - 1, x, border, 3]
        out[y, x] = weft.sqrt(dx * dx + dy * dy)

    for shape in ((6, 5), (9, 33)):
        img = numpy.random.rand(*shape).astype("f4")
        out = numpy.zeros_like(img)
        edges(img, out, border)
        p = numpy.pad(img, 1, mode, **({"constant_values": 3} if mode == "constant" else {}))
        assert numpy.allclose(out, numpy.hypot(p[1:-1, 2:] - p[1:-1, :-2], p[2:, 1:-1] - p[:-2, 1:-1]), atol=1e-6)
    assert len(edges.signatures) == 1


def mandelbrot(y, x, out, scale, most):
    cr = x * scale - 2
    ci = y * scale - 1.25
    zr = zi = 0.0
    n = 0
    while n < most:
        if zr * zr + zi * zi > 4:
            break
        zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
        n += 1
    out[y, x] = n


def test_mandelbrot():
    k = check(mandelbrot, zeros((40, 50), "i4"), 0.0625, 60)
    out = zeros((40, 50), "i4")
    for most in (5, 7, 1000):
        k(out, 0.0625, most)
        assert out.max() == most
    assert len(k.signatures) == 1  # numbers do not make kernels
    with pytest.raises(TypeError):
        k(out, 0.0625, "x")


def test_the_space_and_the_indices():
    def written(i, j, a, b):
        b[j] = 7
        b[i] = a[j] if i < j else 1

    with pytest.raises(TypeError, match="space"):
        weft.kernel(space="c")(written)

    @weft.kernel
    def scatter(i, /, a, b):
        b[a[i]] = i

    a, b = numpy.array([2, 0, 1, 3]), zeros(6)
    scatter(a, b)
    assert b.tolist() == [1, 2, 0, 3, 0, 0]
    b = zeros(4)
    scatter[3](a, b)
    assert b.tolist() == [1, 2, 0, 0]
    scatter(a[::-1], b, shape=(4,))
    assert b.tolist() == [2, 1, 3, 0]
    with pytest.raises(TypeError, match="indices"):
        weft.kernel(lambda a, b: a)
    with pytest.raises(weft.ShapeError):
        weft.kernel(mandelbrot)(zeros(5), 1.0, 2)
    with pytest.raises(TypeError):
        weft.kernel(mandelbrot)(zeros((5, 5)), 1.0)

    def points(i, a, b, gain=2):
        b.add(a[i], gain)

    b = zeros(4)
    weft.kernel(points)(a, b)
    assert b.tolist() == [2, 2, 2, 2]

    def hidden(i, a, b):
        b.add(a.read(i), 1)

    with pytest.raises(TypeError, match="indices"):
        weft.kernel(space="a")(hidden)


def test_arrays_are_as_large_as_the_space():
    @weft.kernel
    def f(y, x, a, b, out):
        out[y, x] = a[y, x]
        if x < 2:
            out[y, x] = b[y, x]

    a, b, out = zeros((3, 4)) + 1, zeros((3, 2)) + 2, zeros((3, 4))
    f(a, b, out)
    assert out.tolist() == [[2, 2, 1, 1]] * 3
    for _ in range(2):
        with pytest.raises(weft.ShapeError, match="'a'"):
            f(b, b, out)
        with pytest.raises(weft.ShapeError):
            f[4, 4](a, b, out)
    f[2, 2](a, b, out)


def test_default_arguments_keywords_and_classes_of_numbers():
    @weft.kernel
    def scaled(i, a, out, gain=2, shift=0.5):
        out[i] = a[i] * gain + shift

    a, out = numpy.arange(5, dtype="f4"), zeros(5, "f4")
    scaled(a, out)
    assert numpy.allclose(out, a * 2 + 0.5)
    scaled(a, out=out, shift=1)
    assert numpy.allclose(out, a * 2 + 1)
    scaled(a, out, 3, True)
    assert numpy.allclose(out, a * 3 + 1)
    scaled(a, out, numpy.float32(0.1), weft.static(4))
    assert (out == a * numpy.float32(0.1) + 4).all()
    assert len(scaled.signatures) == 4
    scaled(a, out, gain=10)
    assert len(scaled.signatures) == 4 and out[1] == 10.5


def test_numbers_indices_and_counters_are_weak():
    seen = []

    def f(i, a, out, s, n):
        total = 0.0
        for k in weft.range(3):
            total += a[i] * s + k
        seen.append((total.dtype, (i * s).dtype, (i + n).dtype, (a[i] + i).dtype))
        out[i] = total + n

    for dtype in ("f4", "f8"):
        a, out = numpy.arange(6).astype(dtype), zeros(6, dtype)
        weft.kernel(f)(a, out, 0.5, 2)
        assert numpy.allclose(out, a * 1.5 + 5)
        mine = weft.f32 if dtype == "f4" else weft.f64
        assert seen[-1] == (mine, weft.f64, weft.i64, mine)


def test_accumulation():
    @weft.kernel
    def histogram(i, /, a, bins):
        bins.add(a[i], 1)

    a = ints(1000, 0, 16)
    bins = zeros(16)
    histogram[a.shape](a, bins)
    assert (bins == numpy.bincount(a, minlength=16)).all()

    @weft.kernel
    def counts(i, a, bins, negative, product):  # the array that is read gives the space
        if a[i] > 3:
            bins[a[i]] += 1
        negative[a[i]] -= 2
        product[a[i] // 8] *= 1.001

    bins, negative, product = zeros(16), zeros(16), numpy.ones(2)
    counts(a, bins, negative, product)
    number = numpy.bincount(a, minlength=16)
    assert (bins == numpy.where(numpy.arange(16) > 3, number, 0)).all() and (negative == -2 * number).all()
    assert numpy.allclose(product, 1.001 ** number.reshape(2, 8).sum(1))
    closed = weft.zeros(16, "i64")

    def into_closure(i):
        closed[a[i]] += 1

    weft.iwise(1000)(into_closure)
    assert (numpy.asarray(closed) == number).all()

    @weft.kernel
    def divides(i, a, out):
        out[a[i]] /= 2

    with pytest.raises(weft.ContractError, match="accumulate"):
        divides(a, numpy.ones(16))

    @weft.kernel
    def pairs(y, x, image, row, rows):  # the read with the most indices tells
        rows[row[y]] += image[y, x]

    image, rows = ints((4, 3)), numpy.zeros(2, int)
    pairs(image, numpy.array([0, 1, 0, 1]), rows)
    assert rows.tolist() == [image[::2].sum(), image[1::2].sum()]

    def own(y, x, a, out):
        out[y, x] += a[y, x]
        out[y, x] *= 2

    check(own, ints((3, 4)), ints((3, 4), seed=2))

    @weft.kernel
    def largest(i, /, a, key, out):
        out.accumulate(key[i], a[i], "max")

    key, out = ints(1000, 0, 7, 3), numpy.full(7, -100)
    largest[1000](a, key, out)
    assert (out == [a[key == k].max() for k in range(7)]).all()

    @weft.kernel
    def numbered(i, /, a, count, out):
        if a[i] > 0:
            out[count.atomic(0, join="inc")] = i

    count, out = zeros(1), numpy.full(1000, -1)
    numbered[1000](a, count, out)
    assert count[0] == (a > 0).sum() and sorted(out[:count[0]]) == numpy.flatnonzero(a > 0).tolist()


def test_rows_and_shapes():
    def f(y, a, v, out):
        row = a[y]
        total = 0
        for k in range(a.shape[1]):
            total += row[k] * v[k]
        h, w = a.shape
        out[y] = total + h * w + a[y][-1] + v[-2]

    check(f, ints((5, 40)), ints(40), zeros(5))
    check(f, ints((5, 4)), ints(4), zeros(5))


def test_shapes_within_blocks():
    def inner(y, x, a, out):
        if 0 < y < a.shape[0] - 1 and 0 < x < a.shape[1] - 1:
            out[y, x] = a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1] - 4 * a[y, x]

    def after(y, x, a, out):
        n = 0
        if x > 2:
            n = a.shape[0]
        out[y, x] = n + a.shape[0] * a.size

    check(inner, ints((5, 6)), zeros((5, 6)))
    check(after, ints((5, 6)), zeros((5, 6)))


def test_len():
    def f(y, a, v, out):
        for k in range(len(v)):
            out[y] += a[y][k] * len(a[y]) + v[k] * len(a)

    check(f, ints((5, 40)), ints(40), zeros(5))

    def extents(i, out):
        out[i] = len(table) + len("abc")

    table = [1, 2]
    check(extents, zeros(3))


def test_what_messages_of_spaces_say():
    @weft.kernel
    def one(i, /, a):
        a[i + 1] = 1

    @weft.kernel
    def two(y, x, /, a):
        a[x, y] = 1

    with pytest.raises(TypeError, match=r"no element of the current point is assigned or read: one\[n\]\(\.\.\.\)"):
        one(zeros(3))
    with pytest.raises(TypeError, match=r"two\[n0, n1\]\(\.\.\.\)"):
        two(zeros((3, 3)))
    assert repr(one).endswith("of 1 index>") and repr(two).endswith("of 2 indices>")
    scope = {}
    exec("def f(i, a):\n    a[i] = 1", scope)
    with pytest.raises(TypeError, match="are indices is not known, as .*source"):
        weft.kernel(scope["f"])


def test_arrays_of_numpy_hold_no_values():
    @weft.kernel
    def stored(i, a, out):
        held = numpy.zeros(3)
        held[0] = a[i]
        out[i] = held[0]

    @weft.kernel
    def summed(i, a, out):
        out[i] = numpy.sort(a)[0]

    with pytest.raises(TypeError, match=r"weft\.local_array"):
        stored(ints(3), zeros(3))
    with pytest.raises(TypeError, match=r"<array of i64 with 1 axis in a traced function>"):
        summed(ints(3), zeros(3))


# ---- control flow ------------------------------------------------------------------------------------------------


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


# ---- mistakes --------------------------------------------------------------------------------------------------------


def test_a_dtype_that_changes_in_a_loop():
    @weft.kernel
    def f(i, a, out):
        x = a[i]
        while x > 1:
            x = x * weft.f64(0.5)
        out[i] = x

    with pytest.raises(weft.DtypeError) as e:
        f(numpy.ones(3, "f4"), zeros(3, "f4"))
    line = f.function.__code__.co_firstlineno + 3
    assert "'x'" in str(e.value) and "f32" in str(e.value) and "f64" in str(e.value)
    assert f"{__file__}:{line}" in str(e.value)

    @weft.kernel
    def g(i, a, out):
        x = None
        if a[i] > 0:
            x = a[i]
        out[i] = x

    with pytest.raises(weft.DtypeError, match="'x'"):
        g(numpy.ones(3, "f4"), zeros(3, "f4"))


def test_tracebacks_name_the_line():
    @weft.kernel
    def f(i, a, out):
        if a[i] > 0:
            for k in range(3):
                out[i] = a[i] + "text"

    with pytest.raises(TypeError) as e:
        f(numpy.ones(3), zeros(3))
    frames = [s for s in traceback.extract_tb(e.value.__traceback__) if s.filename == __file__]
    assert frames[-1].lineno == f.function.__code__.co_firstlineno + 4 and frames[-1].name == "f"


def test_names_without_a_value():
    def f(i, a, out):
        if a[i] > 0:
            t = a[i] * 2
        out[i] = 1
        if a[i] > 3:
            out[i] = t

    check(f, ints(40), zeros(40))

    @weft.kernel
    def never(i, a, out):
        if a[i] > 0:
            out[i] = t  # noqa: F821
        t = 1

    with pytest.raises(NameError):
        never(ints(3), zeros(3))


def test_functions_without_source_text():
    names = {}
    exec("def f(i, /, a, out):\n    out[i] = a[i] * 2\n"
         "def g(i, /, a, out):\n    if a[i] > 0:\n        out[i] = 1\n"
         "def h(i, a, out):\n    out[i] = 1\n", names)
    a, out = ints(5), zeros(5)
    weft.kernel(space="out")(names["f"])(a, out)
    assert (out == a * 2).all()
    with pytest.raises(TypeError) as e:
        weft.kernel(space="out")(names["g"])(a, out)
    assert any("source" in note for note in e.value.__notes__)
    with pytest.raises(TypeError):
        weft.kernel(names["h"])


def test_other_mistakes():
    @weft.kernel
    def f(i, a, out):
        out[i] = a[i]
        return 3

    with pytest.raises(TypeError, match="returns"):
        f(ints(3), zeros(3))
    with pytest.raises(TypeError, match="list"):
        f([1, 2], zeros(3))

    @weft.kernel
    def g(i, a, out):
        out[i] = a[i, i]

    with pytest.raises(weft.BoundsError):
        g(ints(3), zeros(3))

    @weft.kernel
    def h(i, a, out):
        out[i] = 0
        f(a, out)

    with pytest.raises(weft.ContractError):
        h(ints(3), zeros(3))
    with pytest.raises(weft.ContractError):
        weft.graph()


def test_many_signatures_warn():
    @weft.kernel
    def f(i, out, n):
        out[i] = n

    out = zeros(3)
    with pytest.warns(RuntimeWarning, match="signatures"):
        for n in range(16):
            f(out, weft.static(n))
    assert out.tolist() == [15, 15, 15]
    f.clear()
    assert f.signatures == []


def test_the_rewritten_text():
    def f(i, out):
        if out[i] > 0:
            out[i] = 1

    assert "branch" in weft.kernel(f).source


def test_random_numbers_of_the_host():
    generator = numpy.random.default_rng(1)
    for draw in (lambda: numpy.random.rand(), lambda: numpy.random.normal(size=1)[0], lambda: generator.uniform(),
                 lambda: random.random(), lambda: random.gauss(0, 1), lambda: numpy.random.default_rng(3).random()):
        @weft.kernel
        def noisy(i, out):
            out[i] = draw()

        with pytest.raises(TypeError, match="weft.random"):
            noisy(numpy.zeros(3))

    @weft.kernel
    def drawn(i, out):
        out[i] = weft.random.Pcg32(weft.graph(), 5, i).f64()

    out = numpy.zeros(100)
    drawn(out)
    assert len(set(out.tolist())) == 100


def lines_of(call):
    """The names of the functions in the traceback of a mistake."""
    with pytest.raises(Exception) as caught:
        call()
    return [(entry.name, entry.line) for entry in traceback.extract_tb(caught.value.__traceback__)][1:]


def test_tracebacks_have_the_lines_of_the_program():
    def helper(v):
        return v + "a"

    @weft.kernel
    def wrong(i, a, out):
        if a[i] > 0:
            out[i] = helper(a[i])

    @weft.kernel
    def too_many(i, a, out):
        out[i] = a[i, 0]

    def no_such_thing(x):
        return x.nothing

    x, out = ints(3), zeros(3)
    inner = [("wrong", "out[i] = helper(a[i])"), ("helper", 'return v + "a"')]
    for call, expected in (
        (lambda: wrong(x, out), inner),
        (lambda: wrong(x, out, shape=3), inner),
        (lambda: too_many(x, out), [("too_many", "out[i] = a[i, 0]")]),
        (lambda: wrong(x), []),
        (lambda: weft.iwise(3)(no_such_thing), [("no_such_thing", "return x.nothing")]),
        (lambda: weft.ewise(no_such_thing, x), [("no_such_thing", "return x.nothing")]),
        (lambda: weft.reduce(no_such_thing, x), [("no_such_thing", "return x.nothing")]),
        (lambda: weft.grad(no_such_thing)(1.0), [("no_such_thing", "return x.nothing")]),
        (lambda: weft.value_and_grad(no_such_thing)(1.0), [("no_such_thing", "return x.nothing")]),
    ):
        found = lines_of(call)
        assert found[0][0] == "<lambda>" and found[1:] == expected
    with weft.debug():
        found = lines_of(lambda: wrong(x, out))
        assert "_miss" in [name for name, _ in found] and found[-1] == inner[-1]


def test_lambdas_of_one_line_without_columns(tmp_path):
    """As in code whose positions were lost: what cannot be told apart is not rewritten."""
    (tmp_path / "program.py").write_text('''
import weft
k = [weft.ewise(f, [1.0, 2.0]).tolist() for f in (lambda x: x if x > 1 else 7, lambda x: x if x > 1 else 8)]
assert k == [[7, 2], [8, 2]], k
k = [weft.ewise(f, [1.0, 2.0]).tolist() for f in (lambda x: x + 1, lambda x: 1 - x)]
assert k == [[2, 3], [0, -1]], k
try:
    k = [weft.ewise(f, [1.0, 2.0]) for f in (lambda x: x if x > 1 else 1, lambda x: 1 if x > 1 else x)]
except TypeError as error:
    assert "several lambdas" in error.__notes__[0]
else:
    raise SystemExit("no error")
''')
    packages = str(pathlib.Path(weft.__file__).parent.parent)
    subprocess.run([sys.executable, "-X", "no_debug_ranges", "program.py"], cwd=tmp_path, check=True,
                   env={**os.environ, "PYTHONPATH": packages + os.pathsep + os.environ.get("PYTHONPATH", "")})
