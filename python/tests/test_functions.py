"""Functions of arrays: against NumPy and SciPy where they have them, by properties where they do not."""
import doctest
import inspect
from pathlib import Path

import pytest

import weft

numpy = pytest.importorskip("numpy")
SHAPE = (4, 5, 6)
DTYPES = ["float32", "float64", "int32", "uint8", "complex64"]


def sample(dtype, shape=SHAPE, seed=1):
    r = numpy.random.default_rng(seed)
    if numpy.dtype(dtype).kind == "c":
        return (r.normal(size=shape) + 1j * r.normal(size=shape)).astype(dtype)
    return (
        r.normal(0, 10, shape).astype(dtype)
        if numpy.dtype(dtype).kind == "f"
        else r.integers(0, 50, shape).astype(dtype)
    )


def close(got, expected, rtol=1e-5, atol=1e-6):
    got = numpy.asarray(got)
    expected = numpy.asarray(expected)
    assert got.shape == expected.shape
    numpy.testing.assert_allclose(got, expected, rtol=rtol, atol=atol * max(1, float(abs(expected).max(initial=0))))


AXES = [None, 0, -1, (0, 2), (1,)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "var", "std", "min", "max", "all", "any", "count_nonzero", "median"]
)
def test_reductions(name, dtype):
    if dtype == "complex64" and name in ("min", "max", "median"):
        with pytest.raises(TypeError):
            getattr(weft, name)(sample(dtype))
        return
    a = sample(dtype)
    if name == "prod":
        a = a[:2, :2, :2]
    for axis in AXES:
        for keepdims in (False, True):
            with numpy.errstate(over="ignore"):
                expected = getattr(numpy, name)(
                    a.astype("complex128") if dtype == "complex64" else a, axis, keepdims=keepdims
                )
            got = getattr(weft, name)(a, axis, keepdims=keepdims)
            close(got, expected, 1e-4)
            assert numpy.asarray(got).dtype.kind == numpy.asarray(expected).dtype.kind
            if hasattr(weft.Array, name):
                close(getattr(weft.asarray(a), name)(axis=axis, keepdims=keepdims), expected, 1e-4)
            if name in ("var", "std"):
                close(
                    getattr(weft, name)(a, axis, 1, keepdims=keepdims),
                    getattr(numpy, name)(a, axis, ddof=1, keepdims=keepdims),
                    1e-4,
                )


def test_numpys_functions_take_arrays_by_their_methods():
    a = sample("float64")
    x = weft.asarray(a)
    for name in ("sum", "mean", "std", "var", "prod", "min", "max", "argmin", "cumsum", "any"):
        close(getattr(numpy, name)(x, axis=1), getattr(numpy, name)(a, axis=1))
    out = weft.empty((4, 6), "f64")
    assert x.sum(1, out=out) is out
    close(out, a.sum(1))
    assert x.sum(dtype="f32").dtype == weft.f32


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_order(dtype):
    a = sample(dtype)
    for axis in (0, 1, -1, None):
        close(weft.sort(a, axis), numpy.sort(a, axis))
        close(weft.argsort(a, axis), numpy.argsort(a, axis, kind="stable"))
        close(weft.cumsum(a, axis), numpy.cumsum(a, axis, dtype="f8" if dtype == "float32" else None), 1e-4)
        close(weft.argmin(a, axis), numpy.argmin(a, axis))
        close(weft.argmax(a, axis), numpy.argmax(a, axis))
        close(weft.quantile(a, 0.3, axis), numpy.quantile(a.astype("f8"), 0.3, axis))
        close(weft.quantile(a, [0.0, 0.25, 1.0], axis), numpy.quantile(a.astype("f8"), [0.0, 0.25, 1.0], axis))
        for q in (30, numpy.int64(30), numpy.float32(12.5), numpy.array([0, 100.0]), [25, 50], [[10, 20], [60, 70], [0, 100]]):
            close(weft.percentile(a, q, axis), numpy.percentile(a.astype("f8"), q, axis))
            close(weft.quantile(a, q / 100 if numpy.ndim(q) == 0 else numpy.asarray(q) / 100, axis),
                  numpy.percentile(a.astype("f8"), q, axis))
        for q in (101, [3, -1], float("nan")):
            with pytest.raises(weft.ArgumentError, match="percentile: .* is not from 0 to 100"):
                weft.percentile(a, q, axis)
    close(weft.sort(a, descending=True), -numpy.sort(-a.astype("f8")))
    x = weft.asarray(a.copy())
    x.sort(0)
    close(x, numpy.sort(a, 0))
    close(weft.cumsum(a, 1, exclusive=True)[:, 0], numpy.zeros((4, 6)))
    for got, expected in zip(weft.unique(a // 3, True, True, True), numpy.unique(a // 3, True, True, True)):
        close(weft.ravel(got), numpy.ravel(expected))
    close(weft.unique(a // 3), numpy.unique(a // 3))
    for side in ("left", "right"):
        close(weft.searchsorted(numpy.sort(a[0, 0]), a[0], side), numpy.searchsorted(numpy.sort(a[0, 0]), a[0], side))
    close(weft.cumprod(a[:2, :2, 0], 1), numpy.cumprod(a[:2, :2, 0], 1))
    close(weft.repeat(a, [2, 0, 1, 1], 0), numpy.repeat(a, [2, 0, 1, 1], 0))
    close(weft.repeat(a, 2), numpy.repeat(a, 2))
    counts, edges = weft.histogram(a, 7)
    close(counts, numpy.histogram(a.astype("f8"), 7)[0])
    close(edges, numpy.histogram(a.astype("f8"), 7)[1])
    close(weft.histogram(a, 5, (2, 20))[0], numpy.histogram(a, 5, (2, 20))[0])


def test_elements():
    a = sample("float32")
    for got, expected in zip(weft.nonzero(a > 3), numpy.nonzero(a > 3)):
        close(got, expected)
    close(weft.argwhere(a > 3), numpy.argwhere(a > 3))
    close(weft.flatnonzero(a > 3), numpy.flatnonzero(a > 3))
    close(weft.compress(a > 3, a), a[a > 3])
    close(weft.take(a, [2, 0, 2], 1), numpy.take(a, [2, 0, 2], 1))
    close(weft.take(a, [[7, 1]]), numpy.take(a, [[7, 1]]))
    order = numpy.argsort(a, 1)
    close(weft.take_along_axis(a, order, 1), numpy.take_along_axis(a, order, 1))
    for n in (1, 2):
        for axis in (0, -1):
            close(weft.diff(a, n, axis), numpy.diff(a, n, axis))
    close(weft.clip(a, -1, 2), numpy.clip(a, -1, 2))
    close(weft.clip(a, None, 2), numpy.clip(a, None, 2))
    close(weft.round(a, 1), numpy.round(a, 1))
    assert weft.asarray([0.5, 1.5, -2.5]).round().tolist() == [0, 2, -2]
    close(weft.asarray([1 + 2j]).conj(), [1 - 2j])
    assert weft.isclose(a, a + 1e-7).all() and weft.allclose(a, a) is True and weft.allclose(a, a + 1) is False
    assert not weft.allclose([float("nan")], [float("nan")])
    assert weft.allclose([float("nan")], [float("nan")], equal_nan=True)


def test_shapes():
    a = sample("float32", (3, 1, 4))
    x = weft.asarray(a)
    for axis in (0, 2, -1, None):
        if axis != 0:
            close(
                weft.concatenate([x, a[:, :, :2]] if axis else [x, a[:2]], axis),
                numpy.concatenate([a, a[:, :, :2]] if axis else [a, a[:2]], axis),
            )
        close(weft.roll(x, 2, axis), numpy.roll(a, 2, axis))
        close(weft.flip(x, axis), numpy.flip(a, axis))
        close(weft.repeat(x, 3, axis), numpy.repeat(a, 3, axis))
    for shift, axis in (((1, -2), (0, 2)), ((1, -5), (-1, 0)), (2, (0, -1)), ((1, 2), 2), ((1, 4), None), ((), ())):
        close(weft.roll(x, shift, axis), numpy.roll(a, shift, axis))
    with pytest.raises(ValueError):
        weft.roll(x, (1, 2, 3), (0, 1))
    for axis in ((0, 2), (-1, 0), [1, 4]):
        close(weft.expand_dims(x, axis), numpy.expand_dims(a, axis))
    for axis in (0, 1, 3, -1):
        close(weft.stack([x, x + 1], axis), numpy.stack([a, a + 1], axis))
        close(weft.expand_dims(x, axis), numpy.expand_dims(a, axis))
    close(weft.squeeze(x), a[:, 0])
    close(weft.squeeze(x, 1), a[:, 0])
    with pytest.raises(ValueError):
        weft.squeeze(x, 0)
    for source, destination in ((0, -1), ((0, 1), (-1, 0)), ([2, 0], [1, 0]), ((), ())):
        close(weft.moveaxis(x, source, destination), numpy.moveaxis(a, source, destination))
    close(weft.swapaxes(x, 0, 2), numpy.swapaxes(a, 0, 2))
    close(weft.transpose(x, (2, 0, 1)), a.transpose(2, 0, 1))
    close(weft.permute(x, (2, 0, 1)), a.transpose(2, 0, 1))
    for times in (2, (2, 3), (2, 1, 1, 3), (1, 2, 2)):
        close(weft.tile(x, times), numpy.tile(a, times))
    close(weft.ravel(x), a.ravel())
    close(weft.flatten(x), a.ravel())
    close(weft.reshape(x, (4, -1)), a.reshape(4, -1))
    close(weft.broadcast_to(x, (2, 3, 5, 4)), numpy.broadcast_to(a, (2, 3, 5, 4)))
    assert weft.contiguous(x) is x and weft.contiguous(x.T) is not x.T
    close(weft.contiguous(x.T), a.T)
    assert weft.concatenate([weft.asarray([1], "i16"), weft.asarray([2.5], "f32")]).dtype.kind == "f"


def test_making_arrays():
    for args in ((5,), (2, 9), (2, 9, 3), (9, 2, -2), (0.0, 1.0, 0.3), (3, 1)):
        close(weft.arange(*args), numpy.arange(*args))
    close(weft.linspace(1, 3, 7), numpy.linspace(1, 3, 7))
    close(weft.linspace(1, 3, 7, endpoint=False), numpy.linspace(1, 3, 7, endpoint=False))
    assert weft.linspace(0, 1, dtype="f32").dtype == weft.f32 and weft.linspace(0, 1).shape == (50,)
    close(weft.eye(3, 4, 1), numpy.eye(3, 4, 1))
    close(weft.iota((2, 3)), numpy.arange(6).reshape(2, 3))
    close(weft.iota(5, 3), [0, 1, 2, 0, 1])
    assert weft.cast([1.9, -1.9], "i8").tolist() == [1, -1]
    x = weft.empty((2, 3), "c64")
    weft.fill_complex(x, 1, 2)
    assert (numpy.asarray(x) == 1 + 2j).all()
    weft.fill(x, 3)
    x.fill(4)
    weft.assign(x[0], [1, 2, 3])
    assert x.tolist() == [[1, 2, 3], [4, 4, 4]]
    b = numpy.zeros(3)
    weft.fill(b, 5)  # memory of others is written in place
    assert b.tolist() == [5, 5, 5]
    for wrong in ([1, 2], 3.0, None, b"abc", b[::-1].astype(">f8")):
        with pytest.raises((TypeError, ValueError, BufferError)):
            weft.fill(wrong, 5)


def test_regions():
    a = sample("float32", (6, 7))
    pad = {"clamp": "edge", "periodic": "wrap", "mirror": "symmetric", "reflect": "reflect", "value": "constant"}
    for border, mode in pad.items():
        close(weft.resize(a, (1, 2), (2, 1), border), numpy.pad(a, ((1, 2), (2, 1)), mode))
    close(weft.resize(a, None, (-1, 0)), a[:-1])
    close(weft.extract(a, (2, 3), (1, 2)), a[1:3, 2:5])
    with pytest.raises(IndexError):
        weft.extract(a, (2, 3), (5, 2))
    close(weft.extract(a, (2, 3), (5, 2), "value", 9), numpy.pad(a, ((0, 9), (0, 9)), constant_values=9)[5:7, 2:5])
    x = weft.asarray(a.copy())
    weft.insert(x, numpy.ones((2, 2)), (5, -1))
    b = a.copy()
    b[5, 0] = 1
    close(x, b)
    parts = weft.extract_regions(a, (2, 2), [[0, 0], [3, 4]])
    close(parts, numpy.stack([a[:2, :2], a[3:5, 4:6]]))
    y = weft.zeros((6, 7))
    weft.insert_regions(y, parts, [[0, 0], [3, 4]])
    close(weft.sum(y), a[:2, :2].sum() + a[3:5, 4:6].sum(), 1e-4)


def test_norms_and_scaling():
    a, b = sample("float64"), sample("float64", seed=2)
    close(weft.norm(a), numpy.linalg.norm(a))
    close(weft.norm(a, "l1", 0), abs(a).sum(0))
    close(weft.norm(a, "max"), abs(a).max())
    close(weft.rmsd(a, b, (1, 2)), numpy.sqrt(((a - b) ** 2).mean((1, 2))))
    close(weft.normalize(a), (a - a.mean()) / a.std())
    close(weft.normalize(a, "min_max", 0), (a - a.min(0)) / (a.max(0) - a.min(0)))
    for got, expected in zip(weft.min_max(a, 1), (a.min(1), a.max(1))):
        close(got, expected)
    for got, expected in zip(weft.mean_var(a, 1, 1.0), (a.mean(1), a.var(1, ddof=1))):
        close(got, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
def test_products(dtype):
    a, b, v, w = (sample(dtype, s, i) for i, s in enumerate([(3, 4, 5), (3, 5, 2), (5,), (4,)]))
    for x, y in ((a, b), (a[0], b[0]), (a, v), (w, a), (v, b), (v, v), (a, b[0])):
        close(weft.matmul(x, y), numpy.matmul(x, y), 1e-4, 1e-5)
        close(weft.asarray(x) @ weft.asarray(y) if x.ndim > 1 and y.ndim > 1 else weft.matmul(x, y), x @ y, 1e-4, 1e-5)
    for x, y in ((a, v), (v, v), (a[0], b[0]), (a, b)):
        close(weft.dot(x, y), numpy.dot(x, y), 1e-4, 1e-5)
    close(weft.vecdot(a, a), (a.conj() * a).sum(-1), 1e-4, 1e-5)
    close(weft.vecdot(a, a, 0), (a.conj() * a).sum(0), 1e-4, 1e-5)
    close(weft.outer(v, w), numpy.outer(v, w))
    close(weft.tensordot(a, b, ([2], [1])), numpy.tensordot(a, b, ([2], [1])), 1e-4, 1e-5)
    close(weft.tensordot(a, a, 3), numpy.tensordot(a, a, 3), 1e-4, 1e-5)


def test_random_numbers():
    r = weft.random.Generator(5)
    x = r.normal((100000,), 2, 3)
    assert abs(x.mean().item() - 2) < 0.05 and abs(x.std().item() - 3) < 0.05
    assert (weft.random.Generator(5).normal((100000,), 2, 3) == x).all()
    assert (r.normal((100000,), 2, 3) != x).any()
    u = r.uniform((1000, 10), -1, 1, "f64")
    assert u.dtype == weft.f64 and u.min().item() >= -1 and u.max().item() < 1 and abs(u.mean().item()) < 0.05
    i = r.integers(3, 9, 10000)
    assert weft.unique(i).tolist() == [3, 4, 5, 6, 7, 8]
    p = r.poisson(10000, 4.0)
    assert abs(weft.mean(p).item() - 4) < 0.2 and abs(weft.var(p).item() - 4) < 0.4
    assert abs(weft.mean(weft.ops.log(r.lognormal(10000, 1, 0.5))).item() - 1) < 0.05
    assert r.bits(4).dtype == weft.u32
    weft.random.seed(3)
    first = weft.random.uniform(5)
    weft.random.seed(3)
    assert (weft.random.uniform(5) == first).all()
    assert sorted(weft.random.permutation(10).tolist()) == list(range(10))
    out = numpy.zeros(3, "f4")
    weft.random.normal(out=weft.asarray(out))
    assert (out != 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
def test_transforms(dtype, norm):
    a = sample(dtype)
    tolerance = (1e-4, 1e-5) if dtype in ("float32", "complex64") else (1e-10, 1e-12)
    names = ["fft", "ifft"] + ([] if a.dtype.kind == "c" else ["rfft"])
    for name in names:
        for n in (None, 4, 9):
            for axis in (0, -1):
                close(getattr(weft.fft, name)(a, n, axis, norm), getattr(numpy.fft, name)(a, n, axis, norm), *tolerance)
    for name in ["fftn", "ifftn", "fft2", "ifft2"] + ([] if a.dtype.kind == "c" else ["rfftn", "rfft2"]):
        close(getattr(weft.fft, name)(a, norm=norm), getattr(numpy.fft, name)(a, norm=norm), *tolerance)
        close(
            getattr(weft.fft, name)(a, (3, 8), (1, 2), norm),
            getattr(numpy.fft, name)(a, (3, 8), (1, 2), norm),
            *tolerance,
        )
    if a.dtype.kind == "f":
        close(weft.fft.rfftn(a, axes=(2, 0), norm=norm), numpy.fft.rfftn(a, axes=(2, 0), norm=norm), *tolerance)
        half = numpy.fft.rfftn(a, norm=norm)
        close(weft.fft.irfftn(half, norm=norm), numpy.fft.irfftn(half, axes=(0, 1, 2), norm=norm), *tolerance)
        close(weft.fft.irfft(half, 7, norm=norm), numpy.fft.irfft(half, 7, norm=norm), *tolerance)
        close(weft.fft.irfft2(half, norm=norm), numpy.fft.irfft2(half, norm=norm), *tolerance)
        power = abs(half) ** 2  # a spectrum that is real
        close(weft.fft.irfft(power, norm=norm), numpy.fft.irfft(power, norm=norm), *tolerance)
        assert weft.fft.irfftn(power.astype(dtype), norm=norm).dtype == dtype


def test_transforms_of_scipy():
    fft = pytest.importorskip("scipy.fft")
    signal = pytest.importorskip("scipy.signal")
    a = sample("float64")
    for type_ in (1, 2, 3, 4):
        for norm in ("backward", "ortho"):
            close(weft.fft.dct(a, type_, 1, norm=norm), fft.dct(a, type_, axis=1, norm=norm))
            close(weft.fft.dst(a, type_, norm=norm), fft.dst(a, type_, norm=norm))
            close(weft.fft.idct(a, type_, norm=norm), fft.idct(a, type_, norm=norm))
            close(weft.fft.idst(a, type_, norm=norm), fft.idst(a, type_, norm=norm))
    points = 0.1 + 0.02 * numpy.arange(9)
    close(
        weft.fft.czt(a, count=9, first=0.1, step=0.02),
        signal.czt(a, 9, numpy.exp(-2j * numpy.pi * 0.02), numpy.exp(2j * numpy.pi * 0.1)),
    )
    close(
        weft.fft.czt(a[0, 0], count=9, first=0.1, step=0.02),
        numpy.exp(-2j * numpy.pi * numpy.outer(points, numpy.arange(6))) @ a[0, 0],
    )
    for n in (7, 97, 1025):
        assert weft.fft.fast_size(n) == fft.next_fast_len(n, real=True) or weft.fft.fast_size(n) >= n
    close(weft.fft.fftshift(a), numpy.fft.fftshift(a))
    close(weft.fft.ifftshift(a, 1), numpy.fft.ifftshift(a, 1))
    for n in (8, 9):
        close(weft.fft.fftfreq(n, 0.5), numpy.fft.fftfreq(n, 0.5))
        close(weft.fft.rfftfreq(n, 0.5), numpy.fft.rfftfreq(n, 0.5))
    out = weft.empty((4, 5, 4), "c128")
    weft.fft.into(out, a, -1)
    close(out, numpy.fft.rfft(a))
    large = weft.fft.resize(weft.fft.rfftn(a[0]), (5, 6), (10, 12))
    close(weft.fft.irfftn(large)[::2, ::2], a[0])


def test_window_filters_of_scipy():
    ndimage = pytest.importorskip("scipy.ndimage")
    borders = {"mirror": "reflect", "clamp": "nearest", "periodic": "wrap", "reflect": "mirror", "value": "constant"}
    a = sample("float64", (12, 11))
    s = weft.signal
    for border, mode in borders.items():
        close(s.gaussian_filter(a, 1.5, border=border), ndimage.gaussian_filter(a, 1.5, mode=mode))
        close(s.gaussian_filter(a, [1.5], 0, border), ndimage.gaussian_filter1d(a, 1.5, 0, mode=mode))
        close(s.uniform_filter(a, (3, 5), border=border), ndimage.uniform_filter(a, (3, 5), mode=mode))
        close(s.median_filter(a, 3, border=border), ndimage.median_filter(a, 3, mode=mode))
        close(s.rank_filter(a, 2, (3, 3), border=border), ndimage.rank_filter(a, 2, (3, 3), mode=mode))
        kernel = sample("float64", (3, 5))
        close(s.convolve(a, kernel, border=border), ndimage.convolve(a, kernel, mode=mode))
    close(s.gaussian_derivative(a, 2, (0, 1)), ndimage.gaussian_filter(a, 2, order=(0, 1)))
    line = sample("float64", (5,))
    close(s.convolve_separable(a, [line], border="mirror"), ndimage.convolve(a, numpy.outer(line, line)), 1e-5, 1e-5)
    close(s.convolve_separable(a, line, border="mirror"), ndimage.convolve(a, numpy.outer(line, line)), 1e-5, 1e-5)
    close(s.erode(a, 3), ndimage.grey_erosion(a, 3, mode="nearest"))
    close(s.dilate(a, 3), ndimage.grey_dilation(a, 3, mode="nearest"))
    close(s.morphology_open(a, 3), ndimage.grey_opening(a, 3, mode="nearest"))
    close(s.morphology_close(a, 3), ndimage.grey_closing(a, 3, mode="nearest"))
    cross = numpy.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
    close(s.median_footprint(a, cross), ndimage.median_filter(a, footprint=cross))
    close(s.rank_footprint(a, 1, cross), ndimage.rank_filter(a, 1, footprint=cross))
    close(s.morphology(a, "dilate", cross), ndimage.grey_dilation(a, footprint=cross, mode="nearest"))


def test_geometry_of_scipy():
    ndimage = pytest.importorskip("scipy.ndimage")
    a = sample("float64", (12, 11))
    turn = numpy.array([[0.8, -0.6, 3.0], [0.6, 0.8, -2.0]])
    x = weft.xform
    close(x.transform(a, turn), ndimage.affine_transform(a, turn[:, :2], turn[:, 2], order=1, mode="grid-constant"))
    close(x.transform(a, turn, (5, 6), "nearest", border="value", outside=7.0),
          ndimage.affine_transform(a, turn[:, :2], turn[:, 2], (5, 6), order=0, cval=7, mode="grid-constant"))
    close(x.transform(a, turn, interpolation="bspline", border="mirror"),
          ndimage.affine_transform(a, turn[:, :2], turn[:, 2], order=3, mode="reflect"))
    close(x.spline_filter(a, border="reflect"), ndimage.spline_filter(a, mode="mirror"))
    places = numpy.random.default_rng(1).uniform(0, 10, (2, 20))
    close(x.warp(a, places), ndimage.map_coordinates(a, places, order=1))
    close(x.zoom(a, (24, 22), "ends"), ndimage.zoom(a, 2, order=1))
    close(x.bin(a, 2), a[:, :10].reshape(6, 2, 5, 2).mean((1, 3)))
    close(
        x.symmetrize(sample("float64", (9, 9)), "C4"),
        sum(numpy.rot90(sample("float64", (9, 9)), k) for k in range(4)) / 4,
    )
    assert x.to_polar(a, 8, 4).shape == (8, 4)
    rod = numpy.zeros((16, 9, 9))
    rod[:, 4, 4] = 1
    close(weft.asarray(x.symmetrize_helix(rod, 2.0, 30.0))[:, 4, 4], numpy.ones(16))
    ball = x.mask(numpy.ones((9, 9)), length=3, edge=0)
    yy, xx = numpy.mgrid[-4:5, -4:5]
    close(ball, (numpy.hypot(yy, xx) <= 3).astype(float))
    moved = x.mask(numpy.ones((9, 9)), shape="box", length=(1, 2), center=(2, 3), rotation=[0, 1, 1, 0], invert=True)
    assert moved.shape == (9, 9) and (1 - numpy.asarray(moved)).sum() == 15 and moved[2, 3].item() == 0
    x.mask(out=moved, length=2)
    assert moved[4, 4].item() == 1 and moved[0, 0].item() == 0


def test_numbers_for_each_axis():
    """One number stands for all axes, and any other count than that of the axes is refused."""
    a, s, x = sample("float64", (9, 9)), weft.signal, weft.xform
    for filters in (s.median_filter, s.uniform_filter, s.erode, s.dilate, s.morphology_open, s.morphology_close):
        assert numpy.array_equal(filters(a), filters(a, (3, 3)))
        assert numpy.array_equal(filters(a, axis=1), filters(a, (1, 3)))
    close(s.rank_filter(a, 4), weft.signal.median_filter(a, 3))
    assert numpy.array_equal(s.rank_filter(a, 0, axis=0), s.erode(a, (3, 1), border="mirror"))
    box = lambda **keywords: numpy.asarray(x.mask(out=numpy.zeros((9, 9)), shape="box", **keywords))
    one = numpy.zeros((9, 9))
    one[2:5, 2:5] = 1
    assert numpy.array_equal(box(length=1, center=3), one) and numpy.array_equal(box(length=(1, 1), center=(3, 3)), one)
    turn = numpy.array([[0.0, 1.0], [-1.0, 0.0]])
    assert numpy.array_equal(box(length=(1, 3), rotation=turn), box(length=(1, 3), rotation=turn.ravel()))
    assert numpy.array_equal(box(length=(1, 3), rotation=weft.asarray(turn)), box(length=(3, 1)))
    assert numpy.array_equal(x.to_polar(a, 8, 4, center=3.0), x.to_polar(a, 8, 4, center=(3, 3)))
    peaks = s.correlate_map(a, a)
    assert numpy.array_equal(s.correlate_peaks(peaks, max_lag=2), s.correlate_peaks(peaks, max_lag=(2, 2)))
    for wrong in (
        lambda: box(length=(1, 1, 1)), lambda: box(length=1, center=(3,)), lambda: box(length=1, rotation=[1, 0]),
        lambda: x.mask(out=numpy.zeros((9, 9)), length=(2, 9)), lambda: x.to_polar(a, 8, 4, center=(3,)),
        lambda: s.correlate_peaks(peaks, max_lag=(2,)), lambda: s.correlate_peaks(peaks, max_lag=(2, 2, 2)),
    ):
        with pytest.raises(weft.ShapeError):
            wrong()


def test_matrices():
    r = numpy.random.default_rng(3)
    for n in (3, 9):
        a, b = r.normal(size=(2, n, n)), r.normal(size=(2, n, 2))
        spd = a @ a.transpose(0, 2, 1) + n * numpy.eye(n)
        try:
            close(weft.linalg.solve(a, b), numpy.linalg.solve(a, b), 1e-6)
        except weft.UnsupportedError:  # there is no LAPACK
            continue
        close(weft.linalg.solve(a), numpy.linalg.inv(a), 1e-6)
        close(weft.linalg.cholesky(spd), numpy.linalg.cholesky(spd), 1e-6)
        values, vectors = weft.linalg.eigh(spd)
        close(values, numpy.linalg.eigvalsh(spd), 1e-6)
        v = numpy.asarray(vectors)
        close(spd @ v, v * numpy.asarray(values)[:, None], 1e-6)
        with pytest.raises(ValueError):
            weft.linalg.solve(numpy.zeros((n, n)), b[0])
    a, b = r.normal(size=(7, 3)), r.normal(size=(7, 2))
    try:
        u, s, vh = weft.linalg.svd(a)
        close(numpy.asarray(u) * numpy.asarray(s) @ numpy.asarray(vh), a, 1e-6)
        close(weft.linalg.lstsq(a, b), numpy.linalg.lstsq(a, b, rcond=None)[0], 1e-6)
    except weft.UnsupportedError:
        pass


def test_vectors_inverses_determinants_and_norms():
    r = numpy.random.default_rng(5)
    a, vector = r.normal(size=(2, 3, 3)), r.normal(size=3)
    try:
        close(weft.linalg.solve(a[0], vector), numpy.linalg.solve(a[0], vector), 1e-6)
        close(weft.linalg.solve(a, vector), numpy.stack([numpy.linalg.solve(m, vector) for m in a]), 1e-6)
        close(weft.linalg.inv(a), numpy.linalg.inv(a), 1e-6)
        close(weft.linalg.det(a), numpy.linalg.det(a), 1e-6)
        close(weft.linalg.lstsq(a[0, :, :2], vector), numpy.linalg.lstsq(a[0, :, :2], vector, rcond=None)[0], 1e-6)
        close(weft.linalg.norm(a[0], "nuc"), numpy.linalg.norm(a[0], "nuc"), 1e-6)
    except weft.UnsupportedError:  # there is no LAPACK
        pass
    for x, ord, axis in ((a, None, None), (a, None, (0, 2)), (a, 1, 1), (a, numpy.inf, -1), (a, 3, 0), (a[0], "fro", None),
                         (a[0], 1, None), (a, -numpy.inf, (2, 0)), (vector, 0, None), (numpy.arange(4), None, None)):
        for keepdims in (False, True):
            close(weft.linalg.norm(x, ord, axis, keepdims), numpy.linalg.norm(x, ord, axis, keepdims), 1e-6)
    with pytest.raises(weft.ShapeError):
        weft.linalg.norm(a, 1)
    with pytest.raises(ValueError):
        weft.linalg.solve(a[0], vector[:2])


def test_round_keeps_integers_and_parts():
    for array, decimals in (([15, 25, 27, -15], -1), ([15, 25], 1), ([1.005, 2.675, -0.5], 2), ([1234.5, 1250.0], -2),
                            ([1.25 + 2.35j], 1), (numpy.array([15, 25, 250], "u1"), -1), ([0.5, 1.5], 0)):
        got, expected = numpy.asarray(weft.round(array, decimals)), numpy.round(numpy.asarray(array), decimals)
        assert got.dtype == expected.dtype and got.tolist() == expected.tolist()


def test_matrices_of_values():
    a = numpy.array([[4.0, 1], [2, 3]])
    got = weft.linalg.mat_solve(2, a.tolist(), 1, [1.0, 2.0])
    close(got, numpy.linalg.solve(a, [1, 2]))
    assert weft.linalg.mat_determinant(2, a.tolist()) == 10
    many = weft.asarray(numpy.arange(1.0, 6.0))
    x = weft.linalg.mat_inverse(2, [[many, 1], [0, 2.0]])
    close(x[0], 1 / numpy.arange(1.0, 6.0))
    values, vectors = weft.linalg.mat_eigh(2, [[2.0, 0.0], [0.0, 1.0]])
    assert values == [1, 2] and sorted(map(abs, vectors)) == [0, 0, 1, 1]
    l = weft.linalg.mat_cholesky(2, [[4.0, 0], [2, 10]])
    assert l == [2, 0, 1, 3]
    close(weft.linalg.mat_cholesky_solve(2, l, 1, [4, 2]), numpy.linalg.solve([[4, 2], [2, 10]], [4, 2]))
    close(weft.linalg.mat_lstsq(3, 2, [[1, 0], [0, 1], [0, 0]], [5.0, 6, 7]), [5, 6])
    with pytest.raises(ValueError):
        weft.linalg.mat_solve(2, [1, 2, 3], 1, [1, 2])
    with pytest.raises(ValueError):
        weft.linalg.mat_solve(10**9, [1], 1, [1])


def test_filters_of_values_arrays_and_numbers():
    r = numpy.linspace(0, 0.5, 11)
    s = weft.signal
    close(weft.logaddexp(r, 0.5), numpy.logaddexp(r, 0.5))
    close(s.lowpass(r, 0.2, 0), (r <= 0.2).astype(float))
    close(s.highpass(r, 0.2, 0), (r >= 0.2).astype(float))
    close(s.gaussian(r, 0.1), numpy.exp(-r**2 / 0.02))
    close(s.butterworth(r, 0.2, 2), 1 / numpy.sqrt(1 + (r / 0.2) ** 4))
    close(s.bfactor(r, -100), numpy.exp(-25 * r**2))
    close(s.bandpass(r, 0.1, 0, 0.3, 0), ((r >= 0.1) & (r <= 0.3)).astype(float))
    close(s.fsc_weight(r), numpy.sqrt(2 * r / (1 + r)))
    close(s.fsc_snr(r), 2 * r / (1 - r))
    close(s.fsc_unmasked(r, 0.1), (r - 0.1) / 0.9)
    close(s.wiener(r, 2), r * 2 / (r * r * 2 + 1))
    close(s.critical_dose(r[1:]), 0.245 * r[1:] ** -1.665 + 2.81)
    close(s.dose_weight(r[1:], 3), numpy.exp(-3 / 2 / (0.245 * r[1:] ** -1.665 + 2.81)))
    close(s.soft_edge(r, 0.5), (1 + numpy.cos(numpy.pi * r / 0.5)) / 2)
    x = numpy.linspace(-1, 1, 9)
    close(s.hann(x), numpy.hanning(9))
    close(s.hamming(x), numpy.hamming(9))
    close(s.blackman(x), numpy.blackman(9))
    close(s.kaiser(x, 5.0), numpy.kaiser(9, 5.0))
    close(s.cosine(x), numpy.cos(numpy.pi * x / 2))
    close(s.tukey(x, 1.0), numpy.hanning(9))
    close(s.freq((8,), 0, weft.iota(5)), numpy.fft.rfftfreq(8))
    close(s.freq(((8,), "f"), 0, weft.iota(8)), numpy.fft.fftfreq(8))
    close(s.freq_norm((8, 8), (2, 3)), numpy.hypot(2, 3) / 8)
    assert s.hermitian_weight((8, 8), (0, 1)) == 2 and s.hermitian_weight((8, 8), (0, 0)) == 1
    close(s.phase_shift((1.0,), (weft.asarray(r[1:-1]),)), numpy.exp(-2j * numpy.pi * r[1:-1]))
    assert abs(s.electron_wavelength(300.0) - 0.0197) < 1e-4
    ctf = dict(voltage=300.0, cs=2.7, amplitude=0.1, defocus=1.5)
    g = weft.asarray(r)
    phase = numpy.asarray(s.ctf_phase(0.0, g, **ctf))
    close(s.ctf_value(0.0, g, **ctf), -numpy.sin(2 * numpy.pi * phase), 1e-4)
    assert s.ctf_value(0.0, g, **ctf)[0].item() == pytest.approx(0.1)
    close(numpy.asarray(s.ctf_sideband(0.0, g, **ctf)).real, -numpy.sin(2 * numpy.pi * phase), 1e-4)
    lam = s.electron_wavelength(300.0)
    close(s.ewald_height(300.0, 0.0, g), 1 / lam - numpy.sqrt(1 / lam**2 - r**2), 1e-4)
    assert (
        s.ctf_beam_tilt(0.0, 1.0, 0.0, 0.2, voltage=300.0, cs=2.7)
        == -s.ctf_beam_tilt(0.0, 1.0, 0.0, -0.2, voltage=300.0, cs=2.7)
        != 0
    )
    close(
        s.ctf_temporal_envelope(0.01, 0.0, g, voltage=300.0), numpy.exp(-((numpy.pi * lam * 100 * r**2) ** 2) / 2), 1e-4
    )
    assert 0 < s.ctf_spatial_envelope(0.1, 0.0, 0.2, **ctf) < 1
    close(s.zernike(2, 0, 0.0, weft.asarray(r)), 2 * r**2 - 1)
    graph = weft.Graph()
    kept = s.lowpass(graph.input(weft.asarray(r)), 0.2, 0.1).keep()
    graph.run()
    close(kept, s.lowpass(r, 0.2, 0.1))
    with weft.lazy():
        lazy = s.lowpass(weft.asarray(r), 0.2, 0.1)
        assert lazy.is_lazy
    close(lazy, kept)


def test_rotations_shapes_and_interpolation():
    pytest.importorskip("scipy.spatial")
    from scipy.spatial.transform import Rotation
    angles = (0.3, 0.7, -1.1)
    for order in ("ZYZ", "zyz", "XYZ", "xyz", "ZXZ", "yzx"):
        m = numpy.array(weft.xform.euler_matrix(order, *angles)).reshape(3, 3)
        close(m[::-1, ::-1], Rotation.from_euler(order, angles).as_matrix())
    with pytest.raises(ValueError):
        weft.xform.euler_matrix("ABC", *angles)
    close(numpy.linalg.eigvalsh(numpy.array(weft.xform.stretch_matrix(1.1, 0.9, 0.4)).reshape(2, 2)), [0.9, 1.1])
    assert weft.xform.sdf_sphere((3.0, 4.0), 2) == 3 and weft.xform.sdf_box((3.0, 0.0), (1.0, 1.0)) == 2
    assert (
        weft.xform.sdf_cylinder((0.0, 5.0), 2, 4) == 3 and abs(weft.xform.sdf_ellipsoid((2.0, 0.0), (2.0, 1.0))) < 1e-6
    )
    a = numpy.arange(12.0).reshape(3, 4)
    close(weft.xform.interpolate(a, (0.5, weft.asarray([1.5, 2.0]))), [3.5, 4.0])
    b = weft.zeros((3, 4))
    weft.xform.splat(b, 2.0, (0.5, weft.asarray([1.0, 1.0])))
    assert b.tolist() == [[0, 2, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0]]


def test_spectra():
    a = sample("float32", (16, 16))
    f = weft.fft.rfftn(a)
    s = weft.signal
    size = a.shape
    close(weft.fft.irfftn(s.spectrum_shift(f, size, [1.0, 2.0])), numpy.roll(a, (1, 2), (0, 1)), 1e-3, 1e-5)
    assert s.shell_count(size) == 9 == s.radial_average(f, size).shape[0]
    close(s.fsc(f, f, size), numpy.ones(9))
    close(s.fsc_conical(f, f, size, [[0.0, 1.0]], 1.0), numpy.ones((1, 9)))
    white = s.spectrum_whiten(f, size)
    close(s.radial_average(white, size), numpy.ones(9), 1e-3)
    curve = s.spectrum_curve(f, size, numpy.full(9, 2.0), 1 / 16)
    close(curve, 2 * numpy.asarray(f), 1e-4)
    assert s.spectrum_curve(f, size, numpy.full(9, 2.0), 1 / 16, out=curve) is curve
    noise = s.spectrum_randomize(f, size, 0.2, seed=4)
    close(abs(numpy.asarray(noise)), abs(numpy.asarray(f)), 1e-3, 1e-4)
    assert (numpy.asarray(noise) != numpy.asarray(f)).any()
    parameters = [300, 2.7, 0.1, 1.5, 0, 0, 0, 0, 1]
    ctf = s.spectrum_ctf(None, size, parameters, 1.5, out=weft.empty((16, 9)))
    k = numpy.fft.rfftfreq(16) / 1.5
    close(ctf[0], s.ctf_value(0.0, weft.asarray(k), voltage=300.0, cs=2.7, amplitude=0.1, defocus=1.5), 1e-3, 1e-4)
    big = sample("float32", (64, 64))
    power = s.power_spectrum(big, 32)
    assert power.shape == (32, 17)
    assert s.ctf_fit(power, voltage=300.0, cs=2.7, pixel=1.0, amplitude=0.1).shape == (4,)
    assert s.fsc(f, f, weft.signal.Spectrum(size)).shape == (9,)
    full = weft.fft.fftn(a)
    close(s.radial_average(full, weft.signal.Spectrum(size, "f")), s.radial_average(f, size), 1e-4)


def test_correlation():
    a = sample("float64", (16, 16))
    b = numpy.roll(a, (3, -2), (0, 1))
    s = weft.signal
    m = s.correlate_map(b, a)
    close(m, numpy.fft.ifft2(numpy.fft.fft2(b) * numpy.fft.fft2(a).conj()).real)
    close(numpy.round(numpy.asarray(s.correlate_peak(m))[:2]), [3, -2])
    peaks = s.correlate_peaks(m, count=2, fit="whole")
    assert peaks.shape == (2, 3) and peaks[0, :2].tolist() == [3, -2]
    assert s.correlate_peaks(m, max_lag=(2, 2)).shape == (1, 3)
    assert s.correlate_score(a, a).item() == pytest.approx(1)
    found = s.match_template(a, a[4:9, 6:11])
    assert weft.argmax(found).item() == 4 * 12 + 6 and found.shape == (12, 12)


def test_rotations_for_projections():
    """A volume whose one bright element is turned by SciPy's matrix has it there in the projection along z."""
    pytest.importorskip("scipy.spatial")
    from scipy.spatial.transform import Rotation
    angles = numpy.array([[0.3, 0.7, -1.1], [0.0, 0.0, 0.0], [numpy.pi / 2, 0.4, 2.0]])
    turns = weft.xform.rotations("ZYZ", angles)
    assert turns.shape == (3, 3, 3) and weft.xform.rotations("relion", angles[0]).shape == (3, 3)
    volume, place = numpy.zeros((17, 17, 17)), numpy.array([2, -3, 4])  # (x, y, z) about the center
    volume[8 + 4, 8 - 3, 8 + 2] = 1
    images = numpy.asarray(weft.project.project(volume, turns))
    close(weft.xform.rotations("relion", angles), numpy.swapaxes(turns, 1, 2))
    for image, turn in zip(images, Rotation.from_euler("ZYZ", angles).as_matrix()):
        x, y, _ = turn @ place
        yy, xx = numpy.mgrid[-8:9, -8:9]
        found = numpy.array([(image * xx).sum(), (image * yy).sum()]) / image.sum()
        assert abs(found - (x, y)).max() < 0.15
    with pytest.raises(weft.ShapeError, match="3 angles"):
        weft.xform.rotations("ZYZ", numpy.zeros((3, 2)))


def test_rows_of_transfer_functions():
    optics = dict(voltage=300.0, cs=2.7, amplitude=0.1, astigmatism=0.05, angle=0.4, phase_shift=0.2, bfactor=-20.0)
    rows = weft.signal.ctf_rows(defocus=numpy.array([1.0, 1.5]), **optics)
    assert rows.shape == (2, 9) and rows[0].tolist() == [300, 2.7, 0.1, 1, 0.05, 0.4, 0.2, -20, 1]
    out = weft.zeros((2, 8, 5))
    weft.signal.spectrum_ctf(None, weft.signal.Spectrum((8, 8)), rows, 1.5, out)
    ky, kx = numpy.fft.fftfreq(8)[:, None] / 1.5, numpy.fft.rfftfreq(8)[None] / 1.5
    close(out[1], weft.signal.ctf_value(ky + 0 * kx, kx + 0 * ky, defocus=1.5, **optics), 1e-4)


def test_projections():
    p = weft.project
    volume = sample("float32", (8, 8, 8))
    eye = numpy.eye(3)[None]
    close(p.project(volume, eye)[0], volume.sum(0), 1e-4, 1e-5)
    back = weft.zeros((8, 8, 8))
    p.back_project(back, volume.sum(0)[None], eye)
    close(back[3], volume.sum(0), 1e-4, 1e-5)
    f = weft.fft.rfftn(weft.fft.ifftshift(volume))
    slices = p.extract_slices(f, eye, (8, 8, 8), (8, 8), cutoff=1.0)
    close(slices[0, :4, :4], numpy.asarray(f)[0, :4, :4], 1e-3, 1e-4)
    sums, weights = weft.zeros((8, 8, 5), "c64"), weft.zeros((8, 8, 5))
    p.insert_slices(sums, weights, slices, eye, (8, 8, 8), (8, 8))
    close(p.normalize_sums(sums, weights)[0, :3, :3], numpy.asarray(slices)[0, :3, :3], 1e-3, 1e-4)
    close(p.correct_gridding(numpy.ones((8, 8)), (8, 8))[4, 4], 1)
    spectrum = weft.xform.transform_spectrum(f, (8, 8, 8), numpy.eye(3))
    close(spectrum[:3, :3, :3], numpy.asarray(f)[:3, :3, :3], 1e-3, 1e-4)
    assert weft.xform.symmetrize_spectrum(f, (8, 8, 8), "C2").shape == f.shape
    k = weft.xform.spectrum_read(f, (8, 8, 8), (0.0, 0.0, 0.0))
    close(k, numpy.asarray(f)[0, 0, 0], 1e-3, 1e-4)
    weft.xform.spectrum_splat(sums, (8, 8, 8), 1.0, (0.0, 0.0, weft.asarray([0.125])), weights=weights)


MODULES = [weft, weft.fft, weft.signal, weft.xform, weft.project, weft.linalg, weft.random, weft.files, weft.star,
           weft.derivatives]
WRONG = [None, 3, -1, 2.5, "text", b"bytes", object(), [], [1, 2], [[1.0], [2.0]], (), {}, 10**30, float("nan"), True,
         weft.f32, slice(None), numpy.zeros((2, 3)), numpy.zeros((0, 3), "f4"), weft.zeros((3, 3)),
         weft.zeros(4, "i32"), numpy.zeros((2, 2), "c8"), "mirror", (8, 8), 1 + 2j, numpy.array(["a"]), numpy.zeros((1,) * 8)]
NOT_CALLED = {"lazy", "debug", "fast_math", "flags", "set_threads"}


def functions():
    found = []
    for module in MODULES:
        for name in sorted(vars(module)):
            f = getattr(module, name)
            if callable(f) and not name.startswith("_") and not isinstance(f, type) and name not in NOT_CALLED:
                found.append(pytest.param(f, id=f"{module.__name__}.{name}"))
    return found


@pytest.mark.parametrize("function", functions())
def test_wrong_arguments_raise_and_never_crash(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # files may be written
    r = numpy.random.default_rng(11)
    try:
        names = list(inspect.signature(function).parameters)
    except (ValueError, TypeError):
        names = []
    for _ in range(60):
        args = [WRONG[i] for i in r.integers(len(WRONG), size=r.integers(0, 5))]
        keywords = {n: WRONG[r.integers(len(WRONG))] for n in names if r.random() < 0.3}
        try:
            function(*args, **keywords)
        except (Exception, weft.Error) as error:
            assert not isinstance(error, SystemError), (args, keywords)
    assert weft.sum([1, 2, 3]).item() == 6  # no error is left behind


def test_functions_have_signatures_and_docstrings():
    for module in MODULES:
        for name, f in vars(module).items():
            if inspect.isbuiltin(f) and f.__module__ and f.__module__.startswith("weft._c_"):
                assert f.__doc__ and str(inspect.signature(f)).startswith("("), name


def test_the_page_about_python():
    page = Path(__file__).parent.parent.parent / "docs/python.md"
    if not page.exists():
        pytest.skip("the page is not beside the tests")
    assert doctest.testfile(str(page), module_relative=False).failed == 0


PAD_MODES = {"constant": "value", "edge": "clamp", "reflect": "reflect", "symmetric": "mirror", "wrap": "periodic"}


@pytest.mark.parametrize("mode", PAD_MODES)
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "c16"])
def test_pad_is_that_of_numpy(mode, dtype):
    for shape in ((5,), (1,), (3, 4), (2, 1, 3)):
        x = (numpy.arange(numpy.prod(shape)).reshape(shape) * 3 + 1).astype(dtype)
        for width in (0, 1, 3, (1, 2), ((2, 0),) * len(shape), [(0, 7)]):
            values = {"constant_values": 7} if mode == "constant" else {}
            want = numpy.pad(x, width, mode, **values)
            for own in (mode, PAD_MODES[mode]):
                made = weft.pad(x, width, own, **values)
                assert made.numpy().dtype == want.dtype and made.tolist() == want.tolist()


@pytest.mark.parametrize("mode", PAD_MODES)
def test_pad_is_recorded_and_has_a_derivative(mode):
    x, weights = numpy.arange(12.0).reshape(3, 4), numpy.arange(42.0).reshape(6, 7)
    g = weft.Graph()
    value = g.input(x)
    kept = [weft.pad(value, ((1, 2), (0, 3)), mode).keep(), numpy.pad(value, 2, mode).keep()]
    g.run()
    assert kept[0].tolist() == numpy.pad(x, ((1, 2), (0, 3)), mode).tolist()
    assert kept[1].tolist() == numpy.pad(x, 2, mode).tolist()
    slope = weft.grad(lambda a: weft.sum(weft.pad(a, ((1, 2), (0, 3)), mode) * weights))(x)
    units = numpy.eye(12).reshape(12, 3, 4)
    want = [(numpy.pad(unit, ((1, 2), (0, 3)), mode) * weights).sum() for unit in units]
    assert slope.numpy().ravel().tolist() == want


@pytest.mark.parametrize("call, error, text", [
    (lambda: weft.pad([1, 2], -1), ValueError, "negative"),
    (lambda: weft.pad([1, 2], ((1, 2), (1, 2))), weft.ShapeError, "each of 1 axes"),
    (lambda: weft.pad([1, 2], (1, 2, 3)), weft.ShapeError, "pad_width"),
    (lambda: weft.pad([1, 2], 1.5), TypeError, "float"),
    (lambda: weft.pad([1, 2], 1, "ramp"), ValueError, "not 'ramp'"),
    (lambda: weft.pad(numpy.zeros((0, 2)), 1, "edge"), weft.ShapeError, "axis 0 has no elements"),
])
def test_pad_refuses(call, error, text):
    with pytest.raises(error, match=text):
        call()
    assert weft.pad(numpy.zeros((0, 2)), 1).shape == (2, 4)


EXTENTS = {"i": 2, "j": 3, "k": 4, "l": 2, "m": 5, "n": 3}


def operands_of(terms, seed):
    random = numpy.random.default_rng(seed)
    return [random.normal(size=[3, 2] * ("..." in term) + [EXTENTS[x] for x in term.replace("...", "")]) for term in terms]


@pytest.mark.parametrize("text", [
    "ij,jk->ik", "ij,jk", "ii", "ii->i", "ij->ji", "ij->", "ij->j", "i,i", "i,j->ij", "ijk,ikl->ijl", "ijk,ilk->il", "ij,ij->",
    "ij,jk,kl->il", "nij,njk->nik", "i,i,i->i", "ijj->i", "iij,jk->ik", "ij,k->ijk", "...ij,...jk->...ik", "...i->...",
    "i...->...", "ij,jk,km,mn->in", "kij,kjl,il->k", "ijij->", "iji->j", ",ij->ij", "ij , jk -> ki", "ij,j", "ijk,jk",
])
def test_einsum_is_that_of_numpy(text):
    arrays = operands_of(text.replace(" ", "").split("->")[0].split(","), 1)
    want, made = numpy.einsum(text, *arrays), weft.einsum(text, *arrays)
    assert made.shape == want.shape
    close(made, want, 1e-12)


def test_einsum_of_random_texts():
    random = numpy.random.default_rng(2)
    for seed in range(100):
        terms = ["".join(random.choice(list(EXTENTS), random.integers(4))) for _ in range(1 + random.integers(4))]
        letters = sorted(set("".join(terms)))
        text = ",".join(terms)
        if seed % 3:
            text += "->" + "".join(random.permutation(letters)[:random.integers(len(letters) + 1)])
        arrays = operands_of(terms, seed)
        if seed % 2:  # axes of one element are repeated
            arrays = [a[tuple(slice(0, 1) if random.random() < 0.3 and term.count(x) == 1 else slice(None) for x in term)]
                      for term, a in zip(terms, arrays)]
        want = numpy.einsum(text, *arrays)
        made = weft.einsum(text, *arrays)
        assert made.shape == want.shape, text
        close(made, want, 1e-12, 1e-12)


def test_einsum_is_recorded_and_has_a_derivative():
    a, b = operands_of(["ij", "ji"], 3)
    slopes = weft.grad(lambda x, y: weft.einsum("ij,ji->", x, y), argnums=(0, 1))(a, b)
    close(slopes[0], b.T), close(slopes[1], a.T)
    g = weft.Graph()
    x = g.input(a)
    kept = [weft.einsum("ij,jk->ki", x, b).keep(), numpy.einsum("ij,jk->ki", x, b).keep()]
    g.run()
    for made in kept:
        close(made, (a @ b).T, 1e-12)


@pytest.mark.parametrize("arguments, error, text", [
    (("ij", numpy.ones(3)), weft.ShapeError, "operand 0 has 1 axes"),
    (("ij,jk", numpy.ones((2, 3)), numpy.ones((2, 2))), weft.ShapeError, "3 and 2 elements"),
    (("i->ii", numpy.ones(3)), ValueError, "each axis once"),
    (("i->j", numpy.ones(3)), ValueError, "an operand has it"),
    (("i,j", numpy.ones(3)), ValueError, "names 2 operands; 1 are given"),
    (("1->", numpy.ones(3)), ValueError, "axes are letters"),
    (("....->", numpy.ones(3)), ValueError, "axes are letters"),
    (("i",), TypeError, "takes a text"),
    ((numpy.ones(3), [0]), TypeError, "takes a text"),
])
def test_einsum_refuses(arguments, error, text):
    with pytest.raises(error, match=text):
        weft.einsum(*arguments)
