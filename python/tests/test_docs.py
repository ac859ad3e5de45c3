"""The examples of docs/python.md."""
import doctest
import pathlib

import pytest

pytest.importorskip("numpy")


def test_the_examples_of_the_guide():
    guide = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
    failed, run = doctest.testfile(str(guide), module_relative=False)
    assert run > 10 and not failed
