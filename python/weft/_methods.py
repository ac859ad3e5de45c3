"""Methods of weft.Array that call functions of weft. They take the arguments with which NumPy's functions call methods."""
from __future__ import annotations

from . import _c_functions as _c
from . import _functions as _f
from ._arrays import stored
from ._weft import Array, ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _reduction(name: str) -> Any:
    function = getattr(_c, name)

    def method(self, axis=None, dtype=None, out=None, *, keepdims=False):  # type: ignore[no-untyped-def]
        return stored(function(self if dtype is None else self.astype(dtype), axis, keepdims=keepdims), out)

    return method


def _deviation(name: str) -> Any:
    function = getattr(_c, name)

    def method(self, axis=None, dtype=None, out=None, ddof=0, *, keepdims=False):  # type: ignore[no-untyped-def]
        return stored(function(self if dtype is None else self.astype(dtype), axis, ddof, keepdims=keepdims), out)

    return method


def _selection(name: str) -> Any:
    function = getattr(_c, name)

    def method(self, axis=None, out=None, *, keepdims=False):  # type: ignore[no-untyped-def]
        return stored(function(self, axis, keepdims=keepdims), out)

    return method


for _made, _names in ((_reduction, ("sum", "prod", "mean")), (_deviation, ("var", "std")),
                      (_selection, ("min", "max", "argmin", "argmax", "all", "any"))):
    for _name in _names:
        _method = _made(_name)
        _method.__name__, _method.__qualname__ = _name, f"Array.{_name}"
        _method.__doc__ = getattr(_c, _name).__doc__
        setattr(Array, _name, _method)


def _cumsum(self: Array, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """The sums of the elements up to each one."""
    return stored(_c.cumsum(self if dtype is None else self.astype(dtype), axis), out)


def _sort(self: Array, axis: Any = -1) -> None:
    """Sorts the elements along an axis, in place."""
    self[...] = _c.sort(self, axis)


def _fill(self: Array, value: Any) -> None:
    """Sets every element."""
    self[...] = value


def _contains(self: Array, value: Any) -> bool:
    """True if an element is equal to the value."""
    return bool((self == value).any())


def _round(self: Array, digits: int | None = None) -> Any:
    """round(x, digits) of an array without axes: a number of Python."""
    return round(self.item()) if digits is None else round(self.item(), digits)


def _trunc(self: Array) -> int:
    """math.trunc(x) of an array without axes: an int."""
    return int(self.item())


def _imatmul(self: Array, other: Any) -> Array:
    """x @= y stores x @ y in x."""
    self[...] = _f.matmul(self, other)
    return self


_METHODS: dict[str, Any] = {
    "__contains__": _contains,
    "__round__": _round,
    "__trunc__": _trunc,
    "__imatmul__": _imatmul,
    "cumsum": _cumsum,
    "sort": _sort,
    "fill": _fill,
    "argsort": lambda self, axis=-1: _c.argsort(self, axis),
    "dot": lambda self, b: _f.dot(self, b),
    "round": lambda self, decimals=0: _f.round(self, decimals),
    "clip": lambda self, min=None, max=None: _f.clip(self, min, max),
    "conj": lambda self: ops.conj(self) if self.dtype.kind == "c" else self,
    "flatten": lambda self: _f.flatten(self),
    "ravel": lambda self: _f.ravel(self),
    "squeeze": lambda self, axis=None: _f.squeeze(self, axis),
    "nonzero": lambda self: _f.nonzero(self),
    "swapaxes": lambda self, axis1, axis2: _f.swapaxes(self, axis1, axis2),
    "repeat": lambda self, repeats, axis=None: _f.repeat(self, repeats, axis),
    "take": lambda self, indices, axis=None: _f.take(self, indices, axis),
}
for _name, _method in _METHODS.items():
    _method.__name__, _method.__qualname__ = _name, f"Array.{_name}"
    setattr(Array, _name, _method)
setattr(Array, "conjugate", _METHODS["conj"])
