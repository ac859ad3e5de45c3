"""Functions that search, sort, count, and take elements by index; sets."""
import math
from collections import namedtuple

import weft

from .. import _weft
from .._weft import ops
from . import _dtypes
from ._common import axis_of, check, operands, recorded
from ._statistics import _reduced, cumulative_sum


def _arg(name, x, axis, keepdims):
    check(name, x, "iuf")
    search = getattr(weft, name)
    if axis is not None:
        axis = axis_of(axis, x.ndim)
        return search(x, axis, keepdims=keepdims)
    made = search(x.reshape((x.size,)), 0)
    return made.reshape((1,) * x.ndim if keepdims else ())


def argmax(x, /, *, axis=None, keepdims=False):
    """The index of the largest element along an axis, the first one; None: the index in C order."""
    return _arg("argmax", x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """The index of the smallest element along an axis, the first one; None: the index in C order."""
    return _arg("argmin", x, axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements over axes are not 0."""
    check("count_nonzero", x, "biufc")
    return _reduced(x, axis, keepdims,
                    lambda v, axes, kept: ops.ne(v, 0).astype(_dtypes.int64).sum(axes, keepdims=kept))


def _linear(x):
    """The indices, in C order, of the elements that are not 0."""
    return weft.flatnonzero(x)


def nonzero(x, /):
    """The indices of the elements that are not 0: an array for each axis."""
    if not check("nonzero", x, "biufc").ndim:
        raise ValueError("nonzero: an array with axes")
    at = _linear(x)
    sizes = [math.prod(x.shape[axis + 1:]) for axis in range(x.ndim)]
    return tuple(at // size % n if size and n else at for size, n in zip(sizes, x.shape))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where the elements of x2 would be inserted in x1, which is sorted, or is by taking `sorter`; NaNs are last."""
    check("searchsorted", x1, "iuf"), check("searchsorted", x2, "iuf")
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: {side!r} is no side; these are 'left' and 'right'")
    if x1.ndim != 1:
        raise ValueError(f"searchsorted: a sorted array of one axis, not {x1.ndim}")
    if sorter is not None:
        x1 = take(x1, sorter)
    dtype = operands("searchsorted", (x1, x2), "iuf")
    made = _weft.empty(x2.shape, _dtypes.int64, x2.device)
    if not x2.size:
        return made

    def before(a, b):  # in the order of sorted elements
        return ops.select(ops.isnan(b), ops.eq(ops.isnan(a), False), ops.lt(a, b))

    g = _weft.Graph(x2.shape, device=x2.device)
    at = tuple(g.index(axis) for axis in range(x2.ndim))
    sought = g.read(x2, at).astype(dtype)
    low, high = g.local(0, _dtypes.int64), g.local(x1.size, _dtypes.int64)
    g.loop()
    g.while_(low < high)
    middle = ops.shr(low + high, 1)
    element = g.read(x1, middle).astype(dtype)
    later = before(element, sought) if side == "left" else ops.eq(before(sought, element), False)
    lower, upper = ops.select(later, middle + 1, low), ops.select(later, high, middle)
    low.set(lower)
    high.set(upper)
    g.end()
    g.write(made, at, low)
    g.run()
    return made


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements in order along an axis; NaNs are last."""
    return weft.sort(check("sort", x, "biuf"), axis_of(axis, x.ndim), descending=descending)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The indices that sort along an axis; equal elements keep their order, and NaNs are last."""
    return weft.argsort(check("argsort", x, "biuf"), axis_of(axis, x.ndim), descending=descending)


def take(x, indices, /, *, axis=None):
    """The elements at the indices along an axis."""
    check("take", x, "biufc"), check("take", indices, "iu")
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: an array of {x.ndim} axes needs an axis")
        axis = 0
    return x[(slice(None),) * axis_of(axis, x.ndim) + (indices,)]


def take_along_axis(x, indices, /, *, axis=-1):
    """The elements at indices along an axis, others for each place along the other axes."""
    check("take_along_axis", x, "biufc"), check("take_along_axis", indices, "iu")
    axis = axis_of(axis, x.ndim)
    if indices.ndim != x.ndim:
        raise ValueError(f"take_along_axis: indices of {x.ndim} axes, not {indices.ndim}")
    key = []
    for i, n in enumerate(x.shape):
        along = (1,) * i + (n,) + (1,) * (x.ndim - 1 - i)
        key.append(indices if i == axis else recorded(lambda v: v.graph.iota((n,), 0), indices).reshape(along))
    return x[tuple(key)]


_All = namedtuple("unique_all_result", "values indices inverse_indices counts")
_Counts = namedtuple("unique_counts_result", "values counts")
_Inverse = namedtuple("unique_inverse_result", "values inverse_indices")


def _order(x):
    """The indices that sort; equal elements keep their order, +0 and -0 are equal."""
    if x.dtype.kind == "c":
        by_imaginary = _order(x.imag)
        return take(by_imaginary, _order(take(x.real, by_imaginary)))
    return weft.argsort(x + 0 if x.dtype.kind == "f" else x, 0)


def unique_all(x, /):
    """The different elements, the index of the first of each, the number of each element's value, and counts."""
    flat = check("unique_all", x, "biufc").reshape((x.size,))
    if not x.size:
        none = _weft.empty((0,), _dtypes.int64, x.device)
        return _All(flat.copy(), none, none.reshape(x.shape), none.copy())
    order = _order(flat)
    ordered = take(flat, order)
    first = _weft.empty(flat.shape, _dtypes.bool, x.device)
    first[0] = True
    first[1:] = ops.ne(ordered[1:], ordered[:-1])
    starts = _linear(first)
    indices = take(order, starts)
    inverse = _weft.empty(flat.shape, _dtypes.int64, x.device)
    inverse[order] = cumulative_sum(first) - 1
    ends = _weft.empty(starts.shape, _dtypes.int64, x.device)
    ends[:-1] = starts[1:]
    ends[-1] = x.size
    return _All(take(flat, indices), indices, inverse.reshape(x.shape), ends - starts)


def unique_counts(x, /):
    """The different elements, and how often each is there."""
    made = unique_all(x)
    return _Counts(made.values, made.counts)


def unique_inverse(x, /):
    """The different elements, and the number of each element's value."""
    made = unique_all(x)
    return _Inverse(made.values, made.inverse_indices)


def unique_values(x, /):
    """The different elements; each NaN is one."""
    return unique_all(x).values
