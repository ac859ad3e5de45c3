"""Operator text with the variables of the caller, as in numexpr."""
import re
import sys

from . import _weft
from ._arrays import stored

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_names = {}


def evaluate(source, local_dict=None, global_dict=None, out=None, results=None):
    """Evaluates an expression of arrays and numbers that are variables of the caller, or in `local_dict`.

    With `results`, a tuple of names that the text assigns, their arrays are returned as a tuple.

    >>> import weft
    >>> a, b = weft.asarray([1.0, 2.0]), 3
    >>> weft.evaluate("a*b + 1").tolist()
    [4.0, 7.0]
    """
    names = _names.get(source)
    if names is None:
        names = _names[source] = tuple(dict.fromkeys(_NAME.findall(source)))
    if local_dict is None:
        frame = sys._getframe(1)
        local_dict, global_dict = frame.f_locals, frame.f_globals if global_dict is None else global_dict
    scopes = (local_dict, global_dict or {})
    found = []
    values = []
    for name in names:
        for scope in scopes:
            if name in scope:
                if not callable(scope[name]):
                    found.append(name)
                    values.append(scope[name])
                break
    made = _weft._text(source, tuple(found), tuple(values), results, None)
    return stored(made, out)
