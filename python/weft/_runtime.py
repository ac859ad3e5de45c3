"""What rewritten functions (_rewrite.py) call for their arrays, expressions and calls; blocks are in _trace.py."""
from __future__ import annotations

import builtins
import functools
import math
import operator
import sys
import types
from typing import Any

from . import _weft
from ._arrays import round as round_of
from ._numpy import UFUNCS, name_of
from ._trace import Branch, For, Range, UNBOUND, While, current, graph, is_value, joined, tree_of, truth
from ._values import OF_ARRAYS, OF_VALUES, of_array
from ._weft import Array

ops = _weft.ops


# ---- arrays --------------------------------------------------------------------------------------------------------


def _reduction(name: str) -> Any:
    def reduced(self, axis=None, keepdims=False):  # type: ignore[no-untyped-def]
        return of_array(name, self, axis, keepdims)

    reduced.__name__, reduced.__doc__ = name, f"weft.{name}(array), a loop over all elements."
    return reduced


def _element(x: Any) -> Any:
    """The element of an array without axes in a traced function; else the object itself."""
    return x[()] if type(x) is TracedArray and not x.ndim else x


def _of_element(name: str, symbol: str) -> Any:
    def operated(self, *others):  # type: ignore[no-untyped-def]
        if not self.ndim:
            return getattr(self[()], name)(*map(_element, others))
        raise TypeError(f"{symbol} of {self!r}: an element has {self.axes} {'index' if self.axes == 1 else 'indices'}, and "
                        f"{len(self.prefix)} {'is' if len(self.prefix) == 1 else 'are'} given")

    operated.__name__ = name
    return operated


class TracedArray:
    """An array in a traced function: a[i, j] reads, a[i, j] = v writes, a[i, j, "mirror"] reads with a border mode.

    Modes: "clamp", "periodic", "mirror", "reflect", and "value" with the value: a[i, j, "value", 0]. Fewer indices than
    axes give the rest of the array: a[i][j] is a[i, j]. An array without axes stands for its element in arithmetic.
    """

    __slots__ = ("array", "axes", "prefix", "own")

    def __init__(self, array, own=False, prefix=(), axes=None):
        self.array, self.own, self.prefix = array, own, prefix
        self.axes = array.ndim if axes is None else axes  # memory of a block has axes of its own, too

    def __repr__(self):
        return f"<array of {self.dtype} with {self.ndim} {'axis' if self.ndim == 1 else 'axes'} in a traced function>"

    @property
    def graph(self):
        """The recording that the array belongs to."""
        return graph()

    @property
    def dtype(self):
        return self.array.dtype

    @property
    def ndim(self):
        return self.axes - len(self.prefix)

    @property
    def shape(self):
        """The extents, values of the recording where the array is an argument.

        They are recorded at each use: a value that a block made is not there after the block.
        """
        g, skip = graph(), len(self.prefix)
        extents = (g.dim(self.array, k) for k in range(skip, self.axes))
        return tuple(e.weak() if is_value(e) else int(e) for e in extents)

    @property
    def size(self):
        return math.prod(self.shape)

    def __len__(self):
        raise TypeError("len() of an array whose extents are values of the recording, in a function that is not "
                        "rewritten; a.shape[0] is its length")

    def __iter__(self):
        raise TypeError("an array in a traced function is read by index; for i in range(a.shape[0]) goes over it")

    def _split(self, key):
        key = key if isinstance(key, tuple) else (key,)
        border = other = None
        for at, part in enumerate(key):
            if isinstance(part, str):
                border, other = part, key[at + 1] if len(key) == at + 2 else None
                if len(key) > at + 2:
                    raise TypeError("after a border mode comes at most one value")
                key = key[:at]
                break
        index = self.prefix + tuple(self._index(part, at + len(self.prefix), border) for at, part in enumerate(key))
        if len(index) > self.axes:
            raise _weft.BoundsError(f"{len(index)} indices for an array of {self.axes} axes")
        return index, border, other

    def _index(self, part, axis, border):
        if isinstance(part, (slice, type(None), type(Ellipsis))):
            raise TypeError("in a traced function an array is indexed by integers; range goes over an axis")
        if is_value(part):
            return part
        part = operator.index(part)
        return graph().dim(self.array, axis) + part if part < 0 and border is None else part

    def _whole(self, key):
        index, border, other = self._split(key)
        if len(index) != self.axes:
            raise _weft.BoundsError(f"{len(index)} indices for an array of {self.axes} axes")
        return index, border, other

    def __getitem__(self, key: Any) -> Any:
        index, border, other = self._split(key)
        if len(index) < self.axes and border is None:
            return TracedArray(self.array, self.own, index, self.axes)
        index, border, other = self._whole(key)
        if border is None:
            self._note(index)
        return graph().read(self.array, index, border, other)

    def __setitem__(self, key: Any, value: Any) -> None:
        index, border, _ = self._whole(key)
        if border is not None:
            raise TypeError("a border mode is for reading")
        self._note(index)
        graph().write(self.array, index, _element(value))

    def _note(self, index):
        """Notes an access that every point makes to its own element: the array is as large as the space."""
        t = current()
        if not t.open and len(index) == len(t.point) and all(map(operator.is_, index, t.point)):
            t.covering.add(id(self.array))

    def at_point(self, index):
        """True if no two points have this element."""
        point = current().point
        return self.own or (bool(point) and all(any(i is p for i in index) for p in point))

    def read(self, index, border=None, other=None):
        """An element; see weft.Graph.read."""
        return self[(*self._tuple(index), *(() if border is None else (border,)), *(() if other is None else (other,)))]

    for _name, _symbol in zip("add sub mul truediv floordiv mod pow".split(), "+ - * / // % **".split()):
        for _form in (f"__{_name}__", f"__r{_name}__"):
            locals()[_form] = _of_element(_form, _symbol)
    for _name, _symbol in zip("lt le gt ge neg".split(), "< <= > >= -".split()):
        locals()[f"__{_name}__"] = _of_element(f"__{_name}__", _symbol)
    sum, prod, mean, count_nonzero = map(_reduction, ("sum", "prod", "mean", "count_nonzero"))
    min, max, all, any = map(_reduction, ("min", "max", "all", "any"))

    @staticmethod
    def _tuple(index):
        return index if isinstance(index, tuple) else (index,)

    def write(self, index, value, where=None):
        """Assigns to an element where a condition holds."""
        graph().write(self.array, self._whole(index)[0], value, where)

    def accumulate(self, index, value, join="add", where=None, mode="auto"):
        """a[index] = join(a[index], value) for every point, also where points meet.

        `join` is "add", "mul", "min", "max", "and", "or" or "xor".
        """
        graph().accumulate(self.array, self._whole(index)[0], value, join, where, mode)

    def add(self, index, value, where=None):
        """Adds to an element; points may meet in one."""
        self.accumulate(index, value, "add", where)

    def atomic(self, index, value=0, join="add", where=None):
        """Joins a value into an element and returns what it held before; also joins exch and inc."""
        return graph().atomic(self.array, self._whole(index)[0], value, join, where)


def local_array(dtype: Any, shape: Any, initial: Any = 0) -> TracedArray:
    """In a traced function: up to 256 elements that each point has to itself."""
    return TracedArray(graph().local_array(dtype, shape, initial), own=True)


def scratch(dtype: Any, shape: Any, zeroed: bool = False) -> TracedArray:
    """In a traced function: memory that the points of a block share."""
    return TracedArray(graph().scratch(dtype, shape, zeroed), axes=1 if isinstance(shape, int) else len(shape))


# ---- what expressions become -----------------------------------------------------------------------------------------


def both(a, b):
    if not is_value(a):
        return b if a else a
    return ops_and(truth(a), truth(b) if is_value(b) else bool(b))


ops_and, ops_or, ops_not = getattr(ops, "and"), getattr(ops, "or"), getattr(ops, "not")


def _guarded(condition, first, later):
    """A bool that is `first`, and later() where the condition holds."""
    g = graph()
    if current().selects:
        return any_of(ops_not(condition), later, False, 0) if first else both(condition, later())
    result = g.local(first, _weft.bool_)
    g.if_(condition)
    block = types.SimpleNamespace()
    current().open.append(block)
    value = later()
    result.set(truth(value) if is_value(value) else bool(value))
    current().open.pop()
    g.end()
    return result.get()


def all_of(a, later, guarded, line):
    """a and b"""
    if not is_value(a):
        return later() if a else a
    return _guarded(truth(a), False, later) if guarded else both(a, later())


def any_of(a, later, guarded, line):
    """a or b"""
    if not is_value(a):
        return a if a else later()
    if guarded:
        return _guarded(ops_not(truth(a)), True, later)
    b = later()
    return ops_or(truth(a), truth(b) if is_value(b) else bool(b))


_COMPARE = {"Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge, "Eq": operator.eq,
            "NotEq": operator.ne, "Is": operator.is_, "IsNot": operator.is_not, "In": lambda a, b: contained(a, b),
            "NotIn": lambda a, b: opposite(contained(a, b))}


def compared(left, names, later, guarded):
    """left < a() <= b() ..."""
    right = later[0]()
    first = _COMPARE[names[0]](left, right)
    if len(later) == 1:
        return first
    return all_of(first, lambda: compared(right, names[1:], later[1:], guarded), guarded, 0)


def contained(a, b):
    """a in b"""
    if isinstance(b, range) and is_value(a) and b:
        low, high = builtins.min(b), builtins.max(b)
        return both(both(a >= low, a <= high), (a - low) % abs(b.step) == 0)
    if not isinstance(b, (list, tuple, set, frozenset)) or not (is_value(a) or any(map(is_value, b))):
        return a in b
    return _one_of(*(a == x for x in b))


def opposite(a):
    """not a"""
    return ops_not(truth(a)) if is_value(a) else not a


def choose(condition, then, otherwise, guarded, line):
    """a if c else b"""
    if not is_value(condition):
        return then() if condition else otherwise()
    if not guarded:
        a, b = then(), otherwise()
        simple = all(is_value(x) or isinstance(x, (int, float)) for x in (a, b))
        if simple and joined(tree_of(a), tree_of(b)):
            return ops.select(truth(condition), a, b)
    block = Branch(condition, ("value",), {}, line)
    block.done({"value": then()})
    block.otherwise
    block.done({"value": otherwise()})
    block.end()
    return block.after("value")


_ACCUMULATED = {"iadd": "add", "isub": "add", "imul": "mul", "iand": "and", "ior": "or", "ixor": "xor"}


def _to_write(array):
    """An array outside of the function as one that the recording writes."""
    made = _weft.asarray(array)
    if made is not array:
        graph()._note_foreign(made)
    return TracedArray(made)


def augment(target, key, how, value):
    """target[key] += value, and the like. Where points may meet in an element, it accumulates."""
    compute = getattr(operator, how)
    if _is_array(target) and current() is not None and any(map(is_value, key if isinstance(key, tuple) else (key,))):
        target = _to_write(target)
    if isinstance(target, TracedArray):
        index = target._whole(key)[0]
        if not target.at_point(index):
            if how not in _ACCUMULATED:
                raise _weft.ContractError(
                    "an assignment such as a[i] /= v is for the element of the current point, where no two points "
                    "meet; +=, -=, *=, &=, |=, ^= and a.accumulate(i, v, join) join the values of points that may")
            target.accumulate(key, -value if how == "isub" else value, _ACCUMULATED[how])
            return
        target[key] = compute(target[key], value)
        return
    target[key] = compute(item(target, key), value)


def store(value, target, key):
    """target[key] = value"""
    values = any(is_value(part) for part in (key if isinstance(key, tuple) else (key,)))
    if values and not isinstance(target, TracedArray) and current() is not None:
        if isinstance(target, (list, tuple)):
            raise TypeError("an element of a list is assigned by an index that is a value of the recording; "
                            "weft.local_array(dtype, shape) is an array of values")
        if _is_array(target):
            target = _to_write(target)
    if is_value(value) and hasattr(target, "__array_interface__") and not isinstance(target, (Array, TracedArray)):
        raise TypeError(
            "an element of an array outside of the recording is assigned a value of it by an index that is "
            "a number; weft.local_array(dtype, shape) is an array of each point, arguments are arrays of all"
        )
    target[key] = value


def _is_array(x):
    return isinstance(x, Array) or hasattr(x, "__array_interface__") or hasattr(x, "__dlpack__")


def item(target, key):
    """target[key], also of arrays and lists outside of the function by values of the recording."""
    if isinstance(target, TracedArray) or current() is None:
        return target[key]
    if not any(is_value(part) for part in (key if isinstance(key, tuple) else (key,))):
        return target[key]
    if isinstance(target, (list, tuple)):
        if not all(isinstance(x, (bool, int, float, complex)) for x in target):
            raise TypeError("a list or tuple is indexed by a value of the recording, which is possible if its elements "
                            "are Python numbers; weft.local_array(dtype, shape) is an array of values")
        return graph().read(_weft.asarray(target), key).weak()
    if _is_array(target):
        return TracedArray(_weft.asarray(target))[key]
    return target[key]


def _floor_to_int(x):
    return _weft.i64(ops.floor(x)).weak()


def _to_int(x):
    return _weft.i64(ops.trunc(x) if x.dtype.kind == "f" else x).weak()


def _smallest(*values):
    return functools.reduce(ops.min, values)


def _largest(*values):
    return functools.reduce(ops.max, values)


def _conditions(values, join, none):
    """Conditions joined by `or` or `and`; `none` is the result without conditions."""
    conditions = [truth(x) if is_value(x) else bool(x) for x in values]
    return functools.reduce(lambda a, b: join(a, lambda: b, False, 0), conditions) if conditions else none


def _one_of(*values):
    return _conditions(values, any_of, False)


def _each_of(*values):
    return _conditions(values, all_of, True)


# Functions of Python of one sequence whose items are values.
_OF_ITEMS = {builtins.min: _smallest, builtins.max: _largest, builtins.any: _one_of, builtins.all: _each_of}
_SPECIAL = {
    builtins.min: _smallest, builtins.max: _largest, builtins.int: _to_int,
    builtins.float: lambda x: _weft.f64(x).weak(), builtins.bool: truth, builtins.range: Range,
    builtins.round: lambda x, digits=None: _weft.i64(ops.round(x)).weak() if digits is None else round_of(x, digits),
    math.floor: _floor_to_int, math.ceil: lambda x: _weft.i64(ops.ceil(x)).weak(), math.trunc: _to_int,
    math.fabs: ops.abs, math.pow: ops.pow, math.gamma: ops.tgamma, math.fmod: ops.mod,
}
for _name in ("sqrt exp log log2 log10 log1p expm1 sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh "
              "hypot copysign isnan isinf isfinite erf erfc lgamma cbrt exp2 ldexp").split():
    if hasattr(math, _name) and hasattr(ops, _name):
        _SPECIAL[getattr(math, _name)] = getattr(ops, _name)
_PACKAGES_AS_THEY_ARE = {"weft", "numpy"}
_rewritten = {}
_MOST_REWRITTEN = 4096


def rewritten(function):
    """The function as it is called while tracing; the function itself where there is no source text."""
    code = function.__code__
    made = _rewritten.get(code)
    if made is None:
        from ._rewrite import Rewritten, SourceError  # with ast, which programs without traced functions need not load

        plain = code.co_flags & 0x2A0  # generators and coroutines
        package = (function.__module__ or "").partition(".")[0]
        if plain or package in _PACKAGES_AS_THEY_ARE or package in _library():
            made = False
        else:
            try:
                made = Rewritten(function)
            except SourceError:
                made = False
        if len(_rewritten) >= _MOST_REWRITTEN:
            _rewritten.clear()
        _rewritten[code] = made
    return made.function(function, Runtime) if made else function


def _module(function):
    """The module of a function, or that of the object whose method it is."""
    owner = getattr(function, "__self__", None)
    return (getattr(function, "__module__", None) if owner is None or isinstance(owner, types.ModuleType) else
            type(owner).__module__) or ""


def _is_random(function, kind):
    if kind is types.FunctionType:
        return function.__module__ == "random"
    module = _module(function)
    return module == "random" or module.startswith("numpy.random")


def _has_own(function, first, kind):
    """True for functions of Python and NumPy, but no ufuncs, that functions of weft stand for."""
    if type(first) is TracedArray and kind is types.BuiltinFunctionType and function.__module__ == "builtins":
        return function.__name__ in ("sum", "min", "max", "all", "any")
    if kind.__name__ not in ("_ArrayFunctionDispatcher", "function") or function.__module__ != "numpy":
        return False
    if name_of(function) not in OF_VALUES:
        raise TypeError(f"numpy.{function.__name__} of {first!r}; of NumPy's functions ufuncs can be recorded, and "
                        f"{', '.join(sorted(OF_VALUES))}")
    return True


def of_recorded(function: str, x: Any, *args: Any, **keywords: Any) -> Any:
    """A function of weft by its full name, of a value of a recording or an array in a traced function."""
    name = function.removeprefix("weft.")
    if isinstance(x, TracedArray):
        if name in OF_ARRAYS:
            return of_array(name, x, *args, **keywords)
        raise TypeError(f"{function}() is no function for an array in a traced function; those are "
                        f"{', '.join(sorted(OF_ARRAYS))}, and loops over elements are for the others")
    if name in OF_VALUES:
        return OF_VALUES[name](x, *args, **keywords)
    raise TypeError(f"{function}() takes arrays, not a value of a recording, as in weft.minimize, weft.Graph and derivatives "
                    f"within others; functions of values are {', '.join(sorted(OF_VALUES))}, those of shapes, and elementwise ones")


_weft._set_of_recorded(of_recorded, TracedArray)


def _library():
    return sys.stdlib_module_names


_BUILTIN = types.BuiltinFunctionType


def call(function, *args, **keywords):
    """function(*args, **keywords); functions of Python are rewritten, and those of math take values."""
    kind = type(function)
    if current() is not None and _is_random(function, kind):
        raise TypeError(f"{function.__name__} of {_module(function)} in a traced function is called once, while the "
                        "function is recorded, so that all points would have the same number; weft.random makes arrays "
                        "of random numbers, and weft.random.Pcg32(weft.graph(), seed, i) a generator of each point i")
    if kind.__name__ == "ufunc" or (kind is types.BuiltinFunctionType and function is not builtins.len and
                                    function.__module__ in ("weft.ops", "math", "builtins")):
        args = tuple(map(_element, args))
    if args and (type(args[0]) is TracedArray or is_value(args[0])) and _has_own(function, args[0], kind):
        return of_recorded(name_of(function), *args, **keywords)
    if kind is types.FunctionType:
        return rewritten(function)(*args, **keywords)
    if kind is types.MethodType and type(function.__func__) is types.FunctionType:
        return rewritten(function.__func__)(function.__self__, *args, **keywords)
    if function is builtins.len and len(args) == 1 and type(args[0]) is TracedArray:
        if not args[0].ndim:
            raise TypeError("len() of an array without axes")
        return args[0].shape[0]
    if len(args) == 1 and not keywords and type(args[0]) in (list, tuple, types.GeneratorType) and kind is _BUILTIN:
        of_items = _OF_ITEMS.get(function)
        if of_items is not None:
            args = (list(args[0]),)
            if any(is_value(x) for x in args[0]):
                return of_items(*args[0])
    if any(is_value(a) for a in args):
        try:
            special = _SPECIAL.get(function)
        except TypeError:
            special = None
        if special is not None:
            return special(*args, **keywords)
        if kind.__name__ == "ufunc":
            name = function.__name__
            compute = UFUNCS.get(name) or getattr(ops, name, None)  # those of scipy.special have the names of operations
            if compute is None:
                raise TypeError(f"numpy.{name} of a value of a recording; weft has no function of that name")
            if keywords:
                raise TypeError(f"numpy.{name} of a value of a recording takes no argument '{next(iter(keywords))}'; "
                                "weft.f32(x) and the like convert values")
            return compute(*args)
    return function(*args, **keywords)


# What rewritten functions call.
Runtime = types.SimpleNamespace(
    UNBOUND=UNBOUND, locals=builtins.locals, branch=Branch, while_loop=While, for_loop=For, compared=compared,
    all_of=all_of, any_of=any_of, opposite=opposite, choose=choose, augment=augment, store=store, item=item, call=call)


class function:
    """Marks a function that kernels call. Called while tracing it is rewritten, also if a library calls it."""

    def __init__(self, f: Any) -> None:
        self.__wrapped__ = f
        self.__name__, self.__doc__ = f.__name__, f.__doc__

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        f = self.__wrapped__
        return (f if current() is None else rewritten(f))(*args, **keywords)

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)
