"""Derivatives: of values (grad, vjp, jvp), of operators (adjoint, tangent), through launches (tape); minimization."""
from __future__ import annotations

from . import _c_gradients as _c
from ._c_derivatives import replace_gradient, stop
from ._c_gradients import adjoint, depends, grad, is_taped, jvp, tangent, vjp
from ._c_hooks import check_gradient, minimize
from . import _c_rules as _rules
from ._weft import Array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, overload

    from ._typing import ArrayLike

__all__ = [
    "adjoint", "check_gradient", "custom", "custom_arrays", "depends", "fixed_point", "grad", "is_taped", "jvp",
    "minimize", "replace_gradient", "stop", "tangent", "tape", "vjp",
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
        self._watched, self._tape = watched, None  # type: tuple[Array, ...], Any

    def __enter__(self) -> tape:
        self._tape = _c._tape_begin(self._watched)
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        _c._tape_end(self._tape)

    if TYPE_CHECKING:
        @overload
        def grad(self, loss: ArrayLike, wrt: Array) -> Array: ...

        @overload
        def grad(self, loss: ArrayLike, wrt: Sequence[Array]) -> list[Array]: ...

    def grad(self, loss: ArrayLike, wrt: Array | Sequence[Array]) -> Array | list[Array]:
        """The derivative of an array of one real number with respect to a watched array; for a list of arrays a list."""
        if self._tape is None:
            raise ValueError("the tape has not begun: use it in a with statement")
        one = isinstance(wrt, Array)
        grads = _c._tape_grad(self._tape, loss, [wrt] if one else wrt)
        return grads[0] if one else grads


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
