"""NumPy's functions on arrays of Weft: ufuncs run as operations of Weft and give arrays of Weft."""
import math
import sys

from . import _c_functions as _c
from . import _weft
from ._arrays import operand, stored
from ._indexing import accumulate
from ._weft import Array, asarray, ops

# What computes NumPy's ufuncs, by their names: of arrays, and of values of a recording. Operators of Python are used where
# they promote as NumPy does.
UFUNCS = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b, "true_divide": lambda a, b: a / b, "floor_divide": lambda a, b: a // b,
    "remainder": lambda a, b: a % b, "mod": lambda a, b: a % b, "power": lambda a, b: a ** b,
    "float_power": lambda a, b: _float(a) ** b, "matmul": lambda a, b: a @ b,
    "negative": lambda a: -a, "positive": lambda a: +a, "absolute": abs, "fabs": abs, "invert": lambda a: ~a,
    "equal": lambda a, b: a == b, "not_equal": lambda a, b: a != b, "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b, "greater": lambda a, b: a > b, "greater_equal": lambda a, b: a >= b,
    "bitwise_and": lambda a, b: a & b, "bitwise_or": lambda a, b: a | b, "bitwise_xor": lambda a, b: a ^ b,
    "left_shift": lambda a, b: a << b, "right_shift": lambda a, b: a >> b,
    "logical_and": lambda a, b: _bool(a) & _bool(b), "logical_or": lambda a, b: _bool(a) | _bool(b),
    "logical_xor": lambda a, b: _bool(a) ^ _bool(b), "logical_not": lambda a: ~_bool(a),
    "square": lambda a: a * a, "reciprocal": ops.rcp, "conjugate": ops.conj, "rint": ops.round,
    "arcsin": ops.asin, "arccos": ops.acos, "arctan": ops.atan, "arctan2": ops.atan2, "arcsinh": ops.asinh,
    "arccosh": ops.acosh, "arctanh": ops.atanh, "maximum": ops.max, "minimum": ops.min, "fmod": ops.mod,
    "degrees": lambda a: _float(a) * (180 / math.pi), "radians": lambda a: _float(a) * (math.pi / 180),
    "heaviside": lambda a, b: ops.select(a > 0, 1.0, ops.select(_float(a) == 0, b, a * 0)),
    "logaddexp": lambda a, b: _c.logaddexp(_float(a), _float(b)),
    "divmod": lambda a, b: (a // b, a % b), "modf": lambda a: (a - ops.trunc(a), ops.trunc(a)),
    "frexp": lambda a: (ops.frexp(a), ops.frexp_exp(a).astype(_weft.i32)),
}
UFUNCS["rad2deg"], UFUNCS["deg2rad"] = UFUNCS["degrees"], UFUNCS["radians"]
for _name in ("sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh",
              "cosh", "tanh", "floor", "ceil", "trunc", "isnan", "isinf", "isfinite", "sign", "signbit", "fmin", "fmax",
              "hypot", "copysign", "nextafter", "ldexp"):
    UFUNCS[_name] = getattr(ops, _name)

_REDUCTIONS = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max", "logical_and": "all",
               "logical_or": "any"}


def _bool(a):
    a = operand(a)
    return a if a.dtype == _weft.bool_ else a != 0


def _float(a):
    a = operand(a)
    return a if a.dtype.kind in "fc" else a.astype(_weft.f64)


def _reduced(ufunc, array, axis=0, dtype=None, keepdims=False, initial=None):
    name = _REDUCTIONS.get(ufunc.__name__)
    if name is None or initial is not None:
        return NotImplemented
    array = asarray(array, dtype=dtype)
    return getattr(_c, name)(array, axis, keepdims=keepdims)


def _accumulated(ufunc, array, axis=0, dtype=None):
    if ufunc.__name__ != "add":
        return NotImplemented
    return _c.cumsum(asarray(array, dtype=dtype), axis)


_JOINS = {"add": "add", "subtract": "add", "multiply": "mul", "minimum": "min", "maximum": "max", "bitwise_and": "and",
          "bitwise_or": "or", "bitwise_xor": "xor"}


def _at(ufunc, array, key, *values):
    """ufunc.at(array, key, value), which joins the values of places that are named several times, too."""
    join = _JOINS.get(ufunc.__name__)
    if join is None or len(values) != 1:
        return NotImplemented
    array, value = asarray(array), operand(values[0])
    if ufunc.__name__ == "subtract":
        value = -value.astype(array.dtype)  # a narrow or unsigned dtype may not hold -value
    accumulate(array, key, value, join)
    return None


def _array_ufunc(self, ufunc, method, *inputs, out=None, **options):
    """Runs a ufunc of NumPy. What Weft does not have raises a TypeError of NumPy."""
    if method == "__call__":
        compute = UFUNCS.get(ufunc.__name__)
        if compute is None or options.get("where", True) is not True or set(options) - {"where", "dtype", "casting"}:
            return NotImplemented
        made = compute(*(x if isinstance(x, (Array, int, float, complex)) else asarray(x) for x in inputs))
    elif method == "reduce":
        made = _reduced(ufunc, *inputs, **options)
    elif method == "accumulate":
        made = _accumulated(ufunc, *inputs, **options)
    elif method == "at":
        return _at(ufunc, *inputs)
    elif method == "outer":
        a, b = (asarray(x) for x in inputs)
        return _array_ufunc(self, ufunc, "__call__", a.reshape(a.shape + (1,) * b.ndim), b, out=out, **options)
    else:
        return NotImplemented
    if made is NotImplemented:
        return made
    if options.get("dtype") is not None and method == "__call__":
        made = made.astype(options["dtype"], copy=False)
    if out is None:
        return made
    if isinstance(made, tuple):
        return tuple(map(stored, made, out))
    return stored(made, out[0])


# Functions of NumPy that Weft computes, if the arguments beside the array are among these.
_FUNCTIONS = {"sum": {"axis", "keepdims"}, "prod": {"axis", "keepdims"}, "mean": {"axis", "keepdims"},
              "std": {"axis", "keepdims", "ddof"}, "var": {"axis", "keepdims", "ddof"}, "min": {"axis", "keepdims"},
              "max": {"axis", "keepdims"}, "all": {"axis", "keepdims"}, "any": {"axis", "keepdims"},
              "cumsum": {"axis"}, "sort": {"axis"}, "argsort": {"axis"}, "median": {"axis", "keepdims"}, "where": set()}


def _given_to_numpy(x):
    if isinstance(x, Array):
        if x.device not in ("cpu", "interp"):
            raise TypeError("NumPy's functions do not take arrays of a GPU; x.to_device('cpu') copies one")
        return x.numpy()
    if isinstance(x, (list, tuple)):
        return type(x)(_given_to_numpy(y) for y in x)
    return x


def name_of(function):
    """The name in weft of a function of Python or NumPy."""
    return {"amin": "min", "amax": "max"}.get(function.__name__, function.__name__)


def _array_function(self, function, types, args, options):
    """Runs a function of NumPy: in Weft if that has it, else in NumPy, on the same memory."""
    name = name_of(function)
    own = getattr(sys.modules["weft"], name, None)
    if own is not None and name in _FUNCTIONS and function.__module__ == "numpy" and set(options) <= _FUNCTIONS[name]:
        return own(*args, **options)
    return function(*map(_given_to_numpy, args), **{key: _given_to_numpy(x) for key, x in options.items()})


def _array(self, dtype=None, copy=None):
    """The array as one of NumPy, for dtypes that the buffer protocol lacks, and for GPUs."""
    import numpy

    here = self if self.device in ("cpu", "interp") else self.to_device("cpu")
    if here.dtype == _weft.bf16:
        made = numpy.frombuffer(here.tobytes(), numpy.uint16).reshape(here.shape).view(here.dtype.dtype)
    else:
        made = numpy.asarray(memoryview(here))
    if dtype is not None and made.dtype != dtype:
        made = made.astype(dtype)
    return made.copy() if copy else made


Array.__array_ufunc__ = _array_ufunc
Array.__array_function__ = _array_function
Array.__array__ = _array
Array.numpy = lambda self: _array(self)
Array.numpy.__doc__ = "The array as one of NumPy, over the same memory unless that is a GPU's."
