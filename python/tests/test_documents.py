"""The examples in docs/python.md run as they stand."""
import doctest
import os
import pathlib

import pytest

pytest.importorskip("numpy")


def test_examples_of_the_page():
    source = os.environ.get("WEFT_SOURCE") or pathlib.Path(__file__).parents[2]
    page = pathlib.Path(source) / "docs" / "python.md"
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 10 and result.failed == 0
