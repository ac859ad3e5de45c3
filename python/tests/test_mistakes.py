"""Arguments at the edge of what functions take, and what messages say about wrong ones."""
import pytest

import weft

numpy = pytest.importorskip("numpy")
A = numpy.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("call, error, text", [
    (lambda: weft.sum(A, ()), ValueError, "None is all"),
    (lambda: weft.sum(A, axis=0.5), TypeError, "not 0.5"),
    (lambda: weft.fft.irfft(numpy.ones(1)), ValueError, "a spectrum of 1 has 0 elements"),
    (lambda: weft.linspace(0, 1, -1), ValueError, "wf_array_linspace: -1 numbers"),
    (lambda: weft.concatenate([weft.asarray([1]), weft.asarray([1], weft.u64)]), TypeError, "^i64 meets u64"),
    (lambda: weft.histogram([1, 2], bins=[2, 1]), ValueError, "edges in rising order"),
    (lambda: weft.histogram([1, 2], bins=2.5), ValueError, "edges"),
    (lambda: weft.random.Generator("a"), TypeError, "'str'"),
    (lambda: weft.random.Generator(-1), ValueError, "seed.*-1"),
    (lambda: weft.random.Generator(2**70), ValueError, "seed"),
    (lambda: weft.random.seed(-1), ValueError, "seed"),
    (lambda: weft.random.permutation(2.5), TypeError, "integer"),
    (lambda: weft.asarray(A).min(initial=3), TypeError, r"Array\.min\(\)"),
    (lambda: weft.text("out = a*2\0 + nonsense((", a=A), ValueError, "embedded null character"),
    (lambda: weft.evaluate("A*2\0+"), ValueError, "embedded null character"),
    (lambda: weft.text("b = a*2; c = 3*a", ("b\0x",), a=A), ValueError, "embedded null character"),
    (lambda: memoryview(weft.empty(2, weft.c32)), BufferError, "weft.c64"),
    (lambda: weft.signal.image_filter(A, lambda *k: None), TypeError, "returned None; it has to return a value"),
    (lambda: weft.signal.median_filter(A, 3, border="nearest"), ValueError, "it is 'clamp' here, and SciPy's 'mirror'"),
    (lambda: weft.signal.median_filter(A, 3, border="wrap"), ValueError, "it is 'periodic' here"),
    (lambda: weft.signal.correlate_map(A, A, 3), ValueError, "`rank` is 3, but the array has 2 axes; its last 1 to 2 "),
    (lambda: weft.signal.gaussian(0.1, -1), ValueError, "wf_gaussian: `sigma` is -1, not above 0"),
    (lambda: weft.signal.lowpass(0.1, 0.2, -0.1), ValueError, "wf_lowpass: `width` is -0.1, not at least 0"),
    (lambda: weft.signal.electron_wavelength(0), ValueError, "electron_wavelength: `voltage` is 0, not above 0"),
    (lambda: weft.signal.ewald_height(-300, 0.1, 0.1), ValueError, "wf_ewald_height: `voltage` is -300"),
    (lambda: weft.signal.ctf_value(0.1, 0.1, defocus=1), TypeError, "needs the argument 'voltage'"),
    (lambda: weft.signal.ctf_value(0.1, 0.1, voltage=-3), ValueError, "wf_ctf_value: `ctf.voltage` is -3, not above 0"),
    (lambda: weft.signal.ctf_sideband(0.1, 0.1, voltage=300, amplitude=2), ValueError, "`ctf.amplitude` is 2"),
    (lambda: weft.signal.zernike(3, 2, 0.1, 0.2), ValueError, "wf_zernike: there is no polynomial of n = 3, m = 2"),
])
def test_messages(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_numbers_that_are_not_numbers_have_no_message():
    assert numpy.isnan(weft.signal.gaussian(numpy.nan, 1.0)) and weft.signal.gaussian(0.5, 1.0) == numpy.exp(-0.125)
    assert numpy.isnan(weft.linalg.mat_inverse(2, [[0.0, 0.0], [0.0, 0.0]])).all()


def test_empty_arrays_are_shown_with_their_shape():
    assert repr(weft.zeros((3, 0, 5))) == "Array([], shape=(3, 0, 5), dtype=f32)"
    assert repr(weft.zeros(0)) == "Array([], dtype=f32)" and str(weft.zeros((3, 0))) == "[]"


def test_transforms_along_no_axis():
    for name in ("fftn", "ifftn"):
        got, expected = getattr(weft.fft, name)(A, axes=()), getattr(numpy.fft, name)(A, axes=())
        assert got.tolist() == expected.tolist() and got.dtype == weft.c128


def test_histograms_with_edges():
    for elements, bins in ((A, [0, 2, 4]), ([1, 2.5, 4, numpy.nan, -1], [0.0, 1, 1, 4]), (A, numpy.array([0.5, 5]))):
        counts, edges = weft.histogram(elements, bins)
        wanted, wanted_edges = numpy.histogram(elements, bins)
        assert counts.tolist() == wanted.tolist() and edges.tolist() == wanted_edges.tolist()


def test_permutations():
    assert sorted(weft.random.permutation(6).tolist()) == list(range(6))
    rows = weft.random.permutation(A.T)
    assert rows.shape == (3, 2) and sorted(rows.tolist()) == A.T.tolist()
    assert sorted(weft.random.permutation([5, 7, 9]).tolist()) == [5, 7, 9]


def test_a_space_of_another_rank_names_the_way_out():
    @weft.kernel
    def first(i, /, points, out):
        row = points[i]
        out[i, 0] = row[0]

    points, out = numpy.ones((4, 3)), numpy.zeros((4, 3))
    for _ in range(2):  # also for a signature that is known
        with pytest.raises(weft.ShapeError, match=r"1 index, and 'points'.* 2 axes; first\[n\]"):
            first(points, out)
        first[4](points, out)
    assert out[:, 0].tolist() == [1] * 4
