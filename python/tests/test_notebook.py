"""The notebook of examples/python runs, and shows pictures and a table of kernels."""
import base64
import os
import pathlib

import pytest

import weft

pytest.importorskip("ipykernel")
nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
SOURCE = pathlib.Path(os.environ.get("WEFT_SOURCE") or pathlib.Path(__file__).parents[2])


def test_the_notebook(tmp_path, monkeypatch):
    packages = str(pathlib.Path(weft.__file__).parent.parent)
    monkeypatch.setenv("PYTHONPATH", packages + os.pathsep + os.environ.get("PYTHONPATH", ""))
    for variable in ("IPYTHONDIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    notebook = nbformat.read(SOURCE / "examples/python/notebook.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # what is stored has none
    options = {"timeout": 300, "kernel_name": "python3", "resources": {"metadata": {"path": tmp_path}}}
    nbclient.NotebookClient(notebook, **options).execute()
    shown = [output["data"] for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    pictures = [base64.b64decode(data["image/png"]) for data in shown if "image/png" in data]
    assert len(pictures) == 3 and all(picture[:4] == b"\x89PNG" for picture in pictures) and len(set(pictures)) == 3
    tables = [data["text/html"] for data in shown if "text/html" in data]
    assert len(tables) == 1 and tables[0].count("<td>julia</td>") == 3
    assert any(data["text/plain"].startswith("Array([") and "image/png" not in data for data in shown)
