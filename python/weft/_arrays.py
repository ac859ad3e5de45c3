"""Functions that make arrays, operands of functions, results stored in arrays, and the text that shows an array."""
from __future__ import annotations

from . import _weft
from ._c_gradients import _check_stored
from ._weft import ArgumentError, Array, Value, Variable, asarray, empty, ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._weft import DType

Array.__array_priority__ = 1000
Array.__cuda_array_interface__ = property(Array._cuda_array_interface)


def has_buffer(x: object) -> bool:
    """True if an object has the buffer protocol."""
    try:
        memoryview(x)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def operand(x: Any) -> Any:
    """A value of a recording, that of a variable, or anything else as an array."""
    if isinstance(x, Variable):
        return x.get()
    return x if isinstance(x, Value) else asarray(x)


def beside(array: Any, made: Any, given: Any) -> Any:
    """`made` of `given`, in the memory of the array, if that is an array of Weft and `given` lists or other memory."""
    moves = isinstance(array, Array) and isinstance(made, Array) and not isinstance(given, Array)
    return made.to_device(array.device) if moves else made


def _outside(dtype: DType, bound: Any) -> int:
    """-1 if a bound is an int below all numbers of a dtype of integers, 1 if above, else 0."""
    if dtype.kind not in "iu" or not isinstance(bound, int):
        return 0
    bits = dtype.itemsize * 8 - (dtype.kind == "i")
    return 1 if bound >= 1 << bits else -1 if bound < (-1 << bits if dtype.kind == "i" else 0) else 0


def clip(array: ArrayLike, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """The elements between two bounds; None: no bound."""
    array = operand(array)
    if min is not None and _outside(array.dtype, min) >= 0:
        array = ops.max(array, min)
    return array if max is None or _outside(array.dtype, max) > 0 else ops.min(array, max)


def round(array: ArrayLike, decimals: int = 0) -> Array:
    """The nearest multiples of 10 to the minus `decimals`, ties to even; integers stay integers."""
    array = operand(array)
    if array.dtype.kind in "biu":
        return (array if isinstance(array, Value) else array.copy()) if decimals >= 0 else (
            ops.round(array / 10.0**-decimals) * 10.0**-decimals).astype(array.dtype)
    if decimals == 0:
        return ops.round(array)
    scale = 10.0 ** abs(decimals)
    return ops.round(array * scale) / scale if decimals > 0 else ops.round(array / scale) * scale


def stored(result: Any, out: Any) -> Any:
    """The result, or the array `out` with the result stored in it."""
    if out is None:
        return result
    array = asarray(out)
    array[...] = result
    if array is not out:
        _check_stored("out", array)
    return out


def default_dtype(number: Any) -> DType:
    """The dtype of a new array of a number, if none is given."""
    for kind, dtype in ((bool, _weft.bool_), (int, _weft.i64), (complex, _weft.c128)):
        if isinstance(number, kind):
            return dtype
    return _weft.f64


def full(shape, value, dtype=None, device=None, *, ranks=None, grid=None):
    """A new array in which every element is `value`; ranks and grid as in weft.empty."""
    made = empty(shape, default_dtype(value) if dtype is None else dtype, device, ranks=ranks, grid=grid)
    made[...] = value
    return made


def zeros(shape, dtype=_weft.f32, device=None, *, ranks=None, grid=None):
    """A new array of zeros; ranks and grid as in weft.empty."""
    return full(shape, 0, dtype, device, ranks=ranks, grid=grid)


def ones(shape, dtype=_weft.f32, device=None, *, ranks=None, grid=None):
    """A new array of ones; ranks and grid as in weft.empty."""
    return full(shape, 1, dtype, device, ranks=ranks, grid=grid)


def _full_like(array, value, dtype):
    array = asarray(array)
    made = _weft._empty_beside(array.shape, dtype or array.dtype, array.device, (array,))
    made[...] = value
    return made


def zeros_like(array, dtype=None):
    """Zeros with the shape, dtype and device of an array, distributed as it is."""
    return _full_like(array, 0, dtype)


def ones_like(array, dtype=None):
    """Ones with the shape, dtype and device of an array, distributed as it is."""
    return _full_like(array, 1, dtype)


# ---- how arrays are shown ----

_EDGE = 3  # elements at either end of an axis that is too long to be shown
_LONG = 1000  # elements of arrays that are shown whole


def _part(array, axis, cut):
    n = array.shape[axis]
    if not cut or n <= 2 * _EDGE:
        return [array[i] for i in range(n)], None
    return [array[i] for i in (*range(_EDGE), *range(n - _EDGE, n))], _EDGE


def _element(value):
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.8g}"
    return text + "." if text.lstrip("-").isdigit() else text


def _rows(array, cut, indent):
    if array.ndim == 0:
        return _element(array.item())
    parts, gap = _part(array, 0, cut)
    shown = [_rows(part, cut, indent + 1) for part in parts]
    if gap is not None:
        shown.insert(gap, "...")
    separator = ", " if array.ndim == 1 else ",\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + separator.join(shown) + "]"


def _repr(array):
    if array.is_lazy:
        return f"<weft.Array {array.dtype} {array.shape} lazy>"
    try:
        dist = array.dist
    except ArgumentError:
        return "<weft.Array: a block that has ended>"
    if dist is not None:
        lo, hi = array.block_range
        block = ", ".join(f"{a}:{b}" for a, b in zip(lo, hi))
        return f"<weft.Array {array.dtype} {array.shape}, grid {dist.grid}, block [{block}] of {array.ranks}>"
    text = _rows(array, array.size > _LONG, len("Array(")) if array.size else "[]"
    text += f", shape={array.shape}" if not array.size and array.shape != (0,) else ""
    where = "" if array.device == "cpu" else f", device='{array.device}'"
    return f"Array({text}, dtype={array.dtype}{where})"


Array.__repr__ = _repr
Array.__str__ = lambda array: (
    _repr(array) if array.is_lazy or array.dist is not None else
    _rows(array, array.size > _LONG, 0) if array.size else "[]")
Array.__format__ = lambda array, spec: format(array.item(), spec) if spec else str(array)
