"""NumPy's functions on arrays of Weft: ufuncs run as operations of Weft and give arrays of Weft."""
import functools
import inspect
import math
import sys

from . import _c_functions as _c
from . import _weft
from ._arrays import operand, stored
from ._functions import vecdot
from ._c_gradients import _check_lent, _check_stored, is_taped
from ._indexing import accumulate
from ._trace import LEVEL
from ._weft import Array, asarray, ops

# What computes NumPy's ufuncs, by their names: of arrays, and of values of a recording. Operators of Python are used where
# they promote as NumPy does.
UFUNCS = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b, "true_divide": lambda a, b: a / b, "floor_divide": lambda a, b: a // b,
    "remainder": lambda a, b: a % b, "mod": lambda a, b: a % b, "power": lambda a, b: a ** b,
    "float_power": lambda a, b: _float(a) ** b, "matmul": lambda a, b: a @ b,
    "negative": lambda a: -a, "positive": lambda a: +a, "absolute": abs, "fabs": lambda a: abs(_float(a)), "invert": lambda a: ~a,
    "equal": lambda a, b: a == b, "not_equal": lambda a, b: a != b, "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b, "greater": lambda a, b: a > b, "greater_equal": lambda a, b: a >= b,
    "bitwise_and": lambda a, b: a & b, "bitwise_or": lambda a, b: a | b, "bitwise_xor": lambda a, b: a ^ b,
    "left_shift": lambda a, b: a << b, "right_shift": lambda a, b: a >> b,
    "logical_and": lambda a, b: _bool(a) & _bool(b), "logical_or": lambda a, b: _bool(a) | _bool(b),
    "logical_xor": lambda a, b: _bool(a) ^ _bool(b), "logical_not": lambda a: ~_bool(a),
    "square": lambda a: a * a, "reciprocal": lambda a: ops.idiv(1, a) if a.dtype.kind in "iu" else ops.rcp(a), "conjugate": ops.conj, "rint": ops.round,
    "arcsin": ops.asin, "arccos": ops.acos, "arctan": ops.atan, "arctan2": ops.atan2, "arcsinh": ops.asinh,
    "arccosh": ops.acosh, "arctanh": ops.atanh, "maximum": ops.max, "minimum": ops.min, "fmod": ops.mod,
    "degrees": lambda a: _float(a) * (180 / math.pi), "radians": lambda a: _float(a) * (math.pi / 180),
    "heaviside": lambda a, b: ops.select(a > 0, 1.0, ops.select(a == 0, _float(b), ops.select(a < 0, 0.0, _float(a)))),
    "logaddexp": lambda a, b: _c.logaddexp(_float(a), _float(b)),
    "divmod": lambda a, b: (a // b, a % b), "modf": lambda a: _modf(_float(a)), "vecdot": vecdot,
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
    if isinstance(a, (int, float, complex)):
        return bool(a)
    a = operand(a)
    return a if a.dtype == _weft.bool_ else a != 0


def _float(a):
    if isinstance(a, (int, float, complex)):
        return a if isinstance(a, complex) else float(a)
    a = operand(a)
    return a if a.dtype.kind in "fc" else a.astype(_weft.f64)


def _modf(a):
    whole = ops.trunc(a)
    return ops.copysign(ops.select(ops.isinf(a), 0.0, a - whole), a), whole


# ---- dtypes and casting ----

_DTYPES = {dtype.name: dtype for dtype in vars(_weft).values() if isinstance(dtype, _weft.DType)}


def _number(x):
    """A number of Python, also that of a subclass such as numpy.float64, or None."""
    for kind in (bool, int, float, complex):
        if isinstance(x, kind):
            return kind(x)
    return None


def _taken(x):
    """An operand of a ufunc: an array or a number of Python."""
    if isinstance(x, Array):
        return x
    number = _number(x)
    return asarray(x) if number is None else number


def _in_numpy(dtype):
    """A dtype of Weft as one of NumPy's rules; that of bf16 is float16."""
    return (_weft.f16 if dtype == _weft.bf16 else dtype).dtype


def _of_numpy(dtype):
    """NumPy's dtype of the argument `dtype` of one of its functions."""
    import numpy

    return dtype.dtype if isinstance(dtype, _weft.DType) else numpy.dtype(dtype)


def _cannot_cast(ufunc, what, source, target, casting):
    return TypeError(f"Cannot cast ufunc {ufunc.__name__!r} {what} from {source!r} to {target!r} with casting rule "
                     f"{casting!r}")


def _cast(ufunc, place, x, target, casting):
    """An operand in a dtype of NumPy; TypeError where the casting rule forbids it."""
    import numpy

    if isinstance(x, Array):
        source = _in_numpy(x.dtype)
        if not numpy.can_cast(source, target, casting):
            raise _cannot_cast(ufunc, f"input {place}", source, target, casting)
        return x.astype(_DTYPES[target.name], copy=False)
    if casting == "unsafe":
        return asarray(x).astype(_DTYPES[target.name])
    if LEVEL[numpy.dtype(type(x)).kind] > LEVEL.get(target.kind, 0):
        raise _cannot_cast(ufunc, f"input {place}", numpy.dtype(type(x)), target, casting)
    return x


def _loop(ufunc, operands, dtype, casting):
    """The operands in the dtypes in which NumPy computes a result of a dtype, and the dtypes of the results. None: in a
    dtype that Weft does not have."""
    import numpy

    dtype = _of_numpy(dtype)
    if dtype.name not in _DTYPES:
        return None
    loops = [t.split("->") for t in ufunc.types]
    loops = [(inputs, outputs) for inputs, outputs in loops if set(outputs) == {dtype.char}]
    alike = [loop for loop in loops if set(loop[0]) == {dtype.char}]
    mistake = TypeError(f"No loop matching the specified signature and casting was found for ufunc {ufunc.__name__}")
    for rule, some in ((casting, alike), ("safe", loops)):
        for inputs, outputs in some:
            targets = [numpy.dtype(c) for c in inputs]
            if all(target.name in _DTYPES for target in targets):
                try:
                    cast = [_cast(ufunc, k, x, t, rule) for k, (x, t) in enumerate(zip(operands, targets))]
                    return cast, [_DTYPES[numpy.dtype(c).name] for c in outputs]
                except TypeError as e:
                    mistake = mistake if some is loops else e
    raise mistake


def _check_exact(ufunc, operands, casting):
    """Raises a TypeError where a ufunc converts operands, which casting "no" forbids."""
    arrays = [_in_numpy(x.dtype) for x in operands if isinstance(x, Array)]
    for place, dtype in enumerate(arrays):
        if dtype != arrays[0] or not any(dtype.char in t.split("->")[0] for t in ufunc.types):
            raise TypeError(f"ufunc {ufunc.__name__!r} converts input {place} from {dtype!r}, which the casting rule "
                            f"{casting!r} does not allow")


def _called(ufunc, inputs, out, dtype=None, casting="same_kind", **options):
    compute = UFUNCS.get(ufunc.__name__)
    if compute is None or options.pop("where", True) is not True or options.keys() - (("axis",) if compute is vecdot else ()):
        return NotImplemented
    if out is None and dtype is None and casting == "same_kind":
        return compute(*map(_taken, inputs), **options)
    import numpy

    operands = [_taken(x) for x in inputs]
    if casting != "same_kind":
        numpy.can_cast("i1", "i1", casting)  # refuses a rule that there is not
    results = None
    if dtype is not None:
        found = _loop(ufunc, operands, dtype, casting)
        if found is None:
            return NotImplemented
        operands, results = found
    elif casting in ("no", "equiv"):
        _check_exact(ufunc, operands, casting)
    made = compute(*operands, **options)
    if results is not None:
        parts = [part.astype(result, copy=False) for part, result in zip(made if ufunc.nout > 1 else (made,), results)]
        made = tuple(parts) if ufunc.nout > 1 else parts[0]
    for part, target in zip(made if ufunc.nout > 1 else (made,), out or ()):
        if target is not None:
            source, wanted = _in_numpy(part.dtype), _in_numpy(asarray(target).dtype)
            if not numpy.can_cast(source, wanted, casting):
                raise _cannot_cast(ufunc, "output", source, wanted, casting)
    return made


def _reduced(ufunc, array, axis=0, dtype=None, keepdims=False, **options):
    name = _REDUCTIONS.get(ufunc.__name__)
    if name is None or any(value is not (True if key == "where" else None) for key, value in options.items()):
        return NotImplemented
    array = asarray(array, dtype=None if dtype is None else _of_numpy(dtype))
    return getattr(_c, name)(array, axis, keepdims=keepdims)


def _accumulated(ufunc, array, axis=0, dtype=None):
    name = {"add": "cumsum", "multiply": "cumprod"}.get(ufunc.__name__)
    if name is None:
        return NotImplemented
    return getattr(_c, name)(asarray(array, dtype=None if dtype is None else _of_numpy(dtype)), axis)


# ---- ufuncs ----

_JOINS = {"add": "add", "subtract": "add", "multiply": "mul", "minimum": "min", "maximum": "max", "bitwise_and": "and",
          "bitwise_or": "or", "bitwise_xor": "xor"}


def _at(ufunc, array, key, *values):
    """ufunc.at(array, key, value), which joins the values of places that are named several times, too."""
    join = _JOINS.get(ufunc.__name__)
    if join is None or len(values) != 1:
        return NotImplemented
    given, array, value = array, asarray(array), operand(values[0])
    if ufunc.__name__ == "subtract":
        value = -value.astype(array.dtype)  # a narrow or unsigned dtype may not hold -value
    accumulate(array, key, value, join)
    if array is not given:
        _check_stored(f"numpy.{ufunc.__name__}.at", array)
    return None


def _array_ufunc(self, ufunc, method, *inputs, out=None, **options):
    """Runs a ufunc of NumPy. What Weft does not have raises a TypeError of NumPy."""
    if method == "__call__":
        made = _called(ufunc, inputs, out, **options)
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
    if out is None:
        return made
    if isinstance(made, tuple):
        return tuple(map(stored, made, out))
    return stored(made, out[0])


# Functions of NumPy that Weft computes: how many arguments have other names there and go by place, and the names of the
# others that Weft has, in NumPy's order.
_FUNCTIONS = {
    "sum": (1, ("axis", "keepdims")), "prod": (1, ("axis", "keepdims")), "mean": (1, ("axis", "keepdims")),
    "std": (1, ("axis", "ddof", "keepdims")), "var": (1, ("axis", "ddof", "keepdims")), "min": (1, ("axis", "keepdims")),
    "max": (1, ("axis", "keepdims")), "all": (1, ("axis", "keepdims")), "any": (1, ("axis", "keepdims")),
    "cumsum": (1, ("axis",)), "cumprod": (1, ("axis",)), "sort": (1, ("axis",)), "argsort": (1, ("axis",)),
    "median": (1, ("axis", "keepdims")), "quantile": (2, ("axis", "keepdims")), "percentile": (2, ("axis", "keepdims")),
    "where": (3, ()), "diff": (1, ("n", "axis")), "concatenate": (1, ("axis",)), "stack": (1, ("axis",)),
    "take": (2, ("axis",)), "take_along_axis": (2, ("axis",)), "repeat": (2, ("axis",)), "tile": (2, ()),
    "roll": (2, ("axis",)), "dot": (2, ()), "outer": (2, ()), "tensordot": (2, ("axes",)),
}


def _without_derivative(function):
    name = f"{function.__module__}.{function.__name__}"
    own = sys.modules["weft"]
    for part in name.split(".")[1:]:
        own = getattr(own, part, None)
    instead = f"weft{name[len('numpy'):]} may have one, and " if own is not None else ""
    return (f"{name} computes in NumPy and has no derivative, and an argument depends on an array that a tape or weft.grad "
            f"differentiates; {instead}x.numpy() is a constant")


def _given_to_numpy(function, x):
    if isinstance(x, Array):
        if x.device not in ("cpu", "interp"):
            raise TypeError("NumPy's functions do not take arrays of a GPU; x.to_device('cpu') copies one")
        if is_taped(x):
            raise _weft.UnsupportedError(_without_derivative(function))
        return x.numpy()
    if isinstance(x, (list, tuple)):
        return type(x)(_given_to_numpy(function, y) for y in x)
    return x


def name_of(function):
    """The name in weft of a function of Python or NumPy."""
    return {"amin": "min", "amax": "max", "around": "round", "round_": "round"}.get(function.__name__, function.__name__)


@functools.lru_cache(maxsize=256)
def _signature(function):
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _own_arguments(function, name, args, options):
    """(args, options) of a function of Weft for those of a function of NumPy, or None: it does not have some of them."""
    by_place, names = _FUNCTIONS[name]
    given = dict(options)
    if len(args) != by_place:
        signature = _signature(function)
        if signature is None:  # a function in C, whose names are in the order of its arguments
            given.update(zip(names, args[by_place:]))
            if len(args) < by_place or len(args) > by_place + len(names):
                return None
        else:
            try:
                bound = list(signature.bind(*args, **options).arguments.items())
            except TypeError:
                return None
            args = [value for _, value in bound[:by_place]]
            given = {key: x for key, x in bound[by_place:] if x is not signature.parameters[key].default}
            if len(args) < by_place:
                return None
    return (args[:by_place], given) if set(given) <= set(names) else None


def _array_function(self, function, types, args, options):
    """Runs a function of NumPy: in Weft if that has it, else in NumPy, on the same memory."""
    name = name_of(function)
    own = getattr(sys.modules["weft"], name, None)
    if own is not None and name in _FUNCTIONS and function.__module__ == "numpy":
        arguments = _own_arguments(function, name, args, options)
        if arguments is not None:
            return own(*arguments[0], **arguments[1])
    if name == "norm" and function.__module__ == "numpy.linalg" and len(args) == 1 and set(options) <= {"axis", "keepdims"}:
        return own(args[0], "l2", **options)
    return function(*(_given_to_numpy(function, x) for x in args),
                    **{key: _given_to_numpy(function, x) for key, x in options.items()})


def _array(self, dtype=None, copy=None):
    """The array as one of NumPy, for dtypes that the buffer protocol lacks, and for GPUs."""
    import numpy

    here = self if self.device in ("cpu", "interp") else self.to_device("cpu")
    if here.dtype == _weft.bf16:
        made = numpy.frombuffer(here.tobytes(), numpy.uint16).reshape(here.shape).view(here.dtype.dtype)
    else:
        made = numpy.asarray(here._memoryview())
    if dtype is not None and made.dtype != dtype:
        made = made.astype(dtype)
    return made.copy() if copy else made


def _array_for_others(self, dtype=None, copy=None):
    _check_lent(self)
    return _array(self, dtype, copy)


Array.__array_ufunc__ = _array_ufunc
Array.__array_function__ = _array_function
Array.__array__ = _array_for_others
Array.numpy = lambda self: _array(self)
Array.numpy.__doc__ = "The array as one of NumPy, over the same memory unless that is a GPU's."
