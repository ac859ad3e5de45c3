"""Derivatives: of functions (grad, value_and_grad), of values (grad, vjp, jvp), of operators (adjoint, tangent),
through launches (tape); minimization."""
from __future__ import annotations

import types

from . import _c_gradients as _c
from ._c_derivatives import replace_gradient, stop
from ._c_gradients import adjoint, depends, is_taped, jvp, tangent, vjp
from ._c_hooks import check_gradient, minimize
from . import _c_rules as _rules
from ._arrays import zeros_like
from ._weft import _Hiding, ArgumentError, Array, DtypeError, Graph, ShapeError, UnsupportedError, Value, asarray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, overload

    from ._typing import ArrayLike

__all__ = [
    "adjoint", "check_gradient", "custom", "custom_arrays", "depends", "fixed_point", "grad", "is_taped", "jvp",
    "minimize", "replace_gradient", "stop", "tangent", "tape", "value_and_grad", "vjp",
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

    def checked(self, place: int, x: Any) -> Array:
        """An argument as an array that has derivatives."""
        what = f"{self.who}: argument {place} of {self.name}"
        if isinstance(x, (tuple, list, dict, str, bytes, type(None))) or callable(x):
            raise TypeError(f"{what} is {type(x).__name__}; derivatives are with respect to arrays and numbers: "
                            "weft.asarray makes an array of a list, argnums names several arguments")
        array = asarray(x)
        if array.dtype.kind not in "fc":
            raise DtypeError(f"{what} is {array.dtype}; derivatives are with respect to floats and complex numbers")
        return array

    def watched(self, place: int, x: Any) -> Array:
        """A copy of an argument, in memory that nothing else names, so that other uses of the argument are constants.

        Its elements are distinct, also where those of the argument share memory, as in broadcast arrays."""
        return self.checked(place, x).copy()

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
        if any(isinstance(args[place], Value) for place in places):
            # Other uses of these values are constants, too.
            for place in places:
                if not isinstance(args[place], Value):
                    raise TypeError(f"{self.who}: argument {place} of {self.name} is no value of a recording, "
                                    "as others are")
                args[place] = replace_gradient(args[place], args[place])
            wrt = [args[place] for place in places]
            loss, aux = self.parts(self.function(*args, **keywords))
            grads = _c.grad(loss, wrt)
        elif _c._notes():
            loss, aux, grads = self.in_one_launch(places, args, keywords)
        else:
            wrt = [self.watched(place, args[place]) for place in places]
            for place, array in zip(places, wrt):
                args[place] = array
            with tape(*wrt) as noted:
                loss, aux = self.parts(self.function(*args, **keywords))
                if isinstance(loss, Value):
                    raise TypeError(f"{self.who}: {self.name} returns a value of a recording for arrays")
                followed = is_taped(loss)
            grads = _grads(noted, loss, wrt, followed)
        return loss, aux, grads[0] if self.one else tuple(grads)

    def in_one_launch(self, places: list[int], args: list[Any], keywords: Any) -> tuple[Any, Any, Any]:
        if self.has_aux:
            raise UnsupportedError(f"{self.who}: has_aux within a tape or another derivative")
        arrays = [self.checked(place, args[place]) for place in places]
        graph = Graph()
        for place, array in zip(places, arrays):
            value = graph.input(array)
            args[place] = replace_gradient(value, value)  # other uses of the array are constants
        loss, _ = self.parts(self.function(*args, **keywords))
        if not isinstance(loss, Value):
            return loss, None, [zeros_like(array) for array in arrays]  # it does not depend on the arguments
        found = _c.grad(loss, [args[place] for place in places])
        kept = loss.keep()
        grads = [g.keep() if isinstance(g, Value) else zeros_like(array) for g, array in zip(found, arrays)]
        graph.run()
        return kept, None, grads


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
    real number, by an argument, which is an array or a number; for a tuple of argument numbers a tuple. With has_aux f
    returns (loss, anything), and the function (derivative, anything). f is called once with arrays of weft and is any
    code that weft.tape differentiates. Derivatives may be nested, where f has operations on whole arrays alone.

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


class fixed_point:
    """The limit x = step(x, params) of an iteration, whose derivatives are those of the solution.

    step(*unknowns, *params) gives the next values of the unknowns; `unknowns` is their number. With a tolerance each
    point goes on by itself until no unknown changes by more than the tolerance times its value; with 0 every point takes
    all turns. The process keeps a rule until it ends."""

    def __init__(self, step: Callable[..., Any], unknowns: int = 1, tolerance: float = 0.0, turns: int = 0) -> None:
        self._rule = _rules.make_rule(getattr(step, "__name__", "step"), step, None, None, unknowns, tolerance, turns)

    def __call__(self, start: Any, params: Any = ()) -> Any:
        return _rules.apply_fixed_point(self._rule, start, params)
