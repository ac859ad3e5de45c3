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
from . import _aliases, _arrays, _numpy, _standard  # noqa: F401
from ._arrays import full, ones, ones_like, zeros, zeros_like
from ._context import debug, fast_math, flags, info, lazy, progress
from ._ranks import ranks
from ._show import history, images_in_notebooks, png
from ._text import evaluate
from ._c_functions import *  # noqa: F403
from ._functions import *  # noqa: F403
from . import _indexing, _methods, _numpy_values  # noqa: F401
from ._c_traced import texture_read
from .derivatives import *  # noqa: F403
from .files import File, Meta, append, create_file, format_named, load, load_region, open_file, open_movie, probe, save
from . import derivatives, fft, files, linalg, project, random, signal, star, xform
from ._kernel import kernel, static
from ._operators import iwise
from ._runtime import function, local_array, scratch
from ._trace import Range as range, graph, unroll  # noqa: A004

__version__ = _weft.__version__

for _own, _operation in vars(ops).items():  # noqa: F405
    if not _own.startswith("_"):
        globals().update(dict.fromkeys(_aliases.ALIASES.get(_own, (_own,)), _operation))
del _own, _operation
