"""The extension of the array API standard with linear algebra, on weft.linalg: the last two axes are matrices."""
import math
from collections import namedtuple

import weft

from .._shapes import axes_of
from . import _dtypes
from ._common import check
from ._linear_algebra import both, matmul, matrix_transpose, tensordot, vecdot  # noqa: F401

EighResult = namedtuple("EighResult", ["eigenvalues", "eigenvectors"])
QRResult = namedtuple("QRResult", ["Q", "R"])
SlogdetResult = namedtuple("SlogdetResult", ["sign", "logabsdet"])
SVDResult = namedtuple("SVDResult", ["U", "S", "Vh"])


def _matrices(name, x, square=False, kinds="fc"):
    name = f"linalg.{name}"
    if check(name, x, kinds).ndim < 2 or square and x.shape[-1] != x.shape[-2]:
        raise weft.ShapeError(f"{name}: {x.shape} is not [..., {'n, n' if square else 'm, n'}]")
    return x


# ---- decompositions ----


def cholesky(x, /, *, upper=False):
    """The lower triangular l with l l^H = x, or with `upper` the upper triangular one with u^H u = x."""
    made = weft.linalg.cholesky(_matrices("cholesky", x, square=True))
    return weft.contiguous(weft.conj(made).mT) if upper else made


def eigh(x, /):
    """The eigenvalues of symmetric or Hermitian matrices, in rising order, and the eigenvectors, as columns."""
    return EighResult(*weft.linalg.eigh(_matrices("eigh", x, square=True)))


def eigvalsh(x, /):
    """The eigenvalues of symmetric or Hermitian matrices, in rising order."""
    return eigh(_matrices("eigvalsh", x, square=True)).eigenvalues


def qr(x, /, *, mode="reduced"):
    """q r = x: q has orthonormal columns, with the mode "complete" as many as x has rows, and r is an upper triangle."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"linalg.qr: {mode!r} is no mode; these are 'reduced' and 'complete'")
    return QRResult(*weft.linalg.qr(_matrices("qr", x), mode == "complete"))


def svd(x, /, *, full_matrices=True):
    """u diag(s) vh = x with orthonormal columns of u and rows of vh; `full_matrices` makes both square."""
    u, s, vh = weft.linalg.svd(_matrices("svd", x))
    if full_matrices:
        u, vh = _completed(u), weft.contiguous(weft.conj(_completed(weft.contiguous(weft.conj(vh).mT))).mT)
    return SVDResult(u, s, vh)


def _completed(u):
    """Orthonormal columns, and others that are orthogonal to them."""
    n = u.shape[-1]
    if u.shape[-2] == n:
        return u
    return weft.concat([u, weft.linalg.qr(u, True)[0][..., n:]], axis=-1)


def svdvals(x, /):
    """The singular values, in falling order."""
    return svd(_matrices("svdvals", x), full_matrices=False).S


# ---- systems of equations, determinants ----


def solve(x1, x2, /):
    """The x of x1 x = x2; an x2 of one axis is one right-hand side."""
    a, b = both("linalg.solve", x1, x2, "fc")
    _matrices("solve", a, square=True)
    made = weft.linalg.solve(a, b[:, None] if b.ndim == 1 else b)
    return made[..., 0] if b.ndim == 1 else made


def inv(x, /):
    """The inverse matrices."""
    return weft.linalg.solve(_matrices("inv", x, square=True))


def pinv(x, /, *, rtol=None):
    """The pseudo-inverse, without singular values of up to rtol times the largest."""
    u, s, vh = svd(_matrices("pinv", x), full_matrices=False)
    kept = s > _least(x, s, rtol)
    of_s = weft.where(kept, 1 / weft.where(kept, s, 1), 0).astype(s.dtype)
    return matmul(weft.conj(vh).mT, of_s[..., None].astype(x.dtype) * weft.conj(u).mT)


def _least(x, s, rtol):
    """Singular values up to this count as 0."""
    if rtol is None:
        rtol = max(x.shape[-2:]) * _dtypes.finfo(s.dtype).eps
    elif isinstance(rtol, weft.Array):
        rtol = rtol[..., None]
    return weft.max(s, axis=-1, keepdims=True) * rtol if s.shape[-1] else s


def matrix_rank(x, /, *, rtol=None):
    """The number of singular values above rtol times the largest."""
    s = svdvals(_matrices("matrix_rank", x))
    return weft.count_nonzero(s > _least(x, s, rtol), axis=-1)


def slogdet(x, /):
    """The determinants as a number of absolute value 1, or 0, and the logarithm of the absolute value."""
    return SlogdetResult(*weft.linalg.slogdet(_matrices("slogdet", x, square=True)))


def det(x, /):
    """The determinants."""
    sign, log = slogdet(_matrices("det", x, square=True))
    return sign * weft.exp(log)


def matrix_power(x, n, /):
    """The product of n equal matrices; of -n their inverses, and the identity for 0."""
    _matrices("matrix_power", x, square=True)
    if n < 0:
        x, n = inv(x), -n
    made = None
    while n:
        if n & 1:
            made = x if made is None else matmul(made, x)
        n >>= 1
        x = matmul(x, x) if n else x
    if made is None:
        one = weft.eye(x.shape[-1], dtype=x.dtype).to_device(x.device)
        made = weft.contiguous(one.broadcast_to(x.shape))
    return made


# ---- norms, diagonals, products ----


def _norm(a, axes, ord, keepdims):
    """The norm of absolute values over axes."""
    if ord == math.inf or ord == -math.inf:
        return (weft.max if ord > 0 else weft.min)(a, axis=axes, keepdims=keepdims)
    if ord == 0:
        return weft.sum(a != 0, axis=axes, keepdims=keepdims).astype(a.dtype)
    if ord == 1:
        return weft.sum(a, axis=axes, keepdims=keepdims)
    if ord == 2:
        return weft.sqrt(weft.sum(a * a, axis=axes, keepdims=keepdims))
    return weft.sum(a ** float(ord), axis=axes, keepdims=keepdims) ** (1 / float(ord))


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """(sum |x|^ord)^(1/ord) over one axis, several, or all; for infinities the largest or smallest |x|, for 0 a count."""
    a = abs(check("linalg.vector_norm", x, "fc"))
    return _norm(a, axes_of(axis, a.ndim), ord, keepdims)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """The norm of matrices: "fro", "nuc", 1 and -1 (sums of columns), 2 and -2, infinity and -infinity (of rows)."""
    a = abs(_matrices("matrix_norm", x))
    if ord == "fro":
        return _norm(a, (a.ndim - 2, a.ndim - 1), 2, keepdims)
    if ord in ("nuc", 2, -2):
        s = svdvals(x)
        made = (weft.sum if ord == "nuc" else weft.max if ord == 2 else weft.min)(s, axis=-1)
    elif ord in (1, -1, math.inf, -math.inf):
        sums = weft.sum(a, axis=-2 if abs(ord) == 1 else -1)
        made = (weft.max if ord > 0 else weft.min)(sums, axis=-1)
    else:
        raise ValueError(f"linalg.matrix_norm: there is no norm {ord!r} of matrices")
    return made[..., None, None] if keepdims else made


def diagonal(x, /, *, offset=0):
    """The diagonals, or those `offset` columns to the right."""
    m, n = _matrices("diagonal", x, kinds="biufc").shape[-2:]
    first = max(0, -offset)
    rows = weft.arange(first, max(first, min(m, n - offset))).to_device(x.device)
    return x[..., rows, rows + offset]


def trace(x, /, *, offset=0, dtype=None):
    """The sums of diagonals."""
    from ._statistics import sum as sum_of

    return sum_of(diagonal(_matrices("trace", x, kinds="iufc"), offset=offset), axis=-1, dtype=dtype)


def outer(x1, x2, /):
    """All products of an element of x1 and one of x2."""
    a, b = both("linalg.outer", x1, x2)
    if a.ndim != 1 or b.ndim != 1:
        raise weft.ShapeError(f"linalg.outer: {a.shape} and {b.shape} are not two vectors")
    return a[:, None] * b[None, :]


def cross(x1, x2, /, *, axis=-1):
    """The cross products of vectors of three elements along an axis."""
    a, b = both("linalg.cross", x1, x2)
    if not (-min(a.ndim, b.ndim) <= axis < min(a.ndim, b.ndim)) or a.shape[axis] != 3 or b.shape[axis] != 3:
        raise weft.ShapeError(f"linalg.cross: axis {axis} of {a.shape} and {b.shape} has not three elements")
    if axis >= 0:
        axis -= max(a.ndim, b.ndim)
    p, q = ([weft.moveaxis(x, axis, -1)[..., k] for k in range(3)] for x in (a, b))
    return weft.stack([p[k - 2] * q[k - 1] - p[k - 1] * q[k - 2] for k in range(3)], axis=axis)
