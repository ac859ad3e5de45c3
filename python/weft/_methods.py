"""Methods of weft.Array that are functions of weft, with the arguments that NumPy's functions pass on."""
from __future__ import annotations

from . import _c_functions as _c
from . import _functions as _f
from ._weft import Array, ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _reduction(name: str, *, ddof: bool = False) -> Any:
    function = getattr(_c, name)

    def method(self, axis=None, dtype=None, out=None, ddof=0, *, keepdims=False):  # type: ignore[no-untyped-def]
        array = self if dtype is None else self.astype(dtype)
        made = function(array, axis, ddof, keepdims=keepdims) if with_ddof else function(array, axis, keepdims=keepdims)
        if out is None:
            return made
        out[...] = made
        return out

    with_ddof = ddof
    method.__name__ = name
    method.__doc__ = function.__doc__
    return method


for _name in ("sum", "prod", "mean"):
    setattr(Array, _name, _reduction(_name))
for _name in ("var", "std"):
    setattr(Array, _name, _reduction(_name, ddof=True))


def _plain_reduction(name: str) -> Any:
    function = getattr(_c, name)

    def method(self, axis=None, out=None, *, keepdims=False):  # type: ignore[no-untyped-def]
        made = function(self, axis, keepdims=keepdims)
        if out is None:
            return made
        out[...] = made
        return out

    method.__name__ = name
    method.__doc__ = function.__doc__
    return method


for _name in ("min", "max", "argmin", "argmax", "all", "any"):
    setattr(Array, _name, _plain_reduction(_name))


def _cumsum(self: Array, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """The sums of the elements up to each one."""
    made = _c.cumsum(self if dtype is None else self.astype(dtype), axis)
    if out is None:
        return made
    out[...] = made
    return out


def _sort(self: Array, axis: Any = -1) -> None:
    """Sorts the elements along an axis, in place."""
    self[...] = _c.sort(self, axis)


def _fill(self: Array, value: Any) -> None:
    """Sets every element."""
    self[...] = value


_METHODS: dict[str, Any] = {
    "cumsum": _cumsum,
    "sort": _sort,
    "fill": _fill,
    "argsort": lambda self, axis=-1: _c.argsort(self, axis),
    "dot": lambda self, b: _f.dot(self, b),
    "round": lambda self, decimals=0: _f.round(self, decimals),
    "clip": lambda self, min=None, max=None: _f.clip(self, min, max),
    "conj": lambda self: ops.conj(self) if self.dtype.kind == "c" else self,
    "conjugate": lambda self: ops.conj(self) if self.dtype.kind == "c" else self,
    "flatten": lambda self: _f.flatten(self),
    "ravel": lambda self: _f.ravel(self),
    "squeeze": lambda self, axis=None: _f.squeeze(self, axis),
    "nonzero": lambda self: _f.nonzero(self),
    "swapaxes": lambda self, axis1, axis2: _f.swapaxes(self, axis1, axis2),
    "repeat": lambda self, repeats, axis=None: _f.repeat(self, repeats, axis),
    "take": lambda self, indices, axis=None: _f.take(self, indices, axis),
}
for _name, _method in _METHODS.items():
    _method.__name__ = _name
    setattr(Array, _name, _method)
