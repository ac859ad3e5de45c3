"""Functions of arrays, of values of recordings and of arrays in traced functions."""
import pytest

import weft

numpy = pytest.importorskip("numpy")
REDUCTIONS = ["sum", "prod", "mean", "var", "std", "min", "max", "all", "any", "count_nonzero"]
DTYPES = ["i8", "u16", "i64", "f16", "f32", "f64", "c64"]


def sample(dtype):
    numbers = weft.asarray(numpy.array([[1.0, 2.0, 0.0], [3.0, 1.0, 2.0]])).astype(dtype)
    return numbers * weft.asarray(1 + 1j, "c64") if dtype == "c64" else numbers


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_values_are_those_of_arrays(name, dtype):
    array, function = sample(dtype), getattr(weft, name)
    if dtype == "c64" and name in ("min", "max"):
        with pytest.raises(weft.DtypeError):
            function(weft.Graph().input(array))
        return
    for options in ({}, {"axis": 0}, {"axis": (0, 1)}, {"axis": -1, "keepdims": True}):
        if dtype == "c64" and name in ("all", "any"):
            continue
        g = weft.Graph()
        made = function(g.input(array), **options).keep()
        g.run()
        expected = function(array, **options)
        assert made.dtype == expected.dtype and made.shape == expected.shape
        assert numpy.allclose(made, expected, rtol=1e-3 if dtype == "f16" else 1e-6)


def test_running_sums_deviations_and_methods_of_values():
    array = sample("f64")
    g = weft.Graph()
    x = g.input(array)
    kept = [v.keep() for v in (weft.cumsum(x), weft.cumprod(x, 1), weft.var(x, ddof=1), x.std(0), x.mean(),
                               weft.cumsum(x, 0, exclusive=True))]
    g.run()
    a = numpy.asarray(array)
    expected = [a.cumsum(), a.cumprod(1), a.var(ddof=1), a.std(0), a.mean(), numpy.vstack([a[0] * 0, a[0]])]
    assert all(numpy.allclose(made, wanted) and made.shape == wanted.shape for made, wanted in zip(kept, expected))


def test_shapes_and_products_of_values():
    a, b = numpy.arange(6.0).reshape(2, 3), numpy.arange(12.0).reshape(3, 4)
    g = weft.Graph()
    x, y = g.input(a), g.input(b)
    cases = [(weft.clip(x, 1, 3), a.clip(1, 3)), (weft.reshape(x, (3, 2)), a.reshape(3, 2)), (weft.ravel(x), a.ravel()),
             (weft.transpose(x), a.T), (weft.squeeze(weft.expand_dims(x, 0), 0), a), (weft.flip(x, 1), a[:, ::-1]),
             (weft.moveaxis(x, 0, 1), a.T), (weft.swapaxes(x, 0, 1), a.T), (weft.diff(x), numpy.diff(a)),
             (weft.broadcast_to(x, (2, 2, 3)), numpy.broadcast_to(a, (2, 2, 3))), (weft.astype(x, "f32"), a),
             (x @ y, a @ b), (weft.matmul(x, b), a @ b), (weft.matmul(a, y), a @ b),
             (x @ y[:, 0], a @ b[:, 0]), (x[0] @ y, a[0] @ b), (x[0] @ y[:, 1], a[0] @ b[:, 1]),
             (weft.broadcast_to(x, (5, 2, 3)) @ y, numpy.broadcast_to(a, (5, 2, 3)) @ b)]
    kept = [value.keep() for value, _ in cases]
    g.run()
    for made, (_, expected) in zip(kept, cases):
        assert made.shape == expected.shape and numpy.allclose(made, expected)


def test_variables_are_read():
    a = numpy.arange(6.0).reshape(2, 3)
    g = weft.Graph()
    v = g.local(g.input(a))
    cases = [(weft.clip(v, 1, 3), a.clip(1, 3)), (weft.ravel(v), a.ravel()), (weft.diff(v), numpy.diff(a)),
             (weft.matmul(v, a.T), a @ a.T), (weft.matmul(a.T, v), a.T @ a), (weft.sum(v, 0), a.sum(0))]
    kept = [value.keep() for value, _ in cases]
    g.run()
    for made, (_, expected) in zip(kept, cases):
        assert made.shape == expected.shape and numpy.allclose(made, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "min", "max", "all", "any", "count_nonzero"])
def test_rows_in_kernels(name, dtype):
    array, function = sample(dtype), getattr(weft, name)
    if dtype == "c64" and name in ("min", "max", "all", "any"):
        return
    expected = function(array, axis=1)

    @weft.kernel
    def rows(y, a, out, all_of_it):
        out[y] = function(a[y])
        all_of_it[y] = function(a)

    out, all_of_it = weft.empty(2, expected.dtype), weft.empty(2, expected.dtype)
    rows(array, out, all_of_it)
    assert numpy.allclose(out, expected, rtol=1e-3) and numpy.allclose(all_of_it, function(array), rtol=1e-3)


def test_reductions_of_python_and_numpy_in_kernels():
    a, out = numpy.array([[1.0, 5.0], [7.0, 3.0]]), numpy.zeros((2, 6))

    @weft.kernel
    def rows(y, /, a, out):
        v = 0.0
        if a[y, 0] < 5:  # also within a block
            v = a[y].max()
        out[y, 0], out[y, 1], out[y, 2] = sum(a[y]), max(a[y]), numpy.mean(a[y])
        out[y, 3], out[y, 4], out[y, 5] = min(a[y]), numpy.amax(a[y]), v

    rows[2](a, out)
    assert out.tolist() == [[6, 5, 3, 1, 5, 5], [10, 7, 5, 3, 7, 0]]

    @weft.kernel
    def chosen(y, a, out):
        out[y] = numpy.where(a[y, 0] > 5, numpy.clip(a[y, 1], 0, 2), -1)

    out = numpy.zeros(2)
    chosen(a, out)
    assert out.tolist() == [-1, 2]


def kernel_of(expression):
    def kernel(y, a, out):
        out[y] = expression(a, y)

    return lambda: weft.kernel(kernel)(weft.ones((2, 2)), weft.zeros(2))


@pytest.mark.parametrize("expression, error, text", [
    (lambda a, y: weft.sum(a[y, 0]), weft.ContractError, "weft.sum of the value of one point"),
    (lambda a, y: weft.mean(a[y, 0]), weft.ContractError, "weft.reduce joins"),
    (lambda a, y: weft.max(a[y, 0], a[y, 1]), TypeError, r"weft.maximum\(a, b\)"),
    (lambda a, y: weft.sum(a, axis=1), TypeError, r"a\[y\] is a row"),
    (lambda a, y: weft.median(a[y]), TypeError, "count_nonzero, max, mean"),
])
def test_mistakes_in_kernels(expression, error, text):
    with pytest.raises(error, match=text):
        kernel_of(expression)()


def test_other_functions_take_arrays():
    x = weft.Graph().input([1.0])
    with pytest.raises(TypeError, match=r"weft.median\(\) takes arrays, not a value"):
        weft.median(x)
    with pytest.raises(TypeError, match=r"weft.signal.gaussian_filter\(\) takes arrays, not a value"):
        weft.signal.gaussian_filter(x, 1.0)
    with pytest.raises(TypeError, match="sum"):
        weft.sum(x, axes=0)
