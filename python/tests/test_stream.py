"""Streams: launches are queued, hold the memory of their arguments until they are done, and report failures to sync."""
import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import weft


@weft.kernel
def double(i, a, out):
    out[i] = a[i] * 2


@weft.kernel
def rest(i, turns, out):
    """Keeps a stream busy, for about a tenth of a second with TURNS turns."""
    x = 1.0
    for _ in weft.range(turns):
        x = weft.sqrt(x + 1)
    out[i] = x


def prepared():
    g = weft.Graph()
    a, b = g.formal("a", weft.f32, 1), g.formal("b", weft.f32, 1)
    g.output(b, g.input(a) + 1)
    return g.compile("a", "b")


TURNS = 200_000
numbers = np.arange(1000, dtype="f4")
rest(10, np.zeros(1))  # the code is there
double(numbers, np.zeros(1000, "f4"))


@pytest.fixture
def stream():
    with weft.Stream() as s:
        yield s


def busy(stream):
    """True if the stream has not done its work yet: a buffer that more work uses is held."""
    probe = bytearray(8)
    with stream:
        rest(1, np.frombuffer(probe, "f8"))
    try:
        probe.append(0)
    except BufferError:
        return True
    return False


def test_a_launch_is_queued_and_done_at_sync(stream):
    out = np.zeros(1)
    rest(TURNS, out)
    assert busy(stream)
    stream.sync()
    assert out[0] > 1.6


FORMS = {
    "a prepared kernel": lambda a, out: prepared()(a, out),
    "a prepared kernel by position": lambda a, out: prepared().fast(a, out),
    "a decorated kernel": double,
    "ewise": lambda a, out: weft.ewise(lambda x: x * 3, a, out=out),
    "reduce": lambda a, out: weft.reduce(lambda x: x, a.reshape(10, 100), axis=1),
    "iwise": lambda a, out: weft.iwise((1000,))(lambda i: a[i] * 2),
    "text": lambda a, out: weft.text("a * 2 + 1", a=a),
    "evaluate": lambda a, out: weft.evaluate("a * 2 + 1", out=out),
    "operators": lambda a, out: weft.asarray(a) * 2 + a,
    "a view": lambda a, out: weft.asarray(out).__setitem__(slice(2, 9), a[:7]),
    "a ufunc": lambda a, out: np.sin(weft.asarray(a)),
    "a function": lambda a, out: weft.sum(a),
    "a transform": lambda a, out: weft.fft.rfft(a),
    "a filter": lambda a, out: weft.signal.gaussian_filter(a.reshape(10, 100), 2.0),
    "a hook": lambda a, out: weft.signal.image_filter(a.reshape(10, 100), lambda y, x: y + x),
    "a matrix": lambda a, out: weft.linalg.solve(weft.eye(10) * 2, a.reshape(10, 100)),
    "indexing": lambda a, out: weft.asarray(a)[a > 500],
    "a frozen function": weft.freeze(lambda a, out: a * 2),
    "contents": lambda a, out: (weft.asarray(a) + 1).tolist(),
    "derivatives": lambda a, out: weft.grad(lambda x: (x * x).sum())(a),
}


@pytest.mark.parametrize("form", FORMS)
def test_results_are_those_without_a_stream(form, stream):
    def results(run):
        memory = np.zeros(1000, "f4")
        return run(numbers.copy(), memory), memory

    for _ in range(3):
        made, memory = results(FORMS[form])
        stream.sync()
        got = np.asarray(made) if made is not None else None
        stream.__exit__(None, None, None)
        wanted, expected = results(FORMS[form])
        stream.__enter__()
        assert memory.tobytes() == expected.tobytes()
        if made is not None:
            assert np.array_equal(got, np.asarray(wanted))


def test_lazy_arrays_go_into_the_stream(stream):
    rest(TURNS, np.zeros(1))
    a = weft.asarray(numbers)
    with weft.lazy():
        b = a * 2
        c = b + 1
        assert c.is_lazy
    assert not c.is_lazy and busy(stream)
    assert np.array_equal(np.asarray(c), numbers * 2 + 1)


# ---- memory ----


def test_operands_are_held_until_the_work_is_done(stream):
    a, out = np.ones(1000, "f4"), np.zeros(1000, "f4")
    before = sys.getrefcount(a), sys.getrefcount(out)
    rest(TURNS, np.zeros(1))
    double(a, out)
    assert (sys.getrefcount(a), sys.getrefcount(out)) > before
    stream.sync()
    assert (sys.getrefcount(a), sys.getrefcount(out)) == before
    assert out[0] == 2


def test_operands_that_the_program_drops_live_until_sync(stream):
    class Watched(np.ndarray):
        pass

    freed, out = [], np.zeros(1000, "f4")
    rest(TURNS, np.zeros(1))
    a = np.ones(1000, "f4").view(Watched)
    weakref.finalize(a, freed.append, True)
    double(a, out)
    del a
    assert not freed
    stream.sync()
    assert freed and (out == 2).all()


def test_memory_cannot_be_resized_meanwhile(stream):
    memory = bytearray(4000)
    kernel, out = prepared(), np.zeros(1000, "f4")
    kernel(memoryview(memory).cast("f"), out)
    stream.sync()
    memory.append(0)
    del memory[-1]
    rest(TURNS, np.zeros(1))
    kernel(memoryview(memory).cast("f"), out)
    with pytest.raises(BufferError):
        memory.append(0)
    stream.sync()
    memory.append(0)
    assert (out == 1).all()


def test_memory_is_given_back_without_sync():
    freed = threading.Event()

    class Watched(np.ndarray):
        pass

    with weft.Stream():
        a = np.ones(1000, "f4").view(Watched)
        weakref.finalize(a, freed.set)
        double(a, np.zeros(1000, "f4"))
        del a
    end = time.monotonic() + 20
    while not freed.is_set() and time.monotonic() < end:
        time.sleep(0.001)
    assert freed.is_set()


def test_launches_with_and_without_a_stream_alternate():
    kernel, a, out = prepared(), np.ones(1000, "f4"), np.zeros(1000, "f4")
    with weft.Stream() as s:
        pass
    before = sys.getrefcount(a)
    for k in range(50):
        kernel(a, out)
        with s:
            kernel(out, a)
        s.sync()
        kernel(a, out)
        assert (out == 4).all() and (a == 3).all()
        a[:] = 1
        if k % 10 == 0:
            kernel = prepared()
    assert sys.getrefcount(a) == before


def test_read_only_memory_is_not_written(stream):
    out = np.zeros(1000, "f4")
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        double(numbers, out)
    with pytest.raises((BufferError, ValueError)):
        prepared()(numbers, out)
    stream.sync()
    assert not out.any()


def test_nothing_leaks():
    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def run(n):
        for k in range(n):
            with weft.Stream() as s:
                a, out = np.zeros(1 << 18, "f4"), np.zeros(1 << 18, "f4")
                double(a, out)
                y = weft.asarray(out) + 1
                event = s.record()
                s.wait(event)
                if k % 2:
                    s.sync()
            del s, y, event

    run(20)
    gc.collect()
    before = peak()
    run(300)  # 900 MB altogether
    assert peak() - before < 64 << 10


# ---- errors ----


@weft.kernel
def shifted(i, a, out):
    out[i] = a[i + 5]


def test_failures_are_raised_by_sync_and_drop_later_work(stream):
    a, out, later = np.ones(1000, "f4"), np.zeros(1000, "f4"), np.zeros(1000, "f4")
    rest(TURNS, np.zeros(1))
    with weft.debug():
        shifted(a, out)
        double(a, later)
    with pytest.raises(weft.BoundsError, match="a"):
        stream.sync()
    assert not later.any()
    stream.sync()
    double(a, later)
    stream.sync()
    assert (later == 2).all()


def test_a_result_of_failed_work_is_not_there(stream):
    out, before = np.zeros(1000, "f4"), sys.getrefcount(numbers)
    rest(TURNS, np.zeros(1))
    with weft.debug():
        shifted(numbers, out)
    made = weft.asarray(numbers) + 1
    with pytest.raises(weft.Error):
        stream.sync()
    with pytest.raises((weft.Error, BufferError)):
        made.tolist()
    with pytest.raises((weft.Error, BufferError)):
        np.asarray(made)
    assert sys.getrefcount(numbers) == before
    assert (weft.asarray(numbers) + 1)[1].item() == 2


def test_a_failure_that_nobody_asked_for_is_a_warning():
    out = np.zeros(1000, "f4")
    with weft.Stream() as s, weft.debug():
        shifted(numbers, out)
    with pytest.warns(RuntimeWarning, match="index|bounds|outside"):
        del s
        double(numbers, out)


def test_sync_of_all(stream):
    out = np.zeros(1000, "f4")
    with weft.Stream(), weft.debug():
        shifted(numbers, out)
        with pytest.raises(weft.BoundsError):
            weft.sync()
    weft.sync()
    double(numbers, out)
    weft.sync()
    assert out[3] == 6


def test_refused():
    with pytest.raises(weft.DeviceError):
        weft.Stream("cuda:77")
    with pytest.raises(weft.DeviceError):
        weft.Stream("nowhere")
    with pytest.raises(weft.DeviceError, match="CUDA stream"):
        weft.Stream(cuda_stream=1)
    with pytest.raises(TypeError):
        weft.Stream(cuda_stream="1")
    with pytest.raises(TypeError):
        weft.Event()
    s = weft.Stream()
    with pytest.raises(weft.ContractError):
        s.__exit__(None, None, None)
    with pytest.raises(TypeError, match="an event"):
        s.wait(s)
    with pytest.raises(TypeError, match="no event"):
        s.record().elapsed(3)


# ---- blocks, threads, processes ----


def test_blocks_nest_and_end_in_any_order():
    s, t = weft.Stream(), weft.Stream("cpu")
    assert weft.current_stream() is None and s.device == t.device == "cpu"
    with s:
        with t, t:
            assert weft.current_stream() is t
        assert weft.current_stream() is weft.current_stream("cpu") is s
        with weft.Stream("interp") as other:
            assert weft.current_stream() is s and weft.current_stream("interp") is other
        assert weft.current_stream("interp") is None
    s.__enter__()
    t.__enter__()
    s.__exit__()
    assert weft.current_stream() is t
    t.__exit__()
    assert weft.current_stream() is None
    with pytest.raises(KeyError), s:
        raise KeyError
    assert weft.current_stream() is None


def test_a_block_keeps_its_stream():
    weft.Stream().__enter__()
    current = weft.current_stream()
    out = np.zeros(1000, "f4")
    double(numbers, out)
    current.sync()
    current.__exit__()
    assert out[1] == 2 and weft.current_stream() is None


def test_threads_have_streams_of_their_own(stream):
    results, mistakes = {}, []

    def work(k, shared):
        try:
            assert weft.current_stream() is None
            with shared or weft.Stream() as s:
                a = np.full(5000, k, "f4")
                out = np.zeros_like(a)
                for _ in range(50):
                    double(a, out)
                    double(out, a)
                    a = np.full(5000, k, "f4")
                s.sync()
                results[k] = out
        except BaseException as e:
            mistakes.append(e)

    for shared in (None, stream):
        threads = [threading.Thread(target=work, args=(k, shared)) for k in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not mistakes
        for k in range(6):
            assert (results[k] == 2 * k).all()


def test_other_threads_run_while_one_waits(stream):
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    for wait in (lambda x: np.asarray(x), lambda x: x.tolist(), lambda x: x.item(), lambda x: stream.sync(),
                 lambda x: stream.record().sync(), lambda x: x.__dlpack__(), lambda x: weft.sync()):
        out = weft.zeros(1, "f8")
        rest(3 * TURNS, out)
        before = len(ticks)
        wait(out)
        assert len(ticks) - before > 3
    done.set()
    thread.join()


def test_events():
    s, t = weft.Stream(), weft.Stream()
    a, b = weft.zeros(1000), weft.zeros(1000)
    with s:
        first = s.record()
        rest(TURNS, np.zeros(1))
        double(weft.ones(1000), a)
        second = s.record()
    t.wait(second)
    with t:
        double(a, b)
    t.sync()
    second.sync()
    assert b[3].item() == 4 and 0 < first.elapsed(second) == -second.elapsed(first)
    del s
    first.sync()


def test_an_emulated_gpu():
    if not weft.device_count("cuda-emu"):
        pytest.skip("the emulated GPU is not there")
    with weft.Stream("cuda-emu") as s:
        a = weft.asarray(numbers, device="cuda-emu")
        b = a * 2 + 1
        assert s.device == b.device == "cuda-emu" and weft.current_stream() is None
        s.sync()
    assert np.array_equal(b.numpy(), numbers * 2 + 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_the_child_of_a_fork_has_no_streams(stream):
    a, out = np.ones(1000, "f4"), np.zeros(1000, "f4")
    double(a, out)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            assert weft.current_stream() is None
            out[:] = 0
            double(a, out)
            assert (out == 2).all()
            for refused in (stream.sync, stream.record, stream.__enter__):
                with pytest.raises(weft.ContractError, match="fork"):
                    refused()
            stream.__exit__(None, None, None)
            with weft.Stream() as own:
                assert weft.current_stream() is own
                double(out, a)
                own.sync()
            assert (a == 4).all()
            weft.sync()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    stream.sync()
    assert (out == 2).all() and weft.current_stream() is stream


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_the_child_of_a_fork_does_not_wait_for_the_parents_work(stream):
    rest(5 * TURNS, np.zeros(1))
    time.sleep(0.05)  # the work goes on, and its thread holds no lock
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends a child that waits
        code = 1
        try:
            own = weft.Stream()
            weft.sync()
            del own
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    stream.sync()


def run(program, folder, *arguments):
    path = folder / "program.py"
    path.write_text("import sys, threading, time\nimport numpy as np\nimport weft\n" + WORK + program)
    return subprocess.run([sys.executable, str(path), *arguments], capture_output=True, text=True, timeout=120)


WORK = """
@weft.kernel
def rest(i, turns, out):
    x = 1.0
    for _ in weft.range(turns):
        x = weft.sqrt(x + 1)
    out[i] = x
s = weft.Stream()
s.__enter__()
"""


def test_queued_work_is_done_before_the_process_ends(tmp_path):
    path = str(tmp_path / "memory")
    ended = run(f"rest({TURNS}, np.memmap(sys.argv[1], 'f8', 'w+', shape=(1,)))", tmp_path, path)
    assert ended.returncode == 0 and not ended.stderr, ended.stderr
    assert np.fromfile(path)[0] > 1.6


def test_mistakes_are_reported_when_the_process_ends(tmp_path):
    program = """
@weft.kernel
def shifted(i, a, out):
    out[i] = a[i + 5]
with weft.debug():
    shifted(np.zeros(5), np.zeros(5))
"""
    assert "BoundsError" in run(program, tmp_path).stderr


def test_daemons_at_the_end(tmp_path):
    turns = 1000 if weft.info()["llvm_major"] else 20  # the process ends when what is queued is done
    program = f"""
def forever():
    with weft.Stream():
        while True:
            rest({turns}, np.zeros(5))
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.2)
"""
    ended = run(program, tmp_path)
    assert ended.returncode == 0, ended.stderr
