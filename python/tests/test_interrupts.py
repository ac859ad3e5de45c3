"""Ctrl-C while the library works: the work ends, and the exception of the signal's handler is raised."""
import os
import signal
import threading
import time

import pytest

import weft


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
            slow(1 << 16)()  # would take minutes
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
