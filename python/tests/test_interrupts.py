"""Long work: Ctrl-C ends it, and the exception of the signal's handler is raised; a function gets the part that is done."""
import os
import signal
import threading
import time

import pytest

import weft


# Turns of a loop that take much longer than a test waits. Signals are looked for, and progress is told, once a block of points,
# for which the interpreter takes longer.
MANY = 1 << 16 if weft.info()["llvm_major"] else 1 << 12


class Stop(Exception):
    pass


def slow(turns, n=1 << 20):
    """Work that takes long, but not for each block of points, between which signals are handled."""
    out = weft.empty(n, weft.f64)
    g = weft.Graph(n)
    i = g.index(0)
    v = g.local(1.0)
    g.for_(0, g.param("turns", weft.i64, turns))
    v.set(weft.sqrt(v + 1))
    g.end()
    g.write(out, i, v)
    return g.run


@pytest.mark.parametrize("threads", [1, 2])
def test_a_signal_ends_long_work(threads):
    def handler(number, frame):
        raise Stop

    before, handles = weft.get_threads(), signal.signal(signal.SIGUSR1, handler)
    weft.set_threads(threads)
    try:
        slow(1)()  # the code is there
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        with pytest.raises(Stop):
            slow(MANY // 4)()  # would take many seconds
        timer.join()
        assert weft.asarray([1.0, 2.0]).tolist() == [1, 2]
        slow(3)()
    finally:
        signal.signal(signal.SIGUSR1, handles)
        weft.set_threads(before)


def test_signals_that_raise_nothing_end_nothing():
    seen = []
    handles = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(time.monotonic()))
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
        slow(1 << 8)()
        assert seen
    finally:
        signal.signal(signal.SIGUSR1, handles)


@pytest.mark.parametrize("n, turns", [(1 << 20, MANY // 8), (1 << 14, MANY * 2)])  # without the GIL, and with it
def test_progress_of_long_work(n, turns):
    told = []

    def stop(part):
        told.append(part)
        if len(told) == 3:
            raise Stop

    with weft.progress(stop), pytest.raises(Stop):
        slow(turns, n)()
    assert len(told) == 3 and 0 < told[0] <= told[1] <= told[2] < 1
    slow(1 << 8, n)()
    assert len(told) == 3 and weft.set_progress(None) is None
    assert weft.asarray([1.0, 2.0]).tolist() == [1, 2]


def test_progress_to_the_end():
    told = []

    def tell(part):
        told.append(part)
        [object() for _ in range(100)]
        del held[:]  # arrays may be freed

    turns = 64
    while not told:  # until it takes longer than the time between two calls
        held = [weft.ones(5), weft.asarray(bytearray(8))]
        turns *= 2
        with weft.progress(tell):
            slow(turns)()
    assert told == sorted(told) and told[-1] == 1 and told[-2] < 1 and not held


def test_mistakes_of_progress():
    with pytest.raises(TypeError, match="takes a function or None"):
        weft.set_progress(3)
    with weft.progress(print), weft.progress(None):
        assert weft.set_progress(None) is None
