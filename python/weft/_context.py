"""Settings of the context: flags, threads, and lazy arrays; the end of the process, and forks."""
import atexit
import contextlib
import os

from . import _weft

atexit.register(_weft.sync)  # queued work is done, and its mistakes are reported
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_weft._after_fork)


class lazy:
    """Within `with weft.lazy():` operations on arrays are recorded, fused, and computed when they are needed.

    At the end of the outermost block every lazy array that is still in use is computed, all of them in one run.

    >>> import weft
    >>> a = weft.asarray([1.0, 2.0])
    >>> with weft.lazy():
    ...     b = a * 2 + 1
    ...     print(b.is_lazy)
    True
    >>> b.tolist()
    [3.0, 5.0]
    """

    def __enter__(self):
        _weft._enter_lazy()
        return self

    def __exit__(self, kind, value, trace):
        _weft._leave_lazy()


@contextlib.contextmanager
def flags(**settings):
    """Sets flags of the context for a block: `with weft.flags(debug=True, fold=False):`."""
    before = {name: _weft._set_flag(name, on) for name, on in settings.items()}
    try:
        yield
    finally:
        for name, on in before.items():
            _weft._set_flag(name, on)


@contextlib.contextmanager
def progress(function):
    """Within `with weft.progress(function):` long work calls function(part); see weft.set_progress.

    >>> import weft
    >>> with weft.progress(lambda part: print(f"{part:.0%}")):
    ...     total = weft.sum(weft.ones(1000))
    """
    before = _weft.set_progress(function)
    try:
        yield
    finally:
        _weft.set_progress(before)


def debug():
    """Debug mode for a block: an index out of range, and two points that write one element, are errors."""
    return flags(debug=True)


def fast_math():
    """Fast arithmetic for a block: operations may be fused, and NaN, infinities and the sign of 0 ignored."""
    return flags(fast_math=True)


def info(open_llvm=True):
    """A dict about this machine and context: instruction set, threads, LLVM, cache."""
    return _weft._info(open_llvm)
