"""Arithmetic of arrays beside NumPy's: dtypes in which operands meet, bools, comparisons, quotients, in-place operators."""
import operator

import pytest

import weft

numpy = pytest.importorskip("numpy")
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


def same(got, expected):
    expected = numpy.asarray(expected)
    got = numpy.asarray(got)
    assert got.dtype == expected.dtype, (got.dtype, expected.dtype)
    numpy.testing.assert_array_equal(got, expected)


def both(how):
    """The result of `how` at once and within weft.lazy()."""
    with weft.lazy():
        later = how()
    same(later, how())
    return later


# ---- bools ----


def test_bools_stay_bools():
    p, q = numpy.array([True, True, False, False]), numpy.array([True, False, True, False])
    x, y = weft.asarray(p), weft.asarray(q)
    for how in (lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a + True, lambda a, b: False * b):
        same(both(lambda: how(x, y)), how(p, q))
    for name in ("maximum", "minimum", "fmax", "fmin"):
        same(both(lambda: getattr(weft, name)(x, y)), getattr(numpy, name)(p, q))
    same(both(lambda: abs(x)), abs(p))
    same(weft.diff(x), numpy.diff(p))
    same(weft.asarray([10, 20, 30, 40])[x * y], [10])
    x *= y
    same(x, p & q)
    assert p.tolist() == [True, False, False, False]
    same(weft.sum(y), 2)
    same(y * 3, q * 3)


def test_bools_have_no_differences():
    x = weft.asarray([True, False])
    for how in (lambda: x - x, lambda: True - x, lambda: -x):
        with pytest.raises(weft.DtypeError, match="logical_"):
            how()
        with weft.lazy(), pytest.raises(weft.DtypeError, match="logical_"):
            how()


def test_powers_of_bools_are_integers():
    x = weft.asarray([True, False])
    assert (x**2).tolist() == [1, 0] and (2**x).tolist() == [2, 1] and (x**x).tolist() == [1, 1]
    assert (weft.asarray([2.0, 3.0]) ** x).tolist() == [2.0, 1.0]


def test_products_of_bools():
    a = numpy.array([[True, False], [False, False]])
    for function in ("matmul", "dot"):
        same(getattr(weft, function)(a, a.T), getattr(numpy, function)(a, a.T))
    same(weft.vecdot(a, a), [True, False])
    same(weft.tensordot(a, a, 1), numpy.tensordot(a, a, 1))
    g = weft.Graph()
    made = weft.matmul(g.input(a), a).keep()
    g.run()
    same(made, a @ a)


def test_bools_of_points_are_numbers_of_python():
    a = numpy.array([0.5, 1.5, 2.5])
    assert weft.ewise(lambda x: (x > 1) + (x > 2), a).tolist() == [0, 1, 2]


# ---- promotion ----

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


@pytest.mark.parametrize("left", INTEGERS)
@pytest.mark.parametrize("right", INTEGERS)
def test_integers_meet_as_in_numpy(left, right):
    a, b = numpy.array([-1 if left[0] == "i" else 200, 3], left), numpy.array([5, 120], right)
    x, y = weft.asarray(a), weft.asarray(b)
    functions = (lambda a, b: a * b, lambda a, b: a @ b, numpy.dot, lambda a, b: numpy.tensordot(a, b, 0))
    own = (functions[0], functions[1], weft.dot, lambda a, b: weft.tensordot(a, b, 0))
    if {left, right} & {"u8"} and {left[0], right[0]} == {"i", "u"}:
        for function in (*own, weft.vecdot, weft.maximum, lambda a, b: weft.where([True, False], a, b),
                         lambda a, b: weft.concatenate([a, b])):
            with pytest.raises(weft.DtypeError, match="i64 meets u64|u64 meets i64"):
                function(x, y)
    else:
        for function, of_numpy in zip(own, functions):
            same(function(x, y), of_numpy(a, b))
        assert weft.vecdot(x, y).item() == (a.astype(object) * b.astype(object)).sum()
        same(weft.searchsorted(numpy.sort(b), a), numpy.searchsorted(numpy.sort(b), a))
    for compare in COMPARISONS:
        same(both(lambda: compare(x, y)), [compare(*pair) for pair in zip(a.tolist(), b.tolist())])


@pytest.mark.parametrize("compare", COMPARISONS)
def test_comparisons_of_i64_with_u64_are_exact(compare):
    a = numpy.array([-1, -(2**63), 0, 5, 2**63 - 1, 7])
    b = numpy.array([2**64 - 1, 2**63, 0, 6, 2**63, 7], "u8")
    same(both(lambda: compare(weft.asarray(a), b)), [compare(*pair) for pair in zip(a.tolist(), b.tolist())])
    same(both(lambda: compare(weft.asarray(b), a)), [compare(*pair) for pair in zip(b.tolist(), a.tolist())])


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("compare", COMPARISONS)
def test_comparisons_with_any_int(dtype, compare):
    limits = numpy.iinfo(dtype)
    a = numpy.array([limits.min, 1, limits.max], dtype)
    x = weft.asarray(a)
    for number in (300, -1, -200, 2**40, 2**60, 2**63, 2**64, 10**30, -(10**30), limits.min, limits.max,
                   limits.min - 1, limits.max + 1):
        if 2**53 <= abs(number) < 2**63 and dtype[1] == "8" and number >= 0:
            continue  # within the range of the dtype; test_comparisons_of_i64_with_u64_are_exact
        expected = [compare(element, number) for element in a.tolist()]
        same(both(lambda: compare(x, number)), expected)
        assert compare(number, x).tolist() == [compare(number, element) for element in a.tolist()]


def test_numbers_out_of_range_elsewhere():
    x = weft.asarray([1, 200], weft.u8)
    with pytest.raises(weft.DtypeError):
        x + 300
    same(weft.asarray([1.0, 2.0]) * 2**70, numpy.array([1.0, 2.0]) * 2.0**70)
    same(weft.clip(x, -1, None), numpy.array([1, 200], "u1"))
    same(weft.clip(x, -1, 300), numpy.array([1, 200], "u1"))
    same(weft.clip(x, -5, 100), numpy.array([1, 100], "u1"))
    with pytest.raises(weft.DtypeError):
        weft.clip(x, 300, None)


# ---- quotients ----


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_floor_division_is_that_of_python(dtype):
    rng = numpy.random.default_rng(1)
    special = numpy.array([numpy.inf, -numpy.inf, numpy.nan, 0.0, -0.0, 170, -170, -0.0042, -0.0152])
    a = numpy.concatenate([rng.normal(size=2000) * 10.0 ** rng.integers(-3, 4, 2000), numpy.repeat(special, 9)])
    b = numpy.concatenate([rng.permutation(a[:2000]), numpy.tile(special, 9)]).astype(dtype)
    a = a.astype(dtype)
    with numpy.errstate(all="ignore"):
        expected = a // b
    for got in (both(lambda: weft.asarray(a) // b), divmod(weft.asarray(a), b)[0],
                numpy.floor_divide(weft.asarray(a), b), weft.ewise(lambda x, y: x // y, a, b)):
        same(got, expected)
        zeros = expected == 0
        assert (numpy.signbit(numpy.asarray(got)[zeros]) == numpy.signbit(expected[zeros])).all()


def test_remainders():
    same(weft.mod([-7, 7], 3), numpy.mod([-7, 7], 3))
    same(weft.remainder([-7.5], 2.0), numpy.remainder([-7.5], 2.0))
    same(weft.fmod([-7, 7], 3), numpy.fmod([-7, 7], 3))


# ---- parts of complex numbers ----


def test_integers_are_their_own_real_parts():
    a = numpy.array([3, -4], "i2")
    for name in ("conj", "real", "imag"):
        same(getattr(weft, name)(a), getattr(numpy, name)(a))
        same(both(lambda: getattr(weft, name)(weft.asarray(a) + 1)), getattr(numpy, name)(a + 1))
    same(weft.asarray(a).imag, a.imag)
    same(weft.imag([True]), numpy.imag([True]))
    same(weft.vecdot([1j, 2], [1j, 1]), numpy.conj([1j, 2]) @ [1j, 1])


# ---- in-place operators of lazy arrays ----


def test_names_of_one_lazy_array_see_its_changes():
    x = numpy.arange(3.0)

    def add_one(v):
        v += 1

    with weft.lazy():
        y = weft.asarray(x) * 2
        z, before = y, y + 0
        z += 100
        assert z is y and y.is_lazy
        add_one(y)
        view = y[1:]
        view *= 2
        y **= 1
        w = weft.asarray([1, 2], weft.i16) * 2
        w += weft.asarray([1, 1], weft.i64)
    same(y, [101.0, 206.0, 210.0])
    same(before, x * 2)
    same(w, numpy.array([3, 5], "i2"))
    assert x.tolist() == [0, 1, 2]


def test_in_place_operators_of_lazy_arrays_that_do_not_fit():
    with weft.lazy():
        y, i = weft.asarray(numpy.ones((2, 1))) * 2, weft.asarray([1, 2]) * 2
        with pytest.raises(weft.ShapeError, match=r"\(2, 3\).*\(2, 1\)"):
            y += numpy.ones((2, 3))
        with pytest.raises(weft.DtypeError, match="f64.*i64"):
            i += 1.5
    same(y, [[2.0], [2.0]])
    same(i, [2, 4])


def test_matrix_products_in_place_keep_the_memory():
    a = numpy.eye(2)
    x = weft.asarray(a)
    name = x
    x @= numpy.array([[1.0, 2.0], [3.0, 4.0]])
    assert x is name and a.tolist() == [[1, 2], [3, 4]]


# ---- numbers of Python ----


def test_arrays_without_axes_as_numbers():
    mean = weft.asarray([1.25, 2.0]).mean()
    assert round(mean) == 2 and round(mean, 1) == round(1.625, 1) and weft.asarray(-1.5).__trunc__() == -1
    with pytest.raises(TypeError, match="without axes"):
        list(mean)
    x = weft.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert [part.tolist() for part in x] == [[1, 2], [3, 4]]
    assert 2.0 in x and 5 not in x
    assert x.item(3) == 4 and x.item(-1) == 4 and x.item(1, 0) == 3
    for index in ((4,), (-5,), (0, 2)):
        with pytest.raises(IndexError):
            x.item(*index)
    with pytest.raises(ValueError, match="no elements"):
        bool(weft.empty(0))


def test_lists_of_arrays():
    x = weft.asarray([1.5, 2.5])
    same(weft.asarray(list(x)), [1.5, 2.5])
    same(weft.asarray([x[0] * 2, 3.0]), [3.0, 3.0])
    same(weft.asarray([x, (1, 2)]), [[1.5, 2.5], [1.0, 2.0]])
    same(weft.asarray([[x, x]]), [[[1.5, 2.5], [1.5, 2.5]]])
    same(weft.asarray([numpy.arange(3), [5, 6, 7]]), [[0, 1, 2], [5, 6, 7]])
    same(x * [x[0], x[1]], [2.25, 6.25])
    with pytest.raises(weft.ShapeError, match="list"):
        weft.asarray([x, 1.0])
