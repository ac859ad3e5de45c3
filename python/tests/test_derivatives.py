"""Derivatives, minimization, and other functions that call functions of Python."""
from typing import NamedTuple

import pytest

import weft

numpy = pytest.importorskip("numpy")


def test_gradients_of_values():
    a, b = numpy.arange(1.0, 4.0), numpy.array([2.0, -1.0, 0.5])
    g = weft.Graph()
    x, y = g.input(a), g.input(b)
    loss = (x * x * y).sum()
    dx, dy = weft.grad(loss, [x, y])
    one = weft.grad(loss, x)
    kept = [v.keep() for v in (dx, dy, one)]
    g.run()
    assert kept[0].tolist() == (2 * a * b).tolist() == kept[2].tolist() and kept[1].tolist() == (a * a).tolist()


def test_products_with_the_jacobian():
    a = numpy.arange(1.0, 4.0)
    g = weft.Graph()
    x = g.input(a)
    y = x * x
    back, forth = weft.vjp([y], [g.input(numpy.ones(3))], x).keep(), weft.jvp(y, [x], [2.0]).keep()
    rounded = weft.derivatives.replace_gradient(weft.ops.round(x), x)
    assert weft.depends(y, x) and not weft.depends(weft.derivatives.stop(y), [x])
    through = weft.grad(rounded.sum(), x).keep()
    with pytest.raises(ValueError):
        weft.vjp([y], [1.0, 2.0], x)
    g.run()
    assert back.tolist() == (2 * a).tolist() and forth.tolist() == (4 * a).tolist() and through.tolist() == [1, 1, 1]


def test_tapes():
    x = weft.asarray([1.0, 2.0, 3.0])
    w = weft.asarray([[1.0, 0.0, 2.0]])
    with weft.tape(x, w) as t:
        assert weft.is_taped(x * 2) and not weft.is_taped(weft.zeros(3))
        y = weft.matmul(w, (x * x)[:, None])
        loss = weft.sum(weft.sort(y) * 2)
    assert not weft.is_taped(x)
    dx, dw = t.grad(loss, [x, w])
    assert dx.tolist() == [4, 0, 24] and dw.tolist() == [[2, 8, 18]]
    assert t.grad(loss, x).tolist() == [4, 0, 24]
    with pytest.raises(weft.Error):
        t.grad(y * weft.zeros((2, 1)), x)
    with pytest.raises(ValueError):
        weft.tape(x).grad(loss, x)
    with pytest.raises(TypeError):
        weft.tape(3.0)


def test_tapes_of_transforms():
    x = weft.asarray(numpy.arange(24.0).reshape(4, 6))
    with weft.tape(x) as t:
        power = weft.sum(weft.abs(weft.fft.rfft2(x)) ** 2)
        back = weft.sum(weft.fft.irfft2(weft.fft.rfft2(x)) * 3)
        repeated = weft.sum(weft.broadcast_to(x[0], (5, 6)) * 2)
    spectrum = numpy.fft.rfft2(numpy.asarray(x))
    want = numpy.zeros((4, 6))
    for (k, m), value in numpy.ndenumerate(spectrum):
        wave = numpy.exp(2j * numpy.pi * (k * numpy.arange(4)[:, None] / 4 + m * numpy.arange(6) / 6))
        want += 2 * (value * wave).real
    assert numpy.allclose(t.grad(power, x), want)
    assert numpy.allclose(t.grad(back, x), 3)
    assert numpy.array_equal(t.grad(repeated, x), [[10] * 6] + [[0] * 6] * 3)


def test_tapes_of_lines():
    x = weft.asarray(numpy.linspace(-1, 2, 12).reshape(2, 6))
    with weft.tape(x) as t:
        power = weft.sum(weft.abs(weft.fft.czt(x, count=4, first=0.1, step=0.05, radius=1.1)) ** 2)
        energy = weft.sum(weft.xform.spline_filter(x, 1, "reflect") ** 2)
    z = 1.1 * numpy.exp(2j * numpy.pi * (0.1 + 0.05 * numpy.arange(4)))
    chirp = z[:, None] ** -numpy.arange(6)
    want = 2 * (numpy.asarray(x) @ chirp.T @ chirp.conj()).real
    assert numpy.allclose(t.grad(power, x), want)
    spline = (4 * numpy.eye(6) + numpy.eye(6, k=1) + numpy.eye(6, k=-1)) / 6
    spline[0, 1] = spline[5, 4] = 1 / 3
    filtered = numpy.linalg.inv(spline)
    assert numpy.allclose(t.grad(energy, x), 2 * numpy.asarray(x) @ filtered.T @ filtered)


def test_derivatives_of_operators():
    n = 6
    a, out = weft.asarray(numpy.arange(float(n))), weft.zeros(n, "f64")

    def operator():
        g = weft.Graph(shape=(n,))
        v = g.read(a, g.index(0) + 1, border="clamp")
        g.output(out, v * v)
        return g

    grads = weft.zeros(n, "f64")
    weft.derivatives.adjoint(graph=operator(), outs=[out], upstream=[weft.ones(n, "f64")], wrt=[a], grads=[grads])
    expected = numpy.zeros(n)
    for i in range(n):
        expected[min(i + 1, n - 1)] += 2 * min(i + 1, n - 1)
    assert grads.tolist() == expected.tolist()
    tangents = weft.zeros(n, "f64")
    ones = weft.ones(n, "f64")
    weft.derivatives.tangent(graph=operator(), wrt=[a], directions=[ones], outs=[out], tangents=[tangents])
    assert tangents.tolist() == [2 * min(i + 1, n - 1) for i in range(n)]
    with pytest.raises(TypeError):
        weft.derivatives.adjoint(3, [out], [out], [a], [grads])


@pytest.mark.parametrize("method", ["lbfgs", "adam", "descent"])
def test_minimization(method):
    target = numpy.array([1.0, -2.0, 3.0])
    x, scale = weft.zeros(3, "f64"), weft.ones((), "f64")
    calls, seen = [], []

    def loss(p, s):
        calls.append(p.graph)
        return ((p - target) ** 2).sum() + (s - 4) ** 2

    found = weft.minimize(loss, [x, scale], method, rate={"lbfgs": 0.0, "adam": 0.1, "descent": 0.1}[method],
                          each=lambda now: seen.append(now["loss"]))
    assert len(calls) == 1 and numpy.allclose(x, target, atol=1e-3) and abs(scale.item() - 4) < 1e-3
    assert (
        found["loss"] < 1e-6
        and found["reason"] in ("gradient", "loss", "iterations", "search")
        and len(seen) >= found["iterations"]
    )
    with pytest.raises(weft.ContractError):
        calls[0].run()


def test_minimization_that_ends_early():
    x = weft.asarray(numpy.array([5.0, 5.0]))
    assert weft.minimize(lambda p: (p * p).sum(), x, each=lambda now: False)["reason"] == "callback"
    with pytest.raises(ZeroDivisionError):
        weft.minimize(lambda p: 1 / 0, x)
    with pytest.raises(ZeroDivisionError):
        weft.minimize(lambda p: (p * p).sum(), x, each=lambda now: 1 / 0)
    for wrong in (lambda p: p, lambda p: None, lambda p: "a", lambda p: p.graph.run(), lambda p: p.graph.drop(),
                  lambda p: p.graph.compile(), lambda p: p.graph.eval(), lambda p: p.reshape(7), lambda: 1, 3):
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            weft.minimize(wrong, x)
    fixed = numpy.zeros(2)
    fixed.flags.writeable = False
    with pytest.raises((ValueError, BufferError, TypeError)):
        weft.minimize(lambda p: (p * p).sum(), [fixed])
    b = numpy.array([3.0, 4.0])
    weft.minimize(lambda p: (p * p).sum(), [b])
    assert abs(b).max() < 1e-4


def test_checks_of_gradients():
    x = numpy.array([0.5, 1.5])
    assert not weft.check_gradient(lambda p: weft.ops.sin(p).sum(), [x])["differs"]
    wrong = weft.check_gradient(lambda p: weft.derivatives.replace_gradient(weft.ops.sin(p), p).sum(), [x])
    assert wrong["differs"] and wrong["text"]


def test_filters_of_functions():
    a = numpy.random.default_rng(1).normal(size=(8, 8)).astype("f4")
    s = weft.signal

    def band(ky, kx):
        return s.lowpass(weft.ops.sqrt(ky * ky + kx * kx), 0.25, 0.1)

    by_image = s.image_filter(a, band)
    spectrum = s.spectrum_filter(weft.fft.rfft2(a), (8, 8), band)
    assert numpy.allclose(by_image, weft.fft.irfft2(spectrum), atol=1e-5)
    factor = s.spectrum_filter(None, (8, 8), band, out=weft.empty((8, 5)))
    assert factor[0, 0].item() == 1 and factor[4, 4].item() == 0
    assert numpy.allclose(weft.fft.filter(a, lambda v, i, j: v * 2), 2 * a, atol=1e-5)
    out = weft.empty((8, 8))
    assert s.image_filter(a, lambda *k: 1, out=out) is out and numpy.allclose(out, a, atol=1e-5)
    with pytest.raises(KeyError):
        s.image_filter(a, lambda *k: {}[1])
    with pytest.raises(TypeError):
        s.image_filter(a, 3)
    with pytest.raises((TypeError, ValueError)):
        s.image_filter(a, lambda *k: "text")


def test_random_numbers_of_points_and_textures():
    g = weft.Graph(shape=(1000,))
    rng = weft.random.Pcg32(g, 42, g.index(0))
    out, wide, bits = weft.empty(1000), weft.empty(1000, "f64"), weft.empty(1000, "u32")
    g.output(out, rng.f32())
    g.output(wide, rng.f64())
    g.output(bits, rng.u32())
    rng.advance(-1)
    again = weft.empty(1000, "u32")
    g.output(again, rng.u32())
    g.run()
    assert abs(out.mean().item() - 0.5) < 0.05 and abs(wide.mean().item() - 0.5) < 0.05 and (bits == again).all()
    image = numpy.arange(12.0, dtype="f4").reshape(3, 4)
    assert weft.texture_read(image, (1.0, weft.asarray([1.5, 2.0], "f4")), pixels=True).tolist() == [5.5, 6]
    colours = weft.texture_read(numpy.stack([image, 2 * image], -1), (1.0, weft.asarray([1.0])), 2, pixels=True)
    assert [c.item() for c in colours] == [5, 10]
    with pytest.raises(ValueError):
        weft.texture_read(image, (0.0, 0.0), 65)


def test_tapes_watch_arrays_of_weft_only():
    with pytest.raises(TypeError, match=r"not ndarray: weft\.asarray"):
        weft.tape(numpy.zeros(3))


def test_history_and_devices():
    weft.history()
    with weft.flags(history=True):
        (weft.asarray([1.0, 2.0]) * 3.25).tolist()
    noted = weft.history()
    assert noted and noted[0]["points"] == 2 and noted[0]["ops"] >= 1
    assert noted[0]["code"] in ("none", "ready", "memory", "disk", "compiled", "library")
    assert weft.history() == []
    assert weft.device_count("cpu") == 1 and weft.device_info("cpu")["processors"] >= 1
    with pytest.raises(weft.DeviceError):
        weft.device_info("cuda:99")


def test_rules_of_values():
    seen = []

    def back(inputs, outputs, seeds):
        seen.append((len(inputs), len(outputs)))
        return seeds[0] * 10, None

    def forth(inputs, directions):
        return directions[0] * 20

    rule = weft.custom(lambda x, y: x * y, back, forth)
    g = weft.Graph()
    x, y = g.input([1.0, 2.0]), g.input([3.0, 4.0])
    z = rule(x, y)
    dx, dy = weft.grad(z.sum(), [x, y])
    kept = [v.keep() for v in (z, dx, weft.jvp(z, [x], [1.0]), dy + 0 * y)]
    g.run()
    assert [k.tolist() for k in kept] == [[3, 8], [10, 10], [20, 20], [0, 0]] and seen == [(2, 1)]
    a = weft.asarray([1.0, 2.0])
    assert rule(a, 3.0).tolist() == [3, 6]
    both = weft.custom(lambda x: (x + 1, x * 2), outs=2)
    assert [v.tolist() for v in both(a)] == [[2, 3], [2, 4]]
    with weft.tape(a) as t:
        loss = weft.sum(rule(a, 3.0))
    assert t.grad(loss, a).tolist() == [10, 10]
    for wrong, error in ((lambda x: 1 / 0, ZeroDivisionError), (lambda x: (x, x), ValueError), (lambda: 1, TypeError),
                         (lambda x: "a", TypeError)):
        with pytest.raises(error):
            weft.custom(wrong)(a)
    with pytest.raises(ZeroDivisionError):
        g = weft.Graph()
        x = g.input(a)
        weft.grad(weft.custom(lambda x: x, lambda *k: 1 / 0)(x).sum(), x)
    with pytest.raises(TypeError):
        weft.custom(3)
    assert (a + 1).tolist() == [2, 3]


def test_rules_of_arrays():
    def sort(inputs, outputs):
        numpy.asarray(outputs[0])[:] = numpy.sort(numpy.asarray(inputs[0]))

    def back(inputs, outputs, upstream, grads):
        numpy.asarray(grads[0])[numpy.argsort(numpy.asarray(inputs[0]))] = numpy.asarray(upstream[0])

    rule = weft.custom_arrays(sort, back)
    a, b = weft.asarray([3.0, 1.0, 2.0]), weft.empty(3, "f64")
    with weft.tape(a) as t:
        rule([a * 1], [b])
        loss = weft.sum(b * weft.asarray([1.0, 10.0, 100.0]))
    assert b.tolist() == [1, 2, 3] and t.grad(loss, a).tolist() == [100, 1, 10]
    with pytest.raises(ZeroDivisionError):
        weft.custom_arrays(lambda i, o: 1 / 0)([a], [b])
    with pytest.raises(ValueError):
        weft.custom_arrays(lambda i, o: i[0].fill(1))([a], [b])  # inputs are read-only


def test_limits_of_iterations():
    root = weft.fixed_point(lambda x, a: (x + a / x) / 2, turns=30)
    g = weft.Graph()
    a = g.input([4.0, 9.0])
    x = root(g.value(1.0, "f64") + a * 0, (a,))
    kept = [x.keep(), weft.grad(x.sum(), a).keep()]
    g.run()
    assert numpy.allclose(kept[0], [2, 3]) and numpy.allclose(kept[1], [1 / 4, 1 / 6])
    with pytest.raises(ValueError):
        root([1.0] * 8, ())


# ---- functions -------------------------------------------------------------------------------------------------------


def quadratic(w, x, y):
    return weft.mean((x @ w - y) ** 2)


def test_gradient_of_a_function():
    r = numpy.random.default_rng(1)
    w, x, y = r.normal(size=3), r.normal(size=(5, 3)), r.normal(size=5)
    rest = x @ w - y
    expected = 2 * x.T @ rest / 5
    grad = weft.grad(quadratic)
    assert grad.__name__ == "grad(quadratic)" and grad.__doc__ == quadratic.__doc__
    for _ in range(2):
        assert numpy.allclose(grad(w, x, y), expected)
    assert numpy.allclose(grad(weft.asarray(w), weft.asarray(x), y=y), expected)
    assert isinstance(grad(w, x, y), weft.Array)
    by_w, by_y = weft.grad(quadratic, argnums=(0, 2))(w, x, y)
    assert numpy.allclose(by_w, expected) and numpy.allclose(by_y, -2 * rest / 5)
    assert numpy.allclose(weft.grad(quadratic, -1)(w, x, y), by_y)
    (one,) = weft.grad(quadratic, (0,))(w, x, y)
    assert numpy.allclose(one, expected)
    value, found = weft.value_and_grad(quadratic)(w, x, y)
    assert numpy.isclose(value.item(), (rest**2).mean()) and value.shape == () and numpy.allclose(found, expected)


def test_gradient_of_any_code():
    def loss(x, kind):
        if kind == "odd":  # the control flow of Python sees contents
            return weft.sort(x)[0] if x[0].item() > 1 else (x * 3).sum()
        smooth = weft.signal.gaussian_filter(x, 1.0, border="periodic")
        return weft.ewise(lambda v: v * v if v > 2 else 2 * v, smooth).sum() + weft.reduce(lambda v: v, x)

    grad = weft.grad(loss)
    assert grad(numpy.array([2.0, 1.5]), "odd").tolist() == [0, 1]
    assert grad(numpy.array([1.0, 5.0]), "odd").tolist() == [3, 3]
    assert grad(numpy.ones(4, "f4"), "even").tolist() == [3, 3, 3, 3]
    assert grad(numpy.ones(4, "f4"), kind="even").dtype == weft.f32
    assert weft.grad(lambda x: 2 * x * x)(3.0).item() == 12 and weft.grad(lambda x: 2.0)(3.0).item() == 0
    assert weft.grad(lambda z: weft.sum(abs(z) ** 2))(numpy.array([1 + 2j])).tolist() == [2 + 4j]


def test_gradients_are_functions():
    class Model:
        slope = weft.grad(lambda self, x: (x * x * self.scale).sum(), 1)
        scale = 3.0

    assert Model().slope(numpy.ones(2)).tolist() == [6, 6]
    assert weft.ewise(weft.grad(lambda x: x * x * x), numpy.array([1.0, 2.0])).tolist() == [3, 12]


def test_other_uses_of_an_argument_are_constants():
    w = weft.asarray([1.0, 2.0])
    assert weft.grad(lambda x: (x * w).sum())(w).tolist() == [1, 2]
    both = weft.asarray([3.0]).broadcast_to((2,))
    assert weft.grad(lambda x: (x * x * w).sum())(both).tolist() == [6, 12]
    g = weft.Graph()
    x = g.input(w)
    kept = weft.grad(lambda y: (y * y * x).sum())(x).keep()
    g.run()
    assert kept.tolist() == [2, 8]


def test_auxiliary_results():
    def loss(x, scale):
        y = x * scale
        return y.sum(), {"y": y}

    grads, aux = weft.grad(loss, has_aux=True)(numpy.ones(2), 4.0)
    assert grads.tolist() == [4, 4] and aux["y"].tolist() == [4, 4]
    (value, aux), grads = weft.value_and_grad(loss, argnums=1, has_aux=True)(numpy.ones(2), 4.0)
    assert value.item() == 8 and grads.item() == 2 and aux["y"].tolist() == [4, 4]


def test_derivatives_of_derivatives():
    def cube(x, s):
        return weft.sum(x * x * x) * s

    second = weft.grad(lambda x: weft.sum(weft.grad(cube)(x, 2.0)))
    assert second(numpy.array([1.0, 2.0])).tolist() == [12, 24]
    third = weft.grad(lambda x: second(x).sum())
    assert third(numpy.array([1.0, 2.0])).tolist() == [12, 12]
    mixed = weft.grad(lambda s: weft.grad(cube)(weft.asarray([1.0, 2.0]), s).sum())  # by what the inner one uses
    assert mixed(2.0).item() == 15
    assert weft.grad(lambda x: weft.grad(lambda y: 3.0)(x).sum())(numpy.ones(2)).tolist() == [0, 0]

    def with_aux(x):
        slope, aux = weft.grad(lambda y: ((y**3).sum(), {"square": y * y, "name": "y", "parts": (y + 1, 2)}), has_aux=True)(x)
        assert isinstance(aux["square"], weft.Array) and aux["name"] == "y" and aux["parts"][1] == 2
        return (slope + aux["square"] * aux["parts"][0]).sum()

    a = numpy.array([1.0, 2.0])
    assert numpy.allclose(weft.grad(with_aux)(a), 6 * a + 3 * a * a + 2 * a)


class Layer(NamedTuple):
    weight: object
    bias: object


def of_parts(parts, x):
    """The sum of (weight * x + bias)^2 + 3 scale^2."""
    layer = parts["layers"][0]
    return weft.sum((layer.weight * x + layer.bias) ** 2) + 3 * parts["scale"] ** 2


def test_arguments_of_several_parts():
    parts = {"layers": [Layer(numpy.ones(3), 2.0)], "scale": 0.5, "name": None}
    x = numpy.arange(3.0)
    value, (slopes, by_x) = weft.value_and_grad(of_parts, argnums=(0, 1))(parts, x)
    inner = 2 * (x + 2)
    assert float(value) == ((x + 2) ** 2).sum() + 0.75
    assert list(slopes) == ["layers", "scale", "name"] and slopes["name"] is None and float(slopes["scale"]) == 3
    (layer,) = slopes["layers"]
    assert isinstance(layer, Layer)
    assert layer.weight.tolist() == (inner * x).tolist() and float(layer.bias) == inner.sum()
    assert by_x.tolist() == inner.tolist()
    assert parts["layers"][0].weight.tolist() == [1, 1, 1]
    assert [float(d) for d in weft.grad(lambda p: p[0] * p[1] ** 2)([3.0, 2.0])] == [4, 12]


def test_arguments_of_several_parts_within_another_derivative():
    def slope(scale):
        parts = {"layers": [Layer(weft.ones(3) * scale, weft.ones(()))], "scale": scale}
        slopes = weft.grad(of_parts)(parts, weft.asarray(numpy.arange(3.0)))
        return slopes["scale"] + weft.sum(slopes["layers"][0].weight)

    assert float(slope(weft.asarray(0.5))) == 6 * 0.5 + 2 * (0.5 * 5 + 3)
    assert float(weft.grad(slope)(0.5)) == 6 + 10


def test_values_of_a_recording_in_parts():
    g = weft.Graph()
    a, b = g.input(numpy.array([1.0, 2.0])), g.input(numpy.array([3.0, 4.0]))
    slopes = weft.grad(lambda p: weft.sum(p["a"] * p["b"][0]))({"a": a, "b": (b,)})
    by_a, by_b = slopes["a"].keep(), slopes["b"][0].keep()
    with pytest.raises(TypeError, match=r"at \['b'\], is no value of a recording"):
        weft.grad(lambda p: weft.sum(p["a"]))({"a": a, "b": 1.0})
    g.run()
    assert by_a.tolist() == [3, 4] and by_b.tolist() == [1, 2]


@pytest.mark.parametrize("function, arguments, error, text", [
    (lambda x: x, (numpy.ones(2),), weft.ShapeError, r"returns the shape \(2,\)"),
    (lambda x: (x.sum(), 1), (numpy.ones(2),), TypeError, "has_aux"),
    (lambda x: None, (numpy.ones(2),), TypeError, "returns NoneType"),
    (lambda x: x.sum() * 1j, (numpy.ones(2),), weft.DtypeError, "complex"),
    (lambda x: x.sum(), (numpy.ones(2, int),), weft.DtypeError, "argument 0 of <lambda> is i64"),
    (lambda x: x.sum(), (3,), weft.DtypeError, "i64"),
    (lambda x: x["a"].sum(), ({"a": numpy.ones(2), "b": ["x"]},), TypeError, r"at \['b'\]\[0\], is str; derivatives"),
    (lambda x: x["a"].sum(), ({"a": (numpy.ones(2, int),)},), weft.DtypeError, r"at \['a'\]\[0\], is i64"),
    (lambda x: 1.0, ({"a": [], "b": None},), TypeError, "hold no arrays"),
    (lambda x: 1.0, (None,), TypeError, "argument 0 of <lambda> is NoneType"),
    (lambda x: x.sum(), (), TypeError, "0 arguments by position"),
    (lambda x: 1 / 0, (numpy.ones(2),), ZeroDivisionError, "division"),
    (lambda x: weft.Graph().input(x).sum(), (numpy.ones(2),), TypeError, "value of a recording for arrays"),
])
def test_mistakes_in_functions(function, arguments, error, text):
    with pytest.raises(error, match=text):
        weft.grad(function)(*arguments)
    assert not weft.is_taped(weft.ones(2))
    assert weft.grad(lambda x: x.sum())(numpy.ones(2)).tolist() == [1, 1]


def test_mistakes_in_the_call_of_grad():
    x = weft.ones(2)
    for wrong in (lambda: weft.grad(x), lambda: weft.grad(x, x, argnums=0), lambda: weft.grad(quadratic, 0, argnums=0),
                  lambda: weft.grad(quadratic, "x"), lambda: weft.grad(quadratic, (0, True)),
                  lambda: weft.value_and_grad(3.0)):
        with pytest.raises(TypeError):
            wrong()
    g = weft.Graph()
    with pytest.raises(TypeError, match="argument 1 of quadratic is no value of a recording"):
        weft.grad(quadratic, (0, 1))(g.input(x), x, x)


def test_a_loss_that_has_been_computed_is_refused():
    x = weft.asarray([1.0, 2.0])
    with weft.lazy():
        y = x * 3
        loss = (y * y).sum()  # sums of lazy arrays are computed at once
        with pytest.raises(ValueError, match="has been computed"):
            weft.grad(loss, y)
    with pytest.raises(ValueError, match="has been computed"):
        weft.grad(weft.asarray(3.0), x)
