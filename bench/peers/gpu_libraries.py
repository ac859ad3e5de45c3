"""CuPy, JAX, PyTorch and Dr.Jit for gpu_peer.py: how each makes arrays, waits, and computes the rows of gpu_rows.py."""
from gpu_rows import BINS, K, LIMIT, chain, common


class Cupy:
    histogram = None

    def __init__(self, sizes, host):
        if host:
            raise ImportError("CuPy has no processor")
        import cupy as cp
        self.s, self.cp, self.version = sizes, cp, cp.__version__
        device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
        self.version += f" on {device}"
        self.array = cp.asarray
        self.host = cp.asnumpy
        self.copy = cp.ElementwiseKernel("float32 x", "float32 y", "y = x", "copy")
        self.triad = cp.ElementwiseKernel("float32 x, float32 z", "float32 y", "y = 2 * x + z", "triad")
        self.math = cp.ElementwiseKernel("float32 x", "float32 y",
                                         "y = cosf(x / 1.5f + 0.3f) + expf(-x * x) * sqrtf(x)", "math")
        self.ten = cp.ElementwiseKernel("float32 x, float32 a, float32 b", "float32 y",
                                        "y = x; for (int k = 0; k < 5; ++k) y = y * a + b", "ten")
        self.escape = cp.ElementwiseKernel(
            "int32 side, float32 scale", "int32 n",
            f"float cx = fmaf((float)(i % side), scale, -2.0f), cy = fmaf((float)(i / side), scale, -1.3f);"
            f"float x = 0, y = 0; int c = 0;"
            f"for (; c < {LIMIT} && x * x + y * y <= 4; ++c) {{"
            f" float t = x * x - y * y + cx; y = fmaf(x * 2, y, cy); x = t; }} n = c", "escape")
        self.copy_odd = lambda x: self.copy(x[1:])
        self.transpose = lambda x: cp.ascontiguousarray(x.T)
        self.argmax, self.scan, self.sort = cp.argmax, cp.cumsum, cp.sort
        self.variance = lambda x: cp.var(x)
        self.mandelbrot = lambda side: self.escape(cp.int32(side), cp.float32(2.6 / side),
                                                   cp.empty(side * side, dtype="i4"))

    def wait(self, _=None):
        self.cp.cuda.Device().synchronize()

    def call(self, function, *args):
        return lambda: function(*args)

    def sum(self, axis):
        return lambda x: self.cp.sum(x, axis=axis)

    def convolve(self, img, ker):
        from cupyx.scipy.ndimage import correlate
        return correlate(img, ker, mode="constant")

    def accumulator(self, m, is_float):
        cp = self.cp

        def bind(keys, signs):
            out = cp.zeros(m, dtype="f4" if is_float else "u4")

            def call():
                cp.add.at(out, keys, signs if is_float else cp.uint32(1))
                return out
            return call
        return bind

    def records(self, how, targets):
        cp = self.cp

        def bind(x, places):
            out = cp.zeros((targets, 4), dtype="f4")

            def call():
                if how == "gather":
                    cp.take(x, places, axis=0, out=out)
                elif how == "scatter":
                    out[places] = x
                else:
                    cp.add.at(out, places, x)
                return out
            return call
        return bind

    def rows(self):
        rows, s, cp = common(self, self.s), self.s, self.cp

        def histogram():
            points = cp.asarray(s.points())
            call = lambda: cp.histogram(points, bins=BINS, range=(-1, 1))[0]
            s.close(cp.asnumpy(call()), s.np.bincount(s.bins(s.points()), minlength=BINS))
            return call
        return rows | {"histogram": histogram}


class Jax:
    def __init__(self, sizes, host):
        import os
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        import jax
        import jax.numpy as jnp
        if host:
            jax.config.update("jax_platforms", "cpu")
        elif jax.default_backend() != "gpu":
            raise ImportError(f"jax runs on {jax.default_backend()} only")
        self.s, self.jax, self.np, self.version = sizes, jax, jnp, f"{jax.__version__} on {jax.devices()[0]}"
        self.array = jnp.asarray
        self.host = lambda x: sizes.np.asarray(x)
        self.copy = jnp.copy
        self.copy_odd = lambda x: x[1:]
        self.triad = lambda x, y: 2 * x + y
        self.math = lambda x: jnp.cos(x / 1.5 + 0.3) + jnp.exp(-x * x) * jnp.sqrt(x)
        self.transpose = lambda x: x.T
        self.argmax, self.scan, self.sort, self.variance = jnp.argmax, jnp.cumsum, jnp.sort, jnp.var

    def wait(self, last=None):
        self.jax.block_until_ready(last)

    def call(self, function, *args):
        compiled = self.jax.jit(function, static_argnums=0) if isinstance(args[0], int) else self.jax.jit(function)
        return lambda: compiled(*args)

    def sum(self, axis):
        return lambda x: self.np.sum(x, axis=axis)

    def histogram(self, points):
        bins = ((points + 1) * (0.5 * BINS)).astype("int32")
        row = self.np.arange(points.shape[0])[:, None]
        return self.np.zeros((points.shape[0], BINS), "int32").at[row, bins].add(1)

    def ten(self, x, a, b):
        for _ in range(5):
            x = x * a + b
        return x

    def convolve(self, img, ker):
        lax = self.jax.lax
        return lax.conv(img[None, None], ker[None, None], (1, 1), "SAME", precision=lax.Precision.HIGHEST)[0, 0]

    def mandelbrot(self, side):
        jnp, lax = self.np, self.jax.lax
        at = jnp.arange(side * side, dtype="int32")
        scale = 2.6 / side

        def escape(i):
            cx, cy = (i % side).astype("float32") * scale - 2, (i // side).astype("float32") * scale - 1.3
            return lax.while_loop(lambda v: (v[2] < LIMIT) & (v[0] * v[0] + v[1] * v[1] <= 4),
                                  lambda v: (v[0] * v[0] - v[1] * v[1] + cx, v[0] * 2 * v[1] + cy, v[2] + 1),
                                  (jnp.float32(0), jnp.float32(0), jnp.int32(0)))[2]
        return self.jax.vmap(escape)(at)

    def accumulator(self, m, is_float):
        def bind(keys, signs):  # in place: the result of a call is the input of the next
            out = self.np.zeros(m, "float32" if is_float else "uint32")
            step = self.jax.jit(lambda o, k, v: o.at[k].add(1 if v is None else v), donate_argnums=0)
            held = [out]

            def call():
                held[0] = step(held[0], keys, signs)
                return held[0]
            return call
        return bind

    def records(self, how, targets):
        steps = {"gather": lambda o, x, p: x[p], "add": lambda o, x, p: o.at[p].add(x),
                 "scatter": lambda o, x, p: o.at[p].set(x, unique_indices=True)}
        step = self.jax.jit(steps[how], donate_argnums=() if how == "gather" else 0)

        def bind(x, places):
            held = [self.np.zeros((targets, 4), "float32")]

            def call():
                out = step(held[0], x, places)
                if how != "gather":
                    held[0] = out
                return out
            return call
        return bind

    def rows(self):
        rows, jnp, salt = common(self, self.s), self.np, [0]

        def cold(ops):
            def prepare():
                x, y = jnp.linspace(0.5, 1.5, 1024), jnp.linspace(1.5, 0.5, 1024)

                def call():
                    salt[0] += 1
                    function = lambda x, y: chain(x, x, y, ops, 1e-6 * salt[0], jnp.maximum, jnp.minimum)
                    out = self.jax.jit(function)(x, y)
                    self.wait(out)
                    return out
                return call
            return prepare
        return rows | {f"cold_{ops}": cold(ops) for ops in (10, 100, 1000)}


class Torch:
    mandelbrot = histogram = None

    def __init__(self, sizes, host):
        import torch
        if not host and not torch.cuda.is_available():
            raise ImportError("torch sees no GPU")
        self.s, self.torch, self.on_host = sizes, torch, host
        self.device = torch.device("cpu" if host else "cuda")
        self.version = torch.__version__ + ("" if host else f" on {torch.cuda.get_device_name(0)}")
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.array = lambda x: torch.as_tensor(x, device=self.device)
        self.host = lambda x: x.cpu().numpy()
        self.copy = torch.clone
        self.copy_odd = lambda x: x[1:].clone()
        self.triad = lambda x, y: torch.add(y, x, alpha=2)
        self.math = lambda x: torch.cos(x / 1.5 + 0.3) + torch.exp(-x * x) * torch.sqrt(x)
        self.transpose = lambda x: x.t().contiguous()
        self.argmax, self.variance = torch.argmax, lambda x: torch.var(x, correction=0)
        self.scan = lambda x: torch.cumsum(x, 0)
        self.sort = lambda x: torch.sort(x)[0]

    def wait(self, _=None):
        if not self.on_host:
            self.torch.cuda.synchronize()

    def call(self, function, *args):
        return lambda: function(*args)

    def sum(self, axis):
        return lambda x: self.torch.sum(x) if axis is None else self.torch.sum(x, axis)

    def ten(self, x, a, b):
        for _ in range(5):
            x = x * a + b
        return x

    def convolve(self, img, ker):
        return self.torch.nn.functional.conv2d(img[None, None], ker[None, None], padding=K // 2)[0, 0]

    def accumulator(self, m, is_float):
        torch = self.torch

        def bind(keys, signs):
            out = torch.zeros(m, dtype=torch.float32 if is_float else torch.int32, device=self.device)
            value = signs if is_float else torch.ones(keys.shape, dtype=torch.int32, device=self.device)
            return lambda: out.index_add_(0, keys, value)
        return bind

    def records(self, how, targets):
        def bind(x, places):
            out, wide = self.torch.zeros((targets, 4), device=self.device), places.long()
            steps = {"gather": lambda: self.torch.index_select(x, 0, places, out=out),
                     "scatter": lambda: out.index_copy_(0, wide, x), "add": lambda: out.index_add_(0, places, x)}
            return steps[how]
        return bind

    def rows(self):
        rows, torch, s = common(self, self.s), self.torch, self.s

        def compiled():
            x = self.array(s.numbers(s.n) / s.np.float32(32))
            function = torch.compile(self.math)
            s.close(self.host(function(x)[:4096]), self.host(self.math(x)[:4096]), 4e-6)
            return lambda: function(x)
        return rows | {"math": compiled}  # by Triton


class Drjit:
    argmax = convolve = histogram = None

    def __init__(self, sizes, host):
        import importlib
        import drjit as dr
        self.of = importlib.import_module("drjit.llvm" if host else "drjit.cuda")
        if not dr.has_backend(dr.JitBackend.LLVM if host else dr.JitBackend.CUDA):
            raise ImportError("drjit has no such device")
        self.s, self.dr, self.version = sizes, dr, dr.__version__

    def wait(self, _=None):
        self.dr.sync_thread()

    def rows(self):
        dr, s, np = self.dr, self.s, self.s.np
        Float, UInt, Int = self.of.Float, self.of.UInt, self.of.Int

        def checked(call, want, tolerance=1e-5):
            s.close(call().numpy().reshape(-1)[:len(want)], want, tolerance)
            return call

        def evaluated(function, *args):
            def call():
                out = function(*args)
                dr.eval(out)
                return out
            return call

        def array(x):
            out = (Float if x.dtype == np.float32 else UInt)(x)
            dr.eval(out)
            dr.sync_thread()
            return out
        part = min(s.n, 1 << 20)
        first = s.numbers(part).astype("f8")

        def triad():
            x, y = array(s.numbers(s.n)), dr.opaque(Float, 3, s.n)
            return checked(evaluated(lambda: 2 * x + y), 2 * first + 3)

        def math():
            x = array(s.numbers(s.n) / np.float32(32))
            want = np.cos(first / 32 / 1.5 + 0.3) + np.exp(-(first / 32) ** 2) * np.sqrt(first / 32)
            return checked(evaluated(lambda: dr.cos(x / 1.5 + 0.3) + dr.exp(-x * x) * dr.sqrt(x)), want, 4e-6)

        def total():
            x = array(s.numbers(s.n))
            return checked(evaluated(lambda: dr.sum(x)), np.array([s.numbers(s.n).sum(dtype="f8")]), 1e-3)

        def scan():
            x = array(s.numbers(s.n))
            return checked(evaluated(lambda: dr.cumsum(x)), first.cumsum(), 1e-3)

        def loop():
            side, scale = s.loop, 2.6 / s.loop

            def escape():
                at = dr.arange(UInt, side * side)
                cx, cy = dr.fma(Float(at % side), scale, -2.0), dr.fma(Float(at // side), scale, -1.3)
                return dr.while_loop((Float(0), Float(0), Int(0)),
                                     lambda x, y, n: (n < LIMIT) & (x * x + y * y <= 4),
                                     lambda x, y, n: (x * x - y * y + cx, x * 2 * y + cy, n + 1))[2]
            call = evaluated(escape)
            got = call().numpy()
            assert got.max() == LIMIT and got.min() < 3
            return call

        def scatter(m, is_float):
            def prepare():
                plain, signs = s.keys_of(m), s.signs() if is_float else None
                keys, value = array(plain.astype("u4")), array(signs) if is_float else UInt(1)
                out = dr.zeros(Float if is_float else UInt, m)
                dr.make_opaque(out)

                def call():
                    dr.scatter_reduce(dr.ReduceOp.Add, out, value, keys)
                    dr.eval(out)
                    return out
                return checked(call, np.bincount(plain, weights=signs, minlength=m)[:part])
            return prepare

        def histogram(rows):
            def prepare():
                plain = s.points()
                points, out = array(plain), dr.zeros(UInt, rows * BINS)
                dr.make_opaque(out)
                width = s.n // rows

                def call():
                    row = dr.arange(UInt, s.n) // width
                    dr.scatter_reduce(dr.ReduceOp.Add, out, UInt(1), row * BINS + UInt((points + 1) * (0.5 * BINS)))
                    dr.eval(out)
                    return out
                return checked(call, np.bincount(s.bins(plain[:width]), minlength=BINS))
            return prepare

        def records(how, targets):
            def prepare():
                plain, where = s.numbers(4 * s.records), s.places(targets)
                x, places, out = array(plain), array(where.astype("u4")), dr.zeros(Float, 4 * targets)
                dr.make_opaque(out)
                want = np.zeros((targets, 4))
                if how == "gather":
                    want = plain.reshape(-1, 4)[where]
                elif how == "scatter":
                    want[where] = plain.reshape(-1, 4)
                else:
                    np.add.at(want, where, plain.reshape(-1, 4))

                def call():
                    own = dr.arange(UInt, s.records)
                    packet = dr.gather(self.of.Array4f, x, places if how == "gather" else own)
                    if how == "add":
                        dr.scatter_reduce(dr.ReduceOp.Add, out, packet, places)
                    else:
                        dr.scatter(out, packet, own if how == "gather" else places)
                    dr.eval(out)
                    return out
                return checked(call, want.reshape(-1)[:part])
            return prepare

        def conv():
            side, img, ker = s.conv, array(s.numbers(s.conv ** 2)), array(s.weights().reshape(-1))

            def convolve():
                at = dr.arange(UInt, side * side)
                i, j, sum_ = Int(at // side), Int(at % side), Float(0)
                for y in range(K):
                    for x in range(K):
                        a, b = i + (y - K // 2), j + (x - K // 2)
                        inside = (a >= 0) & (a < side) & (b >= 0) & (b < side)
                        sum_ = dr.fma(dr.gather(Float, img, UInt(a * side + b), inside),
                                      dr.gather(Float, ker, UInt(y * K + x)), sum_)
                return sum_
            padded = np.pad(s.numbers(side * side).astype("f8").reshape(side, side)[:2 * K],
                            ((K // 2, 0), (K // 2, K // 2)))
            want = sum(padded[y, x:x + side] * s.weights()[y, x] for y in range(K) for x in range(K))
            return checked(evaluated(convolve), want)

        def ten(frozen):
            def prepare():
                a, b, c = array(s.numbers(1024)), dr.opaque(Float, 0.5, 1024), dr.opaque(Float, 2, 1024)

                def body(a, b, c):
                    for _ in range(5):
                        a = a * b + c
                    return a
                want = s.numbers(1024).astype("f8")
                for _ in range(5):
                    want = want * 0.5 + 2
                kernel = dr.freeze(body) if frozen else body
                call = (lambda: kernel(a, b, c)) if frozen else evaluated(body, a, b, c)
                for _ in range(3):
                    checked(call, want)
                return call
            return prepare
        salt = [0]

        def first_run(ops, from_disk):
            def prepare():
                x, y = dr.linspace(Float, 0.5, 1.5, 1024), dr.linspace(Float, 1.5, 0.5, 1024)
                dr.eval(x, y)

                def call():
                    salt[0] += 1
                    if from_disk:
                        dr.flush_kernel_cache()
                    out = chain(x, x, y, ops, 0.0 if from_disk else 1e-6 * salt[0], dr.maximum, dr.minimum)
                    dr.eval(out)
                    dr.sync_thread()
                    return out
                return call
            return prepare
        rows = {"triad": triad, "math": math, "sum": total, "scan": scan, "mandelbrot": loop,
                "histogram": histogram(1), "histogram_rows": histogram(s.side)}
        for power in range(8):
            rows[f"scatter_u32_{10 ** power}"] = scatter(10 ** power, False)
            rows[f"scatter_f32_{10 ** power}"] = scatter(10 ** power, True)
        rows |= {"gather_records": records("gather", s.records), "scatter_records": records("scatter", s.records),
                 "add_records": records("add", min(s.records, 1 << 14)), "conv_index": conv,
                 "launch_traced": ten(False), "replay": ten(True)}
        for ops in (10, 100, 1000):
            rows[f"cold_{ops}"], rows[f"disk_{ops}"] = first_run(ops, False), first_run(ops, True)
        return rows


LIBRARIES = {"cupy": Cupy, "jax": Jax, "torch": Torch, "drjit": Drjit}
