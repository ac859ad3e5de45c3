"""Functions that rearrange, join and repeat arrays."""
import operator

import weft

from .. import _weft
from .._weft import Array
from . import _dtypes
from ._common import axes_of, axis_of, blocks, broadcast


def _array(name, x):
    if not isinstance(x, Array):
        raise TypeError(f"{name}: {type(x).__name__} is no array of weft; weft.xp.asarray makes one")
    return x


def broadcast_to(x, /, shape):
    """A read-only view of a shape, by the rule of broadcasting."""
    return _array("broadcast_to", x).broadcast_to(tuple(shape))


def broadcast_arrays(*arrays):
    """Read-only views of the shape to which the arrays broadcast."""
    shape = broadcast(*(_array("broadcast_arrays", x).shape for x in arrays))
    return [x.broadcast_to(shape) for x in arrays]


def concat(arrays, /, *, axis=0):
    """The arrays one after the other along an axis; None: their elements in C order."""
    arrays = [_array("concat", x) for x in arrays]
    if not arrays:
        raise ValueError("concat: at least one array")
    if axis is None:
        arrays, axis = [x.reshape((-1,) if x.size else (0,)) for x in arrays], 0
    axis = axis_of(axis, arrays[0].ndim)
    shape = list(arrays[0].shape)
    for x in arrays:
        if x.ndim != len(shape) or any(x.shape[i] != shape[i] for i in range(len(shape)) if i != axis):
            raise ValueError(f"concat: the shapes {', '.join(str(x.shape) for x in arrays)} do not fit along axis {axis}")
    shape[axis] = sum(x.shape[axis] for x in arrays)
    made = _weft.empty(tuple(shape), _dtypes.result_type(*arrays), arrays[0].device)
    at = 0
    for x in arrays:
        made[(slice(None),) * axis + (slice(at, at + x.shape[axis]),)] = x
        at += x.shape[axis]
    return made


def expand_dims(x, /, axis):
    """A view with a new axis of extent 1."""
    axis = axis_of(axis, _array("expand_dims", x).ndim + 1)
    return x.reshape(x.shape[:axis] + (1,) + x.shape[axis:])


def squeeze(x, /, axis):
    """A view without axes of extent 1."""
    axes = axes_of(axis, _array("squeeze", x).ndim)
    for a in axes:
        if x.shape[a] != 1:
            raise ValueError(f"squeeze: axis {a} has {x.shape[a]} elements")
    return x.reshape(tuple(n for i, n in enumerate(x.shape) if i not in axes))


def flip(x, /, *, axis=None):
    """A view with axes in reverse order; None: all of them."""
    axes = axes_of(axis, _array("flip", x).ndim)
    return x[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(x.ndim))]


def permute_dims(x, /, axes):
    """A view whose axis i is axes[i] of the array."""
    axes = tuple(axes)
    return _array("permute_dims", x).transpose(axes) if axes else x


def moveaxis(x, source, destination, /):
    """A view with axes moved to other places; the others keep their order."""
    source, destination = axes_of(source, _array("moveaxis", x).ndim), axes_of(destination, x.ndim)
    if len(source) != len(destination):
        raise ValueError("moveaxis: as many places as axes")
    order = [i for i in range(x.ndim) if i not in source]
    for to, axis in sorted(zip(destination, source)):
        order.insert(to, axis)
    return permute_dims(x, order)


def reshape(x, /, shape, *, copy=None):
    """The elements, in C order, with another shape: a view where one is possible, unless `copy`."""
    made = _array("reshape", x).reshape(tuple(shape))
    if copy:
        return made.copy()
    if copy is False and x.size and not _weft.shares_memory(made, x):
        raise ValueError("reshape: no view of this array has that shape, and copy is False")
    return made


def stack(arrays, /, *, axis=0):
    """The arrays along a new axis."""
    arrays = [_array("stack", x) for x in arrays]
    if not arrays or any(x.shape != arrays[0].shape for x in arrays):
        raise ValueError("stack: arrays of one shape, at least one")
    axis = axis_of(axis, arrays[0].ndim + 1)
    shape = arrays[0].shape
    made = _weft.empty(shape[:axis] + (len(arrays),) + shape[axis:], _dtypes.result_type(*arrays), arrays[0].device)
    for i, x in enumerate(arrays):
        made[(slice(None),) * axis + (i,)] = x
    return made


def unstack(x, /, *, axis=0):
    """A tuple of the views at each index of an axis."""
    if not _array("unstack", x).ndim:
        raise ValueError("unstack: an array with axes")
    axis = axis_of(axis, x.ndim)
    return tuple(x[(slice(None),) * axis + (i,)] for i in range(x.shape[axis]))


def _rolled(x, shift, axis):
    n = x.shape[axis]
    shift %= n
    if not shift:
        return x
    made = _weft.empty(x.shape, x.dtype, x.device)
    before = (slice(None),) * axis
    made[before + (slice(shift, None),)] = x[before + (slice(None, n - shift),)]
    made[before + (slice(None, shift),)] = x[before + (slice(n - shift, None),)]
    return made


def roll(x, /, shift, *, axis=None):
    """The elements moved along axes; those that leave at one end come in at the other."""
    if not _array("roll", x).size:
        return x.copy()
    if axis is None:
        return _rolled(x.reshape(-1), operator.index(shift), 0).reshape(x.shape).copy()
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    if len(axes) != len(shifts):
        raise ValueError("roll: as many shifts as axes")
    made = x
    for a, s in zip(axes, shifts):
        made = _rolled(made, operator.index(s), axis_of(a, x.ndim))
    return made.copy() if made is x else made


def _repeated(x, axis, times, inside):
    """Each element (`inside`), or all elements along an axis, so many times in a row."""
    before, n, after = blocks(x.shape, axis)
    shape = (before, n, 1, after) if inside else (before, 1, n, after)
    wide = (before, n, times, after) if inside else (before, times, n, after)
    made = x.reshape(shape).broadcast_to(wide).copy()
    return made.reshape(x.shape[:axis] + (n * times,) + x.shape[axis + 1:])


def tile(x, repetitions, /):
    """The array side by side along its last axes."""
    repetitions = tuple(map(operator.index, repetitions))
    rank = max(_array("tile", x).ndim, len(repetitions))
    repetitions = (1,) * (rank - len(repetitions)) + repetitions
    made = x.reshape((1,) * (rank - x.ndim) + x.shape)
    for axis, times in enumerate(repetitions):
        if times != 1:
            made = _repeated(made, axis, times, False)
    return made.copy() if made is x or all(r == 1 for r in repetitions) else made


def repeat(x, repeats, /, *, axis=None):
    """Each element so many times in a row; `repeats` is a number, or one for each element along the axis."""
    if axis is None:
        x, axis = _array("repeat", x).reshape((x.size,)), 0
    axis = axis_of(axis, x.ndim)
    if isinstance(repeats, Array) and repeats.size == 1:
        repeats = repeats.reshape(()).item()
    if not isinstance(repeats, Array):
        times = operator.index(repeats)
        if times < 0:
            raise ValueError(f"repeat: {times} times")
        return _repeated(x, axis, times, True)
    if repeats.shape != (x.shape[axis],):
        raise ValueError(f"repeat: {repeats.shape} numbers for an axis of {x.shape[axis]} elements")
    return weft.repeat(x, repeats, axis)
