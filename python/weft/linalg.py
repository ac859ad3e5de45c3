"""Linear algebra: of small matrices of values, and of arrays of matrices."""
from __future__ import annotations

from . import _weft
from ._c_linalg import *  # noqa: F403
from ._c_linalg import _lstsq, _solve, slogdet
from ._functions import expand_dims, moveaxis
from ._shapes import axes_of
from ._weft import Array, asarray, ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._typing import ArrayLike, Axes


def _column(b: ArrayLike) -> tuple[Array, bool]:
    """Right-hand sides as columns, and whether they were one vector."""
    b = asarray(b)
    return (b[:, None], True) if b.ndim == 1 else (b, False)


def solve(a: ArrayLike, b: ArrayLike | None = None) -> Array:
    """x of a x = b: a is [..., n, n], b [..., n, k], whose batches broadcast, or a vector [n]; None: the inverse of a."""
    if b is None:
        return _solve(a)
    columns, is_vector = _column(b)
    made = _solve(a, columns)
    return made[..., 0] if is_vector else made


def lstsq(a: ArrayLike, b: ArrayLike, tolerance: float = 0.0) -> Array:
    """x, [..., n, k], that makes the length of each column of a x - b least: a is [..., m, n], b [..., m, k] or a vector
    [m]; of several the shortest. Singular values up to `tolerance`, at most 1, of the largest count as 0; a tolerance of 0
    or less is the precision times the larger of m and n."""
    columns, is_vector = _column(b)
    made = _lstsq(a, columns, tolerance)
    return made[..., 0] if is_vector else made


def inv(a: ArrayLike) -> Array:
    """The inverses of matrices [..., n, n]; a singular one is refused."""
    return _solve(a)


def det(a: ArrayLike) -> Array:
    """The determinants of matrices [..., n, n]; slogdet neither overflows nor vanishes."""
    sign, log = slogdet(a)
    return sign * ops.exp(log)


def norm(x: ArrayLike, ord: float | str | None = None, axis: Axes = None, keepdims: bool = False) -> Array:
    """The norm of vectors along one axis, of matrices over two axes, or of all elements, as numpy.linalg.norm.

    `ord` None: the square root of the sum of squares. Else one axis has (sum |x|^ord)^(1/ord), of infinities the largest
    or smallest |x|, of 0 a count; two axes have "fro", "nuc", 1 and -1 (sums of columns), 2 and -2, and infinities (rows).
    """
    from .xp import linalg as standard

    x = asarray(x)
    x = x if x.dtype.kind in "fc" else x.astype(_weft.f64)
    axes = axes_of(axis, x.ndim)
    if ord is None or len(axes) == 1:
        return standard.vector_norm(x, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise _weft.ShapeError(f"linalg.norm: ord {ord!r} is for one axis or two, not for {len(axes)}")
    made = standard.matrix_norm(moveaxis(x, axes, (-2, -1)), ord=ord)
    return expand_dims(made, axes) if keepdims else made
