"""What a call costs from Python, in Weft, NumPy and those of numexpr, Numba, JAX and Dr.Jit that are installed.

    PYTHONPATH=build/python python bench/python/overhead.py [--budget SECONDS] [ROW...]

Each row is measured in turns: every contender once a turn, in a rotating order, so that a busy machine slows all of
them. A turn of a small call is a loop of calls. The medians over the turns are printed, and the ratio of each to
Weft's."""
import argparse
import contextlib
import importlib.util
import statistics
import sys
import time

import numpy as np

import weft

THREADS = 1
ROWS = {}


def row(function):
    ROWS[function.__name__] = function
    return function


def has(name):
    return importlib.util.find_spec(name) is not None


def triad_kernel():
    g = weft.Graph()
    a, b, out = (g.formal(name, weft.f32, 1) for name in ("a", "b", "out"))
    g.output(out, g.input(a) * g.param("s", weft.f32, 2) + g.input(b))
    return g.compile("a", "b", "out", "s")


def triad(n):
    """a*s + b of n elements of f32: contenders by name, each a function without arguments, and a check."""
    a, b = (np.random.default_rng(i).random(n, np.float32) for i in (1, 2))
    out = np.empty_like(a)
    kernel = triad_kernel()
    wa, wb, wout = map(weft.asarray, (a, b, out))
    fast = kernel.fast

    def lazy():
        with weft.lazy():
            made = wa * 3 + wb
        return made

    contenders = {
        "weft prepared, NumPy arrays": lambda: fast(a, b, out, 3.0),
        "weft prepared, its arrays": lambda: fast(wa, wb, wout, 3.0),
        "weft text": lambda: weft.text("a*3 + b", a=a, b=b),
        "weft lazy": lazy,
        "weft eager": lambda: wa * 3 + wb,
        "numpy add": lambda: np.add(a, b, out),
        "numpy": lambda: a * np.float32(3) + b,
    }
    if has("numexpr"):
        import numexpr

        numexpr.set_num_threads(THREADS)
        contenders["numexpr"] = lambda: numexpr.evaluate("a*3 + b", {"a": a, "b": b})
    if has("numba"):
        import numba

        @numba.njit
        def loop(a, b, out, s):
            for i in range(a.size):
                out[i] = a[i] * s + b[i]

        contenders["numba njit"] = lambda: loop(a, b, out, np.float32(3))
    if has("jax"):
        import jax

        jitted = jax.jit(lambda a, b: a * 3 + b)
        ja, jb = jax.numpy.asarray(a), jax.numpy.asarray(b)
        contenders["jax"] = lambda: jitted(ja, jb).block_until_ready()
    if has("drjit"):
        import drjit as dr
        from drjit.llvm import Float

        dr.set_thread_count(THREADS)
        da, db = Float(a), Float(b)

        def traced():
            made = da * 3 + db
            dr.eval(made)
            dr.sync_thread()
            return made

        contenders["drjit"] = traced
    return contenders, a * np.float32(3) + b, out


@row
def triad_1k():
    return triad(1024)


@row
def triad_16m():
    return triad(1 << 24)


@row
def math_16m():
    """exp(-x*x) * sin(3x) + sqrt(x) * log(x), 2^24 elements of f32."""
    x = np.random.default_rng(1).random(1 << 24, np.float32) + np.float32(0.5)
    text = "exp(-x*x) * sin(3*x) + sqrt(x) * log(x)"
    contenders = {
        "weft text": lambda: weft.text(text, x=x),
        "numpy": lambda: np.exp(-x * x) * np.sin(3 * x) + np.sqrt(x) * np.log(x),
    }
    if has("numexpr"):
        import numexpr

        numexpr.set_num_threads(THREADS)
        contenders["numexpr"] = lambda: numexpr.evaluate(text, {"x": x})
    if has("numba"):
        import numba

        @numba.njit(parallel=True, fastmath=False)
        def loop(x, out):
            for i in numba.prange(x.size):
                v = x[i]
                out[i] = np.exp(-v * v) * np.sin(np.float32(3) * v) + np.sqrt(v) * np.log(v)

        numba.set_num_threads(THREADS)
        out = np.empty_like(x)

        def call():
            loop(x, out)
            return out

        contenders["numba parallel"] = call
    if has("jax"):
        import jax
        import jax.numpy as jnp

        jitted = jax.jit(lambda x: jnp.exp(-x * x) * jnp.sin(3 * x) + jnp.sqrt(x) * jnp.log(x))
        jx = jnp.asarray(x)
        contenders["jax"] = lambda: jitted(jx).block_until_ready()
    if has("drjit"):
        import drjit as dr
        from drjit.llvm import Float

        dx = Float(x)

        def traced():
            made = dr.exp(-dx * dx) * dr.sin(3 * dx) + dr.sqrt(dx) * dr.log(dx)
            dr.eval(made)
            dr.sync_thread()
            return made

        contenders["drjit"] = traced
    return contenders, np.exp(-x * x) * np.sin(3 * x) + np.sqrt(x) * np.log(x), None


@row
def mandelbrot_2048():
    """The Mandelbrot set of 2048 by 2048 points, up to 256 turns, in f64."""
    n, most = 2048, 256

    def turns(y, x, scale, most):
        cr, ci = x * scale - 2.0, y * scale - 1.25
        zr = zi = 0.0
        n = 0
        while n < most and zr * zr + zi * zi <= 4:
            zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
            n += 1
        return n

    @weft.kernel
    def mandelbrot(y, x, out, scale, most):
        out[y, x] = turns(y, x, scale, most)

    out = np.empty((n, n), np.int32)
    contenders = {"weft kernel": lambda: mandelbrot(out, 2.5 / n, most)}
    if has("numba"):
        import numba

        inner = numba.njit(turns)

        @numba.njit(parallel=True)
        def loop(out, scale, most):
            for y in numba.prange(out.shape[0]):
                for x in range(out.shape[1]):
                    out[y, x] = inner(y, x, scale, most)

        numba.set_num_threads(THREADS)
        contenders["numba parallel"] = lambda: loop(out, 2.5 / n, most)
    y, x = np.ogrid[0:n:64, 0:n:64]
    expected = np.vectorize(turns, otypes=[np.int32])(y, x, 2.5 / n, most)
    return contenders, expected, out[::64, ::64]


@row
def stencil_4096():
    """The five-point stencil of 4096 by 4096 elements of f32, with edges that repeat the last element."""
    n = 4096
    a = np.random.default_rng(1).random((n, n), np.float32)
    out = np.empty_like(a)

    @weft.kernel
    def stencil(y, x, a, out):
        around = a[y - 1, x, "clamp"] + a[y + 1, x, "clamp"] + a[y, x - 1, "clamp"] + a[y, x + 1, "clamp"]
        out[y, x] = around - 4 * a[y, x]

    contenders = {"weft kernel": lambda: stencil(a, out)}
    if has("numba"):
        import numba

        @numba.njit(parallel=True)
        def loop(a, out):
            h, w = a.shape
            for y in numba.prange(h):
                for x in range(w):
                    around = (
                        a[max(y - 1, 0), x] + a[min(y + 1, h - 1), x] + a[y, max(x - 1, 0)] + a[y, min(x + 1, w - 1)]
                    )
                    out[y, x] = around - np.float32(4) * a[y, x]

        numba.set_num_threads(THREADS)
        contenders["numba parallel"] = lambda: loop(a, out)
    p = np.pad(a, 1, mode="edge")
    expected = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * a
    return contenders, expected, out


@row
def square_sum_16m():
    """The sum of (a - b)^2 of 2^24 elements of f32.

    Weft adds in f64; its result does not depend on the number of threads. numexpr is left out: it adds in f32 one by
    one, and its sum is wrong by 3 %."""
    a, b = (np.random.default_rng(i).random(1 << 24, np.float32) for i in (1, 2))
    contenders = {
        "weft reduce": lambda: weft.reduce(lambda p, q: (p - q) * (p - q), a, b),
        "weft text": lambda: weft.text("sum((a - b)**2)", a=a, b=b),
        "numpy": lambda: np.sum((a - b) ** 2),
    }
    if has("numba"):
        import numba

        @numba.njit(parallel=True)
        def loop(a, b):
            total = 0.0
            for i in numba.prange(a.size):
                total += (a[i] - b[i]) * (a[i] - b[i])
            return total

        numba.set_num_threads(THREADS)
        contenders["numba parallel"] = lambda: loop(a, b)
    return contenders, np.sum((a - b) ** 2, dtype=np.float64), None


@row
def kernel_1k():
    """A decorated function called with three NumPy arrays of 1024 elements of f32, and nearly no work in it."""
    a, b = (np.random.default_rng(i).random(1024, np.float32) for i in (1, 2))
    out = np.empty_like(a)

    @weft.kernel
    def triad(i, a, b, out):
        out[i] = a[i] * 3 + b[i]

    contenders = {"weft kernel": lambda: triad(a, b, out), "numpy add": lambda: np.add(a, b, out)}
    if has("numba"):
        import numba

        def loop(a, b, out):
            for i in numba.prange(a.size):
                out[i] = a[i] * np.float32(3) + b[i]

        numba.set_num_threads(THREADS)
        serial, parallel = numba.njit(loop), numba.njit(parallel=True)(loop)
        contenders["numba njit"] = lambda: serial(a, b, out)
        contenders["numba parallel"] = lambda: parallel(a, b, out)
    return contenders, a * np.float32(3) + b, out


@row
def ewise_1k():
    """weft.ewise of 1024 elements of f32, with and without an array for the result."""
    a, b = (np.random.default_rng(i).random(1024, np.float32) for i in (1, 2))
    out, wa, wb = np.empty_like(a), weft.asarray(a), weft.asarray(b)

    def combine(x, y):
        return x * 3 + y

    contenders = {
        "weft ewise": lambda: weft.ewise(combine, wa, wb),
        "weft ewise, NumPy arrays": lambda: weft.ewise(combine, a, b),
        "weft ewise, out=": lambda: weft.ewise(combine, wa, wb, out=out),
        "weft ewise, a new lambda": lambda: weft.ewise(lambda x, y: x * 3 + y, wa, wb),
        "numpy add": lambda: np.add(a, b, out),
        "numpy": lambda: a * np.float32(3) + b,
    }
    return contenders, a * np.float32(3) + b, out


@row
def reduce_1k():
    """The sum of squares of 1024 elements of f32."""
    a = np.random.default_rng(1).random(1024, np.float32)
    wa = weft.asarray(a)
    contenders = {
        "weft reduce": lambda: weft.reduce(lambda x: x * x, wa),
        "weft reduce, NumPy array": lambda: weft.reduce(lambda x: x * x, a),
        "numpy": lambda: np.sum(a * a),
        "numpy dot": lambda: np.dot(a, a),
    }
    return contenders, np.sum(a * a), None


@row
def index_1k():
    """1024 elements of f32 by an array of their indices in reverse order."""
    a, at = np.random.default_rng(1).random(1024, np.float32), np.arange(1024)[::-1].copy()
    wa, wat = weft.asarray(a), weft.asarray(at)
    contenders = {"weft": lambda: wa[wat], "weft, NumPy indices": lambda: wa[at], "numpy": lambda: a[at]}
    return contenders, a[at], None


def check(name, contender, expected, out):
    got = contender()
    if name == "numpy add":  # less work, as a measure
        return
    np.testing.assert_allclose(np.asarray(out if got is None else got), expected, rtol=2e-5, atol=2e-6, err_msg=name)


def measure(contenders, budget):
    loops = {}
    for name, contender in contenders.items():
        for _ in range(3):
            contender()
        start = time.perf_counter()
        contender()
        loops[name] = max(1, int(2e-3 / max(time.perf_counter() - start, 1e-7)))
    times = {name: [] for name in contenders}
    names = list(contenders)
    end = time.perf_counter() + budget
    turn = 0
    while time.perf_counter() < end or turn < 5:
        for name in names[turn % len(names):] + names[: turn % len(names)]:
            contender, n = contenders[name], range(loops[name])
            start = time.perf_counter()
            for _ in n:
                contender()
            times[name].append((time.perf_counter() - start) / loops[name])
        turn += 1
    return {name: statistics.median(t) for name, t in times.items()}, turn


def main():
    global THREADS
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--budget", type=float, default=4, help="seconds for each row")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    THREADS = options.threads
    weft.set_threads(THREADS)
    info = weft.info()
    print(f"weft {info['version']} ({info['isa']}, LLVM {info['llvm_major']}), NumPy {np.__version__}, "
          f"CPython {sys.version.split()[0]}, {THREADS} thread{'s' * (THREADS > 1)}")
    for name in options.rows or ROWS:
        contenders, expected, out = ROWS[name]()
        for who, contender in contenders.items():
            check(who, contender, expected, out)
        medians, turns = measure(contenders, options.budget)
        first = next(iter(medians.values()))
        unit, scale = ("us", 1e6) if first < 1e-4 else ("ms", 1e3)
        print(f"\n{name}: {unit}, median of {turns} turns")
        for who, seconds in medians.items():
            print(f"    {who:32} {seconds * scale:10.3f}   {seconds / first:7.2f}")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
