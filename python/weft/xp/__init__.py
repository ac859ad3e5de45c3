"""The Python array API standard, 2024.12, on arrays of Weft.

>>> import weft.xp as xp
>>> x = xp.asarray([1.0, 4.0, 9.0])
>>> xp.sum(xp.sqrt(x)).item()
6.0
>>> x.__array_namespace__() is xp
True
"""
from math import e, inf, nan, pi

from . import fft, linalg  # noqa: F401
from ._creation import (arange, asarray, empty, empty_like, eye, from_dlpack, full, full_like, linspace, meshgrid,
                        ones, ones_like, tril, triu, zeros, zeros_like)
from ._dtypes import (astype, bool, can_cast, complex64, complex128, finfo, float32, float64, iinfo, int8, int16,
                      int32, int64, isdtype, result_type, uint8, uint16, uint32, uint64)
from ._elementwise import (abs, acos, acosh, add, asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_invert,
                           bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor, ceil, clip, conj,
                           copysign, cos, cosh, divide, equal, exp, expm1, floor, floor_divide, greater,
                           greater_equal, hypot, imag, isfinite, isinf, isnan, less, less_equal, log, log1p, log2,
                           log10, logaddexp, logical_and, logical_not, logical_or, logical_xor, maximum, minimum,
                           multiply, negative, nextafter, not_equal, positive, pow, real, reciprocal, remainder,
                           round, sign, signbit, sin, sinh, sqrt, square, subtract, tan, tanh, trunc, where)
from ._info import __array_namespace_info__
from ._linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from ._manipulation import (broadcast_arrays, broadcast_to, concat, expand_dims, flip, moveaxis, permute_dims, repeat,
                            reshape, roll, squeeze, stack, tile, unstack)
from ._searching import (argmax, argmin, argsort, nonzero, searchsorted, sort, take, take_along_axis,
                         unique_all, unique_counts, unique_inverse, unique_values)
from ._statistics import (all, any, count_nonzero, cumulative_prod, cumulative_sum, diff, max, mean, min, prod, std,
                          sum, var)

__array_api_version__ = "2024.12"
newaxis = None
