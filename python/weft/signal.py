"""Spectra, filters, contrast transfer functions, shells, correlation, window filters.

Functions of values take arrays, too."""
from __future__ import annotations

from ._c_hooks import image_filter, spectrum_filter  # noqa: F401
from ._c_signal import *  # noqa: F403

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._typing import DTypeLike, Layout


class Spectrum(tuple):  # type: ignore[type-arg]
    """A description of an array that holds a spectrum: the logical extents, those of the image, and the layout.

    layout: 'h' half, as of rfftn; 'hc' half, with frequency 0 of all axes but the last at n/2; 'f' full, as of fftn;
    'fc' full, with frequency 0 at n/2. Functions also take the extents alone, which mean layout 'h'."""

    def __new__(cls, size: int | Sequence[int], layout: Layout = "h", dtype: DTypeLike | None = None) -> Spectrum:
        return super().__new__(cls, ((size,) if isinstance(size, int) else tuple(size), layout, dtype))
