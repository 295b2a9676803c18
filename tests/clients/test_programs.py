"""Programs of packages that know nothing of pullback print the same under both imports, and einops' own tests pass."""

import math
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.clients.conftest import FOLDER

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?")
RELATIVE, ABSOLUTE = 2e-5, 2e-6

EINOPS = ["test_einsum", "test_examples", "test_layers", "test_ops", "test_packing", "test_parsing"]
WITHOUT = "test_torch_compile_with_dynamic_shape"
"""A test of torch's own compiler."""


def ran(*words: str, **more: str) -> str:
    """What a program prints that finds the packages."""
    environment = {**os.environ, "PYTHONPATH": str(FOLDER), "PYTHONWARNINGS": "ignore", **more}
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem.removeprefix("with_"))
def test_program(program: Path) -> None:
    got = ran("-m", "pullback", "torch", str(program))
    if not find_spec("torch"):
        return
    want = ran(str(program))
    assert NUMBER.sub("#", got) == NUMBER.sub("#", want)
    for line, other in zip(got.splitlines(), want.splitlines(), strict=True):
        for a, b in zip(NUMBER.findall(line), NUMBER.findall(other), strict=True):
            assert math.isclose(float(a), float(b), rel_tol=RELATIVE, abs_tol=ABSOLUTE), f"{line}\nwith torch: {other}"


def test_the_tests_of_einops() -> None:
    chosen = [f"einops.tests.{name}" for name in EINOPS]
    words = ["-q", "-n", "0", "-c", os.devnull, "--rootdir", str(FOLDER), "-p", "no:cacheprovider"]
    words += ["-k", f"not {WITHOUT}", "--pyargs", *chosen]
    said = ran("-m", "pullback", "torch", "-m", "pytest", *words, EINOPS_TEST_BACKENDS="torch,numpy")
    assert re.search(r"(\d+) passed", said), said
