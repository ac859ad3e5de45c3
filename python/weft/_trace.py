"""Tracing of Python functions: what runs when a rewritten function (_rewrite.py) is called.

A Trace is one run of a function that records into a weft.Graph. Names of Python hold values of the recording or Python
objects. Where a block of the recording ends, names that the block assigns become variables of the recording. When the
block begins, neither these names nor their dtypes are known. A trace that finds one notes it under the number of the
block and raises Again; the function is then traced anew with what has been learnt. A name without a value at some points
reads as 0 there, where Python would raise.
"""
from __future__ import annotations

import operator
import sys
import threading
from typing import Any

from . import _weft
from ._weft import Graph, Value, Variable

ops = _weft.ops
_MOST_TURNS = 16  # turns of a range of Python numbers that are written out
_FEW_TRACES, _MOST_TRACES = 40, 1000
_state = threading.local()


class Again(BaseException):
    """Ends a trace, which begins anew with what has been learnt. Not an Exception: no function should catch it."""


class _Unbound:
    def __repr__(self):
        return "a name without a value"


UNBOUND = _Unbound()


def current():
    """The trace of the calling thread, or None."""
    return getattr(_state, "trace", None)


def graph() -> Graph:
    """The recording of the function that is being traced, a weft.Graph, for what Python has no statement for."""
    trace = current()
    if trace is None:
        raise _weft.ContractError("weft.graph: no function is being traced")
    return trace.graph


class Trace:
    """One run of a function that records. `point`: the index values of the current point.

    Blocks are numbered in the order in which they begin. If `by_place`, the place of a block in the text and the places
    of the calls around it are its name."""

    def __init__(self, graph, learnt, filename="", by_place=False):
        self.graph, self.learnt, self.filename, self.by_place = graph, learnt, filename, by_place
        self.sites, self.open, self.point = 0, [], ()
        self.covering = set()  # ids of the arrays of which every point uses its own element
        self.selects = False  # both branches of a condition are computed, as where no blocks are allowed

    def site(self):
        if self.by_place:
            places, frame = [], sys._getframe(1)
            while frame is not None and frame.f_code is not _attempts.__code__:
                places.append((frame.f_code, frame.f_lasti))
                frame = frame.f_back
            return tuple(places)
        self.sites += 1
        return self.sites

    def learn(self, site, name, what):
        if not self.by_place:  # what is behind may depend on it
            for later in [s for s in self.learnt if s > site]:
                del self.learnt[later]
        self.learnt.setdefault(site, {})[name] = what
        raise Again


def _attempts(make_graph, function, filename, by_place, most):
    """Calls function(trace) until nothing new is learnt, at most so many times; then None."""
    learnt = {}
    for _ in range(most):
        _state.trace = Trace(make_graph(), learnt, filename, by_place)
        try:
            return _state.trace, function(_state.trace)
        except Again:
            _state.trace.graph.drop()
        except BaseException:
            _state.trace.graph.drop()
            raise
    return None


def trace(make_graph, function, filename=""):
    """Calls function(trace) until nothing new is learnt; each time with a new recording.

    Where Python writes loops out, there are many blocks, of which each would learn for itself. Then what one block has
    learnt holds for all of its place. Their dtypes may differ; then the many attempts are made.
    """
    before, was = current(), _weft._set_tracing(True)
    try:
        done = _attempts(make_graph, function, filename, False, _FEW_TRACES)
        if done is None:
            try:
                done = _attempts(make_graph, function, filename, True, _MOST_TRACES)
            except _weft.DtypeError:
                pass
        done = done or _attempts(make_graph, function, filename, False, _MOST_TRACES)
        if done is None:
            raise RuntimeError(
                f"the function was traced {_MOST_TRACES} times, and its variables still change their dtypes"
            )
        return done
    finally:
        _state.trace = before
        _weft._set_tracing(was)


# ---- what a name holds: a tree of numbers ----------------------------------------------------------------------------
# ("number", dtype, weak), (tuple or list or a named tuple's class, (trees)), or ("object", object)

LEVEL = {"b": 1, "i": 2, "u": 2, "f": 3, "c": 4}
_WEAK = {1: _weft.bool_, 2: _weft.i64, 3: _weft.f64, 4: _weft.c128}


def is_value(x):
    return isinstance(x, (Value, Variable))


def truth(x):
    """A value as a bool of the recording."""
    return x if x.dtype.kind == "b" else x != 0


def _typed_number(x):
    """True for NumPy's numbers, which have a dtype, except those that are numbers of Python, too."""
    return (type(x).__module__ == "numpy" and getattr(x, "shape", None) == () and hasattr(x, "item") and
            not isinstance(x, (int, float, complex)))


def tree_of(x):
    if isinstance(x, Value):
        return ("number", x.dtype, x.is_weak or x.dtype.kind == "b")
    if isinstance(x, bool):
        return ("number", _weft.bool_, True)
    if isinstance(x, (int, float, complex)):
        return ("number", _WEAK[2 if isinstance(x, int) else 3 if isinstance(x, float) else 4], True)
    if _typed_number(x):
        return tree_of(current().graph.value(x))
    if isinstance(x, (tuple, list)):
        return (type(x), tuple(map(tree_of, x)))
    return ("object", x)


def leaves_of(x):
    if isinstance(x, (tuple, list)):
        return [leaf for part in x for leaf in leaves_of(part)]
    return [x]


def _numbers(tree):
    """The number nodes and objects of a tree, in the order of leaves_of."""
    if isinstance(tree[0], type):
        return [leaf for part in tree[1] for leaf in _numbers(part)]
    return [tree]


def _built(tree, leaves):
    if isinstance(tree[0], type):
        parts = [_built(part, leaves) for part in tree[1]]
        return tree[0]._make(parts) if hasattr(tree[0], "_make") else tree[0](parts)
    return next(leaves)


def _text(tree):
    if isinstance(tree[0], type):
        return f"{tree[0].__name__} of {len(tree[1])}"
    return str(tree[1]) if tree[0] == "number" else type(tree[1]).__name__


def _joined_number(a, b):
    """The dtype that holds both; None if they are two dtypes of which neither gives way."""
    (_, left, left_weak), (_, right, right_weak) = a, b
    if left == right:
        return ("number", left, left_weak and right_weak)
    levels = LEVEL[left.kind], LEVEL[right.kind]
    if left_weak and right_weak:
        return a if levels[0] >= levels[1] else b
    if not left_weak and not right_weak:
        return None
    strong, weak = (a, levels[1]) if right_weak else (b, levels[0])
    if weak <= LEVEL[strong[1].kind]:
        return strong
    return ("number", _weft.c64 if weak == 4 and strong[1] == _weft.f32 else _WEAK[weak], False)


def joined(a, b):
    if a == b:
        return a
    if a[0] == b[0] == "number":
        return _joined_number(a, b)
    if a[0] == b[0] and isinstance(a[0], type) and len(a[1]) == len(b[1]):
        parts = [joined(*pair) for pair in zip(a[1], b[1])]
        return None if None in parts else (a[0], tuple(parts))
    return a if a[0] == b[0] == "object" and a[1] is b[1] else None


def _shown(name):
    return "the function's result" if name == "_weft_result" else f"variable '{name}'"


# ---- blocks --------------------------------------------------------------------------------------------------------


class _Slot:
    """The variables of the recording behind a name, from the beginning of a block to its end."""

    def __init__(self, block, name, entry, tree):
        g = block.trace.graph
        self.block, self.name, self.entry, self.tree, self.assigned = block, name, entry, tree, False
        self.first = [0] * len(_numbers(tree)) if entry is UNBOUND else leaves_of(entry)
        self.seen = [UNBOUND] * len(self.first) if entry is UNBOUND else self.first
        self.variables = []
        for number, first in zip(_numbers(tree), self.first):
            if number[0] == "object":
                self.variables.append(None)
                continue
            if is_value(first) or _typed_number(first):
                first = g.value(first, number[1])
            self.variables.append(g.local(first, number[1]))

    def value(self):
        """What the name holds after the block, or at the head of a loop."""
        leaves = []
        for number, variable in zip(_numbers(self.tree), self.variables):
            if variable is None:
                leaves.append(number[1])
            else:
                value = variable.get()
                leaves.append(value.weak() if number[2] and is_value(value) else value)
        return _built(self.tree, iter(leaves))

    def take(self):
        value = self.value()
        self.seen = leaves_of(value)
        return value

    def assign(self, value):
        leaves = leaves_of(value)
        if len(leaves) == len(self.seen) and all(a is b for a, b in zip(leaves, self.seen)):
            return
        self.block.unify(self.name, self.tree, tree_of(value))
        self.assigned = True
        for variable, leaf in zip(self.variables, leaves):
            if variable is not None:
                variable.set(leaf)


class _Block:
    """What blocks of the recording share. `names`: the names that may have another value after it."""

    def begin(self, trace, names, scope, line, fresh=(), number=None):
        self.trace, self.line, self.names = trace, line, names
        self.number = trace.site() if number is None else number
        self.learnt = trace.learnt.get(self.number, {})
        self.slots = {}
        for name in names:
            entry = UNBOUND if name in fresh else scope.get(name, UNBOUND)
            tree = self.learnt.get(name)
            if entry is not UNBOUND:
                tree = tree or tree_of(entry)
            if tree:
                self.slots[name] = _Slot(self, name, entry, tree)

    def unify(self, name, tree, new):
        if tree == new:
            return
        both = joined(tree, new)
        if both is None or (self.strict and tree[0] == "number" and not tree[2] and both != tree):
            raise _weft.DtypeError(
                f"{_shown(name)} is {_text(tree)} before the {self.what} of line {self.line} and {_text(new)} "
                f"in it [{self.trace.filename}:{self.line}]; a conversion such as weft.f32(x) makes them equal")
        if both != tree:
            self.trace.learn(self.number, name, both)

    def close(self):
        top = self.trace.open.pop()
        assert top is self
        self.trace.graph.end()

    def after(self, name):
        slot = self.slots.get(name)
        if slot is None:
            return UNBOUND
        return slot.value() if slot.assigned else slot.entry


class Branch(_Block):
    """An `if`."""
    what, strict = "if", False

    def __init__(self, condition, names, scope, line, restored=(), fresh=()):
        self.traced = is_value(condition)
        if not self.traced:
            self.then = bool(condition)
            self.otherwise = not self.then
            return
        self.selects = current().selects
        if self.selects:
            self.trace, self.line, self.names = current(), line, names
            self.entries = {name: scope[name] for name in names if name in scope and name not in fresh}
        else:
            self.begin(current(), names, scope, line, fresh)
        self.kept = {name: scope[name] for name in restored if name in scope}
        self.copies = {name: list(value) for name, value in self.kept.items() if isinstance(value, list)}
        self.bound = {}
        self.condition, self.paths = condition, []
        self.then = True
        if not self.selects:
            self.trace.graph.if_(condition)
            self.trace.open.append(self)

    def __getattr__(self, name):
        if name != "otherwise":
            raise AttributeError(name)
        if not self.selects:
            self.trace.graph.else_()
        self.otherwise = True
        return True

    def before(self, name):
        if name in self.copies:
            return self.copies[name]
        return self.kept.get(name, UNBOUND)

    def done(self, scope):
        if not self.traced:
            return
        if self.selects:
            self.paths.append({name: scope.get(name, UNBOUND) for name in self.names})
            return
        for name in self.names:
            value = scope.get(name, UNBOUND)
            if value is UNBOUND:
                continue
            self.bound.setdefault(name, []).append(tree_of(value))
            if name in self.slots:
                self.slots[name].assign(value)

    def end(self):
        if not self.traced:
            return False
        if self.selects:
            return True
        self.close()
        for name, trees in self.bound.items():
            if name not in self.slots:
                tree = trees[0]
                for other in trees[1:]:
                    both = joined(tree, other)
                    if both is None:
                        raise _weft.DtypeError(
                            f"{_shown(name)} is {_text(tree)} in one branch of the if of line {self.line} and "
                            f"{_text(other)} in the other one [{self.trace.filename}:{self.line}]")
                    tree = both
                self.trace.learn(self.number, name, tree)
        return True

    def selected(self, name):
        """The value of either branch, by the condition."""
        values = [path[name] for path in self.paths] + [self.entries.get(name, UNBOUND)] * (2 - len(self.paths))
        values = [v for v in values if v is not UNBOUND] or [UNBOUND]
        if len(values) == 1 or values[0] is values[1]:
            return values[0]
        tree = joined(*map(tree_of, values))
        if tree is None:
            raise _weft.DtypeError(f"{_shown(name)} is {_text(tree_of(values[0]))} in one branch of the if of line "
                                   f"{self.line} and {_text(tree_of(values[1]))} in the other one "
                                   f"[{self.trace.filename}:{self.line}]")
        pairs = zip(_numbers(tree), *map(leaves_of, values))
        leaves = [a if number[0] == "object" else ops.select(truth(self.condition), a, b) for number, a, b in pairs]
        return _built(tree, iter(leaves))

    def after(self, name):
        if self.selects:
            return self.selected(name)
        return super().after(name)


class _Loop(_Block):
    strict, traced, testing = True, False, False

    def start(self, names, scope, line, left, traced):
        """Begins a loop of Python, or, if it is `traced` or learnt to be, a block of the recording.

        `left`: the names that are read after the loop."""
        self.names, self.left = names, left
        trace = current()
        self.trace = trace
        self.number = trace.site() if trace else 0
        self.depth = len(trace.open) if trace else 0
        self.traced = traced or bool(trace and trace.learnt.get(self.number, {}).get("", False))
        self.line = line
        if self.traced:
            self.begin(trace, names, scope, line, number=self.number)

    def get(self, name):
        slot = self.slots.get(name)
        return slot.take() if slot else UNBOUND

    def store(self, scope, names):
        for name in names:
            value = scope.get(name, UNBOUND)
            if value is UNBOUND:
                continue
            if name in self.slots:
                self.slots[name].assign(value)
            else:
                self.trace.learn(self.number, name, tree_of(value))

    def turn(self, scope):
        if self.traced:
            self.store(scope, self.names)

    def leave(self, scope):
        return self.jump(scope, self.left, Graph.break_)

    def skip(self, scope):
        return self.jump(scope, self.names, Graph.continue_)

    def jump(self, scope, names, how):
        if self.traced:
            self.store(scope, names)
            how(self.trace.graph)
            return self.trace.open[-1] is self
        if self.trace is None or len(self.trace.open) == self.depth:
            return True
        self.must_be_traced()

    def must_be_traced(self):
        self.trace.learn(self.number, "", True)

    def end(self):
        if self.traced:
            self.close()
        return self.traced

    def __iter__(self):
        return self


class While(_Loop):
    what = "while"

    def __init__(self, condition, names, scope, line, left):
        self.start(names, scope, line, left, is_value(condition))
        self.condition, self.turns = condition, 0
        if self.traced:
            self.trace.graph.loop()
            self.trace.open.append(self)
            self.testing = True

    def __next__(self):
        self.turns += 1
        if self.traced:
            if self.turns > 1:
                raise StopIteration
        elif self.turns == 1:
            if not self.condition:
                raise StopIteration
        else:
            self.testing = True
        return None

    def test(self, condition):
        """True if Python leaves the loop."""
        if is_value(condition):
            if not self.traced:
                self.must_be_traced()
            self.trace.graph.while_(condition)
            return False
        if condition:
            return False
        if self.traced:
            self.trace.graph.break_()
        return True


class Range:
    """A range that is a loop of the recording; what weft.range gives."""

    def __init__(self, *bounds: Any) -> None:
        if not 1 <= len(bounds) <= 3:
            raise TypeError(f"a range has 1 to 3 arguments, and {len(bounds)} were given")
        for bound in bounds:
            if not is_value(bound):
                operator.index(bound)
        self.bounds = (0, bounds[0]) if len(bounds) == 1 else bounds

    def numbers(self):
        return None if any(map(is_value, self.bounds)) else range(*map(operator.index, self.bounds))

    def __iter__(self) -> Any:
        numbers = self.numbers()
        if numbers is None:
            raise TypeError("a range of values of a recording is for `for` in a function that is traced")
        return iter(numbers)


class For(_Loop):
    what = "for"

    def __init__(self, iterable, names, scope, line, left):
        trace = current()
        is_range = isinstance(iterable, (range, Range))
        if isinstance(iterable, Range):
            traced = trace is not None
        else:
            traced = trace is not None and is_range and len(iterable) > _MOST_TURNS
        self.start(names, scope, line, left, traced)
        if not self.traced:
            self.iterator, self.is_range = iter(iterable), is_range
            return
        bounds = iterable.bounds if isinstance(iterable, Range) else (iterable.start, iterable.stop, iterable.step)
        counter = trace.graph.for_(*bounds)
        self.counters = iter([_weft.i64(counter).weak() if is_value(counter) else counter])
        trace.open.append(self)

    def __next__(self):
        return next(self.counters if self.traced else self.iterator)

    def must_be_traced(self):
        if not self.is_range:
            raise _weft.UnsupportedError(
                f"break, continue or return depends on a value of the recording, in the for of line {self.line} over "
                f"a Python object, which is written out [{self.trace.filename}:{self.line}]; range makes a loop")
        super().must_be_traced()


class unroll:
    """A loop that Python runs: `for k in weft.unroll(range(40)):` is written out, and k is an int."""

    def __init__(self, iterable: Any) -> None:
        self.iterable = iterable

    def __iter__(self) -> Any:
        return iter(self.iterable)
