"""DLPack and addresses."""
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
