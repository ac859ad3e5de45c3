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
