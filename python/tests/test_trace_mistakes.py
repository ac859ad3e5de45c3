"""Mistakes in traced functions: exceptions, messages, tracebacks."""
import os
import pathlib
import random
import subprocess
import sys
import traceback

import pytest

import weft
from tracing import check, ints, zeros

numpy = pytest.importorskip("numpy")


def test_a_dtype_that_changes_in_a_loop():
    @weft.kernel
    def f(i, a, out):
        x = a[i]
        while x > 1:
            x = x * weft.f64(0.5)
        out[i] = x

    with pytest.raises(weft.DtypeError) as e:
        f(numpy.ones(3, "f4"), zeros(3, "f4"))
    line = f.function.__code__.co_firstlineno + 3
    assert "'x'" in str(e.value) and "f32" in str(e.value) and "f64" in str(e.value)
    assert f"{__file__}:{line}" in str(e.value)

    @weft.kernel
    def g(i, a, out):
        x = None
        if a[i] > 0:
            x = a[i]
        out[i] = x

    with pytest.raises(weft.DtypeError, match="'x'"):
        g(numpy.ones(3, "f4"), zeros(3, "f4"))


def test_tracebacks_name_the_line():
    @weft.kernel
    def f(i, a, out):
        if a[i] > 0:
            for k in range(3):
                out[i] = a[i] + "text"

    with pytest.raises(TypeError) as e:
        f(numpy.ones(3), zeros(3))
    frames = [s for s in traceback.extract_tb(e.value.__traceback__) if s.filename == __file__]
    assert frames[-1].lineno == f.function.__code__.co_firstlineno + 4 and frames[-1].name == "f"


def test_names_without_a_value():
    def f(i, a, out):
        if a[i] > 0:
            t = a[i] * 2
        out[i] = 1
        if a[i] > 3:
            out[i] = t

    check(f, ints(40), zeros(40))

    @weft.kernel
    def never(i, a, out):
        if a[i] > 0:
            out[i] = t  # noqa: F821
        t = 1

    with pytest.raises(NameError):
        never(ints(3), zeros(3))


def test_functions_without_source_text():
    names = {}
    exec("def f(i, /, a, out):\n    out[i] = a[i] * 2\n"
         "def g(i, /, a, out):\n    if a[i] > 0:\n        out[i] = 1\n"
         "def h(i, a, out):\n    out[i] = 1\n", names)
    a, out = ints(5), zeros(5)
    weft.kernel(space="out")(names["f"])(a, out)
    assert (out == a * 2).all()
    with pytest.raises(TypeError) as e:
        weft.kernel(space="out")(names["g"])(a, out)
    assert any("source" in note for note in e.value.__notes__)
    with pytest.raises(TypeError):
        weft.kernel(names["h"])


def test_other_mistakes():
    @weft.kernel
    def f(i, a, out):
        out[i] = a[i]
        return 3

    with pytest.raises(TypeError, match="returns"):
        f(ints(3), zeros(3))
    with pytest.raises(TypeError, match="list"):
        f([1, 2], zeros(3))

    @weft.kernel
    def g(i, a, out):
        out[i] = a[i, i]

    with pytest.raises(weft.BoundsError):
        g(ints(3), zeros(3))

    @weft.kernel
    def h(i, a, out):
        out[i] = 0
        f(a, out)

    with pytest.raises(weft.ContractError):
        h(ints(3), zeros(3))
    with pytest.raises(weft.ContractError):
        weft.graph()


def test_statements_that_look_at_values():
    def asserts(i, a, out):
        assert a[i] > 0
        out[i] = 1

    def sorts(i, a, out):
        out[i] = sorted([a[i], 2.0])[0]

    for function in (asserts, sorts):
        with pytest.raises(TypeError, match="assert, match and functions such as sorted cannot"):
            weft.kernel(function)(numpy.ones(3), zeros(3))


def test_keywords_of_ufuncs_of_values():
    def f(i, a, out):
        out[i] = numpy.add(a[i], 1, dtype="f8")

    with pytest.raises(TypeError, match="takes no argument 'dtype'"):
        weft.kernel(f)(numpy.ones(3), zeros(3))


def test_many_signatures_warn():
    @weft.kernel
    def f(i, out, n):
        out[i] = n

    out = zeros(3)
    with pytest.warns(RuntimeWarning, match="signatures"):
        for n in range(16):
            f(out, weft.static(n))
    assert out.tolist() == [15, 15, 15]
    f.clear()
    assert f.signatures == []


def test_the_rewritten_text():
    def f(i, out):
        if out[i] > 0:
            out[i] = 1

    assert "branch" in weft.kernel(f).source


def test_random_numbers_of_the_host():
    generator = numpy.random.default_rng(1)
    for draw in (lambda: numpy.random.rand(), lambda: numpy.random.normal(size=1)[0], lambda: generator.uniform(),
                 lambda: random.random(), lambda: random.gauss(0, 1), lambda: numpy.random.default_rng(3).random()):
        @weft.kernel
        def noisy(i, out):
            out[i] = draw()

        with pytest.raises(TypeError, match="weft.random"):
            noisy(numpy.zeros(3))

    @weft.kernel
    def drawn(i, out):
        out[i] = weft.random.Pcg32(weft.graph(), 5, i).f64()

    out = numpy.zeros(100)
    drawn(out)
    assert len(set(out.tolist())) == 100


def lines_of(call):
    """The names of the functions in the traceback of a mistake."""
    with pytest.raises(Exception) as caught:
        call()
    return [(entry.name, entry.line) for entry in traceback.extract_tb(caught.value.__traceback__)][1:]


def test_tracebacks_have_the_lines_of_the_program():
    def helper(v):
        return v + "a"

    @weft.kernel
    def wrong(i, a, out):
        if a[i] > 0:
            out[i] = helper(a[i])

    @weft.kernel
    def too_many(i, a, out):
        out[i] = a[i, 0]

    def no_such_thing(x):
        return x.nothing

    x, out = ints(3), zeros(3)
    inner = [("wrong", "out[i] = helper(a[i])"), ("helper", 'return v + "a"')]
    for call, expected in (
        (lambda: wrong(x, out), inner),
        (lambda: wrong(x, out, shape=3), inner),
        (lambda: too_many(x, out), [("too_many", "out[i] = a[i, 0]")]),
        (lambda: wrong(x), []),
        (lambda: weft.iwise(3)(no_such_thing), [("no_such_thing", "return x.nothing")]),
        (lambda: weft.ewise(no_such_thing, x), [("no_such_thing", "return x.nothing")]),
        (lambda: weft.reduce(no_such_thing, x), [("no_such_thing", "return x.nothing")]),
        (lambda: weft.grad(no_such_thing)(1.0), [("no_such_thing", "return x.nothing")]),
        (lambda: weft.value_and_grad(no_such_thing)(1.0), [("no_such_thing", "return x.nothing")]),
    ):
        found = lines_of(call)
        assert found[0][0] == "<lambda>" and found[1:] == expected
    with weft.debug():
        found = lines_of(lambda: wrong(x, out))
        assert "_miss" in [name for name, _ in found] and found[-1] == inner[-1]


def test_operators_of_arrays_say_how_many_indices_are_missing():
    for f, message in ((lambda i, /, a, out: out.write(i, a[i] * 2), r"^\* of <array .* 1 axis .* 2 indices, and 1 is given"),
                       (lambda i, /, a, out: out.write(i, 2 - a), r"^- of <array .* 2 axes .* 2 indices, and 0 are given"),
                       (lambda i, /, a, out: out.write(i, a[i] > out[i]), "^> of <array .* and 1 is given"),
                       (lambda i, /, a, out: out.write(i, -a[i]), "^- of <array .* and 1 is given")):
        with pytest.raises(TypeError, match=message):
            weft.kernel(f)[3](numpy.ones((3, 3)), zeros(3))
    with pytest.raises(TypeError, match="weft.ops.select takes 3 arguments, and 2 were given"):
        weft.where(numpy.ones(3), 1)


def test_lambdas_of_one_line_without_columns(tmp_path):
    """As in code whose positions were lost: what cannot be told apart is not rewritten."""
    (tmp_path / "program.py").write_text('''
import weft
k = [weft.ewise(f, [1.0, 2.0]).tolist() for f in (lambda x: x if x > 1 else 7, lambda x: x if x > 1 else 8)]
assert k == [[7, 2], [8, 2]], k
k = [weft.ewise(f, [1.0, 2.0]).tolist() for f in (lambda x: x + 1, lambda x: 1 - x)]
assert k == [[2, 3], [0, -1]], k
try:
    k = [weft.ewise(f, [1.0, 2.0]) for f in (lambda x: x if x > 1 else 1, lambda x: 1 if x > 1 else x)]
except TypeError as error:
    assert "several lambdas" in error.__notes__[0]
else:
    raise SystemExit("no error")
''')
    packages = str(pathlib.Path(weft.__file__).parent.parent)
    subprocess.run([sys.executable, "-X", "no_debug_ranges", "program.py"], cwd=tmp_path, check=True,
                   env={**os.environ, "PYTHONPATH": packages + os.pathsep + os.environ.get("PYTHONPATH", "")})
