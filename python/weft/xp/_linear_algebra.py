"""Products of matrices and vectors."""
import math

from .._weft import ops
from ._common import axis_of, broadcast, check, operands, recorded


def _both(name, x1, x2):
    """Both arrays in the dtype in which they meet."""
    check(name, x1, "iufc"), check(name, x2, "iufc")
    dtype = operands(name, (x1, x2), "iufc")
    return x1.astype(dtype, copy=False), x2.astype(dtype, copy=False)


def matmul(x1, x2, /):
    """The product of matrices, which are the last two axes; an array of one axis is a vector."""
    x1, x2 = _both("matmul", x1, x2)
    if not x1.ndim or not x2.ndim:
        raise ValueError("matmul: arrays with axes")
    a = x1.reshape((1, *x1.shape)) if x1.ndim == 1 else x1
    b = x2.reshape((*x2.shape, 1)) if x2.ndim == 1 else x2
    made = a @ b
    shape = list(made.shape)
    if x1.ndim == 1:
        del shape[-2]
    if x2.ndim == 1:
        del shape[-1]
    return made if len(shape) == made.ndim else made.reshape(tuple(shape))


def matrix_transpose(x, /):
    """A view with the last two axes exchanged."""
    return check("matrix_transpose", x, "biufc").mT


def tensordot(x1, x2, /, *, axes=2):
    """Products added up over axes: the last of x1 and the first of x2, or a tuple of those of x1 and those of x2."""
    x1, x2 = _both("tensordot", x1, x2)
    if isinstance(axes, int):
        axes = range(x1.ndim - axes, x1.ndim), range(axes)
    left, right = ([axis_of(a, x.ndim) for a in group] for group, x in zip(axes, (x1, x2)))
    if [x1.shape[a] for a in left] != [x2.shape[a] for a in right]:
        raise ValueError(f"tensordot: the axes {left} of {x1.shape} do not fit the axes {right} of {x2.shape}")
    rows = [a for a in range(x1.ndim) if a not in left]
    columns = [a for a in range(x2.ndim) if a not in right]
    inner = math.prod(x1.shape[a] for a in left)
    shape = tuple(x1.shape[a] for a in rows) + tuple(x2.shape[a] for a in columns)
    a = x1.transpose(rows + left) if x1.ndim else x1
    b = x2.transpose(right + columns) if x2.ndim else x2
    a = a.reshape((math.prod(x1.shape[i] for i in rows), inner))
    b = b.reshape((inner, math.prod(x2.shape[i] for i in columns)))
    return (a @ b).reshape(shape)


def vecdot(x1, x2, /, *, axis=-1):
    """The sum of conj(x1) * x2 along an axis."""
    x1, x2 = _both("vecdot", x1, x2)
    if axis >= 0 or -axis > min(x1.ndim, x2.ndim):
        raise ValueError(f"vecdot: axis {axis} of arrays of {x1.ndim} and {x2.ndim} axes")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: {x1.shape[axis]} elements beside {x2.shape[axis]}")
    shape = broadcast(x1.shape, x2.shape)

    def product(a, b):
        terms = (ops.conj(a) if x1.dtype.kind == "c" else a) * b
        return terms.sum(axis_of(axis, len(shape))).astype(x1.dtype)

    return recorded(product, x1, x2)
