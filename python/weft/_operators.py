"""The operators ewise, iwise and reduce, which take traced functions; blocks of a recording as `with` statements."""
from __future__ import annotations

import threading
from functools import partial
from types import MethodType
from typing import Any

from . import _weft
from ._kernel import check_stored, device_of, formal, launched, signature, static, traceable, with_reason
from ._runtime import TracedArray, ops
from ._shapes import broadcast_shapes
from ._trace import current, is_value, joined, trace, tree_of
from ._weft import Array, Graph, asarray

_MOST_OPERATORS = 256
_operators = {}


def _once(kind, function, *options):
    """The operator of a function and options, made once. What counts as the same, python/src/same.c says."""
    named = _weft._snapshot((function, options))
    key = (kind, _identity(named))
    made = _operators.get(key)
    if made is None:
        if len(_operators) >= _MOST_OPERATORS:
            _operators.pop(next(iter(_operators)))
        made = _operators[key] = kind(function, *options)
        made.held = named  # what the key names by its identity
    return made


def _identity(x):
    """What stands for a snapshot in a key: numbers and the like by type and value, all else by identity."""
    if isinstance(x, (float, complex)):
        return type(x), repr(x)  # -0.0 is not 0.0
    if isinstance(x, (bool, int, str, bytes, type(None))):
        return type(x), x
    if isinstance(x, tuple):
        return tuple(map(_identity, x))
    return id(x)


def _typed(g, x):
    """A result as a value with a dtype."""
    return x if is_value(x) else g.value(x)


def _results(x, what):
    if x is None:
        raise TypeError(f"{what} returns nothing; a value, or a tuple of values, was expected")
    return list(x) if isinstance(x, (tuple, list)) else [x]


class _Traced:
    """A function that is rewritten once, and called while tracing."""

    def __init__(self, function):
        self.function, self.name = function, getattr(function, "__name__", "function")
        bound = function.__self__ if isinstance(function, MethodType) else None
        function = function if bound is None else function.__func__
        self.traced, self.text, self.why = (traceable(function) if hasattr(function, "__code__") else
                                            (function, None, "it is no function of Python"))
        if bound is not None:
            self.traced = partial(self.traced, bound)
        self.filename = function.__code__.co_filename if hasattr(function, "__code__") else ""

    def __call__(self, *args):
        try:
            return self.traced(*args)
        except Exception as error:
            with_reason(error, self.why)
            raise


def _space(given):
    """The shape to which the arrays among arguments broadcast."""
    return broadcast_shapes(*(x.shape for x in given if isinstance(x, Array)))


# ---- element-wise functions ------------------------------------------------------------------------------------------


class _Elementwise(_weft.Dispatcher):
    """An element-wise function of n arrays with `outs` results; 0: their number is not known, and it finds their dtypes."""

    def __init__(self, function, n, outs):
        self.traced, self.n, self.outs = _Traced(function), n, outs
        self.names = tuple(f"a{i}" for i in range(n)) + tuple(f"out{i}" for i in range(outs))
        self.kernels, self.found = {}, {}
        self._setup(n + outs, (), -2, static, outs)

    def record(self, parts, dtypes):
        """The kernel of a signature; with `dtypes`, a list to be filled, the dtypes of the results only."""
        def run(t):
            g = t.graph
            values = []
            for name, part in zip(self.names, parts[:self.n]):
                x = formal(g, name, part)
                values.append(g.input(x.array) if isinstance(x, TracedArray) else x)
            results = _results(self.traced(*values), self.traced.name)
            if dtypes is not None:
                dtypes[:] = [_typed(g, r).dtype for r in results]
                return g.drop()
            if len(results) != self.outs:
                raise TypeError(f"{self.traced.name} returns {len(results)} values for {self.outs} arrays")
            for name, part, result in zip(self.names[self.n:], parts[self.n:], results):
                if part[0] != "array":
                    raise TypeError("the results of an element-wise function are stored in arrays")
                g.output(g.formal(name, part[1], part[2]), result)
            return g.compile(*launched(self.names, parts))

        device = device_of(parts)
        return trace(lambda: Graph(elements=True, device=device, name=self.traced.name), run, self.traced.filename)[1]

    def _bind(self, args, keywords, shape):
        raise _weft.ContractError("weft.ewise is called while a function is traced, which can call its function itself")

    def _miss(self, args, shape):
        parts, given = signature(self.names, args)
        key = (parts, _weft._flags())
        made = self.kernels.get(key)
        if made is None:
            made = self.kernels[key] = self.record(parts, None)
        self._add(made, parts)
        made(*given)
        check_stored("weft.ewise", args, given)

    def new_results(self, args):
        parts, given = signature(self.names, args)
        dtypes = self.found.get(parts)
        if dtypes is None:
            dtypes = []
            self.record(parts, dtypes)
            self.found[parts] = dtypes
        shape, device = _space(given), device_of(parts)
        return [_weft._empty_beside(shape, dtype, device, args) for dtype in dtypes]


_EWISE = (...,) * 7  # the options of weft.reduce that weft.ewise does not have


def _ewise(function: Any, *arrays: Any, out: Any = None) -> Any:
    """weft.ewise for what is not known yet (python/src/elementwise.c), and with `out`."""
    given = arrays
    arrays = [asarray(a) if isinstance(a, list) else a for a in arrays]
    if current() is None and any(map(is_value, arrays)):  # of whole arrays: the operations are the same
        if out is not None:
            raise TypeError("weft.ewise: values of a recording are not stored in arrays; g.output(array, value) does that")
        return function(*arrays)
    if out is None:
        made = _once(_Elementwise, function, len(arrays), 0).new_results(arrays)
        operator = _once(_Elementwise, function, len(arrays), len(made))
        operator(*arrays, *made)
        operator._is_natural()
        _weft._note_operator(operator, _EWISE, function, len(given))
        return made[0] if len(made) == 1 else tuple(made)
    outs = out if isinstance(out, (tuple, list)) else (out,)
    operator = _once(_Elementwise, function, len(arrays), len(outs))
    operator(*arrays, *outs)
    _weft._note_operator(operator, _EWISE, function, len(given))
    return out


def iwise(shape: Any, *, block: Any = None, device: str | None = None, threads: int = 0) -> Any:
    """iwise(shape)(f) runs f(y, x, ...) once for every point of a shape, at once.

    Arrays are those of the closure. If f returns a value, or a tuple of values, they become arrays of that shape.

    >>> import weft
    >>> weft.iwise((2, 3))(lambda y, x: y * 10 + x).tolist()
    [[0, 1, 2], [10, 11, 12]]
    """
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return _Iwise(shape, {"block": block, "device": device, "threads": threads})


class _Iwise(_weft._Hiding):
    """Runs a function of indices for the points of a shape; `options` are those of weft.Graph."""

    def __init__(self, shape, options):
        self.shape, self.options = shape, options

    def _run(self, function):
        traced = _Traced(function)

        def record(t):
            t.point = tuple(t.graph.index(k).weak() for k in range(len(self.shape)))
            result = traced(*t.point)
            values = [_typed(t.graph, v) for v in ([] if result is None else _results(result, traced.name))]
            made = [_weft._empty_beside(self.shape, v.dtype, self.options["device"], t.graph) for v in values]
            for array, value in zip(made, values):
                t.graph.output(array, value)
            t.graph.run()
            return made[0] if len(made) == 1 else tuple(made) or None

        return trace(lambda: Graph(self.shape, name=traced.name, **self.options), record, traced.filename)[1]


# ---- reductions ------------------------------------------------------------------------------------------------------

_JOINS = {"add": ops.add, "mul": ops.mul, "min": ops.min, "max": ops.max, "and": getattr(ops, "and"),
          "or": getattr(ops, "or"), "xor": ops.xor}


def _variable_dtype(init, value, join):
    """The dtype in which a result is accumulated, and that of the result."""
    tree = joined(tree_of(init), tree_of(value))
    if tree is None:
        raise _weft.DtypeError(f"weft.reduce: the initial value is {tree_of(init)[1]}, and the function gives "
                               f"{tree_of(value)[1]}; a number of NumPy, or a weak one of Python, fits")
    dtype = tree[1]
    if tree[2] or join not in ("add", "mul"):
        return dtype, dtype
    if dtype.kind in "iu":
        wide = _weft.i64 if dtype.kind == "i" else _weft.u64
        return wide, wide
    return (_weft.f64 if dtype == _weft.f32 else dtype), dtype


class _Reduction:
    def __init__(self, function, join, post, axes, keepdims, indices):
        self.traced = _Traced(function)
        self.join = tuple(_Traced(j) if callable(j) else j for j in (join if isinstance(join, tuple) else (join,)))
        self.post = None if post is None else _Traced(post)
        self.axes, self.keepdims, self.indices, self.kernels = axes, keepdims, indices, {}
        self.operators = {}
        for j in self.join:
            if isinstance(j, str) and j not in _JOINS:
                raise ValueError(f"weft.reduce: there is no join '{j}': {', '.join(_JOINS)}, or a function")

    def record(self, parts, rank, inits, given):
        kept = rank if self.keepdims else rank - len(self.axes)
        device = device_of(parts)

        def run(t):
            g = t.graph
            names = [f"a{i}" for i in range(len(parts))]
            elements = []
            for name, part in zip(names, parts):
                x = formal(g, name, part)
                elements.append(g.input(x.array) if isinstance(x, TracedArray) else x)
            point = [g.index(k).weak() for k in range(rank)] if self.indices else []
            values = [_typed(g, v).weak() if not is_value(v) else v
                      for v in _results(self.traced(*point, *elements), self.traced.name)]
            if len(inits) != len(values):
                raise TypeError(
                    f"weft.reduce: {self.traced.name} gives {len(values)} values, and there are {len(inits)} "
                    "initial ones"
                )
            joins = self.join * len(values) if len(self.join) == 1 else self.join
            custom = isinstance(joins[0], _Traced)
            dtypes = [_variable_dtype(*all_) for all_ in zip(inits, values, joins)]
            variables = [g.reduced(d[0], init, "custom" if custom else j) for d, init, j in zip(dtypes, inits, joins)]
            t.selects = True
            if custom:
                self.merge(joins[0], variables, [v.get() for v in variables], values)
                g.section("join")
                self.merge(joins[0], variables, [v.get() for v in variables], [v.other().get() for v in variables])
            else:
                for variable, join, value in zip(variables, joins, values):
                    variable.set(_JOINS[join](variable, value))
            g.section("post")
            totals = [v.get() for v in variables]
            if self.post is not None:
                results = [_typed(g, r) for r in _results(self.post(*totals), self.post.name)]
                kinds = [r.dtype for r in results]
            else:
                results, kinds = totals, [d[1] for d in dtypes]
            kinds = list(given or kinds)
            if len(kinds) != len(results):
                raise TypeError(f"weft.reduce: {len(results)} results for {len(kinds)} arrays")
            for i, (result, dtype) in enumerate(zip(results, kinds)):
                g.output(g.formal(f"out{i}", dtype, kept), result)
            return g.compile(*launched(names, parts), *(f"out{i}" for i in range(len(results)))), kinds

        return trace(lambda: Graph((1,) * rank, reduce=self.axes, device=device, name=self.traced.name), run,
                     self.traced.filename)[1]

    def reduced(self, rank, inits, parts, kernel, results):
        """The operator of a rank and initial values, which knows the kernel of these parts."""
        key = rank, inits, len(parts), len(results)
        operator = self.operators.get(key)
        if operator is None:
            operator = self.operators[key] = _Reduced(len(parts), len(results), self.axes, self.keepdims)
        operator._add(kernel, (*parts, *results))
        operator._is_natural()
        return operator

    @staticmethod
    def merge(join, variables, left, right):
        if len(variables) == 1:
            merged = [join(left[0], right[0])]
        else:
            merged = _results(join(tuple(left), tuple(right)), join.name)
        if len(merged) != len(variables):
            raise TypeError(f"weft.reduce: {join.name} gives {len(merged)} values instead of {len(variables)}")
        for variable, value in zip(variables, merged):
            variable.set(value)


class _Reduced(_weft.Dispatcher):
    """A reduction of n arrays with initial values, which makes its results: a table of kernels for C."""

    def __init__(self, n, outs, axes, keepdims):
        self._setup(n + outs, (), -2, static, outs, axes, keepdims)


def _reduce(function: Any, *arrays: Any, axis: Any = None, init: Any = 0, join: Any = "add", post: Any = None,
            keepdims: bool = False, out: Any = None, indices: bool = False) -> Any:
    """weft.reduce for what is not known yet (python/src/elementwise.c), and with `out`."""
    if current() is not None:
        raise _weft.ContractError("weft.reduce is called while a function is traced")
    arrays = [asarray(a) if isinstance(a, list) else a for a in arrays]
    parts, taken = signature([f"a{i}" for i in range(len(arrays))], arrays)
    shape = _space(taken)
    rank = len(shape)
    axes = range(rank) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    if any(not -rank <= a < rank for a in axes):
        raise _weft.ArgumentError(f"weft.reduce: axis {axis} of arrays with {rank} axes")
    axes = tuple(sorted({a % rank for a in axes}))
    function_given = function
    function = _same if function is None else function
    reduction = _once(
        _Reduction, function, tuple(join) if isinstance(join, list) else join, post, axes, keepdims, indices
    )
    inits = tuple(init) if isinstance(init, (tuple, list)) else (init,)
    outs = None if out is None else out if isinstance(out, (tuple, list)) else [out]
    given = None if outs is None else tuple(asarray(o).dtype for o in outs)
    first = tuple((type(x), repr(x) if isinstance(x, (float, complex)) else x) for x in inits)
    key = (parts, rank, first, given, _weft._flags())
    found = reduction.kernels.get(key)
    if found is None:
        found = reduction.kernels[key] = reduction.record(parts, rank, inits, given)
    kernel, dtypes = found
    device = device_of(parts, "cpu")
    kept = tuple(1 if a in axes else n for a, n in enumerate(shape) if keepdims or a not in axes)
    if outs is None:
        outs = [_weft._empty_beside(kept, d, device, arrays, axes, keepdims) for d in dtypes]
    kernel.launch((*taken, *outs), shape)
    if out is not None:
        return out
    operator = reduction.reduced(rank, key[2], parts, kernel, [("array", d, len(kept), device) for d in dtypes])
    options = (axis, init, join, post, keepdims, indices, None)
    _weft._note_operator(operator, options, function_given, len(arrays))
    return outs[0] if len(outs) == 1 else tuple(outs)


def _same(x):
    return x


# ---- blocks of a recording as `with` ---------------------------------------------------------------------------------


class _With:
    """A block that `with` ends, also when an exception leaves it: then the recording is dropped."""

    def __init__(self, graph, begin, *args):
        self.graph = graph
        begin(*args)

    def __enter__(self):
        self.trace = current() if current() is not None and current().graph is self.graph else None
        if self.trace is not None:
            self.trace.open.append(self)
        return self

    def __exit__(self, kind, value, frames):
        if self.trace is not None and self.trace.open[-1] is self:
            self.trace.open.pop()
        if kind is None:
            self.graph.end()
        elif self.graph.is_open and not isinstance(value, GeneratorExit):
            self.graph.drop()


_state = threading.local()  # `last`: the condition of the last `with g.If(c)` that has ended


class _WithIf(_With):
    def __exit__(self, kind, value, frames):
        super().__exit__(kind, value, frames)
        _state.last = self.condition


def _with_if(graph, condition):
    """with g.If(c): a block of the points where the condition holds; with g.Else(): behind it, the others."""
    condition = condition if is_value(condition) else graph.value(condition, _weft.bool_)
    condition = condition.get() if hasattr(condition, "get") else condition
    block = _WithIf(graph, graph.if_, condition)
    block.condition = condition
    return block


def _with_else(graph):
    """with g.Else(): the points for which the last `with g.If(c):` did not hold."""
    condition, _state.last = getattr(_state, "last", None), None
    if condition is None or condition.graph is not graph:
        raise _weft.ContractError("g.Else: there is no g.If before it")
    return _With(graph, graph.if_, condition == 0 if condition.dtype.kind != "b" else getattr(ops, "not")(condition))


def _with_loop(graph):
    """with g.Loop(): a loop until g.break_()."""
    return _With(graph, graph.loop)


def _for_range(graph, *bounds):
    """for i in g.range(lo, hi, step): a loop of the recording."""
    bounds = (0, *bounds) if len(bounds) == 1 else bounds
    counter = graph.for_(*bounds)
    block = _With(graph, bool)
    block.__enter__()
    yield counter
    block.__exit__(None, None, None)


Graph.If, Graph.Else, Graph.Loop, Graph.range = _with_if, _with_else, _with_loop, _for_range
_weft._set_operators(_ewise, _reduce)
