"""Files of arrays: MRC, NPY, PNG, TIFF, EER and OME-Zarr, whole, in parts, and movies."""
from __future__ import annotations

import operator

from . import _weft
from . import _c_files as _c
from ._weft import Array

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from typing import Any, Literal, overload

    from ._typing import ArrayLike, DTypeLike, Grid, Shape
    from ._weft import Ranks

    Path = str | os.PathLike[str]


def _along_axes(name: str, value: Any) -> Any:
    """Spacing or origin as (z, y, x), of a number for all axes, or of (y, x)."""
    if not hasattr(value, "__iter__"):
        return (float(value),) * 3
    value = tuple(value)
    if len(value) not in (2, 3):
        raise ValueError(f"{name} is a number, (y, x) or (z, y, x), not {value!r}")
    return (0.0,) * (3 - len(value)) + value


class Meta:
    """The metadata of a file. A field that a file does not have is 0, false or empty; when saving it may be left out.

    format, stored: the format and the type of the file, such as 'MRC' and 'i16'; store_as: the type wanted when saving.
    spacing, origin: in Angstrom, as (z, y, x), (y, x), or a number for all axes. is_stack: the first axis counts images.
    channels: so many samples of a pixel are the last axis; 0: it is x.
    lzw, deflate, zstd: compression. durable: saving flushes the file to the disk. Of OME-Zarr: pyramid: saving adds levels
    until no axis of an image or volume has more than `coarsest` samples (0: 256); levels, level: their number, and the path
    in the group of the level that is loaded. Of MRC: angles, labels, extent, cell, start, space_group, extended_bytes,
    extended_type, extended_from. probe() adds dtype and shape."""

    _FIELDS = {
        "format": None, "stored": None, "store_as": None, "spacing": (0.0, 0.0, 0.0), "origin": (0.0, 0.0, 0.0),
        "is_stack": False, "lzw": False, "deflate": False, "zstd": False, "durable": False, "angles": (0.0, 0.0, 0.0),
        "labels": (), "extent": (0, 0, 0), "cell": (0, 0, 0), "start": (0, 0, 0), "space_group": 0, "extended_bytes": 0,
        "extended_type": "", "extended_from": None, "channels": 0, "pyramid": False, "coarsest": 0, "levels": 0,
        "level": "", "dtype": None, "shape": None,
    }

    def __init__(self, **fields: Any) -> None:
        for name in fields:
            if name not in self._FIELDS:
                raise TypeError(f"Meta has no field {name!r}")
        self.__dict__.update(self._FIELDS)
        for name, value in fields.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._FIELDS:
            raise AttributeError(f"Meta has no field {name!r}")
        self.__dict__[name] = _along_axes(name, value) if name in ("spacing", "origin") else value

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Meta) and self.__dict__ == other.__dict__

    def __repr__(self) -> str:
        told = [f"{n}={v!r}" for n, v in self.__dict__.items() if v != self._FIELDS[n]]
        return f"Meta({', '.join(told)})"


def _dict(meta: Meta | dict[str, Any] | None) -> dict[str, Any] | None:
    return (meta if isinstance(meta, Meta) else Meta(**meta)).__dict__ if meta is not None else None


if TYPE_CHECKING:
    @overload
    def load(path: Path, meta: Literal[False] = False, *, ranks: Ranks | None = None, grid: Grid = None) -> Array: ...
    @overload
    def load(path: Path, meta: Literal[True], *, ranks: Ranks | None = None,
             grid: Grid = None) -> tuple[Array, Meta]: ...


def load(path: Path, meta: bool = False, *, ranks: Ranks | None = None,
         grid: Grid = None) -> Array | tuple[Array, Meta]:
    """The array in a file: [h, w], [n, h, w], [d, h, w], [n, d, h, w]; with several channels [..., h, w, c].

    The format is recognised by content, also in gzip, else by suffix. meta=True: (array, Meta). ranks: a group over which
    the array is distributed; each rank reads its block. grid: as in weft.empty; None divides the first axis."""
    array, facts = _c.load(path, None, None, ranks, grid)
    return (array, Meta(**facts)) if meta else array


def load_region(path: Path, offset: Shape, shape: Shape) -> Array:
    """The box of `shape` elements at `offset` of what load gives; reads little of what lies outside of it."""
    return _c.load(path, offset, shape)[0]


def probe(path: Path, level: int | None = None) -> Meta:
    """What the header of a file says, with dtype and shape as load would give them.

    level: of an image of OME-Zarr, whose group is `path`; f"{path}/{meta.level}" is the path of that level."""
    dtype, shape, facts = _c.probe(path, level)
    return Meta(dtype=dtype, shape=shape, **facts)


def save(path: Path, array: ArrayLike, meta: Meta | dict[str, Any] | None = None, **fields: Any) -> None:
    """Writes an array to a file that appears whole or not at all; the suffix, else meta.format, names the format.

    Fields of Meta may be given by name. Values are converted to store_as, else to the nearest type of the format. Of a
    distributed array all ranks write their blocks into one file."""
    own = Meta(**fields).__dict__
    _c.save(path, array, {**(_dict(meta) or {}), **{name: own[name] for name in fields}})


def append(path: Path, array: ArrayLike, meta: Meta | dict[str, Any] | None = None) -> None:
    """Appends images to an MRC stack, or elements along the first axis to an NPY array; without a file as save."""
    _c.append(path, array, _dict(meta))


def format_named(path: Path) -> str:
    """The format that the suffix of a path names: 'MRC'."""
    return _c.format_named(path)


class File:
    """A file that is read or written in parts by file[3:5, :, 10:20], file.read(offset, shape), file.write(array, offset).

    A file that is written appears when its block ends without an exception, or by finish()."""

    def __init__(self, handle: Any, dtype: Any, shape: tuple[int, ...], meta: Meta, writes: bool) -> None:
        self._handle, self.dtype, self.shape, self.meta, self._writes = handle, dtype, shape, meta, writes

    def __enter__(self) -> File:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if self._writes and kind is None and self._handle is not None:
            self.finish()
        self.close()

    def read(self, offset: Shape, shape: Shape) -> Array:
        """The box of `shape` elements at `offset`."""
        return _c.read_file(self._handle, offset, shape)

    def __getitem__(self, key: Any) -> Array:
        """A box by numbers and slices with a step of 1."""
        parts = key if isinstance(key, tuple) else (key,)
        if parts.count(Ellipsis) > 1 or len(parts) - parts.count(Ellipsis) > len(self.shape):
            raise _weft.BoundsError(f"{len(parts)} indices for a file of {len(self.shape)} axes")
        at = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
        gap = len(self.shape) - len(parts) + (Ellipsis in parts)
        parts = parts[:at] + (slice(None),) * gap + parts[at + 1:]
        offset, extents, drop = [], [], []  # type: list[int], list[int], list[Any]
        for part, n in zip(parts, self.shape):
            if isinstance(part, slice):
                start, stop, step = part.indices(n)
                if step != 1:
                    raise _weft.BoundsError("slices of files have a step of 1")
                offset.append(start)
                extents.append(max(stop - start, 0))
                drop.append(slice(None))
            else:
                index = operator.index(part)
                if not -n <= index < n:
                    raise _weft.BoundsError(f"index {index} is out of range for an axis of {n} elements")
                offset.append(index % n)
                extents.append(1)
                drop.append(0)
        return self.read(tuple(offset), tuple(extents))[tuple(drop)]

    def __len__(self) -> int:
        return self.shape[0]

    def write(self, array: ArrayLike, offset: Shape) -> None:
        """Stores an array, of the file's dtype, at `offset`."""
        _c.write_file(self._handle, array, offset)

    def map(self) -> Array:
        """The samples as an array whose memory is the file, so that it may be larger than memory; of MRC and NPY.

        The array is read-only unless the file was created. It must be released (del) before finish()."""
        return _c.map_file(self._handle)

    def finish(self) -> None:
        """Makes a created file appear."""
        _c.finish_file(self._handle)
        self._handle = None

    def close(self) -> None:
        """Closes the file; a created one that is not finished never appears."""
        self._handle = None


def open_file(path: Path) -> File:
    """Opens a file to read parts of it, which may be larger than memory."""
    handle, dtype, shape, facts = _c.open_file(path)
    return File(handle, dtype, shape, Meta(**facts), False)


def open_movie(path: Path, gain: Path | None = None, divide: bool = False, factor: int = 0, group: int = 0,
               gain_rotation: int = 0, gain_flip: int = 0) -> File:
    """Opens a movie, a stack of images of any format.

    gain: the file of an image that frames are multiplied by (divide: divided by); group: frames that are added to an
    image; factor: pixels of an image along a pixel of the detector, of EER; gain_rotation, gain_flip: as RELION's."""
    handle, dtype, shape, facts = _c.open_movie(path, gain, divide, factor, group, gain_rotation, gain_flip)
    return File(handle, dtype, shape, Meta(**facts), False)


def create_file(path: Path, shape: Sequence[int], dtype: DTypeLike, meta: Meta | dict[str, Any] | None = None) -> File:
    """Begins a file that is written in parts; what is never written is zero."""
    dtype = _weft.empty(0, dtype).dtype
    return File(_c.create_file(path, shape, dtype, _dict(meta)), dtype, tuple(shape), Meta(**(_dict(meta) or {})), True)
