"""Weft: pointwise operators and reductions over n-d arrays, traced, fused and compiled to vector code.

>>> import weft
>>> a = weft.asarray([1.0, 2.0, 3.0])
>>> (a * 2 + 1).tolist()
[3.0, 5.0, 7.0]
>>> weft.text("sqrt(a) + b", a=[1.0, 4.0], b=1).tolist()
[2.0, 3.0]
"""
from . import _weft
from ._weft import *  # noqa: F403
from . import _arrays, _numpy, _standard  # noqa: F401
from ._arrays import full, ones, ones_like, zeros, zeros_like
from ._context import debug, fast_math, flags, info, lazy
from ._show import images_in_notebooks, png
from ._text import evaluate
from ._c_functions import *  # noqa: F403
from ._functions import *  # noqa: F403
from . import _indexing, _methods  # noqa: F401
from ._c_traced import texture_read
from .derivatives import *  # noqa: F403
from .files import File, Meta, append, create_file, format_named, load, load_region, open_file, open_movie, probe, save
from . import derivatives, fft, files, linalg, project, random, signal, star, xform
from ._kernel import kernel, static
from ._operators import ewise, iwise, reduce
from ._runtime import function, local_array, scratch
from ._trace import Range as range, graph, unroll  # noqa: A004

__version__ = _weft.__version__

_OPERATIONS_BY_OTHER_NAMES = {
    "abs": "absolute", "min": "minimum", "max": "maximum", "select": "where", "not": "logical_not", "neg": "negative",
}
for _name in dir(ops):  # noqa: F405
    if not _name.startswith("_"):
        globals()[_OPERATIONS_BY_OTHER_NAMES.get(_name, _name if _name not in ("and", "or", "round", "pow") else _name + "_")] = getattr(ops, _name)  # noqa: F405
# NumPy's names of operations that have another one in the table.
for _name, _own in {"abs": "abs", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh",
                    "arccosh": "acosh", "arctanh": "atanh", "conjugate": "conj", "fmod": "mod", "rint": "round"}.items():
    globals()[_name] = getattr(ops, _own)  # noqa: F405
del _name, _own
