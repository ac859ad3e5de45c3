"""Traced functions without indices: ewise, iwise, reduce; blocks as `with`; frozen functions."""
import math
import threading

import pytest

import weft

numpy = pytest.importorskip("numpy")


def test_elementwise_functions():
    def f(x, y):
        n = 0
        while x > 1 and n < 50:
            x = x / 2 if n % 2 == 0 else x - y
            n += 1
        return x, n

    a, b = numpy.random.rand(6, 7) * 100, numpy.random.rand(7) + 0.5
    got = weft.ewise(f, a, b)
    want = [[f(a[i, j], b[j]) for j in range(7)] for i in range(6)]
    assert numpy.allclose(got[0], [[x for x, n in row] for row in want])
    assert got[1].dtype == weft.i64 and got[1].tolist() == [[n for x, n in row] for row in want]
    out = numpy.empty((6, 7), "f4"), numpy.empty((6, 7), "i4")
    assert weft.ewise(f, a, b, out=out) is out
    assert numpy.allclose(out[0], got[0], rtol=1e-6) and (out[1] == numpy.asarray(got[1])).all()


def test_elementwise_functions_are_kept_by_text_and_closure():
    traced = []

    def scaled(by):
        return lambda x: (traced.append(by), x * by)[1]

    a = numpy.arange(5.0)
    for by in (2, 3, 2, 3):
        for _ in range(3):
            assert weft.ewise(scaled(by), a).tolist() == [x * by for x in range(5)]
    assert len(traced) == 4  # once for the dtype, once for the kernel
    assert weft.ewise(lambda x, s: x * s, numpy.float32([1, 2]), 0.5).dtype == weft.f32
    assert weft.ewise(lambda x: 3, a).tolist() == [3] * 5
    with pytest.raises(weft.ShapeError):
        weft.ewise(lambda x, y: x + y, a, numpy.zeros(4))
    with pytest.raises(TypeError):
        weft.ewise(lambda x: None, a)
    with pytest.raises(TypeError):
        weft.ewise(lambda x: (x, x), a, out=a)


def test_immediate_index_spaces():
    img = numpy.random.rand(4, 5)
    out = numpy.zeros((4, 5))

    def flip(y, x):
        if x > y:
            out[y, x] = img[3 - y, 4 - x]
        else:
            out[y, x] = -1

    assert weft.iwise((4, 5))(flip) is None
    want = [[img[3 - y, 4 - x] if x > y else -1 for x in range(5)] for y in range(4)]
    assert numpy.allclose(out, want)
    assert numpy.allclose(weft.iwise((4, 5))(lambda y, x: img[3 - y, 4 - x] if x > y else -1), want)
    both = weft.iwise(3)(lambda i: (i, i * 0.5))
    assert [b.tolist() for b in both] == [[0, 1, 2], [0, 0.5, 1]]


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (0, 1, 2)])
def test_reductions_by_name(axis):
    a = numpy.random.rand(5, 6, 7).astype("f4") + 0.5
    b = numpy.random.rand(6, 7).astype("f4")
    got = weft.reduce(lambda x, y: x * y, a, b, axis=axis)
    assert got.dtype == weft.f32 and numpy.allclose(got, (a * b).sum(axis), rtol=1e-5)
    assert numpy.allclose(weft.reduce(None, a, axis=axis, init=1.0, join="mul"), a.prod(axis), rtol=1e-4)
    low, high = weft.reduce(lambda x: (x, x), a, axis=axis, init=(math.inf, -math.inf), join=("min", "max"))
    assert (numpy.asarray(low) == a.min(axis)).all() and (numpy.asarray(high) == a.max(axis)).all()
    count = weft.reduce(lambda x: 1 if x > 1 else 0, a, axis=axis, keepdims=True)
    assert count.dtype == weft.i64 and (numpy.asarray(count) == (a > 1).sum(axis, keepdims=True)).all()
    long = numpy.tile(numpy.float32([1e9, 1, -1e9, 1]), 4096)
    assert weft.reduce(None, long).item() == 8192  # added in f64
    if axis is not None:
        out = numpy.empty(a.sum(axis).shape)
        assert weft.reduce(None, a, axis=axis, out=out, init=numpy.float64(100)) is out
        assert numpy.allclose(out, a.sum(axis) + 100, rtol=1e-5)


def test_reductions_with_a_join_of_their_own():
    def merge(p, q):
        n, mean, square = p
        m, other, more = q
        both = n + m
        if both == 0:
            return p
        step = other - mean
        return both, mean + step * m / both, square + more + step * step * n * m / both

    a = numpy.random.rand(9, 1000) * 5 + 100
    mean, variance = weft.reduce(lambda x: (1.0, x, 0.0), a, axis=1, init=(0.0, 0.0, 0.0), join=merge,
                                 post=lambda n, m, s: (m, s / n))
    assert numpy.allclose(mean, a.mean(1)) and numpy.allclose(variance, a.var(1))

    def larger(p, q):
        if p[0] > q[0] or p[0] == q[0] and p[1] < q[1]:
            return p
        return q

    a = numpy.random.RandomState(3).randint(0, 50, (8, 300)).astype("f4")
    top, at = weft.reduce(lambda y, x, v: (v, x), a, axis=1, init=(-math.inf, 1 << 40), join=larger, indices=True)
    assert (numpy.asarray(top) == a.max(1)).all() and (numpy.asarray(at) == a.argmax(1)).all()
    assert weft.reduce(None, a, init=0.0, join=lambda p, q: p + q).item() == a.sum()


def test_mistakes_in_reductions():
    a = numpy.ones((2, 3))
    with pytest.raises(ValueError):
        weft.reduce(None, a, join="median")
    with pytest.raises(weft.Error):
        weft.reduce(None, a, axis=2)
    with pytest.raises(TypeError):
        weft.reduce(lambda x: (x, x), a)
    with pytest.raises(weft.DtypeError):
        weft.reduce(None, a, init=numpy.float32(0))


def test_blocks_as_with():
    @weft.kernel
    def f(i, a, out):
        g = weft.graph()
        total = g.local(0)
        with g.If(a[i] > 2):
            total += 10
            with g.If(a[i] > 4):
                total += 100
        with g.Else():
            for k in g.range(a[i]):
                with g.If(k == 1):
                    g.continue_()
                total += k + 1
        with g.Loop():
            total += 1
            with g.If(total % 4 == 0):
                g.break_()
        out[i] = total

    def want(x):
        total = 10 + 100 * (x > 4) if x > 2 else sum(k + 1 for k in range(x) if k != 1)
        return total + 4 - total % 4

    a, out = numpy.arange(7), numpy.zeros(7, "i8")
    f(a, out)
    assert out.tolist() == [want(x) for x in a.tolist()]
    g = weft.Graph((3,))
    with pytest.raises(weft.ContractError):
        g.Else()
    with pytest.raises(KeyError):
        with g.If(g.index(0) > 1):
            raise KeyError
    assert not g.is_open


def test_blocks_of_points():
    @weft.kernel(block=(8,))
    def f(i, /, a, out):
        g = weft.graph()
        total = weft.scratch(weft.i64, 1, True)
        total.add(0, a[i])
        g.section("deinit")
        out[g.block_id(0)] = total[0]

    a, out = numpy.arange(32), numpy.zeros(4, "i8")
    f[32](a, out)
    assert out.tolist() == a.reshape(4, 8).sum(1).tolist()


# ---- frozen functions ----


def test_frozen_functions():
    ran = []

    @weft.kernel
    def blur(i, a, out):
        out[i] = a[i - 1, "clamp"] + a[i, "clamp"] + a[i + 1, "clamp"]

    @weft.freeze
    def steps(a, out, s):
        ran.append(s)
        between = weft.empty(a.shape, weft.f64)
        blur(a, between)
        blur(between, out)
        return out * s

    def want(a):
        for _ in range(2):
            p = numpy.pad(a, 1, "edge")
            a = p[:-2] + p[1:-1] + p[2:]
        return a

    a, out = numpy.random.rand(100), numpy.empty(100)
    for s in (2.0, 2.0, 3.0, 2.0):
        a += 1
        scaled = steps(a, out, s)
        assert numpy.allclose(out, want(a)) and numpy.allclose(scaled, want(a) * s)
    assert ran == [2.0, 3.0]
    for other in (numpy.random.rand(100), numpy.random.rand(100)[::-1], weft.asarray(a)):
        steps(other, out, 2.0)
        assert numpy.allclose(out, want(numpy.asarray(other)))
    assert ran == [2.0, 3.0, 2.0] and steps.sequences == 3
    steps(a[:50], out[:50], 2.0)
    assert len(ran) == 4 and numpy.allclose(out[:50], want(a[:50]))
    locked = out.copy()
    locked.flags.writeable = False
    before = locked.copy()
    for _ in range(2):
        with pytest.raises((ValueError, TypeError, BufferError)):
            steps(a, locked, 2.0)
    assert (locked == before).all()
    with pytest.raises(TypeError):
        steps(a=a)
    steps.clear()
    assert steps.sequences == 0


def test_what_cannot_be_frozen():
    @weft.freeze
    def reads(a):
        return float(a[0])

    @weft.freeze
    def fails(a):
        raise KeyError("mine")

    a = numpy.ones(3)
    with pytest.raises(weft.UnsupportedError, match="wf_download"):
        reads(a)
    with pytest.raises(KeyError):
        fails(a)
    with pytest.raises(TypeError):
        weft.freeze(3)


def test_frozen_functions_tell_constants_apart():
    @weft.freeze
    def fill(out, x):
        out[...] = weft.copysign(weft.ones(2), x[0])

    out = numpy.zeros(2)
    for _ in range(2):
        for x in (0.0, -0.0, False, 1):
            fill(out, (x,))
            assert out.tolist() == [math.copysign(1, x)] * 2
    assert fill.sequences == 4


# ---- dispatch ----


def test_signatures_beyond_the_table_and_flags():
    @weft.kernel
    def f(i, a, out, how):
        out[i] = a[i] + how

    out = numpy.zeros(3)
    with pytest.warns(RuntimeWarning):
        for turn in range(3):
            for n in range(20):
                f(numpy.ones(3), out, weft.static(n))
                assert out[0] == n + 1
    assert len(f.signatures) == 20
    with weft.debug():
        f(numpy.ones(3), out, weft.static(1))
    assert len(f.signatures) == 21
    for a in (numpy.ones(3, "f4"), numpy.ones(3, "i2"), weft.ones(3), numpy.ones(6)[::2], weft.asarray([1, 1, 1])):
        f(a, out, 1)
        assert out.tolist() == [2, 2, 2]
    with pytest.raises((ValueError, TypeError)):
        f(numpy.ones(4, "f4"), numpy.ones(3, dtype="U4"), 1)


def test_read_only_outputs_are_refused():
    @weft.kernel
    def f(i, a, out):
        out[i] = a[i]

    a, out = numpy.ones(3), numpy.zeros(3)
    f(a, out)
    out.flags.writeable = False
    for _ in range(2):
        with pytest.raises((ValueError, TypeError, BufferError)):
            f(a, out)
    assert out.tolist() == [1, 1, 1]
    f(out, a)


def test_constants_of_signatures_are_told_apart():
    @weft.kernel
    def sign(i, out, x):
        out[i] = math.copysign(1.0, x)

    @weft.kernel
    def level(i, out, x):
        out[i] = levels[type(x[0])]

    levels = {bool: 1, int: 2, float: 3}
    out = numpy.zeros(2)
    for _ in range(2):
        for x in (0.0, -0.0):
            sign(out, weft.static(x))
            assert out.tolist() == [math.copysign(1, x)] * 2
        for x in (True, 1, 1.0):
            level(out, (x,))
            assert out.tolist() == [levels[type(x)]] * 2
    assert len(sign.signatures) == 2 and len(level.signatures) == 3 and weft.static(0.0) != weft.static(-0.0)


def test_kernels_on_many_threads():
    @weft.kernel
    def f(i, a, out, s):
        out[i] = a[i] * s if a[i] > 0 else s

    wrong = []

    def work(seed):
        a, out = numpy.full(3000, seed, "f4"), numpy.empty(3000, "f4")
        for s in range(100):
            f(a, out, s)
            if out[0] != seed * s or out[-1] != seed * s:
                wrong.append((seed, s))

    threads = [threading.Thread(target=work, args=(i + 1,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# ---- operators that are known ----------------------------------------------------------------------------------------


def test_known_operators_tell_closures_and_options_apart():
    a = numpy.array([1.0, -2.0, 3.0])

    def scaled(s, more=0.0):
        return weft.ewise(lambda x: x * s + more, a).tolist()

    for _ in range(3):
        assert scaled(2.0) == [2, -4, 6] and scaled(3.0) == [3, -6, 9] and scaled(3) == [3, -6, 9]
        assert scaled(2.0, 1.0) == [3, -3, 7]
        assert [weft.ewise(lambda x, z=z: weft.copysign(x, z), a).tolist() for z in (0.0, -0.0)] == [
            [1, 2, 3], [-1, -2, -3]]
        assert [weft.ewise(f, a).tolist() for f in (lambda x: x + 1, lambda x: x + 2)] == [[2, -1, 4], [3, 0, 5]]
        assert weft.reduce(None, a).item() == 2 and weft.reduce(None, a, init=1).item() == 3
        assert weft.reduce(None, a, join="max", init=-9).item() == 3
        assert weft.reduce(None, a, keepdims=True).shape == (1,)
        assert [weft.reduce(None, a, join=lambda p, q: p + q + k).item() for k in (0, 0.0)] == [2, 2]
        assert weft.reduce(None, a, post=lambda t: t * 2).item() == 4
        assert weft.reduce(lambda i, x: i * x, a, indices=True).item() == 4
        assert weft.reduce(None, a.reshape(3, 1), axis=0).shape == (1,) and weft.reduce(None, a, axis=0).shape == ()
        assert weft.reduce(None, a.astype("f4")).dtype == weft.f32
        x, y = weft.reduce(lambda v: (v, v * v), a, init=(0.0, 0.0))
        assert x.item() == 2 and y.item() == 14


def test_known_operators_see_defaults_and_what_functions_of_a_closure_hold():
    a = numpy.array([1.0, 2.0])

    def within(k):
        def scale(x, k=k):
            return x * k

        return weft.ewise(lambda x: scale(x), a).tolist()

    traced = []

    def powers(n):
        def power(x, n):
            traced.append(n)
            return x if n == 1 else x * power(x, n - 1)

        return weft.ewise(lambda x: power(x, n), a).tolist()

    for _ in range(2):
        assert [weft.ewise(lambda x, *, k=k: x * k, a)[0].item() for k in (2.0, 3.0)] == [2, 3]
        assert [within(k) for k in (2.0, 3.0)] == [[2, 4], [3, 6]]
        assert [powers(n) for n in (2, 3)] == [[1, 4], [1, 8]]
        calls = traced[:]
    assert calls and [powers(n) for n in (2, 3)] == [[1, 4], [1, 8]] and traced == calls  # it is not traced again
    factor = 2.0

    def scale(x):
        return x * factor

    def twice(x):
        return scale(scale(x))

    assert weft.ewise(twice, a).tolist() == [4, 8] and weft.reduce(None, a, post=scale).item() == 6
    factor = 3.0
    assert weft.ewise(twice, a).tolist() == [9, 18] and weft.reduce(None, a, post=scale).item() == 9


def test_a_closure_may_have_an_empty_cell():
    a = numpy.array([1.0, 2.0])

    def f(x):
        return x * (1 if ready is None else later)

    ready = None
    assert weft.ewise(f, a).tolist() == [1, 2]
    ready = later = 5.0
    assert weft.ewise(f, a).tolist() == [5, 10]


def test_known_operators_follow_their_arguments():
    def f(x, y):
        return x + y

    a = numpy.ones((2, 3), "f4")
    for _ in range(3):
        assert weft.ewise(f, a, numpy.ones(3, "f4")).dtype == weft.f32
        assert weft.ewise(f, a, 1).shape == (2, 3) and weft.ewise(f, a.astype(int), 2.5).dtype == weft.f64
        assert weft.ewise(f, a[:, :1], numpy.ones(3)).shape == (2, 3)
        assert weft.ewise(f, numpy.float32(2), a[0]).tolist() == [3, 3, 3]
        assert weft.ewise(f, [1, 2], 3).tolist() == [4, 5]
        out = numpy.zeros((2, 3), "i8")
        assert weft.ewise(f, a, a, out=out) is out and (out == 2).all()
        assert weft.ewise(f, a, a).dtype == weft.f32  # not that of `out`
        with pytest.raises(weft.ShapeError):
            weft.ewise(f, a, numpy.ones(4, "f4"))
        first, second = weft.ewise(lambda x: (x, x > 0), a)
        assert first.dtype == weft.f32 and second.dtype == weft.bool_
        with weft.fast_math():
            assert weft.ewise(f, a, a).shape == (2, 3)
    read_only = numpy.zeros((2, 3), "f4")
    read_only.flags.writeable = False
    with pytest.raises(ValueError):
        weft.ewise(f, a, a, out=read_only)
    with pytest.raises(TypeError):
        weft.ewise(f, a, a, where=a)


def test_many_operators():
    a = numpy.arange(3.0)
    functions = [eval(f"lambda x: x * {k}") for k in range(300)]
    for turn in range(2):
        for k, f in enumerate(functions):
            if k % 7 == turn or k % 5 == 0:
                assert weft.ewise(f, a)[1].item() == k


class Scaled:
    def __init__(self, s):
        self.s = s

    def times(self, x):
        return x * self.s


def test_methods_of_different_objects():
    a = numpy.arange(3.0)
    one, two = Scaled(1.0), Scaled(2.0)
    for _ in range(2):
        assert weft.ewise(one.times, a).tolist() == [0, 1, 2] and weft.ewise(two.times, a).tolist() == [0, 2, 4]
