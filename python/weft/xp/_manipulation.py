"""Functions that rearrange, join and repeat arrays."""
import operator

import weft

from .. import _weft
from .._shapes import axis_of, broadcast_shapes
from .._weft import Array
from . import _dtypes
from ._common import check


def broadcast_to(x, /, shape):
    """A read-only view of a shape, by the rule of broadcasting."""
    return check("broadcast_to", x).broadcast_to(tuple(shape))


def broadcast_arrays(*arrays):
    """Read-only views of the shape to which the arrays broadcast."""
    shape = broadcast_shapes(*(check("broadcast_arrays", x).shape for x in arrays))
    return [x.broadcast_to(shape) for x in arrays]


def _joined(name, arrays):
    """The arrays in the dtype in which they meet."""
    arrays = [check(name, x) for x in arrays]
    if not arrays:
        raise ValueError(f"{name}: at least one array")
    dtype = _dtypes.result_type(*arrays)
    return [x.astype(dtype, copy=False) for x in arrays]


def concat(arrays, /, *, axis=0):
    """The arrays one after the other along an axis; None: their elements in C order."""
    return weft.concatenate(_joined("concat", arrays), axis)


def stack(arrays, /, *, axis=0):
    """The arrays along a new axis."""
    return weft.stack(_joined("stack", arrays), axis)


def expand_dims(x, /, axis):
    """A view with a new axis of extent 1."""
    return weft.expand_dims(check("expand_dims", x), axis)


def squeeze(x, /, axis):
    """A view without axes of extent 1."""
    return weft.squeeze(check("squeeze", x), axis)


def flip(x, /, *, axis=None):
    """A view with axes in reverse order; None: all of them."""
    return weft.flip(check("flip", x), axis)


def permute_dims(x, /, axes):
    """A view whose axis i is axes[i] of the array."""
    axes = tuple(axes)
    return check("permute_dims", x).transpose(axes) if axes else x


def moveaxis(x, source, destination, /):
    """A view with axes moved to other places; the others keep their order."""
    return weft.moveaxis(check("moveaxis", x), source, destination)


def reshape(x, /, shape, *, copy=None):
    """The elements, in C order, with another shape: a view where one is possible, unless `copy`."""
    made = check("reshape", x).reshape(tuple(shape))
    if copy:
        return made.copy()
    if copy is False and x.size and not _weft.shares_memory(made, x):
        raise ValueError("reshape: no view of this array has that shape, and copy is False")
    return made


def unstack(x, /, *, axis=0):
    """A tuple of the views at each index of an axis."""
    if not check("unstack", x).ndim:
        raise ValueError("unstack: an array with axes")
    axis = axis_of(axis, x.ndim)
    return tuple(x[(slice(None),) * axis + (i,)] for i in range(x.shape[axis]))


def roll(x, /, shift, *, axis=None):
    """The elements moved along axes; those that leave at one end come in at the other."""
    check("roll", x)
    if isinstance(shift, (tuple, list)) and len(shift) != (len(axis) if isinstance(axis, (tuple, list)) else 1):
        raise ValueError("roll: as many shifts as axes")
    return weft.roll(x, shift, axis)


def tile(x, repetitions, /):
    """The array side by side along its last axes."""
    return weft.tile(check("tile", x), tuple(repetitions))


def repeat(x, repeats, /, *, axis=None):
    """Each element so many times in a row; `repeats` is a number, or one for each element along the axis."""
    return weft.repeat(check("repeat", x), repeats if isinstance(repeats, Array) else operator.index(repeats), axis)
