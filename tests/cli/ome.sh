# OME-TIFF and OME-Zarr files that weft convert writes are what tifffile, ome-types and zarr read, and the other way round.
# Skipped where the interpreter WEFT_PYTHON (python3) lacks these packages.
. "$(dirname "$0")/lib.bash" || exit 1
python=${WEFT_PYTHON:-python3}
if ! "$python" -c 'import tifffile, ome_types, zarr, numpy' 2> no.err; then
    echo "skipped: $python has not all of tifffile, ome_types, zarr"
    exit 0
fi

calc() { "$WEFT" calc "$@" > /dev/null; }
calc 'sin(x) + 10*y + 100*z' --shape 6,5,7 -o volume.mrc --pixel 3.5,1.35,1.25
calc '(x + 10*y + 100*z) % 251' --shape 4,5,7 --stack --dtype u8 -o stack.mrcs --pixel 1.35
"$WEFT" convert volume.mrc volume.ome.tif
"$WEFT" convert volume.mrc volume.ome.zarr --zstd
"$WEFT" convert stack.mrcs stack.ome.tif --deflate
"$WEFT" convert stack.mrcs stack.ome.zarr
"$WEFT" convert volume.mrc volume.npy
"$WEFT" convert stack.mrcs stack.npy
"$WEFT" convert volume.npy renamed.ome.tif --pixel 2 --stack
calc '(x*x + 7*y + 31*z) % 1999 - 700' --shape 13,30,45 -o large.mrc --pixel 3.5,1.35,1.25
"$WEFT" convert large.mrc levels_f32.ome.zarr --zstd --coarsest 6
"$WEFT" convert large.mrc levels_i16.ome.zarr --deflate --coarsest 6 --dtype i16
calc 'u8(a % 256)' a=large.mrc --stack -o levels_u8.ome.zarr --coarsest 6
calc 'a' a=large.mrc --chunk 4 --stack --dtype f16 -o levels_f16.ome.zarr --coarsest 6 --pixel 2
"$WEFT" filter large.mrc --blur 1 -o levels_f64.ome.zarr --coarsest 6 --dtype f64
refuses 2 'only .ome.zarr has levels' "$WEFT" convert large.mrc plain.zarr --pyramid
refuses 2 'only .ome.zarr has levels' "$WEFT" filter large.mrc --blur 1 -o plain.mrc --coarsest 9
refuses 2 'are for files' "$WEFT" calc a a=large.mrc --pyramid
refuses 2 'give a number of samples' "$WEFT" convert large.mrc plain.ome.zarr --coarsest 0
refuses 2 'has no place for a pixel size' "$WEFT" convert volume.npy plain.zarr --pixel 2
refuses 2 'only MRC and OME files say that' "$WEFT" convert volume.npy plain.tif --stack

cat > other.py << 'END'
import json, numpy, ome_types, tifffile, zarr
from ome_types.model import UnitsLength

def near(a, b):
    assert abs(a - b) <= 1e-6 * abs(b), (a, b)

for name, axes, size in (("volume", "ZYX", (3.5, 1.35, 1.25)), ("stack", "TYX", (None, 1.35, 1.35))):
    expected = numpy.load(name + ".npy")
    with tifffile.TiffFile(name + ".ome.tif") as f:
        assert f.is_ome
        series, = f.series
        assert series.axes == axes and series.dtype == expected.dtype, (series.axes, series.dtype)
        assert numpy.array_equal(series.asarray(), expected)
        text = f.ome_metadata
    assert text.isascii()
    image, = ome_types.from_xml(text, validate=True).images  # validate: against the schema
    p = image.pixels
    assert (p.size_x, p.size_y, p.size_c) == (7, 5, 1) and {"ZYX": p.size_z, "TYX": p.size_t}[axes] == len(expected)
    for got, unit, wanted in zip((p.physical_size_z, p.physical_size_y, p.physical_size_x),
                                 (p.physical_size_z_unit, p.physical_size_y_unit, p.physical_size_x_unit), size):
        if wanted:
            assert unit == UnitsLength.NANOMETER
            near(10 * got, wanted)
    group = zarr.open_group(name + ".ome.zarr", mode="r")
    array = group["0"]
    assert array.dtype == expected.dtype and numpy.array_equal(array[...], expected)
    names = [a.lower() for a in axes]
    assert list(array.metadata.dimension_names) == names
    ome = group.attrs["ome"]
    levels, = ome["multiscales"]
    assert ome["version"] == "0.5" and [a["name"] for a in levels["axes"]] == names
    assert [a["type"] for a in levels["axes"]] == ["time" if n == "t" else "space" for n in names]
    for axis, scale, wanted in zip(levels["axes"], levels["datasets"][0]["coordinateTransformations"][0]["scale"], size):
        if wanted:
            assert axis["unit"] == "angstrom"
            near(scale, wanted)
    try:
        from ome_zarr_models.v05 import Image
    except ImportError:
        continue
    Image.from_zarr(group)

# levels: means of 2 samples along axes in space of the level before, rounded to the type
for kind, axes, size in (("f32", "zyx", (3.5, 1.35, 1.25)), ("i16", "zyx", (3.5, 1.35, 1.25)), ("u8", "tyx", (1, 1.35, 1.25)),
                         ("f16", "tyx", (1, 2, 2)), ("f64", "zyx", (3.5, 1.35, 1.25))):
    group = zarr.open_group(f"levels_{kind}.ome.zarr", mode="r")
    image, = group.attrs["ome"]["multiscales"]
    assert [d["path"] for d in image["datasets"]] == ["0", "1", "2", "3"], kind
    fine = group["0"][...]
    for k in range(4):
        array = group[str(k)]
        assert list(array.metadata.dimension_names) == list(axes) and array.dtype == fine.dtype
        span = [1 if axis == "t" else 2**min(k, 3) for axis in axes]
        scale, *moved = image["datasets"][k]["coordinateTransformations"]
        assert scale["type"] == "scale" and [t["type"] for t in moved] == ["translation"] * (k > 0)
        for d, axis in enumerate(axes):
            near(scale["scale"][d], size[d] * span[d])
            if moved:
                near(moved[0]["translation"][d], size[d] * (span[d] - 1) / 2)
        level = array[...]
        if k:
            wide = fine.astype(numpy.float64)
            for d, axis in enumerate(axes):
                if axis != "t":
                    n = wide.shape[d] // 2
                    pairs = numpy.take(wide, range(2 * n), d)
                    wide = (numpy.take(pairs, range(0, 2 * n, 2), d) + numpy.take(pairs, range(1, 2 * n, 2), d)) / 2
            expected = wide if fine.dtype.kind == "f" else numpy.rint(wide)
            assert level.shape == expected.shape
            if kind == "f64":
                assert numpy.allclose(level, expected, rtol=1e-14, atol=1e-11)
            else:
                assert numpy.array_equal(level, expected.astype(fine.dtype)), kind
        fine = level
    try:
        from ome_zarr_models.v05 import Image
        Image.from_zarr(group)
    except ImportError:
        pass
    try:
        import ome_zarr.io, ome_zarr.reader
    except ImportError:
        continue
    node, = ome_zarr.reader.Reader(ome_zarr.io.parse_url(f"levels_{kind}.ome.zarr"))()
    assert [a.shape for a in node.data] == [group[str(k)].shape for k in range(4)]
    assert numpy.array_equal(numpy.asarray(node.data[3]), level)
with tifffile.TiffFile("renamed.ome.tif") as f:
    assert f.series[0].axes == "TYX"

# other programs' files
volume = numpy.load("volume.npy")
tifffile.imwrite("other.ome.tif", volume, metadata={"axes": "ZYX", "PhysicalSizeX": 1.25, "PhysicalSizeXUnit": "Å",
    "PhysicalSizeY": 0.135, "PhysicalSizeYUnit": "nm", "PhysicalSizeZ": 3.5e-4, "PhysicalSizeZUnit": "µm"})
tifffile.imwrite("series.ome.tif", volume.reshape(2, 3, 5, 7), metadata={"axes": "TZYX"})
END
"$python" other.py || die 'other programs read something else'
"$WEFT" info other.ome.tif | grep -q 'spacing 3.5 1.35 1.25 A' || die "$("$WEFT" info other.ome.tif)"
prints 0 "$WEFT" calc 'max(a != b)' a=other.ome.tif b=volume.npy
prints '[2,3,5,7]' json_value shape series.ome.tif
"$WEFT" info series.ome.tif | grep -q 'stack of volumes' || die "$("$WEFT" info series.ome.tif)"
"$WEFT" bin other.ome.tif --by 2 -o half.mrc # a volume, no image with channels
prints '[3,2,3]' json_value shape half.mrc
"$WEFT" convert other.ome.tif back.mrc
"$WEFT" info back.mrc | grep -q 'volume' || die "$("$WEFT" info back.mrc)"
"$WEFT" convert volume.ome.zarr back.mrc
"$WEFT" info back.mrc | grep -q 'spacing 3.5 1.35 1.25 A' || die "$("$WEFT" info back.mrc)"
