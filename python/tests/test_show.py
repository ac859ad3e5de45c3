"""Pictures of arrays."""
import struct
import zlib

import pytest

import weft


def pixels(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        assert struct.unpack(">I", data[at + 8 + n:at + 12 + n])[0] == zlib.crc32(data[at + 4:at + 8 + n])
        parts[kind] = data[at + 8:at + 8 + n]
        at += 12 + n
    width, height, bits, colours, *_ = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    raw = zlib.decompress(parts[b"IDAT"])
    row = len(raw) // height
    return width, height, colours, [list(raw[i * row + 1:(i + 1) * row]) for i in range(height)]


def test_grey_pictures():
    nan = float("nan")
    assert pixels(weft.png([[0.0, 1.0, 2.0], [nan, float("inf"), -1.0]])) == (3, 2, 0, [[85, 170, 255], [0, 255, 0]])
    assert pixels(weft.png([[0.0, 1.0]], 0, 2))[3] == [[0, 128]]
    assert pixels(weft.png(weft.asarray([[1, 2]], "u8")))[3] == [[1, 2]]
    assert pixels(weft.png([[5, 5]]))[3] == [[0, 0]]
    assert pixels(weft.png(weft.zeros((3, 3000))))[:2] == (1000, 1)


def test_a_picture_in_a_file(tmp_path):
    made = weft.png([[0.0, 1.0]], path=tmp_path / "picture.png")
    assert made == weft.png([[0.0, 1.0]]) == (tmp_path / "picture.png").read_bytes()
    with pytest.raises(OSError):
        weft.png([[0.0, 1.0]], path=tmp_path / "missing" / "picture.png")


def test_colours_and_mistakes():
    assert pixels(weft.png(weft.full((2, 2, 3), 7, "u8")))[2:] == (2, [[7] * 6] * 2)
    assert pixels(weft.png(weft.full((2, 2, 4), 7, "u8")))[2] == 6
    for shape in ((3,), (2, 2, 2), (0, 3), (1, 2, 3, 4)):
        with pytest.raises(weft.ShapeError):
            weft.png(weft.zeros(shape))


def test_notebooks():
    x = weft.zeros((20, 20))
    assert x._repr_png_() is None
    weft.images_in_notebooks()
    try:
        assert x._repr_png_()[:4] == b"\x89PNG"
        assert weft.zeros(100)._repr_png_() is None
        with weft.lazy():
            y = x + 1
            assert y._repr_png_() is None and y.is_lazy
    finally:
        weft.images_in_notebooks(False)


def test_histories_are_tables():
    with weft.flags(history=True):
        weft.history()
        graph = weft.Graph(shape=(3,), name="<ramp>")
        graph.write(weft.empty(3, "i64"), graph.index(0), graph.index(0))
        graph.run()
        history = weft.history()
    assert [entry["name"] for entry in history] == ["<ramp>"] and isinstance(history, list)
    table = history._repr_html_()
    assert table.startswith("<table>") and "<td>&lt;ramp&gt;</td><td>3</td>" in table and table.count("<tr>") == 2
