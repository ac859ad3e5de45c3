"""STAR files, the text tables of RELION: a dict of tables by name, each a dict of columns.

>>> import weft, tempfile, os
>>> path = os.path.join(tempfile.mkdtemp(), "run.star")
>>> weft.star.save(path, {"optics": weft.star.Table({"rlnVoltage": [300.0], "rlnName": ["a"]}, loop=False),
...                       "particles": {"rlnCoordinateX": [1.5, 2.5]}})
>>> weft.star.load(path)["particles"]["rlnCoordinateX"].tolist()
[1.5, 2.5]
"""
from __future__ import annotations

from . import _c_star as _c
from ._weft import Array, asarray

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._typing import ArrayLike

    Column = Array | list[str]


class Table(dict):  # type: ignore[type-arg]
    """Columns by name: arrays of numbers, i64 or f64, and lists of texts. loop: a table of rows; else names with single
    values. name: of its block."""

    def __init__(
        self, columns: Mapping[str, ArrayLike | Sequence[str]] = {}, *, loop: bool = True, name: str = ""
    ) -> None:
        super().__init__(columns)
        self.loop, self.name = loop, name

    def join(self, by: str, other: Table, column: str) -> Any:
        """For each row the value of `column` in the row of `other` that has the same value in `by`."""
        keys = other[by].tolist() if isinstance(other[by], Array) else list(other[by])
        rows = {key: row for row, key in reversed(list(enumerate(keys)))}
        own = self[by].tolist() if isinstance(self[by], Array) else self[by]
        missing = [key for key in own if key not in rows]
        if missing:
            raise KeyError(f"no row has {missing[0]!r} in {by}")
        values = other[column]
        if isinstance(values, Array):
            return values[asarray([rows[key] for key in own])]
        return [values[rows[key]] for key in own]


def load(path: str | os.PathLike[str], *, text: bool = False) -> dict[str, Table]:
    """The tables of a file by the names of their blocks, in order; of several with one name the later ones have '#2'
    and so on at the end. Columns whose values are all numbers become arrays; text=True: none does."""
    tables: dict[str, Table] = {}
    for name, rows, columns in _c.load(path, text):
        key, number = name, 1
        while key in tables:
            number += 1
            key = f"{name}#{number}"
        tables[key] = Table(columns, loop=rows is not None, name=name)
    return tables


def save(path: str | os.PathLike[str], tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes tables to a file that appears whole or not at all."""
    made = []
    for key, table in tables.items():
        rows = {
            len(column) if isinstance(column, (list, tuple, Array)) else asarray(column).size
            for column in table.values()
        }
        if len(rows) > 1:
            raise ValueError(f"the columns of {key} have {sorted(rows)} values")
        loop = getattr(table, "loop", True)
        name = getattr(table, "name", "") or key
        made.append((name, (rows.pop() if rows else 0) if loop else None, dict(table)))
    _c.save(path, made)
