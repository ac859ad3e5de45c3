"""Interpolation, rotations, shapes; geometric transforms of arrays."""
from __future__ import annotations

from ._c_xform import *  # noqa: F403
from ._c_xform import euler_matrix
from ._functions import broadcast_to, stack
from ._weft import Array, ShapeError, asarray, f64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._names import Euler
    from ._typing import ArrayLike


def rotations(order: Euler, angles: ArrayLike) -> Array:
    """Matrices f64 [..., 3, 3] of Euler angles [..., 3] in radians, as weft.project takes them: the transposes of those
    of euler_matrix. A projection is that of the volume turned by euler_matrix, along z."""
    rows = asarray(angles, f64)
    if not rows.shape or rows.shape[-1] != 3:
        raise ShapeError(f"weft.xform.rotations: the last axis has the 3 angles, and the shape is {tuple(rows.shape)}")
    first, second, third = (rows[..., k] for k in range(3))
    entries = [broadcast_to(asarray(entry, f64), first.shape) for entry in euler_matrix(order, first, second, third)]
    return stack([entries[3 * column + row] for row in range(3) for column in range(3)], -1).reshape(*first.shape, 3, 3)
