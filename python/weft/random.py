"""Random numbers: each is a function of a seed, a stream and its place, the same on all devices and threads.

>>> import weft
>>> generator = weft.random.Generator(7)
>>> x = generator.normal((1000,))
>>> y = weft.random.Generator(7).normal((1000,))
>>> bool((x == y).all())
True
"""
from __future__ import annotations

import operator

from . import _c_functions as _c
from . import _c_traced as _traced
from . import _weft
from ._weft import asarray, empty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._typing import ArrayLike, DTypeLike, Grid, Operand, Shape
    from ._weft import Array, Graph, Ranks


def _checked(name: str, number: int) -> int:
    """A seed or stream, an int from 0 to below 2**64."""
    number = operator.index(number)
    if not 0 <= number < 1 << 64:
        raise ValueError(f"weft.random: a {name} is from 0 to 2**64 - 1, not {number}")
    return number


class Generator:
    """Arrays of random numbers from a seed: array k has stream k, so that two arrays have nothing in common.

    With ranks, as in weft.empty, an array is distributed and has the numbers of an ordinary one; all ranks make it."""

    def __init__(self, seed: int | None = None, stream: int = 0) -> None:
        if seed is None:
            import os
            seed = int.from_bytes(os.urandom(8), "little")
        self.seed, self.stream = _checked("seed", seed), _checked("stream", stream)

    def _next(self) -> dict[str, int]:
        self.stream += 1
        return {"seed": self.seed, "stream": self.stream - 1}

    def _target(self, shape: Shape, dtype: DTypeLike, out: Array | None, ranks: Ranks | None, grid: Grid) -> Array:
        return empty(shape, dtype, ranks=ranks, grid=grid) if out is None else out

    def bits(self, shape: Shape = (), out: Array | None = None, *, ranks: Ranks | None = None,
             grid: Grid = None) -> Array:
        """u32: random bits."""
        made = self._target(shape, _weft.u32, out, ranks, grid)
        _c._random_bits(made, **self._next())
        return made

    def uniform(self, shape: Shape = (), lo: float = 0.0, hi: float = 1.0, dtype: DTypeLike = _weft.f32,
                out: Array | None = None, *, ranks: Ranks | None = None, grid: Grid = None) -> Array:
        """Numbers from lo to below hi, all equally likely; integers, too."""
        made = self._target(shape, dtype, out, ranks, grid)
        _c._random_uniform(made, lo, hi, **self._next())
        return made

    def integers(self, lo: int, hi: int, shape: Shape = (), dtype: DTypeLike = _weft.i64, *,
                 ranks: Ranks | None = None, grid: Grid = None) -> Array:
        """Integers from lo to below hi."""
        return self.uniform(shape, lo, hi, dtype, ranks=ranks, grid=grid)

    def normal(self, shape: Shape = (), mean: float = 0.0, deviation: float = 1.0, dtype: DTypeLike = _weft.f32,
               out: Array | None = None, *, ranks: Ranks | None = None, grid: Grid = None) -> Array:
        """Numbers of a normal distribution."""
        made = self._target(shape, dtype, out, ranks, grid)
        _c._random_normal(made, mean, deviation, **self._next())
        return made

    def lognormal(self, shape: Shape = (), mean: float = 0.0, deviation: float = 1.0, dtype: DTypeLike = _weft.f32,
                  out: Array | None = None, *, ranks: Ranks | None = None, grid: Grid = None) -> Array:
        """exp of numbers of a normal distribution."""
        made = self._target(shape, dtype, out, ranks, grid)
        _c._random_lognormal(made, mean, deviation, **self._next())
        return made

    def poisson(self, shape: Shape = (), mean: float = 1.0, dtype: DTypeLike = _weft.i64,
                out: Array | None = None, *, ranks: Ranks | None = None, grid: Grid = None) -> Array:
        """Counts of a Poisson distribution."""
        made = self._target(shape, dtype, out, ranks, grid)
        _c._random_poisson(made, mean, **self._next())
        return made


class Pcg32:
    """Random numbers of the points of a recording: each point has a generator of its own, without memory.

    The seed and the stream are values or numbers of the graph; in a loop the state belongs in a variable."""

    def __init__(self, graph: Graph, seed: Operand, stream: Operand) -> None:
        self.state, self.increment = _traced._pcg_seed(graph, seed, stream)

    def _next(self, kind: str) -> Any:
        number, self.state = _traced._pcg_next(self.state, self.increment, kind)
        return number

    def u32(self) -> Any:
        """The next number, u32."""
        return self._next("u32")

    def f32(self) -> Any:
        """The next number, f32: from 0 to below 1."""
        return self._next("f32")

    def f64(self) -> Any:
        """The next number, f64: from 0 to below 1."""
        return self._next("f64")

    def advance(self, n: Operand) -> None:
        """Leaves out n numbers; -1 is one step back."""
        self.state = _traced._pcg_advance(self.state, self.increment, n)


_generator = Generator()
bits = _generator.bits
uniform = _generator.uniform
integers = _generator.integers
normal = _generator.normal
lognormal = _generator.lognormal
poisson = _generator.poisson


def seed(number: int) -> None:
    """Begins the numbers of this module's functions anew."""
    _generator.seed, _generator.stream = _checked("seed", number), 0


def permutation(n: int | ArrayLike) -> Array:
    """i64 [n]: the numbers below n in random order; of an array its parts along the first axis."""
    array = asarray(n)
    if array.ndim == 0:
        return _c.argsort(bits((operator.index(n),)))
    return array[_c.argsort(bits((array.shape[0],)))]
