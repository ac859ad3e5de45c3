"""Axes and shapes: axes counted from the first one, and the shape to which shapes broadcast."""
from __future__ import annotations

import operator

from ._weft import BoundsError, ShapeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import SupportsIndex

    from ._typing import Axes


def axis_of(axis: SupportsIndex, ndim: int) -> int:
    """An axis, counted from the first one."""
    number = operator.index(axis)
    if not -ndim <= number < ndim:
        raise BoundsError(f"there is no axis {number} in an array of {ndim} axes")
    return number % ndim


def axes_of(axes: Axes, ndim: int) -> tuple[int, ...]:
    """A tuple of different axes, counted from the first one; None: all axes."""
    if axes is None:
        return tuple(range(ndim))
    if not isinstance(axes, (tuple, list)):
        return (axis_of(axes, ndim),)  # type: ignore[arg-type]
    found = tuple(axis_of(axis, ndim) for axis in axes)
    if len(set(found)) < len(found):
        raise ValueError(f"an axis is named twice in {tuple(axes)}")
    return found


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape to which shapes broadcast."""
    rank = max(map(len, shapes), default=0)
    made = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if extent != 1 and made[axis] not in (1, extent):
                raise ShapeError(f"shapes {', '.join(map(str, shapes))} do not broadcast")
            made[axis] = extent if extent != 1 else made[axis]
    return tuple(made)
