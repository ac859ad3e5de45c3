"""What a call costs from Python: Weft beside NumPy, numexpr, Numba, JAX and Dr.Jit, those that are installed, in one run.

    PYTHONPATH=build/python python bench/python/overhead.py [--budget SECONDS] [ROW...]

Each row is measured in turns: every contender once a turn, the order rotating, so that a busy machine meets all of them.
A turn of a small call is a loop of calls. The medians over the turns are printed, and the ratio of each to Weft's."""
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


def check(name, contender, expected, out):
    got = contender()
    got = np.asarray(out if got is None or name == "numpy add" else got)
    if name == "numpy add":
        return
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-6, err_msg=name)


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
