"""Discrete Fourier transforms: those of numpy.fft and scipy.fft by their names, and the library's c2c, r2c, c2r and czt."""
from __future__ import annotations

import operator

from . import _c_fft
from . import _weft
from ._c_fft import *  # noqa: F403
from ._c_fft import c2c, c2r, czt, dct, dst, fast_size, into, r2c, resize, shift  # noqa: F401
from ._c_hooks import filter  # noqa: F401
from ._c_functions import resize as _resize_array
from ._functions import arange as _arange
from ._weft import Array, asarray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import SupportsIndex

    from ._typing import ArrayLike, FftNorm

    Sizes = Sequence[int] | None
    Norm = FftNorm | None


def _sized(x: ArrayLike, sizes: Sequence[int | None], axes: Sequence[int]) -> Array:
    """The array cut or filled with zeros at the ends of axes."""
    x = asarray(x)
    after = [0] * x.ndim
    for n, axis in zip(sizes, axes):
        if n is not None:
            if n < 1:
                raise ValueError(f"fft: {n} elements")
            after[axis] = n - x.shape[axis]
    return _resize_array(x, None, after) if any(after) else x


def _all_axes(x: Array, s: Sizes, axes: Sequence[int] | None) -> tuple[Sequence[int | None], list[int]]:
    count = x.ndim if s is None else len(s)
    found = [operator.index(d) for d in (range(x.ndim - count, x.ndim) if axes is None else axes)]
    for d in found:
        if not -x.ndim <= d < x.ndim:
            raise _weft.BoundsError(f"there is no axis {d} in an array of {x.ndim} axes")
    if s is not None and len(s) != len(found):
        raise ValueError("fft: as many sizes as axes are needed")
    return [None] * len(found) if s is None else s, [d % x.ndim for d in found]


def _c2c(x: Array, axes: Sequence[int], inverse: bool, norm: Norm) -> Array:
    """The complex transform along axes; along none the elements themselves."""
    if axes:
        return c2c(x, tuple(axes), inverse, norm)
    return x.copy() if x.dtype.kind == "c" else x.astype(_weft.c64 if x.dtype == _weft.f32 else _weft.c128)


def fft(x: ArrayLike, n: int | None = None, axis: SupportsIndex = -1, norm: Norm = None) -> Array:
    """The transform along an axis, cut or filled with zeros to n elements."""
    return fftn(x, None if n is None else (n,), (operator.index(axis),), norm)


def ifft(x: ArrayLike, n: int | None = None, axis: SupportsIndex = -1, norm: Norm = None) -> Array:
    """The inverse of fft."""
    return ifftn(x, None if n is None else (n,), (operator.index(axis),), norm)


def rfft(x: ArrayLike, n: int | None = None, axis: SupportsIndex = -1, norm: Norm = None) -> Array:
    """The transform of real elements along an axis, which has n/2 + 1 elements in the result."""
    return rfftn(x, None if n is None else (n,), (operator.index(axis),), norm)


def irfft(x: ArrayLike, n: int | None = None, axis: SupportsIndex = -1, norm: Norm = None) -> Array:
    """The inverse of rfft: real, of n elements along the axis; None: an even number."""
    return irfftn(x, None if n is None else (n,), (operator.index(axis),), norm)


def fftn(x: ArrayLike, s: Sizes = None, axes: Sequence[int] | None = None, norm: Norm = None) -> Array:
    """The transform along axes, None: all, cut or filled with zeros to the sizes s."""
    x = asarray(x)
    sizes, found = _all_axes(x, s, axes)
    return _c2c(_sized(x, sizes, found), found, False, norm)


def ifftn(x: ArrayLike, s: Sizes = None, axes: Sequence[int] | None = None, norm: Norm = None) -> Array:
    """The inverse of fftn."""
    x = asarray(x)
    sizes, found = _all_axes(x, s, axes)
    return _c2c(_sized(x, sizes, found), found, True, norm)


def rfftn(x: ArrayLike, s: Sizes = None, axes: Sequence[int] | None = None, norm: Norm = None) -> Array:
    """The transform of real elements along axes; the last of them has n/2 + 1 elements in the result."""
    x = asarray(x)
    sizes, found = _all_axes(x, s, axes)
    x = _sized(x, sizes, found)
    if found and found[-1] != max(found):  # the half is along the axis that is named last
        half = r2c(x, found[-1], norm)
        return _c2c(half, found[:-1], False, norm)
    return r2c(x, tuple(found), norm)


def irfftn(x: ArrayLike, s: Sizes = None, axes: Sequence[int] | None = None, norm: Norm = None) -> Array:
    """The inverse of rfftn: real; s: its extents along the axes, the last of which is even unless s says otherwise."""
    x = asarray(x)
    sizes, found = _all_axes(x, s, axes)
    if not found:
        raise ValueError("irfftn: there are no axes")
    last = 2 * (x.shape[found[-1]] - 1) if sizes[-1] is None else sizes[-1]
    if last < 1:
        raise ValueError(f"irfft: a spectrum of {x.shape[found[-1]]} has {last} elements; n or s gives another number")
    x = _sized(x, [*sizes[:-1], last // 2 + 1], found)
    if found[-1] != max(found):
        return c2r(_c2c(x, found[:-1], True, norm), last, found[-1], norm)
    return c2r(x, last, tuple(found), norm)


def fft2(x: ArrayLike, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: Norm = None) -> Array:
    """The transform along two axes."""
    return fftn(x, s, axes, norm)


def ifft2(x: ArrayLike, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: Norm = None) -> Array:
    """The inverse of fft2."""
    return ifftn(x, s, axes, norm)


def rfft2(x: ArrayLike, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: Norm = None) -> Array:
    """The transform of real elements along two axes."""
    return rfftn(x, s, axes, norm)


def irfft2(x: ArrayLike, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: Norm = None) -> Array:
    """The inverse of rfft2."""
    return irfftn(x, s, axes, norm)


def idct(x: ArrayLike, type: int = 2, axis: SupportsIndex = -1, norm: Norm = None) -> Array:
    """The inverse of dct."""
    return dct(x, type, operator.index(axis), True, norm)


def idst(x: ArrayLike, type: int = 2, axis: SupportsIndex = -1, norm: Norm = None) -> Array:
    """The inverse of dst."""
    return dst(x, type, operator.index(axis), True, norm)


def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Moves frequency 0 to the middle of axes, None: all."""
    return shift(x, axes)


def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of fftshift."""
    return shift(x, axes, True)


def fftfreq(n: int, d: float = 1.0) -> Array:
    """f64 [n]: the frequencies of fft's elements in cycles per unit of d, the distance of elements."""
    return shift(_arange(-(n // 2), n - n // 2) / (n * d), None, True)


def rfftfreq(n: int, d: float = 1.0) -> Array:
    """f64 [n/2 + 1]: the frequencies of rfft's elements."""
    return _arange(0, n // 2 + 1) / (n * d)


next_fast_len = fast_size
