"""Derivatives: of values (grad, vjp, jvp), of operators (adjoint, tangent), through launches (tape); minimization."""
from __future__ import annotations

from . import _c_hooks as _c
from ._c_derivatives import replace_gradient, stop
from ._c_hooks import adjoint, check_gradient, depends, grad, is_taped, jvp, minimize, tangent, vjp
from ._weft import Array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, overload

    from ._typing import ArrayLike

__all__ = ["adjoint", "check_gradient", "depends", "grad", "is_taped", "jvp", "minimize", "replace_gradient", "stop", "tangent", "tape", "vjp"]


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
                raise TypeError(f"a tape watches arrays of weft, not {array!r}")
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
        """The derivative of an array of one real number with respect to a watched array, or a list of them for a list."""
        if self._tape is None:
            raise ValueError("the tape has not begun: use it in a with statement")
        one = isinstance(wrt, Array)
        grads = _c._tape_grad(self._tape, loss, [wrt] if one else wrt)
        return grads[0] if one else grads
