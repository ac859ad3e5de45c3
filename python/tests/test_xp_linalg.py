"""The extension linalg of weft.xp, against NumPy's linalg."""
import math

import pytest

import weft
import weft.xp as xp

numpy = pytest.importorskip("numpy")
try:
    weft.linalg.svd([[1.0]])
except weft.UnsupportedError:
    pytest.skip("there is no LAPACK", allow_module_level=True)

SLACK = {"f4": 2e-4, "c8": 2e-4, "f8": 1e-10, "c16": 1e-10}
SHAPES = [(5, 5), (8, 3), (3, 8), (2, 4, 4), (2, 3, 9, 7), (1, 1)]
SQUARE = [(1, 1), (4, 4), (9, 9), (2, 3, 3), (3, 2, 8, 8)]


@pytest.fixture(params=SLACK)
def dtype(request):
    return request.param


def matrices(shape, dtype, seed=0):
    r = numpy.random.default_rng(seed)
    a = r.normal(size=shape)
    return (a + 1j * r.normal(size=shape) if dtype[0] == "c" else a).astype(dtype)


def close(got, wanted, dtype):
    got, wanted = numpy.asarray(got), numpy.asarray(wanted)
    assert got.shape == wanted.shape and got.dtype == wanted.dtype, (got.shape, wanted.shape, got.dtype, wanted.dtype)
    assert numpy.allclose(got, wanted, rtol=SLACK[dtype], atol=SLACK[dtype])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr(shape, mode, dtype):
    a = matrices(shape, dtype)
    made, (q, r) = xp.linalg.qr(xp.asarray(a), mode=mode), numpy.linalg.qr(a, mode)
    close(made.Q, q, dtype)
    close(made.R, r, dtype)
    q = numpy.asarray(made.Q)
    assert numpy.allclose(q.conj().swapaxes(-1, -2) @ q, numpy.eye(q.shape[-1]), atol=SLACK[dtype])


@pytest.mark.parametrize("shape", SQUARE)
def test_determinants(shape, dtype):
    a = matrices(shape, dtype)
    made, (sign, logarithm) = xp.linalg.slogdet(xp.asarray(a)), numpy.linalg.slogdet(a)
    close(made.sign, sign, dtype)
    close(made.logabsdet, logarithm, dtype)
    assert numpy.allclose(numpy.asarray(xp.linalg.det(xp.asarray(a))), numpy.linalg.det(a), rtol=10 * SLACK[dtype])


def test_determinants_of_all_kinds():
    order = numpy.random.default_rng(3).permutation(300)
    big = numpy.eye(300)[order] * 1e-3
    sign, log = xp.linalg.slogdet(xp.asarray(big))
    assert sign.item() == numpy.linalg.slogdet(big)[0] and math.isclose(log.item(), 300 * math.log(1e-3))
    for singular in (numpy.zeros((7, 7)), numpy.array([[1.0, 2.0], [2.0, 4.0]])):
        sign, log = xp.linalg.slogdet(xp.asarray(singular))
        assert sign.item() == 0 and log.item() == -math.inf and xp.linalg.det(xp.asarray(singular)).item() == 0
    for empty in ((0, 0), (0, 3, 3), (2, 0, 0)):
        close(xp.linalg.slogdet(xp.zeros(empty))[0], numpy.linalg.slogdet(numpy.zeros(empty))[0], "f8")
        for mode in ("reduced", "complete"):
            close(xp.linalg.qr(xp.zeros(empty), mode=mode)[0], numpy.linalg.qr(numpy.zeros(empty), mode)[0], "f8")
    close(xp.linalg.qr(xp.zeros((3, 0)), mode="complete")[0], numpy.eye(3), "f8")
    for b, m, n in ((0, 5, 3), (0, 3, 5), (2, 0, 3), (2, 3, 0)):
        for mode, k in (("reduced", min(m, n)), ("complete", m)):
            q, r = xp.linalg.qr(xp.zeros((b, m, n)), mode=mode)
            assert q.shape == (b, m, k) and r.shape == (b, k, n)
    with pytest.raises(weft.Error, match=r"wf_slogdet: matrix \[1\] of `a` has an element that is not finite"):
        xp.linalg.slogdet(xp.asarray(numpy.array([numpy.eye(3), numpy.full((3, 3), numpy.nan)])))


@pytest.mark.parametrize("shape", SHAPES)
def test_singular_values(shape, dtype):
    a = matrices(shape, dtype)
    x = xp.asarray(a)
    close(xp.linalg.svdvals(x), numpy.linalg.svd(a, compute_uv=False), dtype)
    for full in (True, False):
        u, s, vh = map(numpy.asarray, xp.linalg.svd(x, full_matrices=full))
        wanted = numpy.linalg.svd(a, full_matrices=full)
        assert u.shape == wanted[0].shape and vh.shape == wanted[2].shape
        k = s.shape[-1]
        close(u[..., :k] * s[..., None, :] @ vh[..., :k, :], a, dtype)
        for q in (u, vh.conj().swapaxes(-1, -2)):
            assert numpy.allclose(q.conj().swapaxes(-1, -2) @ q, numpy.eye(q.shape[-1]), atol=SLACK[dtype])
    close(xp.linalg.pinv(x), numpy.linalg.pinv(a), dtype)
    assert numpy.array_equal(numpy.asarray(xp.linalg.matrix_rank(x)), numpy.linalg.matrix_rank(a))
    thin = a[..., :1] @ a[..., :1, :]
    assert numpy.all(numpy.asarray(xp.linalg.matrix_rank(xp.asarray(thin))) == 1)
    close(xp.linalg.pinv(xp.asarray(thin)), numpy.linalg.pinv(thin, rcond=1e-5), dtype)


@pytest.mark.parametrize("shape", SQUARE)
def test_systems(shape, dtype):
    a = matrices(shape, dtype) + 4 * numpy.eye(shape[-1], dtype=dtype)
    x, n = xp.asarray(a), shape[-1]
    close(xp.linalg.inv(x), numpy.linalg.inv(a), dtype)
    b = matrices(shape[:-1] + (2,), dtype, 1)
    close(xp.linalg.solve(x, xp.asarray(b)), numpy.linalg.solve(a, b), dtype)
    one = b[(0,) * (b.ndim - 2)][:, 0]
    close(xp.linalg.solve(x, xp.asarray(one)), numpy.linalg.inv(a) @ one, dtype)
    square = a @ a.conj().swapaxes(-1, -2)
    close(xp.linalg.cholesky(xp.asarray(square)), numpy.linalg.cholesky(square), dtype)
    close(xp.linalg.cholesky(xp.asarray(square), upper=True),
          numpy.linalg.cholesky(square).conj().swapaxes(-1, -2), dtype)
    values, vectors = xp.linalg.eigh(xp.asarray(square))
    scale = numpy.abs(square).max()
    assert numpy.allclose(numpy.asarray(xp.linalg.eigvalsh(xp.asarray(square))), numpy.linalg.eigvalsh(square),
                          atol=SLACK[dtype] * scale)
    v = numpy.asarray(vectors)
    assert numpy.allclose(square @ v, v * numpy.asarray(values)[..., None, :], atol=SLACK[dtype] * scale)
    for power in (0, 1, 2, 5):
        made, wanted = numpy.asarray(xp.linalg.matrix_power(x / n, power)), numpy.linalg.matrix_power(a / n, power)
        assert made.shape == wanted.shape and numpy.allclose(made, wanted, rtol=SLACK[dtype], atol=SLACK[dtype] * 1e3)
    close(xp.linalg.matrix_power(x, -1), numpy.linalg.inv(a), dtype)


def vector_norm(a, ord, axis, keepdims):
    """numpy.linalg.vector_norm, which NumPy has since 2.0."""
    axes = range(a.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = [k % a.ndim for k in axes]
    others = [k for k in range(a.ndim) if k not in axes]
    flat = a.transpose(others + axes).reshape([a.shape[k] for k in others] + [-1])
    norm = numpy.linalg.norm(flat, ord=ord, axis=-1)
    return numpy.expand_dims(norm, tuple(axes)) if keepdims else norm


@pytest.mark.parametrize("shape", SHAPES)
def test_norms(shape, dtype):
    a = matrices(shape, dtype)
    x = xp.asarray(a)
    for keepdims in (False, True):
        for ord in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
            close(xp.linalg.matrix_norm(x, ord=ord, keepdims=keepdims),
                  numpy.linalg.norm(a, ord=ord, axis=(-2, -1), keepdims=keepdims), dtype)
        for ord in (0, 1, 2, 3, 0.5, -1, math.inf, -math.inf):
            for axis in (None, -1, 0, (0, 1)):
                close(xp.linalg.vector_norm(x, ord=ord, axis=axis, keepdims=keepdims),
                      vector_norm(a, ord, axis, keepdims), dtype)


@pytest.mark.parametrize("offset", [-9, -2, 0, 1, 9])
def test_diagonals(offset):
    for shape in SHAPES + [(0, 3), (2, 0, 0)]:
        a = matrices(shape, "f8")
        close(xp.linalg.diagonal(xp.asarray(a), offset=offset), numpy.diagonal(a, offset, -2, -1), "f8")
        close(xp.linalg.trace(xp.asarray(a), offset=offset), numpy.trace(a, offset, -2, -1), "f8")


def test_arrays_of_emulated_gpus():
    if not weft.device_count("cuda-emu"):
        pytest.skip("the emulated GPU is not there")
    a = matrices((2, 4, 4), "f8")
    x = xp.asarray(a, device="cuda-emu")
    for made, wanted in ((xp.linalg.diagonal(x, offset=1), numpy.diagonal(a, 1, -2, -1)),
                         (xp.linalg.matrix_power(x, 0), numpy.linalg.matrix_power(a, 0))):
        assert made.device == x.device == "cuda-emu"
        close(made.to_device("cpu"), wanted, "f8")


def test_products():
    a, b = matrices((4, 3), "f8"), matrices((2, 4, 3), "f8", 1)
    close(xp.linalg.cross(xp.asarray(a), xp.asarray(b)), numpy.cross(a, b), "f8")
    close(xp.linalg.cross(xp.asarray(a.T), xp.asarray(a.T + 1), axis=0), numpy.cross(a.T, a.T + 1, axis=0), "f8")
    close(xp.linalg.outer(xp.asarray(a[0]), xp.asarray(a[:, 0])), numpy.outer(a[0], a[:, 0]), "f8")
    close(xp.linalg.matmul(xp.asarray(a), xp.asarray(b).mT), a @ b.swapaxes(-1, -2), "f8")


def test_refused():
    x = xp.ones((3, 4))
    for f in ("cholesky", "det", "eigh", "eigvalsh", "inv", "slogdet"):
        with pytest.raises(ValueError, match=f"linalg.{f}"):
            getattr(xp.linalg, f)(x)
        with pytest.raises(TypeError, match=f"linalg.{f}"):
            getattr(xp.linalg, f)(xp.ones((3, 3), dtype=xp.int32))
    for mistake in (lambda: xp.linalg.qr(x, mode="raw"), lambda: xp.linalg.qr(x[0]), lambda: xp.linalg.outer(x, x),
                    lambda: xp.linalg.cross(x, x), lambda: xp.linalg.cross(x, x, axis=5),
                    lambda: xp.linalg.matrix_norm(x, ord=7), lambda: xp.linalg.matrix_power(x, 2)):
        with pytest.raises(ValueError):
            mistake()
    with pytest.raises(TypeError):
        xp.linalg.solve(xp.ones((3, 3)), [1, 2, 3])
