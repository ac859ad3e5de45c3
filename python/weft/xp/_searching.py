"""Functions that search, sort, count, and take elements by index; sets."""
from collections import namedtuple

import weft

from .. import _weft
from .._shapes import axis_of
from .._weft import ops
from . import _dtypes
from ._common import check, operands
from ._statistics import cumulative_sum


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


def nonzero(x, /):
    """The indices of the elements that are not 0: an array for each axis."""
    return weft.nonzero(check("nonzero", x))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where the elements of x2 would be inserted in x1, which is sorted, or is by taking `sorter`; NaNs are last."""
    check("searchsorted", x1, "iuf"), check("searchsorted", x2, "iuf")
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: {side!r} is no side; these are 'left' and 'right'")
    if x1.ndim != 1:
        raise ValueError(f"searchsorted: a sorted array of one axis, not {x1.ndim}")
    if sorter is not None:
        x1 = take(x1, sorter)
    operands("searchsorted", (x1, x2), "iuf")
    return weft.searchsorted(x1, x2, side)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements in order along an axis; NaNs are last."""
    return weft.sort(check("sort", x, "biuf"), axis_of(axis, x.ndim), descending=descending)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The indices that sort along an axis; equal elements keep their order, and NaNs are last."""
    return weft.argsort(check("argsort", x, "biuf"), axis_of(axis, x.ndim), descending=descending)


def take(x, indices, /, *, axis=None):
    """The elements at the indices along an axis."""
    check("take", x), check("take", indices, "iu")
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: an array of {x.ndim} axes needs an axis")
        axis = 0
    return weft.take(x, indices, axis)


def take_along_axis(x, indices, /, *, axis=-1):
    """The elements at indices along an axis, others for each place along the other axes."""
    check("take_along_axis", x), check("take_along_axis", indices, "iu")
    axis = axis_of(axis, x.ndim)
    if indices.ndim != x.ndim:
        raise ValueError(f"take_along_axis: indices of {x.ndim} axes, not {indices.ndim}")
    return weft.take_along_axis(x, indices, axis)


_All = namedtuple("unique_all_result", "values indices inverse_indices counts")
_Counts = namedtuple("unique_counts_result", "values counts")
_Inverse = namedtuple("unique_inverse_result", "values inverse_indices")


def unique_all(x, /):
    """The different elements, the index of the first of each, the number of each element's value, and counts."""
    if check("unique_all", x).dtype.kind == "c":
        return _unique_complex(x)
    return _All(*weft.unique(x, True, True, True))


def _unique_complex(x):
    """As the library's unique, which is not for complex numbers: they are sorted by both parts."""
    flat = x.reshape((x.size,))
    if not x.size:
        none = _weft.empty((0,), _dtypes.int64, x.device)
        return _All(flat.copy(), none, none.reshape(x.shape), none.copy())
    by_imaginary = weft.argsort(flat.imag + 0.0)  # -0 and +0 are equal
    order = take(by_imaginary, weft.argsort(take(flat.real + 0.0, by_imaginary)))
    ordered = take(flat, order)
    first = _weft.empty(flat.shape, _dtypes.bool, x.device)
    first[0] = True
    first[1:] = ops.ne(ordered[1:], ordered[:-1])
    starts = weft.flatnonzero(first)
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
