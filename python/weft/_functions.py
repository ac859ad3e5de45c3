"""Functions of arrays by NumPy's names, in addition to the library's functions, which weft._c_functions holds."""
from __future__ import annotations

import math
import operator

from . import _weft
from ._arrays import beside, clip, full, operand, round
from ._c_functions import _histogram, _matmul, _quantile, _quantiles, _repeat, _repeat_counts, _searchsorted, _unique, _vecdot
from ._c_functions import flatnonzero, iota, linspace, min_max, sort
from ._c_functions import tile as _tile
from ._c_gradients import _check_lent
from ._shapes import axes_of, axis_of
from ._values import matmul as matmul_of_values
from ._weft import ArgumentError, Array, Graph, ShapeError, Value, Variable, asarray, empty, ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, SupportsIndex

    from ._typing import ArrayLike, Axes, DTypeLike, Shape


def contiguous(array: ArrayLike) -> Array:
    """The array itself, where its elements lie side by side in C order; else a copy."""
    array = asarray(array)
    step = array.itemsize
    for extent, stride in zip(reversed(array.shape), reversed(array.strides)):
        if extent != 1 and stride != step and array.size:
            return array.copy()
        step *= extent
    return array


def arange(start: float, stop: float | None = None, step: float = 1, dtype: DTypeLike | None = None) -> Array:
    """The numbers start, start + step, ..., below stop: i64 if all three are ints, else f64. arange(n) starts at 0."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: the step is 0")
    n = -int((start - stop) // step)
    numbers = iota(n if n > 0 else 0, None, _weft.i64)
    if all(isinstance(x, int) for x in (start, stop, step)):
        numbers = numbers * step + start
    else:
        numbers = numbers.astype(_weft.f64) * float(step) + float(start)
    return numbers if dtype is None else numbers.astype(dtype)


def eye(n: int, m: int | None = None, k: int = 0, dtype: DTypeLike = _weft.f32) -> Array:
    """[n, m]: ones where the column is the row plus k, else zeros."""
    rows, columns = iota((n, 1)), iota((1, n if m is None else m))
    return (columns == rows + k).astype(dtype)


def concatenate(arrays: Sequence[ArrayLike], axis: SupportsIndex | None = 0) -> Array:
    """Arrays one after the other along an axis; None: their elements in C order."""
    parts = [operand(a) for a in arrays]
    if not parts:
        raise ValueError("concatenate: there are no arrays")
    if axis is None:
        parts, axis = [ravel(p) for p in parts], 0
    axis = axis_of(axis, parts[0].ndim)
    for p in parts:
        if p.ndim != parts[0].ndim or any(
            d != axis and a != b for d, (a, b) in enumerate(zip(p.shape, parts[0].shape))
        ):
            raise ShapeError(f"concatenate: {p.shape} and {parts[0].shape} differ beside axis {axis}")
    value = next((p for p in parts if isinstance(p, Value)), None)
    if value is not None:
        dtype = result_type(*(empty(0, p.dtype) for p in parts))
        return value._concat(tuple(p.astype(dtype) for p in parts), axis)
    shape = list(parts[0].shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    made = _weft._empty_beside(tuple(shape), result_type(*parts), parts[0].device, parts)
    at = 0
    for p in parts:
        made[(slice(None),) * axis + (slice(at, at + p.shape[axis]),)] = p
        at += p.shape[axis]
    return made


concat = concatenate


def _of_lists(lists: Sequence[Any]) -> Array:
    """The array of nested lists of which some items are arrays."""
    parts = [_of_lists(x) if isinstance(x, (list, tuple)) else asarray(x) for x in lists]
    for p in parts:
        if p.shape != parts[0].shape:
            raise ShapeError(f"the items of a list have different shapes: {parts[0].shape} and {p.shape}")
    return stack(parts)


def stack(arrays: Sequence[ArrayLike], axis: SupportsIndex = 0) -> Array:
    """Arrays of one shape side by side along a new axis."""
    parts = [operand(a) for a in arrays]
    if not parts:
        raise ValueError("stack: there are no arrays")
    return concatenate([expand_dims(p, axis) for p in parts], axis)


def result_type(*arrays: ArrayLike) -> Any:
    """The dtype of a sum of such arrays."""
    dtype: Any = None
    for array in arrays:
        a = asarray(array)
        if dtype is None or dtype == a.dtype:
            dtype = a.dtype
        elif {dtype.kind, a.dtype.kind} == {"i", "u"} and _weft.u64 in (dtype, a.dtype):
            raise _weft.DtypeError("i64 meets u64; cast one of them")
        else:
            dtype = ops.select(True, empty(0, dtype), empty(0, a.dtype)).dtype
    return dtype


# ---- shapes ----


def reshape(array: ArrayLike, shape: Shape) -> Array:
    """The elements in C order in another shape; a view where that is possible."""
    return operand(array).reshape(shape)


def ravel(array: ArrayLike) -> Array:
    """The elements in C order, along one axis; a view where that is possible."""
    array = operand(array)
    return array.reshape(-1 if isinstance(array, Value) else array.size)


def flatten(array: ArrayLike) -> Array:
    """A copy of the elements in C order, along one axis."""
    array = operand(array)
    return ravel(array) if isinstance(array, Value) else array.copy().reshape(array.size)


def squeeze(array: ArrayLike, axis: Axes = None) -> Array:
    """A view without axes of extent 1: all of them, or those that `axis` names."""
    array = operand(array)
    if axis is None:
        drop = {d for d, n in enumerate(array.shape) if n == 1}
    else:
        drop = set(axes_of(axis, array.ndim))
        if any(array.shape[d] != 1 for d in drop):
            raise ShapeError(f"squeeze: an axis of {array.shape} that is dropped has another extent than 1")
    return array[tuple(0 if d in drop else slice(None) for d in range(array.ndim))]


def expand_dims(array: ArrayLike, axis: SupportsIndex | Sequence[SupportsIndex]) -> Array:
    """A view with more axes, of extent 1, at these places of the result."""
    array = operand(array)
    rank = array.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1)
    made = axes_of(axis, rank)
    return array[tuple(None if d in made else slice(None) for d in range(rank))]


def transpose(array: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """A view: axis d is axes[d] of the array; without axes in reverse order."""
    return operand(array).T if axes is None else operand(array).transpose(tuple(axes))


permute_dims = transpose


def moveaxis(array: ArrayLike, source: Axes, destination: Axes) -> Array:
    """A view with axes moved to other places; the other axes keep their order."""
    array = operand(array)
    moved, places = axes_of(source, array.ndim), axes_of(destination, array.ndim)
    if len(moved) != len(places):
        raise ValueError("moveaxis: as many places as axes")
    order = [axis for axis in range(array.ndim) if axis not in moved]
    for place, axis in sorted(zip(places, moved)):
        order.insert(place, axis)
    return array.transpose(order) if order else array


def swapaxes(array: ArrayLike, axis1: SupportsIndex, axis2: SupportsIndex) -> Array:
    """A view with two axes exchanged."""
    array = operand(array)
    order = list(range(array.ndim))
    one, two = axis_of(axis1, array.ndim), axis_of(axis2, array.ndim)
    order[one], order[two] = two, one
    return array.transpose(order)


def flip(array: ArrayLike, axis: Axes = None) -> Array:
    """A view with the elements along axes in reverse order; None: along all."""
    array = operand(array)
    flipped = axes_of(axis, array.ndim)
    return array[tuple(slice(None, None, -1) if d in flipped else slice(None) for d in range(array.ndim))]


def _roll(array: Array, shift: SupportsIndex, axis: SupportsIndex) -> Array:
    axis = axis_of(axis, array.ndim)
    n = array.shape[axis]
    at = n - operator.index(shift) % n if n else 0
    before = (slice(None),) * axis
    return concatenate([array[before + (slice(at, None),)], array[before + (slice(0, at),)]], axis)


def roll(array: ArrayLike, shift: SupportsIndex | Sequence[SupportsIndex], axis: Axes = None) -> Array:
    """The elements moved along axes; those that leave at one end come in at the other. None: in C order. A shift for
    each axis, or one for all."""
    array = operand(array)
    if axis is None:
        return roll(ravel(array), shift, 0).reshape(array.shape)
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    shifts = tuple(shift) if isinstance(shift, (tuple, list)) else (shift,)
    many = max(len(axes), len(shifts))
    if len(axes) not in (1, many) or len(shifts) not in (1, many):
        raise ValueError(f"roll: {len(shifts)} shifts of {len(axes)} axes")
    for s, a in zip(shifts * (many // max(len(shifts), 1)), axes * (many // max(len(axes), 1))):
        array = _roll(array, s, a)
    return array


def tile(array: ArrayLike, times: int | Sequence[int]) -> Array:
    """The array repeated side by side `times` along its last axes: a number for each, or one number."""
    array = operand(array)
    many = tuple(times) if isinstance(times, (tuple, list)) else (times,)
    many = (1,) * (array.ndim - len(many)) + many
    if isinstance(array, Value):
        for axis, n in enumerate(many):
            array = concatenate([array.reshape((1,) * (len(many) - array.ndim) + array.shape)] * n, axis)
        return array
    return _tile(array.reshape((1,) * (len(many) - array.ndim) + array.shape), many)


def broadcast_to(array: ArrayLike, shape: Shape) -> Array:
    """A read-only view of that shape."""
    return operand(array).broadcast_to(shape)


def astype(array: ArrayLike, dtype: DTypeLike) -> Array:
    """The elements converted."""
    return operand(array).astype(dtype)


# ---- elements ----


def quantile(array: ArrayLike, q: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The element at q (n - 1) in ascending order, interpolated; for several q, the axes of q come first."""
    parts = asarray(q, _weft.f64)
    _check_lent(parts)
    if parts.ndim == 0:
        return _quantile(array, parts.item(), axis, keepdims=keepdims)
    found = _quantiles(array, parts.reshape(-1).tolist(), axis, keepdims=keepdims)
    return found if parts.ndim == 1 else found.reshape(parts.shape + found.shape[1:])


def percentile(array: ArrayLike, q: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """quantile with q from 0 to 100."""
    percents = asarray(q, _weft.f64)
    _check_lent(percents)
    for x in percents.reshape(-1).tolist():
        if not 0 <= x <= 100:
            raise ArgumentError(f"percentile: {x:g} is not from 0 to 100")
    return quantile(array, percents / 100, axis, keepdims=keepdims)


def histogram(array: ArrayLike, bins: int | Sequence[float] = 10,
              range: tuple[float, float] | None = None) -> tuple[Array, Array]:
    """(counts, edges): how many elements lie in each of `bins` equal parts of `range`; None: from the least to the largest.
    With a sequence of rising edges as `bins`: in each part between two of them, the last edge included."""
    array = asarray(array)
    if not hasattr(bins, "__index__") or getattr(bins, "ndim", 0):
        edges = asarray(bins, _weft.f64)
        if edges.ndim != 1 or edges.size < 2 or bool((diff(edges) < 0).any()):
            raise ArgumentError("histogram: bins are a number, or edges in rising order")
        elements = sort(ravel(array).astype(_weft.f64))
        below = concatenate([searchsorted(elements, edges[:-1]), searchsorted(elements, edges[-1:], "right")])
        return diff(below), edges
    bins = operator.index(bins)  # type: ignore[arg-type]
    if range is None:
        least, most = (0.0, 1.0) if array.size == 0 else (x.item() for x in min_max(array))
        range = (least - 0.5, most + 0.5) if least == most else (least, most)
    counts = _histogram(array, bins, float(range[0]), float(range[1]))
    return counts, linspace(float(range[0]), float(range[1]), bins + 1)


def nonzero(array: ArrayLike) -> tuple[Array, ...]:
    """Indices along each axis of the elements that are not 0."""
    array = asarray(array)
    if array.ndim == 0:
        raise ShapeError("nonzero: an array without axes has no indices")
    return unravel_index(flatnonzero(array), array.shape)


def argwhere(array: ArrayLike) -> Array:
    """[count, ndim]: the indices of the elements that are not 0."""
    return stack(nonzero(array), 1)


def unravel_index(indices: ArrayLike, shape: Sequence[int]) -> tuple[Array, ...]:
    """Indices along the axes of linear indices in C order."""
    rest, parts = asarray(indices), []
    for n in reversed(tuple(shape)):
        parts.append(rest % n if n else rest)
        rest = rest // n if n else rest
    return tuple(reversed(parts))


def unique(
    array: ArrayLike, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """The different elements in ascending order; also the index of the first of each, in C order, the place of each
    element among them, and how many there are of each. NaNs are different from each other."""
    parts = _unique(array)
    wanted = [part for part, want in zip(parts[1:], (return_index, return_inverse, return_counts)) if want]
    return (parts[0], *wanted) if wanted else parts[0]


def searchsorted(sorted: ArrayLike, values: ArrayLike, side: str = "left") -> Array:
    """Where the values belong in an ascending array: before its equal elements (left), or behind them (right)."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is 'left' or 'right', not {side!r}")
    return _searchsorted(*_in_common(sorted, values), side == "right")


def repeat(array: ArrayLike, repeats: int | ArrayLike, axis: SupportsIndex | None = None) -> Array:
    """Each element of an axis `repeats` times in a row: one number, or one for each element; None: in C order."""
    if isinstance(array, (Value, Variable)):
        array = operand(array)
        array, axis = (ravel(array), 0) if axis is None else (array, axis_of(axis, array.ndim))
        return take(array, repeat(iota(array.shape[axis], None, _weft.i64), repeats), axis)
    if isinstance(repeats, int):
        return _repeat(array, repeats, axis)
    array, counts = asarray(array), asarray(repeats)
    if axis is None:
        array, axis = ravel(array), 0
    axis = axis_of(axis, array.ndim)
    return _repeat_counts(array, counts.broadcast_to((array.shape[axis],)) if counts.size == 1 else counts, axis)


def take(array: ArrayLike, indices: ArrayLike, axis: SupportsIndex | None = None) -> Array:
    """The elements at these indices of an axis; None: in C order."""
    array = operand(array)
    if axis is None:
        array, axis = ravel(array), 0
    return array[(slice(None),) * axis_of(axis, array.ndim) + (beside(array, asarray(indices), indices),)]


def take_along_axis(array: ArrayLike, indices: ArrayLike, axis: SupportsIndex = -1) -> Array:
    """For each index of `indices` the element at this index of its line along the axis; argsort gives such indices."""
    array = operand(array)
    indices = beside(array, asarray(indices), indices)
    axis = axis_of(axis, array.ndim)
    key = tuple(indices if d == axis else iota((n,) + (1,) * (array.ndim - 1 - d)).to_device(indices.device)
                for d, n in enumerate(array.shape))
    return array[key]


def _pad_widths(widths: Any, rank: int) -> list[tuple[int, int]]:
    """(before, behind) for each axis: widths are a number or a pair for all axes, or one of these for each axis."""
    if not isinstance(widths, (tuple, list)) or (
        len(widths) == 2 and not any(isinstance(w, (tuple, list)) for w in widths)
    ):
        widths = [widths]
    pairs = [w if isinstance(w, (tuple, list)) else (w, w) for w in widths]
    if len(pairs) == 1:
        pairs = pairs * rank
    if len(pairs) != rank or any(len(pair) != 2 for pair in pairs):
        raise ShapeError(f"pad: pad_width is a number, a pair (before, behind), or one pair for each of {rank} axes")
    made = [(operator.index(before), operator.index(behind)) for before, behind in pairs]
    if any(width < 0 for pair in made for width in pair):
        raise ValueError("pad: pad_width is negative")
    return made


def _read_around(array: Array, widths: list[tuple[int, int]], border: str, outside: Any = None) -> Array:
    """The array with more elements around it, by a border mode; for "value" with `outside` there."""
    graph = Graph()
    shape = tuple(before + n + behind for n, (before, behind) in zip(array.shape, widths))
    made = graph.read(array, [graph.iota(shape, d) - before for d, (before, _) in enumerate(widths)], border, outside).keep()
    graph.run()
    return made


_PAD_MODES = {"constant": "value", "edge": "clamp", "reflect": "reflect", "symmetric": "mirror", "wrap": "periodic"}


def pad(array: ArrayLike, pad_width: Any, mode: str = "constant", constant_values: complex = 0) -> Array:
    """The array with more elements before and behind each axis: pad_width is a number, a pair, or a pair for each axis.

    The modes are NumPy's "constant", "edge", "reflect", "symmetric" and "wrap", or the border modes of Weft "value",
    "clamp", "reflect", "mirror" and "periodic".

    >>> import weft
    >>> weft.pad([1, 2, 3], (1, 2), "edge").tolist()
    [1, 1, 2, 3, 3, 3]
    """
    array = operand(array)
    border = _PAD_MODES.get(mode, mode if mode in _PAD_MODES.values() else None)
    if border is None:
        raise ValueError(f"pad: mode is one of {', '.join(_PAD_MODES)}, not {mode!r}")
    widths = _pad_widths(pad_width, array.ndim)
    for axis, (n, width) in enumerate(zip(array.shape, widths)):
        if border != "value" and not n and any(width):
            raise ShapeError(f"pad: axis {axis} has no elements, of which mode {mode!r} needs one")
    if not any(map(any, widths)):
        return array if isinstance(array, Value) else array.copy()
    if not isinstance(array, Value):
        return _read_around(array, widths, border, constant_values if border == "value" else None)
    for axis, width in enumerate(widths):
        if border == "value":
            shapes = [array.shape[:axis] + (n,) + array.shape[axis + 1:] for n in width]
            before, behind = (full(shape, constant_values, array.dtype) for shape in shapes)
            array = concatenate([before, array, behind], axis)
        elif any(width):
            array = take(array, _read_around(iota(array.shape[axis]), [width], border), axis)
    return array


def diff(array: ArrayLike, n: int = 1, axis: SupportsIndex = -1) -> Array:
    """Differences of neighbours along an axis, n times over; of bools whether they differ."""
    array = operand(array)
    if n < 0:
        raise ValueError(f"diff: {n} times")
    axis = axis_of(axis, array.ndim)
    before = (slice(None),) * axis
    for _ in range(min(n, array.shape[axis])):
        upper, lower = array[before + (slice(1, None),)], array[before + (slice(None, -1),)]
        array = upper ^ lower if array.dtype.kind == "b" else upper - lower
    return array


# ---- products ----


def _in_common(a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    """Two arrays, bools and integers in the dtype of their sum."""
    a, b = asarray(a), asarray(b)
    if a.dtype == b.dtype or a.dtype.kind not in "biu" or b.dtype.kind not in "biu":
        return a, b
    dtype = result_type(a, b)
    return a.astype(dtype, copy=False), b.astype(dtype, copy=False)


def _product(function: Any, a: ArrayLike, b: ArrayLike, **options: Any) -> Array:
    """A function that adds up products; of bools it tells whether one of them is true."""
    a, b = _in_common(a, b)
    if a.dtype == b.dtype == _weft.bool_:
        return function(a.astype(_weft.i64), b.astype(_weft.i64), **options) != 0
    return function(a, b, **options)


def matmul(a: ArrayLike, b: ArrayLike) -> Array:
    """Matrix products of the last two axes; an array of one axis is a row on the left, a column on the right."""
    if isinstance(a, (Value, Variable)) or isinstance(b, (Value, Variable)):
        return matmul_of_values(a, b)
    a, b = asarray(a), asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError("matmul: an array without axes is no matrix")
    made = _product(_matmul, a[None] if a.ndim == 1 else a, b[:, None] if b.ndim == 1 else b)
    if b.ndim == 1:
        made = made[..., 0]
    if a.ndim == 1:
        made = made[..., 0, :] if b.ndim > 1 else made[..., 0]
    return made


def dot(a: ArrayLike, b: ArrayLike) -> Array:
    """The sum of products over the last axis of a and the last but one of b, as NumPy's dot."""
    a, b = operand(a), operand(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if b.ndim <= 2:
        return matmul(a, b)
    left = matmul(a.reshape(-1, a.shape[-1]), moveaxis(b, -2, 0).reshape(b.shape[-2], -1))
    return left.reshape(a.shape[:-1] + b.shape[:-2] + b.shape[-1:])


def vecdot(a: ArrayLike, b: ArrayLike, axis: SupportsIndex = -1, *, keepdims: bool = False) -> Array:
    """The sum of conj(a) * b along an axis, as NumPy's vecdot."""
    a = asarray(a)
    return _product(_vecdot, ops.conj(a) if a.dtype.kind == "c" else a, b, axis=axis, keepdims=keepdims)


def outer(a: ArrayLike, b: ArrayLike) -> Array:
    """[n, m]: all products of an element of a and one of b."""
    return ravel(a)[:, None] * ravel(b)[None, :]


def tensordot(a: ArrayLike, b: ArrayLike, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Sums of products over axes of a and of b: the last ones and the first ones, or lists of both."""
    a, b = operand(a), operand(b)
    if isinstance(axes, int):
        axes = (range(a.ndim - axes, a.ndim), range(axes))
    left, right = (
        [axis_of(d, x.ndim) for d in (n if isinstance(n, (list, tuple, range)) else [n])] for n, x in zip(axes, (a, b))
    )
    rows = [d for d in range(a.ndim) if d not in left]
    columns = [d for d in range(b.ndim) if d not in right]
    if [a.shape[d] for d in left] != [b.shape[d] for d in right]:
        raise ShapeError(f"tensordot: the axes {left} of {a.shape} do not fit the axes {right} of {b.shape}")
    count = math.prod(a.shape[d] for d in left)
    made = matmul(
        (a.transpose(rows + left) if a.ndim else a).reshape(math.prod(a.shape[d] for d in rows), count),
        (b.transpose(right + columns) if b.ndim else b).reshape(count, math.prod(b.shape[d] for d in columns)),
    )
    return made.reshape(tuple(a.shape[d] for d in rows) + tuple(b.shape[d] for d in columns))


def _labels(subscripts: str, ranks: list[int]) -> tuple[list[str], str]:
    """The letters of the axes of each operand of einsum, and of its result. Axes of "..." have letters of their own."""
    text = "".join(subscripts.split())
    inputs, arrow, result = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise ValueError(f"einsum: {subscripts!r} names {len(terms)} operands; {len(ranks)} are given")
    more = [max(rank - len(term) + 3, 0) if "..." in term else 0 for term, rank in zip(terms, ranks)]
    others = "".join(chr(0xE000 + i) for i in range(max(more)))
    terms = [term.replace("...", others[len(others) - n:], 1) for term, n in zip(terms, more)]
    if not arrow:
        once = {label for label in "".join(terms) if "".join(terms).count(label) == 1}
        result = "..." + "".join(sorted(once - set(others)))
    result = result.replace("...", others, 1)
    for part in (*terms, result):
        if not all(label in others or (label.isascii() and label.isalpha()) for label in part):
            raise ValueError(f"einsum: {subscripts!r}: axes are letters, operands end with commas, '->' begins the result")
    if len(set(result)) < len(result) or not set(result) <= set("".join(terms)):
        raise ValueError(f"einsum: {subscripts!r}: the result has each axis once, and an operand has it")
    for place, (term, rank) in enumerate(zip(terms, ranks)):
        if len(term) != rank:
            raise ShapeError(f"einsum: {subscripts!r}: operand {place} has {rank} axes")
    return terms, result


def _contract(a: Any, of_a: str, b: Any, of_b: str, kept: set[str]) -> tuple[Any, str]:
    """The sums of products over the axes of both that are not kept. Each operand has an axis once."""
    both = [x for x in of_a if x in of_b]
    shared, summed = [x for x in both if x in kept], [x for x in both if x not in kept]
    rows, columns = [x for x in of_a if x not in of_b], [x for x in of_b if x not in of_a]
    extent = {**dict(zip(of_a, a.shape)), **dict(zip(of_b, b.shape))}

    def folded(x: Any, of_x: str, *groups: list[str]) -> Any:
        order = [of_x.index(label) for group in groups for label in group]
        x = x.transpose(order) if len(order) > 1 else x
        return x.reshape(tuple(math.prod(extent[label] for label in group) for group in groups))

    batch = [shared] if shared else []
    made = matmul(folded(a, of_a, *batch, rows, summed), folded(b, of_b, *batch, summed, columns))
    labels = shared + rows + columns
    return made.reshape(tuple(extent[label] for label in labels)), "".join(labels)


def einsum(subscripts: str, *operands: ArrayLike) -> Array:
    """Sums of products over axes, as NumPy's einsum: each letter is an axis, and those that the result lacks are summed.

    Operands are joined in their order, each with the result so far.

    >>> import weft
    >>> weft.einsum("ij,j->i", [[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0]).tolist()
    [21.0, 43.0]
    """
    if not isinstance(subscripts, str) or not operands:
        raise TypeError("einsum takes a text, such as 'ij,jk->ik', and the arrays that it names")
    arrays: list[Any] = [operand(x) for x in operands]
    terms, result = _labels(subscripts, [x.ndim for x in arrays])
    extent: dict[str, int] = {}
    for term, x in zip(terms, arrays):
        for label, n in zip(term, x.shape):
            if extent.setdefault(label, n) == 1:
                extent[label] = n
            elif n not in (1, extent[label]):
                raise ShapeError(f"einsum: {subscripts!r}: an axis has {extent[label]} and {n} elements")
    for k, x in enumerate(arrays):
        # An axis with one element, for more in other operands, is left out. The diagonal stands for an axis named twice.
        x = x[tuple(0 if n != extent[label] else slice(None) for label, n in zip(terms[k], x.shape))] if x.ndim else x
        term = "".join(label for label, n in zip(terms[k], arrays[k].shape) if n == extent[label])
        while (twice := next((label for label in term if term.count(label) > 1), None)) is not None:
            first, second = term.index(twice), term.rindex(twice)
            at = beside(x, arange(extent[twice], dtype=_weft.i64), None)
            x = moveaxis(x, (first, second), (0, 1))[at, at]
            term = twice + "".join(label for d, label in enumerate(term) if d not in (first, second))
        arrays[k], terms[k] = x, term
    made, labels = arrays[0], terms[0]
    for k in range(len(arrays)):
        later = set(result).union(*terms[k + 1:])
        if k:
            alone = [d for d, label in enumerate(terms[k]) if label not in later and label not in labels]
            x = arrays[k].sum(tuple(alone)) if alone else arrays[k]
            made, labels = _contract(made, labels, x, "".join(c for c in terms[k] if c in later or c in labels), later)
        done = [d for d, label in enumerate(labels) if label not in later]
        if done:
            made, labels = made.sum(tuple(done)), "".join(c for c in labels if c in later)
    return made.transpose([labels.index(label) for label in result]) if len(result) > 1 else made


__all__ = [
    "arange", "argwhere", "astype", "broadcast_to", "clip", "concat", "concatenate", "contiguous", "diff",
    "dot", "einsum", "expand_dims", "eye", "flatten", "flip", "histogram", "matmul", "moveaxis", "nonzero", "outer", "pad",
    "percentile", "permute_dims", "quantile", "ravel", "repeat", "reshape", "result_type", "roll", "round",
    "searchsorted", "squeeze", "stack", "swapaxes", "take", "take_along_axis", "tensordot", "tile",
    "transpose", "unique", "unravel_index", "vecdot",
]
