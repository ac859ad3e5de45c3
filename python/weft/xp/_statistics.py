"""Reductions, sums along an axis, and differences."""
import weft

from .. import _weft
from .._shapes import axes_of, axis_of
from .._weft import ops
from . import _dtypes
from ._common import check, recorded


def _sum_dtype(x, dtype):
    """The dtype of a sum: small integers add up in the default one."""
    if dtype is not None:
        return _dtypes.as_dtype(dtype)
    if x.dtype.kind in "bi":
        return _dtypes.int64
    return _dtypes.uint64 if x.dtype.kind == "u" else x.dtype


def _total(name, x, axis, dtype, keepdims):
    """The sum or the product over axes, by the method of values that `name` names."""
    dtype = _sum_dtype(check(name, x), dtype)
    axes = axes_of(axis, x.ndim)
    if not axes:
        return x.astype(dtype)
    return recorded(lambda v: getattr(v.astype(dtype), name)(axes, keepdims=keepdims).astype(dtype), x)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum over axes; None: over all of them."""
    return _total("sum", x, axis, dtype, keepdims)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product over axes; None: over all of them."""
    return _total("prod", x, axis, dtype, keepdims)


def _by_library(f, x, axis, keepdims, *arguments):
    """f of weft over axes; without axes to reduce over one of extent 1."""
    axes = axes_of(axis, x.ndim)
    if axes:
        return f(x, axes, *arguments, keepdims=keepdims)
    return f(x.reshape((1, *x.shape)), 0, *arguments, keepdims=False)


def max(x, /, *, axis=None, keepdims=False):
    """The largest element over axes; NaN where one is."""
    return _by_library(weft.max, check("max", x, "iuf"), axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The smallest element over axes; NaN where one is."""
    return _by_library(weft.min, check("min", x, "iuf"), axis, keepdims)


def all(x, /, *, axis=None, keepdims=False):
    """True where all elements over axes are true, or not 0."""
    return _by_library(weft.all, check("all", x), axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """True where any element over axes is true, or not 0."""
    return _by_library(weft.any, check("any", x), axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements over axes are not 0."""
    return _by_library(weft.count_nonzero, check("count_nonzero", x), axis, keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    """The mean over axes, computed in float64; of no elements NaN."""
    return _by_library(weft.mean, check("mean", x, "fc"), axis, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variance over axes: the squares of deviations, added up and divided by n - correction."""
    return _by_library(weft.var, check("var", x, "f"), axis, keepdims, correction)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The standard deviation over axes, the square root of the variance."""
    return _by_library(weft.std, check("std", x, "f"), axis, keepdims, correction)


def _along(name, x, axis):
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}: an array of {x.ndim} axes needs an axis")
        axis = 0
    return axis_of(axis, x.ndim)


def _cumulative(name, x, axis, dtype, include_initial, first, f):
    axis = _along(name, check(name, x), axis)
    dtype = _sum_dtype(x, dtype)
    made = f(x.astype(dtype, copy=False), axis).astype(dtype, copy=False)
    if not include_initial:
        return made
    shape = list(x.shape)
    shape[axis] += 1
    longer = _weft.empty(tuple(shape), dtype, x.device)
    before = (slice(None),) * axis
    longer[before + (0,)] = first
    longer[before + (slice(1, None),)] = made
    return longer


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """The sum of the elements so far along an axis; `include_initial` puts a 0 before the first one."""
    return _cumulative("cumulative_sum", x, axis, dtype, include_initial, 0, weft.cumsum)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """The product of the elements so far along an axis; `include_initial` puts a 1 before the first one."""
    return _cumulative("cumulative_prod", x, axis, dtype, include_initial, 1, weft.cumprod)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """The differences of neighbours along an axis, n times."""
    from ._manipulation import concat
    axis = axis_of(axis, check("diff", x).ndim)
    parts = [part for part in (prepend, x, append) if part is not None]
    if len(parts) > 1:
        x = concat(parts, axis=axis)
    if x.dtype.kind != "b":
        return weft.diff(x, n, axis)
    before = (slice(None),) * axis
    for _ in range(n):
        x = ops.ne(x[before + (slice(1, None),)], x[before + (slice(None, -1),)])
    return x
