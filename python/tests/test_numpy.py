"""NumPy's functions on arrays of Weft."""
import pytest

import weft

numpy = pytest.importorskip("numpy")

POSITIVE = {"sqrt", "log", "log2", "log10", "log1p", "arccosh", "reciprocal"}
SMALL = {"arcsin", "arccos", "arctanh"}
UFUNCS = [u for u in (getattr(numpy, name) for name in dir(numpy)) if isinstance(u, numpy.ufunc)]


@pytest.mark.parametrize("ufunc", sorted({u.__name__: u for u in UFUNCS}.values(), key=lambda u: u.__name__),
                         ids=lambda u: u.__name__)
def test_ufuncs(ufunc):
    from weft._numpy import UFUNCS as known

    name = ufunc.__name__
    if name not in known:
        with pytest.raises(TypeError):
            ufunc(*[weft.asarray([1.0, 2.0])] * ufunc.nin)
        return
    whole = name.startswith(("bitwise", "left", "right", "invert"))
    a = numpy.array([3, 7, 9, 2, 30], "i4") if whole else numpy.array([0.3, -0.7, 0.9, -0.2, 0.1])
    b = numpy.array([1, 2, 3, 0, 4], "i4") if whole or name == "ldexp" else numpy.array([0.5, 2.0, -0.3, 0.4, -0.1])
    if name in POSITIVE or name in ("power", "float_power"):
        a = abs(a) + (1 if name == "arccosh" else 0)
    args = (a, b)[: ufunc.nin]
    if name == "matmul":
        args = (a.reshape(1, 5), b.reshape(5, 1))
    expected = ufunc(*args)
    got = ufunc(*map(weft.asarray, args))
    for e, g in zip(expected, got) if ufunc.nout > 1 else [(expected, got)]:
        assert isinstance(g, weft.Array)
        assert numpy.allclose(numpy.asarray(g), e, rtol=1e-13, atol=1e-15), (g, e)
        assert numpy.asarray(g).dtype.kind == e.dtype.kind


def test_out_and_mixed_operands():
    a, x = numpy.arange(3.0), weft.asarray([1.0, 2.0, 3.0])
    out = numpy.empty(3)
    assert numpy.add(a, x, out=out) is out and out.tolist() == [1, 3, 5]
    own = weft.empty(3, weft.f64)
    assert numpy.multiply(a, 2, out=own) is own and own.tolist() == [0, 2, 4]
    assert numpy.add(x, 1, dtype="f4").dtype == weft.f32
    a += x
    assert isinstance(a, numpy.ndarray) and a.tolist() == [1, 3, 5]
    with pytest.raises(TypeError):
        numpy.add(x, 1, where=numpy.array([True, False, True]))


def test_reductions_and_outer():
    a = numpy.arange(12.0).reshape(3, 4) - 3
    x = weft.asarray(a)
    assert numpy.add.reduce(x).tolist() == a.sum(0).tolist()
    assert numpy.maximum.reduce(x, axis=None).item() == a.max()
    assert numpy.logical_and.reduce(x, axis=1).tolist() == a.all(1).tolist()
    assert numpy.add.accumulate(x, axis=1).tolist() == a.cumsum(1).tolist()
    assert numpy.multiply.outer(x[0], x[:, 1]).tolist() == numpy.multiply.outer(a[0], a[:, 1]).tolist()
    with pytest.raises(TypeError):
        numpy.subtract.reduce(x)


def test_functions_of_numpy():
    a = numpy.arange(12.0).reshape(3, 4)
    x = weft.asarray(a)
    assert numpy.allclose(x, a) and numpy.array_equal(x, a)
    assert numpy.trace(x) == numpy.trace(a)
    assert numpy.vstack([x, a]).shape == (6, 4)
    for name in ("sum", "prod", "mean", "std", "var", "min", "max", "all", "any", "median"):
        function = getattr(numpy, name)
        for options in ({}, {"axis": 1}, {"axis": 0, "keepdims": True}):
            assert numpy.allclose(numpy.asarray(function(x, **options)), function(a, **options)), name
    assert numpy.cumsum(x, axis=1).tolist() == a.cumsum(1).tolist()
    assert numpy.sort(-x, axis=0).tolist() == numpy.sort(-a, axis=0).tolist()
    assert numpy.sum(x, dtype="f4").dtype == numpy.float32


def test_names_of_numpy():
    a, b = numpy.array([0.1, -0.2, 0.3]), numpy.array([0.5, 1.5, -2.0])
    for name in ("abs", "absolute", "arcsin", "arccos", "arctan", "arcsinh", "arctanh", "conjugate", "rint",
                 "negative"):
        assert numpy.allclose(numpy.asarray(getattr(weft, name)(a)), getattr(numpy, name)(a)), name
    for name in ("arctan2", "fmod", "minimum", "maximum", "hypot"):
        assert numpy.allclose(numpy.asarray(getattr(weft, name)(a, b)), getattr(numpy, name)(a, b)), name


def test_arrays_without_a_format():
    x = weft.asarray([1.0, 2.5], weft.f32)
    assert numpy.asarray(x, dtype="f8").dtype == numpy.float64
    assert x.numpy().tolist() == [1, 2.5] and numpy.shares_memory(x.numpy(), numpy.asarray(x))


def test_scalars_of_numpy_on_the_left():
    x, a = weft.asarray([1.0, 2.0]), numpy.array([1.0, 2.0])
    functions = (lambda s, v: s * v, lambda s, v: s + v, lambda s, v: s - v, lambda s, v: s / v, lambda s, v: s // v,
                 lambda s, v: s % v, lambda s, v: s**v, numpy.multiply, numpy.hypot, lambda s, v: v * s)
    for f in functions:
        assert isinstance(f(numpy.float64(3), x), weft.Array)
        assert numpy.allclose(f(numpy.float64(3), x), f(numpy.float64(3), a))
        with weft.lazy():
            later = f(numpy.float64(3), x)
        assert numpy.allclose(later, f(numpy.float64(3), a))
    assert (numpy.complex128(1j) * x).tolist() == [1j, 2j]
    assert (numpy.sqrt(2) * x.astype("f4")).dtype == weft.f32  # weak, as on the right
    assert numpy.logaddexp(x.astype("f4"), 2.0).dtype == weft.f32
    assert weft.grad(lambda t: (numpy.float64(3) * t).sum())(x).tolist() == [3, 3]
    assert numpy.allclose(weft.ewise(lambda v: numpy.float64(3) * v, a), 3 * a)


def test_dtypes_of_calls():
    u, v = numpy.array([200, 1], "u1"), numpy.array([100, 2], "u1")
    x, y, f = weft.asarray(u), weft.asarray(v), numpy.array([1e30], "f4")
    for call in (lambda a, b: numpy.add(a, b, dtype="i4"), lambda a, b: numpy.subtract(a, b, dtype=numpy.int16),
                 lambda a, b: numpy.multiply(a, b, dtype="i8"), lambda a, b: numpy.add(a, 1, dtype=weft.i32.dtype),
                 lambda a, b: numpy.sqrt(a, dtype="f4"), lambda a, b: numpy.true_divide(a, b, dtype="f4"),
                 lambda a, b: numpy.power(a, 2, dtype="f8"), lambda a, b: numpy.less(a, b, dtype=bool),
                 lambda a, b: numpy.add(a, 1.5, dtype="i2", casting="unsafe"), lambda a, b: numpy.add.reduce(a, dtype="i8"),
                 lambda a, b: numpy.add.accumulate(a, dtype="i4"), lambda a, b: numpy.multiply.accumulate(b, dtype="i8")):
        got, expected = numpy.asarray(call(x, y)), call(u, v)
        assert got.tolist() == expected.tolist()
    assert numpy.add(x, y, dtype="i8").dtype == weft.i64 and numpy.add(x, 1, dtype=weft.i8).dtype == weft.i8
    assert numpy.multiply(weft.asarray(f), f, dtype="f8").item() == numpy.multiply(f, f, dtype="f8")
    assert [part.tolist() for part in numpy.divmod(x, 3, dtype="i4")] == [[66, 0], [2, 1]]
    z = numpy.array([3 + 4j])
    assert numpy.absolute(weft.asarray(z), dtype="f8").tolist() == [5]


def test_what_casting_forbids():
    x, whole = weft.asarray([1.5, 2.5]), weft.asarray([1, 2])
    for call in (lambda: numpy.add(x, 1, dtype="i4"), lambda: numpy.add(whole, 1.5, dtype="i2"),
                 lambda: numpy.less(x, 1, dtype="f4"), lambda: numpy.add(x, x, out=numpy.zeros(2, int)),
                 lambda: numpy.add(x, x, out=weft.empty(2, weft.i32)), lambda: numpy.add(whole, x, casting="no"),
                 lambda: numpy.add(whole, 1, dtype="i2", casting="safe"), lambda: numpy.add(x, 1, dtype="O"),
                 lambda: numpy.absolute(weft.asarray([1j]), dtype="f4")):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError):
        numpy.add(x, 1, casting="whatever")
    out = numpy.zeros(2, int)
    assert numpy.add(x, x, out=out, casting="unsafe") is out and out.tolist() == [3, 5]
    single = numpy.zeros(2, "f4")
    assert numpy.add(x, x, out=single).tolist() == [3, 5] and numpy.add(x, x, casting="no").tolist() == [3, 5]
    integers = numpy.array([1, 2])
    with pytest.raises(TypeError):
        integers += x


def test_ufuncs_at_infinities_and_of_integers():
    a = numpy.array([numpy.inf, -numpy.inf, 1.5, -2.0, numpy.nan])
    for got, expected in zip(numpy.modf(weft.asarray(a)), numpy.modf(a)):
        numpy.testing.assert_array_equal(got, expected)
        assert (numpy.signbit(numpy.asarray(got)) == numpy.signbit(expected)).all()
    numpy.testing.assert_array_equal(numpy.heaviside(weft.asarray(a), 0.5), numpy.heaviside(a, 0.5))
    i = numpy.array([-3, 1, 2], "i4")
    for ufunc in (numpy.fabs, numpy.reciprocal, numpy.conjugate):
        got = numpy.asarray(ufunc(weft.asarray(i)))
        assert got.dtype == ufunc(i).dtype and got.tolist() == ufunc(i).tolist()
    assert numpy.multiply.accumulate(weft.asarray(i)).tolist() == [-3, -3, -6]
    if hasattr(numpy, "vecdot"):
        assert numpy.vecdot(weft.asarray([1j, 2]), [1j, 1]).item() == 3


def test_arguments_by_place():
    a = numpy.arange(6.0).reshape(2, 3)
    x = weft.asarray(a)
    for call in (lambda v: numpy.where(v > 2), lambda v: numpy.sum(v, 0, numpy.float32), lambda v: numpy.mean(v, 0, "f4"),
                 lambda v: numpy.max(v, 0, None, True), lambda v: numpy.sort(v, 0, "stable"),
                 lambda v: numpy.cumsum(v, 1, "f4"), lambda v: numpy.std(v, 1, None, None, 1), lambda v: numpy.sum(v, 1)):
        got, expected = call(x), call(a)
        for g, e in zip(got, expected) if isinstance(expected, tuple) else [(got, expected)]:
            assert numpy.allclose(g, e) and numpy.asarray(g).dtype == e.dtype
    assert isinstance(numpy.max(x, 0, None, True), weft.Array) and isinstance(numpy.std(x, 1, ddof=1), weft.Array)
    for call in (lambda: numpy.add.reduce(x, where=a > 2), lambda: numpy.maximum.reduce(x, initial=3)):
        with pytest.raises(TypeError, match="NotImplemented"):
            call()
