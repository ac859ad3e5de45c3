#!/usr/bin/env python3
"""The rows of weft-bench in Dr.Jit, JAX (derivatives.py), numexpr, NumPy or a library of images (images.py).

weft-bench --peers starts `peer.py NAME THREADS SCRATCH`, which takes one order per line (bench/peers.c), so that its turns
alternate with those of the other contenders. `peer.py NAME THREADS SCRATCH --json FILE [ROW...]` measures rows (default:
all) by itself, and writes medians and minima in seconds.

Dr.Jit evaluates each call (dr.eval) and waits once after all calls of a turn (dr.sync_thread), which favours it. Its disk
cache is in SCRATCH.
"""
import json
import os
import statistics
import sys
import time

NAME, THREADS, SCRATCH = sys.argv[1], int(sys.argv[2]), sys.argv[3]
os.environ["HOME"] = SCRATCH  # ~/.drjit
os.environ["OMP_NUM_THREADS"] = os.environ["NUMEXPR_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(THREADS)
if "DRJIT_LIBLLVM_PATH" not in os.environ:
    for path in [f"/usr/lib/{d}/{n}" for n in ("libLLVM.so.19.1", "libLLVM-18.so.1", "libLLVM-17.so.1", "libLLVM-16.so.1",
                                               "libLLVM.so.20.1", "libLLVM-15.so.1")
                 for d in ("x86_64-linux-gnu", "aarch64-linux-gnu", "llvm-19/lib", "")]:
        if os.path.exists(path):
            os.environ["DRJIT_LIBLLVM_PATH"] = path
            break
import numpy as np

import derivatives
import images

K, HALO, SIDE = 11, 5, 4096
now = time.perf_counter


def inputs(count, n, low, high):
    rng = np.random.default_rng(n)
    return [low + (high - low) * rng.random(n, dtype=np.float32) for _ in range(count)]


def program(v, x, y, ops, salt, most, least):
    """The same operations as bench/program.h."""
    start = v
    for k in range(ops):
        match k % 5:
            case 0: v = v * x
            case 1: v = v + y
            case 2: v = v - (salt + 1e-3 * k)
            case 3: v = most(v, x)
            case 4: v = least(v, y)
    assert v is not start
    return v


def reference_conv(img, ker, i, j):
    part = img[max(i - HALO, 0):i + HALO + 1, max(j - HALO, 0):j + HALO + 1].astype(np.float64)
    y, x = max(HALO - i, 0), max(HALO - j, 0)
    return float((part * ker[y:y + part.shape[0], x:x + part.shape[1]]).sum())


def check_conv(out, img, ker):
    for i, j in [(0, 0), (0, SIDE - 1), (5, 4), (SIDE - 1, SIDE - 1), (100, 200), (2047, 3001)]:
        want = reference_conv(img, ker, i, j)
        assert abs(out[i, j] - want) < 1e-5 * want, (i, j, out[i, j], want)


def check(got, want, tolerance=2e-6):
    worst = float(np.max(np.abs(np.asarray(got, dtype=np.float64) - want)))
    assert worst <= tolerance * max(1.0, float(np.max(np.abs(want)))), f"off by {worst}"


def math_reference(x):
    x = x.astype(np.float64)
    return np.cos(x / 1.5 + 0.3) + np.exp(-x * x) * np.sqrt(x)


# A row is a function that prepares and returns (call, finish): call() does one unit of work, finish() waits for all of
# them. Or it returns (None, figure): figure() does one unit of work and returns its seconds.
nothing = lambda: None


def numpy_rows():
    def triad(n):
        a, b, c = inputs(3, n, 0.5, 1.5)
        out = np.empty_like(a)

        def call():
            np.multiply(a, b, out=out)
            np.add(out, c, out=out)
        call()
        check(out, a.astype(np.float64) * b + c)
        return call, nothing

    def chained():
        a, b, c, d, e = inputs(5, 1 << 16, 0.5, 1.5)
        t, out = np.empty_like(a), np.empty_like(a)

        def call():
            np.multiply(a, b, out=t)
            np.add(t, c, out=t)
            np.multiply(t, d, out=out)
            np.add(out, e, out=out)
        call()
        check(out, (a.astype(np.float64) * b + c) * d + e)
        return call, nothing

    def math():
        x, = inputs(1, 1 << 24, 0, 8)
        a, b = np.float32(1.5), np.float32(0.3)
        call = lambda: np.cos(x / a + b) + np.exp(-x * x) * np.sqrt(x)
        check(call(), math_reference(x))
        return call, nothing

    def total():
        x, = inputs(1, 1 << 26, 0, 1)
        call = lambda: x.sum()  # pairwise in f32
        check(call(), x.sum(dtype=np.float64), 1e-6)
        return call, nothing

    def sqdiff():
        a, b = inputs(2, 1 << 26, 0, 1)

        def call():
            d = a - b
            d *= d
            return d.sum()  # pairwise in f32
        want = np.square((a - b).astype(np.float64)).sum()
        check(call(), want, 1e-5)
        return call, nothing

    def axes(order, over):
        x, = inputs(1, 1 << 26, 0.5, 1.5)
        x = x.reshape(8, 64, 256, 512).transpose(order)
        want = x.sum(axis=over, dtype=np.float64)
        out = np.empty(want.shape, dtype=np.float32)  # in C order, as for all contenders
        call = lambda: x.sum(axis=over, out=out)  # in f32
        check(call(), want, 1e-5)
        return call, nothing

    def conv():
        img, = inputs(1, SIDE * SIDE, 0.5, 1.5)
        img, ker = img.reshape(SIDE, SIDE), inputs(1, K * K, 0.1, 1.1)[0].reshape(K, K)

        def call():
            padded = np.pad(img, HALO)
            out, t = np.zeros_like(img), np.empty_like(img)
            for y in range(K):
                for x in range(K):
                    np.multiply(padded[y:y + SIDE, x:x + SIDE], ker[y, x], out=t)
                    out += t
            return out
        check_conv(call(), img, ker)
        return call, nothing

    def ten():
        a, b, c = inputs(3, 1024, 0.5, 1.5)

        def call():
            v = a
            for _ in range(5):
                v = v * b + c
            return v
        return call, nothing
    def library(side, function):
        x, = inputs(1, side * side, 0, 1)
        x = x.reshape(side, side)
        return (lambda: function(x)), nothing
    functions = {"argmax_16m": (4096, lambda x: x.argmax()), "variance_16m": (4096, lambda x: x.var(dtype=np.float64)),
                 "transpose_4096": (4096, lambda x: x.T.copy()),
                 "scan_16m": (4096, lambda x: x.cumsum(dtype=np.float64).astype(np.float32)), "scan_expr_16m": (4096, lambda x: (x * x + np.float32(0.5)).cumsum(dtype=np.float64).astype(np.float32)),
                 "sort_4096": (4096, lambda x: np.sort(x, axis=1)),
                 "matmul_2048": (2048, lambda x: x @ x)}
    functions = {name: lambda of=of: library(*of) for name, of in functions.items()}
    subsets = [(0,), (1,), (2,), (3,), (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    sums = {f"sum_{letter}{''.join(map(str, over))}": lambda order=order, over=over: axes(order, over)
            for letter, order in [("c", (0, 1, 2, 3)), ("p", (3, 1, 0, 2))] for over in subsets}
    return sums | functions | {"triad_1k_prepared": lambda: triad(1 << 10), "triad_1k_traced": lambda: triad(1 << 10),
            "triad_64k": lambda: triad(1 << 16), "triad_64m": lambda: triad(1 << 26), "chained_64k": chained,
            "math_16m": math, "sum_64m": total, "sqdiff_64m": sqdiff, "conv_4096": conv, "launch_prepared": ten,
            "launch_traced": ten}


def numexpr_rows():
    import numexpr as ne
    ne.set_num_threads(THREADS)

    def expression(text, count, n, low, high, want, again=True):
        arrays = dict(zip("abcde", inputs(count, n, low, high)))
        out = np.empty(n, dtype=np.float32)
        ne.evaluate(text, arrays, out=out)
        check(out, want(**{k: v.astype(np.float64) for k, v in arrays.items()}))
        if again:
            return (lambda: ne.re_evaluate(arrays)), nothing
        return (lambda: ne.evaluate(text, arrays, out=out)), nothing

    def triad(n, again=True):
        return expression("a*b + c", 3, n, 0.5, 1.5, lambda a, b, c: a * b + c, again)

    def chained():
        x = dict(zip("abcde", inputs(5, 1 << 16, 0.5, 1.5)))
        t, out = np.empty(1 << 16, dtype=np.float32), np.empty(1 << 16, dtype=np.float32)
        x["t"] = t

        def call():
            ne.evaluate("a*b + c", x, out=t)
            ne.evaluate("t*d + e", x, out=out)
        call()
        check(out, (x["a"].astype(np.float64) * x["b"] + x["c"]) * x["d"] + x["e"])
        return call, nothing

    def math():
        x, = inputs(1, 1 << 24, 0, 8)
        out = np.empty_like(x)
        arrays = {"x": x, "a": np.float32(1.5), "b": np.float32(0.3)}
        ne.evaluate("cos(x/a + b) + exp(-x*x)*sqrt(x)", arrays, out=out)
        check(out, math_reference(x))
        return (lambda: ne.re_evaluate(arrays)), nothing

    # No sums: numexpr accumulates f32 in f32 and stops counting at 2^24.
    def ten(again):
        text = "a"
        for _ in range(5):
            text = f"({text})*b + c"
        def want(a, b, c):
            v = a
            for _ in range(5):
                v = v * b + c
            return v
        return expression(text, 3, 1024, 0.5, 1.5, want, again)
    return {"triad_1k_prepared": lambda: triad(1 << 10), "triad_1k_traced": lambda: triad(1 << 10, False),
            "triad_64k": lambda: triad(1 << 16), "triad_64m": lambda: triad(1 << 26), "chained_64k": chained,
            "math_16m": math, "launch_prepared": lambda: ten(True), "launch_traced": lambda: ten(False)}


def drjit_rows():
    import drjit as dr
    from drjit.llvm import Bool, Float, Int, UInt
    dr.set_thread_count(THREADS)
    wait = dr.sync_thread
    counter = [0]

    def arrays(count, n, low, high):
        plain = inputs(count, n, low, high)
        jit = [Float(p) for p in plain]
        dr.eval(*jit)
        wait()
        return plain, jit

    def triad(n):
        (pa, pb, pc), (a, b, c) = arrays(3, n, 0.5, 1.5)

        def call():
            out = a * b + c
            dr.eval(out)
            return out
        check(call().numpy(), pa.astype(np.float64) * pb + pc)
        return call, wait

    def triad_frozen(n):
        (pa, pb, pc), (a, b, c) = arrays(3, n, 0.5, 1.5)

        @dr.freeze
        def kernel(a, b, c):
            return a * b + c
        call = lambda: kernel(a, b, c)
        for _ in range(3):
            check(call().numpy(), pa.astype(np.float64) * pb + pc)
        return call, wait

    def chained():
        (pa, pb, pc, pd, pe), (a, b, c, d, e) = arrays(5, 1 << 16, 0.5, 1.5)

        def call():
            t = a * b + c
            dr.eval(t)
            out = t * d + e
            dr.eval(out)
            return out
        check(call().numpy(), (pa.astype(np.float64) * pb + pc) * pd + pe)
        return call, wait

    def math():
        (px,), (x,) = arrays(1, 1 << 24, 0, 8)
        a, b = dr.opaque(Float, 1.5), dr.opaque(Float, 0.3)

        def call():
            out = dr.cos(x / a + b) + dr.exp(-x * x) * dr.sqrt(x)
            dr.eval(out)
            return out
        check(call().numpy(), math_reference(px))
        return call, wait

    def total():
        (px,), (x,) = arrays(1, 1 << 26, 0, 1)

        def call():
            s = dr.sum(x)
            dr.eval(s)
            return s
        check(call().numpy(), px.sum(dtype=np.float64), 1e-4)
        return call, wait

    def sqdiff():
        (pa, pb), (a, b) = arrays(2, 1 << 26, 0, 1)

        def call():
            s = dr.sum(dr.square(a - b))
            dr.eval(s)
            return s
        check(call().numpy(), np.square((pa - pb).astype(np.float64)).sum(), 1e-4)
        return call, wait

    def conv():
        (pi,), (img,) = arrays(1, SIDE * SIDE, 0.5, 1.5)
        (pk,), (ker,) = arrays(1, K * K, 0.1, 1.1)

        def call():
            at = dr.arange(UInt, SIDE * SIDE)
            i, j = Int(at >> 12), Int(at & (SIDE - 1))
            out = Float(0)
            for y in range(K):
                for x in range(K):
                    iy, ix = i + (y - HALO), j + (x - HALO)
                    inside = (iy >= 0) & (iy < SIDE) & (ix >= 0) & (ix < SIDE)
                    out = dr.fma(dr.gather(Float, img, UInt(iy * SIDE + ix), inside),
                                 dr.gather(Float, ker, UInt(y * K + x)), out)
            dr.eval(out)
            return out
        check_conv(call().numpy().reshape(SIDE, SIDE), pi.reshape(SIDE, SIDE), pk.reshape(K, K))
        return call, wait

    def mandelbrot():
        side, limit, scale = 2048, 256, 2.6 / 2048

        def call():
            at = dr.arange(UInt, side * side)
            cx, cy = dr.fma(Float(at & (side - 1)), scale, -2.0), dr.fma(Float(at >> 11), scale, -1.3)
            x, y, n = dr.while_loop(
                (Float(0), Float(0), Int(0)),
                lambda x, y, n: (n < limit) & (x * x + y * y <= 4),
                lambda x, y, n: (x * x - y * y + cx, x * 2 * y + cy, n + 1))
            dr.eval(n)
            return n
        got = call().numpy()
        assert got.max() == limit and got.min() < 3
        return call, wait

    def ten(frozen):
        (pa, pb, pc), (a, b, c) = arrays(3, 1024, 0.5, 1.5)

        def body(a, b, c):
            v = a
            for _ in range(5):
                v = v * b + c
            return v
        kernel = dr.freeze(body) if frozen else body

        def call():
            out = kernel(a, b, c)
            if not frozen:
                dr.eval(out)
            return out
        want = pa.astype(np.float64)
        for _ in range(5):
            want = want * pb + pc
        for _ in range(3):
            check(call().numpy(), want)
        return call, wait

    def first_run(ops, from_disk):
        (px, py), (x, y) = arrays(2, 1024, 0.5, 1.5)

        def once(salt):
            start = now()
            out = program(x, x, y, ops, salt, dr.maximum, dr.minimum)
            dr.eval(out)
            wait()
            return now() - start, out

        def figure():
            if from_disk:
                dr.flush_kernel_cache()
            else:
                counter[0] += 1
            return once(0.0 if from_disk else counter[0] * 1e-6)[0]
        want = program(px.astype(np.float64), px, py, ops, 0.0, np.maximum, np.minimum)
        check(once(0.0)[1].numpy(), want, 1e-4)
        return None, figure
    rows = {"triad_1k_prepared": lambda: triad_frozen(1 << 10), "triad_1k_traced": lambda: triad(1 << 10),
            "triad_64k": lambda: triad(1 << 16), "triad_64m": lambda: triad(1 << 26), "chained_64k": chained,
            "math_16m": math, "sum_64m": total, "sqdiff_64m": sqdiff, "conv_4096": conv,
            "mandelbrot": mandelbrot, "launch_prepared": lambda: ten(True), "launch_traced": lambda: ten(False)}
    for ops in (10, 100, 1000):
        rows[f"cold_{ops}"] = lambda ops=ops: first_run(ops, False)
        rows[f"disk_{ops}"] = lambda ops=ops: first_run(ops, True)
    return rows | derivatives.drjit_rows(inputs)


def run(prepared, calls):
    call, finish = prepared
    if call is None:
        return sum(finish() for _ in range(calls)) / calls
    if calls > 1:  # an untimed call, as for all contenders
        call()
        finish()
    start = now()
    for _ in range(calls):
        call()
    finish()
    return (now() - start) / calls


def serve(rows, orders, answers):
    prepared = None
    for line in orders:
        word, _, rest = line.strip().partition(" ")
        try:
            if word == "prepare":
                prepared = None  # frees the previous row
                if rest in rows:
                    prepared = rows[rest]()
                print("ok" if prepared else "no such row", file=answers, flush=True)
            else:
                print(repr(run(prepared, int(rest))), file=answers, flush=True)
        except Exception as error:  # the answer to the order
            prepared = None
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            print("error" if word != "prepare" else "failed", text, file=answers, flush=True)


def alone(rows, path, wanted):
    results = {}
    for row in wanted or rows:
        prepared = rows[row]()
        once = run(prepared, 1)
        calls = 1 if prepared[0] is None else max(1, int(2e-3 / max(once, 1e-7)))
        times = [run(prepared, calls) for _ in range(5 if once > 0.5 else 21)]
        results[row] = {"median": statistics.median(times), "min": min(times)}
        prepared = None
        print(f"{row:20} {results[row]['median'] * 1e6:14.2f} us", flush=True)
    with open(path, "w", encoding="ascii") as f:
        json.dump({"who": NAME, "threads": THREADS, "rows": results}, f, indent=1)


def main():
    answers = os.fdopen(os.dup(1), "w")  # other output, as of libraries, goes to stderr
    os.dup2(2, 1)
    module = __import__(NAME)
    own = {"numpy": numpy_rows, "numexpr": numexpr_rows, "drjit": drjit_rows,
           "jax": lambda: derivatives.jax_rows(inputs)}
    rows = own[NAME]() if NAME in own else images.rows(NAME, THREADS)
    if "--json" in sys.argv:
        at = sys.argv.index("--json")
        alone(rows, sys.argv[at + 1], sys.argv[at + 2:])
        return
    extra = f" (LLVM: {os.path.basename(os.environ.get('DRJIT_LIBLLVM_PATH', 'default'))})" if NAME == "drjit" else ""
    print(f"ready {NAME} {module.__version__}{extra}", file=answers, flush=True)
    serve(rows, sys.stdin, answers)


main()
