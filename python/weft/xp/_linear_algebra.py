"""Products of matrices and vectors."""
import weft

from .._shapes import axis_of, broadcast_shapes
from .._weft import ops
from ._common import check, operands, recorded


def both(name, x1, x2, kinds="iufc"):
    """Both arrays in the dtype in which they meet."""
    check(name, x1, kinds), check(name, x2, kinds)
    dtype = operands(name, (x1, x2), kinds)
    return x1.astype(dtype, copy=False), x2.astype(dtype, copy=False)


def matmul(x1, x2, /):
    """The product of matrices, which are the last two axes; an array of one axis is a vector."""
    return weft.matmul(*both("matmul", x1, x2))


def matrix_transpose(x, /):
    """A view with the last two axes exchanged."""
    return check("matrix_transpose", x).mT


def tensordot(x1, x2, /, *, axes=2):
    """Products added up over axes: the last of x1 and the first of x2, or a tuple of those of x1 and those of x2."""
    return weft.tensordot(*both("tensordot", x1, x2), axes)


def vecdot(x1, x2, /, *, axis=-1):
    """The sum of conj(x1) * x2 along an axis."""
    x1, x2 = both("vecdot", x1, x2)
    if axis >= 0 or -axis > min(x1.ndim, x2.ndim):
        raise ValueError(f"vecdot: axis {axis} of arrays of {x1.ndim} and {x2.ndim} axes")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: {x1.shape[axis]} elements beside {x2.shape[axis]}")
    shape = broadcast_shapes(x1.shape, x2.shape)

    def product(a, b):
        terms = (ops.conj(a) if x1.dtype.kind == "c" else a) * b
        return terms.sum(axis_of(axis, len(shape))).astype(x1.dtype)

    return recorded(product, x1, x2)
