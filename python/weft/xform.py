"""Interpolation, rotations, shapes; geometric transforms of arrays."""
from __future__ import annotations

from ._c_xform import *  # noqa: F403
