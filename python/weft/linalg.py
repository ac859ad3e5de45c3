"""Linear algebra: of small matrices of values, and of arrays of matrices."""
from __future__ import annotations

from ._c_linalg import *  # noqa: F403
