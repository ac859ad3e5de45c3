"""The stubs: a program that uses them passes mypy --strict, and they say what the package has (stubtest)."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

import weft

pytest.importorskip("mypy")
PACKAGES = Path(weft.__file__).parent.parent
PROGRAM = '''
import weft


def blur(path: str, sigma: float) -> weft.Array:
    image = weft.asarray(weft.load(path), "f32")
    smooth = weft.signal.gaussian_filter(image, sigma, border="mirror")
    spectrum = weft.fft.rfft2(smooth, norm="ortho")
    weft.save("blurred.mrc", smooth, spacing=(1.0, 1.0, 1.0))
    return weft.fft.irfft2(spectrum) * 2 + weft.sin(image).max()


with weft.tape(weft.zeros(3)) as t:
    loss = weft.sum(weft.zeros(3), axis=0, keepdims=True)
values, vectors = weft.linalg.eigh(weft.eye(3))
weft.ewise(lambda x: x, weft.zeros(3), out=weft.zeros(3))
weft.graph().index(0)
for k in weft.unroll(weft.range(3)):
    weft.local_array(weft.f32, 9)[k] = weft.static(4)
group = weft.ranks()
group.timeout = 10
spread = weft.zeros((8, 8), "f4", ranks=group, grid=(0, 1))
with spread.block() as block:
    block[...] = weft.load("a.npy", ranks=group, grid=spread.dist).collect()
first: tuple[tuple[int, ...], tuple[int, ...]] = weft.Dist((8, 8), group.size, unit=4).range(0)
shape: tuple[int, ...] = blur("a.mrc", 2.0).shape
name: str = weft.random.Generator(3).normal((3,)).dtype.name
'''
pytestmark = pytest.mark.skipif(not (PACKAGES / "weft/_weft.pyi").exists(), reason="the stubs were not built")


def mypy(*arguments, folder):
    packages, cache = str(PACKAGES), str(folder / "cache")
    environment = {**os.environ, "PYTHONPATH": packages, "MYPYPATH": packages, "MYPY_CACHE_DIR": cache}
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )


def test_a_program_passes_strict_checks(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    ran = mypy("mypy", "--strict", "--follow-imports=silent", "program.py", folder=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("old, new", [('border="mirror"', 'border="mirrored"'), ("axis=0", "axes=0"),
                                      ("name: str", "name: int"), ("values, vectors", "values, vectors, rest"),
                                      ("timeout = 10", "timeout = '10'"), ("ranks=group, grid=s", "ranks=3, grid=s")])
def test_mistakes_are_found(tmp_path, old, new):
    (tmp_path / "program.py").write_text(PROGRAM.replace(old, new))
    assert mypy("mypy", "--strict", "--follow-imports=silent", "program.py", folder=tmp_path).returncode == 1


def test_stubs_are_those_of_the_package(tmp_path):
    (tmp_path / "mypy.ini").write_text("[mypy]\n[mypy-weft.*]\nignore_errors = True\n")
    # _weft.pyi is made of the extension itself, whose methods do not name `self`; the others are types alone.
    allowed = [r"weft\._weft\..*", r"weft\._names\..*", r"weft\.xp.*", r"weft\._typing\..*", r"weft\.fft\.(Norm|Sizes)",
               r"weft\.files\.(Meta\.__getattr__|Path)", r"weft\.signal\.Spectrum", r"weft\.star\.Column", r"weft\.libweft_mpi-.*"]
    (tmp_path / "allowed").write_text("\n".join(allowed))
    ran = mypy("mypy.stubtest", "weft", "--mypy-config-file", "mypy.ini", "--allowlist", "allowed",
               "--ignore-unused-allowlist", folder=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
