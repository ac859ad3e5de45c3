"""Derivatives: of functions (grad, value_and_grad, vjp, jvp, jacobian, hessian), of values (grad, vjp, jvp), of operators
(adjoint, tangent), through launches (tape); minimization."""
from __future__ import annotations

import threading
import types

from . import _c_gradients as _c
from ._c_derivatives import replace_gradient, stop
from ._c_gradients import adjoint, depends, is_taped, tangent
from ._c_hooks import check_gradient, minimize
from . import _c_rules as _rules
from ._arrays import zeros, zeros_like
from ._weft import _Hiding, ArgumentError, Array, DtypeError, Graph, ShapeError, UnsupportedError, Value, asarray, empty, f64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, overload

    from ._typing import ArrayLike

__all__ = [
    "adjoint", "check_gradient", "custom", "custom_arrays", "depends", "fixed_point", "grad", "hessian", "is_taped",
    "jacobian", "jvp", "minimize", "replace_gradient", "stop", "tangent", "tape", "value_and_grad", "vjp",
]


class tape:
    """Within `with weft.tape(a, b) as t:` what is computed from the arrays is noted, for t.grad(loss, a).

    >>> import weft
    >>> x = weft.asarray([1.0, 2.0, 3.0])
    >>> with weft.tape(x) as t:
    ...     loss = (x * x).sum()
    >>> t.grad(loss, x).tolist()
    [2.0, 4.0, 6.0]
    """

    def __init__(self, *watched: Array) -> None:
        for array in watched:
            if not isinstance(array, Array):
                raise TypeError(
                    f"a tape watches arrays of weft, not {type(array).__name__}: weft.asarray(x) makes one of "
                    "the same memory"
                )
        self._watched, self._tape, self._notes = watched, None, False  # type: tuple[Array, ...], Any, bool

    def __enter__(self) -> tape:
        self._tape = _c._tape_begin(self._watched)
        self._notes = True
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self._notes = False
        _c._tape_end(self._tape)

    if TYPE_CHECKING:
        @overload
        def grad(self, loss: Array, wrt: Array) -> Array: ...

        @overload
        def grad(self, loss: Array, wrt: Sequence[Array]) -> list[Array]: ...

    def grad(self, loss: Array, wrt: Array | Sequence[Array]) -> Array | list[Array]:
        """The derivative of an array of one real number with respect to a watched array; for a list of arrays a list.

        It is called after the block of the tape, which does not note what it computes."""
        if self._tape is None:
            raise ValueError("the tape has not begun: use it in a with statement")
        if self._notes:
            raise ValueError("tape.grad within the block of the tape gives constants for it; it is called after the block, and "
                             "weft.grad(f) within the block has derivatives")
        if not isinstance(loss, Array):
            raise TypeError(f"tape.grad: the loss is {type(loss).__name__}, which the tape does not know; it is the array of "
                            "weft that the computation gives, before x.item() or float(x)")
        one = isinstance(wrt, Array)
        for x in [wrt] if one or not isinstance(wrt, (list, tuple)) else wrt:
            if not isinstance(x, Array):
                raise TypeError(f"tape.grad: derivatives are with respect to arrays that the tape watches, not "
                                f"{type(x).__name__}")
        grads = _c._tape_grad(self._tape, loss, [wrt] if one else wrt)
        return grads[0] if one else grads


def _grads(noted: tape, loss: Array, wrt: list[Array], followed: bool) -> list[Array]:
    """The derivatives on a tape; zeros if the loss is not followed by the tape, and so is a constant."""
    try:
        return noted.grad(loss, wrt)  # fails if the tape has met what it cannot differentiate
    except ArgumentError:
        if followed:
            raise
        return [zeros_like(array) for array in wrt]


# ---- derivatives of functions ----------------------------------------------------------------------------------------


def _checked(what: str, x: Any) -> Array:
    """An argument as an array that has derivatives."""
    if isinstance(x, (tuple, list, dict, str, bytes, type(None))) or callable(x):
        hint = ": weft.asarray makes an array of a list" if isinstance(x, (tuple, list)) else ""
        raise TypeError(f"{what} is {type(x).__name__}; derivatives are with respect to arrays and numbers{hint}")
    array = asarray(x)
    if array.dtype.kind not in "fc":
        raise DtypeError(f"{what} is {array.dtype}; derivatives are with respect to floats and complex numbers")
    return array


def _watched(what: str, x: Any) -> Array:
    """A copy of an argument, in memory that nothing else names, so that other uses of the argument are constants.

    Its elements are distinct, also where those of the argument share memory, as in broadcast arrays."""
    return _checked(what, x).copy()


def _mapped(change: Callable[[Any], Any], x: Any) -> Any:
    """A copy of nested dicts, lists and tuples, in which `change` has been called for each part."""
    if isinstance(x, dict):
        return {key: _mapped(change, part) for key, part in x.items()}
    if isinstance(x, (tuple, list)):
        parts = [_mapped(change, part) for part in x]
        return x._make(parts) if hasattr(x, "_make") else type(x)(parts)
    return change(x)


def _kept(x: Any) -> Any:
    """What a recorded function returns, with arrays in place of values, which are ready after the recording has run."""
    return _mapped(lambda part: part.keep() if isinstance(part, Value) else part, x)


def _parts(x: Any, at: str = "") -> list[tuple[str, Any]]:
    """The parts of nested dicts, lists and tuples, each with its place, as "['layers'][0]". None is no part of them."""
    if isinstance(x, dict):
        inner: Any = x.items()
    elif isinstance(x, (tuple, list)):
        inner = enumerate(x)
    else:
        return [(at, x)] if x is not None or not at else []
    return [found for key, part in inner for found in _parts(part, f"{at}[{key!r}]")]


def _refilled(x: Any, parts: Iterator[Any]) -> Any:
    """A copy of nested dicts, lists and tuples with other parts, which are taken in the order of _parts."""
    return _mapped(lambda part: None if part is None else next(parts), x)


class _Derivative(_Hiding):
    """A function that calls another one and also gives its derivatives with respect to some of its arguments.

    That function is called once. If those arguments are values of a recording, their derivatives are recorded. Arrays
    are watched by a tape, so the function may be any code of Python and of the library. While another tape notes, what
    the function does is recorded and run in one launch with its derivatives, which the other tape can differentiate.
    """

    kind = ""  # the name of the function of this module that makes it

    def __init__(self, function: Any, argnums: Any, has_aux: bool) -> None:
        who = self.who = f"weft.{self.kind}"
        self.function, self.has_aux = function, has_aux
        self.name = getattr(function, "__name__", "the function")
        self.__name__ = self.__qualname__ = f"{self.kind}({getattr(function, '__name__', 'function')})"
        self.__doc__ = function.__doc__
        self.one = not isinstance(argnums, (tuple, list))
        self.argnums = (argnums,) if self.one else tuple(argnums)
        if not all(isinstance(n, int) and not isinstance(n, bool) for n in self.argnums):
            raise TypeError(f"{who}: argnums is an int or a tuple of ints, not {argnums!r}")

    def places(self, args: Any) -> list[int]:
        places = [n + len(args) if n < 0 else n for n in self.argnums]
        for number, place in zip(self.argnums, places):
            if not 0 <= place < len(args):
                raise TypeError(f"{self.who}: argument {number} of {self.name} is asked for, and the call has "
                                f"{len(args)} arguments by position")
        return places

    def named(self, place: int) -> str:
        return f"{self.who}: argument {place} of {self.name}"

    def parts(self, result: Any) -> tuple[Any, Any]:
        """The loss, and what else the function returns."""
        aux = None
        if self.has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(f"{self.who}: with has_aux {self.name} returns (loss, anything)")
            result, aux = result
        if isinstance(result, (tuple, list, dict, str, type(None))):
            more = "; has_aux=True is for (loss, anything)" if isinstance(result, tuple) else ""
            raise TypeError(f"{self.who}: {self.name} returns {type(result).__name__} instead of one real number{more}")
        if not isinstance(result, (Value, Array)):
            result = asarray(result)
        if result.ndim and any(extent != 1 for extent in result.shape):
            raise ShapeError(f"{self.who}: {self.name} returns the shape {result.shape} instead of one real number; "
                             "weft.sum adds up")
        if result.dtype.kind == "c":
            raise DtypeError(f"{self.who}: {self.name} returns a complex number; derivatives are those of a real one")
        return result, aux

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<weft.{self.__name__}>"

    def derived(self, args: Any, keywords: Any) -> tuple[Any, Any, Any]:
        """The loss, what else the function returns, and the derivatives."""
        places, args = self.places(args), list(args)
        found = [(self.named(place) + (f", at {at}," if at else ""), part)
                 for place in places for at, part in _parts(args[place])]
        if not found:
            raise TypeError(f"{self.who}: the arguments of {self.name} that it is differentiated by hold no arrays")

        def call(wrt: Sequence[Any]) -> tuple[Any, Any]:
            parts, given = iter(wrt), list(args)
            for place in places:
                given[place] = _refilled(args[place], parts)
            return self.parts(self.function(*given, **keywords))

        if any(isinstance(part, Value) for _, part in found):
            for what, part in found:
                if not isinstance(part, Value):
                    raise TypeError(f"{what} is no value of a recording, as others are")
            wrt = [replace_gradient(part, part) for _, part in found]  # other uses of these values are constants
            loss, aux = call(wrt)
            grads = _c.grad(loss, wrt)
        elif _c._notes():
            loss, aux, grads = self.in_one_launch([_checked(*part) for part in found], call)
        else:
            wrt = [_watched(*part) for part in found]
            with tape(*wrt) as noted:
                loss, aux = call(wrt)
                if isinstance(loss, Value):
                    raise TypeError(f"{self.who}: {self.name} returns a value of a recording for arrays")
                followed = is_taped(loss)
            grads = _grads(noted, loss, wrt, followed)
        parts = iter(grads)
        derivatives = [_refilled(args[place], parts) for place in places]
        return loss, aux, derivatives[0] if self.one else tuple(derivatives)

    def in_one_launch(self, arrays: list[Array], call: Callable[[Sequence[Any]], tuple[Any, Any]]) -> tuple[Any, Any, Any]:
        graph = Graph()
        values = [graph.input(array) for array in arrays]
        wrt = [replace_gradient(value, value) for value in values]  # other uses of the arrays are constants
        loss, aux = call(wrt)
        if isinstance(loss, Value):
            found = _c.grad(loss, wrt)
        else:
            found = [0.0] * len(arrays)  # it does not depend on the arguments
        loss, aux = _kept((loss, aux))
        grads = [_kept(g) if isinstance(g, Value) else zeros_like(array) for g, array in zip(found, arrays)]
        graph.run()
        return loss, aux, grads


class _Gradient(_Derivative):
    kind = "grad"

    def _run(self, *args: Any, **keywords: Any) -> Any:
        _, aux, grads = self.derived(args, keywords)
        return (grads, aux) if self.has_aux else grads


class _ValueAndGradient(_Derivative):
    kind = "value_and_grad"

    def _run(self, *args: Any, **keywords: Any) -> Any:
        loss, aux, grads = self.derived(args, keywords)
        return ((loss, aux) if self.has_aux else loss), grads


def _check_lazy(who: str, outs: Any, wrt: Any) -> None:
    """Refuses derivatives of arrays that are not lazy, or not lazily computed from those that are wanted."""
    outs, wanted = (list(x) if isinstance(x, (tuple, list)) else [x] for x in (outs, wrt))
    if not outs or not all(isinstance(x, Array) for x in outs):
        return
    instead = "give weft.grad a function, or note the computation on a weft.tape"
    for x in outs:
        if not x.is_lazy and not any(x is w for w in wanted):
            raise ValueError(f"{who}: an array that has been computed does not tell what it depends on; {instead}")
    for w in wanted:
        if not any(x is w or (x.is_lazy and depends(x, w)) for x in outs):
            raise ValueError(f"{who}: a lazy array depends by no lazy operation on one that it is differentiated by; sums, "
                             f"other reductions and functions of the library compute at once, and give constants; {instead}")


if TYPE_CHECKING:
    @overload
    def grad(loss: Callable[..., Any], wrt: int | tuple[int, ...] | None = ..., *,
             argnums: int | tuple[int, ...] | None = ..., has_aux: bool = ...) -> Callable[..., Any]: ...

    @overload
    def grad(loss: Value | Array, wrt: Value | Array) -> Value: ...

    @overload
    def grad(loss: Value | Array, wrt: Sequence[Value | Array]) -> list[Value]: ...


def grad(loss: Any, wrt: Any = None, *, argnums: Any = None, has_aux: bool = False) -> Any:
    """The derivative of a function, or of a value of a recording.

    grad(f, argnums=0), as in JAX: a function of the same arguments that gives the derivative of f, which returns one
    real number, by an argument, which is an array or a number; for a tuple of argument numbers a tuple. An argument may
    be a dict, list or tuple of arrays and numbers, nested as one likes: so is the derivative. None in it stays None. With
    has_aux f returns (loss, anything), and the function (derivative, anything). f is called once with arrays of weft and
    is any code that weft.tape differentiates. Derivatives may be nested, where f has operations on whole arrays alone.

    grad(loss, wrt): the derivative of a value of one element by a value; for a list of values a list. Values are those
    of a weft.Graph; lazy arrays are values, too.

    >>> import weft
    >>> weft.grad(lambda x: (x * x).sum())(weft.asarray([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """
    if not callable(loss):
        if wrt is None or argnums is not None or has_aux:
            raise TypeError("weft.grad takes a function, or a value and what it is differentiated by")
        _check_lazy("weft.grad", [loss], wrt)
        return _c.grad(loss, wrt)
    if wrt is not None and argnums is not None:
        raise TypeError("weft.grad: argnums is given twice")
    argnums = wrt if wrt is not None else 0 if argnums is None else argnums
    return _Gradient(loss, argnums, has_aux)


def value_and_grad(function: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """A function that gives what `function` returns, and its derivative, as weft.grad does: (value, derivative).

    >>> import weft
    >>> value, derivative = weft.value_and_grad(lambda x: (x * x).sum())(weft.asarray([1.0, 2.0]))
    >>> value.item(), derivative.tolist()
    (5.0, [2.0, 4.0])
    """
    if not callable(function):
        raise TypeError(f"weft.value_and_grad takes a function, not {type(function).__name__}")
    return _ValueAndGradient(function, argnums, has_aux)


# ---- products with Jacobians ----------------------------------------------------------------------------------------


if TYPE_CHECKING:
    @overload
    def jvp(outs: Callable[..., Any], wrt: Sequence[ArrayLike], directions: Sequence[ArrayLike]) -> tuple[Any, Any]: ...

    @overload
    def jvp(outs: Value | Array, wrt: Any, directions: Any) -> Any: ...

    @overload
    def jvp(outs: Sequence[Value | Array], wrt: Any, directions: Any) -> list[Any]: ...


def jvp(outs: Any, wrt: Any, directions: Any) -> Any:
    """The derivative of a function, or of values of a recording, in a direction.

    jvp(f, primals, tangents), as in JAX: (f(*primals), its derivative in the direction in which each argument changes by
    its tangent), two tuples of arrays. f consists of operations on whole arrays, which are recorded, or is a derivative of
    such a function.

    jvp(outs, wrt, directions): the derivative of a value, or a list of values, in the direction in which each of wrt changes.

    >>> import weft
    >>> value, slope = weft.jvp(lambda x: x * x, (weft.asarray([1.0, 2.0]),), (weft.asarray([1.0, 10.0]),))
    >>> value.tolist(), slope.tolist()
    ([1.0, 4.0], [2.0, 40.0])
    """
    if callable(outs):
        return _jvp_of_function(outs, wrt, directions)
    _check_lazy("weft.jvp", outs, wrt)
    return _c.jvp(outs, wrt, directions)


def _jvp_of_function(function: Any, primals: Any, tangents: Any) -> tuple[Any, Any]:
    who = "weft.jvp"
    if not all(isinstance(x, (tuple, list)) for x in (primals, tangents)) or len(primals) != len(tangents) or not primals:
        raise TypeError(f"{who}: primals and tangents are tuples with one array for each argument of the function")
    graph = _graph_of((*primals, *tangents))
    recorded = graph is not None
    graph = graph or Graph()
    args, along = [], []
    for place, (x, t) in enumerate(zip(primals, tangents)):
        x = x if isinstance(x, Value) else graph.input(_checked(f"{who}: argument {place}", x))
        t = t if isinstance(t, Value) else graph.input(asarray(t).astype(x.dtype, copy=False))
        if t.shape != x.shape:
            raise ShapeError(f"{who}: the tangent of argument {place} has shape {t.shape}, and the argument {x.shape}")
        args.append(replace_gradient(x, x))  # other uses of the value are constants
        along.append(t)
    made = function(*args)
    outs = list(made) if isinstance(made, (tuple, list)) else [made]
    values = [x for x in outs if isinstance(x, Value)]
    found = iter(_c.jvp(values, args, along) if values else ())
    slopes = [next(found) if isinstance(x, Value) else 0.0 for x in outs]
    slopes = [s if isinstance(s, Value) else zeros_like(_plain(x)) for s, x in zip(slopes, outs)]
    if not recorded:
        kept = _kept((outs, slopes))
        graph.run()
        outs, slopes = kept
    return (tuple(outs), tuple(slopes)) if isinstance(made, (tuple, list)) else (outs[0], slopes[0])


def _graph_of(args: Any) -> Graph | None:
    return next((x.graph for x in args if isinstance(x, Value)), None)


def _plain(x: Any) -> Array:
    return empty(x.shape, x.dtype) if isinstance(x, Value) else asarray(x)


if TYPE_CHECKING:
    @overload
    def vjp(outs: Callable[..., Any], *args: ArrayLike) -> tuple[Any, Callable[..., tuple[Any, ...]]]: ...

    @overload
    def vjp(outs: Any, seeds: Any, wrt: Value | Array) -> Any: ...

    @overload
    def vjp(outs: Any, seeds: Any, wrt: Sequence[Value | Array]) -> list[Any]: ...


def vjp(outs: Any, *args: Any, **keywords: Any) -> Any:
    """Products with the Jacobian of a function, or of values of a recording, from the left.

    vjp(f, *primals), as in JAX: (f(*primals), back), where back(seed) is a tuple with the sum of seed times the derivative by
    each argument. The seed is an array of the shape of the result; if f returns a tuple, it is a tuple, too. f is called
    once, and is any code that weft.tape differentiates; within a tape or another derivative back calls it again.

    vjp(outs, seeds, wrt): the sum over k of the derivative of the value outs[k] by wrt, transposed, times seeds[k].

    >>> import weft
    >>> value, back = weft.vjp(lambda x: x * x, weft.asarray([1.0, 2.0]))
    >>> value.tolist(), back(weft.asarray([1.0, 10.0]))[0].tolist()
    ([1.0, 4.0], [2.0, 40.0])
    """
    if not callable(outs):
        if len(args) == 2 or "wrt" in keywords:
            _check_lazy("weft.vjp", outs, args[1] if len(args) == 2 else keywords["wrt"])
        return _c.vjp(outs, *args, **keywords)
    if keywords or not args:
        raise TypeError("weft.vjp takes a function and its arguments by position")
    if _graph_of(args) is not None or _c._notes():
        return _vjp_recorded(outs, args)
    wrt = [_watched(f"weft.vjp: argument {place}", x) for place, x in enumerate(args)]
    with tape(*wrt) as noted:
        made = outs(*wrt)
        results = [asarray(x) for x in (made if isinstance(made, (tuple, list)) else [made])]
        followed = any(map(is_taped, results))
        loss = zeros((), f64)
        _seeded(results, [loss])

    def back(seed: Any) -> tuple[Array, ...]:
        _seeds.now = _seeds_of(made, results, seed)
        if any(isinstance(s, Array) and is_taped(s) for s in _seeds.now):
            raise UnsupportedError("weft.vjp: a seed depends on an array that a tape or weft.grad differentiates; the function is "
                                   "given to weft.vjp within that tape, too")
        return tuple(_grads(noted, loss, wrt, followed))

    return made, back


def _seeds_of(made: Any, results: list[Any], seed: Any) -> list[Any]:
    """The seeds of results, one for each."""
    several = isinstance(made, (tuple, list))
    if isinstance(seed, tuple) and not several:
        raise TypeError("weft.vjp: the seed is a tuple, and the function returns one array")
    seeds = list(seed) if several else [seed]
    if len(seeds) != len(results):
        raise ValueError(f"weft.vjp: {len(seeds)} seeds for {len(results)} results")
    for s, x in zip(seeds, results):
        shape = s.shape if hasattr(s, "shape") else asarray(s).shape
        if tuple(shape) != tuple(x.shape):
            raise ShapeError(f"weft.vjp: a seed has shape {tuple(shape)}, and the result {tuple(x.shape)}")
    return seeds


def _vjp_recorded(function: Any, primals: Any) -> tuple[Any, Any]:
    """vjp of values, or while a tape notes, when each call is one launch."""
    graph = _graph_of(primals)

    def recorded(to: Graph) -> tuple[list[Any], Any]:
        values = [x if isinstance(x, Value) else to.input(_checked(f"weft.vjp: argument {place}", x))
                  for place, x in enumerate(primals)]
        args = [replace_gradient(x, x) for x in values]  # other uses of the values are constants
        return args, function(*args)

    if graph is not None:
        args, made = recorded(graph)
    else:
        first = Graph()
        made = _kept(recorded(first)[1])
        first.run()

    def back(seed: Any) -> tuple[Any, ...]:
        to = graph if graph is not None else Graph()
        wrt, out = (args, made) if graph is not None else recorded(to)
        results = list(out) if isinstance(out, (tuple, list)) else [out]
        seeds = _seeds_of(out, results, seed)
        pairs = [(x, s) for x, s in zip(results, seeds) if isinstance(x, Value)]
        found = _c.vjp([x for x, _ in pairs], [s for _, s in pairs], wrt) if pairs else [0.0] * len(wrt)
        if graph is not None:
            return tuple(found)
        grads = tuple(_kept(g) if isinstance(g, Value) else zeros_like(asarray(x)) for g, x in zip(found, primals))
        to.run()
        return grads

    return made, back


class _Jacobian(_Derivative):
    kind = "jacobian"

    def _run(self, *args: Any, **keywords: Any) -> Any:
        places, given = self.places(args), list(args)
        if _c._notes() or any(isinstance(x, Value) for x in args):
            raise UnsupportedError("weft.jacobian within a tape or another derivative; weft.vjp and weft.jvp are possible there")
        wrt = [_watched(self.named(place), given[place]) for place in places]
        for place, array in zip(places, wrt):
            given[place] = array
        with tape(*wrt) as noted:
            made = self.function(*given, **keywords)
            if isinstance(made, (tuple, list, dict, type(None))):
                raise TypeError(f"{self.who}: {self.name} returns {type(made).__name__} instead of an array")
            out = asarray(made)
            if out.dtype.kind == "c":
                raise DtypeError(f"{self.who}: {self.name} returns complex numbers; their real and imaginary parts have one")
            flat, followed = out.reshape(-1), is_taped(out)
            elements = [flat[i] for i in range(out.size)]
        found = [zeros((out.size, *x.shape), x.dtype) for x in wrt]
        for i, element in enumerate(elements):
            for all_rows, row in zip(found, _grads(noted, element, wrt, followed)):
                all_rows[i] = row
        found = [rows.reshape(out.shape + x.shape) for rows, x in zip(found, wrt)]
        return found[0] if self.one else tuple(found)


def jacobian(function: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Any:
    """A function that gives the derivatives of all elements of what `function` returns, an array, by all elements of an
    argument: an array of the shape of the result followed by that of the argument. For a tuple of argument numbers a tuple.
    The function is called once, and its launches are gone back through for each element of the result.

    >>> import weft
    >>> weft.jacobian(lambda x: x[:2] * x[1:])(weft.asarray([1.0, 2.0, 3.0])).tolist()
    [[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]]
    """
    if not callable(function):
        raise TypeError(f"weft.jacobian takes a function, not {type(function).__name__}")
    return _Jacobian(function, argnums, False)


def hessian(function: Callable[..., Any], argnums: int = 0) -> Any:
    """A function that gives the second derivatives of `function`, which returns one real number, by an argument: the
    Jacobian of its derivative. The function consists of operations on whole arrays.

    >>> import weft
    >>> weft.hessian(lambda x: x[0] * x[1] ** 2)(weft.asarray([1.0, 2.0])).tolist()
    [[0.0, 4.0], [4.0, 2.0]]
    """
    if not isinstance(argnums, int):
        raise TypeError(f"weft.hessian: argnums is an int, not {argnums!r}")
    return jacobian(grad(function, argnums), argnums)


class custom:
    """A function of values whose derivatives the program gives; it may be used as a decorator.

    call(*inputs) records `outs` results. vjp(inputs, outputs, seeds) gives the derivatives of a loss with respect to the
    inputs, where `seeds` are its derivatives with respect to the outputs. jvp(inputs, directions) gives the derivatives
    of the outputs along the directions. None stands for 0. The process keeps a rule until it ends, so programs make each
    rule once.

    >>> import weft
    >>> clip = weft.custom(lambda x: weft.maximum(x, 0), vjp=lambda inputs, outputs, seeds: seeds[0])
    >>> g = weft.Graph()
    >>> x = g.input([-1.0, 2.0])
    >>> y, dx = clip(x).keep(), weft.grad(clip(x).sum(), x).keep()
    >>> g.run()
    >>> y.tolist(), dx.tolist()
    ([0.0, 2.0], [1.0, 1.0])
    """

    def __init__(self, call: Callable[..., Any], vjp: Callable[..., Any] | None = None,
                 jvp: Callable[..., Any] | None = None, outs: int = 1, name: str | None = None) -> None:
        self._rule = _rules.make_rule(name or getattr(call, "__name__", "custom"), call, vjp, jvp, outs)

    def __call__(self, *inputs: Any) -> Any:
        return _rules.apply_rule(self._rule, inputs)


class custom_arrays:
    """A function of arrays with a derivative for tapes, such as code of another library.

    f(inputs, outputs) calls call(inputs, outputs), which sets all elements of the outputs. vjp(inputs, outputs, upstream,
    grads) sets the arrays of `grads`, which are 0 at first; an entry is None where no derivative is wanted. The process
    keeps a rule until it ends."""

    def __init__(
        self, call: Callable[..., Any], vjp: Callable[..., Any] | None = None, name: str | None = None
    ) -> None:
        self._rule = _rules.make_rule(name or getattr(call, "__name__", "custom"), call, vjp, None)

    def __call__(self, inputs: Sequence[ArrayLike], outputs: Sequence[Array]) -> None:
        _rules.apply_to_arrays(self._rule, inputs, outputs)


def _set_seeds(inputs: Any, outputs: Any, upstream: Any, grads: Any) -> None:
    for grad_of, seed in zip(grads, _seeds.now):
        if grad_of is not None:
            grad_of[...] = seed


_seeds = threading.local()  # `now`: those of the call of weft.vjp's second function
_seeded = custom_arrays(lambda inputs, outputs: outputs[0].__setitem__(..., 0), _set_seeds, "weft.vjp")


class fixed_point:
    """The limit x = step(x, params) of an iteration, whose derivatives are those of the solution.

    step(*unknowns, *params) gives the next values of the unknowns; `unknowns` is their number. With a tolerance each
    point goes on by itself until no unknown changes by more than the tolerance times its value; with 0 every point takes
    all turns. The process keeps a rule until it ends."""

    def __init__(self, step: Callable[..., Any], unknowns: int = 1, tolerance: float = 0.0, turns: int = 0) -> None:
        self._rule = _rules.make_rule(getattr(step, "__name__", "step"), step, None, None, unknowns, tolerance, turns)

    def __call__(self, start: Any, params: Any = ()) -> Any:
        return _rules.apply_fixed_point(self._rule, start, params)
