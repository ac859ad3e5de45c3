"""@weft.kernel: Python functions of index values, arrays and numbers that are recorded once for each signature."""
from __future__ import annotations

import functools
import warnings
from typing import Any

from . import _weft
from ._runtime import Runtime, TracedArray
from ._trace import current, is_value, trace
from ._c_gradients import _check_stored
from ._weft import Array, Graph, asarray

_MANY = 16  # signatures of one function, after which a warning is given


class static:
    """An argument of a kernel that is a constant of its code: another value makes another kernel."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, static) and _weft._is_same(self.value, other.value)

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return f"weft.static({self.value!r})"


# ---- signatures ------------------------------------------------------------------------------------------------------
# What an argument contributes to the signature: ("array", dtype, axes, device), ("typed", dtype) for NumPy's numbers,
# ("number", class) for Python's, ("static", static(value)) for all else.


def describe(name, x):
    """The part of the signature, and the argument as a launch takes it."""
    if isinstance(x, Array):
        return ("array", x.dtype, x.ndim, x.device), x
    if isinstance(x, (bool, int, float)):
        return ("number", bool if isinstance(x, bool) else int if isinstance(x, int) else float), x
    if isinstance(x, static):
        return ("static", x), None
    if is_value(x):
        raise TypeError(f"argument '{name}' is a value of a recording, and kernels take arrays and numbers; a function that "
                        "weft.minimize or a derivative within another one records consists of operations on whole arrays")
    if not isinstance(x, (str, bytes, tuple, type)) and not callable(x):
        if isinstance(x, list):
            raise TypeError(f"argument '{name}' is a list; weft.asarray makes an array, a tuple is a constant")
        try:
            view = memoryview(x)
        except TypeError:
            view = None
        if view is not None or hasattr(x, "__dlpack__") or hasattr(x, "__array_interface__"):
            array = asarray(x)
            if array.ndim == 0 and view is not None and view.readonly:
                return ("typed", array.dtype), array
            return ("array", array.dtype, array.ndim, array.device), array
    try:
        hash(x)
    except TypeError:
        raise TypeError(
            f"argument '{name}' is {type(x).__name__}, which is no array, no number and no constant"
        ) from None
    return ("static", static(x)), None


def signature(names, args):
    """The signature of a call, and the arguments of its launch, which has no constants."""
    described = [describe(name, x) for name, x in zip(names, args)]
    return tuple(part for part, x in described), tuple(x for part, x in described if part[0] != "static")


def check_stored(who, args, given):
    """Fails if a launch has stored what a tape differentiates in an argument that is memory of another library."""
    for array in given:
        if isinstance(array, Array) and not any(array is x for x in args):
            _check_stored(who, array)


def launched(names, parts):
    """The names of the arguments of a launch."""
    return [name for name, part in zip(names, parts) if part[0] != "static"]


def device_of(parts, otherwise=None):
    """The device of the first array of a signature that is not on the processor."""
    return next((part[3] for part in parts if part[0] == "array" and part[3] != "cpu"), otherwise)


def formal(g, name, part):
    """What the function gets for an argument."""
    kind = part[0]
    if kind == "array":
        return TracedArray(g.formal(name, part[1], part[2]))
    if kind == "typed":
        return g.read(g.formal(name, part[1], 0), ())
    if kind == "number":
        return g.param(name, {bool: _weft.bool_, int: _weft.i64, float: _weft.f64}[part[1]]).weak()
    return part[1].value


def traceable(function):
    """The rewritten function, its text, and why it is not rewritten if it is not."""
    from ._rewrite import Rewritten, SourceError

    try:
        made = Rewritten(function)
    except SourceError as why:
        return function, None, str(why)
    return made.function(function, Runtime), made.text, None


def with_reason(error, why):
    if why and isinstance(error, TypeError) and not getattr(error, "__notes__", None):
        error.add_note(f"if, while, and, or, not and return were not rewritten: {why}; with g.If(c), g.While(c) and "
                       "g.range(n) of g = weft.graph(), and weft.where, do without")


# ---- the decorator ---------------------------------------------------------------------------------------------------


class Kernel(_weft.Dispatcher):
    """A function of a point's indices, arrays and numbers, which runs for every point of a space. See weft.kernel."""

    def __init__(self, function, space=None, block=None, device=None, threads=0):
        functools.update_wrapper(self, function)
        self.function = function
        self._block, self._device, self._threads = block, device, threads
        code = function.__code__
        if code.co_kwonlyargcount or code.co_flags & 0xC:
            raise TypeError(f"weft.kernel: {function.__name__} has parameters that are not positional ones")
        names = list(code.co_varnames[:code.co_argcount])
        indices = names[:code.co_posonlyargcount]
        found = self._written(names, indices)
        self.rank = len(indices) if indices else found[0] if found else 0
        if not self.rank:
            raise TypeError(
                f"weft.kernel: which parameters of {function.__name__} are indices is not known, as {self._unknown()}; "
                f"`def {function.__name__}(y, x, /, a, b)` marks those before the / as such")
        self.names = tuple(names[self.rank:])
        self.space = space if space is not None else found[1] if found else None
        if isinstance(self.space, str) and self.space not in self.names:
            raise TypeError(f"weft.kernel: space='{self.space}' is no argument of {function.__name__}")
        if "shape" in self.names:
            raise TypeError("weft.kernel: a parameter has the name 'shape', which is an option of the call")
        self._defaults = (function.__defaults__ or ())[-len(self.names):] if self.names else ()
        self._traced, self._text, self._why = None, None, None
        self._kernels = {}
        self._setup(
            len(self.names), self._defaults, self.names.index(self.space) if isinstance(self.space, str) else -1, static
        )

    def _written(self, names, indices):
        """The number of indices and the array of the first assignment to the element of the current point; without one
        those of the first read of it that has the most indices, as in a kernel that only accumulates elsewhere."""
        from ._rewrite import elements

        found = [[(len(key), array) for array, key in part
                  if array in names[len(key):] and key == names[:len(key)] and len(key) == (len(indices) or len(key))]
                 for part in elements(self.function)]
        return found[0][0] if found[0] else max(found[1], key=lambda one: one[0], default=None)

    def _unknown(self):
        """Why an assignment to the element of the current point was not found."""
        from ._rewrite import SourceError, node_of

        try:
            node_of(self.function)
        except SourceError as why:
            return str(why)
        return "no element of the current point is assigned or read"

    @property
    def source(self):
        """The text of the rewritten function; None if there is no source text."""
        self._prepare()
        return self._text

    @property
    def signatures(self):
        """The signatures for which there are kernels."""
        return [parts for parts, flags in self._kernels]

    def clear(self):
        """Forgets all kernels, as after a change of a global that the function reads."""
        self._kernels.clear()
        self._clear()
        self._traced = None

    def _prepare(self):
        if self._traced is None:
            self._traced, self._text, self._why = traceable(self.function)

    def _record(self, parts):
        """The weft.Kernel of a signature, and the set of its arrays that are as large as the space, as bits."""
        self._prepare()
        device = device_of(parts, self._device)
        held = launched(self.names, parts)

        def begin():
            return Graph((1,) * self.rank, device=device, block=self._block, threads=self._threads, name=self.__name__)

        def record(t):
            g = t.graph
            arguments = [formal(g, name, part) for name, part in zip(self.names, parts)]
            t.point = tuple(g.index(k).weak() for k in range(self.rank))
            try:
                result = self._traced(*t.point, *arguments)
            except Exception as error:
                with_reason(error, self._why)
                raise
            if result is not None:
                raise TypeError(f"{self.__name__} returns a value; a kernel assigns to elements of arrays")
            arrays = dict(zip(self.names, arguments))
            covers = sum(1 << k for k, name in enumerate(held)
                         if isinstance(arrays[name], TracedArray) and id(arrays[name].array) in t.covering)
            return g.compile(*held), covers

        return trace(begin, record, self.function.__code__.co_filename)[1]

    def _bind(self, args, keywords, shape):
        """A call with keywords, or a wrong one: Dispatcher calls this."""
        if current() is not None:
            raise _weft.ContractError(f"kernel {self.__name__} is called while a function is traced; weft.function "
                                      "makes a function that kernels call")
        keywords = dict(keywords or {})
        given = keywords.pop("shape", None)
        n, first = len(self.names), len(self.names) - len(self._defaults)
        if len(args) > n:
            raise TypeError(f"{self.__name__} takes {n} arguments, and {len(args)} were given")
        for name in keywords:
            if name not in self.names[len(args):]:
                raise TypeError(f"{self.__name__} has no argument '{name}'" if name not in self.names else
                                f"argument '{name}' of {self.__name__} is given twice")
        bound = list(args)
        for i in range(len(args), n):
            name = self.names[i]
            if name not in keywords and i < first:
                raise TypeError(f"argument '{name}' of {self.__name__} is missing")
            bound.append(keywords[name] if name in keywords else self._defaults[i - first])
        shape = shape if given is None else given
        return self(*bound) if shape is None else self[shape](*bound)

    def _miss(self, args, shape):
        """A call with a signature that Dispatcher does not know, or without a space."""
        if shape is None:
            shape = self._shape(args)
        parts, given = signature(self.names, args)
        key = (parts, _weft._flags())
        made = self._kernels.get(key)
        if made is None:
            made = self._kernels[key] = self._record(parts)
            if len(self._kernels) == _MANY:
                warnings.warn(f"{self.__name__} was recorded for {_MANY} signatures, the last one of {parts}; "
                              "static arguments that vary make many kernels", RuntimeWarning, stacklevel=2)
        kernel, covers = made
        self._add(kernel, parts, covers, self.rank)
        kernel.launch(given, shape, covers=covers)
        check_stored(self.__name__, args, given)

    def _shape(self, args):
        space = self.space
        if space is None:
            raise TypeError(f"the space of {self.__name__} is not known, as {self._unknown()}: "
                            f"{self.__name__}[{self._extents()}](...) or weft.kernel(space='name of an array') gives it")
        if isinstance(space, str):
            array = args[self.names.index(space)]
            space = array.shape if hasattr(array, "shape") else asarray(array).shape
            if len(space) != self.rank:
                raise _weft.ShapeError(f"{self.__name__} has {self._indices()}, and '{self.space}', which gives the space, "
                                       f"has {len(space)} axes; {self.__name__}[{self._extents()}](...) gives another space")
        return space

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self):
        return f"<weft.kernel {self.__name__}({', '.join(self.names)}) of {self._indices()}>"

    def _extents(self):
        return "n" if self.rank == 1 else ", ".join(f"n{k}" for k in range(self.rank))

    def _indices(self):
        return "1 index" if self.rank == 1 else f"{self.rank} indices"


def kernel(function: Any = None, **options: Any) -> Any:
    """Makes a kernel of a function: its first parameters are the indices of a point, the others arrays and numbers.

    The indices are the parameters before a `/`, or else those of the first assignment to the element of the current
    point, `out[y, x] = v`, or of a read if there is no assignment. That array also gives the space, unless `space=`
    names another one, or the call gives the shape: `f[h, w](...)`. Options: space, block, device, threads, as those of weft.Graph.

    >>> import weft
    >>> @weft.kernel
    ... def steps(i, x, out):
    ...     n = 0
    ...     v = x[i]
    ...     while v > 1:
    ...         v = v // 2
    ...         n += 1
    ...     out[i] = n
    >>> x = weft.asarray([1, 5, 100])
    >>> out = weft.zeros(3, weft.i32)
    >>> steps(x, out)
    >>> out.tolist()
    [0, 2, 6]
    """
    if function is None:
        return functools.partial(kernel, **options)
    return Kernel(function, **options)
