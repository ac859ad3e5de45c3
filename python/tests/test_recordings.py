"""Recordings, kernels and operator text."""
import importlib.util
import threading

import pytest

import weft

numpy = pytest.importorskip("numpy")


def triad():
    g = weft.Graph()
    a, b, out = (g.formal(name, weft.f32, 1) for name in ("a", "b", "out"))
    g.output(out, g.input(a) * g.param("s", weft.f32, 2) + g.input(b))
    return g.compile("a", "b", "out", "s")


def test_kernels_take_memory_of_numpy():
    k = triad()
    for n in (1, 7, 1024):
        a, b, out = numpy.random.rand(n).astype("f4"), numpy.random.rand(n).astype("f4"), numpy.empty(n, "f4")
        k(a, b, out, 3.0)
        assert numpy.allclose(out, a * 3 + b)
        k(out=out, b=b, a=a)
        assert numpy.allclose(out, a * 2 + b)
        k.fast(weft.asarray(a), b, out[::-1], 4)
        assert numpy.allclose(out[::-1], a * 4 + b)
    assert k.names == ("a", "b", "out", "s")


def test_mistakes_in_arguments():
    k = triad()
    a = numpy.zeros(4, "f4")
    frozen = a.copy()
    frozen.flags.writeable = False
    for wrong in ((a, a, "x"), (a, a, a, a, a), (a, a), (a, a, a.astype("f8")), (a, a, frozen), (a, a, a[:3]),
                  (a, None, a), (a, a, a, 1j), (a.reshape(2, 2), a, a)):
        with pytest.raises((TypeError, ValueError, BufferError)):
            k(*wrong)
    with pytest.raises(TypeError):
        k(a, a, a, q=1)
    with pytest.raises(TypeError):
        k(a, a, a, a=a)
    k(a, a, a, 1)
    for locked in (frozen, weft.asarray(frozen)):
        with pytest.raises(weft.Error, match="'out' is written, and its memory is read-only"):
            k(a, a, locked)


def test_one_kernel_on_many_threads():
    k = triad()
    wrong = []

    def work(seed):
        a, b = numpy.full(2000, seed, "f4"), numpy.ones(2000, "f4")
        out = numpy.empty_like(a)
        for i in range(200):
            k(a, b, out, float(i))
            if out[0] != seed * i + 1 or out[-1] != seed * i + 1:
                wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_index_spaces_with_control_flow():
    out = weft.empty((4, 5), weft.i64)
    g = weft.Graph((4, 5))
    y, x = g.index(0), g.index(1)
    total = g.local(0)
    j = g.for_(0, y + 1)
    g.if_(j > 1)
    total += x * 10
    g.else_()
    total += x
    g.end()
    g.end()
    g.write(out, (y, x), total)
    g.run()
    assert out.tolist() == [[sum(x * 10 if j > 1 else x for j in range(y + 1)) for x in range(5)] for y in range(4)]


def test_reads_with_border_modes():
    a = weft.asarray([1.0, 2.0, 3.0])
    for border, first in (("clamp", 1), ("periodic", 3), ("mirror", 1), ("reflect", 2), ("value", 9)):
        out = weft.empty(3, weft.f64)
        g = weft.Graph(3)
        i = g.index(0)
        g.write(out, i, g.read(a, i - 1, border, 9))
        g.run()
        assert out.tolist() == [first, 1, 2]


def test_reductions_of_a_recording():
    a = weft.asarray(numpy.arange(12.0).reshape(3, 4))
    out = weft.empty(3, weft.f64)
    g = weft.Graph(reduce=(1,), elements=True)
    total = g.reduced(weft.f64, 0, "add")
    total += g.input(a)
    g.section("post")
    g.output(out, total)
    g.run()
    assert out.tolist() == [6, 22, 38]
    g = weft.Graph()
    v = g.input(a)
    results = v.sum(axis=0), v.max(), v.sum(axis=1, keepdims=True), v.cumsum(1), v[1:, ::2]
    kept = [result.keep() for result in results]
    g.run()
    assert [k.tolist() for k in kept] == [[12, 15, 18, 21], 11, [[6], [22], [38]],
                                          numpy.arange(12.0).reshape(3, 4).cumsum(1).tolist(), [[4, 6], [8, 10]]]


def test_the_first_mistake_raises_at_its_line():
    g = weft.Graph((3,))
    with pytest.raises(weft.DtypeError):
        g.index(0).bitcast(weft.f32)
    assert not g.is_open
    with pytest.raises(weft.ContractError):
        g.index(0)
    g, h = weft.Graph((3,)), weft.Graph((3,))
    with pytest.raises(weft.ContractError):
        g.index(0) + h.index(0)
    with pytest.raises(TypeError):
        if g.index(0) > 1:
            pass
    with pytest.raises(TypeError):
        list(g.index(0))
    g.drop()
    seen = []
    g = weft.Graph((3,))

    def elsewhere():
        try:
            g.index(0)
        except weft.ContractError as e:
            seen.append(str(e))

    t = threading.Thread(target=elsewhere)
    t.start()
    t.join()
    assert seen and "thread" in seen[0]


def test_text():
    a, b = numpy.arange(6.0).reshape(2, 3), numpy.ones(3)
    for s in (1, 2, 2.5):
        for _ in range(3):
            assert numpy.allclose(weft.text("a*s + b", a=a, b=b, s=s), a * s + b)
            assert numpy.allclose(weft.text("a - mean(a)", a=a), a - a.mean())
            assert numpy.allclose(weft.text("out = a[y, x + 1; clamp] - a", a=a), a[:, [1, 2, 2]] - a)
    for shape in ((2, 3), (3, 2), (6,)):
        assert weft.text("a + 1", a=a.reshape(shape)).shape == shape
    assert weft.text("a + 1", a=a.T).tolist() == (a.T + 1).tolist()
    assert weft.text("a + 1", a=a.astype("i4")).dtype == weft.i32
    with pytest.raises(SyntaxError):
        weft.text("a +* 1", a=a)
    with pytest.raises(SyntaxError):
        weft.text("a + missing", a=a)
    with pytest.raises(ValueError):
        weft.text("a + b", a=a, b=numpy.ones(4))
    with pytest.raises(TypeError):
        weft.text("a", a=object())
    for _ in range(3):
        low, top = weft.text("low = min(a); m = max(a); top = m - low", ("low", "top"), a=a)
        assert (low.item(), top.item()) == (0, 5)
        loss, slope = weft.text("L = sum((a*s - 1)**2); g = grad(L, s)", ("L", "g"), a=a, s=weft.asarray(2.0))
        assert slope.item() == pytest.approx((2 * (a * 2 - 1) * a).sum())
    for wrong in ((), ("nothing",), (3,), ["low"], "low"):
        with pytest.raises((TypeError, ValueError, SyntaxError)):
            weft.text("low = min(a)", wrong, a=a)


NUMEXPR = [
    "i/2", "i//2", "-i//2", "d // f", "i // d", "m // 0.25", "i%5", "d%0.2", "i**2", "d+i", "i & 3 | 4", "i^3",
    "~i", "~b", "b & b", "i << 1", "(i > 1) & (f < 2)", "where(i > 1, d, f)", "arcsin(d)", "arctan2(d, f)",
    "arccosh(d*d + 2)", "real(z)", "conj(z)", "complex(d, i)", "1j*z", "sum(m)", "sum(m, axis=1)", "sum(m*2, 0)",
    "prod(m, axis=0)", "min(m, 1)", "max(m)", "sum(m, axis=None)", "fmod(d, 0.2)", "-d**2", "f**-1", "(d*d)**0.5",
    "i != 8", "where(b, d, 2.5)", "z.real", "abs(z.imag)*2", "d.real", "2.5", "d - (i - d)",
]


@pytest.mark.parametrize("text", NUMEXPR)
def test_evaluate_as_numexpr(text):
    names = {"i": numpy.array([-7, 8, 9]), "f": numpy.array([1.5, -2.5, 3], "f4"),
             "d": numpy.array([0.5, 0.25, -0.125]), "z": numpy.array([1 + 2j, 3, 4j]), "b": numpy.array([True, False, True]),
             "m": numpy.arange(6.0).reshape(2, 3)}
    python = {**names, **{name: getattr(numpy, name) for name in (
        "where", "arcsin", "arctan2", "arccosh", "real", "conj", "sum", "prod", "fmod")},
        "complex": lambda a, b: a + 1j * b, "min": numpy.min, "max": numpy.max}
    oracles = [lambda: eval(text, {}, python)]
    if importlib.util.find_spec("numexpr"):
        oracles.append(lambda: importlib.import_module("numexpr").evaluate(text, names))
    for oracle in oracles:
        expected = oracle()
        made = weft.evaluate(text, names)
        assert numpy.shape(made) == numpy.shape(expected) and numpy.allclose(made, expected, rtol=1e-6)
        assert numpy.asarray(made).dtype == numpy.asarray(expected).dtype


SMALL = ["u + v", "u - v", "u * 2", "-u", "u / v", "u // v", "u % 7", "w * w", "s * x", "s - x", "i + x", "u ** 2", "u",
         "~u", "where(u > 100, s, w)", "sum(u)", "k + u", "n * n", "q - 3", "sqrt(u)", "u < s", "u & 3 | 4"]


@pytest.mark.parametrize("text", SMALL)
def test_evaluate_widens_integers_as_numexpr(text):
    names = {"u": numpy.array([200, 10], "u1"), "v": numpy.array([100, 20], "u1"), "w": numpy.array([60000, 3], "u2"),
             "s": numpy.array([-1, 5], "i1"), "x": numpy.array([5, 2**32 - 1], "u4"), "i": numpy.array([-7, 2], "i4"),
             "n": numpy.uint8(200), "q": numpy.array([1, 5], "u8"), "k": 200}
    wide = {**names, **{name: names[name].astype("i4" if names[name].itemsize < 4 else "i8") for name in "uvwsxnq"}}
    oracles = [lambda: eval(text, {}, {**wide, "where": numpy.where, "sum": numpy.sum, "max": numpy.max,
                                       "sqrt": numpy.sqrt})]
    if importlib.util.find_spec("numexpr"):
        oracles.append(lambda: importlib.import_module("numexpr").evaluate(text, names))
    made = weft.evaluate(text, names)
    for oracle in oracles:
        expected = numpy.asarray(oracle())
        assert numpy.allclose(made, expected) and made.shape == expected.shape
        if oracle is oracles[0] or text not in ("sum(u)", "k + u"):
            assert numpy.asarray(made).dtype == expected.dtype
    assert weft.text("u + v", u=names["u"], v=names["v"]).tolist() == [44, 30]
    assert weft.evaluate("u + 100", u=memoryview(names["u"])).tolist() == [300, 110]


def test_reductions_of_evaluate_leave_axes_out():
    a = numpy.arange(6.0).reshape(2, 3)
    for name in ("mean", "var", "std", "median", "argmax", "argmin", "any", "all"):
        function = getattr(numpy, name)
        for made, expected in ((weft.evaluate(f"{name}(a)"), function(a)),
                               (weft.evaluate(f"{name}(a, axis=1)"), function(a, 1))):
            assert made.shape == numpy.shape(expected) and numpy.allclose(made, expected), name
    assert weft.evaluate("any(b > 2)", b=numpy.arange(3.0)).shape == ()
    assert weft.evaluate("count(a > 1)").item() == 4
    for text in ("a > 2 & a < 4", "0 < a < 2", "a > 1 and a < 2"):
        with pytest.raises(TypeError, match="do not chain"):
            weft.evaluate(text)


def test_arguments_of_evaluate():
    a = numpy.arange(6.0).reshape(2, 3)
    assert weft.evaluate("a + k", a=numpy.ones(2), k=2).tolist() == [3, 3]
    assert weft.evaluate("a + k", {"a": a}, {"k": 1})[0].tolist() == [1, 2, 3]
    made = weft.evaluate("a * 2", order="F", optimization="none", sanitize=True, truediv=True)
    assert numpy.asarray(made).flags.f_contiguous and (numpy.asarray(made) == a * 2).all()
    out = numpy.zeros((2, 3), "f4")
    assert weft.evaluate("a * 2", out=out) is out and (out == a * 2).all()
    assert weft.evaluate("a + 1", out=out, casting="same_kind") is out and out[0, 0] == 1
    with pytest.raises(TypeError, match="casting='safe'"):
        weft.evaluate("a * 2", out=out, casting="safe")
    for wrong in ({"order": "X"}, {"casting": "any"}):
        with pytest.raises(ValueError):
            weft.evaluate("a * 2", **wrong)
    with pytest.raises(TypeError, match="axis of sum"):
        weft.evaluate("sum(a, a)")
    assert weft.evaluate("min(a, 2 * a - 3)").shape == (2, 3)  # the smaller of two
    assert weft.evaluate("sum(a, axis=-1)").tolist() == weft.evaluate("sum(a, -1)").tolist() == [3, 12]
    assert weft.evaluate("a - sum(a)")[0, 0].item() == -15
    assert weft.evaluate("logical_not(a > 1) & (absolute(negative(power(a, 2))) < 1)").tolist() == (a < 1).tolist()
    with pytest.raises(weft.TextError):
        weft.evaluate("-a % 4", results=("a",))
    assert weft.evaluate("-a % 4").tolist() == (-a % 4).tolist()  # whatever the text was before


@pytest.mark.parametrize("casting", ["safe", "same_kind"])
def test_rules_of_casting(casting):
    from weft._text import _can_cast

    names = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
             "float64", "complex64", "complex128"]
    for one in names:
        for other in names:
            a, b = weft.empty(0, one).dtype, weft.empty(0, other).dtype
            assert _can_cast(a, b, casting) == numpy.can_cast(one, other, casting), (one, other)


def test_evaluate_finds_variables():
    a, b = numpy.arange(3.0), 2
    assert weft.evaluate("a*b + sin(a)").tolist() == pytest.approx((a * 2 + numpy.sin(a)).tolist())
    out = numpy.empty(3)
    assert weft.evaluate("a + 1", out=out) is out and out.tolist() == [1, 2, 3]
    assert weft.evaluate("x + 1", {"x": a}).tolist() == [1, 2, 3]
    low, top = weft.evaluate("low = min(a); top = max(a)", results=("low", "top"))
    assert (low.item(), top.item()) == (0, 2)


def test_one_text_on_many_threads():
    wrong = []

    def work(seed):
        for i in range(100):
            a = numpy.full(20000 if i % 2 else 10, float(seed))
            if weft.text("a*2 + s", a=a, s=i % 3)[0].item() != seed * 2 + i % 3:
                wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_more_texts_than_are_kept():
    a = numpy.arange(3.0)
    for _ in range(2):
        for i in range(200):
            assert weft.text(f"a + {i}", a=a)[0].item() == i
            assert weft.text("a + s", a=a, s=i)[0].item() == i
            assert weft.text("a[x; clamp] * s", a=a, s=i)[2].item() == 2 * i


def test_functions_of_values_note_the_formals_that_they_write():
    g = weft.Graph((3,))
    out, weights = g.formal("out", weft.c64, 1), g.formal("weights", weft.f32, 1)
    weft.xform.spectrum_splat(out, (4,), 1.0, [g.index(0) * 0.25], weights=weights)
    kernel = g.compile("out", "weights")
    out, weights = numpy.zeros(3, "c8"), numpy.zeros(3, "f4")
    kernel(out, weights)
    assert out.any() and weights.any()
    for held in (out, weights):
        held.flags.writeable = False
        before = held.copy()
        with pytest.raises(ValueError, match="read-only"):
            kernel(out, weights)
        assert (held == before).all()
        held.flags.writeable = True
