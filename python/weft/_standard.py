"""Methods of weft.Array that the Python array API standard demands."""
from ._functions import swapaxes
from ._weft import Array

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


def __array_namespace__(self, /, *, api_version=None):
    """The module weft.xp, with the functions of the array API standard."""
    if api_version not in (None, *_VERSIONS):
        raise ValueError(f"version {api_version} of the array API standard is not there, but {_VERSIONS[-1]}")
    import weft.xp
    return weft.xp


_to_device = Array.to_device


def to_device(self, device, /, *, stream=None):
    """The array in the memory of a device; itself if it is there."""
    if stream is not None:
        raise ValueError("to_device: streams are not taken")
    return _to_device(self, device)


def _matrix_transpose(self):
    """A view with the last two axes exchanged."""
    if self.ndim < 2:
        raise ValueError(f"mT: an array of {self.ndim} axes is no matrix")
    return swapaxes(self, -1, -2)


Array.__array_namespace__ = __array_namespace__
Array.to_device = to_device
Array.mT = property(_matrix_transpose)
