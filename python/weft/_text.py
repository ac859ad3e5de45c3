"""Operator text with the variables of the caller, as in numexpr.

An expression that is one of Python is translated to operator text: Python's %, // and reductions, and NumPy's names of
functions. Anything else, such as a text with statements or elements by index, is operator text as it stands.
"""
from __future__ import annotations

import functools
import re
import sys

from . import _weft
from ._aliases import ALIASES
from ._arrays import stored
from ._trace import LEVEL
from ._weft import empty

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_FUNCTIONS = {"power": "pow", **{alias: own for own, aliases in ALIASES.items() for alias in aliases}}
_REDUCTIONS = {"sum", "prod", "min", "max", "mean", "var", "variance", "std", "stddev", "median", "any", "all", "count",
               "argmin", "argmax"}
_BINARY = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "Pow": "**", "BitAnd": "&", "BitOr": "|", "BitXor": "^",
           "LShift": "<<", "RShift": ">>", "Mod": "floor_mod", "FloorDiv": "floor_div"}
_UNARY = {"USub": "-", "UAdd": "+", "Invert": "~", "Not": "!"}
_COMPARE = {"Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Eq": "==", "NotEq": "!="}


class _Text(Exception):
    """The source is no expression of Python."""


class _Translation:
    """`text`, the names of its variables, and `reduced`: the axis that the result lacks, "all", or None. `wider`: pairs of
    a name and the dtype in which the text has it."""

    def __init__(self, source, wider):
        import ast

        self.names, self.reduced, self.wider = {}, None, dict(wider)
        try:
            tree = ast.parse(source.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            raise _Text from None
        self.text = self.outermost(tree)

    def outermost(self, node):
        name = getattr(getattr(node, "func", None), "id", None)
        if name not in _REDUCTIONS or not 1 <= len(node.args) <= 2:
            return self.one(node)
        axes = [k.value for k in node.keywords if k.arg == "axis"] + node.args[1:]
        if len(axes) > 1 or len(node.keywords) > 1 or (node.keywords and not axes):
            raise _Text
        axis = self.integer(axes[0]) if axes else None
        if axes and axis is None and getattr(axes[0], "value", 0) is not None:
            if name in ("min", "max") and not node.keywords:
                return self.one(node)  # the smaller of two
            raise TypeError(f"weft.evaluate: the axis of {name} is an integer or None")
        self.reduced = "all" if axis is None else axis
        return f"{name}({self.one(node.args[0])}{'' if axis is None else f'; {axis}'})"

    @staticmethod
    def integer(node):
        sign = 1
        if type(node).__name__ == "UnaryOp" and type(node.op).__name__ == "USub":
            node, sign = node.operand, -1
        value = getattr(node, "value", None)
        return sign * value if type(value) is int else None

    def one(self, node):
        kind = type(node).__name__
        if kind == "Name":
            self.names[node.id] = None
            return f"{self.wider[node.id]}({node.id})" if node.id in self.wider else node.id
        if kind == "Constant" and isinstance(node.value, (bool, int, float, complex)):
            x = node.value
            if isinstance(x, complex):
                return f"complex({x.real!r}, {x.imag!r})"
            return repr(x).lower() if isinstance(x, bool) else repr(x)
        if kind == "BinOp" and type(node.op).__name__ in _BINARY:
            how, left, right = _BINARY[type(node.op).__name__], self.one(node.left), self.one(node.right)
            return f"{how}({left}, {right})" if how[0] == "f" else f"({left} {how} {right})"
        if kind == "UnaryOp":
            return f"({_UNARY[type(node.op).__name__]}{self.one(node.operand)})"
        if kind in ("Compare", "BoolOp") and len(getattr(node, "ops", "and")) > 1:
            raise TypeError("weft.evaluate: comparisons do not chain, and there is no `and` and `or`; (a > 2) & (a < 4) is "
                            "written with brackets")
        if kind == "Compare" and type(node.ops[0]).__name__ in _COMPARE:
            how = _COMPARE[type(node.ops[0]).__name__]
            return f"({self.one(node.left)} {how} {self.one(node.comparators[0])})"
        if kind == "Attribute" and node.attr in ("real", "imag"):
            return f"{node.attr}({self.one(node.value)})"
        if kind == "Call" and type(node.func).__name__ == "Name" and not node.keywords:
            return f"{_FUNCTIONS.get(node.func.id, node.func.id)}({', '.join(map(self.one, node.args))})"
        raise _Text


class _AsItStands:
    def __init__(self, source):
        self.text, self.names, self.reduced = source, dict.fromkeys(_NAME.findall(source)), None


def _prepare(source, is_expression, wider=()):
    if not is_expression:
        return _AsItStands(source)
    try:
        return _Translation(source, wider)
    except _Text:
        return _AsItStands(source)


_prepared = functools.lru_cache(maxsize=1024)(_prepare)


# The dtypes in which integers are computed, as in numexpr, by the letter and the bytes of NumPy.
_WIDER = {("i", 1): "i32", ("u", 1): "i32", ("i", 2): "i32", ("u", 2): "i32", ("u", 4): "i64", ("u", 8): "i64"}


_wider_dtypes = {}  # the names of wider dtypes, or None, by dtypes


def _widened(names, values):
    """Pairs of a name and the wider dtype of its value. Values without a dtype of NumPy or Weft become arrays."""
    wider = ()
    for k, value in enumerate(values):
        dtype = getattr(value, "dtype", None)
        if dtype not in _wider_dtypes:
            if isinstance(value, (int, float, complex)):
                continue
            if not hasattr(dtype, "kind"):
                values[k] = _weft.asarray(value)
                dtype = values[k].dtype
            _wider_dtypes[dtype] = _WIDER.get((dtype.kind, dtype.itemsize))
        name = _wider_dtypes[dtype]
        if name is not None:
            wider += ((names[k], name),)
    return wider


# ---- where results go ------------------------------------------------------------------------------------------------

_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def _can_cast(a, b, casting):
    """NumPy's rules, of Weft's dtypes."""
    if casting == "unsafe" or a == b:
        return True
    if casting in ("no", "equiv") or LEVEL[a.kind] > LEVEL[b.kind] or (a.kind == "i" and b.kind == "u"):
        return False
    if casting == "same_kind":
        return True
    size = b.itemsize // 2 if b.kind == "c" else b.itemsize
    if a.kind == "b":
        return True
    if a.kind in "iu":
        return size > a.itemsize if b.kind != a.kind and b.kind == "i" else (
            size >= a.itemsize if b.kind in "iu" else size >= min(8, 2 * a.itemsize))
    return size > (a.itemsize // 2 if a.kind == "c" else a.itemsize) or (a.kind != b.kind and a.itemsize == size)


def _placed(made, out, order, casting):
    if order not in ("K", "A", "C", "F"):
        raise ValueError(f"weft.evaluate: order is 'K', 'A', 'C' or 'F', not {order!r}")
    if casting is not None and casting not in _CASTINGS:
        raise ValueError(f"weft.evaluate: casting is one of {', '.join(_CASTINGS)}, not {casting!r}")
    if out is not None:
        dtype = _weft.asarray(out).dtype
        if casting is not None and not _can_cast(made.dtype, dtype, casting):
            raise _weft.DtypeError(f"weft.evaluate: a result of {made.dtype} is not stored in {dtype} with "
                                   f"casting='{casting}'")
        return stored(made, out)
    if order == "F" and made.ndim > 1:
        turned = empty(made.shape[::-1], made.dtype, made.device).T
        turned[...] = made
        return turned
    return made


def evaluate(source, local_dict=None, global_dict=None, out=None, order="K", casting=None, *, results=None,
             sanitize=None, optimization=None, truediv=None, **variables):
    """Evaluates an expression of arrays and numbers, which are variables of the caller, or in `local_dict`,
    `global_dict` and keyword arguments.

    The arguments are those of numexpr.evaluate, and so are the dtypes in which integers are computed: i32 for those of 8
    and 16 bits, i64 for u32 and u64. Without `casting` results are converted to the dtype of `out`;
    `sanitize`, `optimization` and `truediv` change nothing. With `results`, a tuple of names that the text assigns,
    their arrays are returned as a tuple.

    >>> import weft
    >>> a, b = weft.asarray([1.0, 2.0]), 3
    >>> weft.evaluate("a*b + 1").tolist()
    [4.0, 7.0]
    >>> weft.evaluate("sum(where(a > 1, a, b), axis=0)").item()
    5.0
    """
    prepared = _prepared(source, results is None)
    if local_dict is None:
        frame = sys._getframe(1)
        local_dict, global_dict = frame.f_locals, frame.f_globals if global_dict is None else global_dict
    scopes = (variables, local_dict, global_dict or {}) if variables else (local_dict, global_dict or {})
    found = []
    values = []
    for name in prepared.names:
        for scope in scopes:
            if name in scope:
                if not callable(scope[name]):
                    found.append(name)
                    values.append(scope[name])
                break
    if type(prepared) is _Translation:
        wider = _widened(found, values)
        if wider:
            prepared = _prepared(source, True, wider)
    made = _weft._text(prepared.text, tuple(found), tuple(values), results, None)
    if prepared.reduced is not None:
        axis = prepared.reduced
        made = made.reshape(()) if axis == "all" else made[(slice(None),) * (axis % made.ndim) + (0,)]
    if out is None and order == "K" and casting is None:
        return made
    return _placed(made, out, order, casting)
