"""What the namespace offers, as the standard asks for it."""
from .. import _weft
from . import _dtypes


class _Info:
    """Answers of __array_namespace_info__."""

    def capabilities(self):
        """Which parts of the standard that are optional are there."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}

    def default_device(self):
        """The device of new arrays."""
        return _weft.empty((0,)).device

    def devices(self):
        """The devices on which arrays can be."""
        found = ["cpu"]
        try:
            while True:
                found.append(_weft.empty((0,), device=f"cuda:{len(found) - 1}").device)
        except _weft.DeviceError:
            return found

    def default_dtypes(self, *, device=None):
        """The dtypes of arrays that are made without one."""
        return {"real floating": _dtypes.float64, "complex floating": _dtypes.complex128, "integral": _dtypes.int64,
                "indexing": _dtypes.int64}

    def dtypes(self, *, device=None, kind=None):
        """The dtypes, all or those of a kind, by name."""
        return {name: dtype for name, dtype in _dtypes._BY_NAME.items()
                if kind is None or _dtypes.isdtype(dtype, kind)}


def __array_namespace_info__():
    """An object that answers which dtypes, devices and optional parts the namespace offers."""
    return _Info()
