"""Arrays as pictures: PNG files of 2-d arrays, and notebooks that show them."""
from __future__ import annotations

import html
import struct
import zlib

from . import _weft
from ._weft import Array, Graph, asarray, ops

_LARGEST = 1024  # pixels along an axis of a picture; longer axes are shown by every k-th element
_in_notebooks = False


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _range(array):
    """The smallest and the largest finite element."""
    graph = Graph()
    v = graph.input(array)
    finite = ops.isfinite(v)
    kept = ops.select(finite, v, 3e38).min().keep(), ops.select(finite, v, -3e38).max().keep()
    graph.run()
    return tuple(float(k.item()) for k in kept)


def png(array, low=None, high=None, path=None):
    """The bytes of a PNG file that shows a 2-d array in grey, or an array [height, width, 3 or 4] in colour.

    `low` is shown black and `high` white; without them the smallest and largest finite elements are. Axes longer than
    1024 are shown by every k-th element. With `path` the bytes are also written to this file.

    >>> import weft
    >>> weft.png(weft.ones((4, 5)))[:4]
    b'\\x89PNG'
    """
    array = asarray(array)
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (3, 4)) or not array.size:
        raise _weft.ShapeError(f"a picture has the shape (height, width) or (height, width, 3 or 4), not {array.shape}")
    if array.dtype.kind == "c":
        array = abs(array)
    step = max(1, -(-max(array.shape[:2]) // _LARGEST))
    array = array[::step, ::step].to_device("cpu")
    if array.dtype != _weft.u8 or low is not None or high is not None:
        array = array.astype(_weft.f32, copy=False)
        least, most = _range(array)
        low, high = least if low is None else low, most if high is None else high
        scaled = (array - low) * (255 / (high - low) if high > low else 0)
        array = ops.select(ops.isnan(array), 0.0, ops.clamp(scaled, 0, 255) + 0.5).astype(_weft.u8)
    height, width = array.shape[:2]
    channels = array.shape[2] if array.ndim == 3 else 1
    rows, bytes_of_row = array.tobytes(), width * channels
    data = b"".join(b"\0" + rows[i * bytes_of_row:(i + 1) * bytes_of_row] for i in range(height))
    colours = {1: 0, 3: 2, 4: 6}[channels]  # grey, RGB, RGBA
    header = struct.pack(">IIBBBBB", width, height, 8, colours, 0, 0, 0)
    chunks = _chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(data, 6)), _chunk(b"IEND", b"")
    made = b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
    if path is not None:
        with open(path, "wb") as file:
            file.write(made)
    return made


class History(list):  # type: ignore[type-arg]
    """What weft.history gives: a list of dicts, which notebooks show as a table."""

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{title}</th>" for title in ("kernel", "points", "threads", "run", "compiled", "code"))
        rows = (f"<tr><td>{html.escape(k['name'] or '(no name)')}</td><td>{k['points']:,}</td><td>{k['threads']}</td>"
                f"<td>{1e3 * k['run_s']:.3f} ms</td><td>{1e3 * k['compile_s']:.3f} ms</td><td>{k['code']}</td></tr>"
                for k in self)
        return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def history() -> History:
    """The kernels that ran since the last call, at most 4096, oldest first: dicts with name, run_s, compile_s, code,
    points, threads and others. Noted within weft.flags(history=True). Notebooks show a table."""
    return History(_weft._history())


def images_in_notebooks(on=True):
    """Whether notebooks show 2-d arrays, and 3-d arrays of colours, as pictures. Off at first."""
    global _in_notebooks
    _in_notebooks = bool(on)


def _repr_png(array):
    if not _in_notebooks or array.is_lazy or array.size < 64 or array.dist is not None:
        return None
    try:
        return png(array)
    except _weft.ShapeError:
        return None


Array._repr_png_ = _repr_png
