"""Functions of Python that are traced, beside Python itself, which runs the same function for every point."""
import itertools

import pytest

import weft

numpy = pytest.importorskip("numpy")


def plain(f, shape, *arguments):
    """What Python makes of the function: new arrays, after a call for every point."""
    arguments = [a.copy() if isinstance(a, numpy.ndarray) else a for a in arguments]
    for point in itertools.product(*map(range, shape)):
        f(*point, *arguments)
    return [a for a in arguments if isinstance(a, numpy.ndarray)]


def check(f, *arguments, shape=None, **options):
    """Runs a function by Weft and by Python, and compares all arrays. Returns the kernel."""
    k = weft.kernel(**options)(f)
    mine = [a.copy() if isinstance(a, numpy.ndarray) else a for a in arguments]
    k(*mine) if shape is None else k[shape](*mine)
    space = shape if shape is not None else mine[k.names.index(k.space)].shape
    expected = plain(f, space if isinstance(space, tuple) else (space,), *arguments)
    for got, want in zip([a for a in mine if isinstance(a, numpy.ndarray)], expected):
        if want.dtype.kind == "f":
            assert numpy.allclose(got, want, rtol=1e-5, atol=1e-6, equal_nan=True), (got, want)
        else:
            assert (got == want).all(), (got, want)
    return k


def ints(n, low=-20, high=20, seed=1):
    return numpy.random.RandomState(seed).randint(low, high, n).astype("i8")


def zeros(n, dtype="i8"):
    return numpy.zeros(n, dtype)
