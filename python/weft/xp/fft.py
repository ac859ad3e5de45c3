"""The extension of the array API standard with Fourier transforms, on weft.fft."""
import weft

from .._shapes import axes_of, axis_of
from . import _dtypes
from ._common import check
from ._creation import _of_points

_SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _norm(name, norm):
    if norm not in _SWAPPED:
        raise ValueError(f"fft.{name}: {norm!r} is no normalisation; these are {', '.join(_SWAPPED)}")
    return norm


def _along(name, x, n, axis, norm, kinds):
    axis = axis_of(axis, check(f"fft.{name}", x, kinds).ndim)
    return None if n is None else (n,), (axis,), _norm(name, norm)


def _over(name, x, s, axes, norm, kinds):
    check(f"fft.{name}", x, kinds)
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    return None if s is None else tuple(s), axes_of(tuple(axes), x.ndim), _norm(name, norm)


def fft(x, /, *, n=None, axis=-1, norm="backward"):
    """The transform along an axis, cut or continued with zeros to n elements."""
    return weft.fft.fftn(x, *_along("fft", x, n, axis, norm, "fc"))


def ifft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of fft."""
    return weft.fft.ifftn(x, *_along("ifft", x, n, axis, norm, "fc"))


def fftn(x, /, *, s=None, axes=None, norm="backward"):
    """The transform along axes, cut or continued with zeros to the extents s."""
    return weft.fft.fftn(x, *_over("fftn", x, s, axes, norm, "fc"))


def ifftn(x, /, *, s=None, axes=None, norm="backward"):
    """The inverse of fftn."""
    return weft.fft.ifftn(x, *_over("ifftn", x, s, axes, norm, "fc"))


def rfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The transform of real elements, n // 2 + 1 of them: the others follow by symmetry."""
    return weft.fft.rfftn(x, *_along("rfft", x, n, axis, norm, "f"))


def irfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of rfft: n real elements, an even number if it is not given."""
    s, axes, norm = _along("irfft", x, n, axis, norm, "fc")
    return weft.fft.irfftn(x, s, axes, norm)


def rfftn(x, /, *, s=None, axes=None, norm="backward"):
    """The transform of real elements along axes; the last of these has n // 2 + 1 elements."""
    return weft.fft.rfftn(x, *_over("rfftn", x, s, axes, norm, "f"))


def irfftn(x, /, *, s=None, axes=None, norm="backward"):
    """The inverse of rfftn."""
    s, axes, norm = _over("irfftn", x, s, axes, norm, "fc")
    return weft.fft.irfftn(x, s, axes, norm)


def hfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The transform of elements with Hermitian symmetry, of which half are given: n real elements."""
    s, axes, norm = _along("hfft", x, n, axis, norm, "fc")
    return weft.fft.irfftn(weft.conj(x), s, axes, _SWAPPED[norm])


def ihfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of hfft."""
    s, axes, norm = _along("ihfft", x, n, axis, norm, "f")
    return weft.conj(weft.fft.rfftn(x, s, axes, _SWAPPED[norm]))


def _frequencies(n, length, d, dtype, device):
    dtype = _dtypes.float64 if dtype is None else _dtypes.as_dtype(dtype)
    if dtype.kind != "f":
        raise TypeError(f"frequencies are real floating-point numbers, not {dtype.name}")
    middle = (n - 1) // 2 + 1 if length == n else length
    return _of_points(lambda i: weft.where(i < middle, i, i - n).astype(_dtypes.float64) / (n * float(d)), (length,),
                      dtype, device)


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of fft's elements, in cycles per unit of d, the distance of elements."""
    return _frequencies(n, n, d, dtype, device)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of rfft's elements."""
    return _frequencies(n, n // 2 + 1, d, dtype, device)


def fftshift(x, /, *, axes=None):
    """Moves frequency 0 to the middle of axes; None: of all."""
    return weft.fft.fftshift(x, axes_of(axes, check("fft.fftshift", x).ndim))


def ifftshift(x, /, *, axes=None):
    """The inverse of fftshift."""
    return weft.fft.ifftshift(x, axes_of(axes, check("fft.ifftshift", x).ndim))
