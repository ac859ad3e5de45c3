"""Functions of weft that take arrays, of values of a recording, and of arrays in a traced function.

A value of a recording of whole arrays is reduced as an array is, in the recording. An array in a traced function, such
as the row `a[y]`, is read by a loop of the recording, which runs at every point.
"""
from __future__ import annotations

from typing import Any

from . import _weft
from ._arrays import clip, operand, round
from ._shapes import axes_of
from ._trace import current, graph, is_value
from ._weft import Value, Variable, ops


def _whole(name, value, beside=None):
    """A value of a recording of whole arrays."""
    value = operand(value)
    if is_value(beside) and name in ("min", "max"):
        raise TypeError(f"weft.{name} reduces one array; weft.{name}imum(a, b) is that of two values")
    if current() is not None or value.graph.indexed:
        raise _weft.ContractError(f"weft.{name} of the value of one point, which is a number; weft.{name} takes an "
                                  "array, such as a row a[y], and weft.reduce joins the values of all points")
    return value


def _wide(value):
    """A value in the dtype in which means are computed."""
    return value.astype(_weft.c128 if value.dtype.kind == "c" else _weft.f64)


def _mean_dtype(value):
    return value.dtype if value.dtype.kind in "fc" else _weft.f64


def _count(value, axis):
    count = 1
    for d in axes_of(axis, value.ndim):
        count *= value.shape[d]
    return count


def _mean(value, axis=None, *, keepdims=False):
    value = _whole("mean", value)
    return (_wide(value).sum(axis, keepdims=keepdims) / _count(value, axis)).astype(_mean_dtype(value))


def _squares(value, axis, ddof, keepdims):
    """The variance in the dtype in which it is computed, and the dtype of the result."""
    wide, n = _wide(value), _count(value, axis)
    rest = wide - wide.sum(axis, keepdims=True) / n
    squares = rest.astype(_weft.f64) ** 2 if rest.dtype.kind != "c" else ops.real(rest) ** 2 + ops.imag(rest) ** 2
    dtype = _mean_dtype(value)
    return squares.sum(axis, keepdims=keepdims) / (n - ddof), dtype.part if dtype.kind == "c" else dtype


def _var(value, axis=None, ddof=0, *, keepdims=False):
    made, dtype = _squares(_whole("var", value), axis, ddof, keepdims)
    return made.astype(dtype)


def _std(value, axis=None, ddof=0, *, keepdims=False):
    made, dtype = _squares(_whole("std", value), axis, ddof, keepdims)
    return ops.sqrt(made).astype(dtype)


def _method(name):
    def reduced(value, axis=None, *, keepdims=False):
        value = _whole(name, value, axis)
        if name in ("min", "max") and value.dtype.kind == "c":
            raise _weft.DtypeError(f"weft.{name}: complex numbers have no order")
        if name in ("all", "any") and value.dtype.kind != "b":
            value = value != 0
        return getattr(value, name)(axis, keepdims=keepdims)

    return reduced


def _count_nonzero(value, axis=None, *, keepdims=False):
    return (_whole("count_nonzero", value) != 0).sum(axis, keepdims=keepdims)


def _running(name):
    def scanned(value, axis=None, *, exclusive=False):
        value = _whole(name, value)
        return getattr(value if axis is not None else value.reshape(-1), name)(0 if axis is None else axis,
                                                                               exclusive=exclusive)

    return scanned


def _norm(value, norm="l2", axis=None, *, keepdims=False):
    value = _whole("norm", value)
    size = ops.abs(value)
    if norm == "max":
        return size.max(axis, keepdims=keepdims)
    if norm not in ("l1", "l2"):
        raise ValueError(f"weft.norm: norm is 'l1', 'l2' or 'max', not {norm!r}")
    if norm == "l1":
        return size.sum(axis, keepdims=keepdims)
    squares = value * value if value.dtype.kind != "c" else ops.real(value) ** 2 + ops.imag(value) ** 2
    return ops.sqrt(squares.sum(axis, keepdims=keepdims))


# Functions of values of recordings, by their names in weft.
OF_VALUES = {"where": ops.select, "clip": clip, "round": round, "mean": _mean, "var": _var, "std": _std,
             "count_nonzero": _count_nonzero, "norm": _norm,
             **{name: _method(name) for name in ("sum", "prod", "min", "max", "all", "any")},
             **{name: _running(name) for name in ("cumsum", "cumprod")}}


# ---- arrays in traced functions --------------------------------------------------------------------------------------


def _over(array, dtype, first, join):
    """The elements of an array, joined in a variable of a dtype."""
    g = graph()
    total = g.local(first, dtype)
    index = [g.for_(0, n, 1) for n in array.shape]
    total.set(join(total.get(), array[tuple(index)]))
    for _ in index:
        g.end()
    return total.get()


def _sum_dtype(array):
    kind = array.dtype.kind
    return {"b": _weft.i64, "i": _weft.i64, "u": _weft.u64, "f": _weft.f64, "c": _weft.c128}[kind]


def _narrowed(array, value):
    return value.astype(array.dtype) if array.dtype.kind in "fc" else value


def _bound(dtype, name):
    """The initial value of a minimum or maximum: the largest or the smallest number of the dtype."""
    if dtype.kind == "c":
        raise _weft.DtypeError(f"weft.{name}: complex numbers have no order")
    if dtype.kind == "f":
        return float("inf" if name == "min" else "-inf")
    bits = dtype.itemsize * 8
    if dtype.kind == "i":
        return (1 << bits - 1) - 1 if name == "min" else -(1 << bits - 1)
    return ((1 << bits) - 1 if dtype.kind == "u" else 1) if name == "min" else 0


def _mean_of_array(array):
    total = _over(array, _weft.c128 if array.dtype.kind == "c" else _weft.f64, 0, lambda t, x: t + x.astype(t.dtype))
    return _narrowed(array, total / array.size)


OF_ARRAYS = {
    "mean": _mean_of_array,
    "sum": lambda a: _narrowed(a, _over(a, _sum_dtype(a), 0, ops.add)),
    "prod": lambda a: _narrowed(a, _over(a, _sum_dtype(a), 1, ops.mul)),
    "min": lambda a: _over(a, a.dtype, _bound(a.dtype, "min"), ops.min),
    "max": lambda a: _over(a, a.dtype, _bound(a.dtype, "max"), ops.max),
    "all": lambda a: _over(a, _weft.bool_, True, lambda t, x: getattr(ops, "and")(t, x != 0)),
    "any": lambda a: _over(a, _weft.bool_, False, lambda t, x: getattr(ops, "or")(t, x != 0)),
    "count_nonzero": lambda a: _over(a, _weft.i64, 0, lambda t, x: t + (x != 0)),
}


def of_array(name: str, array: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """weft.name(array) of an array in a traced function."""
    if axis is not None or keepdims:
        raise TypeError(f"weft.{name} of an array in a traced function is over all of its elements; a[y] is a row")
    if current().selects:
        raise _weft.ContractError(f"weft.{name} of an array is a loop, and join and post of weft.reduce have none")
    return OF_ARRAYS[name](array)


# ---- products -----------------------------------------------------------------------------------------------------------


def matmul(a: Any, b: Any) -> Any:
    """Products of matrices of which one is a value of a recording of whole arrays."""
    g = next(x for x in (a, b) if is_value(x)).graph
    a, b = (_whole("matmul", x if is_value(x) else g.input(x)) for x in (a, b))
    if a.dtype == b.dtype == _weft.bool_:
        return matmul(a.astype(_weft.i64), b.astype(_weft.i64)) != 0
    if a.ndim == 0 or b.ndim == 0:
        raise _weft.ShapeError("matmul: a value without axes is no matrix")
    if a.ndim == 1 and b.ndim == 1:
        return (a * b).sum()
    rows, columns = a[None] if a.ndim == 1 else a, b[:, None] if b.ndim == 1 else b
    made = (rows[..., None] * columns[..., None, :, :]).sum(-2)
    return made[..., 0] if b.ndim == 1 else made[..., 0, :] if a.ndim == 1 else made


def _part(name):
    function = getattr(ops, name)

    def part(self):
        return function(self)

    part.__name__, part.__doc__ = name, f"weft.{name} of the value."
    return part


for _kind in (Value, Variable):
    _kind.real, _kind.imag = property(_part("real")), property(_part("imag"))
    _kind.conj = _kind.conjugate = _part("conj")
for _name in OF_VALUES.keys() - {"where", "clip", "round", "norm"}:
    OF_VALUES[_name].__name__ = OF_VALUES[_name].__qualname__ = _name
    if not hasattr(Value, _name):
        setattr(Value, _name, OF_VALUES[_name])
