"""Distributed arrays over a group of one process; tests/mpi/program.py is run by several."""
import gc
import os
import pickle
import subprocess
import sys

import pytest

import weft

numpy = pytest.importorskip("numpy")
if weft._weft._launched() > 1:
    pytest.skip("a launcher of MPI has started several ranks", allow_module_level=True)
SHAPE = (6, 5, 4)
x = numpy.arange(120, dtype="f4").reshape(SHAPE)


@pytest.fixture
def group():
    return weft.ranks()


@pytest.fixture
def a(group):
    made = weft.empty(SHAPE, ranks=group)
    made[...] = x
    return made


def same(made, right):
    made, right = numpy.asarray(made.collect()), numpy.asarray(right)
    assert made.dtype == right.dtype and made.shape == right.shape and made.tobytes() == right.tobytes()


def test_groups(group):
    assert weft.ranks() is group and (group.rank, group.size) == (0, 1) and group.library and group.host(0)
    assert group.barrier() is None and "rank 0 of 1" in repr(group)
    before, group.timeout = group.timeout, 2
    assert group.timeout == 2
    group.timeout = before
    for seconds in (-1, float("nan")):
        with pytest.raises(weft.ArgumentError, match="timeout: .* is no number of seconds"):
            group.timeout = seconds
    with pytest.raises(TypeError):
        group.timeout = "a"
    with pytest.raises(AttributeError):
        del group.timeout
    with pytest.raises(AttributeError):
        group.rank = 1
    for rank in (-1, 1):
        with pytest.raises(IndexError, match=f"Ranks.host: there is no rank {rank} among 1"):
            group.host(rank)
    with pytest.raises(TypeError):
        weft.Ranks()
    with pytest.raises(TypeError, match="communicator of mpi4py"):
        weft.ranks("world")
    with pytest.raises(weft.ArgumentError, match="no address"):
        weft.ranks(0)


def test_distributions(group):
    d = weft.Dist((10, 7), 6, (2, 0))
    assert (d.shape, d.grid, d.unit, d.size) == ((10, 7), (2, 3), (1, 1), 6) and d == weft.Dist((10, 7), 6, (2, 3))
    assert d != weft.Dist((10, 7), 6, (3, 2)) and d != 3 and repr(d) == "weft.Dist((10, 7), 6, (2, 3))"
    assert d.range(5) == ((5, 5), (10, 7)) and d.owner((5, 6)) == 5 and d.owner((0, 0)) == 0
    covered = numpy.zeros((10, 7), int)
    for rank in range(6):
        lo, hi = d.range(rank)
        covered[lo[0]:hi[0], lo[1]:hi[1]] += 1
    assert (covered == 1).all()
    d = weft.Dist((10, 8), 2, (1, 0), unit=(1, 3))
    assert d.range(0) == ((0, 0), (10, 6)) and "unit=(1, 3)" in repr(d)
    assert weft.Dist((64, 64), 4, halo=(0, 1)).grid == (4, 1) and weft.Dist(9, group, 1).range(0) == ((0,), (9,))
    for wrong, error, text in (
        (lambda: weft.Dist((10, 7), 6, (4, 0)), weft.ArgumentError, r"no grid of 6 ranks over 2 axes .*\(4, 0\)"),
        (lambda: weft.Dist((10, 7), 6, (2, 3, 1)), weft.ArgumentError, r"grid \(2, 3, 1\) has 3 numbers .* 2 axes"),
        (lambda: weft.Dist((10, 7), 6, (-1, 0)), weft.ArgumentError, r"grid \(-1, 0\) has a number that is negative"),
        (lambda: weft.Dist((10, 7), 6, (1 << 40, 0)), weft.ArgumentError, "too large"),
        (lambda: weft.Dist((10, 7), 6, "ab"), TypeError, "integer"), (lambda: weft.Dist((10, 7), 6, 2.5), TypeError, "grid"),
        (lambda: weft.Dist((10, 7), 0), weft.ArgumentError, "ranks is 0"),
        (lambda: weft.Dist((10, 7), "a"), TypeError, "ranks is a group"),
        (lambda: weft.Dist((), 2), weft.ArgumentError, "no grid of 2 ranks over 0 axes"),
        (lambda: d.range(2), IndexError, "no rank 2 among 2"), (lambda: d.range("a"), TypeError, "integer"),
        (lambda: d.owner((10, 0)), IndexError, r"\(10, 0\) is no index of"), (lambda: hash(d), TypeError, "unhashable"),
    ):
        with pytest.raises(error, match=text):
            wrong()


def test_making_arrays(group, a):
    assert a.ranks is group and a.dist == weft.Dist(SHAPE, 1) and a.block_range == ((0, 0, 0), SHAPE)
    assert x[a.block_slices].shape == SHAPE and a.dtype == weft.f32 and a.device == "cpu" and not a.is_lazy
    assert repr(a) == str(a) and "grid (1, 1, 1), block [0:6, 0:5, 0:4] of <weft.Ranks: rank 0 of 1" in repr(a)
    same(a, x)
    same(weft.zeros(SHAPE, "i2", ranks=group), numpy.zeros(SHAPE, "i2"))
    same(weft.ones(7, ranks=group, grid=1), numpy.ones(7, "f4"))
    same(weft.full((2, 3), 2.5, ranks=group, grid=weft.Dist((9, 9), 1)), numpy.full((2, 3), 2.5))
    same(weft.zeros_like(a), x * 0)
    same(weft.ones_like(a, "f8"), numpy.ones(SHAPE))
    assert weft.zeros_like(a).dist == a.dist and weft.empty((), ranks=group).dist.grid == ()
    plain = weft.asarray(x)
    assert plain.ranks is None and plain.dist is None and plain.collect() is plain
    for wrong, error, text in (
        (lambda: weft.empty(SHAPE, ranks=3), TypeError, r"weft.empty\(\): ranks is a group, such as weft.ranks\(\), not 3"),
        (lambda: weft.empty(SHAPE, grid=(1, 1, 1)), weft.ArgumentError, r"grid \(1, 1, 1\) needs the argument 'ranks'"),
        (lambda: weft.empty(SHAPE, ranks=group, grid=(1, 1)), weft.ArgumentError, r"grid \(1, 1\) has 2 numbers"),
        (lambda: weft.empty(SHAPE, ranks=group, grid=(2, 1, 1)), weft.ArgumentError, r"no grid of 1 ranks .*\(2, 1, 1\)"),
        (lambda: weft.empty(SHAPE, ranks=group, grid=weft.Dist(SHAPE, 2)), weft.ArgumentError, "grid is weft.Dist"),
        (lambda: weft.empty(SHAPE, ranks=group, grid=weft.Dist(9, 1)), weft.ArgumentError, "grid is weft.Dist"),
        (lambda: weft.empty(SHAPE, "f4", "cuda:0", ranks=group), weft.DeviceError, "'cuda:0'"),
        (lambda: plain.block_range, weft.ArgumentError, "Array.block_range: the array is not distributed"),
        (lambda: plain.block_slices, weft.ArgumentError, "not distributed"),
        (lambda: plain.redistribute(), weft.ArgumentError, "Array.redistribute: the array is not distributed"),
        (lambda: plain.block().__enter__(), weft.ArgumentError, "Array.block: the array is not distributed"),
        (lambda: a.redistribute((1, 2, 1)), weft.ArgumentError, r"Array.redistribute\(\): no grid of 1 ranks"),
        (lambda: weft.load("none.npy", grid=1), weft.ArgumentError, r"weft.load\(\): grid 1 needs"),
        (lambda: weft.load("none.npy", ranks=group, grid=1), weft.FileError, "none.npy"),
        (lambda: weft.load("none.npy", ranks=1), TypeError, "ranks is a group"),
    ):
        with pytest.raises(error, match=text):
            wrong()


def test_blocks(a):
    with a.block() as block:
        assert block.shape == SHAPE and block.dist is None and numpy.array_equal(numpy.array(block), x)
        block[...] = x + 1
        block[0] *= 2
        half = block[:, :2] + 1
    expected = x + 1
    expected[0] *= 2
    same(a, expected)
    assert numpy.array_equal(half, expected[:, :2] + 1)
    ended = "the block of a distributed array that has ended"
    for use in (lambda: block + 1, lambda: block[0], lambda: numpy.asarray(block),
                lambda: block.tolist(), lambda: weft.sum(block), lambda: block.dist, lambda: block.astype("f8"),
                lambda: weft.ewise(lambda u: u, block), lambda: weft.text("a + 1", a=block), lambda: block.copy(),
                lambda: weft.from_dlpack(block), lambda: block.block().__enter__(), lambda: weft.eval(block).x,
                lambda: block.fill(1)):
        with pytest.raises((weft.ArgumentError, AttributeError, BufferError), match=f"{ended}|'NoneType'"):
            use()
    assert not block.is_lazy and len(block) == 0 and repr(block) == "<weft.Array: a block that has ended>"
    with a.block() as one, a.block() as two:  # two views
        two[0] = 5
        assert one[0, 0, 0].item() == 5
        with pytest.raises(weft.ArgumentError, match="no view of the array's block"):
            weft._weft._block_end(weft.asarray(x), one)


def test_blocks_that_are_in_use(a):
    with pytest.raises(weft.ArgumentError, match="still in use at its end"):
        with a.block() as block:
            kept = numpy.asarray(block)
    assert (kept == x).all()  # the memory stays
    kept[...] = 3
    del kept, block
    assert weft.sum(a).item() == 3 * x.size
    with pytest.raises(ZeroDivisionError):
        with a.block() as block:
            kept = numpy.asarray(block)
            1 / 0
    assert (kept == 3).all()
    del a
    gc.collect()
    assert (kept == 3).all()


def test_results(group, a):
    @weft.kernel
    def around(z, y, x, a, out):
        out[z, y, x] = a[z, y, x - 1, "periodic"] + a[z - 1, y, x, "clamp"] + a[z, y + 1, x, "mirror"]

    plain = weft.asarray(x)
    out, right = weft.zeros_like(a), weft.zeros_like(plain)
    around(a, out)
    around(plain, right)
    same(out, right)
    with weft.lazy():
        b = a * 2 + 1
        assert b.is_lazy and "lazy" in repr(b)
        c = weft.sqrt(b)
    same(c, weft.sqrt(plain * 2 + 1))
    assert c.ranks is group
    for _ in range(4):
        for made, right in ((weft.ewise(lambda u: u * 2, a), x * 2), (weft.text("a + b", a=a, b=1.5), x + 1.5),
                            (weft.ewise(lambda u, v: u + v, x, a), x + x), (numpy.negative(a), -x)):
            assert made.ranks is group
            same(made, right.astype("f4"))
    same(weft.fft.rfftn(a), weft.fft.rfftn(plain))
    same(weft.signal.gaussian_filter(a, 1.0), weft.signal.gaussian_filter(plain, 1.0))
    same(weft.signal.image_filter(a, lambda *k: k[0] + 1.0), weft.signal.image_filter(plain, lambda *k: k[0] + 1.0))
    same(a.redistribute((1, 1, 0)), x)
    same(a.copy(), x)
    assert a.sum().item() == x.sum() and float(weft.text("sum(a)", a=a)) == x.sum() and weft.max(a).item() == 119
    assert weft.reduce(lambda u: u, a, join="max").item() == 119 and a.astype("i4").ranks is group
    assert numpy.asarray(weft.sum(a, keepdims=True)).tolist() == [[[x.sum()]]]
    with weft.lazy():
        share = a / weft.sum(a, keepdims=True)
    same(share, x / x.sum())


KEYS = (
    0, -1, slice(2, 5), slice(None, None, 2), slice(None, None, -1), slice(4, 1, -2), slice(3, 3), (1, 2), (1, 2, 3),
    (slice(None), 3), (..., -2), (None, 1), (slice(1, 4), None, ..., slice(None, None, 3)), (..., None), (2, ..., None, 0),
)


@pytest.mark.parametrize("key", KEYS)
def test_slices(a, key):
    part = a[key]
    same(part, x[key])
    assert part.ranks is (a.ranks if part.ndim else None)
    expected = x.copy()
    for value in (7, x[key] * 2, weft.asarray(x[key]), part * 3, numpy.float64(2.5)):
        a[key] = value
        expected[key] = value.collect() if isinstance(value, weft.Array) else value
        same(a, expected)
    a[key] += 1
    expected[key] += 1
    same(a, expected)


def test_whole_arrays_are_assigned(a):
    for value, right in ((a[0, :1] * 2, x[0, :1] * 2), (a * 3, x * 3), (3, 3), (x[0], x[0]), (a[:, None, 2], x[:, None, 2])):
        a[...] = x
        a[...] = value
        expected = x.copy()
        expected[...] = right
        same(a, expected)
    a[...] = a
    same(a, expected)


def test_slices_are_copies(a):
    part = a[1:3]
    part[...] = 0
    same(a, x)
    whole = a[...]
    whole[0] = 5  # the array itself
    assert a[0, 0, 0].item() == 5


def test_other_shapes(a):
    same(a.T, x.T)
    same(a.transpose(1, 2, 0), x.transpose(1, 2, 0))
    for shape in ((-1,), (30, 4), (6, 20), (5, 6, 4), (1, 6, 5, 1, 4), (2, 60)):
        same(a.reshape(shape), x.reshape(shape))
    same(a[:, :1].broadcast_to((6, 5, 4)), numpy.broadcast_to(x[:, :1], SHAPE))
    same(a.broadcast_to((2, 6, 5, 4)), numpy.broadcast_to(x, (2,) + SHAPE))
    for row, right in zip(a, x):
        same(row, right)
    same(a[[3, 1]], x[[3, 1]])
    same(weft.concatenate([a, x, a[1:]], 0), numpy.concatenate([x, x, x[1:]]))
    for wrong, error, text in (
        (lambda: a[6], weft.BoundsError, "index 6 is out of range for axis 0 of extent 6"),
        (lambda: a[0, 0, 0, 0], weft.BoundsError, "4 indices for an array of 3 axes"),
        (lambda: a[..., ...], weft.BoundsError, "at most one Ellipsis"),
        (lambda: a.reshape(7, -1), weft.ShapeError, "7"),
        (lambda: a.reshape(121), weft.ShapeError, "does not have the elements"),
        (lambda: a.broadcast_to((7, 5, 4)), weft.ShapeError, r"does not broadcast to \(7, 5, 4\)"),
        (lambda: a.transpose(0, 0, 1), weft.ArgumentError, "each of the 3 axes once"),
        (lambda: a.__setitem__(0, x[:2]), weft.ShapeError, "does not broadcast"),
        (lambda: a.__setitem__((0, 0), 1j), weft.DtypeError, "complex"),
        (lambda: a[(None,) * 6], weft.ShapeError, "at most 8 axes"),
    ):
        with pytest.raises(error, match=text):
            wrong()


def test_products(a):
    m = x[0].T @ x[1]
    same(a[0].T @ a[1], weft.asarray(x[0].T) @ weft.asarray(x[1]))
    assert numpy.array_equal(numpy.asarray((a[0].T @ a[1]).collect()), m)
    same(a @ weft.asarray(x[0].T), weft.asarray(x) @ weft.asarray(x[0].T))
    same(a @ a[0, 0], weft.asarray(x) @ weft.asarray(x[0, 0]))
    same(a[0, 0] @ a[0, 1], weft.asarray(x[0, 0]) @ weft.asarray(x[0, 1]))
    assert (a @ weft.asarray(x[0].T)).ranks is a.ranks


def test_decompositions(a):
    m, b = x[:, :4] + 200 * numpy.eye(4, dtype="f4"), x[:, 1:, :2]
    matrices = a[:, :4] + weft.asarray(200 * numpy.eye(4, dtype="f4"))
    same(weft.linalg.solve(matrices), weft.linalg.solve(weft.asarray(m)))
    same(weft.linalg.solve(matrices, a[:, 1:, :2]), weft.linalg.solve(weft.asarray(m), weft.asarray(b)))
    same(weft.linalg.solve(weft.asarray(m), a[0, :4]), weft.linalg.solve(weft.asarray(m), weft.asarray(x[0, :4])))
    same(weft.linalg.cholesky(matrices), weft.linalg.cholesky(weft.asarray(m)))
    for made, right in zip(weft.linalg.eigh(matrices), weft.linalg.eigh(weft.asarray(m))):
        same(made, right)
        assert made.ranks is a.ranks
    matrices[4] = 0
    with pytest.raises(weft.ArgumentError, match=r"wf_solve: matrix \[4\] of `a` is singular"):
        weft.linalg.solve(matrices)


def test_masks(a):
    same(a[a > 1], weft.asarray(x[x > 1]))
    same(a[weft.asarray(x > 1)], weft.asarray(x[x > 1]))
    same(weft.asarray(x)[a > 1], weft.asarray(x[x > 1]))
    assert a[a > 1].ranks is a.ranks and a[a > 1e9].shape == (0,)
    for axis, places in enumerate(numpy.nonzero(x > 1)):
        same(weft.nonzero(a > 1)[axis], weft.asarray(places))


@pytest.mark.parametrize("of_mask", [lambda a: a > 50, lambda a: weft.asarray(x > 50), lambda a: x > 50])
def test_values_for_masks(a, of_mask):
    count = int((x > 50).sum())
    for value in (7, numpy.arange(count), numpy.arange(count, dtype="i2")[None], weft.asarray(x)[x > 50] * 2, a[a > 50] / 3):
        b, want = a.copy(), x.copy()
        b[of_mask(a)] = value
        want[x > 50] = numpy.asarray(value.collect() if isinstance(value, weft.Array) else value).reshape(-1)
        same(b, want)
    b, want = a.copy(), x.copy()
    b[of_mask(a)] += 2
    want[x > 50] += 2
    same(b, want)
    plain = weft.asarray(x.copy())
    plain[a > 50] = a[a > 50] + 1
    assert numpy.array_equal(plain, numpy.where(x > 50, x + 1, x))
    for wrong, error, text in (
        (numpy.arange(3), weft.ShapeError, f"3 values for the {count} elements where the mask holds"),
        (x, weft.ShapeError, "`values` has 3 axes, not one"), (1j, weft.DtypeError, "complex numbers cannot be stored"),
    ):
        with pytest.raises(error, match=text):
            a[of_mask(a)] = wrong
    same(a, x)


@pytest.mark.parametrize("key", [
    ([4, 0],), (slice(None), [3, 1]), (..., [0, 2, 3]), ([1, 5], [0, 4]), ([1, 5], slice(None), [3, 0]), (2, [0, 1]),
    ([[1], [3]], [0, 2, 4]), ([-1, 0],), ([1, 1, 3],), (numpy.array([True, False, True] * 2),),
])
def test_values_at_indices(a, key):
    for value in (7, x[key] * 2 + 1, weft.asarray(x[key] - 3)):
        b, want = a.copy(), x.copy()
        b[key] = value
        want[key] = numpy.asarray(value)
        same(b, want)
        numpy.add.at(b, key, value)
        numpy.add.at(want, key, numpy.asarray(value))
        same(b, want)
        b[key] *= 2
        want[key] *= 2
        same(b, want)


@pytest.mark.parametrize("use", [
    numpy.asarray, memoryview, pickle.dumps, lambda a: a.tolist(), lambda a: a.tobytes(),
    lambda a: a.numpy(), lambda a: a.strides, lambda a: weft.cumsum(a), lambda a: weft.png(a[0]),
    lambda a: numpy.fft.fft(a), lambda a: a.__setitem__(([0, 1], slice(1, 3)), 1), lambda a: a.__setitem__((None, [0, 1]), 1),
    lambda a: a.__setitem__(weft.zeros(2, "i4", ranks=a.ranks), 1), lambda a: numpy.add.at(a, 0, 1),
])
def test_what_needs_all_elements(a, use):
    with pytest.raises((weft.ArgumentError, BufferError), match="Array.collect"):
        use(a)
    same(a, x)


@pytest.mark.parametrize("suffix", ["npy", "mrc", "npy.gz", "tif"])
def test_files(tmp_path, group, a, suffix):
    path, alone = tmp_path / f"a.{suffix}", tmp_path / f"alone.{suffix}"
    try:
        weft.save(alone, x, spacing=2.0)
    except weft.UnsupportedError:
        pytest.skip("no library for this format")
    weft.save(path, a, spacing=2.0)
    assert path.read_bytes() == alone.read_bytes() or suffix == "npy.gz"
    for grid in (None, (1, 1, 1), a.dist):
        made, meta = weft.load(path, meta=True, ranks=group, grid=grid)
        same(made, x)
        assert made.ranks is group and meta.stored == "f32"


def test_fork_and_exit(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import os, sys, weft
group = weft.ranks()
a = weft.ones((8, 8), ranks=group)
b = [a + 1]
b.append(b)  # garbage at the end
child = os.fork()
if child == 0:
    try:
        group.barrier()
    except weft.ContractError as e:
        sys.exit("was forked" not in str(e))
    sys.exit(2)
assert os.waitpid(child, 0)[1] == 0
if len(sys.argv) > 1:
    group.abort(5, "no more")
block = a.block().__enter__()
print(weft.sum(a).item())
""")
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(weft.__file__))}

    def run(*arguments):
        # builds without a code generator warn of that
        return subprocess.run([sys.executable, "-W", "ignore::RuntimeWarning", str(program), *arguments], env=environment,
                              capture_output=True, text=True)

    ran = run()
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "64.0\n", "")
    ran = run("abort")
    assert (ran.returncode, ran.stderr) == (5, "no more\n")


def test_references(group):
    gc.collect()  # what other tests have left
    before = sys.getrefcount(group), sys.getrefcount(weft.Dist), sys.getrefcount(weft.Array)
    for _ in range(50):
        a = weft.zeros((4, 4), ranks=group)
        a.ranks, a.dist.range(0), a.block_range, a.block_slices, repr(a), a.collect(), a.redistribute((1, 1))
        with a.block() as block:
            numpy.array(block)
        for wrong in (lambda: a[0], lambda: weft.empty(3, ranks=group, grid=5), lambda: weft.load("none", ranks=group, grid=1)):
            try:
                wrong()
            except (weft.Error, OSError):
                pass
    del a, block, wrong
    gc.collect()
    after = sys.getrefcount(group), sys.getrefcount(weft.Dist), sys.getrefcount(weft.Array)
    assert after == before
