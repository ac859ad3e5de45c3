"""NumPy's ufuncs and functions on values of a recording: they record, by the functions that Weft has for values."""
import sys

from ._arrays import operand
from ._numpy import _REDUCTIONS, UFUNCS, _number, name_of
from ._values import OF_VALUES
from ._weft import Array, Value, Variable, asarray, ops

# Functions of NumPy that take values, beside those of OF_VALUES, with the same arguments in Weft.
_SHARED = {"concatenate", "stack", "roll", "tile", "repeat", "take", "take_along_axis", "dot", "outer", "tensordot", "diff",
           "reshape", "ravel", "transpose", "squeeze", "expand_dims", "moveaxis", "swapaxes", "flip", "broadcast_to",
           "pad", "einsum"}
_ATTRIBUTES = {"shape", "ndim"}


def _recorded(x):
    """An operand: a number of Python, a value, or an array of Weft."""
    if isinstance(x, (Value, Variable, Array)):
        return operand(x)
    number = _number(x)  # those of NumPy that are such numbers are weak, too
    return asarray(x) if number is None else number


def _has_objects(x):
    return getattr(getattr(x, "dtype", None), "kind", None) == "O" and not isinstance(x, (Value, Variable, Array))


def _of_objects(ufunc, inputs):
    """A ufunc of arrays of objects, among which are values."""
    import numpy

    boxed = []
    for x in inputs:
        if isinstance(x, (Value, Variable)):
            box = numpy.empty((), object)
            box[()] = x
            x = box
        boxed.append(x)
    return ufunc(*boxed)


def _value_ufunc(self, ufunc, method, *inputs, out=None, **options):
    name = f"numpy.{ufunc.__name__}"
    if out is not None:
        raise TypeError(f"{name}: a value of a recording is stored in an array by g.output(array, value), not by out= or +=")
    if method == "reduce" and ufunc.__name__ in _REDUCTIONS:
        axis, keepdims = options.pop("axis", 0), options.pop("keepdims", False)
        if not any(option is not None for option in options.values()):
            return OF_VALUES[_REDUCTIONS[ufunc.__name__]](inputs[0], axis, keepdims=keepdims)
    if method != "__call__" or options:
        raise TypeError(f"{name}.{method} with these arguments takes no value of a recording")
    if any(map(_has_objects, inputs)):
        return _of_objects(ufunc, inputs)
    compute = UFUNCS.get(ufunc.__name__) or getattr(ops, ufunc.__name__, None)
    if compute is None:
        raise TypeError(f"{name} of a value of a recording; weft has no function of that name")
    return compute(*map(_recorded, inputs))


def _value_function(self, function, types, args, options):
    name, own = name_of(function), sys.modules["weft"]
    if function.__module__ == "numpy" and name in _ATTRIBUTES:
        return getattr(args[0], name)
    if name == "norm" and function.__module__ == "numpy.linalg" and len(args) == 1 and set(options) <= {"axis", "keepdims"}:
        return own.norm(args[0], "l2", **options)
    if function.__module__ != "numpy" or (name not in OF_VALUES and name not in _SHARED):
        raise TypeError(f"{function.__module__}.{function.__name__} takes no value of a recording, and runs in NumPy; of NumPy's "
                        f"functions ufuncs can be recorded, and {', '.join(sorted(_SHARED.union(OF_VALUES)))}")
    return getattr(own, name)(*args, **options)


for _kind in (Value, Variable):
    _kind.__array_ufunc__ = _value_ufunc
    _kind.__array_function__ = _value_function
