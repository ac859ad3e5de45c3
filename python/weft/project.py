"""Projections of volumes and images, by central slices and in real space, and their transposes."""
from __future__ import annotations

from ._c_project import *  # noqa: F403
