"""The examples in the pages about Python run as they stand."""
import doctest
import os
import pathlib

import pytest

pytest.importorskip("numpy")


@pytest.mark.parametrize("page", ["python.md", "python-tutorial.md"])
def test_examples_of_a_page(page):
    source = pathlib.Path(os.environ.get("WEFT_SOURCE") or pathlib.Path(__file__).parents[2])
    result = doctest.testfile(
        str(source / "docs" / page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert result.attempted > 10 and result.failed == 0
