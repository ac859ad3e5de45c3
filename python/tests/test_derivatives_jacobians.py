"""Products with Jacobians, Jacobians and Hessians of functions, beside closed forms and differences."""
import pytest

import weft

numpy = pytest.importorskip("numpy")

M = numpy.array([[1.0, -2.0, 0.5], [0.3, 0.7, -1.1]])
X = numpy.array([0.4, -0.8, 1.3])
D = numpy.array([1.0, 0.5, -2.0])
SEED = numpy.array([2.0, -3.0])


def waves(x):
    return weft.sin(weft.matmul(weft.asarray(M), x))


def waves_jacobian(x):
    return numpy.cos(M @ x)[:, None] * M


@weft.kernel
def cubes(i, a, out):
    out[i] = a[i] ** 3 if a[i] > 0 else 2 * a[i]


def by_kernel(x):
    out = weft.empty(x.shape, x.dtype)
    cubes(x, out)
    return weft.sort(out)


def test_products_from_the_right():
    for wrap in (lambda x: x, weft.asarray):
        value, slope = weft.jvp(waves, (wrap(X),), (wrap(D),))
        assert isinstance(value, weft.Array) and numpy.allclose(value, numpy.sin(M @ X))
        assert numpy.allclose(slope, waves_jacobian(X) @ D)
    (product, other), (by_product, by_other) = weft.jvp(lambda x, s: (x * s, 3.0), [X, 2.0], [D, 5])
    assert numpy.allclose(product, 2 * X) and numpy.allclose(by_product, 2 * D + 5 * X) and other == 3 and by_other.item() == 0
    w = weft.asarray(X)
    assert numpy.allclose(weft.jvp(lambda x: x * w, (w,), (D,))[1], D * X)  # the closure is constant
    assert numpy.allclose(weft.jvp(lambda x: x * w, (w,), ([1, 2, 3],))[1], [1, 2, 3] * X)


def test_products_from_the_left():
    for function, argument, jacobian in ((waves, X, waves_jacobian(X)), (waves, weft.asarray(X), waves_jacobian(X))):
        calls = []
        value, back = weft.vjp(lambda x: calls.append(1) or function(x), argument)
        assert numpy.allclose(value, numpy.sin(M @ X))
        for seed in (SEED, [1.0, 0.0], weft.asarray(SEED) * 3):
            (found,) = back(seed)
            assert numpy.allclose(found, numpy.asarray(seed) @ jacobian)
        assert len(calls) == 1
    (total, product), back = weft.vjp(lambda x, s: (weft.sum(x * s), x * x), X, 2.0)
    by_x, by_s = back((10.0, D))
    assert numpy.allclose(by_x, 20 + 2 * D * X) and numpy.isclose(by_s.item(), 10 * X.sum()) and numpy.isclose(total, 2 * X.sum())
    order = numpy.argsort(numpy.where(X > 0, X**3, 2 * X))
    (found,) = weft.vjp(by_kernel, X)[1](D)
    expected = numpy.zeros(3)
    expected[order] = D
    assert numpy.allclose(found, expected * numpy.where(X > 0, 3 * X * X, 2))
    assert weft.vjp(lambda x: weft.asarray(M), X)[1](M)[0].tolist() == [0, 0, 0]
    z = numpy.array([1 + 2j, -1j])
    assert numpy.allclose(weft.vjp(lambda z: z * z, z)[1](numpy.array([1.0, 1j]))[0], numpy.array([1, 1j]) * numpy.conj(2 * z))


def test_products_within_other_derivatives():
    def along(x):
        return weft.sum(weft.jvp(waves, (x,), (D,))[1] * SEED)

    def back(x):
        return weft.sum(weft.vjp(waves, x)[1](weft.asarray(SEED))[0] * D)

    expected = -(SEED * numpy.sin(M @ X) * (M @ D)) @ M
    for function in (along, back):
        assert numpy.allclose(weft.grad(function)(X), expected)
        x = weft.asarray(X)
        with weft.tape(x) as t:
            loss = function(x)
        assert numpy.allclose(t.grad(loss, x), expected)
    assert numpy.allclose(weft.grad(lambda s: weft.sum(weft.vjp(waves, weft.asarray(X))[1](s)[0] * D))(SEED), waves_jacobian(X) @ D)
    g = weft.Graph()
    x = g.input(X)
    value, slope = weft.jvp(waves, (x,), (D,))
    made, pull = weft.vjp(waves, x)
    kept = [value.keep(), slope.keep(), made.keep(), pull(g.input(SEED))[0].keep()]
    g.run()
    for found, wanted in zip(kept, (numpy.sin(M @ X), waves_jacobian(X) @ D, numpy.sin(M @ X), SEED @ waves_jacobian(X))):
        assert numpy.allclose(found, wanted)


def test_products_with_hessians():
    def loss(x):
        return weft.sum(waves(x) ** 2) * weft.exp(x[0])

    def gradient(x):
        u = numpy.sin(M @ x)
        return (2 * u @ waves_jacobian(x) + numpy.array([(u * u).sum(), 0, 0])) * numpy.exp(x[0])

    step = 1e-6
    expected = (gradient(X + step * D) - gradient(X - step * D)) / (2 * step)
    slope, product = weft.jvp(weft.grad(loss), (X,), (D,))
    assert numpy.allclose(slope, gradient(X)) and numpy.allclose(product, expected, rtol=1e-7)
    assert numpy.allclose(weft.grad(lambda x: weft.sum(weft.grad(loss)(x) * D))(X), expected, rtol=1e-7)
    matrix = weft.hessian(loss)(X)
    assert matrix.shape == (3, 3) and numpy.allclose(matrix @ D, expected, rtol=1e-7) and numpy.allclose(matrix, matrix.T)
    assert weft.hessian(lambda a, b: weft.sum(a * b * b), 1)(X, D).tolist() == numpy.diag(2 * X).tolist()


def test_jacobians():
    assert numpy.allclose(weft.jacobian(waves)(X), waves_jacobian(X))
    found = weft.jacobian(lambda a, b: a[:, None] * b * b, (1, 0))(X, SEED)
    by_b, by_a = numpy.zeros((3, 2, 2)), numpy.zeros((3, 2, 3))
    for i in range(3):
        for k in range(2):
            by_b[i, k, k], by_a[i, k, i] = 2 * X[i] * SEED[k], SEED[k] ** 2
    assert numpy.allclose(found[0], by_b) and numpy.allclose(found[1], by_a)
    assert weft.jacobian(lambda x: x.reshape(3, 1).T * 2)(X).tolist() == (2 * numpy.eye(3)[None]).tolist()
    order = numpy.argsort(numpy.where(X > 0, X**3, 2 * X))
    assert numpy.allclose(weft.jacobian(by_kernel)(X), numpy.diag(numpy.where(X > 0, 3 * X * X, 2))[order])
    assert weft.jacobian(lambda x: weft.sum(x * x))(X).tolist() == (2 * X).tolist()
    assert weft.jacobian(lambda x: weft.asarray(M))(X).tolist() == numpy.zeros((2, 3, 3)).tolist()
    assert weft.jacobian(lambda x: x[:0])(X).shape == (0, 3)


@pytest.mark.parametrize("wrong, error, text", [
    (lambda: weft.jvp(waves, X, D), TypeError, "tuples with one array"), (lambda: weft.jvp(waves, (X,), ()), TypeError, "tuples"),
    (lambda: weft.jvp(waves, (X,), (D[:2],)), weft.ShapeError, "tangent of argument 0"),
    (lambda: weft.jvp(waves, ([1.0],), ([1.0],)), TypeError, "argument 0 is list"),
    (lambda: weft.jvp(by_kernel, (X,), (D,)), TypeError, "kernels take arrays"),
    (lambda: weft.vjp(waves), TypeError, "arguments by position"), (lambda: weft.vjp(waves, x=X), TypeError, "by position"),
    (lambda: weft.vjp(waves, X)[1](D), weft.ShapeError, "a seed has shape"),
    (lambda: weft.vjp(waves, X)[1]((SEED, SEED)), TypeError, "the seed is a tuple"),
    (lambda: weft.vjp(lambda x: (x, x), X)[1]((D,)), ValueError, "1 seeds for 2 results"),
    (lambda: weft.vjp(waves, numpy.array([1, 2, 3])), weft.DtypeError, "i64"),
    (lambda: weft.grad(lambda s, back=weft.vjp(waves, X)[1]: back(s)[0].sum())(SEED), weft.UnsupportedError, "within that tape"),
    (lambda: weft.jacobian(3), TypeError, "takes a function"), (lambda: weft.hessian(waves, (0, 1)), TypeError, "is an int"),
    (lambda: weft.jacobian(lambda x: (x, x))(X), TypeError, "returns tuple"),
    (lambda: weft.jacobian(lambda x: x * 1j)(X), weft.DtypeError, "complex"),
    (lambda: weft.grad(lambda x: weft.jacobian(waves)(x).sum())(X), weft.UnsupportedError, "weft.vjp and weft.jvp"),
    (lambda: weft.jvp(weft.asarray(X), weft.asarray(D), D), ValueError, "has been computed"),
    (lambda: weft.vjp(weft.asarray(X), D, weft.asarray(D)), ValueError, "has been computed"),
])
def test_mistakes(wrong, error, text):
    with pytest.raises(error, match=text):
        wrong()
    assert weft.grad(lambda x: weft.sum(x))(X).tolist() == [1, 1, 1]
