"""The programs of examples/python run, and each makes a picture that is not of one colour."""
import os
import pathlib
import subprocess
import sys
import zlib

import pytest

import weft

PROGRAMS = sorted(
    (pathlib.Path(os.environ.get("WEFT_SOURCE") or pathlib.Path(__file__).parents[2]) / "examples/python").glob("*.py")
)
SLOW_WITHOUT_CODE = {"attractor", "diffusion", "life", "mandelbrot", "newton", "rays", "denoise"}


def test_there_are_ten():
    assert len(PROGRAMS) == 10


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_programs(program, tmp_path):
    if program.stem in SLOW_WITHOUT_CODE and not weft.info()["llvm_major"]:
        pytest.skip("the interpreter takes minutes")
    packages = str(pathlib.Path(weft.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": packages + os.pathsep + os.environ.get("PYTHONPATH", "")}
    ran = subprocess.run([sys.executable, str(program)], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    data = (tmp_path / (program.stem + ".png")).read_bytes()
    at = data.index(b"IDAT")
    pixels = zlib.decompress(data[at + 4:at + 4 + int.from_bytes(data[at - 4:at], "big")])
    assert len(set(pixels)) > 8
