"""Tracing of Python functions: their spaces, arguments, arrays and accumulations."""

import pytest

import weft
from tracing import check, ints, zeros

numpy = pytest.importorskip("numpy")


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


def test_arrays_are_arguments_of_functions_of_values():
    @weft.kernel
    def turned(i, y, x, stack, out):
        out[i, y, x] = weft.xform.interpolate(stack, [i, 5.0 - x, y * 0.5], border="mirror", axes=2)

    @weft.kernel
    def textured(y, x, image, out):
        out[y, x] = weft.texture_read(image, [y / 7, x / 5]) + weft.xform.interpolate(image, [1.5, 2.5])

    @weft.kernel
    def spread(i, places, out):
        weft.xform.splat(out, 2.0, [places[i]])

    stack, out = numpy.random.rand(3, 6, 6), numpy.zeros((3, 6, 6))
    turned(stack, out)
    rows, columns = numpy.meshgrid(5.0 - numpy.arange(6), numpy.arange(6) * 0.5)
    want = weft.xform.warp(stack, numpy.stack([numpy.stack([a] * 3) for a in (rows, columns)]), border="mirror")
    assert numpy.allclose(out, want)
    image, out = stack[0], numpy.zeros((4, 5))
    textured(image, out)
    y, x = numpy.mgrid[:4, :5]
    assert numpy.allclose(out, weft.texture_read(image, [y / 7, x / 5]) + image[1:3, 2:4].mean())

    out = numpy.zeros(5)
    spread[3](numpy.array([0.0, 1.5, 4.0]), out)
    assert out.tolist() == [2, 1, 1, 0, 2]
    out.flags.writeable = False
    with pytest.raises(ValueError, match="'out' is written, and its memory is read-only"):
        spread[3](numpy.array([0.0, 1.5, 4.0]), out)
    assert out.tolist() == [2, 1, 1, 0, 2]

    @weft.kernel
    def of_row(i, y, x, stack, out):
        out[i, y, x] = weft.xform.interpolate(stack[i], [y, x])

    with pytest.raises(TypeError, match="takes an array of a traced function as a whole, not a row of it"):
        of_row(stack, numpy.zeros_like(stack))
