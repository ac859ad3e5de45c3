"""Derivatives of programs: nested ones, arguments that repeat memory, and what programs do with arrays on the way. Expected
values are closed forms."""
import pytest

import weft

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
