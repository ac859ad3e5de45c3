"""The rows of weft-bench-gpu for any array library: inputs, expected results and calls (gpu_peer.py)."""
import functools

PERIOD, BINS, LIMIT, K = 251, 128, 256, 11


class Sizes:
    """The inputs of the rows of weft-bench-gpu, as constant arrays of the host."""

    def __init__(self, side):
        import numpy as np
        self.np, self.side, self.n = np, side, side * side
        self.keys = min(self.n, 100_000_000)
        self.records = 16
        while 2 * self.records <= self.n // 16:
            self.records *= 2
        self.conv = min(side, 8192)
        self.loop = min(side, 4096)
        self.sorted = 1
        while 2 * self.sorted <= self.n and self.sorted < 1 << 27:
            self.sorted *= 2

    @functools.lru_cache(2)
    def numbers(self, n):
        np = self.np
        return np.resize(np.arange(PERIOD, dtype=np.float32), n)

    @functools.lru_cache(2)
    def random(self, n, salt):
        np = self.np
        h = np.arange(n, dtype=np.uint32) + np.uint32(salt)
        h = (h ^ h >> np.uint32(16)) * np.uint32(0x85ebca6b)
        h = (h ^ h >> np.uint32(13)) * np.uint32(0xc2b2ae35)
        return h ^ h >> np.uint32(16)

    @functools.lru_cache(2)
    def points(self):
        np = self.np
        return (self.random(self.n, 0) >> np.uint32(11)).astype(np.float32) * np.float32(2.0 ** -20) - np.float32(1)

    def bins(self, points):
        return ((points + self.np.float32(1)) * self.np.float32(0.5 * BINS)).astype(self.np.int32)

    @functools.lru_cache(1)
    def keys_of(self, m):
        np = self.np
        return (self.random(self.keys, 1).astype(np.uint64) * np.uint64(m) >> np.uint64(32)).astype(np.int32)

    @functools.lru_cache(2)
    def signs(self):
        np = self.np
        return (self.random(self.keys, 2) & np.uint32(1)).astype(np.float32) * 2 - 1

    def places(self, targets):
        np = self.np
        i = np.arange(self.records, dtype=np.uint64) * np.uint64(0x9e3779b1)
        return (i & np.uint64(targets - 1)).astype(np.int32)

    def shuffled(self):
        np = self.np
        i = np.arange(self.sorted, dtype=np.uint64)
        return ((i ^ i >> np.uint64(11)) * np.uint64(0x9e3779b1) & np.uint64(min(self.sorted, 1 << 24) - 1)
                ).astype(np.float32)

    def weights(self):
        np = self.np
        return ((np.arange(K * K) * 31 % 17 + 1) / 17).astype(np.float32).reshape(K, K)

    # expected results: of all elements, or of some
    def close(self, got, want, tolerance=1e-5):
        np = self.np
        got, want = np.asarray(got, dtype=np.float64), np.asarray(want, dtype=np.float64)
        assert got.shape == want.shape, f"of shape {got.shape}, not {want.shape}"
        off = np.abs(got - want) - tolerance * (1 + np.abs(want))
        assert not (off > 0).any() and not np.isnan(got).any(), f"off by {float(np.max(np.abs(got - want))):g}"


# A row is a function without arguments that prepares, checks, and returns call(), which queues one unit of work.
# A library is a class with `wait`, `version` and rows().

def common(lib, s):
    """The rows that need functions of all array libraries only; `lib` has arrays and functions by name."""
    rows = {}

    def row(name, make):
        if make is not None:
            rows[name] = make

    def checked(call, want, host=lib.host, tolerance=1e-5, part=1 << 20):
        got = call()
        lib.wait(got)
        flat = host(got.reshape(-1)[:part])
        s.close(flat, want(len(flat)), tolerance)
        return call

    numbers = s.numbers
    side, n = s.side, s.n

    def unary(function, want, make=lambda: numbers(n), **how):
        def prepare():
            call = lib.call(function, lib.array(make()))
            return checked(call, want, **how)
        return prepare

    def first(k):
        return numbers(k).astype("f8")

    def wave(k):
        x = first(k) / 32
        return s.np.cos(x / 1.5 + 0.3) + s.np.exp(-x * x) * s.np.sqrt(x)
    row("copy", unary(lib.copy, first))
    row("copy_odd", unary(lib.copy_odd, lambda k: numbers(k + 1)[1:]))
    row("math", unary(lib.math, wave, lambda: numbers(n) / s.np.float32(32), tolerance=4e-6))
    row("transpose", unary(lib.transpose, lambda k: (s.np.arange(k) % side * side + s.np.arange(k) // side) % PERIOD,
                           lambda: numbers(n).reshape(side, side)))

    def triad():
        call = lib.call(lib.triad, lib.array(numbers(n)), lib.array(s.np.full(n, 3, dtype="f4")))
        return checked(call, lambda k: 2 * first(k) + 3)
    row("triad", triad)

    def sums(shape, axis):
        def want(k):
            return numbers(n // shape[1] * shape[1]).reshape(shape).sum(axis=axis, dtype="f8").reshape(-1)[:k]
        return unary(lib.sum(axis), want, lambda: numbers(shape[0] * shape[1]).reshape(shape), tolerance=1e-4)
    row("sum", sums((side, side), None))
    row("sum_rows", sums((side, side), 1))
    row("sum_columns", sums((side, side), 0))
    row("sum_tall", sums((n // 16, 16), 0))
    row("sum_long", sums((16, n // 16), 1))

    def peak():
        x = numbers(n).copy()
        x[n // 3 * 2 + 1] = 1000
        return x
    row("argmax", unary(lib.argmax, lambda k: [n // 3 * 2 + 1], peak))
    row("variance", unary(lib.variance, lambda k: [numbers(n).var(dtype="f8")], tolerance=1e-4))
    row("scan", unary(lib.scan, lambda k: first(k).cumsum(), tolerance=1e-3))
    row("sort", unary(lib.sort, lambda k: s.np.arange(k) // (s.sorted // min(s.sorted, 1 << 24)), s.shuffled))

    def histogram(rows):
        def prepare():
            points = s.points().reshape(rows, -1)
            seen = points[:64]
            want = s.np.stack([s.np.bincount(s.bins(p), minlength=BINS) for p in seen]).reshape(-1)
            call = lib.call(lib.histogram, lib.array(points))
            return checked(call, lambda k: want, part=len(want))
        return prepare
    if lib.histogram:
        row("histogram", histogram(1))
        row("histogram_rows", histogram(side))

    def scatter(m, is_float):
        def prepare():
            keys = s.keys_of(m)
            signs = s.signs() if is_float else None
            want = s.np.bincount(keys, weights=signs, minlength=m)
            call = lib.accumulator(m, is_float)(lib.array(keys), None if signs is None else lib.array(signs))
            return checked(call, lambda k: want[:k])
        return prepare
    for power in range(8):
        row(f"scatter_u32_{10 ** power}", scatter(10 ** power, False))
        row(f"scatter_f32_{10 ** power}", scatter(10 ** power, True))

    def records(how, targets):
        def prepare():
            x, places = numbers(4 * s.records).reshape(-1, 4), s.places(targets)
            want = s.np.zeros((targets, 4))
            if how == "gather":
                want = x[places]
            elif how == "scatter":
                want[places] = x
            else:
                s.np.add.at(want, places, x)
            call = lib.records(how, targets)(lib.array(x), lib.array(places))
            return checked(call, lambda k: want.reshape(-1)[:k])
        return prepare
    row("gather_records", records("gather", s.records))
    row("scatter_records", records("scatter", s.records))
    row("add_records", records("add", min(s.records, 1 << 14)))

    def conv():
        img, ker = numbers(s.conv ** 2).reshape(s.conv, s.conv), s.weights()
        call = lib.call(lib.convolve, lib.array(img), lib.array(ker))

        def want(k):
            padded = s.np.pad(img.astype("f8")[:2 * K], ((K // 2, 0), (K // 2, K // 2)))
            out = sum(padded[y:y + 1, x:x + s.conv] * ker[y, x] for y in range(K) for x in range(K))
            return out.reshape(-1)[:k]
        return checked(call, want, part=s.conv)
    if lib.convolve:
        row("conv_index", conv)

    def mandelbrot():
        call = lib.call(lib.mandelbrot, s.loop)
        got = lib.host(call().reshape(-1))
        assert got.max() == LIMIT and got.min() < 3, f"from {got.min()} to {got.max()}"
        return call
    if lib.mandelbrot:
        row("mandelbrot", mandelbrot)
    row("launch", unary(lib.copy, first, lambda: numbers(1024)))

    def ten():
        full = lambda v: lib.array(s.np.full(1024, v, dtype="f4"))
        want = numbers(1024)
        for _ in range(5):
            want = want * 0.5 + 2
        return checked(lib.call(lib.ten, lib.array(numbers(1024)), full(0.5), full(2)), lambda k: want)
    row("launch_traced", ten)
    return rows


def chain(v, x, y, ops, salt, most, least):
    """The operations of bench/program.h."""
    for k in range(ops):
        v = (v * x, v + y, v - (salt + 1e-3 * k), most(v, x), least(v, y))[k % 5] if k % 5 < 3 else \
            (most(v, x) if k % 5 == 3 else least(v, y))
    return v
