"""The rows grad_* of weft-bench in JAX and Dr.Jit: a loss, and its derivatives, in one compiled function."""
import numpy as np

SIDE, TAPS, PIXELS = 4096, 11, 2048


def expect(got, want, tolerance=1e-5):
    worst = float(np.max(np.abs(np.asarray(got, dtype=np.float64) - want)))
    assert worst <= tolerance * max(1.0, float(np.max(np.abs(want)))), f"off by {worst}"


def math_slope(x, t):
    x, t, a, b = x.astype(np.float64), t.astype(np.float64), 1.5, 0.3
    bell = np.exp(-x * x)
    off = np.cos(x / a + b) + bell * np.sqrt(x) - t
    return 2 * off * (-np.sin(x / a + b) / a + bell * (0.5 / np.sqrt(x) - 2 * x * np.sqrt(x)))


def table_inputs(inputs, size):
    table, = inputs(1, size, 0.5, 1.5)
    index = np.random.default_rng(size).integers(0, size, 10 ** 7, dtype=np.int32)
    return table, index, 2 * table.astype(np.float64) * np.bincount(index, minlength=size)


def jax_rows(inputs):
    import jax
    import jax.numpy as jnp
    wait = lambda: None

    def compiled(loss, arguments, by=(0,)):
        """Returns a call that waits, as there is nothing to wait for after several calls, and the derivatives."""
        arguments = [jnp.asarray(a) for a in arguments]
        f = jax.jit(jax.value_and_grad(loss, argnums=by))
        call = lambda: jax.block_until_ready(f(*arguments))
        return call, call()[1]

    def math():
        x, t = inputs(2, 1 << 24, 0.01, 8)
        call, d = compiled(lambda x, a, b, t: jnp.sum((jnp.cos(x / a + b) + jnp.exp(-x * x) * jnp.sqrt(x) - t) ** 2),
                           [x, np.float32(1.5), np.float32(0.3), t], (0, 1, 2))
        expect(d[0], math_slope(x, t))
        return call, wait

    def table(size):
        values, index, want = table_inputs(inputs, size)
        call, d = compiled(lambda table, k: jnp.sum(table[k] ** 2), [values, index])
        expect(d[0], want, 0.1)  # JAX adds 10^7 numbers one by one in f32
        return call, wait

    def rows(softmax):
        x, = inputs(1, SIDE * SIDE, 0, 8)
        w, = inputs(1, SIDE, 0, 1)
        x = x.reshape(SIDE, SIDE)
        loss = (lambda x, w: jnp.sum(w * jax.nn.softmax(x, axis=1))) if softmax else (
            lambda x, w: jnp.sum(jax.nn.logsumexp(x, axis=1)))
        call, d = compiled(loss, [x, w])
        p = np.exp(x[:8].astype(np.float64))
        p /= p.sum(axis=1, keepdims=True)
        expect(d[0][:8], p * (w - (p * w).sum(axis=1, keepdims=True)) if softmax else p)
        return call, wait

    def conv(by):
        image, upstream = (a.reshape(PIXELS, PIXELS) for a in inputs(2, PIXELS * PIXELS, 0.5, 1.5))
        kernel = inputs(1, TAPS * TAPS, 0.1, 1.1)[0].reshape(TAPS, TAPS)
        half = TAPS // 2

        def loss(image, kernel, upstream):
            result = jax.lax.conv_general_dilated(image[None, None], kernel[None, None], (1, 1), [(half, half)] * 2)
            return jnp.sum(result[0, 0] * upstream)
        call, d = compiled(loss, [image, kernel, upstream], (by,))
        padded = np.pad(image, half).astype(np.float64)
        if by == 1:
            expect(d[0][0, 3], (padded[:PIXELS, 3:3 + PIXELS] * upstream).sum(), 1e-4)
        else:
            expect(d[0][100, 200], (upstream[95:106, 195:206].astype(np.float64) * kernel[::-1, ::-1]).sum())
        return call, wait

    def tiny():
        def loss(a, b, c):
            for _ in range(5):
                a = a * b + c
            return jnp.sum(a)
        a, b, c = inputs(3, 1024, 0.5, 1.5)
        call, d = compiled(loss, [a, b, c], (0, 1, 2))
        expect(d[0], b.astype(np.float64) ** 5)
        return call, wait
    return {"grad_math": math, "grad_table_1": lambda: table(1), "grad_table_100": lambda: table(100),
            "grad_table_10000": lambda: table(10000), "grad_logsumexp": lambda: rows(False),
            "grad_softmax": lambda: rows(True), "grad_conv_image": lambda: conv(0),
            "grad_conv_kernel": lambda: conv(1), "grad_tiny_prepared": tiny}


def drjit_rows(inputs):
    import drjit as dr
    from drjit.llvm.ad import Float, Int

    def backward(make, arguments):
        """Returns a call that computes the loss and the derivatives by `arguments`."""
        def call():
            fresh = [dr.detach(a) for a in arguments]
            dr.enable_grad(*fresh)
            loss = make(*fresh)
            dr.backward(loss)
            d = [dr.grad(a) for a in fresh]
            dr.eval(loss, *d)
            return d
        return call, call()

    def math():
        px, pt = inputs(2, 1 << 24, 0.01, 8)
        x, t, a, b = Float(px), Float(pt), dr.opaque(Float, 1.5), dr.opaque(Float, 0.3)
        call, d = backward(lambda x, a, b: dr.sum(dr.square(dr.cos(x / a + b) + dr.exp(-x * x) * dr.sqrt(x) - t)),
                           [x, a, b])
        expect(d[0].numpy(), math_slope(px, pt))
        return call, dr.sync_thread

    def table(size):
        values, index, want = table_inputs(inputs, size)
        k = Int(index)
        call, d = backward(lambda table: dr.sum(dr.square(dr.gather(Float, table, k))), [Float(values)])
        expect(d[0].numpy(), want, 1e-2)
        return call, dr.sync_thread
    return {"grad_math": math, "grad_table_1": lambda: table(1), "grad_table_100": lambda: table(100),
            "grad_table_10000": lambda: table(10000)}
