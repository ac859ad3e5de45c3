"""Files of arrays and STAR files."""
import pytest

import weft

numpy = pytest.importorskip("numpy")


@pytest.mark.parametrize("suffix", [".mrc", ".npy", ".tif", ".npy.gz"])
def test_round_trips(tmp_path, suffix):
    a = numpy.arange(24, dtype="f4").reshape(2, 3, 4)
    path = tmp_path / f"a{suffix}"
    try:
        weft.save(path, a)
    except weft.UnsupportedError:
        pytest.skip("no library for this format")
    assert weft.load(path).dtype == weft.f32 and (numpy.asarray(weft.load(path)) == a).all()
    meta = weft.probe(path)
    assert meta.shape == (2, 3, 4) and meta.dtype == weft.f32 and meta.stored == "f32"
    assert (numpy.asarray(weft.load_region(path, (1, 0, 1), (1, 2, 3))) == a[1:, :2, 1:]).all()
    if suffix.endswith("npy"):
        assert (numpy.load(path) == a).all()
    with weft.open_file(path) as file:
        assert file.shape == a.shape and len(file) == 2
        assert (numpy.asarray(file[1, ..., 1:3]) == a[1, ..., 1:3]).all()
        assert (numpy.asarray(file[-1]) == a[-1]).all() and (numpy.asarray(file[:, 2]) == a[:, 2]).all()
        assert (numpy.asarray(file.read((0, 1, 2), (2, 1, 1))) == a[:, 1:2, 2:3]).all()
        for key in (2, (0, 0, 0, 0), (..., ...), (slice(None, None, 2),)):
            with pytest.raises(IndexError):
                file[key]
    with pytest.raises(ValueError):
        file[0]


def test_metadata(tmp_path):
    path = tmp_path / "a.mrc"
    weft.save(path, numpy.arange(24).reshape(2, 3, 4), spacing=(1.5, 2, 2), labels=["made by a test"], is_stack=True,
              store_as="i16", origin=(1, 2, 3))
    a, meta = weft.load(path, meta=True)
    assert a.dtype == weft.i16 and meta.stored == "i16" and meta.is_stack and meta.format == "MRC"
    assert meta.spacing[1:] == (2, 2) and "made by a test" in meta.labels
    other = tmp_path / "b.mrc"
    weft.save(other, a, meta)
    again = weft.load(other, meta=True)[1]
    assert again.spacing == meta.spacing and again.is_stack
    weft.save(other, a, meta, spacing=3.0)
    assert weft.load(other, meta=True)[1].spacing == (3, 3, 3)
    weft.save(other, a[0], spacing=(2.0, 4.0))
    assert weft.load(other, meta=True)[1].spacing[1:] == (2, 4)
    weft.save(other, a, meta)
    meta.spacing = (1, 1, 1)
    with pytest.raises(AttributeError):
        meta.spaces = 1
    for wrong in (dict(spaces=1), dict(stored=3), dict(store_as="f99"), dict(spacing=(1, 2, 3, 4)), dict(cell=1e30),
                  dict(labels=[1]), dict(spacing="a")):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            weft.save(other, a, **wrong)
    with pytest.raises(TypeError):
        weft.files._c.save(other, a, 3)
    assert weft.format_named("x.tiff") == "TIFF"
    assert "spacing" in repr(meta) and meta != again


def test_parts_and_appending(tmp_path):
    path = tmp_path / "a.npy"
    with weft.create_file(path, (4, 3), "f4") as file:
        file.write(numpy.ones((2, 3), "f4"), (1, 0))
        assert not path.exists()
    assert numpy.load(path).tolist() == [[0] * 3, [1] * 3, [1] * 3, [0] * 3]
    with pytest.raises(KeyError):
        with weft.create_file(tmp_path / "b.npy", (4, 3), weft.f32):
            raise KeyError
    assert not (tmp_path / "b.npy").exists()
    for i in range(3):
        weft.append(path, numpy.full((1, 3), 5 + i, "f4"))
    assert numpy.load(path)[4:, 0].tolist() == [5, 6, 7]


def test_files_as_memory(tmp_path):
    values = numpy.arange(24, dtype="f4").reshape(4, 6)
    weft.save(tmp_path / "a.npy", values)
    with weft.open_file(tmp_path / "a.npy") as file:
        array = file.map()
    assert (numpy.asarray(array) == values).all() and array.read_only
    assert not numpy.asarray(array).flags.writeable
    with pytest.raises(ValueError):
        array[0, 0] = 3
    with weft.create_file(tmp_path / "b.npy", (4, 6), "f4") as file:
        out = file.map()
        out[...] = array * 2
        with pytest.raises(ValueError, match="not released"):
            file.finish()
        del out
    assert (numpy.load(tmp_path / "b.npy") == values * 2).all()
    weft.save(tmp_path / "a.tif", values)
    with weft.open_file(tmp_path / "a.tif") as file, pytest.raises(NotImplementedError, match="TIFF cannot be mapped"):
        file.map()


def test_movies(tmp_path):
    frames = numpy.random.default_rng(1).integers(0, 9, (6, 4, 5)).astype("u1")
    gain = numpy.full((4, 5), 2, "f4")
    weft.save(tmp_path / "m.mrc", frames, is_stack=True)
    weft.save(tmp_path / "gain.mrc", gain)
    with weft.open_movie(tmp_path / "m.mrc", tmp_path / "gain.mrc", group=3) as movie:
        assert movie.shape == (2, 4, 5)
        assert (numpy.asarray(movie[1]) == 2 * frames[3:].astype("f4").sum(0)).all()


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(OSError):
        weft.load(tmp_path / "none.mrc")
    (tmp_path / "text.mrc").write_text("no such file")
    with pytest.raises(OSError):
        weft.load(tmp_path / "text.mrc")
    for wrong in (3, None, object(), b"\0", "a\0b"):
        with pytest.raises((TypeError, ValueError, OSError)):
            weft.load(wrong)
    with pytest.raises((ValueError, NotImplementedError)):
        weft.save(tmp_path / "a.unknown", [1.0])


def test_tables(tmp_path):
    path = tmp_path / "run.star"
    star = weft.star
    optics = star.Table({"rlnOpticsGroup": [1, 2], "rlnPixelSize": [1.5, 2.5], "rlnName": ["first one", "b"]})
    particles = {
        "rlnCoordinateX": weft.asarray([10.5, 11, 12]),
        "rlnOpticsGroup": [2, 1, 2],
        "rlnMicrograph": ["a", "b", "a'b"],
    }
    star.save(path, {"general": star.Table({"rlnTitle": ["x"], "rlnCount": [7]}, loop=False), "optics": optics,
                     "particles": particles})
    tables = star.load(path)
    assert list(tables) == ["general", "optics", "particles"]
    assert (
        not tables["general"].loop
        and tables["general"]["rlnCount"].tolist() == [7]
        and tables["general"]["rlnTitle"] == ["x"]
    )
    read = tables["particles"]
    assert read["rlnCoordinateX"].tolist() == [10.5, 11, 12] and read["rlnMicrograph"] == ["a", "b", "a'b"]
    assert read["rlnOpticsGroup"].dtype == weft.i64
    assert read.join("rlnOpticsGroup", tables["optics"], "rlnPixelSize").tolist() == [2.5, 1.5, 2.5]
    assert read.join("rlnOpticsGroup", tables["optics"], "rlnName") == ["b", "first one", "b"]
    with pytest.raises(KeyError):
        star.Table({"rlnOpticsGroup": [9]}).join("rlnOpticsGroup", tables["optics"], "rlnName")
    assert star.load(path, text=True)["optics"]["rlnPixelSize"] == ["1.5", "2.5"]
    star.save(path, tables)
    assert star.load(path, text=True) == star.load(path, text=True)
    path.write_text("data_\nloop_\n_x\n1\n2\ndata_\nloop_\n_x\n.\n2.5\n")
    tables = star.load(path)
    assert list(tables) == ["", "#2"] and tables[""]["x"].tolist() == [1, 2]
    assert numpy.isnan(tables["#2"]["x"][0].item())
    for wrong in ({"a": {"x": [1, 2], "y": [1]}}, {"a": {"x": [1, "b"]}}, {"a": {"x": ["b", 1]}}, {"a": {3: [1]}},
                  {"a": {"x": [object()]}}):
        with pytest.raises((TypeError, ValueError)):
            star.save(path, wrong)
    path.write_text("loop_ no star")
    with pytest.raises(OSError):
        star.load(path)


def test_levels(tmp_path):
    path = tmp_path / "image.ome.zarr"
    image = numpy.arange(13 * 10 * 9, dtype="i2").reshape(13, 10, 9) ** 2 % 1013
    weft.save(path, image, spacing=(3.0, 2.0, 1.5), pyramid=True, coarsest=4)
    meta = weft.probe(path)
    assert (meta.levels, meta.level, meta.shape) == (3, "0", image.shape)
    expected = image
    for k in range(3):
        level = weft.probe(path, k)
        array, facts = weft.load(f"{path}/{level.level}", meta=True)
        assert (level.level, level.shape, level.dtype) == (str(k), expected.shape, image.dtype)
        assert level.spacing == facts.spacing == (3.0 * 2**k, 2.0 * 2**k, 1.5 * 2**k)
        assert level.origin == facts.origin == tuple(size * (2**k - 1) / 2 for size in (3.0, 2.0, 1.5))
        assert (numpy.asarray(array) == expected).all()
        d, h, w = (n // 2 for n in expected.shape)
        blocks = expected[:2 * d, :2 * h, :2 * w].reshape(d, 2, h, 2, w, 2)
        expected = numpy.rint(blocks.mean((1, 3, 5))).astype(image.dtype)
    with pytest.raises(weft.Error, match="level 3 of an image with 3"):
        weft.probe(path, 3)
    with pytest.raises(weft.Error, match="level is -1"):
        weft.probe(path, level=-1)
