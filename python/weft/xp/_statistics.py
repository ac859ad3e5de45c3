"""Reductions, sums along an axis, and differences."""
from .. import _weft
from .._weft import ops
from . import _dtypes
from ._common import axes_of, axis_of, check, recorded


def _sum_dtype(x, dtype):
    """The dtype of a sum: small integers add up in the default one."""
    if dtype is not None:
        return _dtypes.as_dtype(dtype)
    if x.dtype.kind in "bi":
        return _dtypes.int64
    return _dtypes.uint64 if x.dtype.kind == "u" else x.dtype


def _reduced(x, axis, keepdims, f):
    """f(value, axes) of an array; without axes to reduce f gets axes of extent 1."""
    axes = axes_of(axis, x.ndim)
    if axes:
        return recorded(lambda v: f(v, axes, keepdims), x)
    return recorded(lambda v: f(v.reshape((1, *x.shape)), (0,), False), x)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum over axes; None: over all of them."""
    dtype = _sum_dtype(check("sum", x, "biufc"), dtype)
    return _reduced(x, axis, keepdims, lambda v, axes, kept: v.astype(dtype).sum(axes, keepdims=kept).astype(dtype))


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product over axes; None: over all of them."""
    dtype = _sum_dtype(check("prod", x, "biufc"), dtype)
    return _reduced(x, axis, keepdims, lambda v, axes, kept: v.astype(dtype).prod(axes, keepdims=kept).astype(dtype))


def _extreme(name, x, axis, keepdims):
    axes = axes_of(axis, check(name, x, "iuf").ndim)
    if 0 in (x.shape[a] for a in axes):
        raise ValueError(f"{name}: of no elements")
    return _reduced(x, axis, keepdims, lambda v, axes, kept: getattr(v, name)(axes, keepdims=kept))


def max(x, /, *, axis=None, keepdims=False):
    """The largest element over axes; NaN where one is."""
    return _extreme("max", x, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The smallest element over axes; NaN where one is."""
    return _extreme("min", x, axis, keepdims)


def all(x, /, *, axis=None, keepdims=False):
    """True where all elements over axes are true, or not 0."""
    check("all", x, "biufc")
    return _reduced(x, axis, keepdims, lambda v, axes, kept: ops.ne(v, 0).all(axes, keepdims=kept))


def any(x, /, *, axis=None, keepdims=False):
    """True where any element over axes is true, or not 0."""
    check("any", x, "biufc")
    return _reduced(x, axis, keepdims, lambda v, axes, kept: ops.ne(v, 0).any(axes, keepdims=kept))


def _count(x, axes):
    n = 1
    for a in axes:
        n *= x.shape[a]
    return n


def _mean(v, axes, kept, n):
    wide = v.astype(_dtypes.complex128 if v.dtype.kind == "c" else _dtypes.float64)
    return wide.sum(axes, keepdims=kept) / (float(n) if n else float("nan"))


def mean(x, /, *, axis=None, keepdims=False):
    """The mean over axes, computed in float64; of no elements NaN."""
    check("mean", x, "fc")
    n = _count(x, axes_of(axis, x.ndim))
    return _reduced(x, axis, keepdims, lambda v, axes, kept: _mean(v, axes, kept, n).astype(x.dtype))


def _variance(name, x, axis, correction, keepdims, f):
    n = _count(x, axes_of(axis, check(name, x, "f").ndim))
    divisor = n - correction

    def variance(v, axes, kept):
        v = v.astype(_dtypes.float64)
        apart = v - _mean(v, axes, True, n)
        squares = (apart * apart).sum(axes, keepdims=kept)
        return f(squares / (float(divisor) if divisor > 0 else float("nan"))).astype(x.dtype)

    return _reduced(x, axis, keepdims, variance)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variance over axes: the squares of deviations, added up and divided by n - correction."""
    return _variance("var", x, axis, correction, keepdims, lambda v: v)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The standard deviation over axes, the square root of the variance."""
    return _variance("std", x, axis, correction, keepdims, ops.sqrt)


def _along(name, x, axis):
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}: an array of {x.ndim} axes needs an axis")
        axis = 0
    return axis_of(axis, x.ndim)


def _cumulative(name, x, axis, dtype, include_initial, first, f):
    axis = _along(name, check(name, x, "biufc"), axis)
    dtype = _sum_dtype(x, dtype)
    made = recorded(lambda v: f(v.astype(dtype), axis).astype(dtype), x)
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
    return _cumulative("cumulative_sum", x, axis, dtype, include_initial, 0, lambda v, axis: v.cumsum(axis))


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """The product of the elements so far along an axis; `include_initial` puts a 1 before the first one."""
    if _sum_dtype(check("cumulative_prod", x, "biufc"), dtype).kind == "c":
        x = _complex_products(x.astype(_sum_dtype(x, dtype)), _along("cumulative_prod", x, axis))
        return _cumulative("cumulative_prod", x, axis, dtype, include_initial, 1, lambda v, axis: v)
    return _cumulative("cumulative_prod", x, axis, dtype, include_initial, 1, lambda v, axis: v.cumprod(axis))


def _complex_products(x, axis):
    """The products so far of complex numbers, which the library does not scan: each pass doubles how many factors are in."""
    before = (slice(None),) * axis
    factors = 1
    while factors < x.shape[axis]:
        longer = x.copy()
        longer[before + (slice(factors, None),)] = ops.mul(x[before + (slice(factors, None),)],
                                                           x[before + (slice(None, -factors),)])
        x, factors = longer, 2 * factors
    return x


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """The differences of neighbours along an axis, n times."""
    from ._manipulation import concat
    axis = axis_of(axis, check("diff", x, "biufc").ndim)
    parts = [part for part in (prepend, x, append) if part is not None]
    if len(parts) > 1:
        x = concat(parts, axis=axis)
    before = (slice(None),) * axis
    for _ in range(n):
        upper, lower = x[before + (slice(1, None),)], x[before + (slice(None, -1),)]
        x = ops.ne(upper, lower) if x.dtype.kind == "b" else ops.sub(upper, lower)
    return x
