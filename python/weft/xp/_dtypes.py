"""Data types of the standard: the table of promotion, kinds, limits and conversions."""
from collections import namedtuple

from .. import _weft
from .._weft import Array, DType

bool = _weft.bool_
int8, int16, int32, int64 = _weft.i8, _weft.i16, _weft.i32, _weft.i64
uint8, uint16, uint32, uint64 = _weft.u8, _weft.u16, _weft.u32, _weft.u64
float32, float64 = _weft.f32, _weft.f64
complex64, complex128 = _weft.c64, _weft.c128

_python_bool = type(True)
_BY_NAME = {d.name: d for d in (bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64,
                                complex64, complex128)}
_KINDS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
    "complex floating": "c", "numeric": "iufc",
}
SCALARS = (int, float, complex)  # a bool is an int


def _joined(a, b):
    """The dtype in which two dtypes meet; None if the standard has none."""
    kinds = a.kind + b.kind
    wide = max(a, b, key=lambda d: d.itemsize)
    if a.kind == b.kind:
        return None if a != b and a.itemsize == b.itemsize else wide
    if kinds in ("iu", "ui"):
        signed, unsigned = (a, b) if a.kind == "i" else (b, a)
        if signed.itemsize > unsigned.itemsize:
            return signed
        return {1: int16, 2: int32, 4: int64}.get(unsigned.itemsize)
    if kinds in ("fc", "cf"):
        real = max((a.part, b.part), key=lambda d: d.itemsize)
        return {2: _weft.c32, 4: complex64, 8: complex128}[real.itemsize]
    return None


_ALL = (*_BY_NAME.values(), _weft.f16, _weft.bf16, _weft.c32)
_TABLE = {(a, b): _joined(a, b) for a in _ALL for b in _ALL}


def _promoted(a, b):
    joined = _TABLE[a, b]
    if joined is None:
        raise TypeError(f"{a.name} and {b.name} have no common dtype in the array API standard; convert one of them")
    return joined


def _with_number(dtype, number):
    """The dtype of a Python number beside an array of a dtype."""
    kind = dtype.kind
    if isinstance(number, _python_bool):
        fits = kind == "b"
    elif isinstance(number, int):
        fits = kind in "iufc"
    elif isinstance(number, float):
        fits = kind in "fc"
    else:
        fits = kind in "fc"
        if kind == "f":
            return _promoted(dtype, {2: _weft.c32, 4: complex64, 8: complex128}[dtype.itemsize])
    if not fits:
        raise TypeError(f"a Python {type(number).__name__} and an array of {dtype.name} have no common dtype in the "
                        "array API standard; convert the array")
    return dtype


def as_dtype(dtype):
    """The dtype that an argument names."""
    if isinstance(dtype, DType):
        return dtype
    return _weft.empty((0,), dtype).dtype


def result_type(*arrays_and_dtypes):
    """The dtype in which arrays, dtypes and Python numbers meet."""
    if not arrays_and_dtypes:
        raise ValueError("result_type needs an argument")
    joined, numbers = None, []
    for x in arrays_and_dtypes:
        if isinstance(x, SCALARS):
            numbers.append(x)
            continue
        dtype = x.dtype if isinstance(x, Array) else as_dtype(x)
        joined = dtype if joined is None else _promoted(joined, dtype)
    if joined is None:
        raise ValueError("result_type needs an array or a dtype beside numbers")
    for x in numbers:
        joined = _with_number(joined, x)
    return joined


def can_cast(from_, to, /):
    """True if the promotion of both dtypes is the second one."""
    dtype = from_.dtype if isinstance(from_, Array) else as_dtype(from_)
    return _TABLE[dtype, as_dtype(to)] == as_dtype(to)


def isdtype(dtype, kind):
    """True if a dtype is another one, or of a kind such as "numeric", or of one in a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"{kind!r} is no kind of dtypes; kinds are {', '.join(_KINDS)}")
        return dtype.kind in _KINDS[kind]
    return dtype == kind


def astype(x, dtype, /, *, copy=True, device=None):
    """The array converted."""
    dtype = as_dtype(dtype)
    if x.dtype.kind == "c" and dtype.kind in "biuf" and dtype.kind != "b":
        raise TypeError("a complex array has no real values; use real, imag or abs")
    if device is not None and device != x.device:
        return x.astype(dtype, copy=False).to_device(device)
    return x.astype(dtype, copy=copy)


FInfo = namedtuple("FInfo", "bits eps max min smallest_normal dtype")
FInfo.__doc__ = "Limits of a floating-point dtype; of a complex one those of its parts."
IInfo = namedtuple("IInfo", "bits max min dtype")
IInfo.__doc__ = "Limits of an integer dtype."


def _dtype_of(type):
    return type.dtype if isinstance(type, Array) else as_dtype(type)


def finfo(type, /):
    """Limits of a floating-point or complex dtype, or of the dtype of an array."""
    part = _dtype_of(type).part
    shape = {_weft.f16: (5, 10), _weft.bf16: (8, 7), float32: (8, 23), float64: (11, 52)}.get(part)
    if shape is None:
        raise TypeError(f"{part.name} is no floating-point dtype")
    bias = 2**(shape[0] - 1) - 1
    largest = (2.0 - 2.0**-shape[1]) * 2.0**bias
    return FInfo(8 * part.itemsize, 2.0**-shape[1], largest, -largest, 2.0**(1 - bias), part)


def iinfo(type, /):
    """Limits of an integer dtype, or of the dtype of an array."""
    dtype = _dtype_of(type)
    if dtype.kind not in "iu":
        raise TypeError(f"{dtype.name} is no integer dtype")
    bits = 8 * dtype.itemsize
    signed = dtype.kind == "i"
    return IInfo(bits, 2**(bits - signed) - 1, -2**(bits - 1) if signed else 0, dtype)
