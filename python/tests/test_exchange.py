"""DLPack and addresses."""
import ctypes
import gc
import threading
import weakref

import pytest

import weft

numpy = pytest.importorskip("numpy")


class Old:
    """A producer before version 1 of DLPack, which knows no keywords."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize(
    "name", ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128"]
)
def test_round_trips(name):
    a = numpy.arange(12).astype(name).reshape(3, 4)
    if name == "bool" and numpy.lib.NumpyVersion(numpy.__version__) < "1.25.0":
        pytest.skip("this NumPy has no bools in DLPack")
    for view in (a, a[:, ::2], a[::-1], a.T):
        x = weft.from_dlpack(Old(view) if view.strides[0] > 0 else view)
        assert x.dtype.name == name and x.tolist() == view.tolist()
        y = numpy.from_dlpack(x)
        assert y.dtype == view.dtype and (y == view).all() and numpy.shares_memory(y, a)


def test_memory_lives_as_long_as_it_is_used():
    a = numpy.arange(5.0)
    seen = weakref.ref(a)
    x = weft.from_dlpack(a)
    del a
    gc.collect()
    assert seen() is not None
    b = numpy.from_dlpack(x)
    del x
    gc.collect()
    assert b[4] == 4
    del b
    gc.collect()
    assert seen() is None
    weft.asarray([1.0]).__dlpack__()  # a capsule that nobody takes
    weft.asarray([1.0]).__dlpack__(max_version=(1, 0))


def test_read_only():
    wide = weft.asarray([1.0, 2.0]).broadcast_to((3, 2))
    with pytest.raises(BufferError):
        wide.__dlpack__()
    assert weft.from_dlpack(wide).read_only
    assert not weft.from_dlpack(wide, copy=True).read_only


def test_bfloat16_and_what_has_no_type():
    x = weft.asarray([1.5, 2.0], weft.bf16)
    with pytest.raises(BufferError):
        memoryview(x)
    assert weft.from_dlpack(x).dtype == weft.bf16 and weft.from_dlpack(x).tolist() == [1.5, 2]
    with pytest.raises(BufferError):
        weft.empty(3, weft.c32).__dlpack__()


def test_capsules_are_taken_once():
    class Twice(Old):
        def __init__(self, array):
            self.capsule = array.__dlpack__()

        def __dlpack__(self, **keywords):
            return self.capsule

    twice = Twice(weft.asarray([1.0]))
    weft.from_dlpack(twice)
    with pytest.raises(BufferError):
        weft.from_dlpack(twice)

    class Wrong:
        def __dlpack__(self, **keywords):
            return 3

    for wrong in (Wrong(), 3, None):
        with pytest.raises((TypeError, AttributeError)):
            weft.from_dlpack(wrong)


def test_devices():
    x = weft.asarray([1.0])
    assert x.__dlpack_device__() == (1, 0)
    assert weft.from_dlpack(x, device="cpu").tolist() == [1]
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    assert not hasattr(x, "__cuda_array_interface__")


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("owner", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


FAIL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
ALLOCATE = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(Tensor), ctypes.POINTER(ctypes.POINTER(Versioned)), ctypes.c_void_p, FAIL
)
LEND = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.POINTER(Versioned)))
TAKE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(Versioned), ctypes.POINTER(ctypes.py_object))
STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Table(ctypes.Structure):
    """The table of functions of DLPack 1.3."""


Table._fields_ = [
    ("major", ctypes.c_uint32),
    ("minor", ctypes.c_uint32),
    ("older", ctypes.POINTER(Table)),
    ("allocate", ALLOCATE),
    ("lend", LEND),
    ("take", TAKE),
    ("look", ctypes.c_void_p),
    ("stream", STREAM),
]
capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
capsule_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
TABLE_NAME = ctypes.c_char_p(b"dlpack_exchange_api")  # lives as long as the capsules


def own_table():
    return Table.from_address(capsule_pointer(type(weft.zeros(1)).__dlpack_c_exchange_api__, TABLE_NAME))


def test_table_lends_and_takes():
    table = own_table()
    assert (table.major, table.minor) == (1, 3) and not table.older
    a = numpy.arange(6.0).reshape(2, 3)
    seen = weakref.ref(a)
    x = weft.asarray(a).T
    lent = ctypes.POINTER(Versioned)()
    assert table.lend(x, ctypes.byref(lent)) == 0
    v = lent.contents
    t = v.tensor
    assert (v.major, v.flags, t.device_type, t.device, t.code, t.bits, t.lanes) == (1, 0, 1, 0, 2, 64, 1)
    assert t.data == a.ctypes.data and t.shape[: t.ndim] == [3, 2] and t.strides[: t.ndim] == [1, 3]
    taken = ctypes.py_object()
    assert table.take(lent, ctypes.byref(taken)) == 0
    y = taken.value
    assert isinstance(y, type(x)) and y.tolist() == a.T.tolist() and not y.read_only
    ctypes.pythonapi.Py_DecRef(taken)  # the reference that the function gave
    y[0, 0] = 7
    assert a[0, 0] == 7
    stream = ctypes.c_void_p(3)
    assert table.stream(1, 0, ctypes.byref(stream)) == 0 and stream.value is None
    del a, x, y, taken, v, t
    gc.collect()
    assert seen() is None
    wide = weft.zeros(1).broadcast_to((4,))
    assert table.lend(wide, ctypes.byref(lent)) == 0 and lent.contents.flags == 1
    lent.contents.deleter(ctypes.addressof(lent.contents))
    with pytest.raises(BufferError, match="f16"):
        table.lend(weft.empty(3, weft.c32), ctypes.byref(lent))


def test_table_allocates():
    table = own_table()
    messages = []
    fail = FAIL(lambda user, kind, message: messages.append((kind.decode(), message.decode())))
    shape = (ctypes.c_int64 * 2)(5, 7)
    like = Tensor(device_type=1, ndim=2, code=2, bits=32, lanes=1, shape=shape)
    made = ctypes.POINTER(Versioned)()
    assert table.allocate(like, ctypes.byref(made), None, fail) == 0 and not messages
    t = made.contents.tensor
    assert t.shape[:2] == [5, 7] and t.strides[:2] == [7, 1] and t.data and (t.code, t.bits) == (2, 32)
    made.contents.deleter(ctypes.addressof(made.contents))
    like.bits = 4
    assert table.allocate(like, ctypes.byref(made), None, fail) == -1 and not made
    like.bits, like.device_type = 32, 7
    assert table.allocate(like, ctypes.byref(made), None, fail) == -1
    like.device_type, shape[0] = 1, -5
    assert table.allocate(like, ctypes.byref(made), None, fail) == -1
    shape[0] = 1 << 50
    assert table.allocate(like, ctypes.byref(made), None, fail) == -1
    kinds = [kind for kind, message in messages]
    assert kinds == ["BufferError", "BufferError", "BufferError", "MemoryError"]
    assert "4 bits" in messages[0][1] and "type 7" in messages[1][1]


def test_tables_of_others_are_used():
    own, calls = own_table(), []

    @LEND
    def lend(x, out):
        calls.append("table")
        return own.lend(x.array, out) if x.array.ndim else -1

    table = Table(1, 3, None, own.allocate, lend, own.take, None, own.stream)
    newer = Table(2, 0, ctypes.pointer(table))

    class Method(Old):
        requires_grad = False

        def __dlpack__(self, **keywords):
            calls.append("method")
            if self.requires_grad:
                raise BufferError("detach it")
            return self.array.__dlpack__(**keywords)

    class Producer(Method):
        __dlpack_c_exchange_api__ = capsule_new(ctypes.addressof(newer), TABLE_NAME, None)

    def came_by(x):
        calls.clear()
        y = weft.asarray(x)
        assert y.tolist() == x.array.tolist()
        return list(calls)

    a = weft.asarray(numpy.arange(4.0))
    x = Producer(a)
    assert came_by(x) == ["table"] and numpy.shares_memory(numpy.asarray(weft.asarray(x)), numpy.asarray(a))
    assert (weft.sqrt(x) ** 2).tolist() == pytest.approx(a.tolist())
    calls.clear()
    copy = weft.from_dlpack(x, copy=True)
    assert calls == ["method"] and not numpy.shares_memory(numpy.asarray(copy), numpy.asarray(a))
    assert came_by(Producer(weft.asarray([1 + 2j]))) == ["table", "method"]  # a conjugate may still be to be computed
    assert came_by(Producer(weft.asarray(2.0))) == ["table", "method"]  # the table has failed
    assert weft.asarray(Producer(a.broadcast_to((3, 4)))).read_only
    x.requires_grad = True
    with pytest.raises(BufferError, match="detach"):
        weft.asarray(x)
    x.requires_grad = False
    assert came_by(x) == ["table"]

    class TooNew(Method):
        table = Table(2, 0)
        __dlpack_c_exchange_api__ = capsule_new(ctypes.addressof(table), TABLE_NAME, None)

    class NoTable(Method):
        __dlpack_c_exchange_api__ = 7

    assert came_by(TooNew(a)) == came_by(NoTable(a)) == came_by(Method(a)) == ["method"]
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None


class Lent:
    """An array of a library that has neither the buffer protocol nor a table."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class LentByTable(Lent):
    __dlpack_c_exchange_api__ = capsule_new(
        ctypes.addressof(table_of_lent := Table(1, 3, None, own_table().allocate, LEND(lambda x, out: own_table().lend(x.array, out)))),
        TABLE_NAME,
        None,
    )


@pytest.mark.parametrize("lent", [Lent, LentByTable])
def test_calls_take_what_is_lent(lent):
    a, b = numpy.arange(6.0).reshape(2, 3), numpy.zeros((2, 3))
    x, out = lent(weft.asarray(a)), lent(weft.asarray(b))
    read_only = lent(weft.asarray(a[0]).broadcast_to((2, 3)))

    @weft.kernel
    def scaled(i, j, /, a, out, factor):
        out[i, j] = a[i, j] * factor

    for factor in (2.0, 3.0):
        scaled(x, out, factor)
        assert (b == factor * a).all()
    scaled(read_only, out, 1.0)
    assert (b == a[0]).all()
    assert len(scaled.signatures) == 1
    scaled(lent(weft.asarray(a.astype("i4"))), out, 5.0)
    assert (b == 5 * a).all() and len(scaled.signatures) == 2
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            scaled(x, read_only, 2.0)
    with weft.Stream() as stream:
        scaled(lent(weft.asarray(a + 1)), lent(weft.asarray(b)), 2.0)
    stream.sync()
    assert (b == 2 * a + 2).all()

    g = weft.Graph()
    p, q = g.formal("p", weft.f64, 2), g.formal("q", weft.f64, 2)
    g.output(q, weft.sqrt(g.input(p)))
    k = g.compile("p", "q")
    for call in (k, k.fast):
        b[:] = 0
        call(x, out)
        assert (b == numpy.sqrt(a)).all()
        with pytest.raises(ValueError, match="read-only"):
            call(x, read_only)

    @weft.freeze
    def steps(a, out):
        calls.append(1)
        weft.ewise(lambda x: x * 2, a, out=out)

    calls = []
    for n in range(3):
        steps(lent(weft.asarray(a + n)), out)
        assert (b == 2 * (a + n)).all()
    assert len(calls) == 1
    steps(a, out)
    assert (b == 2 * a).all()

    for n in range(3):
        assert weft.text("a * k + 1", a=lent(weft.asarray(a + n)), k=2.0).tolist() == ((a + n) * 2 + 1).tolist()
    gc.collect()


def test_addresses():
    a = numpy.arange(6.0).reshape(2, 3)
    seen = weakref.ref(a)
    x = weft.from_address(a.ctypes.data, (3, 2), weft.f64, strides=(8, 24), owner=a)
    assert x.tolist() == a.T.tolist()
    x[0, 0] = 9
    assert a[0, 0] == 9
    del a
    gc.collect()
    assert seen() is not None
    del x
    gc.collect()
    assert seen() is None
    for wrong in ({"strides": (1, 2)}, {"strides": (8,)}, {"device": "nothing"}):
        with pytest.raises((ValueError, RuntimeError)):
            weft.from_address(4096, (3, 2), weft.f64, **wrong)
    with pytest.raises(ValueError):
        weft.from_address(4097, (3, 2), weft.f64)


def test_memory_given_back_by_threads():
    def work():
        for i in range(300):
            x = weft.asarray(numpy.full(3000, float(i)))
            y = x + 1
            assert y[0].item() == i + 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def test_arrays_of_bfloat16_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = numpy.array([[1.5, -2], [3, 256]], ml_dtypes.bfloat16)
    for x in (a, a.T, a[::-1, :1], a[0, 0], a[0, 0].reshape(1)):
        made = weft.asarray(x)
        assert made.dtype == weft.bf16 and made.tolist() == x.astype("f4").tolist()
    assert weft.text("a + 1", a=a).tolist() == (a + 1).astype("f4").tolist()
    assert weft.max(a).item() == 256
