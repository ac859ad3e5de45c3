"""Derivatives of programs: nested ones, arguments that repeat memory, and what programs do with arrays on the way. Expected
values are closed forms."""
import pytest

import weft
import weft.xp

numpy = pytest.importorskip("numpy")

V = numpy.array([1.0, 2.0, 3.0])
D = numpy.array([1.0, -1.0, 2.0])


# ---- nested derivatives ----------------------------------------------------------------------------------------------


def test_the_closure_of_a_nested_function_is_constant_for_it():
    x = weft.asarray(V)
    nested = weft.grad(lambda x: weft.sum(weft.grad(lambda y: weft.sum(y * y * x))(x)))
    assert nested(V).tolist() == (4 * V).tolist() == nested(x).tolist()
    with weft.tape(weft.asarray([5.0])):  # a tape that does not watch the array
        assert weft.grad(lambda y: weft.sum(y * x))(x).tolist() == V.tolist()
        value, slope = weft.value_and_grad(lambda y: weft.sum((y - x) ** 2))(x)
        assert value.item() == 0 and slope.tolist() == [0, 0, 0]
    with weft.tape(x) as t:
        found = weft.sum(weft.grad(lambda y: weft.sum(y * y * x))(x) * D)
    assert t.grad(found, x).tolist() == (4 * V * D).tolist()


def test_steps_of_a_nested_descent():
    def loss(x):
        slope = weft.grad(lambda q: weft.sum(q * q * x))(x)
        return weft.sum((x - 0.1 * slope) ** 2)

    value, found = weft.value_and_grad(loss)(V)
    moved = V - 0.2 * V * V
    assert numpy.isclose(value.item(), (moved**2).sum()) and value.item() == loss(weft.asarray(V)).item()
    assert numpy.allclose(found, 2 * moved * (1 - 0.4 * V))


def test_nested_functions_that_use_the_memory_of_the_argument():
    def cube(x):
        return weft.sum(x**3 * V)  # the argument is V, too

    for x in (V, weft.asarray(V)):
        assert weft.grad(lambda x: weft.sum(weft.grad(cube)(x) * D))(x).tolist() == (6 * V * V * D).tolist()


# ---- arguments -------------------------------------------------------------------------------------------------------


def test_arguments_that_repeat_memory():
    factor = numpy.arange(6.0).reshape(3, 2)
    rows = numpy.broadcast_to(numpy.array([1.0, 2.0]), (3, 2))
    windows = numpy.lib.stride_tricks.sliding_window_view(numpy.arange(5.0), 3)
    for wrap in (lambda x: x, weft.asarray):
        assert weft.grad(lambda x: weft.sum(x * factor))(wrap(rows)).tolist() == factor.tolist()
        assert weft.grad(lambda x: weft.sum(x * x))(wrap(windows)).tolist() == (2 * windows).tolist()


def test_arguments_that_the_function_changes():
    def loss(x):
        x *= 3
        return weft.sum(x * x)

    for x in (V.copy(), weft.asarray(V.copy())):
        assert weft.grad(loss)(x).tolist() == (18 * V).tolist() and numpy.array_equal(x, V)


# ---- NumPy and numbers of Python on the way --------------------------------------------------------------------------


def differences(function, x):
    """The derivative by central differences."""
    found = numpy.empty_like(x)
    for k in range(x.size):
        step = numpy.zeros_like(x)
        step.flat[k] = 1e-5
        found.flat[k] = (function(weft.asarray(x + step)).item() - function(weft.asarray(x - step)).item()) / 2e-5
    return found


@pytest.mark.parametrize("function", [
    lambda a: numpy.dot(a, a), lambda a: numpy.sum(numpy.outer(a, a * V)), lambda a: numpy.tensordot(a, a, axes=1),
    lambda a: numpy.sum(numpy.concatenate([a, V, a * a])), lambda a: numpy.sum(numpy.diff(a) ** 2),
    lambda a: numpy.sum(numpy.stack([a, a * a], axis=1)), lambda a: numpy.sum(numpy.cumprod(a)),
    lambda a: numpy.sum(numpy.take(a, [0, 0, 1]) ** 2), lambda a: numpy.sum(numpy.take_along_axis(a, numpy.array([2, 0]), 0)),
    lambda a: numpy.sum(numpy.repeat(a, 2) ** 2), lambda a: numpy.sum(numpy.tile(a, 2) ** 2),
    lambda a: numpy.sum(numpy.roll(a, 1) * a * V), lambda a: numpy.quantile(a, 0.3), lambda a: numpy.percentile(a, 30),
    lambda a: numpy.linalg.norm(a) ** 3, lambda a: numpy.linalg.norm(numpy.outer(a, a), axis=1)[1],
])
def test_functions_of_numpy_that_weft_has(function):
    assert numpy.allclose(weft.grad(function)(V), differences(function, V), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("function, text", [
    (lambda a: numpy.inner(a, a), "numpy.inner computes in NumPy"), (lambda a: numpy.linalg.norm(a, 1), "norm"),
    (lambda a: numpy.einsum("i,i", a, a), "einsum"), (lambda a: numpy.pad(a, 1).sum(), "pad"),
    (lambda a: weft.sum(abs(numpy.fft.fft(a))), r"weft\.fft\.fft may have one"),
    (lambda a: numpy.interp(1.5, V, a), "interp"), (lambda a: numpy.vstack([V, a]).sum(), "vstack"),
    (lambda a: numpy.select([V > 1], [a]).sum(), "select"),
    (lambda a: numpy.array([a[0], a[1]]).sum(), "x.item"), (lambda a: weft.sum(numpy.asarray(a)), "x.numpy"),
    (lambda a: weft.sum(memoryview(a)), "x.numpy"), (lambda a: weft.sum(weft.from_dlpack(a)), "x.numpy"),
    (lambda a: float(a[0]) * a[1], "x.item"), (lambda a: complex(a[0]).real * a[1], "x.item"),
    (lambda a: weft.sum(weft.signal.gaussian_filter(a, [a[0]])), "x.item"),
    (lambda a: weft.quantile(a, a[0] / 4), "x.item"), (lambda a: weft.percentile(a, a), "x.item"),
    (lambda a: weft.sum(weft.linspace(a[0], a[1], 3)), "x.item"), (lambda a: weft.xp.asarray([a[0], 1.0])[0], "x.item"),
])
def test_conversions_are_no_silent_constants(function, text):
    with pytest.raises(weft.UnsupportedError, match=text):
        weft.grad(function)(V)
    assert numpy.isfinite(numpy.asarray(function(weft.asarray(V)))).all()  # without derivatives


@weft.kernel
def squares(i, a, out):
    out[i] = a[i] * a[i]


def stored_in_numpy(write):
    def loss(a):
        out = numpy.zeros(3)
        write(a, out)
        return weft.sum(out)

    return loss


def recorded(a, out):
    g = weft.Graph()
    g.output(out, g.input(a) * 2)
    g.run()


def by_index(a, out):
    def copy(i):
        out[i] = a[i]

    weft.iwise(3)(copy)


def add_to(a, out):
    out += a


def copy_rule(a, out):
    weft.custom_arrays(lambda inputs, outputs: outputs[0].__setitem__(..., inputs[0]), lambda *k: None)([a], [out])


@pytest.mark.parametrize("write", [
    squares, lambda a, out: out.__setitem__(..., a), lambda a, out: out.__setitem__(0, a[1]),
    lambda a, out: numpy.sin(a, out=out), lambda a, out: weft.ewise(lambda x: x * x, a, out=out),
    lambda a, out: numpy.add.at(out, [0, 1, 1], a), add_to, copy_rule, recorded, by_index,
    lambda a, out: weft.evaluate("a*a", out=out), lambda a, out: weft.reduce(lambda x: x, a[None], axis=0, out=out),
    lambda a, out: weft.fft.filter(a[None], lambda v, i, j: v * 2, out=out[None]),
])
def test_arrays_of_numpy_are_no_silent_constants_when_written(write):
    loss = stored_in_numpy(write)
    for _ in range(2):  # kernels are known at the second call
        with pytest.raises((weft.UnsupportedError, ValueError)):  # of NumPy for a single element
            weft.grad(loss)(V)
        loss(weft.asarray(V))


def test_kernels_that_write_to_numpy_arrays_of_their_closure():
    held = numpy.zeros(3)

    @weft.kernel
    def into_closure(i, /, a):
        held[i] = a[i] * 2

    g = weft.Graph()
    g.output(held, g.input(g.formal("a", weft.f64, 1)) * 2)
    for write in (into_closure[3], g.compile("a")):
        write(weft.asarray(V))  # without a tape
        assert held.tolist() == (2 * V).tolist()
        for _ in range(2):
            with pytest.raises(weft.UnsupportedError, match="memory of another library"):
                weft.grad(lambda a: (write(a), weft.sum(held))[1])(V)
        weft.grad(lambda a: (write(weft.asarray(V)), weft.sum(a * held))[1])(V)  # a constant


def test_what_does_not_depend_on_watched_arrays_goes_anywhere():
    def loss(a):
        out, b = numpy.zeros(3), weft.asarray(V)
        squares(b, out)
        numpy.add.at(out, [0], b[0])
        return weft.sum(a * out) + float(numpy.linalg.norm(b)) * a[0] + float(b[1]) * a[1]

    expected = V * V + numpy.array([1 + numpy.sqrt(14), 2, 0])
    assert numpy.allclose(weft.grad(loss)(V), expected)


def test_constants_that_a_program_asks_for():
    def loss(a):
        if a[0].item() > 0 and a[0] > 0 and f"{a[0]:.1f}" == "1.0" and "1" in str(a):
            return weft.sum(a * a.numpy()) * a.tolist()[0]
        return weft.sum(a)

    assert weft.grad(loss)(V).tolist() == V.tolist()
    x = weft.asarray(V)
    with weft.tape(x) as t:
        y = x * x
        loss = weft.sum(y)
    assert float(loss) == 14 and numpy.asarray(y).tolist() == [1, 4, 9] and t.grad(loss, x).tolist() == [2, 4, 6]


def test_rules_get_plain_arrays():
    def call(inputs, outputs):
        numpy.asarray(outputs[0])[...] = numpy.exp(numpy.asarray(inputs[0]))

    def back(inputs, outputs, upstream, grads):
        numpy.asarray(grads[0])[...] = numpy.asarray(upstream[0]) * numpy.asarray(outputs[0])

    def loss(a):
        out = weft.empty(3, "f64")
        weft.custom_arrays(call, back)([a * 2], [out])
        return weft.sum(out)

    assert numpy.allclose(weft.grad(loss)(V), 2 * numpy.exp(2 * V))


def test_frozen_functions():
    square = weft.freeze(lambda a: a * a)
    slope = weft.grad(lambda a: weft.sum(square(a)))
    for k in range(3):
        assert slope(V + k).tolist() == (2 * (V + k)).tolist()
        assert square(V + k).tolist() == ((V + k) ** 2).tolist()
    x = weft.asarray(V)
    with weft.tape(x) as t:
        losses = [weft.sum(square(square(x))) for _ in range(2)]
    for loss in losses:
        assert numpy.allclose(t.grad(loss, x), 4 * V**3)


# ---- what a tape or a lazy array does not know -----------------------------------------------------------------------


def test_a_tape_refuses_what_it_does_not_know():
    x = weft.asarray(V)
    with weft.tape(x) as t:
        loss = weft.sum(x * x)
    for wrong in (float(loss), loss.numpy(), 3):
        with pytest.raises(TypeError, match="the loss is"):
            t.grad(wrong, x)
    for wrong in (V, [x, V], 3.0):
        with pytest.raises(TypeError, match="arrays that the tape watches"):
            t.grad(loss, wrong)
    assert t.grad(loss, [x])[0].tolist() == (2 * V).tolist()


def test_functions_that_do_not_depend_on_an_argument():
    assert weft.grad(lambda a: weft.sum(weft.asarray(V)))(V).tolist() == [0, 0, 0]
    by_a, by_b = weft.grad(lambda a, b: weft.sum(a * a), (0, 1))(V, V)
    assert by_a.tolist() == (2 * V).tolist() and by_b.tolist() == [0, 0, 0]


def test_derivatives_of_lazy_arrays():
    x, one = weft.asarray(V), weft.asarray([2.0])
    with weft.lazy():
        y = weft.sin(x)
        assert numpy.allclose(weft.vjp(y, D, x), D * numpy.cos(V)) and numpy.allclose(weft.jvp(y, x, D), D * numpy.cos(V))
        assert weft.grad(one * one * one, one).tolist() == [12]
        for loss in (weft.sum(x * x) * 0.5, y[0] * y[1], weft.matmul(x, x) * 2):
            assert loss.is_lazy
            with pytest.raises(ValueError, match="by no lazy operation"):
                weft.grad(loss, x)
        with pytest.raises(ValueError, match="by no lazy operation"):
            weft.grad(one * one, [one, x])
    with pytest.raises(ValueError, match="has been computed"):
        weft.grad(weft.sum(x), x)


# ---- values of recordings: nested derivatives and minimization -------------------------------------------------------

X = numpy.array([0.5, -1.2, 0.8, 1.5, -0.3, 0.9])
W = numpy.array([1.0, 2.0, -1.0, 0.5, 3.0, -2.0])
PLACES = numpy.array([[0, 5], [3, 3]])


@pytest.mark.parametrize("function", [
    lambda x: (W * x).sum() ** 3, lambda x: weft.sum((W - x) ** 3 / (W**2 + 1)), lambda x: (W @ x) ** 3, lambda x: (x @ W) ** 3,
    lambda x: weft.sum(numpy.exp(x) * numpy.float32(2)), lambda x: numpy.sum(numpy.maximum(W, x) ** 3),
    lambda x: numpy.dot(x, W) * numpy.mean(x**2), lambda x: numpy.var(x) ** 2, lambda x: numpy.linalg.norm(x) ** 3,
    lambda x: weft.sum(weft.roll(x, 2) ** 3 * W), lambda x: weft.sum(weft.roll(x.reshape(2, 3), (1, 1), (0, 1)) ** 3 * W.reshape(2, 3)),
    lambda x: weft.sum(weft.concatenate([x, W, x * x]) ** 2 * numpy.arange(18.0)), lambda x: weft.sum(weft.stack([x, W], 1)[:, 0] ** 3),
    lambda x: weft.sum(weft.tile(x, (2, 2)) ** 3), lambda x: weft.sum(weft.repeat(x, 2) ** 3 * numpy.arange(12.0)),
    lambda x: weft.sum(weft.repeat(x.reshape(2, 3), [1, 2], 0) ** 3), lambda x: weft.sum(weft.take(x, PLACES) ** 3),
    lambda x: weft.sum(x[PLACES] ** 3 * W[PLACES]), lambda x: weft.sum(x.reshape(2, 3)[[1, 0, 1], 1:] ** 3),
    lambda x: weft.sum(x[W > 0] ** 3), lambda x: weft.sum(x.reshape(2, 3)[:, [2, 0]].T @ W[:2]) ** 3,
    lambda x: weft.sum(weft.take_along_axis(x.reshape(2, 3), numpy.array([[2], [0]]), 1) ** 3),
    lambda x: weft.tensordot(x.reshape(2, 3), x.reshape(3, 2), 1).sum() ** 2, lambda x: weft.dot(x.reshape(2, 3), x[:3]).sum() ** 2,
    lambda x: weft.norm(x) ** 3, lambda x: weft.norm(x.reshape(2, 3), "l2", 1).sum() ** 2,
    lambda x: weft.sum(weft.ewise(lambda a: a**3, x)), lambda x: weft.sum(weft.outer(x, x) ** 2),
])
def test_second_derivatives_of_operations(function):
    step, along = 1e-5, numpy.array([0.3, -0.5, 0.7, 0.2, 0.9, -0.4])
    first = weft.grad(function)
    second = weft.grad(lambda x: weft.sum(first(x) * along))(X)
    differences = (first(X + step * along).numpy() - first(X - step * along).numpy()) / (2 * step)
    assert numpy.allclose(second, differences, rtol=1e-6, atol=1e-6)


def test_values_are_those_of_numpy():
    g = weft.Graph()
    a = numpy.arange(12.0).reshape(3, 4)
    x = g.input(a)
    mask, places = a % 2 > 0, numpy.array([2, 0, 2])
    cases = [(x[places], a[places]), (x[:, places], a[:, places]), (x[mask], a[mask]), (x[places, 1:], a[places, 1:]),
             (x[places, places], a[places, places]), (x[-1, [0, -1]], a[-1, [0, -1]]), (x[None, places], a[None, places]),
             (x[numpy.int64(1)], a[1]), (x[mask[:, 0]], a[mask[:, 0]]), (weft.tile(x, (2, 1, 2)), numpy.tile(a, (2, 1, 2))),
             (weft.repeat(x, 2), numpy.repeat(a, 2)), (weft.concatenate([x, a.astype("f4"), x], 1), numpy.hstack([a, a, a])),
             (weft.concatenate([weft.ones((1, 4)), x]), numpy.vstack([numpy.ones((1, 4)), a])), (weft.flatten(x), a.ravel()),
             (weft.stack([x, a], -1), numpy.stack([a, a], -1)), (weft.roll(x, 3), numpy.roll(a, 3)),
             (weft.tensordot(x, a, ((0,), (0,))), numpy.tensordot(a, a, ((0,), (0,)))), (weft.norm(x, "l1"), abs(a).sum()),
             (weft.norm(x * 1j, "l2", 0), numpy.sqrt((a * a).sum(0))), (weft.norm(x, "max", axis=1), a.max(1)),
             (a - x, 0 * a), (a < x + 1, a < a + 1), (numpy.float64(2) * x, 2 * a), (numpy.float32(2) ** x, 2**a),
             (numpy.add.reduce(x), a.sum(0)), (numpy.where(mask, x, 0), numpy.where(mask, a, 0))]
    kept = [value.keep() for value, _ in cases]
    g.run()
    for made, (_, expected) in zip(kept, cases):
        assert made.shape == numpy.shape(expected) and numpy.allclose(made, expected)


def test_what_values_do_not_have_is_named():
    a = numpy.arange(12.0).reshape(3, 4)
    x = weft.Graph().input(a)
    assert numpy.shape(x) == (3, 4) and numpy.ndim(x) == 2
    for wrong, error in ((lambda: numpy.gcd(x, x), "weft has no function"), (lambda: a.copy().__iadd__(x), "g.output"),
                         (lambda: numpy.trace(x), "takes no value"), (lambda: weft.fft.fft(x), "value of a recording"),
                         (lambda: weft.sort(x), "functions of values are"), (lambda: squares(x, a[0]), "kernels take arrays"),
                         (lambda: x[x > 1], "not by values"), (lambda: weft.asarray(x), "value of a recording"),
                         (lambda: numpy.subtract.reduce(x), "with these arguments"), (lambda: x["a"], "is no")):
        with pytest.raises((TypeError, IndexError), match=error):
            wrong()
    with pytest.raises(IndexError):
        x[[3]]


def test_minimization_with_factors_of_numpy():
    factor = numpy.array([1.0, 2.0])
    for loss in (lambda p: (factor * p).sum() ** 2 + ((p - 1) ** 2).sum(), lambda p: (p * factor).sum() ** 2 + ((p - 1) ** 2).sum()):
        p = numpy.ones(2)
        weft.minimize(loss, p, gradient_tolerance=1e-10)
        assert numpy.allclose(p, numpy.linalg.solve(numpy.outer(factor, factor) + numpy.eye(2), numpy.ones(2)), atol=1e-6)


def test_a_tape_gives_derivatives_after_its_block():
    x = weft.asarray(V)
    with weft.tape(x) as t:
        loss = weft.sum(x * x)
        with pytest.raises(ValueError, match="after the block"):
            t.grad(loss, x)
        slope = weft.grad(lambda x: weft.sum(x**3))(x)
        along = weft.sum(slope * D)
    assert t.grad(along, x).tolist() == (6 * V * D).tolist()


# ---- views that are changed in place ---------------------------------------------------------------------------------


def scaled_part(a):
    b = a * 2
    b[1:] *= 3
    b[0] *= b[1]
    b[::2] += a[::2]
    return weft.sum(b * b)


def diffused(a):
    u = a.copy()
    for _ in range(3):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return weft.sum(u * u)


def shifted(a):
    u = a * a
    u[1:] = u[:-1]
    u[1:] += u[:-1]
    u[:] = u[::-1]
    u *= u[1]
    return weft.sum(u**3 * X)


def rows(a):
    b = a.reshape(2, 3) * 1
    b.T[0] *= 2
    b[:, 1:] -= b[:, :1]
    b[1, None] *= b[0]
    b[[0, 1], [1, 1]] *= 3
    b[b > 1] *= b[b > 1]
    return weft.sum(b * b)


def own_view(a):
    c = a[1:]
    c *= 2
    a[1:] = c
    a[...] = a
    a[0] = a[1]
    return weft.sum(a * a)


@pytest.mark.parametrize("function", [scaled_part, diffused, shifted, rows, own_view])
def test_views_that_are_changed(function):
    assert numpy.allclose(weft.grad(function)(X), differences(lambda x: function(x.copy()), X), rtol=1e-5, atol=1e-6)


def test_a_kernel_that_reads_what_it_stores_elsewhere_is_refused():
    def loss(a):
        b = a * 2
        weft.ewise(lambda x, y: x * y, b[:-1], b[:-1], out=b[1:])
        return weft.sum(b)

    with pytest.raises(weft.UnsupportedError, match="a copy in place of the view that is read"):
        weft.grad(loss)(X)


# ---- numbers as arguments of kernels ---------------------------------------------------------------------------------


@weft.kernel
def scale(i, a, s, out):
    factor = weft.exp(s) if s > 0 else -s
    out[i] = a[i] * s + factor * 2 - s / (1 + a[i]) + weft.maximum(s, 0.5)


def test_numbers_that_a_kernel_gets_have_derivatives():
    def loss(a, s):
        out = weft.empty(3, "f64")
        scale(a, s, out)
        return weft.sum(out * D)

    def expected(s):
        slope = numpy.exp(s) if s > 0 else -1
        return D * s + D * s / (1 + V) ** 2, (D * (V + 2 * slope - 1 / (1 + V) + (s > 0.5))).sum()

    for s in (2.0, -0.5):
        by_a, by_s = weft.grad(loss, (0, 1))(V, s)
        for found, wanted in zip((by_a, by_s), expected(s)):
            assert numpy.allclose(found, wanted)
        values = [loss(V, number).item() for number in (s, numpy.array(s), weft.asarray(s), numpy.float64(s))]
        assert numpy.allclose(values, values[0])


def test_arrays_without_axes_in_kernels_are_written_by_index():
    @weft.kernel
    def total(i, /, a, s, out):
        out[()] += a[i] * s
        a[i] = s

    a, out = V.copy(), numpy.zeros(())
    total(a, numpy.array(3.0), out)
    assert out == 18 and a.tolist() == [3, 3, 3]


def test_checks_of_rules_without_a_forward_derivative():
    def rectified(slope):
        return weft.custom(lambda x: weft.maximum(x, 0), vjp=lambda inputs, outputs, seeds: seeds[0] * slope(inputs[0]))

    right, wrong = rectified(lambda x: weft.where(x > 0, 1.0, 0.0)), rectified(lambda x: weft.where(x > 0, 2.0, 0.0))
    x = numpy.array([1.0, -2.0, 3.0])
    found = weft.check_gradient(lambda p: (right(p) ** 2).sum(), x)
    assert not found["differs"] and numpy.isnan(found["forward"])
    assert weft.check_gradient(lambda p: (wrong(p) ** 2).sum(), x)["differs"]


def test_interpolation_at_elements():
    """The slope at an element, where a division by the distance of 0 is replaced, is that of the kernel's formula."""
    values = numpy.random.default_rng(4).normal(size=15)

    def formula(x, a):
        i = numpy.arange(int(numpy.floor(x)) - a + 1, int(numpy.floor(x)) + a + 1)
        weight = numpy.sinc(x - i) * numpy.sinc((x - i) / a)
        return (weight * values[i]).sum() / weight.sum()

    for a in (2, 3, 4):
        read = lambda at: weft.sum(weft.xform.warp(values, at, f"lanczos{2 * a}", border="mirror"))
        for x in (7.0, 6.75):
            slope = float(weft.grad(read)(numpy.array([[x]]))[0, 0])
            assert abs(slope - (formula(x + 1e-5, a) - formula(x - 1e-5, a)) / 2e-5) < 1e-5
        assert float(read(numpy.array([[7.0]]))) == values[7]
    volume, step = numpy.random.default_rng(5).normal(size=(8, 8, 8)), numpy.random.default_rng(6).normal(size=(1, 3, 3))
    loss = lambda r: weft.sum(weft.sin(weft.project.project(volume, r, interpolation="lanczos4")))
    unit, h = numpy.eye(3)[None], 1e-6
    along = (numpy.asarray(weft.grad(loss)(unit)) * step).sum()
    assert abs(along - (float(loss(unit + h * step)) - float(loss(unit - h * step))) / (2 * h)) < 1e-4 * abs(along)


def test_slopes_where_roots_are_zero():
    y, x = numpy.mgrid[:9, :9] - 4.0
    shapes, at = weft.xform, numpy.array([2.1, 3.1])
    edge = lambda distance: weft.sum(weft.signal.soft_edge(distance, 2.0))
    sphere = lambda p: edge(shapes.sdf_sphere((y - p[0], x - p[1]), 2.0))
    assert numpy.allclose(weft.grad(sphere)(numpy.zeros(2)), 0)  # by symmetry
    for solid in (
        lambda half: edge(shapes.sdf_box((y, x), (half[0], half[1]))),
        lambda half: edge(shapes.sdf_cylinder((y, x), half[0], half[1])),
    ):
        assert numpy.allclose(weft.grad(solid)(at), differences(solid, at), rtol=1e-6)
    for solid in (
        lambda p: weft.sum(shapes.sdf_box((p[0], p[1]), (2.0, 3.0))),
        lambda p: weft.sum(shapes.sdf_cylinder((p[0], p[1]), 3.0, 2.0)),
    ):
        assert numpy.allclose(weft.grad(solid)(numpy.array([2.0, 1.0])), [1, 0])  # on a side, as on both sides of it
        assert numpy.allclose(weft.grad(solid)(numpy.array([0.5, -3.0])), [0, -1])
    weight = lambda v: weft.sum(weft.signal.fsc_weight(v))
    slopes = weft.grad(weight)(numpy.array([0.0, 0.5, -0.1]))
    assert numpy.allclose(slopes, [0, 1 / ((2 / 3) ** 0.5 * 1.5**2), 0])
