"""Types of arguments, for annotations."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex, Union

from ._names import *  # noqa: F403
from ._weft import Array, Dist, DType, Value, Variable

# What weft.asarray takes: arrays of any library, numbers, and nested lists of numbers.
ArrayLike = Any
# A weft.Array, or an object whose memory can be written in place, such as a numpy.ndarray.
WritableArray = Any
DTypeLike = Union[DType, str, type, Any]
Shape = Union[SupportsIndex, Sequence[int]]
Axes = Union[SupportsIndex, Sequence[int], None]
# How many ranks divide each axis, 0: chosen; or as another array is distributed.
Grid = Union[SupportsIndex, Sequence[int], Dist, None]
SpectrumLike = Union[int, Sequence[int], tuple[Any, ...]]
# What a recording takes: its values, arrays and numbers.
Operand = Union[Value, Variable, Array, complex, Any]
Matrix = Sequence[Any]
