"""Elementwise functions. Operands are arrays and Python numbers, at least one array."""
import weft

from .._weft import Array, ops
from ._common import check, fused, operands
from ._dtypes import float64

_REAL, _NUMERIC, _FLOATING, _ALL = "iuf", "iufc", "fc", "biufc"


def _admitted(kinds):
    """The kinds that a function takes: a function of floating-point numbers takes integers, too, and computes in f64."""
    return kinds + "iu" if "i" not in kinds and "f" in kinds else kinds


def _named(function, name, summary):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary
    return function


def _unary(name, f, kinds, summary):
    """A function of one array."""
    admitted = _admitted(kinds)
    return _named(lambda x, /: f(check(name, x, admitted)), name, summary)


def _binary(name, f, kinds, summary):
    """A function of two operands, which meet by the rules of the standard."""
    admitted = _admitted(kinds)

    def function(x1, x2, /):
        operands(name, (x1, x2), admitted)
        return f(x1, x2)

    return _named(function, name, summary)


def _whole(op):
    """A rounding, which leaves integers alone."""
    return lambda x: x.copy() if x.dtype.kind in "iu" else op(x)


def _sign(x):
    if x.dtype.kind == "f":
        return fused(lambda v: ops.sign(v) + 0.0, x)  # of -0 it is +0
    if x.dtype.kind != "c":
        return ops.sign(x)
    return fused(lambda z: ops.select(ops.eq(z, 0), 0 * ops.abs(z), z / ops.abs(z)), x)


def _floor_divide(a, b):
    """As // but for zeros and infinities, where the standard wants the quotient rounded down and Python does not."""
    if operands("floor_divide", (a, b), _REAL).kind != "f":
        return a // b

    def quotient(a, b):
        special = getattr(ops, "or")(getattr(ops, "or")(ops.isinf(a), ops.isinf(b)), ops.eq(a, 0))
        return ops.select(special, ops.floor(ops.div(a, b)), a // b)

    return fused(quotient, a, b)


def _logaddexp(a, b):
    dtype = operands("logaddexp", (a, b), "fiu")
    dtype = dtype if dtype.kind == "f" else float64
    return weft.logaddexp(*(x.astype(dtype, copy=False) if isinstance(x, Array) else float(x) for x in (a, b)))


abs = _unary("abs", ops.abs, _NUMERIC, "The absolute value; of complex numbers the modulus.")
acos = _unary("acos", ops.acos, _FLOATING, "The inverse cosine, in radians.")
acosh = _unary("acosh", ops.acosh, _FLOATING, "The inverse hyperbolic cosine.")
asin = _unary("asin", ops.asin, _FLOATING, "The inverse sine, in radians.")
asinh = _unary("asinh", ops.asinh, _FLOATING, "The inverse hyperbolic sine.")
atan = _unary("atan", ops.atan, _FLOATING, "The inverse tangent, in radians.")
atanh = _unary("atanh", ops.atanh, _FLOATING, "The inverse hyperbolic tangent.")
bitwise_invert = _unary("bitwise_invert", getattr(ops, "not"), "biu", "Every bit inverted.")
ceil = _unary("ceil", _whole(ops.ceil), _REAL, "The smallest integer that is not less.")
conj = _unary("conj", lambda x: ops.conj(x) if x.dtype.kind == "c" else x.copy(), _NUMERIC, "The complex conjugate.")
cos = _unary("cos", ops.cos, _FLOATING, "The cosine of radians.")
cosh = _unary("cosh", ops.cosh, _FLOATING, "The hyperbolic cosine.")
exp = _unary("exp", ops.exp, _FLOATING, "The exponential function.")
expm1 = _unary("expm1", ops.expm1, _FLOATING, "exp(x) - 1.")
floor = _unary("floor", _whole(ops.floor), _REAL, "The largest integer that is not greater.")
imag = _unary("imag", lambda x: x.imag, "c", "The imaginary parts.")
isfinite = _unary("isfinite", ops.isfinite, _NUMERIC, "True where elements are neither infinite nor NaN.")
isinf = _unary("isinf", ops.isinf, _NUMERIC, "True where elements are infinite.")
isnan = _unary("isnan", ops.isnan, _NUMERIC, "True where elements are NaN.")
log = _unary("log", ops.log, _FLOATING, "The natural logarithm.")
log1p = _unary("log1p", ops.log1p, _FLOATING, "log(1 + x).")
log2 = _unary("log2", ops.log2, _FLOATING, "The logarithm to base 2.")
log10 = _unary("log10", ops.log10, _FLOATING, "The logarithm to base 10.")
logical_not = _unary("logical_not", getattr(ops, "not"), "b", "True where elements are false.")
negative = _unary("negative", ops.neg, _NUMERIC, "-x.")
positive = _unary("positive", lambda x: x.copy(), _NUMERIC, "A copy: +x.")
real = _unary("real", lambda x: x.real if x.dtype.kind == "c" else x.copy(), _NUMERIC, "The real parts.")
reciprocal = _unary("reciprocal", lambda x: ops.div(1, x), _FLOATING, "1 / x.")
round = _unary("round", _whole(ops.round), _NUMERIC, "The nearest integer; of two the even one.")
sign = _unary("sign", _sign, _NUMERIC, "-1, 0 or 1; of complex numbers x / abs(x).")
signbit = _unary("signbit", lambda x: fused(lambda v: ops.lt(ops.copysign(1.0, v), 0), x), "f",
                 "True where the sign bit is set, also of NaN.")
sin = _unary("sin", ops.sin, _FLOATING, "The sine of radians.")
sinh = _unary("sinh", ops.sinh, _FLOATING, "The hyperbolic sine.")
square = _unary("square", lambda x: ops.mul(x, x), _NUMERIC, "x * x.")
sqrt = _unary("sqrt", ops.sqrt, _FLOATING, "The square root; NaN of negative real numbers.")
tan = _unary("tan", ops.tan, _FLOATING, "The tangent of radians.")
tanh = _unary("tanh", ops.tanh, _FLOATING, "The hyperbolic tangent.")
trunc = _unary("trunc", _whole(ops.trunc), _REAL, "The nearest integer towards 0.")

add = _binary("add", ops.add, _NUMERIC, "x1 + x2.")
atan2 = _binary("atan2", ops.atan2, "f", "The angle of the point (x2, x1), in radians.")
bitwise_and = _binary("bitwise_and", getattr(ops, "and"), "biu", "The bits that are set in both.")
bitwise_left_shift = _binary("bitwise_left_shift", ops.shl, "iu", "x1 shifted left by x2 bits.")
bitwise_or = _binary("bitwise_or", getattr(ops, "or"), "biu", "The bits that are set in either.")
bitwise_right_shift = _binary("bitwise_right_shift", ops.shr, "iu", "x1 shifted right by x2 bits.")
bitwise_xor = _binary("bitwise_xor", ops.xor, "biu", "The bits that are set in one of both.")
copysign = _binary("copysign", ops.copysign, "f", "The magnitude of x1 with the sign of x2.")
divide = _binary("divide", ops.div, _FLOATING, "x1 / x2.")
equal = _binary("equal", ops.eq, _ALL, "x1 == x2.")
floor_divide = _binary("floor_divide", _floor_divide, _REAL, "The quotient, rounded down.")
greater = _binary("greater", ops.gt, "biuf", "x1 > x2.")
greater_equal = _binary("greater_equal", ops.ge, "biuf", "x1 >= x2.")
hypot = _binary("hypot", ops.hypot, "f", "sqrt(x1 * x1 + x2 * x2), without overflow.")
less = _binary("less", ops.lt, "biuf", "x1 < x2.")
less_equal = _binary("less_equal", ops.le, "biuf", "x1 <= x2.")
logaddexp = _binary("logaddexp", _logaddexp, "f", "log(exp(x1) + exp(x2)), without overflow.")
logical_and = _binary("logical_and", getattr(ops, "and"), "b", "True where both are true.")
logical_or = _binary("logical_or", getattr(ops, "or"), "b", "True where either is true.")
logical_xor = _binary("logical_xor", ops.xor, "b", "True where one of both is true.")
maximum = _binary("maximum", ops.max, _REAL, "The larger element; NaN where one is.")
minimum = _binary("minimum", ops.min, _REAL, "The smaller element; NaN where one is.")
multiply = _binary("multiply", ops.mul, _NUMERIC, "x1 * x2.")
nextafter = _binary("nextafter", ops.nextafter, "f", "The neighbour of x1 in the direction of x2.")
not_equal = _binary("not_equal", ops.ne, _ALL, "x1 != x2.")
pow = _binary("pow", lambda a, b: a**b, _NUMERIC, "x1 to the power of x2; whole powers of integers wrap.")
remainder = _binary("remainder", lambda a, b: a % b, _REAL, "What floor_divide leaves; it has the sign of x2.")
subtract = _binary("subtract", ops.sub, _NUMERIC, "x1 - x2.")


def clip(x, /, min=None, max=None):
    """The elements limited to min <= x <= max; NaN where one of the three is."""
    check("clip", x, _REAL)
    for limit in (min, max):
        if limit is not None:
            operands("clip", (x, limit), _REAL)
    if min is None and max is None:
        return x.copy()

    def limited(x):
        for op, limit in ((ops.max, min), (ops.min, max)):
            if isinstance(limit, Array) and limit.dtype != x.dtype:
                limit = limit.astype(x.dtype)
            if limit is not None:
                x = op(x, limit)
        return x

    return fused(limited, x)


def where(condition, x1, x2, /):
    """x1 where the condition holds, x2 elsewhere."""
    check("where", condition, "b")
    dtype = operands("where", (x1, x2), _ALL)
    made = ops.select(condition, x1, x2)
    return made if made.dtype == dtype else made.astype(dtype)
