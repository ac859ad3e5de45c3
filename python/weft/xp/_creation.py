"""Functions that make arrays."""
import math

from .. import _weft
from .._arrays import default_dtype, has_buffer
from .._c_gradients import _check_lent
from .._weft import Array, ops
from . import _dtypes
from ._common import check, recorded

_DEFAULT = _dtypes.float64


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array of what an object holds: an array of any library, a number, or nested lists of numbers."""
    if dtype is not None:
        dtype = _dtypes.as_dtype(dtype)
    if copy is False:
        if not (isinstance(obj, Array) or hasattr(obj, "__dlpack__") or has_buffer(obj)):
            raise ValueError("asarray: numbers and lists are always copied, and copy is False")
        made = _weft.asarray(obj)
        if (dtype is not None and made.dtype != dtype) or (device is not None and made.device != device):
            raise ValueError("asarray: a conversion is needed, and copy is False")
        return made
    if isinstance(obj, (list, tuple)):
        obj = _stacked(obj)
    return _weft.asarray(obj, dtype, copy, device)


def _stacked(obj):
    """Lists in which arrays without axes are Python numbers."""
    if isinstance(obj, (list, tuple)):
        return [_stacked(o) for o in obj]
    if not isinstance(obj, Array) or obj.ndim:
        return obj
    _check_lent(obj)  # a number of Python has no derivative
    return obj.item()


def from_dlpack(x, /, *, device=None, copy=None):
    """An array over the memory of an array of another library, by DLPack."""
    return _weft.from_dlpack(x, device=device, copy=copy)


def empty(shape, *, dtype=None, device=None):
    """A new array with undefined elements."""
    return _weft.empty(shape, _DEFAULT if dtype is None else dtype, device)


def full(shape, fill_value, *, dtype=None, device=None):
    """A new array in which every element is a number."""
    made = _weft.empty(shape, default_dtype(fill_value) if dtype is None else dtype, device)
    made[...] = fill_value
    return made


def zeros(shape, *, dtype=None, device=None):
    """A new array of zeros."""
    return full(shape, 0, dtype=_DEFAULT if dtype is None else dtype, device=device)


def ones(shape, *, dtype=None, device=None):
    """A new array of ones."""
    return full(shape, 1, dtype=_DEFAULT if dtype is None else dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """A new array with the shape of another one, and its dtype and device unless these are given."""
    return empty(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """full with the shape, dtype and device of another array."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def zeros_like(x, /, *, dtype=None, device=None):
    """zeros with the shape, dtype and device of another array."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """ones with the shape, dtype and device of another array."""
    return full_like(x, 1, dtype=dtype, device=device)


def _of_points(f, shape, dtype, device):
    """An array whose element at the indices i, j, ... is f(i, j, ...)."""
    made = _weft.empty(shape, dtype, device)
    if made.size:
        g = _weft.Graph(shape, device=made.device)
        at = tuple(g.index(axis) for axis in range(len(shape)))
        g.write(made, at, f(*at))
        g.run()
    return made


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """start, start + step, ... below stop; of one number: 0, 1, ... below it."""
    if stop is None:
        start, stop = 0, start
    numbers = (start, stop, step)
    if dtype is None:
        dtype = _dtypes.int64 if all(isinstance(n, int) for n in numbers) else _DEFAULT
    dtype = _dtypes.as_dtype(dtype)
    if step == 0:
        raise ValueError("arange: the step is 0")
    if all(isinstance(n, int) for n in numbers):
        n = len(range(start, stop, step))
    else:
        n = max(math.ceil((stop - start) / step), 0)
    if dtype.kind in "iu" and not all(isinstance(n, int) for n in numbers):
        start, step = int(start), int(start + step) - int(start)
    if dtype.kind in "iu":
        return _of_points(lambda i: i * step + start, (n,), dtype, device)
    return _of_points(lambda i: i.astype(_DEFAULT) * float(step) + float(start), (n,), dtype, device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """`num` numbers from start to stop, evenly spaced; without `endpoint` stop is the next one."""
    if num < 0:
        raise ValueError(f"linspace: {num} is no number of elements")
    if dtype is None:
        dtype = _dtypes.complex128 if isinstance(start, complex) or isinstance(stop, complex) else _DEFAULT
    dtype = _dtypes.as_dtype(dtype)
    steps = num - 1 if endpoint else num
    wide = _dtypes.complex128 if dtype.kind == "c" else _DEFAULT
    number = complex if dtype.kind == "c" else float
    step = (number(stop) - number(start)) / steps if steps > 0 else number("nan")

    def element(i):
        at = i.astype(_DEFAULT) * step + number(start)
        return ops.select(ops.eq(i, steps), number(stop), at) if endpoint and steps > 0 else at

    if steps <= 0:
        return full((num,), start, dtype=dtype, device=device)
    made = _of_points(element, (num,), wide, device)
    return made if dtype == wide else made.astype(dtype)


def _diagonal(k, shape):
    """The number of a diagonal; those beyond the corners of a matrix are all alike."""
    return max(-shape[-2], min(k, shape[-1]))


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on the diagonal k (above the main one: k > 0), zeros elsewhere."""
    shape = (n_rows, n_rows if n_cols is None else n_cols)
    k = _diagonal(k, shape)
    return _of_points(lambda i, j: ops.eq(j - i, k).astype(_weft.i32), shape, _DEFAULT if dtype is None else dtype,
                      device)


def _triangle(name, x, k, keep):
    if not isinstance(x, Array) or x.ndim < 2:
        raise ValueError(f"{name}: an array of at least two axes")

    def parts(v):
        i, j = (v.graph.iota(x.shape[-2:], axis) for axis in (0, 1))
        return ops.select(
            keep(j - i, _diagonal(k, x.shape)), v, v.graph.value(False if x.dtype.kind == "b" else 0, x.dtype)
        )

    return recorded(parts, x) if x.size else x.copy()


def tril(x, /, *, k=0):
    """The elements on and below the diagonal k of matrices, zeros elsewhere."""
    return _triangle("tril", x, k, ops.le)


def triu(x, /, *, k=0):
    """The elements on and above the diagonal k of matrices, zeros elsewhere."""
    return _triangle("triu", x, k, ops.ge)


def meshgrid(*arrays, indexing="xy"):
    """The coordinates of a grid: a list with an array of the grid's shape for each array of coordinates."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: {indexing!r} is no kind of indexing; these are 'xy' and 'ij'")
    for x in arrays:
        check("meshgrid", x)
        if x.ndim > 1:
            raise ValueError("meshgrid: arrays of at most one axis")
    if len({x.dtype for x in arrays}) > 1:
        raise TypeError("meshgrid: arrays of one dtype")
    order = list(range(len(arrays)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = 1, 0
    shape = tuple(arrays[i].size for i in order)
    grids = []
    for i, x in enumerate(arrays):
        along = tuple(x.size if a == i else 1 for a in order)
        grids.append(x.reshape(along).broadcast_to(shape).copy())
    return grids
