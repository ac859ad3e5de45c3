"""Distributed arrays from Python: run by mpirun, or alone. Every rank computes the same with ordinary arrays, too, and
compares the bits. The argument is a folder that all ranks see, and a word which of the mistakes below is made."""
import gc
import os
import sys

import numpy
import weft

SHAPE = (13, 10, 16)
GRIDS = (None, (0, 1, 1), (1, 0, 1), (1, 1, 0))
x = numpy.random.default_rng(7).standard_normal(SHAPE).astype("f4")


@weft.kernel
def diffuse(z, y, x, a, out, rate):
    out[z, y, x] = a[z, y, x] + rate * (
        a[z - 1, y, x, "clamp"] + a[z + 1, y, x, "clamp"] + a[z, y - 1, x, "periodic"] + a[z, y + 1, x, "periodic"]
        + a[z, y, x - 1, "mirror"] + a[z, y, x + 1, "mirror"] - 6 * a[z, y, x])


@weft.kernel
def running_sums(y, x, /, a, out):
    out[0, y, x] = a[0, y, x]
    for z in range(1, a.shape[0]):
        out[z, y, x] = out[z - 1, y, x] + a[z, y, x]


def diffused(a, steps):
    b = weft.zeros_like(a)
    for _ in range(steps):
        diffuse(a, b, 0.1)
        a, b = b, a
    return a


def lazily(a):
    with weft.lazy():
        b = weft.sin(a) * 2 + 1
        c = weft.where(b > weft.mean(b), b, a)
    return b, c


def drawn(a):
    """Random numbers in the same blocks as `a`."""
    generator = weft.random.Generator(11)
    ranks, grid = a.ranks, a.dist and a.dist.grid
    yield generator.normal(SHAPE, 1, 2, ranks=ranks, grid=grid)
    yield generator.uniform(SHAPE, -1, 1, "f8", ranks=ranks, grid=grid)
    yield generator.integers(3, 17, SHAPE, ranks=ranks, grid=grid)
    yield generator.poisson(SHAPE, 3.5, ranks=ranks, grid=grid)
    yield generator.bits(SHAPE, ranks=ranks, grid=grid)
    yield generator.lognormal(out=weft.zeros_like(a))


def with_other_axes(a):
    """Results with fewer and with more axes than `a`."""
    times = weft.asarray(numpy.arange(3, dtype="f4").reshape(3, 1, 1, 1))
    with weft.lazy():
        yield weft.sum(a * 2, axis=1)
        yield weft.max(a, axis=(0, 2)) - 1
        yield times * a + 1
    for _ in range(3):
        yield weft.reduce(lambda u: u * u, a, axis=1)
        yield weft.reduce(lambda u: u * u, a, axis=(0, 2), keepdims=True)
        yield weft.reduce(lambda u, v: u * v, a, times, axis=0)
        yield weft.ewise(lambda u, v: u - v, a, times)
        yield weft.text("out = a * t - mean(a)", a=a, t=times)
        yield weft.text("out = t + a[1, 2, 3] + x", a=a, t=times)
    plane = weft.iwise(SHAPE[:2])(lambda z, y: (a[z, y, 3] - a[z, y, 15], z * 10 + y))
    yield from plane
    yield weft.iwise(SHAPE)(lambda z, y, x: plane[0][z, y] * x + a[z, y, x])
    yield weft.iwise(SHAPE[1:])(lambda y, x: y * x)


def sliced(a):
    """Slices, which keep the blocks of `a` where they can, other shapes, and what is made of them."""
    yield a[2:10]
    yield a[::2, 1:, ::-3]
    yield a[3]
    yield a[..., -1]
    yield a[1, 2, 3]
    yield a[:, None, 4]
    yield a.T
    yield a.transpose(1, 0, 2)
    yield a.reshape(-1)
    yield a.reshape(13, 160)
    yield a[:1]
    yield a[0][None].broadcast_to((3, 10, 16))
    yield weft.squeeze(a[:, 2:3])
    yield weft.flip(a, 1)
    yield weft.roll(a, 3, 0)
    yield weft.diff(a, axis=2)
    yield weft.stack([a, a * 2], 1)
    yield weft.concatenate([a, weft.asarray(x), a[4:]])
    yield list(a)[12]
    yield a[[5, 0, 12, 5]]
    yield a[:, [1, 3], [0, -1]]
    yield weft.take(a, [2, 2, 9], 1)
    yield a[2:10] + a[3:11]


def assigned(a):
    """Arrays whose slices are written."""
    b = a.copy()
    b[2:10] = a[3:11]
    b[::3, 1] = 5
    b[-1] += 2
    yield b
    c = a.copy()
    c[1:] = c[:-1]
    c[:, ::-2, 3:5] = numpy.arange(10).reshape(5, 2)
    c[c > 1] = 0
    c[a < -1] = weft.asarray(x[x < -1] * 3)
    c[a > 0.5] = a[a > 0.5] + 1
    c[x > 1.5] += 2
    c[..., 0] = c[..., 1]
    yield c
    c = weft.zeros_like(a)
    c[...] = a[3:4]
    yield c
    c = a.copy()
    c[[12, 0, 5]] = x[:3] * 2
    c[:, [3, 3, 9], [0, 1, 15]] = 7
    c[..., [4, 2]] -= 1
    numpy.add.at(c, ([1, 1, 12], 2), 10)
    yield c


def products(a):
    """Products of matrices and vectors."""
    line, plain = a[0, 0], weft.asarray(x[0].T.copy())
    yield a @ plain
    yield plain @ a
    yield a @ a.transpose(0, 2, 1)
    yield a[0] @ a[1].T
    yield a[0].T @ a[0]
    yield a @ line
    yield a[2] @ line
    yield line @ a[2].T
    yield line @ line
    yield weft.dot(a[0], a[1].T)
    yield weft.outer(line, line)
    yield weft.tensordot(a, a, 2 * [[1, 2]])


def decomposed(a):
    """Small matrices, which need no LAPACK, in blocks of them and in others."""
    m = a[:, 2:5, 1:4] + 9 * weft.asarray(numpy.eye(3, dtype="f4"))
    yield weft.linalg.solve(m)
    yield weft.linalg.solve(m, a[:, 2:5, :1])
    yield weft.linalg.solve(m, weft.asarray(x[0, :3]))
    yield weft.linalg.solve(weft.asarray(numpy.eye(3, dtype="f4") * 2), a[:, :3])
    yield weft.linalg.cholesky(m)
    yield from weft.linalg.eigh(m)


def computed(a):
    """Results by name; `a` may be distributed."""
    yield "diffused", diffused(a, 5)
    yield "lazily", lazily(a)
    yield "ewise", weft.ewise(lambda u: (u * 2, u > 0), a)
    yield "again", weft.ewise(lambda u: (u * 2, u > 0), a)
    yield "text", [weft.text("out = a[z, y, x + 1; clamp] - b * a", a=a, b=0.5) for _ in range(4)]
    yield "sums", (weft.sum(a), weft.mean(a, axis=(0, 1, 2)), weft.max(a), a.std())
    yield "joined", [weft.reduce(lambda u: u * u, a) for _ in range(3)]
    yield "kept", weft.sum(a, axis=1, keepdims=True)
    yield "dropped", weft.sum(a, axis=1)
    yield "drawn", list(drawn(a))
    yield "with other axes", list(with_other_axes(a))
    yield "mean", weft.mean(a, axis=(1, 2))
    yield "spectrum", weft.fft.rfftn(a)
    yield "back", weft.fft.irfftn(weft.fft.rfftn(a), SHAPE)
    yield "smooth", weft.signal.gaussian_filter(a, 1.5)
    yield "lowpass", weft.signal.image_filter(a, lambda *k: weft.signal.lowpass(weft.hypot(*k), 0.2, 0.05))
    yield "sorted", weft.sort(a, axis=0)
    yield "quantiles", [weft.percentile(a, (5, 50, 95), axis=axis) for axis in (None, 0, (1, 2))]
    yield "chosen", [a[a > 0.5], weft.flatnonzero(a > 1), *weft.nonzero(a < -1), a[numpy.asarray(x) > 0]]
    yield "bins", weft.xform.bin(a, 2)
    yield "ufunc", numpy.hypot(a, a + 1)
    yield "beside", a + x + numpy.arange(16, dtype="f4")
    yield "scan", weft.cumsum(a, axis=1)
    yield "f64", a.astype("f8")
    yield "copy", a.copy()
    yield "sliced", list(sliced(a))
    yield "assigned", list(assigned(a))
    yield "products", list(products(a))
    yield "decomposed", list(decomposed(a))


def parts(made):
    return made if isinstance(made, (tuple, list)) else (made,)


def check(name, made, right):
    assert len(parts(made)) == len(parts(right)), name
    for m, r in zip(parts(made), parts(right)):
        m, r = numpy.asarray(m.collect()), numpy.asarray(r)
        assert m.dtype == r.dtype and m.shape == r.shape and m.tobytes() == r.tobytes(), name


def check_blocks(group, grid):
    a = weft.empty(SHAPE, ranks=group, grid=grid)
    assert a.ranks is group and a.dist == weft.Dist(SHAPE, group, grid) and a.dist.size == group.size
    assert a.dist.range(group.rank) == a.block_range
    with a.block() as block:
        assert block.shape == x[a.block_slices].shape and block.ranks is None
        block[...] = x[a.block_slices]
        block += 1  # by kernels of this rank alone
        assert numpy.array_equal(numpy.array(block), x[a.block_slices] + 1)
    assert numpy.array_equal(numpy.asarray(a.collect()), x + 1)
    b = diffused(a, 2)  # fetches elements of neighbours, so the memory of blocks grows
    with a.block() as block:
        block[...] = x[a.block_slices]
    check("after a block", diffused(a, 2), diffused(weft.asarray(x), 2))
    check("redistributed", b.redistribute((1, 0, 1)), b.collect())
    assert b.redistribute(a.dist).dist == a.dist and "block [" in repr(a)
    for z in range(group.size):
        lo, hi = a.dist.range(z)
        assert any(m == n for m, n in zip(lo, hi)) or a.dist.owner(lo) == z


def check_files(group, grid, folder):
    a = weft.empty(SHAPE, ranks=group, grid=grid)
    a[...] = x
    for suffix in ("npy", "mrc", "npy.gz"):
        path, own = f"{folder}/all.{suffix}", f"{folder}/own-{group.rank}.{suffix}"
        weft.save(path, a, spacing=1.5)
        weft.save(own, x, spacing=1.5)
        loaded, meta = weft.load(path, meta=True, ranks=group, grid=grid)
        assert suffix == "npy.gz" or open(path, "rb").read() == open(own, "rb").read()
        assert loaded.dist == (a.dist if grid else weft.Dist(SHAPE, group, (0, 1, 1)))
        assert suffix != "mrc" or meta.spacing == (1.5, 1.5, 1.5)
        check(suffix, loaded, x)
        check(suffix, weft.load(path, ranks=group), x)
        group.barrier()
    try:
        weft.load(f"{folder}/none.npy", ranks=group, grid=grid)
        assert False
    except weft.FileError as e:
        assert "none.npy" in str(e)


def check_mistakes(group):
    a = weft.zeros(SHAPE, ranks=group)
    for wrong in (lambda: numpy.asarray(a), lambda: a.tolist(), lambda: memoryview(a),
                  lambda: a.__setitem__((slice(1, 3), [0, 1]), 1), lambda: numpy.add.at(a, 0, 1)):
        try:
            wrong()
            assert False
        except (weft.ArgumentError, BufferError) as e:
            assert "Array.collect" in str(e)
    singular = weft.zeros((7, 2, 2), ranks=group)
    singular[:5] = numpy.eye(2, dtype="f4")  # the last two are zeros
    try:
        weft.linalg.solve(singular)
        assert False
    except weft.ArgumentError as e:
        assert str(e) == "wf_solve: matrix [5] of `a` is singular", e
    if group.size > 1:
        try:
            weft.zeros(SHAPE, ranks=group, grid=(3 * group.size, 0, 0))
            assert False
        except weft.ArgumentError as e:
            assert f"no grid of {group.size} ranks over 3 axes" in str(e)


def main(folder, mistake):
    group = weft.ranks()
    assert group is weft.ranks() and 0 <= group.rank < group.size and group.host(group.rank)
    if mistake == "size":
        print(f"rank {group.rank} of {group.size}", flush=True)
    elif mistake == "raise":
        if group.rank == group.size - 1:
            raise KeyError("the last rank fails")
        group.barrier()
    elif mistake == "abort":
        if group.rank == 0:
            group.abort(7, "rank 0 ends all")
        group.barrier()
    elif mistake == "wait":
        group.timeout = 0.5
        assert group.timeout == 0.5
        if group.rank == 0:
            group.barrier()
        else:
            import time
            time.sleep(2)
    else:
        for grid in GRIDS:
            a = weft.empty(SHAPE, ranks=group, grid=grid)
            a[...] = x
            with weft.flags(order_by_shape=True):
                for (name, made), (_, right) in zip(computed(a), computed(weft.asarray(x))):
                    check(f"{name}, grid {grid}", made, right)
            sums, right = weft.empty(SHAPE, ranks=group, grid=(1, 0, 0)), numpy.empty(SHAPE, "f4")
            running_sums[SHAPE[1:]](a.redistribute(sums.dist), sums)
            running_sums[SHAPE[1:]](x, right)
            check("a recurrence", sums, right)
            check_blocks(group, grid)
            check_files(group, grid, folder)
        check_mistakes(group)
        if group.rank % 2:  # garbage is not collected everywhere at once
            cycle = [weft.zeros(SHAPE, ranks=group)]
            cycle.append(cycle)
            del cycle, a
            gc.collect()
        else:
            weft.zeros(SHAPE, ranks=group)
        check("at last", weft.ones(SHAPE, ranks=group), numpy.ones(SHAPE, "f4"))
        globals()["left"] = weft.zeros(SHAPE, ranks=group)  # the interpreter ends with an array
        diffused(left, 1)  # noqa: F821
        print(f"checked by rank {group.rank} of {group.size}, {os.path.basename(folder)}", flush=True)


main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
