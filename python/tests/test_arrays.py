"""Arrays: what they are made from, memory shared with other objects, views, operators, errors."""
import array
import copy
import gc
import pickle
import weakref

import pytest

import weft

numpy = pytest.importorskip("numpy")


@pytest.mark.parametrize("name", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                                  "float16", "float32", "float64", "complex64", "complex128"])
def test_numpy_arrays_share_memory_both_ways(name):
    a = numpy.arange(24).astype(name).reshape(2, 3, 4)
    for view in (a, a[:, ::-1], a.T, a[1], a[..., ::2], a[0, 0, 0]):
        view = numpy.asarray(view)
        x = weft.asarray(view)
        assert x.dtype.name == name and x.shape == view.shape
        assert x.tolist() == view.tolist()
        back = numpy.asarray(x)
        assert back.dtype == view.dtype and (back == view).all()
        if view.ndim:
            assert numpy.shares_memory(back, a)


def test_memory_outlives_either_side():
    a = numpy.arange(1000.0)
    seen = weakref.ref(a)
    x = weft.asarray(a)
    del a
    gc.collect()
    assert seen() is not None and x[999].item() == 999
    b = numpy.asarray(x)
    del x
    gc.collect()
    assert b[998] == 998 and seen() is not None
    del b
    gc.collect()
    assert seen() is None


def test_what_a_resize_of_the_owner_meets():
    owner = array.array("d", [1, 2, 3])
    x = weft.asarray(owner)
    with pytest.raises(BufferError):
        owner.append(4)
    del x
    owner.append(4)
    assert len(owner) == 4


def test_read_only_memory_is_not_written():
    a = numpy.arange(3.0)
    a.flags.writeable = False
    x = weft.asarray(a)
    assert x.read_only
    with pytest.raises(weft.ArgumentError):
        x[0] = 1
    with pytest.raises(weft.ArgumentError):
        x += 1
    with pytest.raises(weft.ArgumentError):
        x[1:][0] = 1
    assert numpy.asarray(x).flags.writeable is False
    wide = weft.asarray([1.0, 2.0]).broadcast_to((3, 2))
    with pytest.raises(weft.ArgumentError):
        wide[0, 0] = 1
    assert numpy.asarray(wide).tolist() == [[1, 2]] * 3


def test_memory_that_is_not_aligned_is_copied():
    raw = numpy.zeros(33, numpy.uint8)
    a = raw[1:].view("float64")
    a[:] = [1, 2, 3, 4]
    assert weft.asarray(a).tolist() == [1, 2, 3, 4]
    records = numpy.zeros(3, dtype=[("x", "f4"), ("flag", "u1")])
    records["x"] = [5, 6, 7]
    assert weft.asarray(records["x"]).tolist() == [5, 6, 7]


def test_memory_in_the_byte_order_of_other_machines():
    a = numpy.arange(3.0)
    with pytest.raises(weft.DtypeError, match=r"'>d' .*newbyteorder\('='\)"):
        weft.asarray(a.astype(">f8"))
    with pytest.raises(weft.DtypeError, match="'g' and 16 bytes have no dtype in weft$"):
        weft.asarray(a.astype("g"))
    assert weft.asarray(numpy.array([1, 2], ">i1")).tolist() == [1, 2]


def test_lists_and_numbers():
    assert weft.asarray([[1, 2], [3, 4]]).dtype == weft.i64
    assert weft.asarray([1, 2.5]).dtype == weft.f64
    assert weft.asarray([True, False]).dtype == weft.bool_
    assert weft.asarray([1, 2j]).tolist() == [1, 2j]
    assert weft.asarray(2**63).dtype == weft.u64
    assert weft.asarray([]).shape == (0,) and weft.asarray([[], []]).shape == (2, 0)
    assert weft.asarray(3.0).shape == () and weft.asarray([range(3), (4, 5, 6)]).tolist() == [[0, 1, 2], [4, 5, 6]]
    assert weft.asarray([1, 2], dtype="float16").dtype == weft.f16
    for wrong in ([1, [2]], [[1], [2, 3]], ["a"], "text", object(), {1: 2}, [None]):
        with pytest.raises((TypeError, ValueError)):
            weft.asarray(wrong)


def test_dtypes_by_many_names():
    for name in ("f32", "float32", float, numpy.float32, numpy.dtype("f4"), "f4"):
        assert weft.empty(1, name).dtype == (weft.f64 if name is float else weft.f32)
    for name in ("b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"):
        dtype = numpy.dtype(name)
        assert weft.empty(1, dtype.str).dtype == weft.empty(1, dtype).dtype == dtype.name, name
        assert weft.empty(1, dtype.char).dtype == dtype.name
    assert weft.empty(1, "i8").itemsize == weft.empty(1, "u8").itemsize == 1
    for name in ("<f16", "<c32", ">f4", "|int8"):  # the first two are longer numbers of NumPy
        with pytest.raises(weft.DtypeError):
            weft.empty(1, name)
    assert numpy.zeros(2, weft.i16).dtype == numpy.int16
    assert weft.f32 == "float32" and weft.f32 != weft.f64 and hash(weft.f32) == hash(weft.asarray([1.0], "f32").dtype)
    assert pickle.loads(pickle.dumps(weft.c64)) is weft.c64
    with pytest.raises(weft.DtypeError):
        weft.empty(1, "float33")


KEYS = [0, -1, slice(None), slice(None, None, -1), slice(4, None, -2), slice(1, 1), slice(3, 1), (0, 1), (Ellipsis, 1),
        (None, 1), (slice(1, 3), None, -1), (Ellipsis,), (), (1, Ellipsis, slice(None, None, -3)), (2, 3, 1),
        (slice(None, 100),), (slice(-100, 2), slice(None), 0)]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_views_are_those_of_numpy(key):
    a = numpy.arange(5 * 4 * 3).reshape(5, 4, 3)
    x = weft.asarray(a)
    assert x[key].shape == a[key].shape and x[key].tolist() == a[key].tolist()
    b = a.copy()
    y = weft.asarray(b.copy())
    b[key] = 7
    y[key] = 7
    assert y.tolist() == b.tolist()


@pytest.mark.parametrize("key", [5, -6, (0, 4), (0, 0, 0, 0), (Ellipsis, Ellipsis)], ids=str)
def test_indices_out_of_range(key):
    x = weft.empty((5, 4, 3))
    with pytest.raises(IndexError):
        x[key]
    with pytest.raises(IndexError):
        x[key] = 0


BINARY = ["__add__", "__sub__", "__mul__", "__truediv__", "__floordiv__", "__mod__", "__lt__", "__le__", "__eq__",
          "__ne__", "__gt__", "__ge__"]


@pytest.mark.parametrize("name", ["int32", "uint8", "float32", "float64"])
@pytest.mark.parametrize("operator", BINARY)
def test_operators_are_those_of_numpy(name, operator):
    a = numpy.array([1, 2, 7, 9, 100]).astype(name)
    b = numpy.array([3, 2, 2, 4, 7]).astype(name)
    if name != "uint8":
        a, b = a * numpy.array([1, -1, 1, -1, 1], name), b * numpy.array([1, 1, -1, -1, 1], name)
    for right in (b, 2, 2.5):
        expected = getattr(a, operator)(right)
        got = getattr(weft.asarray(a), operator)(weft.asarray(right) if right is b else right)
        assert numpy.allclose(numpy.asarray(got), expected, rtol=1e-6), (got, expected)
        assert numpy.asarray(got).dtype.kind == expected.dtype.kind
        for part, whole in zip(divmod(weft.asarray(a), right), divmod(a, right)):
            assert numpy.allclose(numpy.asarray(part), whole, rtol=1e-6)


def test_bools_of_numpy_are_operands():
    a = numpy.arange(3.0)
    x = weft.asarray(a)
    for one in (numpy.bool_(True), numpy.bool_(False), numpy.array(True), numpy.array(False)):
        assert (x * one).tolist() == (a * one).tolist() and (x + one).dtype == weft.f64
        assert weft.where(one, x, -x).tolist() == numpy.where(one, a, -a).tolist()
        assert weft.where(one, 1, 2).item() == numpy.where(one, 1, 2)
        assert ((x > 1) & one).tolist() == ((a > 1) & one).tolist()
        assert weft.logical_not(one).item() == (not one)
        assert weft.ewise(lambda v: v + one, x).tolist() == (a + one).tolist()


def test_operators_with_numpy_on_the_left():
    a = numpy.arange(3.0)
    x = weft.asarray([10.0, 20.0, 30.0])
    assert isinstance(a + x, weft.Array) and (a - x).tolist() == [-10, -19, -28]
    assert (numpy.float32(2) * x).tolist() == [20, 40, 60]
    assert (2 ** weft.asarray([1.0, 2.0])).tolist() == [2, 4]
    assert (weft.asarray([2, 3]) ** 3).tolist() == [8, 27]
    assert (weft.asarray([[1.0, 2], [3, 4]]) @ numpy.array([[1.0], [1]])).tolist() == [[3], [7]]
    assert (weft.asarray([[1.0, 2], [3, 4]]) @ [1.0, 1]).tolist() == [3, 7]
    assert (numpy.array([1.0, 1]) @ weft.asarray([[1.0, 2], [3, 4]])).tolist() == [4, 6]
    with pytest.raises(ValueError):
        weft.asarray([[1.0, 2]]) @ [1.0, 2, 3]


def test_in_place_operators_keep_the_memory():
    a = numpy.arange(4.0)
    x = weft.asarray(a)
    x += 1
    x[1:] *= 2
    assert a.tolist() == [1, 4, 6, 8]
    i = weft.asarray([1, 2])
    with pytest.raises(TypeError):
        i += 0.5
    with pytest.raises(ValueError):
        x += weft.asarray([1.0, 2.0])


def test_numbers_are_weak():
    x = weft.asarray([1, 2], "f32")
    assert (x * 2.5).dtype == weft.f32 and (x * 2).dtype == weft.f32 and (x * 1j).dtype == weft.c64
    i = weft.asarray([1, 2], "i16")
    assert (i * 2).dtype == weft.i16 and (i * 2.5).dtype == weft.f64
    assert (weft.asarray([True, False]) + 1).tolist() == [2, 1]
    assert (weft.asarray([1], "i64") + 2**60).tolist() == [2**60 + 1]
    with pytest.raises(TypeError):
        weft.asarray([1], "u8") + 300


def test_errors_are_of_both_classes():
    with pytest.raises(weft.ShapeError) as shape:
        weft.empty(3) + weft.empty(4)
    assert isinstance(shape.value, weft.Error) and isinstance(shape.value, ValueError)
    with pytest.raises(weft.BoundsError) as bounds:
        weft.empty(3)[7]
    assert isinstance(bounds.value, IndexError)
    assert weft.empty(3).shape == (3,)  # the mistake is forgotten


def test_conversions_to_python():
    assert float(weft.asarray(2.5)) == 2.5 and int(weft.asarray([7])) == 7 and complex(weft.asarray(1j)) == 1j
    assert bool(weft.asarray(True)) and [10, 20][weft.asarray(1)] == 20
    assert len(weft.empty((4, 2))) == 4 and [r.tolist() for r in weft.asarray([[1], [2]])] == [[1], [2]]
    with pytest.raises(ValueError):
        bool(weft.empty(2))
    with pytest.raises(TypeError):
        len(weft.asarray(1.0))
    with pytest.raises(ValueError):
        weft.empty(2).item()
    half = numpy.array([1.5, -0.1, 6e-8, 65504, numpy.inf, -0.0], numpy.float16)
    assert weft.asarray(half).tolist() == half.tolist()


def test_copies_and_pickles():
    x = weft.asarray([[1, 2], [3, 4]], "i16")
    for y in (copy.copy(x), copy.deepcopy(x), x.copy(), pickle.loads(pickle.dumps(x)), weft.asarray(x, copy=True)):
        assert y.tolist() == x.tolist() and y.dtype == x.dtype
        y[0, 0] = 9
    assert x[0, 0].item() == 1 and weft.asarray(x) is x


def test_reshape_and_transpose():
    a = numpy.arange(24)
    x = weft.asarray(a)
    assert x.reshape(2, 3, -1).shape == (2, 3, 4) and x.reshape((4, 6)).T.shape == (6, 4)
    assert x.reshape(4, 6).T.reshape(24).tolist() == a.reshape(4, 6).T.reshape(24).tolist()
    assert x.reshape(2, 3, 4).transpose(2, 0, 1).tolist() == a.reshape(2, 3, 4).transpose(2, 0, 1).tolist()
    for wrong in ((5, 5), (-1, -1), (-2, 12)):
        with pytest.raises(ValueError):
            x.reshape(wrong)
    with pytest.raises(ValueError):
        x.reshape(4, 6).transpose(0)


def test_how_arrays_are_shown():
    assert str(weft.asarray([[1, 2], [3, 4]])) == "[[1, 2],\n [3, 4]]"
    assert repr(weft.asarray([1.5, 2.0])) == "Array([1.5, 2.], dtype=f64)"
    assert "..." in repr(weft.zeros(5000)) and len(repr(weft.zeros((200, 200)))) < 1000


def test_lazy_arrays():
    x = weft.asarray([1.0, 2.0, 3.0])
    with weft.lazy():
        y = x * 2
        z = y + 1
        assert y.is_lazy and z.shape == (3,) and "lazy" in repr(z)
        assert z.tolist() == [3, 5, 7] and not z.is_lazy and y.is_lazy
        x += 10  # what may read x is computed before
        assert not y.is_lazy
    assert y.tolist() == [2, 4, 6] and x.tolist() == [11, 12, 13]
    with weft.lazy():
        y = x * 3
        with pytest.raises(weft.ShapeError):
            y + weft.empty(4)
        for wrong in (lambda: y & 1, lambda: weft.asarray([1, 2, 3], "u8") + 300, lambda: y + "text",
                      lambda: weft.sin(y, 1), lambda: y < 1j):
            with pytest.raises(TypeError):
                wrong()
        z = y + 1  # mistakes end nothing
    assert y.tolist() == [33, 36, 39] and z.tolist() == [34, 37, 40]
    assert (x + 0).tolist() == [11, 12, 13]


def test_memory_stays_flat():
    resource = pytest.importorskip("resource")
    a = numpy.zeros(1 << 14)

    def turn():
        for _ in range(300):
            x = weft.asarray(a)
            (x + 1)[1:] * 2
            numpy.asarray(x)
            weft.text("a + 1", a=a)
            with pytest.raises(ValueError):
                x + weft.empty(3)

    turn()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(4):
        turn()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8192


def test_mistakes_of_functions_of_values_end_no_lazy_block():
    x, four, matrix = weft.asarray([1.0, 2.0, 3.0]), weft.ones(4, "f64"), weft.ones((2, 3))
    mistakes = [
        lambda y: weft.signal.lowpass(y, matrix[:, :2]), lambda y: weft.signal.freq((4, 4), 5, y),
        lambda y: weft.xform.interpolate(matrix, [y, y, y]), lambda y: weft.xform.interpolate(matrix, [y, four]),
        lambda y: weft.grad(y * 2, y), lambda y: weft.vjp([y * 2], [four], y),
        lambda y: weft.jvp(y * 2, [y], [four]),
        lambda y: weft.custom(lambda v: 1 / 0)(y), lambda y: weft.custom(lambda v: v.reshape(7))(y),
        lambda y: weft.fixed_point(lambda a: a.reshape(9))(y), lambda y: weft.logaddexp(y, four),
        lambda y: weft.derivatives.replace_gradient(y, four), lambda y: weft.signal.bandpass(y, 1, 2, 3, four),
    ]
    for mistake in mistakes:
        with weft.lazy():
            y = x * 2
            with pytest.raises(Exception):
                mistake(y)
            z = y + weft.signal.lowpass(y, 10.0, 1.0)
            w = weft.jvp(x * y, [y], [1.0])
            assert z.is_lazy and y.is_lazy
        assert z.tolist() == [3, 5, 7] and w.tolist() == [1, 2, 3]
