"""Groups of ranks, the processes that mpirun has started, and the blocks of arrays that are distributed over them."""
from __future__ import annotations

import os
import sys

from . import _weft
from ._weft import Array, Ranks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_world: Ranks | None = None
_hooked = False


def ranks(communicator: Any = None) -> Ranks:
    """The group of the processes that mpirun has started, the same object at each call; of one process, without mpirun.

    All processes call it, from the thread that later uses distributed arrays. communicator: one of mpi4py, or the address
    of an MPI_Comm, whose processes form a new group. MPI is started unless mpi4py has started it, and ends with the
    process. An exception that ends one of several processes ends all of them.

    >>> import weft
    >>> group = weft.ranks()
    >>> a = weft.zeros((6, 4), ranks=group)
    >>> with a.block() as block:
    ...     block[...] = group.rank + 1
    >>> weft.sum(a).item() >= 24
    True
    """
    global _world, _hooked
    if communicator is None and _world is not None:
        return _world
    mpi4py = sys.modules.get("mpi4py.MPI")
    address = communicator
    if communicator is not None and not isinstance(communicator, int):
        if mpi4py is None or not isinstance(communicator, mpi4py.Comm):
            raise TypeError(f"weft.ranks() takes a communicator of mpi4py, or the address of one, not {communicator!r}")
        address = mpi4py._addressof(communicator)
    by_mpi = address is not None or mpi4py is not None or _weft._launched() > 1 or bool(os.environ.get("WEFT_MPI"))
    made: Ranks = _weft._open_ranks(by_mpi, address)
    if communicator is None:
        _world = made
    if made.size > 1 and not _hooked:
        _hooked = True
        _end_all_by_exceptions(made)
    return made


def _end_all_by_exceptions(group: Ranks) -> None:
    """Makes an exception that ends this process end the others, which would wait for it without end."""
    before, process = sys.excepthook, os.getpid()

    def hook(kind: Any, value: Any, trace: Any) -> None:
        before(kind, value, trace)
        if os.getpid() == process and not hasattr(sys, "ps1") and not sys.flags.interactive:
            sys.stdout.flush()
            sys.stderr.flush()
            group.abort(1)

    sys.excepthook = hook


class Block:
    """What Array.block() gives, for a `with` statement."""

    def __init__(self, array: Array) -> None:
        self._array = array
        self._views: list[Array] = []

    def __enter__(self) -> Array:
        self._views.append(_weft._block_begin(self._array))
        return self._views[-1]

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        try:
            _weft._block_end(self._array, self._views.pop())
        except _weft.ArgumentError:
            if kind is None:  # else the frames of the exception may use the block
                raise


def _block(self: Array) -> Block:
    """`with array.block() as block:` gives this rank's block of a distributed array, an array of its own, to read and write.

    All ranks begin and end it. At its end no other array may share its memory."""
    return Block(self)


setattr(Array, "block", _block)
