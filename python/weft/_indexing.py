"""Indexing by arrays of integers and masks, mixed with numbers and slices, by NumPy's rules, with kernels: what the
extension (src/indexing.c) does not do by itself, such as arrays of GPUs and on tapes, many single elements, and mistakes.

A key is split in two: slices, None and Ellipsis give a view, in which each axis that an array (or a number beside one)
indexes is whole. Its elements are then gathered or scattered: their axes first, in the order of the key, then the rest.
"""
from __future__ import annotations

import operator

from . import _weft
from ._arrays import beside, has_buffer
from ._c_functions import _assign_where, argsort, compress, flatnonzero, iota, min_max
from ._functions import unravel_index
from ._shapes import broadcast_shapes
from ._weft import Array, BoundsError, Graph, ShapeError, Value, Variable, asarray, empty, ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _is_basic(part: Any) -> bool:
    return part is None or part is Ellipsis or isinstance(part, slice)


def _as_index(part: Any) -> Any:
    """A number, or an array of integers or bools."""
    if isinstance(part, (bool, Array)) or hasattr(part, "__array_interface__"):
        made = asarray(part)
    elif hasattr(part, "__index__"):
        return operator.index(part)
    elif isinstance(part, (list, tuple)):
        made = asarray(part)
        if made.size == 0 and made.dtype != _weft.bool_:
            made = made.astype(_weft.i64)
    elif hasattr(part, "__dlpack__") or (has_buffer(part) and not isinstance(part, bytes)):
        made = asarray(part)
    else:
        raise BoundsError(
            f"{part!r} is no index; indices are numbers, slices, None, Ellipsis, arrays of integers and masks"
        )
    if made.dtype.kind not in "biu":
        raise BoundsError(f"an array of {made.dtype} is no index; integers and bools are")
    return made.item() if made.ndim == 0 and made.dtype.kind != "b" else made


class _Split:
    """The view of a key, its indices, and where they stand."""

    def __init__(self, array: Array, key: Any) -> None:
        parts = [p if _is_basic(p) else beside(array, _as_index(p), p)
                 for p in (key if isinstance(key, tuple) else (key,))]
        named = sum(0 if p is None or p is Ellipsis else p.ndim if _is_mask(p) else 1 for p in parts)
        if sum(p is Ellipsis for p in parts) > 1:
            raise BoundsError("an index has at most one Ellipsis")
        if named > array.ndim:
            raise BoundsError(f"{named} indices for an array of {array.ndim} axes")
        if not any(p is Ellipsis for p in parts):
            parts.append(Ellipsis)
        basic: list[Any] = []
        self.indices: list[Any] = []  # numbers and arrays of integers
        self.axes: list[int] = []  # of the view that they index
        self.checked: list[bool] = []  # indices that masks gave are in range
        places: list[int] = []  # in the key, of what indexes
        axis = at = 0  # axes of the array that are named so far; axes of the view
        for place, p in enumerate(parts):
            if p is Ellipsis:
                n = array.ndim - named
                basic.extend([slice(None)] * n)
                axis, at = axis + n, at + n
            elif p is None:
                basic.append(None)
                at += 1
            elif isinstance(p, slice):
                basic.append(p)
                axis, at = axis + 1, at + 1
            elif _is_mask(p):
                # A mask may be empty, as in NumPy.
                if any(m not in (n, 0) for m, n in zip(p.shape, array.shape[axis:])):
                    raise BoundsError(f"a mask of shape {p.shape} for axes of {array.shape[axis:axis + p.ndim]}")
                places.append(place)
                if p.ndim == 0:
                    basic.append(None)
                    self.indices.append(iota(1 if p.item() else 0))
                    self.axes.append(at)
                    self.checked.append(True)
                    at += 1
                    continue
                for index in unravel_index(flatnonzero(p), p.shape):
                    basic.append(slice(None))
                    self.indices.append(index)
                    self.axes.append(at)
                    self.checked.append(True)
                    axis, at = axis + 1, at + 1
            else:
                basic.append(slice(None))
                places.append(place)
                self.indices.append(p)
                self.axes.append(at)
                self.checked.append(False)
                axis, at = axis + 1, at + 1
        self.view = array[tuple(basic)]
        self.rest = [d for d in range(self.view.ndim) if d not in self.axes]
        self.together = places == list(range(places[0], places[0] + len(places)))
        try:
            self.shape = broadcast_shapes(*(p.shape for p in self.indices if isinstance(p, Array)))
        except ShapeError as error:
            raise BoundsError(f"indices: {error}") from None
        self.one_mask = len(places) == 1 and all(self.checked)
        order = self.axes + self.rest
        self.turned = self.view if order == list(range(len(order))) else self.view.transpose(order)
        for number, checked in enumerate(self.checked):
            if not checked:
                self._check(number)

    def _check(self, number: int) -> None:
        index, n = self.indices[number], self.view.shape[self.axes[number]]
        if isinstance(index, Array):
            if index.size == 0:
                return
            least, most = (x.item() for x in min_max(index))
        else:
            least = most = index
        if least < -n or most >= n:
            raise BoundsError(f"index {most if most >= n else least} is out of range for an axis of {n} elements")
        if not isinstance(index, Array):
            self.indices[number] = index + n if index < 0 else index
        else:
            index = index.astype(_weft.i64, copy=False)
            self.indices[number] = ops.select(index < 0, index + n, index) if least < 0 else index

    def result_order(self) -> list[int]:
        """Where the axes of the result are among those of `shape` and then `rest`."""
        ahead = len([d for d in self.rest if d < self.axes[0]]) if self.together else 0
        b, r = len(self.shape), len(self.rest)
        return [*range(b, b + ahead), *range(b), *range(b + ahead, b + r)]

    def places(self, graph: Graph, indices: list[Any], shape: tuple[int, ...]) -> list[Any]:
        """Indices of all axes of `turned`, for arrays of extents shape + those of the rest."""
        tail = tuple(self.view.shape[d] for d in self.rest)
        whole = shape + tail
        made: list[Any] = []
        for index in indices:
            if isinstance(index, Array):
                index = index.reshape(index.shape + (1,) * len(tail))
            made.append(graph.value(index, _weft.i64) if not isinstance(index, Array) else graph.input(index))
        for d in range(len(tail)):
            made.append(graph.iota(whole, len(shape) + d))
        if made and len(whole):
            made[0] = made[0].broadcast_to(whole)
        return made


def _is_mask(part: Any) -> bool:
    return isinstance(part, Array) and part.dtype.kind == "b"


def _whole_mask(array: Array, key: Any) -> Any:
    """The mask, if the key is one mask for all elements."""
    if isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    if _is_basic(key) or isinstance(key, (int, tuple)):
        return None
    mask = _as_index(key)
    return mask if _is_mask(mask) and mask.ndim and mask.shape == array.shape else None


def get(array: Array, key: Any) -> Any:
    """array[key], for keys with arrays or masks."""
    mask = _whole_mask(array, key)
    if mask is not None:
        return compress(mask, array)
    s = _Split(array, key)
    if not any(isinstance(p, Array) for p in s.indices):  # numbers of other types than int
        return array[_plain(key)]
    shape = s.shape + tuple(s.view.shape[d] for d in s.rest)
    order = s.result_order()
    if 0 in shape:
        return empty(tuple(shape[d] for d in order), array.dtype, array.device)
    graph = Graph()
    made = graph.read(s.turned, s.places(graph, s.indices, s.shape)).keep()
    graph.run()
    return made if order == list(range(len(order))) else made.transpose(order)


def _get_of_value(value: Any, key: Any) -> Any:
    """value[key] of a value of a recording of whole arrays, for keys with arrays or masks that are no values."""
    if any(isinstance(part, (Value, Variable)) for part in (key if isinstance(key, tuple) else (key,))):
        raise TypeError("a value is indexed by ints, slices, None, Ellipsis and arrays, not by values; g.read gathers")
    s = _Split(value, key)
    if not any(isinstance(p, Array) for p in s.indices):
        return value[_plain(key)]
    shape, order = s.shape + tuple(s.view.shape[d] for d in s.rest), s.result_order()
    if 0 in shape:
        return value.graph.input(empty(tuple(shape[d] for d in order), value.dtype))
    made = s.turned._gather(tuple(s.places(value.graph, s.indices, s.shape)))
    return made if order == list(range(len(order))) else made.transpose(order)


def _plain(key: Any) -> tuple[Any, ...]:
    """A key in which numbers of other types are ints."""
    return tuple(part if _is_basic(part) else _as_index(part) for part in (key if isinstance(key, tuple) else (key,)))


def _last_of_each(s: _Split) -> Any:
    """The places, in C order, of the last index of each element; None: no element is named twice."""
    if s.one_mask:
        return None
    linear: Any = 0
    for index, axis in zip(s.indices, s.axes):
        linear = linear * s.view.shape[axis] + index
    linear = linear.broadcast_to(s.shape).reshape(-1)
    order = argsort(linear)
    sorted_ = linear[order]
    last = empty(order.size, _weft.bool_, order.device)
    last[-1] = True
    last[:-1] = sorted_[1:] != sorted_[:-1]
    return None if bool(last.all()) else compress(last, order)


def _laid(s: _Split, value: Any) -> Any:
    """A value with the axes of the key's elements: those of the indices, then the rest."""
    shape = s.shape + tuple(s.view.shape[d] for d in s.rest)
    order = s.result_order()
    target = tuple(shape[d] for d in order)
    while value.ndim > len(target) and value.shape[0] == 1:
        value = value[0]
    try:
        value = value.broadcast_to(target)
    except ShapeError:
        raise ShapeError(f"a value of shape {value.shape} does not broadcast to {target}") from None
    return value.transpose([order.index(d) for d in range(len(order))])


def _value_for(array: Array, value: Any) -> Any:
    value = asarray(value)
    if value.dtype.kind == "c" and array.dtype.kind != "c":
        raise _weft.DtypeError("complex numbers cannot be stored in a real array")
    return value.astype(array.dtype).to_device(array.device)  # a copy: it may share memory with the array


def _check_distributed(array: Array, key: Any) -> None:
    """Fails if a key cannot write to a distributed array, of which slices are copies."""
    if array.ranks is None:
        return
    parts = _plain(key)
    arrays = [part for part in parts if isinstance(part, Array)]
    others = [part for part in parts if part is None or isinstance(part, slice) and part != slice(None)]
    if not arrays or others or any(part.ranks is not None for part in arrays):
        raise _weft.ArgumentError(
            "indices that write to a distributed array are arrays that each rank has whole, beside numbers, `:` and `...`; "
            "a kernel (weft.kernel) writes at other ones, as do Array.block and, with all elements, Array.collect"
        )


def _written(array: Array, s: _Split, places: list[Any]) -> tuple[Array, list[Any]]:
    """What a kernel writes to, and the indices in it: the view, or the array if views of it are copies."""
    if array.ranks is None:
        return s.turned, places
    axes = s.axes + s.rest
    return array, [places[axes.index(d)] for d in range(array.ndim)]


def accumulate(array: Array, key: Any, value: Any, join: str) -> None:
    """Joins values with array[key], also where a place is named several times: numpy.add.at and others."""
    _check_distributed(array, key)
    value = _value_for(array, value)
    if not any(isinstance(part, Array) for part in _plain(key)):
        array, key = array[_plain(key)][None], [0]
    s = _Split(array, key)
    value = _laid(s, value)
    if value.size == 0:
        return
    graph = Graph()
    target, places = _written(array, s, s.places(graph, s.indices, s.shape))
    graph.accumulate(target, places, graph.input(value), join)
    graph.run()


def put(array: Array, key: Any, value: Any) -> None:
    """array[key] = value, for keys with arrays or masks."""
    mask = _whole_mask(array, key)
    value = _value_for(array, value)
    if mask is not None and any(x.ranks is not None for x in (array, mask, value)):
        while value.ndim > 1 and value.shape[0] == 1:
            value = value[0]
        _assign_where(array, mask, value)
        return
    if mask is not None and value.size == 1 and value.ndim <= 1:
        array[...] = ops.select(mask, value.reshape(()), array)
        return
    if any(isinstance(part, Array) for part in _plain(key)):
        _check_distributed(array, key)
    s = _Split(array, key)
    if not any(isinstance(p, Array) for p in s.indices):
        array[_plain(key)] = value
        return
    tail = tuple(s.view.shape[d] for d in s.rest)
    value = _laid(s, value)
    if value.size == 0:
        return
    indices, ahead = s.indices, s.shape
    chosen = _last_of_each(s)
    if chosen is not None:
        flat = value.reshape((-1,) + tail) if tail else value.reshape(-1)
        value, ahead = flat[chosen], (chosen.size,)
        indices = [p.broadcast_to(s.shape).reshape(-1)[chosen] if isinstance(p, Array) else p for p in indices]
    graph = Graph()
    target, places = _written(array, s, s.places(graph, indices, ahead))
    graph.write(target, places, graph.input(value))
    graph.run()


Value._take = _get_of_value
_weft._set_wide_index(get, put)
