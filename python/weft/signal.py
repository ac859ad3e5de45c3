"""Spectra, filters, contrast transfer functions, shells, correlation, window filters.

Functions of values take arrays, too."""
from __future__ import annotations

from ._c_hooks import image_filter, spectrum_filter  # noqa: F401
from ._c_signal import *  # noqa: F403
from ._c_signal import _electron_wavelength
from ._functions import broadcast_to, stack
from ._shapes import broadcast_shapes
from ._weft import ArgumentError, Array, asarray, f64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._typing import ArrayLike, DTypeLike, Layout, Operand


def electron_wavelength(voltage: Operand) -> Any:
    """The electron's wavelength in Angstrom; voltage in kV. Dtypes: f64."""
    if isinstance(voltage, (int, float)) and not voltage > 0:
        raise ArgumentError(f"weft.signal.electron_wavelength: `voltage` is {voltage:g}, not above 0")
    return _electron_wavelength(voltage)


def ctf_rows(
    *, voltage: ArrayLike, cs: ArrayLike = 0.0, amplitude: ArrayLike = 0.0, defocus: ArrayLike = 0.0,
    astigmatism: ArrayLike = 0.0, angle: ArrayLike = 0.0, phase_shift: ArrayLike = 0.0, bfactor: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
) -> Array:
    """The parameters of spectrum_ctf, f64 [..., 9], of what ctf_value takes: numbers or arrays, which broadcast."""
    members = [voltage, cs, amplitude, defocus, astigmatism, angle, phase_shift, bfactor, scale]
    columns = [asarray(member, f64) for member in members]
    shape = broadcast_shapes(*(column.shape for column in columns))
    return stack([broadcast_to(column, shape) for column in columns], -1)


class Spectrum(tuple):  # type: ignore[type-arg]
    """A description of an array that holds a spectrum: the logical extents, those of the image, and the layout.

    layout: 'h' half, as of rfftn; 'hc' half, with frequency 0 of all axes but the last at n/2; 'f' full, as of fftn;
    'fc' full, with frequency 0 at n/2. Functions also take the extents alone, which mean layout 'h'."""

    def __new__(cls, size: int | Sequence[int], layout: Layout = "h", dtype: DTypeLike | None = None) -> Spectrum:
        return super().__new__(cls, ((size,) if isinstance(size, int) else tuple(size), layout, dtype))
