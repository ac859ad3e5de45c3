"""Helpers of the namespace: checks of operands, and recordings of several operations."""
from .. import _weft
from .._context import lazy
from .._weft import Array
from . import _dtypes


def check(name, x, kinds="biufc"):
    """An array, after a check that it is one and that its dtype is of one of these kinds; else a TypeError."""
    if not isinstance(x, Array):
        raise TypeError(f"{name}: {type(x).__name__} is no array of weft; weft.xp.asarray makes one")
    if x.dtype.kind not in kinds:
        raise TypeError(f"{name}: not for {x.dtype.name}")
    return x


def operands(name, xs, kinds):
    """The operands of an elementwise function, arrays and Python numbers, and the dtype in which they meet."""
    joined = None
    for x in xs:
        if isinstance(x, Array):
            joined = x.dtype if joined is None or joined is x.dtype else _dtypes._promoted(joined, x.dtype)
        elif not isinstance(x, _dtypes.SCALARS):
            raise TypeError(f"{name}: {type(x).__name__} is no array of weft; weft.xp.asarray makes one")
    if joined is None:
        raise TypeError(f"{name}: one operand has to be an array")
    for x in xs:
        if not isinstance(x, Array):
            joined = _dtypes._with_number(joined, x)
    if joined.kind not in kinds:
        raise TypeError(f"{name}: not for {joined.name}")
    return joined


def fused(f, *operands):
    """f(*operands), whose operations on arrays are one kernel."""
    with lazy():
        return f(*operands)


def recorded(f, *arrays):
    """Runs f on the values of arrays; it returns a value or a tuple of values, and the result is one array for each."""
    g = _weft.Graph(device=arrays[0].device)
    try:
        made = f(*(g.input(x) for x in arrays))
        kept = [v.keep() for v in made] if isinstance(made, tuple) else made.keep()
        g.run()
    finally:
        if g.is_open:
            g.drop()
    return kept
