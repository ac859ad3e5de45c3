"""weft.xp, the array API standard, beside NumPy's functions of the same names. The public conformance suite is run by
python/tests/conformance."""
import itertools
import math
import os
import subprocess
import sys

import pytest

import weft
import weft.xp as xp

numpy = pytest.importorskip("numpy", minversion="2.0")

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
REAL = INTEGERS + FLOATS
NUMERIC = REAL + COMPLEX
ALL = ["bool"] + NUMERIC
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 7.25, 1e-3, 1e30, math.inf, -math.inf, math.nan]


def sample(dtype, n=13):
    if dtype == "bool":
        return numpy.arange(n) % 3 == 0
    if dtype in INTEGERS:
        limits = numpy.iinfo(dtype)
        return numpy.array(
            [0, 1, 2, 3, 5, 7, 100, limits.max, limits.max - 1, limits.min, limits.min + 1, 9, 4][:n], dtype
        )
    if dtype in FLOATS:
        return numpy.array(SPECIAL[:n], dtype)
    return numpy.array(
        [complex(a, b) for a, b in [(0, 1), (1, 0), (1, 2), (-3, 0.5), (0.25, -7), (2, 2), (-1, -1)]], dtype
    )


def same(got, expected, ulps=4, zeros=True):
    """True if both arrays agree within some units in the last place; `zeros`: zeros also have the same sign."""
    assert isinstance(got, weft.Array)
    expected = numpy.asarray(expected)
    assert got.dtype.name == expected.dtype.name and got.shape == expected.shape, (got.dtype, got.shape, expected)
    got = numpy.asarray(got)
    if expected.dtype.kind in "biu":
        return (got == expected).all()
    eps = ulps * numpy.finfo(expected.dtype).eps
    if expected.dtype.kind == "c":
        return numpy.allclose(got, expected, rtol=eps, atol=eps)
    near = numpy.isclose(got, expected, rtol=eps, atol=0, equal_nan=True)
    if not zeros:
        return near.all()
    signs = numpy.signbit(got) == numpy.signbit(expected)
    return (near & (signs | numpy.isnan(expected) | (expected != 0))).all()


UNARY = {
    "abs": NUMERIC, "acos": FLOATS, "acosh": FLOATS, "asin": FLOATS, "asinh": FLOATS, "atan": FLOATS, "atanh": FLOATS,
    "bitwise_invert": ["bool"] + INTEGERS, "ceil": REAL, "conj": NUMERIC, "cos": FLOATS, "cosh": FLOATS, "exp": FLOATS,
    "expm1": FLOATS, "floor": REAL, "imag": COMPLEX, "isfinite": NUMERIC, "isinf": NUMERIC, "isnan": NUMERIC,
    "log": FLOATS, "log1p": FLOATS, "log2": FLOATS, "log10": FLOATS, "logical_not": ["bool"], "negative": NUMERIC,
    "positive": NUMERIC, "real": NUMERIC, "reciprocal": FLOATS + COMPLEX, "round": NUMERIC, "sign": NUMERIC,
    "signbit": FLOATS, "sin": FLOATS, "sinh": FLOATS, "square": NUMERIC, "sqrt": FLOATS + COMPLEX, "tan": FLOATS,
    "tanh": FLOATS, "trunc": REAL,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name,dtype", [(n, d) for n, dtypes in UNARY.items() for d in dtypes])
def test_functions_of_one_array(name, dtype):
    a = sample(dtype)
    if name in ("sin", "cos", "tan"):
        a = a[numpy.abs(a) != numpy.array(1e30, dtype)]
    assert same(getattr(xp, name)(xp.asarray(a)), getattr(numpy, name)(a), 8)


BINARY = {
    "add": NUMERIC, "atan2": FLOATS, "bitwise_and": ["bool"] + INTEGERS, "bitwise_or": ["bool"] + INTEGERS,
    "bitwise_xor": ["bool"] + INTEGERS, "copysign": FLOATS, "divide": FLOATS + COMPLEX, "equal": ALL, "greater": REAL,
    "greater_equal": REAL, "hypot": FLOATS, "less": REAL, "less_equal": REAL, "logaddexp": FLOATS,
    "logical_and": ["bool"], "logical_or": ["bool"], "logical_xor": ["bool"], "maximum": REAL, "minimum": REAL,
    "multiply": NUMERIC, "nextafter": FLOATS, "not_equal": ALL, "subtract": NUMERIC,
}


def joined(a, b):
    """The dtype that the standard's table has for two dtypes, None if it has none."""
    kinds = {numpy.dtype(d).kind for d in (a, b)}
    if len(kinds) > 1 and kinds not in ({"i", "u"}, {"f", "c"}):
        return None
    made = numpy.result_type(a, b)
    return None if kinds == {"i", "u"} and made.kind == "f" else made.name


PAIRS = [(a, b) for a, b in itertools.product(ALL, ALL)]


def test_promotion_table():
    for a, b in PAIRS:
        x, y = getattr(xp, a), getattr(xp, b)
        if joined(a, b) is None:
            with pytest.raises(TypeError):
                xp.result_type(x, y)
            assert not xp.can_cast(x, y)
        else:
            assert xp.result_type(x, xp.empty(2, dtype=y)).name == joined(a, b)
            assert xp.can_cast(x, y) == (joined(a, b) == b)
    assert xp.result_type(xp.float32, 1, 2.5) == xp.float32 and xp.result_type(xp.float32, 1j) == xp.complex64
    for wrong in ((xp.int8, 1.0), (xp.bool, 1), (xp.int8, True), (xp.float32, True), (1, 2), ()):
        with pytest.raises((TypeError, ValueError)):
            xp.result_type(*wrong)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays(name):
    for a, b in PAIRS:
        if a not in BINARY[name] or b not in BINARY[name]:
            continue
        x, y = sample(a, 7), sample(b, 7)[::-1]
        f, g = getattr(xp, name), getattr(numpy, name)
        if {a, b} & set(COMPLEX):
            x, y = x[numpy.isfinite(x) & (x != 0)][:5], y[numpy.isfinite(y) & (y != 0)][:5]
        if joined(a, b) is None:
            with pytest.raises(TypeError):
                f(xp.asarray(x), xp.asarray(y))
            continue
        assert same(f(xp.asarray(x), xp.asarray(y)), g(x, y)), (a, b)
        if a == b and a not in COMPLEX:
            whole, other = xp.asarray(sample(a)), sample(a)[::-1]
            assert same(f(whole, xp.asarray(other)), g(sample(a), other)), a


@pytest.mark.parametrize("dtype", REAL)
def test_quotients_remainders_powers_and_shifts(dtype):
    a, b = numpy.array([7, 9, 0, 5, 100, 1], dtype), numpy.array([2, 3, 4, 5, 7, 1], dtype)
    if dtype not in INTEGERS or dtype[0] == "i":
        a = a * numpy.array([1, -1, 1, -1, 1, -1], dtype)
    for name in ("floor_divide", "remainder"):
        assert same(getattr(xp, name)(xp.asarray(a), xp.asarray(b)), getattr(numpy, name)(a, b))
    assert same(xp.pow(xp.asarray(a), xp.asarray(b)), numpy.pow(a, b))
    assert same(xp.pow(xp.asarray(b), 3), numpy.pow(b, 3)) and same(xp.pow(2, xp.asarray(b)), numpy.pow(2, b))
    assert same(xp.pow(xp.asarray(a), 0), numpy.pow(a, 0))
    if dtype in INTEGERS:
        for name in ("bitwise_left_shift", "bitwise_right_shift"):
            assert same(getattr(xp, name)(xp.asarray(a), xp.asarray(b)), getattr(numpy, name)(a, b))


def test_numbers_beside_arrays():
    for dtype in ("int8", "uint64", "float32", "complex64"):
        x = xp.asarray(numpy.array([1, 2, 3], dtype))
        assert xp.add(x, 1).dtype.name == dtype and xp.subtract(1, x).tolist() == [0, -1, -2] or dtype == "uint64"
    assert xp.multiply(xp.asarray([1.0], dtype=xp.float32), 1j).dtype == xp.complex64
    assert xp.add(xp.asarray([1], dtype=xp.uint64), 2**63).tolist() == [2**63 + 1]
    for wrong in ((xp.asarray([1]), 1.5), (xp.asarray([1]), True), (1, 2), (xp.asarray([True]), 1), ([1.0], xp.ones(1)),
                  (xp.asarray([1], dtype=xp.uint8), 300), (xp.asarray([1], dtype=xp.int32), 2**60)):
        with pytest.raises(TypeError):
            xp.add(*wrong)
    assert xp.where(xp.asarray([True, False]), 1.0, xp.asarray([2.0, 3.0])).tolist() == [1, 3]


def test_operators_of_integers():
    """Operators follow the standard's table where it has one; signed and unsigned integers meet in a wider one."""
    for a, b in itertools.product(INTEGERS, INTEGERS):
        x, y = numpy.array([3, 100], a), numpy.array([2, 5], b)
        if joined(a, b) is None:
            continue
        for operator in ("__add__", "__sub__", "__mul__", "__floordiv__", "__mod__", "__and__", "__or__", "__xor__",
                         "__lt__", "__eq__", "__lshift__", "__rshift__", "__pow__"):
            expected = getattr(x, operator)(y)
            assert same(getattr(weft.asarray(x), operator)(weft.asarray(y)), expected), (a, b, operator)
    x = weft.asarray([1, -2, 3])
    assert (x**weft.asarray([64, 3, 41])).tolist() == [1, -8, numpy.array([3])[0]**41]
    assert (x**0).tolist() == [1, 1, 1] and (2**weft.asarray([0, 5])).tolist() == [1, 32]
    assert (weft.asarray([2]) ** -1).tolist() == [0.5]
    for wrong in (
        lambda: x + 2**63,
        lambda: weft.asarray([1], "u64") + -(2**60),
        lambda: weft.asarray([1], "i16") * 2**60,
    ):
        with pytest.raises(TypeError):
            wrong()
    for wrong in (weft.asarray(True), weft.asarray(1.0)):
        with pytest.raises(TypeError):
            [1, 2][wrong]


def test_clip():
    a = numpy.array([-3.0, 0.5, 9.0, math.nan])
    x = xp.asarray(a)
    assert same(xp.clip(x, 0, 1), numpy.clip(a, 0, 1)) and same(xp.clip(x, min=0.0), numpy.clip(a, 0, None))
    assert same(xp.clip(x, xp.asarray([[0.0], [1.0]]), xp.asarray(2.0)), numpy.clip(a, [[0.0], [1.0]], 2.0))
    assert xp.clip(x).tolist()[:3] == [-3, 0.5, 9]
    with pytest.raises(TypeError):
        xp.clip(x, xp.asarray([1]))


def test_making_arrays():
    for arguments in ((5,), (2, 9), (2, 9, 3), (9, 2, -2), (0,), (5, 1), (0.0, 1.0, 0.25), (1, 2, 0.3)):
        assert same(xp.arange(*arguments), numpy.arange(*arguments))
    assert same(xp.arange(3, dtype=xp.float32), numpy.arange(3, dtype="float32"))
    for arguments in ((0, 1, 5), (3, -2, 4), (1, 1, 3), (0, 1, 1), (0, 1, 0), (0, 1j, 3)):
        assert same(xp.linspace(*arguments), numpy.linspace(*arguments))
        assert same(xp.linspace(*arguments, endpoint=False), numpy.linspace(*arguments, endpoint=False))
    for n, m, k in ((3, None, 0), (2, 4, 1), (4, 2, -1), (0, 3, 0), (2, 2, 7), (2, 3, -2**70), (2, 3, 2**70)):
        assert same(xp.eye(n, m, k=k), numpy.eye(n, m, k=max(-9, min(k, 9))))
    a = numpy.arange(24.0).reshape(2, 3, 4)
    for k in (-4, -3, -1, 0, 1, 3, 4):
        assert same(xp.tril(xp.asarray(a), k=k), numpy.tril(a, k=k))
        assert same(xp.triu(xp.asarray(a), k=k), numpy.triu(a, k=k))
    assert xp.zeros((2, 0)).dtype == xp.float64 and xp.ones((), dtype=xp.int8).item() == 1
    assert (
        xp.full(2, True).dtype == xp.bool and xp.full(2, 3).dtype == xp.int64 and xp.full(2, 1j).dtype == xp.complex128
    )
    like = xp.full_like(xp.asarray(a), 7)
    assert like.shape == a.shape and like.dtype == xp.float64 and like[0, 0, 0].item() == 7
    for indexing in ("xy", "ij"):
        grids = xp.meshgrid(xp.arange(3), xp.arange(2), xp.arange(4), indexing=indexing)
        expected = numpy.meshgrid(numpy.arange(3), numpy.arange(2), numpy.arange(4), indexing=indexing)
        assert all(same(g, e) for g, e in zip(grids, expected))
    x = xp.asarray([1, 2])
    assert xp.asarray(x) is x and xp.asarray(x, copy=True) is not x and xp.asarray([x[0], 3]).tolist() == [1, 3]
    for wrong in ([1, 2], 3.0):
        with pytest.raises(ValueError):
            xp.asarray(wrong, copy=False)
    with pytest.raises(ValueError):
        xp.asarray(x, dtype=xp.float32, copy=False)


def test_rearranging():
    a = numpy.arange(24).reshape(2, 3, 4)
    x = xp.asarray(a)
    for name, arguments, keywords in (
            ("flip", (), {}), ("flip", (), {"axis": 1}), ("flip", (), {"axis": (0, -1)}), ("roll", (5,), {}),
            ("roll", (-1,), {"axis": 2}), ("roll", ((1, 2),), {"axis": (0, 2)}), ("roll", (0,), {}),
            ("permute_dims", ((2, 0, 1),), {}), ("moveaxis", (0, -1), {}),
            ("moveaxis", ((0, 1), (1, 2)), {}), ("moveaxis", ((0, 1), (2, 1)), {}),
            ("expand_dims", (), {"axis": 1}), ("expand_dims", (), {"axis": -1}), ("reshape", ((4, -1),), {}),
            ("reshape", ((24,),), {"copy": True}), ("broadcast_to", ((5, 2, 3, 4),), {}), ("tile", ((2,),), {}),
            ("tile", ((2, 1, 3),), {}), ("tile", ((2, 2, 1, 1),), {}), ("tile", ((0, 1, 1),), {}),
            ("repeat", (2,), {}), ("repeat", (3,), {"axis": 1}), ("diff", (), {}), ("diff", (), {"axis": 0}),
            ("diff", (), {"n": 2, "axis": 1})):
        got = getattr(xp, name)(x, *arguments, **keywords)
        assert same(got, getattr(numpy, name)(a, *arguments, **keywords)), (name, arguments, keywords)
    assert same(xp.squeeze(x[:, :1], 1), a[:, 0]) and same(x.mT, a.swapaxes(1, 2))
    parts = [a[:, :1], a, a[:, 1:]]
    assert same(xp.concat([xp.asarray(p) for p in parts], axis=1), numpy.concat(parts, axis=1))
    assert same(xp.concat([x, xp.asarray([1.5])[:0].astype(xp.int64)], axis=None), a.ravel())
    for axis in (0, 1, -1):
        assert same(xp.stack([x, x + 1], axis=axis), numpy.stack([a, a + 1], axis=axis))
        assert all(same(g, e) for g, e in zip(xp.unstack(x, axis=axis), numpy.unstack(a, axis=axis)))
    b = xp.broadcast_arrays(x, xp.asarray([[1], [2], [3]]))
    assert [p.shape for p in b] == [(2, 3, 4)] * 2
    assert same(xp.diff(x, prepend=x[..., :1], append=x[..., :2]), numpy.diff(a, prepend=a[..., :1], append=a[..., :2]))
    for wrong in (lambda: xp.squeeze(x, 0), lambda: xp.concat([]), lambda: xp.concat([x, x[0]]),
                  lambda: xp.flip(x, axis=3), lambda: xp.stack([x, x[0]]), lambda: xp.roll(x, (1, 2), axis=0),
                  lambda: xp.reshape(x, (5, 5)),
                  lambda: xp.reshape(x.mT, (24,), copy=False)):
        with pytest.raises((ValueError, IndexError)):
            wrong()


@pytest.mark.parametrize("dtype", ALL)
def test_reductions(dtype):
    a = numpy.resize(sample(dtype)[:7], (3, 5, 2))
    if dtype in FLOATS:
        a = numpy.where(numpy.isfinite(a), a, numpy.asarray(2, dtype))
    x = xp.asarray(a)
    names = ["all", "any", "count_nonzero"]
    names += [] if dtype == "bool" else ["sum", "prod"]
    names += ["min", "max"] if dtype in REAL else []
    names += ["mean"] if dtype in FLOATS + COMPLEX else []
    names += ["var", "std"] if dtype in FLOATS else []
    for name, axis, keepdims in itertools.product(names, (None, 0, -1, (0, 2), ()), (False, True)):
        got = getattr(xp, name)(x, axis=axis, keepdims=keepdims)
        expected = getattr(numpy, name)(a, axis=axis, keepdims=keepdims)
        assert same(got, numpy.asarray(expected), 32, False), (name, axis, keepdims)
    if dtype in FLOATS:
        assert same(xp.var(x, axis=1, correction=1), numpy.var(a, axis=1, ddof=1), 32)
        assert math.isnan(xp.mean(x[:0]).item()) and xp.sum(x[:0]).item() == 0
        x[0, 0, 0] = math.nan
        assert math.isnan(xp.max(x).item()) and math.isnan(xp.min(x).item())
    if dtype in REAL:
        with pytest.raises(ValueError):
            xp.max(x[:0])
    if dtype in NUMERIC:
        assert same(xp.cumulative_sum(x, axis=1), numpy.cumulative_sum(a, axis=1), 32) or dtype in FLOATS
        assert same(xp.cumulative_sum(x[:, 0, 0][1:], include_initial=True),
                    numpy.cumulative_sum(a[1:, 0, 0], include_initial=True), 32)
        assert same(xp.cumulative_prod(x, axis=0), numpy.cumulative_prod(a, axis=0), 32, False)
        assert same(xp.cumulative_prod(x[0], axis=0, include_initial=True),
                    numpy.cumulative_prod(a[0], axis=0, include_initial=True), 32, False)
    assert xp.sum(x, dtype=xp.float32 if dtype not in COMPLEX else xp.complex64).dtype.part == xp.float32


def test_sums_have_a_dtype():
    for dtype, expected in (("int8", "int64"), ("uint16", "uint64"), ("float32", "float32"), ("int64", "int64")):
        x = xp.ones(3, dtype=getattr(xp, dtype))
        assert xp.sum(x).dtype.name == xp.prod(x).dtype.name == xp.cumulative_sum(x).dtype.name == expected
        assert xp.sum(x, dtype=xp.int8).dtype == xp.int8


@pytest.mark.parametrize("dtype", NUMERIC)
def test_products_of_matrices(dtype):
    a, b = numpy.arange(24).reshape(2, 3, 4).astype(dtype), numpy.arange(20).reshape(4, 5).astype(dtype)
    if dtype in COMPLEX:
        a, b = a + 1j, b * (1 - 2j)
        a, b = a.astype(dtype), b.astype(dtype)
    x, y = xp.asarray(a), xp.asarray(b)
    assert same(xp.matmul(x, y), a @ b, 16) and same(x @ y, a @ b, 16)
    assert same(xp.matmul(x, y[:, 0]), a @ b[:, 0], 16) and same(xp.matmul(y[:, 0], y), b[:, 0] @ b, 16)
    assert same(xp.matmul(y[:, 1], y[:, 0]), b[:, 1] @ b[:, 0], 16)
    assert same(xp.tensordot(x, y, axes=1), numpy.tensordot(a, b, axes=1), 16)
    assert same(xp.tensordot(x, x, axes=((0, 2), (0, 2))), numpy.tensordot(a, a, axes=((0, 2), (0, 2))), 16)
    assert same(xp.tensordot(x, y, axes=0), numpy.tensordot(a, b, axes=0), 16)
    assert same(xp.tensordot(x[:, :, :0], y[:0], axes=1), numpy.zeros((2, 3, 5), dtype))
    with pytest.raises(ValueError):
        xp.tensordot(x, y, axes=((0,), (0,)))
    assert same(xp.vecdot(x, x[:1]), numpy.vecdot(a, a[:1]), 16)
    assert same(xp.vecdot(x, x, axis=-2), numpy.vecdot(a, a, axis=-2), 16)
    with pytest.raises(ValueError):
        xp.matmul(x, xp.ones((), dtype=x.dtype))


def test_dtypes_and_information():
    for name in FLOATS + COMPLEX:
        got, expected = xp.finfo(getattr(xp, name)), numpy.finfo(name)
        assert (got.bits, got.eps, got.max, got.min, got.smallest_normal) == (
            expected.bits, expected.eps, expected.max, expected.min, expected.smallest_normal)
        assert got.dtype.kind == "f"
    for name in INTEGERS:
        got, expected = xp.iinfo(xp.ones(1, dtype=getattr(xp, name))), numpy.iinfo(name)
        assert (got.bits, got.max, got.min) == (expected.bits, expected.max, expected.min)
    for wrong in (
        lambda: xp.finfo(xp.int8),
        lambda: xp.iinfo(xp.bool),
        lambda: xp.astype(xp.asarray([1j]), xp.float32),
    ):
        with pytest.raises(TypeError):
            wrong()
    for name in ALL:
        for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating",
                     "numeric", ("bool", "integral")):
            assert xp.isdtype(getattr(xp, name), kind) == numpy.isdtype(numpy.dtype(name), kind)
    info = xp.__array_namespace_info__()
    assert info.default_device() == "cpu" and "cpu" in info.devices()
    assert info.default_dtypes()["real floating"] == xp.asarray(1.0).dtype == xp.zeros(1).dtype
    assert set(info.dtypes()) == set(ALL) and set(info.dtypes(kind="unsigned integer")) == set(INTEGERS[4:])
    x = xp.ones(2)
    assert x.__array_namespace__() is xp and x.__array_namespace__(api_version="2024.12") is xp
    assert x.to_device("cpu") is x
    for wrong in (
        lambda: x.__array_namespace__(api_version="1999.01"),
        lambda: x.mT,
        lambda: x.to_device("cpu", stream=1),
    ):
        with pytest.raises(ValueError):
            wrong()


def test_lazy_arrays():
    x = xp.asarray([1.0, 2.0, 3.0])
    with weft.lazy():
        y = xp.logaddexp(xp.add(x, 1), 2.0)
        assert y.is_lazy
    assert same(y, numpy.logaddexp(numpy.asarray(x) + 1, 2.0))


@pytest.mark.parametrize("dtype", ALL)
def test_sorting_and_searching(dtype):
    a = numpy.resize(sample(dtype), (3, 5))
    x = xp.asarray(a)
    if dtype not in COMPLEX:
        b = numpy.where(a == 0, numpy.zeros_like(a), a)  # the order of -0 and +0 is the library's own
        y = xp.asarray(b)
        for axis in (0, 1, -1):
            assert same(xp.sort(y, axis=axis), numpy.sort(b, axis=axis)), axis
            assert same(xp.argsort(y, axis=axis), numpy.argsort(b, axis=axis, stable=True)), axis
            down = numpy.asarray(xp.sort(y, axis=axis, descending=True))
            assert numpy.array_equal(numpy.sort(down, axis=axis), numpy.sort(b, axis=axis), equal_nan=dtype in FLOATS)
            finite = numpy.nan_to_num(down, nan=-numpy.inf) if dtype in FLOATS else down
            assert (numpy.flip(finite, axis) == numpy.sort(finite, axis=axis)).all()
    if dtype in REAL:
        for name, axis, keepdims in itertools.product(("argmax", "argmin"), (None, 0, 1, -2), (False, True)):
            expected = getattr(numpy, name)(a, axis=axis, keepdims=keepdims)
            assert same(getattr(xp, name)(x, axis=axis, keepdims=keepdims), expected), (name, axis, keepdims)
    got, expected = xp.nonzero(x), numpy.nonzero(a)
    assert len(got) == 2 and all(same(g, e) for g, e in zip(got, expected))
    assert same(xp.nonzero(x[0])[0], numpy.nonzero(a[0])[0])
    with pytest.raises(ValueError):
        xp.nonzero(x[0, 0])


@pytest.mark.parametrize("dtype", ALL)
def test_elements_by_index(dtype):
    a = numpy.resize(sample(dtype), (3, 4, 2))
    x = xp.asarray(a)
    index = numpy.array([2, 0, 1, 1, 2])
    assert same(xp.take(x, xp.asarray(index), axis=0), numpy.take(a, index, axis=0))
    assert same(xp.take(x, xp.asarray(index, dtype=xp.uint8), axis=-2), numpy.take(a, index, axis=1))
    assert same(xp.take(x[0, :, 0], xp.asarray([3, 0])), a[0, [3, 0], 0])
    assert same(xp.take_along_axis(x, xp.asarray(numpy.tile(index[:, None, None], (1, 4, 2))), axis=0),
                numpy.take_along_axis(a, numpy.tile(index[:, None, None], (1, 4, 2)), axis=0))
    along = numpy.broadcast_to(numpy.array([1, 0, 1])[None, None], (3, 4, 3))
    assert same(xp.take_along_axis(x, xp.asarray(along)), numpy.take_along_axis(a, along, axis=-1))
    times = numpy.array([0, 3, 1, 0])
    assert same(xp.repeat(x, xp.asarray(times), axis=1), numpy.repeat(a, times, axis=1))
    assert same(xp.repeat(x, xp.asarray([2]), axis=1), numpy.repeat(a, 2, axis=1))
    assert xp.repeat(x, xp.asarray([0, 0, 0]), axis=0).shape == (0, 4, 2)
    for wrong in (lambda: xp.take(x, xp.asarray([3]), axis=0), lambda: xp.take(x, xp.asarray([0])),
                  lambda: xp.take_along_axis(x, xp.asarray([0])), lambda: xp.repeat(x, xp.asarray([1, 2]), axis=0),
                  lambda: xp.repeat(x, -1)):
        with pytest.raises((ValueError, IndexError)):
            wrong()


@pytest.mark.parametrize("dtype", ALL)
def test_sets(dtype):
    a = numpy.resize(sample(dtype)[:6], (4, 5))
    made, expected = xp.unique_all(xp.asarray(a)), numpy.unique_all(a)
    for name in ("values", "indices", "inverse_indices", "counts"):
        assert same(getattr(made, name), getattr(expected, name)), name
    counts, inverse = xp.unique_counts(xp.asarray(a)), xp.unique_inverse(xp.asarray(a))
    assert same(counts.values, expected.values) and same(counts.counts, expected.counts)
    assert same(xp.take(inverse.values, inverse.inverse_indices.reshape(20)), a.ravel(), zeros=False)
    assert same(xp.unique_values(xp.asarray(a)), expected.values)
    assert xp.unique_values(xp.asarray(a)[:0]).shape == (0,)
    if dtype in FLOATS:
        x = xp.asarray([math.nan, 1.0, math.nan], dtype=getattr(xp, dtype))
        assert xp.unique_counts(x).counts.tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX)
def test_fourier_transforms(dtype):
    a = numpy.random.default_rng(1).normal(size=(3, 4, 6)).astype(dtype)
    if dtype in COMPLEX:
        a = a * numpy.asarray(1 - 0.5j, dtype)
    x = xp.asarray(a)

    def close(got, expected):
        wide = numpy.result_type(dtype, "complex64") if got.dtype.kind == "c" else numpy.dtype(dtype).type(0).real.dtype
        assert got.dtype.name == wide.name and got.shape == expected.shape
        return numpy.allclose(numpy.asarray(got), expected, rtol=1e-4, atol=1e-4)

    kinds = {"fft": True, "ifft": True, "rfft": dtype in FLOATS, "irfft": True, "hfft": True, "ihfft": dtype in FLOATS}
    for name, n, axis, norm in itertools.product((k for k, on in kinds.items() if on), (None, 3, 8), (-1, 0),
                                                 ("backward", "ortho", "forward")):
        got = getattr(xp.fft, name)(x, n=n, axis=axis, norm=norm)
        assert close(got, getattr(numpy.fft, name)(a, n=n, axis=axis, norm=norm)), (name, n, axis, norm)
    for name, (s, axes) in itertools.product(("fftn", "ifftn", "rfftn", "irfftn"),
                                             ((None, None), (None, (0, 2)), ((2, 5), (1, 0)), ((4, 4), (-2, -1)))):
        if name == "rfftn" and dtype in COMPLEX:
            continue
        made, expected = getattr(xp.fft, name)(x, s=s, axes=axes), getattr(numpy.fft, name)(a, s=s, axes=axes)
        assert close(made, expected), (name, s, axes)
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 1, (0, 2)):
            assert same(getattr(xp.fft, name)(x, axes=axes), getattr(numpy.fft, name)(a, axes=axes))
    for n in (1, 4, 7):
        assert same(xp.fft.fftfreq(n, d=0.5), numpy.fft.fftfreq(n, 0.5))
        assert same(xp.fft.rfftfreq(n, d=2.0), numpy.fft.rfftfreq(n, 2.0))
    for wrong in (
        lambda: xp.fft.fft(x, norm="other"),
        lambda: xp.fft.fftn(x, s=(1, 2), axes=(0,)),
        lambda: xp.fft.fft(x, n=0),
    ):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(TypeError):
        xp.fft.fft(xp.arange(4))


def test_searchsorted():
    a = numpy.array([1.0, 2.0, 2.0, 5.0])
    v = numpy.array([[0.0, 2.0], [5.0, 9.0]])
    for side in ("left", "right"):
        assert same(xp.searchsorted(xp.asarray(a), xp.asarray(v), side=side), numpy.searchsorted(a, v, side=side))
    order = numpy.array([3, 1, 2, 0])
    assert same(xp.searchsorted(xp.asarray(a[order]), xp.asarray(v), sorter=xp.asarray(numpy.argsort(order))),
                numpy.searchsorted(a, v))
    with pytest.raises(ValueError):
        xp.searchsorted(xp.asarray(a), xp.asarray(v), side="middle")


def test_assignment_through_masks():
    x = xp.asarray([[1.0, -2.0], [-3.0, 4.0]])
    x[x < 0] = 0.0
    assert x.tolist() == [[1, 0], [0, 4]] and x[x > 0].tolist() == [1, 4]


@pytest.mark.parametrize("dtype", FLOATS)
def test_floor_divide_of_special_values(dtype):
    inf, nan = math.inf, math.nan
    cases = [(inf, 2, inf), (inf, -2, -inf), (-inf, 2, -inf), (-inf, -2, inf), (2, inf, 0.0), (2, -inf, -0.0),
             (-2, inf, -0.0), (-2, -inf, 0.0), (-0.0, -1, 0.0), (0.0, -1, -0.0), (inf, inf, nan), (0, 0, nan), (1, 0, inf),
             (1.0, 0.1, 9.0)]
    a, b, expected = (numpy.array(column, dtype) for column in zip(*cases))
    if dtype == "float32":
        a, b, expected = a[:-1], b[:-1], expected[:-1]
    assert same(xp.floor_divide(xp.asarray(a), xp.asarray(b)), expected)


def test_results_stay_on_the_device():
    try:
        x = xp.asarray([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]], device="cuda-emu")
    except weft.DeviceError:
        pytest.skip("there is no emulator of GPUs")
    index = xp.asarray([2, 0], device="cuda-emu")
    for f in (lambda: xp.sum(x), lambda: xp.searchsorted(x[0, :], x), lambda: xp.concat([x, x]),
              lambda: xp.tile(x, (2, 2)), lambda: xp.cumulative_sum(x, axis=1, include_initial=True),
              lambda: xp.matmul(x, x.mT), lambda: xp.tril(x),
              lambda: xp.where(x > 2, x, 0.0), lambda: xp.roll(x, 1), lambda: xp.linspace(0, 1, 4, device="cuda-emu"),
              lambda: xp.ones_like(x), lambda: xp.meshgrid(x[0], x[1])[0], lambda: xp.logaddexp(x, 1.0), lambda: xp.std(x),
              lambda: xp.arange(3, device="cuda-emu"), lambda: xp.astype(x, xp.int32), lambda: index**2):
        assert f().device == x.device == "cuda-emu"
    for f in (lambda: xp.sort(x), lambda: xp.take(x, index, axis=1), lambda: xp.unique_all(x).counts, lambda: x[x > 2],
              lambda: xp.nonzero(x)[0], lambda: xp.repeat(x, index, axis=0), lambda: xp.fft.fft(x), lambda: xp.argmax(x),
              lambda: xp.take_along_axis(x, xp.argsort(x), axis=1), lambda: xp.fft.fftfreq(4, device="cuda-emu")):
        assert f().device == "cuda-emu"
    assert x.strides == (24, 8) and x.mT.strides == (8, 24) and weft.contiguous(x) is x
    x[0] = [7, 8, 9]
    x[1, 1:] = 0.5
    assert x.tolist() == [[7, 8, 9], [4, 0.5, 0.5]] and x.to_device("cpu").device == "cpu"
    x[:, [0, 2]] = [[1, 2], [3, 4]]
    x[x > 7] = 0.0
    assert x.tolist() == [[1, 0, 2], [3, 0.5, 4]] and x[0, [2, 0]].tolist() == [2, 1]
    y = xp.ones((2, 3))
    with pytest.raises(weft.DeviceError):
        y[...] = x


SCIPY = """
import numpy, scipy.fft, scipy.integrate, scipy.signal, scipy.special, scipy.stats
from scipy.optimize import elementwise
import weft, weft.xp as xp
a = numpy.random.default_rng(0).normal(size=(4, 50))
x = xp.asarray(a)
pairs = [(f(x), f(a)) for f in (
    lambda x: scipy.special.logsumexp(x, axis=1), lambda x: scipy.special.softmax(x, axis=1), scipy.fft.rfftn,
    lambda x: scipy.stats.zscore(x, axis=1), lambda x: scipy.stats.skew(x, axis=1),
    lambda x: scipy.stats.ttest_1samp(x, 0.0, axis=1).statistic, lambda x: scipy.integrate.trapezoid(x, axis=1),
    lambda x: scipy.signal.fftconvolve(x, x[:, :7], mode="same", axes=1), scipy.signal.detrend)]
root = elementwise.find_root(lambda x: x * x - 2, (xp.asarray([0.0]), xp.asarray([2.0]))).x
for got, expected in [*pairs, (root, numpy.sqrt([2.0]))]:
    assert isinstance(got, weft.Array) and numpy.allclose(numpy.asarray(got), expected), (got, expected)
"""


def test_functions_of_scipy():
    pytest.importorskip("scipy", minversion="1.16")
    subprocess.run([sys.executable, "-c", SCIPY], env={**os.environ, "SCIPY_ARRAY_API": "1"}, check=True)
