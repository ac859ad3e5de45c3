"""Indexing by arrays and masks, against NumPy over random keys."""
import random

import pytest

import weft

numpy = pytest.importorskip("numpy")


def random_key(r, shape, tails=((), (1,), (3,), (2, 1), (2, 3), (0,))):
    """A key of numbers, slices, None, Ellipsis, arrays of integers, and masks, for an array of that shape."""
    parts, axis, tail = [], 0, r.choice(tails)
    open_ = False
    while axis < len(shape) and r.random() < 0.9:
        n, kind = shape[axis], r.randrange(9)
        if kind == 0:
            parts.append(r.randrange(-n, n))
        elif kind == 1:
            parts.append(slice(r.choice([None, r.randrange(-6, 6)]), r.choice([None, r.randrange(-6, 6)]),
                               r.choice([None, 1, 2, -1, -2])))
        elif kind == 2:
            parts.append(None)
            axis -= 1
        elif kind == 3 and not open_:
            parts.append(Ellipsis)
            open_ = True
            axis = len(shape) - r.randrange(len(shape) - axis + 1) - 1
        elif kind == 4:
            many = r.randrange(1, min(2, len(shape) - axis) + 1)
            if many == 2 or tail in ((3,), ()):
                mask = numpy.array([r.random() < 0.5 for _ in range(int(numpy.prod(shape[axis:axis + many])))])
                parts.append(mask.reshape(shape[axis:axis + many]))
                axis += many - 1
            else:
                parts.append(r.randrange(-n, n))
        elif kind == 5:
            parts.append([r.randrange(-n, n) for _ in range(tail[-1])] if tail else [0])
        else:
            numbers = numpy.array([r.randrange(-n, n) for _ in range(int(numpy.prod(tail)))],
                                  r.choice(["i8", "i4", "i2"]))
            parts.append(numbers.reshape(tail))
        axis += 1
    return tuple(parts) if len(parts) != 1 or r.random() < 0.5 else parts[0]


def of_weft(key, r):
    """The same key with weft's arrays in place of some of NumPy's."""
    def part(p):
        return weft.asarray(p) if isinstance(p, numpy.ndarray) and r.random() < 0.5 else p
    return tuple(map(part, key)) if isinstance(key, tuple) else part(key)


@pytest.mark.parametrize("seed", range(20))
def test_random_keys_read_as_numpy(seed):
    r = random.Random(seed)
    wide = 0
    for _ in range(60):
        shape = tuple(r.randrange(1, 6) for _ in range(r.randrange(1, 5)))
        a = numpy.arange(int(numpy.prod(shape))).reshape(shape).astype(r.choice(["i8", "f4", "u1", "c8"]))
        key = random_key(r, shape)
        x = weft.asarray(a)
        try:
            expected = a[key]
        except IndexError:
            with pytest.raises(IndexError):
                x[of_weft(key, r)]
            continue
        wide += 1
        got = x[of_weft(key, r)]
        assert got.shape == expected.shape, (shape, key)
        assert (numpy.asarray(got) == expected).all() and numpy.asarray(got).dtype == expected.dtype, (shape, key)
    assert wide > 30


@pytest.mark.parametrize("seed", range(20))
def test_random_keys_write_as_numpy(seed):
    r = random.Random(1000 + seed)
    written = 0
    for _ in range(60):
        shape = tuple(r.randrange(1, 6) for _ in range(r.randrange(1, 4)))
        a = numpy.zeros(shape, r.choice(["i8", "f4", "f8"]))
        key = random_key(r, shape)
        try:
            part = a[key]
        except IndexError:
            with pytest.raises(IndexError):
                weft.asarray(a)[of_weft(key, r)] = 1
            continue
        value = r.choice([7, numpy.arange(1, part.size + 1).reshape(part.shape)])
        x = weft.asarray(a.copy())
        x[of_weft(key, r)] = value
        a[key] = value  # where places are named twice the last one stays, in both
        assert (numpy.asarray(x) == a).all(), (shape, key, value)
        written += bool(part.size)
    assert written > 20


@pytest.mark.parametrize("seed", range(12))
def test_large_random_keys(seed):
    """Many elements, which kernels gather, and long and short runs of all sizes of elements and strides."""
    r = random.Random(2000 + seed)
    for _ in range(12):
        shape = tuple(r.choice([1, 2, 7, 40, 90]) for _ in range(r.randrange(1, 4)))
        a = numpy.arange(int(numpy.prod(shape))).reshape(shape).astype(r.choice(["i8", "f4", "u1", "i2", "c16"]))
        a = a.transpose(r.sample(range(a.ndim), a.ndim))[tuple(slice(None, None, r.choice([1, -1])) for _ in shape)]
        key = random_key(r, a.shape, [(300,), (40, 1), (1, 50), (20, 30)])
        x = weft.asarray(a)
        try:
            expected = a[key]
        except IndexError:
            with pytest.raises(IndexError):
                x[of_weft(key, r)]
            continue
        assert numpy.array_equal(numpy.asarray(x[of_weft(key, r)]), expected), (shape, key)
        value = r.choice([numpy.arange(expected.size).reshape(expected.shape).astype(a.dtype), 3,
                          expected[:1] + 1 if numpy.ndim(expected) else 4])
        copy, mine = a.copy(), weft.asarray(a.copy())
        copy[key] = value
        mine[of_weft(key, r)] = value
        assert numpy.array_equal(numpy.asarray(mine), copy), (shape, key)
        copy[key] += 2
        mine[of_weft(key, r)] += 2
        assert numpy.array_equal(numpy.asarray(mine), copy), (shape, key)


@pytest.mark.parametrize("seed", range(10))
def test_ufunc_at_joins_values_of_equal_places(seed):
    r = random.Random(3000 + seed)
    done = 0
    for _ in range(20):
        shape = tuple(r.randrange(1, 6) for _ in range(r.randrange(1, 4)))
        a = numpy.arange(int(numpy.prod(shape))).reshape(shape).astype(r.choice(["i8", "f4", "f8", "i4"]))
        key = random_key(r, shape)
        try:
            part = a[key]
        except IndexError:
            continue
        ufunc = r.choice([numpy.add, numpy.subtract, numpy.maximum, numpy.minimum, numpy.multiply])
        value = r.choice([3, (numpy.arange(part.size) % 5 + 1).reshape(part.shape).astype(a.dtype)])
        x = weft.asarray(a.copy())
        ufunc.at(a, key, value)
        ufunc.at(x, of_weft(key, r), value)
        assert numpy.array_equal(numpy.asarray(x), a), (shape, key, ufunc)
        done += 1
    assert done > 10


def test_ufunc_at_of_others():
    counts = numpy.zeros(4, int)
    numpy.add.at(counts, numpy.array([0, 2, 2, 3, 3, 3]), weft.asarray([1, 1, 1, 1, 1, 1]))
    assert counts.tolist() == [1, 0, 2, 3]
    x = weft.asarray([6, 5], "i4")
    numpy.bitwise_and.at(x, [0, 0], [3, 2])
    assert x.tolist() == [2, 5]
    x = weft.asarray(numpy.array([10, 10, 10]))
    numpy.subtract.at(x, [0, 0, 1], numpy.array([3, 4, 200], "u1"))
    numpy.subtract.at(x, [2], numpy.array([-128], "i1"))
    assert x.tolist() == [3, -190, 138]
    x = weft.asarray([6, 5], "i4")
    with pytest.raises(TypeError):
        numpy.hypot.at(weft.zeros(3), [0], 1.0)
    with pytest.raises(TypeError):
        numpy.negative.at(weft.zeros(3), [0])
    with pytest.raises(IndexError):
        numpy.add.at(x, [2], 1)
    fixed = numpy.zeros(3)
    fixed.flags.writeable = False
    with pytest.raises(ValueError):
        numpy.add.at(weft.asarray(fixed), [0], 1)


def test_the_last_of_equal_indices_stays():
    x = weft.zeros(4)
    x[[1, 2, 1, 1]] = [5, 6, 7, 8]
    assert x.tolist() == [0, 8, 6, 0]
    y = weft.zeros((3, 2))
    y[[2, 2], :] = [[1, 2], [3, 4]]
    assert y.tolist() == [[0, 0], [0, 0], [3, 4]]
    with weft.debug():  # two points that write one element are an error here
        x[[1, 2, 1, 1]] = [5, 6, 7, 9]
        x[weft.asarray([True, False, True, False])] = [1, 2]
    assert x.tolist() == [1, 9, 2, 0]


def test_masks():
    a = numpy.arange(12.0).reshape(3, 4)
    x = weft.asarray(a.copy())
    assert x[x > 5].tolist() == a[a > 5].tolist()
    x[x > 5] = -1
    assert x.tolist() == numpy.where(a > 5, -1, a).tolist()
    x[x < 0] *= 2
    assert x.tolist() == numpy.where(a > 5, -2, a).tolist()
    x[[True, False, True]] = [[1], [2]]
    assert x[0].tolist() == [1] * 4 and x[2].tolist() == [2] * 4
    assert x[True].shape == (1, 3, 4) and x[False].shape == (0, 3, 4)


def test_masks_beside_arrays_in_reversed_views():
    a = numpy.arange(60.0).reshape(3, 4, 5)
    mask = numpy.array([True, False, True])
    back, x = a[::-1, ::-1, ::-1], weft.asarray(a.copy())[::-1, ::-1, ::-1]
    assert x[mask, [1, 2]].tolist() == back[mask, [1, 2]].tolist()
    assert x[mask, :, [0, 4]].tolist() == back[mask, :, [0, 4]].tolist()
    assert x[[2, 0], :, numpy.array([1, 0, 0, 1, 0], bool)].tolist() == back[[2, 0], :, [0, 3]].tolist()
    x[mask, [1, 2]] = -1
    back[mask, [1, 2]] = -1
    assert x.tolist() == back.tolist()


def test_mistakes_in_keys():
    x = weft.zeros((3, 4))
    for key in ([3], [-4], ([0], [4]), ([0, 1], [0, 1, 2]), [0.5], [True, False], ([0], [0], [0]), "a", 1.5,
                numpy.zeros((3, 3), bool), ([0], Ellipsis, Ellipsis), ([0], 1 << 70), ([1 << 62], [0]),
                ([3], numpy.zeros(0, int)), (numpy.array([0, -4]), numpy.zeros((3, 1, 2), int)[:0])):
        with pytest.raises(IndexError):
            x[key]
        with pytest.raises(IndexError):
            x[key] = 0
    with pytest.raises(ValueError):
        x[[0, 1]] = [[1, 2, 3]]
    with pytest.raises(TypeError):
        x[[0, 1]] = 1j
    fixed = numpy.zeros(3)
    fixed.flags.writeable = False
    for key in ([0], [True, False, False]):
        with pytest.raises(ValueError):
            weft.asarray(fixed)[key] = 1


def test_values_that_share_memory_with_the_array():
    x = weft.asarray(numpy.arange(6.0))
    x[[0, 1, 2]] = x[3:]
    x[[5, 4, 3]] = x[:3]
    assert x.tolist() == [3, 4, 5, 5, 4, 3]


@pytest.mark.parametrize("shape", [(7,), (5, 3), (4, 2, 3), (2, 2, 2, 2)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "c8", "?"])
def test_rows_by_one_array(shape, dtype):
    a = (numpy.random.default_rng(1).random(shape) * 100).astype(dtype)
    x = weft.asarray(a)
    indices = [numpy.array([0, -1, 1, 1]), numpy.array([1], "u1"), numpy.array([0, 1], "i2"), numpy.array([1], "u8"),
               numpy.array([], int), numpy.array([[0, 1]]), [1, 0], numpy.array([True] + [False] * (shape[0] - 1))]
    for index in indices:
        for given in (index, weft.asarray(index)) if isinstance(index, numpy.ndarray) else (index,):
            made = x[given]
            assert made.shape == a[index].shape and (numpy.asarray(made) == a[index]).all()
    for wrong in (shape[0], -shape[0] - 1):
        with pytest.raises(IndexError):
            x[numpy.array([0, wrong])]


def test_the_whole_key_is_checked_before_a_write():
    x = weft.zeros((3, 3))
    with pytest.raises(IndexError):
        x[[0, 1, 3]] = 5
    with pytest.raises(IndexError):
        x[[0, 1], [0, -4]] = 5
    assert not numpy.asarray(x).any()


def test_indexing_takes_arrays_of_emulated_gpus():
    if not weft.device_count("cuda-emu"):
        pytest.skip("the emulated GPU is not there")
    a = numpy.arange(20.0).reshape(4, 5)
    x = weft.asarray(a, device="cuda-emu")
    assert x[[1, 3], :].numpy().tolist() == a[[1, 3]].tolist()
    assert x[[1, 3], [0, 4]].device == "cuda-emu"
    for made, want in ((weft.take(x, [0, 2, 0], 1), numpy.take(a, [0, 2, 0], 1)),
                       (weft.take_along_axis(x, numpy.argsort(a, 1), 1), numpy.sort(a, 1)),
                       (weft.pad(x, ((1, 2), (0, 3)), "reflect"), numpy.pad(a, ((1, 2), (0, 3)), "reflect")),
                       (weft.einsum("ii->i", x[:3, :3]), numpy.einsum("ii->i", a[:3, :3]))):
        assert made.device == "cuda-emu" and made.to_device("cpu").tolist() == want.tolist()
    x[[0, 0], [1, 1]] = [5, 6]
    assert x.numpy()[0, 1] == 6


def test_writes_on_a_tape_have_a_derivative():
    x, v, at = weft.zeros(4), weft.asarray([1.0, 2.0]), numpy.array([3, 1])
    with weft.tape(v) as tape:
        y = v * 3
        x[at] = y
        loss = (x * weft.asarray([1.0, 10.0, 100.0, 1000.0])).sum()
    assert tape.grad(loss, v).tolist() == [3000, 30]


def test_rows_by_one_array_in_other_places():
    x = weft.asarray([1.0, 2.0, 3.0])
    at = numpy.array([0, 0, 2])
    with weft.tape(x) as tape:
        loss = (x[at] * weft.asarray([1.0, 2.0, 3.0])).sum()
    assert tape.grad(loss, x).tolist() == [3, 0, 3]
    with weft.lazy():
        y = (x * 2)[at]
    assert y.tolist() == [2, 2, 6]

    @weft.kernel
    def while_tracing(i, out):
        out[i] = x[at][2].item()

    out = numpy.zeros(2)
    while_tracing(out)
    assert out.tolist() == [3, 3] and x[::-1][at].tolist() == [3, 3, 1]
